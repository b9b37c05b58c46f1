"""``symloss fit`` and ``symloss predict``: from a file to a model and predictions, and every error in one line."""

import json
import shutil
import subprocess
import sys

import numpy as np
import pandas as pd
import pytest
from typer.testing import CliRunner

import symloss as sl
from symloss.cli import app
from symloss.cli.terminal import fit_progress
from symloss.tabular import TableModel, fit_table, read_table

LINEAR = [("linear", sl.AUCClassifier())]


def run(*arguments):
    return CliRunner().invoke(app, list(map(str, arguments)), env={"COLUMNS": "140", "NO_COLOR": "1"})


def error_of(*arguments):
    result = run(*arguments)
    assert result.exit_code == 2, result.output
    assert result.stderr.count("\n") == 1
    assert result.stderr.startswith("symloss: error: ")
    return result.stderr


def table(n=150):
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(
        {
            "who": [f"{k:04d}" for k in range(n)],
            "age": rng.integers(18, 80, n),
            "income": rng.normal(50, 10, n).round(2),
            "plan": rng.choice(["basic", "plus", "pro"], n),
            "city": rng.choice(["Oslo", "Rome", None], n),
            "unit": "kg",
            "member": rng.random(n) < 0.3,
        }
    )
    score = (frame["age"] - 49) / 8 + 2.0 * (frame["plan"] == "pro") - 0.6
    return frame.assign(churn=np.where(score + rng.logistic(size=n) > 0, "yes", "no"))


@pytest.fixture(scope="module")
def frame():
    return table()


@pytest.fixture(scope="module")
def folder(frame, tmp_path_factory):
    """The data as files, and a model fitted to them from the command line."""
    folder = tmp_path_factory.mktemp("tabular")
    frame.to_csv(folder / "data.csv", index=False)
    result = run("fit", folder / "data.csv", "--label", "churn", "--risk", "auc", "--out", folder / "model",
                 "--drop", "who", "--pi", "0.9", "--pi-prime", "0.2")  # fmt: skip
    assert result.exit_code == 0, result.output
    (folder / "output.txt").write_text(result.stdout)
    return folder


def test_fit_says_what_it_did(folder):
    text = (folder / "output.txt").read_text()
    for line in (
        "label churn: 'yes' is positive (", "), the larger label; 'no' is negative (",
        "150 rows, 5 columns as 9 features",
        "one-hot encoded: plan (3 categories), city (3 categories)", "dropped: unit (constant)",
        "AUC on noisy folds", "trees, leaves of 20", "weight", "on the given labels, cross-validated: 0.",
        "AUC on clean labels, estimated: ", "% interval", "threshold: ", "report.html",
    ):  # fmt: skip
        assert line in text
    names = {path.name for path in (folder / "model").iterdir()}
    assert {"model.safetensors", "report.html", "labels.csv"} <= names


def test_predict_is_what_the_estimator_says(folder, frame, tmp_path):
    result = run("predict", folder / "model", folder / "data.csv", "--id", "who", "--out", tmp_path / "p.csv")
    assert result.exit_code == 0
    assert result.stdout == ""
    assert "150 rows: " in result.stderr
    assert "columns ignored: unit, churn" in result.stderr
    written = pd.read_csv(tmp_path / "p.csv", dtype={"who": str})
    assert list(written.columns) == ["who", "score", "prediction", "clean_probability"]
    assert written["who"].tolist() == frame["who"].tolist()
    model = TableModel.load(folder / "model")
    features = pd.DataFrame(model.encoding.transform(frame).values, columns=model.encoding.features)
    again = sl.estimators.load(folder / "model" / "model.safetensors")
    np.testing.assert_allclose(written["score"], again.decision_function(features), rtol=1e-12)
    assert written["prediction"].tolist() == [["no", "yes"][k] for k in again.predict(features)]
    assert sl.metrics.auc(written["score"], frame["churn"] == "yes") > 0.75


def test_predict_to_standard_output_and_parquet(folder, frame, tmp_path):
    few = frame.sample(5, random_state=0)[["plan", "member", "city", "income", "age"]]
    few.to_parquet(tmp_path / "few.parquet")
    few.assign(plan="unheard of").to_csv(tmp_path / "few.csv", index=False)
    result = run("predict", folder / "model", tmp_path / "few.parquet")
    assert result.stdout.splitlines()[0] == "score,prediction,clean_probability"
    assert len(result.stdout.splitlines()) == 6
    result = run("predict", folder / "model", tmp_path / "few.csv", "--out", tmp_path / "p.parquet")
    assert "warning: column 'plan' has a category that the fit has not seen in 5 of 5 rows\n" in result.stderr
    assert set(pd.read_parquet(tmp_path / "p.parquet")["prediction"]) <= {"yes", "no"}


