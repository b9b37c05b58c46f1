"""Trees that are each grown on a bag of the points: scores of points by trees without them, and what trees split at."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from sklearn.tree import DecisionTreeRegressor, ExtraTreeRegressor

from symloss.estimators.base import TrainingData
from symloss.estimators.forest import POINTS_OF_A_TREE, balanced_weight
from symloss.threads import one_thread

Array = NDArray[np.float64]
_KINDS = {"random": ExtraTreeRegressor, "best": DecisionTreeRegressor}  # by the value of ``splits``
_TREES = {"random": 75, "best": 50}  # how many of each kind
_LEAF = 20  # large leaves: the scores must not follow wrong labels
_INSIDE = 1 - np.exp(-1)  # the share of points in the bag of a tree, as in a bootstrap
_MOST_REPETITIONS = 1000  # as many as tell in what share of the bags a point is
_LARGE = 1e37  # float32 reaches from 1e-38 to 3e38
_FAR = 1e4  # a mean so many times as large as the reach of a feature leaves float32 three digits


class OutOfBag(NamedTuple):
    """The mean score of each point by trees that were grown without it, and the share of each feature in the splits.

    Examples
    --------
    >>> OutOfBag(scores=np.array([-0.5, 0.5]), importance=np.array([1.0])).importance
    array([1.])
    """

    scores: Array
    importance: Array


@one_thread()
def out_of_bag(data: TrainingData, splits: str, seed: int) -> OutOfBag:
    """Grow trees on bags of the points; a point that is in every bag has the score 0.

    A point of weight k is k repetitions, each of which a tree is grown with or without: scikit-learn's own bags draw
    points by their weights, so that a point of a rare class would be in all of them.

    Parameters
    ----------
    data : TrainingData
        Points of two classes; values may be missing.
    splits : {"random", "best"}
        Whether a node tries one random split of each feature that it looks at, or all. Trees of one seed have the same
        bags.
    seed : int
        The seed of bags and trees.

    Examples
    --------
    >>> X = np.random.default_rng(0).normal(size=(200, 2))
    >>> found = out_of_bag(TrainingData(X, X[:, 0] > 0, np.ones(200)), "best", seed=0)
    >>> bool(found.importance[0] > 0.7), bool(np.mean((found.scores > 0) == (X[:, 0] > 0)) > 0.9)
    (True, True)
    """
    X, kind, trees = _in_float32(data.X), _KINDS[splits], _TREES[splits]
    y, weight = np.where(data.positive, 1.0, -1.0), balanced_weight(data.positive, data.weight)
    repetitions = np.clip(np.rint(data.weight), 1, _MOST_REPETITIONS).astype(np.int64)
    generator = np.random.default_rng(seed)
    total, count, importance = np.zeros(len(y)), np.zeros(len(y)), np.zeros(X.shape[1])
    for _ in range(trees):
        inside = generator.binomial(repetitions, _INSIDE * min(1.0, POINTS_OF_A_TREE / len(y)))
        rows, outside = np.flatnonzero(inside), np.flatnonzero(inside < repetitions)
        if not len(rows) or not len(outside):
            continue
        in_bag = weight[rows] * inside[rows] / repetitions[rows]
        tree = kind(
            max_features="sqrt",
            min_weight_fraction_leaf=min(_LEAF / inside.sum(), 0.5),
            random_state=int(generator.integers(2**31)),
        ).fit(X[rows], y[rows], sample_weight=in_bag)
        left_out = (repetitions - inside)[outside]
        total[outside] += left_out * tree.predict(X[outside])
        count[outside] += left_out
        importance += tree.feature_importances_ / trees
    return OutOfBag(np.divide(total, count, out=np.zeros(len(y)), where=count > 0), importance)


def _in_float32(X: Any) -> Any:
    """Return the features as trees take them; columns whose values float32 could not tell apart are standardized."""
    if hasattr(X, "tocsr"):
        return X.astype(np.float32)
    low, high = np.fmin.reduce(X, 0, initial=np.inf), np.fmax.reduce(X, 0, initial=-np.inf)  # missing values aside
    with np.errstate(invalid="ignore", over="ignore"):
        middle, reach = low / 2 + high / 2, high / 2 - low / 2
        loses = (reach > 0) & ((np.abs(middle) > _FAR * reach) | (reach < 1 / _LARGE) | (reach > _LARGE))
    return ((X - np.where(loses, middle, 0.0)) / np.where(loses, reach, 1.0)).astype(np.float32)
