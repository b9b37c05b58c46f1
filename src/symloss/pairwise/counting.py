"""The sums over all pairs for a line plus kinks, for some hundred scores: pairs are counted by searching.

NumPy does it, whose steps take half the time of those of PyTorch.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray
from torch import Tensor

from symloss.losses import Kink, Piecewise
from symloss.pairwise.problem import Sums, dropped, sums_of_arrays

Floats = NDArray[np.float64]

_WIDE = 2.0**20  # over a wider range, in multiples of a kink's place, sums of scores lose six of sixteen digits
_CANCELED = 2.0**16  # so many times the value, squares lose five digits when they are added up


@np.errstate(over="ignore", invalid="ignore")
def counted(pos: Tensor, neg: Tensor, structure: Piecewise) -> Sums | None:
    """Return the sums for scores (n,) and (m,) of equal weight on a CPU, or None where they would lose digits.

    Each pair at which a corner or a step is active counts twice, and one exactly there counts once. Slopes are added up
    before they are multiplied by a score, so that no large products cancel.
    """
    s, t = pos.detach().numpy(), neg.detach().numpy()
    n, m, dtype = len(s), len(t), s.dtype
    s, t = s.astype(np.float64), t.astype(np.float64)
    if not (n and m):
        return None
    s_sorted, t_sorted = np.sort(s), np.sort(t)
    ends = s_sorted.item(0), t_sorted.item(0), s_sorted.item(-1), t_sorted.item(-1)  # NaN is sorted to the end
    widest = _WIDE * max(1.0, *(abs(kink.where) for kink in structure.kinks))
    if not (math.isfinite(sum(ends)) and max(ends) - min(ends) <= widest):
        return None
    center = 0.5 * s_sorted.item(n // 2) + 0.5 * t_sorted.item(m // 2)
    intercept, slope = (*structure.coefficients, 0.0, 0.0)[:2]
    of_pos, of_neg = np.full(n, 2.0 * m * slope), np.full(m, -2.0 * n * slope)
    total = 0.0
    for kink in structure.kinks:
        if kink.power < 2:
            active = 2 * m - _twice_below(t_sorted, s, -kink.where)
            total += kink.weight * kink.where**kink.power * float(active.sum())
        if kink.power == 1:
            of_pos -= kink.weight * active
            of_neg += kink.weight * _twice_below(s_sorted, t, kink.where)
    s, t = s - center, t - center
    total += float(of_pos @ s + of_neg @ t)
    for kink in structure.kinks:
        if kink.power == 2:
            by_pos, by_neg = _squares(kink, s, t, s_sorted - center, t_sorted - center)
            total += 0.5 * float(by_pos @ (s - kink.where) + by_neg @ t)
            of_pos, of_neg = of_pos + by_pos, of_neg + by_neg
            if abs(kink.weight) * (max(ends) - min(ends)) ** 2 * 2 * n * m > _CANCELED * abs(total):
                return None
    of_pos /= 2 * n * m
    of_neg /= 2 * n * m
    return sums_of_arrays(intercept + total / (2 * n * m), of_pos, of_neg, dtype)


def _squares(kink: Kink, s: Floats, t: Floats, s_sorted: Floats, t_sorted: Floats) -> tuple[Floats, Floats]:
    """Return twice the sums of the slopes of a jump in curvature, for each s and each t; ties add nothing."""
    u, u_sorted = s - kink.where, s_sorted - kink.where
    above, below = t_sorted.searchsorted(u), u_sorted.searchsorted(t)
    # From the end where the active part begins: a difference of two sums would lose digits under an outlier.
    of_t = np.append(t_sorted[::-1].cumsum()[::-1], 0.0)
    of_u = np.append(0.0, u_sorted.cumsum())
    weight = 4 * kink.weight
    return weight * ((len(t) - above) * u - of_t[above]), weight * (below * t - of_u[below])


def _twice_below(in_order: Floats, scores: Floats, shift: float) -> NDArray[np.intp]:
    """Return twice the number of scores in order that are below score + shift; one that is equal counts one half."""
    x = scores + shift
    below, up_to = in_order.searchsorted(x), in_order.searchsorted(x, "right")
    if shift:
        rest = dropped(scores, x, -shift)
        if rest.any():
            below, up_to = np.where(rest > 0, up_to, below), np.where(rest < 0, below, up_to)
    return below + up_to
