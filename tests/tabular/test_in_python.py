"""``sl.tabular.fit`` and ``sl.tabular.load``: what the command line does, with data frames as they are."""

import numpy as np
import pandas as pd
import polars as pl
import pytest

import symloss as sl
from symloss.tabular import Encoding, TableModel
from symloss.tabular.model import BLOCK

# What colleagues would point out is not what these tests are about.
pytestmark = pytest.mark.filterwarnings("ignore:.*(rows have the same features|there are only .* rows)")

LINEAR = [("linear", sl.AUCClassifier())]


def table(n=200, noise=0.2):
    generator = np.random.default_rng(0)
    frame = pd.DataFrame(
        {
            "age": generator.integers(18, 80, n),
            "income": np.where(generator.random(n) < 0.1, np.nan, generator.normal(50, 10, n)),
            "plan": generator.choice(["basic", "pro"], n),
        }
    )
    clean = frame["age"] + 10 * (frame["plan"] == "pro") > 54
    return frame.assign(churn=np.where(clean ^ (generator.random(n) < noise), "yes", "no"))


@pytest.fixture(scope="module")
def frame():
    return table()


@pytest.fixture(scope="module")
def model(frame):
    return sl.tabular.fit(frame, "churn", candidates=LINEAR)


def test_the_same_model_from_a_frame_a_file_and_the_command_line(frame, model, tmp_path):
    frame.to_csv(tmp_path / "data.csv", index=False)
    frame.to_parquet(tmp_path / "data.parquet")
    expected = model.predict(frame).scores
    sources = [pl.from_pandas(frame), tmp_path / "data.csv", str(tmp_path / "data.parquet")]
    for source in sources:
        again = sl.tabular.fit(source, label="churn", candidates=LINEAR)
        np.testing.assert_array_equal(again.predict(frame).scores, expected)
        assert again.notes[-len(model.notes) :] == model.notes  # there may be more on how a file was read
    np.testing.assert_array_equal(
        sl.tabular.fit_table(frame, "churn", candidates=LINEAR).model.predict(frame).scores, expected
    )


def test_predictions_of_frames(frame, model):
    shuffled = frame.sample(frac=1, random_state=0)[["plan", "churn", "income", "age"]]  # other order, other columns
    found = model.predict(shuffled)
    np.testing.assert_allclose(found.scores, model.predict(frame).scores[shuffled.index], rtol=1e-12)
    assert found.table.index.equals(shuffled.index)
    assert list(found.table.columns) == ["score", "prediction", "given_probability"]
    assert (
        found.table["prediction"].tolist() == found.labels == ["yes" if score > 0 else "no" for score in found.scores]
    )
    np.testing.assert_allclose(model.predict(pl.from_pandas(frame)).scores, model.predict(frame).scores)
    with pytest.warns(UserWarning, match="column 'plan' has a category that the fit has not seen in 200 of 200 rows"):
        assert model.predict(frame.assign(plan="gold")).unseen == {"plan": 200}
    assert model.predict(frame[:0]).table.empty


def test_predictions_and_scores_of_files(frame, model, tmp_path):
    path = tmp_path / "new.csv"
    frame.assign(plan=frame["plan"].where(frame.index > 2, "NA")).to_csv(path, index=False, sep="|")
    found = model.predict(path, sep="|")
    pd.testing.assert_frame_equal(found.table, model.predict(pd.read_csv(path, sep="|")).table, check_exact=True)
    assert found.notes == ("separator: pipe; decimal point; encoding: UTF-8",)
    frame.to_csv(path, index=False)
    assert model.score(str(path)) == model.score(frame)
    with pytest.raises(ValueError, match="sep, sheet can be told of a file only, and the table is a data frame"):
        model.predict(frame, sep=";", sheet=2)
    with pytest.warns(UserWarning, match="of the fit") as caught:
        model.predict(frame.assign(age=900, color="red"))
    assert [str(each.message) for each in caught] == [
        "columns that the table of the fit did not have are ignored: color",
        "column 'age' is far outside the range of the fit in 200 of 200 rows",
    ]
    assert {each.filename for each in caught} == {__file__}


def test_messages_name_arguments_of_python(frame, tmp_path):
    with pytest.warns(UserWarning, match=r"column 'copy' alone tells the label .* leave it out \(drop='copy'\)"):
        copied = sl.tabular.fit(frame.assign(copy=frame["churn"]), "churn", candidates=LINEAR)
    assert any("leave it out (drop='copy')" in note for note in copied.notes)
    (tmp_path / "a.csv").write_text("x y\n1 no\n2 yes\n")
    with pytest.raises(ValueError, match="one column: no comma separates names"):
        sl.tabular.fit(tmp_path / "a.csv", "y")
    with pytest.raises(ValueError, match=r"no column 'z' .*; as it was read: one column"):
        sl.tabular.fit(tmp_path / "a.csv", "z", sep=";")


