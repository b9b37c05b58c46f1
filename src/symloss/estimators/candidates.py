"""Fit candidates and score points with them: our own estimators, scikit-learn's, and those of users."""

from __future__ import annotations

import time
from collections.abc import Sequence
from contextlib import AbstractContextManager, nullcontext
from numbers import Integral
from typing import Any, NamedTuple

import numpy as np
from joblib import parallel_config
from numpy.typing import NDArray
from sklearn.base import clone
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.utils.validation import has_fit_parameter

from symloss.estimators.base import TrainingData
from symloss.estimators.boosted import fit_repeated
from symloss.estimators.classifiers import AUCClassifier, BERClassifier
from symloss.estimators.credibility import LANDMARKS, Credibility, credibility
from symloss.estimators.family_table import family_of
from symloss.estimators.folds import split
from symloss.threads import one_thread

Array = NDArray[np.float64]
Candidates = Sequence[tuple[str, Any]]
ALL_AT_ONCE = 6000  # up to this many points, every candidate is scored on all of them
_MOST_ROWS = 1000


def shares(estimator: Any) -> bool:
    """Return whether an estimator leaves out labels, or is one of the processes that tell how credible labels are.

    These are fitted in one task.

    Examples
    --------
    >>> shares(BERClassifier()), shares(BERClassifier(prune=0.1))
    (False, True)
    """
    return prunes(estimator) or (is_own(estimator) and estimator.model in tuple(LANDMARKS))


def is_own(estimator: Any) -> bool:
    """Return whether an estimator is one of ours.

    Examples
    --------
    >>> is_own(BERClassifier())
    True
    """
    return isinstance(estimator, (BERClassifier, AUCClassifier))


def prunes(estimator: Any) -> bool:
    """Return whether an estimator is one of ours that leaves out the least credible labels.

    Examples
    --------
    >>> prunes(BERClassifier()), prunes(BERClassifier(prune=0.1))
    (False, True)
    """
    return is_own(estimator) and estimator.prune > 0


def varies(estimator: Any) -> bool:
    """Return whether fits to different parts of the points may differ much, as those of trees and boosting do.

    Examples
    --------
    >>> varies(BERClassifier()), varies(BERClassifier(model="trees"))
    (False, True)
    """
    return not (is_own(estimator) and family_of(estimator.model).is_stable)


class Scored(NamedTuple):
    """The scores of points by an estimator, the seconds that it would have taken alone, and its fit if that is kept.

    Examples
    --------
    >>> Scored(np.zeros(2), seconds=0.1, fitted=None).seconds
    0.1
    """

    scores: Array
    seconds: float
    fitted: Any


def groups(estimators: Sequence[Any]) -> list[list[int]]:
    """Return the places of estimators that are fitted by one task: those that share something, and each other alone.

    Examples
    --------
    >>> groups([BERClassifier(prune=0.1), BERClassifier(), BERClassifier(prune=0.2)])
    [[1], [0, 2]]
    """
    any_prunes = any(prunes(estimator) for estimator in estimators)
    together = [k for k, estimator in enumerate(estimators) if any_prunes and shares(estimator)]
    alone = [[k] for k in range(len(estimators)) if k not in together]
    return [*alone, together] if together else alone


def fit_together(estimators: Sequence[Any], X: Any, positive: NDArray[np.bool_], weight: Array) -> list[Any]:
    """Return fitted copies of estimators; how credible the labels are is found once for all that leave some out.

    Examples
    --------
    >>> X = np.linspace(0, 1, 100)[:, None]
    >>> pool = [BERClassifier(prune=share, random_state=0) for share in (0.1, 0.2)]
    >>> [fitted.prune for fitted in fit_together(pool, X, X[:, 0] > 0.5, np.ones(100))]
    [0.1, 0.2]
    """
    data = TrainingData(X, positive, weight)
    fitted = [clone(estimator) for estimator in estimators]
    known = _credibilities(fitted, data)
    for estimator in fitted:
        _fit(estimator, data, known)
    return fitted


