"""Files and losses that once ended a command with a traceback: each ends with exit code 2 and one line, or works."""

import io
import json
import lzma
import tarfile
import warnings
import zipfile
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from typer.testing import CliRunner

import symloss as sl
import symloss.tabular.fitting
from symloss.cli import app
from symloss.paper.results import Result, write_result

ROWS = pd.DataFrame({"age": np.arange(60) * 7 % 61, "city": ["Oslo", "Rome", "Oslo"] * 20, "y": ["no", "yes"] * 30})


def run(*arguments):
    return CliRunner().invoke(app, list(map(str, arguments)), env={"COLUMNS": "140", "NO_COLOR": "1"})


def error_of(*arguments):
    result = run(*arguments)
    assert result.exit_code == 2, result.output
    assert result.stderr.count("\n") == 1
    assert result.stderr.startswith("symloss: error: ")
    return result.stderr


@pytest.fixture(autouse=True)
def _in_a_folder(tmp_path, monkeypatch):
    """Work in a new folder, and let fits try one linear model."""
    monkeypatch.chdir(tmp_path)
    linear = [("linear", sl.AUCClassifier())]
    monkeypatch.setitem(
        symloss.tabular.fitting.ESTIMATORS, "auc", lambda _, **how: sl.AUCClassifierCV(linear, cv=2, **how)
    )


@pytest.fixture(scope="module")
def saved(tmp_path_factory):
    folder = tmp_path_factory.mktemp("saved") / "model"
    sl.tabular.fit(ROWS, label="y", candidates=[("linear", sl.AUCClassifier())]).save(folder)
    return folder


def zipped(encrypted=False):
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w") as archive:
        archive.writestr("data.csv", ROWS.to_csv(index=False))
    content = bytearray(file.getvalue())
    if encrypted:
        content[6] |= 1
        content[content.index(b"PK\x01\x02") + 8] |= 1
    return bytes(content)


def tarred():
    file = io.BytesIO()
    with tarfile.open(fileobj=file, mode="w") as archive:
        archive.addfile(tarfile.TarInfo("data.csv"))
    return file.getvalue()


def damaged(content):
    return content[:40] + bytes(byte ^ 0x5A for byte in content[40:60]) + content[60:]


GARBAGE = bytes(range(256)) * 40
FILES = {
    "garbage.csv.xz": GARBAGE,
    "damaged.csv.xz": damaged(lzma.compress(ROWS.to_csv().encode())),
    "garbage.zip": GARBAGE,
    "damaged.zip": damaged(zipped()),
    "encrypted.zip": zipped(encrypted=True),
    "garbage.tar": GARBAGE,
    "whole.tar": tarred(),
    "garbage.parquet": b"PAR1" + GARBAGE,
    "garbage.xlsx": b"PK\x03\x04" + GARBAGE,
}


@pytest.mark.parametrize("name", FILES)
def test_files_that_are_no_tables(tmp_path, saved, name):
    (tmp_path / name).write_bytes(FILES[name])
    for arguments in (
        ["predict", saved, name],
        ["fit", name, "--label", "y", "--out", "m"],
        ["audit", name, "--label", "y"],
    ):
        assert name in error_of(*arguments)
    assert [path.name for path in tmp_path.iterdir()] == [name]


def test_lists_of_parquet_as_labels_and_as_a_feature(saved):
    ROWS.assign(y=[[1], [2]] * 30).to_parquet("lists.parquet")
    assert "the label, must hold two values, got lists" in error_of(
        "fit", "lists.parquet", "--label", "y", "--out", "m"
    )
    ROWS.assign(age=[[1], [2]] * 30).to_parquet("ages.parquet")
    error_of("predict", saved, "ages.parquet")


RAISES = """
import torch
import symloss as sl

class Raises(sl.Loss):
    def value(self, z):
        raise RuntimeError("two\\nlines")

class Exits(sl.Loss):
    def value(self, z):
        raise SystemExit(3)
"""


@pytest.mark.parametrize("name", ["Raises", "Exits"])
@pytest.mark.parametrize("command", [["analyze"], ["explore", "--out", "page.html", "--losses"]])
def test_losses_that_raise(tmp_path, name, command):
    (tmp_path / f"mine_{tmp_path.name}.py").write_text(RAISES)
    assert "failed on a tensor of margins" in error_of(*command, f"mine_{tmp_path.name}:{name}")
    assert not (tmp_path / "page.html").exists()