def test_a_row_scores_the_same_in_a_table_of_any_length():
    """Up to rounding, and in whole blocks to the last digit: a file's scores do not depend on how it is read."""
    pool = [
        (name, sl.AUCClassifier(model=name, loss="squared", threshold=0.0)) for name in ("linear", "gaussian_process")
    ]
    model = sl.tabular.fit(table(300), "churn", candidates=pool, random_state=0)
    assert len(model.estimator.members_) == 2
    many = table(2 * BLOCK + 300)
    whole = model.predict(many)
    for start in (0, BLOCK, 2 * BLOCK):
        part = model.predict(many[start : start + BLOCK])
        np.testing.assert_array_equal(part.scores, whole.scores[start : start + BLOCK])
        np.testing.assert_array_equal(part.probabilities, whole.probabilities[start : start + BLOCK])
    np.testing.assert_allclose(model.predict(many[7:8]).scores, whole.scores[7:8], rtol=1e-9)


def test_save_and_load(frame, model, tmp_path):
    written = model.save(str(tmp_path / "model"))
    assert {path.name for path in written} >= {"model.safetensors"}
    again = sl.tabular.load(tmp_path / "model")
    pd.testing.assert_frame_equal(again.predict(frame).table, model.predict(frame).table, check_exact=True)
    assert (again.notes, again.labels, repr(again)) == (model.notes, ("no", "yes"), repr(model))
    assert any(note.startswith("missing values in income (") for note in again.notes)
    model.save(tmp_path / "model")  # a model is replaced
    (tmp_path / "model" / "thesis.tex").write_text("x")
    with pytest.raises(ValueError, match="holds more than a model"):
        model.save(tmp_path / "model")


def test_probabilities_are_of_the_clean_label_if_the_rates_are_known(frame, model):
    assert model.noise is None  # 200 rows tell too little
    assert model.probability_of == "given"
    features = pd.DataFrame(model.encoding.transform(frame).values, columns=model.encoding.features)
    np.testing.assert_allclose(model.predict(frame).probabilities, model.estimator.predict_proba(features)[:, 1])

    known = sl.tabular.fit(frame, "churn", candidates=LINEAR, pi=0.8, pi_prime=0.2)
    assert known.probability_of == "clean"
    assert known.rates == (0.8, 0.2)
    expected = known.estimator.predict_clean_proba(features)[:, 1]
    np.testing.assert_allclose(known.predict(frame).table["clean_probability"], expected)
    assert model.corrupted_score < known.clean_score.low < known.clean_score.value

    estimated = sl.tabular.fit(_separable(), "y", candidates=LINEAR)
    assert estimated.estimator.pi is None
    assert estimated.rates == (estimated.noise.pi, estimated.noise.pi_prime)
    found = estimated.predict(pd.DataFrame({"x": [-3.0, 3.0]})).table["clean_probability"]
    assert found[0] < 0.05
    assert found[1] > 0.95


def _separable(n=4000):
    generator = np.random.default_rng(0)
    clean = np.arange(n) % 2 == 0
    flipped = clean ^ (generator.random(n) < 0.2)
    return pd.DataFrame({"x": generator.normal(size=n) + np.where(clean, 3.0, -3.0), "y": flipped.astype(int)})


def test_no_probability_without_a_calibration(frame):
    features = frame[["age"]]
    classifier = sl.BERClassifier(threshold=0.0).fit(features, frame["churn"] == "yes")
    plain = TableModel(classifier, Encoding.fit(features), "churn", ("no", "yes"))
    assert plain.probability_of is None
    assert list(plain.predict(frame).table.columns) == ["score", "prediction"]
    assert repr(plain) == "<TableModel: churn, 'yes' or 'no', from 1 column>"


def test_scores(frame, model):
    assert model.score_name == "AUC"
    positive = frame["churn"] == "yes"
    assert model.score(frame) == pytest.approx(sl.metrics.auc(model.predict(frame).scores, positive))
    assert model.score(frame.assign(churn=frame["churn"] + " ")) == model.score(frame)
    assert model.corrupted_score == pytest.approx(model.score(frame), abs=0.1)
    assert model.clean_score is None
    assert repr(model) == (
        f"<TableModel: churn, 'yes' or 'no', from 3 columns; AUC on the labels given {model.corrupted_score:.3f}, "
        "cross-validated>"
    )
    with pytest.raises(ValueError, match=r"must hold the labels 'no' and 'yes', got 'maybe'"):
        model.score(frame.assign(churn="maybe"))
    with pytest.raises(ValueError, match="no column 'churn'"):
        model.score(frame.drop(columns="churn"))
    balanced = sl.tabular.fit(frame, "churn", risk="ber", candidates=[("linear", sl.BERClassifier())], drop="income")
    assert balanced.score_name == "balanced accuracy"
    assert balanced.columns == ["age", "plan"]


