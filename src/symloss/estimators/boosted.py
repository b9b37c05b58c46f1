"""The family of boosting: small trees, each of which is fitted to what those before it leave."""

from __future__ import annotations

from numbers import Integral
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from sklearn.ensemble import HistGradientBoostingClassifier

from symloss.estimators.base import TrainingData
from symloss.estimators.family import Family, PenalizedRisk, check_count
from symloss.threads import one_thread

Array = NDArray[np.float64]
_RATE = 0.05  # what each tree adds, of what would fit best
_PENALTY = 1.0  # of the squared scores of leaves
_MOST_ROWS = 1_000_000


class BoostedScores(NamedTuple):
    """The log-odds of a fitted boosting of scikit-learn, less those of all points: as if labels were equally frequent.

    Examples
    --------
    >>> X = np.arange(80.0)[:, None]
    >>> BoostedScores(HistGradientBoostingClassifier().fit(X, X[:, 0] > 39), 0.0).scores(X[:1]).shape
    (1,)
    """

    boosting: Any
    of_all: float

    @one_thread()
    def scores(self, X: Any) -> Array:
        """Return one score per row of X."""
        return np.asarray(self.boosting.decision_function(X) - self.of_all)


@one_thread()
def fit_boosting(
    X: Array,
    positive: NDArray[np.bool_],
    weight: Array,
    *,
    n_estimators: int,
    min_samples_leaf: int,
    max_leaf_nodes: int,
    seed: int,
) -> BoostedScores:
    """Boost small trees by the logistic loss of the labels.

    Few trees with few leaves hardly follow wrong labels. Trees of two leaves, stumps, add up functions of one feature
    each.

    Parameters
    ----------
    X : array of shape (n, d)
        Features; values may be missing.
    positive : array of n bool
        Whether each label is the positive one.
    weight : array of n positive weights
        The weight of each point.
    n_estimators : int
        The number of trees.
    min_samples_leaf, max_leaf_nodes : int
        The fewest points in a leaf, and the most leaves of a tree.
    seed : int
        scikit-learn's ``random_state``.

    Examples
    --------
    >>> X = np.linspace(0, 1, 100)[:, None]
    >>> settings = {"n_estimators": 50, "min_samples_leaf": 10, "max_leaf_nodes": 2, "seed": 0}
    >>> low, high = fit_boosting(X, X[:, 0] > 0.5, np.ones(100), **settings).scores(X[[0, -1]])
    >>> bool(low < -1 and high > 1)
    True
    """
    boosting = HistGradientBoostingClassifier(
        learning_rate=_RATE,
        max_iter=n_estimators,
        max_leaf_nodes=max_leaf_nodes,
        min_samples_leaf=min_samples_leaf,
        l2_regularization=_PENALTY,
        early_stopping=False,
        random_state=seed % 2**32,
    )
    of_all = float(np.log(weight[positive].sum() / weight[~positive].sum()))
    return BoostedScores(fit_repeated(boosting, X, positive, weight), of_all)


def fit_repeated(boosting: HistGradientBoostingClassifier, X: Any, positive: NDArray[np.bool_], weight: Array) -> Any:
    """Fit a boosting of scikit-learn to as many rows as the weights say, if they are whole numbers and not too many.

    So leaves have as many points as they should, and no time is lost: scikit-learn puts weighted points into bins far
    more slowly. If it stops early, weights are passed on, because copies of a point would be held out and fitted, too.

    Examples
    --------
    >>> boosting = HistGradientBoostingClassifier(min_samples_leaf=1)
    >>> fit_repeated(boosting, np.array([[0.0], [1.0]]), np.array([False, True]), np.array([3.0, 3.0])).n_iter_
    100
    """
    empty = np.isnan(X).all(0)
    if empty.any():  # scikit-learn finds no bins for values that are all missing
        X = np.where(empty, 0.0, X)
    if (weight == 1).all():
        return boosting.fit(X, positive)
    if (weight % 1 == 0).all() and weight.sum() <= _MOST_ROWS and boosting.early_stopping is False:
        rows = np.repeat(np.arange(len(weight)), weight.astype(np.intp))
        return boosting.fit(X[rows], positive[rows])
    return boosting.fit(X, positive, sample_weight=weight / min(weight.mean(), 1.0))  # penalties are for points


def _fit(data: TrainingData, _: PenalizedRisk, seed: int, start: object, **parameters: Any) -> BoostedScores:
    del start  # trees depend on those before them, and on all points: they are grown anew
    return fit_boosting(*data, **parameters, seed=seed)


def _check_leaves(name: str, value: Any) -> None:
    if not isinstance(value, Integral) or value < 2:
        raise ValueError(f"{name} must be a whole number of at least 2, got {value!r}")


def _check_objective(objective: PenalizedRisk) -> None:
    if objective.loss.name != "logistic":
        raise ValueError(f"model='boosting' minimizes the logistic loss and needs it, got {objective.loss!r}")


BOOSTING = Family(
    description="Boosting with small trees, which takes missing values. Its loss is "
    '``"logistic"``, and it has no penalty ``alpha``.',
    fit=_fit,
    scorer=BoostedScores,
    stored_as="boosted",
    parameters={
        "n_estimators": check_count,
        "min_samples_leaf": check_count,
        "max_leaf_nodes": _check_leaves,
    },
    check_objective=_check_objective,
    takes_missing=True,
    threshold_is_zero=True,  # there eta is 1/2, if both classes are equally frequent: best by balanced accuracy
)
