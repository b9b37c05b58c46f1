"""The input of the kernels, and the room for what they compute."""

from __future__ import annotations

from typing import NamedTuple

import torch
from torch import Tensor


class Split(NamedTuple):
    """Where the points of each class were before they were put together, and how many each class has.

    ``pos`` and ``neg`` are places (N,) in int64, of which the first ``counts[0]`` and ``counts[1]`` count.
    """

    pos: Tensor
    neg: Tensor
    counts: Tensor


class Points(NamedTuple):
    """The scores of k problems, k x n positive and k x m negative ones, contiguous; ``batch`` is the shape of k.

    Shares are in float64, or None if equal. One problem may have a ``Split``: both classes then have room for all N
    points, only ``counts`` of which are there, and there is one gradient (N,) for both.
    """

    pos: Tensor
    neg: Tensor
    pos_share: Tensor | None
    neg_share: Tensor | None
    batch: torch.Size
    split: Split | None = None

    def sizes(self) -> tuple[int, int, int]:
        """Return k, n and m."""
        return self.batch.numel(), self.pos.shape[-1], self.neg.shape[-1]

    def counts_or(self, other: Tensor) -> Tensor:
        """Return the numbers of points on the device, or anything else that a kernel will not read."""
        return other if self.split is None else self.split.counts

    def pointers(self) -> tuple[Tensor, ...]:
        """Return scores, shares and places of both classes, as a kernel takes them; what is None is not read."""
        pos, neg, w, v, _, split = self
        places = (pos, neg) if split is None else (split.pos, split.neg)
        return pos, neg, pos if w is None else w, neg if v is None else v, *places


class Results(NamedTuple):
    """The values, in the shape of the batch, and both gradients in one piece (..., n + m); a split has one (N,)."""

    value: Tensor
    gradients: Tensor


def room_for(points: Points, dtype: torch.dtype) -> Results:
    """Return results that are still to be computed."""
    _, n, m = points.sizes()
    shape = (n,) if points.split is not None else (*points.batch, n + m)
    device = points.pos.device
    return Results(
        torch.empty(points.batch, dtype=dtype, device=device), torch.empty(shape, dtype=dtype, device=device)
    )
