"""Score models on folds of the corrupted labels, and average the best of them.

AUC and balanced accuracy on corrupted labels are increasing affine functions of those on clean labels (corollaries 2
and 4 with the zero-one loss). So the candidate that is best on corrupted labels is, up to chance, also best on clean
ones.
"""

from __future__ import annotations

import copy
import sys
import time
from collections.abc import Callable
from numbers import Real
from typing import Any, ClassVar, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray
from scipy.stats import rankdata
from sklearn.base import BaseEstimator, clone
from sklearn.utils import Bunch, get_tags
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted
from torch import nn

from symloss.audit.noise import noise_of
from symloss.audit.quality import quality_of
from symloss.corruption import Contamination, check_contamination
from symloss.estimators.base import BinaryClassifier, TrainingData
from symloss.estimators.calibration import Calibration, clean_probabilities
from symloss.estimators.candidates import ALL_AT_ONCE, Candidates, fit_together, groups, raw_scores
from symloss.estimators.classifiers import AUCClassifier, BERClassifier
from symloss.estimators.docstrings import CV_FITTED, CV_PARAMETERS, fill_docstring
from symloss.estimators.family import check_count
from symloss.estimators.family_table import family_of
from symloss.estimators.folds import split
from symloss.estimators.importance import falls_of_fold
from symloss.estimators.judging import AUC, BALANCED_ACCURACY, Judge
from symloss.estimators.modules import AveragedScores
from symloss.estimators.pool import FOR_MANY_POINTS, MORE_TREES, default_candidates, with_more_trees
from symloss.estimators.repetitions import merge_with_folds
from symloss.estimators.representation import candidates_table
from symloss.estimators.search import Clock, Search
from symloss.estimators.standardization import Standardization
from symloss.estimators.threshold import choose_threshold
from symloss.machines import completed
from symloss.metrics.samples import two_samples

Array = NDArray[np.float64]


def _knows_rates(classifier: _ClassifierCV) -> bool:
    return classifier.pi is not None and classifier.pi_prime is not None


