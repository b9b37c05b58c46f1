"""Choose among models on noisy validation folds, which is valid, and average the best.

Corrupted AUC and balanced accuracy are increasing affine functions of the clean ones (corollaries 2 and 4 with the
zero-one loss): the candidate that is best on corrupted labels is, up to chance, the best on clean ones.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone
from sklearn.utils import get_tags

from symloss.estimators.base import BinaryClassifier, Training
from symloss.estimators.classifiers import AUCClassifier, BERClassifier
from symloss.estimators.folds import Folds, out_of_fold, split
from symloss.estimators.threshold import choose_threshold
from symloss.metrics import (
    Estimate,
    auc,
    balanced_accuracy,
    estimate_clean_auc,
    estimate_clean_balanced_accuracy,
)

Array = NDArray[np.float64]
Candidates = Sequence[tuple[str, Any]]


class Member(NamedTuple):
    """A fitted candidate, and the mean and deviation of its out-of-fold scores, which bring scores to one scale.

    Examples
    --------
    >>> Member("linear", BERClassifier(), mean=0.0, scale=1.0).name
    'linear'
    """

    name: str
    estimator: Any
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
        n_best: int = 3,
        cv: Any = 5,
        pi: float | None = None,
        pi_prime: float | None = None,
        random_state: Any = None,
        n_jobs: int | None = None,
    ) -> None:
        self.candidates = candidates
        self.n_best = n_best
        self.cv = cv
        self.pi = pi
        self.pi_prime = pi_prime
        self.random_state = random_state
        self.n_jobs = n_jobs

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Score the candidates on folds of the labels given, and fit the best to all; weight k is k repetitions."""
        if (self.pi is None) != (self.pi_prime is None):
            raise ValueError(f"give both pi and pi_prime or neither, got {self.pi!r} and {self.pi_prime!r}")
        if self.n_best < 1:
            raise ValueError(f"n_best must be at least 1, got {self.n_best!r}")
        data = self._training(X, y, sample_weight)
        seed = self._seed()
        candidates = self._pool(data, seed)
        folds = split(self.cv, *data, seed)
        scores = [_out_of_fold(estimator, data, folds) for _, estimator in candidates]
        self.cv_results_ = self._results([name for name, _ in candidates], scores, data, folds)
        best = np.argsort(self.cv_results_["rank_test_score"], kind="stable")[: self.n_best].tolist()
        used = np.flatnonzero(data.weight > 0)
        self.members_ = [_member(candidates[k], scores[k], data, used) for k in best]
        standardised = [(scores[k] - m.mean) / m.scale for k, m in zip(best, self.members_, strict=True)]
        self._set_threshold(np.mean(standardised, 0), data)
        return self

    def _pool(self, data: Training, seed: int) -> Candidates:
        if self.candidates is None:
            return default_candidates(self._kind, data, seed, self.n_jobs)
        if not self.candidates:
            raise ValueError("candidates must hold at least one (name, estimator), got none")
        return [(name, clone(estimator)) for name, estimator in self.candidates]

    def _scores(self, X: Any) -> Array:
        return np.asarray(np.mean([member.scores(X) for member in self.members_], 0))

    def _allows(self) -> tuple[bool, bool]:
        tags = [get_tags(estimator).input_tags for _, estimator in self.candidates or ()]
        return all(tag.sparse for tag in tags), all(tag.allow_nan for tag in tags)

    def _set_threshold(self, scores: Array, data: Training) -> None:
        """Choose the threshold on the average's out-of-fold scores, and say what score on clean labels to expect."""
        held_out = ~np.isnan(scores)
        everywhere = scores
        scores, positive, weight = scores[held_out], data.positive[held_out], data.weight[held_out]
        self.threshold_ = choose_threshold(scores, positive, weight)
        self.oof_scores_ = everywhere - self.threshold_
        self.corrupted_score_ = self._score(scores - self.threshold_, positive, weight)
        if self.pi is not None and self.pi_prime is not None:
            self.clean_score_ = self._clean(scores - self.threshold_, positive, self.pi, self.pi_prime)

    def _results(self, names: list[str], scores: list[Array], data: Training, folds: Folds) -> dict[str, Any]:
        by_fold = np.array([self._fold_scores(s, data, folds) for s in scores])
        mean = by_fold.mean(1)
        return {
            "candidate": names,
            **{f"split{k}_test_score": column for k, column in enumerate(by_fold.T)},
            "mean_test_score": mean,
            "std_test_score": by_fold.std(1),
            "rank_test_score": np.argsort(np.argsort(-mean, kind="stable"), kind="stable") + 1,
        }

    def _fold_scores(self, scores: Array, data: Training, folds: Folds) -> list[float]:
        return [self._score(scores[test], data.positive[test], data.weight[test]) for _, test in folds]

    def _score(self, scores: Array, positive: NDArray[np.bool_], weight: Array) -> float:
        raise NotImplementedError

    def _clean(self, scores: Array, positive: NDArray[np.bool_], pi: float, pi_prime: float) -> Estimate:
        raise NotImplementedError


