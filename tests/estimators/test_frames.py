"""Data frames with text, categories and missing values: pandas and polars, and the encoder of the command line."""

import datetime
import subprocess
import sys
from decimal import Decimal

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
import torch
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV
from sklearn.naive_bayes import GaussianNB

import symloss as sl
from symloss.columns import Encoding, has_only_numbers
from symloss.estimators import (
    AUCClassifier,
    AUCClassifierCV,
    BERClassifier,
    BERClassifierCV,
    default_candidates,
    load,
    save,
)
from symloss.tabular import fit_table

POOL = [
    ("linear", BERClassifier("logistic", threshold=0.0)),
    ("trees", AUCClassifier(model="trees", n_estimators=5, min_samples_leaf=5, threshold=0.0)),
]
ESTIMATORS = [
    BERClassifier("logistic", cv=2, random_state=0),
    AUCClassifier(model="trees", n_estimators=5, min_samples_leaf=5, random_state=0),
    BERClassifierCV(POOL, cv=2, random_state=0),
    AUCClassifierCV(POOL, cv=2, random_state=0),
]
N = 60


def columns():
    """The columns of a table as lists; None is a missing value."""
    rng = np.random.default_rng(0)
    city = rng.choice(["Oslo", "Rome", "Bonn"], N).tolist()
    plan = rng.choice(["a", "b"], N).tolist()
    income = rng.normal(size=N).tolist()
    city[3] = plan[5] = income[7] = None
    member = (rng.random(N) < 0.5).tolist()
    member[2] = None
    return {
        "age": rng.integers(20, 60, N).tolist(),
        "city": city,
        "income": income,
        "plan": plan,
        "member": member,
        "unit": ["kg"] * N,
        "empty": [None] * N,
    }


@pytest.fixture(scope="module")
def frame():
    return pd.DataFrame(columns()).astype({"income": float})


@pytest.fixture(scope="module")
def y(frame):
    score = (frame["city"] == "Oslo").astype(float) + frame["age"] / 60 + np.random.default_rng(1).normal(size=N) / 2
    return np.where(score > score.median(), "yes", "no")


@pytest.fixture(scope="module")
def in_polars():
    types = {"city": pl.Categorical, "plan": pl.Enum(["b", "a"]), "member": pl.Boolean, "empty": pl.Null}
    return pl.DataFrame(columns(), schema_overrides=types)


@pytest.mark.parametrize("estimator", ESTIMATORS)
def test_the_scores_are_those_of_features_encoded_by_hand(frame, y, estimator):
    fitted = clone(estimator).fit(frame, y)
    assert fitted.feature_names_in_.tolist() == list(frame.columns)
    assert fitted.n_features_in_ == 7
    values = pd.DataFrame({"age": frame["age"]})
    for city in ("Bonn", "Oslo", "Rome"):
        values[city] = frame["city"] == city
    values["no city"] = frame["city"].isna()
    values["income"] = frame["income"]
    values["a"], values["b"], values["no plan"] = frame["plan"] == "a", frame["plan"] == "b", frame["plan"].isna()
    values["member"] = frame["member"].astype(float)
    values = np.ascontiguousarray(values, dtype=float)  # sums round otherwise if columns are contiguous
    by_hand = clone(estimator).fit(values, y)
    expected = by_hand.decision_function(values)
    np.testing.assert_array_equal(fitted.decision_function(frame), expected)
    np.testing.assert_array_equal(fitted.predict(frame), by_hand.predict(values))
    np.testing.assert_array_equal(fitted.encoding_.transform(frame).values, values)
    assert fitted.score(frame, y) > 0.5


def test_probabilities_of_a_frame(frame, y):
    found = BERClassifier("logistic", threshold=0.0).fit(frame, y).predict_proba(frame)
    np.testing.assert_allclose(found.sum(1), 1)


