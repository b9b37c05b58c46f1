"""Which rows of a gradient lost digits in running sums, and the same rows from bands, where they have all of them.

A row is the sum of slopes over the other class. Where the loss is flat, slopes cancel, and leave the rounding of all
that was added up. That matters for rows which are small compared with it: beside a weight that is far larger than all
others, and for squares close to their ends.
"""

from __future__ import annotations

from typing import NamedTuple

import torch
from torch import Tensor

from symloss.losses import Piecewise
from symloss.pairwise.bands import bands_of, by_bands
from symloss.pairwise.intervals import Sorted
from symloss.pairwise.problem import Side, Sums
from symloss.pairwise.remembering import remembered

# Rows below this part of what was added up may lose more than rounding, or eight of sixteen digits.
_SMALL = {torch.float32: 2.0**-25, torch.float64: 2.0**-19}
_ALL_LOST = 2.0**-50  # a share below this part of the class can be lost altogether


def with_lost_digits(sums: Sums, pos: Side, neg: Side, structure: Piecewise) -> Sums:
    """Return sums from running sums, with the rows of the gradients that may have lost digits computed from bands."""
    value, *gradients = sums
    for gradient, own, other, sign in zip(gradients, (pos, neg), (neg, pos), (1.0, -1.0), strict=True):
        lost = _lost(gradient, own, other, structure)
        if lost is None:
            continue
        for row in lost.any(1).nonzero()[:, 0].tolist():
            places = lost[row].nonzero()[:, 0]
            slopes = _rows(own, other, row, places, sign, structure, with_values=False)[1]
            gradient[row, places] = (sign * own.all_shares()[row, places] * slopes).to(gradient.dtype)
    return value, gradients[0], gradients[1]


def from_bands(pos: Side, neg: Side, structure: Piecewise) -> Sums:
    """Return the sums of finite scores with all rows from bands."""
    value = pos.scores.new_zeros(pos.scores.shape[0], dtype=torch.float64)
    gradients = []
    for own, other, sign in ((pos, neg, 1.0), (neg, pos, -1.0)):
        gradient, shares = torch.empty_like(own.scores), own.all_shares()
        for row in range(len(value)):
            values, slopes = _rows(own, other, row, slice(None), sign, structure, with_values=sign > 0)
            gradient[row] = sign * shares[row] * slopes
            if sign > 0:
                value[row] = (shares[row] * values).sum()
        gradients.append(gradient)
    return value, gradients[0], gradients[1]


def _rows(
    own: Side, other: Side, row: int, places: slice | Tensor, sign: float, structure: Piecewise, with_values: bool
) -> tuple[Tensor, Tensor]:
    """Return the means of values and of slopes for some scores of a problem; a margin is s - t, and -t - (-s)."""
    in_order, order = (sign * other.scores[row].double()).sort()
    shares = None if other.shares is None else other.shares[row, order][None]
    return by_bands(sign * own.scores[row, places].double(), Sorted(in_order[None], shares), structure, with_values)


class _Sizes(NamedTuple):
    """What is added up for a row: slopes, and slopes for each unit of distance; and the least slope but zero.

    ``exact`` says whether equal counts cancel exactly: for two corners and nothing else.
    """

    slopes: float
    squares: float
    least: float
    exact: bool


@remembered
def _sizes(structure: Piecewise) -> _Sizes:
    _, b, c = (*structure.coefficients, 0.0, 0.0, 0.0)[:3]
    corners, squares = ([abs(kink.weight) for kink in structure.kinks if kink.power == power] for power in (1, 2))
    least = min((abs(band.slope) for band in bands_of(structure) if band.slope), default=0.0)
    exact = not (squares or b or c) and len(corners) == 2
    return _Sizes(abs(b) + sum(corners), 2 * (abs(c) + sum(squares)), least, exact)


def _lost(gradient: Tensor, own: Side, other: Side, structure: Piecewise) -> Tensor | None:
    """Return which rows may have lost digits, or None if no row has."""
    sizes, part = _sizes(structure), _SMALL[gradient.dtype]
    lightest = 0.0
    if sizes.exact:
        if other.shares is None:
            return None
        lightest = float(torch.where(other.shares > 0, other.shares, 1.0).min())
        if lightest * sizes.least >= part * sizes.slopes:
            return None
    added_up: Tensor | float = sizes.slopes
    if sizes.squares:
        ends = torch.cat([own.ends, other.ends], 1)
        added_up = sizes.slopes + sizes.squares * (ends.amax(1, keepdim=True) - ends.amin(1, keepdim=True))
    lost = gradient.abs() < (part * added_up) * own.share(slice(None), slice(None))
    if lightest > _ALL_LOST:
        lost &= gradient != 0
    return lost if bool(lost.any()) else None
