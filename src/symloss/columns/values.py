"""What a text in a table says: nothing, a number, a date or a time. Files and data frames share these rules.

Each kind of column has a class: ``encode`` returns the features of texts, NaN where it cannot read one.
"""

from __future__ import annotations

import datetime
import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]

# What means in any column that a value is missing, in small letters; and what people write in place of a number.
MISSING = frozenset({"", "na", "n/a", "#na", "#n/a", "<na>", "nan", "-nan", "nat", "null", "none"})
NO_NUMBER = MISSING | {"?", "-", "--", ".", "unknown", "missing"}
LARGEST = float(np.finfo(np.float32).max)  # trees hold features in float32

_MARKS = "%$€£¥"
_SPACES = " \u00a0\u202f"  # those that do not break a line, too
_BEFORE_POINTS = ("$", "£", "¥")  # currencies of countries that write 1,000.52

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

    def encode(self, texts: Sequence[str | None]) -> Array:
        """Return the features of texts; a category that is not known becomes all zeros."""
        rows = dict(zip(self.names, np.eye(len(self.names)), strict=True))
        return np.array([rows.get(text, np.zeros(len(self.names))) for text in texts])


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
    >>> numbers.encode(["$2,500", "?"]).tolist(), Numbers(".").encode(["1_000"]).tolist()
    ([[2500.0], [nan]], [[nan]])
    """

    decimal: str = "."
    mark: str = ""
    told: bool = True

    measured: ClassVar[bool] = True

    @classmethod
    def recognize(cls, texts: Any) -> Numbers | None:
        """Return how these texts are numbers; None unless all are, but for those that stand for a missing value.

        Digits of which some have a leading zero are codes, not numbers.
        """
        import pandas as pd

        said = pd.Series(texts).dropna()
        said = said[~said.str.strip().str.lower().isin(NO_NUMBER)].str.strip()
        if said.empty or are_codes(said):
            return None
        mark = next((sign for sign in _MARKS if sign in said.iloc[0]), "")
        fits = [decimal for decimal in ".," if said.str.fullmatch(_pattern(decimal, re.escape(mark))).all()]
        commas, points = (bool(said.str.contains(sign, regex=False).any()) for sign in ",.")
        if not fits or (len(fits) == 2 and commas and points):  # 1,000 beside 1.000
            return None
        return cls(fits[0], mark, len(fits) == 1 or not (commas or points) or mark in _BEFORE_POINTS)

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

    def encode(self, texts: Any) -> Array:
        """Return the numbers that texts say, NaN where they say none."""
        import pandas as pd

        said = pd.Series(texts).fillna("").str.strip()
        read = said.str.fullmatch(_pattern(self.decimal, re.escape(self.mark))).to_numpy(bool)
        plain = said[read].str.replace(rf"[^0-9eE{self.decimal}+-]", "", regex=True)
        numbers = np.full((len(said), 1), np.nan)
        numbers[read, 0] = plain.str.replace(self.decimal, ".", regex=False).astype(float)
        return numbers


def are_codes(texts: Any) -> bool:
    """Return whether a Series of texts holds digits only, of which some have a leading zero."""
    return bool(texts.str.fullmatch("0[0-9]+").any() and texts.str.fullmatch("[0-9]+").all())


def is_number(text: str) -> bool:
    """Return whether a text is a number in any way of writing, such as 1.000,52 €."""
    return any(pattern.fullmatch(text.strip()) for pattern in _ANY_NUMBER)


def _pattern(decimal: str, mark: str) -> str:
    """Return the regular expression of numbers with a mark before or behind them, or without if it is empty."""
    point, comma = (r"\.", ",") if decimal == "." else (",", r"\.")
    whole = rf"[0-9]+(?:[{_SPACES}'][0-9]{{3}})*|[1-9][0-9]{{0,2}}(?:{comma}[0-9]{{3}})+"
    number = rf"(?:(?:{whole})(?:{point}[0-9]*)?|{point}[0-9]+)(?:[eE][-+]?[0-9]+)?"
    if not mark:
        return rf"[-+]?{number}"
    return rf"(?:[-+]?{mark}[{_SPACES}]?|{mark}[{_SPACES}]?[-+]?){number}|[-+]?{number}[{_SPACES}]?{mark}"


_ANY_NUMBER = [re.compile(_pattern(decimal, mark)) for decimal in ".," for mark in ("", f"[{_MARKS}]")]


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
        moments = [_moment(one, day_first) for one in written]
        dated = {"year" in one for one in written}
        if len(dated) != 1 or None in moments:
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

    def encode(self, texts: Sequence[str | None]) -> Array:
        """Return the parts of the dates that texts say, NaN where they say none."""
        written = [_written(text or "") for text in texts]
        parts = _parts([
            _moment(one, self.day_first) if one and ("year" in one) != (self.parts == _TIMES) else None
            for one in written
        ])  # fmt: skip
        return np.column_stack([parts[name] for name in self.parts])


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
        day_first = True if date["sign"] == "." else day_first
        if day_first is None:
            return None
        day, month = (date["one"], date["two"]) if day_first else (date["two"], date["one"])
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


def _parts(moments: list[datetime.datetime | None]) -> dict[str, Array]:
    """Return the parts of moments by name; NaN where there is no date."""
    import pandas as pd

    found = pd.DatetimeIndex(np.array(moments, "datetime64[s]"))
    days, hours = (
        (found - pd.Timestamp(ORIGIN)).total_seconds() / 86400,
        (found - found.normalize()).total_seconds() / 3600,
    )
    parts = (found.year, found.month, found.day_of_week, found.hour, days, hours)
    return {name: np.asarray(part, float) for name, part in zip(PARTS + _TIMES, parts, strict=True)}


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

    def encode(self, texts: Sequence[str | None]) -> Array:
        """Return the features of texts."""
        from sklearn.feature_extraction.text import HashingVectorizer

        def parts(text: str | None) -> list[str]:
            if text is None:
                return []
            return re.findall(r"\b\w+\b", text.lower()) if self.by_word else [text]

        norm = "l2" if self.by_word else None
        hasher = HashingVectorizer(n_features=self.n_features, alternate_sign=False, analyzer=parts, norm=norm)
        return np.asarray(hasher.transform(texts).toarray())


Form = Numbers | Categories | Dates | Hashed
