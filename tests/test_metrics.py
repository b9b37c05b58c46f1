import math
import re
from statistics import NormalDist

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import t as student
from sklearn.metrics import balanced_accuracy_score, roc_auc_score

import symloss as sl
from symloss import metrics
from symloss.functional import auc_risk, ber_risk


@given(seed=st.integers(0, 10_000), ties=st.booleans(), weighted=st.booleans())
def test_auc_and_balanced_accuracy(seed, ties, weighted):
    rng = np.random.default_rng(seed)
    n = int(rng.integers(2, 60))
    scores = rng.integers(-2, 3, n).astype(float) if ties else rng.normal(size=n)
    y = np.arange(n) % 2
    weight = rng.random(n) + 0.01 if weighted else None
    assert metrics.auc(scores, y, weight) == pytest.approx(roc_auc_score(y, scores, sample_weight=weight), abs=1e-12)
    risk = [
        float(f(torch.from_numpy(scores), y, "zero_one", None if weight is None else torch.from_numpy(weight)))
        for f in (auc_risk, ber_risk)
    ]
    assert metrics.auc(scores, y, weight) == pytest.approx(1 - risk[0], abs=1e-12)
    assert metrics.balanced_accuracy(scores, y, weight) == pytest.approx(1 - risk[1], abs=1e-12)
    if not ties:
        expected = balanced_accuracy_score(y, scores > 0, sample_weight=weight)
        assert metrics.balanced_accuracy(scores, y, weight) == pytest.approx(expected, abs=1e-12)


def test_ties_and_zero_scores_are_half():
    assert metrics.auc([1, 1], [0, 1]) == 0.5
    assert metrics.balanced_accuracy([0, 0], [0, 1]) == 0.5
    assert metrics.balanced_accuracy([0, -1], [1, 0]) == 0.75
    assert metrics.balanced_accuracy([2.0, 1.0], [1, 0], threshold=1.0) == 0.75
    assert metrics.auc([math.inf, -math.inf, 0], [1, 0, 0]) == 1


@given(auc=st.floats(0, 1), pi=st.floats(0.55, 1), pi_prime=st.floats(0, 0.5))
def test_clean_scores_invert_the_corollaries(auc, pi, pi_prime):
    for clean in (sl.metrics.clean_auc, sl.metrics.clean_balanced_accuracy):
        corrupted = 1 - ((pi - pi_prime) * (1 - auc) + (1 - pi + pi_prime) / 2)
        assert clean(corrupted, pi, pi_prime) == pytest.approx(auc, abs=1e-9)


def test_clean_auc_on_a_mixture():
    """Scores of the corrupted classes, with exact shares, against the clean AUC."""
    rng = np.random.default_rng(1)
    pos, neg = rng.normal(1, 1, 400), rng.normal(0, 1, 400)
    clean = metrics.auc(np.r_[pos, neg], np.repeat([1, 0], 400))
    weight = np.r_[np.full(400, 0.8), np.full(400, 0.2), np.full(400, 0.3), np.full(400, 0.7)]
    corrupted = metrics.auc(np.r_[pos, neg, pos, neg], np.repeat([1, 0], 800), weight)
    assert metrics.clean_auc(corrupted, 0.8, 0.3) == pytest.approx(clean, abs=1e-12)


def test_intervals_by_hand():
    """DeLong's variance from its definition, by loops, and the ends of the score interval put into its equation."""
    rng = np.random.default_rng(2)
    s, t = rng.normal(0.7, 1, 30), rng.normal(0, 1, 20)
    psi = (s[:, None] > t) + 0.5 * (s[:, None] == t)
    value = psi.mean()
    parts = psi.mean(1).var(ddof=1) / 30, psi.mean(0).var(ddof=1) / 20
    variance, freedom = sum(parts), sum(parts) ** 2 / (parts[0] ** 2 / 29 + parts[1] ** 2 / 19)
    half = student.ppf(0.95, freedom) * math.sqrt(variance) / (value * (1 - value))
    logit = math.log(value / (1 - value))
    delong = [1 / (1 + math.exp(side * half - logit)) for side in (1, -1)]

    def score(auc):
        spread = 1 + 24 * ((1 - auc) / (2 - auc) + auc / (1 + auc))
        return abs(value - auc) / math.sqrt(auc * (1 - auc) * spread / 600)

    estimate = metrics.estimate_clean_auc(np.r_[s, t], np.repeat([1, 0], [30, 20]), 1, 0, level=0.9)
    assert estimate.value == pytest.approx(value, abs=1e-14)
    for end, other, further in ((estimate.low, delong[0], min), (estimate.high, delong[1], max)):
        is_score = score(end) == pytest.approx(NormalDist().inv_cdf(0.95), rel=1e-9)
        assert is_score or end == pytest.approx(other, rel=1e-12)
        assert further(end, other) == end or end == pytest.approx(other)


