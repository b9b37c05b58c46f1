"""Standard errors of differences, and what they say about choosing on corrupted labels."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import norm

import symloss as sl
from symloss.estimators.standard_errors import (
    auc_contributions,
    balanced_accuracy_contributions,
    standard_error_of_difference,
)


@given(
    scores=st.lists(st.integers(-3, 3), min_size=4, max_size=30),
    seed=st.integers(0, 1000),
)
def test_parts_average_to_the_score(scores, seed):
    generator = np.random.default_rng(seed)
    scores = np.array(scores, float)
    positive = np.arange(len(scores)) % 2 == 0
    weight = generator.integers(1, 4, len(scores)).astype(float)
    parts = auc_contributions(scores, positive, weight)
    expected = sl.metrics.auc(scores, positive, weight)
    for of_class in (positive, ~positive):
        assert np.average(parts[of_class], weights=weight[of_class]) == pytest.approx(expected)
    halves = balanced_accuracy_contributions(scores, positive, weight)
    total = sum(np.average(halves[c], weights=weight[c]) for c in (positive, ~positive))
    assert total == pytest.approx(sl.metrics.balanced_accuracy(scores, positive, weight))


@pytest.mark.parametrize("parts", [auc_contributions, balanced_accuracy_contributions])
def test_the_error_of_a_difference_is_its_standard_deviation(parts):
    generator = np.random.default_rng(0)
    metric = sl.metrics.auc if parts is auc_contributions else sl.metrics.balanced_accuracy
    positive = np.arange(400) % 2 == 0
    differences, errors = [], []
    for _ in range(600):
        x = generator.normal(size=400) + 0.5 * positive
        other = x + generator.normal(size=400)
        differences.append(metric(x, positive) - metric(other, positive))
        args = (positive, np.ones(400))
        errors.append(standard_error_of_difference(parts(x, *args), parts(other, *args), *args))
    assert np.std(differences) == pytest.approx(np.mean(errors), rel=0.1)


@pytest.mark.parametrize(("pi", "pi_prime", "n"), [(1.0, 0.0, 30), (0.7, 0.4, 300), (0.65, 0.45, 400)])
def test_the_best_of_two_on_corrupted_labels_is_the_clean_best_as_often_as_theory_says(pi, pi_prime, n):
    """Phi of the difference, (pi - pi') times the clean one by corollary 2, over its standard error."""
    generator = np.random.default_rng(0)
    angles, shift, repetitions = np.deg2rad([0.0, 45.0]), 0.8, 1000

    def draw(size):
        y = np.concatenate([generator.random(size) < pi, generator.random(size) < pi_prime]) * 2 - 1.0
        along, across = generator.normal(size=(2, 2 * size))
        scores = np.cos(angles)[:, None] * (along + shift * y) + np.sin(angles)[:, None] * across
        return scores, np.arange(2 * size) < size

    (best, other), positive = draw(50_000)
    ones = np.ones(100_000)
    error = standard_error_of_difference(
        auc_contributions(best, positive, ones), auc_contributions(other, positive, ones), positive, ones
    )
    clean = norm.cdf(np.sqrt(2) * shift * np.cos(angles))
    expected = norm.cdf((pi - pi_prime) * (clean[0] - clean[1]) / (error * np.sqrt(50_000 / n)))
    hits = 0
    for _ in range(repetitions):
        (best, other), positive = draw(n)
        hits += sl.metrics.auc(best, positive) > sl.metrics.auc(other, positive)
    assert 0.55 < expected < 0.99
    assert hits / repetitions == pytest.approx(expected, abs=4 * np.sqrt(expected * (1 - expected) / repetitions))
