"""Merge equal training points: k points with the same features and label become one point of weight k.

So weight k counts as k repetitions, for every model and to the last digit, given the same folds. The merged points are
in an order that depends on them alone.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from symloss.estimators.base import TrainingData
from symloss.estimators.folds import Folds

Array = NDArray[np.float64]
_ODD = np.uint64(0x9E3779B97F4A7C15)  # so that the number of a row is not a sum of its parts alone
_BLOCK = 2**16  # how many rows are hashed at a time, so that no second copy of the features is made


class Merged(NamedTuple):
    """Distinct points with their weights, and for every row given the place of its point; -1 if its weight is 0.

    Examples
    --------
    >>> merged = merge_repetitions(np.array([[1.0], [2.0], [1.0]]), np.array([True, True, True]), np.array([1.0, 1, 3]))
    >>> sorted(zip(merged.X[:, 0].tolist(), merged.weight.tolist()))
    [(1.0, 4.0), (2.0, 1.0)]
    >>> merged.X[merged.place, 0]
    array([1., 2., 1.])
    """

    X: Any
    positive: NDArray[np.bool_]
    weight: Array
    place: NDArray[np.intp]


def merge_with_folds(data: TrainingData, folds: Folds) -> tuple[Merged, Folds]:
    """Return the merged points, and the folds of them; points that are not in the same folds stay apart.

    If points of all folds were merged, a point could be held out together with all its repetitions, while points with
    the same features and the other label would stay in the training part: the folds would teach the opposite.

    Examples
    --------
    >>> data = TrainingData(np.ones((8, 1)), np.arange(8) % 2 == 0, np.ones(8))
    >>> halves = [(np.arange(4), np.arange(4, 8)), (np.arange(4, 8), np.arange(4))]
    >>> merge_with_folds(data, halves)[0].weight
    array([2., 2., 2., 2.])
    """
    generator = np.random.default_rng(0)
    apart = np.zeros(len(data.weight), np.uint64)
    for parts in folds:
        for rows, mark in zip(parts, generator.integers(2**63, size=2, dtype=np.uint64), strict=True):
            apart[rows] += mark
    merged = merge_repetitions(*data, apart)
    return merged, [(np.unique(merged.place[train]), np.unique(merged.place[test])) for train, test in folds]


def merge_repetitions(
    X: Any, positive: NDArray[np.bool_], weight: Array, apart: NDArray[np.uint64] | None = None
) -> Merged:
    """Return the distinct points of weight above 0, each with the sum of the weights of its repetitions.

    Parameters
    ----------
    X : array or CSR matrix of shape (n, d)
        Features; missing values are equal to each other.
    positive : array of n bool
        Whether each label is the positive one. Points that differ in the label are not merged.
    weight : array of n weights
        At least 0.
    apart : array of n int, optional
        Rows with different numbers are not merged.
    """
    n, used = len(weight), np.flatnonzero(weight > 0)
    if hasattr(X, "indptr") and not X.has_canonical_format:
        X = X.copy()
        X.sum_duplicates()
    if len(used) < n:
        X, positive, weight = X[used], positive[used], weight[used]
    marks = np.zeros(1, np.uint64) if apart is None else apart[used]
    key = (_hashes(X) + marks * _ODD) * np.uint64(2) + positive.astype(np.uint64)
    order = np.argsort(key, kind="stable")
    is_new = np.ones(len(order), bool)
    same_key = np.flatnonzero(key[order[1:]] == key[order[:-1]]) + 1
    is_new[same_key] = ~_equal(X, order[same_key - 1], order[same_key])
    of_used = np.empty(len(order), np.intp)
    of_used[order] = np.cumsum(is_new) - 1
    first = order[is_new]
    place = np.full(n, -1, np.intp)
    place[used] = of_used
    added = np.lexsort((weight, of_used))  # sums of fractions depend on the order
    return Merged(X[first], positive[first], np.bincount(of_used[added], weight[added]).astype(np.float64), place)


def _hashes(X: Any) -> NDArray[np.uint64]:
    """Return a number for every row that depends on all its values, and on them alone."""
    factors = np.random.default_rng(0).integers(2**63, size=X.shape[1], dtype=np.uint64) * np.uint64(2) + np.uint64(1)
    if hasattr(X, "indptr"):
        total = np.concatenate([np.zeros(1, np.uint64), np.cumsum(_mixed(X.data, factors[X.indices]), dtype=np.uint64)])
        return np.asarray(total[X.indptr[1:]] - total[X.indptr[:-1]])
    blocks = (X[start : start + _BLOCK] for start in range(0, len(X), _BLOCK))
    return np.concatenate([_mixed(block, factors).sum(1, dtype=np.uint64) for block in blocks])


def _mixed(values: Array, factors: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """Return numbers whose bits all depend on those of the values; 0 stays 0, as in a sparse matrix."""
    bits = (values + 0.0).view(np.uint64)  # the sum turns -0 into 0
    bits[np.isnan(values)] = np.uint64(1)
    bits ^= bits >> np.uint64(32)  # the last bits of round numbers are zeros: bring the first ones there
    bits *= factors
    bits ^= bits >> np.uint64(29)
    return bits


def _equal(X: Any, first: NDArray[np.intp], second: NDArray[np.intp]) -> NDArray[np.bool_]:
    if hasattr(X, "indptr"):
        differ = (X[first] != X[second]).tocsr()
        differ.eliminate_zeros()
        return np.asarray(np.diff(differ.indptr) == 0)
    return np.asarray(((X[first] == X[second]) | (np.isnan(X[first]) & np.isnan(X[second]))).all(1))
