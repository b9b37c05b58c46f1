"""The sums over all pairs for a line plus corners and steps, for some hundred scores: pairs are counted by searching.

NumPy does it, whose steps take half the time of those of PyTorch.
"""

from __future__ import annotations

import math

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from symloss.losses import Piecewise
from symloss.pairwise.problem import Sums, dropped

Floats = NDArray[np.float64]

_WIDE = 2.0**20  # over a wider range, in multiples of a kink's place, sums of scores lose six of sixteen digits


def counted(pos: Tensor, neg: Tensor, structure: Piecewise) -> Sums | None:
    """Return the sums for scores (n,) and (m,) of equal weight on a CPU, or None if these are too far apart for it.

    Each pair at which a corner or a step is active counts twice, and one exactly there counts once. Slopes are added up
    before they are multiplied by a score, so that no large products cancel.
    """
    s, t = pos.detach().numpy().astype(np.float64), neg.detach().numpy().astype(np.float64)
    n, m = len(s), len(t)
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
    value = 0.0
    for kink in structure.kinks:
        active = 2 * m - _twice_below(t_sorted, s, -kink.where)
        value += kink.weight * kink.where**kink.power * float(active.sum())
        if kink.power:
            of_pos -= kink.weight * active
            of_neg += kink.weight * _twice_below(s_sorted, t, kink.where)
    of_pos /= 2 * n * m
    of_neg /= 2 * n * m
    value = intercept + value / (2 * n * m) + float(of_pos @ (s - center) + of_neg @ (t - center))
    return torch.tensor(value, dtype=torch.float64, device="cpu"), torch.from_numpy(of_pos), torch.from_numpy(of_neg)


def _twice_below(in_order: Floats, scores: Floats, shift: float) -> NDArray[np.intp]:
    """Return twice the number of scores in order that are below score + shift; one that is equal counts one half."""
    x = scores + shift
    below, up_to = in_order.searchsorted(x), in_order.searchsorted(x, "right")
    if shift:
        rest = dropped(scores, x, -shift)
        if rest.any():
            below, up_to = np.where(rest > 0, up_to, below), np.where(rest < 0, below, up_to)
    return below + up_to
