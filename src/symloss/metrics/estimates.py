"""The AUC and the balanced accuracy on clean labels, from those on corrupted labels, and confidence intervals."""

from __future__ import annotations

import math
import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from statistics import NormalDist
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit, stdtrit

from symloss.checking import check_fraction, check_probability
from symloss.corruption import check_contamination
from symloss.metrics import scores as on_labels
from symloss.metrics.scores import Sample, class_accuracies, share_below, two_samples

Array = NDArray[np.float64]
_GRID = np.sin(np.linspace(0, np.pi / 2, 2001)) ** 2  # of shares: as fine as their errors are at either end


@dataclass(frozen=True)
class Estimate:
    """A value with a confidence interval; its text is such as ``0.900 (95% interval 0.850 to 0.930)``."""

    value: float
    low: float
    high: float
    level: float

    def __str__(self) -> str:
        return f"{self.value:.3f} ({100 * self.level:g}% interval {self.low:.3f} to {self.high:.3f})"


def clean_auc(auc: float, pi: float, pi_prime: float) -> float:
    """Return the clean AUC that belongs to a corrupted AUC, by corollary 2 with the zero-one loss.

    Examples
    --------
    >>> round(clean_auc(0.58, pi=0.65, pi_prime=0.45), 12)
    0.9
    """
    check_contamination(pi, pi_prime)
    check_probability("auc", auc)
    return _clean(auc, pi, pi_prime)


def clean_balanced_accuracy(bac: float, pi: float, pi_prime: float) -> float:
    """Return the clean balanced accuracy that belongs to a corrupted one, by corollary 4 with the zero-one loss."""
    check_contamination(pi, pi_prime)
    check_probability("bac", bac)
    return _clean(bac, pi, pi_prime)


def estimate_clean_auc(
    scores: Any, y_corrupted: Any, pi: float, pi_prime: float, level: float = 0.95, weight: Any = None
) -> Estimate:
    """Estimate the AUC on clean labels from corrupted ones drawn at (pi, pi').

    Parameters
    ----------
    scores : array or tensor of n scores
        Scores of points that the model was not fitted on.
    y_corrupted : array, list or tensor of n labels
        Any two values, of which the larger one is positive.
    pi, pi_prime : float
        The share of clean positives among the points labeled positive, and among those labeled negative. The interval
        takes them as exact.
    level : float
        How often the interval is to contain the true value.
    weight : array or tensor, optional
        Non-negative weights. The width of the interval follows from Kish's effective number of points.

    Notes
    -----
    The interval for the corrupted AUC joins two intervals. The first is DeLong's on the logit scale, with Student's
    quantile at the degrees of freedom of the two classes' variances. The second is the score interval with Hanley and
    McNeil's variance (Newcombe, 2006). It also holds where few or no points of a class are ranked wrongly, and DeLong's
    variance is too small or zero. The joined interval is mapped by corollary 2 and kept inside [0, 1].

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> y = np.repeat([1, -1], 500)
    >>> clean = np.where(rng.random(1000) < np.where(y == 1, 0.8, 0.3), 1, -1)
    >>> print(estimate_clean_auc(clean + rng.normal(size=1000), y, pi=0.8, pi_prime=0.3))
    0.931 (95% interval 0.866 to 0.992)
    """
    check_contamination(pi, pi_prime)
    check_fraction("level", level)
    return clean_auc_of(*two_samples(scores, y_corrupted, weight), pi, pi_prime, level)


def clean_auc_of(pos: Sample, neg: Sample, pi: float, pi_prime: float, level: float = 0.95) -> Estimate:
    """Return what ``estimate_clean_auc`` does, for two samples that are checked."""
    above = share_below(pos.scores, neg.scores, neg.weight)
    below = 1 - share_below(neg.scores, pos.scores, pos.weight)
    value = float(np.average(above, weights=pos.weight))
    variances = variance_of_mean(above, pos), variance_of_mean(below, neg)
    low, high = auc_interval(value, variances, (pos.size, neg.size), level)
    return _clean_estimate(value, low, high, pi, pi_prime, level)


