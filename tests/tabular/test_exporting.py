"""A model of tables as a scikit-learn pipeline, as an ONNX graph of the whole, and as a module of encoded rows."""

import pickle
import sys
from dataclasses import replace

import numpy as np
import onnxruntime
import pandas as pd
import polars as pl
import pytest
import torch
from sklearn.base import clone, is_classifier
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.exceptions import NotFittedError
from sklearn.model_selection import cross_val_score
from sklearn.naive_bayes import GaussianNB

import symloss as sl
from symloss.tabular import Column, Encoding, TableModel
from symloss.tabular.exporting import TableEncoder

# What colleagues would point out is not what these tests are about.
pytestmark = pytest.mark.filterwarnings("ignore:.*(rows have the same features|there are only .* rows)")


def table(n=160):
    generator = np.random.default_rng(0)
    frame = pd.DataFrame(
        {
            "age": np.where(generator.random(n) < 0.1, np.nan, generator.integers(18, 80, n)),
            "plan": generator.choice(["basic", "pro", None], n),
            "unit": "kg",
        }
    )
    score = (frame["age"].fillna(50) - 49) / 8 + 2.0 * (frame["plan"] == "pro")
    return frame.assign(churn=np.where(score + generator.logistic(size=n) > 0, "yes", "no"))


@pytest.fixture(scope="module")
def frame():
    return table()


@pytest.fixture(scope="module")
def model(frame):
    pool = [
        ("linear", sl.AUCClassifier(threshold=0.0)),
        ("Gaussian process", sl.AUCClassifier("squared", "gaussian_process", threshold=0.0)),
    ]
    model = sl.tabular.fit(frame, "churn", positive="no", candidates=pool)
    assert len(model.estimator.members_) == 2
    return model


def test_the_pipeline_predicts_what_the_model_does(frame, model):
    pipeline = model.to_sklearn()
    expected = model.predict(frame)
    assert is_classifier(pipeline)
    assert pipeline.classes_.tolist() == ["yes", "no"]  # the negative label and the positive one
    for given in (frame, frame[["churn", "plan", "age"]], pl.from_pandas(frame)):
        np.testing.assert_allclose(pipeline.decision_function(given), expected.scores, rtol=1e-9)
        assert pipeline.predict(given).tolist() == expected.labels
    np.testing.assert_allclose(pipeline.predict_proba(frame)[:, 1], expected.probabilities, rtol=1e-9)
    again = pickle.loads(pickle.dumps(pipeline))
    assert again.predict(frame).tolist() == expected.labels
    assert model.estimator.classes_.tolist() == [0, 1]  # the model is unchanged
    with pytest.raises(ValueError, match="columns that the model needs are missing: age"):
        pipeline.predict(frame.drop(columns="age"))


def test_the_pipeline_can_be_fitted_again(frame, model):
    X, y = frame.drop(columns="churn"), frame["churn"]
    scores = cross_val_score(model.to_sklearn(), X, y, cv=2)
    assert scores.min() > 0.6
    fitted = clone(model.to_sklearn()).fit(X, y == "no")
    np.testing.assert_allclose(fitted.decision_function(X), model.predict(frame).scores, rtol=1e-9)


def test_the_pipeline_has_the_largest_number_of_categories_of_the_fit(frame, tmp_path):
    cities = frame.assign(city=[f"x{k % 60}y" for k in range(160)])
    linear = [("linear", sl.AUCClassifier())]
    model = sl.tabular.fit(cities, "churn", candidates=linear, max_categories=70)
    model.save(tmp_path / "model")
    for each in (model, sl.tabular.load(tmp_path / "model")):
        encoder = clone(each.to_sklearn()[0]).fit(cities.drop(columns="churn"))
        assert encoder.encoding_ == model.encoding


def test_the_encoder_alone(frame):
    encoder = clone(TableEncoder(max_categories=7))
    assert encoder.max_categories == 7
    features = encoder.fit_transform(frame[["plan", "age"]])
    assert features.columns.tolist() == ["plan=basic", "plan=pro", "plan is missing", "age"]
    assert features.index.equals(frame.index)
    with pytest.raises(NotFittedError):
        TableEncoder().transform(frame)


def test_the_module_scores_encoded_rows(frame, model):
    values, _ = model.encoding.transform(frame)
    assert model.encoding.features == ["age", "plan=basic", "plan=pro", "plan is missing"]
    with torch.no_grad():
        scores = model.to_module()(torch.from_numpy(values))
    assert scores.dtype == torch.float32
    np.testing.assert_allclose(scores, model.predict(frame).scores, rtol=1e-5, atol=1e-5)


def run_onnx(model, frame):
    """What onnxruntime returns for the columns of a table."""
    session = onnxruntime.InferenceSession(model.to_onnx().SerializeToString(), providers=["CPUExecutionProvider"])
    texts = set(model.encoding.categorical)
    given = {
        name: frame[[name]].fillna("").to_numpy(object) if name in texts else frame[[name]].to_numpy(np.float64)
        for name in model.columns
    }
    names = [output.name for output in session.get_outputs()]
    return dict(zip(names, session.run(None, given), strict=True))


