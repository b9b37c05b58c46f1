"""Smooth kernels: both classes are spread onto a grid by local polynomials, convolved there, and read back.

A loss that is analytic around the real axis is, between grid points a fraction of its pole distance apart, a polynomial
to rounding. Scores are collected cell by cell as moments, moments become charges on the grid points, a fast Fourier
transform convolves charges and kernel, and each score reads the result off its cell's polynomial. Far apart, the kernel
is a line: a long axis is cut into segments that only meet their neighbours, and segments without scores are left out.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from symloss.losses import Analytic, Loss
from symloss.pairwise.moments import centre_of, polynomial
from symloss.pairwise.problem import Side, Sums, blocks
from symloss.pairwise.sparse import sparse

Kernel = Callable[[Tensor], Tensor]

# What a sum over pairs may be off by, relative to the largest: well below what its precision can hold.
_TOLERANCE = {torch.float32: 5e-8, torch.float64: 2e-13}
# Prices for choosing a grid, in nanoseconds: a moment of a score, spread and read back; a point in all transforms.
_SCORE_PRICE, _POINT_PRICE = 7.0, 250.0
_SATURATION = 40.0  # exp(-40) is nothing beside 1
_SEPARATED = 2.0


@dataclass(frozen=True)
class Grid:
    """Polynomials of degree ``order`` on cells of width ``spacing``; a segment has so many ``cells``.

    Cell a reaches the points a, ..., a + order; point i lies spacing * (i + 1/2 - order / 2) from the segment's start.
    """

    order: int
    spacing: float
    cells: int

    @property
    def points(self) -> int:
        """The grid points of a segment."""
        return self.cells + self.order

    def coefficients(self, like: Tensor) -> Tensor:
        """Row k: what a cell's points contribute to its polynomial's k-th coefficient, in cells from its middle."""
        return _inverse_vandermonde(self.order).to(like.device)


def _nodes(order: int) -> NDArray[np.float64]:
    return np.arange(order + 1, dtype=np.float64) - order / 2


@cache
def _inverse_vandermonde(order: int) -> Tensor:
    return torch.from_numpy(np.linalg.inv(np.vander(_nodes(order), increasing=True)))


@cache
def _fractions(dtype: torch.dtype) -> list[float]:
    """For each order from 1, the spacing in pole distances at which interpolation is accurate enough.

    The error of interpolating a kernel with a double pole, once for t and once for s.
    """
    fractions = []
    for order in range(1, 10):
        reach = max(abs(float(np.prod(x - _nodes(order)))) for x in (0.0, 0.25, 0.5))
        fractions.append((_TOLERANCE[dtype] / (2 * reach * (order + 2))) ** (1 / (order + 1)))
    return fractions


def choose(structure: Analytic, width: float, segments: int, scores: int, dtype: torch.dtype) -> Grid:
    """Return the cheapest grid that is accurate enough, for so many scores on so many segments of that width."""
    best, lowest = Grid(1, structure.pole_distance, 1), math.inf
    for order, fraction in enumerate(_fractions(dtype), start=1):
        cells = max(1, math.ceil(width / (fraction * structure.pole_distance)))
        price = _SCORE_PRICE * (order + 1) * scores + _POINT_PRICE * segments * (cells + order)
        if price < lowest:
            spacing = max(width / cells, 1e-9 * structure.pole_distance)  # of scores that are all the same, any will do
            best, lowest = Grid(order, spacing, cells), price
    return best


def analytic(pos: Side, neg: Side, loss: Loss, structure: Analytic) -> Sums:
    """Return the sums for a smooth kernel that approaches lines on either side."""
    (pos_low, pos_high), (neg_low, neg_high) = (
        (side.scores.amin(1, keepdim=True).double(), side.scores.amax(1, keepdim=True).double()) for side in (pos, neg)
    )
    width = float(torch.maximum(pos_high - pos_low, neg_high - neg_low).max())
    saturation = _SATURATION / min(structure.left_rate, structure.right_rate)
    if width > 4 * saturation:
        return _row_by_row(pos, neg, loss, structure, saturation)
    tilt = _Tilt.of(structure, pos_low, pos_high, neg_low, neg_high)
    grid = choose(structure, width, len(pos_low), pos.scores.numel() + neg.scores.numel(), pos.scores.dtype)
    places = [_Places.in_one_segment(side, grid, low) for side, low in ((pos, pos_low), (neg, neg_low))]
    q_pos, q_neg = (
        _charges(side, place, grid, tilt, sign) for side, place, sign in zip((pos, neg), places, (-1, 1), strict=True)
    )
    value, at_pos, at_neg = _interact(
        grid, tilt.kernel(loss.derivative, slope=True), tilt.kernel(loss, slope=False), pos_low - neg_low, q_pos, q_neg
    )
    grad_pos = _read(pos, places[0], grid, at_pos, tilt, -1, tilt.slope * neg.total)
    grad_neg = _read(neg, places[1], grid, at_neg.neg_(), tilt, 1, -tilt.slope * pos.total)
    if tilt.active:
        value = value + tilt.intercept[:, 0] * (pos.total * neg.total)[:, 0]
        value = value + tilt.slope[:, 0] * polynomial(pos, neg, (0.0, 1.0))[0]
    return value, grad_pos, grad_neg


@dataclass(frozen=True)
class _Tilt:
    """Where all margins of a row have one sign, exp(rate (z - start)) undoes the decay, so that small sums keep digits.

    What remains of the kernel after its line is multiplied by it; the scores' weights by its inverse, split in two. All
    are (k, 1); the rate is 0 in rows with margins of both signs.
    """

    rate: Tensor
    pos_start: Tensor
    neg_start: Tensor
    intercept: Tensor
    slope: Tensor
    active: bool

    @classmethod
    def of(cls, structure: Analytic, pos_low: Tensor, pos_high: Tensor, neg_low: Tensor, neg_high: Tensor) -> _Tilt:
        right = (pos_low - neg_high > _SEPARATED / structure.right_rate).double()
        left = (pos_high - neg_low < -_SEPARATED / structure.left_rate).double()
        return cls(
            right * structure.right_rate - left * structure.left_rate,
            torch.where(left > 0, pos_high, pos_low),
            torch.where(left > 0, neg_low, neg_high),
            right * structure.right[0] + left * structure.left[0],
            right * structure.right[1] + left * structure.left[1],
            bool((right + left).any()),
        )

    def kernel(self, function: Kernel, slope: bool) -> Kernel:
        if not self.active:
            return function

        def tilted(z: Tensor) -> Tensor:
            line = self.slope if slope else self.intercept + self.slope * z
            return (function(z) - line) * torch.exp(self.rate * (z - (self.pos_start - self.neg_start)))

        return tilted

    def weights(self, scores: Tensor, rows: slice, sign: int) -> Tensor | float:
        if not self.active:
            return 1.0
        start = (self.pos_start if sign < 0 else self.neg_start)[rows]
        return torch.exp(sign * self.rate[rows] * (scores.double() - start))


@dataclass(frozen=True)
class _Places:
    """The cell of each score, over all segments, and its distance from the cell's middle in cells."""

    cell: Tensor
    offset: Tensor

    @classmethod
    def in_one_segment(cls, side: Side, grid: Grid, low: Tensor) -> _Places:
        """One segment a row, from the row's lowest score."""
        places = cls._empty(side)
        for rows, columns in blocks(side.scores):
            first = torch.arange(rows.start, rows.stop, device=low.device, dtype=torch.int32)[:, None] * grid.cells
            position = (side.scores[rows, columns].double() - low[rows]).mul_(1 / grid.spacing)
            places._fill(rows, columns, position, grid, first)
        return places

    @classmethod
    def _empty(cls, side: Side) -> _Places:
        return cls(torch.empty_like(side.scores, dtype=torch.int32), torch.empty_like(side.scores))

    def _fill(self, rows: slice, columns: slice, position: Tensor, grid: Grid, first: Tensor) -> None:
        cell = position.to(torch.int32).clamp_(max=grid.cells - 1)  # positions are not negative: this is their floor
        self.offset[rows, columns] = position.sub_(cell).sub_(0.5)
        self.cell[rows, columns] = cell.add_(first)


