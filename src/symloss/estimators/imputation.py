"""What stands in for missing values where a family of models does not take them: medians and indicators."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from symloss.models.family import blocks

Array = NDArray[np.float64]
_MANY_ROWS = 100_000
_ROUNDING = 1e-9  # sums of equal weights in different orders differ by less, as a share of their total


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
    return not sparse.issparse(X) and any(bool(np.isnan(X[rows]).any()) for rows in blocks(*X.shape))


def _weighted_median(values: Array, weight: Array) -> float:
    """Return the median as if each value were repeated as often as its weight says."""
    order = np.argsort(values)
    middle = weight.sum() / 2 * np.array([1 - _ROUNDING, 1 + _ROUNDING])
    low, high = values[order[np.searchsorted(np.cumsum(weight[order]), middle, side="right")]]
    return float(low / 2 + high / 2)
