"""Piecewise polynomials: a line and kinks max(0, t - u) ** power with u = s - where, from either class in order."""

from __future__ import annotations

from typing import NamedTuple, cast

import torch
from torch import Tensor

from symloss.losses import Kink, Piecewise
from symloss.pairwise.moments import polynomial
from symloss.pairwise.ordered import Ordered, Rank, ordered, ranks
from symloss.pairwise.problem import Side, Sums, blocks


def piecewise(pos: Side, neg: Side, structure: Piecewise) -> Sums:
    """Return the sums for a piecewise polynomial: its polynomial, its steps, its corners and its jumps in curvature."""
    if not structure.kinks:
        return polynomial(pos, neg, structure.coefficients)
    if any(structure.coefficients[2:]):
        parts = zip(polynomial(pos, neg, structure.coefficients), _kinked(pos, neg, (), structure.kinks), strict=True)
        value, grad_pos, grad_neg = (of_polynomial + of_kinks for of_polynomial, of_kinks in parts)
        return value, grad_pos, grad_neg
    return _kinked(pos, neg, structure.coefficients, structure.kinks)


def _kinked(pos: Side, neg: Side, line: tuple[float, ...], kinks: tuple[Kink, ...]) -> Sums:
    """The line and all kinks.

    A sum of max(0, t - u) is homogeneous of degree 1, so its value is the gradient times (t, u); one of squares is half
    of that. The slopes of line and corners are added up before they meet a score, so that none cancels.
    """
    intercept, slope = (*line, 0.0, 0.0)[:2]
    s, t = ordered(pos), ordered(neg)
    centre = 0.5 * (s.middle + t.middle)
    curved, moving = any(kink.power == 2 for kink in kinks), slope or any(kink.power for kink in kinks)
    below, above = _Others.below(s, centre, curved), _Others.above(t, centre, curved)
    met = [(kink, *ranks(s, t, kink.where)) for kink in kinks]
    value = intercept * pos.total * neg.total
    gradients = []
    for side, own, others, weight, sign in ((pos, s, above, neg.total, 1.0), (neg, t, below, pos.total, -1.0)):
        gradient = torch.empty_like(side.scores) if moving else torch.zeros_like(side.scores)
        for rows, columns in blocks(own.keys) if moving or side is pos else ():
            x, share = own.values(rows, columns) - centre[rows], own.share(rows, columns)
            total = sign * slope * weight[rows]
            bent: Tensor | float = 0.0
            for kink, of_pos, of_neg in met:
                rank = of_pos if side is pos else of_neg
                if kink.power == 2:
                    shares, moments = others.met(rank, rows, columns)
                    part = shares.mul_(x - sign * kink.where).sub_(moments).mul_(2 * kink.weight).mul_(share)
                    value[rows] += 0.5 * _inner(part, x - kink.where if side is pos else x)
                    bent = part + bent
                    continue
                active = others.active(rank, rows, columns)
                if side is pos:
                    constant = kink.weight * kink.where**kink.power
                    value[rows] += constant * (active * share).sum(1, keepdim=True)
                if kink.power == 1:
                    total = total - active.mul_(sign * kink.weight)
            slopes = (total * share).expand_as(x)
            value[rows] += _inner(slopes, x)
            if moving:
                _put_back(gradient[rows], own.index(rows, columns), slopes + bent if curved else slopes)
        gradients.append(gradient)
    return value[:, 0], gradients[0], gradients[1]


def _inner(x: Tensor, y: Tensor) -> Tensor:
    """The inner product of each row, (k, 1)."""
    return torch.bmm(x[:, None], y[:, :, None])[:, 0]


def _put_back(gradient: Tensor, index: Tensor, slopes: Tensor) -> None:
    """Return slopes to the places that their scores came from."""
    slopes = slopes.to(gradient.dtype)
    if gradient.device.type == "cpu" and len(gradient) == 1:
        gradient.numpy()[0][index.numpy()[0]] = slopes.numpy()[0]  # twice as fast as scatter_
    else:
        gradient.scatter_(1, index, slopes)


class _Others(NamedTuple):
    """What a point meets of the other class: of the negatives those from its rank on, of the positives those up to it.

    Sums (k, size + 1) of shares and of shares times (score - centre); shares are None where they are counts.
    """

    shares: Tensor | None
    moments: Tensor | None
    size: int
    from_rank: bool

    @classmethod
    def below(cls, side: Ordered, centre: Tensor, with_moments: bool) -> _Others:
        """Sums of all up to a rank."""
        shares, moments = (
            None if part is None else torch.cat([torch.zeros_like(centre), part.cumsum(1)], 1)
            for part in (side.shares, _moments(side, centre) if with_moments else None)
        )
        return cls(shares, moments, side.keys.shape[1], from_rank=False)

    @classmethod
    def above(cls, side: Ordered, centre: Tensor, with_moments: bool) -> _Others:
        """Sums of all from a rank on: not as a difference, which an outlier would spoil."""
        shares, moments = (
            None if part is None else torch.cat([part.flip(1).cumsum(1).flip(1), torch.zeros_like(centre)], 1)
            for part in (side.shares, _moments(side, centre) if with_moments else None)
        )
        return cls(shares, moments, side.keys.shape[1], from_rank=True)

    def active(self, rank: Rank, rows: slice, columns: slice) -> Tensor:
        """The share that each point of a block meets; what lies exactly at the point counts one half."""
        twice = rank.twice[rows, columns]
        if self.shares is None:
            return self._counted(twice, 2)
        below = cast(Tensor, rank.below)[rows, columns]
        low, high = (self.shares[rows].gather(1, end.long()) for end in (below, twice - below))
        return (low + high).mul_(0.5)

    def met(self, rank: Rank, rows: slice, columns: slice) -> tuple[Tensor, Tensor]:
        """The share and the moment that each point meets, with some, all or none of what lies exactly at it."""
        at = rank.twice[rows, columns] >> 1
        shares = self._counted(at, 1) if self.shares is None else self.shares[rows].gather(1, at.long())
        return shares, cast(Tensor, self.moments)[rows].gather(1, at.long())

    def _counted(self, ranks: Tensor, scale: int) -> Tensor:
        return (scale * self.size - ranks if self.from_rank else ranks).double().mul_(1 / (scale * self.size))


def _moments(side: Ordered, centre: Tensor) -> Tensor:
    moments = torch.empty_like(side.keys)
    for rows, columns in blocks(side.keys):
        torch.sub(side.values(rows, columns), centre[rows], out=moments[rows, columns])
        moments[rows, columns] *= side.share(rows, columns)
    return moments
