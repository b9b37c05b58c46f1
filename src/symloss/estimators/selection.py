"""Score models on folds of the corrupted labels, and average the best of them.

AUC and balanced accuracy on corrupted labels are increasing affine functions of those on clean labels (corollaries 2
and 4 with the zero-one loss). So the candidate that is best on corrupted labels is, up to chance, also best on clean
ones.
"""

from __future__ import annotations

import copy
import sys
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, nullcontext
from typing import Any, ClassVar, NamedTuple, Self

import numpy as np
from joblib import parallel_config
from numpy.typing import NDArray
from scipy.stats import rankdata
from sklearn.base import BaseEstimator, clone
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.utils import get_tags

from symloss.corruption import check_contamination
from symloss.estimators.base import BinaryClassifier, TrainingData
from symloss.estimators.classifiers import AUCClassifier, BERClassifier
from symloss.estimators.docstrings import CV_FITTED, CV_PARAMETERS, fill_docstring
from symloss.estimators.folds import Folds, check_test_folds, split
from symloss.estimators.standard_errors import (
    auc_contributions,
    balanced_accuracy_contributions,
    standard_error_of_difference,
)
from symloss.estimators.threshold import choose_threshold
from symloss.machines import LostTask, completed
from symloss.metrics import (
    Estimate,
    auc,
    balanced_accuracy,
    estimate_clean_auc,
    estimate_clean_balanced_accuracy,
)
from symloss.threads import one_thread

Array = NDArray[np.float64]
Candidates = Sequence[tuple[str, Any]]
_LEAST_WEIGHT = 0.03  # as a share of the weight of the best candidate


class Member(NamedTuple):
    """A fitted candidate, its weight in the average, and the mean and standard deviation of its out-of-fold scores.

    Examples
    --------
    >>> Member("linear", BERClassifier(), 0.5, mean=0.0, scale=1.0).name
    'linear'
    """

    name: str
    estimator: Any
    weight: float
    mean: float
    scale: float

    def scores(self, X: Any) -> Array:
        """Return the standardized scores of the rows of X, which all members have on the same scale."""
        return (_raw_scores(self.estimator, X) - self.mean) / self.scale


