"""How credible the labels are: scores of the training points by quick models that have not seen their labels.

A label that disagrees with such a score is less credible than one that agrees. Four models are combined, because they
err on different points: extremely randomized trees and trees with the best splits, whose out-of-bag scores cost no
further fit, and two Gaussian processes, whose leave-one-out scores do not either.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from symloss.estimators.base import TrainingData
from symloss.estimators.family import Scorer
from symloss.estimators.gaussian_process import fit_gaussian_process
from symloss.estimators.imputation import Imputation
from symloss.estimators.out_of_bag import out_of_bag
from symloss.estimators.relevance_process import fit_relevance_process
from symloss.estimators.standardization import Standardization
from symloss.metrics import auc

Array = NDArray[np.float64]
# Of the processes that tell how credible labels are, by model. With as many, a model continues from such a process.
LANDMARKS = {"gaussian_process": 300, "relevance_process": 150}
_LEAST_GAIN = 1e-3  # so that something decides where none is better than chance


class Credibility(NamedTuple):
    """Held-out scores of the training points, large where the positive label is credible; and the processes, by model.

    Sparse features have no processes: trees alone tell how credible their labels are.

    Examples
    --------
    >>> Credibility(scores=np.array([-0.5, 0.5]), processes={}).scores
    array([-0.5,  0.5])
    """

    scores: Array
    processes: dict[str, Scorer]


def credibility(data: TrainingData, seed: int) -> Credibility:
    """Return a score of each point by models that did not see its label, but for the relevance of features.

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
    held_out = [out_of_bag(data, "random", seed).scores]
    processes: dict[str, Scorer] = {}
    if hasattr(data.X, "tocsr"):
        held_out.append(out_of_bag(data, "best", seed).scores)
    else:
        data = data._replace(X=Imputation.fit(data.X, data.weight).transform(data.X))
        trees = out_of_bag(data, "best", seed)
        process, left_out = fit_gaussian_process(*data, n_landmarks=LANDMARKS["gaussian_process"], seed=seed)
        relevance, left_out_of_relevance = fit_relevance_process(
            data, n_landmarks=LANDMARKS["relevance_process"], seed=seed, importance=trees.importance
        )
        processes = {"gaussian_process": process, "relevance_process": relevance}
        held_out += [trees.scores, left_out(), left_out_of_relevance()]
    by_model = np.stack(held_out, 1)
    gains = np.array([_gain(scores, data) for scores in held_out])
    return Credibility(Standardization.fit(by_model, data.weight).transform(by_model) @ gains**2, processes)


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


def _gain(scores: Array, data: TrainingData) -> float:
    """Return how far the AUC is above chance."""
    return max(auc(scores, data.positive, data.weight) - 0.5, _LEAST_GAIN)
