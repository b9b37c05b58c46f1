"""How credible the labels are: scores of the training points by quick models that have not seen their labels.

A label that disagrees with such a score is less credible than one that agrees. Three models are combined, because they
err on different points: extremely randomized trees and trees with the best splits, whose out-of-bag scores cost no
further fit, and a Gaussian process, whose leave-one-out scores do not either.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from sklearn.tree import DecisionTreeRegressor, ExtraTreeRegressor

from symloss.estimators.base import TrainingData
from symloss.estimators.forest import POINTS_OF_A_TREE, balanced_weight
from symloss.estimators.gaussian_process import GaussianProcessScores, fit_gaussian_process
from symloss.estimators.imputation import Imputation
from symloss.estimators.standardization import Standardization
from symloss.metrics import auc
from symloss.threads import one_thread

Array = NDArray[np.float64]
_TREES = {ExtraTreeRegressor: 75, DecisionTreeRegressor: 50}  # how many of each kind
_LEAF = 20  # large leaves: the scores must not follow wrong labels
_INSIDE = 1 - np.exp(-1)  # the share of points in the bag of a tree, as in a bootstrap
_MOST_REPETITIONS = 1000  # as many as tell in what share of the bags a point is
_LARGE = 1e38
LANDMARKS = 300  # of the Gaussian process
_LEAST_GAIN = 1e-3  # so that something decides where none is better than chance


class Credibility(NamedTuple):
    """Held-out scores of the training points, large where the positive label is credible; and the Gaussian process.

    Sparse features have no Gaussian process: trees alone tell how credible their labels are.
    """

    scores: Array
    process: GaussianProcessScores | None


def credibility(data: TrainingData, seed: int) -> Credibility:
    """Return a score of each point by models that did not see its label.

    Parameters
    ----------
    data : TrainingData
        Points of two classes; values may be missing.
    seed : int
        The seed of all models.

    Examples
    --------
    >>> X = np.linspace(0, 1, 200)[:, None]
    >>> positive = X[:, 0] > 0.5
    >>> positive[20] = True  # a wrong label
    >>> scores = credibility(TrainingData(X, positive, np.ones(200)), seed=0).scores
    >>> bool(scores[20] < 0 < scores[180])
    True
    """
    X = _in_float32(data.X)
    # Both kinds of trees have the same bags.
    held_out = [_out_of_bag(data._replace(X=X), kind, trees, seed) for kind, trees in _TREES.items()]
    process = None
    if not hasattr(data.X, "tocsr"):
        complete = Imputation.fit(data.X, data.weight).transform(data.X)
        process, left_out = fit_gaussian_process(complete, data.positive, data.weight, n_landmarks=LANDMARKS, seed=seed)
        held_out.append(left_out)
    by_model = np.stack(held_out, 1)
    gains = np.array([_gain(scores, data) for scores in held_out])
    return Credibility(Standardization.fit(by_model, data.weight).transform(by_model) @ gains**2, process)


def credible(data: TrainingData, scores: Array, share: float) -> TrainingData:
    """Return the points without a share of each class, by weight: those whose labels are the least credible.

    Examples
    --------
    >>> data = TrainingData(np.arange(4.0)[:, None], np.array([False, False, True, True]), np.ones(4))
    >>> credible(data, np.array([0.0, 0.9, 0.8, 0.1]), share=0.5).X[:, 0]
    array([0., 2.])
    """
    kept = np.ones(len(scores), bool)
    for of_class, sign in ((data.positive, 1), (~data.positive, -1)):
        rows = np.flatnonzero(of_class)
        worst_first = rows[np.argsort(sign * scores[rows], kind="stable")]
        left_out = np.cumsum(data.weight[worst_first]) <= share * data.weight[rows].sum()
        left_out[-1] = False  # the class stays
        kept[worst_first[left_out]] = False
    return data.rows(np.flatnonzero(kept))


@one_thread()
def _out_of_bag(data: TrainingData, kind: Any, trees: int, seed: int) -> Array:
    """Return the mean score of each point by trees of a kind that were grown without it; 0 if none was.

    A point of weight k is k repetitions, each of which a tree is grown with or without: scikit-learn's own bags draw
    points by their weights, so that a point of a rare class would be in all of them.
    """
    X = data.X
    y, weight = np.where(data.positive, 1.0, -1.0), balanced_weight(data.positive, data.weight)
    repetitions = np.clip(np.rint(data.weight), 1, _MOST_REPETITIONS).astype(np.int64)
    generator = np.random.default_rng(seed)
    total, count = np.zeros(len(y)), np.zeros(len(y))
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
    return np.divide(total, count, out=np.zeros(len(y)), where=count > 0)


def _in_float32(X: Any) -> Any:
    """Return the features as trees take them; columns with larger values than float32 has are divided."""
    if hasattr(X, "tocsr"):
        return X.astype(np.float32)
    largest = np.nanmax(np.abs(X), axis=0, initial=0.0)
    return (X / np.where(largest > _LARGE, largest, 1.0)).astype(np.float32)


def _gain(scores: Array, data: TrainingData) -> float:
    """Return how far the AUC is above chance."""
    return max(auc(scores, data.positive, data.weight) - 0.5, _LEAST_GAIN)
