"""Forests and boosted trees as plain arrays, in which every index is checked before scikit-learn follows it.

The nodes of all trees stand one after another, one array for each field of scikit-learn's nodes.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray
from sklearn.ensemble import ExtraTreesRegressor, HistGradientBoostingClassifier, RandomForestRegressor
from sklearn.tree._tree import Tree

from symloss.estimators.file_values import checked_count, checked_number, checked_numbers, shown
from symloss.estimators.tree_checks import check_nodes

Forest: TypeAlias = ExtraTreesRegressor | RandomForestRegressor
_LARGEST = 2**31 - 1  # the largest number of features


def is_plain_boosting(model: Any) -> bool:
    """Return whether arrays hold all that a boosting model needs: binary labels, no categories, no warm start.

    Examples
    --------
    >>> is_plain_boosting(HistGradientBoostingClassifier()), is_plain_boosting(ExtraTreesRegressor())
    (True, False)
    """
    if type(model) is not HistGradientBoostingClassifier or model.warm_start:
        return False
    if not hasattr(model, "classes_"):
        return True
    is_binary = model.classes_.dtype == bool and len(model.classes_) == 2
    return is_binary and model._preprocessor is None and not hasattr(model, "feature_names_in_")


def forest_arrays(forest: Forest) -> dict[str, Any]:
    """Return what a fitted forest holds, besides its parameters.

    Examples
    --------
    >>> arrays = forest_arrays(ExtraTreesRegressor(2, random_state=0).fit([[0.0], [1.0]], [-1, 1]))
    >>> arrays["n_features"], arrays["sizes"], arrays["nodes"]["left_child"]
    (1, array([3, 3]), array([ 1, -1, -1,  1, -1, -1], dtype=int32))
    """
    states = [tree.tree_.__getstate__() for tree in forest.estimators_]
    return {
        "n_features": int(forest.n_features_in_),
        "seeds": np.array([tree.random_state for tree in forest.estimators_], np.int64),
        **_joined([state["nodes"] for state in states]),
        "values": np.concatenate([state["values"].ravel() for state in states]),
    }


def forest_from(kind: type[Forest], parameters: dict[str, Any], arrays: dict[str, Any]) -> Forest:
    """Return the forest of ``forest_arrays``; raise ValueError if a tree points outside itself.

    Examples
    --------
    >>> forest = ExtraTreesRegressor(2, random_state=0).fit([[0.0], [1.0]], [-1, 1])
    >>> forest_from(ExtraTreesRegressor, {"n_estimators": 2}, forest_arrays(forest)).predict([[1.0]])
    array([1.])
    """
    forest = kind(**parameters)
    forest._validate_params()
    if forest.n_jobs == 0:
        raise ValueError("expected a number of jobs other than 0, found 0")
    n_features = checked_count(arrays["n_features"], "n_features", _LARGEST)
    # A tree of the scikit-learn that is installed tells how it stores nodes.
    sample = kind(1).fit(np.array([[0.0], [1.0]]), [0.0, 1.0])
    layout = sample.estimators_[0].tree_.__getstate__()["nodes"].dtype
    trees = _split(arrays, layout)
    values = checked_numbers(arrays["values"], "values", sum(map(len, trees)))
    seeds = arrays["seeds"]
    if len(seeds) != len(trees) or seeds.dtype.kind != "i":
        raise ValueError(f"expected {len(trees)} seeds, one for each tree, found {len(seeds)}")
    forest.estimator_, forest.n_features_in_, forest.n_outputs_ = sample.estimator_, n_features, 1
    forest.estimators_ = []
    start = 0
    for nodes, seed in zip(trees, seeds.tolist(), strict=True):
        stop = start + len(nodes)
        forest.estimators_.append(_tree_of(forest, nodes, values[start:stop], seed))
        start = stop
    return forest


def boosting_arrays(model: HistGradientBoostingClassifier) -> dict[str, Any]:
    """Return what a fitted boosting model holds, besides its parameters.

    Examples
    --------
    >>> model = HistGradientBoostingClassifier(max_iter=3).fit([[0.0], [1.0]], [False, True])
    >>> boosting_arrays(model)["sizes"]
    array([1, 1, 1])
    """
    thresholds = model._bin_mapper.bin_thresholds_
    return {
        "baseline": float(model._baseline_prediction.item()),
        **_joined([predictor.nodes for (predictor,) in model._predictors]),
        "bins": np.array([len(of_feature) for of_feature in thresholds], np.int64),
        "bin_thresholds": np.concatenate(thresholds),
        "train_score": model.train_score_,
        "validation_score": model.validation_score_,
        "early_stopping": bool(model.do_early_stopping_),
    }


def boosting_from(parameters: dict[str, Any], arrays: dict[str, Any] | None) -> HistGradientBoostingClassifier:
    """Return the model of ``boosting_arrays``, or one that is not fitted; raise ValueError if a tree points astray.

    Examples
    --------
    >>> model = HistGradientBoostingClassifier(max_iter=3).fit([[0.0], [1.0]], [False, True])
    >>> boosting_from({"max_iter": 3}, boosting_arrays(model)).predict([[1.0]])
    array([False])
    """
    wanted = HistGradientBoostingClassifier(**parameters)
    wanted._validate_params()
    if arrays is None:
        return wanted
    bins = arrays["bins"]
    if bins.ndim != 1 or bins.dtype.kind != "i" or not len(bins) or not ((bins >= 0) & (bins < 256)).all():
        raise ValueError("expected numbers of bins from 0 to 255, one for each feature")
    bin_thresholds = checked_numbers(arrays["bin_thresholds"], "bin_thresholds", int(bins.sum()))
    # A small fit sets what scikit-learn needs besides trees, in the version that is installed.
    model = HistGradientBoostingClassifier(max_iter=1, early_stopping=False, random_state=0)
    model.fit(np.zeros((2, len(bins))), np.array([False, True]))
    ((sample,),) = model._predictors
    trees = _split(arrays, sample.nodes.dtype)
    for nodes in trees:
        check_nodes(nodes["left"], nodes["right"], nodes["is_leaf"] != 0, nodes["feature_idx"], len(bins))
        if nodes["is_categorical"].any():
            raise ValueError("expected trees without categories")
        checked_numbers(nodes["value"], "value", len(nodes))
    none = sample.raw_left_cat_bitsets[:0]
    model._predictors = [[type(sample)(nodes, none, none)] for nodes in trees]
    model._baseline_prediction = np.full((1, 1), checked_number(arrays["baseline"], "baseline"))
    model._bin_mapper.bin_thresholds_ = np.split(bin_thresholds, np.cumsum(bins)[:-1])
    model._bin_mapper.n_bins_non_missing_ = (bins + 1).astype(np.uint32)
    model.train_score_ = checked_numbers(arrays["train_score"], "train_score")
    model.validation_score_ = checked_numbers(arrays["validation_score"], "validation_score")
    model.do_early_stopping_ = bool(arrays["early_stopping"])
    model.set_params(**wanted.get_params(deep=False))
    return model


def _tree_of(forest: Forest, nodes: NDArray[Any], values: NDArray[np.float64], seed: int) -> Any:
    depth = check_nodes(
        nodes["left_child"], nodes["right_child"], nodes["left_child"] == -1, nodes["feature"], forest.n_features_in_
    )
    tree = type(forest.estimator_)(**{name: getattr(forest, name) for name in forest.estimator_params})
    tree.set_params(random_state=seed)
    tree.n_features_in_, tree.n_outputs_ = forest.n_features_in_, 1
    tree.tree_ = Tree(forest.n_features_in_, np.array([1], np.intp), 1)
    state = {"max_depth": depth, "node_count": len(nodes), "nodes": nodes, "values": values.reshape(-1, 1, 1)}
    tree.tree_.__setstate__(state)
    return tree


def _joined(trees: Sequence[NDArray[Any]]) -> dict[str, Any]:
    """Return the numbers of nodes of trees, and the fields of all nodes, whole numbers in 32 bits where they fit."""
    nodes = np.concatenate(trees)
    fields = {name: np.ascontiguousarray(nodes[name]) for name in nodes.dtype.names or ()}
    return {
        "sizes": np.array([len(tree) for tree in trees], np.int64),
        "nodes": {name: _narrow(field) for name, field in fields.items()},
    }


def _narrow(field: NDArray[Any]) -> NDArray[Any]:
    if field.dtype.kind not in "iu" or field.dtype.itemsize == 1:
        return field
    limits = np.iinfo(np.int32)
    fits = not field.size or (limits.min <= int(field.min()) and int(field.max()) <= limits.max)
    return field.astype(np.int32 if fits else np.int64)


def _split(arrays: dict[str, Any], layout: np.dtype[Any]) -> list[NDArray[Any]]:
    """Return the nodes of each tree, in the layout of scikit-learn."""
    sizes, fields = arrays["sizes"], arrays["nodes"]
    if sizes.ndim != 1 or sizes.dtype.kind != "i" or not len(sizes) or (sizes < 1).any():
        raise ValueError("expected trees of at least one node each")
    if set(fields) != set(layout.names or ()):
        known, found = ", ".join(layout.names or ()), ", ".join(sorted(map(str, fields)))
        raise ValueError(f"expected trees of the fields of the scikit-learn installed, {known}; found {found}")
    count = len(fields[(layout.names or ("",))[0]])
    if sum(sizes.tolist()) != count:
        raise ValueError(f"expected trees of {sum(sizes.tolist())} nodes, found {count}")
    nodes = np.zeros(count, layout)
    for name, field in fields.items():
        nodes[name] = _as_type(field, name, count, layout[name])
    return np.split(nodes, np.cumsum(sizes)[:-1])


def _as_type(field: NDArray[Any], name: str, count: int, dtype: np.dtype[Any]) -> NDArray[Any]:
    """Return a field of nodes in the type of scikit-learn; raise ValueError if a number does not fit into it."""
    if field.shape != (count,):
        raise ValueError(f"expected {count} numbers as {name}, found {shown(field)}")
    if dtype.kind == "f":
        if field.dtype != dtype or np.isnan(field).any():
            raise ValueError(f"expected numbers of type {dtype} as {name}, found {shown(field)}")
        return field
    limits = np.iinfo(dtype)
    if field.dtype.kind not in "iu" or not limits.min <= int(field.min()) <= int(field.max()) <= limits.max:
        raise ValueError(f"expected whole numbers of type {dtype} as {name}, found others")
    return field.astype(dtype)
