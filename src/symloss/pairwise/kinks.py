"""The sums over all pairs for piecewise polynomials: a line plus kinks max(0, t - u) ** power, with u = s - where.

A kink is active for the pairs with t above u. How many these are is said by ranks: of each u among the t, and of each
t among the u. Long rows on a CPU are ranked in the order in which they come; all others are sorted first.
"""

from __future__ import annotations

from typing import NamedTuple, cast

import numpy as np
import torch
from torch import Tensor

from symloss.losses import Kink, Piecewise
from symloss.pairwise.bands import cancels
from symloss.pairwise.classes import ordered_by_vectors, ranks_in_pieces, sorts_by_vectors
from symloss.pairwise.intervals import Sorted, by_intervals
from symloss.pairwise.lost_digits import from_bands, with_lost_digits
from symloss.pairwise.merged import in_long_rows, merged_ranks
from symloss.pairwise.moments import polynomial
from symloss.pairwise.ordered import Ordered, Rank, ordered, ranks
from symloss.pairwise.problem import Side, Sums, blocks
from symloss.threads import one_thread

Class = Side | Ordered

# At this distance from the center, in multiples of a kink's place, sums of scores lose six of their sixteen digits.
_WIDE = 2.0**20
# So many times the value, squares lose five digits when they are added up.
_CANCELED = 2.0**16
_CANCELED_MIXED = {torch.float32: 2.0**26, torch.float64: 2.0**18}  # the same where bands are the only other way


def piecewise(pos: Side, neg: Side, structure: Piecewise) -> Sums:
    """Return the sums for a piecewise polynomial: its polynomial, its steps, its corners and its jumps in curvature."""
    if not structure.kinks:
        return polynomial(pos, neg, structure.coefficients)
    if any(structure.coefficients[2:]) and pos.dtype != torch.float64:  # two gradients that may cancel are added up
        s, t = (Side(side.scores.double(), side.shares) for side in (pos, neg))
        value, *gradients = piecewise(s, t, structure)
        return value, gradients[0].to(pos.dtype), gradients[1].to(pos.dtype)
    mixed = cancels(structure)
    found = _from_polynomial_and_kinks(pos, neg, structure, mixed)
    if found is None:
        return from_bands(pos, neg, structure)
    if not mixed and not any(kink.power == 2 for kink in structure.kinks):
        return found.sums
    return with_lost_digits(found.sums, pos, neg, structure, found.others)


class _Kinked(NamedTuple):
    """The sums, and the other class of the positives and of the negatives in order; None if that was not needed."""

    sums: Sums
    others: tuple[Sorted | None, Sorted | None] = (None, None)


def _from_polynomial_and_kinks(pos: Side, neg: Side, structure: Piecewise, mixed: bool) -> _Kinked | None:
    """Return the sums, or None where squares or lines would cancel and only bands keep their digits (``mixed``)."""
    squared = any(structure.coefficients[2:])
    found = _kinked(pos, neg, () if squared else structure.coefficients, structure.kinks, mixed)
    if found is None or not squared:
        return found
    of_polynomial = polynomial(pos, neg, structure.coefficients)
    value, grad_pos, grad_neg = (kinks + rest for kinks, rest in zip(found.sums, of_polynomial, strict=True))
    if mixed and bool((of_polynomial[0].abs() > _CANCELED * value.abs()).any()):
        return None
    return _Kinked((value, grad_pos, grad_neg), found.others)


def _kinked(pos: Side, neg: Side, line: tuple[float, ...], kinks: tuple[Kink, ...], mixed: bool) -> _Kinked | None:
    """Return the sums for a line plus kinks, or None as ``_from_polynomial_and_kinks`` does."""
    if in_long_rows(pos, neg):
        with one_thread():  # several would wait for each other after each of many short steps
            if sorts_by_vectors(pos.dtype):
                return _summed(ordered_by_vectors(pos), ordered_by_vectors(neg), line, kinks, mixed)
            return _summed(pos, neg, line, kinks, mixed)
    return _summed(ordered(pos), ordered(neg), line, kinks, mixed)