@pytest.mark.parametrize("rates", [None, (0.95, 0.1)])
def test_onnx_of_the_whole(frame, rates):
    """Trees and boosting, alone and with other models; with and without known rates; columns of unfortunate names."""
    pool = [
        ("trees", sl.AUCClassifier(model="trees", n_estimators=5, min_samples_leaf=5, threshold=0.1)),
        ("stumps", sl.AUCClassifier("logistic", "boosting", max_leaf_nodes=2, n_estimators=20, threshold=0.2)),
        ("boosting", HistGradientBoostingClassifier(max_iter=10, early_stopping=False, random_state=0)),
        ("linear", sl.AUCClassifier()),
        ("kernel", sl.AUCClassifier("logistic", "kernel", alpha=1e-3)),
        ("relevance", sl.AUCClassifier("squared", "relevance_process", n_landmarks=20)),
        ("cells", sl.AUCClassifier(model="cells", n_estimators=7, prune=0.2, random_state=0)),
    ][: 3 if rates else 7]
    names = {"age": "features", "plan": "val_0, größe"}
    wide = np.where(np.arange(160) % 3 == 0, 0.1, 1e9 + np.arange(160))  # float32 does not tell these apart
    data = frame.drop(columns=["churn", "unit"]).assign(wide=wide).rename(columns=names)
    encoding, (pi, pi_prime) = Encoding.fit(data), rates or (None, None)
    estimator = sl.AUCClassifierCV(pool, temperature=1e9, pi=pi, pi_prime=pi_prime, random_state=0)  # averages all
    features = pd.DataFrame(encoding.transform(data).values, columns=encoding.features)
    model = TableModel(estimator.fit(features, frame["churn"] == "yes"), encoding, "churn", ("no", "yes"))
    assert len(estimator.members_) == len(pool)
    new = table(400).assign(wide=1e9 + np.arange(400.0)).rename(columns=names)
    new.loc[5:9, "val_0, größe"] = "never seen"
    expected, found = model.predict(new), run_onnx(model, new)
    assert list(found) == ["score", f"{model.probability_of}_probability", "label"]
    np.testing.assert_allclose(found["score"], expected.scores, rtol=1e-5, atol=1e-5)
    np.testing.assert_allclose(list(found.values())[1], expected.probabilities, rtol=1e-5, atol=1e-5)
    sure = np.abs(expected.scores) > 1e-4
    assert found["label"][sure].tolist() == np.array(expected.labels)[sure].tolist()
    assert 0 < np.mean(found["label"] == "yes") < 1


def test_onnx_of_a_model_without_trees(frame):
    model = sl.tabular.fit(frame, "churn", candidates=[("linear", sl.AUCClassifier())])
    expected, found = model.predict(frame), run_onnx(model, frame)
    np.testing.assert_allclose(found["score"], expected.scores, rtol=1e-5, atol=1e-5)


def test_what_cannot_be_exported(frame, model):
    tree = sl.AUCClassifier(model="trees", n_estimators=2, min_samples_leaf=20)
    with_trees = sl.tabular.fit(frame, "churn", candidates=[("my trees", tree)])
    with pytest.raises(ValueError, match=r"to_module\(\) needs members that are linear, .* got my trees: fit with"):
        with_trees.to_module()
    strange = sl.tabular.fit(frame.dropna(), "churn", candidates=[("bayes", GaussianNB())])
    with pytest.raises(ValueError, match="ONNX: expected members of symloss's pool, got bayes"):
        strange.to_onnx()
    named = frame.rename(columns={"age": "score"})
    renamed = sl.tabular.fit(named, "churn", candidates=[("linear", sl.AUCClassifier())])
    with pytest.raises(ValueError, match="ONNX: column 'score' has the name of an output"):
        renamed.to_onnx()


def test_columns_that_onnx_cannot_encode(model):
    class Day(Column):
        """A column that becomes two numbers."""

        features = property(lambda column: [f"{column.name}: month", f"{column.name}: weekday"])

    dated = replace(model, encoding=Encoding((Day("day"),), {}))
    with pytest.raises(ValueError, match="ONNX: column 'day' becomes 2 features, and only numbers and one-hot encoded"):
        dated.to_onnx()


def test_onnx_refuses_numbers_that_are_written_as_text(frame):
    prices = frame.assign(price=[f"${1000 + 7 * k:,}" for k in range(160)])
    model = sl.tabular.fit(prices, "churn", candidates=[("linear", sl.AUCClassifier())])
    with pytest.raises(ValueError, match=r"column 'price' holds numbers written as text, .* make numbers of them"):
        model.to_onnx()


def test_onnx_is_an_extra(model, monkeypatch):
    monkeypatch.setitem(sys.modules, "onnx", None)
    with pytest.raises(ImportError, match=r'export to ONNX needs onnx and onnxscript: pip install "symloss\[onnx\]"'):
        model.to_onnx()
