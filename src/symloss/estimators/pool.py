"""The candidates that the CV forms have by default."""

from __future__ import annotations

from typing import Any

from sklearn.base import clone
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.utils import get_tags

from symloss.estimators.candidates import ALL_AT_ONCE, is_own, prunes
from symloss.estimators.classifiers import AUCClassifier, BERClassifier
from symloss.estimators.credibility import LANDMARKS

_VERY_MANY = 50_000
# The best on many points are often not so on few.
FOR_MANY_POINTS = ("trees, leaves of 20", "trees, leaves of 5", "boosting, 100 trees", "boosting, 300 trees")
_FOR_FEW_POINTS = ("random forest, leaves of 20", "boosting, 100 stumps", "boosting, 60 trees", "relevance process")
MORE_TREES = 3  # how many times as many trees a forest has that is fitted to many points, as in the search


def default_candidates(
    kind: type[BERClassifier | AUCClassifier], X: Any, random_state: int | None = None
) -> list[tuple[str, Any]]:
    """Return the candidates that a CV estimator has by default: families of models, strongly to weakly regularized.

    In each family, the first candidates average the label noise away, and the last ones follow clean labels closely.
    Pruned candidates leave out the least credible labels of each class, and follow the others more closely. Above
    6,000 points, random forests, stumps, boosting with 60 trees, relevance processes and pruned candidates are left
    out; a kernel model, more boosting, and trees with larger and smaller leaves take their place. Forests then have
    100 trees, not 60. Above 50,000 points there is one more, boosting with more and larger trees. Candidates that
    cannot be fitted to X are left out: only trees and linear models take sparse features. To add candidates of your
    own, append each as ``(name, classifier)`` to this list, and pass the list as ``candidates``.

    Parameters
    ----------
    kind : BERClassifier or AUCClassifier
        The class of the candidates, except boosting.
    X : array, data frame or sparse matrix
        The features.
    random_state : int, optional
        The seed of the candidates.

    Examples
    --------
    >>> import numpy as np
    >>> for name, _ in default_candidates(AUCClassifier, np.zeros((300, 2))):
    ...     print(name)
    trees, leaves of 20
    trees, leaves of 5
    random forest, leaves of 20
    linear, unhinged
    linear, logistic
    boosting, 100 stumps
    boosting, 60 small trees
    boosting, 60 trees
    Gaussian process
    relevance process
    random forest, 40% pruned
    cells, 20% pruned
    relevance process, 20% pruned
    linear, 40% pruned
    boosting, 100 stumps, 40% pruned
    boosting, 60 small trees, 40% pruned
    """
    common: dict[str, Any] = {"threshold": 0.0, "random_state": random_state}
    many = X.shape[0] > ALL_AT_ONCE
    trees = 100 if many else 60
    landmarks: dict[str, Any] = {"n_landmarks": LANDMARKS["relevance_process"]}
    pool: list[tuple[str, Any]] = [
        *(
            (f"trees, leaves of {leaf}", kind(model="trees", n_estimators=trees, min_samples_leaf=leaf, **common))
            for leaf in (20, 5)
        ),
        ("random forest, leaves of 20", kind(model="trees", splits="best", n_estimators=trees, **common)),
        ("linear, unhinged", kind(**common)),
        ("linear, logistic", kind("logistic", alpha=0.001, **common)),
        ("boosting, 100 stumps", _boosting(0.05, 100, leaves=2, points_of_a_leaf=40, seed=random_state)),
        ("boosting, 60 small trees", _boosting(0.03, 60, leaves=6, points_of_a_leaf=40, seed=random_state)),
        ("boosting, 60 trees", _boosting(0.15, 60, leaves=16, points_of_a_leaf=20, seed=random_state)),
        ("Gaussian process", kind("squared", "gaussian_process", **common)),
        ("relevance process", kind("squared", "relevance_process", **landmarks, **common)),
        (
            "random forest, 40% pruned",
            kind(model="trees", splits="best", prune=0.4, n_estimators=trees, **common),
        ),
        ("cells, 20% pruned", kind(model="cells", prune=0.2, n_estimators=150, **common)),
        ("relevance process, 20% pruned", kind("squared", "relevance_process", prune=0.2, **landmarks, **common)),
        ("linear, 40% pruned", kind("logistic", prune=0.4, **common)),
        # Fewer and cleaner labels allow faster steps and smaller leaves than those of the same names with all labels.
        *(
            (
                f"boosting, {rounds} {what}, 40% pruned",
                kind("logistic", "boosting", prune=0.4, n_estimators=rounds, max_leaf_nodes=leaves, **common),
            )
            for rounds, what, leaves in ((100, "stumps", 2), (60, "small trees", 6))
        ),
    ]
    if many:
        pool = [(name, each) for name, each in pool if name not in _FOR_FEW_POINTS and not prunes(each)]
        pool += [
            ("trees, leaves of 100", kind(model="trees", n_estimators=100, min_samples_leaf=100, **common)),
            ("trees, leaves of 1", kind(model="trees", n_estimators=60, min_samples_leaf=1, **common)),
            ("boosting, 100 trees", _boosting(0.1, 100, leaves=31, points_of_a_leaf=20, seed=random_state)),
            ("kernel", kind("logistic", "kernel", alpha=5e-5, **common)),
        ]
    if X.shape[0] > _VERY_MANY:
        pool.append(("boosting, 300 trees", _boosting(0.05, 300, leaves=63, points_of_a_leaf=100, seed=random_state)))
    is_sparse = hasattr(X, "tocsr")
    return [(name, candidate) for name, candidate in pool if not is_sparse or get_tags(candidate).input_tags.sparse]


def with_more_trees(estimator: Any) -> Any:
    """Return a copy of a forest of ours with three times as many trees; any other estimator as it is.

    Examples
    --------
    >>> with_more_trees(AUCClassifier(model="trees", n_estimators=100)).n_estimators
    300
    """
    if not is_own(estimator) or estimator.model != "trees":
        return estimator
    return clone(estimator).set_params(n_estimators=MORE_TREES * estimator.n_estimators)


def _boosting(
    rate: float, trees: int, leaves: int, points_of_a_leaf: int, seed: int | None
) -> HistGradientBoostingClassifier:
    return HistGradientBoostingClassifier(
        learning_rate=rate,
        max_iter=trees,
        max_leaf_nodes=leaves,
        min_samples_leaf=points_of_a_leaf,
        l2_regularization=1.0,
        early_stopping=False,
        random_state=seed,
    )
