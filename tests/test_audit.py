import math
import re

import numpy as np
import pytest
import torch
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import average_precision_score

import symloss as sl
from symloss.audit import estimate_noise, label_quality
from symloss.audit.noise import noise_of
from symloss.metrics.samples import two_samples


def separable(n, pi, pi_prime, rng, share=0.9):
    """Noisy labels and scores: a share of either clean class stands apart from the other one, and the rest does not."""
    y = np.repeat([1, -1], n)
    clean = rng.random(2 * n) < np.where(y > 0, pi, pi_prime)
    place, apart = rng.random(2 * n), rng.random(2 * n) < share
    return np.where(apart, np.where(clean, 1 + place, -1 - place), 2 * place - 1), y


def mixed(n, pi, pi_prime, rng):
    """Noisy labels and scores: a clean positive is never surer than at odds of four to one, nor a clean negative."""
    y = np.repeat([1, -1], n)
    clean = rng.random(2 * n) < np.where(y > 0, pi, pi_prime)
    place = rng.random(2 * n)
    # The density of a place in [0, 1] is 0.4 + 1.2 x for clean positives: x solves 0.4 x + 0.6 x^2 = place.
    scores = (np.sqrt(0.16 + 2.4 * place) - 0.4) / 1.2
    return np.where(clean, scores, 1 - scores), y


RATES = [(0.8, 0.3), (0.95, 0.05), (1.0, 0.5), (1.0, 0.0)]


@pytest.mark.parametrize(("pi", "pi_prime"), RATES)
def test_with_anchor_points_the_intervals_cover_at_their_level(pi, pi_prime):
    rng, errors, covered, runs = np.random.default_rng(0), [], np.zeros(3), 60
    for _ in range(runs):
        noise = estimate_noise(*separable(1500, pi, pi_prime, rng))
        covered += [
            noise.pi_low <= pi <= noise.pi_high,
            noise.pi_prime_low <= pi_prime <= noise.pi_prime_high,
            noise.difference_low <= pi - pi_prime,
        ]
        if noise.pi is not None:
            assert noise.pi_low <= noise.pi <= noise.pi_high
            assert noise.pi_prime_low <= noise.pi_prime <= noise.pi_prime_high
            errors.append([noise.pi - pi, noise.pi_prime - pi_prime, noise.pi_high - noise.pi_low])
    assert len(errors) > 0.7 * runs
    assert (np.median(np.abs(errors), axis=0) < [0.03, 0.04, 0.25]).all()
    assert (covered >= 0.93 * runs).all(), covered


@pytest.mark.parametrize(("pi", "pi_prime"), RATES)
def test_without_anchor_points_there_are_bounds_and_no_estimate(pi, pi_prime):
    rng, told, covered, runs = np.random.default_rng(1), 0, np.zeros(3), 60
    for _ in range(runs):
        noise = estimate_noise(*mixed(2500, pi, pi_prime, rng))
        covered += [
            noise.pi_low <= pi <= noise.pi_high,
            noise.pi_prime_low <= pi_prime <= noise.pi_prime_high,
            noise.difference_low <= pi - pi_prime,
        ]
        told += noise.pi is not None
        if noise.pi is None:
            assert noise.pi_prime is None
            assert noise.reason
            assert (noise.pi_high, noise.pi_prime_low) == (1, 0)
    assert told <= 0.1 * runs
    assert (covered >= 0.93 * runs).all(), covered


def test_nothing_is_told_if_the_very_end_of_the_ranking_is_worse_than_what_comes_before():
    rng = np.random.default_rng(17)
    scores, y = separable(3000, 1.0, 0.0, rng)
    scores[:300] = -3 - rng.random(300)  # a tenth of the positives has the smallest scores of all
    noise = estimate_noise(scores, y)
    assert noise.pi is None
    assert noise.pi_high == 1


