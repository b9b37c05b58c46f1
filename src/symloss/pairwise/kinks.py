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
    """The line and all kinks, from both classes in order and their ranks in each other.

    A sum of max(0, t - u) is homogeneous of degree 1, so its value is the gradient times (t, u); one of squares is half
    of that. The slopes of line and corners are added up before they meet a score, so that none cancels.
    """
    intercept, slope = (*line, 0.0, 0.0)[:2]
    s, t = ordered(pos), ordered(neg)
    centre = 0.5 * s.middle + 0.5 * t.middle
    corners, squares = ([kink for kink in kinks if (kink.power == 2) == squared] for squared in (False, True))
    to_s, to_t = (
        _Others.of(t, centre, bool(squares), from_rank=True),
        _Others.of(s, centre, bool(squares), from_rank=False),
    )
    at_corners, at_squares = (
        ranks(s, t, [kink.where for kink in some]) if some else None for some in (corners, squares)
    )
    # What the share that a corner or step is active for adds to the slope, and to the value.
    mixture = centre.new_tensor(
        [[-kink.weight * kink.power for kink in corners], [kink.weight * kink.where**kink.power for kink in corners]]
    )
    moving = bool(slope) or any(kink.power for kink in kinks)
    value = torch.zeros_like(centre).add_(intercept * pos.total * neg.total)
    gradients = []
    for side, (own, others, weight, sign) in enumerate(((s, to_s, neg.total, 1.0), (t, to_t, pos.total, -1.0))):
        gradient = torch.zeros_like(own.keys, dtype=pos.scores.dtype)
        for rows, columns in blocks(own.keys) if moving or side == 0 else ():
            x, share = own.values(rows, columns) - centre[rows], own.share(rows, columns)
            if at_corners:
                active = others.active(at_corners[side], rows, columns)
                # Counts are mixed before they are scaled, so that equal ones cancel; both sides have the same value.
                slopes, *values = (mixture[: 2 - side] @ active.flatten(1)).view(-1, *x.shape)
                slopes = slopes.mul_(sign * others.unit)
                for part in values:
                    value[rows].add_(part.mul_(share).sum(1, keepdim=True), alpha=others.unit)
            else:
                slopes = torch.zeros_like(x)
            if slope:
                slopes = slopes.add_(sign * slope * (weight[rows] if isinstance(weight, Tensor) else weight))
            if not moving:
                continue
            slopes = slopes.mul_(share)
            value[rows].add_(_inner(slopes, x))
            for kink, twice in zip(squares, at_squares[side].twice if at_squares else (), strict=True):
                shares, moments = others.met(twice[rows, columns], rows)
                part = shares.mul_(x - sign * kink.where).sub_(moments).mul_(2 * kink.weight).mul_(share)
                value[rows].add_(_inner(part, x if side else x - kink.where), alpha=0.5)
                slopes = slopes.add_(part)
            _put_back(gradient[rows], own.index(rows, columns), slopes)
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
    def of(cls, side: Ordered, centre: Tensor, with_moments: bool, from_rank: bool) -> _Others:
        """Add up from the end that points meet: a difference of sums an outlier would spoil."""

        def running(part: Tensor) -> Tensor:
            zero = torch.zeros_like(centre)
            if from_rank:
                return torch.cat([part.flip(1).cumsum(1).flip(1), zero], 1)
            return torch.cat([zero, part.cumsum(1)], 1)

        shares = None if side.shares is None else running(side.shares)
        moments = running(_moments(side, centre)) if with_moments else None
        return cls(shares, moments, side.keys.shape[1], from_rank)

    @property
    def unit(self) -> float:
        """The share that ``active`` counts in."""
        return 0.5 / self.size if self.shares is None else 0.5

    def active(self, rank: Rank, rows: slice, columns: slice) -> Tensor:
        """What each point of a block meets at each kink, in units; what lies exactly at the point counts one half."""
        twice = rank.twice[:, rows, columns]
        if self.shares is None:
            return (2 * self.size - twice if self.from_rank else twice).double()
        below = cast(Tensor, rank.below)[:, rows, columns]
        shares = self.shares[rows].expand(len(twice), -1, -1)
        return shares.gather(2, below.long()) + shares.gather(2, (twice - below).long())

    def met(self, twice: Tensor, rows: slice) -> tuple[Tensor, Tensor]:
        """The share and the moment that each point meets, with some, all or none of what lies exactly at it."""
        rank = twice >> 1
        if self.shares is None:
            shares = (self.size - rank if self.from_rank else rank).double().mul_(1 / self.size)
        else:
            shares = self.shares[rows].gather(1, rank.long())
        return shares, cast(Tensor, self.moments)[rows].gather(1, rank.long())


def _moments(side: Ordered, centre: Tensor) -> Tensor:
    moments = torch.empty_like(side.keys)
    for rows, columns in blocks(side.keys):
        torch.sub(side.values(rows, columns), centre[rows], out=moments[rows, columns])
        moments[rows, columns] *= side.share(rows, columns)
    return moments
