"""What stands in for missing values where a family of models does not take them: medians and indicators."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from symloss.estimators.standardization import blocks

Array = NDArray[np.float64]
_SAMPLE = 10_000
_MANY_ROWS = 100_000
_ROUNDING = 1e-9  # sums of equal weights in different orders differ by less, as a share of their total


class Imputation(NamedTuple):
    """The median of every feature, and the features that get an indicator: 1 where the value is missing, else 0.

    Indicators are appended to the features. A feature gets one if a value was missing when the model was fitted, unless
    all were: such a feature becomes 0.

    Examples
    --------
    >>> imputation = Imputation.fit(np.array([[0.0, 5.0], [2.0, np.nan], [4.0, 7.0]]), np.ones(3))
    >>> imputation
    Imputation(medians=array([2., 6.]), indicators=array([1]))
    >>> imputation.transform(np.array([[np.nan, np.nan]]))
    array([[2., 6., 1.]])
    """

    medians: Array
    indicators: NDArray[np.intp]

    @classmethod
    def fit(cls, X: Array, weight: Array, with_indicators: bool = True) -> Imputation:
        """Compute the medians of the columns; weights are above 0, and weight k counts as k repetitions."""
        equal = bool((weight == weight[0]).all())
        medians, has_indicator = np.zeros(X.shape[1]), np.zeros(X.shape[1], bool)
        for columns in blocks(X.shape[1], len(X)):
            missing = np.isnan(X[:, columns])
            has_indicator[columns] = with_indicators & missing.any(0) & ~missing.all(0)
            if equal and not missing.any():
                # Only a prediction may need these medians: a part of very many rows tells them well enough.
                medians[columns] = _middle(X[:: len(X) // _MANY_ROWS + 1, columns])
                continue
            for k, known in enumerate(~missing.T, columns.start):
                if known.any():
                    values = X[known, k]
                    medians[k] = _middle(values) if equal else _weighted_median(values, weight[known])
        return cls(medians, np.flatnonzero(has_indicator))

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
    """Return whether a value of an array is missing; those of a sparse matrix never are.

    Examples
    --------
    >>> has_missing(np.array([[0.0, np.nan]]))
    True
    """
    return not sparse.issparse(X) and any(bool(np.isnan(X[rows]).any()) for rows in blocks(*X.shape))


def _middle(values: Array) -> Array:
    """Return the median of each column: the mean of the one or two values in the middle."""
    low, high = (len(values) - 1) // 2, len(values) // 2
    ordered = np.partition(values, (low, high), axis=0)
    return np.asarray(ordered[low] / 2 + ordered[high] / 2)  # the sum of large values could overflow


def _weighted_median(values: Array, weight: Array) -> float:
    """Return the median as if each value were repeated as often as its weight says."""
    middle = weight.sum() / 2 * np.array([1 - _ROUNDING, 1 + _ROUNDING])
    before = 0.0  # the weight of smaller values, which are left out
    if len(values) > 10 * _SAMPLE:  # sort only what lies near the middle, by a sample
        step = len(values) // _SAMPLE
        start, end = _weighted_quantiles(values[::step], weight[::step], weight[::step].sum() * np.array([0.45, 0.55]))
        near = (values >= start) & (values <= end)
        smaller = weight[values < start].sum()
        if smaller < middle[0] and smaller + weight[near].sum() > middle[1] * (1 + _ROUNDING):
            values, weight, before = values[near], weight[near], smaller
    low, high = _weighted_quantiles(values, weight, middle - before)
    return float(low / 2 + high / 2)


def _weighted_quantiles(values: Array, weight: Array, amounts: Array) -> Array:
    """Return the first values, in increasing order, up to which the weights sum to more than these amounts."""
    order = np.argsort(values)
    return np.asarray(values[order[np.searchsorted(np.cumsum(weight[order]), amounts, side="right")]])
