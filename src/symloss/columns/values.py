"""What a text in a table says: nothing, a number, a date or a time. Files and data frames share these rules."""

from __future__ import annotations

import datetime
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]

# What means in any column that a value is missing, in small letters; and what people write in place of a number.
MISSING = frozenset({"", "na", "n/a", "#na", "#n/a", "<na>", "nan", "-nan", "nat", "null", "none"})
NO_NUMBER = MISSING | {"?", "-", "--", ".", "unknown", "missing"}
LARGEST = float(np.finfo(np.float32).max)  # trees hold features in float32

_AMOUNT = re.compile(r"([-+]?)([$€£¥]?)[ \u00a0]?([-+]?)([\d.,]+(?:[eE][-+]?\d+)?)[ \u00a0\u202f]?([%$€£¥]?)", re.ASCII)
_GAP = re.compile(r"(?<=\d)[ '\u00a0\u202f](?=\d{3}(?!\d))", re.ASCII)  # between thousands, as in 1 000,52
_NUMBER = re.compile(r"(?:(?:\d+|[1-9]\d{0,2}(?:,\d{3})+)(?:\.\d*)?|\.\d+)(?:[eE][-+]?\d+)?", re.ASCII)
_CODE = re.compile(r"0\d+", re.ASCII)
_BEFORE_POINTS = ("$", "£", "¥")  # currencies of countries that write 1,000.52
_SWAPPED = str.maketrans(",.", ".,")

ORIGIN = "2000-01-01"
_DAYS = f"days since {ORIGIN}"
PARTS = ("year", "month", "weekday", "hour", _DAYS)
_TIMES = ("time",)  # the part of what has no date
_MONTHS = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")
_NAME = rf"(?P<name>{'|'.join(_MONTHS)})(?:uary|ruary|ch|il|e|y|ust|t|tember|ober|ember)?\.?"
_YEAR = r"(?P<year>[1-9]\d{3})"
_YEAR_OR_TWO_DIGITS = r"(?P<year>[1-9]\d{3}|\d{2})"
# An offset from UTC is read over: what counts is the hour on the clock there.
_TIME = (
    r"(?P<hour>\d{1,2}):(?P<minute>\d{2})(?::(?P<second>\d{2})(?:[.,]\d+)?)? ?(?P<half>[ap]\.?m\.?)?"
    r" ?(?:z|utc|[+-]\d{2}(?::?\d{2})?)?"
)
_DATES = [
    re.compile(rf"{date}(?:(?:t|,? +){_TIME})?", re.ASCII)
    for date in (
        rf"{_YEAR}(?P<sign>[-/.])(?P<month>\d{{1,2}})(?P=sign)(?P<day>\d{{1,2}})",
        rf"(?P<one>\d{{1,2}})(?P<sign>[-/.])(?P<two>\d{{1,2}})(?P=sign){_YEAR_OR_TWO_DIGITS}",
        rf"(?P<day>\d{{1,2}})[ -]{_NAME}[ ,-]+{_YEAR_OR_TWO_DIGITS}",
        rf"{_NAME} (?P<day>\d{{1,2}}),? +{_YEAR}",
    )
] + [re.compile(pattern, re.ASCII) for pattern in (rf"{_YEAR}-(?P<month>\d{{2}})", _TIME)]


@dataclass(frozen=True)
class Categories:
    """A feature for each of these texts, 1 where the column has it; None is that of missing values."""

    names: tuple[str | None, ...]

    measured: ClassVar[bool] = False

    @property
    def decision(self) -> str:
        """What the column becomes, in words."""
        return f"one-hot encoded, {len(self.names)} categories"

    def features(self, name: str) -> list[str]:
        """Return the names of the features of a column."""
        return [f"{name} is missing" if value is None else f"{name}={value}" for value in self.names]

    def fill(self, texts: Sequence[str], codes: NDArray[np.intp], out: Array) -> NDArray[np.bool_]:
        """Write 1 into ``out`` at the category of each row; a category that is not known becomes all zeros."""
        place_of = {value: k for k, value in enumerate(self.names)}
        places = np.array([place_of.get(text, -1) for text in (*texts, None)])
        rows = np.flatnonzero(places[codes] >= 0)
        out[rows, places[codes[rows]]] = 1.0
        return places < 0


