"""Numbers that are written for people: 1,000.52, 45%, $12.50."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]

# What people write where a number is missing.
MISSING = {"", "?", "-", "--", ".", "n/a", "na", "nan", "none", "null", "unknown", "missing"}
_AMOUNT = re.compile(r"([-+]?)([$€£¥]?)[ \u00a0]?([-+]?)([\d.,]+(?:[eE][-+]?\d+)?)[ \u00a0\u202f]?([%$€£¥]?)", re.ASCII)
_GAP = re.compile(r"(?<=\d)[ '\u00a0\u202f](?=\d{3}(?!\d))", re.ASCII)  # between thousands, as in 1 000,52
# A number with commas between thousands or without; none begins with 0, as codes do, except 0 itself and 0.5.
_NUMBER = re.compile(r"(?:(?:0|[1-9]\d*|[1-9]\d{0,2}(?:,\d{3})+)(?:\.\d*)?|\.\d+)(?:[eE][-+]?\d+)?", re.ASCII)
_BEFORE_POINTS = ("$", "£", "¥")  # currencies of countries that write 1,000.52
_SWAPPED = str.maketrans(",.", ".,")


class WrittenNumbers(NamedTuple):
    """How the texts of a column become numbers.

    Parameters
    ----------
    decimal : {".", ","}
        What comes before the decimals; the other one may stand between thousands.
    mark : str
        The sign that every value has: that of percent, or of a currency. 45% becomes 45.
    told : bool
        Whether the values tell which of the two signs comes before the decimals.

    Examples
    --------
    >>> numbers = WrittenNumbers.recognize(["$1,000.52", "-$3"])
    >>> numbers
    WrittenNumbers(decimal='.', mark='$', told=True)
    >>> out = np.zeros((2, 1))
    >>> numbers.fill(["$2,500", "many"], np.array([0, 1]), out), out
    (array([False,  True]), array([[2500.], [  nan]]))
    """

    decimal: str
    mark: str = ""
    told: bool = True

    @classmethod
    def recognize(cls, texts: Sequence[str], many: bool = False) -> WrittenNumbers | None:
        """Return how these texts become numbers, or None if not all do, except some that stand for a missing value.

        Plain digits, and decimal commas, may also name categories: ``many`` says that there are too many for that.
        """
        amounts = []
        for text in texts:  # most columns end at their first value
            if (amount := _amount(text)) is not None:
                amounts.append(amount)
            elif text.strip().lower() not in MISSING:
                return None
        marks = {amount[2] + amount[5] for amount in amounts}
        if len(marks) != 1 or len(mark := marks.pop()) > 1 or any(amount[1] and amount[3] for amount in amounts):
            return None
        bodies = [amount[4] for amount in amounts]
        commas, points = (any(sign in body for body in bodies) for sign in ",.")
        if all(_NUMBER.fullmatch(body) for body in bodies):
            told = not (commas or points) or mark in _BEFORE_POINTS or not _have_decimal_commas(bodies)
            if not told and commas and points:  # 1,000 beside 1.000
                return None
            return cls(".", mark, told) if many or mark or commas else None
        return cls(",", mark) if (many or mark) and _have_decimal_commas(bodies) else None

    @property
    def what(self) -> str:
        """What the column must hold, in a word."""
        return "numbers"

    @property
    def decision(self) -> str:
        """What the column becomes, in words."""
        marked = f", all with {self.mark}" if self.mark else ""
        comma = " with decimal commas" if self.decimal == "," else ""
        told = "" if self.told else " (no value tells what comes before decimals: a point, so 1,000 is a thousand)"
        return f"numbers written as text{comma}{marked}{told}"

    def features(self, name: str) -> list[str]:
        """Return the name of the feature of a column."""
        return [name]

    def fill(self, texts: Sequence[str], codes: NDArray[np.intp], out: Array) -> NDArray[np.bool_]:
        """Write the numbers of ``texts[codes]`` into ``out`` (-1 is missing), and return which texts are no numbers."""
        numbers = np.array([*map(self._number, texts), np.nan])  # the last one is that of missing values
        out[:, 0] = numbers[codes]
        absent = np.array([text.strip().lower() in MISSING for text in texts], bool)
        unread: NDArray[np.bool_] = ~np.isfinite(numbers[:-1]) & ~absent
        return unread

    def _number(self, text: str) -> float:
        amount = _amount(text)
        if amount is None or amount[2] + amount[5] != self.mark:
            return np.nan
        body = amount[4] if self.decimal == "." else amount[4].translate(_SWAPPED)
        if _NUMBER.fullmatch(body) is None:
            return np.nan
        return float(amount[1] + amount[3] + body.replace(",", ""))


def _amount(text: str) -> re.Match[str] | None:
    return _AMOUNT.fullmatch(_GAP.sub("", text.strip()))


def _have_decimal_commas(bodies: list[str]) -> bool:
    return all(_NUMBER.fullmatch(body.translate(_SWAPPED)) for body in bodies)
