import numpy as np
import pytest
import torch
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import average_precision_score

import symloss as sl
from symloss.audit import Noise, estimate_noise, label_quality
from symloss.audit.quality import logistic_curve


def noisy(n, pi, pi_prime, rng, apart=3.0):
    """Noisy labels, whether each is wrong, and scores that separate the clean classes."""
    y = np.repeat([1, -1], n)
    clean = np.where(rng.random(2 * n) < np.where(y > 0, pi, pi_prime), 1, -1)
    return y, y != clean, apart / 2 * clean + rng.normal(size=2 * n)


@pytest.mark.parametrize(("pi", "pi_prime"), [(1.0, 0.0), (0.8, 0.3), (0.95, 0.05), (0.7, 0.1), (1.0, 0.4)])
def test_intervals_hold_and_estimates_are_near_where_classes_are_far_apart(pi, pi_prime):
    rng, held, errors = np.random.default_rng(0), 0, []
    for _ in range(10):
        y, _, scores = noisy(500, pi, pi_prime, rng)
        noise = estimate_noise(scores, y)
        held += noise.pi_low - 0.01 <= pi <= noise.pi_high + 0.01
        held += noise.pi_prime_low - 0.01 <= pi_prime <= noise.pi_prime_high + 0.01
        errors += [noise.pi - pi, noise.pi_prime - pi_prime]
    assert held >= 16
    assert np.mean(np.abs(errors)) < 0.1


def test_there_is_always_an_answer():
    rng = np.random.default_rng(0)
    for scores, y in (
        (rng.normal(size=6), [0, 1] * 3),
        (np.zeros(200), [0, 1] * 100),
        (rng.normal(size=400), rng.integers(0, 2, 400)),
        (np.arange(100.0) >= 50, np.arange(100) >= 50),
        (np.r_[np.full(99, 1e30), -1e30], np.arange(100) % 2),
    ):
        noise = estimate_noise(scores, y)
        assert 0 <= noise.pi_low <= noise.pi <= noise.pi_high <= 1
        assert 0 <= noise.pi_prime_low <= noise.pi_prime <= noise.pi_prime_high <= 1
        assert noise.pi > noise.pi_prime
        quality = label_quality(scores, y)
        assert ((quality >= 0) & (quality <= 1)).all()


def test_labels_without_signal_leave_the_noise_open():
    rng = np.random.default_rng(0)
    nothing = estimate_noise(rng.normal(size=1000), np.arange(1000) % 2)
    y, _, scores = noisy(500, 0.98, 0.02, rng, apart=6.0)
    plain = estimate_noise(scores, y)
    assert nothing.pi_high - nothing.pi_low > 2 * (plain.pi_high - plain.pi_low)


def test_turned_labels_turn_the_answer():
    y, _, scores = noisy(300, 0.9, 0.3, np.random.default_rng(0))
    noise, turned = estimate_noise(scores, y), estimate_noise(-scores, -y)
    assert (1 - turned.pi_prime, 1 - turned.pi) == pytest.approx((noise.pi, noise.pi_prime))


def test_units_of_scores_types_and_weights():
    y, _, scores = noisy(300, 0.8, 0.2, np.random.default_rng(0))
    expected = estimate_noise(scores, y)
    assert estimate_noise(np.exp(scores), y) == expected  # only the order counts
    assert estimate_noise(torch.from_numpy(scores), torch.from_numpy(y)) == expected
    weight = np.where(np.arange(600) % 3 == 0, 0.0, 2.0)
    assert estimate_noise(scores, y, weight=weight) == estimate_noise(scores[weight > 0], y[weight > 0])


def test_it_prints_shares_of_wrong_labels():
    text = str(Noise(0.9, 0.8, 1.0, 0.2, 0.1, 0.35))
    assert text == "10% (0% to 20%) of the positive and 20% (10% to 35%) of the negative labels seem wrong"


def test_with_given_rates_qualities_are_probabilities():
    y, wrong, scores = noisy(20_000, 0.8, 0.3, np.random.default_rng(0), apart=2.0)
    said = 1 - label_quality(scores, y, 0.8, 0.3)
    for low in np.arange(0, 1, 0.2):
        inside = (said >= low) & (said < low + 0.2)
        if inside.sum() > 500:
            assert wrong[inside].mean() == pytest.approx(said[inside].mean(), abs=0.03)


def test_wrong_labels_come_first_and_both_labels_share_one_scale():
    y, wrong, scores = noisy(1000, 0.95, 0.3, np.random.default_rng(0))
    quality = label_quality(scores, y)
    assert average_precision_score(wrong, -quality) > 0.85
    worst = np.argsort(quality)[: wrong.sum()]
    assert (y[worst] < 0).mean() == pytest.approx((y[wrong] < 0).mean(), abs=0.1)


def test_without_rates_the_mean_of_two_views_counts():
    y, _, scores = noisy(1000, 0.95, 0.3, np.random.default_rng(0))  # as many labels of either kind
    noise = estimate_noise(scores, y)
    rate = (1 - noise.pi + noise.pi_prime) / 2
    views = label_quality(scores, y, noise.pi, noise.pi_prime), label_quality(scores, y, 1 - rate, rate)
    assert label_quality(scores, y) == pytest.approx(np.mean(views, 0))


def test_a_curve_without_noise_is_logistic_regression():
    rng = np.random.default_rng(0)
    x = rng.normal(size=400)
    y = rng.random(400) < 1 / (1 + np.exp(-2 * x + 1))
    found = LogisticRegression(C=1e6).fit(x[:, None], y)
    slope, crossing = logistic_curve(x[y], np.ones(y.sum()), x[~y], np.ones((~y).sum()))
    assert slope == pytest.approx(found.coef_[0, 0], rel=0.01)
    assert crossing == pytest.approx(-found.intercept_[0] / found.coef_[0, 0], abs=0.01)


def test_bad_input_is_refused():
    with pytest.raises(ValueError, match="both pi and pi_prime"):
        label_quality([0.0, 1.0], [0, 1], pi=0.8)
    with pytest.raises(ValueError, match="NaN"):
        estimate_noise([0.0, np.nan], [0, 1])
    with pytest.raises(ValueError, match="both classes"):
        estimate_noise([0.0, 1.0], [1, 1])


def test_estimators_say_how_noisy_their_labels_are():
    drawn = sl.datasets.make_twonorm(600, random_state=0)
    y = sl.flip_labels(drawn.target, rate_positive=0.3, rate_negative=0.1, random_state=0)
    model = sl.BERClassifierCV([("linear", sl.BERClassifier())], random_state=0).fit(drawn.data, y)
    wrong = y != drawn.target
    assert model.noise_.pi_low <= 1 - wrong[y > 0].mean() <= model.noise_.pi_high
    assert model.noise_.pi_prime_low <= wrong[y < 0].mean() <= model.noise_.pi_prime_high
    assert wrong[np.argsort(model.label_quality_)[:50]].mean() > 0.9
