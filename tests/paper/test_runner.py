import json
import re
import signal
import subprocess
import sys
import time
from dataclasses import asdict, replace
from pathlib import Path

import numpy as np
import pytest
import torch
from typer.testing import CliRunner

import symloss as sl
from symloss.cli import app
from symloss.paper import runner
from symloss.paper.experiment import label, run_trials
from symloss.paper.protocol import Settings
from symloss.paper.results import Configuration, read_result, read_results, result_path
from symloss.paper.runner import run, uci_configurations
from symloss.paper.worker import Task, load_arrays, run_task

QUICK = Settings(n_positive=40, n_negative=40, n_test=40, hidden_units=8, epochs=3, batch_size=40)
LOSSES = [sl.Sigmoid(), sl.Hinge()]


def cell(dataset="twonorm", pi=0.8, pi_prime=0.3, **changes):
    settings = changes.pop("settings", QUICK)
    return Configuration(
        family="uci", dataset=dataset, pi=pi, pi_prime=pi_prime, trials=2, settings=asdict(settings), **changes
    )


def blobs():
    y = np.repeat([1, -1], 200)
    return y[:, None] + np.random.default_rng(0).normal(size=(400, 3)), y


class Cubed(sl.Loss):
    def value(self, z):
        return (1 - z).clamp(min=0) ** 3


class Exploding(sl.Loss):
    def value(self, z):
        return torch.full_like(z, torch.nan)

    def slope(self, z):
        return torch.full_like(z, torch.nan)


def test_every_cell_lands_in_its_file_and_is_not_run_twice(tmp_path):
    cells = [cell(), cell("waveform"), cell(pi=1.0, pi_prime=0.0)]
    first = list(run(tmp_path, cells, LOSSES))
    assert {outcome.configuration.dataset for outcome in first} == {"twonorm", "waveform"}
    assert all(outcome.seconds > 0 and outcome.error is None for outcome in first)
    found = read_results(tmp_path)
    assert len(found.whole) == 3
    assert not found.damaged
    assert set(found.whole[0].scores) == {"ber", "auc"}
    before = {path: path.stat().st_mtime_ns for path in tmp_path.iterdir()}
    assert [outcome.seconds for outcome in run(tmp_path, cells, LOSSES)] == [None] * 3
    assert before == {path: path.stat().st_mtime_ns for path in tmp_path.iterdir()}


def test_results_depend_on_neither_workers_nor_order_nor_neighbors(tmp_path):
    cells = [cell(), cell("waveform")]
    list(run(tmp_path / "a", cells, LOSSES))
    list(run(tmp_path / "b", cells[::-1], [LOSSES[1], sl.Ramp(), LOSSES[0]], jobs=2))
    for configuration in cells:
        a, b = (
            read_result(result_path(tmp_path / folder, configuration.dataset, 0.8, 0.3)).scores for folder in ("a", "b")
        )
        for risk in a:
            for loss in a[risk]:
                assert a[risk][loss] == b[risk][loss]


def test_what_a_cell_lacks_is_added(tmp_path):
    list(run(tmp_path, [cell()], LOSSES, ["auc"]))
    old = read_result(result_path(tmp_path, "twonorm", 0.8, 0.3))
    list(run(tmp_path, [cell()], [*LOSSES, sl.BarrierHinge(b=10, r=1)]))
    new = read_result(result_path(tmp_path, "twonorm", 0.8, 0.3))
    assert set(new.scores["ber"]) == {"sigmoid", "hinge", "BarrierHinge(b=10, r=1)"}
    assert new.scores["auc"]["hinge"] == old.scores["auc"]["hinge"]
    assert new.seconds > old.seconds


def newer(content):
    return json.dumps(json.loads(content) | {"format": 2}).encode()


def with_a_key(content):
    return json.dumps(json.loads(content) | {"weather": "fine"}).encode()


