"""Sums for a line or square plus kinks from the bands between neighboring kinks: no sum is ever subtracted.

In each band the loss is one polynomial of the distance from one of its ends. So every row gets sums of numbers of one
sign, and has all its digits beside weights and scores of any size. This is slower than ranks and running sums.
"""

from __future__ import annotations

import math
from itertools import pairwise
from typing import NamedTuple

import torch
from torch import Tensor

from symloss.losses import Piecewise
from symloss.pairwise.problem import dropped
from symloss.pairwise.ranges import Ranges
from symloss.pairwise.remembering import remembered

_ROUNDING = 1e-14  # compared with its parts, a smaller number is 0


class Band(NamedTuple):
    """Margins from ``low`` to ``high``, in which a loss is value + slope * d + square * d^2.

    d is the distance from ``high`` if ``from_high``, else from ``low``: from the end at which the loss is flatter.
    """

    low: float
    high: float
    from_high: bool
    value: float
    slope: float
    square: float

    @property
    def origin(self) -> float:
        """The margin from which distances count."""
        return self.high if self.from_high else self.low


@remembered
def bands_of(structure: Piecewise) -> tuple[Band, ...]:
    """Return the bands of a structure with kinks; a band ends, too, where a slope or a line changes its sign.

    Examples
    --------
    >>> from symloss.losses import Kink
    >>> [(band.low, band.high, band.slope) for band in bands_of(Piecewise(kinks=(Kink(where=1.0),)))]
    [(-inf, 1.0, 1.0), (1.0, inf, 0.0)]
    """
    wheres = sorted({kink.where for kink in structure.kinks})
    ends = [-math.inf]
    for low, high in pairwise([-math.inf, *wheres, math.inf]):
        within = max(low, min(high, 0.0)) if math.isinf(high - low) else 0.5 * low + 0.5 * high
        value, slope, square = _parts_at(structure, within, low)
        turn = within - slope / (2 * square) if square else within - value / slope if slope else math.inf
        ends += [turn, high] if low < turn < high else [high]
    return tuple(_band(structure, low, high) for low, high in pairwise(ends))


def _band(structure: Piecewise, low: float, high: float) -> Band:
    at_low, at_high = (
        (math.inf, math.inf) if math.isinf(end) else _parts_at(structure, end, low)[1::-1] for end in (low, high)
    )
    from_high = tuple(map(abs, at_high)) < tuple(map(abs, at_low))
    value, slope, square = _parts_at(structure, high if from_high else low, low)
    return Band(low, high, from_high, value, -slope if from_high else slope, square)


def _parts_at(structure: Piecewise, z: float, low: float) -> tuple[float, float, float]:
    """Return the value, the slope and half the curvature at z of the polynomial of the band that starts at ``low``."""
    a, b, c = (*structure.coefficients, 0.0, 0.0, 0.0)[:3]
    values, slopes, squares = [a, b * z, c * z * z], [b, 2 * c * z], [c]
    for kink in structure.kinks:
        if low < kink.where:
            away = kink.where - z
            values.append(kink.weight * away**kink.power)
            slopes.append((0.0, -kink.weight, -2 * kink.weight * away)[kink.power])
            squares.append(kink.weight if kink.power == 2 else 0.0)
    return _sum(values), _sum(slopes), _sum(squares)


def _sum(parts: list[float]) -> float:
    total = math.fsum(parts)
    return total if abs(total) > _ROUNDING * max(map(abs, parts)) else 0.0


@remembered
def cancels(structure: Piecewise) -> bool:
    """Return whether slopes of opposite signs cancel where the loss is flat: then sums of them may lose digits.

    Examples
    --------
    >>> from symloss.losses import Kink
    >>> ramp, hinge = ((Kink(1.0), Kink(-1.0, -1.0)), (Kink(1.0),))
    >>> cancels(Piecewise(kinks=ramp)), cancels(Piecewise(kinks=hinge))
    (True, False)
    """
    kinks = [kink.weight for kink in structure.kinks if kink.power and kink.weight]
    _, b, c = (*structure.coefficients, 0.0, 0.0, 0.0)[:3]
    signs = {weight > 0 for weight in (*kinks, *((-b,) if b else ()), *((c,) if c else ()))}
    flat = any(band.slope == 0 for band in bands_of(structure))
    return bool(kinks) and (len(signs) > 1 or bool(c)) and flat