class _ClassifierCV(BinaryClassifier):
    _kind: ClassVar[type[BERClassifier | AUCClassifier]]

    def __init__(
        self,
        candidates: Candidates | None = None,
        *,
        temperature: float = 1.0,
        cv: Any = 5,
        pi: float | None = None,
        pi_prime: float | None = None,
        random_state: Any = None,
        n_jobs: int | None = None,
        verbose: bool = False,
        callback: Callable[[str, int, int, str], object] | None = None,
    ) -> None:
        self.candidates = candidates
        self.temperature = temperature
        self.cv = cv
        self.pi = pi
        self.pi_prime = pi_prime
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.verbose = verbose
        self.callback = callback

    def __sklearn_clone__(self) -> Self:
        """Return an unfitted copy that calls the same callback: a copy of a progress bar would show nothing."""
        bare = copy.copy(self)
        bare.callback = None
        cloned: Self = BaseEstimator.__sklearn_clone__(bare)
        cloned.callback = self.callback
        return cloned

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Score the candidates on folds, and fit the best ones to all points; weight k counts as k repetitions."""
        self._forget()
        if (self.pi is None) != (self.pi_prime is None):
            raise ValueError(f"give both pi and pi_prime or neither, got {self.pi!r} and {self.pi_prime!r}")
        if self.pi is not None and self.pi_prime is not None:
            check_contamination(self.pi, self.pi_prime)
        if not self.temperature >= 0:
            raise ValueError(f"temperature must be at least 0, got {self.temperature!r}")
        if self.callback is not None and not callable(self.callback):
            raise ValueError(f"callback must be a function or None, got {self.callback!r}")
        data = self._training(X, y, sample_weight)
        seed = self._seed()
        candidates = self._pool(data, seed)
        smaller = min(np.count_nonzero(data.positive), np.count_nonzero(~data.positive))
        if smaller < 2:
            raise ValueError(f"{type(self).__name__} needs two points of each class, to hold one out, got {smaller}")
        folds = split(self.cv, *data, seed)
        check_test_folds(folds, data.positive)
        scores = self._out_of_fold(candidates, data, folds)
        self.cv_results_ = self._results([name for name, _ in candidates], scores, data, folds)
        weights = self.cv_results_["weight"]
        best = np.flatnonzero(weights)[np.argsort(-weights[weights > 0], kind="stable")].tolist()
        used = data.used()
        names = [candidates[k][0] for k in best]
        fitted = self._run("Fitting the best", _fitted, names, [(candidates[k][1], *used) for k in best])
        self.members_ = [
            Member(candidates[k][0], estimator, float(weights[k]), *_mean_and_scale(scores[k], data))
            for k, estimator in zip(best, fitted, strict=True)
        ]
        weighted = [m.weight * (scores[k] - m.mean) / m.scale for k, m in zip(best, self.members_, strict=True)]
        self._set_threshold(np.sum(weighted, 0), data)
        return self

    def _out_of_fold(self, candidates: Candidates, data: TrainingData, folds: Folds) -> Array:
        """Return scores (candidates, points), each by a fit without the point; NaN if no fold holds the point out."""
        names = [name for name, _ in candidates for _ in folds]
        tasks = [(estimator, *data, *fold) for _, estimator in candidates for fold in folds]
        found = self._run("Scoring candidates on folds", _scores_of, names, tasks)
        scores = np.full((len(candidates), len(data.weight)), np.nan)
        for k in range(len(candidates)):
            for (_, test), part in zip(folds, found[k * len(folds) :], strict=False):
                scores[k, test] = part
        return scores

    def _run(
        self, stage: str, function: Callable[..., Any], names: list[str], tasks: list[tuple[Any, ...]]
    ) -> list[Any]:
        """Return the results of tasks that run in parallel, and report each one that ends by its candidate's name."""
        results: dict[int, Any] = {}
        for k, result in completed(function, tasks, self.n_jobs):
            if isinstance(result, LostTask):
                raise result
            results[k] = result
            if self.verbose:
                _print_progress(stage, len(results), len(tasks))
            if self.callback is not None:
                self.callback(stage, len(results), len(tasks), names[k])
        return [results[k] for k in range(len(tasks))]

    def _pool(self, data: TrainingData, seed: int) -> Candidates:
        if self.candidates is None:
            return default_candidates(self._kind, data.X, seed)
        if not self.candidates:
            raise ValueError("candidates must hold at least one (name, estimator), got none")
        names = [name for name, _ in self.candidates]
        if len(set(names)) < len(names):
            raise ValueError(f"candidates must have different names, got {', '.join(map(str, names))}")
        return [(name, _seeded(clone(estimator), seed)) for name, estimator in self.candidates]

    def _scores(self, X: Any) -> Array:
        return np.asarray(np.sum([member.weight * member.scores(X) for member in self.members_], 0))

    def _allows(self) -> tuple[bool, bool]:
        tags = [get_tags(estimator).input_tags for _, estimator in self.candidates or ()]
        return all(tag.sparse for tag in tags), all(tag.allow_nan for tag in tags)

    def _set_threshold(self, averaged: Array, data: TrainingData) -> None:
        """Choose the threshold on out-of-fold scores of the average, and estimate the scores of the average there."""
        held_out = ~np.isnan(averaged)
        scores, positive, weight = averaged[held_out], data.positive[held_out], data.weight[held_out]
        self.threshold_ = choose_threshold(scores, positive, weight)
        self.oof_scores_ = averaged - self.threshold_
        self.corrupted_score_ = self._score(scores - self.threshold_, positive, weight)
        self.__dict__.pop("clean_score_", None)
        if self.pi is not None and self.pi_prime is not None:
            self.clean_score_ = self._clean(scores - self.threshold_, positive, weight, self.pi, self.pi_prime)

    @one_thread()
    def _results(self, names: list[str], scores: Array, data: TrainingData, folds: Folds) -> dict[str, Any]:
        by_fold = np.array(
            [
                [self._score(row[test], data.positive[test], data.weight[test]) for _, test in folds]
                for row in self._centered(scores, data)
            ]
        )
        mean = by_fold.mean(1)
        return {
            "candidate": names,
            **{f"split{k}_test_score": column for k, column in enumerate(by_fold.T)},
            "mean_test_score": mean,
            "std_test_score": by_fold.std(1),
            "weight": self._weights(scores, mean, data, folds),
            "rank_test_score": rankdata(-mean, "min").astype(np.int32),
        }

    def _weights(self, scores: Array, mean: Array, data: TrainingData, folds: Folds) -> Array:
        """Return weights that fall with the standard errors between a candidate and the best; small ones become 0."""
        rows = np.concatenate([test for _, test in folds])
        contributions = [
            np.concatenate(
                [self._contributions(row[test], data.positive[test], data.weight[test]) for _, test in folds]
            )
            for row in self._centered(scores, data)
        ]
        best = int(np.argmax(mean))
        labels, weight = data.positive[rows], data.weight[rows]
        error = np.array(
            [standard_error_of_difference(own, contributions[best], labels, weight) for own in contributions]
        )
        gap = mean[best] - mean
        errors_behind = np.divide(gap, error, out=np.where(gap > 0, np.inf, 0.0), where=error > 0)
        if self.temperature == 0:
            weights = (np.arange(len(mean)) == best).astype(float)
        else:
            weights = np.exp(-0.5 * (errors_behind / self.temperature) ** 2)
        weights[weights < _LEAST_WEIGHT] = 0.0
        return np.asarray(weights / weights.sum())

    def _centered(self, scores: Array, data: TrainingData) -> Array:  # noqa: ARG002
        """Return the scores of the candidates, each less its own threshold where the score depends on one."""
        return scores

    def _score(self, scores: Array, positive: NDArray[np.bool_], weight: Array) -> float:
        raise NotImplementedError

    def _contributions(self, scores: Array, positive: NDArray[np.bool_], weight: Array) -> Array:
        raise NotImplementedError

    def _clean(self, scores: Array, positive: NDArray[np.bool_], weight: Array, pi: float, pi_prime: float) -> Estimate:
        raise NotImplementedError


