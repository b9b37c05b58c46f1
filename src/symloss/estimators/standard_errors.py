"""The standard error of the difference between the scores of two candidates on the same points.

Both candidates err on much the same points, so the difference of their scores has a far smaller standard error than
each score alone.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from symloss.metrics.scores import share_below

Array = NDArray[np.float64]
Labels = NDArray[np.bool_]


def auc_contributions(scores: Array, positive: Labels, weight: Array) -> Array:
    """Return what each point contributes to the AUC: the share of the other class that it is ranked correctly against.

    A tie counts one half. The AUC is the mean of the contributions over either class, and to first order its error is
    that of the sum of both means (DeLong et al. 1988).

    Examples
    --------
    >>> auc_contributions(np.array([2.0, 1.0, 1.0, 0.0]), np.array([True, True, False, False]), np.ones(4))
    array([1.  , 0.75, 0.75, 1.  ])
    """
    contributions = np.empty(len(scores))
    contributions[positive] = share_below(scores[positive], scores[~positive], weight[~positive])
    contributions[~positive] = 1 - share_below(scores[~positive], scores[positive], weight[positive])
    return contributions


def balanced_accuracy_contributions(scores: Array, positive: Labels, weight: Array) -> Array:  # noqa: ARG001
    """Return what each point contributes to the balanced accuracy at threshold 0, the sum of their means by class.

    Examples
    --------
    >>> balanced_accuracy_contributions(np.array([2.0, -1.0, 0.0]), np.array([True, True, False]), np.ones(3))
    array([0.5 , 0.  , 0.25])
    """
    return np.asarray((1 + np.where(positive, 1, -1) * np.sign(scores)) / 4)


def standard_error_of_difference(first: Array, second: Array, positive: Labels, weight: Array) -> float:
    """Return the standard error of the difference of two scores, from what the same points contribute to each.

    Weight k counts as k repetitions.

    Examples
    --------
    >>> positive = np.arange(200) % 2 == 0
    >>> guesses, truth = np.where(np.arange(200) % 4 < 2, 0.5, 0.0), np.full(200, 0.5)
    >>> round(standard_error_of_difference(guesses, truth, positive, np.ones(200)), 4)  # 1/2 sqrt(1/4 (1/100 + 1/100))
    0.0354
    """
    variance = 0.0
    for of_class in (positive, ~positive):
        share = weight[of_class] / weight[of_class].sum()
        difference = (first - second)[of_class]
        variance += share @ (difference - share @ difference) ** 2 / weight[of_class].sum()
    return float(np.sqrt(variance))
