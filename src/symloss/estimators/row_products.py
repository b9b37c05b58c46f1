"""Products of rows with weights that round alike however many rows there are, and wherever a row stands.

A product of BLAS rounds by the shape of its matrices, so a row would have another score alone than among others. Here
every row is multiplied by itself: by NumPy's own sums, or by one product of BLAS per row, always of the same shape.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]


def rows_times_vector(X: Array, vector: Array) -> Array:
    """Return the product of every row of X with a vector.

    Examples
    --------
    >>> rows_times_vector(np.array([[1.0, 2.0], [3.0, 4.0]]), np.array([1.0, 10.0]))
    array([21., 43.])
    """
    return np.asarray(np.einsum("ij,j->i", np.ascontiguousarray(X), vector))


def rows_times_matrix(X: Array, matrix: Array) -> Array:
    """Return the product of every row of X with a matrix.

    Examples
    --------
    >>> rows_times_matrix(np.array([[1.0, 2.0], [3.0, 4.0]]), np.array([[1.0], [10.0]]))
    array([[21.],
           [43.]])
    """
    return np.asarray(np.matmul(np.ascontiguousarray(X)[:, None], matrix)[:, 0])