def by_bands(s: Tensor, t: Tensor, v: Tensor, structure: Piecewise, with_values: bool) -> tuple[Tensor, Tensor]:
    """Return, for scores s (q,) of positives, the means of values and of slopes over the negatives of one problem.

    t (m,) are the negatives in increasing order, and v are their shares; all is in float64. Values are left out, and 0,
    unless asked for. A margin exactly at a kink counts half for the band on either side.
    """
    values, slopes = torch.zeros_like(s), torch.zeros_like(s)
    found: dict[bool, Ranges] = {}
    for band in bands_of(structure):
        if not (band.slope or band.square or (with_values and band.value)):
            continue
        inner, outer = _spans(s, t, band)
        if bool((outer[0] >= outer[1]).all()):
            continue
        if band.from_high not in found:
            found[band.from_high] = Ranges.of(t, v) if band.from_high else Ranges.of(-t.flip(0), v.flip(0))
        spans = [inner] if bool((inner == outer).all()) else [inner, outer]
        for start, stop in spans:
            of_slopes, of_values = _part(s, t, found[band.from_high], band, start, stop, with_values)
            slopes.add_(of_slopes, alpha=1 / len(spans))
            values.add_(of_values, alpha=1 / len(spans))
    return values, slopes


def _spans(s: Tensor, t: Tensor, band: Band) -> tuple[Tensor, Tensor]:
    """Return the first place of the negatives in a band and that after the last, (2, q): without its ends, and with."""
    none, every = torch.zeros_like(s, dtype=torch.int64), torch.full_like(s, len(t), dtype=torch.int64)
    below, up_to = (none, none) if math.isinf(band.high) else _ranks(s, t, band.high)
    stop_below, stop_up_to = (every, every) if math.isinf(band.low) else _ranks(s, t, band.low)
    return torch.stack([up_to, torch.maximum(up_to, stop_below)]), torch.stack([below, stop_up_to])


def _ranks(s: Tensor, t: Tensor, where: float) -> tuple[Tensor, Tensor]:
    """Return how many t lie below s - where, and how many up to it; rounding of the difference does not count."""
    u = s - where
    below, up_to = torch.searchsorted(t, u), torch.searchsorted(t, u, right=True)
    rest = dropped(s, u, where)
    return torch.where(rest > 0, up_to, below), torch.where(rest < 0, below, up_to)


def _part(
    s: Tensor, t: Tensor, ranges: Ranges, band: Band, start: Tensor, stop: Tensor, with_values: bool
) -> tuple[Tensor, Tensor | float]:
    """Return the part of one band, of the negatives from ``start`` to ``stop``, in slopes and in values."""
    if band.from_high:  # margins are the highest for the first of them
        end, sign = t[start.clamp(max=len(t) - 1)], 1.0
    else:
        end, sign = t[(stop - 1).clamp(min=0)], -1.0
        start, stop = len(t) - stop, len(t) - start
    z = s - end
    gap = torch.where(stop > start, sign * ((band.origin - z) - dropped(s, z, end).nan_to_num()), 0.0).clamp_(min=0)
    degree = 2 if band.square else 1 if band.slope else 0
    share, *more = ranges.moments(start, stop, 1 + degree if with_values else max(1, degree))
    slopes, values = -sign * band.slope * share, band.value * share
    if more:
        first = more[0] + gap * share
        slopes -= sign * 2 * band.square * first
        values += band.slope * first
    if len(more) > 1:
        values += band.square * (more[1] + gap * (2 * more[0] + gap * share))
    return slopes, values if with_values else 0.0
