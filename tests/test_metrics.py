import itertools
import math
import re
import warnings
from statistics import NormalDist

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from scipy.special import ndtr
from scipy.stats import t as student
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import (
    balanced_accuracy_score,
    make_scorer,
    precision_recall_fscore_support,
    roc_auc_score,
    roc_curve,
)
from sklearn.model_selection import cross_val_score

import symloss as sl
from symloss import metrics
from symloss.functional import auc_risk, ber_risk
from symloss.metrics import clean_auc_bounds
from symloss.metrics.estimates import binomial, binomial_at_once


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
        (lambda: metrics.estimate_clean_auc([1, 0], [1, 0], 0.5, 0.5), "such labels say nothing"),
        (lambda: clean_auc_bounds(0.7, 0.5, (0.6, 0.5)), "rates must sum to less than 1, got 0.6 and 0.5"),
        (lambda: clean_auc_bounds(0.7, 0.05, (0.2, 0.1), 0.02), "a share of 0.05 noisy positives cannot be"),
        (lambda: clean_auc_bounds(0.7, 0.5, (0.2, 0.1), 0.02, prior=0.9), "prior must be between 0.542857 and 0.6 by"),
        (lambda: metrics.auc([1, 2, 3], [0.0, 1.0, math.nan]), "got the values 0.0, 1.0, nan"),
        (lambda: metrics.clean_roc([1, 0], [1, 0], None, None), "pi must be a number between 0 and 1, got None"),
        (lambda: metrics.clean_rates([1, 0], [1, 0], 0.9, 0.1, threshold=math.nan), "threshold must be a number, got"),
        (lambda: metrics.clean_rates([1, 0], [1, 0], 0.8, 0.3).accuracy(1.0), "prior must be between 0 and 1, got 1.0"),
        (lambda: metrics.clean_rates([1, 0], [1, 0], 0.8, 0.3, threshold=5).precision(0.5), "precision needs points"),
        (lambda: metrics.clean_roc([1, 0], [1, 0], 0.8, 0.3).partial_auc(0), "max_fpr must be above 0 and at most 1"),
        (
            lambda: metrics.clean_rates([1, 0], [1, 0], 1, 0).cost(0.5, cost_false_negative=math.inf),
            "cost_false_negative must be a finite number of at least 0, got inf",
        ),
        (
            lambda: metrics.clean_balanced_accuracy_score(["a", "b"], ["a", "c"], pi=1, pi_prime=0),
            "y_pred must hold the labels of y_true, ['a', 'b'], got ['c']",
        ),
        (lambda: metrics.auc([1, 2], [1, 1]), "got no negative one"),
        (lambda: metrics.auc([1, math.nan], [1, 0]), "got NaN at position 1"),
        (lambda: metrics.auc([1, 2, 3], [1, 0]), "target must have the scores' shape (3,), got (2,)"),
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


TWO_VALUES = [["no", "yes"], [1, 3], [-1, 0], [2.5, 7.0], [False, True], [b"a", b"b"]]


@pytest.mark.parametrize("values", TWO_VALUES)
def test_labels_are_any_two_values_and_the_larger_is_positive(values):
    rng = np.random.default_rng(0)
    positive = rng.random(60) < 0.4
    scores, labels = positive + rng.normal(size=60), np.array(values)[positive.astype(int)]
    for call in (
        metrics.auc,
        metrics.balanced_accuracy,
        lambda s, y: metrics.estimate_clean_auc(s, y, 0.9, 0.1),
        lambda s, y: metrics.estimate_clean_balanced_accuracy(s, y, 0.9, 0.1),
        lambda s, y: metrics.estimate_clean_partial_auc(s, y, 0.9, 0.1, max_fpr=0.5),
        lambda s, y: metrics.clean_rates(s, y, 0.9, 0.1, threshold=0.3),
        lambda s, y: metrics.clean_roc(s, y, 0.9, 0.1).tpr.tolist(),
        lambda s, y: metrics.clean_roc_band(s, y, 0.9, 0.1)[0].tpr.tolist(),
        lambda s, y: metrics.clean_auc_score(y, s, pi=0.9, pi_prime=0.1),
    ):
        assert call(scores, labels) == call(scores, labels.tolist()) == call(scores, positive)
        if labels.dtype.kind in "bif":
            assert call(scores, torch.from_numpy(labels)) == call(scores, positive)