def _summed(s: Class, t: Class, line: tuple[float, ...], kinks: tuple[Kink, ...], mixed: bool) -> _Kinked | None:
    center = 0.5 * s.middle + 0.5 * t.middle
    squares = [abs(kink.weight) for kink in kinks if kink.power == 2]
    no_way = mixed and (bool(squares) or any(line[1:]))
    if (any(line[1:]) or any(kink.power for kink in kinks)) and _far_apart(s, t, center, kinks):
        return None if no_way else _Kinked(_over_a_wide_range(s, t, center, line, kinks))
    found = _from_ranks(s, t, center, line, kinks)
    value, grad_pos, _ = found.sums
    if no_way:
        canceled = _largest(line, kinks, _reach(s, t, center)) > _CANCELED_MIXED[s.dtype] * value.abs()
        return None if bool(canceled.any()) else found
    if squares:  # large squares may cancel; where all slopes are zero, nothing does
        largest = sum(squares) * _reach(s, t, center) ** 2
        if bool(((largest > _CANCELED * value.abs()) & (grad_pos != 0).any(1)).any()):
            return _Kinked(_over_a_wide_range(s, t, center, line, kinks))
    return found


def _largest(line: tuple[float, ...], kinks: tuple[Kink, ...], reach: Tensor) -> Tensor:
    """Return the sum of the sizes of a structure's parts at the largest margin there can be, (k,)."""
    of_line = (abs(part) * (2 * reach) ** power for power, part in enumerate(line))
    of_kinks = (abs(kink.weight) * (2 * reach + abs(kink.where)) ** kink.power for kink in kinks)
    return sum((*of_line, *of_kinks), torch.zeros_like(reach))


def _far_apart(s: Class, t: Class, center: Tensor, kinks: tuple[Kink, ...]) -> bool:
    """Return whether scores lie so far from their center, compared with the kinks, that their sums lose digits."""
    return bool((_reach(s, t, center) > _WIDE * max(1.0, *(abs(kink.where) for kink in kinks))).any())


def _reach(s: Class, t: Class, center: Tensor) -> Tensor:
    """Return the largest distance of a score from the center, (k,)."""
    return (torch.cat([side.ends for side in (s, t)], 1) - center).abs().amax(1)


def _over_a_wide_range(s: Class, t: Class, center: Tensor, line: tuple[float, ...], kinks: tuple[Kink, ...]) -> Sums:
    """Return the same sums more slowly, but without cancellation.

    Steps, and the gradients of the line and of corners, are counts and come from ranks. The rest comes from intervals.
    """
    intercept, slope = (*line, 0.0, 0.0)[:2]
    steps, corners, squares = (tuple(kink for kink in kinks if kink.power == power) for power in (0, 1, 2))
    value = _from_ranks(s, t, center, (intercept,), steps).sums[0]
    gradients = _from_ranks(s, t, center, (0.0, slope), corners).sums[1:]
    sides = [ordered(side) if isinstance(side, Side) else side for side in (s, t)]
    pos, neg = (Sorted(side.scores.double(), side.shares) for side in sides)
    rest, *of_squares = by_intervals(pos, neg, slope, (*corners, *squares))
    for side, gradient, more in zip(sides, gradients, of_squares, strict=True):
        gradient.scatter_add_(1, side.places, more.to(gradient.dtype))
    return value + rest, gradients[0], gradients[1]


def _from_ranks(s: Class, t: Class, center: Tensor, line: tuple[float, ...], kinks: tuple[Kink, ...]) -> _Kinked:
    """Return the same sums from the rank of each score in the other class.

    A sum of max(0, t - u) is homogeneous of degree 1, so its value is the inner product of its gradient and (t, u). A
    sum of squares has degree 2, so its value is half of that product. The slopes of the line and of all corners are
    added up before they are multiplied by a score, so that no large products cancel.
    """
    intercept, slope = (*line, 0.0, 0.0)[:2]
    corners, squares = ([kink for kink in kinks if (kink.power == 2) == squared] for squared in (False, True))
    found = _Found.of(s, t, corners, squares)
    value = torch.zeros_like(center).add_(intercept * s.total * t.total)
    gradients = []
    for own, other, sign, rank, sums in zip((s, t), (t, s), (1.0, -1.0), found.ranks, found.others, strict=True):
        others = _Others.of(other, sums, center, with_moments=bool(squares), from_rank=sign > 0)
        at_corners, at_squares = (rank and rank.some(some) for some in (slice(len(corners)), slice(len(corners), None)))
        side = _OneSide(own, others, sign, sign * slope * other.total, corners, at_corners, squares, at_squares)
        gradients.append(side.add_to(value, center, s.dtype))
    return _Kinked((value[:, 0], gradients[0], gradients[1]), found.others)


