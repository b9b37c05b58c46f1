"""The threshold of scores and the probabilities that they stand for, both from one logistic curve."""

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
    """A logistic curve of scores: the probability of the positive label is 1 / (1 + exp(-slope s - intercept))."""

    slope: float
    intercept: float

    def probabilities(self, scores: Array) -> Array:
        """Return the probability of the positive label at each score."""
        if not np.isfinite(scores).all():
            raise ValueError("probabilities need finite scores, got infinite ones or NaN: the model may be damaged")
        with np.errstate(over="ignore"):  # beyond the largest number, a probability is 0 or 1
            return np.asarray(expit(self.slope * scores + self.intercept))


def fit_curve(scores: Array, positive: NDArray[np.bool_], weight: Array) -> tuple[float, Calibration]:
    """Return a threshold for held-out scores, and the probabilities of scores less the threshold.

    By corollary 4, the balanced accuracy on corrupted labels is largest where that on clean labels is. But it is a
    random walk from one threshold to the next, and flat around its maximum. A logistic curve of the label, with classes
    of the same total weight, uses all scores and hardly follows the noise, but may not fit. So the threshold has to be
    among those that the labels cannot tell apart from the best ones below and above: whose balanced accuracy is at most
    two standard errors of the difference smaller. Of these, the nearest to where the curve crosses 1/2 is taken. There,
    the probability of the positive label is its share.
    """
    of_pos, of_neg = weight[positive].sum(), weight[~positive].sum()
    share = weight / np.where(positive, of_pos, of_neg)
    slope, crossing = logistic_curve(scores[positive], share[positive], scores[~positive], share[~positive])
    calibration = Calibration(slope, float(np.log(of_pos / of_neg)))
    order = np.argsort(scores, kind="stable")
    ordered = scores[order]
    # Scores that differ only by rounding, such as those of two equal points, have no threshold between them.
    between = np.flatnonzero(np.diff(ordered) > _ROUNDING * (np.abs(ordered[1:]) + np.abs(ordered[:-1])))
    if not len(between):
        return float(ordered[0]), calibration
    # Twice the gain of a threshold is the share of true positives less the share of false positives.
    gain = np.cumsum(np.where(positive, -share, share)[order])[between]
    # Two gains differ by the points between the thresholds. If labels tell nothing there, the signs are random.
    variance = np.cumsum((share**2 / weight)[order])[between]
    kept = between[_as_good(gain, variance) & _as_good(gain[::-1], variance[::-1])[::-1]]
    middles = ordered[kept] / 2 + ordered[kept + 1] / 2
    return float(middles[np.argmin(np.abs(middles - crossing))]), calibration


def _as_good(gain: Array, variance: Array) -> NDArray[np.bool_]:
    """Return for each threshold whether the labels cannot tell it from the best one before it."""
    is_best = gain == np.maximum.accumulate(gain)
    best = np.maximum.accumulate(np.where(is_best, np.arange(len(gain)), 0))
    error = np.sqrt(np.abs(variance - variance[best]))
    return np.asarray(gain[best] - gain <= _ERRORS * error + 1e-9)  # equal sums may differ by rounding


def clean_probabilities(observed: Array, share: float, pi: float, pi_prime: float) -> Array:
    """Return the probabilities of the clean positive label from those of the observed one, which has this share.

    With the ratio r of the densities of points labeled positive and negative, the ratio of the clean densities is
    ((1 - pi') r - (1 - pi)) / (pi - pi' r). It is at least 0 if r is at least (1 - pi) / (1 - pi'), and finite if r is
    below pi / pi'; an r beyond these bounds is taken as the nearest bound.
    """
    labeled_positive, labeled_negative = observed / share, (1 - observed) / (1 - share)
    positive = np.maximum((1 - pi_prime) * labeled_positive - (1 - pi) * labeled_negative, 0.0)
    negative = np.maximum(pi * labeled_negative - pi_prime * labeled_positive, 0.0)
    prior = share * pi + (1 - share) * pi_prime
    return np.asarray(prior * positive / (prior * positive + (1 - prior) * negative))