def test_where_the_scores_say_nothing_nothing_is_told():
    rng = np.random.default_rng(2)
    noise = estimate_noise(rng.normal(size=2000), np.arange(2000) % 2)
    assert noise.pi is noise.pi_prime is None
    assert noise.pi_low < 0.3
    assert noise.pi_prime_high > 0.7
    assert noise.difference_low < 0.1
    assert noise.reason


def test_few_points_tell_nothing():
    noise = estimate_noise([1, 2, 3, 4], [0, 0, 1, 1])
    assert noise.pi is noise.pi_prime is None
    assert (noise.pi_low, noise.pi_high, noise.pi_prime_low, noise.pi_prime_high) == (0, 1, 0, 1)
    assert "too few points or different scores to look at the largest ones alone and" in str(noise)
    assert estimate_noise(np.zeros(400), np.arange(400) % 2).reason == noise.reason


def test_points_of_weight_0_do_not_count():
    rng = np.random.default_rng(14)
    scores, y = separable(300, 0.9, 0.1, rng)
    more = np.r_[scores, -5.0, 5.0, 0.0], np.r_[y, 1, -1, 1]
    assert estimate_noise(*more, weight=np.repeat([1, 0], [600, 3])) == estimate_noise(scores, y)
    constant = estimate_noise(np.r_[np.zeros(400), 1], np.r_[np.arange(400) % 2, 1], weight=np.repeat([1, 0], [400, 1]))
    assert "too few" in constant.reason


def test_a_column_of_yes_or_no_is_not_taken_for_noise():
    """Each fold's model gives two scores: ten different ones, of only two groups of points."""
    rng = np.random.default_rng(22)
    y = np.arange(2000) % 2
    X = np.where(rng.random(2000) < 0.15, 1 - y, y)[:, None].astype(float)
    chosen = sl.AUCClassifierCV([("logistic", LogisticRegression())], random_state=0).fit(X, y)
    assert len(np.unique(chosen.oof_scores_)) == 10
    assert chosen.noise_ is None
    noise = estimate_noise(chosen.oof_scores_, y)
    assert "too few different scores are among the largest ones (5)" in noise.reason
    assert noise.pi_high == 1
    assert 0.7 < noise.pi_low < 0.85


def test_the_order_of_rows_the_coding_of_labels_and_the_scale_of_weights_do_not_count():
    rng = np.random.default_rng(4)
    scores, y = separable(400, 0.9, 0.1, rng)
    scores = scores.round(2)  # many ties
    order = rng.permutation(800)
    plain = estimate_noise(scores, y)
    assert plain.pi is not None
    for other in (
        estimate_noise(scores[order], y[order]),
        estimate_noise(scores, np.where(y > 0, "yes", "no")),
        estimate_noise(torch.from_numpy(scores), torch.from_numpy(y)),
        estimate_noise(scores, y, weight=np.full(800, 0.01)),
        estimate_noise(100 * scores - 7, y),
        noise_of(*two_samples(scores, y, None)),
    ):
        numbers = [[value for value in vars(noise).values() if value is not None] for noise in (plain, other)]
        np.testing.assert_allclose(*numbers, rtol=1e-9)
    quality = label_quality(scores, y)
    np.testing.assert_allclose(label_quality(scores[order], y[order]), quality[order], rtol=1e-3, atol=1e-6)
    np.testing.assert_allclose(label_quality(scores, np.where(y > 0, "yes", "no")), quality)
    np.testing.assert_allclose(label_quality(scores, y, weight=np.full(800, 0.01)), quality, rtol=1e-6)


def test_weights_widen_the_interval_as_fewer_points_do():
    rng = np.random.default_rng(5)
    scores, y = separable(4000, 0.9, 0.1, rng)
    plain, weighted = (estimate_noise(scores, y, weight=weight) for weight in (None, rng.lognormal(0, 1.2, 8000)))
    assert weighted.pi_low <= 0.9 <= weighted.pi_high
    assert 1.3 < (weighted.pi_high - weighted.pi_low) / (plain.pi_high - plain.pi_low) < 4


