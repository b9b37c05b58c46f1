import numpy as np
import pytest
from scipy.spatial.distance import cdist

import symloss as sl
from symloss.estimators.base import TrainingData
from symloss.estimators.candidates import fit_together
from symloss.estimators.gaussian_process import _NOISES
from symloss.estimators.out_of_bag import out_of_bag
from symloss.estimators.relevance_process import fit_relevance_process


@pytest.fixture(scope="module")
def noisy():
    """Two features tell, eight do not; a fifth of the labels are wrong."""
    generator = np.random.default_rng(0)
    X = generator.normal(size=(400, 10))
    positive = (np.sin(2 * X[:, 0]) + X[:, 1] > 0) ^ (generator.random(400) < 0.2)
    return TrainingData(X, positive, generator.integers(1, 3, 400).astype(float))


def dense(model, data):
    """Return the noise of a fit whose landmarks are all points, its kernel, and how much each label counts."""
    points = (data.X - model.standard.mean) / model.standard.scale
    kernel = np.exp(-cdist(points, points, "cityblock") / model.length)
    totals = np.where(data.positive, data.weight[data.positive].sum(), data.weight[~data.positive].sum())
    precision = data.weight * data.weight.sum() / (2 * totals)
    y = np.where(data.positive, 1.0, -1.0)
    found = model.scores(data.X)
    misses = {
        noise: np.abs(kernel @ np.linalg.solve(kernel + np.diag(noise / precision), y) - found).max()
        for noise in _NOISES
    }
    noise = min(misses, key=misses.get)
    assert misses[noise] < 1e-6
    return noise, kernel, precision, y


def test_scores_are_those_of_a_dense_regression_if_every_point_is_a_landmark(noisy):
    data = noisy.rows(np.arange(120))
    model, left_out = fit_relevance_process(data, n_landmarks=120, seed=0)
    noise, kernel, precision, y = dense(model, data)
    found = left_out()
    for k in range(8):
        without = np.where(np.arange(120) == k, precision * (data.weight - 1) / data.weight, precision)
        rest = without > 0
        dual = np.linalg.solve(kernel[np.ix_(rest, rest)] + np.diag(noise / without[rest]), y[rest])
        np.testing.assert_allclose(found[k], kernel[k, rest] @ dual, atol=1e-6)


def test_features_count_by_how_much_trees_split_at_them(noisy):
    model, _ = fit_relevance_process(noisy, n_landmarks=50, seed=0)
    importance = out_of_bag(noisy, "best", 0).importance
    assert importance.sum() == pytest.approx(1.0)
    assert set(np.argsort(-importance)[:2]) == {0, 1}
    deviation = np.sqrt(np.cov(noisy.X.T, aweights=noisy.weight, ddof=0).diagonal())
    np.testing.assert_allclose(model.standard.scale, deviation / (10 * importance + 1e-3))


def test_features_that_tell_nothing_do_little_harm(noisy):
    generator = np.random.default_rng(1)
    X = generator.normal(size=(2000, 10))
    positive = np.sin(2 * X[:, 0]) + X[:, 1] > 0
    found = {}
    for model in ("gaussian_process", "relevance_process"):
        fitted = sl.AUCClassifier("squared", model, random_state=0).fit(*noisy)
        found[model] = sl.metrics.auc(fitted.decision_function(X), positive)
    assert found["relevance_process"] > found["gaussian_process"] + 0.02


def test_a_start_keeps_landmarks_length_and_relevance(noisy):
    first, _ = fit_relevance_process(noisy, n_landmarks=10, seed=0)
    again, _ = fit_relevance_process(noisy.rows(np.arange(300)), n_landmarks=10, seed=1, start=first)
    assert again.length == first.length
    np.testing.assert_array_equal(again.landmarks, first.landmarks)
    np.testing.assert_array_equal(again.standard.scale, first.standard.scale)
    assert np.abs(again.dual - first.dual).max() > 1e-3


@pytest.mark.parametrize("missing", [False, True])
def test_a_pool_that_prunes_fits_the_process_as_it_is_fitted_alone(noisy, missing):
    X = np.where(np.random.default_rng(2).random(noisy.X.shape) < 0.1, np.nan, noisy.X) if missing else noisy.X
    settings = {"n_landmarks": 150, "threshold": 0.0, "random_state": 0}
    pool = [
        sl.AUCClassifier("squared", "relevance_process", **settings),
        sl.AUCClassifier("logistic", prune=0.4, threshold=0.0, random_state=0),
    ]
    together, _ = fit_together(pool, X, noisy.positive, noisy.weight)
    (alone,) = fit_together(pool[:1], X, noisy.positive, noisy.weight)
    np.testing.assert_allclose(together.decision_function(X), alone.decision_function(X), rtol=1e-9, atol=1e-12)


def test_constant_features_one_point_a_class_and_labels_of_chance():
    model, left_out = fit_relevance_process(
        TrainingData(np.zeros((2, 3)), np.array([True, False]), np.ones(2)), n_landmarks=5, seed=0
    )
    assert np.isfinite(model.scores(np.array([[1.0, 1e308, -1e308]]))).all()
    assert np.isfinite(left_out()).all()
    generator = np.random.default_rng(0)
    chance = TrainingData(generator.normal(size=(1000, 4)), np.arange(1000) < 500, np.ones(1000))
    _, left_out = fit_relevance_process(chance, n_landmarks=150, seed=0)
    assert 0.3 < sl.metrics.auc(left_out(), chance.positive) < 0.65


@pytest.mark.parametrize("change", [lambda x: 1e9 + x, lambda x: 1e-50 * x, lambda x: 1e300 * x])
def test_a_feature_far_from_zero_or_of_any_size_is_relevant(change):
    generator = np.random.default_rng(0)
    X = generator.normal(size=(300, 3))
    positive = X[:, 0] > 0
    X[:, 0] = change(X[:, 0])
    fitted = sl.AUCClassifier("squared", "relevance_process", n_landmarks=50, random_state=0).fit(X, positive)
    assert sl.metrics.auc(fitted.decision_function(X), positive) > 0.99


def test_a_column_of_huge_values_that_tells_nothing_can_be_saved(tmp_path):
    generator = np.random.default_rng(0)
    X = generator.normal(size=(200, 2))
    positive = X[:, 0] > 0
    X[:, 1] = np.where(generator.random(200) < 0.5, 1e306, -1e306)
    fitted = sl.AUCClassifier("squared", "relevance_process", n_landmarks=50, random_state=0).fit(X, positive)
    sl.estimators.save(fitted, tmp_path / "model")
    again = sl.estimators.load(tmp_path / "model")
    np.testing.assert_array_equal(again.decision_function(X), fitted.decision_function(X))


def test_another_loss_is_refused():
    with pytest.raises(ValueError, match="model='relevance_process' need loss='squared', got Unhinged"):
        sl.BERClassifier(model="relevance_process").fit([[0.0], [1.0]], [0, 1])
