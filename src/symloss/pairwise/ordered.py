"""Scores in increasing order, and the ranks of the shifted positives u = s - where among the negatives t."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from typing import NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from symloss.pairwise.problem import Side, blocks, dropped

Floats = NDArray[np.float64]
Integers = NDArray[np.int32]
Places = NDArray[np.intp]

# A float32 stored as float64 leaves these bits unused: they hold the place that the score had before sorting.
_SPARE = (1 << 29) - 1
_MOST = 1 << 30  # rows must be shorter, so that twice a number of scores fits into an int32
# Scores per chunk when two sorted rows are merged, and the length from which this is faster than searching.
_CHUNK, _LONG = 1 << 15, 2048


@dataclass(frozen=True)
class Ordered:
    """The scores of a class in increasing order, their shares, and the places that they had before sorting.

    ``keys`` holds the scores, (k, n) in float64. If ``places`` is None, the unused bits of ``keys`` hold the places.
    ``dtype`` is that of the scores before sorting, and of gradients. ``total`` is the sum of the shares.
    """

    keys: Tensor
    places: Tensor | None
    shares: Tensor | None
    dtype: torch.dtype
    total: Tensor | float

    def values(self, rows: slice, columns: slice) -> Tensor:
        """Return the scores of a block."""
        keys = self.keys[rows, columns]
        return keys if self.places is not None else (keys.view(torch.int64) & ~_SPARE).view(torch.float64)

    def index(self, rows: slice, columns: slice) -> Tensor:
        """Return the places that the scores of a block had before sorting."""
        return (
            self.keys[rows, columns].view(torch.int64) & _SPARE if self.places is None else self.places[rows, columns]
        )

    def share(self, rows: slice, columns: slice) -> Tensor | float:
        """Return the shares of a block, as one number if they are all equal."""
        return 1.0 / self.keys.shape[1] if self.shares is None else self.shares[rows, columns]

    @property
    def ends(self) -> Tensor:
        """The lowest and the highest score of each row, (k, 2)."""
        last = self.keys.shape[1] - 1
        return self.values(slice(None), slice(0, last + 1, max(1, last)))

    @property
    def middle(self) -> Tensor:
        """The median of each row, (k, 1)."""
        middle = self.keys.shape[1] // 2
        return self.values(slice(None), slice(middle, middle + 1))


def ordered(side: Side) -> Ordered:
    """Sort the finite scores of a class."""
    scores, shares = side.scores, side.shares
    if scores.shape[1] >= _MOST:
        raise ValueError(f"a class must have fewer than {_MOST} scores for a loss with kinks, got {scores.shape[1]}")
    places: Tensor | None = None
    if scores.device.type != "cpu":
        keys, places = torch.sort(scores, dim=1)
        keys = keys.double()
    elif scores.dtype == torch.float32 and _LONG <= scores.shape[1] <= _SPARE:
        keys = _packed_sort(scores)
    else:
        places = torch.from_numpy(scores.numpy().argsort(axis=1))
        keys = scores.gather(1, places).double()
    if shares is not None:
        shares = shares.gather(1, Ordered(keys, places, None, scores.dtype, 1.0).index(slice(None), slice(None)))
    return Ordered(keys, places, shares, scores.dtype, side.total)


def _packed_sort(scores: Tensor) -> Tensor:
    """Return the sorted scores, with their places in the unused bits.

    NumPy sorts plain numbers with vector instructions, much faster than torch.sort.
    """
    keys = torch.empty_like(scores, dtype=torch.float64)
    for rows, columns in blocks(scores):
        block = keys[rows, columns]
        block.copy_(scores[rows, columns]).add_(0.0)  # turns -0 into 0
        block.view(torch.int64).bitwise_or_(torch.arange(columns.start, columns.stop, device="cpu"))
    for row in keys.view(torch.int64).numpy():
        _sort_bits(row)
    return keys


def _sort_bits(bits: NDArray[np.int64]) -> None:
    """Sort floats by their bits, in place.

    A score 0 with a place in its unused bits is a denormal number, which a sort of floats might treat as 0.
    """
    bits.sort()
    negative = int(np.searchsorted(bits, 0))
    bits[:negative] = bits[:negative][::-1].copy()  # read as integers, negative floats are in the opposite order


class Rank(NamedTuple):
    """For each kink and point, the number of scores of the other class below the point, (kinks, k, n).

    ``twice`` is two times this number, where a score exactly at the point counts one half. ``below`` does not count
    scores exactly at the point; it is needed only where the other class has weights.
    """

    twice: Tensor
    below: Tensor | None


def ranks(pos: Ordered, neg: Ordered, wheres: list[float]) -> tuple[Rank, Rank]:
    """Return, for each ``where``, the ranks of all s - where among the negatives t, and of all t among the s - where.

    The comparison is exact even if the subtraction is rounded.
    """
    if pos.keys.device.type == "cpu" and pos.keys.shape[1] + neg.keys.shape[1] >= _LONG:
        found = [_Counts.empty(own, other, len(wheres)) for own, other in ((pos, neg), (neg, pos))]
        rows = ((kink, row) for kink in range(len(wheres)) for row in range(len(pos.keys)))
        if all(_merge(pos, neg, wheres[kink], row, [side.of(kink, row) for side in found]) for kink, row in rows):
            return found[0].rank, found[1].rank
    return _searched(pos, neg, wheres)


class _Counts(NamedTuple):
    """The arrays of a ``Rank`` while they are filled in: all, (kinks, k, n), or those of one kink and row, (n,)."""

    twice: Integers
    below: Integers | None

    @classmethod
    def empty(cls, own: Ordered, other: Ordered, kinks: int) -> _Counts:
        shape = (kinks, *own.keys.shape)
        return cls(np.empty(shape, np.int32), None if other.shares is None else np.empty(shape, np.int32))

    def of(self, kink: int, row: int) -> _Counts:
        return _Counts(self.twice[kink, row], None if self.below is None else self.below[kink, row])

    @property
    def rank(self) -> Rank:
        return Rank(torch.from_numpy(self.twice), None if self.below is None else torch.from_numpy(self.below))


def _searched(pos: Ordered, neg: Ordered, wheres: list[float]) -> tuple[Rank, Rank]:
    """Return the ranks by binary search; a negative's rank is its place among the ranks of the positives."""
    s, t = (side.values(slice(None), slice(None)).expand(len(wheres), -1, -1) for side in (pos, neg))
    t = t.contiguous()
    where = torch.tensor(wheres, dtype=s.dtype, device=s.device)[:, None, None]
    u = s - where
    below, up_to = torch.searchsorted(t, u, out_int32=True), torch.searchsorted(t, u, right=True, out_int32=True)
    if any(wheres):
        rest = dropped(s, u, where)
        below, up_to = torch.where(rest > 0, up_to, below), torch.where(rest < 0, below, up_to)
    places = torch.arange(t.shape[-1], dtype=torch.int32, device=t.device).expand(t.shape).contiguous()
    neg_below, neg_up_to = (torch.searchsorted(ends, places, right=True, out_int32=True) for ends in (up_to, below))
    return Rank(below + up_to, below), Rank(neg_below + neg_up_to, neg_below)


