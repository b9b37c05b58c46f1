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

from symloss.estimators.base import BinaryClassifier, TrainingData
from symloss.estimators.credibility import LANDMARKS, Credibility, credibility, credible
from symloss.estimators.docstrings import FITTED_MODEL, FOLDS_AND_SEED, MODEL_AND_TRAINING, fill_docstring
from symloss.estimators.family import PenalizedRisk, Scorer
from symloss.estimators.family_table import ALL_FAMILIES, FAMILIES, as_module, family_of
from symloss.estimators.folds import Folds, out_of_fold, split
from symloss.estimators.imputation import Imputation, has_missing
from symloss.estimators.judging import AUC, BALANCED_ACCURACY, Judge
from symloss.estimators.repetitions import merge_with_folds
from symloss.estimators.threshold import choose_threshold
from symloss.losses import Loss, LossLike, get_loss

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
        prune: float = 0.0,
        alpha: float = 0.01,
        gamma: float = 1.0,
        n_landmarks: int = 300,
        n_estimators: int = 200,
        min_samples_leaf: int = 20,
        splits: str = "random",
        max_leaf_nodes: int = 6,
        n_cells: int = 256,
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
        warm_start: bool = False,
        random_state: Any = None,
        n_jobs: int | None = None,
    ) -> None:
        self.loss = loss
        self.model = model
        self.prune = prune
        self.alpha = alpha
        self.gamma = gamma
        self.n_landmarks = n_landmarks
        self.n_estimators = n_estimators
        self.min_samples_leaf = min_samples_leaf
        self.splits = splits
        self.max_leaf_nodes = max_leaf_nodes
        self.n_cells = n_cells
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
        self.warm_start = warm_start
        self.random_state = random_state
        self.n_jobs = n_jobs

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Fit to labels of any two values, which may be corrupted; weight k counts as k repetitions.

        X is an array, a sparse matrix (linear models and trees), or a pandas or polars DataFrame, whose columns may
        hold text, categories and dates. Values may be missing, except in a sparse matrix.
        """
        self._check_parameters()
        self._forget()
        start = getattr(self, "scorer_", None) if self.warm_start else None
        if start is not None and not isinstance(start, family_of(self.model).scorer):
            raise ValueError(f"a warm start needs the model of the last fit, got {self.model!r}")
        data = self._training(X, y, sample_weight, reset=start is None)
        folds = split(self.cv, *data, self._seed()) if self._needs_folds() else []
        merged, folds = merge_with_folds(data, folds)
        return self._fit_points(TrainingData(*merged[:3]), folds, start)

    def _fit_points(
        self, data: TrainingData, folds: Folds, start: Scorer | None = None, known: Credibility | None = None
    ) -> Self:
        """Fit to points that have been checked and merged; the CV forms fit their candidates so.

        Parameters
        ----------
        data : TrainingData
            The points; ``classes_`` and the number of features are set already.
        folds : list of (training rows, test rows)
            The folds of these points that the threshold is chosen on, if one is.
        start : Scorer, optional
            The model that a warm start continues from.
        known : Credibility, optional
            How credible the labels are, if this is known already.
        """
        seed = self._seed()
        used = data.used()
        if known is None and self.prune > 0:
            known = credibility(used, seed)
        kept = None if start is None else self._imputation()
        imputation = kept or self._fit_imputation(used, with_indicators=start is None)
        self.scorer_ = self._fit_scorer(_complete(used, imputation), seed, start, known)
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
        for family in ALL_FAMILIES:
            for name, check in family.parameters.items():
                if check is not None:
                    check(name, getattr(self, name))
        prune: Any = self.prune
        if not isinstance(prune, Real) or not 0 <= float(prune) < 1:
            raise ValueError(f"prune must be at least 0 and below 1, got {self.prune!r}")
        if self._loss().name == "zero_one":
            raise ValueError("the zero-one loss has no gradient to learn from; use a surrogate such as 'unhinged'")
        check_objective = family_of(self.model).check_objective
        if check_objective is not None:
            check_objective(self._objective())

    def _fit_scorer(
        self, data: TrainingData, seed: int, start: Scorer | None = None, known: Credibility | None = None
    ) -> Scorer:
        family = family_of(self.model)
        if known is not None:
            if start is None and isinstance(self.model, str) and self.n_landmarks == LANDMARKS.get(self.model):
                start = known.processes.get(self.model)  # its length need not be found again
                if start is not None and self.prune == 0:
                    return start  # it was fitted to these points
            data = credible(data, known.scores, self.prune)
        parameters = {name: getattr(self, name) for name in family.parameters}
        return family.fit(data, self._objective(), seed, start, **parameters)

    def _needs_folds(self) -> bool:
        """Return whether a threshold is chosen; otherwise eta is 1/2 at 0, if both classes are equally frequent."""
        return self.threshold == "auto" and not (
            family_of(self.model).threshold_is_zero or hasattr(self, "predict_proba")
        )

    def _choose_threshold(self, data: TrainingData, folds: Folds, seed: int) -> float:
        if not self._needs_folds():
            return 0.0 if self.threshold == "auto" else float(self.threshold)
        any_missing = has_missing(data.X)  # if not, a fold needs no medians

        def scores_of(rows: NDArray[np.intp], points: Any) -> Array:
            training = data.rows(rows)
            known = credibility(training, seed) if self.prune > 0 else None
            imputation = self._fit_imputation(training) if any_missing else None
            scorer = self._fit_scorer(_complete(training, imputation), seed, None, known)
            return scorer.scores(points if imputation is None else imputation.transform(points))

        scores = out_of_fold(scores_of, data.X, folds)
        held_out = ~np.isnan(scores)
        return choose_threshold(scores[held_out], data.positive[held_out], data.weight[held_out])

    def _loss(self) -> Loss:
        return get_loss(self.loss)

    def _objective(self) -> PenalizedRisk:
        return PenalizedRisk(self._risk, self._loss(), self.alpha)

    def _scores(self, X: Any) -> Array:
        imputation = self._imputation()
        if imputation is None and not family_of(self.model).takes_missing and has_missing(X):
            raise ValueError(
                "X has missing values, and the medians to replace them are not known: the model was fitted to a sparse "
                "matrix, or saved by a version of symloss without them; fit it to an array, or fill the values in"
            )
        return self.scorer_.scores(X if imputation is None else imputation.transform(X))

    def _imputation(self) -> Imputation | None:
        if self.medians_ is None or self.indicators_ is None:
            return None
        return Imputation(self.medians_, self.indicators_)

    def _fit_imputation(self, data: TrainingData, with_indicators: bool = True) -> Imputation | None:
        if family_of(self.model).takes_missing or sparse.issparse(data.X):
            return None
        has_fixed_width = isinstance(self.model, nn.Module)
        return Imputation.fit(data.X, data.weight, with_indicators and not has_fixed_width)

    def _allows(self) -> tuple[bool, bool]:
        return family_of(self.model).takes_sparse, True


def _complete(data: TrainingData, imputation: Imputation | None) -> TrainingData:
    return data if imputation is None else data._replace(X=imputation.transform(data.X))


def _recovers_eta(classifier: _Classifier) -> bool:
    """Return whether scores tell the probabilities of labels; without the least credible labels they would not."""
    properties = classifier._loss().properties
    return properties is not None and properties.minimizer.recovers_eta and classifier.prune == 0


@fill_docstring(model_and_training=MODEL_AND_TRAINING, folds_and_seed=FOLDS_AND_SEED, fitted_model=FITTED_MODEL)
class BERClassifier(_Classifier):
    """A classifier that minimizes the balanced error; with a symmetric loss, corrupted labels suffice (corollary 4).

    Parameters
    ----------
    loss : str, Loss or callable, default="unhinged"
        The loss of the margins. If it is symmetric, corrupted labels have the same minimizer as clean ones.
    {model_and_training}
    threshold : "auto" or float, default="auto"
        Points with a larger score are predicted positive. ``"auto"`` chooses it by balanced accuracy on the labels
        given, from out-of-fold scores; with trees, cells, and losses that recover eta, it is 0, which is best there.
        A number makes the fit faster, because no folds are fitted.
    {folds_and_seed}

    Attributes
    ----------
    {fitted_model}

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
    _judge: ClassVar[Judge] = BALANCED_ACCURACY

    @available_if(_recovers_eta)  # type: ignore[untyped-decorator]
    def predict_proba(self, X: Any) -> Array:
        """Return the probabilities of the *observed* labels, one column per label of ``classes_``.

        They include the noise and the class balance of the labels that were given: they are not those of the clean
        labels. The inverse link of the scores gives probabilities under equally frequent classes, which are then
        adjusted to the shares in ``class_prior_``.
        """
        minimizer = self._loss().properties.minimizer  # type: ignore[union-attr]
        eta = minimizer.inverse(torch.from_numpy(self._scores(self._validated(X)))).numpy()
        joint = np.stack([1 - eta, eta], 1) * self.class_prior_
        return np.asarray(joint / joint.sum(1, keepdims=True))


@fill_docstring(model_and_training=MODEL_AND_TRAINING, folds_and_seed=FOLDS_AND_SEED, fitted_model=FITTED_MODEL)
class AUCClassifier(_Classifier):
    """A ranker that maximizes the AUC; with a symmetric loss, corrupted labels suffice (corollary 2).

    Parameters
    ----------
    loss : str, Loss or callable, default="unhinged"
        The loss of score differences, over all pairs of a positive and a negative point. If it is symmetric, corrupted
        labels have the same minimizer as clean ones.
    {model_and_training}
    threshold : "auto" or float, default="auto"
        Points with a larger score are predicted positive. The AUC does not depend on it, but ``predict`` does.
        ``"auto"`` chooses it by balanced accuracy on the labels given, from out-of-fold scores; with trees, cells and
        boosting it is 0, which is best there. A number makes the fit faster, because no folds are fitted.
    {folds_and_seed}

    Attributes
    ----------
    {fitted_model}

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
    _judge: ClassVar[Judge] = AUC
