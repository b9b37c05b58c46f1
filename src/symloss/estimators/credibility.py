"""How credible the labels are: scores of the training points by quick models that have not seen their labels.

A label that disagrees with such a score is less credible than one that agrees. Two models are combined, because they
err on different points: extremely randomized trees, whose out-of-bag scores cost no further fit, and a Gaussian
process, whose leave-one-out scores do not either.
"""

from __future__ import annotations

import warnings
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from sklearn.ensemble import ExtraTreesRegressor

from symloss.estimators.base import TrainingData
from symloss.estimators.forest import balanced_weight, forest_parameters
from symloss.estimators.gaussian_process import GaussianProcessScores, fit_gaussian_process
from symloss.estimators.imputation import Imputation
from symloss.metrics import auc

Array = NDArray[np.float64]
_TREES = 150
_LEAF = 20
_LANDMARKS = 300
_LEAST_GAIN = 1e-3  # so that one of the two decides where neither is better than chance


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
        The seed of both models.

    Examples
    --------
    >>> X = np.linspace(0, 1, 200)[:, None]
    >>> positive = X[:, 0] > 0.5
    >>> positive[20] = True  # a wrong label
    >>> scores = credibility(TrainingData(X, positive, np.ones(200)), seed=0).scores
    >>> bool(scores[20] < 0 < scores[180])
    True
    """
    out_of_bag = _out_of_bag(data, seed)
    if hasattr(data.X, "tocsr"):
        return Credibility(out_of_bag, None)
    complete = Imputation.fit(data.X, data.weight).transform(data.X)
    process, left_out = fit_gaussian_process(complete, data.positive, data.weight, n_landmarks=_LANDMARKS, seed=seed)
    both = (out_of_bag, left_out)
    scores = sum(_gain(scores, data) ** 2 * _standardized(scores, data.weight) for scores in both)
    return Credibility(np.asarray(scores), process)


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
        kept[worst_first[left_out]] = False
    return data.rows(np.flatnonzero(kept))


def _out_of_bag(data: TrainingData, seed: int) -> Array:
    parameters = {**forest_parameters(data.weight, _TREES, _LEAF), "bootstrap": True, "oob_score": True}
    forest = ExtraTreesRegressor(**parameters, random_state=seed)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # a point that no tree has left out: its score is 0
        forest.fit(
            data.X, np.where(data.positive, 1.0, -1.0), sample_weight=balanced_weight(data.positive, data.weight)
        )
    return np.asarray(forest.oob_prediction_)


def _gain(scores: Array, data: TrainingData) -> float:
    """Return how far the AUC is above chance."""
    return max(auc(scores, data.positive, data.weight) - 0.5, _LEAST_GAIN)


def _standardized(scores: Array, weight: Array) -> Array:
    mean = np.average(scores, weights=weight)
    return np.asarray((scores - mean) / (np.sqrt(np.average((scores - mean) ** 2, weights=weight)) or 1.0))