def default_candidates(
    kind: type[BERClassifier | AUCClassifier], data: Training, seed: int, n_jobs: int | None
) -> Candidates:
    """Return the pool that a CV estimator chooses from: trees of four leaf sizes, a linear model, and perceptrons.

    All are unhinged. Only trees take missing values; perceptrons take neither sparse features nor weights, and are left
    out below 200 points.

    Examples
    --------
    >>> data = Training(np.zeros((300, 2)), np.arange(300) % 2 == 1, np.ones(300))
    >>> [name for name, _ in default_candidates(AUCClassifier, data, seed=0, n_jobs=None)]
    ['trees, leaves of 5', 'trees, leaves of 20', 'trees, leaves of 50', 'trees, leaves of 100', 'linear', 'mlp']
    """
    common: dict[str, Any] = {"threshold": 0.0, "random_state": seed}
    pool = [
        (f"trees, leaves of {leaf}", kind(model="trees", min_samples_leaf=leaf, n_jobs=n_jobs, **common))
        for leaf in (5, 20, 50, 100)
    ]
    dense = isinstance(data.X, np.ndarray)
    if dense and np.isnan(data.X).any():
        return pool
    pool.append(("linear", kind(model="linear", **common)))
    if dense and len(data.weight) >= 200 and (data.weight == data.weight[0]).all():
        pool.append(("mlp", kind(model="mlp", **common)))
    return pool


def _fitted(estimator: Any, data: Training) -> Any:
    """Fit a candidate; weights are passed only if they differ, since not every estimator takes them."""
    if (data.weight == data.weight[0]).all():
        return clone(estimator).fit(data.X, data.positive)
    return clone(estimator).fit(data.X, data.positive, sample_weight=data.weight)


def _raw_scores(estimator: Any, X: Any) -> Array:
    if hasattr(estimator, "decision_function"):
        return np.asarray(estimator.decision_function(X))
    return np.asarray(estimator.predict_proba(X)[:, 1])


def _out_of_fold(estimator: Any, data: Training, folds: Folds) -> Array:
    def scores_of(rows: NDArray[np.intp], points: Any) -> Array:
        return _raw_scores(_fitted(estimator, data.rows(rows)), points)

    return out_of_fold(scores_of, data.X, folds)


def _member(candidate: tuple[str, Any], scores: Array, data: Training, used: NDArray[np.intp]) -> Member:
    """Fit a candidate to all points."""
    name, estimator = candidate
    held_out = used[~np.isnan(scores[used])]
    mean = np.average(scores[held_out], weights=data.weight[held_out])
    variance = np.average((scores[held_out] - mean) ** 2, weights=data.weight[held_out])
    return Member(name, _fitted(estimator, data.rows(used)), float(mean), float(np.sqrt(variance)) or 1.0)