def estimate_clean_balanced_accuracy(
    scores: Any, y_corrupted: Any, pi: float, pi_prime: float, level: float = 0.95, weight: Any = None
) -> Estimate:
    """Estimate the balanced accuracy on clean labels from corrupted ones drawn at (pi, pi').

    Parameters
    ----------
    scores, y_corrupted, pi, pi_prime, level, weight
        As in ``estimate_clean_auc``; a score above 0 predicts the positive class.

    Notes
    -----
    Each class's accuracy has an exact binomial (Clopper-Pearson) interval. The distances from the two estimates to the
    ends of their intervals are combined as independent errors of the mean. The result is mapped by corollary 4 and kept
    inside [0, 1].
    """
    check_contamination(pi, pi_prime)
    check_fraction("level", level)
    return clean_balanced_accuracy_of(*two_samples(scores, y_corrupted, weight), pi, pi_prime, level)


def clean_balanced_accuracy_of(pos: Sample, neg: Sample, pi: float, pi_prime: float, level: float = 0.95) -> Estimate:
    """Return what ``estimate_clean_balanced_accuracy`` does, for two samples that are checked."""
    accuracies = class_accuracies(pos, neg, 0.0)
    intervals = [binomial(share, sample.size, level) for share, sample in zip(accuracies, (pos, neg), strict=True)]
    low, high = of_sum([0.5, 0.5], accuracies, intervals)
    return _clean_estimate(sum(accuracies) / 2, low, high, pi, pi_prime, level)


def clean_auc_score(y_true: Any, y_score: Any, *, pi: float, pi_prime: float, sample_weight: Any = None) -> float:
    """Return the AUC on clean labels, for ``make_scorer``; by chance it may be outside [0, 1].

    Parameters
    ----------
    y_true, y_score, pi, pi_prime, sample_weight
        The labels, scores, rates and weights of ``estimate_clean_auc``.

    Examples
    --------
    >>> clean_auc_score(["no", "yes", "no", "yes"], [0.1, 0.4, 0.2, 0.8], pi=1, pi_prime=0)
    1.0
    >>> from sklearn.metrics import make_scorer
    >>> scorer = make_scorer(clean_auc_score, response_method="decision_function", pi=0.8, pi_prime=0.3)
    """
    return clean_auc(on_labels.auc(y_score, y_true, sample_weight), pi, pi_prime)


def clean_balanced_accuracy_score(
    y_true: Any, y_pred: Any, *, pi: float, pi_prime: float, sample_weight: Any = None
) -> float:
    """Return the balanced accuracy of predicted labels on clean labels, for ``make_scorer``; it may be outside [0, 1].

    Parameters
    ----------
    y_pred : n predicted labels
        Values of ``y_true``.
    y_true, pi, pi_prime, sample_weight
        As in ``clean_auc_score``.
    """
    labels, predicted = np.unique(np.asarray(y_true)), np.asarray(y_pred)
    unknown = np.setdiff1d(predicted, labels)
    if len(unknown):
        raise ValueError(f"y_pred must hold the labels of y_true, {labels.tolist()}, got {unknown[:5].tolist()}")
    scores = np.where(predicted == labels[-1], 1.0, -1.0)
    return clean_balanced_accuracy(on_labels.balanced_accuracy(scores, y_true, sample_weight), pi, pi_prime)


def auc_interval(
    value: float, variances: tuple[float, float], sizes: tuple[float, float], level: float
) -> tuple[float, float]:
    """Return DeLong's interval of an AUC on the logit scale, joined with the score interval of Hanley and McNeil."""
    intervals = [hanley_mcneil(value, *sizes, level)]
    if 0 < value < 1 and sum(variances) > 0 and min(sizes) > 1:
        freedom = sum(variances) ** 2 / sum(v**2 / (size - 1) for v, size in zip(variances, sizes, strict=True))
        width = stdtrit(freedom, (1 + level) / 2) * math.sqrt(sum(variances)) / (value * (1 - value))
        logit = math.log(value / (1 - value))
        intervals.append((float(expit(logit - width)), float(expit(logit + width))))
    return min(low for low, _ in intervals), max(high for _, high in intervals)


def variance_of_mean(values: Array, sample: Sample) -> float:
    """Return the variance of a weighted mean of values, one for each point of a sample."""
    if sample.size <= 1:
        return math.nan
    mean = np.average(values, weights=sample.weight)
    return float(np.average((values - mean) ** 2, weights=sample.weight)) / (sample.size - 1)


def _clean(value: float, pi: float, pi_prime: float) -> float:
    return float((value - (1 - pi + pi_prime) / 2) / (pi - pi_prime))