def test_predict_needs_the_columns_of_the_fit(folder, frame, tmp_path):
    frame.drop(columns=["age", "plan"]).to_csv(tmp_path / "a.csv", index=False)
    assert "columns that the model needs are missing: age, plan" in error_of(
        "predict", folder / "model", tmp_path / "a.csv"
    )
    frame.assign(age="old").to_csv(tmp_path / "b.csv", index=False)
    assert "column 'age' must hold numbers, got 'old'" in error_of("predict", folder / "model", tmp_path / "b.csv")
    data = folder / "data.csv"
    assert "no column 'whom' (to keep); did you mean 'who'?" in error_of(
        "predict", folder / "model", data, "--id", "whom"
    )
    assert "is the data; it is not overwritten" in error_of("predict", folder / "model", data, "--out", data)


def test_predictions_never_replace_the_data_or_a_file_of_the_model(folder, frame, tmp_path):
    data, model = tmp_path / "data.csv", tmp_path / "model"
    frame.to_csv(data, index=False)
    shutil.copytree(folder / "model", model)
    (tmp_path / "symbolic.csv").symlink_to(data)
    (tmp_path / "hard.csv").hardlink_to(data)
    (tmp_path / "labels.csv").hardlink_to(model / "labels.csv")
    (tmp_path / "way").symlink_to(model)
    before = {path: path.read_bytes() for path in (data, *model.iterdir())}
    for name in ("symbolic.csv", "hard.csv"):
        assert "is the data; it is not overwritten" in error_of("predict", model, data, "--out", tmp_path / name)
    for target in (model / "labels.csv", model / "new.csv", model / "new" / "p.csv", tmp_path / "way" / "labels.csv"):
        assert f"{target} is in {model}, the model; nothing is written there" in error_of(
            "predict", model, data, "--out", target
        )
    message = error_of("predict", model, data, "--out", tmp_path / "labels.csv")
    assert f"is a file of {model}, the model; it is not overwritten" in message
    with data.open() as stream:
        command = [sys.executable, "-m", "symloss", "predict", model, "-", "--out", data]
        result = subprocess.run(command, stdin=stream, capture_output=True, text=True, check=False)
    assert (result.returncode, result.stderr) == (2, f"symloss: error: {data} is the data; it is not overwritten\n")
    assert {path: path.read_bytes() for path in (data, *model.iterdir())} == before


@pytest.mark.slow
def test_missing_values_are_taken_by_all_models_and_weights_count(folder, frame, tmp_path):
    """The other risk, from Parquet, with numeric labels, the smaller of them positive, and for programs."""
    frame = frame.drop(columns=["who", "city"]).assign(
        churn=np.where(frame["churn"] == "yes", 1, 2), income=frame["income"].mask(frame["age"] > 70), times=2.0
    )
    frame.to_parquet(tmp_path / "data.parquet")
    arguments = ["fit", tmp_path / "data.parquet", "--label", "churn", "--risk", "ber", "--out", tmp_path / "m",
                 "--positive", "1", "--weight", "times", "--seed", "3", "--json"]  # fmt: skip
    result = run(*arguments)
    assert result.exit_code == 0, result.output
    found = json.loads(result.stdout)
    assert (found["score"], found["label"], found["positive"], found["negative"]) == (
        "balanced accuracy",
        "churn",
        1,
        2,
    )
    assert (found["rows"], found["clean_score"]) == (150, None)
    assert any(note.startswith("missing values in income (") for note in found["notes"])
    assert any("linear" in candidate["name"] for candidate in found["candidates"])
    assert sum(candidate["weight"] for candidate in found["candidates"]) == pytest.approx(1)
    assert 0.5 < found["corrupted_score"] <= 1
    assert str(tmp_path / "m" / "model.safetensors") in found["files"]
    lines = run("predict", tmp_path / "m", tmp_path / "data.parquet").stdout.splitlines()
    scores = pd.DataFrame([line.split(",")[:2] for line in lines[1:]], columns=["score", "label"])
    assert ((scores["score"].astype(float) > 0) == (scores["label"] == "1")).all()


def test_missing_values_at_prediction_alone(frame):
    features = frame[["age", "income", "churn"]]
    model = fit_table(features, "churn", candidates=LINEAR).model
    with pytest.warns(UserWarning, match="column 'income' is empty in all rows"):
        found = model.predict(features.assign(income=np.nan)).scores
    np.testing.assert_allclose(found, model.predict(features.assign(income=features["income"].median())).scores)