@pytest.mark.parametrize("estimator", ESTIMATORS)
def test_polars_and_pandas_give_the_same_scores(frame, in_polars, y, estimator):
    of_pandas, of_polars = clone(estimator).fit(frame, y), clone(estimator).fit(in_polars, pl.Series(y))
    expected = of_pandas.decision_function(frame)
    assert of_polars.encoding_ == of_pandas.encoding_
    np.testing.assert_array_equal(of_polars.feature_names_in_, of_pandas.feature_names_in_)
    for fitted in (of_pandas, of_polars):
        np.testing.assert_array_equal(fitted.decision_function(in_polars), expected)
        np.testing.assert_array_equal(fitted.decision_function(in_polars.with_columns(pl.col("plan").cast(pl.String))),
                                      expected)  # fmt: skip
        np.testing.assert_array_equal(fitted.decision_function(frame), expected)


def test_nan_and_null_are_both_missing(in_polars, y):
    as_nan = in_polars.with_columns(pl.col("income").fill_null(float("nan")))
    expected = AUCClassifier(threshold=0.0).fit(in_polars, y)
    found = AUCClassifier(threshold=0.0).fit(as_nan, y)
    np.testing.assert_array_equal(found.decision_function(as_nan), expected.decision_function(in_polars))
    codes = pl.DataFrame({"x": list(range(10)), "code": [1.0, float("nan")] * 5}).with_columns(pl.lit("a").alias("t"))
    fitted = BERClassifier(threshold=0.0).fit(codes.with_columns(pl.Series("code", ["1", None] * 5)), [0, 1] * 5)
    assert fitted.encoding_.features == ["x", "code=1", "code is missing"]
    np.testing.assert_array_equal(fitted.encoding_.transform(codes).values[:2, 1:], np.eye(2))


TYPES = [
    {"city": "category", "plan": "category"},
    {"city": object, "plan": object},
    {"city": "string", "plan": "string", "age": "Int64", "income": "Float64", "member": "boolean"},
    {"city": "string[pyarrow]", "plan": pd.ArrowDtype(pa.string()), "age": "int64[pyarrow]",
     "income": "double[pyarrow]", "member": "bool[pyarrow]"},
    {"age": "float32", "member": float},
    {"age": "uint8"},
]  # fmt: skip


@pytest.mark.parametrize("types", TYPES)
def test_the_types_of_columns_do_not_matter(frame, y, types):
    expected = AUCClassifier(threshold=0.0).fit(frame, y)
    found = AUCClassifier(threshold=0.0).fit(frame.astype(types), y)
    assert found.encoding_ == expected.encoding_
    np.testing.assert_array_equal(
        found.decision_function(frame.astype(types)), expected.decision_function(frame.astype({"income": "float64"}))
    )


@pytest.mark.parametrize("library", [pd, pl])
def test_frames_of_numbers_are_left_to_scikit_learn(library, y):
    drawn = np.random.default_rng(2).normal(size=(N, 2))
    numbers = library.DataFrame({"a": drawn[:, 0], "b": drawn[:, 1] > 0})
    fitted = BERClassifier(threshold=0.0).fit(numbers, y)
    assert fitted.encoding_ is None
    assert "encoding_" not in vars(fitted)
    assert fitted.feature_names_in_.tolist() == ["a", "b"]
    plain = np.column_stack([drawn[:, 0], drawn[:, 1] > 0])
    expected = BERClassifier(threshold=0.0).fit(plain, y).decision_function(plain)
    np.testing.assert_allclose(fitted.decision_function(numbers), expected, rtol=1e-10, atol=1e-12)
    with pytest.raises(ValueError, match="feature names should match those that were passed during fit"):
        fitted.predict(library.DataFrame({"a": drawn[:, 0], "c": drawn[:, 1]}))
    with pytest.raises(ValueError, match="Feature names must be in the same order"):
        fitted.predict(numbers[["b", "a"]])
    with pytest.raises(ValueError, match="could not convert string to float: 'x': all columns held numbers in the fit"):
        fitted.predict(library.DataFrame({"a": drawn[:, 0], "b": ["x"] * N}))


