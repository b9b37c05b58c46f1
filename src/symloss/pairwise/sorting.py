"""A stable sort of integers by one of two methods, of which the faster one on this processor is used.

NumPy sorts plain integers with vector instructions; the places are packed into the same integers. PyTorch has a radix
sort that moves the places along. On an Intel Xeon the first is about twice as fast, on an AMD EPYC the second is four
times as fast. Both return exactly the same.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np
import torch

from symloss.pairwise.keys import Integers, Places, key_blocks

_LONG = 1 << 15  # PyTorch sorts fewer integers by comparisons
_TRYING = threading.Lock()
_TRIAL = 1 << 16  # the number of integers that both methods sort to find out which is faster


def sort_stably(keys: Integers) -> tuple[Integers, Places]:
    """Return int32 or int64 keys in increasing order, and their places before; equal keys stay in their order."""
    if len(keys) < _LONG:
        return by_vectors(keys)
    return fastest(keys.dtype)(keys)


def by_vectors(keys: Integers) -> tuple[Integers, Places]:
    """Sort by NumPy."""
    if keys.dtype != np.int32:
        return _argsort(keys)
    ordered, places = keys.copy(), np.empty(len(keys), np.int64)
    sort_with_places(ordered, places)
    return ordered, places


def sort_with_places(keys: Integers, places: Places) -> None:
    """Sort int32 keys in place, and write the places that they had before into an array of int64.

    Both share that array while they are sorted, and go in and out of it in blocks that stay in the cache.
    """
    for block in key_blocks(len(keys)):
        packed = places[block]
        packed[:] = keys[block]
        packed <<= 32
        packed |= np.arange(block.start, block.start + len(packed))
    places.sort()
    for block in key_blocks(len(keys)):
        packed = places[block]
        np.right_shift(packed, 32, out=keys[block], casting="unsafe")
        packed &= 0xFFFFFFFF


def _argsort(keys: Integers) -> tuple[Integers, Places]:
    """Sort keys that leave no room for their places; the stable sort is slow, and needed only for equal keys."""
    places = np.argsort(keys)
    ordered = keys[places]
    if ((ordered[1:] == ordered[:-1]) & (places[1:] < places[:-1])).any():
        places = np.argsort(keys, kind="stable")
    return ordered, places


def by_digits(keys: Integers) -> tuple[Integers, Places]:
    """Sort by PyTorch."""
    ordered, places = torch.sort(torch.from_numpy(keys), stable=True)
    return ordered.numpy(), places.numpy()


def fastest(dtype: np.dtype[Any]) -> Callable[[Integers], tuple[Integers, Places]]:
    """Return the faster method on this processor, after a trial of some milliseconds that is made once."""
    with _TRYING:  # trials of two threads at once would disturb each other
        return _tried(dtype)


@cache
def _tried(dtype: np.dtype[Any]) -> Callable[[Integers], tuple[Integers, Places]]:
    keys = (np.arange(_TRIAL) * 0x5851F42D4C957F2D).astype(dtype)  # in disorder
    return min((by_digits, by_vectors), key=lambda method: min(_seconds(method, keys) for _ in range(3)))


def _seconds(method: Callable[[Integers], object], keys: Integers) -> float:
    start = time.perf_counter()
    method(keys)
    return time.perf_counter() - start
