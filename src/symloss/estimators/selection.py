"""Choose among models on noisy validation folds, which is valid, and average the best.

Corrupted AUC and balanced accuracy are increasing affine functions of the clean ones (corollaries 2 and 4 with the
zero-one loss): the candidate that is best on corrupted labels is, up to chance, the best on clean ones.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, nullcontext
from typing import Any, ClassVar, NamedTuple, Self

import numpy as np
from joblib import parallel_config
from numpy.typing import NDArray
from scipy.stats import rankdata
from sklearn.base import clone
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.utils import get_tags

from symloss.corruption import check_contamination
from symloss.estimators.base import BinaryClassifier, Training
from symloss.estimators.classifiers import AUCClassifier, BERClassifier
from symloss.estimators.differences import auc_parts, balanced_accuracy_parts, error_of_difference
from symloss.estimators.folds import Folds, check_test_folds, split
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
_LEAST_WEIGHT = 0.03


class Member(NamedTuple):
    """A fitted candidate, its weight in the average, and the mean and deviation of its out-of-fold scores.

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
        """Return the candidate's scores on the scale that all members share."""
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
    ) -> None:
        self.candidates = candidates
        self.temperature = temperature
        self.cv = cv
        self.pi = pi
        self.pi_prime = pi_prime
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.verbose = verbose

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Score the candidates on folds of the labels given, and fit the best to all; weight k is k repetitions."""
        self._forget()
        if (self.pi is None) != (self.pi_prime is None):
            raise ValueError(f"give both pi and pi_prime or neither, got {self.pi!r} and {self.pi_prime!r}")
        if self.pi is not None and self.pi_prime is not None:
            check_contamination(self.pi, self.pi_prime)
        if not self.temperature >= 0:
            raise ValueError(f"temperature must be at least 0, got {self.temperature!r}")
        data = self._training(X, y, sample_weight)
        seed = self._seed()
        candidates = self._pool(data, seed)
        smaller = min(np.count_nonzero(data.positive), np.count_nonzero(~data.positive))
        if smaller < 2:
            raise ValueError(f"{type(self).__name__} needs two points of each class, to hold one out, got {smaller}")
        folds = split(self.cv, *data, seed)
        check_test_folds(folds, data.positive)
        scores = self._out_of_fold([estimator for _, estimator in candidates], data, folds)
        self.cv_results_ = self._results([name for name, _ in candidates], scores, data, folds)
        weights = self.cv_results_["weight"]
        best = np.flatnonzero(weights)[np.argsort(-weights[weights > 0], kind="stable")].tolist()
        used = data.used()
        fitted = self._parallel("Fitting the best", _fitted, [(candidates[k][1], *used) for k in best])
        self.members_ = [
            Member(candidates[k][0], estimator, float(weights[k]), *_mean_and_scale(scores[k], data))
            for k, estimator in zip(best, fitted, strict=True)
        ]
        standardised = [m.weight * (scores[k] - m.mean) / m.scale for k, m in zip(best, self.members_, strict=True)]
        self._set_threshold(np.sum(standardised, 0), data)
        return self

    def _out_of_fold(self, estimators: list[Any], data: Training, folds: Folds) -> Array:
        """Return the scores (candidates, points) by candidates that have not seen the point; NaN if none is so."""
        tasks = [(estimator, *data, *fold) for estimator in estimators for fold in folds]
        found = self._parallel("Scoring candidates on folds", _scores_of, tasks)
        scores = np.full((len(estimators), len(data.weight)), np.nan)
        for k in range(len(estimators)):
            for (_, test), part in zip(folds, found[k * len(folds) :], strict=False):
                scores[k, test] = part
        return scores

    def _parallel(self, title: str, function: Callable[..., Any], tasks: list[tuple[Any, ...]]) -> list[Any]:
        progress = getattr(self, "_progress", _print_progress if self.verbose else None)
        results: dict[int, Any] = {}
        for k, result in completed(function, tasks, self.n_jobs):
            if isinstance(result, LostTask):
                raise result
            results[k] = result
            if progress is not None:
                progress(title, len(results), len(tasks))
        return [results[k] for k in range(len(tasks))]

    def _pool(self, data: Training, seed: int) -> Candidates:
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

    def _set_threshold(self, averaged: Array, data: Training) -> None:
        """Choose the threshold on the average's out-of-fold scores, and say what score on clean labels to expect."""
        held_out = ~np.isnan(averaged)
        scores, positive, weight = averaged[held_out], data.positive[held_out], data.weight[held_out]
        self.threshold_ = choose_threshold(scores, positive, weight)
        self.oof_scores_ = averaged - self.threshold_
        self.corrupted_score_ = self._score(scores - self.threshold_, positive, weight)
        self.__dict__.pop("clean_score_", None)
        if self.pi is not None and self.pi_prime is not None:
            self.clean_score_ = self._clean(scores - self.threshold_, positive, weight, self.pi, self.pi_prime)

    @one_thread()
    def _results(self, names: list[str], scores: Array, data: Training, folds: Folds) -> dict[str, Any]:
        by_fold = np.array(
            [
                [self._score(of[test], data.positive[test], data.weight[test]) for _, test in folds]
                for of in self._centred(scores, data)
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

    def _weights(self, scores: Array, mean: Array, data: Training, folds: Folds) -> Array:
        """Weigh candidates by how many standard errors they fall short of the best; small weights become 0."""
        rows = np.concatenate([test for _, test in folds])
        parts = [
            np.concatenate([self._parts(of[test], data.positive[test], data.weight[test]) for _, test in folds])
            for of in self._centred(scores, data)
        ]
        best = int(np.argmax(mean))
        labels, weight = data.positive[rows], data.weight[rows]
        error = np.array([error_of_difference(part, parts[best], labels, weight) for part in parts])
        gap = mean[best] - mean
        short = np.divide(gap, error, out=np.where(gap > 0, np.inf, 0.0), where=error > 0)
        if self.temperature == 0:
            weights = (np.arange(len(mean)) == best).astype(float)
        else:
            weights = np.exp(-0.5 * (short / self.temperature) ** 2)
        weights[weights < _LEAST_WEIGHT] = 0.0
        return np.asarray(weights / weights.sum())

    def _centred(self, scores: Array, data: Training) -> Array:  # noqa: ARG002
        """Return the candidates' scores less the threshold that each would have."""
        return scores

    def _score(self, scores: Array, positive: NDArray[np.bool_], weight: Array) -> float:
        raise NotImplementedError

    def _parts(self, scores: Array, positive: NDArray[np.bool_], weight: Array) -> Array:
        raise NotImplementedError

    def _clean(self, scores: Array, positive: NDArray[np.bool_], weight: Array, pi: float, pi_prime: float) -> Estimate:
        raise NotImplementedError


def _print_progress(title: str, done: int, total: int) -> None:
    print(f"\r{title}: {done} of {total}", end="\n" if done == total else "", file=sys.stderr, flush=True)


def default_candidates(
    kind: type[BERClassifier | AUCClassifier], X: Any, random_state: int | None = None
) -> list[tuple[str, Any]]:
    """Return the pool that a CV estimator chooses from: families of models from strongly to hardly regularised.

    Of each family, the first ones average noise away, and the last ones follow clean labels closely. Only trees and
    boosting take missing values, only trees and linear models take sparse features. To add to the pool, put your own
    ``(name, classifier)`` behind it and pass it on as ``candidates``.

    Parameters
    ----------
    kind : BERClassifier or AUCClassifier
        What the candidates minimise.
    X : array, data frame or sparse matrix
        The features.
    random_state : int, optional
        The candidates' seed.

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
    dense = not hasattr(X, "tocsr")
    pool: list[tuple[str, Any]] = [
        (f"trees, leaves of {leaf}", kind(model="trees", n_estimators=trees, min_samples_leaf=leaf, **common))
        for leaf, trees in ((100, 300), (50, 300), (20, 300), (5, 100), (1, 100))
    ]
    if dense:
        pool.append(("boosting, 60 small trees", _boosting(0.03, 60, 6, 40, random_state)))
        pool.append(("boosting, 100 trees", _boosting(0.06, 100, 10, 20, random_state)))
        if np.isnan(np.asarray(X)).any():
            return pool
    pool.append(("linear, unhinged", kind(**common)))
    pool += [(f"linear, logistic, alpha {a:g}", kind("logistic", alpha=a, **common)) for a in (1.0, 0.03, 0.001)]
    if dense:
        pool += [
            (f"kernel, logistic, gamma {g:g}, alpha {a:g}", kind("logistic", "kernel", gamma=g, alpha=a, **common))
            for g, a in ((0.3, 5e-3), (1.0, 5e-4), (1.0, 5e-5))
        ]
    return pool


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
    """Set every random state that is None, also those of an estimator's parts."""
    parameters = estimator.get_params()
    states = [name for name in parameters if name.split("__")[-1] == "random_state" and parameters[name] is None]
    return estimator.set_params(**dict.fromkeys(states, seed))


def _fitted(estimator: Any, X: Any, positive: NDArray[np.bool_], weight: Array) -> Any:
    """Fit a candidate; weights are passed only if there are some, since not every estimator takes them."""
    with _threads_of(estimator):
        if (weight == 1).all():
            return clone(estimator).fit(X, positive)
        return clone(estimator).fit(X, positive, sample_weight=weight)


def _threads_of(estimator: Any) -> AbstractContextManager[None]:
    """Keep what is scikit-learn's in all its parts on one thread; ours see to it themselves, others are the user's."""
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
    """Fit a candidate to some rows and score others; rows are taken here, so that X is sent to a machine once."""
    return _raw_scores(_fitted(estimator, *Training(X, positive, weight).rows(train)), X[test])


def _raw_scores(estimator: Any, X: Any) -> Array:
    # A forest's threads add its trees up in any order: other last digits.
    with parallel_config("threading", n_jobs=1), _threads_of(estimator):
        if hasattr(estimator, "decision_function"):
            return np.asarray(estimator.decision_function(X))
        return np.asarray(estimator.predict_proba(X)[:, 1])


def _mean_and_scale(scores: Array, data: Training) -> tuple[float, float]:
    held_out = ~np.isnan(scores)
    mean = np.average(scores[held_out], weights=data.weight[held_out])
    variance = np.average((scores[held_out] - mean) ** 2, weights=data.weight[held_out])
    return float(mean), float(np.sqrt(variance)) or 1.0


class BERClassifierCV(_ClassifierCV):
    """The candidates of largest balanced accuracy on noisy folds, averaged: a classifier that needs no settings.

    Parameters
    ----------
    candidates : list of (name, estimator), optional
        Classifiers with ``decision_function`` or ``predict_proba`` that take an array of floats and labels False and
        True, as scikit-learn's do; by default trees, boosting, linear and kernel models from strongly to hardly
        regularised.
    temperature : float
        Candidates are averaged, each scaled by the deviation of its out-of-fold scores, with weights
        exp(-(d / temperature)^2 / 2), where d is how many standard errors of their difference it falls short of the
        best; those below 3% of the best's are left out. 0 picks the best alone.
    cv : int, splitter or iterable
        The folds.
    pi, pi_prime : float, optional
        The share of clean positives among the points labelled positive and negative, if known: for ``clean_score_``.
    random_state : int or numpy RandomState, optional
        Seed of the folds, and of the candidates that have none of their own.
    n_jobs : int, optional
        Processes to fit candidates with, through joblib: also on a cluster, inside ``joblib.parallel_config``.
    verbose : bool
        Whether to show progress on standard error.

    Attributes
    ----------
    cv_results_ : dict
        Names of the candidates, their scores on each fold of the labels given, mean, deviation, weight and rank.
    members_ : list
        The candidates averaged, best first, each with ``name``, ``weight`` and fitted ``estimator``.
    oof_scores_ : array of n floats
        What ``decision_function`` would have said of every point had it not been in the training data; NaN for
        points that no fold holds out.
    corrupted_score_ : float
        The average's out-of-fold score on the labels given: balanced accuracy here, AUC for ``AUCClassifierCV``.
    clean_score_ : Estimate
        The clean score that it stands for, with its interval, if pi and pi' were given. Its interval is that of a
        score on new data; choosing members and threshold on the same folds makes it a little too high, training on
        part of the data too low.
    classes_, threshold_
        As in ``BERClassifier``.

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

    def _centred(self, scores: Array, data: Training) -> Array:
        held_out = ~np.isnan(scores[0])
        labels, weight = data.positive[held_out], data.weight[held_out]
        thresholds = [choose_threshold(of[held_out], labels, weight) for of in scores]
        return np.asarray(scores - np.array(thresholds)[:, None])

    def _score(self, scores: Array, positive: NDArray[np.bool_], weight: Array) -> float:
        return balanced_accuracy(scores, positive, weight)

    def _parts(self, scores: Array, positive: NDArray[np.bool_], weight: Array) -> Array:
        return balanced_accuracy_parts(scores, positive, weight)

    def _clean(self, scores: Array, positive: NDArray[np.bool_], weight: Array, pi: float, pi_prime: float) -> Estimate:
        return estimate_clean_balanced_accuracy(scores, positive, pi, pi_prime, weight=weight)


class AUCClassifierCV(_ClassifierCV):
    """The candidates of largest AUC on noisy folds, averaged: a ranker that needs no settings.

    Parameters
    ----------
    candidates, temperature, cv, pi, pi_prime, random_state, n_jobs, verbose
        As in ``BERClassifierCV``.

    Attributes
    ----------
    cv_results_, members_, oof_scores_, corrupted_score_, clean_score_, classes_, threshold_
        As in ``BERClassifierCV``, with the AUC as the score.

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

    def _parts(self, scores: Array, positive: NDArray[np.bool_], weight: Array) -> Array:
        return auc_parts(scores, positive, weight)

    def _clean(self, scores: Array, positive: NDArray[np.bool_], weight: Array, pi: float, pi_prime: float) -> Estimate:
        return estimate_clean_auc(scores, positive, pi, pi_prime, weight=weight)
