"""The ranks of two classes in each other in long rows on a CPU: for each kink, one sort of both classes together.

A score's key is an integer, and keys are ordered as scores are. A shifted positive u = s - where gets the key of the
largest number, in the precision of the scores, that is not above it. So no comparison is rounded: a negative t is below
u if its key is not above that of u, unless the two are equal.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from symloss.pairwise.ordered import Rank, check_length
from symloss.pairwise.problem import Side, dropped
from symloss.pairwise.sorting import Integers, Places, sort_stably

Floats = NDArray[Any]  # float32 or float64
Counts = NDArray[np.int32]

_LONG = 2048  # from this many scores of both classes on, one sort is faster than searching
_BLOCK = 1 << 15  # scores whose keys are computed at a time, so that temporaries stay in the cache
_PART, _MOST_PARTS = 1 << 19, 8  # scores that are sorted at a time, for the same reason, unless these are too many parts


class Ranks(NamedTuple):
    """For each kink, the ranks of the shifted positives among the negatives, and of the negatives among those.

    ``pos_order`` and ``neg_order`` hold the places of each class in increasing order of the scores, if asked for.
    """

    pos: Rank
    neg: Rank
    pos_order: Tensor | None
    neg_order: Tensor | None


def in_long_rows(pos: Side, neg: Side) -> bool:
    """Return whether this way of ranking is the fastest."""
    return pos.scores.device.type == "cpu" and pos.scores.shape[1] + neg.scores.shape[1] >= _LONG


def merged_ranks(pos: Side, neg: Side, wheres: list[float], with_order: bool) -> Ranks:
    """Return the ranks of finite scores at each ``where``, in the order of the scores."""
    check_length(pos)
    check_length(neg)
    problems, m = neg.scores.shape
    width = m + pos.scores.shape[1]
    weighted = pos.shares is not None or neg.shares is not None
    twice = np.empty((len(wheres), problems, width), np.int32)
    below = np.empty_like(twice) if weighted else None
    order = np.empty((problems, width), np.intp) if with_order else None
    for row in range(problems):
        s, t = (side.scores[row].numpy() for side in (pos, neg))
        keys = np.empty(width, f"i{t.itemsize}")
        _write_keys(t, keys[:m])
        for kink, where in enumerate(wheres):
            exact = _write_shifted_keys(s, where, keys[m:])
            found = _Row(
                keys,
                m,
                exact,
                twice[kink, row],
                None if below is None else below[kink, row],
                None if order is None or kink else order[row],
            )
            for part in _parts(keys, m):
                found.rank(*part)
    return Ranks(*_of_classes(twice, below, m), *_orders(order, m))


class _Row(NamedTuple):
    """The keys of m negatives and of the positives of one problem at one kink, and the arrays to write into.

    ``exact`` says which positives have a key that is exactly theirs; None stands for all.
    """

    keys: Integers
    m: int
    exact: NDArray[np.bool_] | None
    twice: Counts
    below: Counts | None
    order: Places | None

    def rank(self, part: Places, negatives: int, positives: int) -> None:
        """Rank the scores of one part, given how many negatives and positives have lower keys."""
        keys, order = sort_stably(self.keys[part])
        places = part[order]
        positive = places >= self.m
        count = np.cumsum(positive.view(np.int8), dtype=np.int32)
        count += positives
        first = negatives + positives + 1
        # Negatives come first among equal keys: a positive counts them, and a negative does not count positives.
        rank = np.where(positive, np.arange(first, first + len(part), dtype=np.int32) - count, count)
        if self.below is not None:
            self.below[places] = rank
        rank *= 2
        self.twice[places] = rank
        self._halve_ties(keys, places, positive)
        if self.order is not None:
            _put(self.order[: self.m], negatives, places[~positive])
            _put(self.order[self.m :], positives, places[positive] - self.m)

    def _halve_ties(self, keys: Integers, places: Places, positive: NDArray[np.bool_]) -> None:
        """Correct the ranks of scores that equal one of the other class, which counts one half."""
        last = np.flatnonzero((keys[1:] == keys[:-1]) & (positive[1:] > positive[:-1]))  # negatives before a positive
        if not len(last):
            return
        first, end = (np.searchsorted(keys, keys[last], side) for side in ("left", "right"))
        of_neg, of_pos = places[_members(first, last + 1)], places[_members(last + 1, end)]
        negatives = np.repeat(last + 1 - first, end - last - 1).astype(np.int32)  # for each positive
        ties = np.ones(len(of_pos), np.int32) if self.exact is None else self.exact[of_pos - self.m].astype(np.int32)
        starts = np.cumsum(end - last - 1) - (end - last - 1)
        positives = np.repeat(np.add.reduceat(ties, starts), last + 1 - first)  # for each negative
        negatives *= ties
        self.twice[of_pos] -= negatives
        self.twice[of_neg] += positives
        if self.below is not None:
            self.below[of_pos] -= negatives


def _write_keys(scores: Floats, keys: Integers) -> None:
    for block in _blocks(len(scores)):
        np.add(scores[block], 0, out=keys[block].view(scores.dtype))  # turns -0 into 0
        _order_bits(keys[block])


def _order_bits(bits: Integers) -> None:
    """Turn the bits of floats into integers of the same order, in place."""
    bits ^= (bits >> (8 * bits.itemsize - 1)) & np.iinfo(bits.dtype).max


def _write_shifted_keys(scores: Floats, where: float, keys: Integers) -> NDArray[np.bool_] | None:
    """Write the keys of score - where, and return which of them are exact; None stands for all."""
    if not where:
        _write_keys(scores, keys)
        return None
    exact = np.empty(len(scores), np.bool_)
    with np.errstate(over="ignore"):
        for block in _blocks(len(scores)):
            s = scores[block].astype(np.float64)
            u = s - where
            rounded = u.astype(scores.dtype)
            keys[block] = rounded.view(keys.dtype)
            _order_bits(keys[block])
            excess = (rounded - u) - dropped(s, u, where)  # its sign is exact
            keys[block] -= excess > 0
            np.equal(excess, 0, out=exact[block])
    return exact


def _blocks(count: int) -> Iterator[slice]:
    return (slice(start, start + _BLOCK) for start in range(0, count, _BLOCK))


def _parts(keys: Integers, m: int) -> Iterator[tuple[Places, int, int]]:
    """Cut the keys into ranges; yield the places of each, and how many negatives and positives have lower keys."""
    count = min(len(keys) // _PART + 1, _MOST_PARTS)
    sample = np.sort(keys[:: max(1, len(keys) // 1024)])
    number = np.zeros(len(keys), np.int8)
    for border in sample[[len(sample) * part // count for part in range(1, count)]]:
        number += keys >= border
    negatives = positives = 0
    for part in range(count):
        places = np.flatnonzero(number == part)
        yield places, negatives, positives
        of_neg = int(np.searchsorted(places, m))
        negatives, positives = negatives + of_neg, positives + len(places) - of_neg


def _put(target: Places, start: int, places: Places) -> None:
    target[start : start + len(places)] = places


def _members(start: Places, end: Places) -> Places:
    """Return all places of the runs [start, end), one run after another."""
    sizes = end - start
    members: Places = np.arange(sizes.sum()) + np.repeat(end - sizes.cumsum(), sizes)
    return members


def _of_classes(twice: Counts, below: Counts | None, m: int) -> tuple[Rank, Rank]:
    both = Rank(torch.from_numpy(twice), None if below is None else torch.from_numpy(below))
    neg, pos = (
        Rank(both.twice[..., part], None if both.below is None else both.below[..., part])
        for part in (slice(m), slice(m, None))
    )
    return pos, neg


def _orders(order: Places | None, m: int) -> tuple[Tensor | None, Tensor | None]:
    if order is None:
        return None, None
    both = torch.from_numpy(order)
    return both[:, m:], both[:, :m]
