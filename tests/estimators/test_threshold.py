"""The threshold: near the best one, whatever the scores' scale, and the nearer the more labels there are."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import symloss as sl
from symloss.estimators.threshold import choose_threshold


def accuracy(scores, positive, threshold):
    return sl.metrics.balanced_accuracy(scores - threshold, positive)


def best(scores, positive):
    return max(accuracy(scores, positive, t) for t in np.quantile(scores, np.linspace(0.01, 0.99, 197)))


@pytest.mark.parametrize("share", [0.05, 0.5])
@pytest.mark.parametrize("shape", ["normal", "exponential"])
def test_with_many_labels_it_is_as_good_as_the_best(shape, share):
    generator = np.random.default_rng(0)
    positive = generator.random(100_000) < share
    shift = {"normal": 3 + generator.normal(size=100_000), "exponential": 2 + generator.exponential(8, 100_000)}[shape]
    scores = np.where(positive, shift, generator.normal(size=100_000))
    found = choose_threshold(scores, positive, np.ones(100_000))
    assert accuracy(scores, positive, found) > best(scores, positive) - 0.003


@pytest.mark.parametrize("outlier", [1e3, 1e6, 1e12])
def test_an_outlier_does_not_move_it(outlier):
    generator = np.random.default_rng(0)
    positive = np.arange(2000) % 2 == 0
    scores = generator.normal(size=2000) + 2 * positive
    expected = choose_threshold(scores, positive, np.ones(2000))
    scores[0] = outlier
    assert choose_threshold(scores, positive, np.ones(2000)) == pytest.approx(expected, abs=0.05)


def test_it_is_one_of_the_good_thresholds_where_these_are_apart():
    positive = np.repeat([False, True, False, True], 100)
    scores = np.arange(400.0)
    assert accuracy(scores, positive, choose_threshold(scores, positive, np.ones(400))) > 0.7


def test_weights_may_be_shares():
    positive = np.repeat([False, True, False, True], 100)
    scores = np.arange(400.0)
    shares = choose_threshold(scores, positive, np.full(400, 1 / 400))
    assert shares == choose_threshold(scores, positive, np.ones(400))


@given(seed=st.integers(0, 100), scale=st.sampled_from([1e-30, 1.0, 1e30]))
def test_scale_and_repetitions_do_not_matter(seed, scale):
    generator = np.random.default_rng(seed)
    scores = generator.normal(size=60)
    positive = np.arange(60) % 3 == 0
    weight = generator.integers(1, 4, 60)
    expected = choose_threshold(scores, positive, weight.astype(float))
    noise = 1 + 1e-9 * generator.normal(size=weight.sum())
    repeated = np.repeat(scores, weight) * noise * scale
    found = choose_threshold(repeated, np.repeat(positive, weight), np.ones(weight.sum()))
    assert found == pytest.approx(expected * scale, rel=1e-6, abs=1e-6 * scale)


def test_equal_scores_have_no_threshold_between_them():
    assert choose_threshold(np.full(4, 3.0), np.array([True, False] * 2), np.ones(4)) == 3.0


def test_very_noisy_labels_hardly_move_the_threshold():
    """Two fifths of the labels are wrong, and the classes overlap: the best threshold is 0, and any gain is small."""
    generator, errors = np.random.default_rng(0), []
    for _ in range(40):
        clean = np.arange(2000) % 2 == 0
        scores = generator.normal(size=2000) + np.where(clean, 0.25, -0.25)
        noisy = clean ^ (generator.random(2000) < 0.42)
        errors.append(abs(choose_threshold(scores, noisy, np.ones(2000))))
    assert np.mean(errors) < 0.04  # 0.1 with one standard error instead of two
