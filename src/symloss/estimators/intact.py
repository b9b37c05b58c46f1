"""Trees that were read from a file are followed without a check when they predict: refuse those that lead astray."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator


def check_trees(model: Any) -> None:
    """Raise if a tree of a scikit-learn model points outside itself or to features that the model does not have.

    Covers single trees, forests, and gradient boosting, also inside of other estimators.

    Examples
    --------
    >>> from sklearn.tree import DecisionTreeRegressor
    >>> check_trees(DecisionTreeRegressor().fit([[0.0], [1.0]], [0, 1]))
    """
    for part in _parts(vars(model).values()) if hasattr(model, "__dict__") else ():
        check_trees(part)
    if hasattr(model, "tree_"):
        tree = model.tree_
        _check(tree.children_left, tree.children_right, tree.children_left == -1, tree.feature, model.n_features_in_)
    for predictor in (predictor for stage in getattr(model, "_predictors", ()) for predictor in stage):
        nodes = predictor.nodes
        _check(nodes["left"], nodes["right"], nodes["is_leaf"] == 1, nodes["feature_idx"], model.n_features_in_)
        categorical = nodes["is_categorical"] == 1
        if (nodes["bitset_idx"][categorical] >= len(predictor.raw_left_cat_bitsets)).any():
            raise ValueError("a tree points outside itself")


def _parts(values: Iterable[Any]) -> Iterator[Any]:
    """Yield the estimators among values, also those in lists, tuples, arrays and dicts."""
    for value in values:
        if isinstance(value, BaseEstimator):
            yield value
        elif isinstance(value, (list, tuple)) or (isinstance(value, np.ndarray) and value.dtype == object):
            yield from _parts(np.ravel(value) if isinstance(value, np.ndarray) else value)
        elif isinstance(value, dict):
            yield from _parts(value.values())


def _check(left: Any, right: Any, leaf: NDArray[np.bool_], feature: Any, n_features: int) -> None:
    place = np.arange(len(leaf))
    inside = [(place < child) & (child < len(place)) for child in (left.astype(np.int64), right.astype(np.int64))]
    known = (feature >= 0) & (feature < n_features)
    if not len(leaf) or not (leaf | (inside[0] & inside[1] & known)).all():
        raise ValueError("a tree points outside itself")
