"""The partial AUC on clean labels, from corrupted ones, with an interval.

Let T and F be the shares above a threshold of the points labeled positive and negative, and t the threshold where the
false positive rate is the largest one, c. If T and F are off by small errors e and f, then the area under the clean
curve up to c is off by the integral above t of (error of TPR) dFPR - (error of FPR) dTPR: what the error of t adds
cancels. (FPR, TPR) is a linear map of (F, T) with determinant 1 / (pi - pi'), so this is the integral of e dF - f dT,
divided by pi - pi'. It has the form of the error of an AUC, that of the points labeled positive against those labeled
negative above t, and so its variance is computed like DeLong's.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from symloss.checking import check_fraction
from symloss.corruption import check_contamination
from symloss.metrics.curves import CleanROC, check_max_fpr, curve_of, given_rates, warn_if_impossible
from symloss.metrics.estimates import Estimate, auc_interval, variance_of_mean
from symloss.metrics.samples import two_samples

Array = NDArray[np.float64]


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
    check_max_fpr(max_fpr)
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