@pytest.mark.parametrize("damage", [lambda content: content[:200], newer, with_a_key, lambda _: b""])
def test_a_file_that_cannot_be_read_is_named_and_kept(tmp_path, damage):
    list(run(tmp_path, [cell()], LOSSES))
    path = result_path(tmp_path, "twonorm", 0.8, 0.3)
    whole = json.loads(path.read_text())["scores"]
    path.write_bytes(damage(path.read_bytes()))
    content = path.read_bytes()

    other = replace(cell(), pi=0.9)
    outcomes = {outcome.configuration.pi: outcome for outcome in run(tmp_path, [cell(), other], LOSSES)}
    assert str(path) in outcomes[0.8].error
    assert "--replace-damaged" in outcomes[0.8].error
    assert path.read_bytes() == content
    assert outcomes[0.9].error is None
    assert outcomes[0.9].seconds is not None

    for number in (1, 2):
        (outcome,) = run(tmp_path, [cell()], LOSSES, replace_damaged=True)
        assert outcome.error is None
        assert json.loads(path.read_text())["scores"] == whole
        assert path.with_name(f"{path.name}.damaged{number}").read_bytes() == content
        path.write_bytes(content)
    path.unlink()
    assert [result.pi for result in read_results(tmp_path).whole] == [0.9]  # what is kept is not taken for a result


def test_a_protected_file_is_not_replaced(tmp_path, monkeypatch):
    list(run(tmp_path, [cell()], LOSSES))
    path = result_path(tmp_path, "twonorm", 0.8, 0.3)
    content = path.read_bytes()

    def refuse(self):
        raise PermissionError(13, "Permission denied", str(self))

    with monkeypatch.context() as patch:
        patch.setattr(Path, "read_bytes", refuse)
        (outcome,) = run(tmp_path, [cell()], [*LOSSES, sl.Ramp()])
    assert "Permission denied" in outcome.error
    assert path.read_bytes() == content


def test_a_file_damaged_during_the_run_is_kept(tmp_path, monkeypatch):
    path = result_path(tmp_path, "twonorm", 0.8, 0.3)

    def damaged_meanwhile(*arguments):
        path.write_text("{}")
        return [(0, run_task(*arguments[1][0]))]

    monkeypatch.setattr(runner, "completed", damaged_meanwhile)
    (outcome,) = run(tmp_path, [cell()], LOSSES)
    assert str(path) in outcome.error
    assert path.read_text() == "{}"
    (kept,) = read_results(tmp_path / "unmerged").whole
    assert set(kept.scores["auc"]) == {"sigmoid", "hinge"}


def test_the_command_line_names_what_it_does_not_replace(tmp_path):
    options = ["reproduce", "uci", "--datasets", "twonorm", "--noise", "0.8,0.3", "--trials", "1", "--risks", "auc"]
    options += ["--losses", "unhinged", "--jobs", "1", "--no-download", "--out", str(tmp_path)]
    path = result_path(tmp_path, "twonorm", 0.8, 0.3)
    path.write_text('{"format": 2}')
    result = CliRunner().invoke(app, options, env={"COLUMNS": "300"})
    assert result.exit_code == 1
    assert path.name in result.output
    assert path.read_text() == '{"format": 2}'
    assert CliRunner().invoke(app, [*options, "--replace-damaged"]).exit_code == 0
    assert set(read_result(path).scores["auc"]) == {"unhinged"}
    assert path.with_name(f"{path.name}.damaged1").read_text() == '{"format": 2}'


def test_two_runs_at_once_lose_nothing(tmp_path):
    command = [sys.executable, "-c", "from symloss.cli import app; app()", "reproduce", "uci", "--datasets", "twonorm"]
    options = ["--noise", "0.8,0.3", "--trials", "1", "--risks", "auc", "--jobs", "1", "--out", str(tmp_path)]
    processes = [subprocess.Popen([*command, *options, "--losses", loss]) for loss in ("sigmoid", "hinge")]
    assert [process.wait() for process in processes] == [0, 0]
    assert set(read_result(result_path(tmp_path, "twonorm", 0.8, 0.3)).scores["auc"]) == {"sigmoid", "hinge"}


def test_scores_on_files_and_on_drawn_points_are_not_mixed(tmp_path):
    list(run(tmp_path, [cell()], LOSSES[:1]))
    path = result_path(tmp_path, "twonorm", 0.8, 0.3)
    source = json.loads(path.read_text())["versions"]["data"]
    path.write_text(path.read_text().replace(f'"data": "{source}"', '"data": "elsewhere"'))
    (outcome,) = run(tmp_path, [cell()], LOSSES)
    assert outcome.error == f"its file has scores on data from elsewhere, and the data is now from {source}"


def test_where_each_part_was_run(tmp_path):
    list(run(tmp_path, [cell()], LOSSES[:1]))
    path = result_path(tmp_path, "twonorm", 0.8, 0.3)
    path.write_text(path.read_text().replace('"device": "cpu"', '"device": "a GPU"'))
    list(run(tmp_path, [cell()], LOSSES))
    assert read_result(path).device == "a GPU; cpu"


