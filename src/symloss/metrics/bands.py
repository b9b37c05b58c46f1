"""The worst and the best ROC curve on clean labels that agree with corrupted ones, at all thresholds at once."""

from __future__ import annotations

import math
import warnings
from typing import Any

import numpy as np
from numpy.typing import NDArray

from symloss.checking import check_fraction
from symloss.corruption import check_contamination
from symloss.metrics.curves import CleanROC, curve_of, given_rates, solved
from symloss.metrics.intervals import binomial_at_once
from symloss.metrics.samples import two_samples

Array = NDArray[np.float64]


def clean_roc_band(
    scores: Any, y: Any, pi: float, pi_prime: float, *, level: float = 0.95, weight: Any = None
) -> tuple[CleanROC, CleanROC]:
    """Return the worst and the best ROC curve on clean labels that agree with labels drawn at (pi, pi').

    Parameters
    ----------
    scores, y, pi, pi_prime, weight
        As in ``clean_rates``.
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

    Examples
    --------
    >>> from symloss.metrics import clean_roc
    >>> rng = np.random.default_rng(0)
    >>> y = np.repeat([1, -1], 5000)
    >>> clean = np.where(rng.random(10000) < np.where(y == 1, 0.8, 0.3), 1, -1)
    >>> scores = clean + rng.normal(size=10000)
    >>> worst, best = clean_roc_band(scores, y, pi=0.8, pi_prime=0.3)
    >>> at = clean_roc(scores, y, pi=0.8, pi_prime=0.3).cost(prior=0.3).argmin()
    >>> print(f"the best threshold costs {best.cost(prior=0.3)[at]:.2f} to {worst.cost(prior=0.3)[at]:.2f}")
    the best threshold costs 0.10 to 0.20
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
    worst = CleanROC(
        np.clip(np.maximum(_least_of_later(most_fpr), curve.fpr), 0.0, 1.0),
        np.clip(np.minimum(np.maximum.accumulate(least_tpr), curve.tpr), 0.0, 1.0),
        thresholds,
        most_fpr,
        least_tpr,
    )
    best = CleanROC(
        np.clip(np.minimum(np.maximum.accumulate(least_fpr), curve.fpr), 0.0, 1.0),
        np.clip(np.maximum(_least_of_later(most_tpr), curve.tpr), 0.0, 1.0),
        thresholds,
        least_fpr,
        most_tpr,
    )
    return worst, best


def warn_if_impossible(above: Array, false: Array, sizes: tuple[float, float], pi: float, pi_prime: float) -> None:
    """Warn if rates inside [0, 1] on clean labels agree with those on labels at (pi, pi') once in a thousand times.

    Examples
    --------
    >>> warn_if_impossible(np.array([0.0, 0.8, 1.0]), np.array([0.0, 0.3, 1.0]), (50, 50), pi=0.8, pi_prime=0.3)
    """
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


def _least_of_later(rates: Array) -> Array:
    return np.asarray(np.minimum.accumulate(rates[::-1])[::-1])
