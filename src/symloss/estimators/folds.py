"""Folds, and scores of points by models that were not trained on them."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterable
from numbers import Integral
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.model_selection import StratifiedKFold, check_cv

Array = NDArray[np.float64]
Rows = NDArray[np.intp]
Folds = list[tuple[Rows, Rows]]


def split(cv: Any, X: Any, positive: NDArray[np.bool_], weight: Array, seed: int) -> Folds:
    """Return the training rows and the test rows of each fold.

    All these rows have a weight above 0, and every fold trains on points of both classes.

    Parameters
    ----------
    cv : int, splitter or iterable of (training rows, test rows)
        A number of folds is lowered to the number of points in the smaller class. If that is one point, there is one
        fold, which trains and tests on all points, and a warning. The test rows of different folds must be disjoint.
    X, positive, weight
        The training data.
    seed : int
        The seed of the shuffle, if ``cv`` is a number.

    Examples
    --------
    >>> train, test = split(2, None, np.array([True, False] * 2), np.ones(4), seed=0)[0]
    >>> sorted([*train.tolist(), *test.tolist()])
    [0, 1, 2, 3]
    """
    rows = np.flatnonzero(weight > 0)
    folds: Iterable[tuple[Rows, Rows]]
    if isinstance(cv, Integral):
        if cv < 2:
            raise ValueError(f"cv must be at least 2 folds, got {cv}")
        n_splits = min(int(cv), int(positive[rows].sum()), int((~positive[rows]).sum()))
        if n_splits < 2:
            warnings.warn(
                "a class of one point cannot be held out: scores are those of points trained on", stacklevel=2
            )
            return [(rows, rows)]
        folds = StratifiedKFold(n_splits, shuffle=True, random_state=seed).split(rows, positive[rows])
        return [(rows[train], rows[test]) for train, test in folds]
    folds = check_cv(cv, positive, classifier=True).split(X, positive)
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


def check_test_folds(folds: Folds, positive: NDArray[np.bool_]) -> None:
    """Raise ValueError unless every fold holds out points of both classes: without both, it has no score.

    Examples
    --------
    >>> check_test_folds([(np.array([0, 1]), np.array([2, 3]))], np.array([True, False, True, True]))
    Traceback (most recent call last):
    ValueError: every fold must hold out points of both classes to be scored, got one class in fold 0
    """
    for k, (_, test) in enumerate(folds):
        if len(np.unique(positive[test])) < 2:
            raise ValueError(f"every fold must hold out points of both classes to be scored, got one class in fold {k}")


def hold_out(positive: NDArray[np.bool_], fraction: float, seed: int) -> tuple[Rows, Rows]:
    """Return rows to train on, and rows to validate on: a fraction of each class, and at least one point of it.

    Examples
    --------
    >>> train, validation = hold_out(np.array([True, False] * 10), 0.1, seed=0)
    >>> len(train), len(validation)
    (18, 2)
    """
    generator = np.random.default_rng(seed)
    held_out = []
    for rows in (np.flatnonzero(positive), np.flatnonzero(~positive)):
        if len(rows) < 2:
            raise ValueError(f"early stopping needs two points of each class, got {len(rows)}")
        held_out.append(generator.permutation(rows)[: min(max(round(fraction * len(rows)), 1), len(rows) - 1)])
    validation = np.sort(np.concatenate(held_out))
    return np.setdiff1d(np.arange(len(positive)), validation), validation


def out_of_fold(scores_of: Callable[[Rows, Any], Array], X: Any, folds: Folds) -> Array:
    """Return one score per point, by the model of the fold that holds it out; NaN if no fold does.

    Parameters
    ----------
    scores_of : callable
        ``scores_of(rows, points)`` fits a model to the rows, and returns its scores of the points.
    X : array or sparse matrix
        All points.
    folds : list of (training rows, test rows)
        As ``split`` returns them.

    Examples
    --------
    >>> out_of_fold(lambda rows, X: X[:, 0] + len(rows), np.zeros((3, 1)), [(np.array([0]), np.array([1, 2]))])
    array([nan,  1.,  1.])
    """
    scores = np.full(X.shape[0], np.nan)
    for train, test in folds:
        scores[test] = scores_of(train, X[test])
    return scores