@pytest.mark.parametrize(
    "numbers",
    [
        pd.DataFrame({"x": pd.array([1, None, 3], dtype="Int64"), "y": pd.array([True, None, False], dtype="boolean")}),
        pd.DataFrame({"x": pd.array([1.5, None, 3], dtype="double[pyarrow]"), "y": np.array([1, None, True], object)}),
        pd.DataFrame({"x": [0.0, 1.0, 0.0], "y": pd.array([True, None, True], "bool[pyarrow]")}),
        pd.DataFrame({"x": np.array([Decimal("1.5"), None, 2], object), 1: [1, 2, 3]}),
        pl.DataFrame({"x": [1, None, 3], "y": [True, None, False], "z": [None] * 3, "d": [Decimal(1), None, None]}),
    ],
)
def test_what_counts_as_numbers(numbers):
    assert has_only_numbers(numbers)
    missing = numbers.isna() if hasattr(numbers, "isna") else numbers.select(pl.all().is_null())
    X = numbers.set_axis(list("xyzd")[: numbers.shape[1]], axis=1) if hasattr(numbers, "isna") else numbers
    X = X.iloc[[0, 1, 2] * 4] if hasattr(X, "iloc") else pl.concat([X] * 4)
    fitted = BERClassifier(threshold=0.0).fit(X, [0, 1, 1] * 4)
    assert fitted.encoding_ is None
    some, every = np.asarray(missing, bool).any(0), np.asarray(missing, bool).all(0)
    assert fitted.indicators_.tolist() == np.flatnonzero(some & ~every).tolist()


@pytest.mark.parametrize(
    "column",
    [
        np.array([1, pd.NA, 3], object),
        pd.array([Decimal("1.5"), None, Decimal(2)], dtype=pd.ArrowDtype(pa.decimal128(5, 2))),
    ],
)
def test_numbers_that_numpy_does_not_read(column):
    X = pd.DataFrame({"x": column, "z": [1.0, 2.0, 4.0]})
    X = X.iloc[[0, 1, 2] * 4]
    fitted = BERClassifier(threshold=0.0).fit(X, [0, 1, 1] * 4)
    assert fitted.encoding_.features == ["x", "z"]
    assert fitted.indicators_.tolist() == [0]


def test_columns_in_any_order(frame, in_polars, y):
    fitted = BERClassifierCV(POOL, cv=2, random_state=0).fit(frame, y)
    order = ["plan", "empty", "member", "age", "unit", "income", "city"]
    np.testing.assert_array_equal(fitted.decision_function(frame[order]), fitted.decision_function(frame))
    np.testing.assert_array_equal(fitted.decision_function(in_polars[order]), fitted.decision_function(frame))
    again = BERClassifier("logistic", threshold=0.0).fit(frame[order], y)
    expected = BERClassifier("logistic", threshold=0.0).fit(frame, y).decision_function(frame)
    np.testing.assert_allclose(again.decision_function(frame), expected, rtol=1e-5, atol=1e-7)


def test_a_category_not_seen_is_all_zeros(frame, in_polars, y):
    fitted = BERClassifier(threshold=0.0).fit(frame, y)
    places = [fitted.encoding_.features.index(f"city={city}") for city in ("Bonn", "Oslo", "Rome")]
    coef = fitted.scorer_.coef[places]
    known = np.array([["Bonn", "Oslo", "Rome"].index(city) for city in frame["city"].drop(index=3)])
    expected = fitted.decision_function(frame.drop(index=3)) - coef[known]
    np.testing.assert_allclose(fitted.decision_function(frame.assign(city="Paris").drop(index=3)), expected, atol=1e-9)
    other = in_polars.with_columns(pl.lit("Paris").alias("city"))
    np.testing.assert_allclose(np.delete(fitted.decision_function(other), 3), expected, atol=1e-9)


@pytest.mark.parametrize("estimator", ESTIMATORS)
def test_saving_and_loading(frame, in_polars, y, estimator, tmp_path):
    fitted = clone(estimator).fit(frame, y)
    save(fitted, tmp_path / "model")
    again = load(tmp_path / "model")
    assert again.encoding_ == fitted.encoding_
    np.testing.assert_array_equal(again.decision_function(frame), fitted.decision_function(frame))
    np.testing.assert_array_equal(again.predict(in_polars), fitted.predict(frame))
    np.testing.assert_array_equal(again.feature_names_in_, fitted.feature_names_in_)


