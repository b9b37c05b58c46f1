"""The threshold of scores and the probabilities that they stand for, both from one logistic curve.

By corollary 4, the balanced accuracy on corrupted labels is largest where that on clean labels is.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit

from symloss.audit.quality import logistic_curve

Array = NDArray[np.float64]
_ERRORS = 2.0  # so many standard errors behind the best threshold, the labels tell that another one is worse
_ROUNDING = 1e-6  # networks compute in float32


class Calibration(NamedTuple):
    """A logistic curve of scores: the probability of the positive label is 1 / (1 + exp(-slope s - intercept)).

    Examples
    --------
    >>> Calibration(1.0, 0.0).probabilities(np.array([0.0]))
    array([0.5])
    """

    slope: float
    intercept: float

    def probabilities(self, scores: Array) -> Array:
        """Return the probability of the positive label at each score."""
        if not np.isfinite(scores).all():
            raise ValueError("probabilities need finite scores, got infinite ones or NaN: the model may be damaged")
        with np.errstate(over="ignore"):  # beyond the largest number, a probability is 0 or 1
            return np.asarray(expit(self.slope * scores + self.intercept))


class Curve(NamedTuple):
    """The threshold, and the curve of the scores less the threshold.

    Examples
    --------
    >>> Curve(0.5, Calibration(1.0, 0.0)).threshold
    0.5
    """

    threshold: float
    calibration: Calibration


def fit_curve(scores: Array, positive: NDArray[np.bool_], weight: Array) -> Curve:
    """Fit a logistic curve of the label to scores, choose the threshold, and return both.

    With classes of the same total weight, the curve tells where both labels are equally likely. It uses all scores and
    so hardly follows the noise of the labels, but a logistic curve may not fit. The balanced accuracy itself is a
    random walk from one threshold to the next, and flat around its maximum. So the threshold has to be among those that
    the labels cannot tell apart from the best ones below and above: whose balanced accuracy is at most two standard
    errors of the difference smaller. Of these, the nearest to that of the curve is taken. There, the probability of the
    positive label is its share.

    Parameters
    ----------
    scores : array of n scores
        Scores of points that the model was not fitted on.
    positive : array of n bool
        Whether the label of each point is the positive one.
    weight : array of n weights
        Weight k counts as k repetitions.

    Examples
    --------
    >>> fit_curve(np.array([0.0, 1.0, 4.0, 5.0]), np.array([False, False, True, True]), np.ones(4)).threshold
    2.5
    """
    of_pos, of_neg = weight[positive].sum(), weight[~positive].sum()
    slope, crossing = logistic_curve(
        scores[positive], weight[positive] / of_pos, scores[~positive], weight[~positive] / of_neg
    )
    threshold = _threshold(scores, positive, weight, crossing)
    return Curve(threshold, Calibration(slope, float(np.log(of_pos / of_neg))))


def _threshold(scores: Array, positive: NDArray[np.bool_], weight: Array, target: float) -> float:
    """Return the threshold nearest to a target, among those that the labels cannot tell apart from the best ones."""
    order = np.argsort(scores, kind="stable")
    ordered, sign = scores[order], np.where(positive, -1.0, 1.0)
    # Scores that differ only by rounding, such as those of two equal points, have no threshold between them.
    between = np.flatnonzero(np.diff(ordered) > _ROUNDING * (np.abs(ordered[1:]) + np.abs(ordered[:-1])))
    if not len(between):
        return float(ordered[0])
    share = sign / np.where(positive, weight[positive].sum(), weight[~positive].sum())
    # Twice the gain of a threshold is the share of true positives less the share of false positives.
    gain = np.cumsum((weight * share)[order])[between]
    # Two gains differ by the points between the thresholds. If labels tell nothing there, the signs are random.
    variance = np.cumsum((weight * share**2)[order])[between]
    kept = between[_as_good(gain, variance) & _as_good(gain[::-1], variance[::-1])[::-1]]
    middles = ordered[kept] / 2 + ordered[kept + 1] / 2
    return float(middles[np.argmin(np.abs(middles - target))])


def _as_good(gain: Array, variance: Array) -> NDArray[np.bool_]:
    """Return for each threshold whether the labels cannot tell it from the best one before it."""
    is_best = gain == np.maximum.accumulate(gain)
    best = np.maximum.accumulate(np.where(is_best, np.arange(len(gain)), 0))
    error = np.sqrt(np.abs(variance - variance[best]))
    return np.asarray(gain[best] - gain <= _ERRORS * error + 1e-9)  # equal sums may differ by rounding


def choose_threshold(scores: Array, positive: NDArray[np.bool_], weight: Array) -> float:
    """Return the threshold of ``fit_curve``.

    Examples
    --------
    >>> choose_threshold(np.array([0.0, 1.0, 4.0, 5.0]), np.array([False, False, True, True]), np.ones(4))
    2.5
    """
    return fit_curve(scores, positive, weight).threshold


def clean_probabilities(observed: Array, share: float, pi: float, pi_prime: float) -> Array:
    """Return the probabilities of the clean positive label from those of the observed one.

    With the ratio r of the densities of points labeled positive and negative, the ratio of the clean densities is
    ((1 - pi') r - (1 - pi)) / (pi - pi' r). It is at least 0 if r is at least (1 - pi) / (1 - pi'), and finite if r is
    below pi / pi'; an r beyond these bounds is taken as the nearest bound.

    Parameters
    ----------
    observed : array of n probabilities
        Of the positive label, among points of which a share is labeled positive.
    share : float
        This share.
    pi, pi_prime : float
        The share of clean positives among the points that are labeled positive, and among those labeled negative.

    Examples
    --------
    >>> clean_probabilities(np.array([0.5, 0.8, 0.95]), share=0.5, pi=0.8, pi_prime=0.2).round(3)
    array([0.5, 1. , 1. ])
    """
    labeled_positive, labeled_negative = observed / share, (1 - observed) / (1 - share)
    positive = np.maximum((1 - pi_prime) * labeled_positive - (1 - pi) * labeled_negative, 0.0)
    negative = np.maximum(pi * labeled_negative - pi_prime * labeled_positive, 0.0)
    prior = share * pi + (1 - share) * pi_prime
    return np.asarray(prior * positive / (prior * positive + (1 - prior) * negative))
