"""Cells: their values, that rounding cannot move a point to another cell, files, and what the labels have no say in."""

import numpy as np
import pytest
from scipy.spatial.distance import cdist

import symloss as sl
from symloss.estimators.cells import fit_cells


@pytest.fixture(scope="module")
def noisy():
    generator = np.random.default_rng(0)
    X = generator.normal(size=(300, 4))
    truth = X[:, 0] * X[:, 1] > 0
    return X, np.where(generator.random(300) < 0.3, ~truth, truth), truth


def partitions(model):
    """Return features, centers and values of each partition."""
    ends = np.cumsum(model.sizes.astype(int))[:-1]
    split = np.split(model.centers, ends), np.split(model.values, ends)
    return list(zip(model.features.astype(int), *split, strict=True))


def test_a_score_is_the_mean_of_the_penalized_average_labels_of_the_nearest_centers(noisy):
    X, positive, _ = noisy
    weight = np.where(np.arange(300) % 3 == 0, 2.0, 1.0)
    model = fit_cells(X, positive, weight, n_estimators=7, n_cells=32, seed=0)
    assert model.sizes.tolist() == [32, 16, 8, 4, 2, 32, 16]
    places = np.rint(np.clip(model.standard.transform(X), -8, 8) * 1024)
    share = np.where(positive, weight / weight[positive].sum(), weight / weight[~positive].sum()) * weight.sum() / 2
    expected = np.zeros(300)
    for features, centers, _ in partitions(model):
        nearest = cdist(places[:, features], centers).argmin(1)
        for cell in np.unique(nearest):
            inside = nearest == cell
            labels = np.where(positive, share, -share)[inside].sum()
            expected[inside] += labels / (share[inside].sum() + 10) / 7
    np.testing.assert_allclose(model.scores(X), expected, rtol=1e-12, atol=1e-14)


def test_labels_have_no_say_in_where_cells_lie(noisy):
    X, positive, truth = noisy
    one, other = (fit_cells(X, of, np.ones(300), n_estimators=9, n_cells=64, seed=3) for of in (positive, truth))
    np.testing.assert_array_equal(one.features, other.features)
    np.testing.assert_array_equal(one.centers, other.centers)
    assert not np.array_equal(one.values, other.values)


def test_a_row_has_the_same_score_alone_and_among_others_also_where_two_centers_are_equally_near():
    generator = np.random.default_rng(1)
    X = generator.integers(0, 3, (200, 6)) * 0.1  # few different values: many ties
    model = fit_cells(X, generator.random(200) < 0.5, np.ones(200), n_estimators=30, n_cells=64, seed=0)
    together = model.scores(X)
    np.testing.assert_array_equal(together, [model.scores(row[None])[0] for row in X])
    np.testing.assert_array_equal(together, model.scores(np.asfortranarray(X[::-1]))[::-1])


def test_products_of_places_are_exact(noisy):
    model = fit_cells(*noisy[:2], np.ones(300), n_estimators=3, n_cells=16, seed=0)
    assert (model.centers % 1 == 0).all()
    assert np.abs(model.centers).max() <= 8 * 1024


def test_they_learn_what_a_linear_model_cannot(noisy):
    X, positive, truth = noisy
    cells = sl.AUCClassifier(model="cells", random_state=0).fit(X, positive)
    linear = sl.AUCClassifier(threshold=0.0).fit(X, positive)
    assert sl.metrics.auc(cells.decision_function(X), truth) > sl.metrics.auc(linear.decision_function(X), truth) + 0.1


def test_a_warm_start_adds_partitions(noisy):
    X, positive, _ = noisy
    few = fit_cells(X, positive, np.ones(300), n_estimators=4, n_cells=16, seed=0)
    more = fit_cells(X, positive, np.ones(300), n_estimators=6, n_cells=16, seed=0, start=few)
    whole = fit_cells(X, positive, np.ones(300), n_estimators=6, n_cells=16, seed=0)
    for one, other in zip(more[1:], whole[1:], strict=True):
        np.testing.assert_array_equal(one, other)
    assert fit_cells(X, positive, np.ones(300), n_estimators=3, n_cells=16, seed=0, start=few) is few


@pytest.mark.parametrize("X", [np.zeros((6, 3)), np.eye(6), np.full((6, 1), 1e300) * np.arange(6)[:, None]])
def test_few_points_constant_features_and_large_numbers(X):
    model = fit_cells(X, np.arange(6) % 2 == 0, np.ones(6), n_estimators=5, n_cells=256, seed=0)
    assert (np.abs(model.scores(X)) <= 1).all()


def test_saved_cells_are_the_same(noisy, tmp_path):
    X, positive, _ = noisy
    cells = sl.BERClassifier("squared", "cells", n_estimators=6, random_state=0).fit(X, positive)
    sl.estimators.save(cells, tmp_path / "model")
    loaded = sl.estimators.load(tmp_path / "model")
    np.testing.assert_array_equal(loaded.decision_function(X), cells.decision_function(X))
    np.testing.assert_array_equal(loaded.predict_proba(X), cells.predict_proba(X))