@pytest.mark.parametrize("library", ["pandas", "polars"])
def test_weights_count_as_repetitions(frame, in_polars, y, library):
    """A row of weight 0 is absent: its categories are not encoded."""
    table = frame if library == "pandas" else in_polars
    times = np.random.default_rng(4).integers(0, 4, N)
    times[(frame["city"] == "Rome").to_numpy()] = 0
    rows = np.repeat(np.arange(N), times)
    weighted = BERClassifier("logistic", threshold=0.0).fit(table, y, sample_weight=times)
    repeated = BERClassifier("logistic", threshold=0.0).fit(
        table.iloc[rows] if table is frame else table[rows], y[rows]
    )
    assert weighted.encoding_ == repeated.encoding_
    assert "city=Rome" not in weighted.encoding_.features
    np.testing.assert_array_equal(weighted.medians_, repeated.medians_)
    np.testing.assert_allclose(
        weighted.decision_function(table), repeated.decision_function(table), rtol=1e-5, atol=1e-7
    )


@pytest.mark.parametrize("estimator", ESTIMATORS)
def test_wrong_columns(frame, in_polars, y, estimator):
    fitted = clone(estimator).fit(frame, y)
    for table in (frame, in_polars):
        rename = (lambda names, table=table: table.rename(columns=names)) if table is frame else table.rename
        message = (
            "X must have the 7 columns of the fit, age, city, income, plan, member, unit, empty, got 7 columns; "
            "missing: city; not in the fit: town"
        )
        with pytest.raises(ValueError, match=message):
            fitted.predict(rename({"city": "town"}))
        with pytest.raises(ValueError, match=r"got 5 columns; missing: age, plan$"):
            fitted.predict(table[["city", "income", "member", "unit", "empty"]])
    with pytest.raises(ValueError, match=r"got 8 columns; not in the fit: more$"):
        fitted.predict(frame.assign(more=1))
    with pytest.raises(ValueError, match=r"expected a pandas or polars DataFrame with the columns age, .*got ndarray"):
        fitted.predict(frame.to_numpy())
    with pytest.raises(ValueError, match="column 'age' must hold numbers, got 'old' in 60 rows"):
        fitted.predict(frame.assign(age="old"))
    with pytest.raises(ValueError, match="column 'age' must hold numbers, got 'old' in 60 rows"):
        fitted.predict(in_polars.with_columns(pl.lit("old").cast(pl.Categorical).alias("age")))
    with pytest.raises(ValueError, match=r"column 'age' must hold numbers, got Timestamp\("):
        fitted.predict(frame.assign(age=pd.Timestamp("2020-01-01")))
    with pytest.raises(ValueError, match=r"column 'age' must hold numbers, got datetime.date\(2020, 1, 1\) in 60 rows"):
        fitted.predict(in_polars.with_columns(pl.lit(datetime.date(2020, 1, 1)).alias("age")))
    with pytest.raises(ValueError, match="Found array with 0 sample"):
        fitted.predict(frame.iloc[:0])


