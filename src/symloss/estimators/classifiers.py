"""Classifiers and rankers from corrupted labels, as scikit-learn estimators."""

from __future__ import annotations

import copy
import math
from collections.abc import Callable
from numbers import Integral, Real
from typing import Any, ClassVar, Protocol, Self

import numpy as np
import torch
from numpy.typing import NDArray
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted
from torch import nn

from symloss.checking import check_fraction
from symloss.estimators.base import BinaryClassifier, Training
from symloss.estimators.folds import hold_out, out_of_fold, split
from symloss.estimators.forest import ForestScores, fit_forest
from symloss.estimators.kernel import KernelScores, fit_kernel
from symloss.estimators.linear import LinearScores, Penalised, fit_linear
from symloss.estimators.modules import as_module
from symloss.estimators.networks import NetworkScores, Schedule, build_networks, fit_networks
from symloss.estimators.standardise import Standard
from symloss.estimators.threshold import choose_threshold
from symloss.losses import Loss, LossLike, get_loss

Array = NDArray[np.float64]
MODELS = ("linear", "kernel", "trees", "mlp")
_SCORERS: dict[str, type] = {"linear": LinearScores, "kernel": KernelScores, "trees": ForestScores}


class Scorer(Protocol):
    """A fitted model."""

    def scores(self, X: Any) -> Array:
        """Return the scores of the rows of X."""


