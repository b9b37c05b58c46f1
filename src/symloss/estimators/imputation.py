"""What stands in for missing values where a family of models does not take them: medians and indicators."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from symloss.estimators.standardization import blocks

Array = NDArray[np.float64]
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
        medians, indicators = np.zeros(X.shape[1]), []
        for k in range(X.shape[1]):
            known = ~np.isnan(X[:, k])
            if known.any():
                medians[k] = _median(X[known, k], weight[known])
                if with_indicators and not known.all():
                    indicators.append(k)
        return cls(medians, np.array(indicators, np.intp))

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


def _median(values: Array, weight: Array) -> float:
    """Return the mean of the least and the largest value that have half of the weight on either side."""
    if (weight == weight[0]).all():
        low, high = (len(values) - 1) // 2, len(values) // 2
        values = np.partition(values, (low, high))
    else:
        order = np.argsort(values, kind="stable")
        values, below = values[order], np.cumsum(weight[order])
        half = below[-1] / 2
        low = np.searchsorted(below, half * (1 - _ROUNDING))
        high = np.searchsorted(below, half * (1 + _ROUNDING), side="right")
    return float(values[low] / 2 + values[high] / 2)  # the sum of large values could overflow
