"""AUC and balanced accuracy, and their clean values estimated from corrupted labels."""

from __future__ import annotations

import math
import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import NormalDist
from typing import Any, NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray

from symloss.checking import check_fraction, check_probability, is_positive
from symloss.corruption import check_contamination
from symloss.losses import ZeroOne
from symloss.pairwise import risk_of_pairs

Array = NDArray[np.float64]


@dataclass(frozen=True)
class Estimate:
    """A value with a confidence interval.

    Examples
    --------
    >>> print(Estimate(value=0.9, low=0.85, high=0.93, level=0.95))
    0.900 (95% interval 0.850 to 0.930)
    """

    value: float
    low: float
    high: float
    level: float

    def __str__(self) -> str:
        return f"{self.value:.3f} ({100 * self.level:g}% interval {self.low:.3f} to {self.high:.3f})"


def auc(scores: Any, target: Any, weight: Any = None) -> float:
    """Return the area under the ROC curve: the share of pairs ranked correctly, ties counted as one half.

    Parameters
    ----------
    scores : array or tensor of n scores
    target : array or tensor of n labels in {0, 1}, {-1, +1} or bool
    weight : array or tensor, optional
        Non-negative weights; weight k counts as k repetitions.

    Examples
    --------
    >>> auc([0.1, 0.4, 0.4, 0.8], [0, 0, 1, 1])
    0.875
    """
    pos, neg = _two_samples(scores, target, weight)
    # Only the order counts: infinite scores become the largest number, and tie with each other.
    largest = np.finfo(np.float64).max
    s, t = (torch.from_numpy(np.clip(side.scores, -largest, largest)) for side in (pos, neg))
    w, v = (None if weight is None else torch.from_numpy(side.weight) for side in (pos, neg))
    return 1.0 - float(risk_of_pairs(s, t, ZeroOne(), w, v, method="structure"))


def balanced_accuracy(scores: Any, target: Any, weight: Any = None, threshold: float = 0.0) -> float:
    """Return the mean of the two classes' accuracies; a score at the threshold is half an error.

    Parameters
    ----------
    scores : array or tensor of n scores
    target : array or tensor of n labels in {0, 1}, {-1, +1} or bool
    weight : array or tensor, optional
        Non-negative weights; weight k counts as k repetitions.
    threshold : float
        Scores above it are predicted positive.

    Examples
    --------
    >>> balanced_accuracy([-1.0, 0.0, 2.0, -3.0], [0, 0, 1, 1])
    0.625
    """
    return float(np.mean(_class_accuracies(*_two_samples(scores, target, weight), threshold)))


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
    """Return the clean balanced accuracy that belongs to a corrupted one, by corollary 4 with the zero-one loss.

    Examples
    --------
    >>> round(clean_balanced_accuracy(0.7, pi=0.8, pi_prime=0.3), 12)
    0.9
    """
    check_contamination(pi, pi_prime)
    check_probability("bac", bac)
    return _clean(bac, pi, pi_prime)


