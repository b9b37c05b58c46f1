"""The family of trees: a score is the average label of the leaves that a point falls into."""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from sklearn.ensemble import ExtraTreesRegressor, RandomForestRegressor

from symloss.estimators.base import TrainingData
from symloss.estimators.family import Family, PenalizedRisk, check_count

Array = NDArray[np.float64]
FORESTS = {"random": ExtraTreesRegressor, "best": RandomForestRegressor}  # by the value of the parameter ``splits``
POINTS_OF_A_TREE = 100_000  # with more points, each tree is grown on so many of them


class ForestScores(NamedTuple):
    """The scores of a fitted scikit-learn forest, between -1 and 1.

    Examples
    --------
    >>> ForestScores(ExtraTreesRegressor(random_state=0).fit([[0.0], [1.0]], [-1, 1])).scores([[1.0]])
    array([1.])
    """

    forest: Any

    def scores(self, X: Any) -> Array:
        """Return one score per row of X."""
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
    splits: str = "random",
    start: ForestScores | None = None,
) -> ForestScores:
    """Grow randomized trees with large leaves on labels +1 and -1; both classes have the same total weight.

    The average label minimizes the unhinged risk, in this sense: let the kernel of two points be the share of the
    trees in which both fall into the same leaf, each tree divided by the weight of that leaf. The minimizer of the
    unhinged risk in the space of this kernel is the sum of the labels, and that is the average label of a point's
    leaves. Large leaves average the label noise away.

    Parameters
    ----------
    X : array or sparse matrix of shape (n, d)
        Features; values may be missing where scikit-learn allows it.
    positive : array of n bool
        Whether each label is the positive one.
    weight : array of n positive weights
        Weight k counts as k repetitions.
    n_estimators : int
        The number of trees.
    min_samples_leaf : int
        The fewest points in a leaf, counted as if both classes had the same size.
    seed, n_jobs : int
        scikit-learn's ``random_state`` and ``n_jobs``.
    splits : {"random", "best"}
        Whether a node tries one random split of each feature that it looks at (extremely randomized trees), or all
        (a random forest, whose trees are grown on bootstrap samples).
    start : ForestScores, optional
        A forest, of which a copy gets the trees that it lacks.

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
    if start is not None and type(start.forest) is not FORESTS[splits]:
        raise ValueError(f"a warm start needs the splits of the last fit, got splits={splits!r}")
    forest = FORESTS[splits]() if start is None else copy.deepcopy(start.forest)
    parameters = forest_parameters(weight, n_estimators, min_samples_leaf)
    if splits == "best":
        parameters["bootstrap"] = True  # without it, trees with the best splits are too much alike
    forest.set_params(
        **parameters,
        random_state=seed,
        n_jobs=n_jobs,
        warm_start=start is not None,
    )
    return ForestScores(forest.fit(X, np.where(positive, 1.0, -1.0), sample_weight=balanced_weight(positive, weight)))


def forest_parameters(weight: Array, n_estimators: int, min_samples_leaf: int) -> dict[str, Any]:
    """Return scikit-learn's parameters of a forest whose leaves have at least this weight.

    If there are very many points, each tree is grown on a part of them.

    Examples
    --------
    >>> f"{forest_parameters(np.ones(100), 10, 20)['min_weight_fraction_leaf']:.3f}"
    '0.200'
    """
    many = len(weight) > POINTS_OF_A_TREE
    points_of_a_tree = weight.sum() * min(1.0, POINTS_OF_A_TREE / len(weight))
    return {
        "n_estimators": n_estimators,
        # A share of the weight, so that weights count as repetitions; 1 - 1e-9, so that rounding never forbids a leaf.
        "min_weight_fraction_leaf": min((1 - 1e-9) * min_samples_leaf / points_of_a_tree, 0.5),
        "max_features": "sqrt",
        "bootstrap": many,
        "max_samples": POINTS_OF_A_TREE if many else None,
    }


def balanced_weight(positive: NDArray[np.bool_], weight: Array) -> Array:
    """Return weights with which both classes have the same total.

    Each is multiplied by the total of the other class, not divided by its own: whole weights stay whole, their sums
    exact.

    Examples
    --------
    >>> balanced_weight(np.array([True, False, False]), np.array([1.0, 1.0, 1.0]))
    array([2., 1., 1.])
    """
    weight = weight / 2.0 ** np.floor(np.log2(weight.max()))  # by a power of two: all digits stay
    return np.asarray(np.where(positive, weight[~positive].sum(), weight[positive].sum()) * weight)


def _fit(
    data: TrainingData, _: PenalizedRisk, seed: int, start: ForestScores | None, **parameters: Any
) -> ForestScores:
    return fit_forest(*data, **parameters, seed=seed, start=start)


def _check_splits(name: str, value: Any) -> None:
    if value not in tuple(FORESTS):
        raise ValueError(f"{name} must be one of {', '.join(FORESTS)}, got {value!r}")


def needs_average_label(model: str, part: str) -> Callable[[PenalizedRisk], None]:
    """Return a check that the loss of a model of average labels, in its leaves or cells, is one that they minimize.

    Examples
    --------
    >>> from symloss.losses import Hinge
    >>> needs_average_label("trees", "leaf")(PenalizedRisk("auc", Hinge(), 0.0))
    Traceback (most recent call last):
    ValueError: the average label of a leaf minimizes the unhinged (in the leaf kernel) and the squared loss; \
model='trees' needs one of these, got Hinge()
    """

    def check(objective: PenalizedRisk) -> None:
        if objective.loss.name not in ("unhinged", "squared"):
            raise ValueError(
                f"the average label of a {part} minimizes the unhinged (in the {part} kernel) and the squared loss; "
                f"model={model!r} needs one of these, got {objective.loss!r}"
            )

    return check


TREES = Family(
    description="Randomized trees with large leaves, which take missing values. Their loss is "
    '``"unhinged"``, or ``"squared"``, which gives the same scores and recovers eta.',
    fit=_fit,
    scorer=ForestScores,
    stored_as="forest",
    parameters={
        "n_estimators": check_count,
        "min_samples_leaf": check_count,
        "splits": _check_splits,
        "n_jobs": None,
    },
    check_objective=needs_average_label("trees", "leaf"),
    takes_sparse=True,
    takes_missing=True,
    threshold_is_zero=True,  # there eta is 1/2, if both classes are equally frequent: best by balanced accuracy
)
