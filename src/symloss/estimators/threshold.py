"""A threshold chosen by balanced accuracy on corrupted labels.

By corollary 4, the balanced accuracy on corrupted labels is largest where that on clean labels is.
"""

from __future__ import annotations

import warnings

import numpy as np
from numpy.typing import NDArray
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import LogisticRegression

from symloss.threads import one_thread

Array = NDArray[np.float64]
_ERRORS = 2.0  # so many standard errors behind the best threshold, the labels tell that another one is worse
_ROUNDING = 1e-6  # networks compute in float32
_TAIL = 0.01  # the share of scores at either end that is pulled in: an outlier must not decide
_PENALTY = 1e-4  # so small that it matters only if a threshold separates the classes


def choose_threshold(scores: Array, positive: NDArray[np.bool_], weight: Array) -> float:
    """Return the threshold where both labels are equally likely, if the labels do not tell that another one is better.

    Where they are equally likely, with classes of the same total weight, is told by a logistic regression of the label
    on the score. It uses all scores and so hardly follows the noise of the labels, but a logistic curve may not fit.
    The balanced accuracy itself is a random walk from one threshold to the next, and flat around its maximum. So the
    threshold has to be among those that the labels cannot tell apart from the best ones below and above: whose balanced
    accuracy is at most two standard errors of the difference smaller. Of these, the nearest to that of the regression
    is taken.

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
    >>> choose_threshold(np.array([0.0, 1.0, 4.0, 5.0]), np.array([False, False, True, True]), np.ones(4))
    2.5
    """
    order = np.argsort(scores, kind="stable")
    ordered = scores[order]
    # Scores that differ only by rounding, such as those of two equal points, have no threshold between them.
    between = np.flatnonzero(np.diff(ordered) > _ROUNDING * (np.abs(ordered[1:]) + np.abs(ordered[:-1])))
    if not len(between):
        return float(ordered[0])
    weight = weight / min(weight.mean(), 1.0)  # weights below 1 are shares, not fractions of a point
    # Twice the gain of a threshold is the share of true positives less the share of false positives.
    share = np.where(positive, -1 / weight[positive].sum(), 1 / weight[~positive].sum())
    gain = np.cumsum((weight * share)[order])[between]
    # Two gains differ by the points between the thresholds. If labels tell nothing there, the signs are random.
    variance = np.cumsum((weight * share**2)[order])[between]
    kept = between[_as_good(gain, variance) & _as_good(gain[::-1], variance[::-1])[::-1]]
    middles = ordered[kept] / 2 + ordered[kept + 1] / 2
    target = _equally_likely(ordered, positive[order], weight[order])
    return float(middles[np.argmin(np.abs(middles - target))])


def _as_good(gain: Array, variance: Array) -> NDArray[np.bool_]:
    """Return for each threshold whether the labels cannot tell it from the best one before it."""
    is_best = gain == np.maximum.accumulate(gain)
    best = np.maximum.accumulate(np.where(is_best, np.arange(len(gain)), 0))
    error = np.sqrt(np.abs(variance - variance[best]))
    return np.asarray(gain[best] - gain <= _ERRORS * error + 1e-9)  # equal sums may differ by rounding


@one_thread()
def _equally_likely(ordered: Array, positive: NDArray[np.bool_], weight: Array) -> float:
    """Return the score at which a logistic regression gives both labels the same probability."""
    cumulated = np.cumsum(weight)
    low, high = ordered[np.searchsorted(cumulated, np.array([_TAIL, 1 - _TAIL]) * cumulated[-1])]
    if not high > low:
        low, high = ordered[0], ordered[-1]
    unit = high / 2 - low / 2  # half of each: the difference of the largest numbers would overflow
    place = (np.clip(ordered, low, high) / 2 - low / 2) / unit  # from 0 to 1
    share = np.where(positive, weight / weight[positive].sum(), weight / weight[~positive].sum()) / 2
    fitted = LogisticRegression(C=1 / _PENALTY, solver="newton-cholesky", tol=1e-10)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)  # where Newton's steps end, scikit-learn goes on by L-BFGS
        fitted.fit(place[:, None], positive, sample_weight=share)
    slope, intercept = float(fitted.coef_[0, 0]), float(fitted.intercept_[0])
    crossing = -intercept / slope if slope > 0 else 0.5
    return float(low + 2 * unit * min(max(crossing, 0.0), 1.0))
