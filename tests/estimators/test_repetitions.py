"""Equal points become one point, whose weight is the sum of theirs."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse

import symloss as sl
from symloss.estimators import AUCClassifier, AUCClassifierCV, BERClassifier
from symloss.estimators.base import TrainingData
from symloss.estimators.credibility import credibility
from symloss.estimators.repetitions import merge_repetitions


@st.composite
def tables(draw):
    """Few different values, so that points repeat; some are missing, some are -0."""
    n, d = draw(st.integers(1, 30)), draw(st.integers(1, 3))
    generator = np.random.default_rng(draw(st.integers(0, 10**6)))
    X = generator.choice([0.0, -0.0, 1.0, 2.0, -1.5, np.nan], size=(n, d))
    weight = generator.integers(0, 4, n).astype(float)
    weight[-1] += 1.0  # not all of them are 0
    return X, generator.random(n) < 0.5, weight


@given(tables(), st.integers(0, 10**6))
@settings(max_examples=60, deadline=None)
def test_weights_are_repetitions_in_any_order(table, seed):
    X, positive, weight = table
    rows = np.random.default_rng(seed).permutation(np.repeat(np.arange(len(X)), weight.astype(int)))
    merged = merge_repetitions(X, positive, weight)
    repeated = merge_repetitions(X[rows], positive[rows], np.ones(len(rows)))
    for found, expected in zip(merged[:3], repeated[:3], strict=True):
        np.testing.assert_array_equal(found, expected)
    # Every point is found again at its place, and no two points are equal.
    np.testing.assert_array_equal(merged.place < 0, weight == 0)
    kept = weight > 0
    np.testing.assert_array_equal(merged.X[merged.place[kept]], X[kept])
    np.testing.assert_array_equal(merged.positive[merged.place[kept]], positive[kept])
    points = np.column_stack([np.nan_to_num(merged.X, nan=9.0) + 0.0, merged.positive])
    assert len(np.unique(points, axis=0)) == len(points)
    assert merged.weight.sum() == weight.sum()


def test_round_numbers_and_many_rows_are_told_apart():
    X = np.array(np.meshgrid(*[[0.0, 1.0]] * 16)).reshape(16, -1).T  # 65,536 rows of zeros and ones
    assert len(merge_repetitions(X, np.ones(len(X), bool), np.ones(len(X))).weight) == len(X)


@pytest.mark.parametrize("kind", [sparse.csr_matrix, sparse.csr_array])
def test_sparse_points_are_merged_as_dense_ones(kind):
    generator = np.random.default_rng(0)
    X = generator.choice([0.0, 0.0, 1.0], size=(200, 4))
    positive, weight = generator.random(200) < 0.5, generator.integers(0, 3, 200).astype(float)
    stored = kind(X)
    stored.data[:3] = 0.0  # zeros that are stored
    found, expected = (merge_repetitions(of, positive, weight) for of in (stored, stored.toarray()))
    np.testing.assert_array_equal(found.X.toarray(), expected.X)
    np.testing.assert_array_equal(found.weight, expected.weight)
    np.testing.assert_array_equal(found.place, expected.place)


@pytest.mark.parametrize(
    "classifier",
    [
        BERClassifier("hinge", alpha=0.1),
        AUCClassifier("barrier_hinge", alpha=0.1),
        AUCClassifier("logistic", prune=0.2, threshold=0.0),
        BERClassifier(model="mlp", n_seeds=1, epochs=2, hidden_units=5, threshold=0.0),
        AUCClassifierCV([("pruned", BERClassifier("squared", "gaussian_process", prune=0.1))]),
    ],
    ids=["hinge", "barrier hinge", "pruned", "networks", "CV"],
)
def test_estimators_take_weights_as_repetitions_to_the_last_digit(classifier):
    generator = np.random.default_rng(0)
    X = generator.normal(size=(60, 3)).round(1)
    y, weight = np.where(X[:, 0] + generator.normal(size=60) > 0, "yes", "no"), generator.integers(0, 4, 60)
    rows = generator.permutation(np.repeat(np.arange(60), weight))
    halves = [(np.arange(30), np.arange(30, 60)), (np.arange(30, 60), np.arange(30))]
    of_rows = [tuple(np.flatnonzero(np.isin(rows, part)) for part in fold) for fold in halves]
    weighted = classifier.set_params(random_state=0, cv=halves).fit(X, y, weight).decision_function(X)
    repeated = classifier.set_params(cv=of_rows).fit(X[rows], y[rows]).decision_function(X)
    np.testing.assert_array_equal(repeated, weighted)


@pytest.mark.parametrize("kind", [BERClassifier, AUCClassifierCV])
@pytest.mark.parametrize("levels", [2, 10])
def test_points_with_equal_features_and_different_labels(kind, levels):
    """Of the same features, some labels are positive and some negative: held-out scores must not be turned around."""
    generator = np.random.default_rng(0)
    X = generator.integers(0, levels, 600)[:, None].astype(float)
    clean = X[:, 0] >= levels / 2
    noisy = clean ^ (generator.random(600) < 0.3)
    settings = {"candidates": [("trees", BERClassifier(model="trees")), ("linear", BERClassifier())]}
    fitted = kind(random_state=0, **(settings if kind is AUCClassifierCV else {})).fit(X, noisy)
    assert sl.metrics.balanced_accuracy(fitted.decision_function(X), clean) > 0.95
    if kind is AUCClassifierCV:
        assert fitted.corrupted_score_ > 0.6
    scores = credibility(TrainingData(*merge_repetitions(X, noisy, np.ones(600))[:3]), 0).scores
    merged = merge_repetitions(X, noisy, np.ones(600))
    assert sl.metrics.auc(scores[merged.place], clean) > 0.95
