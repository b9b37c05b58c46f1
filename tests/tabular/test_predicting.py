"""``symloss predict``: parts of a file give what the whole gives, in order, and a file is complete or absent."""

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from typer.testing import CliRunner

import symloss as sl
from symloss.cli import app
from symloss.tabular import predicting
from symloss.tabular.model import BLOCK, TableModel
from symloss.tabular.predicting import predict_file

# What colleagues would point out is not what these tests are about.
pytestmark = pytest.mark.filterwarnings("ignore:.*(rows have the same features|there are only|alone tells|number rows)")

ROWS = 2 * BLOCK + 77


def table(n):
    generator = np.random.default_rng(1)
    return pd.DataFrame(
        {
            "who": [f"{k:05d}" if k % 7 else None for k in range(n)],
            "number": pd.array([k if k > n // 2 else None for k in range(n)], dtype="Int64"),
            "age": [str(k % 60) if k % 5 else "" for k in range(n)],  # missing in some rows
            "weight": np.where(np.arange(n) < BLOCK, 70, 70.25),  # whole numbers in the first part
            "city": generator.choice(["Oslo", "Rome", "Paris"], n),
            "code": [f"{k % 3:02d}" for k in range(n)],
        }
    )


@pytest.fixture(scope="module")
def model():
    frame = table(300).assign(age=np.arange(300) % 60, weight=np.arange(300) % 40 + 50.0)
    frame["y"] = np.where(frame["age"] + 9 * (np.arange(300) % 4) + 30 * np.sin(np.arange(300)) > 45, "yes", "no")
    frame = frame[frame["city"] != "Paris"].drop(columns=["who", "number"])
    pool = [(name, sl.AUCClassifier(model=name, loss="squared")) for name in ("linear", "trees", "gaussian_process")]
    return sl.tabular.fit(frame, "y", candidates=pool, pi=0.9, pi_prime=0.1)


@pytest.fixture(scope="module")
def folder(model, tmp_path_factory):
    """A saved model, and a table in three files: its scores are computed in three blocks."""
    folder = tmp_path_factory.mktemp("predicting")
    model.save(folder / "model")
    frame = table(ROWS)
    frame.to_csv(folder / "new.csv", index=False)
    frame = frame.assign(age=pd.to_numeric(frame["age"]))
    frame.to_parquet(folder / "new.parquet", row_group_size=1000)
    return folder


def run(*arguments):
    return CliRunner().invoke(app, list(map(str, arguments)), env={"COLUMNS": "140", "NO_COLOR": "1"})


def read(path):
    """The predictions in a file: numbers to the last digit, which not every version of pandas reads by default."""
    return pd.read_csv(path, converters={"score": float, "clean_probability": float}, dtype={"who": str})


@pytest.mark.parametrize("source", ["new.csv", "new.parquet"])
@pytest.mark.parametrize("target", ["p.csv", "p.parquet"])
def test_parts_are_the_whole_to_the_last_bit(model, folder, tmp_path, source, target):
    assert len(model.estimator.members_) > 1
    paths = [tmp_path / f"{rows}-{target}" for rows in (BLOCK, 10 * BLOCK)]
    notes = [
        predict_file(model, folder / source, path, ["who", "number"], rows=rows)
        for path, rows in zip(paths, (BLOCK, 10 * BLOCK), strict=True)
    ]
    assert notes[0] == notes[1]
    if target == "p.csv":
        assert paths[0].read_bytes() == paths[1].read_bytes()
        found = read(paths[0])
    else:
        assert [pq.ParquetFile(path).num_row_groups for path in paths] == [3, 1]
        found = pd.read_parquet(paths[0])
        pd.testing.assert_frame_equal(found, pd.read_parquet(paths[1]), check_exact=True)
    frame = pd.read_parquet(folder / "new.parquet")
    expected = model.predict_frame(frame).table
    assert [name for name in found.columns if name not in expected] == ["who", "number"]
    np.testing.assert_array_equal(found["score"], expected["score"])
    np.testing.assert_array_equal(found["clean_probability"], expected["clean_probability"])
    assert found["prediction"].tolist() == expected["prediction"].tolist()
    assert found["who"].fillna("").tolist() == frame["who"].fillna("").tolist()  # in order, and 00012 stays 00012
    numbers = pd.to_numeric(found["number"])
    np.testing.assert_array_equal(numbers.isna(), frame["number"].isna())
    assert (numbers.dropna().astype(int) == frame["number"].dropna().astype(int)).all()


def test_notes_count_all_parts(model, folder, tmp_path):
    notes = predict_file(model, folder / "new.csv", tmp_path / "p.csv", ["who"], rows=BLOCK)
    scores = pd.read_csv(tmp_path / "p.csv")["score"]
    positive = int((scores > 0).sum())
    frame = table(ROWS)
    assert notes == [
        f"{ROWS} rows: {positive} predicted 'yes', {ROWS - positive} 'no'",
        "clean_probability: that 'yes' is the true label of a row, for pi = 0.90 and pi' = 0.10, given to the fit",
        "separator: comma; decimal point; encoding: UTF-8",
        "warning: columns that the table of the fit did not have are ignored: number",
        f"warning: column 'city' has a category that the fit has not seen in {(frame['city'] == 'Paris').sum()} of "
        f"{ROWS} rows",
    ]
    assert 0 < positive < ROWS


def test_what_differs_is_said_once(model, tmp_path):
    """A column of the fit that is no feature, and a few unknown categories, are worth no warning."""
    frame = table(40).drop(columns="who").assign(age=40, y="no", city=["Paris", "Rome"] + ["Oslo"] * 38)
    frame.to_csv(tmp_path / "new.csv", index=False)
    notes = predict_file(model, tmp_path / "new.csv", tmp_path / "p.csv")
    assert [note for note in notes if "ignored" in note or "seen" in note] == [
        "columns ignored: y",
        "categories not seen in the fit, treated as none of those seen: city (1 rows)",
        "warning: columns that the table of the fit did not have are ignored: number",
    ]


def test_another_threshold(model, folder, tmp_path):
    scores = predicting.scores_of_file(model, folder / "new.csv", rows=BLOCK)
    threshold = float(np.sort(scores)[-11])
    notes = predict_file(model, folder / "new.csv", tmp_path / "p.csv", threshold=threshold, rows=BLOCK)
    found = read(tmp_path / "p.csv")
    np.testing.assert_array_equal(found["score"], scores)
    positive = int((scores > threshold).sum())
    assert notes[0] == f"{ROWS} rows: {positive} predicted 'yes', {ROWS - positive} 'no'"
    assert ((found["prediction"] == "yes") == (scores > threshold)).all()


def test_only_some_rows_are_in_memory(model, folder, tmp_path, monkeypatch):
    seen = []
    predict = TableModel.predict_frame

    def counted(model, frame, *further):
        seen.append(len(frame))
        return predict(model, frame, *further)

    monkeypatch.setattr(TableModel, "predict_frame", counted)
    predict_file(model, folder / "new.parquet", tmp_path / "p.parquet", rows=BLOCK)
    assert seen == [BLOCK, BLOCK, 77]
    assert predicting.ROWS % BLOCK == 0


@pytest.mark.parametrize("target", ["p.csv", "p.parquet"])
def test_an_error_in_the_last_part_leaves_no_file(model, tmp_path, target):
    frame = table(BLOCK + 5)
    frame.loc[BLOCK + 2, "age"] = "old"
    frame.to_csv(tmp_path / "new.csv", index=False)
    with pytest.raises(ValueError, match="column 'age' must hold numbers, got 'old'"):
        predict_file(model, tmp_path / "new.csv", tmp_path / target, rows=BLOCK)
    assert [path.name for path in tmp_path.iterdir()] == ["new.csv"]


def test_several_columns_to_keep(folder, tmp_path):
    few = table(9).drop(columns="number").assign(score=1)
    few.to_csv(tmp_path / "few.csv", index=False)
    result = run("predict", folder / "model", tmp_path / "few.csv", "--id", "who,city", "--id", "code", "--id", "who")
    assert result.exit_code == 0, result.output
    lines = result.stdout.splitlines()
    assert lines[0] == "who,city,code,score,prediction,clean_probability"
    assert [line.split(",")[:3] for line in lines[1:]] == few[["who", "city", "code"]].fillna("").values.tolist()
    assert "warning: columns that the table of the fit did not have are ignored: score\n" in result.stderr
    for name, message in (("score", "already has the name 'score'"), ("whom", "no column 'whom' (to keep)")):
        result = run("predict", folder / "model", tmp_path / "few.csv", "--id", f"who,{name}")
        assert result.exit_code == 2
        assert message in result.stderr
        assert result.stdout == ""


def test_whole_numbers_stay_whole_beside_missing_ones(model, tmp_path):
    """Of whole numbers in Parquet, of which some are missing, pandas makes others in one part than in the next."""
    few = table(4).assign(age=[1.0, 2.0, 3.0, 4.0])[["age", "weight", "city", "code"]]
    columns = {name: few[name].tolist() for name in few} | {"number": [1, 2, 2**53 + 1, None]}
    pq.write_table(pa.table(columns), tmp_path / "new.parquet")
    predict_file(model, tmp_path / "new.parquet", tmp_path / "p.csv", ["number"], rows=2)
    lines = (tmp_path / "p.csv").read_text().splitlines()
    assert [line.split(",")[0] for line in lines] == ["number", "1", "2", "9007199254740993", ""]


def test_standard_output_gets_all_predictions_or_none(folder, tmp_path, monkeypatch):
    monkeypatch.setattr(predicting, "predict_file", _in_small_parts)
    frame = table(BLOCK + 5)
    frame.to_csv(tmp_path / "new.csv", index=False)
    assert len(run("predict", folder / "model", tmp_path / "new.csv").stdout.splitlines()) == BLOCK + 6
    frame.assign(age=["old" if k == BLOCK + 2 else "40" for k in range(BLOCK + 5)]).to_csv(tmp_path / "bad.csv")
    result = run("predict", folder / "model", tmp_path / "bad.csv")
    assert result.exit_code == 2
    assert result.stdout == ""


def _in_small_parts(*given, **options):
    return predict_file(*given, **options, rows=BLOCK)


def test_the_note_on_probabilities_of_the_labels_given():
    frame = pd.DataFrame({"x": range(40), "y": np.arange(40) % 20 > 7})
    few = sl.tabular.fit(frame, "y", candidates=[("linear", sl.AUCClassifier())])
    assert few.noise is None  # so few rows do not tell
    assert predicting.prediction_notes(few, predicting.Counts(rows=1))[1] == (
        "given_probability: that a row is labeled 'True', rightly or wrongly, as in the data of the fit"
    )


@pytest.fixture(scope="module")
def decimal_commas(tmp_path_factory):
    """A model of a table with decimal commas, and a table to predict."""
    folder = tmp_path_factory.mktemp("commas")
    frame = pd.DataFrame({"x": np.arange(40) / 8 + 0.35, "size": 1.0 + np.arange(40) % 7, "y": np.arange(40) > 17})
    lines = ["who;x;size", *(f"{'NA' if k % 2 else ''};{k},35;{8 - k}.654" for k in range(6))]
    (folder / "new.csv").write_text("\n".join(lines) + "\n")
    return sl.tabular.fit(frame, "y", candidates=[("linear", sl.AUCClassifier())]), folder / "new.csv"


def test_columns_to_keep_do_not_change_scores(decimal_commas, tmp_path):
    """A feature that is kept is read as a number for the model, and written as it stands in the file."""
    model, path = decimal_commas
    predict_file(model, path, tmp_path / "without.csv")
    predict_file(model, path, tmp_path / "with.csv", ["size", "x", "who"], rows=4)
    without, kept = (pd.read_csv(tmp_path / name, dtype=str) for name in ("without.csv", "with.csv"))
    assert without["score"].tolist() == kept["score"].tolist()
    np.testing.assert_array_equal(predicting.scores_of_file(model, path), kept["score"].map(float))
    assert kept["x"].tolist() == [f"{k},35" for k in range(6)]
    assert kept["size"].tolist() == [f"{8 - k}.654" for k in range(6)]


def test_columns_to_keep_are_written_as_they_stand(decimal_commas, tmp_path):
    """NA may be a country: only a blank cell is missing."""
    model, path = decimal_commas
    predict_file(model, path, tmp_path / "p.csv", ["who"])
    lines = (tmp_path / "p.csv").read_text().splitlines()[1:]
    assert [line.split(",")[0] for line in lines] == ["", "NA"] * 3
