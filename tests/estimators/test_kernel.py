"""The kernel model: its minimizer, weights as repetitions, and features that do not fit into memory."""

import numpy as np
import pytest
from sklearn.metrics.pairwise import rbf_kernel

from symloss.estimators import AUCClassifier, kernel
from symloss.estimators.family import PenalizedRisk
from symloss.losses import Logistic, Sigmoid, Unhinged


@pytest.fixture
def ring():
    generator = np.random.default_rng(0)
    X = generator.normal(size=(300, 2))
    return X, np.linalg.norm(X, axis=1) < 1.1


def test_it_learns_what_no_linear_score_can(ring):
    X, inside = ring
    assert AUCClassifier("logistic", model="kernel", alpha=1e-3, random_state=0).fit(X, inside).score(X, inside) > 0.95
    assert AUCClassifier("logistic", random_state=0).fit(X, inside).score(X, inside) < 0.8


def test_with_all_points_as_landmarks_unhinged_is_the_difference_of_kernel_means(ring):
    X, inside = ring
    model = kernel.fit_kernel(
        X, inside, np.ones(300), PenalizedRisk("auc", Unhinged(), 0.5), gamma=2.0, n_landmarks=300, seed=0
    )
    Z = (X - X.mean(0)) / X.std(0)
    K = rbf_kernel(Z, Z, gamma=2.0 / 4)
    expected = (K[:, inside].mean(1) - K[:, ~inside].mean(1)) / 0.5
    found = model.scores(X)
    np.testing.assert_allclose(found - found.mean(), expected - expected.mean(), atol=1e-6)


def test_weights_are_repetitions(ring):
    X, inside = ring[0][:60], ring[1][:60]
    weight = np.random.default_rng(1).integers(0, 3, 60)
    settings = {"gamma": 1.0, "n_landmarks": 100, "seed": 0}
    objective = PenalizedRisk("ber", Logistic(), 0.01)
    used = weight > 0
    weighted = kernel.fit_kernel(X[used], inside[used], weight[used].astype(float), objective, **settings)
    repeated = kernel.fit_kernel(
        np.repeat(X, weight, axis=0), np.repeat(inside, weight), np.ones(weight.sum()), objective, **settings
    )
    np.testing.assert_allclose(weighted.scores(X), repeated.scores(X), atol=1e-4)


def test_features_computed_in_blocks_are_the_same(ring, monkeypatch):
    X, inside = ring
    settings = {"gamma": 1.0, "n_landmarks": 50, "seed": 0}
    objective = PenalizedRisk("auc", Logistic(), 0.01)
    expected = kernel.fit_kernel(X, inside, np.ones(300), objective, **settings).scores(X)
    monkeypatch.setattr(kernel, "_KEPT", 0)
    found = kernel.fit_kernel(X, inside, np.ones(300), objective, **settings).scores(X)
    np.testing.assert_allclose(found, expected, atol=1e-6)
    monkeypatch.undo()
    monkeypatch.setattr(kernel, "_ROWS", 64)
    in_parts = kernel.fit_kernel(X, inside, np.ones(300), objective, **settings).scores(X)
    np.testing.assert_allclose(in_parts, expected, atol=1e-6)


def test_of_very_many_points_some_are_drawn_as_many_of_either_class_as_possible(ring, monkeypatch):
    X, inside = ring
    inside &= np.arange(300) < 60
    fitted = []

    def spy(features, positive, weight, objective, start):
        fitted.append((len(features.times(np.zeros(features.width))), int(positive.sum()), set(weight[positive])))
        return np.zeros(features.width), 0.0

    monkeypatch.setattr(kernel, "_POINTS", 200)
    monkeypatch.setattr(kernel, "minimize_risk", spy)
    objective = PenalizedRisk("auc", Logistic(), 0.01)
    kernel.fit_kernel(X, inside, np.where(inside, 2.0, 1.0), objective, gamma=1.0, n_landmarks=20, seed=0)
    assert fitted == [(200, inside.sum(), {2.0})]


def test_a_warm_start_begins_where_the_last_fit_ended(ring, monkeypatch):
    X, inside = ring
    settings = {"gamma": 1.0, "n_landmarks": 50, "seed": 0}
    objective = PenalizedRisk("auc", Sigmoid(), 0.001)
    last = kernel.fit_kernel(X, inside, np.ones(300), objective, **settings)
    starts = []

    def spy(features, positive, weight, objective, start):
        starts.append(features.times(start[0]) + start[1])
        return start

    monkeypatch.setattr(kernel, "minimize_risk", spy)
    again = kernel.fit_kernel(X, inside, np.ones(300), objective, **settings, start=last)
    np.testing.assert_allclose(starts[0], last.scores(X), atol=1e-6)
    np.testing.assert_allclose(again.scores(X), last.scores(X), atol=1e-6)
