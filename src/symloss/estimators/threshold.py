"""A threshold by balanced accuracy on corrupted labels, which is largest where the clean one is (corollary 4)."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]
_KEPT = 0.8


def choose_threshold(scores: Array, positive: NDArray[np.bool_], weight: Array) -> float:
    """Return the middle of the thresholds that keep four fifths of the best gain in balanced accuracy over 1/2.

    The best threshold itself chases the noise of the labels: from one threshold to the next the balanced accuracy is a
    random walk, and flat around its top. The middle is the mean in ranks, so that no scale of the scores matters.

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
    scale = float(np.ptp(scores))
    if scale == 0:
        return float(scores[0])
    # Scores that differ by rounding alone, as those of the same point twice may, are one.
    values, place = np.unique(np.round((scores - scores.min()) / scale, 6), return_inverse=True)
    # Twice the gain of a threshold after each distinct score: true positives - false positives.
    share = np.where(positive, -weight / weight[positive].sum(), weight / weight[~positive].sum())
    gain = np.cumsum(np.bincount(place, share))[:-1]
    middle = round(float(np.flatnonzero(gain >= gain.max() - (1 - _KEPT) * abs(gain.max())).mean()))
    return float(scores.min() + scale * (values[middle] + values[middle + 1]) / 2)
