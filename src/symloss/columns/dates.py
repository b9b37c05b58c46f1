"""Dates as numbers: which texts are dates, in which order day and month come, and what a date becomes."""

from __future__ import annotations

import datetime
import re
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]
Moments = NDArray[np.datetime64]

ORIGIN = "2000-01-01"
PARTS = ("year", "month", "weekday", "hour", f"days since {ORIGIN}")
_MONTHS = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")
_NAME = rf"({'|'.join(_MONTHS)})(?:uary|ruary|ch|il|e|y|ust|t|tember|ober|ember)?\.?"
# An offset from UTC is read over: what counts is the hour on the clock there.
_TIME = r"(?:(?:t|,? +)(\d{1,2}):(\d{2})(?::(\d{2})(?:[.,]\d+)?)? ?(am|pm)? ?(?:z|utc|[+-]\d{2}(?::?\d{2})?)?)?"
# What NumPy reads by itself.
_ISO = re.compile(r"[12]\d{3}-\d{2}-\d{2}(?:[T ]\d{2}:\d{2}(?::\d{2}(?:\.\d{1,6})?)?)?", re.ASCII)
_YEAR_FIRST = re.compile(r"([12]\d{3})([-/.])(\d{1,2})\2(\d{1,2})" + _TIME, re.ASCII)
_YEAR_LAST = re.compile(r"(\d{1,2})([-/.])(\d{1,2})\2([12]\d{3}|\d{2})" + _TIME, re.ASCII)
_DAY_AND_NAME = re.compile(rf"(\d{{1,2}})[ -]{_NAME}[ ,-]+([12]\d{{3}}|\d{{2}})" + _TIME, re.ASCII)
_NAME_AND_DAY = re.compile(rf"{_NAME} (\d{{1,2}}),? +([12]\d{{3}})" + _TIME, re.ASCII)
_MONTH_ONLY = re.compile(r"([12]\d{3})-(\d{2})", re.ASCII)


class Dates(NamedTuple):
    """How a column of dates becomes numbers.

    Parameters
    ----------
    parts : tuple of str
        The features: year, month, weekday (0 is Monday), hour, and days since 2000-01-01; those that vary.
    day_first : bool
        Whether 1/2/2020 is the first of February.
    told : bool
        Whether the values of the fit tell that.

    Examples
    --------
    >>> dates = Dates.recognize(["24/12/2020", "1/2/2020"])
    >>> dates
    Dates(parts=('month', 'weekday', 'days since 2000-01-01'), day_first=True, told=True)
    >>> out = np.zeros((1, 3))
    >>> dates.fill(["2/1/2000"], np.array([0]), out), out
    (array([False]), array([[1., 6., 1.]]))
    """

    parts: tuple[str, ...]
    day_first: bool = False
    told: bool = True

    @classmethod
    def recognize(cls, texts: Sequence[str]) -> Dates | None:
        """Return how these texts become numbers; None unless all of them are dates."""
        if (moments := _iso(texts)) is not None:
            return cls(_varying(moments))
        written = []
        for text in texts:  # most columns end at their first value
            if (found := _written(text)) is None:
                return None
            written.append(found)
        free = [one for one in written if one.separator]
        late_first, late_second = any(one.first > 12 for one in free), any(one.second > 12 for one in free)
        told = late_first or late_second or all(one.separator == "." for one in free)
        # Where no value tells: 1/2/2020 is written in America above all, 1.2.2020 and 1-2-2020 elsewhere.
        day_first = late_first or not (late_second or any(one.separator == "/" for one in free))
        moments = np.array([_moment(one, day_first) for one in written], "datetime64[s]")
        if not len(moments) or np.isnat(moments).any():
            return None
        return cls(_varying(moments), bool(free) and day_first, told)

    @property
    def what(self) -> str:
        """What the column must hold, in a word."""
        return "dates"

    @property
    def decision(self) -> str:
        """What the column becomes, in words."""
        text = f"dates: {', '.join(self.parts)}"
        if self.told:
            return text
        order = "day, month, year" if self.day_first else "month, day, year"
        return f"{text} (no value tells whether the day or the month comes first: read as {order})"

    def features(self, name: str) -> list[str]:
        """Return the names of the features of a column."""
        return [f"{name}: {part}" for part in self.parts]

    def fill(self, texts: Sequence[str], codes: NDArray[np.intp], out: Array) -> NDArray[np.bool_]:
        """Write the features of ``texts[codes]`` into ``out`` (-1 is missing), and return which texts are no dates."""
        moments = _iso(texts)
        if moments is None:
            written = (_written(text) for text in texts)
            dates = [None if one is None else _moment(one, self.day_first) for one in written]
            moments = np.array(dates, "datetime64[s]")
        parts = _parts(np.append(moments, np.datetime64("NaT")))  # the last one is that of missing values
        for place, name in enumerate(self.parts):
            out[:, place] = parts[name][codes]
        unread: NDArray[np.bool_] = np.isnat(moments)
        return unread


