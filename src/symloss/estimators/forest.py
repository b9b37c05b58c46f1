"""Scores of a forest: the average label of the leaves that a point falls into."""

from __future__ import annotations

import copy
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from sklearn.ensemble import ExtraTreesRegressor

Array = NDArray[np.float64]


class ForestScores(NamedTuple):
    """Scores between -1 and 1 of a fitted scikit-learn forest.

    Examples
    --------
    >>> ForestScores(ExtraTreesRegressor(random_state=0).fit([[0.0], [1.0]], [-1, 1])).scores([[1.0]])
    array([1.])
    """

    forest: Any

    def scores(self, X: Any) -> Array:
        """Return the scores of the rows of X."""
        return np.asarray(self.forest.predict(X))


def fit_forest(
    X: Any,
    positive: NDArray[np.bool_],
    weight: Array,
    *,
    n_estimators: int,
    min_samples_leaf: int,
    seed: int,
    n_jobs: int | None,
    start: ForestScores | None = None,
) -> ForestScores:
    """Grow extremely randomised trees with large leaves on labels +1 and -1, both classes weighing the same.

    In the kernel "share of the trees in which two points fall into one leaf, over the leaf's weight", the minimiser of
    the unhinged risk is the sum of the labels, and that is the average label of a point's leaves. Large leaves average
    the label noise away.

    Parameters
    ----------
    X : array or sparse matrix of shape (n, d)
        Features; missing values where scikit-learn allows them.
    positive : array of n bool
        Labels.
    weight : array of n positive weights
        Weight k counts as k repetitions.
    n_estimators : int
        The number of trees.
    min_samples_leaf : int
        The fewest points in a leaf, counted as if both classes had the same size.
    seed, n_jobs
        As in scikit-learn.
    start : ForestScores, optional
        A forest to copy and to add the missing trees to.

    Examples
    --------
    >>> X = np.linspace(0, 1, 100)[:, None]
    >>> model = fit_forest(X, X[:, 0] > 0.5, np.ones(100), n_estimators=50, min_samples_leaf=10, seed=0, n_jobs=None)
    >>> low, high = model.scores(X[[0, -1]])
    >>> bool(low < -0.5 and high > 0.5)
    True
    """
    total = weight.sum()
    if total < 2 * min_samples_leaf <= len(weight):
        raise ValueError(
            f"weight k counts as k repetitions, and these weights sum to {total:g}: two leaves of {min_samples_leaf} "
            f"points need {2 * min_samples_leaf}; give larger weights or a smaller min_samples_leaf"
        )
    # Times the other class's total: whole weights stay whole, and sums of them exact.
    balanced = np.where(positive, weight[~positive].sum(), weight[positive].sum()) * weight
    forest = ExtraTreesRegressor() if start is None else copy.deepcopy(start.forest)
    forest.set_params(
        n_estimators=n_estimators,
        # Weighted points count as repeated ones, and rounding decides for no leaf.
        min_weight_fraction_leaf=min((1 - 1e-9) * min_samples_leaf / total, 0.5),
        max_features="sqrt",
        random_state=seed,
        n_jobs=n_jobs,
        warm_start=start is not None,
    )
    return ForestScores(forest.fit(X, np.where(positive, 1.0, -1.0), sample_weight=balanced))
