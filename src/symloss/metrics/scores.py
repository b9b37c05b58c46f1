"""AUC and balanced accuracy on the labels at hand."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from symloss.losses import ZeroOne
from symloss.metrics.samples import Sample, two_samples
from symloss.metrics.streaming import auc_of_problems
from symloss.pairwise import risk_of_pairs

Array = NDArray[np.float64]


def auc(scores: Any, target: Any, weight: Any = None) -> Any:
    """Return the area under the ROC curve: the share of pairs ranked correctly, ties counted as one half.

    Parameters
    ----------
    scores : array or tensor of n scores, or of shape (..., n)
        Leading dimensions are independent problems.
    target : array, list or tensor of n labels, or of the scores' shape
        Any two values, of which the larger one is positive.
    weight : array or tensor, optional
        Non-negative weights; weight k counts as k repetitions.

    Returns
    -------
    float, or array of shape (...)
        NaN for a problem of several that lacks a class.

    Examples
    --------
    >>> auc([0.1, 0.4, 0.4, 0.8], [0, 0, 1, 1])
    0.875
    """
    if np.ndim(scores) > 1:
        return auc_of_problems(scores, target, weight)
    pos, neg = two_samples(scores, target, weight)
    # Only the order counts: infinite scores become the largest number, and tie with each other.
    largest = np.finfo(np.float64).max / 4  # so that their differences are finite
    s, t = (torch.from_numpy(np.clip(side.scores, -largest, largest)) for side in (pos, neg))
    w, v = (None if weight is None else torch.from_numpy(side.weight) for side in (pos, neg))
    return 1.0 - float(risk_of_pairs(s, t, ZeroOne(), w, v, method="structure"))


def balanced_accuracy(scores: Any, target: Any, weight: Any = None, threshold: float = 0.0) -> float:
    """Return the mean of the two classes' accuracies; a score at the threshold is half an error.

    Parameters
    ----------
    scores : array or tensor of n scores
    target : array, list or tensor of n labels
        Any two values, of which the larger one is positive.
    weight : array or tensor, optional
        Non-negative weights; weight k counts as k repetitions.
    threshold : float
        Scores above it are predicted positive.

    Examples
    --------
    >>> balanced_accuracy([-1.0, 0.0, 2.0, -3.0], [0, 0, 1, 1])
    0.625
    """
    return float(np.mean(class_accuracies(*two_samples(scores, target, weight), threshold)))


def share_below(scores: Array, others: Array, weight: Array) -> Array:
    """Return, for each score, the weighted share of the others below it, ties counted as one half.

    Examples
    --------
    >>> share_below(np.array([1.0, 3.0]), np.array([0.0, 1.0, 2.0]), np.array([1.0, 1.0, 2.0]))
    array([0.375, 1.   ])
    """
    order = np.argsort(others, kind="stable")
    ordered = others[order]
    cumulated = np.concatenate([[0.0], np.cumsum(weight[order])])
    counted = cumulated[np.searchsorted(ordered, scores, "left")] + cumulated[np.searchsorted(ordered, scores, "right")]
    share: Array = counted / (2 * cumulated[-1])
    return share


def class_accuracies(pos: Sample, neg: Sample, threshold: float) -> tuple[float, float]:
    """Return the share of the positives above a threshold and of the negatives below it; at it, a point is a half.

    Examples
    --------
    >>> class_accuracies(*two_samples([1, 2, 0, 3], [1, 1, 0, 0], None), threshold=1)
    (0.75, 0.5)
    """

    def accuracy(sample: Sample, sign: int) -> float:
        above = 0.5 * (sample.scores > threshold) + 0.5 * (sample.scores >= threshold)
        return float(np.average(above if sign > 0 else 1 - above, weights=sample.weight))

    return accuracy(pos, 1), accuracy(neg, -1)