def logistic(n, pi, pi_prime, rng):
    """Scores for which the log odds of the clean classes are three times the score."""
    y = np.repeat([1, -1], n)
    clean = np.where(rng.random(2 * n) < np.where(y > 0, pi, pi_prime), 1, -1)
    return clean * 1.5 / 2**0.5 + rng.normal(size=2 * n) / 2**0.5, y, clean


def test_with_known_rates_the_quality_is_the_probability_that_the_label_is_right():
    rng = np.random.default_rng(6)
    pi, pi_prime = 0.75, 0.1
    scores, y, clean = logistic(4000, pi, pi_prime, rng)
    quality = label_quality(scores, y, pi, pi_prime)
    ratio = np.exp(3 * 2**0.5 * scores)  # of the clean densities: both are normal, of variance 1/2
    expected = np.where(y > 0, pi * ratio / (pi * ratio + 1 - pi), (1 - pi_prime) / (1 - pi_prime + pi_prime * ratio))
    assert np.abs(quality - expected).mean() < 0.02
    for label in (1, -1):  # each fifth of the labels is right as often as it says
        for part in np.array_split(np.argsort(np.where(y == label, quality, np.inf))[:4000], 5):
            assert quality[part].mean() == pytest.approx((y == clean)[part].mean(), abs=0.05)


@pytest.mark.parametrize(("pi", "pi_prime"), [(0.95, 0.3), (0.7, 0.05), (0.8, 0.2)])
def test_without_rates_the_labels_of_both_classes_are_ranked_together(pi, pi_prime):
    rng = np.random.default_rng(7)
    scores, y, clean = logistic(1000, pi, pi_prime, rng)
    wrong = y != clean
    found, best = (average_precision_score(wrong, -label_quality(scores, y, *rates)) for rates in ((), (pi, pi_prime)))
    by_noisy_probability = average_precision_score(wrong, -np.where(y > 0, scores, -scores))
    assert found > best - 0.02
    assert found > by_noisy_probability - 0.01
    quality = label_quality(scores, y)
    assert ((quality >= 0) & (quality <= 1)).all()
    assert quality[wrong].mean() < quality[~wrong].mean() - 0.3


@pytest.mark.parametrize(("share", "rates"), [(0.5, (0.6, 0.2)), (0.05, (0.05, 0.05)), (0.1, (0.02, 0.05))])
def test_wrong_labels_are_found_in_one_class_and_in_rare_classes(share, rates):
    rng = np.random.default_rng(18)
    clean = np.where(rng.random(4000) < share, 1, -1)
    flipped = rng.random(4000) < np.where(clean > 0, *rates)
    y = np.where(flipped, -clean, clean)
    scores = 1.5 * clean + rng.normal(size=4000)
    counts = [(clean[y == label] > 0).mean() for label in (1, -1)]
    found, best = (average_precision_score(flipped, -label_quality(scores, y, *known)) for known in ((), counts))
    assert found > best - 0.03


def test_with_known_rates_a_weight_is_a_number_of_repetitions():
    rng = np.random.default_rng(20)
    scores, y, _ = logistic(100, 0.9, 0.2, rng)
    times = rng.integers(1, 4, 200)
    repeated = label_quality(np.repeat(scores, times), np.repeat(y, times), 0.9, 0.2)
    np.testing.assert_allclose(np.repeat(label_quality(scores, y, 0.9, 0.2, weight=times), times), repeated, rtol=1e-6)


def test_within_a_class_the_quality_follows_the_score():
    rng = np.random.default_rng(8)
    scores, y, _ = logistic(200, 0.9, 0.2, rng)
    quality = label_quality(scores, y)
    for label in (1, -1):
        order = np.argsort(label * scores[y == label])
        assert (np.diff(quality[y == label][order]) >= 0).all()


def test_labels_that_cannot_be_wrong_have_quality_one():
    rng = np.random.default_rng(9)
    scores, y, _ = logistic(200, 1.0, 0.4, rng)
    quality = label_quality(scores, y, pi=1.0, pi_prime=0.4)
    assert (quality[y > 0] == 1).all()
    assert quality[y < 0].min() < 0.1


