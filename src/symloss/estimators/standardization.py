"""The mean and the standard deviation of every feature, by which features are standardized."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.sparsefuncs import mean_variance_axis, min_max_axis

from symloss.threads import one_thread

Array = NDArray[np.float64]
_BLOCK = 2**20  # how many numbers a temporary array may hold
_FAR = 1e4  # standard deviations; products with a mean farther from 0 lose more than four of their sixteen digits


class Standardization(NamedTuple):
    """The weighted mean and standard deviation of every feature; the scale of a constant feature is 1.

    Examples
    --------
    >>> standardization = Standardization.fit(np.array([[0.0, 5.0], [2.0, 5.0]]), np.ones(2))
    >>> standardization.transform(np.array([[4.0, 6.0]]))
    array([[3., 1.]])
    """

    mean: Array
    scale: Array

    @classmethod
    @one_thread()
    def fit(cls, X: Any, weight: Array) -> Standardization:
        """Compute both for the columns of an array or of a sparse matrix, which is not made dense."""
        if isinstance(X, np.ndarray):
            share = weight / weight.sum()
            mean = np.asarray(X.T @ share)
            low, high = X.min(0), X.max(0)
            # Divided by this unit, squares neither overflow nor underflow.
            unit = np.maximum(np.abs(low), np.abs(high))
            unit[unit == 0] = 1.0
            parts = [share[rows] @ ((X[rows] - mean) / unit) ** 2 for rows in blocks(*X.shape)]
            return cls(np.where(low == high, low, mean), np.where(low == high, 1.0, unit * np.sqrt(np.sum(parts, 0))))
        mean, variance = mean_variance_axis(X, 0, weights=weight)
        low, high = min_max_axis(X, 0)
        constant = (low == high) | (variance == 0)
        return cls(np.where(low == high, low, mean), np.sqrt(np.where(constant, 1.0, variance)))

    @property
    def is_far_from_zero(self) -> bool:
        """Whether a mean is so much larger than its deviation that products with the feature lose too many digits."""
        return bool((np.abs(self.mean) > _FAR * self.scale).any())

    def transform(self, X: Array) -> Array:
        """Return the standardized rows of X: less the mean, divided by the scale."""
        return np.asarray((X - self.mean) / self.scale)


def blocks(n: int, width: int) -> Iterator[slice]:
    """Yield slices that cover n rows, each short enough that an array of the slice's rows and this width is small.

    Examples
    --------
    >>> list(blocks(5, 2**19))
    [slice(0, 2, None), slice(2, 4, None), slice(4, 5, None)]
    """
    size = max(_BLOCK // max(width, 1), 1)
    for start in range(0, n, size):
        yield slice(start, min(start + size, n))
