"""Numbers of witnesses: short enough to read, and true as they are printed."""

from __future__ import annotations

from collections.abc import Callable


def shortest(holds: Callable[..., bool], *numbers: float, digits: int = 4) -> tuple[float, ...]:
    """Return the numbers rounded to so few digits, at least ``digits``, that what they witness still holds.

    Examples
    --------
    >>> shortest(lambda x: x > 2, 2.00012345)
    (2.0001,)
    """
    for precision in range(digits, 17):
        rounded = tuple(float(f"{number:.{precision}g}") for number in numbers)
        if holds(*rounded):
            return rounded
    return numbers


def plain(number: float) -> str:
    """Return a number with all its digits, and no others.

    Examples
    --------
    >>> plain(2.0), plain(0.1), plain(-0.0)
    ('2', '0.1', '0')
    """
    return f"{number + 0.0!r}".removesuffix(".0")


def told_apart(*numbers: float, digits: int = 4) -> tuple[str, ...]:
    """Return the numbers as texts with so many digits, at least ``digits``, that different numbers look different.

    Examples
    --------
    >>> told_apart(1.0, 1.0000012)
    ('1', '1.000001')
    """
    for precision in range(digits, 18):
        texts = tuple(f"{number:.{precision}g}" for number in numbers)
        if len(set(texts)) == len(set(numbers)):
            break
    return texts
