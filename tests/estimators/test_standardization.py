"""Means and deviations: constant columns, sparse ones, and large numbers."""

import numpy as np
import pytest
from scipy import sparse

from symloss.estimators import AUCClassifier
from symloss.estimators.standardization import Standardization


@pytest.mark.parametrize("n", [1000, 10_000, 200_000])
@pytest.mark.parametrize("value", [0.1, 1 / 3, 1e5 / 7, -1e-9, 0.0])
@pytest.mark.parametrize("container", [np.asarray, sparse.csr_matrix])
def test_a_constant_feature_has_scale_one(n, value, container):
    found = Standardization.fit(container(np.full((n, 1), value)), np.ones(n))
    assert found.scale.tolist() == [1.0]
    assert found.mean.tolist() == [value]


@pytest.mark.parametrize("container", [np.asarray, sparse.csr_matrix, sparse.csc_matrix])
def test_features_far_from_zero_keep_their_deviation(container):
    generator = np.random.default_rng(0)
    X = generator.normal(size=(5000, 2)) * [1.0, 100.0] + [1e8, 1.7e9]
    weight = generator.integers(0, 3, 5000).astype(float)
    repeated = np.repeat(X, weight.astype(int), axis=0)
    found = Standardization.fit(container(X), weight)
    np.testing.assert_allclose(found.mean, repeated.mean(0), rtol=1e-12)
    np.testing.assert_allclose(found.scale, repeated.std(0), rtol=1e-6)


def test_a_constant_column_changes_nothing():
    generator = np.random.default_rng(0)
    X = generator.normal(size=(20_000, 2))
    y = X[:, 0] + generator.normal(size=20_000) > 0
    wide = np.column_stack([X, np.full(20_000, 0.1)])
    settings = {"loss": "logistic", "threshold": 0.0}
    expected = AUCClassifier(**settings).fit(X, y).decision_function(X)
    found = AUCClassifier(**settings).fit(wide, y).decision_function(wide)
    np.testing.assert_allclose(found - found.mean(), expected - expected.mean(), atol=1e-6)


@pytest.mark.parametrize("size", [1e-170, 1e155, 1e300])
def test_tiny_and_huge_features(size):
    X = np.random.default_rng(0).normal(size=(100, 2))
    np.testing.assert_allclose(Standardization.fit(X * size, np.ones(100)).scale, size * X.std(0), rtol=1e-9)