class _Found(NamedTuple):
    """The ranks of the positives and of the negatives at corners and then at squares, and the other class of each.

    ``ranks`` is None if there are no kinks. ``others`` are sorted; they are None if no sums over them are needed.
    """

    ranks: tuple[Rank | None, Rank | None]
    others: tuple[Sorted | None, Sorted | None]

    @classmethod
    def of(cls, s: Class, t: Class, corners: list[Kink], squares: list[Kink]) -> _Found:
        wheres = [kink.where for kink in (*corners, *squares)]
        if not wheres:
            return cls((None, None), (None, None))
        if isinstance(s, Ordered) and isinstance(t, Ordered):
            ranked = ranks_in_pieces if in_long_rows(s, t) else ranks
            return cls(ranked(s, t, wheres), (Sorted(t.scores, t.shares), Sorted(s.scores, s.shares)))
        pos, neg = cast(Side, s), cast(Side, t)
        need_sums = bool(squares) or pos.shares is not None or neg.shares is not None
        found = merged_ranks(pos, neg, wheres, need_sums)
        return cls((found.pos, found.neg), (found.neg_sorted, found.pos_sorted))


class _OneSide(NamedTuple):
    """The positives (sign 1) or the negatives (sign -1), with all that is needed to compute their gradient.

    ``line`` is what the line adds to each slope. ``of_corners`` and ``of_squares`` are the ranks of ``own`` in the
    other class: at ``corners``, which include steps, and at ``squares``.
    """

    own: Class
    others: _Others
    sign: float
    line: Tensor | float
    corners: list[Kink]
    of_corners: Rank | None
    squares: list[Kink]
    of_squares: Rank | None

    def add_to(self, value: Tensor, center: Tensor, dtype: torch.dtype) -> Tensor:
        """Add this side's part to the value, and return its gradient."""
        line = isinstance(self.line, Tensor) or bool(self.line)
        flat = not (line or self.squares or any(kink.power for kink in self.corners))
        gradient = (torch.zeros_like if flat else torch.empty_like)(self.own.scores, dtype=dtype)
        if flat and self.sign < 0:  # steps have no slope, and the positives add their value
            return gradient
        mixture = center.new_tensor(self._mixture())
        for rows, columns in blocks(self.own.scores):
            x, share = self.own.values(rows, columns) - center[rows], self.own.share(rows, columns)
            if self.of_corners is None or not self.corners:
                slopes = torch.zeros_like(x)
            else:
                slopes = self._corners(self.of_corners, mixture, value, x, share, rows, columns)
            if flat:
                continue
            if line:
                slopes += self.line[rows] if isinstance(self.line, Tensor) else self.line
            slopes *= share
            value[rows].add_(_inner(slopes, x))
            for kink, twice in zip(self.squares, self.of_squares.twice if self.of_squares else (), strict=True):
                slopes += self._square(kink, twice[rows, columns], value, x, share, rows)
            self.own.put(gradient, rows, columns, slopes)
        return gradient

    def _mixture(self) -> list[list[float]]:
        """Return what turns the active share of each corner or step into slopes and, for the positives, into values."""
        slopes = [-kink.weight * kink.power for kink in self.corners]
        return [slopes, [kink.weight * kink.where**kink.power for kink in self.corners]] if self.sign > 0 else [slopes]

    def _corners(
        self,
        rank: Rank,
        mixture: Tensor,
        value: Tensor,
        x: Tensor,
        share: Tensor | float,
        rows: slice,
        columns: slice,
    ) -> Tensor:
        """Return the slopes of the corners in a block.

        Add to the value what slope times score does not give: the steps, and the constant part of the corners.
        """
        active = self.others.active(rank, rows, columns)
        # Counts are added up before they are scaled, so that equal ones cancel exactly.
        slopes, *values = (mixture @ active.flatten(1)).view(-1, *x.shape)
        for part in values:
            value[rows].add_(part.mul_(share).sum(1, keepdim=True), alpha=self.others.unit)
        scaled: Tensor = slopes.mul_(self.sign * self.others.unit)
        return scaled

    def _square(
        self, kink: Kink, twice: Tensor, value: Tensor, x: Tensor, share: Tensor | float, rows: slice
    ) -> Tensor:
        """Return the slopes of one jump in curvature in a block, and add its part to the value."""
        shares, moments = self.others.met(twice, rows)
        slopes: Tensor = shares.mul_(x - self.sign * kink.where).sub_(moments).mul_(2 * kink.weight).mul_(share)
        value[rows].add_(_inner(slopes, x - kink.where if self.sign > 0 else x), alpha=0.5)
        return slopes