def test_a_few_wrong_labels_are_found_where_the_ends_of_the_ranking_have_none():
    rng = np.random.default_rng(15)
    clean = np.arange(1000) % 2 * 2 - 1
    scores = clean * 2.0 + rng.normal(size=1000)
    y = clean.copy()
    wrong = np.argsort(np.abs(scores))[100:110]
    y[wrong] *= -1
    quality = label_quality(scores, y)
    assert average_precision_score(y != clean, -quality) > 0.3
    assert len(np.unique(quality)) > 500


def test_outliers_and_constant_scores():
    rng = np.random.default_rng(10)
    scores, y, _ = logistic(100, 0.9, 0.1, rng)
    far = scores.copy()
    far[:2] = math.inf, 1e300
    assert np.abs(label_quality(far, y)[2:] - label_quality(scores, y)[2:]).max() < 0.1
    constant = label_quality(np.zeros(200), y, 0.9, 0.2)
    assert constant == pytest.approx(np.where(y > 0, 0.9, 0.8), abs=1e-3)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: estimate_noise([1, 2], [0, 1], level=95), "level must be between 0 and 1, got 95"),
        (lambda: estimate_noise([1, math.nan], [0, 1]), "got NaN at position 1"),
        (lambda: estimate_noise([1, 2], ["a", "a"]), "labels must be two values"),
        (lambda: label_quality([1, 2], [0, 1], pi=0.8), "give both pi and pi_prime or neither, got 0.8 and None"),
        (lambda: label_quality([1, 2], [0, 1], pi=0.2, pi_prime=0.8), "swap the two labels"),
        (lambda: label_quality([1, 2, 3], [0, 1]), "target must have the scores' shape (3,), got (2,)"),
    ],
)
def test_bad_input(call, message):
    with pytest.raises(ValueError, match=re.escape(message)):
        call()


@pytest.mark.parametrize("kind", [sl.BERClassifierCV, sl.AUCClassifierCV])
def test_the_cv_forms_tell_how_noisy_and_which_labels(kind):
    rng = np.random.default_rng(11)
    clean = np.arange(1600) % 2 * 2 - 1
    X = clean[:, None] * 1.5 + rng.normal(size=(1600, 2))
    flipped = rng.random(1600) < 0.1
    y = np.where(flipped, -clean, clean)
    pool = [("linear", sl.AUCClassifier(threshold=0.0))]
    chosen = kind(pool, random_state=0).fit(X, np.where(y > 0, "yes", "no"))
    assert chosen.label_quality_.shape == (1600,)
    assert ((chosen.label_quality_ >= 0) & (chosen.label_quality_ <= 1)).all()
    assert average_precision_score(flipped, -chosen.label_quality_) > 0.9
    np.testing.assert_allclose(chosen.label_quality_, label_quality(chosen.oof_scores_, y), atol=1e-4)
    assert chosen.noise_.pi_low <= 0.9 <= chosen.noise_.pi_high
    assert chosen.noise_.pi_prime_low <= 0.1 <= chosen.noise_.pi_prime_high
    known = kind(pool, pi=0.9, pi_prime=0.1, random_state=0).fit(X, y).label_quality_
    np.testing.assert_allclose(known, label_quality(chosen.oof_scores_, y, 0.9, 0.1), atol=1e-4)


def test_the_cv_forms_leave_out_what_cannot_be_told():
    rng = np.random.default_rng(12)
    y = np.arange(200) % 2
    X, weight = y[:, None] * 0.3 + rng.normal(size=(200, 2)), np.ones(200)
    weight[:3] = 0
    folds = [(np.arange(100), np.arange(100, 150)), (np.arange(100), np.arange(150, 190))]
    chosen = sl.AUCClassifierCV([("linear", sl.AUCClassifier(threshold=0.0))], cv=folds).fit(X, y, weight)
    assert chosen.noise_ is None
    np.testing.assert_array_equal(np.flatnonzero(~np.isnan(chosen.label_quality_)), np.arange(100, 190))
