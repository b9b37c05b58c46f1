"""``symloss reproduce mnist`` and ``cifar10`` on made-up images: files, resumption, and what bad input says."""

import json
import signal
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path

import pytest
from typer.testing import CliRunner

import symloss as sl
from symloss.cli import app
from symloss.paper import protocol, worker
from symloss.paper.images import run_image_trials
from symloss.paper.results import read_result, read_results, result_path
from symloss.paper.runner import image_configurations, run
from symloss.paper.training import Risk

sys.path.insert(0, str(Path(__file__).parent))
from made_up_images import QUICK, made_up_images

OPTIONS = ["--device", "cpu", "--trials", "1", "--losses", "sigmoid"]


@pytest.fixture
def quick(monkeypatch):
    monkeypatch.setitem(protocol.IMAGES, "cifar10", {"matched": QUICK})
    monkeypatch.setattr(worker, "load_images", lambda *_: made_up_images())


def reproduce(*arguments):
    return CliRunner().invoke(app, ["reproduce", *map(str, arguments)], env={"COLUMNS": "100", "NO_COLOR": "1"})


def test_all_cells_of_the_paper():
    assert len(image_configurations("cifar10")) * 14 == 504
    assert len(image_configurations("mnist")) * 14 == 56
    assert {cell.trials for cell in image_configurations("cifar10")} == {10}
    assert {cell.protocol for cell in image_configurations("mnist", settings=QUICK)} == {"other"}
    assert [
        (cell.protocol, cell.settings.get("one_by_one"))
        for protocol in ("matched", "printed")
        for cell in image_configurations("mnist", noises=[(1, 0)], protocol=protocol)
    ] == [("matched", True), ("printed", None)]
    assert all("one_by_one" not in cell.settings for cell in image_configurations("cifar10"))
    with pytest.raises(ValueError, match="protocol must be one of matched, got 'printed'"):
        image_configurations("cifar10", protocol="printed")


def test_pairs_one_by_one_need_classes_of_equal_size():
    with pytest.raises(ValueError, match="as many positives as negatives"):
        protocol.ImageSettings(one_by_one=True)


def test_a_network_is_trained_on_pairs_as_its_settings_say(monkeypatch):
    settings = replace(QUICK, balanced=True, one_by_one=True)
    seen = []
    gradient = Risk.gradient
    monkeypatch.setattr(Risk, "gradient", lambda self, *rest: seen.append(self) or gradient(self, *rest))
    run_image_trials(made_up_images(), 0.8, 0.3, settings, [sl.Sigmoid()], trials=1)
    assert set(seen) == {Risk("ber", sl.Sigmoid()), Risk("auc", sl.Sigmoid(), one_by_one=True)}


def test_cells_land_in_their_files_and_are_compared(quick, tmp_path):
    result = reproduce("cifar10", "--pairs", "horse,cat", "--noise", "0.65,0.45", *OPTIONS, "--out", tmp_path)
    assert result.exit_code == 0, result.output
    assert "horse (0.65, 0.45): " in result.output
    assert f"all tables: symloss compare {tmp_path}" in result.output.replace("\n", " ")
    (summary,) = (line.split() for line in result.output.splitlines() if line.startswith("all  "))
    assert summary[1] == "4"  # two pairs, two risks, one loss
    cell = read_result(result_path(tmp_path, "horse", 0.65, 0.45))
    assert (cell.family, cell.protocol, cell.versions["data"]) == ("cifar10", "matched", "official files")
    assert len(cell.further["dropout_off"].curves["auc"]["sigmoid"]) == QUICK.epochs
    again = reproduce("cifar10", "--pairs", "horse,cat", "--noise", "0.65,0.45", *OPTIONS, "--out", tmp_path)
    assert again.output.count("done before") == 2


def test_what_a_cell_lacks_is_added_in_every_way_of_scoring(quick, tmp_path):
    cells = image_configurations("cifar10", ["horse"], [(0.8, 0.3)], trials=2)
    list(run(tmp_path, cells, [sl.Sigmoid()], ["auc"]))
    old = read_result(result_path(tmp_path, "horse", 0.8, 0.3))
    list(run(tmp_path, cells, [sl.Sigmoid(), sl.Hinge()], ["auc"]))
    new = read_result(result_path(tmp_path, "horse", 0.8, 0.3))
    pairs = [(old, new), *((old.further[way], new.further[way]) for way in old.further)]
    parts = [(getattr(of, part), getattr(now, part)) for of, now in pairs for part in ("scores", "curves", "errors")]
    assert sum(bool(before) for before, _ in parts) == 9
    for before, after in parts:
        if not before:
            assert not after
            continue
        assert after["auc"]["sigmoid"] == before["auc"]["sigmoid"]
        assert len(after["auc"]["hinge"]) == len(before["auc"]["sigmoid"])


def test_progress_within_a_cell_is_told(quick, tmp_path):
    told = []
    cells = image_configurations("cifar10", ["horse"], [(0.8, 0.3)], trials=1)
    list(run(tmp_path, cells, [sl.Sigmoid()], ["auc"], 1, progress=lambda done, total: told.append((done, total))))
    assert told == [(1, QUICK.epochs), (2, QUICK.epochs)]
    assert read_result(result_path(tmp_path, "horse", 0.8, 0.3)).finished.startswith("20")