def test_losses_of_the_same_name_are_told_apart(tmp_path):
    class Sigmoid(sl.Loss):
        def value(self, z):
            return z**2

    assert label(Sigmoid()) != label(sl.Sigmoid())
    with pytest.raises(ValueError, match="losses must be different, got sigmoid, sigmoid"):
        list(run(tmp_path, [cell()], [sl.Sigmoid(), sl.Sigmoid()]))


def test_data_that_cannot_be_trained_on(tmp_path):
    X, y = blobs()
    for wrong, message in ((X[:, 0], "of shape (400,)"), (np.where(X > 2, np.nan, X), "with NaN or infinity")):
        with pytest.raises(ValueError, match=re.escape(f"finite numbers, got one {message}")):
            run_trials(wrong, y, 1.0, 0.0, LOSSES, settings=QUICK)


def test_results_of_another_configuration_are_not_overwritten(tmp_path):
    list(run(tmp_path, [cell()], LOSSES))
    with pytest.raises(ValueError, match=r"another configuration \(seed\); choose another folder"):
        list(run(tmp_path, [cell(seed=1)], LOSSES))


def test_own_losses_and_data_sets(tmp_path):
    configuration = cell(f"{__name__}:blobs", 1.0, 0.0, settings=replace(QUICK, hidden_units=100, epochs=100))
    (outcome,) = run(tmp_path, [configuration], [Cubed()])
    assert outcome.error is None
    (found,) = read_results(tmp_path).whole
    assert min(found.scores["auc"][f"{__name__}:Cubed"]) > 80
    with pytest.raises(ValueError, match="must return X and y, got int"):
        load_arrays("time:time_ns")


def test_a_cell_that_fails_stops_no_other_and_one_that_diverges_scores_as_chance(tmp_path):
    outcomes = list(run(tmp_path, [cell("nowhere:load"), cell()], LOSSES))
    assert sorted(outcome.error is None for outcome in outcomes) == [False, True]
    with pytest.warns(UserWarning, match="Exploding diverged in 2 of 2 trials, which score 50"):
        found = run_task(Task(cell("waveform"), [Exploding()], ["auc"]))
    assert found.scores == {"auc": {f"{__name__}:Exploding": [50.0, 50.0]}}


def test_a_killed_run_loses_nothing_that_was_finished(tmp_path):
    command = [sys.executable, "-c", "from symloss.cli import app; app()", "reproduce", "uci", "--datasets"]
    options = ["twonorm,waveform", "--trials", "1", "--losses", "unhinged", "--jobs", "1", "--out", str(tmp_path)]
    process = subprocess.Popen([*command, *options], stderr=subprocess.DEVNULL, stdout=subprocess.DEVNULL)
    deadline = time.monotonic() + 120
    while len(list(tmp_path.glob("*.json"))) < 2 and time.monotonic() < deadline:
        time.sleep(0.05)
    process.send_signal(signal.SIGKILL)
    process.wait()
    kept = read_results(tmp_path)
    assert 2 <= len(kept.whole) < 8
    assert not kept.damaged
    result = CliRunner().invoke(app, ["reproduce", "uci", *["--datasets"], *options])
    assert result.exit_code == 0, result.output
    assert len(read_results(tmp_path).whole) == 8
    assert all(cell in read_results(tmp_path).whole for cell in kept.whole)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--datasets", "iris"], "unknown data set 'iris'"),
        (["--datasets", "mnist"], "mnist holds images"),
        (["--noise", "0.5"], "--noise must be two rates such as 0.65,0.45, got '0.5'"),
        (["--noise", "0.3,0.6"], "pi"),
        (["--risks", "f1"], "--risks must be of ber, auc, got 'f1'"),
        (["--objectives", "f1"], "--risks must be of ber, auc, got 'f1'"),  # its old name
        (["--losses", "nothing"], "unknown loss 'nothing'"),
        (["--jobs", "0"], "jobs must be a number of processes"),
        (["--device", "abacus"], "--device abacus cannot be used"),
        (["--protocol", "guessed"], "protocol must be one of matched, printed, got 'guessed'"),
    ],
)
def test_bad_options(options, message, capsys):
    result = CliRunner().invoke(app, ["reproduce", "uci", *options])
    assert result.exit_code == 2
    assert message in result.stderr


def test_all_cells_of_the_paper():
    cells = uci_configurations()
    assert len(cells) == 36
    assert {cell.trials for cell in cells} == {20}
