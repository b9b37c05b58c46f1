"""Losses as numbers that a kernel can read: the pieces of a polynomial, an exponential, or a named formula."""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import pairwise
from typing import NamedTuple

import torch
from torch import Tensor

from symloss.losses import ExponentialDecay, Logistic, Loss, Piecewise, Savage, Sigmoid, Structure
from symloss.pairwise.bounds import range_of
from symloss.pairwise.remembering import remembered

_NAMED = {Sigmoid: "sigmoid", Logistic: "logistic", Savage: "savage"}


class Formula(NamedTuple):
    """A loss for the kernel of all pairs: which kind, its number of pieces, and the numbers in a table on the device.

    The kind is "pieces", "exponential", or that of a named loss. A row of the table is a piece: the margin where it
    starts, the margin from which its polynomial counts, and the coefficients of the polynomial. One number follows, the
    slope at NaN.
    """

    kind: str
    pieces: int
    table: Tensor


@remembered
def ends_of(loss: Loss, device: torch.device) -> Tensor:
    """Return the least and the largest value of a loss for kernels; infinite where they are not known."""
    return on_device(range_of(loss) or (-math.inf, math.inf), device)


def formula_of(loss: Loss, device: torch.device) -> Formula | None:
    """Return the formula of a loss, or None if kernels do not know it."""
    return _formula(loss.structure, type(loss), device)


@remembered
def _formula(structure: Structure | None, kind: type[Loss], device: torch.device) -> Formula | None:
    if isinstance(structure, ExponentialDecay):
        return Formula("exponential", 1, on_device((structure.scale, structure.rate), device))
    if isinstance(structure, Piecewise):
        rows = _pieces(structure)
        slopes = {row[3:] for row in rows}
        constant = next(iter(slopes))[0] if len(slopes) == 1 and not rows[0][4] else math.nan
        numbers = [number for row in rows for number in row] + [constant]
        return Formula("pieces", len(rows), on_device(numbers, device))
    return Formula(_NAMED[kind], 1, on_device((0.0,), device)) if kind in _NAMED else None


def on_device(numbers: Sequence[float], device: torch.device) -> Tensor:
    """Return numbers in float64 on a device."""
    return torch.tensor(numbers, dtype=torch.float64, device=device)


def _pieces(structure: Piecewise) -> list[tuple[float, float, float, float, float]]:
    """Return (start, origin, a, b, c) of every piece a + b y + c y^2, y = z - origin, from left to right.

    The origin is a kink next to the piece, so that a bounded loss is a constant far out and no large numbers cancel.
    """
    wheres = sorted({kink.where for kink in structure.kinks})
    starts = [-math.inf, *wheres]
    origins = [wheres[0] if wheres else _vertex(structure), *wheres]
    middles = [wheres[0] - 1, *(0.5 * (a + b) for a, b in pairwise(wheres)), wheres[-1] + 1] if wheres else [0.0]
    return [
        (start, origin, *_polynomial(structure, middle, origin))
        for start, origin, middle in zip(starts, origins, middles, strict=True)
    ]


def _vertex(structure: Piecewise) -> float:
    """Return where a parabola is flat, if that is near 0: from there, an infinite margin gives no NaN."""
    _, b, c = (*structure.coefficients, 0.0, 0.0, 0.0)[:3]
    return -b / (2 * c) if abs(b) <= 8 * abs(c) and c else 0.0


def _polynomial(structure: Piecewise, middle: float, origin: float) -> tuple[float, float, float]:
    """Return the coefficients around the origin of the polynomial that the structure is at the margin ``middle``."""
    a, b, c = (*structure.coefficients, 0.0, 0.0, 0.0)[:3]
    of_value, of_slope, of_square = [a, b * origin, c * origin**2], [b, 2 * c * origin], [c]
    for kink in structure.kinks:
        if middle < kink.where:
            away = kink.where - origin
            if kink.power == 0:
                of_value.append(kink.weight)
            elif kink.power == 1:
                of_value.append(kink.weight * away)
                of_slope.append(-kink.weight)
            else:
                of_value.append(kink.weight * away**2)
                of_slope.append(-2 * kink.weight * away)
                of_square.append(kink.weight)
    return math.fsum(of_value), math.fsum(of_slope), math.fsum(of_square)
