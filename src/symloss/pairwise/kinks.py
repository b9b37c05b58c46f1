"""Piecewise polynomials: a line and kinks max(0, t - u) ** power with u = s - where, from one merged order a kink."""

from __future__ import annotations

from typing import NamedTuple

import torch
from torch import Tensor

from symloss.losses import Kink, Piecewise
from symloss.pairwise.merge import Ties, counts_before, merge, sums_before
from symloss.pairwise.moments import centre_of, polynomial
from symloss.pairwise.problem import Side, Sums, blocks


def piecewise(pos: Side, neg: Side, structure: Piecewise) -> Sums:
    """Return the sums for a piecewise polynomial: its polynomial, its corners, its steps and its jumps in curvature."""
    if not structure.kinks:
        return polynomial(pos, neg, structure.coefficients)
    curved = any(structure.coefficients[2:])
    parts = [_line_and_corners(pos, neg, () if curved else structure.coefficients, structure.kinks)]
    if curved:
        parts.append(polynomial(pos, neg, structure.coefficients))
    parts += [_squared_kink(pos, neg, kink) for kink in structure.kinks if kink.power == 2]
    if len(parts) > 1:
        return tuple(torch.stack(part).sum(0) for part in zip(*parts, strict=True))  # type: ignore[return-value]
    return parts[0]


def _line_and_corners(pos: Side, neg: Side, coefficients: tuple[float, ...], kinks: tuple[Kink, ...]) -> Sums:
    """The line and the kinks of power 0 and 1: slopes are added up before they meet a score, so that none cancels.

    A sum of max(0, t - u) is homogeneous of degree 1, so its value is the gradient times (t, u).
    """
    a, b = (*coefficients, 0.0, 0.0)[:2]
    actives = [(kink, active_shares(pos, neg, kink.where)) for kink in kinks if kink.power < 2]
    centre = centre_of(pos, neg)
    value = a * pos.total * neg.total
    gradients = []
    for side, own, weight, sign in ((pos, 0, neg.total, 1.0), (neg, 1, pos.total, -1.0)):
        gradient = torch.empty_like(side.scores)
        for rows, columns in blocks(side.scores):
            share = side.share(rows, columns)
            slope = (sign * b) * weight[rows].expand(-1, columns.stop - columns.start)
            for kink, active in actives:
                shares = active[own].scaled(rows, columns)
                if side is pos:
                    constant = kink.weight if kink.power == 0 else kink.weight * kink.where
                    value[rows] += constant * (shares * share).sum(1, keepdim=True)
                if kink.power == 1:
                    slope = slope - shares.mul_(sign * kink.weight)
            slope = slope * share
            value[rows] += (slope * (side.scores[rows, columns].double() - centre[rows])).sum(1, keepdim=True)
            gradient[rows, columns] = slope
        gradients.append(gradient)
    return value[:, 0], gradients[0], gradients[1]


class Scaled(NamedTuple):
    """Numbers (k, n), as counts where that is enough, and what to multiply them by."""

    numbers: Tensor
    scale: float

    def scaled(self, rows: slice, columns: slice) -> Tensor:
        """A block in float64."""
        return self.numbers[rows, columns].double() * self.scale


def active_shares(pos: Side, neg: Side, where: float) -> tuple[Scaled, Scaled]:
    """Return the share of the negatives t > s - where for each positive, and of those positives for each negative.

    A negative at t = s - where counts one half.
    """
    order, ties = merge(pos, neg, where)
    n, m = pos.scores.shape[1], neg.scores.shape[1]
    if pos.shares is None and neg.shares is None:
        before = counts_before(order, m)
        if ties is None:
            return Scaled(m - before[:, m:], 1 / m), Scaled(before[:, :m], 1 / n)
        before *= 2  # so that halves stay whole
        _halve(before, ties, m, torch.ones_like(ties.point, dtype=torch.int32))
        return Scaled(2 * m - before[:, m:], 0.5 / m), Scaled(before[:, :m], 0.5 / n)
    shares = torch.cat([neg.all_shares(), pos.all_shares()], 1)
    before, of_neg = sums_before(order, m, shares)
    if ties is not None:
        _halve(before, ties, m, 0.5 * shares[ties.row, ties.point])
    return Scaled(of_neg - before[:, m:], 1.0), Scaled(before[:, :m], 1.0)


def _halve(before: Tensor, ties: Ties, m: int, half: Tensor) -> None:
    """Count tied points one half: the merged order has them all after a negative and before a positive."""
    negative = ties.point < m
    of_neg = half.new_zeros(ties.runs).index_add_(0, ties.run, half * negative)
    of_pos = half.new_zeros(ties.runs).index_add_(0, ties.run, half * ~negative)
    before[ties.row, ties.point] += torch.where(negative, of_pos[ties.run], -of_neg[ties.run])


def _squared_kink(pos: Side, neg: Side, kink: Kink) -> Sums:
    """The sums for weight * max(0, t - u)^2, homogeneous of degree 2: its value is half the gradient times (t, u)."""
    order, _ = merge(pos, neg, kink.where)
    m = neg.scores.shape[1]
    centre = centre_of(pos, neg)
    points = torch.cat([neg.scores.double() - centre, pos.scores.double() - (centre + kink.where)], 1).gather(1, order)
    equal = pos.shares is None and neg.shares is None
    shares = None if equal else torch.cat([neg.all_shares(), pos.all_shares()], 1).gather(1, order)
    per_neg, per_pos = 1 / m, 1 / pos.scores.shape[1]
    slopes = torch.empty_like(points)
    gradient = torch.empty_like(points, dtype=pos.scores.dtype)
    value = torch.zeros_like(centre)
    # A negative meets the positives before it, a positive the negatives after it: one pass forwards, one backwards.
    for forward in (True, False):
        seen, moment = torch.zeros_like(centre), torch.zeros_like(centre)
        for rows, columns in blocks(order) if forward else reversed(list(blocks(order))):
            x, negative = points[rows, columns], (order[rows, columns] < m).double()
            share = negative * (per_neg - per_pos) + per_pos if shares is None else shares[rows, columns]
            counted = share * ((1 - negative) if forward else negative)
            weights, moments = (_running(part, forward) for part in (counted, counted * x))
            edge = slice(-1, None) if forward else slice(0, 1)
            weights += seen[rows]
            moments += moment[rows]
            seen[rows], moment[rows] = weights[:, edge], moments[:, edge]
            slope = (x * weights).sub_(moments).mul_(share).mul_(2 * kink.weight)
            if forward:
                torch.mul(slope, negative, out=slopes[rows, columns])
            else:
                slope = slope.mul_(1 - negative).add_(slopes[rows, columns])
                value[rows] += 0.5 * (slope * x).sum(1, keepdim=True)
                gradient[rows].scatter_(1, order[rows, columns], slope.to(gradient.dtype))
    return value[:, 0], gradient[:, m:], gradient[:, :m]


def _running(part: Tensor, forward: bool) -> Tensor:
    """Return the sums up to each element, or from each on: not as a difference, which an outlier would spoil."""
    return part.cumsum(1) if forward else part.flip(1).cumsum(1).flip(1)
