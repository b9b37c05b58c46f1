"""Trees that were read from a file are followed without a check when they predict: refuse those that lead astray."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray


def check_trees(model: Any) -> None:
    """Raise if a tree of a scikit-learn model points outside itself or to features that the model does not have.

    Covers single trees, forests, and gradient boosting, also as steps of a pipeline.

    Examples
    --------
    >>> from sklearn.tree import DecisionTreeRegressor
    >>> check_trees(DecisionTreeRegressor().fit([[0.0], [1.0]], [0, 1]))
    """
    for _, step in getattr(model, "steps", ()):
        check_trees(step)
    for grown in np.ravel(getattr(model, "estimators_", ())):
        check_trees(grown)
    if hasattr(model, "tree_"):
        tree = model.tree_
        _check(tree.children_left, tree.children_right, tree.children_left == -1, tree.feature, model.n_features_in_)
    for predictor in (predictor for stage in getattr(model, "_predictors", ()) for predictor in stage):
        nodes = predictor.nodes
        _check(nodes["left"], nodes["right"], nodes["is_leaf"] == 1, nodes["feature_idx"], model.n_features_in_)
        categorical = nodes["is_categorical"] == 1
        if (nodes["bitset_idx"][categorical] >= len(predictor.raw_left_cat_bitsets)).any():
            raise ValueError("a tree points outside itself")


def _check(left: Any, right: Any, leaf: NDArray[np.bool_], feature: Any, n_features: int) -> None:
    place = np.arange(len(leaf))
    inside = [(place < child) & (child < len(place)) for child in (left.astype(np.int64), right.astype(np.int64))]
    known = (feature >= 0) & (feature < n_features)
    if not len(leaf) or not (leaf | (inside[0] & inside[1] & known)).all():
        raise ValueError("a tree points outside itself")
