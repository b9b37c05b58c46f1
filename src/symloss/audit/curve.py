"""The probability of the clean class as a logistic curve of the score, fitted to labels flipped at some rates."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]
_BINS = 256  # of scores: so the time does not grow with the number of points
_STEPS = 30  # half of them are enough for almost all pairs
_FAR = 30.0  # in medians of the distance to the middle: an outlier must not decide
_PENALTY = 1e-4  # so small that it matters only if a threshold separates the labels


class FlipPairs(NamedTuple):
    """Pairs of rates: how often the labels of clean positives and of clean negatives are flipped.

    Examples
    --------
    >>> FlipPairs(np.array([0.1, 0.2]), np.array([0.1, 0.0])).negative
    array([0.1, 0. ])
    """

    positive: Array
    negative: Array


class Bins(NamedTuple):
    """Scores in bins: their places, the shares of positives and of negatives in each, and Kish's effective size.

    Examples
    --------
    >>> Bins(np.array([-1.0, 1.0]), np.array([0.1, 0.4]), np.array([0.4, 0.1]), 20.0).size
    20.0
    """

    places: Array
    positive: Array
    negative: Array
    size: float


def middle(scores: Array, weight: Array) -> tuple[float, float]:
    """Return the median of the scores, and the median of the distances to it, or another length if that is 0.

    Examples
    --------
    >>> middle(np.array([1.0, 2.0, 9.0]), np.ones(3))
    (2.0, 1.0)
    """
    center = _median(scores, weight)
    distance = np.abs(scores / 4 - center / 4)  # without overflow
    return center, 4 * (_median(distance, weight) or float(distance.max())) or 1.0


def _median(values: Array, weight: Array) -> float:
    order = np.argsort(values)
    below = np.cumsum(weight[order])
    return float(values[order][np.searchsorted(below, below[-1] / 2)])


def binned(of_pos: Array, pos_weight: Array, of_neg: Array, neg_weight: Array) -> Bins:
    """Return the scores in bins of about the same weight; equal scores are in the same bin.

    Examples
    --------
    >>> bins = binned(np.array([0.0, 1.0]), np.ones(2), np.array([-1.0, 0.0]), np.ones(2))
    >>> bins.places, bins.positive, bins.negative, bins.size
    (array([-1.,  0.,  1.]), array([0.  , 0.25, 0.25]), array([0.25, 0.25, 0.  ]), 4.0)
    """
    scores, weight = np.concatenate([of_pos, of_neg]), np.concatenate([pos_weight, neg_weight])
    weight = weight / weight.sum()
    distinct, place = np.unique(np.clip(scores, -_FAR, _FAR), return_inverse=True)
    at = np.bincount(place, weight)
    middle = np.cumsum(at) - at / 2
    of_distinct = np.minimum((_BINS * middle).astype(np.intp), _BINS - 1)
    of_point = of_distinct[place]
    labels = (slice(len(of_pos)), slice(len(of_pos), None))
    positive, negative = (np.bincount(of_point[label], weight[label], _BINS).astype(np.float64) for label in labels)
    used = positive + negative > 0
    places = np.bincount(of_distinct, at * distinct, _BINS)[used] / (positive + negative)[used]
    return Bins(places, positive[used], negative[used], float(1 / (weight @ weight)))


def most_likely(bins: Bins, rates: FlipPairs) -> tuple[Array, Array, Array]:
    """Return for each pair of rates the most likely slope and intercept, and their log likelihood.

    Newton's method with Levenberg's damping, for all pairs at once; where the loss is not convex, Fisher's scoring.

    Examples
    --------
    >>> bins = binned(np.array([1.0, 2.0, -1.0]), np.ones(3), np.array([-1.0, -2.0, 1.0]), np.ones(3))
    >>> slope, intercept, _ = most_likely(bins, FlipPairs(np.zeros(1), np.zeros(1)))
    >>> bool(slope[0] > 0), abs(intercept.round(6))
    (True, array([0.]))
    """
    positive, negative = bins.positive, bins.negative
    e_pos, e_neg = rates.positive[:, None], rates.negative[:, None]
    kept = 1 - e_pos - e_neg
    tiny = 1e-12  # of a probability: rates may be 0

    def loss(slope: Array, intercept: Array) -> tuple[Array, Array, Array]:
        clean = expit(slope * bins.places + intercept)
        labeled = np.clip(e_neg + kept * clean, tiny, 1 - tiny)
        value = -(np.log(labeled) @ positive + np.log1p(-labeled) @ negative) + _PENALTY * slope[:, 0] ** 2
        return value, clean, labeled

    share = np.clip((positive.sum() - e_neg) / kept, 0.01, 0.99)
    slope, intercept, damping = np.ones_like(kept), np.log(share / (1 - share)), np.full(len(kept), 1e-3)
    value, clean, labeled = loss(slope, intercept)
    for _ in range(_STEPS):
        change = kept * clean * (1 - clean)
        pull = (positive / labeled - negative / (1 - labeled)) * change
        seen = (positive / labeled**2 + negative / (1 - labeled) ** 2) * change**2 - pull * (1 - 2 * clean)
        expected = (positive + negative) * change**2 / (labeled * (1 - labeled))
        newton, fisher = (np.stack([x @ bins.places**2, x @ bins.places, x.sum(axis=1)]) for x in (seen, expected))
        convex = (newton[0] > 0) & (newton[0] * newton[2] > newton[1] ** 2)
        first, cross, last = np.where(convex, newton, fisher)
        first, last = (first + 2 * _PENALTY) * (1 + damping) + tiny, last * (1 + damping) + tiny
        down = pull @ bins.places - 2 * _PENALTY * slope[:, 0], pull.sum(axis=1)
        step = np.column_stack([last * down[0] - cross * down[1], first * down[1] - cross * down[0]])
        step /= np.maximum(first * last - cross**2, tiny**2)[:, None]
        new = np.maximum(slope + step[:, :1], 0.0), np.clip(intercept + step[:, 1:], -_FAR, _FAR)
        new_value, new_clean, new_labeled = loss(*new)
        better = new_value < value
        damping = np.where(better, damping / 10, np.minimum(damping * 10, 1e6))
        moved = better[:, None]
        slope, intercept = np.where(moved, new[0], slope), np.where(moved, new[1], intercept)
        clean, labeled = np.where(moved, new_clean, clean), np.where(moved, new_labeled, labeled)
        value = np.where(better, new_value, value)
    return slope[:, 0], intercept[:, 0], -value * bins.size


def expit(logit: Array) -> Array:
    """Return 1 / (1 + exp(-logit)).

    Examples
    --------
    >>> expit(np.array([-1000.0, 0.0]))
    array([0. , 0.5])
    """
    from scipy.special import expit as scipy_expit

    return np.asarray(scipy_expit(logit))
