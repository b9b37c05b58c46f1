"""Which rows of a gradient lost digits in running sums, and the same rows from bands, where they have all of them.

A row is the sum of slopes over the other class. Where the loss is flat, slopes cancel, and leave the rounding of all
that was added up. That matters for rows which are small compared with it: beside a weight that is far larger than all
others, and for squares close to their ends.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import torch
from torch import Tensor

from symloss.losses import Piecewise
from symloss.pairwise.bands import bands_of, by_bands, cancels
from symloss.pairwise.intervals import Sorted
from symloss.pairwise.problem import Side, Sums
from symloss.pairwise.remembering import remembered

# Rounding of k numbers adds up to some sqrt(k) units; rows below sqrt(k) of these lose 1e-6 of themselves, or 1e-8.
_SMALL = {torch.float32: 2.0**-33, torch.float64: 2.0**-26}
_FEW = 16  # scores of equal shares make a small row, not more, where slopes cancel
_ALL_LOST = 2.0**-50  # a share below this part of the class can be lost altogether


def with_lost_digits(
    sums: Sums, pos: Side, neg: Side, structure: Piecewise, others: tuple[Sorted | None, Sorted | None]
) -> Sums:
    """Return sums from running sums, with the rows of the gradients that may have lost digits computed from bands.

    ``others`` are the negatives and the positives in order, if they are at hand.
    """
    value, *gradients = sums
    size = added_up(structure, torch.cat([pos.ends, neg.ends], 1) if has_squares(structure) else value)
    sides = zip(gradients, (pos, neg), (neg, pos), (1.0, -1.0), others, strict=True)
    for gradient, own, other, sign, in_order in sides:
        lost = _lost(gradient, own, other, structure, size, sign, in_order)
        if lost is None:
            continue
        for row in lost.any(1).nonzero()[:, 0].tolist():
            places = lost[row].nonzero()[:, 0]
            # A margin is s - t, and also -t - (-s).
            some = sign * own.scores[row, places].double()
            at_hand = other.in_order(row, sign) if in_order is None else in_order.of_one(row, sign)
            slopes = by_bands(some, *at_hand, structure, with_values=False)[1]
            gradient[row, places] = (sign * own.all_shares()[row, places] * slopes).to(gradient.dtype)
    return value, gradients[0], gradients[1]


def from_bands(pos: Side, neg: Side, structure: Piecewise) -> Sums:
    """Return the sums of finite scores with all rows from bands."""
    value = pos.scores.new_zeros(pos.scores.shape[0], dtype=torch.float64)
    gradients = []
    for own, other, sign in ((pos, neg, 1.0), (neg, pos, -1.0)):
        gradient, shares = torch.empty_like(own.scores), own.all_shares()
        for row in range(len(value)):
            scores, in_order = sign * own.scores[row].double(), other.in_order(row, sign)
            values, slopes = by_bands(scores, *in_order, structure, with_values=sign > 0)
            gradient[row] = sign * shares[row] * slopes
            if sign > 0:
                value[row] = (shares[row] * values).sum()
        gradients.append(gradient)
    return value, gradients[0], gradients[1]


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


def has_squares(structure: Piecewise) -> bool:
    """Return whether there are squares, so that the size of what is added up depends on the ends of the classes."""
    return _sizes(structure).squares > 0


def added_up(structure: Piecewise, ends: Tensor) -> Tensor | float:
    """Return the size of what is added up for a row of each problem.

    It follows from the ends (..., 4) of both classes; without squares, these are not read.
    """
    sizes = _sizes(structure)
    if not sizes.squares:
        return sizes.slopes
    return sizes.slopes + sizes.squares * (ends.amax(-1, keepdim=True) - ends.amin(-1, keepdim=True))


def may_be_lost(
    gradient: Tensor, share: Tensor | float, size: Tensor | float, count: int, lightest: Tensor | float
) -> Tensor:
    """Return which rows may have lost digits, of ``count`` numbers added up, with the smallest share that there is."""
    lost = gradient.abs() < (_SMALL[gradient.dtype] * math.sqrt(count)) * size * share
    if isinstance(lightest, float) and lightest <= _ALL_LOST:
        return lost
    # What is zero was never anything else, unless a share is so light.
    return lost & ((gradient != 0) if isinstance(lightest, float) else (gradient != 0) | (lightest <= _ALL_LOST))


def _lost(
    gradient: Tensor,
    own: Side,
    other: Side,
    structure: Piecewise,
    size: Tensor | float,
    sign: float,
    in_order: Sorted | None,
) -> Tensor | None:
    """Return which rows may have lost digits, of numbers of some size added up, or None if no row has."""
    by_active = other.shares is None and not cancels(structure)
    sizes, count = _sizes(structure), _FEW if other.shares is None and not by_active else other.scores.shape[1]
    if sizes.exact and other.shares is None:
        return None
    lightest = other.equal_share if other.shares is None else float(other.shares.where(other.shares > 0, 1.0).min())
    if sizes.exact and lightest * sizes.least >= _SMALL[gradient.dtype] * math.sqrt(count) * sizes.slopes:
        return None
    lost = may_be_lost(gradient, own.share(slice(None), slice(None)), size, count, lightest)
    if not bool(lost.any()):
        return None
    if by_active:
        rounding = (_SMALL[gradient.dtype] * math.sqrt(count)) * torch.as_tensor(size).expand(len(gradient), 1)
        for row in lost.any(1).nonzero()[:, 0].tolist():
            places = lost[row].nonzero()[:, 0]
            part = _active(own.scores[row, places], other, structure, row, sign, in_order) / count
            share = own.equal_share if own.shares is None else own.shares[row, places]
            lost[row, places] = gradient[row, places].abs() < rounding[row] * share * part**1.5
    return lost


def _active(
    scores: Tensor, other: Side, structure: Piecewise, row: int, sign: float, in_order: Sorted | None
) -> Tensor:
    """Return the number of pairs that are added up for each score: those below the highest kink."""
    others = other.in_order(row, 1.0)[0] if in_order is None else in_order.scores[row].double()
    where = max(kink.where for kink in structure.kinks)
    if sign > 0:
        return len(others) - torch.searchsorted(others, scores.double() - where)
    return torch.searchsorted(others, scores.double() + where, right=True)