def test_only_the_ratios_of_weights_count():
    rng = np.random.default_rng(2)
    y, scores, weight = np.arange(50) % 2, rng.normal(size=50), rng.random(50)
    for estimate in (metrics.estimate_clean_auc, metrics.estimate_clean_balanced_accuracy):
        plain = estimate(scores, y, 0.9, 0.2)
        for factor in (0.001, 8.0):
            same = estimate(scores, y, 0.9, 0.2, weight=np.full(50, factor))
            np.testing.assert_allclose([same.low, same.high], [plain.low, plain.high])
        one, other = (estimate(scores, y, 0.9, 0.2, weight=weight * factor) for factor in (1, 1e-5))
        np.testing.assert_allclose([one.low, one.high], [other.low, other.high])
        assert one.high - one.low > plain.high - plain.low


def mixture(pi, pi_prime):
    """Scores of clean points, and the same points as both corrupted classes, weighted by their exact shares."""
    rng = np.random.default_rng(3)
    scores = np.r_[rng.normal(1, 1, 300), rng.normal(0, 1, 300)]
    weight = np.repeat([pi, 1 - pi, pi_prime, 1 - pi_prime], 300)
    return scores, np.repeat([1, 0], 300), np.r_[scores, scores], np.repeat([1, 0], 600), weight


@pytest.mark.parametrize(("pi", "pi_prime"), [(0.8, 0.3), (1.0, 0.4), (0.65, 0.45), (1.0, 0.0)])
def test_clean_rates_and_curves_of_a_mixture_are_those_of_its_parts(pi, pi_prime):
    scores, y, corrupted, y_corrupted, weight = mixture(pi, pi_prime)
    prior, predicted = 0.5, scores > 0.3
    rates = metrics.clean_rates(corrupted, y_corrupted, pi, pi_prime, 0.3, weight=weight)
    tpr, fpr = rates
    assert [tpr.value, fpr.value] == pytest.approx([predicted[:300].mean(), predicted[300:].mean()])
    precision, _, f1, _ = precision_recall_fscore_support(y, predicted, average="binary")
    found = [rates.accuracy(prior), rates.precision(prior), rates.f1(prior)]
    assert [part.value for part in found] == pytest.approx([(predicted == y).mean(), precision, f1])
    curve = metrics.clean_roc(corrupted, y_corrupted, pi, pi_prime, weight=weight)
    for part, expected in zip(curve, roc_curve(y, scores, drop_intermediate=False), strict=True):
        np.testing.assert_allclose(part, expected, atol=1e-12)
    np.testing.assert_allclose([curve.raw_fpr, curve.raw_tpr], [curve.fpr, curve.tpr], atol=1e-12)
    assert curve.partial_auc() == pytest.approx(roc_auc_score(y, scores))
    ranks = np.searchsorted(-curve.thresholds, -0.3, "right") - 1
    assert curve.accuracy(prior)[ranks] == pytest.approx(found[0].value)
    assert curve.precision_recall(prior)[0][ranks] == pytest.approx(precision)
    assert curve.f1(prior)[ranks] == pytest.approx(f1)


@pytest.mark.parametrize(("shift", "noise", "sizes"), [*SETTINGS[:2], SETTINGS[3]])
def test_intervals_of_clean_rates_cover_at_their_level(shift, noise, sizes):
    pi, pi_prime = noise
    threshold, prior, runs = 0.4, 0.3, 400
    tpr, fpr = (1 - NormalDist().cdf(threshold - sign * shift / 2) for sign in (1, -1))
    found, false = prior * tpr, (1 - prior) * fpr
    truth = np.array(
        [tpr, fpr, found + 1 - prior - false, found / (found + false), 2 * found / (prior + found + false),
         2 * false + 5 * (prior - found)]
    )  # fmt: skip
    rng, y, covered = np.random.default_rng(8), np.repeat([1, -1], sizes), np.zeros(6)
    for _ in range(runs):
        clean = np.where(rng.random(len(y)) < np.where(y == 1, pi, pi_prime), 1, -1)
        rates = metrics.clean_rates(clean * shift / 2 + rng.normal(size=len(y)), y, pi, pi_prime, threshold, level=0.9)
        parts = [*rates, rates.accuracy(prior), rates.precision(prior), rates.f1(prior)]
        assert all(0 <= part.low <= part.value <= part.high <= 1 for part in parts)
        parts.append(rates.cost(prior, cost_false_positive=2, cost_false_negative=5))
        covered += [part.low <= true <= part.high for part, true in zip(parts, truth, strict=True)]
    error = math.sqrt(0.09 / runs)
    assert (covered / runs > 0.9 - 3.5 * error).all(), covered / runs
    assert (covered / runs < 0.99).all(), covered / runs


