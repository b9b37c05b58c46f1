import json
import math
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from symloss.paper import results
from symloss.paper.results import (
    PUBLISHED,
    DamagedResult,
    Result,
    Scored,
    read_result,
    read_results,
    result_path,
    write_result,
)

CELL = Result(
    family="uci",
    dataset="spambase",
    pi=0.65,
    pi_prime=0.45,
    trials=3,
    seed=7,
    protocol="matched",
    settings={"epochs": 100, "decay": 0.05, "layers": (500,), "note": "[\n 1,\n 2]"},
    scores={"ber": {"sigmoid": [81.2, 80.0, 79.123456]}, "auc": {"sigmoid": [90, 91, 92], "hinge": [70, 71, 72.5]}},
    curves={"auc": {"sigmoid": [50.0, 80.5]}},
    device="cpu",
    seconds=1.5,
)


def test_what_is_written_is_read(tmp_path):
    path = write_result(tmp_path / "new" / "folder", CELL)
    assert path == result_path(tmp_path / "new" / "folder", "spambase", 0.65, 0.45)
    assert read_result(path) == CELL
    assert [file.name for file in path.parent.iterdir()] == ["spambase_pi0.65_0.45.json"]
    assert json.loads(path.read_text())["scores"]["ber"]["sigmoid"] == [81.2, 80.0, 79.1235]
    assert len(path.read_text().splitlines()) < 40  # a line for each list


def test_files_of_earlier_versions_are_read_and_written_byte_for_byte(tmp_path):
    folder = Path(__file__).parents[2] / "results"
    if not folder.is_dir():
        pytest.skip("the results are only in the repository")
    runs = ("uci-further", "mnist-matched", "mnist-printed", "cifar10")
    paths = [path for run in runs for path in sorted((folder / run).glob("*_pi0.65*"))]
    assert len(paths) > 10
    for path in paths:
        assert write_result(tmp_path / path.parent.name, read_result(path)).read_bytes() == path.read_bytes()


def test_a_file_holds_every_way_of_scoring_by_name(tmp_path):
    def of(number):
        return {"auc": {"sigmoid": [number] * 3}}

    further = {"other": Scored(scores=of(1.0), curves=of(2.0), errors=of(3.0)), "third": Scored(curves=of(4.0))}
    path = write_result(tmp_path, replace(CELL, errors=of(5.0), further=further))
    content = json.loads(path.read_text())
    assert content["further_scores"] == {"other": of(1.0)}
    assert content["further_curves"] == {"other": of(2.0), "third": of(4.0), "se": of(5.0), "other_se": of(3.0)}
    found = read_result(path)
    assert (found.further, found.errors, found.ways) == (further, of(5.0), [PUBLISHED, "other"])
    assert found.scored(PUBLISHED).scores == CELL.scores
    assert found.scored("other") == further["other"]
    with pytest.raises(ValueError, match="spambase has no scores 'third' beside the published kind; it has: other"):
        found.scored("third")


def test_a_full_cell_is_small_and_keeps_its_statistics(tmp_path):
    rng = np.random.default_rng(0)
    scores = rng.uniform(50, 100, size=(2, 7, 20))
    losses = [f"loss_{number}" for number in range(7)]
    tables = {
        risk: {loss: values.tolist() for loss, values in zip(losses, table, strict=True)}
        for risk, table in zip(("ber", "auc"), scores, strict=True)
    }
    path = write_result(tmp_path, replace(CELL, trials=20, scores=tables))
    assert path.stat().st_size < 5000
    read = np.array([list(read_result(path).scores[risk].values()) for risk in ("ber", "auc")])
    np.testing.assert_allclose(read, scores, atol=5.1e-5)


@pytest.mark.parametrize(
    "name", ["..", "a/b", "../../etc", "CON", "my data", "ünï", "x" * 300, "a\\b:c*?", ".hidden", "%2F"]
)
def test_any_name_of_a_data_set_is_a_file_in_the_folder(tmp_path, name):
    cell = replace(CELL, dataset=name)
    path = write_result(tmp_path, cell)
    assert path.resolve().parent == tmp_path.resolve()
    assert read_results(tmp_path) == ([cell], [])


def test_names_tell_data_sets_and_rates_apart(tmp_path):
    keys = [("a", 0.65, 0.45), ("a", 0.651, 0.45), ("a", 0.65, 0.4), ("b", 0.65, 0.45)]
    names = [result_path(tmp_path, *key) for key in (*keys, ("x" * 300, 1, 0), ("x" * 301, 1, 0))]
    assert len(set(names)) == 6
    assert result_path(tmp_path, "a", 1, 0) == result_path(tmp_path, "a", 1.0, 0.0)


def change(**changes):
    def changed(content):
        return json.dumps(content | changes)

    return changed