def _charges(side: Side, places: _Places, grid: Grid, tilt: _Tilt, sign: int, segments: int | None = None) -> Tensor:
    """Return the charges (segments, points) that stand for the scores."""
    segments = side.scores.shape[0] if segments is None else segments
    moments = side.scores.new_zeros((grid.order + 1, segments * grid.cells), dtype=torch.float64)
    equal = side.shares is None and not tilt.active
    if equal:
        moments[0] = torch.bincount(places.cell.flatten(), minlength=moments.shape[1])
    for rows, columns in blocks(side.scores):
        cell, offset = places.cell[rows, columns].flatten(), places.offset[rows, columns].double().flatten()
        power = offset
        if not equal:
            weight = side.share(rows, columns) * tilt.weights(side.scores[rows, columns], rows, sign)
            power = (weight * torch.ones_like(places.offset[rows, columns])).flatten()
            moments[0].index_add_(0, cell, power)
            power = power * offset
        for k in range(1, grid.order + 1):
            moments[k].index_add_(0, cell, power)
            power = power * offset if k < grid.order else power
    if equal:
        moments /= side.scores.shape[1]
    charges = side.scores.new_zeros((segments, grid.points), dtype=torch.float64)
    for point, weights in enumerate(grid.coefficients(charges).T):
        charges[:, point : point + grid.cells] += (weights @ moments).view(segments, -1)
    return charges


