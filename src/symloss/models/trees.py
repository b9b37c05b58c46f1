"""Trees: a score is the average label of the leaves that a point falls into. Also trees as arrays, to be saved."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from sklearn.ensemble import ExtraTreesRegressor, HistGradientBoostingClassifier, RandomForestRegressor
from sklearn.tree._tree import Tree

from symloss.models.family import Array, Family, PenalizedRisk, TrainingData, check_count

FORESTS = {"random": ExtraTreesRegressor, "best": RandomForestRegressor}  # by the value of the parameter ``splits``
POINTS_OF_A_TREE = 100_000  # with more points, each tree is grown on so many of them
TREE_MODELS: dict[str, Any] = {
    kind.__name__: kind for kind in (ExtraTreesRegressor, RandomForestRegressor, HistGradientBoostingClassifier)
}
_MOST_FEATURES = 2**24  # in a file


class ForestScores(NamedTuple):
    """The scores of a fitted scikit-learn forest, between -1 and 1."""

    forest: Any

    def scores(self, X: Any) -> Array:
        """Return one score per row of X."""
        return np.asarray(self.forest.predict(X))


def fit_forest(
    data: TrainingData,
    _: PenalizedRisk,
    seed: int,
    *,
    n_estimators: int,
    min_samples_leaf: int,
    n_jobs: int | None = None,
    splits: str = "random",
) -> ForestScores:
    """Grow randomized trees with large leaves on labels +1 and -1; both classes have the same total weight.

    The average label minimizes the unhinged risk, in this sense: let the kernel of two points be the share of the
    trees in which both fall into the same leaf, each tree divided by the weight of that leaf. The minimizer of the
    unhinged risk in the space of this kernel is the sum of the labels, and that is the average label of a point's
    leaves. Large leaves average the label noise away.

    The points of a leaf are counted as if both classes had the same size.
    """
    X, positive, weight = data
    many = len(weight) > POINTS_OF_A_TREE
    points_of_a_tree = weight.sum() * min(1.0, POINTS_OF_A_TREE / len(weight))
    forest = FORESTS[splits](
        n_estimators=n_estimators,
        # A share of the weight, so that weights count as repetitions; 1 - 1e-9, so that rounding never forbids a leaf.
        min_weight_fraction_leaf=min((1 - 1e-9) * min_samples_leaf / points_of_a_tree, 0.5),
        max_features="sqrt",
        bootstrap=many or splits == "best",  # without it, trees with the best splits are too much alike
        max_samples=POINTS_OF_A_TREE if many else None,
        random_state=seed,
        n_jobs=n_jobs,
    )
    # Times the total of the other class, not divided by that of its own: whole weights stay whole, their sums exact.
    balanced = np.where(positive, weight[~positive].sum(), weight[positive].sum()) * weight
    return ForestScores(forest.fit(X, np.where(positive, 1.0, -1.0), sample_weight=balanced))


def _check_splits(name: str, value: Any) -> None:
    if value not in tuple(FORESTS):
        raise ValueError(f"{name} must be one of {', '.join(FORESTS)}, got {value!r}")


def _check_objective(objective: PenalizedRisk) -> None:
    if objective.loss.name not in ("unhinged", "squared"):
        raise ValueError(
            "the average label of a leaf minimizes the unhinged (in the leaf kernel) and the squared loss; "
            f"model='trees' needs one of these, got {objective.loss!r}"
        )


TREES = Family(
    fit=fit_forest,
    scorer=ForestScores,
    parameters={
        "n_estimators": check_count,
        "min_samples_leaf": check_count,
        "splits": _check_splits,
        "n_jobs": None,
    },
    check_objective=_check_objective,
    takes_sparse=True,
    takes_missing=True,
    threshold_is_zero=True,  # there eta is 1/2, if both classes are equally frequent: best by balanced accuracy
)


def trees_of_model(model: Any) -> tuple[dict[str, Any], dict[str, Any]] | None:
    """Return the parameters and the arrays of a fitted forest or boosting; None if arrays cannot hold it.

    The nodes of all trees stand one after another, one array for each field of scikit-learn's nodes.
    """
    arrays: dict[str, Any] = {}
    if type(model) in (ExtraTreesRegressor, RandomForestRegressor) and hasattr(model, "estimators_"):
        states = [tree.tree_.__getstate__() for tree in model.estimators_]
        trees = [state["nodes"] for state in states]
        arrays["values"] = np.concatenate([state["values"].ravel() for state in states])
    elif _is_plain_boosting(model):
        trees = [predictor.nodes for (predictor,) in model._predictors]
        arrays["baseline"] = float(model._baseline_prediction.item())
    else:
        return None
    nodes = np.concatenate(trees)
    arrays |= {
        "n_features": int(model.n_features_in_),
        "sizes": np.array([len(tree) for tree in trees]),
        "nodes": {name: np.ascontiguousarray(nodes[name]) for name in nodes.dtype.names or ()},
    }
    return model.get_params(deep=False), arrays


def model_of_trees(kind: Any, parameters: dict[str, Any], arrays: dict[str, Any]) -> Any:
    """Return the model of ``trees_of_model``; raise ValueError if a tree points outside itself."""
    n_features, sizes = arrays["n_features"], arrays["sizes"]
    if not 1 <= n_features <= _MOST_FEATURES or not len(sizes) or (sizes < 1).any():
        raise ValueError(f"expected trees of 1 to {_MOST_FEATURES} features, of at least one node each")
    # A fit to two points sets all that scikit-learn needs besides trees, in the version that is installed.
    points, y = np.zeros((2, n_features)), np.array([False, True])
    ends = np.cumsum(sizes)[:-1]
    if kind is HistGradientBoostingClassifier:
        model = kind(max_iter=1, early_stopping=False).fit(points, y)
        ((predictor,),) = model._predictors
        nodes = _checked_nodes(arrays["nodes"], predictor.nodes.dtype, sizes, n_features)
        if nodes["is_categorical"].any():
            raise ValueError("expected trees without categories")
        none = predictor.raw_left_cat_bitsets[:0]
        model._predictors = [[type(predictor)(tree, none, none)] for tree in np.split(nodes, ends)]
        model._baseline_prediction = np.full((1, 1), arrays["baseline"])
    else:
        model = kind(len(sizes)).fit(points, y)
        layout = model.estimators_[0].tree_.__getstate__()["nodes"].dtype
        nodes = _checked_nodes(arrays["nodes"], layout, sizes, n_features)
        values = arrays["values"].reshape(len(nodes), 1, 1)
        states = zip(np.split(nodes, ends), np.split(values, ends), strict=True)
        for tree, (of_tree, of_nodes) in zip(model.estimators_, states, strict=True):
            state = {"max_depth": _depth(of_tree), "node_count": len(of_tree), "nodes": of_tree, "values": of_nodes}
            tree.tree_ = Tree(n_features, np.array([1], np.intp), 1)  # only a new one takes as many nodes as there are
            tree.tree_.__setstate__(state)
    return model.set_params(**parameters)


def _is_plain_boosting(model: Any) -> bool:
    """Return whether arrays hold all that a fitted boosting needs: two labels, no categories, no names."""
    if type(model) is not HistGradientBoostingClassifier or not hasattr(model, "classes_") or model.warm_start:
        return False
    is_binary = model.classes_.tolist() == [False, True]
    return is_binary and model._preprocessor is None and not hasattr(model, "feature_names_in_")


def _checked_nodes(
    fields: dict[str, NDArray[Any]], layout: np.dtype[Any], sizes: NDArray[np.int64], n_features: int
) -> NDArray[Any]:
    """Return nodes in the layout of scikit-learn, which follows them without any check of its own.

    Children come after their parent, and every node but the root is the child of one: so each path ends in a leaf.
    """
    if set(fields) != set(layout.names or ()):
        raise ValueError(f"expected trees of the scikit-learn installed, with {layout.names}, found {list(fields)}")
    nodes = np.zeros(int(sizes.sum()), layout)
    for name, field in fields.items():
        if field.shape != nodes.shape or field.dtype != layout[name]:
            raise ValueError(f"expected {len(nodes)} numbers of type {layout[name]} as {name} of trees")
        nodes[name] = field
    left, right, feature, is_leaf = _pointers(nodes)
    start = np.repeat(np.cumsum(sizes) - sizes, sizes)
    place, size = np.arange(len(nodes)) - start, np.repeat(sizes, sizes)
    inner = ~is_leaf
    children = [child[inner] for child in (left, right)]
    inside = all(((place[inner] < child) & (child < size[inner])).all() for child in children)
    if not inside or not ((feature[inner] >= 0) & (feature[inner] < n_features)).all():
        raise ValueError("a tree points outside itself")
    parents = np.bincount(np.concatenate([child + start[inner] for child in children]), minlength=len(nodes))
    if (parents[place > 0] != 1).any():
        raise ValueError("a tree points twice to the same node, or never")
    return nodes


def _pointers(nodes: NDArray[Any]) -> list[Any]:
    """Return the left and the right child of each node, its feature, and whether it is a leaf."""
    if "left_child" in (nodes.dtype.names or ()):
        left, right, feature = (nodes[name].astype(np.int64) for name in ("left_child", "right_child", "feature"))
        return [left, right, feature, left == -1]
    left, right, feature = (nodes[name].astype(np.int64) for name in ("left", "right", "feature_idx"))
    return [left, right, feature, nodes["is_leaf"] == 1]


def _depth(nodes: NDArray[Any]) -> int:
    left, right = nodes["left_child"], nodes["right_child"]
    level, depth = np.zeros(1, np.intp), 0
    while len(inner := level[left[level] != -1]):
        level, depth = np.concatenate([left[inner], right[inner]]), depth + 1
    return depth