class BERClassifierCV(_ClassifierCV):
    """The candidates of largest balanced accuracy on noisy folds, averaged: a classifier that needs no settings.

    Parameters
    ----------
    candidates : list of (name, estimator), optional
        Any scikit-learn classifiers with ``decision_function`` or ``predict_proba``; by default trees of four leaf
        sizes, a linear model and perceptrons, all unhinged.
    n_best : int
        How many of the best candidates are averaged, each scaled by the deviation of its out-of-fold scores.
    cv : int, splitter or iterable
        The folds.
    pi, pi_prime : float, optional
        The share of clean positives among the points labelled positive and negative, if known: for ``clean_score_``.
    random_state : int or numpy RandomState, optional
        Seed of the folds and candidates.
    n_jobs : int, optional
        Threads to grow trees with.

    Attributes
    ----------
    cv_results_ : dict
        Names of the candidates, their scores on each fold of the labels given, mean, deviation and rank.
    members_ : list
        The candidates averaged, best first, each with ``name`` and fitted ``estimator``.
    corrupted_score_ : float
        The average's out-of-fold score on the labels given: balanced accuracy here, AUC for ``AUCClassifierCV``.
    clean_score_ : Estimate
        The clean score that it stands for, with its interval, if pi and pi' were given. It is a little too high, since
        members and threshold were chosen on the same folds.
    classes_, threshold_
        As in ``BERClassifier``.

    Examples
    --------
    >>> import symloss as sl
    >>> drawn = sl.datasets.make_twonorm(2000, random_state=0)
    >>> X, y_noisy = sl.contaminate(
    ...     drawn.data, drawn.target, pi=0.8, pi_prime=0.3, n_positive=300, n_negative=300, random_state=0)
    >>> pool = [("linear", sl.BERClassifier()), ("trees", sl.BERClassifier(model="trees", n_estimators=20))]
    >>> classifier = BERClassifierCV(pool, n_best=1, pi=0.8, pi_prime=0.3, random_state=0).fit(X, y_noisy)
    >>> classifier.members_[0].name, bool(classifier.clean_score_.high > 0.9)
    ('linear', True)
    """

    _kind: ClassVar[type[BERClassifier | AUCClassifier]] = BERClassifier

    def _fold_scores(self, scores: Array, data: Training, folds: Folds) -> list[float]:
        held_out = ~np.isnan(scores)
        threshold = choose_threshold(scores[held_out], data.positive[held_out], data.weight[held_out])
        return super()._fold_scores(scores - threshold, data, folds)

    def _score(self, scores: Array, positive: NDArray[np.bool_], weight: Array) -> float:
        return balanced_accuracy(scores, positive, weight)

    def _clean(self, scores: Array, positive: NDArray[np.bool_], pi: float, pi_prime: float) -> Estimate:
        return estimate_clean_balanced_accuracy(scores, positive, pi, pi_prime)


class AUCClassifierCV(_ClassifierCV):
    """The candidates of largest AUC on noisy folds, averaged: a ranker that needs no settings.

    Parameters
    ----------
    candidates, n_best, cv, pi, pi_prime, random_state, n_jobs
        As in ``BERClassifierCV``.

    Attributes
    ----------
    cv_results_, members_, corrupted_score_, clean_score_, classes_, threshold_
        As in ``BERClassifierCV``, with the AUC as the score.

    Examples
    --------
    >>> import symloss as sl
    >>> drawn = sl.datasets.make_twonorm(2000, random_state=0)
    >>> X, y_noisy = sl.contaminate(
    ...     drawn.data, drawn.target, pi=0.8, pi_prime=0.3, n_positive=300, n_negative=300, random_state=0)
    >>> pool = [(name, sl.AUCClassifier(name)) for name in ("unhinged", "logistic")]
    >>> ranker = AUCClassifierCV(pool, n_best=1, random_state=0).fit(X, y_noisy)
    >>> ranker.members_[0].name
    'unhinged'
    """

    _kind: ClassVar[type[BERClassifier | AUCClassifier]] = AUCClassifier

    def _score(self, scores: Array, positive: NDArray[np.bool_], weight: Array) -> float:
        return auc(scores, positive, weight)

    def _clean(self, scores: Array, positive: NDArray[np.bool_], pi: float, pi_prime: float) -> Estimate:
        return estimate_clean_auc(scores, positive, pi, pi_prime)
