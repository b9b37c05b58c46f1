"""The family of boosting: scores as if both labels were equally frequent, weights that count as repetitions, stumps."""

import numpy as np
import pytest
from sklearn.ensemble import HistGradientBoostingClassifier

import symloss as sl
from symloss.estimators.boosted import fit_boosting, fit_repeated

SETTINGS = {"n_estimators": 40, "min_samples_leaf": 5, "threshold": 0.0, "random_state": 0}


@pytest.fixture
def data():
    generator = np.random.default_rng(0)
    X = generator.normal(size=(400, 3))
    return X, X[:, 0] - 0.5 * X[:, 1] + generator.normal(size=400) > 1.2  # one in five is positive


def test_stumps_add_up_functions_of_one_feature_each(data):
    X, y = data
    y = y ^ (X[:, 0] * X[:, 2] > 1)  # an interaction, which stumps cannot have
    model = sl.AUCClassifier("logistic", "boosting", max_leaf_nodes=2, **SETTINGS).fit(X, y)
    corners = np.array([[a, 0.0, c] for a in (-1.0, 1.0) for c in (-1.0, 1.0)])
    low, right, left, high = model.decision_function(corners)[[0, 1, 2, 3]]
    assert low + high == pytest.approx(left + right, abs=1e-9)
    assert sl.metrics.auc(model.decision_function(X), y) > 0.75


def test_both_labels_count_the_same_however_rare_one_is(data):
    X, y = data
    found = sl.BERClassifier("logistic", "boosting", **SETTINGS).fit(X, y)
    assert abs(np.mean(found.predict(X)[y]) - np.mean(~found.predict(X)[~y])) < 0.15
    assert found.predict_proba(X)[:, 1].mean() == pytest.approx(y.mean(), abs=0.02)  # of the observed labels


@pytest.mark.parametrize("kind", [sl.BERClassifier, sl.AUCClassifier])
def test_weights_are_repetitions(data, kind):
    X, y = data
    weight = np.random.default_rng(1).integers(1, 4, len(y))
    model = kind("logistic", "boosting", **SETTINGS)
    by_weight = model.fit(X, y, sample_weight=weight).decision_function(X)
    repeated = model.fit(np.repeat(X, weight, 0), np.repeat(y, weight)).decision_function(X)
    np.testing.assert_allclose(by_weight, repeated, atol=1e-9)


def test_whole_weights_are_repeated_rows_and_others_are_passed_on(data):
    X, y = data
    few = {"max_iter": 5, "random_state": 0}
    whole, parts = np.arange(400) % 3 + 1.0, np.where(np.arange(400) % 2, 1.5, 0.5)
    scores = fit_repeated(HistGradientBoostingClassifier(early_stopping=False, **few), X, y, whole).decision_function(X)
    rows = np.repeat(np.arange(400), whole.astype(int))
    expected = HistGradientBoostingClassifier(early_stopping=False, **few).fit(X[rows], y[rows])
    np.testing.assert_array_equal(scores, expected.decision_function(X))
    for weight, early_stopping in ((parts, False), (whole, True)):
        model = HistGradientBoostingClassifier(early_stopping=early_stopping, **few)
        expected = HistGradientBoostingClassifier(early_stopping=early_stopping, **few).fit(X, y, sample_weight=weight)
        scores = fit_repeated(model, X, y, weight).decision_function(X)
        np.testing.assert_array_equal(scores, expected.decision_function(X))


def test_few_different_points_and_small_weights():
    generator = np.random.default_rng(0)
    X = generator.integers(0, 2, (3000, 3)).astype(float)
    y = X[:, 0] + X[:, 1] * generator.random(3000) > 0.9
    found = sl.AUCClassifier("logistic", "boosting", threshold=0.0).fit(X, y).decision_function(X)
    assert sl.metrics.auc(found, y) > 0.9  # eight points, each of weight 375
    light = sl.AUCClassifier("logistic", "boosting", threshold=0.0).fit(*continuous(), np.full(400, 1e-5))
    heavy = sl.AUCClassifier("logistic", "boosting", threshold=0.0).fit(*continuous())
    np.testing.assert_allclose(
        light.decision_function(continuous()[0]), heavy.decision_function(continuous()[0]), atol=0.3
    )


def continuous():
    X = np.random.default_rng(1).normal(size=(400, 2))
    return X, X[:, 0] > 0


def test_a_column_without_a_value(data):
    X, y = data
    X = np.column_stack([X, np.full(400, np.nan)])
    model = sl.AUCClassifier("logistic", "boosting", **SETTINGS).fit(X, y)
    np.testing.assert_array_equal(model.decision_function(np.nan_to_num(X, nan=3.0)), model.decision_function(X))


def test_without_the_least_credible_labels(data):
    X = data[0]
    clean = X[:, 0] > 0
    noisy = clean ^ (np.random.default_rng(2).random(400) < 0.3)
    scores = {
        prune: sl.AUCClassifier("logistic", "boosting", prune=prune, **SETTINGS).fit(X, noisy).decision_function(X)
        for prune in (0.0, 0.3)
    }
    assert sl.metrics.auc(scores[0.3], clean) > sl.metrics.auc(scores[0.0], clean) + 0.01


def test_a_saved_model_scores_the_same(data, tmp_path):
    X, y = data
    X = np.where(X > 2, np.nan, X)
    model = sl.AUCClassifier("logistic", "boosting", prune=0.2, **SETTINGS).fit(X, y)
    sl.estimators.save(model, tmp_path / "model")
    np.testing.assert_array_equal(
        sl.estimators.load(tmp_path / "model").decision_function(X), model.decision_function(X)
    )


def test_bad_settings_are_named(data):
    with pytest.raises(ValueError, match="model='boosting' minimizes the logistic loss and needs it, got Unhinged"):
        sl.BERClassifier(model="boosting").fit(*data)
    for leaves in (1, 2.5):
        with pytest.raises(ValueError, match=f"max_leaf_nodes must be a whole number of at least 2, got {leaves}"):
            sl.BERClassifier(max_leaf_nodes=leaves).fit(*data)


def test_a_class_of_one_point():
    X = np.arange(6.0)[:, None]
    found = fit_boosting(X, X[:, 0] > 4, np.ones(6), n_estimators=2, min_samples_leaf=1, max_leaf_nodes=2, seed=0)
    assert np.isfinite(found.scores(X)).all()