class Member(NamedTuple):
    """A fitted candidate, its weight in the average, and the mean and standard deviation of its out-of-fold scores.

    ``estimator`` is fitted to all points. If ``on_folds`` holds the fits to folds, the scores of all fits are averaged.

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
    on_folds: list[Any] | None = None

    def __repr__(self) -> str:
        """Return name and weight; the estimator may take a page."""
        return f"Member({self.name!r}, weight={self.weight:.3f})"

    def scores(self, X: Any) -> Array:
        """Return the mean, over the fits, of the standardized scores of the rows of X."""
        return np.asarray(np.mean([(raw_scores(fit, X) - self.mean) / self.scale for fit in self.fits], 0))

    @property
    def fits(self) -> list[Any]:
        """The fit to all points, and those to folds."""
        return [self.estimator, *(self.on_folds or [])]


class _ClassifierCV(BinaryClassifier):
    _kind: ClassVar[type[BERClassifier | AUCClassifier]]

    def __init__(
        self,
        candidates: Candidates | None = None,
        *,
        temperature: float = 0.7,
        cv: Any = 5,
        pi: float | None = None,
        pi_prime: float | None = None,
        time_limit: float | None = None,
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
        self.time_limit = time_limit
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
        self._check_parameters()
        clock = Clock(self.time_limit)
        given, seed = self._training(X, y, sample_weight), self._seed()
        smaller = min(np.count_nonzero(given.weight[of] > 0) for of in (given.positive, ~given.positive))
        if smaller < 2:
            raise ValueError(f"{type(self).__name__} needs two points of each class, to hold one out, got {smaller}")
        (*points, place), folds = merge_with_folds(given, split(self.cv, *given, seed))
        data = TrainingData(*points)
        candidates = self._pool(data, seed)
        search = Search(candidates, self._judge, self.temperature, clock, self._run, FOR_MANY_POINTS)
        search.over(data, folds, seed)
        self.cv_results_ = _results([name for name, _ in candidates], search)
        best = [c for c in np.argsort(-search.weights, kind="stable").tolist() if search.weights[c] > 0]
        many = self.candidates is None and len(data.weight) > ALL_AT_ONCE and search.has_room_for_fits(best, MORE_TREES)
        fitted = self._fit_best([candidates[c] for c in best], data, more_trees=many)
        self.members_ = [
            Member(
                candidates[c][0],
                estimator,
                float(search.weights[c]),
                *_mean_and_scale(search.scores[c], data),
                search.on_folds.get(c),
            )
            for c, estimator in zip(best, fitted, strict=True)
        ]
        weighted = [m.weight * (search.scores[c] - m.mean) / m.scale for c, m in zip(best, self.members_, strict=True)]
        self._set_threshold(np.sum(weighted, 0), data, place)
        return self

    @property
    def best_estimator_(self) -> Any:
        """The fitted member with the largest weight."""
        check_is_fitted(self, "threshold_")
        return self.members_[0].estimator

    def predict_proba(self, X: Any) -> Array:
        """Return the probabilities of the *observed* labels, one column per label of ``classes_``.

        They include the noise and the class balance of the labels that were given: they are not those of the clean
        labels, which ``predict_clean_proba`` returns. They come from a logistic curve, fitted to out-of-fold scores.
        At the threshold, the probability of the positive label is the share of points with this label.
        """
        scores = self.decision_function(X)
        if not hasattr(self, "calibration_"):
            raise ValueError("the model was saved by a version of symloss without probabilities: fit it again")
        observed = self.calibration_.probabilities(scores)
        return np.stack([1 - observed, observed], 1)

    @available_if(_knows_rates)  # type: ignore[untyped-decorator]
    def predict_clean_proba(self, X: Any) -> Array:
        """Return the probabilities of the *clean* labels, if ``pi`` and ``pi_prime`` are given.

        They are those of points with the class balance of the training data. Where the probability of the observed
        label is outside of what the rates allow, it is taken as the nearest one that they allow.
        """
        pi, pi_prime = float(self.pi or 0.0), float(self.pi_prime or 0.0)
        clean = clean_probabilities(self.predict_proba(X)[:, 1], self.share_labeled_positive_, pi, pi_prime)
        return np.stack([1 - clean, clean], 1)

    def to_module(self) -> nn.Module:
        """Return a float32 copy whose ``forward(X)`` is ``decision_function``, as a torch module to export or to serve.

        It averages the modules of all members; raises ValueError if a member is of trees or not one of ours. If X was a
        data frame that was encoded, the module takes the features that ``encoding_.transform(X).values`` returns.
        """
        check_is_fitted(self, "threshold_")
        others = [member.name for member in self.members_ if not _has_module(member.estimator)]
        if others:
            raise ValueError(
                f"to_module() needs members that are linear, kernel, process, cell or network models, got "
                f"{', '.join(others)}: fit with candidates of these models only"
            )
        fits = [(fit.to_module(), m.weight / len(m.fits), m.mean, m.scale) for m in self.members_ for fit in m.fits]
        modules, *numbers = zip(*fits, strict=True)
        weights, means, scales = np.array(numbers)
        return AveragedScores(list(modules), weights, means, scales, self.threshold_).eval()

    def permutation_importance(self, X: Any, y: Any, sample_weight: Any = None, *, n_repeats: int = 1) -> Bunch:
        """Return how far the score on noisy folds falls if the values of a column of X are shuffled.

        The members are fitted again on each fold, so that no point is scored by a model that has seen its label.

        Parameters
        ----------
        X, y, sample_weight
            What the estimator was fitted to; X must not be sparse.
        n_repeats : int, default=1
            How many times each column is shuffled on each fold.

        Returns
        -------
        Bunch
            ``importances`` of shape (columns, folds times repeats), their mean ``importances_mean`` and their standard
            deviation ``importances_std``, as scikit-learn's ``permutation_importance`` returns them, and ``columns``.
        """
        check_is_fitted(self, "threshold_")
        classes = self.classes_
        data = self._training(X, y, sample_weight, reset=False)
        if not np.array_equal(classes, self.classes_):
            found, self.classes_ = self.classes_, classes
            raise ValueError(f"y must hold the labels of the fit, {classes.tolist()}, got {found.tolist()}")
        if hasattr(data.X, "tocsr"):
            raise ValueError(
                "permutation_importance shuffles the columns of an array or a data frame, got a sparse matrix"
            )
        check_count("n_repeats", n_repeats)
        seed = self._seed()
        (*points, _), folds = merge_with_folds(data, split(self.cv, *data, seed))
        members = [[clone(member.estimator) for member in self.members_],
                   np.array([[member.weight, member.mean, member.scale] for member in self.members_])]  # fmt: skip
        names, columns = self._columns(data.X.shape[1])
        settings = [self.threshold_, columns, self._judge.score, n_repeats]
        tasks = [(*members, *points, *fold, *settings, seed + k) for k, fold in enumerate(folds)]
        fits = [[f"fold {k}"] for k in range(len(folds))]
        falls = np.concatenate(self._run("Shuffling columns", falls_of_fold, fits, tasks, 0, len(folds)), 1)
        return Bunch(columns=names, importances=falls, importances_mean=falls.mean(1), importances_std=falls.std(1))

    def _columns(self, n_features: int) -> tuple[list[str], list[NDArray[np.intp]]]:
        """Return the names of the columns of X, and the features that each has become."""
        names = getattr(self, "feature_names_in_", np.array([f"x{k}" for k in range(n_features)])).tolist()
        if self.encoding_ is None:
            return names, [np.array([k]) for k in range(n_features)]
        ends = np.cumsum([len(column.features) for column in self.encoding_.columns])
        of = {
            column.name: np.arange(end - len(column.features), end)
            for column, end in zip(self.encoding_.columns, ends.tolist(), strict=True)
        }
        return names, [of.get(name, np.arange(0)) for name in names]

    def _repr_mimebundle_(self, **kwargs: Any) -> dict[str, str]:
        bundle: dict[str, str] = super()._repr_mimebundle_(**kwargs)
        if "text/html" in bundle:
            bundle["text/html"] += self._candidates_as_html()
        return bundle

    def _repr_html_inner(self) -> str:
        return str(super()._repr_html_inner()) + self._candidates_as_html()

    def _candidates_as_html(self) -> str:
        score = "AUC" if self._judge is AUC else "balanced accuracy"
        return candidates_table(self.cv_results_, score) if hasattr(self, "threshold_") else ""

    def _check_parameters(self) -> None:
        if (self.pi is None) != (self.pi_prime is None):
            raise ValueError(f"give both pi and pi_prime or neither, got {self.pi!r} and {self.pi_prime!r}")
        if self.pi is not None and self.pi_prime is not None:
            check_contamination(self.pi, self.pi_prime)
        temperature: Any = self.temperature
        if not isinstance(temperature, Real) or not float(temperature) >= 0:
            raise ValueError(f"temperature must be a number of at least 0, got {self.temperature!r}")
        limit: Any = self.time_limit
        if limit is not None and not (isinstance(limit, Real) and float(limit) > 0):
            raise ValueError(f"time_limit must be a number of seconds above 0 or None, got {self.time_limit!r}")
        if self.callback is not None and not callable(self.callback):
            raise ValueError(f"callback must be a function or None, got {self.callback!r}")

    def _fit_best(self, best: Candidates, data: TrainingData, more_trees: bool) -> list[Any]:
        """Return the best candidates, fitted to all points."""
        best = [(name, with_more_trees(estimator) if more_trees else estimator) for name, estimator in best]
        together = sorted(groups([estimator for _, estimator in best]), key=len, reverse=True)  # the longest first
        names = [[best[k][0] for k in group] for group in together]
        tasks = [([best[k][1] for k in group], *data.used()) for group in together]
        found = self._run("Fitting the best", fit_together, names, tasks, 0, len(best))
        fitted = {k: each for group, of in zip(together, found, strict=True) for k, each in zip(group, of, strict=True)}
        return [fitted[k] for k in range(len(best))]

    def _run(
        self, stage: str, function: Any, names: list[list[str]], tasks: list[tuple[Any, ...]], done: int, total: int
    ) -> list[Any]:
        """Return the results of tasks that run in parallel, and report each fit that has ended by its candidate."""
        results: dict[int, Any] = {}
        start, before = time.monotonic(), done
        for k, result in completed(function, tasks, self.n_jobs):
            results[k] = result
            for name in names[k]:
                done += 1
                if self.callback is not None:
                    self.callback(stage, done, total, name)
            if self.verbose:
                left = (time.monotonic() - start) * (total - done) / (done - before)
                _print_progress(stage, done, total, left)
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

    def _set_threshold(self, averaged: Array, data: TrainingData, place: NDArray[np.intp]) -> None:
        """Choose the threshold on out-of-fold scores of the average, and estimate the scores of the average there."""
        held_out = ~np.isnan(averaged)
        scores, positive, weight = averaged[held_out], data.positive[held_out], data.weight[held_out]
        self.threshold_ = choose_threshold(scores, positive, weight)
        self.oof_scores_ = np.where(place < 0, np.nan, averaged[place] - self.threshold_)
        self.calibration_ = Calibration.fit(scores - self.threshold_, positive, weight)
        self.share_labeled_positive_ = float(data.weight[data.positive].sum() / data.weight.sum())
        self.corrupted_score_ = self._judge.score(scores - self.threshold_, positive, weight)
        self.__dict__.pop("clean_score_", None)
        samples = two_samples(scores - self.threshold_, positive, weight, repetitions=True)
        noise = noise_of(*samples)
        self.noise_ = None if noise.pi is None else noise
        quality = np.full(len(averaged), np.nan)
        given = None if self.pi is None or self.pi_prime is None else Contamination(self.pi, self.pi_prime)
        quality[held_out & data.positive], quality[held_out & ~data.positive] = quality_of(*samples, given)
        self.label_quality_ = np.where(place < 0, np.nan, quality[place])
        if given is not None:
            self.clean_score_ = self._judge.estimate_clean(*samples, *given)


def _has_module(estimator: Any) -> bool:
    return isinstance(estimator, (BERClassifier, AUCClassifier)) and family_of(estimator.model).to_module is not None


def _print_progress(stage: str, done: int, total: int, seconds_left: float) -> None:
    left = "" if done == total else f", about {seconds_left:.0f} s left "
    print(f"\r{stage}: {done} of {total}{left}", end="\n" if done == total else "", file=sys.stderr, flush=True)


def _results(names: list[str], search: Search) -> dict[str, Any]:
    """Return what ``cv_results_`` holds; a candidate that was scored on more points has the better rank."""
    mean = search.by_fold.mean(1)
    order = np.where(search.points > 0, search.points + np.nan_to_num(mean), -1.0)  # scores are at most 1
    return {
        "candidate": names,
        **{f"split{k}_test_score": column for k, column in enumerate(search.by_fold.T)},
        "mean_test_score": mean,
        "std_test_score": search.by_fold.std(1),
        "points": search.points,
        "weight": search.weights,
        "rank_test_score": rankdata(-order, "min").astype(np.int32),
    }


def _seeded(estimator: Any, seed: int) -> Any:
    """Set every random state that is None to the seed, also those of the parts of an estimator."""
    parameters = estimator.get_params()
    states = [name for name in parameters if name.split("__")[-1] == "random_state" and parameters[name] is None]
    return estimator.set_params(**dict.fromkeys(states, seed))


def _mean_and_scale(scores: Array, data: TrainingData) -> tuple[float, float]:
    held_out = ~np.isnan(scores)
    mean, scale = Standardization.fit(scores[held_out, None], data.weight[held_out])
    return float(mean[0]), float(scale[0])


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
    _judge: ClassVar[Judge] = BALANCED_ACCURACY


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
    _judge: ClassVar[Judge] = AUC