def _merge(pos: Ordered, neg: Ordered, where: float, row: int, found: list[_Counts]) -> bool:
    """Fill in both ranks of one long row, and return False if rounding would decide a tie.

    The row is merged in chunks that fit into the cache.
    """
    n, m = pos.keys.shape[1], neg.keys.shape[1]
    every = slice(_CHUNK, None, _CHUNK)
    cuts = np.sort(np.concatenate([_row(pos, row, every) - where, _row(neg, row, every)]))
    ends_s, ends_t = [*_first_from(pos, row, cuts, where), n], [*_first_from(neg, row, cuts, 0.0), m]
    for a, b, c, d in zip([0, *ends_s], ends_s, [0, *ends_t], ends_t, strict=False):
        chunk = _chunk(_row(pos, row, slice(a, b)), _row(neg, row, slice(c, d)), where, neg.places is None)
        if chunk is None:
            return False
        for (twice, below), part, start, (low, high) in zip(
            found, (slice(a, b), slice(c, d)), (c, a), chunk, strict=True
        ):
            np.add(low, high, out=twice[part], casting="unsafe")
            twice[part] += 2 * start
            if below is not None:
                np.add(low, start, out=below[part], casting="unsafe")
    return True


def _places(count: int) -> Places:
    """Return 0, 1, 2, ..., from a cached array, since every chunk needs it."""
    return np.arange(count) if count > 2 * _CHUNK else _many_places(2 * _CHUNK)[:count]