def _read(
    side: Side, places: _Places, grid: Grid, field: Tensor, tilt: _Tilt, sign: int, line: Tensor | float
) -> Tensor:
    """Return share * (field read at each score, plus the line's slope)."""
    windows = torch.stack([field[:, point : point + grid.cells].flatten() for point in range(grid.order + 1)])
    coefficients = grid.coefficients(field) @ windows
    gradient = torch.empty_like(side.scores)
    for rows, columns in blocks(side.scores):
        cell, offset = places.cell[rows, columns].flatten(), places.offset[rows, columns].double().flatten()
        value = coefficients[-1].index_select(0, cell)
        for k in range(grid.order - 1, -1, -1):
            value.mul_(offset).add_(coefficients[k].index_select(0, cell))
        read = value.view(rows.stop - rows.start, -1).mul_(tilt.weights(side.scores[rows, columns], rows, sign))
        read += line[rows] if isinstance(line, Tensor) else line
        gradient[rows, columns] = read.mul_(side.share(rows, columns))
    return gradient


def _interact(
    grid: Grid, slope: Kernel, value: Kernel, shift: Tensor | float, q_pos: Tensor, q_neg: Tensor
) -> tuple[Tensor, Tensor, Tensor]:
    """Return, for each segment, the value of all pairs, and the slope's sums at the points of either side.

    A pair's margin is the difference of its points plus ``shift``.
    """
    n, length = grid.points, _fast_length(2 * grid.points - 1)
    difference = torch.arange(length, device=q_pos.device, dtype=torch.float64)
    difference = torch.where(difference < n, difference, difference - length)
    difference = torch.where(difference > -n, difference, 0.0)  # what lies between both ends is not used
    margins = shift + grid.spacing * difference
    fields, potentials = torch.fft.rfft(slope(margins)), torch.fft.rfft(value(margins))
    charges_pos, charges_neg = torch.fft.rfft(q_pos, length), torch.fft.rfft(q_neg, length)
    at_pos = torch.fft.irfft(charges_neg * fields, length)[:, :n]
    at_neg = torch.fft.irfft(charges_pos * fields.conj(), length)[:, :n]
    # Parseval: no transform back. Frequencies count twice but for the first and, if the length is even, the last.
    product = (charges_pos.conj() * charges_neg * potentials).real
    ends = product[:, 0] + (product[:, -1] if length % 2 == 0 else 0.0)
    return (2 * product.sum(1) - ends) / length, at_pos, at_neg


