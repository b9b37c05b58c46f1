"""Folders of models that were edited by hand: one line says what was expected and what was found, and no more."""

import numpy as np
import pandas as pd
import pytest
from typer.testing import CliRunner

import symloss as sl
from symloss.cli import app
from symloss.estimators.saving import load_with, save_with

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


def edit(folder, change):
    """Change what a model holds of its table."""
    path = folder / "model.safetensors"
    estimator, table = load_with(path)
    found = change(table)
    save_with(estimator, path, table if found is None else found)


OF_TABLE = [
    (lambda t: [], "expected what is known of a table, found []"),
    (lambda t: t["encoding"]["columns"][1].update(categories=[1, {}]), "expected a name, and texts as categories"),
    (lambda t: t["encoding"]["columns"][1].update(categories=["Oslo", "Oslo"]), "expected a name, and texts as"),
    (lambda t: t["encoding"]["columns"][1].update(categories=["Oslo"]), "features of the model, found"),
    (lambda t: t["encoding"]["columns"][2]["form"].update(parts=["century"]), "expected how a column of texts becomes"),
    (lambda t: t["encoding"]["columns"][2].update(form={"kind": "hashed", "n_features": 10**9, "by_word": True,
                                                        "distinct": 1}), "expected at most 1048576 features"),
    (lambda t: t["encoding"].update(columns=[]), "expected columns of different names"),
    (lambda t: t.update(labels=["no"]), "expected two labels, found ['no']"),
    (lambda t: t.update(labels=["no", []]), "expected a text or a number as label, found []"),
    (lambda t: t.update(label=3), "expected the name of a column as label, found 3"),
    (lambda t: t.update(notes="x"), "expected a list of sentences as notes, found 'x'"),
    (lambda t: t["profile"]["ranges"].pop("age") and None, "expected the range of every feature that is measured"),
    (lambda t: t["profile"].update(columns=3), "expected the names of columns in the profile"),
    (lambda t: t.pop("labels") and None, "no 'labels'"),
]  # fmt: skip


@pytest.mark.parametrize(("change", "message"), OF_TABLE)
def test_an_edited_table_is_refused_in_one_line(folder, change, message):
    edit(folder, change)
    with pytest.raises(ValueError, match=r"model.safetensors is damaged: ") as refused:
        sl.tabular.load(folder)
    assert message in str(refused.value)
    assert "\n" not in str(refused.value)


def test_predict_ends_with_one_line(folder, tmp_path):
    edit(folder, lambda table: table.update(label=3))
    ROWS.to_csv(tmp_path / "rows.csv", index=False)
    result = CliRunner().invoke(app, ["predict", str(folder), str(tmp_path / "rows.csv")])
    assert result.exit_code == 2
    assert "expected the name of a column as label, found 3" in result.stderr
    assert result.stderr.count("\n") == 1
