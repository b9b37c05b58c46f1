"""The progress of a fit: a bar in a terminal; elsewhere lines, not too many, which say how long the rest may take."""

import json

import numpy as np
import pandas as pd
import pytest
from typer.testing import CliRunner

import symloss as sl
from symloss.cli import app, terminal
from symloss.cli.terminal import ProgressLines, fit_progress
from symloss.tabular import fit_table
from symloss.tabular.summary import summary

SCORING, BEST = "Scoring candidates on folds", "Fitting the best"
LINEAR = [("linear", sl.AUCClassifier())]


def lines_at(calls, capsys):
    """What is printed, in lines, if a fit of a stage ends at each of these times."""
    now = [0.0]
    progress = ProgressLines(seconds=10, clock=lambda: now[0])
    for seconds, *what in calls:
        now[0] = seconds
        progress(*what)
    return capsys.readouterr().err.splitlines()


def test_one_line_in_ten_seconds_with_the_time_left(capsys):
    assert lines_at([(2.0 * k, SCORING, k, 20) for k in range(1, 21)], capsys) == [
        f"{SCORING}: 5 of 20, about 30 s left in this step",
        f"{SCORING}: 10 of 20, about 20 s left in this step",
        f"{SCORING}: 15 of 20, about 10 s left in this step",
        f"{SCORING}: 20 of 20",
    ]


def test_the_time_left_is_that_of_the_stage(capsys):
    calls = [(4, SCORING, 1, 2), (8, SCORING, 2, 2), (28, BEST, 1, 3)]
    assert lines_at(calls, capsys) == [f"{BEST}: 1 of 3, about 40 s left in this step"]


def test_a_quick_fit_prints_nothing(capsys):
    assert lines_at([(0.1 * k, SCORING, k, 70) for k in range(1, 71)], capsys) == []


def test_lines_unless_it_is_a_terminal(capsys, monkeypatch):
    with fit_progress() as progress:
        assert isinstance(progress, ProgressLines)
    monkeypatch.setenv("FORCE_COLOR", "1")  # for Rich this is a terminal
    monkeypatch.setenv("TERM", "xterm")
    with fit_progress() as progress:
        assert not isinstance(progress, ProgressLines)
        progress("linear [bold]", 1, 2)
        progress("linear [bold]", 2, 2)
        progress("another", 1, 5)
    shown = capsys.readouterr().err
    assert "another" in shown
    assert "1/5" in shown
    monkeypatch.setenv("TERM", "dumb")
    with fit_progress() as progress:
        assert isinstance(progress, ProgressLines)


def test_the_command_line_prints_lines_and_takes_a_time_limit(tmp_path, monkeypatch):
    monkeypatch.setattr(terminal, "ProgressLines", lambda: ProgressLines(seconds=0.0))
    (tmp_path / "data.csv").write_text("x,y\n" + "".join(f"{k % 17},{int(k % 17 > 8)}\n" for k in range(60)))
    arguments = ["fit", str(tmp_path / "data.csv"), "--label", "y", "--out", str(tmp_path / "model")]
    result = CliRunner().invoke(app, [*arguments, "--time-limit", "0.000001"])
    assert result.exit_code == 0, result.output
    assert "Scoring candidates on folds: 1 of 5, about " in result.stderr  # there is time for one candidate only
    assert "Fitting the best: 1 of 1" in result.stderr
    assert "Scoring" not in result.stdout
    assert "the time limit of 1e-06 s left 15 of 16 candidates untried: " in result.stdout
    assert "nan" not in result.stdout
    result = CliRunner().invoke(app, [*arguments, "--time-limit", "-1"])
    assert result.exit_code == 2
    assert "--time-limit must be a number of seconds above 0, got -1" in result.stderr


def test_candidates_that_there_was_no_time_for_are_named():
    pool = [(name, sl.AUCClassifier(name)) for name in ("unhinged", "logistic")]
    frame = pd.DataFrame({"x": range(40), "y": [0] * 20 + [1] * 20})
    found = summary(fit_table(frame, "y", candidates=pool, time_limit=1e-9))
    assert [candidate["name"] for candidate in found["candidates"]] == ["unhinged"]
    assert found["untried"] == ["logistic"]
    assert "NaN" not in json.dumps(found)


@pytest.mark.parametrize("command", ["fit", "predict"])
def test_help_tells_the_options(command):
    shown = CliRunner().invoke(app, [command, "--help"], env={"COLUMNS": "160"}).output
    assert {"fit": "--time-limit", "predict": "clean_probability"}[command] in shown


def test_notes_are_told_before_anything_is_fitted():
    frame = pd.DataFrame({"x": np.arange(40) % 7 / 3, "y": np.arange(40) % 7 > 2})
    told = []
    fitted = fit_table(
        frame, "y", candidates=LINEAR, notes=["as read"], tell=told.append, progress=lambda *_: told.append(None)
    )
    assert [note for note in told if note] == fitted.notes[1:]
    assert told.index(None) == len(fitted.notes) - 1


def test_one_row_of_a_label_is_too_few():
    with pytest.raises(ValueError, match="column 'y', the label: only one row is labeled '1'; two are needed"):
        fit_table(pd.DataFrame({"x": range(9), "y": [1] + [0] * 8}), "y", candidates=LINEAR)
