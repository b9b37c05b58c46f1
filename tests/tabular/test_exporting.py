"""A model of tables as a scikit-learn pipeline that takes raw data frames, and as a torch module of encoded rows."""

import io
import pickle

import numpy as np
import onnxruntime
import pandas as pd
import polars as pl
import pytest
import torch
from sklearn.base import clone, is_classifier
from sklearn.model_selection import cross_val_score

import symloss as sl
from symloss.tabular.exporting import TableEncoder


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


def test_the_encoder_of_few_categories():
    with pytest.raises(ValueError, match="has 3 distinct texts"):
        TableEncoder(max_categories=2).fit(pd.DataFrame({"city": ["Oslo", "Rome", "Paris"]}))


def test_the_module_scores_encoded_rows(frame, model):
    values, _ = model.encoding.transform(frame)
    assert model.encoding.features == ["age", "plan=basic", "plan=pro", "plan is missing"]
    with torch.no_grad():
        scores = model.to_module()(torch.from_numpy(values))
    assert scores.dtype == torch.float32
    np.testing.assert_allclose(scores, model.predict(frame).scores, rtol=1e-5, atol=1e-5)


@pytest.mark.filterwarnings("ignore:.*isinstance.treespec, LeafSpec:FutureWarning")  # the exporter's own
def test_onnx(frame, model):
    values, _ = model.encoding.transform(frame)
    program = torch.onnx.export(
        model.to_module(),
        (torch.from_numpy(values[:3]),),
        dynamo=True,
        dynamic_shapes=({0: torch.export.Dim("batch", min=1)},),
        verbose=False,
    )
    content = io.BytesIO()
    program.save(content)
    session = onnxruntime.InferenceSession(content.getvalue(), providers=["CPUExecutionProvider"])
    (name,) = (value.name for value in session.get_inputs())
    found = session.run(None, {name: values})[0]
    np.testing.assert_allclose(found, model.predict(frame).scores, rtol=1e-5, atol=1e-5)
