"""Folds of the training points, and points that are equal."""

from __future__ import annotations

import warnings
from collections.abc import Iterable
from numbers import Integral
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import issparse
from sklearn.model_selection import StratifiedKFold, check_cv
from sklearn.utils import _safe_indexing

from symloss.models.family import TrainingData

Array = NDArray[np.float64]
Rows = NDArray[np.intp]
Folds = list[tuple[Rows, Rows]]
_MOST_OF_COPIES = 0.05  # rows that are equal more often than this share have few values: they are kept apart


def split(cv: Any, X: Any, positive: NDArray[np.bool_], weight: Array, seed: int, groups: Any = None) -> Folds:
    """Return the training rows and the test rows of each fold.

    All these rows have a weight above 0, and every fold trains on points of both classes.

    A number of folds is lowered to the number of points in the smaller class. If that is one point, there is one fold,
    which trains and tests on all points, and a warning. The test rows of different folds must be disjoint. Rows of the
    same group are in the same fold; a splitter gets the groups. Without them, rows with the same features are a group,
    unless they are more than 5% of all.
    """
    if isinstance(cv, Integral):
        return _numbered(int(cv), X, positive, np.flatnonzero(weight > 0), seed, groups)
    folds: Iterable[tuple[Rows, Rows]] = check_cv(cv, positive, classifier=True).split(X, positive, groups)
    kept = [tuple(part[weight[part] > 0] for part in map(np.asarray, fold)) for fold in folds]
    if not kept:
        raise ValueError("cv must give folds, got none: a generator gives its folds only once, a list every time")
    for k, (train, _) in enumerate(kept):
        if len(np.unique(positive[train])) < 2:
            raise ValueError(f"every fold must leave points of both classes to train on, got one class in fold {k}")
    held_out = np.concatenate([test for _, test in kept])
    if len(np.unique(held_out)) < len(held_out):
        raise ValueError("a point may be held out in one fold only; give a splitter whose test sets are disjoint")
    if len(np.unique(positive[held_out])) < 2:
        raise ValueError("the folds must hold out points of both classes, got one class")
    return [(train, test) for train, test in kept]


def _numbered(cv: int, X: Any, positive: NDArray[np.bool_], rows: Rows, seed: int, groups: Any) -> Folds:
    """Return so many folds, in which the classes have about the same shares; rows of a group stay together."""
    if cv < 2:
        raise ValueError(f"cv must be at least 2 folds, got {cv}")
    label = positive[rows]
    smaller = int(min(label.sum(), (~label).sum()))
    if smaller < 2:
        warnings.warn("a class of one point cannot be held out: scores are those of points trained on", stacklevel=3)
        return [(rows, rows)]
    if groups is not None:
        of_row = np.unique(np.asarray(groups)[rows], return_inverse=True)[1]
    else:
        of_row = equal_rows(X)[rows]
        often = np.bincount(of_row)[of_row] > _MOST_OF_COPIES * len(rows)
        of_row = np.where(often, of_row.max() + 1 + np.arange(len(rows)), of_row)
    _, first, of_row, sizes = np.unique(of_row, return_index=True, return_inverse=True, return_counts=True)
    if len(sizes) == len(rows):
        strata, of_row = label, np.arange(len(rows))
    elif len(sizes) < 2:
        raise ValueError("groups must hold at least two groups, to hold one out, got one")
    else:  # a group counts as positive if it has a larger share of positives than all points
        strata = np.bincount(of_row, label) / sizes > label.mean()
        appearance = np.argsort(np.argsort(first))
        strata, of_row = strata[np.argsort(first)], appearance[of_row]
    fewest = int(min(strata.sum(), (~strata).sum()))
    if fewest < 2:
        strata, fewest = np.zeros(len(strata), bool), len(strata)
    folds = StratifiedKFold(min(cv, fewest, smaller), shuffle=True, random_state=seed).split(strata, strata)
    found = []
    for _, test in folds:
        held_out = np.isin(of_row, test)
        found.append((rows[~held_out], rows[held_out]))
    return found


class WithFrame:
    """Features, and the data frame that they were made from; rows of both are taken together."""

    def __init__(self, values: Array, frame: Any) -> None:
        self.values, self.frame, self.shape = values, frame, values.shape

    def __getitem__(self, rows: Rows) -> WithFrame:
        """Return some of the rows."""
        return WithFrame(self.values[rows], _safe_indexing(self.frame, rows))


def check_test_folds(folds: Folds, positive: NDArray[np.bool_]) -> None:
    """Raise ValueError unless every fold trains on points of both classes and holds out points of both."""
    whats = ("leave points of both classes to train on", "hold out points of both classes to be scored")
    for k, fold in enumerate(folds):
        for rows, what in zip(fold, whats, strict=True):
            if len(np.unique(positive[rows])) < 2:
                raise ValueError(f"every fold must {what}, got one class in fold {k}")


def equal_rows(X: Any) -> NDArray[np.intp]:
    """Return a number for each row; equal rows have the same one, and the numbers follow from the values alone."""
    if isinstance(X, WithFrame):  # what the features do not tell, the frame may
        return np.arange(X.shape[0])
    if issparse(X):
        X = X.copy()
        X.sum_duplicates()
        X.eliminate_zeros()
        ends = zip(X.indptr[:-1], X.indptr[1:], strict=True)
        rows = [X.indices[a:b].astype(np.int64).tobytes() + X.data[a:b].tobytes() for a, b in ends]
        return np.unique(np.array(rows, dtype=object), return_inverse=True)[1]
    values = np.asarray(X, np.float64) + 0.0  # -0 becomes 0
    values[np.isnan(values)] = np.nan  # all missing values have the same bits
    return _distinct(values)


def _distinct(values: NDArray[Any]) -> NDArray[np.intp]:
    rows = np.ascontiguousarray(values).view(f"V{values.itemsize * values.shape[1]}").ravel()
    return np.unique(rows, return_inverse=True)[1]


class Merged(NamedTuple):
    """Distinct points, their folds, and for every row given the place of its point; -1 if its weight is 0."""

    data: TrainingData
    folds: Folds
    place: NDArray[np.intp]


def merge(data: TrainingData, folds: Folds) -> Merged:
    """Merge points with the same features, label and folds into one, whose weight is the sum of theirs.

    So weight k counts as k repetitions, for every model and in any order of the rows.
    """
    used = np.flatnonzero(data.weight > 0)
    keys = 2 * equal_rows(data.X[used]) + data.positive[used]
    if folds:
        apart = _distinct(np.column_stack([np.isin(used, rows) for fold in folds for rows in fold]))
        keys = keys * (apart.max() + 1) + apart
    _, first, of_used = np.unique(keys, return_index=True, return_inverse=True)
    place = np.full(len(data.weight), -1, np.intp)
    place[used] = of_used
    merged = data.rows(used[first])._replace(weight=np.bincount(of_used, data.weight[used]).astype(np.float64))
    return Merged(merged, [(np.unique(place[train]), np.unique(place[test])) for train, test in folds], place)
