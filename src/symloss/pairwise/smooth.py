"""Smooth losses that approach a line on either side: a grid for close pairs, and the lines for all others.

A loss that is analytic around the real axis is a polynomial between the points of a fine enough grid, up to rounding.
So a score is replaced by charges on the points around it, the charges of both classes interact as few scores would, and
each score reads its slope from the points around it. Sums over the points have terms of one size only, so the slopes of
separated classes keep their digits.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from functools import cache, lru_cache
from itertools import starmap
from typing import NamedTuple, cast

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from symloss.losses import Analytic, Loss
from symloss.pairwise.every_pair import Sums, every_pair
from symloss.pairwise.separable import Array, as_array, concatenated, double, turned

_TOLERANCE = 1e-13  # of a sum, relative to the steepest slope
_DECAY = 6.4  # decay lengths in a pole distance, up to which the pole sets the spacing; beyond, it is finer
_SATURATION = 60.0  # decay lengths, after which the loss is its line: exp(-60) is 1e-26
_SEGMENT = 64.0  # decay lengths of one class in a grid, where the scores span more than some saturations
_FEW_PAIRS = 1 << 16  # of a segment: up to so many, every pair is computed
_BLOCK = 1 << 14  # scores at a time, so that what belongs to them stays in the cache
# Nanoseconds, to choose a grid: for a score and a point of its polynomial, and for a pair of points.
_PRICES = {"cpu": (1.2, 0.3), "cuda": (0.05, 0.002)}
_STEP = 3000  # scores: for fewer, a step takes longer than its arithmetic


def smooth(s: Tensor, t: Tensor, w: Tensor | None, v: Tensor | None, loss: Loss) -> Sums:
    """Return the sums over all pairs of s (n,) and t (m,), as ``every_pair`` does; NaN if a score is not finite.

    Examples
    --------
    >>> from symloss.losses import get_loss
    >>> smooth(torch.tensor([1.0]), torch.tensor([0.0, 3.0]), None, None, get_loss("sigmoid"))[0]
    tensor(1.1497, dtype=torch.float64)
    """
    structure = cast(Analytic, loss.structure)
    ends = [float(end) for x in map(as_array, (s, t)) for end in (x.min(), x.max())]
    widths = ends[1] - ends[0], ends[3] - ends[2]
    if not math.isfinite(sum(widths)):
        sizes = (s.shape[:0], s.shape, t.shape)
        return tuple(s.new_full(size, math.nan, dtype=torch.float64) for size in sizes)  # type: ignore[return-value]
    if max(widths) * min(structure.left_rate, structure.right_rate) <= 4 * _SATURATION:
        return _on_a_grid(s, t, w, v, loss, ends)
    return _segmented(s.double(), t.double(), w, v, loss)


def _on_a_grid(s: Tensor, t: Tensor, w: Tensor | None, v: Tensor | None, loss: Loss, ends: Sequence[float]) -> Sums:
    """Return the sums for scores between these ends: lowest and highest positive, lowest and highest negative."""
    (n,), (m,), (s_low, s_high, t_low, t_high) = s.shape, t.shape, ends
    grid = _choose(cast(Analytic, loss.structure), s_high - s_low, t_high - t_low, n + m, s.device.type)
    places = concatenated(double(as_array(s)), double(as_array(t)))
    places[:n] -= s_low
    places[n:] -= t_low
    places *= 1 / grid.spacing
    spread = _Spread(grid, places, n)
    charges = spread.charges(None if w is None and v is None else as_array(torch.cat([_weight(w, s), _weight(v, t)])))
    of_pos, of_neg = charges[: grid.pos_points], turned(charges[grid.pos_points :])
    # At the differences of all points, from that of the lowest positive and the highest negative one.
    points = torch.arange(1 - grid.neg_points, grid.pos_points, dtype=torch.float64, device=s.device)
    values, slopes = map(as_array, loss.value_and_slope(points.mul_(grid.spacing).add_(s_low - t_low)))
    value = of_pos @ _correlated(values, of_neg)
    found = spread.read(concatenated(_correlated(slopes, of_neg), turned(_correlated(slopes, of_pos))))
    return torch.as_tensor(value), torch.as_tensor(found[:n]), torch.as_tensor(found[n:])


def _weight(weight: Tensor | None, scores: Tensor) -> Tensor:
    return torch.ones_like(scores, dtype=torch.float64) if weight is None else weight


def _correlated(kernel: Array, charges: Array) -> Array:
    """Return the sum over i of charges[i] kernel[i + j] for each j: with few points, faster than by Fourier transforms.

    Unlike these, it leaves small sums their digits.
    """
    if isinstance(kernel, np.ndarray):
        return np.correlate(kernel, charges, "valid")
    return kernel.unfold(0, len(charges), 1) @ charges


class _Grid(NamedTuple):
    """Points at equal distances, and how many of them the positives and the negatives use.

    Between two of the points lies a cell, or around each if ``order`` is even. In cell a holds a polynomial of this
    degree, given by the points a, ..., a + order.
    """

    order: int
    spacing: float
    pos_points: int
    neg_points: int


def _choose(structure: Analytic, pos_width: float, neg_width: float, scores: int, device: str) -> _Grid:
    """Return the cheapest grid that is fine enough."""
    score_price, pair_price = _PRICES.get(device, _PRICES["cpu"])
    steep = structure.pole_distance * max(structure.left_rate, structure.right_rate)
    widest = structure.pole_distance * min(1.0, max(0.5, _DECAY / steep))

    def grid(order: int, fraction: float) -> _Grid:
        # Widths are multiplied as the scores are, so that the highest one lies in the last cell.
        points = (int(width * (1 / (fraction * widest))) + 1 + order for width in (pos_width, neg_width))
        return _Grid(order, fraction * widest, *points)

    def price(grid: _Grid) -> float:
        return score_price * (scores + _STEP) * (grid.order + 1) + pair_price * grid.pos_points * grid.neg_points

    return min(starmap(grid, _fractions()), key=price)


@cache
def _fractions() -> list[tuple[int, float]]:
    """Return some orders, and the spacing that is fine enough for each, as a fraction of the pole distance.

    The error is that of interpolating a kernel with a double pole, once for t and once for s.
    """
    found = []
    for order in range(4, 13, 2):
        reach = max(abs(float(np.prod(x - _nodes(order)))) for x in (0.0, 0.25, 0.5))
        found.append((order, (_TOLERANCE / (2 * reach * (order + 2))) ** (1 / (order + 1))))
    return found


def _nodes(order: int) -> NDArray[np.float64]:
    return np.arange(order + 1, dtype=np.float64) - order / 2


@lru_cache(maxsize=32)
def _stencil(order: int) -> NDArray[np.float64]:
    """Return the coefficients of the polynomials that are 1 at one point of a cell."""
    nodes = _nodes(order)
    rows = []
    for j in range(order + 1):
        others = np.delete(nodes, j)
        rows.append(np.poly(others)[::-1] / np.prod(nodes[j] - others))
    return np.array(rows)


class _Spread:
    """Scores, given by their places on the grid of their class, as charges on the points of the grid.

    The scores in a cell are summed up as moments, and these are turned into charges. A score reads a field from the
    polynomial of its cell.
    """

    def __init__(self, grid: _Grid, places: Array, positives: int) -> None:
        self._places, self._positives, self._pos_points = places, positives, grid.pos_points
        self._size = grid.pos_points + grid.neg_points
        # The points of each cell, those of the negatives after those of the positives; no score is in cells of both.
        steps = np.arange(grid.order + 1)[:, None]
        first = np.arange(self._size - grid.order)
        self._matrix: Array = _stencil(grid.order)
        self._points: Array = first + steps
        if not isinstance(places, np.ndarray):
            self._matrix, self._points = (torch.from_numpy(x).to(places.device) for x in (self._matrix, self._points))
        step = _BLOCK if isinstance(places, np.ndarray) else len(places)
        self._blocks = [slice(start, start + step) for start in range(0, len(places), step)]

    def charges(self, weight: Array) -> Array:
        """Return the charges on the points of the positives, and then of the negatives."""
        moments = _zeros(self._points.shape, self._places)
        for block in self._blocks:
            cell, offset = self._cells(block)
            power = 0 * offset + 1 if weight is None else 1 * weight[block]
            for moment in moments:
                _add_at(moment, cell, power)
                power *= offset
        charges = _zeros((self._size,), self._places)
        _add_at(charges, self._points.ravel(), (self._matrix @ moments).ravel())
        return charges

    def read(self, field: Array) -> Array:
        """Return the field at the scores, from its values at the points; it takes the place of the places."""
        coefficients = self._matrix.T @ field.take(self._points)
        for block in self._blocks:
            cell, offset = self._cells(block)
            value = coefficients[-1].take(cell)
            for k in range(len(coefficients) - 2, -1, -1):
                value *= offset
                value += coefficients[k].take(cell)
            self._places[block] = value
        return self._places

    def _cells(self, block: slice) -> tuple[Array, Array]:
        """Return the cell of each score, those of the negatives after those of the positives, and its place there."""
        places = self._places[block]
        cell = places.astype(np.int64) if isinstance(places, np.ndarray) else places.long()
        offset = places - cell
        offset -= 0.5
        cell[max(0, self._positives - block.start) :] += self._pos_points
        return cell, offset


def _zeros(shape: tuple[int, ...], like: Array) -> Array:
    return np.zeros(shape) if isinstance(like, np.ndarray) else like.new_zeros(shape)


def _add_at(sums: Array, places: Array, terms: Array) -> None:
    """Add each term to the sum at its place."""
    if isinstance(sums, np.ndarray):
        np.add.at(sums, places, terms)
    else:
        sums.scatter_add_(0, places, terms)


def _segmented(s: Tensor, t: Tensor, w: Tensor | None, v: Tensor | None, loss: Loss) -> Sums:
    """Return the sums for scores that span a long range: the positives by segments, each with the negatives in reach.

    All other negatives are so far from a segment that the loss is a line.
    """
    structure = cast(Analytic, loss.structure)
    length = 1 / min(structure.left_rate, structure.right_rate)
    pos_order, neg_order = s.argsort(), t.argsort()
    w, v = _weight(w, s)[pos_order], _weight(v, t)[neg_order]
    s, t = s[pos_order], t[neg_order]
    middle = t[len(t) // 2]
    x, y = s - middle, t - middle
    weight_below, moment_below = (torch.cat([z.new_zeros(1), z.cumsum(0)]) for z in (v, v * y))
    (right, right_slope), (left, left_slope) = structure.right, structure.left
    value, of_pos, of_neg = s.new_zeros(()), torch.zeros_like(s), torch.zeros_like(t)
    from_right, from_left = s.new_zeros(len(t) + 1), s.new_zeros(len(t) + 1)
    for part, near in _segments(s.cpu().numpy(), t.cpu().numpy(), length):
        own = w[part]
        weight, moment = own.sum(), own @ x[part]
        below, above = weight_below[near.start], weight_below[-1] - weight_below[near.stop]
        m_below, m_above = moment_below[near.start], moment_below[-1] - moment_below[near.stop]
        value += right * weight * below + right_slope * (moment * below - weight * m_below)
        value += left * weight * above + left_slope * (moment * above - weight * m_above)
        of_pos[part] += right_slope * below + left_slope * above
        from_right[near.start] += weight
        from_left[near.stop] += weight
        if near.start < near.stop:
            inputs = s[part], t[near], own, v[near], loss
            if (part.stop - part.start) * (near.stop - near.start) <= _FEW_PAIRS:
                sums = every_pair(*inputs)
            else:
                ends = torch.stack([s[part][0], s[part][-1], t[near][0], t[near][-1]]).tolist()
                sums = _on_a_grid(*inputs, ends)
            value += sums[0]
            of_pos[part] += sums[1]
            of_neg[near] += sums[2]
    # The pairs of a negative with the segments whose reach begins above it, and with those whose reach ends below it.
    of_neg += right_slope * from_right.flip(0).cumsum(0).flip(0)[1:] + left_slope * from_left.cumsum(0)[:-1]
    back_pos, back_neg = torch.empty_like(s), torch.empty_like(t)
    back_pos[pos_order], back_neg[neg_order] = of_pos, of_neg
    return value, back_pos, back_neg


def _segments(s: NDArray[np.float64], t: NDArray[np.float64], length: float) -> Iterator[tuple[slice, slice]]:
    """Cut sorted positives into segments, each with the negatives in reach: longer segments where scores are sparse."""
    places = t.searchsorted(s)
    nearest = min(np.abs(s - t.take(places - k, mode="clip")).min() for k in (0, 1))
    # The pairs that are left out must be small beside the nearest one, too.
    reach = _SATURATION * length + min(float(nearest), 700 * length)

    def near(start: int, stop: int) -> slice:
        return slice(int(t.searchsorted(s[start] - reach)), int(t.searchsorted(s[stop - 1] + reach, "right")))

    start = 0
    while start < len(s):
        stop = min(start + 256, len(s))
        others = near(start, stop)
        if (stop - start) * (others.stop - others.start) > _FEW_PAIRS:
            stop = int(s.searchsorted(s[start] + _SEGMENT * length, "right"))
            others = near(start, stop)
        yield slice(start, stop), others
        start = stop