@dataclass(frozen=True)
class Numbers:
    """Numbers, also as texts written for people: 1,000.52, 45%, $12.50.

    Parameters
    ----------
    decimal : {".", ","}
        What comes before the decimals in texts; the other one, spaces and apostrophes may stand between thousands.
    mark : str
        The sign that every value has: that of percent, or of a currency. 45% becomes 45.
    told : bool
        Whether the values tell which of the two signs comes before the decimals.

    Examples
    --------
    >>> numbers = Numbers.recognize(["$1,000.52", "-$3"])
    >>> numbers
    Numbers(decimal='.', mark='$', told=True)
    >>> numbers.number("$2,500"), Numbers(".").number("1_000")
    (2500.0, nan)
    """

    decimal: str = "."
    mark: str = ""
    told: bool = True

    measured: ClassVar[bool] = True

    @classmethod
    def recognize(cls, texts: Iterable[str]) -> Numbers | None:
        """Return how these texts are numbers; None unless all are, but for those that stand for a missing value.

        Digits of which some have a leading zero are codes, not numbers.
        """
        bodies, marks = [], set()
        for text in texts:  # most columns end at their first value
            if (amount := _amount(text)) is not None:
                bodies.append(amount[4])
                marks.add(amount[2] + amount[5])
            elif text.strip().lower() not in NO_NUMBER:
                return None
        if len(marks) != 1 or len(mark := marks.pop()) > 1:
            return None
        if all(map(str.isdigit, bodies)) and any(map(_CODE.fullmatch, bodies)):
            return None
        fits = [decimal for decimal in ".," if all(_in_order(body, decimal) for body in bodies)]
        commas, points = (any(sign in body for body in bodies) for sign in ",.")
        if len(fits) < 2:
            return cls(fits[0], mark) if fits else None
        if commas and points:  # 1,000 beside 1.000
            return None
        return cls(".", mark, not (commas or points) or mark in _BEFORE_POINTS)

    @property
    def decision(self) -> str:
        """What the column becomes, in words."""
        marked = f", all with {self.mark}" if self.mark else ""
        comma = " with decimal commas" if self.decimal == "," else ""
        told = "" if self.told else " (no value tells what comes before decimals: a point, so 1,000 is a thousand)"
        return f"numbers{comma}{marked}{told}"

    def features(self, name: str) -> list[str]:
        """Return the name of the feature of a column."""
        return [name]

    def number(self, text: str) -> float:
        """Return the number that a text says, NaN if it says none."""
        amount = _amount(text)
        if amount is None or amount[2] + amount[5] != self.mark or not _in_order(amount[4], self.decimal):
            return np.nan
        body = amount[4] if self.decimal == "." else amount[4].translate(_SWAPPED)
        return float(amount[1] + amount[3] + body.replace(",", ""))


def is_number(text: str) -> bool:
    """Return whether a text is a number in any way of writing, such as 1.000,52 €."""
    amount = _amount(text)
    return amount is not None and any(_in_order(amount[4], decimal) for decimal in ".,")


def _amount(text: str) -> re.Match[str] | None:
    """Return sign, currency, sign again, digits and mark of an amount; None if a text is none."""
    found = _AMOUNT.fullmatch(_GAP.sub("", text.strip()))
    return None if found is None or (found[1] and found[3]) else found


def _in_order(body: str, decimal: str) -> bool:
    return _NUMBER.fullmatch(body if decimal == "." else body.translate(_SWAPPED)) is not None


@dataclass(frozen=True)
class Dates:
    """How a column of dates, or of times of the day, becomes numbers.

    Parameters
    ----------
    parts : tuple of str
        The features: year, month, weekday (0 is Monday), hour, and days since 2000-01-01; those that vary. Of times
        without a date, the hours since midnight, as "time".
    day_first : bool or None
        Whether 1/2/2020 and 1-2-2020 are the first of February; None if the fit has seen no date of this kind, and
        then none is read. 1.2.2020 always is.
    told : bool
        Whether the values of the fit tell that.

    Examples
    --------
    >>> Dates.recognize(["24/12/2020", "1/2/2020"])
    Dates(parts=('month', 'weekday', 'days since 2000-01-01'), day_first=True, told=True)
    """

    parts: tuple[str, ...]
    day_first: bool | None = None
    told: bool = True

    measured: ClassVar[bool] = True

    @classmethod
    def recognize(cls, texts: Sequence[str]) -> Dates | None:
        """Return how these texts become numbers; None unless all that say something are dates, or all times."""
        written = []
        for text in texts:  # most columns end at their first value
            if text.lower() not in MISSING:
                if (found := _written(text)) is None:
                    return None
                written.append(found)
        free = [one for one in written if one.get("one") and one["sign"] != "."]
        late_one, late_two = any(int(date["one"]) > 12 for date in free), any(int(date["two"]) > 12 for date in free)
        # Where no value tells: 1/2/2020 is written in America above all, 1-2-2020 elsewhere.
        day_first = late_one or not (late_two or any(date["sign"] == "/" for date in free))
        moments = np.array([_moment(one, day_first) for one in written], "datetime64[s]")
        dated = {"year" in one for one in written}
        if len(dated) != 1 or np.isnat(moments).any():
            return None
        varying = tuple(name for name, part in _parts(moments).items() if name in PARTS and (part != part[0]).any())
        parts = (varying or (_DAYS,)) if dated == {True} else _TIMES
        return cls(parts, day_first if free else None, not free or late_one or late_two)

    @property
    def decision(self) -> str:
        """What the column becomes, in words."""
        text = "times of the day, as hours" if self.parts == _TIMES else f"dates: {', '.join(self.parts)}"
        if self.told:
            return text
        order = "day, month, year" if self.day_first else "month, day, year"
        return f"{text} (no value tells whether the day or the month comes first: read as {order})"

    def features(self, name: str) -> list[str]:
        """Return the names of the features of a column."""
        return [f"{name}: {part}" for part in self.parts]

    def fill(self, texts: Sequence[str], codes: NDArray[np.intp], out: Array) -> NDArray[np.bool_]:
        """Write the parts of the dates ``texts[codes]`` into ``out``; return which texts cannot be read."""
        written = [one if one and ("year" in one) != (self.parts == _TIMES) else None for one in map(_written, texts)]
        dates = [None if one is None else _moment(one, self.day_first) for one in written]
        moments = np.array([*dates, None], "datetime64[s]")  # the last, of the code -1, is missing
        parts = _parts(moments)
        out[:] = np.column_stack([parts[name] for name in self.parts])[codes]
        return np.asarray(np.isnat(moments) & [*(text.lower() not in MISSING for text in texts), False])


