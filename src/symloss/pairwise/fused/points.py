"""The input of the kernels: the scores of both classes, and where their gradients go."""

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
    """Scores (k, n) and (k, m), contiguous; shares in float64, or None if equal; and, for one problem, its ``Split``.

    With a split, both classes have room for all N points, only ``counts`` of which are there, and both gradients are
    parts of one gradient (1, N).
    """

    pos: Tensor
    neg: Tensor
    pos_share: Tensor | None
    neg_share: Tensor | None
    split: Split | None = None

    def counts_or(self, other: Tensor) -> Tensor:
        """Return the numbers of points on the device, or anything else that a kernel will not read."""
        return other if self.split is None else self.split.counts

    def pointers(self) -> tuple[Tensor, ...]:
        """Return scores, shares and places of both classes, as a kernel takes them; what is None is not read."""
        pos, neg, w, v, split = self
        places = (pos, neg) if split is None else (split.pos, split.neg)
        return pos, neg, pos if w is None else w, neg if v is None else v, *places

    def empty_gradients(self, dtype: torch.dtype) -> tuple[Tensor, Tensor]:
        """Return room for both gradients; with a split, both are the same tensor."""
        of_pos = torch.empty_like(self.pos, dtype=dtype)
        return of_pos, of_pos if self.split is not None else torch.empty_like(self.neg, dtype=dtype)
