"""How candidates are scored on corrupted labels, how much each counts in an average, and the threshold of scores.

AUC and balanced accuracy on corrupted labels are increasing affine functions of their values on clean labels
(corollaries 2 and 4 with the zero-one loss). So the candidate that is best on corrupted labels is, up to chance, also
best on clean ones.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import nnls
from scipy.special import expit

from symloss.audit.quality import logistic_curve
from symloss.metrics import Estimate, auc, balanced_accuracy
from symloss.metrics.estimates import clean_auc_of, clean_balanced_accuracy_of
from symloss.metrics.scores import share_below
from symloss.models.family import Standardization

Array = NDArray[np.float64]
Labels = NDArray[np.bool_]
Score = Callable[[Array, Labels, Array], float]
_LEAST_WEIGHT = 0.03  # as a share of the largest weight
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


def auc_contributions(scores: Array, positive: Labels, weight: Array) -> Array:
    """Return what each point contributes to the AUC: the share of the other class that it is ranked correctly against.

    The AUC is the mean of the contributions over either class, and to first order its error is that of the sum of both
    means (DeLong et al. 1988). A tie counts one half.
    """
    contributions = np.empty(len(scores))
    contributions[positive] = share_below(scores[positive], scores[~positive], weight[~positive])
    contributions[~positive] = 1 - share_below(scores[~positive], scores[positive], weight[positive])
    return contributions


def _balanced_accuracy_contributions(scores: Array, positive: Labels, weight: Array) -> Array:  # noqa: ARG001
    """Return what each point contributes to the balanced accuracy at threshold 0, the sum of their means by class."""
    return np.asarray((1 + np.where(positive, 1, -1) * np.sign(scores)) / 4)


class Metric(NamedTuple):
    """A score of scores, and what the search needs to know about it."""

    score: Score
    # The scores whose sum decides on the weights of an average, each with what points contribute to it.
    weighed_by: tuple[tuple[Score, Callable[[Array, Labels, Array], Array]], ...]
    estimate_clean: Callable[..., Estimate]  # from two samples, pi and pi'
    has_threshold: bool  # if so, every candidate is scored at its own


AUC = Metric(auc, ((auc, auc_contributions),), clean_auc_of, has_threshold=False)
# The AUC has a smaller standard error than the balanced accuracy: it helps to tell good candidates from lucky ones.
BALANCED_ACCURACY = Metric(
    balanced_accuracy,
    ((balanced_accuracy, _balanced_accuracy_contributions), (auc, auc_contributions)),
    clean_balanced_accuracy_of,
    has_threshold=True,
)


def weights_of_average(
    means: Array, contributions: Array, positive: Labels, weight: Array, temperature: float
) -> Array:
    """Return weights exp(-(d / temperature)^2 / 2), d being the standard errors to the best candidate.

    Candidates err on much the same points, so the difference of two scores has a far smaller standard error than each
    score: that of the differences between what points contribute. At temperature 0 the best candidate has all weight.
    """
    best = int(np.argmax(means))
    if temperature == 0:
        return np.asarray(np.arange(len(means)) == best, np.float64)
    variance = np.zeros(len(means))
    for of_class in (positive, ~positive):
        total = weight[of_class].sum()
        share = weight[of_class] / total
        difference = contributions[:, of_class] - contributions[best, of_class]
        variance += (difference - (difference @ share)[:, None]) ** 2 @ share / total
    gap, error = means[best] - means, np.sqrt(variance)
    behind = np.divide(gap, error, out=np.where(gap > 0, np.inf, 0.0), where=error > 0)
    return _without_small(np.exp(-0.5 * (behind / temperature) ** 2))


def weights_by_least_squares(scores: Sequence[Array] | Array, positive: Labels, weight: Array) -> Array:
    """Return the weights, none below 0, of the average of scores that is nearest to labels of +1 and -1.

    Both classes count the same. With many points such weights are known well, and candidates that err on different
    points are averaged even if one of them is clearly better. All weights are 0 if no score helps.
    """
    points = np.array(scores, np.float64).T
    balanced = np.sqrt(weight * np.where(positive, 1 / weight[positive].sum(), 1 / weight[~positive].sum()))
    standardized = Standardization.fit(points, weight).transform(points)
    # The triangle of a QR decomposition has the same least squares as all rows.
    rows = balanced[:, None] * np.column_stack([standardized, np.where(positive, 1.0, -1.0)])
    triangle = np.asarray(np.linalg.qr(rows, mode="r"))
    return _without_small(nnls(triangle[:, :-1], triangle[:, -1])[0])


def _without_small(weights: Array) -> Array:
    weights = np.where(weights < _LEAST_WEIGHT * weights.max(), 0.0, weights)
    return np.asarray(weights / weights.sum() if weights.any() else weights)