def _iso(texts: Sequence[str]) -> Moments | None:
    """Return the moments of texts that are all written as in ISO 8601, which is quick; None if some are not."""
    if not texts or not all(map(_ISO.fullmatch, texts)):
        return None
    try:
        return np.array(texts, "datetime64[us]").astype("datetime64[s]")
    except ValueError:  # such as February 30
        return None


class _Written(NamedTuple):
    """What is written: the first number is the month unless the separator is given, which leaves the order open."""

    year: int
    first: int
    second: int
    separator: str
    seconds: int


def _written(text: str) -> _Written | None:
    text = text.strip().lower()
    if found := _YEAR_FIRST.fullmatch(text):
        year, _, month, day, *time = found.groups()
        return _Written(int(year), int(month), int(day), "", _seconds(time))
    if found := _YEAR_LAST.fullmatch(text):
        first, separator, second, year, *time = found.groups()
        return _Written(_year(year), int(first), int(second), separator, _seconds(time))
    if found := _DAY_AND_NAME.fullmatch(text):
        day, month, year, *time = found.groups()
        return _Written(_year(year), _month(month), int(day), "", _seconds(time))
    if found := _NAME_AND_DAY.fullmatch(text):
        month, day, year, *time = found.groups()
        return _Written(int(year), _month(month), int(day), "", _seconds(time))
    if found := _MONTH_ONLY.fullmatch(text):
        return _Written(int(found[1]), int(found[2]), 1, "", 0)
    return None


def _year(text: str) -> int:
    """Return the year; one of two digits lies between 1969 and 2068, as in POSIX."""
    return int(text) if len(text) == 4 else (int(text) - 69) % 100 + 1969


def _month(name: str) -> int:
    return _MONTHS.index(name) + 1


def _seconds(time: list[str | None]) -> int:
    """Return the seconds since midnight; -1 if there is no such time."""
    hour, minute, second, half = time
    if hour is None:
        return 0
    hours, minutes, seconds = int(hour), int(minute or 0), int(second or 0)
    if half is not None:
        hours = hours % 12 + 12 * (half == "pm") if 1 <= hours <= 12 else 24
    return hours * 3600 + minutes * 60 + seconds if hours < 24 and minutes < 60 and seconds < 60 else -1


def _moment(written: _Written, day_first: bool) -> datetime.datetime | None:
    year, first, second, separator, seconds = written
    month, day = (second, first) if separator and day_first else (first, second)
    try:
        date = datetime.datetime(year, month, day)
    except ValueError:
        return None
    return date + datetime.timedelta(seconds=seconds) if seconds >= 0 else None


def _varying(moments: Moments) -> tuple[str, ...]:
    """Return the names of the parts that are not the same in all moments; the days if all are."""
    varying = tuple(name for name, part in _parts(moments).items() if (part != part[0]).any())
    return varying or (f"days since {ORIGIN}",)


def _parts(moments: Moments) -> dict[str, Array]:
    """Return the parts of moments by name; NaN where there is no date."""
    days, seconds = moments.astype("datetime64[D]"), moments.astype(np.int64)
    parts = (
        moments.astype("datetime64[Y]").astype(np.int64) + 1970,
        moments.astype("datetime64[M]").astype(np.int64) % 12 + 1,
        (days.astype(np.int64) + 3) % 7,
        seconds // 3600 % 24,
        (seconds - np.datetime64(ORIGIN, "s").astype(np.int64)) / 86400,
    )
    return {name: np.where(np.isnat(moments), np.nan, part) for name, part in zip(PARTS, parts, strict=True)}
