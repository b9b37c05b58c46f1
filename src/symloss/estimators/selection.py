"""Score models on folds of the corrupted labels, and average the best of them.

AUC and balanced accuracy on corrupted labels are increasing affine functions of those on clean labels (corollaries 2
and 4 with the zero-one loss). So the candidate that is best on corrupted labels is, up to chance, also best on clean
ones.
"""

from __future__ import annotations

import copy
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from html import escape
from numbers import Real
from typing import Any, ClassVar, NamedTuple, Self

import numpy as np
from joblib import effective_n_jobs
from numpy.typing import NDArray
from scipy.stats import rankdata
from sklearn.base import BaseEstimator, clone
from sklearn.utils import Bunch, check_consistent_length, get_tags
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted
from torch import nn

from symloss.audit.noise import noise_of
from symloss.audit.quality import quality_of
from symloss.columns import library_of
from symloss.corruption import Contamination, check_contamination
from symloss.estimators.base import BinaryClassifier
from symloss.estimators.classifiers import AUCClassifier, BERClassifier
from symloss.estimators.folds import WithFrame, merge, split
from symloss.estimators.pool import FEW, default_candidates
from symloss.estimators.pruning import Pruned
from symloss.estimators.scoring import AUC, BALANCED_ACCURACY, Metric, clean_probabilities, fit_curve
from symloss.estimators.search import (
    Candidates,
    fit,
    is_own,
    raw_scores,
    search,
    sent,
    takes_frame,
    with_labels,
)
from symloss.machines import completed
from symloss.metrics.scores import two_samples
from symloss.models.families import family_of
from symloss.models.family import Standardization, TrainingData, check_count
from symloss.models.modules import AveragedScores

Array = NDArray[np.float64]


def _knows_rates(classifier: _ClassifierCV) -> bool:
    return classifier.pi is not None and classifier.pi_prime is not None


