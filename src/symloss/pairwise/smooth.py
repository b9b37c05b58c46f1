"""Smooth kernels that approach a line on either side: all pairs through a grid, or through the lines.

A long axis is cut into segments that only meet their neighbors; segments without scores are left out.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from symloss.losses import Analytic, Loss
from symloss.pairwise.grid import Grid, Kernel, Spread, choose, interact
from symloss.pairwise.moments import polynomial
from symloss.pairwise.problem import Side, Sums, blocks, in_one_block
from symloss.pairwise.sparse import sparse
from symloss.pairwise.tiles import tiled

_SATURATION = 40.0  # exp(-40) is nothing beside 1
_SEPARATED = 2.0
_REACH = 60.0  # where all margins have one sign: exp(-60) is nothing beside the smallest of them
_LARGEST_EXPONENT = 680.0  # whose exponential is finite, with something to spare
_FEW_PAIRS = 1 << 18  # of one row


def analytic(pos: Side, neg: Side, loss: Loss, structure: Analytic) -> Sums:
    """Return the sums for a smooth kernel that approaches lines on either side."""
    bounds = torch.cat(
        [end for side in (pos, neg) for end in (side.scores.amin(1, True), side.scores.amax(1, True))], 1
    )
    bounds = bounds.double()
    ends = bounds.cpu().numpy()
    tilt = _Tilt.of(structure, ends, pos.scores.device)
    saturation = _SATURATION / min(structure.left_rate, structure.right_rate)
    wide = (ends[:, 1::2] - ends[:, ::2]).max(1) > 4 * saturation
    if tilt is not None:
        wide &= tilt.rate[:, 0].cpu().numpy() == 0
    if not wide.any():
        return _on_one_grid(pos, neg, loss, structure, bounds, ends, tilt)
    if not wide.all():  # the others need not wait for them
        return _in_groups(pos, neg, loss, structure, wide)
    if pos.scores.shape[1] * neg.scores.shape[1] <= _FEW_PAIRS:
        return tiled(pos, neg, loss)
    return _row_by_row(pos, neg, loss, structure, 2.0 ** math.ceil(math.log2(saturation)))


def _in_groups(pos: Side, neg: Side, loss: Loss, structure: Analytic, wide: NDArray[np.bool_]) -> Sums:
    """Work on wide rows, then on the others."""
    parts, order = [], []
    for group in (wide, ~wide):
        rows = torch.from_numpy(np.flatnonzero(group)).to(pos.scores.device)
        parts.append(analytic(pos.some(rows), neg.some(rows), loss, structure))
        order.append(rows)
    back = torch.cat(order).argsort()
    value, grad_pos, grad_neg = (torch.cat(of_groups)[back] for of_groups in zip(*parts, strict=True))
    return value, grad_pos, grad_neg


def _on_one_grid(
    pos: Side,
    neg: Side,
    loss: Loss,
    structure: Analytic,
    bounds: Tensor,
    ends: NDArray[np.float64],
    tilt: _Tilt | None,
) -> Sums:
    """Rows that fit a segment: spread both classes, let them interact, and read back."""
    near = (pos, neg)
    if tilt is not None:
        near, bounds = tilt.near(pos, neg, bounds)
        ends = bounds.cpu().numpy()
    pos_low, neg_low = bounds[:, :1], bounds[:, 2:3]
    width = float((ends[:, 1::2] - ends[:, ::2]).max())
    rows, n, m = pos.scores.shape[0], pos.scores.shape[1], neg.scores.shape[1]
    grid = choose(structure, width, rows, rows * (n + m), pos.scores)
    spread = Spread(grid, 2 * rows, pos.scores.device)
    _add_all(spread, grid, *near, pos_low, neg_low, tilt)
    kernels = (loss.slope, loss.value) if tilt is None else (tilt.slopes(loss.slope), tilt.values(loss.value))
    value, at_pos, at_neg = interact(grid, *kernels, pos_low - neg_low, *spread.charges().chunk(2))
    scale = pos.equal_share * neg.equal_share
    gradient = pos.scores.new_empty((rows, n + m))
    spread.read(torch.cat([at_pos, -at_neg]).mul_(scale), gradient)
    value, grad_pos, grad_neg = value * scale, gradient[:, :n], gradient[:, n:]
    if tilt is not None:
        lines = polynomial(pos, neg, (0.0, 1.0))
        value += (tilt.intercept * pos.total * neg.total)[:, 0] + tilt.slope[:, 0] * lines[0]
        grad_pos += tilt.slope * lines[1]
        grad_neg += tilt.slope * lines[2]
    return value, grad_pos, grad_neg


def _add_all(
    spread: Spread, grid: Grid, pos: Side, neg: Side, pos_low: Tensor, neg_low: Tensor, tilt: _Tilt | None
) -> None:
    """Spread both classes, each from its row's lowest score: the positives' segments, then the negatives'."""
    rows, n, dtype = pos.scores.shape[0], pos.scores.shape[1], pos.scores.dtype
    first = grid.cells * torch.arange(2 * rows, device=pos_low.device)[:, None]
    if tilt is None and pos.shares is None and neg.shares is None and in_one_block(pos.scores, neg.scores):
        position = torch.cat([pos.scores - pos_low, neg.scores - neg_low], 1).mul_(1 / grid.spacing)
        both = torch.cat([first[:rows].expand(-1, n), first[rows:].expand(-1, position.shape[1] - n)], 1)
        spread.add(slice(None), slice(None), position, both, None, torch.float64)
        return
    for side, low, begin, start, sign in ((pos, pos_low, first[:rows], 0, -1), (neg, neg_low, first[rows:], n, 1)):
        for part, columns in blocks(side.scores):
            scores = side.scores[part, columns]
            position = (scores.double() - low[part]).mul_(1 / grid.spacing)
            weight = None if side.shares is None else side.shares[part, columns]
            if tilt is not None:
                weight = tilt.weights(scores, part, sign).mul_(1.0 if weight is None else weight)
            spread.add(part, slice(start + columns.start, start + columns.stop), position, begin[part], weight, dtype)