@pytest.mark.parametrize(
    ("shift", "noise", "size", "widest"), [(1.5, (0.9, 0.2), 100, 0.6), (3.0, (0.8, 0.3), 500, 0.4)]
)
def test_intervals_of_partial_aucs_cover_at_their_level(shift, noise, size, widest):
    pi, pi_prime = noise
    rng, y, covered, widths, runs = np.random.default_rng(9), np.repeat([1, -1], size), 0, [], 150
    truth = np.mean([NormalDist().cdf(shift + NormalDist().inv_cdf(rate)) for rate in (np.arange(500) + 0.5) / 2000])
    for _ in range(runs):
        clean = np.where(rng.random(2 * size) < np.where(y == 1, pi, pi_prime), shift / 2, -shift / 2)
        scores = clean + rng.normal(size=2 * size)
        result = metrics.estimate_clean_partial_auc(scores, y, pi, pi_prime, max_fpr=0.25, level=0.9)
        assert 0 <= result.low <= result.value <= result.high <= 1
        covered += result.low <= truth <= result.high
        widths.append(result.high - result.low)
    assert covered / runs > 0.9 - 3.5 * math.sqrt(0.09 / runs)
    assert np.mean(widths) < widest


@pytest.mark.parametrize("noise", [(1.0, 0.0), (0.8, 0.3), (0.55, 0.45)])  # the last are not those of the labels
@pytest.mark.parametrize("ties", [False, True])
def test_the_partial_auc_is_the_area_under_the_curve(noise, ties):
    rng = np.random.default_rng(13)
    y = rng.random(300) < 0.4
    scores = rng.normal(size=300) + np.where(rng.random(300) < np.where(y, 0.8, 0.3), 1, -1)
    scores = scores.round() if ties else scores
    curve = metrics.clean_roc(scores, y, *noise)
    rates = (np.arange(20_000) + 0.5) / 20_000
    heights = np.interp(rates, *np.unique(np.c_[curve.fpr, curve.tpr], axis=0).T)
    for most in (0.1, 0.33, 1.0):
        area = curve.partial_auc(most)
        assert area == pytest.approx(heights[rates < most].mean(), abs=2e-3)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            assert metrics.estimate_clean_partial_auc(scores, y, *noise, max_fpr=most).value == area


def test_a_partial_auc_that_contradicts_the_rates_is_a_warning():
    rng = np.random.default_rng(0)
    y = np.repeat([1, -1], 2000)
    clean = np.where(rng.random(4000) < np.where(y > 0, 0.85, 0.15), 1, -1)
    scores = 3 * clean + rng.normal(size=4000)
    with pytest.warns(UserWarning, match="at some threshold"):
        metrics.estimate_clean_partial_auc(scores, y, 0.75, 0.25, max_fpr=0.2)
    with pytest.warns(UserWarning, match="at some threshold"):
        metrics.clean_roc_band(scores, y, 0.8, 0.2)


@pytest.mark.parametrize("n", [3, 40, 700])
def test_binomial_limits_hold_at_once(n):
    """The share of the distribution above the k-th largest of n points is the k-th smallest of n uniform numbers."""
    shares = np.arange(n + 1) / n
    low, high = binomial_at_once(shares, n, 0.9)
    drawn = np.sort(np.random.default_rng(n).random((1000, n)), axis=1)
    held = ((low[1:] <= drawn) & (drawn <= high[:-1])).all(axis=1).mean()
    assert 0.9 < held < 0.99
    exact = [binomial(share, n, 0.9) for share in shares]
    assert (low <= [end for end, _ in exact]).all()
    assert (high >= [end for _, end in exact]).all()
    assert (np.diff(low) > 0).all()
    assert (low[0], high[-1]) == (0, 1)


@pytest.mark.parametrize(("pi", "pi_prime"), [(0.8, 0.3), (1.0, 0.0)])
def test_the_band_holds_for_the_whole_curve_and_for_what_follows_from_it(pi, pi_prime):
    rng, y, prior, runs = np.random.default_rng(15), np.repeat([1, -1], [150, 200]), 0.2, 60
    covered = np.zeros(3)
    for _ in range(runs):
        clean = np.where(rng.random(350) < np.where(y == 1, pi, pi_prime), 1.0, -1.0)
        scores = clean + rng.normal(size=350)
        curve = metrics.clean_roc(scores, y, pi, pi_prime)
        worst, best = metrics.clean_roc_band(scores, y, pi, pi_prime, level=0.9)
        for part in (worst, best):
            np.testing.assert_array_equal(part.thresholds, curve.thresholds)
            assert (np.diff([part.fpr, part.tpr]) >= 0).all()
        assert ((worst.tpr <= curve.tpr) & (curve.tpr <= best.tpr)).all()
        assert ((best.fpr <= curve.fpr) & (curve.fpr <= worst.fpr)).all()
        fpr, tpr = ((1 - ndtr(curve.thresholds + side)) for side in (1, -1))
        found, false = prior * tpr, (1 - prior) * fpr
        with np.errstate(invalid="ignore"):
            precision, cost = found / (found + false), false + 3 * (prior - found)
        low, high = (part.precision_recall(prior)[0] for part in (worst, best))
        at = int(curve.cost(prior, cost_false_negative=3).argmin())
        most, least = (part.cost(prior, cost_false_negative=3)[at] for part in (worst, best))
        covered += [
            ((worst.tpr <= tpr) & (tpr <= best.tpr) & (best.fpr <= fpr) & (fpr <= worst.fpr)).all(),
            ((low <= precision) & (precision <= high))[1:].all(),
            least <= cost[at] <= most,
        ]
        assert worst.partial_auc(0.3) <= curve.partial_auc(0.3) <= best.partial_auc(0.3)
    assert (covered / runs > 0.9).all(), covered / runs