class Member(NamedTuple):
    """A fitted candidate, its weight in the average, and the mean and standard deviation of its out-of-fold scores.

    ``estimator`` is fitted to all points. If ``on_folds`` holds the fits to folds, the scores of all fits are averaged.
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

    def fit(self, X: Any, y: Any, sample_weight: Any = None, groups: Any = None) -> Self:
        """Score the candidates on folds, and fit the best ones to all points.

        Parameters
        ----------
        X : array, sparse matrix or data frame
            The features. A data frame may hold text, categories, dates and missing values.
        y : array
            The labels given: two values, of which the larger is positive.
        sample_weight : array, optional
            Weight k counts as k repetitions; weights with a mean below 1 are scaled to a mean of 1.
        groups : array, optional
            Rows of a group stay in one fold. Without groups, equal rows do, unless they are more than 5% of all.
        """
        given, seed = self._training(X, y, sample_weight), self._seed()
        self._check_parameters()
        if groups is not None:
            check_consistent_length(given.positive, groups)
        smaller = min(np.count_nonzero(given.weight[of] > 0) for of in (given.positive, ~given.positive))
        if smaller < 2:
            raise ValueError(f"{type(self).__name__} needs two points of each class, to hold one out, got {smaller}")
        folds = split(self.cv, *given, seed, groups)
        if library_of(X) and any(takes_frame(estimator) for _, estimator in self.candidates or ()):
            given = given._replace(X=WithFrame(given.X, X))
        data, folds, place = merge(given, folds)
        candidates = self._pool(data, seed)
        keeps = self.candidates is None or len(data.weight) <= FEW
        found = search(candidates, data, folds, self._metric, self.temperature, self.time_limit, keeps, self._run)
        means = found.by_fold.mean(1)
        self.cv_results_ = {
            "candidate": [name for name, _ in candidates],
            **{f"split{k}_test_score": column for k, column in enumerate(found.by_fold.T)},
            "mean_test_score": means,
            "std_test_score": found.by_fold.std(1),
            "weight": found.weights,
            "rank_test_score": rankdata(-np.nan_to_num(means, nan=-1.0), "min").astype(np.int32),
        }
        best = [c for c in np.argsort(-found.weights, kind="stable").tolist() if found.weights[c] > 0]
        names, tasks = [candidates[c][0] for c in best], [(candidates[c][1], data) for c in best]
        fitted = dict(self._run("Fitting the best", fit, names, tasks))
        self.members_ = []
        for k, (c, name) in enumerate(zip(best, names, strict=True)):
            estimator = fit(*tasks[k]) if fitted[k] is None else fitted[k]  # another process may be unable to send it
            held_out = ~np.isnan(found.scores[c])
            mean, scale = Standardization.fit(found.scores[c][held_out, None], data.weight[held_out])
            weight, on_folds = float(found.weights[c]), found.on_folds.get(c)
            self.members_.append(Member(name, estimator, weight, float(mean[0]), float(scale[0]), on_folds))
        weighted = [m.weight * (found.scores[c] - m.mean) / m.scale for c, m in zip(best, self.members_, strict=True)]
        self._set_threshold(np.sum(weighted, 0), data, place)
        return self

    @property
    def best_estimator_(self) -> Any:
        """The fitted member with the largest weight, which predicts the labels that were given.

        A member that keeps its labels elsewhere than in ``classes_`` predicts False and True.
        """
        check_is_fitted(self, "threshold_")
        return with_labels(self.members_[0].estimator, self.classes_)

    def predict_proba(self, X: Any) -> Array:
        """Return the probabilities of the *observed* labels, one column per label of ``classes_``.

        They include the noise and the class balance of the labels that were given: they are not those of the clean
        labels, which ``predict_clean_proba`` returns. They come from a logistic curve, fitted to out-of-fold scores.
        At the threshold, the probability of the positive label is the share of points with this label.
        """
        scores = self.decision_function(X)
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
        modules, shares = [], []
        for member in self.members_:
            for fitted in member.fits:
                own = fitted.estimator_ if isinstance(fitted, Pruned) else fitted
                if not is_own(own) or family_of(own.model).to_module is None:
                    raise ValueError(
                        f"to_module() needs members that are linear, process or network models, got "
                        f"{member.name}: fit with candidates of these models only"
                    )
                modules.append(own.to_module())
                shares.append([member.weight / len(member.fits), member.mean, member.scale])
        weights, means, scales = np.array(shares).T
        return AveragedScores(modules, weights, means, scales, self.threshold_).eval()

    def permutation_importance(self, X: Any, y: Any, sample_weight: Any = None, *, n_repeats: int = 1) -> Bunch:
        """Return how far the score on noisy folds falls if the values of a column of X are shuffled.

        The members are fitted again on each fold, so that no point is scored by a model that has seen its label. The
        score on clean labels falls by the same amounts, up to a factor that all columns share (pi - pi').

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
        check_count("n_repeats", n_repeats)
        classes = self.classes_
        data = self._training(X, y, sample_weight, reset=False)
        if not np.array_equal(classes, self.classes_):
            found, self.classes_ = self.classes_, classes
            raise ValueError(f"y must hold the labels of the fit, {classes.tolist()}, got {found.tolist()}")
        if hasattr(data.X, "tocsr") or any(takes_frame(member.estimator) for member in self.members_):
            raise ValueError("permutation_importance shuffles features, of no sparse matrix and no ColumnTransformer")
        columns, seed = self._columns(data.X.shape[1]), self._seed()
        data, folds, _ = merge(data, split(self.cv, *data, seed))
        tasks = [(self, data, *fold, list(columns.values()), n_repeats, seed + k) for k, fold in enumerate(folds)]
        results = dict(self._run("Shuffling columns", falls, [f"fold {k}" for k in range(len(folds))], tasks))
        found = np.concatenate([results[k] for k in range(len(folds))], 1)
        means, deviations = found.mean(1), found.std(1)
        return Bunch(columns=[*columns], importances=found, importances_mean=means, importances_std=deviations)

    def _columns(self, n_features: int) -> dict[str, list[int]]:
        """Return the names of the columns of X, and the features that each has become."""
        names = getattr(self, "feature_names_in_", np.array([f"x{k}" for k in range(n_features)])).tolist()
        if self.encoding_ is None:
            return {name: [k] for k, name in enumerate(names)}
        return {name: [] for name in names} | self.encoding_.places

    def _html_repr(self) -> str:
        """Return what a notebook shows: scikit-learn's diagram, and after a fit a table of the candidates."""
        diagram = str(super()._html_repr())
        score = "AUC" if self._metric is AUC else "balanced accuracy"
        return diagram + (_candidates_table(self.cv_results_, score) if hasattr(self, "threshold_") else "")

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

    def _run(
        self, stage: str, function: Any, names: list[str], tasks: list[tuple[Any, ...]]
    ) -> Iterator[tuple[int, Any]]:
        """Yield the numbers and the results of tasks, which joblib runs, and report each by its name."""
        start = time.monotonic()
        if effective_n_jobs(self.n_jobs) > 1:
            function, tasks = sent, [(function, *task) for task in tasks]
        for done, (k, result) in enumerate(completed(function, tasks, self.n_jobs), 1):
            if self.callback is not None:
                self.callback(stage, done, len(tasks), names[k])
            if self.verbose:
                left = (time.monotonic() - start) * (len(tasks) - done) / done
                about, end = ("", "\n") if done == len(tasks) else (f", about {left:.0f} s left ", "")
                start_of_line, end = ("\r", end) if sys.stderr.isatty() else ("", "\n")
                print(f"{start_of_line}{stage}: {done} of {len(tasks)}{about}", end=end, file=sys.stderr, flush=True)
            yield k, result

    def _pool(self, data: TrainingData, seed: int) -> Candidates:
        if self.candidates is None:
            return default_candidates(self._kind, data.X, seed)
        if not self.candidates:
            raise ValueError("candidates must hold at least one (name, estimator), got none")
        names = [name for name, _ in self.candidates]
        if len(set(names)) < len(names):
            raise ValueError(f"candidates must have different names, got {', '.join(map(str, names))}")
        return [(name, _seeded(clone(estimator), seed)) for name, estimator in self.candidates]

    def _validated(self, X: Any) -> Any:
        values = super()._validated(X)
        if not any(takes_frame(member.estimator) for member in self.members_):
            return values
        if not library_of(X):
            raise ValueError(f"a member takes columns by name: expected a data frame, got {type(X).__name__}")
        return WithFrame(values, X)

    def _scores(self, X: Any) -> Array:
        return np.asarray(np.sum([member.weight * member.scores(X) for member in self.members_], 0))

    def _allows(self) -> tuple[bool, bool]:
        given = [(estimator, get_tags(estimator).input_tags) for _, estimator in self.candidates or ()]
        takes_missing = all(tags.allow_nan or takes_frame(estimator) for estimator, tags in given)
        return all(tags.sparse for _, tags in given), takes_missing

    def _hint(self, X: Any, error: str) -> str | None:
        refusing = [
            str(name)
            for name, estimator in self.candidates or ()
            if not get_tags(estimator).input_tags.allow_nan and not takes_frame(estimator)
        ]
        if "contains NaN" in error and refusing:
            return f"these candidates take no missing values: {', '.join(refusing)}"
        return super()._hint(X, error)

    def _set_threshold(self, averaged: Array, data: TrainingData, place: NDArray[np.intp]) -> None:
        """Choose the threshold on out-of-fold scores of the average, and estimate the scores of the average there."""
        held_out = ~np.isnan(averaged)
        scores, positive, weight = averaged[held_out], data.positive[held_out], data.weight[held_out]
        self.threshold_, self.calibration_ = fit_curve(scores, positive, weight)
        self.oof_scores_ = np.where(place < 0, np.nan, averaged[place] - self.threshold_)
        self.share_labeled_positive_ = float(data.weight[data.positive].sum() / data.weight.sum())
        self.corrupted_score_ = self._metric.score(scores - self.threshold_, positive, weight)
        samples = two_samples(scores - self.threshold_, positive, weight, repetitions=True)
        self.noise_ = noise_of(*samples)
        quality = np.full(len(averaged), np.nan)
        given = None if self.pi is None or self.pi_prime is None else Contamination(self.pi, self.pi_prime)
        of_label = quality_of(*samples, given or self.noise_)
        quality[held_out & data.positive], quality[held_out & ~data.positive] = of_label
        self.label_quality_ = np.where(place < 0, np.nan, quality[place])
        self._set_fitted(clean_score_=None if given is None else self._metric.estimate_clean(*samples, *given))


def falls(
    chosen: _ClassifierCV,
    data: TrainingData,
    train: NDArray[np.intp],
    test: NDArray[np.intp],
    columns: list[list[int]],
    n_repeats: int,
    seed: int,
) -> Array:
    """Fit members to some rows, and return how far the score of others falls by each shuffle of features."""
    training, (points, positive, weight) = data.rows(train), data.rows(test)
    refitted = [m._replace(estimator=fit(m.estimator, training), on_folds=None) for m in chosen.members_]

    def score(X: Array) -> float:
        averaged = np.sum([member.weight * member.scores(X) for member in refitted], 0)
        return chosen._metric.score(averaged - chosen.threshold_, positive, weight)

    generator, whole = np.random.default_rng(seed), score(points)
    found = np.zeros((len(columns), n_repeats))
    for k, features in enumerate(columns):
        for repeat in range(n_repeats if features else 0):
            shuffled = points.copy()
            shuffled[:, features] = points[generator.permutation(len(points))][:, features]
            found[k, repeat] = whole - score(shuffled)
    return found


def _seeded(estimator: Any, seed: int) -> Any:
    """Set every random state that is None to the seed, also those of the parts of an estimator."""
    parameters = estimator.get_params()
    states = [name for name in parameters if name.split("__")[-1] == "random_state" and parameters[name] is None]
    return estimator.set_params(**dict.fromkeys(states, seed))


def _candidates_table(results: Mapping[str, Any], score: str) -> str:
    """Return an HTML table of the candidates, the largest weights first."""
    rows = []
    for k in np.lexsort((-np.nan_to_num(results["mean_test_score"]), -results["weight"])).tolist():
        mean, deviation = 100 * results["mean_test_score"][k], 100 * results["std_test_score"][k]
        shown = "no time" if np.isnan(mean) else f"{mean:.1f} ± {deviation:.1f}"
        cells = escape(str(results["candidate"][k])), shown, f"{results['weight'][k]:.0%}"
        rows.append("<tr>" + "".join(f"<td>{cell}</td>" for cell in cells) + "</tr>")
    heads = ("candidate", f"{escape(score)} on noisy folds, in %", "weight in the average")
    head = "<tr>" + "".join(f"<th>{text}</th>" for text in heads) + "</tr>"
    body = "\n".join(rows)
    return f"<details open><summary>Candidates</summary><table>{head}\n{body}</table></details>"


class BERClassifierCV(_ClassifierCV):
    """A classifier that needs no settings: it averages the candidates of largest balanced accuracy on noisy folds.

    Parameters
    ----------
    candidates : list of (name, estimator), default=None
        Classifiers with ``decision_function`` or ``predict_proba`` that take an array of floats, and labels False and
        True, as those of scikit-learn do; pipelines with a ``ColumnTransformer`` take the data frame itself. None
        stands for ``default_candidates``: trees, boosting, a Gaussian process and linear models, some of them fitted
        without the labels that look most suspicious.
    temperature : float, default=0.7
        The larger it is, the more candidates are averaged; 0 takes the best one alone. The weight of a candidate is
        ``exp(-(d / temperature)^2 / 2)``, where d is how far its score is below that of the best candidate, divided by
        the standard error of this difference. If there are more than 4,000 points, the temperature matters only if it
        is 0: the weights are those of the average that is nearest to the labels by least squares, none below 0. Weights
        below 3% of the largest are set to 0. Before they are averaged, the scores of each candidate are divided by the
        standard deviation of its out-of-fold scores.
    cv : int, splitter or iterable, default=5
        The folds that candidates are scored on.
    pi : float, default=None
        The share of clean positives among the points that are labeled positive, if it is known. With ``pi_prime``, it
        gives ``clean_score_``.
    pi_prime : float, default=None
        The share of clean positives among the points that are labeled negative, if it is known.
    time_limit : float, default=None
        After how many seconds no more candidates are scored. The best of those that were scored until then are
        averaged; at least one is, the first. A fit of a candidate that has begun is not stopped, so that with slow
        candidates of your own, or many points, the limit may be exceeded by what one of them takes. What is found
        depends on how fast the machine is.
    random_state : int or numpy RandomState, default=None
        The seed of the folds, and of all candidates whose own ``random_state`` is None.
    n_jobs : int, default=None
        How many processes fit candidates, through joblib; inside ``joblib.parallel_config`` they may run on a cluster.
    verbose : bool, default=False
        Whether to print progress to standard error.
    callback : callable, default=None
        A function to be told of progress. After each fit of a candidate it is called, in this process, as
        ``callback(stage, done, total, name)``: ``stage`` is "Scoring candidates on folds" and then "Fitting the best";
        ``done`` of ``total`` fits of this stage have ended; ``name`` is the candidate that was fitted last. It is not
        saved by ``symloss.estimators.save``.

    Attributes
    ----------
    cv_results_ : dict
        The names of the candidates, their score on each fold of the labels given, its mean and its standard deviation
        over the folds, and their weights and ranks.
    members_ : list
        The candidates that are averaged, the best one first, each with its ``name``, its ``weight``, the ``estimator``
        that is fitted to all points, and ``on_folds``: the fits to the folds, whose scores are averaged with those of
        ``estimator``, or None. They are kept where models vary from fold to fold (trees, boosting, networks, and models
        that are not symloss's own), for at most ten folds that are each fitted to 70% of the points or more; of
        candidates that are given, for at most 4,000 points; never with ``temperature=0``.
    oof_scores_ : array of n floats
        The value of ``decision_function`` for each training point, from models that were not trained on the point; NaN
        for points that no fold holds out.
    label_quality_ : array of n floats
        How probable it is that the label of each training point is right, by its out-of-fold score: see
        ``symloss.audit.label_quality``. It is low where the label is probably wrong, and NaN for points that no fold
        holds out.
    noise_ : Noise
        How noisy the training labels seem, with intervals, by out-of-fold scores: see ``symloss.audit.estimate_noise``.
    best_estimator_ : object
        The candidate with the largest weight, fitted to all points.
    calibration_ : object
        The logistic curve that turns scores into the probabilities of the observed labels.
    share_labeled_positive_ : float
        The share of the points that are labeled positive.
    corrupted_score_ : float
        The score of the average on the labels given, from out-of-fold scores.
    clean_score_ : Estimate
        The score on clean labels that follows from it, with a confidence interval; only if ``pi`` and ``pi_prime`` are
        given. The interval is that of a score on new data. Choosing members and threshold on the same folds makes the
        score a little too high; training on a part of the data makes it too low.
    threshold_ : float
        The threshold, which ``decision_function`` subtracts from the average of the members' scores.
    classes_, n_features_in_, feature_names_in_, encoding_
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
    _metric: ClassVar[Metric] = BALANCED_ACCURACY


class AUCClassifierCV(_ClassifierCV):
    """A ranker that needs no settings: it averages the candidates of largest AUC on folds of noisy labels.

    Parameters and attributes are those of ``BERClassifierCV``; every score is an AUC.

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
    _metric: ClassVar[Metric] = AUC