def is_date(text: str) -> bool:
    """Return whether a text is a date, whichever of day and month comes first."""
    written = _written(text)
    return written is not None and any(_moment(written, day_first) is not None for day_first in (True, False))


def _written(text: str) -> dict[str, str] | None:
    text = text.strip().lower()
    matches = (pattern.fullmatch(text) for pattern in _DATES)
    return next((match.groupdict() for match in matches if match), None)


def _moment(date: dict[str, str], day_first: bool | None) -> datetime.datetime | None:
    month, day = date.get("month"), date.get("day", "1")
    if date.get("one"):
        if date["sign"] != "." and day_first is None:
            return None
        first = date["sign"] == "." or day_first
        month, day = (date["two"], date["one"]) if first else (date["one"], date["two"])
    year = int(date.get("year", 2000))
    if year < 100:
        year = (year - 69) % 100 + 1969  # between 1969 and 2068, as in POSIX
    hour, half = int(date.get("hour") or 0), date.get("half")
    if half:
        hour = hour % 12 + 12 * (half[0] == "p") if 1 <= hour <= 12 else 24
    number = _MONTHS.index(date["name"]) + 1 if date.get("name") else int(month or 1)
    try:
        return datetime.datetime(
            year, number, int(day), hour, int(date.get("minute") or 0), int(date.get("second") or 0)
        )
    except ValueError:
        return None


def _parts(moments: NDArray[np.datetime64]) -> dict[str, Array]:
    """Return the parts of moments by name; NaN where there is no date."""
    days, seconds = moments.astype("datetime64[D]"), moments.astype(np.int64)
    parts = (
        moments.astype("datetime64[Y]").astype(np.int64) + 1970,
        moments.astype("datetime64[M]").astype(np.int64) % 12 + 1,
        (days.astype(np.int64) + 3) % 7,
        seconds // 3600 % 24,
        (seconds - np.datetime64(ORIGIN, "s").astype(np.int64)) / 86400,
        seconds % 86400 / 3600,
    )
    return {name: np.where(np.isnat(moments), np.nan, part) for name, part in zip(PARTS + _TIMES, parts, strict=True)}


@dataclass(frozen=True)
class Hashed:
    """How a column of many texts becomes features: each text, or each of its words, goes to a feature by its hash.

    A hash depends on nothing but the text: no fold learns from the rows that it holds out, no list of texts has to be
    stored, and a text that the fit has not seen is treated like any other. A missing value becomes all zeros.

    Parameters
    ----------
    n_features : int
        How many features there are.
    by_word : bool
        Whether each word of a text is hashed, in lower case, or the text as a whole.
    distinct : int
        How many distinct texts the fit had.
    """

    n_features: int
    by_word: bool
    distinct: int

    measured: ClassVar[bool] = False

    @classmethod
    def of(cls, texts: Sequence[str]) -> Hashed:
        """Return how these texts become features: by their words if they have three or more on average."""
        by_word = sum(text.strip().count(" ") + 1 for text in texts) >= 3 * len(texts)
        return cls(200 if by_word else 32, by_word, len(texts))

    @property
    def decision(self) -> str:
        """What the column becomes, in words."""
        what = "long texts, their words" if self.by_word else "categories,"
        return f"{self.distinct} distinct {what} hashed to {self.n_features} features"

    def features(self, name: str) -> list[str]:
        """Return the names of the features of a column."""
        return [f"{name}: {'words' if self.by_word else 'hash'} {k}" for k in range(self.n_features)]

    def fill(self, texts: Sequence[str], codes: NDArray[np.intp], out: Array) -> NDArray[np.bool_]:
        """Write the features of ``texts[codes]`` into ``out``, which is 0; every text can be read."""
        from sklearn.feature_extraction.text import HashingVectorizer

        whole: dict[str, Any] = {"analyzer": lambda text: [text], "norm": None}
        kind = {"token_pattern": r"(?u)\b\w+\b", "norm": "l2"} if self.by_word else whole
        hasher = HashingVectorizer(n_features=self.n_features, alternate_sign=False, **kind)
        given = np.flatnonzero(codes >= 0)
        if len(given):
            rows = hasher.transform(texts)[codes[given]].tocoo()  # sparse to the end, for there may be many texts
            out[given[rows.row], rows.col] = rows.data
        return np.zeros(len(texts) + 1, bool)


Form = Numbers | Categories | Dates | Hashed
