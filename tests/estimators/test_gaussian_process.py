"""The Gaussian process against references that are written out in full."""

import numpy as np
import pytest
from scipy.spatial.distance import cdist
from scipy.stats import multivariate_normal
from sklearn.gaussian_process import GaussianProcessRegressor
from sklearn.gaussian_process.kernels import Matern

import symloss as sl
from symloss.estimators import gaussian_process
from symloss.estimators.gaussian_process import fit_gaussian_process


@pytest.fixture
def noisy():
    generator = np.random.default_rng(0)
    X = generator.normal(size=(80, 2))
    return X, X[:, 0] + 0.5 * generator.normal(size=80) > 0, generator.integers(1, 4, 80).astype(float)


def _precision(positive, weight):
    """Weights with which both classes have the same total, and all together the same as before."""
    share = np.where(positive, weight / weight[positive].sum(), weight / weight[~positive].sum()) / 2
    return share * weight.sum()


def _noise(model, X, positive, weight):
    """The noise on the grid that gives these scores, if every point is a landmark."""
    points = model.standard.transform(X)
    kernel, y = np.exp(-cdist(points, points) / model.length), np.where(positive, 1.0, -1.0)
    fits = [kernel @ np.linalg.solve(kernel + np.diag(v / _precision(positive, weight)), y) for v in _grid()]
    errors = [np.abs(fit - model.scores(X)).max() for fit in fits]
    assert min(errors) < 1e-6
    return _grid()[int(np.argmin(errors))], kernel, y


def _grid():
    return gaussian_process._NOISES


def test_scores_are_those_of_the_regression_where_every_point_is_a_landmark(noisy):
    X, positive, weight = noisy
    model, _ = fit_gaussian_process(X, positive, weight, n_landmarks=100, seed=0)
    noise, *_ = _noise(model, X, positive, weight)
    points = model.standard.transform(X)
    peer = GaussianProcessRegressor(
        Matern(model.length, "fixed", nu=0.5), alpha=noise / _precision(positive, weight), optimizer=None
    )
    expected = peer.fit(points, np.where(positive, 1.0, -1.0)).predict(points[::7] + 0.1)
    found = model.scores(X[::7] + 0.1 * model.standard.scale)
    np.testing.assert_allclose(found, expected, atol=1e-6)


def test_left_out_scores_are_those_of_fits_without_one_repetition_of_the_point(noisy):
    X, positive, weight = noisy
    model, left_out = fit_gaussian_process(X, positive, weight, n_landmarks=100, seed=0)
    noise, kernel, y = _noise(model, X, positive, weight)
    precision = _precision(positive, weight)
    assert {weight[k] for k in range(10)} == {1, 2, 3}
    for k in range(10):
        without = np.where(np.arange(80) == k, precision * (weight - 1) / weight, precision)
        rest = without > 0
        dual = np.linalg.solve(kernel[np.ix_(rest, rest)] + np.diag(noise / without[rest]), y[rest])
        np.testing.assert_allclose(left_out()[k], kernel[k, rest] @ dual, atol=1e-6)


@pytest.mark.parametrize("spread", [1e-6, 1e-9, 1e-12, 5e-16])
def test_points_that_are_nearly_equal(spread):
    generator = np.random.default_rng(0)
    X = generator.normal(size=(20, 3)).repeat(10, 0) * (1 + spread * generator.normal(size=(200, 3)))
    model, left_out = fit_gaussian_process(X, X[:, 0] > 0, np.ones(200), n_landmarks=100, seed=0)
    assert sl.metrics.auc(model.scores(X), X[:, 0] > 0) > 0.9
    assert np.isfinite(left_out()).all()
    assert np.isfinite(model.scores(np.array([[1e308, -1e308, 1e308]]))).all()


def test_length_and_noise_are_the_most_likely_ones(noisy):
    X, positive, _ = noisy
    weight = np.ones(80)
    model, _ = fit_gaussian_process(X, positive, weight, n_landmarks=100, seed=0)
    noise, *_ = _noise(model, X, positive, weight)
    points, y, precision = model.standard.transform(X), np.where(positive, 1.0, -1.0), _precision(positive, weight)
    between = cdist(points, points)
    unit = np.median(between[between > 0])

    def likelihood(length, noise):
        covariance = np.exp(-between / length) + np.diag(noise / precision)
        variance = y @ np.linalg.solve(covariance, y) / len(y)
        return multivariate_normal(np.zeros(len(y)), variance * covariance).logpdf(y)

    every = {(a * unit, b): likelihood(a * unit, b) for a in gaussian_process._LENGTHS for b in _grid()}
    assert max(every, key=every.get) == (pytest.approx(model.length), noise)


def test_a_start_keeps_landmarks_and_length(noisy):
    X, positive, weight = noisy
    first, _ = fit_gaussian_process(X, positive, weight, n_landmarks=10, seed=0)
    again, _ = fit_gaussian_process(X[:60], positive[:60], weight[:60], n_landmarks=10, seed=1, start=first)
    assert again.length == first.length
    np.testing.assert_array_equal(again.landmarks, first.landmarks)
    assert np.abs(again.dual - first.dual).max() > 1e-3


def test_few_blocks_and_few_points_to_choose_on_change_little(noisy, monkeypatch):
    X, positive, weight = noisy
    expected, left_out = fit_gaussian_process(X, positive, weight, n_landmarks=20, seed=0)
    expected_left_out = left_out()
    monkeypatch.setattr(gaussian_process, "blocks", lambda n, _: [slice(0, 30), slice(30, n)])
    found, parts = fit_gaussian_process(X, positive, weight, n_landmarks=20, seed=0)
    np.testing.assert_allclose(found.dual, expected.dual, rtol=1e-6)
    np.testing.assert_allclose(parts(), expected_left_out, rtol=1e-6)
    monkeypatch.setattr(gaussian_process, "_CHOSEN_ON", 40)
    part, _ = fit_gaussian_process(X, positive, weight, n_landmarks=20, seed=0)
    assert sl.metrics.auc(part.scores(X), positive) > 0.8


def test_one_point_a_class_and_constant_features():
    model, left_out = fit_gaussian_process(np.zeros((2, 3)), np.array([True, False]), np.ones(2), n_landmarks=5, seed=0)
    assert np.isfinite(model.scores(np.ones((1, 3)))).all()
    assert np.isfinite(left_out()).all()


def test_another_loss_is_refused():
    with pytest.raises(ValueError, match="need loss='squared', got Unhinged"):
        sl.BERClassifier(model="gaussian_process").fit([[0.0], [1.0]], [0, 1])
