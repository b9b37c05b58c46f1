"""Kinks from the intervals between neighboring points: exact where scores lie so far apart that other sums cancel.

With u = s - where, the sum of max(0, t - u) over all pairs is the integral over x of the share of all u below x times
the share of all t above x. Kinks are mixed before anything is multiplied, so that far from all of them a bounded loss
has exactly no slope.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import torch
from torch import Tensor

from symloss.losses import Kink
from symloss.pairwise.problem import Sums, dropped


class Sorted(NamedTuple):
    """The scores of a class in increasing order, (k, n) in float64, and their shares; None is 1 / n."""

    scores: Tensor
    shares: Tensor | None

    def mirrored(self) -> Sorted:
        """The same with the opposite sign."""
        return Sorted(-self.scores.flip(1), None if self.shares is None else self.shares.flip(1))

    def below(self, count: Tensor) -> Tensor:
        """The share of the first so many scores; equal shares are counts, which cancel exactly."""
        if self.shares is None:
            return count.double()
        return torch.cat([torch.zeros_like(self.shares[:, :1]), self.shares.cumsum(1)], 1).gather(1, count)

    def above(self, count: Tensor) -> Tensor:
        """The share of all but the first so many scores."""
        if self.shares is None:
            return (self.scores.shape[1] - count).double()
        sums = self.shares.flip(1).cumsum(1).flip(1)
        return torch.cat([sums, torch.zeros_like(self.shares[:, :1])], 1).gather(1, count)

    @property
    def unit(self) -> float:
        """The share that ``below`` and ``above`` count in."""
        return 1.0 / self.scores.shape[1] if self.shares is None else 1.0


def by_intervals(pos: Sorted, neg: Sorted, slope: float, kinks: Sequence[Kink]) -> Sums:
    """Return the value of a line's slope and of corners and squares, (k,), and the gradients of the squares alone.

    Gradients are in the order of the scores.
    """
    value, at_neg = _swept(pos, neg, slope, kinks)
    if not any(kink.power == 2 for kink in kinks):
        return value, torch.zeros_like(pos.scores), torch.zeros_like(neg.scores)
    at_pos = _swept(neg.mirrored(), pos.mirrored(), slope, kinks)[1].flip(1)
    of_pos, of_neg = ((side.unit if side.shares is None else side.shares) for side in (pos, neg))
    return value, -2 * at_pos * of_pos, 2 * at_neg * of_neg


def _swept(pos: Sorted, neg: Sorted, slope: float, kinks: Sequence[Kink]) -> tuple[Tensor, Tensor]:
    """The value, and for each negative the integral of the squares' mixed shares up to it."""
    wheres = [0.0, *(kink.where for kink in kinks)]
    widths, counts = _merged(pos.scores, neg.scores, wheres)
    below = [pos.below(count) for count in counts[:-1]]
    t_above = neg.above(counts[-1])

    def mixed(power: int) -> Tensor:
        parts = [kink.weight * share for kink, share in zip(kinks, below[1:], strict=True) if kink.power == power]
        return torch.stack(parts).sum(0) if parts else torch.zeros_like(widths)

    corners = mixed(1) - slope * below[0]
    squares = torch.cat([torch.zeros_like(widths[:, :1]), (widths * mixed(2)).cumsum(1)[:, :-1]], 1)
    value = widths * t_above * (corners + squares + squares.roll(-1, 1))
    if slope:
        value += widths * neg.below(counts[-1]) * pos.above(counts[0]) * slope
    is_neg = counts[-1].diff(dim=1, prepend=torch.zeros_like(counts[-1][:, :1])).bool()
    return value.sum(1) * (pos.unit * neg.unit), squares[is_neg].view(neg.scores.shape) * pos.unit


def _merged(s: Tensor, t: Tensor, wheres: list[float]) -> tuple[Tensor, list[Tensor]]:
    """The widths from each point of the merged axis to the next, and how many of each s - where, and of t, it counts.

    A point s - where is kept as two numbers, so that no digit of it is lost. The width after the last point is 0.
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