def _clean_estimate(value: float, low: float, high: float, pi: float, pi_prime: float, level: float) -> Estimate:
    def clean(score: float) -> float:
        return min(1.0, max(0.0, _clean(min(1.0, max(0.0, score)), pi, pi_prime)))

    most = (1 + pi - pi_prime) / 2  # of a perfect ranker or classifier, on labels at (pi, pi')
    if low > most or high < 1 - most:
        end = f"{most:.3f} is the largest" if low > most else f"{1 - most:.3f} is the smallest"
        warnings.warn(
            f"a score of {value:.3f} on labels at (pi, pi') = ({pi:g}, {pi_prime:g}) cannot be: {end} possible; "
            f"pi - pi' must be larger",
            stacklevel=4,
        )
    return Estimate(clean(value), clean(low), clean(high), level)


def clean_auc_bounds(
    auc: float, share: float, rates: Sequence[float], spread: float = 0.0, prior: float | None = None
) -> tuple[float, float]:
    """Return the lowest and the highest clean AUC that agree with an AUC on labels flipped at varying rates.

    Each positive is flipped with a probability within ``spread`` of ``rates[0]``, and each negative with one within
    ``spread`` of ``rates[1]``. Within these limits, the probabilities may depend on the features in any way. If all
    that is known is that none of them exceeds h, then the rates are (h / 2, h / 2), and the spread is h / 2.

    Parameters
    ----------
    auc : float
        The AUC of scores on the noisy labels.
    share : float
        The share of positives among the noisy labels.
    rates : two floats
        The middle of the flip probabilities of positives, and of negatives, such as ``FlipRates``. Their sum is less
        than 1.
    spread : float
        How far flip probabilities can be from these rates.
    prior : float, optional
        The share of positives among the clean labels. If it is known, the bounds are narrower.

    Returns
    -------
    low, high : float
        No clean AUC outside of them is possible. Both are attained by some distribution without ties, unless rates
        within the spread would be below 0 or above 1.

    Notes
    -----
    With the prior p, c = 1 - rates[0] - rates[1] and excess = share - rates[1] - c p, the clean AUC lies within

        1/2 + (share (1 - share) (auc - 1/2) +- (spread - excess^2 / spread) / 4) / (c p (1 - p)).

    If p is not known, the bounds are the lowest and the highest value over all p for which the excess is at most the
    spread. If the spread is 0, this is ``clean_auc``.

    Examples
    --------
    >>> low, high = clean_auc_bounds(0.75, share=0.5, rates=(0.2, 0.1), spread=0.05)
    >>> print(f"{low:.2f} to {high:.2f}")
    0.79 to 0.94
    >>> low, high = clean_auc_bounds(0.75, share=0.5, rates=(0.1, 0.1), spread=0.1)  # flip probabilities up to 0.2
    >>> print(f"{low:.2f} to {high:.2f}")
    0.69 to 0.94
    """
    check_probability("auc", auc)
    check_fraction("share", share)
    positive, negative = rates
    check_probability("rates[0]", positive)
    check_probability("rates[1]", negative)
    check_probability("spread", spread)
    slope, offset = 1 - positive - negative, share - negative
    if not slope > 0:
        raise ValueError(f"rates must sum to less than 1, got {positive:g} and {negative:g}")
    least, most = max((offset - spread) / slope, 0.0), min((offset + spread) / slope, 1.0)
    if least > most or least == 1 or most == 0:
        raise ValueError(
            f"a share of {share:g} noisy positives cannot be: flip probabilities of {positive:g} and {negative:g}, "
            f"within {spread:g}, leave a share between {max(negative - spread, 0):g} and {1 - positive + spread:g}"
        )
    if prior is not None:
        check_fraction("prior", prior)
        if not least - 1e-9 <= prior <= most + 1e-9:
            raise ValueError(
                f"prior must be between {least:.6g} and {most:.6g} by share, rates and spread, got {prior!r}"
            )
        least = most = prior
    known = share * (1 - share) * (auc - 0.5)
    lowest, highest = (_extreme_auc(known, slope, offset, side * spread, least, most) for side in (-1, 1))
    if lowest > 1 or highest < 0:
        warnings.warn(
            f"an AUC of {auc:.3f} on noisy labels cannot be: flip probabilities of {positive:g} and {negative:g}, "
            f"within {spread:g}, are too large for it",
            stacklevel=2,
        )
    return min(max(lowest, 0.0), 1.0), min(max(highest, 0.0), 1.0)