@dataclass(frozen=True)
class _Tilt:
    """Where all margins of a row have one sign, exp(rate (z - start)) undoes the decay, so that small sums keep digits.

    What remains of the kernel after its line is multiplied by it; the scores' weights by its inverse, split in two.
    Scores beyond ``reach`` of the one nearest to the other class meet only the line. All are (k, 1); the rate is 0 in
    rows with margins of both signs.
    """

    rate: Tensor
    pos_start: Tensor
    neg_start: Tensor
    intercept: Tensor
    slope: Tensor
    reach: float

    @classmethod
    def of(cls, structure: Analytic, ends: NDArray[np.float64], device: torch.device) -> _Tilt | None:
        """The tilt for rows of (lowest and highest positive, lowest and highest negative), or None for none."""
        pos_low, pos_high, neg_low, neg_high = (ends[:, end : end + 1] for end in range(4))
        right = (pos_low - neg_high > _SEPARATED / structure.right_rate).astype(np.float64)
        left = (pos_high - neg_low < -_SEPARATED / structure.left_rate).astype(np.float64)
        if not (right + left).any():
            return None
        rate, pos_start, neg_start, intercept, slope = (
            torch.from_numpy(part).to(device)
            for part in (
                right * structure.right_rate - left * structure.left_rate,
                np.where(left > 0, pos_high, pos_low),
                np.where(left > 0, neg_low, neg_high),
                right * structure.right[0] + left * structure.left[0],
                right * structure.right[1] + left * structure.left[1],
            )
        )
        slow, fast = sorted((structure.left_rate, structure.right_rate))
        reach = min(_REACH / slow, _LARGEST_EXPONENT / (2 * fast))
        return cls(rate, pos_start, neg_start, intercept, slope, reach)

    def near(self, pos: Side, neg: Side, bounds: Tensor) -> tuple[tuple[Side, Side], Tensor]:
        """Move scores out of reach onto its edge, and their bounds with them."""
        sides, ends = [], []
        for side, start, sign, own in (
            (pos, self.pos_start, 1, bounds[:, :2]),
            (neg, self.neg_start, -1, bounds[:, 2:]),
        ):
            highest = torch.where(sign * self.rate > 0, start + self.reach, torch.inf)
            lowest = torch.where(sign * self.rate < 0, start - self.reach, -torch.inf)
            dtype = side.scores.dtype
            sides.append(Side(side.scores.double().clamp(lowest, highest).to(dtype), side.shares))
            ends.append(own.clamp(lowest, highest).to(dtype).double())  # rounded as the scores are
        return (sides[0], sides[1]), torch.cat(ends, 1)

    def slopes(self, function: Kernel) -> Kernel:
        """The kernel's slope, less its line's, tilted."""
        return lambda z: (function(z) - self.slope) * self._undone(z)

    def values(self, function: Kernel) -> Kernel:
        """The kernel, less its line, tilted."""
        return lambda z: (function(z) - (self.intercept + self.slope * z)) * self._undone(z)

    def _undone(self, z: Tensor) -> Tensor:
        return torch.exp(self.rate * (z - (self.pos_start - self.neg_start)))

    def weights(self, scores: Tensor, rows: slice, sign: int) -> Tensor:
        """What the tilt does to scores of the positives (sign -1) or the negatives (sign 1)."""
        start = (self.pos_start if sign < 0 else self.neg_start)[rows]
        return torch.exp(sign * self.rate[rows] * (scores.double() - start))


def _row_by_row(pos: Side, neg: Side, loss: Loss, structure: Analytic, width: float) -> Sums:
    """Problems whose scores span many segments, one after another."""
    parts = []
    for row in range(pos.scores.shape[0]):
        sides = pos.some(slice(row, row + 1)), neg.some(slice(row, row + 1))
        exact = sparse(*sides, loss, structure)
        parts.append(_segmented(*sides, loss, structure, width) if exact is None else exact)
    value, grad_pos, grad_neg = (torch.cat(part) for part in zip(*parts, strict=True))
    return value, grad_pos, grad_neg


