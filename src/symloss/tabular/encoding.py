"""Turn the columns of a table into features: numbers stay as they are, categories are one-hot encoded."""

from __future__ import annotations

import datetime
import re
from collections.abc import Iterable
from decimal import Decimal
from numbers import Real
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    from pandas import DataFrame, Series

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
    def fit(cls, frame: DataFrame, max_categories: int = 50) -> Encoding:
        """Return the encoding of a table; constant columns are dropped, dates and too many distinct texts refused."""
        columns, dropped, errors = [], {}, []
        for name in frame.columns:
            series = frame[name]
            try:
                if series.isna().all():
                    dropped[name] = "all values missing"
                elif len(found := _distinct(series)) == 1 and not series.isna().any():
                    dropped[name] = "constant"
                else:
                    columns.append(_column(series, found, max_categories))
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

    def transform(self, frame: DataFrame) -> Encoded:
        """Return the features of the rows; columns may be in any order, and an unknown category becomes all zeros."""
        missing = [column.name for column in self.columns if column.name not in frame.columns]
        if missing:
            raise ValueError(f"columns that the model needs are missing: {', '.join(missing)}")
        values, unseen, start = np.zeros((len(frame), len(self.features))), {}, 0
        for name, categories in self.columns:
            if categories is None:
                values[:, start] = _numbers(frame[name])
                start += 1
                continue
            place = {value: k for k, value in enumerate(categories)}
            places = np.array([place.get(text, -1) for text in _texts(frame[name])])
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


def _distinct(series: Series) -> list[Any]:
    """Return the distinct values that are not missing."""
    try:
        return list(series.dropna().unique())
    except TypeError:
        value = series.dropna().iloc[0]
        raise ValueError(f"column {series.name!r} holds {type(value).__name__}s, not numbers or text") from None


def _column(series: Series, found: list[Any], max_categories: int) -> Column:
    if _is_date(series, found):
        raise ValueError(
            f"column {series.name!r} holds dates (such as {found[0]}): make numbers of them, such as days since a "
            f"date, or drop the column with --drop {series.name}"
        )
    if _is_number(series, found):
        _numbers(series)  # raises if a value is infinite
        return Column(series.name)
    texts = sorted({as_text(value) for value in found})
    if len(texts) > max_categories:
        raise ValueError(_too_many(series.name, texts, max_categories))
    return Column(series.name, (*texts, None) if series.isna().any() else tuple(texts))


def _too_many(name: str, texts: list[str], most: int) -> str:
    others = [text for text in texts if not _reads_as_number(text)]
    if len(others) < len(texts) / 10:
        return f"column {name!r} holds numbers except {', '.join(map(repr, others[:5]))}: leave missing values empty"
    return (
        f"column {name!r} has {len(texts)} distinct texts (such as {texts[0]!r}), more than {most}: "
        f"drop it with --drop {name} if it names rows, or allow more with --max-categories"
    )


def _reads_as_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True


def _is_number(series: Series, found: Iterable[Any]) -> bool:
    import pandas as pd

    if isinstance(series.dtype, pd.CategoricalDtype) or series.dtype.kind == "c":
        return False
    return bool(pd.api.types.is_numeric_dtype(series)) or (
        series.dtype == object and all(isinstance(value, (Real, Decimal)) for value in found)
    )


def _is_date(series: Series, found: Iterable[Any]) -> bool:
    dates = (datetime.date, datetime.time, datetime.timedelta, np.datetime64, np.timedelta64)
    return series.dtype.kind in "mM" or all(
        _DATE.fullmatch(value) is not None if isinstance(value, str) else isinstance(value, dates) for value in found
    )


def _numbers(series: Series) -> Array:
    """Return the values as numbers; NaN is a missing value."""
    import pandas as pd

    numbers = np.asarray(pd.to_numeric(series, errors="coerce").to_numpy(dtype=np.float64, na_value=np.nan))
    wrong = np.isnan(numbers) & ~series.isna().to_numpy()
    if wrong.any():
        example = series[wrong].iloc[0]
        raise ValueError(f"column {series.name!r} must hold numbers, got {example!r} in {wrong.sum()} rows")
    if np.isinf(numbers).any():
        raise ValueError(f"column {series.name!r} holds {np.isinf(numbers).sum()} infinite values")
    return numbers


def _texts(series: Series) -> list[str | None]:
    """Return the values as texts; None is a missing value."""
    import pandas as pd

    codes, found = pd.factorize(series.astype(object))
    texts = [as_text(value) for value in found]
    return [texts[code] if code >= 0 else None for code in codes]
