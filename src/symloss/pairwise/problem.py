"""The input of sums over all pairs: scores and shares of k independent problems, and the blocks they are cut into."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from torch import Tensor

# Elements per step on a CPU: temporaries of this size stay in its cache, and use no new pages of memory.
_BLOCK = 1 << 15

Sums = tuple[Tensor, Tensor, Tensor]  # the value (k,), its gradients (k, n) and (k, m) with respect to pos and neg


@dataclass(frozen=True)
class Side:
    """The scores of one class, (k, n) in float32 or float64, and each score's share of its class.

    ``shares`` is None if each share is 1 / n.
    """

    scores: Tensor
    shares: Tensor | None = None

    @property
    def total(self) -> Tensor | float:
        """The sum of the shares, a number or (k, 1): 1, or 0 where the class has no weight."""
        return 1.0 if self.shares is None else self.shares.sum(1, keepdim=True)

    def some(self, rows: slice | Tensor) -> Side:
        """Return some of the problems."""
        return Side(self.scores[rows], None if self.shares is None else self.shares[rows])

    def without_strays(self) -> Side:
        """Return the class with scores of weight zero moved onto one that has weight.

        There they can neither widen the range of the scores nor overflow.
        """
        if self.shares is None:
            return self
        heaviest = self.scores.gather(1, self.shares.argmax(1, keepdim=True))
        return Side(torch.where(self.shares > 0, self.scores, heaviest), self.shares)

    def where_counted(self, gradient: Tensor) -> Tensor:
        """Return the gradient, but zero for scores without weight: zero times an infinite slope would be NaN."""
        return gradient if self.shares is None else torch.where(self.shares > 0, gradient, 0.0)

    def finite_part(self) -> Side:
        """Return the class with scores that are not finite moved onto a finite one and given weight zero."""
        finite = self.scores.isfinite()
        some = torch.where(finite, self.scores, torch.inf).amin(1, keepdim=True).nan_to_num(posinf=0.0)
        return Side(torch.where(finite, self.scores, some), torch.where(finite, self.all_shares(), 0.0))

    def group(self, special: float) -> tuple[Side, Tensor]:
        """Return all scores equal to ``special``, NaN or an infinity, as one point, and a mask of these scores.

        The point has their total weight.
        """
        members = self.scores.isnan() if special != special else self.scores == special
        share = (self.all_shares() * members).sum(1, keepdim=True)
        return Side(self.scores.new_full((self.scores.shape[0], 1), special), share), members

    def spread(self, gradient: Tensor, group: Side, members: Tensor) -> Tensor:
        """Return a group's gradient (k, 1), divided among its members by their weights; zero for all others."""
        shares = self.all_shares()
        counted = members & (shares > 0)
        part = gradient / torch.where(group.all_shares() > 0, group.all_shares(), 1.0) * shares
        return torch.where(counted, part, 0.0).to(gradient.dtype)

    def all_shares(self) -> Tensor:
        """Return the shares (k, n) in float64, even if they are all equal."""
        if self.shares is None:
            return torch.full_like(self.scores, 1.0 / self.scores.shape[1], dtype=torch.float64)
        return self.shares

    @property
    def dtype(self) -> torch.dtype:
        """The precision of the scores, and of gradients."""
        return self.scores.dtype

    @property
    def ends(self) -> Tensor:
        """The lowest and the highest score of each row, (k, 2) in float64."""
        return torch.stack([self.scores.amin(1), self.scores.amax(1)], 1).double()

    @property
    def middle(self) -> Tensor:
        """The median of a sample of each row, (k, 1) in float64."""
        sample = self.scores[:, :: max(1, self.scores.shape[1] // 500)].sort(1).values
        return sample[:, sample.shape[1] // 2, None].double()

    def values(self, rows: slice, columns: slice) -> Tensor:
        """Return the scores of a block in float64."""
        return self.scores[rows, columns].double()

    def put(self, gradient: Tensor, rows: slice, columns: slice, slopes: Tensor) -> None:
        """Write the slopes of a block into the gradient."""
        gradient[rows, columns] = slopes

    def in_order(self, row: int, sign: float) -> tuple[Tensor, Tensor]:
        """Return the scores of one problem times a sign, in increasing order and in float64, and their shares."""
        scores = sign * self.scores[row]
        if self.shares is not None or scores.device.type != "cpu":
            scores, order = scores.sort()
            return scores.double(), self.all_shares()[row, order]
        return torch.from_numpy(np.sort(scores.numpy())).double(), self.all_shares()[row]  # in a fraction of the time

    @property
    def equal_share(self) -> float:
        """The factor for sums in which every score counts 1 and not its share: 1 / n, or 1 where shares are given."""
        return 1.0 / self.scores.shape[1] if self.shares is None else 1.0

    def share(self, rows: slice, columns: slice) -> Tensor | float:
        """Return the shares of a block, as one number if they are all equal."""
        return 1.0 / self.scores.shape[1] if self.shares is None else self.shares[rows, columns]


def blocks(scores: Tensor) -> Iterator[tuple[slice, slice]]:
    """Cut (k, n) scores into blocks of whole rows, or of parts of one row; on a GPU, all scores are one block."""
    k, n = scores.shape
    if in_one_block(scores):
        if k * n:
            yield slice(0, k), slice(0, n)
        return
    height = max(1, _BLOCK // n)
    for i in range(0, k, height):
        for j in range(0, n, _BLOCK):
            yield slice(i, min(i + height, k)), slice(j, min(j + _BLOCK, n))


def in_one_block(*scores: Tensor) -> bool:
    """Return whether these scores are processed at once: on a GPU always, on a CPU if they are few."""
    return scores[0].device.type != "cpu" or sum(side.numel() for side in scores) <= 2 * _BLOCK


def dropped(s: Any, u: Any, where: Any) -> Any:
    """Return the rounding error of u = s - where (Knuth's two-sum): the exact s - where is u plus this."""
    back = u - s
    return (s - (u - back)) - (where + back)
