"""Rows of a smooth loss's gradient that are small beside the largest: a grid leaves them the rounding of the largest.

Far from 0, the slope of such a loss is that of a line plus a few exponentials of the margin. So the far part of a row
comes from sums of exponentials, all of one sign, and its near part from every pair. Each row then has all its digits.
"""

from __future__ import annotations

import math
from typing import NamedTuple, cast

import numpy as np
import torch
from torch import Tensor

from symloss.losses import Analytic, Loss
from symloss.pairwise.problem import Side, Sums
from symloss.pairwise.ranges import Ranges
from symloss.pairwise.remembering import remembered

# Rows below this part of the steepest slope lose more than rounding, or eight of sixteen digits, on a grid.
_SMALL = {torch.float32: 2.0**-27, torch.float64: 2.0**-23}
_TERMS = 5
_DECAYS = (8.0, 16.0, 40.0)  # a tail may start where its first exponential has fallen by exp(-8), or later
_TOLERANCE = 1e-10
_CELL = 250.0  # powers within a cell reach from 1 to exp(250)
_FEW_CELLS = 1 << 10  # so many are added up one by one
_EVERY = 1 << 26  # pairs of rows without a tail that are computed; with more of them, rows stay as they are
_PAIRS_A_STEP = 1 << 20


class Tail(NamedTuple):
    """The slope of a loss at margins beyond ``start``: a constant plus weight * exp(-rate * |z|) of each term."""

    start: float
    slope: float
    rates: tuple[float, ...]
    weights: tuple[float, ...]

    def at(self, x: Tensor) -> Tensor:
        """Return the slope at distances x from 0."""
        terms = (weight * torch.exp(-rate * x) for rate, weight in zip(self.rates, self.weights, strict=True))
        return sum(terms, torch.full_like(x, self.slope))


@remembered
def tail_of(loss: Loss, side: int) -> Tail | None:
    """Return the right tail (side 1) or the left tail (side -1) of a smooth loss, or None if it is not exponential.

    Examples
    --------
    >>> from symloss.losses import Sigmoid
    >>> tail_of(Sigmoid(), 1).rates
    (1.0, 2.0, 3.0, 4.0, 5.0)
    """
    structure = loss.structure
    if not isinstance(structure, Analytic):
        return None
    rate, slope = (structure.right_rate, structure.right[1]) if side > 0 else (structure.left_rate, structure.left[1])
    for decay in _DECAYS:
        for step in sorted({structure.left_rate, structure.right_rate}):
            tail = _fitted(loss, side, decay / step, slope, rate, step)
            x = torch.cat([torch.linspace(0, end / step, 40, dtype=torch.float64) for end in (20.0, 400.0)])
            exact = loss.slope(side * (x + tail.start))
            if bool(((tail.at(x + tail.start) - exact).abs() <= _TOLERANCE * exact.abs() + 1e-290).all()):
                return tail
    return None


def _fitted(loss: Loss, side: int, start: float, slope: float, rate: float, step: float) -> Tail:
    """Return the tail that has the slopes of the loss at some points; the rates are rate, rate + step, ..."""
    powers = np.arange(_TERMS)
    places = 0.5 + 0.5 * np.cos((powers + 0.5) * (math.pi / _TERMS))  # exp(-step * (x - start)), from 0 to 1
    x = start - np.log(places) / step
    slopes = loss.slope(torch.from_numpy(side * x)).numpy() - slope
    factors = np.linalg.solve(places[:, None] ** powers, slopes * np.exp(rate * (x - start)))
    rates = rate + step * powers
    return Tail(start, slope, tuple(rates.tolist()), tuple((factors * np.exp(rates * start)).tolist()))


def with_small_rows(sums: Sums, pos: Side, neg: Side, loss: Loss, fine: tuple[Tensor, Tensor] | None = None) -> Sums:
    """Return sums of finite scores with the small rows of their gradients computed anew, but those that are fine."""
    value, *gradients = sums
    for side, (gradient, own, other, sign) in enumerate(
        zip(gradients, (pos, neg), (neg, pos), (1.0, -1.0), strict=True)
    ):
        small = _small(gradient, own, loss, None if fine is None else fine[side])
        if small is None:
            continue
        for row in small.any(1).nonzero()[:, 0].tolist():
            places = small[row].nonzero()[:, 0]
            t, order = (sign * other.scores[row].double()).sort()  # a margin is s - t, and -t - (-s)
            slopes = _slopes(sign * own.scores[row, places].double(), t, other.all_shares()[row, order], loss)
            if slopes is not None:
                gradient[row, places] = (sign * own.all_shares()[row, places] * slopes).to(gradient.dtype)
    return value, gradients[0], gradients[1]


