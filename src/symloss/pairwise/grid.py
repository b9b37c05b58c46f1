"""A uniform grid: scores are spread onto it by local polynomials, convolved there with a kernel, and read back.

A kernel is a loss, or its derivative, as a function of the margin. It must be analytic around the real axis. If the
grid points are close together compared with the distance to its nearest pole, it is a polynomial between them, up to
rounding. The scores in each cell are summed up as moments, and the moments are turned into charges on the grid points.
A fast Fourier transform convolves the charges with the kernel. Each score then reads the result from the polynomial of
its cell.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache, lru_cache
from typing import NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from symloss.losses import Analytic

Kernel = Callable[[Tensor], Tensor]

# The largest error of a sum over pairs, relative to the largest one: well below the rounding of its precision.
_TOLERANCE = {torch.float32: 5e-8, torch.float64: 2e-13}
_DECAY = 6.4  # decay lengths in a pole distance, up to which these errors are those of every sum
# Costs in nanoseconds, to choose a grid: of a moment of a score (spread and read back), of a point (all transforms).
_PRICES = {"cpu": (2.5, 400.0), "cuda": (0.02, 0.5)}


@dataclass(frozen=True)
class Grid:
    """Segments of ``cells`` cells, each of width ``spacing`` and with its own polynomial of degree ``order``.

    The polynomial of cell a uses the points a, ..., a + order. Point i lies spacing * (i + 1/2 - order / 2) from the
    start of the segment.
    """

    order: int
    spacing: float
    cells: int

    @property
    def points(self) -> int:
        """The number of grid points of a segment."""
        return self.cells + self.order


def choose(structure: Analytic, width: float, segments: int, scores: int, like: Tensor) -> Grid:
    """Return the cheapest grid that is accurate enough, for given numbers of scores and segments of one width."""
    score_price, point_price = _PRICES.get(like.device.type, _PRICES["cpu"])
    # A steep decay needs a finer grid than the poles say: each part of it is to be accurate, and not only the largest.
    steep = structure.pole_distance * max(structure.left_rate, structure.right_rate)
    distance = structure.pole_distance * min(1.0, max(0.5, _DECAY / steep))
    best, lowest = Grid(1, distance, 1), math.inf
    for order, fraction in enumerate(_fractions(like.dtype), start=1):
        cells = max(1, math.ceil(width / (fraction * distance)))
        price = score_price * (order + 1) * scores + point_price * segments * (cells + order)
        if price < lowest:
            # A little wider, so that the highest score lies inside the last cell. For equal scores, any width will do.
            spacing = max(width / cells * (1 + 1e-9), 1e-9 * distance)
            best, lowest = Grid(order, spacing, cells), price
    return best


@cache
def _fractions(dtype: torch.dtype) -> list[float]:
    """Return, for each order from 1 on, the spacing that is accurate enough, as a fraction of the pole distance.

    The error is that of interpolating a kernel with a double pole, once for t and once for s.
    """
    fractions = []
    for order in range(1, 10):
        reach = max(abs(float(np.prod(x - _nodes(order)))) for x in (0.0, 0.25, 0.5))
        fractions.append((_TOLERANCE[dtype] / (2 * reach * (order + 2))) ** (1 / (order + 1)))
    return fractions


def _nodes(order: int) -> NDArray[np.float64]:
    return np.arange(order + 1, dtype=np.float64) - order / 2


@cache
def _coefficients(order: int, device: torch.device) -> Tensor:
    """Return a matrix that turns the values at a cell's points into the coefficients of the cell's polynomial.

    The polynomial is a function of the distance from the middle of the cell, in cell widths. Row k gives coefficient k.
    """
    return torch.from_numpy(np.linalg.inv(np.vander(_nodes(order), increasing=True))).to(device)


class Piece(NamedTuple):
    """A block of scores, given by rows and columns: the cell of each, its distance from the middle, and its weight."""

    rows: slice
    columns: slice
    cell: Tensor
    offset: Tensor
    weight: Tensor | None


class Spread:
    """Scores on the segments of a grid: their moments in each cell, and the data to read a field back at the scores."""

    def __init__(self, grid: Grid, segments: int, device: torch.device) -> None:
        self._grid, self._segments = grid, segments
        self._moments = torch.zeros((grid.order + 1, segments * grid.cells), dtype=torch.float64, device=device)
        self._pieces: list[Piece] = []

    def add(
        self, rows: slice, columns: slice, position: Tensor, first: Tensor, weight: Tensor | None, dtype: torch.dtype
    ) -> None:
        """Add scores that lie ``position`` cells into the segment that begins with cell ``first``.

        Weight None means 1. ``position`` is overwritten. Distances are kept in ``dtype`` for reading back.
        """
        floor = position.floor()
        offset = position.sub_(floor).sub_(0.5).flatten()
        cell = floor.to(torch.int64).add_(first).flatten()
        power = offset.new_ones(1).expand_as(offset) if weight is None else weight.flatten()
        for k, moment in enumerate(self._moments):
            if k:
                power = offset if k == 1 and weight is None else power * offset
            moment.scatter_add_(0, cell, power)
        if dtype == torch.float32:  # to save memory
            cell, offset = cell.to(torch.int32), offset.to(dtype)
        self._pieces.append(Piece(rows, columns, cell, offset, weight))

    def charges(self) -> Tensor:
        """Return the charges (segments, points) that stand for the scores."""
        parts = _coefficients(self._grid.order, self._moments.device).T @ self._moments
        charges = parts.new_zeros((self._segments, self._grid.points))
        for point, part in enumerate(parts):
            charges[:, point : point + self._grid.cells].add_(part.view(self._segments, -1))
        return charges

    def read(self, field: Tensor, gradient: Tensor) -> None:
        """Write weight * field at each score into the gradient; the field is given by its values (segments, points)."""
        windows = field.unfold(1, self._grid.cells, 1).transpose(0, 1).reshape(self._grid.order + 1, -1)
        coefficients = _coefficients(self._grid.order, field.device) @ windows
        for rows, columns, cell, offset, weight in self._pieces:
            x = offset.double()
            value = coefficients[-1].index_select(0, cell)
            for coefficient in reversed(coefficients[:-1]):
                value.mul_(x).add_(coefficient.index_select(0, cell))
            target = gradient[rows, columns]
            value = value.view(target.shape)
            target.copy_(value if weight is None else value.mul_(weight))


def interact(
    grid: Grid, slope: Kernel, value: Kernel, shift: Tensor | float, q_pos: Tensor, q_neg: Tensor
) -> tuple[Tensor, Tensor, Tensor]:
    """Return, for each segment, the sum of values over all pairs, and the sums of slopes at the points of either class.

    A pair's margin is the difference of its points plus ``shift``.
    """
    n, length = grid.points, _fast_length(2 * grid.points - 1)
    margins = shift + grid.spacing * _differences(n, length, q_pos.device)
    fields, potentials = torch.fft.rfft(torch.stack([slope(margins), value(margins)]))
    charges_pos, charges_neg = torch.fft.rfft(torch.stack([q_pos, q_neg]), length)
    products = torch.stack([charges_neg * fields, charges_pos * fields.conj(), charges_neg * potentials])
    at_pos, at_neg, of_pos = torch.fft.irfft(products, length)[..., :n]
    return (q_pos * of_pos).sum(1), at_pos, at_neg


@lru_cache(maxsize=16)
def _differences(points: int, length: int, device: torch.device) -> Tensor:
    """Return the difference of two grid points for each place of a circular convolution.

    The differences are 0 to points - 1, and at the end 1 - points to -1. Places between these two runs are not used.
    """
    place = np.arange(length)
    difference = np.where(place < points, place, np.maximum(place - length, 1 - points))
    return torch.from_numpy(difference.astype(np.float64)).to(device)


def _fast_length(n: int) -> int:
    power = 1 << (n - 1).bit_length()
    return next(length for length in (power * 5 // 8, power * 3 // 4, power) if length >= n)
