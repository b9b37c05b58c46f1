import csv
import json

import pytest
from typer.testing import CliRunner

from symloss.cli import app
from symloss.paper.results import write_result


@pytest.fixture
def folder(tmp_path, made_up):
    for cell in made_up("uci", datasets=["spambase", "susy"]):
        write_result(tmp_path / "results", cell)
    return tmp_path / "results"


def run(*arguments, columns=100):
    environment = {"COLUMNS": str(columns), "NO_COLOR": "1"}
    return CliRunner().invoke(app, ["compare", *map(str, arguments)], env=environment)


def test_tables_and_summary(folder):
    result = run(folder)
    assert result.exit_code == 0
    assert result.stderr == ""
    assert result.output.count("spambase") == 8
    (summary,) = (line.split() for line in result.output.splitlines() if line.startswith("all "))
    assert summary[1] == "112"
    assert summary[7:9] == ["of", "112"]
    assert summary[10:] == ["of", "16"]
    assert "protocol unnamed, 20 trials, seed 0" in result.output


def test_every_file(folder, tmp_path):
    result = run(
        folder,
        *("--csv", tmp_path / "new" / "cells.csv"),
        *("--markdown", tmp_path / "new" / "tables.md"),
        *("--latex", tmp_path / "latex"),
        *("--figures", tmp_path / "figures"),
    )
    assert result.exit_code == 0
    written = [line.removeprefix("wrote ") for line in result.output.splitlines() if line.startswith("wrote ")]
    assert len(written) == 2 + 10 + 4
    rows = list(csv.DictReader((tmp_path / "new" / "cells.csv").read_text().splitlines()))
    assert len(rows) == 112
    assert {row["loss"] for row in rows} >= {"barrier_hinge", "savage"}
    assert (tmp_path / "new" / "tables.md").read_text().startswith("# Our scores and the paper's")
    assert (tmp_path / "figures" / "figure4.png").read_bytes().startswith(b"\x89PNG")
    assert (tmp_path / "figures" / "ours_against_paper.pdf").read_bytes().startswith(b"%PDF")


@pytest.mark.parametrize("option", ["--csv", "--markdown", "--latex", "--figures"])
def test_a_result_is_never_overwritten(folder, tmp_path, option):
    result = folder / "susy_pi0.65_0.45.json"
    before = {path: path.read_bytes() for path in folder.iterdir()}
    (tmp_path / "symbolic").symlink_to(result)
    (tmp_path / "hard").hardlink_to(result)
    (tmp_path / "figures").mkdir()
    for name in ("tables.tex", "figure4.png", "figure4.pdf"):
        (tmp_path / "figures" / name).symlink_to(result)
    (tmp_path / "elsewhere_pi0.65_0.45.json").write_text("a result of another folder")
    targets = [result, tmp_path / "symbolic", tmp_path / "hard", tmp_path / "elsewhere_pi0.65_0.45.json"]
    for target in [*targets, *([tmp_path / "figures"] if option in ("--latex", "--figures") else [])]:
        refused = run(folder, "--markdown", tmp_path / "first.md", option, target)
        assert refused.exit_code == 2
        assert refused.stderr.endswith(" is a result; it is not overwritten\n")
        assert refused.stderr.count("\n") == 1
    assert {path: path.read_bytes() for path in folder.iterdir()} == before
    assert (tmp_path / "elsewhere_pi0.65_0.45.json").read_text() == "a result of another folder"
    assert not (tmp_path / "first.md").exists()


def test_the_worst_alone(folder, tmp_path):
    result = run(folder, "--worst", "3", "--csv", tmp_path / "cells.csv")
    assert result.exit_code == 0
    lines = [line.split() for line in result.output.splitlines()]
    rows = list(csv.DictReader((tmp_path / "cells.csv").read_text().splitlines()))
    largest = sorted((float(row["z"]) for row in rows), key=abs, reverse=True)[:3]
    shown = [float(line[-1]) for line in lines if line[:1] == ["uci"] and line[1] in ("spambase", "susy")]
    assert shown == pytest.approx(largest, abs=0.051)
    assert [line[1] for line in lines if line[:1] == ["all"]] == ["112"]
    assert run(folder, "--worst", "0").exit_code == 2


def test_json_is_all_that_is_printed(folder, tmp_path):
    result = run(folder, "--json", "--csv", tmp_path / "cells.csv")
    summary = json.loads(result.stdout)
    assert summary["compared"] == 112
    assert summary["rms_difference"] > 0
    assert summary["damaged"] == []
    assert (tmp_path / "cells.csv").exists()


def test_a_damaged_file_is_named_and_left_out(folder):
    (path,) = folder.glob("susy_pi0.65*")
    path.write_text(path.read_text()[:500])
    result = run(folder, "--json")
    assert result.exit_code == 0
    assert result.stderr.startswith(f"symloss: warning: {path} is not used: it is no whole JSON file")
    assert result.stderr.count("\n") == 1
    summary = json.loads(result.stdout)
    assert summary["compared"] == 98
    assert len(summary["damaged"]) == 1


@pytest.mark.parametrize("prepare", ["missing", "file", "empty", "damaged", "one level up"])
def test_nothing_to_compare(tmp_path, folder, prepare):
    target, message = {
        "missing": (tmp_path / "nowhere", "there is no folder"),
        "file": (next(folder.iterdir()), "there is no folder"),
        "empty": (tmp_path / "empty", "holds no results"),
        "damaged": (tmp_path / "damaged", "susy_pi1.00_0.00.json is not used: it is no whole JSON file"),
        "one level up": (tmp_path, "its folders results do"),
    }[prepare]
    if prepare in ("empty", "damaged"):
        target.mkdir()
    if prepare == "damaged":
        (target / "susy_pi1.00_0.00.json").write_text("{")
    result = run(target)
    assert result.exit_code == 2
    assert result.output.count("\n") == 1
    assert result.stderr.startswith("symloss: error: ")
    assert message in result.stderr


def test_a_file_that_cannot_be_written_is_one_line(folder):
    result = run(folder, "--csv", "/dev/null/cells.csv")
    assert result.exit_code == 2
    assert result.output.count("\n") == 1


def test_help_has_an_example():
    assert "symloss compare results/uci-matched --csv cells.csv" in run("--help", columns=120).output
