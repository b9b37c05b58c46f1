"""Two sets of points as one training set: unlabeled sets, similar pairs, comparisons."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch


def from_two_sets(A: Any, B: Any) -> tuple[Any, Any]:
    """Return two sets of points as one X, and labels: +1 for the points of A, -1 for those of B.

    If A has the larger share of positives, this is mutual contamination, and nothing more is needed to learn from two
    unlabeled sets. The same is true of labeled positives A and unlabeled points B.

    Parameters
    ----------
    A, B : arrays, tensors, data frames or sparse matrices of the same features

    Examples
    --------
    >>> X, y = from_two_sets([[1.0, 2.0]], [[3.0, 4.0], [5.0, 6.0]])
    >>> X.shape, y
    ((3, 2), array([ 1, -1, -1]))
    """
    A, B = (part if hasattr(part, "shape") else np.asarray(part) for part in (A, B))
    if A.shape[1:] != B.shape[1:] or not len(A.shape):
        raise ValueError(f"A and B must hold the same features, got shapes {tuple(A.shape)} and {tuple(B.shape)}")
    if 0 in (A.shape[0], B.shape[0]):
        raise ValueError(f"A and B must hold points, got {A.shape[0]} and {B.shape[0]}")
    return _stacked(A, B), np.repeat([1, -1], [A.shape[0], B.shape[0]])


def _stacked(A: Any, B: Any) -> Any:
    if isinstance(A, torch.Tensor):
        return torch.cat([A, torch.as_tensor(B)])
    if hasattr(A, "columns"):
        import pandas as pd

        if list(A.columns) != list(getattr(B, "columns", A.columns)):
            raise ValueError(f"A and B must have the same columns, got {list(A.columns)} and {list(B.columns)}")
        return pd.concat([A, B if hasattr(B, "columns") else pd.DataFrame(B, columns=A.columns)], ignore_index=True)
    if hasattr(A, "tocsr") or hasattr(B, "tocsr"):
        from scipy import sparse

        return sparse.vstack([A, B], format="csr")
    return np.concatenate([A, B])
