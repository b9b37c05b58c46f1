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
from symloss.pairwise.grid import Kernel
from symloss.pairwise.problem import Side, Sums
from symloss.pairwise.ranges import Ranges
from symloss.pairwise.remembering import remembered

# Rows below this part of the steepest slope lose more than rounding, or seven of sixteen digits, on a grid.
_SMALL = {torch.float32: 2.0**-33, torch.float64: 2.0**-24}
_TERMS = 5
_DECAYS = (8.0, 16.0, 40.0)  # a tail may start where its first exponential has fallen by exp(-8), or later
_TOLERANCE = 1e-10
_CELL = 250.0  # powers within a cell reach from 1 to exp(250)
_NEGLIGIBLE = 40.0  # exp(-40) of the first term
_FEW_ROWS = 8  # for so few, computing every pair takes less time than sorting
_FEW_CELLS = 1 << 10  # so many are added up one by one
_TILE = 8, 1 << 12  # rows and columns
_MOST_PAIRS = 1 << 26  # so many are computed; rows that need more of them stay as they are
_NEAR_PAIR = 5  # a pair that has to be gathered takes as long as so many in tiles
_PAIRS_A_STEP = 1 << 20


class Tail(NamedTuple):
    """A function of margins at distances x = |z| beyond ``start``: a line plus some exponentials.

    Each of these is weight * exp(-rate * (x - start)): weights at 0 would overflow where a tail starts far out.
    """

    start: float
    line: tuple[float, float]
    rates: tuple[float, ...]
    weights: tuple[float, ...]

    def at(self, x: Tensor) -> Tensor:
        """Return the function at distances x."""
        beyond = x - self.start
        terms = (weight * torch.exp(-rate * beyond) for rate, weight in zip(self.rates, self.weights, strict=True))
        return sum(terms, self.line[0] + self.line[1] * x)

    def of_values(self, side: int, line: tuple[float, float]) -> Tail:
        """Return the tail of a loss whose slopes have this tail, and which approaches a line in z."""
        weights = tuple(-side * weight / rate for rate, weight in zip(self.rates, self.weights, strict=True))
        return Tail(self.start, (line[0], side * line[1]), self.rates, weights)


