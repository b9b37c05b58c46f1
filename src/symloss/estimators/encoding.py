"""Turn the columns of a data frame into features: numbers stay as they are, categories are one-hot encoded."""

from __future__ import annotations

import datetime
import re
from collections.abc import Iterable
from decimal import Decimal
from numbers import Real
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from symloss.estimators.frames import Cells, cells_of

Array = NDArray[np.float64]
_DATE = re.compile(r"\d{4}-\d{1,2}-\d{1,2}([T ].*)?|\d{1,2}[/.]\d{1,2}[/.]\d{2,4}( .*)?")


class Column(NamedTuple):
    """A column of a table, and its categories if it does not hold numbers; the category None is a missing value.

    Examples
    --------
    >>> Column("city", ("Oslo", None)).features
    ['city=Oslo', 'city is missing']
    """

    name: str
    categories: tuple[str | None, ...] | None = None

    @property
    def features(self) -> list[str]:
        """The names of the features that the column becomes."""
        if self.categories is None:
            return [self.name]
        return [f"{self.name} is missing" if value is None else f"{self.name}={value}" for value in self.categories]


class Encoded(NamedTuple):
    """The features of a table's rows, and for each column the number of rows whose category is not known.

    Examples
    --------
    >>> Encoded(np.zeros((1, 2)), {"city": 1}).unseen
    {'city': 1}
    """

    values: Array
    unseen: dict[str, int]


class Encoding(NamedTuple):
    """How the columns of a table become features.

    Parameters
    ----------
    columns : tuple of Column
        The columns that are used.
    dropped : dict
        The columns that are not used, and why.

    Examples
    --------
    >>> import pandas as pd
    >>> encoding = Encoding.fit(pd.DataFrame({"age": [30, 40], "city": ["Oslo", None], "unit": ["kg", "kg"]}))
    >>> encoding.features, encoding.dropped
    (['age', 'city=Oslo', 'city is missing'], {'unit': 'constant'})
    >>> encoding.transform(pd.DataFrame({"city": ["Rome", "Oslo"], "age": [50, 60]}))
    Encoded(values=array([[50.,  0.,  0.], [60.,  1.,  0.]]), unseen={'city': 1})
    """

    columns: tuple[Column, ...]
    dropped: dict[str, str]

    @classmethod
    def fit(cls, frame: Any, max_categories: int = 50, options: bool = True) -> Encoding:
        """Return the encoding of a table; constant columns are dropped, dates and too many distinct texts refused.

        Parameters
        ----------
        frame : pandas or polars DataFrame
            The table.
        max_categories : int
            The largest number of distinct texts that a column may have.
        options : bool
            Whether errors name the options of the command line that avoid them.
        """
        columns, dropped, errors = [], {}, []
        for cells in cells_of(frame):
            try:
                missing = cells.missing
                if missing.all():
                    dropped[cells.name] = "all values missing"
                elif len(found := _distinct(cells)) == 1 and not missing.any():
                    dropped[cells.name] = "constant"
                else:
                    columns.append(_column(cells, found, max_categories, options))
            except ValueError as error:
                errors.append(str(error))
        if errors:
            raise ValueError("; ".join(errors))
        if not columns:
            reasons = ", ".join(f"{name} ({reason})" for name, reason in dropped.items())
            raise ValueError("no column is left to learn from" + (f": dropped {reasons}" if reasons else ""))
        return cls(tuple(columns), dropped)

    @property
    def features(self) -> list[str]:
        """The names of the features."""
        return [feature for column in self.columns for feature in column.features]

    @property
    def categorical(self) -> dict[str, int]:
        """The columns that are one-hot encoded, and how many categories each has."""
        return {column.name: len(column.categories) for column in self.columns if column.categories is not None}

    def transform(self, frame: Any) -> Encoded:
        """Return the features of the rows; columns may be in any order, and an unknown category becomes all zeros."""
        missing = [column.name for column in self.columns if column.name not in frame.columns]
        if missing:
            raise ValueError(f"columns that the model needs are missing: {', '.join(missing)}")
        given = {cells.name: cells for cells in cells_of(frame)}
        values, unseen, start = np.zeros((len(frame), len(self.features))), {}, 0
        for name, categories in self.columns:
            if categories is None:
                values[:, start] = _numbers(given[name])
                start += 1
                continue
            place = {value: k for k, value in enumerate(categories)}
            places = np.array([place.get(text, -1) for text in _texts(given[name])], np.intp)
            known = np.flatnonzero(places >= 0)
            values[known, start + places[known]] = 1.0
            if len(known) < len(frame):
                unseen[name] = len(frame) - len(known)
            start += len(categories)
        return Encoded(values, unseen)

    def to_json(self) -> dict[str, Any]:
        """Return the encoding as JSON, which ``from_json`` reads."""
        return {"columns": [column._asdict() for column in self.columns], "dropped": self.dropped}

    @classmethod
    def from_json(cls, stored: dict[str, Any]) -> Encoding:
        """Return the encoding that ``to_json`` has turned into JSON.

        Examples
        --------
        >>> encoding = Encoding((Column("city", ("Oslo", None)),), {})
        >>> Encoding.from_json(encoding.to_json()) == encoding
        True
        """
        columns = []
        for column in stored["columns"]:
            name, categories = column["name"], column["categories"]
            if not isinstance(name, str) or not (categories is None or isinstance(categories, (list, tuple))):
                raise TypeError(f"{column!r} is not a column")
            columns.append(Column(name, None if categories is None else tuple(categories)))
        return cls(tuple(columns), {str(name): str(reason) for name, reason in stored["dropped"].items()})