def _fast_length(n: int) -> int:
    power = 1 << (n - 1).bit_length()
    return next(length for length in (power * 5 // 8, power * 3 // 4, power) if length >= n)


def _row_by_row(pos: Side, neg: Side, loss: Loss, structure: Analytic, width: float) -> Sums:
    """Problems whose scores span many segments, one after another."""
    parts = []
    for row in range(pos.scores.shape[0]):
        sides = pos.row(row), neg.row(row)
        exact = sparse(*sides, loss, structure)
        parts.append(_segmented(*sides, loss, structure, width) if exact is None else exact)
    value, grad_pos, grad_neg = (torch.cat(part) for part in zip(*parts, strict=True))
    return value, grad_pos, grad_neg


def _segmented(pos: Side, neg: Side, loss: Loss, structure: Analytic, width: float) -> Sums:
    """One problem: pairs in the same or in neighbouring segments through the grid, all others through the lines."""
    scores = torch.cat([pos.scores, neg.scores], 1).double()
    anchor = centre_of(pos, neg)[0, 0]  # near the bulk, so that its positions keep their digits
    number = ((scores - anchor) / width).floor()
    numbers, segment = number.unique(return_inverse=True)  # type: ignore[no-untyped-call]
    count = len(numbers)
    grid = choose(structure, width, 3 * count, scores.numel(), pos.scores.dtype)
    position = ((scores - anchor) - number * width) / grid.spacing
    n = pos.scores.shape[1]
    places = []
    for side, start in ((pos, 0), (neg, n)):
        place = _Places._empty(side)
        for rows, part in blocks(side.scores):
            at = slice(start + part.start, start + part.stop)
            place._fill(rows, part, position[rows, at], grid, (segment[rows, at] * grid.cells).to(torch.int32))
        places.append(place)
    none = anchor.reshape(1, 1) * 0
    plain = _Tilt(none, none, none, none, none, active=False)
    q_pos, q_neg = (
        _charges(side, place, grid, plain, 1, count) for side, place in zip((pos, neg), places, strict=True)
    )
    neighbours = (numbers.diff() == 1).double()[:, None]
    value, at_pos, at_neg = _near(loss, grid, width, q_pos, q_neg, neighbours)
    parts = _far(structure, pos, neg, segment[0, :n], segment[0, n:], anchor, neighbours[:, 0])
    value, at_pos, at_neg = value + parts[0], at_pos + parts[1], at_neg + parts[2]
    grad_pos = _read(pos, places[0], grid, at_pos, plain, 1, 0.0)
    grad_neg = _read(neg, places[1], grid, at_neg.neg_(), plain, 1, 0.0)
    return value.reshape(1), grad_pos, grad_neg


def _near(loss: Loss, grid: Grid, width: float, q_pos: Tensor, q_neg: Tensor, neighbours: Tensor) -> Sums:
    """The value, and the field at positives and at negatives, of pairs in the same or in neighbouring segments."""
    value = torch.zeros((), dtype=torch.float64, device=q_pos.device)
    at_pos, at_neg = torch.zeros_like(q_pos), torch.zeros_like(q_neg)
    last = len(q_pos)
    for step in (-1, 0, 1):  # the positive's segment less the negative's
        p = slice(max(step, 0), last + min(step, 0))
        q = slice(max(-step, 0), last + min(-step, 0))
        weight = neighbours if step else 1.0
        values, by_pos, by_neg = _interact(grid, loss.derivative, loss, step * width, q_pos[p], q_neg[q])
        value = value + (weight * values[:, None]).sum()
        at_pos[p] += weight * by_pos
        at_neg[q] += weight * by_neg
    return value, at_pos, at_neg


def _far(
    structure: Analytic,
    pos: Side,
    neg: Side,
    pos_segment: Tensor,
    neg_segment: Tensor,
    centre: Tensor,
    neighbours: Tensor,
) -> Sums:
    """The same of all other pairs, whose margins are so large that the kernel is a line."""
    count = len(neighbours) + 1
    totals = []
    for side, segment in ((pos, pos_segment), (neg, neg_segment)):
        share = side.all_shares()[0]
        weight = share.new_zeros(count).index_add_(0, segment, share)
        moment = share.new_zeros(count).index_add_(0, segment, share * (side.scores[0].double() - centre))
        totals.append((weight, moment))
    (s0, s1), (t0, t1) = totals

    def below(x: Tensor, links: Tensor = neighbours) -> Tensor:
        """The sum over segments below, but not next to, each."""
        total = x.cumsum(0) - x
        total[1:] -= links * x[:-1]
        return total

    def above(x: Tensor) -> Tensor:
        return below(x.flip(0), neighbours.flip(0)).flip(0)

    value = torch.zeros((), dtype=torch.float64, device=centre.device)
    for (intercept, slope), t_weight, t_moment in (
        (structure.right, below(t0), below(t1)),
        (structure.left, above(t0), above(t1)),
    ):
        value = value + (s0 * intercept * t_weight + slope * (s1 * t_weight - s0 * t_moment)).sum()
    at_pos = structure.right[1] * below(t0) + structure.left[1] * above(t0)
    at_neg = structure.right[1] * above(s0) + structure.left[1] * below(s0)
    return value, at_pos[:, None], at_neg[:, None]
