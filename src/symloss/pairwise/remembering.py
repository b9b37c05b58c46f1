"""Functions of a loss that are computed once."""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache, wraps
from typing import Any, TypeVar, cast

F = TypeVar("F", bound=Callable[..., object])


def remembered(function: F) -> F:
    """Return a function that keeps its results, and computes those of arguments that cannot be hashed every time.

    Examples
    --------
    >>> @remembered
    ... def size(numbers) -> int:
    ...     print("computes")
    ...     return len(numbers)
    >>> size((1, 2)), size((1, 2))
    computes
    (2, 2)
    >>> size([1, 2]), size([1, 2])
    computes
    computes
    (2, 2)
    """
    kept = lru_cache(maxsize=256)(function)

    @wraps(function)
    def wrapper(*args: Any) -> Any:
        try:
            return kept(*args)
        except TypeError as error:
            if "unhashable" not in str(error):
                raise
            return function(*args)

    return cast(F, wrapper)
