"""The ranks of two classes in each other in long rows on a CPU: for each kink, one sort of both classes together.

Where NumPy's vector sort is the fastest, float32 scores are ranked by ``classes`` instead.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray

from symloss.pairwise.intervals import Sorted
from symloss.pairwise.keys import Floats, Integers, Places, key_blocks, members, write_keys, write_shifted_keys
from symloss.pairwise.ordered import Ordered, Rank, check_length
from symloss.pairwise.problem import Side
from symloss.pairwise.sorting import sort_stably

Counts = NDArray[np.int32]
Copies = list[tuple[Floats, Floats]]

_LONG = 2048  # from this many scores of both classes on, one sort is faster than searching
_PART, _MOST_PARTS = 1 << 19, 8  # scores that are sorted at a time, in the cache, unless these are too many parts


class Ranks(NamedTuple):
    """For each kink, the ranks of the shifted positives among the negatives, and of the negatives among those.

    Both classes are also given in increasing order, if asked for.
    """

    pos: Rank
    neg: Rank
    pos_sorted: Sorted | None
    neg_sorted: Sorted | None


def in_long_rows(pos: Side | Ordered, neg: Side | Ordered) -> bool:
    """Return whether this way of ranking is the fastest."""
    return pos.scores.device.type == "cpu" and pos.scores.shape[1] + neg.scores.shape[1] >= _LONG


def merged_ranks(pos: Side, neg: Side, wheres: list[float], with_sorted: bool) -> Ranks:
    """Return the ranks of finite scores at each ``where``, in the order in which the scores come."""
    check_length(pos)
    check_length(neg)
    k, m = neg.scores.shape
    width = m + pos.scores.shape[1]
    weighted = pos.shares is not None or neg.shares is not None
    twice = np.empty((len(wheres), k, width), np.int32)
    below = np.empty_like(twice) if weighted else None
    pos_sorted, neg_sorted = (_empty_like(side) if with_sorted else None for side in (pos, neg))
    for row in range(k):
        s, t = (side.scores[row].numpy() for side in (pos, neg))
        keys = np.empty(width, f"i{t.itemsize}")
        write_keys(t, keys[:m])
        for kink, where in enumerate(wheres):
            exact = write_shifted_keys(s, where, keys[m:])
            of_below = None if below is None else below[kink, row]
            copies = ([], []) if kink else (_copies(neg, neg_sorted, row), _copies(pos, pos_sorted, row))
            found = _Row(keys, m, exact, twice[kink, row], of_below, copies)
            for part in _parts(keys, m):
                found.rank(part)
    return Ranks(*_of_classes(twice, below, m), pos_sorted, neg_sorted)


def _empty_like(side: Side) -> Sorted:
    return Sorted(torch.empty_like(side.scores), None if side.shares is None else torch.empty_like(side.shares))


def _copies(side: Side, in_order: Sorted | None, row: int) -> Copies:
    """Return what is to be copied in increasing order of the scores, and where to."""
    if in_order is None:
        return []
    pairs = ((side.scores, in_order.scores), (side.shares, in_order.shares))
    return [(own[row].numpy(), target[row].numpy()) for own, target in pairs if own is not None and target is not None]


class _Row(NamedTuple):
    """The keys of m negatives and of the positives of one problem at one kink, and the arrays to write into.

    ``exact`` says which positives have a key that is exactly theirs; None stands for all. ``copies`` are arrays of the
    negatives and of the positives, each with an array that gets the same in increasing order of the scores.
    """

    keys: Integers
    m: int
    exact: NDArray[np.bool_] | None
    twice: Counts
    below: Counts | None
    copies: tuple[Copies, Copies]

    def rank(self, part: _Part) -> None:
        """Rank the scores of one part."""
        places, m = part.places, part.m
        keys, order = sort_stably(self.keys[places])
        twice = _twice(order, m, part.negatives, part.positives)
        below = None if self.below is None else twice // 2
        self._halve_ties(keys, order, part, twice, below)
        self.twice[places] = twice
        if self.below is not None and below is not None:
            self.below[places] = below
        if self.copies[0]:
            negative, positive = np.flatnonzero(order < m), np.flatnonzero(order >= m)  # faster than masks
            _copy(self.copies[0], places[:m], order[negative], part.negatives)
            _copy(self.copies[1], places[m:] - self.m, order[positive] - m, part.positives)

    def _halve_ties(self, keys: Integers, order: Places, part: _Part, twice: Counts, below: Counts | None) -> None:
        """Correct the ranks of scores that equal one of the other class, which counts one half."""
        last = _last_of_mixed(keys, order, part.m)
        if not len(last):
            return
        first, end = (np.searchsorted(keys, keys[last], side) for side in ("left", "right"))
        of_neg, of_pos = order[members(first, last + 1)], order[members(last + 1, end)]
        negatives = np.repeat(last + 1 - first, end - last - 1).astype(np.int32)  # for each positive
        ties = np.ones(len(of_pos), np.int32)
        if self.exact is not None:
            ties = self.exact[part.places[of_pos] - self.m].astype(np.int32)
        starts = np.cumsum(end - last - 1) - (end - last - 1)
        twice[of_neg] += np.repeat(np.add.reduceat(ties, starts), last + 1 - first)
        negatives *= ties
        twice[of_pos] -= negatives
        if below is not None:
            below[of_pos] -= negatives


class _Part(NamedTuple):
    """The places of all scores in a range of keys, m negatives first; how many negatives and positives are lower."""

    places: Places
    m: int
    negatives: int
    positives: int


def _parts(keys: Integers, m: int) -> Iterator[_Part]:
    """Cut the keys of m negatives and of the positives into ranges, from the lowest to the highest."""
    count = min(len(keys) // _PART + 1, _MOST_PARTS)
    sample = np.sort(keys[:: max(1, len(keys) // 1024)])
    number = np.zeros(len(keys), np.int8)
    for border in sample[[len(sample) * part // count for part in range(1, count)]]:
        number += keys >= border
    negatives = positives = 0
    for part in range(count):
        places = np.flatnonzero(number == part)
        of_neg = int(np.searchsorted(places, m))
        yield _Part(places, of_neg, negatives, positives)
        negatives, positives = negatives + of_neg, positives + len(places) - of_neg


def _twice(order: Places, m: int, negatives: int, positives: int) -> Counts:
    """Return two times the number of lower scores of the other class, before ties are halved.

    Negatives come first among equal keys: a positive counts them, and a negative does not count positives.
    """
    twice = np.empty(len(order), np.int32)
    for block in key_blocks(len(order)):
        here = order[block]
        positive = (here >= m).view(np.int8)
        count = np.cumsum(positive, dtype=np.int32)
        count += positives
        rank = np.arange(1, len(here) + 1, dtype=np.int32)  # of a positive: what comes before it and is not positive
        rank += negatives + positives
        rank -= 2 * count
        rank *= positive
        rank += count
        rank *= 2
        twice[here] = rank
        new = int(count[-1]) - positives
        negatives, positives = negatives + len(here) - new, positives + new
    return twice


def _copy(pairs: Copies, places: Places, order: Places, start: int) -> None:
    for own, target in pairs:
        target[start : start + len(order)] = own[places][order]


def _last_of_mixed(keys: Integers, order: Places, m: int) -> Places:
    """Return the last negative of each run of equal keys that has both classes."""
    found = [np.empty(0, np.intp)]
    for block in key_blocks(len(keys) - 1):
        after = slice(block.start + 1, block.stop + 1)
        here = block.start + np.flatnonzero(keys[block][: len(keys[after])] == keys[after])
        found.append(here[(order[here] < m) & (order[here + 1] >= m)])
    return np.concatenate(found)


def _of_classes(twice: Counts, below: Counts | None, m: int) -> tuple[Rank, Rank]:
    both = Rank(torch.from_numpy(twice), None if below is None else torch.from_numpy(below))
    neg, pos = (
        Rank(both.twice[..., part], None if both.below is None else both.below[..., part])
        for part in (slice(m), slice(m, None))
    )
    return pos, neg
