"""Sums for kinks from the intervals between neighboring points: exact even if scores lie very far apart.

With u = s - where, the sum of max(0, t - u) over all pairs is the integral over x of the share of all u below x times
the share of all t above x. The shares of all kinks are added up before anything is multiplied. So a bounded loss has a
slope of exactly zero far from its kinks.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import torch
from torch import Tensor

from symloss.losses import Kink
from symloss.pairwise.problem import Sums, dropped


class Sorted(NamedTuple):
    """The scores of a class in increasing order, (k, n) in float64, and their shares, or None if each is 1 / n."""

    scores: Tensor
    shares: Tensor | None

    def mirrored(self) -> Sorted:
        """Return the scores with the opposite sign, again in increasing order."""
        return Sorted(-self.scores.flip(1), None if self.shares is None else self.shares.flip(1))

    def of_one(self, row: int, sign: float) -> tuple[Tensor, Tensor]:
        """Return the scores of one problem times a sign, in increasing order and in float64, and their shares."""
        side = self if sign > 0 else self.mirrored()
        scores = side.scores[row].double()
        return scores, torch.full_like(scores, self.unit) if side.shares is None else side.shares[row]

    def below(self, count: Tensor) -> Tensor:
        """Return the share of the first ``count`` scores; equal shares are given as counts, which cancel exactly."""
        if self.shares is None:
            return count.double()
        return torch.cat([torch.zeros_like(self.shares[:, :1]), self.shares.cumsum(1)], 1).gather(1, count)

    def above(self, count: Tensor) -> Tensor:
        """Return the share of all scores but the first ``count``."""
        if self.shares is None:
            return (self.scores.shape[1] - count).double()
        sums = self.shares.flip(1).cumsum(1).flip(1)
        return torch.cat([sums, torch.zeros_like(self.shares[:, :1])], 1).gather(1, count)

    @property
    def unit(self) -> float:
        """The share that the number 1 stands for in ``below`` and ``above``."""
        return 1.0 / self.scores.shape[1] if self.shares is None else 1.0


def by_intervals(pos: Sorted, neg: Sorted, slope: float, kinks: Sequence[Kink]) -> Sums:
    """Return the value (k,) of a line through 0 plus corners and squares, and the gradients of the squares only.

    The gradients are in the order of the sorted scores.
    """
    value, at_neg = _swept(pos, neg, slope, kinks)
    if not any(kink.power == 2 for kink in kinks):
        return value, torch.zeros_like(pos.scores), torch.zeros_like(neg.scores)
    at_pos = _swept(neg.mirrored(), pos.mirrored(), slope, kinks)[1].flip(1)
    of_pos, of_neg = ((side.unit if side.shares is None else side.shares) for side in (pos, neg))
    return value, -2 * at_pos * of_pos, 2 * at_neg * of_neg


def _swept(pos: Sorted, neg: Sorted, slope: float, kinks: Sequence[Kink]) -> tuple[Tensor, Tensor]:
    """Return the value, and for each negative the integral, up to it, of the shares of all squares added up."""
    wheres = [0.0, *(kink.where for kink in kinks)]
    widths, counts = _merged(pos.scores, neg.scores, wheres)
    below = [pos.below(count) for count in counts[:-1]]
    t_above = neg.above(counts[-1]) * neg.unit

    def mixed(power: int) -> Tensor:
        parts = [kink.weight * share for kink, share in zip(kinks, below[1:], strict=True) if kink.power == power]
        return torch.stack(parts).sum(0) * pos.unit if parts else torch.zeros_like(widths)

    corners = mixed(1) - slope * pos.unit * below[0]
    squares = torch.cat([torch.zeros_like(widths[:, :1]), _times(widths, mixed(2)).cumsum(1)[:, :-1]], 1)
    value = _times(widths, t_above * (corners + squares + squares.roll(-1, 1)))
    if slope:
        value += _times(widths, neg.below(counts[-1]) * neg.unit * pos.above(counts[0]) * pos.unit * slope)
    is_neg = counts[-1].diff(dim=1, prepend=torch.zeros_like(counts[-1][:, :1])).bool()
    return value.sum(1), squares[is_neg].view(neg.scores.shape)


def _times(widths: Tensor, factors: Tensor) -> Tensor:
    """Return the products; what has no factor counts for nothing, also over an infinite width."""
    return torch.where(factors == 0, 0.0, widths * factors)


def _merged(s: Tensor, t: Tensor, wheres: list[float]) -> tuple[Tensor, list[Tensor]]:
    """Merge the points s - where of every ``where``, and the points t; return widths and counts.

    The widths are those from each point to the next, and 0 after the last. The counts say how many of the points
    s - where, for each ``where`` in turn, and finally of the points t come up to each merged point. A point s - where
    is kept as two numbers, so that no digit of it is lost.
    """
    shifted = [s - where for where in wheres]
    high = torch.cat([*shifted, t], 1)
    rests = [dropped(s, u, where) for u, where in zip(shifted, wheres, strict=True)]
    low = torch.cat([*rests, torch.zeros_like(t)], 1)
    order = torch.sort(low, dim=1, stable=True).indices
    order = order.gather(1, torch.sort(high.gather(1, order), dim=1, stable=True).indices)
    high, low = high.gather(1, order), low.gather(1, order)
    widths = torch.zeros_like(high)
    widths[:, :-1] = high.diff(dim=1) + low.diff(dim=1)
    owner = order.div(s.shape[1], rounding_mode="floor").clamp_(max=len(wheres))
    return widths, [(owner == place).cumsum(1) for place in range(len(wheres) + 1)]