def test_the_best_threshold_costs_least():
    rng = np.random.default_rng(5)
    y = np.arange(300) % 2
    scores = y + rng.normal(size=300)
    curve = metrics.clean_roc(scores, y, 1, 0)

    def cost(threshold, prior, false_positive, false_negative):
        above = scores > threshold
        return prior * false_negative * (~above[y == 1]).mean() + (1 - prior) * false_positive * above[y == 0].mean()

    for prior, false_positive, false_negative in ((0.5, 1, 1), (0.1, 1, 5), (0.3, 2, 0.5)):
        best = curve.best_threshold(prior, cost_false_positive=false_positive, cost_false_negative=false_negative)
        costs = [cost(threshold, prior, false_positive, false_negative) for threshold in (*scores, -math.inf)]
        assert cost(best, prior, false_positive, false_negative) == pytest.approx(min(costs))
        rates = metrics.clean_rates(scores, y, 1, 0, threshold=best)
        found = rates.cost(prior, cost_false_positive=false_positive, cost_false_negative=false_negative)
        assert found.value == pytest.approx(min(costs))
        of_curve = curve.cost(prior, cost_false_positive=false_positive, cost_false_negative=false_negative)
        assert of_curve.min() == pytest.approx(min(costs))
    assert curve.best_threshold(0.5, cost_false_negative=0) == math.inf


def test_scorers_for_scikit_learn():
    rng = np.random.default_rng(6)
    clean = rng.random(600) < 0.5
    X = (clean + rng.normal(size=600))[:, None]
    y = np.where(rng.random(600) < np.where(clean, 0.8, 0.3), "yes", "no")
    model, rates = LogisticRegression(), {"pi": 0.73, "pi_prime": 0.22}
    plain = cross_val_score(model, X, y, scoring="roc_auc")
    found = cross_val_score(
        model, X, y, scoring=make_scorer(metrics.clean_auc_score, response_method="decision_function", **rates)
    )
    np.testing.assert_allclose(found, [metrics.clean_auc(score, **rates) for score in plain])
    plain = cross_val_score(model, X, y, scoring="balanced_accuracy")
    found = cross_val_score(model, X, y, scoring=make_scorer(metrics.clean_balanced_accuracy_score, **rates))
    np.testing.assert_allclose(found, [metrics.clean_balanced_accuracy(score, **rates) for score in plain])
    assert metrics.clean_balanced_accuracy_score([0, 1], [1, 1], pi=1, pi_prime=0) == 0.5


def test_the_metric_beside_the_loss():
    scores, target = torch.randn(40, 3), torch.rand(40, 3) < 0.4
    expected = [roc_auc_score(y, s) for s, y in zip(scores.T, target.T, strict=True)]
    np.testing.assert_allclose(sl.metrics.auc(scores.T, target.T), expected)
    np.testing.assert_allclose(
        sl.metrics.auc(scores.T[None].numpy(), np.where(target.T, "yes", "no")[None]), [expected]
    )
    each, macro = (sl.metrics.AUC(num_labels=3, average=average, ignore_index=-1) for average in ("none", "macro"))
    for metric in (each, macro):
        for rows in torch.arange(40).split(7):
            metric.update(scores[rows].requires_grad_(), target[rows].long())
        metric.update(scores, -torch.ones(40, 3).long())
    np.testing.assert_allclose(each.compute(), expected)
    assert macro.compute() == pytest.approx(np.mean(expected))
    each.reset()
    each.update(scores, torch.zeros(40, 3).long(), torch.ones(40))
    assert np.isnan(each.compute()).all()
    column = sl.metrics.AUC()
    column.update(scores[:, :1] * math.inf, target[:, :1])
    assert column.compute() == pytest.approx(roc_auc_score(target[:, 0], scores[:, 0] > 0))


