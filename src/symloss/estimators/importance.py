"""How much each feature matters: how far the score on held-out labels falls if the values of the feature are shuffled.

The labels may be corrupted: the score on corrupted labels falls by the same amount for each feature as that on clean
labels, up to a factor that all features share (pi - pi', corollaries 2 and 4).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from symloss.estimators.candidates import fit, raw_scores
from symloss.estimators.judging import Score
from symloss.models.family import TrainingData

Array = NDArray[np.float64]
Rows = NDArray[np.intp]


def falls_of_fold(
    estimators: Sequence[Any],
    shares: Array,
    X: Any,
    positive: NDArray[np.bool_],
    weight: Array,
    train: Rows,
    test: Rows,
    threshold: float,
    columns: Sequence[Rows],
    score: Score,
    n_repeats: int,
    seed: int,
) -> Array:
    """Fit an average of estimators to some rows, and return how far its score of others falls by each shuffle.

    Parameters
    ----------
    estimators : list
        The members of the average.
    shares : array of shape (members, 3)
        The weight of each member, and the mean and the scale of its scores.
    X, positive, weight
        All points.
    train, test : arrays of rows
        The rows to fit to, and the rows to score.
    threshold : float
        The threshold of the average.
    columns : list of arrays
        The features that are shuffled together: those that one column of a table has become.
    score : callable
        ``score(scores, positive, weight)``.
    n_repeats, seed : int
        How many times each column is shuffled, and the seed.

    Returns
    -------
    array of shape (columns, n_repeats)
    """
    data = TrainingData(X[train], positive[train], weight[train])
    members = [fit(estimator, data) for estimator in estimators]

    def score_of(points: Array) -> float:
        averaged = sum(
            share * (raw_scores(member, points) - mean) / scale
            for member, (share, mean, scale) in zip(members, shares, strict=True)
        )
        return score(np.asarray(averaged) - threshold, positive[test], weight[test])

    generator = np.random.default_rng(seed)
    points = X[test]
    whole = score_of(points)
    falls = np.zeros((len(columns), n_repeats))
    for k, features in enumerate(columns):
        for repeat in range(n_repeats if len(features) else 0):
            shuffled = points.copy()
            shuffled[:, features] = points[generator.permutation(len(points))][:, features]
            falls[k, repeat] = whole - score_of(shuffled)
    return falls
