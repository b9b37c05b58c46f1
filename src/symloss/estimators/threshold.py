"""A threshold chosen by balanced accuracy on corrupted labels.

By corollary 4, the balanced accuracy on corrupted labels is largest where that on clean labels is.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]
_KEPT = 0.8  # share of the best gain
_ROUNDING = 1e-6  # networks compute in float32


def choose_threshold(scores: Array, positive: NDArray[np.bool_], weight: Array) -> float:
    """Return the middle of all thresholds that the labels cannot tell apart from the best one.

    These thresholds keep four fifths of the best gain in balanced accuracy over 1/2, and are within one standard error
    of it. The best threshold itself follows the noise of the labels: the balanced accuracy is a random walk from one
    threshold to the next, and flat around its maximum. The middle is the threshold whose rank is nearest to the mean
    rank, so the scale of the scores does not matter.

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
    # Twice the gain of a threshold is the share of true positives less the share of false positives.
    share = np.where(positive, -weight / weight[positive].sum(), weight / weight[~positive].sum())
    gain = np.cumsum(share[order])[between]
    error = 0.5 * np.sqrt(1 / weight[positive].sum() + 1 / weight[~positive].sum())
    least = gain.max() - min((1 - _KEPT) * abs(gain.max()), error)
    kept = np.flatnonzero(gain > least - 1e-9)  # equal sums may differ by rounding
    middle = between[kept[np.argmin(np.abs(kept - kept.mean()))]]
    return float((ordered[middle] + ordered[middle + 1]) / 2)