def messy_table(n=150):
    rng = np.random.default_rng(1)
    frame = pd.DataFrame(
        {
            "zip": [f"{k:05d}" for k in rng.integers(1, 99, n) * 997],
            "day": (pd.Timestamp("2020-01-01") + pd.to_timedelta(rng.integers(0, 300, n), unit="D")).strftime(
                "%d/%m/%y"
            ),
            "price": [f"{price:,.2f}" for price in rng.gamma(1, 2000, n)],
            "share": [f"{share:.0f}%" for share in rng.uniform(0, 100, n)],
            "who": [f"c{k}" for k in range(n)],
        }
    )
    y = np.where(rng.random(n) < 0.5, "yes", "no ")
    return frame.assign(churn=np.where(np.arange(n) < 5, None, y))


def test_columns_of_every_form_from_file_to_file(tmp_path):
    """A new file in which every zip code looks like a number is encoded as the table of the fit was."""
    messy_table().to_csv(tmp_path / "data.csv", index=False)
    fitted = fit_table(read_table(tmp_path / "data.csv", text=["churn"]).assign(zip=messy_table()["zip"]), "churn",
                       candidates=LINEAR)  # fmt: skip
    assert fitted.notes == [
        "label churn: 'yes' is positive (72 rows), the larger label; 'no' is negative (73 rows)",
        "label churn: 5 rows without a label are left out",
        "145 rows, 4 columns as 37 features",
        "zip: 78 distinct categories, hashed to 32 features",
        "day: dates: month, weekday, days since 2000-01-01",
        "share: numbers written as text, all with %",
        "dropped: who (it names rows: 145 distinct texts)",
    ]
    fitted.model.save(tmp_path / "model")
    assert "error" not in run("predict", tmp_path / "model", tmp_path / "data.csv", "--out", tmp_path / "p.csv").stderr
    expected = fitted.model.predict(messy_table()).scores
    np.testing.assert_allclose(pd.read_csv(tmp_path / "p.csv")["score"], expected, rtol=1e-12)


@pytest.mark.parametrize(
    ("labels", "positive", "expected"),
    [
        (["10", "9"], None, ("9", "10")),
        (["yes", "no"], "no", ("yes", "no")),
        ([True, False], None, (False, True)),
        ([0.0, 1.0], "0", (1.0, 0.0)),
        ([-1, 1], "-1.0", (1, -1)),
        (["1", "b"], None, ("1", "b")),
    ],
)
def test_any_two_labels(frame, labels, positive, expected):
    y = np.asarray(labels)[(frame["churn"] == "yes").astype(int)]
    fitted = fit_table(frame[["age"]].assign(y=y), "y", positive=positive, candidates=LINEAR)
    assert fitted.model.labels == expected
    assert fitted.positive.tolist() == [value == expected[1] for value in y.tolist()]
    assert {type(label) for label in fitted.model.predict(frame[["age"]]).labels} == {type(expected[0])}


def test_an_identifier_of_whole_numbers_is_pointed_out(frame):
    notes = fit_table(frame[["age", "churn"]].assign(row=range(150)), "churn", candidates=LINEAR).notes
    assert any("distinct in every row: row;" in note for note in notes)


def test_progress_reaches_the_estimator(frame):
    seen = []
    fitted = fit_table(frame[["age", "churn"]], "churn", candidates=LINEAR, progress=lambda *what: seen.append(what))
    scored = [(done, total) for title, done, total in seen if title == "Scoring candidates on folds"]
    assert scored == [(k, 5) for k in range(1, 6)]
    assert seen[-1] == ("Fitting the best", 1, 1)
    assert not hasattr(fitted.model.estimator, "_progress")
    assert fitted.model.estimator.callback is None
    with fit_progress() as progress:
        progress("linear [bold]", 1, 2)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["nowhere.csv", "--label", "churn"], "no such file: nowhere.csv"),
        (["--label", "chrun"], "no column 'chrun' (the label); did you mean 'churn'?"),
        (["--label", "zzz"], "no column 'zzz' (the label); the columns are 'who', 'age', "),
        (["--label", "unit"], "must have two distinct values, got only one class: 'kg' (150 rows)"),
        (["--label", "plan"], "must have two distinct values, got 3 distinct values: 'basic' ("),
        (["--label", "churn", "--unlabeled", "positive-unlabeled"], "got 2 distinct values: 'no' ("),
        (["--label", "churn", "--unlabeled", "drop"], "unlabeled must be positive-unlabeled, got 'drop'"),
        (["--label", "churn", "--risk", "f1"], "the risk must be auc or ber, got 'f1'"),
        (["--label", "churn", "--objective", "f1"], "the risk must be auc or ber, got 'f1'"),  # its old name
        (["--label", "churn", "--positive", "maybe"], "no label 'maybe' to be positive: the labels are 'no' and 'yes'"),
        (["--label", "churn", "--positive", "YES"], "the labels are 'no' and 'yes'; did you mean --positive yes?"),
        (["--label", "churn", "--positive", "yess"], "did you mean --positive yes?"),
        (["--label", "churn", "--drop", "whom"], "no column 'whom' (to drop); did you mean 'who'?"),
        (["--label", "churn", "--drop", "churn"], "must be different columns"),
        (["--label", "churn", "--drop", "who", "--weight", "plan"], "column 'plan', the weight, must hold numbers"),
        (["--label", "churn", "--drop", "who", "--pi", "0.8"], "give both pi and pi' or neither"),
        (["--label", "churn", "--pi", "0.2", "--pi-prime", "0.8"], "pi"),
        (["--label", "churn", "--jobs", "0"], "--jobs must be a number of fits"),
    ],
)
def test_bad_input_to_fit(folder, tmp_path, arguments, message):
    data = [] if arguments[0] == "nowhere.csv" else [folder / "data.csv"]
    assert message in error_of("fit", *data, *arguments, "--out", tmp_path / "m")
    assert not (tmp_path / "m").exists()