def _inner(x: Tensor, y: Tensor) -> Tensor:
    """Return the inner product of x and y in each row, (k, 1)."""
    return torch.bmm(x[:, None], y[:, :, None])[:, 0]


class _Others(NamedTuple):
    """Cumulative sums over the sorted other class: they give the part of it for which a kink is active, by rank.

    For a positive, the active part is the negatives from its rank on (``from_rank`` is True). For a negative, it is the
    positives up to its rank. ``shares`` and ``moments`` hold the sums (k, size + 1) of the shares and of share times
    (score - center). ``shares`` is None where all shares are equal: then counting is enough.
    """

    shares: Tensor | None
    moments: Tensor | None
    size: int
    from_rank: bool

    @classmethod
    def of(cls, side: Class, sums: Sorted | None, center: Tensor, with_moments: bool, from_rank: bool) -> _Others:
        """Return the sums over one class, given in order if they are needed.

        They are added up from the end where the active part begins. The other way would need a difference of two sums,
        which an outlier would spoil.
        """
        if sums is None:
            return cls(None, None, side.scores.shape[1], from_rank)
        shares = None if sums.shares is None else _running(sums.shares, from_rank)
        moments = _running(_moments(sums, center), from_rank) if with_moments else None
        return cls(shares, moments, side.scores.shape[1], from_rank)

    @property
    def unit(self) -> float:
        """The share that the number 1 stands for in ``active``."""
        return 0.5 / self.size if self.shares is None else 0.5

    def active(self, rank: Rank, rows: slice, columns: slice) -> Tensor:
        """Return, for each kink and each point of a block, the share of the active part, counted in ``unit``.

        Scores of the other class that lie exactly at the kink count one half.
        """
        twice = rank.twice[:, rows, columns]
        if self.shares is None:
            return (2 * self.size - twice if self.from_rank else twice).double()
        shares = self.shares[rows].expand(len(twice), -1, -1)
        below, up_to = rank.ends(rows, columns)
        return shares.gather(2, below.long()) + shares.gather(2, up_to.long())

    def met(self, twice: Tensor, rows: slice) -> tuple[Tensor, Tensor]:
        """Return the share and the moment of the active part, for each point of some rows.

        Scores exactly at the kink may be counted or not: for a square, they add nothing. ``twice`` is as in ``Rank``.
        """
        rank = twice >> 1
        if self.shares is None:
            shares = (self.size - rank if self.from_rank else rank).double().mul_(1 / self.size)
        else:
            shares = self.shares[rows].gather(1, rank.long())
        return shares, cast(Tensor, self.moments)[rows].gather(1, rank.long())


def _moments(side: Sorted, center: Tensor) -> Tensor:
    """Return share times (score - center)."""
    moments = torch.empty_like(side.scores, dtype=torch.float64)
    for rows, columns in blocks(side.scores):
        torch.sub(side.scores[rows, columns].double(), center[rows], out=moments[rows, columns])
        moments[rows, columns] *= 1.0 / side.scores.shape[1] if side.shares is None else side.shares[rows, columns]
    return moments


def _running(part: Tensor, from_end: bool) -> Tensor:
    """Return the sums (k, n + 1) over the first 0, 1, ... columns, or from the end over all columns but these."""
    if part.device.type != "cpu":
        zero = torch.zeros_like(part[:, :1])
        return torch.cat([part.flip(1).cumsum(1).flip(1), zero] if from_end else [zero, part.cumsum(1)], 1)
    sums = np.empty((len(part), part.shape[1] + 1))
    step = -1 if from_end else 1  # NumPy has views in the opposite order, which save two copies
    sums[:, ::step][:, 0] = 0
    np.cumsum(part.numpy()[:, ::step], 1, out=sums[:, ::step][:, 1:])
    return torch.from_numpy(sums)
