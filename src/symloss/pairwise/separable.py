"""Losses that fall apart into a factor for each score: a few sums over either class, in O(n + m).

They are polynomials of degree 2 (squared, unhinged) and the exponential loss.
"""

from __future__ import annotations

import math
from typing import Any, cast

import numpy as np
import torch
from torch import Tensor

from symloss.losses import ExponentialDecay, Loss, Piecewise
from symloss.pairwise.every_pair import Sums

# NumPy's arrays on a CPU, where their steps take half the time, and PyTorch's tensors on a GPU.
Array = Any


def separable(s: Tensor, t: Tensor, w: Tensor | None, v: Tensor | None, loss: Loss) -> Sums:
    """Return the sums over all pairs, as ``every_pair`` does.

    Examples
    --------
    >>> from symloss.losses import get_loss
    >>> separable(torch.tensor([1.0]), torch.tensor([0.0, 3.0]), None, None, get_loss("squared"))[0]
    tensor(9., dtype=torch.float64)
    """
    structure = cast(Piecewise | ExponentialDecay, loss.structure)
    x, y, weight, other = (None if part is None else double(as_array(part)) for part in (s, t, w, v))
    with np.errstate(all="ignore"):
        if isinstance(structure, ExponentialDecay):
            found = _exponential(x, y, weight, other, structure)
        else:
            found = _polynomial(x, y, weight, other, (*structure.coefficients, 0.0, 0.0, 0.0)[:3])
    return tuple(torch.as_tensor(part) for part in found)  # type: ignore[return-value]


def as_array(x: Tensor) -> Array:
    """Return the array that a way computes with: NumPy's on a CPU."""
    return x.numpy() if x.is_cpu else x


def double(x: Array) -> Array:
    """Return an array in float64."""
    return x.astype(np.float64, copy=False) if isinstance(x, np.ndarray) else x.double()


def concatenated(*parts: Array) -> Array:
    """Return arrays as one."""
    return np.concatenate(parts) if isinstance(parts[0], np.ndarray) else torch.cat(parts)


def turned(x: Array) -> Array:
    """Return an array in reversed order."""
    return x[::-1] if isinstance(x, np.ndarray) else x.flip(0)


def _sum(x: Array, weight: Array) -> Array:
    return (x if weight is None else weight * x).sum(-1)[..., None]


def _polynomial(s: Array, t: Array, w: Array, v: Array, coefficients: tuple[float, ...]) -> tuple[Array, Array, Array]:
    """Return the sums for a + b z + c z^2.

    With x and y for the scores less the means of their classes, and d for the difference of the means, the mean of
    l(d + x - y) is l(d) + c (mean of x^2 + mean of y^2), and the mean of l' over the pairs of x is l'(d + x).
    """
    a, b, c = coefficients
    total_w, total_v = (float(z.shape[-1]) if u is None else u.sum(-1)[..., None] for z, u in ((s, w), (t, v)))
    middle = _sum(s, w) / (total_w + (total_w == 0))  # far from 0, the difference of two means would lose digits
    x, y = s - middle, t - middle
    mean_s, mean_t = _sum(x, w) / (total_w + (total_w == 0)), _sum(y, v) / (total_v + (total_v == 0))
    x, y, d = x - mean_s, y - mean_t, mean_s - mean_t
    if c:  # around the vertex, where no large numbers cancel
        vertex = -0.5 * b / c
        value = total_w * total_v * ((a + 0.5 * b * vertex) + c * (d - vertex) ** 2)
        value = value + c * (total_v * _sum(x * x, w) + total_w * _sum(y * y, v))
        return value[..., 0], (2 * c * total_v) * (x + (d - vertex)), (2 * c * total_w) * ((d - vertex) - y)
    return (total_w * total_v * (a + b * d))[..., 0], 0 * x + b * total_v, 0 * y + b * total_w


def _exponential(s: Array, t: Array, w: Array, v: Array, structure: ExponentialDecay) -> tuple[Array, Array, Array]:
    """Factor scale exp(-rate (s - t)); each factor is at most 1, and the largest pair is taken out."""
    rate = structure.rate
    exp: Any = np.exp if isinstance(s, np.ndarray) else torch.exp
    if math.copysign(1.0, rate) > 0:
        s_end, t_end = _low(s), -_low(-t)
    else:
        s_end, t_end = -_low(-s), _low(t)
    of_s, of_t = exp(rate * (s_end - s)), exp(rate * (t - t_end))
    largest = structure.scale * exp(rate * (t_end - s_end))
    of_pos, of_neg = largest * _sum(of_t, v) * of_s, largest * _sum(of_s, w) * of_t
    return _sum(of_pos, w)[..., 0], -rate * of_pos, -rate * of_neg


def _low(x: Array) -> Array:
    return (x.min(-1) if isinstance(x, np.ndarray) else x.amin(-1))[..., None]
