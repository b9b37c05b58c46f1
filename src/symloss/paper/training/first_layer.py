"""The products with the features, where training spends its time: dense for any data, sparse where that is faster."""

from __future__ import annotations

from typing import Protocol

import torch
from torch import Tensor
from torch.nn import functional as F  # noqa: N812

# A CPU is faster with sparse points if less than this share of the entries differ from their column's usual value.
_SPARSE = 0.1


class Batch(Protocol):
    """The points of a batch, as the first layer and its gradient need them."""

    def times(self, weights: Tensor) -> Tensor:
        """Return X' W (k, b, h) for weights (k, d + 1, h), where X' is X with a last column of ones."""

    def transposed_times(self, by_scores: Tensor, mask: Tensor, out: Tensor) -> None:
        """Write (diag(by_scores) X')' mask (k, d + 1, h) for by_scores (k, b) and mask (k, b, h)."""


class Points(Protocol):
    """The training points of all trials."""

    def batch(self, rows: Tensor) -> Batch:
        """Return the batch with these rows (trials, b) of the points."""


def points_of(X: Tensor, copies: int, hidden: Tensor) -> Points:
    """Return the training points (trials, n, d), where the points of each trial are used by ``copies`` models.

    ``hidden`` is the buffer (k, b, h) for the hidden layer: a new one at every step would cost page faults.
    """
    if X.device.type == "cpu" and len(X) == copies == 1:
        usual = X[0].median(0).values
        if ((X[0] != usual).float().mean()) < _SPARSE:
            return SparsePoints(X[0], usual)
    return DensePoints(X, copies, hidden)


class DensePoints:
    """Points with all their entries."""

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


class SparsePoints:
    """One trial's points as X = V + 1 c': c is the usual value of each column, and V has few entries, kept by row."""

    def __init__(self, X: Tensor, usual: Tensor) -> None:
        self.usual = usual
        entries = X - usual
        rows, self.columns = entries.nonzero(as_tuple=True)
        self.values = entries[rows, self.columns]
        self.counts = torch.bincount(rows, minlength=len(X))
        self.starts = _starts(self.counts)

    def batch(self, rows: Tensor) -> Batch:
        """Return the batch with these rows (1, b) of the points."""
        counts = self.counts[rows[0]]
        starts = _starts(counts)
        point = torch.repeat_interleave(counts)
        entry = torch.arange(len(point)) + (self.starts[rows[0]] - starts)[point]
        return SparseBatch(self.usual, point, self.columns[entry], self.values[entry], starts)


class SparseBatch:
    """Points with few entries, kept by row and by column: a product with them sums a few rows of a matrix."""

    def __init__(self, usual: Tensor, point: Tensor, column: Tensor, value: Tensor, starts: Tensor) -> None:
        self.usual, self.column, self.value, self.starts = usual, column, value, starts
        by_column = torch.argsort(column)
        self.point_by_column, self.value_by_column = point[by_column], value[by_column]
        self.column_starts = _starts(torch.bincount(column, minlength=len(usual)))

    def times(self, weights: Tensor) -> Tensor:
        """Return X' W."""
        first, bias = weights[0, :-1], weights[0, -1]
        product = _row_sums(first, self.column, self.value, self.starts)
        return product.add_(torch.addmv(bias, first.T, self.usual))[None]

    def transposed_times(self, by_scores: Tensor, mask: Tensor, out: Tensor) -> None:
        """Write (diag(by_scores) X')' mask."""
        torch.mv(mask[0].T, by_scores[0], out=out[0, -1])
        value = self.value_by_column * by_scores[0].index_select(0, self.point_by_column)
        product = _row_sums(mask[0], self.point_by_column, value, self.column_starts)
        torch.addcmul(product, self.usual[:, None], out[0, -1], out=out[0, :-1])


def _starts(counts: Tensor) -> Tensor:
    return counts.cumsum(0) - counts


def _row_sums(matrix: Tensor, rows: Tensor, values: Tensor, starts: Tensor) -> Tensor:
    """Return sums of values times rows of the matrix: one sum from each start up to the next."""
    return F.embedding_bag(rows, matrix, starts, mode="sum", per_sample_weights=values)
