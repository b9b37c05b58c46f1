"""The candidates that the CV estimators have by default: one table."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.utils import get_tags

from symloss.estimators.classifiers import AUCClassifier, BERClassifier
from symloss.estimators.pruning import Pruned

FEW, MANY = 4_000, 50_000  # points; with more, candidates are fewer and larger


def default_candidates(
    kind: type[BERClassifier | AUCClassifier], X: Any, random_state: int | None = None
) -> list[tuple[str, Any]]:
    """Return the candidates that a CV estimator has by default: families of models, strongly to weakly regularized.

    Some average the label noise away, others follow clean labels closely. Pruned candidates leave out labels
    of each class that look most suspicious, and follow the others more closely. Which are tried depends on the number
    of points; only trees and linear models take sparse features. To add candidates of your own, append each as
    ``(name, classifier)`` to this list, and pass the list as ``candidates``.

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
    linear, unhinged
    linear, logistic
    trees, leaves of 5
    random forest, leaves of 20
    boosting, 60 small trees
    boosting, 60 trees
    Gaussian process
    random forest, 40% pruned
    Gaussian process, 20% pruned
    boosting, 100 stumps, 20% pruned
    boosting, 100 stumps, 40% pruned
    """
    seed: dict[str, Any] = {"random_state": random_state}
    own: Callable[..., Any] = partial(kind, threshold=0.0, **seed)
    is_few = X.shape[0] <= FEW
    trees = partial(own, model="trees", n_estimators=60 if is_few else 30)
    forest = partial(trees, splits="best")
    process = partial(own, "squared", "gaussian_process", n_landmarks=300 if is_few else 600)
    boosting = partial(HistGradientBoostingClassifier, l2_regularization=1.0, early_stopping=False, **seed)
    stumps = partial(boosting, learning_rate=0.05, max_iter=100, max_leaf_nodes=2)
    varied = partial(boosting, learning_rate=0.05, max_features=0.3, max_bins=63)  # from node to node, by features
    few, many, very_many = 1, 2, 4
    table = [
        (few, "linear, unhinged", own()),
        (few | many | very_many, "linear, logistic", own("logistic", alpha=0.001)),
        (few | many, "trees, leaves of 5", trees(min_samples_leaf=5)),
        (few | many, "random forest, leaves of 20", forest()),
        (very_many, "trees, leaves of 20", trees()),
        (
            few | many,
            "boosting, 60 small trees",
            boosting(learning_rate=0.03, max_iter=60, max_leaf_nodes=6, min_samples_leaf=40),
        ),
        (few, "boosting, 60 trees", boosting(learning_rate=0.15, max_iter=60, max_leaf_nodes=16)),
        (many | very_many, "boosting, 200 small trees", varied(max_iter=200, max_leaf_nodes=15, min_samples_leaf=100)),
        (many, "boosting, 200 trees", varied(max_iter=200, max_leaf_nodes=31, min_samples_leaf=50)),
        (very_many, "boosting, 300 trees", varied(max_iter=300, max_leaf_nodes=63, min_samples_leaf=100)),
        (very_many, "boosting, 300 large trees", varied(max_iter=300, max_leaf_nodes=255, min_samples_leaf=100)),
        (few | many, "Gaussian process", process()),
        (few, "random forest, 40% pruned", Pruned(forest(), 0.4, **seed)),
        (few, "Gaussian process, 20% pruned", Pruned(process(), 0.2, **seed)),
        (few, "boosting, 100 stumps, 20% pruned", Pruned(stumps(), 0.2, **seed)),
        (few, "boosting, 100 stumps, 40% pruned", Pruned(stumps(), 0.4, **seed)),
    ]
    size = few if is_few else many if X.shape[0] <= MANY else very_many
    chosen = [(name, candidate) for sizes, name, candidate in table if sizes & size]
    if hasattr(X, "tocsr"):
        chosen = [(name, candidate) for name, candidate in chosen if get_tags(candidate).input_tags.sparse]
    return chosen
