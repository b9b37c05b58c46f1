"""Check trees that were read from a file: scikit-learn follows their pointers without any check of its own."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator


def check_trees(model: Any) -> None:
    """Raise ValueError if a tree of a scikit-learn model points outside itself, or to a feature that does not exist.

    Single trees, forests and gradient boosting are checked, also where they are parts of other estimators.

    Examples
    --------
    >>> from sklearn.tree import DecisionTreeRegressor
    >>> check_trees(DecisionTreeRegressor().fit([[0.0], [1.0]], [0, 1]))
    """
    for estimator in _estimators_among(vars(model).values()) if hasattr(model, "__dict__") else ():
        check_trees(estimator)
    if hasattr(model, "tree_"):
        tree = model.tree_
        is_leaf = tree.children_left == -1
        check_nodes(tree.children_left, tree.children_right, is_leaf, tree.feature, model.n_features_in_)
    for predictor in (predictor for stage in getattr(model, "_predictors", ()) for predictor in stage):
        nodes = predictor.nodes
        check_nodes(nodes["left"], nodes["right"], nodes["is_leaf"] == 1, nodes["feature_idx"], model.n_features_in_)
        categorical = nodes["is_categorical"] == 1
        if (nodes["bitset_idx"][categorical] >= len(predictor.raw_left_cat_bitsets)).any():
            raise ValueError("a tree points outside itself")


def _estimators_among(values: Iterable[Any]) -> Iterator[Any]:
    """Yield the estimators among values, also those inside lists, tuples, arrays and dicts."""
    for value in values:
        if isinstance(value, BaseEstimator):
            yield value
        elif isinstance(value, (list, tuple)) or (isinstance(value, np.ndarray) and value.dtype == object):
            yield from _estimators_among(np.ravel(value) if isinstance(value, np.ndarray) else value)
        elif isinstance(value, dict):
            yield from _estimators_among(value.values())


def check_nodes(left: Any, right: Any, is_leaf: NDArray[np.bool_], feature: Any, n_features: int) -> int:
    """Return the depth of a tree; raise ValueError if it points outside itself, or to features that do not exist.

    Children come after their parent, and every node but the root is the child of one: so each path ends in a leaf.

    Examples
    --------
    >>> nodes = np.array([1, -1, -1]), np.array([2, -1, -1]), np.array([False, True, True]), np.array([0, -2, -2])
    >>> check_nodes(*nodes, n_features=1)
    1
    """
    node = np.arange(len(is_leaf))
    children = [child.astype(np.int64)[~is_leaf] for child in (left, right)]
    inside = all(((node[~is_leaf] < child) & (child < len(node))).all() for child in children)
    known = (feature[~is_leaf] >= 0) & (feature[~is_leaf] < n_features)
    if not len(node) or not inside or not known.all():
        raise ValueError("a tree points outside itself")
    parents = np.bincount(np.concatenate(children), minlength=len(node))
    if (parents[1:] != 1).any():
        raise ValueError("a tree points twice to the same node, or never")
    return _depth(children[0], children[1], ~is_leaf)


def _depth(left: Any, right: Any, is_inner: NDArray[np.bool_]) -> int:
    place = np.cumsum(is_inner) - 1  # of each inner node among the inner ones
    level, depth = np.zeros(1, np.intp), 0
    while len(inner := level[is_inner[level]]):
        level, depth = np.concatenate([left[place[inner]], right[place[inner]]]), depth + 1
    return depth
