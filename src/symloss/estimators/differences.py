"""Standard errors of score differences: two candidates on the same points err alike, and far less apart than alone."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from symloss.metrics import share_below

Array = NDArray[np.float64]
Labels = NDArray[np.bool_]


def auc_parts(scores: Array, positive: Labels, weight: Array) -> Array:
    """Return each point's part in the AUC: the share of the other class on its right side, a tie being one half.

    The AUC is their mean over either class, and to first order it errs like the sum of both means (DeLong et al. 1988).

    Examples
    --------
    >>> auc_parts(np.array([2.0, 1.0, 1.0, 0.0]), np.array([True, True, False, False]), np.ones(4))
    array([1.  , 0.75, 0.75, 1.  ])
    """
    parts = np.empty(len(scores))
    parts[positive] = share_below(scores[positive], scores[~positive], weight[~positive])
    parts[~positive] = 1 - share_below(scores[~positive], scores[positive], weight[positive])
    return parts


def balanced_accuracy_parts(scores: Array, positive: Labels, weight: Array) -> Array:  # noqa: ARG001
    """Return each point's part in the balanced accuracy at threshold 0, which is the sum of their means by class.

    Examples
    --------
    >>> balanced_accuracy_parts(np.array([2.0, -1.0, 0.0]), np.array([True, True, False]), np.ones(3))
    array([0.5 , 0.  , 0.25])
    """
    return np.asarray((1 + np.where(positive, 1, -1) * np.sign(scores)) / 4)


def error_of_difference(parts: Array, others: Array, positive: Labels, weight: Array) -> float:
    """Return the standard error of the difference of two scores, from the parts that the same points have in them.

    Weight k counts as k repetitions.

    Examples
    --------
    >>> positive = np.arange(200) % 2 == 0
    >>> guesses, truth = np.where(np.arange(200) % 4 < 2, 0.5, 0.0), np.full(200, 0.5)
    >>> round(error_of_difference(guesses, truth, positive, np.ones(200)), 4)  # 1/2 sqrt(1/4 (1/100 + 1/100))
    0.0354
    """
    variance = 0.0
    for of_class in (positive, ~positive):
        share = weight[of_class] / weight[of_class].sum()
        difference = (parts - others)[of_class]
        variance += share @ (difference - share @ difference) ** 2 / weight[of_class].sum()
    return float(np.sqrt(variance))