@pytest.mark.parametrize(
    ("damage", "reason"),
    [
        (lambda content: "", "no whole JSON file"),
        (lambda content: json.dumps(content)[:-1], "no whole JSON file"),
        (lambda content: json.dumps(content)[:200], "no whole JSON file"),
        (lambda content: b"\xff\xfe\x00", "no whole JSON file"),
        (lambda content: "[" * 100_000, "recursion"),
        (lambda content: "[1, 2]", "not a result of symloss"),
        (lambda content: '{"cells": 3}', "not a result of symloss"),
        (lambda content: json.dumps({key: content[key] for key in content if key != "seed"}), "lacks seed"),
        (change(format=2), "its format is 2; this symloss reads 1"),
        (change(extra=1), "unknown extra"),
        (change(versions={"torch": None}), "the version of torch must be str, got None"),
        (change(family=""), "family must be a name"),
        (change(dataset=3), "dataset must be a name, got 3"),
        (change(dataset="susy"), "belongs into susy_pi0.65_0.45.json"),
        (change(pi=0.8), "belongs into spambase_pi0.80_0.45.json"),
        (change(pi="0.65"), "pi must be a finite number"),
        (change(pi=True), "pi must be a finite number"),
        (change(pi=0.4), "pi must exceed pi'"),
        (change(trials=2), "expected 2, one per trial, got 3"),
        (change(trials=3.0), "trials must be an integer"),
        (change(seed=-1), "seed must be an integer of at least 0"),
        (change(settings=[1]), "settings must be dict"),
        (change(seconds=math.inf), "it holds Infinity"),
        (change(versions="1"), "versions must be dict"),
        (change(scores={}), "scores must hold a risk"),
        (change(scores={"ber": {"hinge": [10**400] * 3}}), "must be a finite number"),
        (change(scores={"ber": {}}), "scores of ber must hold a loss"),
        (change(scores={"acc": {"hinge": [1, 2, 3]}}), "scores must be of ber or auc, got 'acc'"),
        (change(scores={"ber": {"hinge": 3}}), "scores of ber, hinge must be"),
        (change(scores={"ber": {"hinge": [1, 2]}}), "scores of ber, hinge: expected 3, one per trial, got 2"),
        (change(scores={"ber": {"hinge": [1, 2, math.nan]}}), "it holds NaN"),
        (change(scores={"ber": {"hinge": [1, 2, None]}}), "scores of ber, hinge must be a finite number, got None"),
        (change(scores={"ber": {"hinge": [1, 2, "3"]}}), "must be a finite number, got '3'"),
        (change(scores={"ber": {"hinge": [1, 2, 100.5]}}), "must be between 0 and 100, got 1.0 to 100.5"),
        (change(curves={"ber": {"hinge": []}}), "curves of ber, hinge: expected some, got 0"),
        (change(further_scores=[1]), "further_scores must be dict"),
        (change(further_scores={"x": {"ber": {"hinge": [1]}}}), "further_scores, x of ber, hinge: expected 3, one per"),
        (
            change(further_curves={"x_se": {"ber": {"hinge": [-1]}}}),
            "further_curves, x_se of ber, hinge must be between",
        ),
        (change(further_curves={"se": 3}), "further_curves, se must be dict"),
    ],
)
def test_damage_is_named(tmp_path, damage, reason):
    path = write_result(tmp_path, CELL)
    content = damage(json.loads(path.read_text()))
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    with pytest.raises(DamagedResult) as caught:
        read_result(path)
    assert caught.value.path == path
    assert reason in caught.value.reason
    assert str(caught.value).startswith(f"{path} is not used: ")


def test_numbers_of_numpy_are_numbers(tmp_path):
    scores = {"ber": {"sigmoid": list(np.float32([80.5, 81.25, 82]))}}
    cell = replace(CELL, pi=np.float64(1), pi_prime=0, seconds=np.float32(2), scores=scores)
    path = write_result(tmp_path, cell)
    assert path.name == "spambase_pi1.00_0.00.json"
    assert read_result(path) == cell


def test_a_cell_that_could_not_be_read_is_not_made():
    with pytest.raises(ValueError, match="the name of a loss must be str"):
        replace(CELL, scores={"ber": {3: [1, 2, 3]}})
    with pytest.raises(ValueError, match="finite number"):
        replace(CELL, scores={"ber": {"hinge": [1, 2, math.nan]}})
    with pytest.raises(ValueError, match="JSON"):
        replace(CELL, settings={"rate": math.nan})


def test_a_folder_with_good_and_damaged_files(tmp_path):
    write_result(tmp_path, CELL)
    write_result(tmp_path, replace(CELL, dataset="adult"))
    (tmp_path / "susy_pi1.00_0.00.json").write_text("{")
    (tmp_path / "w8a_pi1.00_0.00.json").mkdir()
    (tmp_path / "summary.json").write_text("not a result")
    cells, damaged = read_results(tmp_path)
    assert [cell.dataset for cell in cells] == ["adult", "spambase"]
    assert [error.path.name for error in damaged] == ["susy_pi1.00_0.00.json", "w8a_pi1.00_0.00.json"]
    with pytest.raises(FileNotFoundError, match="there is no folder"):
        read_results(tmp_path / "nowhere")
    with pytest.raises(FileNotFoundError, match="there is no result file"):
        read_result(tmp_path / "nowhere.json")


def test_a_killed_run_leaves_the_old_file(tmp_path, monkeypatch):
    path = write_result(tmp_path, CELL)
    before = path.read_bytes()

    def broken(*args):
        raise OSError("disk full")

    monkeypatch.setattr("pathlib.Path.replace", broken)
    with pytest.raises(OSError, match="disk full"):
        write_result(tmp_path, replace(CELL, seed=8))
    assert path.read_bytes() == before
    assert list(tmp_path.iterdir()) == [path]


def test_a_configuration_differs_in_whatever_decides_scores():
    assert isinstance(CELL.configuration, results.Configuration)
    for changes in (
        {"seed": 8},
        {"trials": 4},
        {"protocol": "printed"},
        {"settings": {"epochs": 50}},
        {"family": "own"},
    ):
        assert replace(CELL.configuration, **changes) != CELL.configuration
