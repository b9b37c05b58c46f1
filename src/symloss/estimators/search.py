"""Fit candidates, ours and those of users, and score them on folds."""

from __future__ import annotations

import copy
import pickle
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, nullcontext
from typing import Any, NamedTuple

import numpy as np
from joblib import parallel_config
from numpy.typing import NDArray
from sklearn.base import clone
from sklearn.compose import ColumnTransformer
from sklearn.pipeline import Pipeline
from sklearn.utils import _safe_indexing
from sklearn.utils.validation import has_fit_parameter

from symloss.estimators.classifiers import AUCClassifier, BERClassifier
from symloss.estimators.folds import Folds, WithFrame, check_test_folds, split
from symloss.estimators.pool import FEW
from symloss.estimators.pruning import Pruned
from symloss.estimators.scoring import Metric, fit_curve, weights_by_least_squares, weights_of_average
from symloss.machines import one_thread
from symloss.models.families import family_of
from symloss.models.family import TrainingData

Array = NDArray[np.float64]
Rows = NDArray[np.intp]
Candidates = Sequence[tuple[str, Any]]
_REPEATED = 10  # weights that are whole numbers become repeated rows, at most so many times as many


class Scored(NamedTuple):
    """The scores of points by a candidate, the seconds that fitting and scoring took, and the fit if that is kept."""

    scores: Array
    seconds: float
    fitted: Any


def is_own(estimator: Any) -> bool:
    """Return whether an estimator is one of ours."""
    return isinstance(estimator, (BERClassifier, AUCClassifier))


def takes_frame(estimator: Any) -> bool:
    """Return whether an estimator takes columns of a data frame by name: whether a ``ColumnTransformer`` is in it."""
    return any(isinstance(part, ColumnTransformer) for part in (estimator, *estimator.get_params().values()))


def fit(estimator: Any, data: TrainingData) -> Any:
    """Return a copy of a candidate, fitted to points with the labels False and True.

    Weights that are whole numbers become repeated rows, if these are not too many: so they count as repetitions, also
    where ``fit`` takes none, and in bins and leaves, which count rows.
    """
    estimator, data = clone(estimator), data._replace(X=_given(estimator, data.X))
    if is_own(estimator):
        estimator._check_parameters()
        estimator.classes_, estimator.n_features_in_ = np.array([False, True]), data.X.shape[1]
        folds = split(estimator.cv, *data, estimator._seed()) if estimator._needs_folds() else []
        return estimator._fit_points(data, folds)
    X, positive, weight = data
    with _threads_of(estimator):
        if (weight == 1).all():
            return estimator.fit(X, positive)
        if (weight % 1 == 0).all() and weight.sum() <= _REPEATED * len(weight) and not isinstance(estimator, Pruned):
            rows = np.repeat(np.arange(len(weight)), weight.astype(np.intp))
            return estimator.fit(_safe_indexing(X, rows), positive[rows])
        if not has_fit_parameter(estimator, "sample_weight"):
            raise ValueError(
                f"{type(estimator).__name__} takes no sample_weight: expected weights that are whole numbers, of which "
                f"it gets as many rows, at most {_REPEATED} per point in the mean; got a sum of {weight.sum():g} over "
                f"{len(weight)} points"
            )
        return estimator.fit(X, positive, sample_weight=weight)


def fit_and_score(
    estimator: Any, X: Any, positive: NDArray[np.bool_], weight: Array, train: Rows, test: Rows, keeps: bool
) -> Scored:
    """Fit a candidate to some rows and score others; rows are taken here, so that each process is sent X only once."""
    start = time.monotonic()
    fitted = fit(estimator, TrainingData(X[train], positive[train], weight[train]))
    scores = raw_scores(fitted, X[test])
    varies = not (is_own(estimator) and family_of(estimator.model).is_stable)  # from fold to fold
    return Scored(scores, time.monotonic() - start, fitted if keeps and varies else None)


def raw_scores(estimator: Any, X: Any) -> Array:
    """Return the scores of a fitted candidate, or its probabilities of the positive label."""
    X = _given(estimator, X)
    # Several threads would add up the trees of a forest in any order, and so change the last digits.
    with parallel_config("threading", n_jobs=1), _threads_of(estimator):
        if hasattr(estimator, "decision_function"):
            return np.asarray(estimator.decision_function(X))
        return np.asarray(estimator.predict_proba(X)[:, 1])


def sent(function: Any, *args: Any) -> Any:
    """Return the result of a function that another process is to be sent, without a fit that cannot be pickled."""
    result = function(*args)
    try:
        pickle.dumps(result)
    except Exception:  # of any type: the fit is of the user's class
        return result._replace(fitted=None) if isinstance(result, Scored) else None
    return result


def with_labels(estimator: Any, classes: NDArray[Any]) -> Any:
    """Return a copy of a candidate that predicts the labels of the user, if it keeps its labels in ``classes_``."""
    copied = copy.copy(estimator)
    if isinstance(copied, Pipeline):
        name, last = copied.steps[-1]
        copied.steps = [*copied.steps[:-1], (name, with_labels(last, classes))]
    elif "classes_" in vars(copied):
        copied.classes_ = classes
    return copied


