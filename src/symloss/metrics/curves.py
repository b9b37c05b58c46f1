"""The ROC curve on clean labels, from corrupted ones, and what follows from it for a class prior and costs."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from symloss.checking import check_fraction
from symloss.corruption import check_contamination
from symloss.metrics.estimates import Estimate
from symloss.metrics.intervals import expit, student
from symloss.metrics.samples import Sample, two_samples

Array = NDArray[np.float64]
_RESAMPLED = 200


@dataclass(frozen=True)
class CleanROC:
    """A ROC curve on clean labels; iterating over it yields ``fpr``, ``tpr`` and ``thresholds``.

    Attributes
    ----------
    fpr, tpr : array of k floats
        False and true positive rates, which never fall and stay inside [0, 1].
    thresholds : array of k floats
        Scores that are at least as large as the threshold are predicted positive. They fall, and the first is infinite.
    raw_fpr, raw_tpr : array of k floats
        The rates as the formulas give them: unbiased, but by chance they may fall, and leave [0, 1].

    Examples
    --------
    >>> curve = clean_roc([4, 3, 2, 1], ["yes", "yes", "no", "no"], pi=1, pi_prime=0)
    >>> fpr, tpr, thresholds = curve
    >>> curve.best_threshold(prior=0.5)
    2.5
    """

    fpr: Array
    tpr: Array
    thresholds: Array
    raw_fpr: Array
    raw_tpr: Array

    def __iter__(self) -> Iterator[Array]:
        return iter((self.fpr, self.tpr, self.thresholds))

    def partial_auc(self, max_fpr: float = 1.0) -> float:
        """Return the mean true positive rate over false positive rates from 0 to ``max_fpr``: the AUC if that is 1."""
        return _partial_auc(self, _checked(max_fpr))

    def precision_recall(self, prior: float) -> tuple[Array, Array]:
        """Return precision and recall at every threshold; precision is NaN where no clean point is above it."""
        found, false = self._shares(prior)
        with np.errstate(invalid="ignore"):
            return found / (found + false), self.tpr

    def accuracy(self, prior: float) -> Array:
        """Return the accuracy at every threshold where a share ``prior`` of the points is positive."""
        found, false = self._shares(prior)
        return np.asarray(found + 1 - prior - false)

    def f1(self, prior: float) -> Array:
        """Return F1 at every threshold where a share ``prior`` of the points is positive."""
        found, false = self._shares(prior)
        return np.asarray(2 * found / (prior + found + false))

    def best_threshold(
        self, prior: float, *, cost_false_positive: float = 1.0, cost_false_negative: float = 1.0
    ) -> float:
        """Return the threshold of the smallest expected cost: scores above it are predicted positive.

        It lies halfway between two scores. It is infinite if it costs least to predict the same class for all points.
        """
        for name, cost in (("positive", cost_false_positive), ("negative", cost_false_negative)):
            if not 0 <= cost < np.inf:
                raise ValueError(f"cost_false_{name} must be a finite number of at least 0, got {cost!r}")
        found, false = self._shares(prior)
        best = int(np.argmin(cost_false_positive * false - cost_false_negative * found))
        lower = np.append(self.thresholds[1:], -np.inf)[best]
        return float(self.thresholds[best] / 2 + lower / 2)

    def _shares(self, prior: float) -> tuple[Array, Array]:
        """Return the shares of all points that are true and false positives."""
        check_fraction("prior", prior)
        return prior * self.tpr, (1 - prior) * self.fpr


def clean_roc(scores: Any, y: Any, pi: float, pi_prime: float, *, weight: Any = None) -> CleanROC:
    """Return the ROC curve on clean labels, from corrupted labels drawn at (pi, pi').

    Parameters
    ----------
    scores, y, pi, pi_prime, weight
        As in ``clean_rates``, which gives intervals at one threshold.

    Returns
    -------
    CleanROC
        ``fpr``, ``tpr`` and ``thresholds``, and methods for the partial AUC, and for precision, accuracy, F1 and the
        best threshold at a class prior.

    Notes
    -----
    At each threshold, the rates follow from those on the labels given (see ``clean_rates``). They are replaced by the
    nearest ones that never fall (isotonic regression), and kept inside [0, 1]. The partial AUC is computed from the
    rates before that; over all false positive rates it is ``clean_auc`` of the AUC on the labels given.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> y = np.repeat([1, -1], 2000)
    >>> clean = np.where(rng.random(4000) < np.where(y == 1, 0.8, 0.3), 1, -1)
    >>> scores = clean + rng.normal(size=4000)
    >>> curve = clean_roc(scores, y, pi=0.8, pi_prime=0.3)
    >>> print(f"{curve.partial_auc():.2f}, and {curve.partial_auc(0.2):.2f} up to a false positive rate of 0.2")
    0.92, and 0.73 up to a false positive rate of 0.2
    """
    check_contamination(pi, pi_prime)
    return _curve(_Steps.of(*two_samples(scores, y, weight)), pi, pi_prime)


def estimate_clean_partial_auc(
    scores: Any,
    y: Any,
    pi: float,
    pi_prime: float,
    max_fpr: float,
    *,
    level: float = 0.95,
    weight: Any = None,
) -> Estimate:
    """Estimate the mean true positive rate on clean labels over false positive rates from 0 to ``max_fpr``.

    Parameters
    ----------
    scores, y, pi, pi_prime, level, weight
        As in ``clean_rates``.
    max_fpr : float
        The largest false positive rate, above 0.

    Notes
    -----
    Points of either class are drawn anew 200 times, always with the same seed (bootstrap). The interval joins two: that
    between the quantiles of the partial AUCs drawn, and one on the logit scale from their standard deviation. The
    latter has Student's quantile, with as many degrees of freedom as the smaller class has points that count: of the
    negatives, those are a share ``max_fpr``.

    Examples
    --------
    >>> scores, y = [4, 3, 2, 1] * 30, [1, 0, 1, 0] * 30
    >>> print(estimate_clean_partial_auc(scores, y, pi=1, pi_prime=0, max_fpr=0.5))
    0.500 (95% interval 0.354 to 0.655)
    """
    check_contamination(pi, pi_prime)
    check_fraction("level", level)
    pos, neg = two_samples(scores, y, weight)
    steps, max_fpr = _Steps.of(pos, neg), _checked(max_fpr)
    generator = np.random.default_rng(0)
    drawn = [_partial_auc(_curve(steps.drawn_anew(generator), pi, pi_prime), max_fpr) for _ in range(_RESAMPLED)]
    value = _partial_auc(_curve(steps, pi, pi_prime), max_fpr)
    low, high = (float(end) for end in np.quantile(drawn, [(1 - level) / 2, (1 + level) / 2]))
    freedom = max(min(pos.size, max_fpr * neg.size) - 1, 1.0)
    inside = min(max(value, 0.5 / pos.size), 1 - 0.5 / pos.size)  # where the logit is finite
    error = float(np.std(drawn)) * math.sqrt((freedom + 1) / freedom)
    width = student(level, freedom) * error / (inside * (1 - inside))
    logit = math.log(inside / (1 - inside))
    return Estimate(value, min(low, value, expit(logit - width)), max(high, value, expit(logit + width)), level)


@dataclass(frozen=True)
class _Steps:
    """Distinct scores, the largest first, and the points of either class: their places among them, and weights."""

    scores: Array
    places: tuple[NDArray[np.intp], NDArray[np.intp]]
    weights: tuple[Array, Array]

    @classmethod
    def of(cls, pos: Sample, neg: Sample) -> _Steps:
        largest = np.finfo(np.float64).max  # only the order counts: infinite scores tie with the largest number
        scores, places = np.unique(
            np.clip(np.concatenate([pos.scores, neg.scores]), -largest, largest), return_inverse=True
        )
        places = len(scores) - 1 - places
        n = len(pos.scores)
        return cls(scores[::-1], (places[:n], places[n:]), (pos.weight, neg.weight))

    def drawn_anew(self, generator: np.random.Generator) -> _Steps:
        """Return as many points of either class, drawn with replacement."""
        counts = [generator.multinomial(len(weight), np.full(len(weight), 1 / len(weight))) for weight in self.weights]
        return _Steps(self.scores, self.places, (self.weights[0] * counts[0], self.weights[1] * counts[1]))

    def rates(self) -> tuple[Array, Array]:
        """Return the shares of positives and of negatives at or above each score, after a first share of 0."""
        rates = []
        for places, weight in zip(self.places, self.weights, strict=True):
            above = np.concatenate([[0.0], np.cumsum(np.bincount(places, weight, len(self.scores)))])
            rates.append(above / above[-1] if above[-1] > 0 else above)
        return rates[0], rates[1]


def _curve(steps: _Steps, pi: float, pi_prime: float) -> CleanROC:
    from sklearn.isotonic import isotonic_regression

    above, false = steps.rates()
    raw_tpr = ((1 - pi_prime) * above - (1 - pi) * false) / (pi - pi_prime)
    raw_fpr = (pi * false - pi_prime * above) / (pi - pi_prime)
    fpr, tpr = (np.clip(isotonic_regression(raw), 0.0, 1.0) for raw in (raw_fpr, raw_tpr))
    return CleanROC(fpr, tpr, np.concatenate([[np.inf], steps.scores]), raw_fpr, raw_tpr)


def _partial_auc(curve: CleanROC, max_fpr: float) -> float:
    last = int(np.searchsorted(curve.fpr, max_fpr, "right")) - 1  # the last point at or below the largest rate
    tpr, fpr = curve.raw_tpr[: last + 1], curve.raw_fpr[: last + 1]
    area = float(np.diff(fpr) @ (tpr[1:] + tpr[:-1]) / 2)
    if last + 1 < len(curve.fpr):  # the part of a step up to the largest rate
        step = (max_fpr - curve.fpr[last]) / (curve.fpr[last + 1] - curve.fpr[last])
        height = curve.tpr[last] + step * (curve.tpr[last + 1] - curve.tpr[last]) / 2
        area += (max_fpr - curve.fpr[last]) * height
    return min(1.0, max(0.0, area / max_fpr))


def _checked(max_fpr: float) -> float:
    if not 0 < max_fpr <= 1:
        raise ValueError(f"max_fpr must be above 0 and at most 1, got {max_fpr!r}")
    return float(max_fpr)