def as_text(value: Any) -> str:
    """Return a category as text; a whole number gets no decimal point, even if it was read as a float.

    Examples
    --------
    >>> as_text(1.0), as_text(True), as_text("01")
    ('1', 'True', '01')
    """
    return str(int(value)) if isinstance(value, float) and value.is_integer() else str(value)


def _distinct(cells: Cells) -> list[Any]:
    """Return the distinct values that are not missing."""
    try:
        return cells.distinct()
    except TypeError:
        value = cells.at(int(np.argmin(cells.missing)))
        raise ValueError(f"column {cells.name!r} holds {type(value).__name__}s, not numbers or text") from None


def _column(cells: Cells, found: list[Any], max_categories: int, options: bool) -> Column:
    if _is_date(cells, found):
        raise ValueError(
            f"column {cells.name!r} holds dates (such as {found[0]}): make numbers of them, such as days since a "
            f"date, or drop the column" + (f" with --drop {cells.name}" if options else "")
        )
    if _is_number(cells, found):
        _numbers(cells)  # raises if a value is infinite
        return Column(cells.name)
    texts = sorted({as_text(value) for value in found})
    if len(texts) > max_categories:
        raise ValueError(_too_many(cells.name, texts, max_categories, options))
    return Column(cells.name, (*texts, None) if cells.missing.any() else tuple(texts))


def _too_many(name: str, texts: list[str], most: int, options: bool) -> str:
    others = [text for text in texts if not _reads_as_number(text)]
    if not others:
        return f"column {name!r} holds numbers that are written as text: make numbers of them"
    if len(others) < len(texts) / 10:
        return f"column {name!r} holds numbers except {', '.join(map(repr, others[:5]))}: leave missing values empty"
    many = f"column {name!r} has {len(texts)} distinct texts (such as {texts[0]!r}), more than {most}: "
    if options:
        return f"{many}drop it with --drop {name} if it names rows, or allow more with --max-categories"
    return f"{many}drop it if it names rows, or turn it into numbers or fewer texts"


def _reads_as_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True


def _is_number(cells: Cells, found: Iterable[Any]) -> bool:
    return cells.kind == "number" or (
        cells.kind == "object" and all(isinstance(value, (Real, Decimal)) for value in found)
    )


def _is_date(cells: Cells, found: Iterable[Any]) -> bool:
    dates = (datetime.date, datetime.time, datetime.timedelta, np.datetime64, np.timedelta64)
    return cells.kind == "date" or all(
        _DATE.fullmatch(value) is not None if isinstance(value, str) else isinstance(value, dates) for value in found
    )


def _numbers(cells: Cells) -> Array:
    """Return the values as numbers; NaN is a missing value."""
    numbers = cells.numbers()
    wrong = (np.isnan(numbers) | (cells.kind == "date")) & ~cells.missing
    if wrong.any():
        example = cells.at(int(np.argmax(wrong)))
        raise ValueError(f"column {cells.name!r} must hold numbers, got {example!r} in {wrong.sum()} rows")
    if np.isinf(numbers).any():
        raise ValueError(f"column {cells.name!r} holds {np.isinf(numbers).sum()} infinite values")
    return numbers


def _texts(cells: Cells) -> list[str | None]:
    """Return the values as texts; None is a missing value."""
    codes, found = cells.coded()
    texts = [as_text(value) for value in found]
    return [texts[code] if code >= 0 else None for code in codes]