def _given(estimator: Any, X: Any) -> Any:
    if not isinstance(X, WithFrame):
        return X
    return X.frame if takes_frame(estimator) else X.values


def _threads_of(estimator: Any) -> AbstractContextManager[None]:
    """Return a context with one thread for an estimator that is scikit-learn's in all its parts.

    Our own estimators limit their threads themselves, and those of the user are left alone.
    """
    parts = [estimator, *(part for part in estimator.get_params().values() if hasattr(part, "fit"))]
    whole = all(type(part).__module__.startswith("sklearn.") for part in parts)
    return one_thread() if whole else nullcontext()


# Fits to folds are kept if there are at most so many folds, each fitted to at least this share of the points.
_MOST_FOLDS, _LEAST_SHARE = 10, 0.7


class Found(NamedTuple):
    """What a search found; dictionaries have the numbers of candidates as their keys."""

    by_fold: Array  # the scores of the candidates on the folds; NaN if there was no time for a candidate
    weights: Array  # of the candidates in the average
    scores: dict[int, Array]  # the out-of-fold scores of all points, by the candidates that were scored
    on_folds: dict[int, list[Any]]  # the fits to the folds where they vary and the weight is above 0, if they are kept


def search(
    candidates: Candidates,
    data: TrainingData,
    folds: Folds,
    metric: Metric,
    temperature: float,
    limit: float | None,
    keeps: bool,
    run: Callable[..., Iterator[tuple[int, Any]]],
) -> Found:
    """Score candidates on folds of points, and weigh them.

    After ``limit`` seconds no more candidates are scored; one always is. Fits to folds are kept if ``keeps`` allows it,
    and every fold has most of the points. ``run(stage, function, names, tasks)`` yields the number and the result of
    each task; tasks that nobody asks for are not begun.
    """
    check_test_folds(folds, data.positive)
    end = np.inf if limit is None else time.monotonic() + limit
    least = _LEAST_SHARE * data.weight.sum()
    keeps = keeps and temperature > 0 and len(folds) <= _MOST_FOLDS
    keeps = keeps and all(data.weight[train].sum() >= least for train, _ in folds)
    calls = [(c, k) for c in range(len(candidates)) for k in range(len(folds))]
    tasks = [(candidates[c][1], *data, *folds[k], keeps) for c, k in calls]
    found: list[dict[int, Scored]] = [{} for _ in candidates]
    scores, to_all = {}, 0.0  # the seconds of fits to all points
    for number, result in run(
        "Scoring candidates on folds", fit_and_score, [candidates[c][0] for c, _ in calls], tasks
    ):
        c, k = calls[number]
        found[c][k] = result
        if len(found[c]) == len(folds):
            scores[c] = np.full(len(data.weight), np.nan)
            for place, of_fold in found[c].items():
                scores[c][folds[place][1]] = of_fold.scores
                to_all += of_fold.seconds / len(folds)
        if scores and time.monotonic() + result.seconds + to_all > end:
            break
    by_fold, weights = np.full((len(candidates), len(folds)), np.nan), np.zeros(len(candidates))
    by_fold[list(scores)], weights[list(scores)] = _weigh([*scores.values()], data, folds, metric, temperature)
    on_folds = {}
    for c in np.flatnonzero(weights).tolist():
        fits = [found[c][k].fitted for k in range(len(folds))]
        if None not in fits:
            on_folds[c] = fits
    return Found(by_fold, weights, scores, on_folds)


@one_thread()
def _weigh(
    scores: list[Array], data: TrainingData, folds: Folds, metric: Metric, temperature: float
) -> tuple[Array, Array]:
    """Return the scores of candidates on the folds, each at its own threshold, and their weights."""
    rows = np.concatenate([test for _, test in folds])
    labels = data.positive[rows], data.weight[rows]
    parts, by_fold, weights = [], np.empty((len(scores), len(folds))), np.zeros(len(scores))
    for c, of in enumerate(scores):
        threshold = fit_curve(of[rows], *labels)[0] if metric.has_threshold else 0.0
        parts.append([(of[test] - threshold, data.positive[test], data.weight[test]) for _, test in folds])
        by_fold[c] = [metric.score(*part) for part in parts[c]]
    if temperature > 0 and len(data.weight) > FEW:
        weights = weights_by_least_squares([of[rows] for of in scores], *labels)
    if not weights.any():
        means, contributed = np.zeros(len(scores)), np.zeros((len(scores), len(rows)))
        for c, of_candidate in enumerate(parts):
            for score, contributions in metric.weighed_by:
                means[c] += np.mean([score(*part) for part in of_candidate])
                contributed[c] += np.concatenate([contributions(*part) for part in of_candidate])
        weights = weights_of_average(means, contributed, *labels, temperature)
    return by_fold, weights
