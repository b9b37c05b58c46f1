"""The sums over all pairs for smooth losses, where some hundred scores lie in a short range: Chebyshev polynomials.

With both scores scaled to [-1, 1], a loss of their difference is a sum of A[j, k] T_j(x) T_k(y) up to rounding. The
mean of T_k over a class turns the pairs into a few products. A depends on the loss and on the range only, and is kept.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor

from symloss.losses import Analytic, Loss
from symloss.pairwise.problem import Sums
from symloss.pairwise.remembering import remembered

_REST = {torch.float32: 1e-12, torch.float64: 1e-18}  # terms are added until they are smaller, compared with the first
_MOST_TERMS, _MOST_NUMBERS = 160, 150_000  # more numbers take longer than the grid
_PAIRS_A_CALL, _PAIRS_A_NUMBER = 5000, 1.2  # computing that many pairs takes as long
_STEPS = 4  # sizes of the range to the factor of two, for which A is kept
_LEAST = 1e-3  # a smaller value, compared with the largest of the loss in the range, would lose digits
_LEAST_ROW = 1e-6  # a row of slopes below this part of the steepest slope would lose digits


class _Terms(NamedTuple):
    """A for the values and for the slopes, the numbers 0, 1, ... of the polynomials, and the largest value.

    Rows of gradients below ``least_row`` lose digits; it is 0 where none can be so small.
    """

    values: Tensor
    slopes: Tensor
    numbers: Tensor
    largest: float
    least_row: float


def by_expansion(pos: Tensor, neg: Tensor, loss: Loss, structure: Analytic) -> Sums | None:
    """Return the sums for scores (n,) and (m,) of equal weight on a CPU, or None where they are not precise or slow."""
    if len(pos) + len(neg) > _MOST_NUMBERS // 8:
        return None
    both = torch.cat([pos, neg]).double()
    low, high = (end.item() for end in both.aminmax())
    half = 0.5 * (high - low)
    if not 0 < half < structure.pole_distance * _MOST_TERMS:
        return None
    n, m = len(pos), len(neg)
    size = math.ceil(_STEPS * math.log2(half * (1 + 1e-9)))
    count = _count(2.0 ** (size / _STEPS) / structure.pole_distance, _REST[torch.promote_types(pos.dtype, neg.dtype)])
    numbers = (n + m) * count
    if count > _MOST_TERMS or numbers > _MOST_NUMBERS or _PAIRS_A_CALL + _PAIRS_A_NUMBER * numbers > n * m:
        return None
    terms = _expanded(loss, size, count)
    scaled = both.sub_(0.5 * (low + high)).mul_(2.0 ** (-size / _STEPS))
    polynomials = torch.outer(scaled.acos_(), terms.numbers).cos_()
    at_pos, at_neg = polynomials[:n], polynomials[n:]
    of_pos, of_neg = at_pos.sum(0), at_neg.sum(0)
    value = torch.dot(of_pos, torch.mv(terms.values, of_neg)).item() / (n * m)
    if not abs(value) > _LEAST * terms.largest:
        return None
    by_pos = torch.addmv(of_neg, terms.slopes, of_neg, beta=0, alpha=1 / (n * m))
    by_neg = torch.addmv(of_pos, terms.slopes.t(), of_pos, beta=0, alpha=-1 / (n * m))
    grad_pos, grad_neg = torch.mv(at_pos, by_pos), torch.mv(at_neg, by_neg)
    least = terms.least_row
    if least and (np.abs(grad_pos.numpy()).min() * n < least or np.abs(grad_neg.numpy()).min() * m < least):
        return None
    return both.new_full((), value), grad_pos, grad_neg


def _count(width: float, rest: float) -> int:
    """Return the number of terms, for half the range in pole distances: the largest ellipse up to the pole says it."""
    return math.ceil(-math.log(rest) / math.asinh(1 / width))


@remembered
def _expanded(loss: Loss, size: int, count: int) -> _Terms:
    """Return the terms for scores in a range of 2 * 2 ** (size / _STEPS)."""
    numbers = torch.arange(count, dtype=torch.float64, device="cpu")
    angles = (numbers + 0.5) * (math.pi / count)
    x = angles.cos() * 2.0 ** (size / _STEPS)
    transform = torch.outer(numbers, angles).cos() * (2.0 / count)
    transform[0] *= 0.5
    values, slopes = loss.value_and_slope(x[:, None] - x)
    flattest, steepest = (float(end) for end in slopes.abs().aminmax())
    least_row = _LEAST_ROW * steepest if flattest < _LEAST_ROW * steepest else 0.0
    of_values, of_slopes = (transform @ part @ transform.T for part in (values, slopes))
    return _Terms(of_values, of_slopes, numbers, float(values.abs().max()), least_row)