def score_together(
    estimators: Sequence[Any],
    X: Any,
    positive: NDArray[np.bool_],
    weight: Array,
    train: NDArray[np.intp],
    test: NDArray[np.intp],
    keeps: bool,
) -> list[Scored]:
    """Fit estimators to some rows and score others; rows are taken here, so that each machine is sent X only once.

    ``keeps`` is whether fits that vary from part to part of the points are returned.

    Examples
    --------
    >>> X, train, test = np.arange(6.0)[:, None], np.array([0, 2, 3, 5]), np.array([1, 4])
    >>> (found,) = score_together([BERClassifier(threshold=0.0)], X, X[:, 0] > 2, np.ones(6), train, test, False)
    >>> bool(found.scores[0] < found.scores[1]), found.fitted
    (True, None)
    """
    data, points = TrainingData(X[train], positive[train], weight[train]), X[test]
    start = time.monotonic()
    known = _credibilities(estimators, data)
    shared = time.monotonic() - start
    found = []
    for estimator in map(clone, estimators):
        start = time.monotonic()
        _fit(estimator, data, known)
        scores = raw_scores(estimator, points)
        seconds = time.monotonic() - start + (shared if prunes(estimator) else 0.0)
        found.append(Scored(scores, seconds, estimator if keeps and varies(estimator) else None))
    return found


def raw_scores(estimator: Any, X: Any) -> Array:
    """Return the scores of a fitted estimator, or its probabilities of the positive label.

    Examples
    --------
    >>> X = np.arange(4.0)[:, None]
    >>> raw_scores(BERClassifier(threshold=0.0).fit(X, X[:, 0] > 1), X).shape
    (4,)
    """
    # Several threads would add up the trees of a forest in any order, and so change the last digits.
    with parallel_config("threading", n_jobs=1), threads_of(estimator):
        if hasattr(estimator, "decision_function"):
            return np.asarray(estimator.decision_function(X))
        return np.asarray(estimator.predict_proba(X)[:, 1])


def threads_of(estimator: Any) -> AbstractContextManager[None]:
    """Return a context with one thread for an estimator that is scikit-learn's in all its parts.

    Our own estimators limit their threads themselves, and those of the user are left alone.

    Examples
    --------
    >>> import torch
    >>> from sklearn.naive_bayes import GaussianNB
    >>> with threads_of(GaussianNB()):
    ...     torch.get_num_threads()
    1
    """
    parts = [estimator, *(part for part in estimator.get_params().values() if hasattr(part, "fit"))]
    whole = all(type(part).__module__.startswith("sklearn.") for part in parts)
    return one_thread() if whole else nullcontext()


def _credibilities(estimators: Sequence[Any], data: TrainingData) -> dict[int, Credibility]:
    """Return how credible the labels are, by the seeds of the estimators that leave some out."""
    of = [estimator for estimator in estimators if prunes(estimator) and isinstance(estimator.random_state, Integral)]
    return {seed: credibility(data, seed) for seed in dict.fromkeys(estimator._seed() for estimator in of)}


def _fit(estimator: Any, data: TrainingData, known: dict[int, Credibility]) -> None:
    if is_own(estimator):
        _fit_own(estimator, data, known)
    else:
        with threads_of(estimator):
            _fit_other(estimator, data)


def _fit_own(estimator: BERClassifier | AUCClassifier, data: TrainingData, known: dict[int, Credibility]) -> None:
    estimator._check_parameters()
    estimator.classes_, estimator.n_features_in_ = np.array([False, True]), data.X.shape[1]
    of_seed = known.get(estimator._seed()) if isinstance(estimator.random_state, Integral) else None
    folds = split(estimator.cv, *data, estimator._seed()) if estimator._needs_folds() else []
    estimator._fit_points(data, folds, known=of_seed if shares(estimator) else None)


def _fit_other(estimator: Any, data: TrainingData) -> None:
    """Fit an estimator; weights are passed only if they differ from 1, and repeated where fit does not take them."""
    X, positive, weight = data
    if isinstance(estimator, HistGradientBoostingClassifier):
        fit_repeated(estimator, X, positive, weight)
    elif (weight == 1).all():
        estimator.fit(X, positive)
    elif has_fit_parameter(estimator, "sample_weight"):
        estimator.fit(X, positive, sample_weight=weight)
    elif (weight % 1 > 0).any() or weight.sum() > _MOST_ROWS * len(weight):
        raise ValueError(
            f"{type(estimator).__name__} takes no sample_weight: expected weights that are whole numbers, of which it "
            f"gets as many rows, at most {_MOST_ROWS} per point in the mean; got a sum of {weight.sum():g} over "
            f"{len(weight)} points"
        )
    else:
        rows = np.repeat(np.arange(len(weight)), weight.astype(np.intp))
        estimator.fit(X[rows], positive[rows])