def _segmented(pos: Side, neg: Side, loss: Loss, structure: Analytic, width: float) -> Sums:
    """One problem: pairs in the same or in neighboring segments through the grid, all others through the lines.

    The width is a power of two, so that neither a segment's number nor a place in it is rounded.
    """
    scores = torch.cat([pos.scores, neg.scores], 1).double()
    number = (scores / width).floor()
    numbers, segment = number.unique(return_inverse=True)  # type: ignore[no-untyped-call]
    count = len(numbers)
    grid = choose(structure, width, 3 * count, scores.numel(), pos.scores)
    place = scores - number * width
    position = (place / grid.spacing).clamp_(0, grid.cells * (1 - 1e-15))  # just below 0, rounding reaches the end
    n = pos.scores.shape[1]
    spread = Spread(grid, 2 * count, scores.device)
    for side, start, skipped in ((pos, 0, 0), (neg, n, count)):
        for part, columns in blocks(side.scores):
            at = slice(start + columns.start, start + columns.stop)
            first = grid.cells * (segment[part, at] + skipped)
            spread.add(part, at, position[part, at], first, side.all_shares()[part, columns], pos.scores.dtype)
    neighbors = (numbers.diff() == 1).double()[:, None]
    q_pos, q_neg = spread.charges().chunk(2)
    value, at_pos, at_neg = _near(loss, grid, width, q_pos, q_neg, neighbors)
    s, t = (
        _Segments.of(side.all_shares()[0], place[0, part], segment[0, part], count)
        for side, part in ((pos, slice(n)), (neg, slice(n, None)))
    )
    parts = _far(structure, s, t, numbers.diff() * width, neighbors[:, 0] * width)
    gradient = pos.scores.new_empty(scores.shape)
    spread.read(torch.cat([at_pos + parts[1], -(at_neg + parts[2])]), gradient)
    return (value + parts[0]).reshape(1), gradient[:, :n], gradient[:, n:]


def _near(loss: Loss, grid: Grid, width: float, q_pos: Tensor, q_neg: Tensor, neighbors: Tensor) -> Sums:
    """The value, and the field at positives and at negatives, of pairs in the same or in neighboring segments."""
    value = torch.zeros((), dtype=torch.float64, device=q_pos.device)
    at_pos, at_neg = torch.zeros_like(q_pos), torch.zeros_like(q_neg)
    last = len(q_pos)
    for step in (-1, 0, 1):  # the positive's segment less the negative's
        p = slice(max(step, 0), last + min(step, 0))
        q = slice(max(-step, 0), last + min(-step, 0))
        weight = neighbors if step else 1.0
        values, by_pos, by_neg = interact(grid, loss.slope, loss.value, step * width, q_pos[p], q_neg[q])
        value = value + (weight * values[:, None]).sum()
        at_pos[p] += weight * by_pos
        at_neg[q] += weight * by_neg
    return value, at_pos, at_neg


class _Segments(NamedTuple):
    """The scores of a class by segments: their share, and their share times their place in the segment."""

    share: Tensor
    moment: Tensor

    @classmethod
    def of(cls, share: Tensor, place: Tensor, segment: Tensor, count: int) -> _Segments:
        share_of, moment_of = (share.new_zeros(count).index_add_(0, segment, x) for x in (share, share * place))
        return cls(share_of, moment_of)


def _far(structure: Analytic, pos: _Segments, neg: _Segments, steps: Tensor, near: Tensor) -> Sums:
    """The same of all other pairs, whose margins are so large that the kernel is a line.

    ``steps`` are the distances from each segment to the next, and ``near`` those between neighbors, else 0.
    """
    linked = (near > 0).double()

    def below(x: Tensor, links: Tensor = linked) -> Tensor:
        """The sum over segments below, but not next to, each."""
        total = x.cumsum(0) - x
        total[1:] -= links * x[:-1]
        return total

    def above(x: Tensor) -> Tensor:
        return below(x.flip(0), linked.flip(0)).flip(0)

    def apart(low: _Segments, high: _Segments) -> tuple[Tensor, Tensor]:
        """The share of pairs with one score in a segment below the other's, and the sum of their distances.

        A distance is a sum of steps, so no large numbers cancel.
        """
        across = low.share.cumsum(0)[:-1] * high.share.flip(0).cumsum(0).flip(0)[1:]
        distance = (steps * across).sum() - (near * low.share[:-1] * high.share[1:]).sum()
        of_low = below(low.share)
        return (high.share * of_low).sum(), distance + (high.moment * of_low - high.share * below(low.moment)).sum()

    (intercept, slope), (left_intercept, left_slope) = structure.right, structure.left
    right, left = apart(neg, pos), apart(pos, neg)
    value = intercept * right[0] + slope * right[1] + left_intercept * left[0] - left_slope * left[1]
    at_pos = slope * below(neg.share) + left_slope * above(neg.share)
    at_neg = slope * above(pos.share) + left_slope * below(pos.share)
    return value, at_pos[:, None], at_neg[:, None]