def estimate_clean_auc(
    scores: Any, y_corrupted: Any, pi: float, pi_prime: float, level: float = 0.95, weight: Any = None
) -> Estimate:
    """Estimate the AUC on clean labels from corrupted ones drawn at (pi, pi'); weight k counts as k repetitions.

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
    pos, neg = _two_samples(scores, y_corrupted, weight)
    above = share_below(pos.scores, neg.scores, neg.weight)
    below = 1 - share_below(neg.scores, pos.scores, pos.weight)
    value = float(np.average(above, weights=pos.weight))
    intervals = [_hanley_mcneil(value, pos.size, neg.size, level)]
    variances = [_variance_of_mean(above, pos), _variance_of_mean(below, neg)]
    if 0 < value < 1 and sum(variances) > 0:
        freedom = sum(variances) ** 2 / sum(
            v**2 / (sample.size - 1) for v, sample in zip(variances, (pos, neg), strict=True)
        )
        width = _student(level, freedom) * math.sqrt(sum(variances)) / (value * (1 - value))
        logit = math.log(value / (1 - value))
        intervals.append((_expit(logit - width), _expit(logit + width)))
    low, high = min(low for low, _ in intervals), max(high for _, high in intervals)
    return _clean_estimate(value, low, high, pi, pi_prime, level)


def estimate_clean_balanced_accuracy(
    scores: Any, y_corrupted: Any, pi: float, pi_prime: float, level: float = 0.95, weight: Any = None
) -> Estimate:
    """Estimate the balanced accuracy on clean labels from corrupted ones drawn at (pi, pi'); weight k is k repetitions.

    Notes
    -----
    Each class's accuracy has an exact binomial (Clopper-Pearson) interval. The distances from the two estimates to the
    ends of their intervals are combined as independent errors of the mean. The result is mapped by corollary 4 and kept
    inside [0, 1].

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> y = np.repeat([1, -1], 500)
    >>> clean = np.where(rng.random(1000) < np.where(y == 1, 0.8, 0.3), 1, -1)
    >>> print(estimate_clean_balanced_accuracy(clean + rng.normal(size=1000), y, pi=0.8, pi_prime=0.3))
    0.836 (95% interval 0.775 to 0.894)
    """
    check_contamination(pi, pi_prime)
    check_fraction("level", level)
    pos, neg = _two_samples(scores, y_corrupted, weight)
    accuracies = _class_accuracies(pos, neg, 0.0)
    down, up = 0.0, 0.0
    for accuracy, n in zip(accuracies, (pos.size, neg.size), strict=True):
        low, high = _binomial(accuracy, n, level)
        down, up = down + (accuracy - low) ** 2, up + (high - accuracy) ** 2
    value = sum(accuracies) / 2
    return _clean_estimate(value, value - math.sqrt(down) / 2, value + math.sqrt(up) / 2, pi, pi_prime, level)


class _Sample(NamedTuple):
    scores: Array
    weight: Array
    size: float


def _variance_of_mean(values: Array, sample: _Sample) -> float:
    if sample.size <= 1:
        return math.nan
    mean = np.average(values, weights=sample.weight)
    return float(np.average((values - mean) ** 2, weights=sample.weight)) / (sample.size - 1)


def _two_samples(scores: Any, target: Any, weight: Any) -> tuple[_Sample, _Sample]:
    """Return the scores and weights of the positives and of the negatives."""
    positive = is_positive(target).cpu().numpy()
    values = _vector("scores", scores)
    weights = np.ones(len(values)) if weight is None else _vector("weight", weight)
    for name, part in (("target", positive), ("weight", weights)):
        if part.shape != values.shape:
            raise ValueError(f"{name} must have the scores' shape {values.shape}, got {part.shape}")
    if np.isnan(values).any():
        raise ValueError(f"scores must be numbers, got NaN at position {int(np.flatnonzero(np.isnan(values))[0])}")
    if not (np.isfinite(weights) & (weights >= 0)).all():
        raise ValueError("weight must hold finite numbers >= 0")
    unit = weights.max(initial=0.0) or 1.0
    weights = weights / unit  # so that sums of weights can neither overflow nor vanish
    samples = []
    for label, side in (("positive", positive), ("negative", ~positive)):
        if not weights[side].sum() > 0:
            raise ValueError(f"this needs points of both classes, got no {label} one (of weight above 0)")
        samples.append(_Sample(values[side], weights[side], float(weights[side].sum()) * float(unit)))
    return samples[0], samples[1]


def _vector(name: str, values: Any) -> Array:
    if isinstance(values, torch.Tensor):
        values = values.detach().to("cpu", torch.float64).numpy()
    try:
        vector = np.asarray(values, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise ValueError(f"{name} must be numbers: {error}") from None
    if vector.ndim != 1:
        raise ValueError(f"{name} must have shape (n,), got {vector.shape}")
    return vector


def share_below(scores: Array, others: Array, weight: Array) -> Array:
    """Return, for each score, the weighted share of the others below it, ties counted as one half.

    Examples
    --------
    >>> share_below(np.array([1.0, 3.0]), np.array([0.0, 1.0, 2.0]), np.array([1.0, 1.0, 2.0]))
    array([0.375, 1.   ])
    """
    order = np.argsort(others, kind="stable")
    ordered = others[order]
    cumulated = np.concatenate([[0.0], np.cumsum(weight[order])])
    counted = cumulated[np.searchsorted(ordered, scores, "left")] + cumulated[np.searchsorted(ordered, scores, "right")]
    share: Array = counted / (2 * cumulated[-1])
    return share


def _class_accuracies(pos: _Sample, neg: _Sample, threshold: float) -> tuple[float, float]:
    def accuracy(sample: _Sample, sign: int) -> float:
        above = 0.5 * (sample.scores > threshold) + 0.5 * (sample.scores >= threshold)
        return float(np.average(above if sign > 0 else 1 - above, weights=sample.weight))

    return accuracy(pos, 1), accuracy(neg, -1)


def _student(level: float, freedom: float) -> float:
    from scipy.stats import t

    return float(t.ppf((1 + level) / 2, freedom))


def _expit(logit: float) -> float:
    return 1 / (1 + math.exp(-logit)) if logit > -700 else 0.0


def _hanley_mcneil(value: float, n: float, m: float, level: float) -> tuple[float, float]:
    """Return the lowest and highest AUC that agree with ``value``, by Hanley and McNeil's formula for the error."""
    from scipy.optimize import brentq

    quantile, size = NormalDist().inv_cdf((1 + level) / 2), (n + m) / 2 - 1

    def surprise(auc: float) -> float:
        spread = 1 + size * ((1 - auc) / (2 - auc) + auc / (1 + auc))
        return (value - auc) ** 2 - quantile**2 * auc * (1 - auc) * spread / (n * m)

    low = brentq(surprise, 0.0, value) if value > 0 and surprise(0.0) > 0 > surprise(value) else 0.0
    high = brentq(surprise, value, 1.0) if value < 1 and surprise(1.0) > 0 > surprise(value) else 1.0
    if value == 1:
        low = brentq(surprise, 0.0, 1.0 - 1e-12)
    elif value == 0:
        high = brentq(surprise, 1e-12, 1.0)
    return low, high


def _binomial(share: float, n: float, level: float) -> tuple[float, float]:
    """Return the Clopper-Pearson interval; half successes count as halves."""
    from scipy.stats import beta

    successes, tail = share * n, (1 - level) / 2
    low = float(beta.ppf(tail, successes, n - successes + 1)) if successes > 0 else 0.0
    high = float(beta.ppf(1 - tail, successes + 1, n - successes)) if successes < n else 1.0
    return low, high


def _clean(value: float, pi: float, pi_prime: float) -> float:
    return float((value - (1 - pi + pi_prime) / 2) / (pi - pi_prime))


def _clean_estimate(value: float, low: float, high: float, pi: float, pi_prime: float, level: float) -> Estimate:
    def clean(score: float) -> float:
        return min(1.0, max(0.0, _clean(min(1.0, max(0.0, score)), pi, pi_prime)))

    most = (1 + pi - pi_prime) / 2  # of a perfect ranker or classifier, on labels at (pi, pi')
    if low > most:
        warnings.warn(
            f"a score of {value:.3f} on labels at (pi, pi') = ({pi:g}, {pi_prime:g}) cannot be: {most:.3f} is the "
            f"largest possible; pi - pi' must be larger",
            stacklevel=3,
        )
    return Estimate(clean(value), clean(low), clean(high), level)


# How far flip probabilities that vary from point to point can move the AUC.


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
    spread. If the spread is 0, this is ``clean_auc``. The concept page on corruption has the proof.

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


__all__ = [
    "Estimate",
    "auc",
    "balanced_accuracy",
    "clean_auc",
    "clean_auc_bounds",
    "clean_balanced_accuracy",
    "estimate_clean_auc",
    "estimate_clean_balanced_accuracy",
]