def _print_progress(stage: str, done: int, total: int) -> None:
    print(f"\r{stage}: {done} of {total}", end="\n" if done == total else "", file=sys.stderr, flush=True)


def default_candidates(
    kind: type[BERClassifier | AUCClassifier], X: Any, random_state: int | None = None
) -> list[tuple[str, Any]]:
    """Return the candidates that a CV estimator has by default: families of models, strongly to weakly regularized.

    In each family, the first candidates average the label noise away, and the last ones follow clean labels closely.
    Candidates that cannot be fitted to X are left out: only trees and linear models take sparse features. To add
    candidates of your own, append each as ``(name, classifier)`` to this list, and pass the list as ``candidates``.

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
    >>> for name, _ in default_candidates(AUCClassifier, np.zeros((300, 2))):
    ...     print(name)
    trees, leaves of 100
    trees, leaves of 50
    trees, leaves of 20
    trees, leaves of 5
    trees, leaves of 1
    boosting, 60 small trees
    boosting, 100 trees
    linear, unhinged
    linear, logistic, alpha 1
    linear, logistic, alpha 0.03
    linear, logistic, alpha 0.001
    kernel, logistic, gamma 0.3, alpha 0.005
    kernel, logistic, gamma 1, alpha 0.0005
    kernel, logistic, gamma 1, alpha 5e-05
    """
    common: dict[str, Any] = {"threshold": 0.0, "random_state": random_state}
    pool: list[tuple[str, Any]] = [
        *(
            (f"trees, leaves of {leaf}", kind(model="trees", n_estimators=trees, min_samples_leaf=leaf, **common))
            for leaf, trees in ((100, 300), (50, 300), (20, 300), (5, 100), (1, 100))
        ),
        ("boosting, 60 small trees", _boosting(0.03, 60, 6, 40, random_state)),
        ("boosting, 100 trees", _boosting(0.06, 100, 10, 20, random_state)),
        ("linear, unhinged", kind(**common)),
        *((f"linear, logistic, alpha {a:g}", kind("logistic", alpha=a, **common)) for a in (1.0, 0.03, 0.001)),
        *(
            (f"kernel, logistic, gamma {g:g}, alpha {a:g}", kind("logistic", "kernel", gamma=g, alpha=a, **common))
            for g, a in ((0.3, 5e-3), (1.0, 5e-4), (1.0, 5e-5))
        ),
    ]
    is_sparse = hasattr(X, "tocsr")
    return [(name, candidate) for name, candidate in pool if not is_sparse or get_tags(candidate).input_tags.sparse]


def _boosting(
    learning_rate: float, rounds: int, leaves: int, leaf: int, seed: int | None
) -> HistGradientBoostingClassifier:
    return HistGradientBoostingClassifier(
        learning_rate=learning_rate,
        max_iter=rounds,
        max_leaf_nodes=leaves,
        min_samples_leaf=leaf,
        l2_regularization=1.0,
        early_stopping=False,
        random_state=seed,
    )


def _seeded(estimator: Any, seed: int) -> Any:
    """Set every random state that is None to the seed, also those of the parts of an estimator."""
    parameters = estimator.get_params()
    states = [name for name in parameters if name.split("__")[-1] == "random_state" and parameters[name] is None]
    return estimator.set_params(**dict.fromkeys(states, seed))


def _fitted(estimator: Any, X: Any, positive: NDArray[np.bool_], weight: Array) -> Any:
    """Return a fitted copy of a candidate; weights are passed only if they differ from 1: not every fit takes them."""
    with _threads_of(estimator):
        if (weight == 1).all():
            return clone(estimator).fit(X, positive)
        return clone(estimator).fit(X, positive, sample_weight=weight)


def _threads_of(estimator: Any) -> AbstractContextManager[None]:
    """Return a context with one thread for an estimator that is scikit-learn's in all its parts.

    Our own estimators limit their threads themselves, and those of the user are left alone.
    """
    parts = [estimator, *(part for part in estimator.get_params().values() if hasattr(part, "fit"))]
    whole = all(type(part).__module__.startswith("sklearn.") for part in parts)
    return one_thread() if whole else nullcontext()