@pytest.mark.parametrize(("labels", "positive"), [([0, 1], 0), ([True, False], False), (["a", "b"], "a")])
def test_the_positive_label_may_be_any_value(frame, labels, positive):
    y = np.asarray(labels)[(frame["churn"] == "yes").astype(int)]
    model = sl.tabular.fit(frame[["age"]].assign(y=y), "y", positive=positive, candidates=LINEAR)
    assert model.labels[1] == positive


@pytest.mark.parametrize(
    ("change", "options", "message"),
    [
        (lambda frame: frame, {"label": "chrun"}, r"no column 'chrun' \(the label\); did you mean 'churn'\?"),
        (
            lambda frame: frame,
            {"label": "churn", "drop": ["agee"]},
            r"no column 'agee' \(to drop\); did you mean 'age'",
        ),
        (lambda frame: frame, {"label": "churn", "weight": "w"}, r"no column 'w' \(the weight\)"),
        (lambda frame: frame, {"label": "churn", "risk": "f1"}, "the risk must be auc or ber"),
        (lambda frame: frame, {"label": "churn", "time_limit": 0}, "time_limit must be a number of seconds above 0"),
        (lambda frame: frame.to_numpy(), {"label": "churn"}, "must be a pandas or polars DataFrame, got ndarray"),
        (lambda frame: pl.from_pandas(frame).lazy(), {"label": "churn"}, r"LazyFrame: pass X\.collect\(\)"),
        (lambda frame: frame.set_axis(range(4), axis=1), {"label": "churn"}, "names that are texts, got the name 0"),
        (lambda frame: frame.set_axis(["a", "a", "b", "churn"], axis=1), {"label": "churn"}, "have the name a"),
        (lambda frame: "nowhere.csv", {"label": "churn"}, r"no such file: nowhere\.csv"),
    ],
)
def test_what_cannot_be_fitted(frame, change, options, message):
    with pytest.raises(ValueError, match=message):
        sl.tabular.fit(change(frame), **options)


def test_columns_of_similar_names_are_pointed_out(frame, model):
    with pytest.raises(ValueError, match=r"are missing: age, plan; did you mean 'Age' for 'age', 'plans' for 'plan'\?"):
        model.predict(frame.rename(columns={"age": "Age", "plan": "plans"}))
    with pytest.raises(ValueError, match=r"columns that the model needs are missing: age, income, plan$"):
        model.predict(frame[["churn"]])


def test_the_time_limit_and_progress_reach_the_estimator(frame):
    seen = []
    pool = [(name, sl.AUCClassifier(name)) for name in ("unhinged", "logistic")]
    model = sl.tabular.fit(frame, "churn", candidates=pool, time_limit=1e-9, progress=lambda *what: seen.append(what))
    assert model.estimator.time_limit == 1e-9
    assert np.isnan(model.estimator.cv_results_["mean_test_score"]).sum() == 1  # there was time for one
    assert seen[-1] == ("Fitting the best", 1, 1)


def test_times_of_the_day_survive_saving(tmp_path):
    rows = pd.DataFrame({"t": [f"{k % 24}:{k * 7 % 60:02d}" for k in range(60)], "y": ["no", "yes", "yes"] * 20})
    model = sl.tabular.fit(rows, label="y", candidates=[("linear", sl.AUCClassifier())])
    model.save(tmp_path / "model")
    again = sl.tabular.load(tmp_path / "model").predict(rows[["t"]])
    np.testing.assert_array_equal(again.scores, model.predict(rows[["t"]]).scores)


def test_lists_are_refused_in_words():
    rows = pd.DataFrame({"a": ["x", "y"] * 30, "b": np.arange(60) * 7 % 13, "y": ["no", "yes", "yes"] * 20})
    lists = rows.assign(a=[[1, 2]] * 60)
    with pytest.raises(ValueError, match="column 'a' holds lists, not numbers or text: split it"):
        sl.tabular.fit(lists, label="y")
    with pytest.raises(ValueError, match="column 'a', the label, must hold two values, got lists"):
        sl.tabular.fit(lists, label="a")
    model = sl.tabular.fit(rows, label="y", candidates=[("linear", sl.AUCClassifier())])
    with pytest.raises(ValueError, match="column 'a' holds lists, not numbers or text"):
        model.predict(lists[["a", "b"]])
