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
        _check_nodes(tree.children_left, tree.children_right, is_leaf, tree.feature, model.n_features_in_)
    for predictor in (predictor for stage in getattr(model, "_predictors", ()) for predictor in stage):
        nodes = predictor.nodes
        _check_nodes(nodes["left"], nodes["right"], nodes["is_leaf"] == 1, nodes["feature_idx"], model.n_features_in_)
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


def _check_nodes(left: Any, right: Any, is_leaf: NDArray[np.bool_], feature: Any, n_features: int) -> None:
    """Check that the children of a node come after it, so that a path from the root ends in a leaf."""
    node = np.arange(len(is_leaf))
    inside = [(node < child) & (child < len(node)) for child in (left.astype(np.int64), right.astype(np.int64))]
    known = (feature >= 0) & (feature < n_features)
    if not len(is_leaf) or not (is_leaf | (inside[0] & inside[1] & known)).all():
        raise ValueError("a tree points outside itself")