def test_a_killed_run_loses_nothing_that_was_finished(quick, tmp_path):
    code = (
        f"import sys; sys.path.insert(0, {str(Path(__file__).parent)!r})\n"
        "from made_up_images import use_made_up_images\n"
        "from symloss.cli import app\n"
        "use_made_up_images()\n"
        "app()"
    )
    arguments = ["cifar10", "--pairs", "horse,cat", *OPTIONS, "--out", str(tmp_path)]
    process = subprocess.Popen(
        [sys.executable, "-c", code, "reproduce", *arguments], stderr=subprocess.DEVNULL, stdout=subprocess.DEVNULL
    )
    deadline = time.monotonic() + 120
    while len(list(tmp_path.glob("*.json"))) < 2 and time.monotonic() < deadline:
        time.sleep(0.02)
    process.send_signal(signal.SIGKILL)
    process.wait()
    kept = read_results(tmp_path)
    assert 2 <= len(kept.whole) < 8
    assert not kept.damaged
    result = reproduce(*arguments)
    assert result.exit_code == 0, result.output
    assert result.output.count("done before") == len(kept.whole)
    assert len(read_results(tmp_path).whole) == 8
    assert all(cell in read_results(tmp_path).whole for cell in kept.whole)


def test_results_of_other_settings_are_not_overwritten(quick, tmp_path, monkeypatch):
    assert reproduce("cifar10", "--pairs", "horse", "--noise", "1,0", *OPTIONS, "--out", tmp_path).exit_code == 0
    monkeypatch.setitem(protocol.IMAGES, "cifar10", {"matched": protocol.CIFAR10})
    result = reproduce("cifar10", "--pairs", "horse", "--noise", "1,0", *OPTIONS, "--out", tmp_path)
    assert result.exit_code == 2
    assert "results of another configuration (settings); choose another folder" in result.stderr


@pytest.mark.parametrize(("family", "archive"), [("cifar10", "cifar-10-binary.tar.gz"), ("mnist", "train-images-idx3")])
def test_where_there_is_no_data_it_says_what_to_fetch(family, archive, tmp_path, monkeypatch):
    monkeypatch.setenv("SYMLOSS_CACHE", str(tmp_path / "cache"))
    monkeypatch.delenv("SYMLOSS_DATA", raising=False)
    result = reproduce(family, *OPTIONS, "--no-download", "--out", tmp_path / "out")  # once, not once a cell
    assert result.exit_code == 2
    assert len(result.stderr.splitlines()) == 1
    assert archive in result.stderr
    assert "unpack it, and put the files into a folder that SYMLOSS_DATA names" in result.stderr
    assert not list((tmp_path / "out").glob("*.json"))


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (
            ["cifar10", "--pairs", "car"],
            "pairs must be of automobile, bird, cat, deer, dog, frog, horse, ship, truck; got car",
        ),
        (["cifar10", "--pairs", "airplane,horse"], "; got airplane"),
        (["cifar10", "--noise", "0.5"], "--noise must be two rates such as 0.65,0.45, got '0.5'"),
        (["mnist", "--noise", "0.3,0.6"], "pi"),
        (["mnist", "--risks", "f1"], "--risks must be of ber, auc, got 'f1'"),
        (["cifar10", "--objectives", "f1"], "--risks must be of ber, auc, got 'f1'"),  # its old name
        (["mnist", "--losses", "nothing"], "unknown loss 'nothing'"),
        (["mnist", "--device", "abacus"], "--device abacus cannot be used"),
        (["mnist", "--device", "meta"], "--device cpu works everywhere"),
        (["cifar10", "--pairs", ""], "names must be separated by single commas, got ''"),
        (["cifar10", "--pairs", "horse,"], "names must be separated by single commas, got 'horse,'"),
        (["mnist", "--losses", ""], "names must be separated by single commas, got ''"),
    ],
)
def test_bad_options(options, message, tmp_path):
    result = reproduce(*options, "--out", tmp_path)
    assert result.exit_code == 2
    assert message in result.stderr
    assert result.output.count("\n") == 1


def test_other_scores_beside_the_papers(quick, tmp_path):
    reproduce("cifar10", "--pairs", "horse", "--noise", "0.65,0.45", *OPTIONS, "--out", tmp_path)
    (cell,) = read_results(tmp_path).whole
    for scores in ("dropout_off", "chosen_epoch"):
        target, page = tmp_path / f"{scores}.csv", tmp_path / f"{scores}.md"
        options = ["--scores", scores, "--json", "--csv", str(target), "--markdown", str(page)]
        result = CliRunner().invoke(app, ["compare", str(tmp_path), *options])
        assert result.exit_code == 0, result.output
        assert json.loads(result.stdout)["compared"] == 2
        assert page.read_text().startswith("# Our scores and the paper's: ours with dropout off, ")
        (auc,) = (line.split(",") for line in target.read_text().splitlines() if ",auc," in line)
        assert float(auc[6]) == pytest.approx(cell.further[scores].scores["auc"]["sigmoid"][0], abs=1e-3)
    for wrong in ("epoch", "dropout"):
        result = CliRunner().invoke(app, ["compare", str(tmp_path), "--scores", wrong])
        assert result.exit_code == 2
        assert f"--scores must be of dropout_off, chosen_epoch; got {wrong}" in result.stderr
