"""The sums over all pairs for a line plus kinks, for some hundred scores: pairs are counted by searching."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from symloss.losses import Kink, Piecewise
from symloss.pairwise.arrays import Arrays, Floats, Scores
from symloss.pairwise.problem import dropped

_WIDE = 2.0**20  # over a wider range, in multiples of a kink's place, sums of scores lose six of sixteen digits
_CANCELED = 2.0**16  # terms so many times the value lose five digits when they are added up
_SMALL_ROW = 2.0**-22  # squares so close to their end, in parts of the range, lose seven digits or more


def counted(s: Scores, t: Scores, structure: Piecewise) -> Arrays | None:
    """Return the sums for scores (n,) and (m,) of equal weight, or None where they would lose digits.

    A pair exactly at a corner or a step counts one half. Slopes are added up before they are multiplied by a score, so
    that no large products cancel.
    """
    n, m = len(s), len(t)
    if not (n and m):
        return None
    s, t = s.astype(np.float64), t.astype(np.float64)
    s_sorted, t_sorted = s.copy(), t.copy()
    s_sorted.sort()  # quicker than np.sort for so few
    t_sorted.sort()
    ends = s_sorted.item(0), t_sorted.item(0), s_sorted.item(-1), t_sorted.item(-1)  # NaN is sorted to the end
    width = max(ends) - min(ends)
    if not math.isfinite(sum(ends)) or width > _WIDE * max(1.0, *[abs(kink.where) for kink in structure.kinks]):
        return None
    total, size, of_pos, of_neg = _corners(s, t, s_sorted, t_sorted, structure, width)
    center = 0.5 * s_sorted.item(n // 2) + 0.5 * t_sorted.item(m // 2)
    s -= center
    t -= center
    if not isinstance(of_pos, float):
        total += np.dot(of_pos, s).item() + np.dot(of_neg, t).item()
    for kink in structure.kinks:
        if kink.power == 2:
            found = _squares(kink, s, t, _SMALL_ROW * width)
            if found is None:
                return None
            value, by_pos, by_neg, count = found
            total += value
            of_pos, of_neg = _added(of_pos, by_pos), _added(of_neg, by_neg)
            size += abs(kink.weight) * width**2 * count
    if isinstance(of_pos, float) or isinstance(of_neg, float):  # there are only steps
        of_pos, of_neg = np.zeros(n), np.zeros(m)
    if size > _CANCELED * abs(total):
        return None
    of_pos /= n * m
    of_neg /= n * m
    return sum(structure.coefficients[:1]) + total / (n * m), of_pos, of_neg


def _corners(
    s: Floats, t: Floats, s_sorted: Floats, t_sorted: Floats, structure: Piecewise, width: float
) -> tuple[float, float, Floats | float, Floats | float]:
    """Return the part of the sum without scores, the size of all terms, and the slopes of the line and the corners.

    Slopes are zero, and not arrays, if there is neither a line nor a corner.
    """
    n, m, slope = len(s), len(t), float(sum(structure.coefficients[1:2]))
    of_pos: Floats | float = np.full(n, m * slope) if slope else 0.0
    of_neg: Floats | float = np.full(m, -n * slope) if slope else 0.0
    total, size = 0.0, n * m * abs(slope) * width
    for kink in structure.kinks:
        if kink.power < 2:
            active_s, active_t, count = _active(s, t, s_sorted, t_sorted, kink.where)
            total += kink.weight * kink.where**kink.power * count
        if kink.power == 1:
            of_pos = _added(of_pos, -float(kink.weight) * active_s)
            of_neg = _added(of_neg, float(kink.weight) * active_t)
            size += abs(kink.weight) * (width + abs(kink.where)) * count
    return total, size, of_pos, of_neg


def _added(slopes: Floats | float, part: Floats) -> Floats:
    return part if isinstance(slopes, float) else slopes + part


def _active(
    s: Floats, t: Floats, s_sorted: Floats, t_sorted: Floats, where: float
) -> tuple[NDArray[Any], NDArray[Any], float]:
    """Return how many pairs of each s, and of each t, have a margin below ``where``, and their number.

    Rounding and ties add to the first search and take from the second. So if the numbers agree, there were none.
    """
    of_s, of_t = len(t) - t_sorted.searchsorted(s - where), s_sorted.searchsorted(t + where)
    count = np.add.reduce(of_t).item()
    if np.add.reduce(of_s).item() == count:
        return of_s, of_t, count
    halves, others = len(t) - 0.5 * _twice_below(t_sorted, s, -where), 0.5 * _twice_below(s_sorted, t, where)
    return halves, others, others.sum().item()


def _squares(kink: Kink, s: Floats, t: Floats, least: float) -> tuple[float, Floats, Floats, float] | None:
    """Return the sum of a jump in curvature, the sums of its slopes for each s and t, and the number of active pairs.

    Ties add nothing, and are not counted. None is returned if the active pairs of a score are closer than ``least`` to
    the kink on average: their sums would lose digits.
    """
    n, m = len(s), len(t)
    u = s - kink.where
    u_sorted, t_sorted = u.copy(), t.copy()
    u_sorted.sort()
    t_sorted.sort()
    active_u, active_t = m - t_sorted.searchsorted(u, "right"), u_sorted.searchsorted(t)
    # From the end where the active part begins: a difference of two sums would lose digits under an outlier.
    of_t, of_u = np.zeros(m + 1), np.zeros(n + 1)
    np.add.accumulate(t_sorted[::-1], out=of_t[-2::-1])
    np.add.accumulate(u_sorted, out=of_u[1:])
    beyond_u, beyond_t = of_t[m - active_u] - active_u * u, active_t * t - of_u[active_t]
    if np.count_nonzero(beyond_u < least * active_u) or np.count_nonzero(beyond_t < least * active_t):
        return None
    weight = 2.0 * kink.weight
    by_pos, by_neg = -weight * beyond_u, weight * beyond_t
    return 0.5 * (by_pos.dot(u) + by_neg.dot(t)).item(), by_pos, by_neg, np.add.reduce(active_t).item()


def _twice_below(in_order: Floats, scores: Floats, shift: float) -> NDArray[np.intp]:
    """Return twice the number of scores in order that are below score + shift; one that is equal counts one half."""
    x = scores + shift
    below, up_to = in_order.searchsorted(x), in_order.searchsorted(x, "right")
    if shift:
        rest = dropped(scores, x, -shift)
        if rest.any():
            below, up_to = np.where(rest > 0, up_to, below), np.where(rest < 0, below, up_to)
    return below + up_to