@pytest.mark.parametrize(
    "edited",
    [
        {"scores": {"auc": {"sigmoid": [int("9" * 400), 90.0]}}},
        {"versions": {"torch": None}},
        {"format": "x" * 9000},
    ],
)
def test_a_damaged_result_stops_no_other(tmp_path, edited):
    scores = {"auc": {"sigmoid": [90.0, 91.0]}}
    paths = [
        write_result(
            tmp_path / "results", Result(family="uci", dataset="spambase", pi=pi, pi_prime=0, trials=2, scores=scores)
        )
        for pi in (1.0, 0.8)
    ]
    paths[0].write_text(json.dumps(json.loads(paths[0].read_text()) | edited))
    for arguments in (["compare", "results"], ["report", "results"]):
        result = run(*arguments)
        assert result.exit_code == 0
        assert result.stderr.count("\n") == 1
        assert f"symloss: warning: results/{paths[0].name} is not used" in result.stderr.replace(f"{tmp_path}/", "")
    paths[1].unlink()
    error_of("compare", "results")


@pytest.mark.parametrize("labels", [("$10% - $20%", "$a_b^{$"), ("</script>", "<b>"), ("\\frac{", "%s {x}")])
def test_labels_that_are_markup_of_any_kind(tmp_path, labels):
    ROWS.assign(y=np.where(ROWS["y"] == "yes", *labels)).to_csv("data.csv", index=False)
    result = run("fit", "data.csv", "--label", "y", "--out", "model")
    assert result.exit_code == 0, result.output
    assert not result.stderr
    assert {"model.safetensors", "report.html", "labels.csv"} <= {path.name for path in (tmp_path / "model").iterdir()}
    assert set(sl.tabular.load(tmp_path / "model").labels) == set(labels)


def test_links_that_lead_in_circles_and_devices_without_an_end(tmp_path, saved):
    (tmp_path / "loop").symlink_to("loop")
    ROWS.to_csv("data.csv")
    for arguments in (
        ["fit", "loop", "--label", "y", "--out", "m"],
        ["fit", "data.csv", "--label", "y", "--out", "loop"],
        ["predict", saved, "loop"],
        ["predict", saved, "data.csv", "--out", "loop"],
        ["report", "loop"],
        ["compare", "loop"],
    ):
        assert "loop" in error_of(*arguments)
    if Path("/dev/zero").exists():
        assert "/dev/zero is a device" in error_of("predict", saved, "/dev/zero")


def test_separators_at_ends_of_rows_with_labels_as_they_are_written():
    with Path("data.csv").open("w") as file:
        file.write("age,y\n" + "".join(f"{k},0{k % 2},\n" for k in range(40)))
    assert run("fit", "data.csv", "--label", "y", "--out", "model").exit_code == 0
    assert sl.tabular.load("model").labels == ("00", "01")


def test_warnings_are_one_line_each(monkeypatch):
    def warn(*_, **__):
        warnings.warn("first\nsecond", stacklevel=1)
        return []

    monkeypatch.setattr("symloss.paper.figures.save_figures", warn)
    with warnings.catch_warnings():
        warnings.simplefilter("default")
        assert run("figures").stderr == "symloss: warning: first second\n"


def test_an_error_has_an_end():
    assert len(error_of("analyze", "x" * 100_000)) < 2100


@pytest.mark.parametrize("ends", ["\n", "\r\n"])
def test_a_refused_value_names_its_line(ends):
    rows = [f'{k},1,"two{ends}lines",{"yes" if k % 2 else "no"}' for k in range(60)]
    wrong = {"x": rows[40].replace("40,1", "forty,1"), "weight": rows[40].replace("40,1", "40,-1")}
    for column, row in wrong.items():
        parts = ["x,weight,text,y", "", *rows[:20], "", "", *rows[20:40], row, *rows[41:]]
        Path("data.csv").write_bytes(("\ufeff" + ends.join(parts) + ends).encode())
        lines = Path("data.csv").read_text(encoding="utf-8-sig").split("\n")
        line = next(number for number, text in enumerate(lines, 1) if text.startswith(row.split(ends)[0]))
        said = error_of("fit", "data.csv", "--label", "y", "--weight", "weight", "--out", "model")
        assert f"column {column!r}" in said
        assert f"row 41 (line {line})" in said


def test_a_refused_value_of_a_file_without_lines_names_its_row():
    frame = ROWS.assign(weight=1.0)
    frame.loc[40, "weight"] = -1
    frame.to_csv("first.csv", index=False)
    assert "row 41 (line 42)" in error_of("fit", "first.csv", "--label", "y", "--weight", "weight", "--out", "model")
    frame.to_parquet("data.parquet")
    said = error_of("fit", "data.parquet", "--label", "y", "--weight", "weight", "--out", "model")
    assert said.endswith("infinite in row 41\n")