@remembered
def tail_of(loss: Loss, side: int) -> Tail | None:
    """Return the right tail (side 1) or the left tail (side -1) of a loss's slope, or None if it is not exponential.

    Of all that fit, it is the tail that starts nearest, so that few pairs lie before it.

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
    steps = {structure.left_rate, structure.right_rate}
    for start, step in sorted((decay / step, step) for decay in _DECAYS for step in steps):
        tail = _fitted(loss, side, start, slope, rate, step)
        x = start + torch.cat([torch.linspace(0, end / step, 40, dtype=torch.float64) for end in (20.0, 400.0)])
        exact = loss.slope(side * x)
        if bool(((tail.at(x) - exact).abs() <= _TOLERANCE * exact.abs() + 1e-290).all()):
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
    return Tail(start, (slope, 0.0), tuple(rates.tolist()), tuple(factors.tolist()))


def with_small_rows(sums: Sums, pos: Side, neg: Side, loss: Loss, fine: tuple[Tensor, Tensor] | None = None) -> Sums:
    """Return sums of finite scores with small values, and small rows of the gradients, computed anew.

    But not those rows that are ``fine``, nor values of problems in which some are.
    """
    value, *gradients = sums
    tails = tail_of(loss, 1), tail_of(loss, -1)
    for side, (gradient, own, other, sign) in enumerate(
        zip(gradients, (pos, neg), (neg, pos), (1.0, -1.0), strict=True)
    ):
        small = _small(gradient, own, loss, None if fine is None else fine[side])
        if small is None:
            continue
        for row in small.any(1).nonzero()[:, 0].tolist():
            places = small[row].nonzero()[:, 0]
            # A margin is s - t, and also -t - (-s).
            slopes = _means(sign * own.scores[row, places].double(), other, row, sign, loss.slope, *tails)
            if slopes is not None:
                gradient[row, places] = (sign * own.all_shares()[row, places] * slopes).to(gradient.dtype)
    return _with_small_values(value, pos, neg, loss, fine), gradients[0], gradients[1]


def _with_small_values(value: Tensor, pos: Side, neg: Side, loss: Loss, fine: tuple[Tensor, Tensor] | None) -> Tensor:
    small = value.abs() < _SMALL[pos.dtype] * _scales(loss)[0]
    if fine is not None:
        small &= ~fine[0].any(1)
    if bool(small.any()):
        structure = cast(Analytic, loss.structure)
        right, left = tail_of(loss, 1), tail_of(loss, -1)
        right, left = (
            right and right.of_values(1, structure.right),
            left and left.of_values(-1, structure.left),
        )
        for row in small.nonzero()[:, 0].tolist():
            values = _means(pos.scores[row].double(), neg, row, 1.0, loss.value, right, left)
            if values is not None:
                value[row] = (pos.all_shares()[row] * values).sum()
    return value


def _small(gradient: Tensor, own: Side, loss: Loss, fine: Tensor | None) -> Tensor | None:
    """Return which rows are small beside the steepest slope, or None if there is none."""
    limit = _SMALL[gradient.dtype] * _scales(loss)[1]
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
def _scales(loss: Loss) -> tuple[float, float]:
    """Return the size of a smooth loss at 0, and its largest slope around there."""
    structure = cast(Analytic, loss.structure)
    reach = 20.0 / min(structure.left_rate, structure.right_rate)
    values, slopes = loss.value_and_slope(torch.linspace(-reach, reach, 2001, dtype=torch.float64))
    return float(values[1000].abs()), float(slopes.abs().max())


def _means(
    s: Tensor, other: Side, row: int, sign: float, function: Kernel, right: Tail | None, left: Tail | None
) -> Tensor | None:
    """Return the mean of a function of the margin for each s (q,), over a class times its sign.

    None is returned if that would take longer than ``_MOST_PAIRS`` in tiles.
    """
    pairs = len(s) * other.scores.shape[1]
    if len(s) <= _FEW_ROWS or right is None or left is None:
        t, v = sign * other.scores[row].double(), other.all_shares()[row]
        return _every(s, t, v, function) if pairs <= _MOST_PAIRS else None
    t, v = other.in_order(row, sign)
    first, last = torch.searchsorted(t, s - right.start), torch.searchsorted(t, s + left.start, right=True)
    near = _NEAR_PAIR * int((last - first).sum())
    if min(near, pairs) > _MOST_PAIRS:
        return None
    if pairs <= near:
        return _every(s, t, v, function)
    found = _near(s, t, v, first, last, function)
    found += _far(s, t, v, first, right)
    found += _far(-s, -t.flip(0), v.flip(0), len(t) - last, left)
    return found


def _every(s: Tensor, t: Tensor, v: Tensor, function: Kernel) -> Tensor:
    """Return the sums over every pair, in tiles that stay in the cache."""
    found = torch.zeros_like(s)
    for i in range(0, len(s), _TILE[0]):
        for j in range(0, len(t), _TILE[1]):
            z = s[i : i + _TILE[0], None] - t[j : j + _TILE[1]]
            found[i : i + _TILE[0]] += torch.mv(function(z), v[j : j + _TILE[1]])
    return found


def _near(s: Tensor, t: Tensor, v: Tensor, first: Tensor, last: Tensor, function: Kernel) -> Tensor:
    """Return the sums over every pair of s and t[first:last]."""
    found, counts = torch.zeros_like(s), last - first
    ends = counts.cumsum(0)
    for start in range(0, int(ends[-1]), _PAIRS_A_STEP):
        pairs = torch.arange(start, min(start + _PAIRS_A_STEP, int(ends[-1])), device=s.device)
        i = torch.searchsorted(ends, pairs, right=True)
        j = pairs - (ends - counts - first)[i]
        found.index_add_(0, i, v[j] * function(s[i] - t[j]))
    return found


def _far(s: Tensor, t: Tensor, v: Tensor, stop: Tensor, tail: Tail) -> Tensor:
    """Return the sums of a tail over the pairs of s and t[:stop]."""
    some = stop > 0
    if not bool(some.any()):
        return torch.zeros_like(s)
    last, at = stop[some] - 1, s[some]
    number = ((t - t[0]) * (max(tail.rates) / _CELL)).floor()
    begins = torch.cat([last.new_zeros(1), (number.diff() != 0).nonzero()[:, 0] + 1])
    cells = _Cells(t, begins, torch.searchsorted(begins, last, right=True) - 1)
    found = _line(at, t, v, last, *tail.line)
    nearest = float((at - t[last]).min())
    for rate, weight in zip(tail.rates, tail.weights, strict=True):
        if nearest * (rate - tail.rates[0]) > _NEGLIGIBLE:
            break
        found += weight * cells.decayed(v, last, rate) * torch.exp(-rate * (at - t[last] - tail.start))
    return torch.zeros_like(s).masked_scatter_(some, found)


def _line(s: Tensor, t: Tensor, v: Tensor, last: Tensor, constant: float, slope: float) -> Tensor:
    """Return the sums of a line in the distance s - t over all t up to t[last]; all terms have one sign."""
    if not (constant or slope):
        return torch.zeros_like(s)
    shares = v.cumsum(0)
    found = constant * shares[last]
    if slope:
        to_last = torch.cat([v.new_zeros(1), (t.diff() * shares[:-1]).cumsum(0)])
        found += slope * (to_last[last] + shares[last] * (s - t[last]))
    return found


class _Cells(NamedTuple):
    """Runs of neighboring scores t in order, none long: the place where each begins, and the cells that are asked for.

    Powers of e in a cell are taken from its first score, so that they neither overflow nor vanish.
    """

    t: Tensor
    begins: Tensor
    asked: Tensor

    def decayed(self, v: Tensor, last: Tensor, rate: float) -> Tensor:
        """Return the sums of v * exp(-rate * (t[last] - t)) over all t up to t[last]."""
        ends = torch.cat([self.begins[1:], self.begins.new_full((1,), len(self.t))])
        sizes, origins = ends - self.begins, self.t[self.begins]
        powers = (self.t - origins.repeat_interleave(sizes)).mul_(rate).exp_().mul_(v)
        if len(ends) <= _FEW_CELLS:
            running = torch.cat([part.cumsum(0) for part in torch.split(powers, sizes.tolist())])
            totals, inside = running[ends - 1], running[last]
        else:
            ranges = Ranges.of(self.t, powers)
            totals, inside = ranges.shares_of(self.begins, ends), ranges.shares_of(self.begins[self.asked], last + 1)
        carried = _carried(totals, torch.exp(-rate * origins.diff()))
        return (inside + carried[self.asked]) * torch.exp(-rate * (self.t[last] - origins[self.asked]))


def _carried(totals: Tensor, factors: Tensor) -> Tensor:
    """Return what comes to each cell from those before: what came to the last one and its own total, times a factor."""
    carried = [0.0]
    for total, factor in zip(totals[:-1].tolist(), factors.tolist(), strict=True):
        carried.append((carried[-1] + total) * factor)
    return totals.new_tensor(carried)