def exact(mass, eta, scores, rho_positive, rho_negative):
    """The clean AUC and prior, and the noisy AUC and share, of a distribution on finitely many points."""
    noisy = eta * (1 - rho_positive) + (1 - eta) * rho_negative

    ranked = np.sign(scores[:, None] - scores) / 2 + 0.5

    def auc(positive):
        positives, negatives = mass * positive, mass * (1 - positive)
        return positives @ ranked @ negatives / (positives.sum() * negatives.sum())

    return auc(eta), mass @ eta, auc(noisy), mass @ noisy


def random_distribution(rng, points):
    """Masses, posteriors (some of them 0 or 1) and scores (some of them equal)."""
    mass, eta = rng.dirichlet(np.ones(points)), rng.random(points)
    eta = np.where(rng.random(points) < 0.4, eta.round(), eta)
    if eta.sum() in (0, points):
        eta[0] = 0.5
    return mass, eta, rng.integers(0, 3 * points, points).astype(float)


@pytest.mark.parametrize("seed", range(6))
def test_bounds_are_never_violated_by_any_extreme_flips(seed):
    """All 4^m choices of the lowest or highest flip probability for the positives and the negatives of m points."""
    rng = np.random.default_rng(seed)
    mass, eta, scores = random_distribution(rng, 4)
    rates, spread = rng.uniform(0.1, 0.4, 2), rng.uniform(0.01, 0.1)
    for signs in itertools.product([-1, 1], repeat=8):
        rho = rates[:, None] + spread * np.reshape(signs, (2, 4))
        clean, prior, noisy, share = exact(mass, eta, scores, *rho)
        for known in (None, prior):
            low, high = clean_auc_bounds(noisy, share, rates, spread, prior=known)
            assert low - 1e-9 <= clean <= high + 1e-9


@pytest.mark.parametrize("side", [-1, 1])
@pytest.mark.parametrize(("prior", "level", "rates", "spread", "excess"), [
    (0.5, 0.6, (0.1, 0.1), 0.1, 0.0), (0.3, 0.3, (0.3, 0.2), 0.1, 0.04), (0.6, 0.9, (0.05, 0.2), 0.05, -0.02),
])  # fmt: skip
def test_bounds_are_attained(side, prior, level, rates, spread, excess):
    """The worst flips of the proof, on a fine grid: errors of one sign below a rank, and of the other above it."""
    rank = (np.arange(1000) + 0.5) / 1000
    step = np.where(rank > 1 - prior, 1.0, 0.0)
    eta = level * step + (1 - level) * prior
    # More positive labels at low ranks hide a high AUC, and more at high ranks feign one.
    errors = np.where(rank > (1 + side * excess / spread) / 2, -side, side) * spread
    clean, p, noisy, share = exact(np.full(1000, 1 / 1000), eta, rank, rates[0] - errors, rates[1] + errors)
    assert p == pytest.approx(prior, abs=2e-3)
    assert share == pytest.approx(rates[1] + (1 - sum(rates)) * p + excess, abs=2e-3)
    assert clean_auc_bounds(noisy, share, rates, spread, prior=p)[side == 1] == pytest.approx(clean, abs=5e-3)


@given(auc=st.floats(0.4, 0.6), positive=st.floats(0, 0.4), negative=st.floats(0, 0.4), prior=st.floats(0.2, 0.8))
def test_without_spread_the_bounds_are_corollary_2(auc, positive, negative, prior):
    pi, pi_prime = sl.corruption.to_contamination((positive, negative), prior)
    share = prior * (1 - positive) + (1 - prior) * negative
    clean = sl.metrics.clean_auc(auc, pi, pi_prime)
    if 0 <= clean <= 1:
        for spread in (0.0, 1e-13, 1e-310):
            bounds = clean_auc_bounds(auc, share, (positive, negative), spread)
            assert bounds == pytest.approx((clean, clean), abs=1e-7)


def test_boundary_consistent_noise_can_swap_two_models_that_are_not_the_best():
    """An example of noise that is largest at the border."""
    mass, eta, rho = np.full(4, 0.25), np.array([0.2, 0.4, 0.6, 0.8]), np.array([0, 0.45, 0.45, 0])
    for ranks, clean, noisy in (([1, 4, 2, 3], 0.6, 0.645), ([2, 1, 4, 3], 0.65, 0.5825)):
        found = exact(mass, eta, np.array(ranks, dtype=float), rho, rho)
        assert (found[0], found[2]) == pytest.approx((clean, noisy))
