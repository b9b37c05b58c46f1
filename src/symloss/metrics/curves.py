"""The ROC curve on clean labels, from corrupted ones, and what follows from it for a class prior and costs."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from symloss.checking import check_fraction
from symloss.corruption import check_contamination
from symloss.metrics.samples import Sample, two_samples

Array = NDArray[np.float64]


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
        check_max_fpr(max_fpr)
        fpr, tpr = np.concatenate([[0.0], self.fpr, [1.0]]), np.concatenate([[0.0], self.tpr, self.tpr[-1:]])
        end = int(np.searchsorted(fpr, max_fpr, "right"))  # the first point beyond the largest rate
        tpr = np.append(tpr[:end], np.interp(max_fpr, fpr, tpr))
        return float(np.diff(np.append(fpr[:end], max_fpr)) @ (tpr[1:] + tpr[:-1]) / 2 / max_fpr)

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

    def cost(self, prior: float, *, cost_false_positive: float = 1.0, cost_false_negative: float = 1.0) -> Array:
        """Return the expected cost of a point at every threshold; right predictions cost nothing."""
        check_costs(cost_false_positive, cost_false_negative)
        found, false = self._shares(prior)
        return np.asarray(cost_false_positive * false + cost_false_negative * (prior - found))

    def best_threshold(
        self, prior: float, *, cost_false_positive: float = 1.0, cost_false_negative: float = 1.0
    ) -> float:
        """Return the threshold of the smallest expected cost: scores above it are predicted positive.

        It lies halfway between two scores. It is infinite if it costs least to predict the same class for all points.
        ``cost`` has what each threshold costs, and ``clean_roc_band`` how sure this is.
        """
        costs = {"cost_false_positive": cost_false_positive, "cost_false_negative": cost_false_negative}
        best = int(np.argmin(self.cost(prior, **costs)))
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
        As in ``clean_rates``. It gives intervals at one threshold, and ``clean_roc_band`` at all thresholds at once.

    Returns
    -------
    CleanROC
        ``fpr``, ``tpr`` and ``thresholds``, and methods for the partial AUC, and for precision, accuracy, F1, cost and
        the best threshold at a class prior.

    Notes
    -----
    At each threshold, the rates follow from those on the labels given (see ``clean_rates``). They are replaced by the
    nearest ones that never fall (isotonic regression), and kept inside [0, 1]. All else follows from these. So the area
    under the whole curve is at most 1, and can differ a little from ``estimate_clean_auc``, which needs no curve.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> y = np.repeat([1, -1], 2000)
    >>> clean = np.where(rng.random(4000) < np.where(y == 1, 0.8, 0.3), 1, -1)
    >>> scores = clean + rng.normal(size=4000)
    >>> curve = clean_roc(scores, y, pi=0.8, pi_prime=0.3)
    >>> print(f"{curve.partial_auc():.2f}, and {curve.partial_auc(0.2):.2f} up to a false positive rate of 0.2")
    0.92, and 0.71 up to a false positive rate of 0.2
    """
    check_contamination(pi, pi_prime)
    return curve_of(*given_rates(*two_samples(scores, y, weight)), pi, pi_prime)


def given_rates(pos: Sample, neg: Sample) -> tuple[Array, Array, Array]:
    """Return the shares of the positives and of the negatives at or above each threshold, and the thresholds.

    Examples
    --------
    >>> given_rates(*two_samples([1, 2, 3], [0, 1, 1], None))
    (array([0. , 0.5, 1. , 1. ]), array([0., 0., 0., 1.]), array([inf,  3.,  2.,  1.]))
    """
    largest = np.finfo(np.float64).max  # only the order counts: infinite scores tie with the largest number
    scores, places = np.unique(
        np.clip(np.concatenate([pos.scores, neg.scores]), -largest, largest), return_inverse=True
    )
    places = len(scores) - 1 - places
    rates = []
    for of, sample in ((places[: len(pos.scores)], pos), (places[len(pos.scores) :], neg)):
        above = np.concatenate([[0.0], np.cumsum(np.bincount(of, sample.weight, len(scores)))])
        rates.append(above / above[-1])
    return rates[0], rates[1], np.concatenate([[np.inf], scores[::-1]])


def curve_of(above: Array, false: Array, thresholds: Array, pi: float, pi_prime: float) -> CleanROC:
    """Return the curve on clean labels that belongs to rates on labels at (pi, pi').

    Examples
    --------
    >>> curve_of(*given_rates(*two_samples([1, 2, 3], [0, 1, 1], None)), pi=1, pi_prime=0).tpr
    array([0. , 0.5, 1. , 1. ])
    """
    from sklearn.isotonic import isotonic_regression

    raw_fpr, raw_tpr = solved(above, false, pi, pi_prime)
    fpr, tpr = (np.clip(isotonic_regression(raw), 0.0, 1.0) for raw in (raw_fpr, raw_tpr))
    return CleanROC(fpr, tpr, thresholds, raw_fpr, raw_tpr)


def solved(above: Array, false: Array, pi: float, pi_prime: float) -> tuple[Array, Array]:
    """Return the false and true positive rates on clean labels that belong to rates on labels at (pi, pi').

    Examples
    --------
    >>> [rate.round(6) for rate in solved(np.array([0.64]), np.array([0.34]), pi=0.8, pi_prime=0.3)]
    [array([0.16]), array([0.76])]
    """
    fpr = (pi * false - pi_prime * above) / (pi - pi_prime)
    tpr = ((1 - pi_prime) * above - (1 - pi) * false) / (pi - pi_prime)
    return fpr, tpr


def check_max_fpr(max_fpr: float) -> None:
    """Raise a ValueError if the largest false positive rate of a partial AUC is not above 0 and at most 1.

    Examples
    --------
    >>> check_max_fpr(0.2)
    """
    if not 0 < max_fpr <= 1:
        raise ValueError(f"max_fpr must be above 0 and at most 1, got {max_fpr!r}")


def check_costs(cost_false_positive: float, cost_false_negative: float) -> None:
    """Raise a ValueError if a cost is negative or not finite.

    Examples
    --------
    >>> check_costs(1.0, 5.0)
    """
    for name, cost in (("positive", cost_false_positive), ("negative", cost_false_negative)):
        if not 0 <= cost < np.inf:
            raise ValueError(f"cost_false_{name} must be a finite number of at least 0, got {cost!r}")