def make(library, column):
    return library.DataFrame({"x": column, "text": ["a", "b"] * (len(column) // 2)})


@pytest.mark.parametrize("library", [pd, pl])
@pytest.mark.parametrize(
    ("column", "message"),
    [
        ([datetime.timedelta(k) for k in range(10)], r"column 'x' holds lengths of time .* or drop the column$"),
        ([*map(str, range(59)), "x9"], "column 'x' holds numbers except 'x9' in index 59: leave missing values empty"),
        ([[1], [2]] * 5, "column 'x' holds lists, not numbers or text"),
        ([1.0, np.inf] * 5, "column 'x' holds infinite values in 5 rows, the first of them index 1"),
    ],
)
def test_columns_that_are_refused(library, column, message):
    for estimator in (BERClassifier(threshold=0.0), AUCClassifierCV(POOL, cv=2)):
        with pytest.raises(ValueError, match=message) as error:
            estimator.fit(make(library, column), [0, 1] * (len(column) // 2))
        assert "--" not in str(error.value)  # options of the command line


def test_a_lazy_frame_has_to_be_collected(in_polars, y):
    for lazy in (in_polars.lazy(), pl.DataFrame({"age": np.arange(len(y))}).lazy()):
        with pytest.raises(ValueError, match=r"got a polars LazyFrame: pass X.collect\(\)"):
            AUCClassifier().fit(lazy, y)
        fitted = AUCClassifier(threshold=0.0).fit(lazy.collect(), y)
        with pytest.raises(ValueError, match=r"got a polars LazyFrame: pass X.collect\(\)"):
            fitted.predict(lazy)


@pytest.mark.parametrize("X", [np.array([["a", 1], ["b", 2]] * 5, object), [["a", 1], ["b", 2]] * 5])
def test_texts_in_an_array(X):
    message = "could not convert string to float: 'a': to have texts encoded, pass them as columns of a pandas"
    for estimator in (BERClassifier(), AUCClassifierCV()):
        with pytest.raises(ValueError, match=message):
            estimator.fit(X, [0, 1] * 5)


def test_names_of_columns():
    texts, labels = ["a", "b"] * 5, [0, 1] * 5
    with pytest.raises(ValueError, match="needs names that are texts, got the name 0"):
        BERClassifier().fit(pd.DataFrame({0: texts}), labels)
    with pytest.raises(ValueError, match="several columns have the name x"):
        BERClassifier().fit(pd.DataFrame([texts, texts]).T.set_axis(["x", "x"], axis=1), labels)


def test_missing_numbers_need_candidates_that_take_them(frame, y):
    with pytest.raises(ValueError, match="contains NaN"):
        AUCClassifierCV([("bayes", GaussianNB())], cv=2).fit(frame, y)
    filled = frame.assign(income=frame["income"].fillna(0), member=frame["member"].notna())
    assert AUCClassifierCV([("bayes", GaussianNB())], cv=2).fit(filled, y).score(filled, y) > 0.5


def test_a_refit_forgets_the_encoding(frame, y):
    classifier = BERClassifier(cv=2).fit(frame, y)
    classifier.fit(frame[["age", "income"]], y)
    assert classifier.encoding_ is None
    assert classifier.n_features_in_ == 2
    classifier.fit(frame[["age"]].to_numpy(), y)
    assert not hasattr(classifier, "feature_names_in_")
    assert np.isfinite(classifier.decision_function([[30.0]])).all()


def test_a_warm_start_keeps_the_encoding(frame, y):
    classifier = BERClassifier("logistic", warm_start=True, threshold=0.0).fit(frame, y)
    before = classifier.encoding_
    few = frame[frame["city"] != "Rome"]
    assert classifier.fit(few, y[few.index]).encoding_ is before
    assert np.isfinite(classifier.decision_function(frame)).all()
    with pytest.raises(ValueError, match="expected a pandas or polars DataFrame"):
        classifier.fit(np.zeros((N, 7)), y)


def test_search_and_the_default_pool(frame, in_polars, y):
    search = GridSearchCV(AUCClassifier(threshold=0.0), {"alpha": [0.01, 1.0]}, cv=3, error_score="raise")
    assert search.fit(frame, y).best_estimator_.encoding_ is not None
    for table in (frame, in_polars):
        assert len(default_candidates(AUCClassifier, table)) == 16


def test_a_module_takes_encoded_features(frame, y):

    fitted = BERClassifier("logistic", threshold=0.5).fit(frame, y)
    with torch.no_grad():
        found = fitted.to_module()(torch.from_numpy(fitted.encoding_.transform(frame).values))
    np.testing.assert_allclose(found, fitted.decision_function(frame), rtol=1e-5, atol=1e-6)


def test_the_command_line_and_python_agree(frame, y):
    complete = frame.assign(income=frame["income"].fillna(0), member=frame["member"].notna())
    of_table = fit_table(complete.assign(y=y), "y", candidates=POOL, seed=3).model
    in_python = AUCClassifierCV(POOL, random_state=3).fit(complete, y)
    assert of_table.encoding == in_python.encoding_
    assert sl.tabular.Encoding is Encoding
    expected = in_python.decision_function(complete)
    np.testing.assert_allclose(of_table.predict(complete).scores, expected, rtol=1e-6, atol=1e-8)


WITHOUT = """
import sys

class NotInstalled:
    def find_spec(self, name, path=None, target=None):
        if name == "{missing}":
            raise ModuleNotFoundError(name)

sys.meta_path.insert(0, NotInstalled())
import numpy as np, symloss as sl
X = np.arange(20.0)[:, None]
sl.BERClassifier(cv=2).fit(X, X[:, 0] > 9).predict(X)
assert "polars" not in sys.modules
import {given}
frame = {given}.DataFrame({{"x": list(range(20)), "city": ["Oslo", "Rome"] * 10}})
print(sl.BERClassifier(threshold=0.0).fit(frame, [0, 1] * 10).predict(frame).sum())
assert "{missing}" not in sys.modules
"""


@pytest.mark.slow
@pytest.mark.parametrize(("given", "missing"), [("polars", "pandas"), ("pandas", "polars")])
def test_one_library_does_not_need_the_other(given, missing):
    code = WITHOUT.format(given=given, missing=missing)
    result = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert result.stdout.strip() == "10"


MOMENTS = [datetime.datetime(2020, 1 + k % 12, 1 + k % 28, k % 24) for k in range(N)]
MANY = {
    "dates": [moment.date() for moment in MOMENTS],
    "moments": [*MOMENTS[1:], None],
    "american": [f"{moment:%m/%d/%Y}" for moment in MOMENTS],
    "digits": [str(k) for k in range(N)],
    "dollars": [f"${1000 * k:,}" for k in range(N)],
    "names": [f"c{k}" for k in range(N)],
    "towns": [f"town {k % 52}" for k in range(N)],
    "prose": [f"the parcel number {k} came late" for k in range(N)],
}


@pytest.mark.parametrize("library", [pd, pl])
def test_columns_of_every_form_are_learned_from(library, y, tmp_path):
    fitted = BERClassifier("logistic", threshold=0.0).fit(library.DataFrame(MANY), y)
    assert fitted.encoding_.decisions == {
        "dates": "dates: month, weekday, days since 2000-01-01",
        "moments": "dates: month, weekday, hour, days since 2000-01-01",
        "american": "dates: month, weekday, days since 2000-01-01",
        "digits": "numbers written as text",
        "dollars": "numbers written as text, all with $",
        "towns": "52 distinct categories, hashed to 32 features",
        "prose": "60 distinct long texts, their words hashed to 200 features",
        "names": "dropped: it names rows: 60 distinct texts",
    }
    values = fitted.encoding_.transform(library.DataFrame(MANY)).values
    np.testing.assert_array_equal(values[:, :3], values[:, 7:10])
    np.testing.assert_array_equal(np.isnan(values[:, 3:7]).any(1), np.arange(N) == N - 1)
    save(fitted, tmp_path / "model")
    again = load(tmp_path / "model")
    assert again.encoding_ == fitted.encoding_
    other = (pl if library is pd else pd).DataFrame(MANY)
    np.testing.assert_array_equal(again.decision_function(other), fitted.decision_function(library.DataFrame(MANY)))


def test_weights_tell_a_numbering_as_repetitions_do(y):
    frame = pd.DataFrame({"names": MANY["names"], "digits": MANY["digits"]})
    times = np.where(np.arange(N) % 2, 3, 1)
    weighted = BERClassifier("logistic", threshold=0.0).fit(frame, y, sample_weight=times)
    rows = np.repeat(np.arange(N), times)
    assert weighted.encoding_ == BERClassifier("logistic", threshold=0.0).fit(frame.iloc[rows], y[rows]).encoding_
    assert weighted.encoding_.dropped == {}
    assert "names" in BERClassifier("logistic", threshold=0.0).fit(frame, y).encoding_.dropped