def _small(gradient: Tensor, own: Side, loss: Loss, fine: Tensor | None) -> Tensor | None:
    """Return which rows are small beside the steepest slope, or None if there is none."""
    limit = _SMALL[gradient.dtype] * _steepest(loss)
    if own.shares is None:
        limit /= own.scores.shape[1]
        low, high = gradient.aminmax()
        if float(low) > limit or float(high) < -limit:
            return None
        small = gradient.abs() < limit
    else:
        small = gradient.abs() < limit * own.shares
    if fine is not None:
        small &= ~fine
    return small if bool(small.any()) else None


@remembered
def _steepest(loss: Loss) -> float:
    """Return the largest slope of a smooth loss."""
    structure = cast(Analytic, loss.structure)
    reach = 20.0 / min(structure.left_rate, structure.right_rate)
    return float(loss.slope(torch.linspace(-reach, reach, 2001, dtype=torch.float64)).abs().max())


def _slopes(s: Tensor, t: Tensor, v: Tensor, loss: Loss) -> Tensor | None:
    """Return the mean slope of each s (q,) over t (m,), which is in order; None if that would take too long."""
    right, left = tail_of(loss, 1), tail_of(loss, -1)
    if right is None or left is None:
        none, every = (torch.full_like(s, end, dtype=torch.int64) for end in (0, len(t)))
        return _near(s, t, v, none, every, loss) if len(s) * len(t) <= _EVERY else None
    first, last = torch.searchsorted(t, s - right.start), torch.searchsorted(t, s + left.start, right=True)
    found = _near(s, t, v, first, last, loss)
    found += _far(s, t, v, first, right)
    found += _far(-s, -t.flip(0), v.flip(0), len(t) - last, left)
    return found


def _near(s: Tensor, t: Tensor, v: Tensor, first: Tensor, last: Tensor, loss: Loss) -> Tensor:
    """Return the sums over every pair of s and t[first:last]."""
    found, counts = torch.zeros_like(s), last - first
    ends = counts.cumsum(0)
    for start in range(0, int(ends[-1]), _PAIRS_A_STEP):
        pairs = torch.arange(start, min(start + _PAIRS_A_STEP, int(ends[-1])), device=s.device)
        i = torch.searchsorted(ends, pairs, right=True)
        j = pairs - (ends - counts - first)[i]
        found.index_add_(0, i, v[j] * loss.slope(s[i] - t[j]))
    return found


def _far(s: Tensor, t: Tensor, v: Tensor, stop: Tensor, tail: Tail) -> Tensor:
    """Return the sums of a tail over the pairs of s and t[:stop]."""
    some = stop > 0
    found = torch.where(some, tail.slope * v.cumsum(0)[(stop - 1).clamp(min=0)], 0.0)
    if not bool(some.any()):
        return found
    at, stop = s[some], stop[some]
    cells = _Cells.of(t, _CELL / max(tail.rates))
    for rate, weight in zip(tail.rates, tail.weights, strict=True):
        found[some] += weight * cells.decayed(at, t, v, stop, rate)
    return found


class _Cells(NamedTuple):
    """Runs of neighboring scores, none longer than a given width: the place where each begins, and the cell of each."""

    begins: Tensor
    number: Tensor

    @classmethod
    def of(cls, t: Tensor, width: float) -> _Cells:
        """Return the cells of scores (m,) in order."""
        number = ((t - t[0]) / width).floor()
        new = torch.ones_like(number, dtype=torch.bool)
        new[1:] = number[1:] != number[:-1]
        return cls(new.nonzero()[:, 0], new.cumsum(0) - 1)

    def decayed(self, s: Tensor, t: Tensor, v: Tensor, stop: Tensor, rate: float) -> Tensor:
        """Return the sums of v * exp(-rate * (s - t)) over t[:stop], of which there is one at least."""
        origins, last = t[self.begins], stop - 1
        cell = self.number[last]
        powers = v * torch.exp(rate * (t - origins[self.number]))
        ends = torch.cat([self.begins[1:], self.begins.new_full((1,), len(t))])
        if len(ends) <= _FEW_CELLS:
            running = torch.cat([part.cumsum(0) for part in powers.split((ends - self.begins).tolist())])
            totals, inside = running[ends - 1], running[last]
        else:
            ranges = Ranges.of(t, powers)
            totals, inside = ranges.shares_of(self.begins, ends), ranges.shares_of(self.begins[cell], stop)
        inside = inside + _carried(totals, torch.exp(-rate * origins.diff()))[cell]
        # In two steps, since the first factor may be huge where the second one is tiny.
        return inside * torch.exp(-rate * (t[last] - origins[cell])) * torch.exp(-rate * (s - t[last]))


def _carried(totals: Tensor, factors: Tensor) -> Tensor:
    """Return what comes to each cell from those before: what came to the last one and its own total, times a factor."""
    carried = [0.0]
    for total, factor in zip(totals[:-1].tolist(), factors.tolist(), strict=True):
        carried.append((carried[-1] + total) * factor)
    return totals.new_tensor(carried)
