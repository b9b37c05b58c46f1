"""A threshold by balanced accuracy on corrupted labels, which is largest where the clean one is (corollary 4)."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]
_KEPT = 0.8
_ROUNDING = 1e-6  # networks compute in float32


def choose_threshold(scores: Array, positive: NDArray[np.bool_], weight: Array) -> float:
    """Return the middle of the thresholds that are as good as the best one, as far as the labels can tell.

    These keep four fifths of the best gain in balanced accuracy over 1/2, and come within a standard error of it. The
    best threshold itself chases the noise of the labels: from one threshold to the next the balanced accuracy is a
    random walk, and flat around its top. The middle is the one nearest to the mean in ranks, so that no scale of the
    scores matters.

    Parameters
    ----------
    scores : array of n scores
        Of points that the model was not fitted on.
    positive : array of n bool
        Their labels.
    weight : array of n weights
        Weight k counts as k repetitions.

    Examples
    --------
    >>> choose_threshold(np.array([0.0, 1.0, 4.0, 5.0]), np.array([False, False, True, True]), np.ones(4))
    2.5
    """
    order = np.argsort(scores, kind="stable")
    ordered = scores[order]
    # Scores that differ by rounding alone, as those of the same point twice may, are one.
    between = np.flatnonzero(np.diff(ordered) > _ROUNDING * (np.abs(ordered[1:]) + np.abs(ordered[:-1])))
    if not len(between):
        return float(ordered[0])
    # Twice the gain of a threshold: true positives - false positives.
    share = np.where(positive, -weight / weight[positive].sum(), weight / weight[~positive].sum())
    gain = np.cumsum(share[order])[between]
    error = 0.5 * np.sqrt(1 / weight[positive].sum() + 1 / weight[~positive].sum())
    least = gain.max() - min((1 - _KEPT) * abs(gain.max()), error)
    kept = np.flatnonzero(gain > least - 1e-9)  # sums that are equal but for rounding
    middle = between[kept[np.argmin(np.abs(kept - kept.mean()))]]
    return float((ordered[middle] + ordered[middle + 1]) / 2)
