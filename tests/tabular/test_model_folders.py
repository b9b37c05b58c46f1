"""Folders of models that were edited by hand: one line says what was expected and what was found, and no more."""

import hashlib
import json

import numpy as np
import pandas as pd
import pytest
from typer.testing import CliRunner

import symloss as sl
from symloss.cli import app
from symloss.estimators.model_files import signed

ROWS = pd.DataFrame({
    "age": np.arange(80.0) * 7 % 61,
    "city": ["Oslo", "Rome"] * 40,
    "day": pd.date_range("2020-01-01", periods=80).strftime("%Y-%m-%d"),
    "y": ["no", "no", "no", "yes", "yes"] * 16,
})  # fmt: skip


@pytest.fixture(scope="module")
def saved(tmp_path_factory):
    folder = tmp_path_factory.mktemp("saved") / "model"
    small = sl.AUCClassifier(model="trees", n_estimators=3, min_samples_leaf=5)
    sl.tabular.fit(ROWS, label="y", candidates=[("linear", sl.AUCClassifier()), ("trees", small)]).save(folder)
    return folder


@pytest.fixture
def folder(saved, tmp_path):
    (tmp_path / "model").mkdir()
    for path in saved.iterdir():
        (tmp_path / "model" / path.name).write_bytes(path.read_bytes())
    return tmp_path / "model"


def edit(folder, name, change):
    """Change a JSON file, and write the checksums that belong to it, as somebody with bad intentions would."""
    contents = json.loads((folder / "model.json").read_text())
    if name == "model.json":
        change(contents["estimator"]["estimator"]["fitted"])
    else:
        table = json.loads((folder / name).read_text())
        found = change(table)
        text = (found if isinstance(found, str) else json.dumps(table)).encode()
        (folder / name).write_bytes(text)
        contents["files"][name] = hashlib.sha256(text).hexdigest()
    (folder / "model.json").write_text(signed(contents))


def texts(dtype, *items):
    return {"values": {"dtype": dtype, "items": items}}


def member(fitted, **changes):
    fitted["members_"][0]["member"].update(changes)


OF_MODEL = [
    (lambda f: f.update(threshold_="high"), "expected a number as threshold_, found 'high'"),
    (lambda f: f.update(threshold_=None), "expected a number as threshold_, found None"),
    (lambda f: f.update(threshold_={"float": "nan"}), "expected a number as threshold_, found nan"),
    (lambda f: f.update(threshold_=10**400), "expected a number as threshold_, found a whole number of more than 40"),
    (lambda f: f.update(threshold_=True), "expected a number as threshold_, found True"),
    (lambda f: f.update(members_=3), "expected a list of members as members_, found 3"),
    (lambda f: f.update(members_=[]), "expected a list of members as members_, found []"),
    (lambda f: f.update(members_=[1, 2]), "expected a list of members as members_, found [1, 2]"),
    (lambda f: member(f, estimator=0), "expected a classifier as member"),
    (lambda f: member(f, on_folds=3), "expected a list as on_folds, found 3"),
    (lambda f: member(f, on_folds=[0]), "expected fits of one kind as member"),
    (lambda f: member(f, scale=0.0), "expected a scale above 0, found 0.0"),
    (lambda f: member(f, weight="1"), "expected a number as weight, found '1'"),
    (lambda f: f.update(n_features_in_=2**31), "expected a whole number from 1 to 2147483647 as n_features_in_"),
    (lambda f: f.update(classes_=texts("<U500000000", "a", "b")), "expected texts of at most"),
    (lambda f: f.update(classes_={"scalar": ["<U500000000", "a"]}), "expected texts of at most"),
    (lambda f: f.update(classes_=texts("object", "a", "a")), "expected two labels as classes_"),
    (lambda f: f.update(calibration_=0.5), "expected a Calibration as calibration_, found 0.5"),
    (lambda f: f.update(cv_results_=0.5), "expected a table of candidates as cv_results_"),
    (lambda f: f.update(feature_names_in_=texts("object", "a", "b")), "texts as feature_names_in_, found an array"),
]  # fmt: skip
OF_TABLE = [
    (lambda t: "[" * 100_000, "expected JSON, found too deep nesting"),
    (lambda t: '["\\ud800"]', "expected JSON, found something else"),
    (lambda t: "[]", "expected what is known of a table, found []"),
    (lambda t: t["encoding"]["columns"][1].update(categories=[1, {}]), "expected a name, and texts as categories"),
    (lambda t: t["encoding"]["columns"][1].update(categories=["Oslo", "Oslo"]), "expected a name, and texts as"),
    (lambda t: t["encoding"]["columns"][1].update(categories=["Oslo"]), "features of the model, found"),
    (lambda t: t["encoding"]["columns"][2]["form"].update(parts=["century"]), "expected how a column of texts becomes"),
    (lambda t: t["encoding"]["columns"][2].update(form={"kind": "hashed", "n_features": 10**9, "words": True,
                                                        "distinct": 1}), "expected at most 1048576 features"),
    (lambda t: t["encoding"].update(columns=[]), "expected columns of different names"),
    (lambda t: t.update(labels=["no"]), "expected two labels, found ['no']"),
    (lambda t: t.update(labels=["no", []]), "expected a text or a number as label, found []"),
    (lambda t: t.update(label=3), "expected the name of a column as label, found 3"),
    (lambda t: t.update(notes="x"), "expected a list of sentences as notes, found 'x'"),
    (lambda t: t["profile"]["ranges"].pop("age"), "expected the range of every feature that is measured"),
    (lambda t: t["profile"].update(columns=3), "expected the names of columns in the profile"),
    (lambda t: t.pop("labels"), "no 'labels'"),
]  # fmt: skip


@pytest.mark.parametrize(
    ("name", "change", "message"),
    [*(("model.json", *case) for case in OF_MODEL), *(("table.json", *case) for case in OF_TABLE)],
)
def test_an_edited_folder_is_refused_in_one_line(folder, name, change, message):
    edit(folder, name, change)
    with pytest.raises(ValueError, match=rf"{name} is damaged: ") as refused:
        sl.tabular.load(folder)
    assert message in str(refused.value)
    assert "\n" not in str(refused.value)


@pytest.mark.parametrize("case", [("model.json", OF_MODEL[0]), ("table.json", OF_TABLE[0])])
def test_predict_ends_with_one_line(folder, tmp_path, case):
    name, (change, message) = case
    edit(folder, name, change)
    ROWS.to_csv(tmp_path / "rows.csv", index=False)
    result = CliRunner().invoke(app, ["predict", str(folder), str(tmp_path / "rows.csv")])
    assert result.exit_code == 2
    assert message in result.stderr
    assert result.stderr.count("\n") == 1


def test_a_model_that_is_as_it_was_written_predicts_the_same(folder, saved):
    edit(folder, "table.json", lambda table: None)  # the checksums are right, or no test of this file could fail
    pd.testing.assert_frame_equal(
        sl.tabular.load(folder).predict(ROWS).table, sl.tabular.load(saved).predict(ROWS).table, check_exact=True
    )
