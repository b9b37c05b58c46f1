"""Classifiers and rankers from corrupted labels, as scikit-learn estimators."""

from __future__ import annotations

import math
from collections.abc import Callable
from numbers import Real
from typing import Any, ClassVar, Self

import numpy as np
import torch
from numpy.typing import NDArray
from scipy import sparse
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted
from torch import nn

from symloss.estimators.base import BinaryClassifier
from symloss.estimators.folds import Folds, merge, split
from symloss.estimators.scoring import AUC, BALANCED_ACCURACY, Metric, fit_curve
from symloss.losses import LossLike, get_loss
from symloss.models.families import FAMILIES, as_module, family_of
from symloss.models.family import Imputation, PenalizedRisk, Scorer, TrainingData, has_missing

Array = NDArray[np.float64]


class _Classifier(BinaryClassifier):
    _risk: ClassVar[str]
    medians_: Array | None = None
    indicators_: NDArray[np.intp] | None = None

    def __init__(
        self,
        loss: LossLike = "unhinged",
        model: str | nn.Module | Callable[[int], nn.Module] = "linear",
        *,
        alpha: float = 0.01,
        n_landmarks: int = 300,
        n_estimators: int = 200,
        min_samples_leaf: int = 20,
        splits: str = "random",
        hidden_units: int = 200,
        n_seeds: int = 5,
        epochs: int = 30,
        batch_size: int = 500,
        learning_rate: float = 1e-3,
        early_stopping: bool = False,
        validation_fraction: float = 0.1,
        patience: int = 10,
        device: str = "cpu",
        threshold: str | float = "auto",
        cv: Any = 5,
        random_state: Any = None,
        n_jobs: int | None = None,
    ) -> None:
        self.loss = loss
        self.model = model
        self.alpha = alpha
        self.n_landmarks = n_landmarks
        self.n_estimators = n_estimators
        self.min_samples_leaf = min_samples_leaf
        self.splits = splits
        self.hidden_units = hidden_units
        self.n_seeds = n_seeds
        self.epochs = epochs
        self.batch_size = batch_size
        self.learning_rate = learning_rate
        self.early_stopping = early_stopping
        self.validation_fraction = validation_fraction
        self.patience = patience
        self.device = device
        self.threshold = threshold
        self.cv = cv
        self.random_state = random_state
        self.n_jobs = n_jobs

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Fit to labels of any two values, which may be corrupted.

        X is an array, a sparse matrix (linear models and trees), or a pandas or polars DataFrame, whose columns may
        hold text, categories and dates. Values may be missing, except in a sparse matrix. Weight k counts as k
        repetitions; weights with a mean below 1, such as those that sum to 1, are scaled to a mean of 1.
        """
        self._check_parameters()
        data = self._training(X, y, sample_weight)
        folds = split(self.cv, *data, self._seed()) if self._needs_folds() else []
        merged = merge(data, folds)
        return self._fit_points(merged.data, merged.folds)

    def _fit_points(self, data: TrainingData, folds: Folds) -> Self:
        """Fit to points that have been checked and merged."""
        seed = self._seed()
        used = data if (data.weight > 0).all() else data.rows(np.flatnonzero(data.weight > 0))
        self.scorer_, imputation = self._fit_scorer(used, seed)
        medians, indicators = (None, None) if imputation is None else imputation
        self._set_fitted(medians_=medians, indicators_=indicators)
        self.class_prior_ = np.array([data.weight[~data.positive].sum(), data.weight[data.positive].sum()])
        self.class_prior_ /= self.class_prior_.sum()
        self.threshold_ = self._choose_threshold(data, folds, seed)
        return self

    def to_module(self) -> nn.Module:
        """Return a float32 copy whose ``forward(X)`` is ``decision_function``, as a torch module to export or to serve.

        The module replaces missing values, standardizes the features, averages the networks of all seeds and subtracts
        the threshold. Trees and boosting cannot be turned into a module. If X was an encoded data frame, the module
        takes the features that ``encoding_.transform(X).values`` returns.
        """
        check_is_fitted(self, "threshold_")
        return as_module(self.scorer_, self.threshold_, self._imputation())

    def _check_parameters(self) -> None:
        """Raise ValueError if a parameter is not what it must be."""
        if self.model not in tuple(FAMILIES) and not callable(self.model):
            raise ValueError(
                f"model must be one of {', '.join(FAMILIES)}, a torch module, or a function that makes one from the "
                f"number of features, got {self.model!r}"
            )
        threshold: Any = self.threshold
        if threshold != "auto" and not (isinstance(threshold, Real) and math.isfinite(threshold)):
            raise ValueError(f"threshold must be 'auto' or a number, got {self.threshold!r}")
        for family in FAMILIES.values():
            for name, check in family.parameters.items():
                if check is not None:
                    check(name, getattr(self, name))
        objective = PenalizedRisk(self._risk, get_loss(self.loss), self.alpha)
        if objective.loss.name == "zero_one":
            raise ValueError("the zero-one loss has no gradient to learn from; use a surrogate such as 'unhinged'")
        check_objective = family_of(self.model).check_objective
        if check_objective is not None:
            check_objective(objective)

    def _fit_scorer(
        self, data: TrainingData, seed: int, may_be_missing: bool = True
    ) -> tuple[Scorer, Imputation | None]:
        """Return a fitted model, and what replaces missing values in features before it scores them, if anything."""
        family, imputation = family_of(self.model), None
        if may_be_missing and not (family.takes_missing or sparse.issparse(data.X)):
            imputation = Imputation.fit(data.X, data.weight, with_indicators=not isinstance(self.model, nn.Module))
            data = data._replace(X=imputation.transform(data.X))
        parameters = {name: getattr(self, name) for name in family.parameters}
        objective = PenalizedRisk(self._risk, get_loss(self.loss), self.alpha)
        return family.fit(data, objective, seed, **parameters), imputation

    def _needs_folds(self) -> bool:
        """Return whether a threshold is chosen; otherwise eta is 1/2 at 0, if both classes are equally frequent."""
        return self.threshold == "auto" and not (
            family_of(self.model).threshold_is_zero or hasattr(self, "predict_proba")
        )

    def _choose_threshold(self, data: TrainingData, folds: Folds, seed: int) -> float:
        if not self._needs_folds():
            return 0.0 if self.threshold == "auto" else float(self.threshold)
        any_missing = has_missing(data.X)
        scores = np.full(len(data.weight), np.nan)
        for train, test in folds:
            scorer, imputation = self._fit_scorer(data.rows(train), seed, any_missing)
            scores[test] = scorer.scores(data.X[test] if imputation is None else imputation.transform(data.X[test]))
        held_out = ~np.isnan(scores)
        return fit_curve(scores[held_out], data.positive[held_out], data.weight[held_out])[0]

    def _scores(self, X: Any) -> Array:
        imputation = self._imputation()
        if imputation is None and not family_of(self.model).takes_missing and has_missing(X):
            raise ValueError(
                "X has missing values, and the medians to replace them are not known: the model was fitted to a sparse "
                "matrix; fit it to an array, or fill the values in"
            )
        return self.scorer_.scores(X if imputation is None else imputation.transform(X))

    def _imputation(self) -> Imputation | None:
        if self.medians_ is None or self.indicators_ is None:
            return None
        return Imputation(self.medians_, self.indicators_)

    def _allows(self) -> tuple[bool, bool]:
        return family_of(self.model).takes_sparse, True


def _recovers_eta(classifier: _Classifier) -> bool:
    """Return whether scores tell the probabilities of labels."""
    properties = get_loss(classifier.loss).properties
    return properties is not None and properties.minimizer.recovers_eta


class BERClassifier(_Classifier):
    """A classifier that minimizes the balanced error; with a symmetric loss, corrupted labels suffice (corollary 4).

    Parameters
    ----------
    loss : str, Loss or callable, default="unhinged"
        The loss of the margins. If it is symmetric, corrupted labels have the same minimizer as clean ones.
    model : str, nn.Module or callable, default="linear"
        The family of models that the scores come from.

        - ``"linear"``: linear scores of standardized features.
        - ``"gaussian_process"``: the mean of a Gaussian process, whose loss is ``"squared"``.
        - ``"trees"``: randomized trees with large leaves, which take missing values. Their loss is ``"unhinged"``, or
          ``"squared"``, which gives the same scores and recovers eta.
        - ``"mlp"``: the average of several perceptrons with one hidden layer.
        - nn.Module or callable: a network of your own with one score per point, or a function that makes one from the
          number of features.
    alpha : float, default=0.01
        The L2 penalty of linear models, and the weight decay of networks.
    n_landmarks : int, default=300
        How many points of the data a Gaussian process has its kernel around (Nyström's method).
    n_estimators : int, default=200
        The number of trees.
    min_samples_leaf : int, default=20
        The fewest points in a leaf of a tree. The noisier the labels, the larger it should be. With fewer than twice as
        many points, all scores are the same.
    splits : {"random", "best"}, default="random"
        How a node of a tree is split: by the best of one random split for each feature that it looks at (extremely
        randomized trees), or by the best of all splits (a random forest, whose trees are grown on bootstrap samples).
    hidden_units : int, default=200
        The number of hidden units of a perceptron.
    n_seeds : int, default=5
        How many perceptrons are trained, or how many networks if ``model`` is a callable.
    epochs : int, default=30
        How many times the training of networks goes through the data.
    batch_size : int, default=500
        How many points a batch has when networks are trained.
    learning_rate : float, default=0.001
        The learning rate of AMSGrad, which trains networks.
    early_stopping : bool, default=False
        Whether to hold out a part of the data, to stop the training of networks when the AUC on that part does not grow
        any more, and to return to the epoch where it was largest. Its labels may be corrupted like all others.
    validation_fraction : float, default=0.1
        The share of the data that early stopping holds out.
    patience : int, default=10
        After how many epochs without a larger AUC early stopping ends the training.
    device : str, default="cpu"
        The torch device that networks are trained on. Other models use the CPU.
    threshold : "auto" or float, default="auto"
        Points with a larger score are predicted positive. ``"auto"`` chooses it by balanced accuracy on the labels
        given, from out-of-fold scores; with trees, and losses that recover eta, it is 0, which is best there.
        A number makes the fit faster, because no folds are fitted.
    cv : int, splitter or iterable, default=5
        The folds that the threshold is chosen on. With a number, equal rows are in the same fold, unless they are more
        than 5% of all.
    random_state : int or numpy RandomState, default=None
        The seed of everything random.
    n_jobs : int, default=None
        How many threads grow trees. It has no effect on other models.

    Attributes
    ----------
    classes_ : array of two labels
        The two labels; the second one is the positive one.
    threshold_ : float
        The threshold, which ``decision_function`` subtracts from the scores of the model.
    class_prior_ : array of two floats
        The shares of the two labels in the training data, as they were given.
    scorer_ : object
        The fitted model; its method ``scores(X)`` returns the scores before the threshold is subtracted, for features
        in which missing values are replaced.
    medians_ : array of floats
        The weighted medians of the features, which replace missing values. Trees have none, because they take missing
        values themselves, and neither has a model that was fitted to a sparse matrix.
    indicators_ : array of int
        The features that had missing values in the fit, in the order of X. For each of them, a feature is appended that
        is 1 where the value is missing and 0 elsewhere. A module of your own, whose inputs are fixed, gets none.
    n_features_in_ : int
        The number of features.
    feature_names_in_ : array of str
        The names of the features, if X was a data frame.
    encoding_ : Encoding
        How the columns of a data frame become features, if not all of them hold numbers: ``encoding_.features`` are the
        names of the features, ``encoding_.transform(X).values`` are their values, and ``encoding_.decisions`` says what
        was done with each column.

    Notes
    -----
    ``predict_proba`` exists if the loss recovers eta (logistic, exponential, squared, squared hinge, savage).
    ``predict`` minimizes the balanced error. So it differs from the most probable label if one label is rarer than the
    other.

    Examples
    --------
    >>> import symloss as sl
    >>> drawn = sl.datasets.make_twonorm(4000, random_state=0)
    >>> X, y_noisy, X_test, y_test = sl.contaminated_split(
    ...     drawn.data, drawn.target, pi=0.7, pi_prime=0.4, n_positive=500, n_negative=500, n_test=1000, random_state=0)
    >>> classifier = BERClassifier(random_state=0).fit(X, y_noisy)
    >>> bool(sl.metrics.balanced_accuracy(classifier.decision_function(X_test), y_test) > 0.93)
    True
    """

    _risk: ClassVar[str] = "ber"
    _metric: ClassVar[Metric] = BALANCED_ACCURACY

    @available_if(_recovers_eta)  # type: ignore[untyped-decorator]
    def predict_proba(self, X: Any) -> Array:
        """Return the probabilities of the *observed* labels, one column per label of ``classes_``.

        They include the noise and the class balance of the labels that were given: they are not those of the clean
        labels. The inverse link of the scores gives probabilities under equally frequent classes, which are then
        adjusted to the shares in ``class_prior_``.
        """
        minimizer = get_loss(self.loss).properties.minimizer  # type: ignore[union-attr]
        eta = minimizer.inverse(torch.from_numpy(self._scores(self._validated(X)))).numpy()
        joint = np.stack([1 - eta, eta], 1) * self.class_prior_
        return np.asarray(joint / joint.sum(1, keepdims=True))


class AUCClassifier(_Classifier):
    """A ranker that maximizes the AUC; with a symmetric loss, corrupted labels suffice (corollary 2).

    Parameters and attributes are those of ``BERClassifier``, but for the loss: here it is the loss of score
    differences, over all pairs of a positive and a negative point. If it is symmetric, corrupted labels have the same
    minimizer as clean ones. The AUC does not depend on the threshold, but ``predict`` does. There are no probabilities.

    Examples
    --------
    >>> import symloss as sl
    >>> drawn = sl.datasets.make_twonorm(4000, random_state=0)
    >>> X, y_noisy, X_test, y_test = sl.contaminated_split(
    ...     drawn.data, drawn.target, pi=0.7, pi_prime=0.4, n_positive=500, n_negative=500, n_test=1000, random_state=0)
    >>> ranker = AUCClassifier("barrier_hinge", alpha=0.1, random_state=0).fit(X, y_noisy)
    >>> bool(sl.metrics.auc(ranker.decision_function(X_test), y_test) > 0.98)
    True
    """

    _risk: ClassVar[str] = "auc"
    _metric: ClassVar[Metric] = AUC
