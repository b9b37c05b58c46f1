"""The ranks of two classes in each other in long rows on a CPU whose fastest sort is NumPy's vector sort.

Each class is sorted once. At each kink the two are merged in pieces that fit into the cache: sorting a piece anew, with
the class in the lowest bit, takes less time than searching. It counts as ``merged`` does, by keys.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray

from symloss.pairwise.keys import Floats, Integers, Places, members, turn_into_scores, write_keys, write_shifted_keys
from symloss.pairwise.ordered import Ordered, Rank, check_length
from symloss.pairwise.problem import Side
from symloss.pairwise.sorting import by_vectors, fastest, sort_with_places

Counts = NDArray[np.int32]

_PIECE = 1 << 14  # negatives that are merged at a time


def sorts_by_vectors(dtype: torch.dtype) -> bool:
    """Return whether this way of ranking is the fastest for long rows: keys of float64 leave no room for places."""
    return dtype == torch.float32 and fastest(np.dtype(np.int32)) is by_vectors


def ordered_by_vectors(side: Side) -> Ordered:
    """Sort the finite scores of a class, in float32."""
    check_length(side)
    scores, places = torch.empty_like(side.scores), torch.empty_like(side.scores, dtype=torch.int64)
    for own, in_order, there in zip(side.scores.numpy(), scores.numpy(), places.numpy(), strict=True):
        keys = in_order.view(np.int32)  # which take the room of the scores meanwhile
        write_keys(own, keys)
        sort_with_places(keys, there)
        turn_into_scores(keys)
    shares = None if side.shares is None else side.shares.gather(1, places)
    return Ordered(scores, places, shares, side.scores.dtype, side.total)


def ranks_in_pieces(pos: Ordered, neg: Ordered, wheres: list[float]) -> tuple[Rank, Rank]:
    """Return what ``ranks`` returns, for classes that ``ordered_by_vectors`` has sorted."""
    weighted = pos.shares is not None or neg.shares is not None
    found = [_Numbers.empty((len(wheres), *side.scores.shape), weighted) for side in (pos, neg)]
    for row, (s, t) in enumerate(zip(pos.scores.numpy(), neg.scores.numpy(), strict=True)):
        of_u, of_t = np.empty(len(s), np.int32), np.empty(len(t), np.int32)
        write_keys(t, of_t)
        for kink, where in enumerate(wheres):
            exact = write_shifted_keys(s, where, of_u)
            at_u, at_t = (numbers.of_row(kink, row) for numbers in found)
            for piece in _pieces(of_u, of_t):
                at_u.write(piece.u, piece.below_u)
                at_t.write(piece.t, piece.below_t)
                _halve_ties(s, of_u, of_t, exact, piece, at_u, at_t)
    return found[0].as_rank(), found[1].as_rank()


class _Numbers(NamedTuple):
    """The arrays of a ``Rank``; ``below`` is None if it is not needed."""

    twice: Counts
    below: Counts | None

    @classmethod
    def empty(cls, shape: tuple[int, ...], weighted: bool) -> _Numbers:
        return cls(np.empty(shape, np.int32), np.empty(shape, np.int32) if weighted else None)

    def of_row(self, kink: int, row: int) -> _Numbers:
        return _Numbers(self.twice[kink, row], None if self.below is None else self.below[kink, row])

    def write(self, places: slice, below: Places) -> None:
        np.multiply(below, 2, out=self.twice[places], casting="unsafe")
        if self.below is not None:
            self.below[places] = below

    def as_rank(self) -> Rank:
        return Rank(torch.from_numpy(self.twice), None if self.below is None else torch.from_numpy(self.below))


class _Piece(NamedTuple):
    """Neighbors of both classes: their places, and how many of the other class are below each, before ties are halved.

    A negative with the key of a positive is counted for that, and the positive is not counted for the negative.
    ``tied`` are the places in the piece of the first positive of each run of equal keys that has both classes.
    """

    u: slice
    t: slice
    below_u: Places
    below_t: Places
    tied: Places


def _pieces(of_u: Integers, of_t: Integers) -> Iterator[_Piece]:
    """Cut the keys of the shifted positives and of the negatives, both in order; equal keys stay together."""
    cuts = of_t[_PIECE::_PIECE]
    ends = (np.append(keys.searchsorted(cuts), len(keys)).tolist() for keys in (of_u, of_t))
    start_u = start_t = 0
    for end_u, end_t in zip(*ends, strict=True):
        u, t = slice(start_u, end_u), slice(start_t, end_t)
        below_u, below_t, tied = _counted_below(of_u[u], of_t[t])
        below_u += start_t
        below_t += start_u
        yield _Piece(u, t, below_u, below_t, tied)
        start_u, start_t = end_u, end_t


def _counted_below(of_u: Integers, of_t: Integers) -> tuple[Places, Places, Places]:
    """Return the last three parts of a piece, counted from its start; t comes before u among equal keys."""
    n, m = len(of_u), len(of_t)
    if not (n and m):
        return np.zeros(n, np.intp), np.zeros(m, np.intp), np.empty(0, np.intp)
    low, high = min(int(of_u[0]), int(of_t[0])), max(int(of_u[-1]), int(of_t[-1]))
    both: Integers = np.empty(n + m, np.uint32 if high - low < 1 << 31 else np.int64)  # the shorter, the faster to sort
    np.subtract(of_t, low, out=both[:m], dtype=np.int64, casting="unsafe")
    np.subtract(of_u, low, out=both[m:], dtype=np.int64, casting="unsafe")
    both <<= 1
    both[m:] |= 1
    both.sort()
    is_u = (both.astype(np.int8) & 1).view(np.bool_)  # the lowest bit survives
    below_u, below_t = np.flatnonzero(is_u), np.flatnonzero(~is_u)
    tied = below_u.searchsorted(np.flatnonzero((both[1:] ^ both[:-1]) == 1) + 1)
    below_u -= np.arange(n)
    below_t -= np.arange(m)
    return below_u, below_t, tied


def _halve_ties(
    s: Floats,
    of_u: Integers,
    of_t: Integers,
    exact: NDArray[np.bool_] | None,
    piece: _Piece,
    at_u: _Numbers,
    at_t: _Numbers,
) -> None:
    """Correct the ranks of scores that equal one of the other class, which counts one half."""
    first = piece.tied + piece.u.start
    if exact is not None:  # among equal keys the exact ones are the lowest, so they come first
        first = first[exact[first]]
    if not len(first):
        return
    last = s.searchsorted(s[first], "right")  # those with equal scores are exact too, and no others
    end = piece.below_u[first - piece.u.start]
    start = of_t[piece.t].searchsorted(of_u[first]) + piece.t.start
    tied = members(first, last)
    ties = np.repeat(end - start, last - first).astype(np.int32)
    at_u.twice[tied] -= ties
    if at_u.below is not None:
        at_u.below[tied] -= ties
    at_t.twice[members(start, end)] += np.repeat(last - first, end - start).astype(np.int32)
