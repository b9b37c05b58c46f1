"""The merged order of the negatives t and the shifted positives u = s - where, and what precedes each in it.

The order is exact. A float32 score becomes the integer that its bits spell, made to increase with it; twice that
integer leaves room to say whether s - where lies just below, at, or just above its nearest float. The point's number
fills the lower bits, so that sorting plain 64-bit integers, which is fast, sorts the points along. Negatives are
numbered from 0, positives after them; so at a tie negatives come first.
"""

from __future__ import annotations

from typing import NamedTuple

import torch
from torch import Tensor

from symloss.pairwise.problem import Side, blocks

_BITS = 31
_NUMBER = (1 << _BITS) - 1


class Ties(NamedTuple):
    """The points of the runs in which some t equals some u: their row, number and run; one entry a point."""

    row: Tensor
    point: Tensor
    run: Tensor
    runs: int


def merge(pos: Side, neg: Side, where: float) -> tuple[Tensor, Ties | None]:
    """Return the numbers (k, m + n) of the points in merged order, and the ties between t and u if there are any."""
    m = neg.scores.shape[1]
    if pos.scores.dtype == torch.float64:
        ordered, order = torch.sort(torch.cat([neg.scores, pos.scores - where], 1), dim=1, stable=True)
        crossing = (order[:, :-1] < m) & (order[:, 1:] >= m) & (ordered[:, :-1] == ordered[:, 1:])
        return order, _ties(crossing.nonzero(), ordered, order, 0)
    packed = neg.scores.new_empty((neg.scores.shape[0], m + pos.scores.shape[1]), dtype=torch.int64)
    for scores, shift, start in ((neg.scores, None, 0), (pos.scores, where, m)):
        for rows, columns in blocks(scores):
            here = slice(start + columns.start, start + columns.stop)
            _pack(scores[rows, columns], shift, _numbers(here, packed), packed[rows, here])
    packed = _sorted(packed)
    crossings = []
    for rows, columns in blocks(packed):
        found = _crossings(packed[rows, columns.start : columns.stop + 1], m)
        if len(found):
            crossings.append(found + found.new_tensor([rows.start, columns.start]))
    ties = _ties(torch.cat(crossings), packed, packed, _NUMBER) if crossings else None
    for rows, columns in blocks(packed):
        packed[rows, columns] &= _NUMBER
    return packed, ties


def _pack(scores: Tensor, shift: float | None, numbers: Tensor, out: Tensor) -> None:
    """Write a float's order-preserving integer, and the sign of what rounding dropped, above the number's bits."""
    if shift is None:
        torch.add(numbers, _integers(scores), alpha=2 << _BITS, out=out)
        return
    wide = scores.double()
    rounded = wide - shift
    nearest = rounded.float()
    # What float64 drops too, exactly (Knuth's two-sum): it decides where float32 drops nothing more.
    back = rounded - wide
    dropped = (wide - (rounded - back)).sub_(back + shift)
    side = (rounded - nearest).sign_().mul_(2).add_(dropped.sign_()).sign_()
    keys = _integers(nearest).mul_(2).add_(side.to(torch.int64))
    torch.add(numbers, keys, alpha=1 << _BITS, out=out)


def _integers(values: Tensor) -> Tensor:
    bits = (values + 0.0).view(torch.int32)  # adding zero makes -0 and 0 the same
    return ((bits >> 31).bitwise_and_(0x7FFFFFFF)).bitwise_xor_(bits).long()


def _sorted(packed: Tensor) -> Tensor:
    if packed.device.type == "cpu":
        packed.numpy().sort(axis=1)  # vectorised, and ten times faster than torch.sort of the floats
        return packed
    return torch.sort(packed, dim=1).values


def _crossings(packed: Tensor, m: int) -> Tensor:
    """Return (row, column) of each negative that is followed by a positive of the same key."""
    same = ((packed[:, :-1] ^ packed[:, 1:]) <= _NUMBER).nonzero()
    row, column = same.unbind(1)
    crossing = ((packed[row, column] & _NUMBER) < m) & ((packed[row, column + 1] & _NUMBER) >= m)
    return same[crossing]


def _ties(crossings: Tensor, ordered: Tensor, order: Tensor, number: int) -> Ties | None:
    """Widen each crossing to the run of equal keys around it; ``number`` masks the bits that name the point."""
    rows, points, runs, count = [], [], [], 0
    for row in sorted(set(crossings[:, 0].tolist())):
        key = ordered[row, crossings[crossings[:, 0] == row, 1]]
        low, high = (key & ~number, key | number) if number else (key, key)
        start = torch.searchsorted(ordered[row], low)
        size = torch.searchsorted(ordered[row], high, right=True) - start
        run = torch.repeat_interleave(torch.arange(len(size), device=size.device), size)
        point = order[row, torch.arange(len(run), device=size.device) - (size.cumsum(0) - size - start)[run]]
        rows.append(torch.full_like(run, row))
        points.append(point & number if number else point)
        runs.append(run + count)
        count += len(size)
    return Ties(torch.cat(rows), torch.cat(points), torch.cat(runs), count) if count else None


def _numbers(columns: slice, like: Tensor) -> Tensor:
    return torch.arange(columns.start, columns.stop, dtype=like.dtype, device=like.device)


def counts_before(order: Tensor, m: int) -> Tensor:
    """Return, for each point by its number, how many of the other side precede it."""
    out = torch.empty_like(order, dtype=torch.int32)
    seen_before = torch.zeros_like(order[:, :1], dtype=torch.int32)
    for rows, columns in blocks(order):
        block = order[rows, columns]
        negative = (block < m).to(torch.int32)
        seen = negative.cumsum(1, dtype=torch.int32)
        if columns.start:
            seen += seen_before[rows]
        seen_before[rows] = seen[:, -1:]
        # A negative has the positives before it, place - seen; a positive the negatives, seen. (where() is slow.)
        place = torch.arange(columns.start + 1, columns.stop + 1, dtype=torch.int32, device=order.device)
        out[rows].scatter_(1, block, (place - 2 * seen).mul_(negative).add_(seen))
    return out


def sums_before(order: Tensor, m: int, weights: Tensor) -> tuple[Tensor, Tensor]:
    """Return, for each point by its number, the weights of the other side that precede it; and the negatives' sum."""
    out = torch.empty_like(weights)
    of_neg, of_pos = weights.new_zeros(weights.shape[0], 1), weights.new_zeros(weights.shape[0], 1)
    for rows, columns in blocks(order):
        block = order[rows, columns]
        negative = block < m
        weight = weights[rows].gather(1, block)
        seen_neg = (weight * negative).cumsum(1).add_(of_neg[rows])
        seen_pos = (weight * ~negative).cumsum(1).add_(of_pos[rows])
        of_neg[rows], of_pos[rows] = seen_neg[:, -1:], seen_pos[:, -1:]
        out[rows].scatter_(1, block, torch.where(negative, seen_pos, seen_neg))
    return out, of_neg
