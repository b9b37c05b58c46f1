"""Rates on clean labels at one threshold, and the ROC curve at all, from corrupted labels; and what follows from them.

With T and F, the shares above the threshold among the points labeled positive and negative, mutual contamination says
T = pi TPR + (1 - pi) FPR and F = pi' TPR + (1 - pi') FPR. So TPR = ((1 - pi') T - (1 - pi) F) / (pi - pi') and
FPR = (pi F - pi' T) / (pi - pi').
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from symloss.checking import check_fraction
from symloss.corruption import check_contamination
from symloss.metrics.estimates import Estimate, auc_interval, binomial, binomial_at_once, of_sum, variance_of_mean
from symloss.metrics.scores import Sample, class_accuracies, two_samples

Array = NDArray[np.float64]


@dataclass(frozen=True)
class CleanRates:
    """The true and the false positive rate on clean labels, and accuracy, precision, F1 and cost for a class prior.

    Attributes
    ----------
    tpr, fpr : Estimate
        On clean labels. Iterating over the object yields these two.
    corrupted_tpr, corrupted_fpr : Estimate
        On the labels given, with exact binomial (Clopper-Pearson) intervals.
    pi, pi_prime : float
        The rates of the noise.

    Notes
    -----
    All intervals follow from the two binomial intervals, which are independent: their ends are combined as independent
    errors of a sum. The precision is v where prior (1 - v) TPR - v (1 - prior) FPR is 0, which is such a sum, and its
    interval holds all v whose sum has 0 in its interval. The same is done for F1.
    """

    tpr: Estimate
    fpr: Estimate
    corrupted_tpr: Estimate
    corrupted_fpr: Estimate
    pi: float
    pi_prime: float

    def __iter__(self) -> Iterator[Estimate]:
        return iter((self.tpr, self.fpr))

    def accuracy(self, prior: float) -> Estimate:
        """Return the accuracy on clean labels where a share ``prior`` of the points is positive."""
        check_fraction("prior", prior)
        value, low, high = (1 - prior + part for part in self._sum(prior, prior - 1))
        return self._estimate(value, low, high)

    def precision(self, prior: float) -> Estimate:
        """Return the share of clean positives among the points above the threshold, at a class prior."""
        check_fraction("prior", prior)
        found, false = prior * self.tpr.value, (1 - prior) * self.fpr.value
        if found + false == 0:
            raise ValueError(
                "precision needs points that are predicted positive: no clean point is above the threshold"
            )
        return self._ratio(found / (found + false), lambda v: (prior * (1 - v), -v * (1 - prior), 0.0))

    def cost(self, prior: float, *, cost_false_positive: float = 1.0, cost_false_negative: float = 1.0) -> Estimate:
        """Return the expected cost of a point at a class prior; right predictions cost nothing.

        The interval is for a threshold that was not chosen on the same points: for such a one, see ``clean_roc_band``.
        """
        check_fraction("prior", prior)
        check_costs(cost_false_positive, cost_false_negative)
        most = prior * cost_false_negative, (1 - prior) * cost_false_positive
        value, low, high = (min(max(most[0] + part, 0.0), sum(most)) for part in self._sum(-most[0], most[1]))
        return Estimate(value, low, high, self.corrupted_tpr.level)

    def f1(self, prior: float) -> Estimate:
        """Return F1, the harmonic mean of precision and recall, on clean labels at a class prior."""
        check_fraction("prior", prior)
        found, false = prior * self.tpr.value, (1 - prior) * self.fpr.value
        value = 2 * found / (prior + found + false)
        return self._ratio(value, lambda v: (prior * (2 - v), -v * (1 - prior), -v * prior))

    def _sum(self, of_tpr: float, of_fpr: float) -> tuple[float, float, float]:
        """Return a sum of multiples of the clean rates, and its interval; none is kept inside [0, 1]."""
        between = self.pi - self.pi_prime
        factors = (
            (of_tpr * (1 - self.pi_prime) - of_fpr * self.pi_prime) / between,
            (of_fpr * self.pi - of_tpr * (1 - self.pi)) / between,
        )
        corrupted = (self.corrupted_tpr, self.corrupted_fpr)
        values = [rate.value for rate in corrupted]
        low, high = of_sum(factors, values, [(rate.low, rate.high) for rate in corrupted])
        return factors[0] * values[0] + factors[1] * values[1], low, high

    def _ratio(self, value: float, terms: Any) -> Estimate:
        """Return a value with the interval of all v in [0, 1] for which the sum of ``terms(v)`` may be 0."""
        from scipy.optimize import brentq

        def end(v: float, which: int) -> float:
            of_tpr, of_fpr, constant = terms(v)
            return float(self._sum(of_tpr, of_fpr)[which] + constant)

        # Each sum falls as v grows.
        low, high = (
            0.0 if end(0.0, which) <= 0 else 1.0 if end(1.0, which) >= 0 else float(brentq(end, 0.0, 1.0, which))
            for which in (1, 2)
        )
        return self._estimate(value, min(low, value), max(high, value))

    def _estimate(self, *ends: float) -> Estimate:
        value, low, high = (min(1.0, max(0.0, end)) for end in ends)
        return Estimate(value, low, high, self.corrupted_tpr.level)


def clean_rates(
    scores: Any,
    y: Any,
    pi: float,
    pi_prime: float,
    threshold: float = 0.0,
    *,
    level: float = 0.95,
    weight: Any = None,
) -> CleanRates:
    """Estimate true and false positive rates on clean labels, and with a class prior accuracy, precision and F1.

    Parameters
    ----------
    scores, y, pi, pi_prime, level, weight
        As in ``estimate_clean_auc``.
    threshold : float
        Scores above it are predicted positive. A score at the threshold counts one half.

    Returns
    -------
    CleanRates
        ``tpr`` and ``fpr``, each with ``value``, ``low`` and ``high``, and the methods ``accuracy(prior)``,
        ``precision(prior)``, ``f1(prior)`` and ``cost(prior)``, where ``prior`` is the share of positives in the data
        you care about.

    Examples
    --------
    >>> import numpy as np
    >>> rng = np.random.default_rng(0)
    >>> y = np.repeat([1, -1], 2000)
    >>> clean = np.where(rng.random(4000) < np.where(y == 1, 0.8, 0.3), 1, -1)
    >>> rates = clean_rates(clean + rng.normal(size=4000), y, pi=0.8, pi_prime=0.3, threshold=0)
    >>> print(rates.tpr)  # the truth is 0.841
    0.840 (95% interval 0.810 to 0.869)
    >>> print(rates.precision(prior=0.1))  # the truth is 0.371
    0.346 (95% interval 0.299 to 0.404)
    """
    check_contamination(pi, pi_prime)
    check_fraction("level", level)
    if math.isnan(threshold):
        raise ValueError("threshold must be a number, got nan")
    return clean_rates_of(*two_samples(scores, y, weight), pi, pi_prime, threshold, level)


def clean_rates_of(
    pos: Sample, neg: Sample, pi: float, pi_prime: float, threshold: float, level: float = 0.95
) -> CleanRates:
    """Return what ``clean_rates`` does, for two samples that are checked."""
    above, below = class_accuracies(pos, neg, threshold)
    corrupted_tpr = Estimate(above, *binomial(above, pos.size, level), level)
    corrupted_fpr = Estimate(1 - below, *binomial(1 - below, neg.size, level), level)
    bare = CleanRates(corrupted_tpr, corrupted_fpr, corrupted_tpr, corrupted_fpr, pi, pi_prime)
    sums = [bare._sum(*factors) for factors in ((1.0, 0.0), (0.0, 1.0))]
    if any(low > 1 or high < 0 for _, low, high in sums):
        warnings.warn(
            f"rates of {above:.3f} and {1 - below:.3f} on labels at (pi, pi') = ({pi:g}, {pi_prime:g}) cannot be: on "
            f"clean labels they would lie outside [0, 1]; pi must be larger or pi' smaller",
            stacklevel=3,
        )
    tpr, fpr = (bare._estimate(*found) for found in sums)
    return CleanRates(tpr, fpr, corrupted_tpr, corrupted_fpr, pi, pi_prime)


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
        if not 0 < max_fpr <= 1:
            raise ValueError(f"max_fpr must be above 0 and at most 1, got {max_fpr!r}")
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
        As in ``estimate_clean_auc``. For intervals, see ``clean_rates`` and ``clean_roc_band``.

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


def clean_roc_band(
    scores: Any, y: Any, pi: float, pi_prime: float, *, level: float = 0.95, weight: Any = None
) -> tuple[CleanROC, CleanROC]:
    """Return the worst and the best ROC curve on clean labels that agree with labels drawn at (pi, pi').

    Parameters
    ----------
    scores, y, pi, pi_prime, weight
        As in ``estimate_clean_auc``.
    level : float
        How often the curve on clean labels is to lie between the two as a whole, at every threshold.

    Returns
    -------
    worst, best : CleanROC
        Both have the thresholds of ``clean_roc``. Each method of the one returns the lower end of an interval, and that
        of the other the upper end (for costs, it is the other way round): of precision and recall, accuracy, F1 or
        cost at every threshold, or of the partial AUC. All these intervals hold at once, so they also do at a threshold
        that was chosen on the same points.

    Notes
    -----
    The shares of points labeled positive and negative above all thresholds have exact binomial limits at a level at
    which all of them hold together, with the probability ``level``. In the worst case, the true share of positives is
    at its lower limit and that of negatives at its upper limit. The clean rates follow as in ``clean_rates``. At one
    threshold that you know beforehand, and for the partial AUC, the intervals of ``clean_rates`` and
    ``estimate_clean_partial_auc`` are narrower.
    """
    check_contamination(pi, pi_prime)
    check_fraction("level", level)
    pos, neg = two_samples(scores, y, weight)
    above, false, thresholds = given_rates(pos, neg)
    sizes = pos.size, neg.size
    warn_if_impossible(above, false, sizes, pi, pi_prime)
    (most_fpr, least_tpr), (least_fpr, most_tpr) = _limits(above, false, sizes, pi, pi_prime, level)
    curve = curve_of(above, false, thresholds, pi, pi_prime)

    # True rates never fall, so a limit of one also holds for those that must be at least, or at most, as large.
    def at_most(limit: Array, rates: Array) -> Array:
        return np.asarray(np.clip(np.maximum(np.minimum.accumulate(limit[::-1])[::-1], rates), 0.0, 1.0))

    def at_least(limit: Array, rates: Array) -> Array:
        return np.asarray(np.clip(np.minimum(np.maximum.accumulate(limit), rates), 0.0, 1.0))

    worst = at_most(most_fpr, curve.fpr), at_least(least_tpr, curve.tpr), thresholds, most_fpr, least_tpr
    best = at_least(least_fpr, curve.fpr), at_most(most_tpr, curve.tpr), thresholds, least_fpr, most_tpr
    return CleanROC(*worst), CleanROC(*best)


def warn_if_impossible(above: Array, false: Array, sizes: tuple[float, float], pi: float, pi_prime: float) -> None:
    """Warn if rates inside [0, 1] on clean labels agree with those on labels at (pi, pi') once in a thousand times."""
    (most_fpr, least_tpr), (least_fpr, most_tpr) = _limits(above, false, sizes, pi, pi_prime, 0.999)
    if max(least_tpr.max(), least_fpr.max()) > 1 or min(most_tpr.min(), most_fpr.min()) < 0:
        warnings.warn(
            f"labels at (pi, pi') = ({pi:g}, {pi_prime:g}) cannot be: at some threshold, the rates on clean labels "
            f"would lie outside [0, 1]; pi must be larger or pi' smaller",
            stacklevel=3,
        )


def _limits(
    above: Array, false: Array, sizes: tuple[float, float], pi: float, pi_prime: float, level: float
) -> tuple[tuple[Array, Array], tuple[Array, Array]]:
    """Return the false and true positive rates in the worst and in the best case."""
    of_each = math.sqrt(level)  # the two classes are independent
    of_pos, of_neg = (binomial_at_once(shares, n, of_each) for shares, n in zip((above, false), sizes, strict=True))
    return solved(of_pos[0], of_neg[1], pi, pi_prime), solved(of_pos[1], of_neg[0], pi, pi_prime)


def given_rates(pos: Sample, neg: Sample) -> tuple[Array, Array, Array]:
    """Return the shares of the positives and of the negatives at or above each threshold, and the thresholds."""
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
    """Return the curve on clean labels that belongs to rates on labels at (pi, pi')."""
    from sklearn.isotonic import isotonic_regression

    raw_fpr, raw_tpr = solved(above, false, pi, pi_prime)
    fpr, tpr = (np.clip(isotonic_regression(raw), 0.0, 1.0) for raw in (raw_fpr, raw_tpr))
    return CleanROC(fpr, tpr, thresholds, raw_fpr, raw_tpr)


def solved(above: Array, false: Array, pi: float, pi_prime: float) -> tuple[Array, Array]:
    """Return the false and true positive rates on clean labels that belong to rates on labels at (pi, pi')."""
    fpr = (pi * false - pi_prime * above) / (pi - pi_prime)
    tpr = ((1 - pi_prime) * above - (1 - pi) * false) / (pi - pi_prime)
    return fpr, tpr


def check_costs(cost_false_positive: float, cost_false_negative: float) -> None:
    """Raise a ValueError if a cost is negative or not finite."""
    for name, cost in (("positive", cost_false_positive), ("negative", cost_false_negative)):
        if not 0 <= cost < np.inf:
            raise ValueError(f"cost_false_{name} must be a finite number of at least 0, got {cost!r}")


# Let T and F be the shares above a threshold of the points labeled positive and negative, and t the threshold where the
# false positive rate is the largest one, c. If T and F are off by small errors e and f, then the area under the clean
# curve up to c is off by the integral above t of (error of TPR) dFPR - (error of FPR) dTPR: what the error of t adds
# cancels. (FPR, TPR) is a linear map of (F, T) with determinant 1 / (pi - pi'), so this is the integral of e dF - f dT,
# divided by pi - pi'. It has the form of the error of an AUC, that of the points labeled positive against those labeled
# negative above t, and so its variance is computed like DeLong's.
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
        As in ``estimate_clean_auc``.
    max_fpr : float
        The largest false positive rate, above 0.

    Notes
    -----
    The value is that of ``clean_roc``. Because its curve is kept inside [0, 1], the value for an excellent ranker is a
    little too small on average. The width of the interval is that of the AUC of the points labeled positive against
    those labeled negative above the threshold where the rate is ``max_fpr``. A standard error is added to this
    rate, since the threshold is not known exactly. That AUC's interval is the one of ``estimate_clean_auc``.

    Examples
    --------
    >>> scores, y = [4, 3, 2, 1] * 30, [1, 0, 1, 0] * 30
    >>> print(estimate_clean_partial_auc(scores, y, pi=1, pi_prime=0, max_fpr=0.5))
    0.500 (95% interval 0.317 to 0.671)
    """
    check_contamination(pi, pi_prime)
    check_fraction("level", level)
    pos, neg = two_samples(scores, y, weight)
    above, false, thresholds = given_rates(pos, neg)
    curve = curve_of(above, false, thresholds, pi, pi_prime)
    value = curve.partial_auc(max_fpr)
    sizes = pos.size, neg.size
    warn_if_impossible(above, false, sizes, pi, pi_prime)
    wider = min(1.0, max_fpr + _error(max_fpr, sizes, pi, pi_prime))
    of_pos, of_neg = _shares_where(curve, wider, above, false)
    of_neg = max(of_neg, 1 / neg.size)  # at least one point
    beaten = _area_beside(pos.scores, thresholds, false, of_neg) / of_neg
    beating = _area_beside(neg.scores, thresholds, above, of_pos) / of_neg
    local = float(np.average(beaten, weights=pos.weight))  # V
    variances = variance_of_mean(beaten, pos), variance_of_mean(beating, neg)
    low, high = auc_interval(local, variances, (pos.size, neg.size * of_neg), level)
    factor = of_neg / ((pi - pi_prime) * max_fpr)
    ends = max(0.0, value - factor * (local - low)), min(1.0, value + factor * (high - local))
    return Estimate(value, *ends, level)


def _shares_where(curve: CleanROC, fpr: float, above: Array, false: Array) -> tuple[float, float]:
    """Return the shares of labeled positives and negatives above the threshold where the curve has a rate."""
    place = np.interp(fpr, curve.fpr, np.arange(len(above)))
    of_pos, of_neg = (float(np.interp(place, np.arange(len(above)), shares)) for shares in (above, false))
    return of_pos, of_neg


def _area_beside(scores: Array, thresholds: Array, rates: Array, end: float) -> Array:
    """Return how much of the rates up to ``end`` lies below each score; of those at it, a tie takes one half.

    If the end is amid the points with the score, it cuts the straight line on which the curve passes them.
    """
    largest = np.finfo(np.float64).max
    place = np.searchsorted(-thresholds, -np.clip(scores, -largest, largest))
    first, last = rates[place - 1], rates[place]
    step = last - first
    at = np.clip(end - first, 0.0, step)
    half = np.divide(at**2, 2 * step, out=np.zeros(len(scores)), where=step > 0)
    return np.asarray(half + np.maximum(end - last, 0.0))


def _error(fpr: float, sizes: tuple[float, float], pi: float, pi_prime: float) -> float:
    """Return the standard error of a false positive rate, at a threshold that all positives are above."""
    above, false = (share + (1 - share) * fpr for share in (pi, pi_prime))
    variance = pi_prime**2 * above * (1 - above) / sizes[0] + pi**2 * false * (1 - false) / sizes[1]
    return math.sqrt(variance) / (pi - pi_prime)
