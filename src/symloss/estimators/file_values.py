"""Numbers that were read from a file, each of them checked."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray


def checked_number(value: Any, name: str) -> float:
    """Return a finite number; raise ValueError if it is none.

    Examples
    --------
    >>> checked_number("high", "threshold_")
    Traceback (most recent call last):
    ValueError: expected a number as threshold_, found 'high'
    """
    try:
        found = float(value) if isinstance(value, (int, float, np.number)) and not isinstance(value, bool) else np.nan
    except OverflowError:
        found = np.nan
    if not np.isfinite(found):
        raise ValueError(f"expected a number as {name}, found {shown(value)}")
    return found


def checked_count(value: Any, name: str, largest: int) -> int:
    """Return a whole number of at least 1; raise ValueError if it is none.

    Examples
    --------
    >>> checked_count(0, "n_features", 10)
    Traceback (most recent call last):
    ValueError: expected a whole number from 1 to 10 as n_features, found 0
    """
    if not isinstance(value, (int, np.integer)) or isinstance(value, bool) or not 1 <= value <= largest:
        raise ValueError(f"expected a whole number from 1 to {largest} as {name}, found {shown(value)}")
    return int(value)


def shown(value: Any) -> str:
    """Return a value for an error message, shortened to a few words.

    Examples
    --------
    >>> shown("a" * 100)
    "'aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa..."
    """
    if isinstance(value, np.ndarray):
        return f"an array of type {value.dtype} and shape {value.shape}"
    if isinstance(value, int) and abs(value) >= 10**40:
        return "a whole number of more than 40 digits"
    text = " ".join(repr(value).split())
    return text if len(text) <= 50 else text[:49] + "..."


def checked_numbers(array: Any, name: str, count: int | None = None) -> NDArray[np.float64]:
    """Return a list of finite numbers; raise ValueError if it is none, or if there are not as many as expected.

    Examples
    --------
    >>> checked_numbers(np.array([0.5, np.nan]), "values", 2)
    Traceback (most recent call last):
    ValueError: expected 2 finite numbers as values, found others
    """
    if not isinstance(array, np.ndarray) or array.dtype != np.float64 or array.ndim != 1:
        raise ValueError(f"expected a list of numbers as {name}, found {shown(array)}")
    if (count is not None and len(array) != count) or not np.isfinite(array).all():
        raise ValueError(f"expected {len(array) if count is None else count} finite numbers as {name}, found others")
    return array
