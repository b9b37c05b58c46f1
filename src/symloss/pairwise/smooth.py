"""The sums over all pairs for smooth losses that approach a line on either side.

Close pairs are summed with a grid, and all others with the lines. A long range of scores is cut into segments, and
pairs in the same or in neighboring segments are close. Segments without scores are left out.
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
from symloss.pairwise.tails import with_small_rows
from symloss.pairwise.tiles import tiled

_SATURATION = 40.0  # exp(-40) is negligible beside 1
_SEPARATED = 2.0
_REACH = 120.0  # used where all margins have one sign: exp(-120) is negligible, even beside weights 1e24 times as small
_LARGEST_EXPONENT = 680.0  # its exponential is finite, with some room to spare
_FEW_PAIRS = 1 << 18  # per row; up to this many, every pair is computed


def analytic(pos: Side, neg: Side, loss: Loss, structure: Analytic) -> Sums:
    """Return the sums for a smooth loss that approaches a line on either side."""
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
    if not wide.all():  # the other rows are faster by themselves
        return _in_groups(pos, neg, loss, structure, wide)
    if pos.scores.shape[1] * neg.scores.shape[1] <= _FEW_PAIRS:
        return tiled(pos, neg, loss)
    return _row_by_row(pos, neg, loss, structure, 2.0 ** math.ceil(math.log2(saturation)))


def _in_groups(pos: Side, neg: Side, loss: Loss, structure: Analytic, wide: NDArray[np.bool_]) -> Sums:
    """Return the sums, computed first for wide rows and then for the others."""
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
    """Return the sums for rows that fit into one segment: spread both classes, convolve them, and read back."""
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
    fine = None if tilt is None else tilt.within_reach(pos, neg)
    return with_small_rows((value, grad_pos, grad_neg), pos, neg, loss, fine)


def _add_all(
    spread: Spread, grid: Grid, pos: Side, neg: Side, pos_low: Tensor, neg_low: Tensor, tilt: _Tilt | None
) -> None:
    """Spread both classes: the segments of the positives come first, then those of the negatives.

    Each segment begins at the lowest score of its row and class.
    """
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
    """A factor exp(rate (z - start)) that undoes the decay of the loss toward its line, so that small sums keep digits.

    It is used in rows where all margins have one sign; in the other rows, the rate is 0. The loss minus its line is
    multiplied by the factor. The weights are multiplied by its inverse, which splits into one part for the positive and
    one for the negative score. Of each class, scores farther than ``reach`` from the one nearest to the other class
    count through the line only. All tensors are (k, 1).
    """

    rate: Tensor
    pos_start: Tensor
    neg_start: Tensor
    intercept: Tensor
    slope: Tensor
    reach: float

    @classmethod
    def of(cls, structure: Analytic, ends: NDArray[np.float64], device: torch.device) -> _Tilt | None:
        """Return the tilt, or None if no row needs one.

        ``ends`` has one row per problem: the lowest and highest positive score, the lowest and highest negative score.
        """
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
        """Return both classes with the scores out of reach moved to its edge, and the bounds moved in the same way."""
        sides, ends = [], []
        for side, start, sign, own in (
            (pos, self.pos_start, 1, bounds[:, :2]),
            (neg, self.neg_start, -1, bounds[:, 2:]),
        ):
            highest = torch.where(sign * self.rate > 0, start + self.reach, torch.inf)
            lowest = torch.where(sign * self.rate < 0, start - self.reach, -torch.inf)
            dtype = side.scores.dtype
            sides.append(Side(side.scores.double().clamp(lowest, highest).to(dtype), side.shares))
            ends.append(own.clamp(lowest, highest).to(dtype).double())  # rounded in the same way as the scores
        return (sides[0], sides[1]), torch.cat(ends, 1)

    def within_reach(self, pos: Side, neg: Side) -> tuple[Tensor, Tensor]:
        """Return which scores of either class have all digits of their slopes."""
        return tuple(  # type: ignore[return-value]
            (self.rate != 0) & ((side.scores.double() - start).abs() <= self.reach)
            for side, start in ((pos, self.pos_start), (neg, self.neg_start))
        )

    def slopes(self, function: Kernel) -> Kernel:
        """Return the slope of the loss minus the slope of its line, times the factor."""
        return lambda z: (function(z) - self.slope) * self._undone(z)

    def values(self, function: Kernel) -> Kernel:
        """Return the loss minus its line, times the factor."""
        return lambda z: (function(z) - (self.intercept + self.slope * z)) * self._undone(z)

    def _undone(self, z: Tensor) -> Tensor:
        return torch.exp(self.rate * (z - (self.pos_start - self.neg_start)))

    def weights(self, scores: Tensor, rows: slice, sign: int) -> Tensor:
        """Return the factors for the weights of the positives (sign -1) or of the negatives (sign 1)."""
        start = (self.pos_start if sign < 0 else self.neg_start)[rows]
        return torch.exp(sign * self.rate[rows] * (scores.double() - start))


def _row_by_row(pos: Side, neg: Side, loss: Loss, structure: Analytic, width: float) -> Sums:
    """Return the sums of problems whose scores span many segments, one problem after another."""
    parts = []
    for row in range(pos.scores.shape[0]):
        sides = pos.some(slice(row, row + 1)), neg.some(slice(row, row + 1))
        exact = sparse(*sides, loss, structure)
        parts.append(_segmented(*sides, loss, structure, width) if exact is None else exact)
    value, grad_pos, grad_neg = (torch.cat(part) for part in zip(*parts, strict=True))
    return with_small_rows((value, grad_pos, grad_neg), pos, neg, loss)


def _segmented(pos: Side, neg: Side, loss: Loss, structure: Analytic, width: float) -> Sums:
    """Return the sums of one problem: close pairs from the grid, all others from the lines.

    The width is a power of two, so that neither the number of a segment nor a place in it is rounded.
    """
    scores = torch.cat([pos.scores, neg.scores], 1).double()
    number = (scores / width).floor()
    numbers, segment = number.unique(return_inverse=True)  # type: ignore[no-untyped-call]
    count = len(numbers)
    grid = choose(structure, width, 3 * count, scores.numel(), pos.scores)
    place = scores - number * width
    # A score just below 0 is rounded to the end of its segment, and must stay inside.
    position = (place / grid.spacing).clamp_(0, grid.cells * (1 - 1e-15))
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
    """Return the value, and the sums of slopes at the grid points of either class, over all close pairs."""
    value = torch.zeros((), dtype=torch.float64, device=q_pos.device)
    at_pos, at_neg = torch.zeros_like(q_pos), torch.zeros_like(q_neg)
    last = len(q_pos)
    for step in (-1, 0, 1):  # the positive's segment minus the negative's
        p = slice(max(step, 0), last + min(step, 0))
        q = slice(max(-step, 0), last + min(-step, 0))
        weight = neighbors if step else 1.0
        values, by_pos, by_neg = interact(grid, loss.slope, loss.value, step * width, q_pos[p], q_neg[q])
        value = value + (weight * values[:, None]).sum()
        at_pos[p] += weight * by_pos
        at_neg[q] += weight * by_neg
    return value, at_pos, at_neg


class _Segments(NamedTuple):
    """For each segment, sums over the scores of one class: of their shares, and of share times place in the segment."""

    share: Tensor
    moment: Tensor

    @classmethod
    def of(cls, share: Tensor, place: Tensor, segment: Tensor, count: int) -> _Segments:
        share_of, moment_of = (share.new_zeros(count).index_add_(0, segment, x) for x in (share, share * place))
        return cls(share_of, moment_of)


def _far(structure: Analytic, pos: _Segments, neg: _Segments, steps: Tensor, near: Tensor) -> Sums:
    """Return the same over all other pairs, whose margins are so large that the loss is a line.

    ``steps`` holds the distance from each segment to the next. ``near`` is the same for neighbors, and 0 otherwise.
    """
    linked = (near > 0).double()

    def below(x: Tensor, links: Tensor = linked) -> Tensor:
        """Return, for each segment, the sum over all lower segments but its neighbor."""
        total = x.cumsum(0) - x
        total[1:] -= links * x[:-1]
        return total

    def above(x: Tensor) -> Tensor:
        return below(x.flip(0), linked.flip(0)).flip(0)

    def apart(low: _Segments, high: _Segments) -> tuple[Tensor, Tensor]:
        """Return the share of pairs whose ``low`` score lies in a lower segment, and the sum of share times distance.

        Neighboring segments are left out. A distance is a sum of steps, so no large numbers cancel.
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
