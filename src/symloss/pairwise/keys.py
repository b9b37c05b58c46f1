"""The keys of scores: integers in the order of the scores, so that sorting and comparing them is fast and exact.

A shifted positive u = s - where gets the key of the largest number, in the precision of the scores, that is not above
it. So no comparison is rounded: a negative t is below u if its key is not above that of u, unless the two are equal.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from symloss.pairwise.problem import dropped

Floats = NDArray[Any]  # float32 or float64
Integers = NDArray[Any]  # int32 or int64
Places = NDArray[np.intp]

_BLOCK = 1 << 15  # scores at a time, so that temporaries stay in the cache


def write_keys(scores: Floats, keys: Integers) -> None:
    """Write the keys of scores into an array of integers of the same size."""
    for block in key_blocks(len(scores)):
        np.add(scores[block], 0, out=keys[block].view(scores.dtype))  # turns -0 into 0
        _order_bits(keys[block])


def write_shifted_keys(scores: Floats, where: float, keys: Integers) -> NDArray[np.bool_] | None:
    """Write the keys of score - where, and return which of them are exact; None stands for all."""
    if not where:
        write_keys(scores, keys)
        return None
    exact = np.empty(len(scores), np.bool_)
    with np.errstate(over="ignore"):
        for block in key_blocks(len(scores)):
            s = scores[block].astype(np.float64)
            u = s - where
            rounded = u.astype(scores.dtype)
            keys[block] = rounded.view(keys.dtype)
            _order_bits(keys[block])
            excess = (rounded - u) - dropped(s, u, where)  # its sign is exact
            keys[block] -= excess > 0
            np.equal(excess, 0, out=exact[block])
    return exact


def turn_into_scores(keys: Integers) -> None:
    """Turn keys into the bits of their scores, in place."""
    for block in key_blocks(len(keys)):
        _order_bits(keys[block])


def key_blocks(count: int) -> Iterator[slice]:
    """Cut the places of keys into blocks."""
    return (slice(start, start + _BLOCK) for start in range(0, count, _BLOCK))


def members(start: Places, end: Places) -> Places:
    """Return all places of the runs [start, end), one run after another."""
    sizes = end - start
    places: Places = np.arange(sizes.sum()) + np.repeat(end - sizes.cumsum(), sizes)
    return places


def _order_bits(bits: Integers) -> None:
    """Turn the bits of floats into integers of the same order, or back, in place."""
    bits ^= (bits >> (8 * bits.itemsize - 1)) & np.iinfo(bits.dtype).max