@pytest.mark.parametrize("command", ["fit", "audit"])
def test_a_folder_that_cannot_be_written_is_refused_before_the_fit(folder, command, monkeypatch):
    monkeypatch.setattr("symloss.tabular.fit_table", pytest.fail)
    out = folder / "data.csv" / "model"
    assert f"{out} cannot be written: Not a directory" in error_of(
        command, folder / "data.csv", "--label", "churn", "--out", out
    )


def test_fit_refuses_before_the_fit_to_overwrite_what_is_no_model(folder, tmp_path):
    (tmp_path / "thesis.tex").write_text("x")
    message = error_of("fit", folder / "data.csv", "--label", "churn", "--drop", "who", "--out", tmp_path)
    assert "is no model folder, and is not overwritten" in message
    (tmp_path / "empty.csv").write_text("")
    assert "is empty" in error_of("fit", tmp_path / "empty.csv", "--label", "y", "--out", tmp_path / "m")


def test_columns_of_one_name_and_targets_that_are_no_tables(folder, tmp_path):
    (tmp_path / "twice.csv").write_text("a,churn,churn\n1,yes,no\n2,no,yes\n")
    message = error_of("fit", tmp_path / "twice.csv", "--label", "churn", "--out", tmp_path / "m")
    assert "several columns have the name churn" in message


def test_folders_that_are_no_models(folder, tmp_path):
    data = folder / "data.csv"
    assert "there is no model.safetensors" in error_of("predict", tmp_path / "nowhere", data)
    path = tmp_path / "model.safetensors"
    sl.estimators.save(sl.BERClassifier(threshold=0.0).fit([[0.0], [1.0]], [0, 1]), path)
    assert "holds an estimator without the columns of a table" in error_of("predict", tmp_path, data)
    path.write_text("{}")
    assert "model.safetensors is damaged" in error_of("predict", tmp_path, data)


def test_help():
    for command in ("fit", "predict"):
        assert f"Example: symloss {command} " in " ".join(run(command, "--help").output.split())
        assert command in run("--help").output


def test_numbers_that_do_not_tell_are_read_as_those_of_the_fit(tmp_path, monkeypatch):
    monkeypatch.setattr("symloss.estimators.selection.default_candidates", lambda *_: [("linear", sl.AUCClassifier())])
    b = np.arange(60) * 100 + 4000
    table = pd.DataFrame({"a": [f"{value},5" for value in range(60)], "b": [f"{v // 1000}.{v % 1000:03d}" for v in b]})
    table.assign(y=np.where(b > 7000, "yes", "no")).to_csv(tmp_path / "data.csv", sep=";", index=False)
    assert run("fit", tmp_path / "data.csv", "--label", "y", "--drop", "a", "--out", tmp_path / "model").exit_code == 0
    assert sl.tabular.load(tmp_path / "model").decimal == ","
    (tmp_path / "new.csv").write_text("a;b\n3;4.150\n3;9.150\n")
    result = run("predict", tmp_path / "model", tmp_path / "new.csv", "--out", tmp_path / "p.csv")
    assert pd.read_csv(tmp_path / "p.csv")["prediction"].tolist() == ["no", "yes"]
    assert "decimal comma taken, as in the table of the fit, though no number tells" in result.stderr
    told = run("predict", tmp_path / "model", tmp_path / "new.csv", "--decimal", ".", "--out", tmp_path / "p.csv")
    assert told.exit_code == 0
    assert pd.read_csv(tmp_path / "p.csv")["prediction"].tolist() == ["no", "no"]


def test_a_label_that_is_missing_comes_with_how_the_file_was_read(tmp_path):
    (tmp_path / "data.csv").write_text("x,y\n1,yes\n2,no\n")
    result = run("fit", tmp_path / "data.csv", "--label", "y", "--sep", ";", "--out", tmp_path / "model")
    assert (result.exit_code, result.stderr.count("\n")) == (2, 1)
    assert "no column 'y' (the label); the columns are 'x,y'; as it was read: one column: no semicolon" in result.stderr
