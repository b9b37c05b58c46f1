"""What a family of models declares about itself, and what several families share."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from numbers import Integral
from typing import Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.utils.sparsefuncs import mean_variance_axis, min_max_axis
from torch import nn

from symloss.losses import Loss
from symloss.machines import one_thread

Array = NDArray[np.float64]
_MANY_ROWS = 100_000
_ROUNDING = 1e-9  # sums of equal weights in different orders differ by less, as a share of their total
_BLOCK = 2**20  # how many numbers a temporary array may hold


class TrainingData(NamedTuple):
    """Training data: features, one row per point; whether each label is the positive one; and weights."""

    X: Any
    positive: NDArray[np.bool_]
    weight: Array

    def rows(self, rows: NDArray[np.intp]) -> TrainingData:
        """Return some of the rows."""
        return TrainingData(self.X[rows], self.positive[rows], self.weight[rows])


class Scorer(Protocol):
    """A fitted model."""

    def scores(self, X: Any) -> Array:
        """Return one score per row of X."""


class PenalizedRisk(NamedTuple):
    """What a model minimizes: a risk, plus alpha / 2 times the sum of the model's squared weights.

    The risk is ``"ber"``, the balanced error, or ``"auc"``, 1 - AUC, in which the loss replaces the zero-one loss.
    """

    risk: str
    loss: Loss
    alpha: float


@dataclass(frozen=True)
class Family:
    """A family of models; ``families.py`` lists them all."""

    # fit(data: TrainingData, objective: PenalizedRisk, seed, **parameters) gets points of weights above 0.
    fit: Callable[..., Scorer]
    # The class of fitted models: a NamedTuple with a method scores(X). `save` writes its fields into files.
    scorer: type[Any]
    # The parameters of the estimator that `fit` takes, each with the function that checks it, or None. They are checked
    # in every fit, also if another family is fitted, as scikit-learn does.
    parameters: Mapping[str, Callable[[str, Any], None] | None]
    # Raises ValueError if the family cannot minimize an objective.
    check_objective: Callable[[PenalizedRisk], None] | None = None
    # to_module(scorer, threshold) returns the scores of a fitted model, less the threshold.
    to_module: Callable[[Any, float], nn.Module] | None = None
    takes_sparse: bool = False  # features
    # The features of other families are made complete before `fit` and `scores` see them, by an Imputation.
    takes_missing: bool = False
    threshold_is_zero: bool = False  # the best one in any case, so that none is chosen on folds
    # Fits to most of the points give nearly the scores of the fit to all. The CV estimators average the fits of other
    # families to the folds, too.
    is_stable: bool = False


class Standardization(NamedTuple):
    """The weighted mean and standard deviation of every feature; the scale of a constant feature is 1."""

    mean: Array
    scale: Array

    @classmethod
    @one_thread()
    def fit(cls, X: Any, weight: Array) -> Standardization:
        """Compute both for the columns of an array or of a sparse matrix, which is not made dense."""
        if isinstance(X, np.ndarray):
            share = weight / weight.sum()
            mean, low, high = X.T @ share, X.min(0), X.max(0)
            variance = np.zeros(X.shape[1])
            for rows in blocks(*X.shape):
                variance += share[rows] @ (X[rows] - mean) ** 2
        else:
            mean, variance = mean_variance_axis(X, 0, weights=weight)
            low, high = min_max_axis(X, 0)
        constant = (low == high) | (variance == 0)
        return cls(np.where(low == high, low, mean), np.sqrt(np.where(constant, 1.0, variance)))

    def transform(self, X: Array) -> Array:
        """Return the standardized rows of X: less the mean, divided by the scale."""
        return np.asarray((X - self.mean) / self.scale)


def blocks(n: int, width: int) -> Iterator[slice]:
    """Yield slices that cover n rows, each short enough that an array of the slice's rows and this width is small."""
    size = max(_BLOCK // max(width, 1), 1)
    for start in range(0, n, size):
        yield slice(start, min(start + size, n))


def check_above_zero(name: str, value: Any) -> None:
    """Raise ValueError unless a parameter is above 0."""
    if not value > 0:
        raise ValueError(f"{name} must be above 0, got {value!r}")


def check_count(name: str, value: Any) -> None:
    """Raise ValueError unless a parameter is a whole number of at least 1."""
    if not isinstance(value, Integral) or value < 1:
        raise ValueError(f"{name} must be a whole number of at least 1, got {value!r}")


class Imputation(NamedTuple):
    """The median of every feature, and the features that get an indicator: 1 where the value is missing, else 0.

    Indicators are appended to the features. A feature gets one if a value was missing when the model was fitted, unless
    all were: such a feature becomes 0.
    """

    medians: Array
    indicators: NDArray[np.intp]

    @classmethod
    def fit(cls, X: Array, weight: Array, with_indicators: bool = True) -> Imputation:
        """Compute the medians of the columns; weights are above 0, and weight k counts as k repetitions."""
        equal = bool((weight == weight[0]).all())
        missing = np.isnan(X)
        some, every = missing.any(0), missing.all(0)
        if equal and not some.any():
            # Only a prediction may need these medians: a part of very many rows tells them well enough.
            return cls(np.median(X[:: len(X) // _MANY_ROWS + 1], axis=0), np.flatnonzero(some))
        medians = np.zeros(X.shape[1])
        for k in np.flatnonzero(~every):
            known = ~missing[:, k]
            medians[k] = np.median(X[known, k]) if equal else _weighted_median(X[known, k], weight[known])
        return cls(medians, np.flatnonzero(some & ~every & with_indicators))

    def transform(self, X: Any) -> Any:
        """Return the features with medians in place of missing values, and the indicators after them.

        A sparse matrix has no missing values.
        """
        if sparse.issparse(X):
            none = sparse.csr_matrix((X.shape[0], len(self.indicators)))
            return sparse.hstack([X, none], format="csr") if len(self.indicators) else X
        if not len(self.indicators) and not has_missing(X):
            return X
        missing = np.isnan(X)
        return np.hstack([np.where(missing, self.medians, X), missing[:, self.indicators]])


def has_missing(X: Any) -> bool:
    """Return whether a value of an array is missing; those of a sparse matrix never are."""
    return not sparse.issparse(X) and bool(np.isnan(X.max(initial=-np.inf)))  # the largest is NaN if any value is


def _weighted_median(values: Array, weight: Array) -> float:
    """Return the median as if each value were repeated as often as its weight says."""
    order = np.argsort(values)
    middle = weight.sum() / 2 * np.array([1 - _ROUNDING, 1 + _ROUNDING])
    low, high = values[order[np.searchsorted(np.cumsum(weight[order]), middle, side="right")]]
    return float(low / 2 + high / 2)