def _extreme_auc(known: float, slope: float, offset: float, spread: float, least: float, most: float) -> float:
    """Return the highest clean AUC over priors from ``least`` to ``most``, or the lowest one if the spread is negative.

    At a prior p, it is 1/2 + (a + b p + c p^2) / (slope p (1 - p)), which is stationary where (b + c) p^2 + 2 a p = a.
    """
    least, most = max(least, 1e-12), min(most, 1 - 1e-12)
    a, b, c = 4 * spread * known + spread**2 - offset**2, 2 * slope * offset, -(slope**2)  # all times 4 * spread
    stationary = [p.real for p in np.roots([b + c, 2 * a, -a]) if p.imag == 0 and least < p.real < most]

    def clean(p: float) -> float:
        part = min(abs((offset - slope * p) / spread), 1.0) if spread else 1.0
        return 0.5 + (known + spread * (1 - part**2) / 4) / (slope * p * (1 - p))

    values = [clean(p) for p in (least, *stationary, most)]
    return float(max(values) if spread > 0 else min(values))


def hanley_mcneil(value: float, n: float, m: float, level: float) -> tuple[float, float]:
    """Return the lowest and highest AUC that agree with ``value``, by Hanley and McNeil's formula for the error."""
    from scipy.optimize import brentq

    quantile, size = NormalDist().inv_cdf((1 + level) / 2), (n + m) / 2 - 1

    def surprise(auc: float) -> float:
        spread = 1 + size * ((1 - auc) / (2 - auc) + auc / (1 + auc))
        return (value - auc) ** 2 - quantile**2 * auc * (1 - auc) * spread / (n * m)

    low = brentq(surprise, 0.0, min(value, 1 - 1e-12)) if value > 0 else 0.0
    high = brentq(surprise, max(value, 1e-12), 1.0) if value < 1 else 1.0
    return low, high


def binomial(share: float, n: float, level: float) -> tuple[float, float]:
    """Return the Clopper-Pearson interval of a share among n points; half successes count as halves."""
    from scipy.stats import beta

    successes, tail = share * n, (1 - level) / 2
    low = float(beta.ppf(tail, successes, n - successes + 1)) if successes > 0 else 0.0
    high = float(beta.ppf(1 - tail, successes + 1, n - successes)) if successes < n else 1.0
    return low, high


def binomial_at_once(shares: Array, n: float, level: float) -> tuple[Array, Array]:
    """Return limits for the shares of n points above many thresholds, which with probability ``level`` hold for all.

    Each pair is a Clopper-Pearson interval, of one level that is the same for all of them. It follows from Miller and
    Siegmund's (1982) probability that a Brownian bridge between 1/n and 1 - 1/n, divided by its standard deviation,
    ever leaves [-z, z]. So the limits are tight where a share is close to 0 or 1, unlike Kolmogorov's.
    """
    low, high = _limits_at_once(n, level)
    return np.interp(shares, _GRID, low), np.interp(shares, _GRID, high)


@lru_cache(maxsize=16)
def _limits_at_once(n: float, level: float) -> tuple[Array, Array]:
    from scipy.optimize import brentq
    from scipy.special import betaincinv

    length = 2 * math.log(max(n, 2.0))

    def missed(z: float) -> float:
        return math.exp(-z * z / 2) / math.sqrt(2 * math.pi) * ((z - 1 / z) * length + 4 / z) - (1 - level)

    least = 1.5  # where z is smaller than this, the formula is no longer close
    tail = NormalDist().cdf(-(brentq(missed, least, 40.0) if missed(least) > 0 else least))
    counts = n * _GRID
    low = np.append(0.0, betaincinv(counts[1:], n - counts[1:] + 1, tail))
    high = np.append(betaincinv(counts[:-1] + 1, n - counts[:-1], 1 - tail), 1.0)
    return low, high


def of_sum(
    factors: Sequence[float], values: Sequence[float], intervals: Sequence[tuple[float, float]]
) -> tuple[float, float]:
    """Return an interval for the sum of factors times independent values, from an interval for each value.

    The distances from the values to the ends of their intervals are combined as independent errors (Zou and Donner,
    2008).
    """
    down, up = 0.0, 0.0
    for factor, value, (low, high) in zip(factors, values, intervals, strict=True):
        below, above = factor * (value - low), factor * (high - value)
        if factor < 0:
            below, above = -above, -below
        down, up = down + below**2, up + above**2
    total = sum(factor * value for factor, value in zip(factors, values, strict=True))
    return total - math.sqrt(down), total + math.sqrt(up)
