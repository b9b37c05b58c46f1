"""Random changes of bytes and of JSON values."""

from __future__ import annotations

import copy
import random
from collections.abc import Iterator
from typing import Any

NUMBERS = [0, -1, 1, 3, 2**31 - 1, 2**31, 2**63, -(2**63), 10**400, 0.5, -1e308, 1e-320, True, False]
OTHERS = [None, "", "x", "a" * 5000, "<U500000000", "\ud800", [], {}, [[]], {"a": 1}, {"float": "nan"},
          {"float": "inf"}, {"array": "array0"}, {"part": 0}, {"scalar": ["<f8", 1]},
          {"values": {"dtype": "<U400000000", "items": ["a", "b"]}}, {"own network": None}]  # fmt: skip
NAMES = ["boosting", "extra trees", "linear", "estimator", "x_"]


def damaged(content: bytes, generator: random.Random) -> bytes:
    """Return bytes of which some are other ones, missing or repeated."""
    kinds = ["flip", "flip", "cut", "insert", "repeat", "remove", "zeros", "all zeros", "none"]
    kind, changed = generator.choice(kinds), bytearray(content)
    if not changed or kind == "none":
        return b""
    at, length = generator.randrange(len(changed)), generator.choice([1, 10, 300])
    if kind == "flip":
        for _ in range(generator.choice([1, 1, 20])):
            changed[generator.randrange(len(changed))] ^= 1 << generator.randrange(8)
    elif kind == "cut":
        del changed[at:]
    elif kind == "insert":
        changed[at:at] = generator.randbytes(length)
    elif kind == "repeat":
        changed[at:at] = changed[at : at + length]
    elif kind == "remove":
        del changed[at : at + length]
    elif kind == "zeros":
        changed[at : at + length] = bytes(len(changed[at : at + length]))
    else:
        changed[:] = bytes(len(changed))
    return bytes(changed)


def changed_json(value: Any, generator: random.Random) -> Any:
    """Return a JSON value in which one place is another value, is missing, or stands twice."""
    value = copy.deepcopy(value)
    all_places = [path for path in _places(value) if path]
    if not all_places:
        return None
    *path, last = generator.choice(all_places)
    holder = _at(value, path)
    kind = generator.choice(["number", "number", "other", "other", "remove", "another", "deep", "twice", "rename"])
    if kind == "remove":
        del holder[last]
    elif kind == "another":
        holder[last] = copy.deepcopy(_at(value, generator.choice(all_places)))
    elif kind == "twice" and isinstance(holder, list):
        holder.append(holder[last])
    elif kind == "rename" and isinstance(holder, dict):
        holder[generator.choice(NAMES)] = holder.pop(last)
    else:
        holder[last] = _nested(300) if kind == "deep" else generator.choice(NUMBERS if kind == "number" else OTHERS)
    return value


def _places(value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """Yield where every value stands."""
    yield path
    items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, item in items:
        yield from _places(item, (*path, key))


def _at(value: Any, path: Any) -> Any:
    for key in path:
        value = value[key]
    return value


def _nested(depth: int) -> list[Any]:
    nested: list[Any] = []
    for _ in range(depth):
        nested = [nested]
    return nested