def _scores_of(
    estimator: Any,
    X: Any,
    positive: NDArray[np.bool_],
    weight: Array,
    train: NDArray[np.intp],
    test: NDArray[np.intp],
) -> Array:
    """Fit a candidate to some rows and score others; rows are taken here, so that each machine is sent X only once."""
    return _raw_scores(_fitted(estimator, *TrainingData(X, positive, weight).rows(train)), X[test])


def _raw_scores(estimator: Any, X: Any) -> Array:
    # Several threads would add up the trees of a forest in any order, and so change the last digits.
    with parallel_config("threading", n_jobs=1), _threads_of(estimator):
        if hasattr(estimator, "decision_function"):
            return np.asarray(estimator.decision_function(X))
        return np.asarray(estimator.predict_proba(X)[:, 1])


def _mean_and_scale(scores: Array, data: TrainingData) -> tuple[float, float]:
    held_out = ~np.isnan(scores)
    mean = np.average(scores[held_out], weights=data.weight[held_out])
    variance = np.average((scores[held_out] - mean) ** 2, weights=data.weight[held_out])
    return float(mean), float(np.sqrt(variance)) or 1.0


@fill_docstring(cv_parameters=CV_PARAMETERS, cv_fitted=CV_FITTED, score="balanced accuracy")
class BERClassifierCV(_ClassifierCV):
    """A classifier that needs no settings: it averages the candidates of largest {score} on folds of noisy labels.

    Parameters
    ----------
    {cv_parameters}

    Attributes
    ----------
    {cv_fitted}

    Examples
    --------
    >>> import symloss as sl
    >>> drawn = sl.datasets.make_twonorm(2000, random_state=0)
    >>> X, y_noisy = sl.contaminate(
    ...     drawn.data, drawn.target, pi=0.8, pi_prime=0.3, n_positive=300, n_negative=300, random_state=0)
    >>> pool = [("linear", sl.BERClassifier()), ("trees", sl.BERClassifier(model="trees", n_estimators=20))]
    >>> classifier = BERClassifierCV(pool, temperature=0, pi=0.8, pi_prime=0.3, random_state=0).fit(X, y_noisy)
    >>> classifier.members_[0].name, bool(classifier.clean_score_.high > 0.9)
    ('linear', True)
    """

    _kind: ClassVar[type[BERClassifier | AUCClassifier]] = BERClassifier

    def _centered(self, scores: Array, data: TrainingData) -> Array:
        held_out = ~np.isnan(scores[0])
        labels, weight = data.positive[held_out], data.weight[held_out]
        thresholds = [choose_threshold(row[held_out], labels, weight) for row in scores]
        return np.asarray(scores - np.array(thresholds)[:, None])

    def _score(self, scores: Array, positive: NDArray[np.bool_], weight: Array) -> float:
        return balanced_accuracy(scores, positive, weight)

    def _contributions(self, scores: Array, positive: NDArray[np.bool_], weight: Array) -> Array:
        return balanced_accuracy_contributions(scores, positive, weight)

    def _clean(self, scores: Array, positive: NDArray[np.bool_], weight: Array, pi: float, pi_prime: float) -> Estimate:
        return estimate_clean_balanced_accuracy(scores, positive, pi, pi_prime, weight=weight)


@fill_docstring(cv_parameters=CV_PARAMETERS, cv_fitted=CV_FITTED, score="AUC")
class AUCClassifierCV(_ClassifierCV):
    """A ranker that needs no settings: it averages the candidates of largest {score} on folds of noisy labels.

    Parameters
    ----------
    {cv_parameters}

    Attributes
    ----------
    {cv_fitted}

    Examples
    --------
    >>> import symloss as sl
    >>> drawn = sl.datasets.make_twonorm(2000, random_state=0)
    >>> X, y_noisy = sl.contaminate(
    ...     drawn.data, drawn.target, pi=0.8, pi_prime=0.3, n_positive=300, n_negative=300, random_state=0)
    >>> pool = [(name, sl.AUCClassifier(name)) for name in ("unhinged", "logistic")]
    >>> ranker = AUCClassifierCV(pool, temperature=0, random_state=0).fit(X, y_noisy)
    >>> ranker.members_[0].name
    'unhinged'
    """

    _kind: ClassVar[type[BERClassifier | AUCClassifier]] = AUCClassifier

    def _score(self, scores: Array, positive: NDArray[np.bool_], weight: Array) -> float:
        return auc(scores, positive, weight)

    def _contributions(self, scores: Array, positive: NDArray[np.bool_], weight: Array) -> Array:
        return auc_contributions(scores, positive, weight)

    def _clean(self, scores: Array, positive: NDArray[np.bool_], weight: Array, pi: float, pi_prime: float) -> Estimate:
        return estimate_clean_auc(scores, positive, pi, pi_prime, weight=weight)