@cache
def _many_places(count: int) -> Places:
    places = np.arange(count)
    places.setflags(write=False)
    return places


def _row(side: Ordered, row: int, columns: slice) -> Floats:
    values: Floats = side.values(slice(row, row + 1), columns).numpy()[0]
    return values


def _first_from(side: Ordered, row: int, cuts: Floats, where: float) -> list[int]:
    """Return, for each cut, the first place where score - where is not below the cut.

    It is searched among every 256th score first, and then between two of these.
    """
    step = 256
    places = []
    for cut, after in zip(
        cuts, np.searchsorted(_row(side, row, slice(None, None, step)) - where, cuts).tolist(), strict=True
    ):
        start = max(0, after - 1) * step
        places.append(start + int(np.searchsorted(_row(side, row, slice(start, start + step)) - where, cut)))
    return places


def _chunk(s: Floats, t: Floats, where: float, tagged: bool) -> tuple[tuple[Places, Places], ...] | None:
    """Return, for each s - where and each t, how many of the other class are below it, and how many up to it.

    Return None if rounding would decide a tie. ``tagged`` says that the values t have unused bits.
    """
    if not (len(s) and len(t)):  # as happens if few pairs are near the kink
        none = np.zeros(max(len(s), len(t)), np.intp)
        return (none[: len(s)],) * 2, (none[: len(t)],) * 2
    u = s - where
    from_u, tied = (_sort_tagged if tagged else _sort_runs)(u, t)
    ranks_u, ranks_t = np.flatnonzero(from_u), np.flatnonzero(~from_u)
    ranks_u -= _places(len(u))
    ranks_t -= _places(len(t))
    if not len(tied):
        return (ranks_u, ranks_u), (ranks_t, ranks_t)
    runs_u, runs_t = ((np.searchsorted(x, tied), np.searchsorted(x, tied, "right")) for x in (u, t))
    members = _members(*runs_u)
    if dropped(s[members], u[members], where).any():
        return None
    return _with_ties(ranks_u, runs_u, runs_t), _with_ties(ranks_t, runs_t, runs_u)


def _sort_tagged(u: Floats, t: Floats) -> tuple[NDArray[np.bool_], Floats]:
    """Merge u and t by a plain sort. Return which of the merged values come from u, and the values that tie.

    The lowest bit of every t is unused and 0, and that of every u is set to 1. This moves a u past no t, except one
    that it equals; which of the two comes first depends on their sign.
    """
    both = np.concatenate([t, u])
    bits = both.view(np.int64)
    bits[len(t) :] |= 1
    _sort_bits(bits)
    crossing = np.flatnonzero((bits[1:] ^ bits[:-1]) == 1)
    from_u = (bits.astype(np.int8) & 1).view(np.bool_)
    bits[crossing] &= -2
    return from_u, both[crossing]


def _sort_runs(u: Floats, t: Floats) -> tuple[NDArray[np.bool_], Floats]:
    """Return the same where t has no unused bits, by a stable sort, which takes linear time on two sorted runs."""
    both = np.concatenate([t, u])
    order = both.argsort(kind="stable")
    both, from_u = both[order], order >= len(t)
    return from_u, both[1:][(both[1:] == both[:-1]) & from_u[1:] & ~from_u[:-1]]


def _with_ties(ranks: Places, runs: tuple[Places, Places], others: tuple[Places, Places]) -> tuple[Places, Places]:
    """Return how many of the other class are below each point, and how many up to it, corrected for ties.

    Each tied value has a run of equal points in either class: ``runs`` says where those of this class start and end,
    ``others`` where those of the other class do.
    """
    members, sizes = _members(*runs), runs[1] - runs[0]
    below, up_to = ranks, ranks.copy()
    below[members], up_to[members] = (np.repeat(end, sizes) for end in others)
    return below, up_to


def _members(start: Places, end: Places) -> Places:
    """Return all places of the runs [start, end), one run after another."""
    sizes = end - start
    members: Places = np.arange(sizes.sum()) + np.repeat(end - sizes.cumsum(), sizes)
    return members
