"""The products with the features, in which training spends its time: dense for any data, sparse where that is faster."""

from __future__ import annotations

from typing import Protocol

import torch
from torch import Tensor
from torch.nn import functional as F  # noqa: N812

# Below this share of entries that differ from their column's usual value, a CPU is faster with those entries alone.
_SPARSE = 0.1


class Batch(Protocol):
    """The points of a batch, as the first layer and its gradient need them."""

    def times(self, weights: Tensor) -> Tensor:
        """Return X' W (k, b, h) for weights (k, d + 1, h), where X' is X with a last column of ones."""

    def transposed_times(self, by_scores: Tensor, mask: Tensor, out: Tensor) -> None:
        """Write (diag(by_scores) X')' mask (k, d + 1, h) for by_scores (k, b) and mask (k, b, h)."""


class Features(Protocol):
    """The training points of all trials."""

    def batch(self, rows: Tensor) -> Batch:
        """Return the batch with these rows (trials, b) of the points."""


def features_of(X: Tensor, copies: int, hidden: Tensor) -> Features:
    """Return the training points (trials, n, d), each trial's for ``copies`` models in a row of the stack.

    ``hidden`` is the buffer (k, b, h) for the hidden layer: a fresh one at every step would cost page faults.
    """
    if X.device.type == "cpu" and len(X) == copies == 1:
        usual = X[0].median(0).values
        if ((X[0] != usual).float().mean()) < _SPARSE:
            return SparseFeatures(X[0], usual)
    return DenseFeatures(X, copies, hidden)


class DenseFeatures:
    """Features as they are."""

    def __init__(self, X: Tensor, copies: int, hidden: Tensor) -> None:
        self.points = F.pad(X, (0, 1), value=1.0)
        self.trial = torch.arange(len(X), device=X.device)[:, None]
        self.copies, self.hidden = copies, hidden
        self.weighted = X.new_empty(len(hidden), X.shape[2] + 1, hidden.shape[1])

    def batch(self, rows: Tensor) -> Batch:
        """Return the batch with these rows (trials, b) of the points."""
        points = self.points[self.trial, rows].repeat(self.copies, 1, 1)
        return DenseBatch(points, self.weighted[:, :, : rows.shape[1]], self.hidden[:, : rows.shape[1]])


class DenseBatch:
    """Points (k, b, d + 1), and buffers for what is computed from them."""

    def __init__(self, points: Tensor, weighted: Tensor, hidden: Tensor) -> None:
        self.points, self.weighted, self.hidden = points, weighted, hidden
        self.transposed = points.mT.contiguous()

    def times(self, weights: Tensor) -> Tensor:
        """Return X' W."""
        return torch.bmm(self.points, weights, out=self.hidden)

    def transposed_times(self, by_scores: Tensor, mask: Tensor, out: Tensor) -> None:
        """Write (diag(by_scores) X')' mask."""
        torch.mul(self.transposed, by_scores[:, None, :], out=self.weighted)
        torch.bmm(self.weighted, mask, out=out)


class SparseFeatures:
    """One trial's features as X = V + 1 c': c the usual value of each column, V few entries."""

    def __init__(self, X: Tensor, usual: Tensor) -> None:
        self.entries, self.usual = X - usual, usual

    def batch(self, rows: Tensor) -> Batch:
        """Return the batch with these rows (1, b) of the points."""
        return SparseBatch(self.entries[rows[0]], self.usual)


class SparseBatch:
    """Points (b, d) of few entries, by row and by column: their products are sums of a few rows of a matrix."""

    def __init__(self, entries: Tensor, usual: Tensor) -> None:
        self.usual = usual
        self.by_row, self.by_column = _Entries(entries), _Entries(entries.T.contiguous())

    def times(self, weights: Tensor) -> Tensor:
        """Return X' W."""
        first, bias = weights[0, :-1], weights[0, -1]
        return self.by_row.times(first, self.by_row.values).add_(torch.addmv(bias, first.T, self.usual))[None]

    def transposed_times(self, by_scores: Tensor, mask: Tensor, out: Tensor) -> None:
        """Write (diag(by_scores) X')' mask."""
        torch.mv(mask[0].T, by_scores[0], out=out[0, -1])
        weighted = self.by_column.values * by_scores[0, self.by_column.columns]
        torch.addr(self.by_column.times(mask[0], weighted), self.usual, out[0, -1], out=out[0, :-1])


class _Entries:
    """The entries of a matrix that are not zero, row by row."""

    def __init__(self, matrix: Tensor) -> None:
        rows, columns = matrix.nonzero(as_tuple=True)
        self.values = matrix[rows, columns]
        counts = torch.bincount(rows, minlength=len(matrix))
        self.columns, self.starts = columns, counts.cumsum(0) - counts

    def times(self, other: Tensor, values: Tensor) -> Tensor:
        """Return the product with another matrix, with these values as the entries."""
        return F.embedding_bag(self.columns, other, self.starts, mode="sum", per_sample_weights=values)