SETTINGS = [
    # shift between the classes, (pi, pi'), corrupted class sizes
    (1.0, (0.8, 0.3), (300, 300)),
    (1.0, (0.65, 0.45), (500, 500)),
    (2.5, (1.0, 0.0), (60, 60)),
    (0.5, (0.9, 0.2), (50, 400)),
    (2.0, (1.0, 0.0), (200, 12)),
]


@pytest.mark.parametrize("estimate", ["auc", "balanced_accuracy"])
@pytest.mark.parametrize(("shift", "noise", "sizes"), SETTINGS)
def test_intervals_cover_at_their_level(estimate, shift, noise, sizes):
    """Scores N(+-shift/2, 1): the clean AUC is Phi(shift / sqrt 2), the clean balanced accuracy Phi(shift / 2)."""
    pi, pi_prime = noise
    truth = NormalDist().cdf(shift / (math.sqrt(2) if estimate == "auc" else 2))
    rng = np.random.default_rng(7)
    covered, runs = 0, 1200
    y = np.repeat([1, -1], sizes)
    for _ in range(runs):
        clean = np.where(rng.random(len(y)) < np.where(y == 1, pi, pi_prime), 1, -1)
        scores = clean * shift / 2 + rng.normal(size=len(y))
        result = getattr(metrics, f"estimate_clean_{estimate}")(scores, y, pi, pi_prime, level=0.9)
        assert result.low <= result.value <= result.high
        covered += result.low <= truth <= result.high
    error = math.sqrt(0.09 / runs)
    assert 0.9 - 3.5 * error < covered / runs < 0.99


def test_without_variance_the_interval_is_honest():
    tied = metrics.estimate_clean_auc([0.0] * 10, [1, 0] * 5, 1, 0)
    assert tied.low + tied.high == pytest.approx(1)
    assert 0.1 < tied.low < 0.3
    single = metrics.estimate_clean_auc([1.0, 0.0, 2.0, 0.5], [1, 0, 0, 0], 1, 0)
    assert single.low < 0.25
    assert single.high > 0.9


def test_estimates_stay_inside_the_unit_interval():
    estimate = metrics.estimate_clean_balanced_accuracy([3, 2, 1, 0.5, -1, -2], [1, 1, 1, 0, 0, 0], 0.6, 0.4)
    assert 0 <= estimate.low <= estimate.value <= estimate.high <= 1


def test_large_weights():
    assert metrics.auc([1, 2, 3, 4], [1, 0, 1, 0], [1e308] * 4) == metrics.auc([1, 2, 3, 4], [1, 0, 1, 0])


def test_perfect_separation_has_an_honest_interval():
    estimate = metrics.estimate_clean_auc([3, 2, 1, 0], [1, 1, 0, 0], 1, 0)
    assert estimate.value == estimate.high == 1
    assert 0 < estimate.low < 0.6
    worst = metrics.estimate_clean_auc([3, 2, 1, 0], [0, 0, 1, 1], 1, 0)
    assert worst.value == worst.low == 0
    assert worst.high == pytest.approx(1 - estimate.low)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: metrics.clean_auc(0.6, 0.3, 0.8), "swap the two labels"),
        (lambda: metrics.clean_auc(1.6, 0.8, 0.3), "auc must be between 0 and 1, got 1.6"),
        (lambda: metrics.clean_balanced_accuracy(math.nan, 0.8, 0.3), "bac must be between 0 and 1"),
        (lambda: metrics.estimate_clean_auc([1, 0], [1, 0], 0.5, 0.5), "such labels say nothing"),
        (
            lambda: metrics.estimate_clean_auc([1, 0], [1, 0], 0.8, 0.3, level=95),
            "level must be between 0 and 1, got 95",
        ),
        (lambda: metrics.auc([1, 2], [1, 1]), "got no negative one"),
        (lambda: metrics.auc([1, 2], [1, 0], [1, 0]), "got no negative one"),
        (lambda: metrics.auc([1, math.nan], [1, 0]), "got NaN at position 1"),
        (lambda: metrics.auc([1, 2, 3], [1, 0]), "target must have the scores' shape (3,), got (2,)"),
        (lambda: metrics.auc([[1, 2]], [1, 0]), "scores must have shape (n,), got (1, 2)"),
        (lambda: metrics.auc(["a", "b"], [1, 0]), "scores must be numbers"),
        (lambda: metrics.auc([1, 2], [1, 0], [1, -1]), "weight must hold finite numbers >= 0"),
        (
            lambda: metrics.auc([1, 2, 3], [1, 2, 3]),
            "labels must be two values, the larger of which is positive, got the",
        ),
    ],
)
def test_bad_input(call, message):
    with pytest.raises(ValueError, match=re.escape(message)):
        call()


def test_tensors_with_gradients():
    scores = torch.tensor([0.2, 0.9], requires_grad=True)
    assert metrics.auc(scores, torch.tensor([0, 1])) == 1