class _Classifier(BinaryClassifier):
    _risk: ClassVar[str]

    def __init__(
        self,
        loss: LossLike = "unhinged",
        model: str | nn.Module | Callable[[int], nn.Module] = "linear",
        *,
        alpha: float = 0.01,
        gamma: float = 1.0,
        n_landmarks: int = 300,
        n_estimators: int = 200,
        min_samples_leaf: int = 20,
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
        self.alpha = alpha
        self.gamma = gamma
        self.n_landmarks = n_landmarks
        self.n_estimators = n_estimators
        self.min_samples_leaf = min_samples_leaf
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
        """Fit to labels of any two values, which may be corrupted; weight k counts as k repetitions."""
        self._check_parameters()
        self._forget()
        start = getattr(self, "scorer_", None) if self.warm_start else None
        if start is not None and not isinstance(start, _SCORERS.get(str(self.model), NetworkScores)):
            raise ValueError(f"a warm start needs the model of the last fit, got {self.model!r}")
        data = self._training(X, y, sample_weight, reset=start is None)
        seed = self._seed()
        self.scorer_ = self._fit_scorer(data.used(), seed, start)
        self.class_prior_ = np.array([data.weight[~data.positive].sum(), data.weight[data.positive].sum()])
        self.class_prior_ /= self.class_prior_.sum()
        self.threshold_ = self._choose_threshold(data, seed)
        return self

    def _choose_threshold(self, data: Training, seed: int) -> float:
        if self.threshold != "auto":
            return float(self.threshold)
        if self.model == "trees" or hasattr(self, "predict_proba"):
            return 0.0  # where eta is 1/2, were both classes equally frequent: the best by balanced accuracy

        def scores_of(rows: NDArray[np.intp], points: Any) -> Array:
            return self._fit_scorer(data.rows(rows), seed).scores(points)

        scores = out_of_fold(scores_of, data.X, split(self.cv, *data, seed))
        held_out = ~np.isnan(scores)
        return choose_threshold(scores[held_out], data.positive[held_out], data.weight[held_out])

    def _check_parameters(self) -> None:
        if self.model not in MODELS and not callable(self.model):
            raise ValueError(
                f"model must be one of {', '.join(MODELS)}, a torch module, or a function that makes one from the "
                f"number of features, got {self.model!r}"
            )
        threshold: Any = self.threshold
        if threshold != "auto" and not (isinstance(threshold, Real) and math.isfinite(threshold)):
            raise ValueError(f"threshold must be 'auto' or a number, got {self.threshold!r}")
        for name in ("gamma", "learning_rate", *(["alpha"] if self.model in ("linear", "kernel") else ())):
            if not getattr(self, name) > 0:
                raise ValueError(f"{name} must be above 0, got {getattr(self, name)!r}")
        for name in (
            "n_landmarks",
            "n_estimators",
            "min_samples_leaf",
            "hidden_units",
            "n_seeds",
            "epochs",
            "batch_size",
            "patience",
        ):
            if not isinstance(getattr(self, name), Integral) or getattr(self, name) < 1:
                raise ValueError(f"{name} must be a whole number of at least 1, got {getattr(self, name)!r}")
        check_fraction("validation_fraction", self.validation_fraction)
        loss = self._loss()
        if loss.name == "zero_one":
            raise ValueError("the zero-one loss has no gradient to learn from; use a surrogate such as 'unhinged'")
        if self.model == "trees" and loss.name not in ("unhinged", "squared"):
            raise ValueError(
                f"the average label of a leaf minimises the unhinged (in the leaf kernel) and the squared loss; "
                f"model='trees' needs one of these, got {loss!r}"
            )

    def _loss(self) -> Loss:
        return get_loss(self.loss)

    def _fit_scorer(self, data: Training, seed: int, start: Any = None) -> Scorer:
        penalised = Penalised(self._risk, self._loss(), self.alpha)
        if self.model == "linear":
            return fit_linear(*data, penalised, start)
        if self.model == "kernel":
            return fit_kernel(*data, penalised, gamma=self.gamma, n_landmarks=self.n_landmarks, seed=seed, start=start)
        if self.model == "trees":
            return fit_forest(
                *data,
                n_estimators=self.n_estimators,
                min_samples_leaf=self.min_samples_leaf,
                seed=seed,
                n_jobs=self.n_jobs,
                start=start,
            )
        return self._fit_networks(data, seed, start)

    def _fit_networks(self, data: Training, seed: int, start: NetworkScores | None) -> NetworkScores:
        if start is None:
            networks = build_networks(self.model, data.X.shape[1], self.hidden_units, self.n_seeds, seed)
            standard = Standard.of(data.X, data.weight)
        else:
            networks, standard = copy.deepcopy(start)
        validation = None
        if self.early_stopping:
            train, held_out = hold_out(data.positive, self.validation_fraction, seed)
            data, validation = data.rows(train), data.rows(held_out)
        schedule = Schedule(
            self._risk, self._loss(), self.alpha, self.learning_rate, self.epochs, self.batch_size, self.patience
        )
        return fit_networks(networks, standard, data, validation, schedule, seed=seed, device=self.device)

    def to_module(self) -> nn.Module:
        """Return a float32 copy whose ``forward(X)`` is ``decision_function``, as a torch module to export or to serve.

        Standardising, the networks of all seeds, their mean and the threshold are in it. There is none for trees.
        """
        check_is_fitted(self, "threshold_")
        return as_module(self.scorer_, self.threshold_)

    def _scores(self, X: Any) -> Array:
        return self.scorer_.scores(X)

    def _allows(self) -> tuple[bool, bool]:
        return self.model in ("linear", "trees"), self.model == "trees"


def _recovers_eta(classifier: _Classifier) -> bool:
    properties = classifier._loss().properties
    return properties is not None and properties.minimiser.recovers_eta


class BERClassifier(_Classifier):
    """A classifier of least balanced error: with a symmetric loss, corrupted labels lead to it (corollary 4).

    Parameters
    ----------
    loss : str, Loss or callable
        The margin loss. With a symmetric one, the minimiser on corrupted labels is the one on clean labels. The trees
        know two, which have the same scores: ``"unhinged"``, and ``"squared"``, which recovers eta.
    model : {"linear", "kernel", "trees", "mlp"}, nn.Module or callable
        Linear scores of standardised features, or scores in the space of a Gaussian kernel: all points or pairs at
        once, to the optimum if the loss is convex. Extremely randomised trees with large leaves, which take missing
        values. The mean of several perceptrons. Or a network of your own: a copy of a module is trained from its
        present weights; a callable makes a module from the number of features.
    alpha : float
        L2 penalty of linear and kernel models, and the networks' weight decay.
    gamma, n_landmarks : float, int
        The kernel is ``exp(-gamma |x - x'|^2 / m)`` with m the mean squared distance of two standardised points; it is
        spanned on so many points of the data (Nyström).
    n_estimators, min_samples_leaf : int
        The number of trees, and the fewest points in a leaf: the more noise, the larger.
    hidden_units, n_seeds : int
        The size of a perceptron, and the number of perceptrons, or of networks that a callable makes.
    epochs, batch_size, learning_rate
        Training of networks, by AMSGrad.
    early_stopping, validation_fraction, patience
        Hold out so much of the data, stop training networks after so many epochs without a larger AUC on its labels,
        corrupted as they are, and return to the best epoch.
    device : str
        Where networks are trained.
    threshold : "auto" or float
        Scores above it are predicted positive. By default it is chosen on out-of-fold scores by balanced accuracy on
        the labels given; it is 0 for trees, and where the loss recovers eta. A number saves fitting the folds.
    cv : int, splitter or iterable
        The folds for the threshold.
    warm_start : bool
        Whether the next fit goes on from the last: from its weights, with the same networks or landmarks and means, or
        with the trees that are missing. The threshold's folds start anew.
    random_state : int or numpy RandomState, optional
        Seed of everything drawn.
    n_jobs : int, optional
        Threads to grow trees with.

    Attributes
    ----------
    classes_ : array of two labels
        The second is the positive one.
    threshold_ : float
        Subtracted from the model's scores by ``decision_function``.
    class_prior_ : array of two floats
        Shares of the two labels, as observed.
    scorer_
        The fitted model.

    Notes
    -----
    ``predict_proba`` exists where the loss recovers eta (logistic, exponential, squared, squared hinge, savage).
    ``predict`` minimises the balanced error, and so differs from its argmax where one label is rarer than the other.

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

    @available_if(_recovers_eta)  # type: ignore[untyped-decorator]
    def predict_proba(self, X: Any) -> Array:
        """Return the probabilities of the *observed* labels, a column for each of ``classes_``; where the loss allows.

        They are those of the labels that were given, noise and class balance included, not of the clean ones: the
        inverse link of the scores, which both classes weigh the same in, set to the shares in ``class_prior_``.
        """
        minimiser = self._loss().properties.minimiser  # type: ignore[union-attr]
        eta = minimiser.inverse(torch.from_numpy(self._scores(self._validated(X)))).numpy()
        joint = np.stack([1 - eta, eta], 1) * self.class_prior_
        return np.asarray(joint / joint.sum(1, keepdims=True))


class AUCClassifier(_Classifier):
    """A ranker of largest AUC: with a symmetric loss, corrupted labels lead to it (corollary 2).

    Parameters
    ----------
    loss, model, alpha, gamma, n_landmarks, n_estimators, min_samples_leaf, hidden_units, n_seeds, epochs, batch_size
        As in ``BERClassifier``; the loss is that of score differences, over all pairs of a positive and a negative.
    learning_rate, early_stopping, validation_fraction, patience, device, warm_start, random_state, n_jobs
        As in ``BERClassifier``.
    threshold, cv
        As in ``BERClassifier``. The AUC leaves the threshold free, so that ``predict`` rests on this choice.

    Attributes
    ----------
    classes_, threshold_, class_prior_, scorer_
        As in ``BERClassifier``.

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
