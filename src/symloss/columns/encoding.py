"""Turn the columns of a data frame into features: numbers stay as they are, categories are one-hot encoded.

Dates, times of the day, numbers written for people, and columns with many texts have a form of their own.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, replace
from decimal import Decimal
from numbers import Real
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from symloss.columns.frames import as_pandas
from symloss.columns.values import (
    LARGEST,
    NO_NUMBER,
    Categories,
    Dates,
    Form,
    Hashed,
    Numbers,
    is_date,
    is_number,
)
from symloss.naming import row_name

if TYPE_CHECKING:
    from pandas import Series

Array = NDArray[np.float64]
_FORMS: dict[str, Any] = {form.__name__: form for form in (Numbers, Categories, Dates, Hashed)}
_PLAIN = Numbers()
_CATEGORIES = 50
_IDENTIFIER = 0.9  # a column names rows if it has at least so many distinct texts per row
_FEWEST_NAMED = 10  # rows, below which texts are often distinct by chance
_ODD = 0.1  # of the distinct texts may be no numbers or dates in a column that was meant to hold them


class Column(NamedTuple):
    """A column of a table, and what it becomes."""

    name: str
    form: Form = _PLAIN

    @property
    def features(self) -> list[str]:
        """The names of the features that the column becomes."""
        return self.form.features(self.name)

    @property
    def is_measured(self) -> bool:
        """Whether its features are numbers on a scale: numbers, or parts of dates."""
        return self.form.measured


class Encoded(NamedTuple):
    """The features of a table's rows, and for each column the number of rows whose category is not known."""

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
    max_categories : int
        The largest number of distinct texts that were one-hot encoded; a column with more of them was hashed.

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
    max_categories: int = _CATEGORIES

    @classmethod
    def fit(cls, frame: Any, max_categories: int = _CATEGORIES, rows: float = 0.0) -> Encoding:
        """Return the encoding of a table; columns that are constant, or that name rows, are dropped.

        Parameters
        ----------
        frame : pandas or polars DataFrame
            The table.
        max_categories : int
            The largest number of distinct texts that are one-hot encoded; a column with more of them is hashed.
        rows : float
            How many rows the table stands for, if some count several times.
        """
        frame = as_pandas(frame)
        names_rows = _IDENTIFIER * max(rows, len(frame)) if len(frame) >= _FEWEST_NAMED else np.inf
        found = {str(name): _form_of(series, max_categories, names_rows) for name, series in frame.items()}
        forms = {name: form for name, form in found.items() if isinstance(form, Form)}
        dropped = {name: reason for name, reason in found.items() if isinstance(reason, str)}
        if not forms:
            reasons = ", ".join(f"{name} ({reason})" for name, reason in dropped.items())
            raise ValueError("no column is left to learn from" + (f": dropped {reasons}" if reasons else ""))
        hashed = {name: form for name, form in forms.items() if isinstance(form, Hashed)}
        for name, form in hashed.items():  # together about a thousand features
            forms[name] = replace(form, n_features=max(16, min(form.n_features, 1000 // len(hashed))))
        return cls(tuple(Column(name, form) for name, form in forms.items()), dropped, max_categories)

    @property
    def features(self) -> list[str]:
        """The names of the features."""
        return [feature for column in self.columns for feature in column.features]

    @property
    def categorical(self) -> dict[str, int]:
        """The columns that are one-hot encoded, and how many categories each has."""
        return {name: len(form.names) for name, form in self.columns if isinstance(form, Categories)}

    @property
    def texts(self) -> list[str]:
        """The columns that have to be read from a file as text."""
        return [name for name, form in self.columns if not isinstance(form, Numbers) or form.mark]

    @property
    def decisions(self) -> dict[str, str]:
        """What was done with each column, in words."""
        used = {name: form.decision for name, form in self.columns}
        return used | {name: f"dropped: {reason}" for name, reason in self.dropped.items()}

    def transform(self, frame: Any) -> Encoded:
        """Return the features of the rows; columns may be in any order, and an unknown category becomes all zeros."""
        missing = [name for name, _ in self.columns if name not in frame.columns]
        if missing:
            raise ValueError(f"columns that the model needs are missing: {', '.join(missing)}")
        frame = as_pandas(frame)
        values, unseen, start = np.zeros((len(frame), len(self.features))), {}, 0
        for column in self.columns:
            stop = start + len(column.features)
            if unknown := _fill(column.form, frame[column.name], values[:, start:stop]):
                unseen[column.name] = unknown
            start = stop
        return Encoded(values, unseen)

    def to_json(self) -> dict[str, Any]:
        """Return the encoding as JSON, which ``from_json`` reads."""
        columns = [{"name": name, "form": type(form).__name__, **asdict(form)} for name, form in self.columns]
        return {"columns": columns, "dropped": self.dropped, "max_categories": self.max_categories}

    @classmethod
    def from_json(cls, stored: dict[str, Any]) -> Encoding:
        """Return the encoding that ``to_json`` has turned into JSON."""
        columns: dict[str, Form] = {}
        for column in stored["columns"]:
            settings = {key: tuple(value) if isinstance(value, list) else value for key, value in column.items()}
            name, form = str(settings.pop("name")), str(settings.pop("form"))
            columns[name] = _FORMS[form](**settings)
        if len(columns) < len(stored["columns"]) or not columns:
            raise ValueError("expected columns of different names in an encoding, found others")
        return cls(tuple(Column(*item) for item in columns.items()), stored["dropped"], stored["max_categories"])


def as_text(value: Any) -> str:
    """Return a category as text; a whole number gets no decimal point, even if it was read as a float.

    Examples
    --------
    >>> as_text(1.0), as_text(True), as_text("01")
    ('1', 'True', '01')
    """
    return str(int(value)) if isinstance(value, float) and value.is_integer() else str(value)


def check_range(X: Any, names: Sequence[str] | None = None) -> None:
    """Raise ValueError at a number of a dense array that float32, in which trees hold features, cannot hold."""
    if (
        isinstance(X, np.ndarray)
        and max(np.fmax.reduce(X, None, initial=0.0), -np.fmin.reduce(X, None, initial=0.0)) > LARGEST
    ):
        row, k = np.argwhere(np.abs(X) > LARGEST)[0].tolist()
        where = f"row {row} of column {k if names is None else names[k]!r}"
        raise ValueError(f"X must hold numbers up to {LARGEST:.2g} in size, got {X[row, k]:g} in {where}")


def _form_of(series: Series, max_categories: int, names_rows: float) -> Form | str:
    """Return how a column becomes features, or why it is dropped; a text is distinct from others without its spaces."""
    missing = series.isna().to_numpy(bool)
    if missing.all():
        return "all values missing"
    if _holds_numbers(series):
        numbers = _numbers(series)
        return "constant" if not missing.any() and (numbers == numbers[0]).all() else _PLAIN
    if series.dtype.kind == "m":
        raise ValueError(f"column {series.name!r} holds lengths of time: make numbers of them, such as hours")
    codes, found = _texts(series)
    texts = list(dict.fromkeys(found))
    if len(texts) == 1 and not missing.any():
        return "constant"
    many = len(texts) > max_categories
    if (form := Dates.recognize(texts)) is not None:
        return form
    # Plain digits, and decimal commas, may also name categories, if there are few of them.
    commas = any("," in text for text in texts)
    written = Numbers.recognize(texts)
    if written is not None and (many or written.mark or (commas and written.decimal == ".")):
        return written
    names = len(texts) >= names_rows
    if many or names:
        _check_odd(series, codes, found)
    hashed = Hashed.of(texts)
    if names and not (many and hashed.by_word):
        return f"it names rows: {len(texts)} distinct texts"
    return hashed if many else Categories((*sorted(texts), *([None] if missing.any() else [])))


def _check_odd(series: Series, codes: NDArray[np.intp], found: list[str]) -> None:
    """Raise ValueError if all texts but a few are numbers or dates: these few would make names of the column."""
    for what, reads in (("numbers", is_number), ("dates or times", is_date)):
        odd = [text for text in dict.fromkeys(found) if not reads(text)]
        codes_among = what == "numbers" and any(text.isdigit() and text[0] == "0" for text in found if len(text) > 1)
        if odd and len(odd) < _ODD * len(set(found)) and not codes_among:
            rows = np.isin(codes, [k for k, text in enumerate(found) if text in odd])
            raise ValueError(
                f"column {series.name!r} holds {what} except {', '.join(map(repr, odd[:5]))} in "
                f"{_where(series, rows)}: leave missing values empty, or drop the column"
            )


def _holds_numbers(series: Series) -> bool:
    """Return whether a column holds numbers, or true and false; the type of a column may leave that open."""
    import pandas as pd

    if series.dtype == object:
        return all(isinstance(value, (Real, Decimal)) for value in series.dropna())
    return _has_numeric_type(series) and not isinstance(series.dtype, pd.CategoricalDtype)


def _has_numeric_type(series: Series) -> bool:
    import pandas as pd

    return bool(series.dtype.kind == "b" or pd.api.types.is_numeric_dtype(series.dtype))


def _numbers(series: Series, form: Numbers = _PLAIN) -> Array:
    """Return the values as numbers; NaN is a missing value."""
    missing = series.isna().to_numpy(bool)
    if _has_numeric_type(series):
        numbers = series.to_numpy(np.float64, na_value=np.nan)
        wrong = np.isnan(numbers) & ~missing
    else:
        codes, found = _distinct(series)
        missing = missing | np.array([*(str(x).strip().lower() in NO_NUMBER for x in found), True])[codes]
        of_found = [float(x) if isinstance(x, (Real, Decimal)) else form.number(str(x)) for x in found]
        numbers = np.array([*of_found, np.nan])[codes]
        wrong = np.isnan(numbers) & ~missing
        odd = wrong & np.array([*(not is_number(str(x)) for x in found), False])[codes]
        wrong = odd if odd.any() else wrong  # rather these than numbers that have another decimal mark
    if wrong.any():
        example, marked = series.iloc[int(np.argmax(wrong))], f" with {form.mark}" if form.mark else ""
        raise ValueError(
            f"column {series.name!r} must hold numbers{marked}, got {example!r} in {_where(series, wrong)}"
        )
    large = np.abs(numbers) > LARGEST
    if large.any():
        what = "infinite values" if np.isinf(numbers[large]).all() else f"values above {LARGEST:.2g} in size"
        raise ValueError(
            f"column {series.name!r} holds {what} in {_where(series, large)}: leave missing values empty, or "
            "drop the column"
        )
    return np.asarray(numbers)


def _distinct(series: Series) -> tuple[NDArray[np.intp], Sequence[Any]]:
    """Return the place of each value among the distinct values, -1 if it is missing, and the distinct values."""
    import pandas as pd

    if isinstance(series.dtype, (np.dtypes.DateTime64DType, pd.DatetimeTZDtype)):
        local = series.dt.tz_localize(None)  # what the clock says
        codes, found = pd.factorize(local.to_numpy("datetime64[s]"))
        return codes, np.datetime_as_string(found).tolist()
    try:
        codes, found = pd.factorize(series.astype(object))
    except TypeError:
        kind = type(series.dropna().iloc[0]).__name__.replace("ndarray", "list")
        raise ValueError(f"column {series.name!r} holds {kind}s, not numbers or text: split it into columns") from None
    return codes, found


def _texts(series: Series) -> tuple[NDArray[np.intp], list[str]]:
    """Return the place of each value among texts without spaces around them, -1 if it is missing, and the texts."""
    codes, found = _distinct(series)
    return codes, [as_text(value).strip() for value in found]


def _fill(form: Form, series: Series, out: Array) -> int:
    """Write the features of a column into ``out``, and return how many rows have a category that is not known."""
    if isinstance(form, Numbers):
        out[:, 0] = _numbers(series, form)
        return 0
    codes, texts = _texts(series)
    rows = form.fill(texts, codes, out)[codes]
    if rows.any() and not isinstance(form, Categories):
        example = texts[codes[int(np.argmax(rows))]]
        order = isinstance(form, Dates) and form.day_first is None and is_date(example)
        reason = "; the fit saw no date that tells whether the day or the month comes first" if order else ""
        raise ValueError(
            f"column {series.name!r} must hold dates or times, got {example!r} in {_where(series, rows)}{reason}"
        )
    return int(rows.sum())


def _where(series: Series, rows: NDArray[np.bool_]) -> str:
    """Return the rows, in words: how many they are, and the first."""
    count, k = int(rows.sum()), int(np.argmax(rows))
    first = row_name(series.index[k : k + 1].tolist()[0])
    return first if count == 1 else f"{count} rows, the first of them {first}"
