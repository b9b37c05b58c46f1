"""Turn the columns of a data frame into features: numbers stay as they are, categories are one-hot encoded.

Dates, times of the day, numbers written for people, and columns with many texts have a form of their own.
"""

from __future__ import annotations

import datetime
from collections import Counter
from collections.abc import Sequence
from dataclasses import asdict
from decimal import Decimal
from numbers import Real
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from symloss.columns.frames import as_pandas
from symloss.columns.values import LARGEST, Dates, Form, Hashed, Numbers, TimesOfDay, is_date, is_number
from symloss.naming import argument, row_name

if TYPE_CHECKING:
    from pandas import Series

Array = NDArray[np.float64]
_FORMS: dict[str, Any] = {"dates": Dates, "times": TimesOfDay, "written numbers": Numbers, "hashed": Hashed}
_CATEGORIES = 50
_IDENTIFIER = 0.9  # a column names rows if it has at least so many distinct texts per row
_FEWEST_NAMED = 10  # rows, below which texts are often distinct by chance
_ODD = 0.1  # of the distinct texts may be no numbers or dates in a column that was meant to hold them


class Column(NamedTuple):
    """A column of a table: of numbers, of categories (None is that of missing values), or of texts of some other form.

    Examples
    --------
    >>> Column("city", ("Oslo", None)).features
    ['city=Oslo', 'city is missing']
    >>> Column("day", form=Dates(("year", "month"))).features
    ['day: year', 'day: month']
    """

    name: str
    categories: tuple[str | None, ...] | None = None
    form: Form | None = None

    @property
    def features(self) -> list[str]:
        """The names of the features that the column becomes."""
        if self.form is not None:
            return self.form.features(self.name)
        if self.categories is None:
            return [self.name]
        return [f"{self.name} is missing" if value is None else f"{self.name}={value}" for value in self.categories]

    @property
    def is_measured(self) -> bool:
        """Whether its features are numbers on a scale: numbers, or parts of dates."""
        return self.categories is None and not isinstance(self.form, Hashed)

    @property
    def decision(self) -> str:
        """What the column becomes, in words."""
        if self.form is not None:
            return self.form.decision
        return "numbers" if self.categories is None else f"one-hot encoded, {len(self.categories)} categories"

    def to_json(self) -> dict[str, Any]:
        """Return the column as JSON, which ``from_json`` reads."""
        stored: dict[str, Any] = {"name": self.name, "categories": self.categories}
        if self.form is not None:
            kind = next(key for key, form in _FORMS.items() if isinstance(self.form, form))
            stored["form"] = {"kind": kind, **asdict(self.form)}  # type: ignore[call-overload]
        return stored

    @classmethod
    def from_json(cls, stored: dict[str, Any]) -> Column:
        """Return the column that ``to_json`` has turned into JSON."""
        categories, form = stored["categories"], stored.get("form")
        if not all(value is None or isinstance(value, str) for value in [stored["name"], *(categories or ())]):
            raise ValueError(f"{str(stored)[:100]} is not a column: expected a name, and texts as categories")
        return cls(
            stored["name"], None if categories is None else tuple(categories), None if form is None else _form(form)
        )


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
    def fit(cls, frame: Any, max_categories: int = _CATEGORIES, options: bool = True, rows: float = 0.0) -> Encoding:
        """Return the encoding of a table; columns that are constant, or that name rows, are dropped.

        Parameters
        ----------
        frame : pandas or polars DataFrame
            The table.
        max_categories : int
            The largest number of distinct texts that are one-hot encoded; a column with more of them is hashed.
        options : bool
            Whether errors name the argument ``drop`` of ``symloss.tabular.fit``.
        rows : float
            How many rows the table stands for, if some count several times.
        """
        frame = as_pandas(frame)
        names_rows = _IDENTIFIER * max(rows, len(frame)) if len(frame) >= _FEWEST_NAMED else np.inf
        columns, dropped, errors = [], {}, []
        for name, series in frame.items():
            try:
                found = _column(series, max_categories, names_rows)
            except ValueError as error:
                errors.append(f"{error}, or drop the column" + (f" with {argument('drop', name)}" if options else ""))
                continue
            if isinstance(found, Column):
                columns.append(found)
            else:
                dropped[name] = found
        if errors:
            raise ValueError("; ".join(errors))
        columns = _sharing_features(columns)
        if not columns:
            reasons = ", ".join(f"{name} ({reason})" for name, reason in dropped.items())
            raise ValueError("no column is left to learn from" + (f": dropped {reasons}" if reasons else ""))
        return cls(tuple(columns), dropped, max_categories)

    @property
    def features(self) -> list[str]:
        """The names of the features."""
        return [feature for column in self.columns for feature in column.features]

    @property
    def categorical(self) -> dict[str, int]:
        """The columns that are one-hot encoded, and how many categories each has."""
        return {column.name: len(column.categories) for column in self.columns if column.categories is not None}

    @property
    def texts(self) -> list[str]:
        """The columns that have to be read from a file as text."""
        return [column.name for column in self.columns if column.categories is not None or column.form is not None]

    @property
    def decisions(self) -> dict[str, str]:
        """What was done with each column, in words.

        Examples
        --------
        >>> Encoding((Column("age"), Column("city", ("Oslo", "Rome"))), {"unit": "constant"}).decisions
        {'age': 'numbers', 'city': 'one-hot encoded, 2 categories', 'unit': 'dropped: constant'}
        """
        used = {column.name: column.decision for column in self.columns}
        return used | {name: f"dropped: {reason}" for name, reason in self.dropped.items()}

    def transform(self, frame: Any) -> Encoded:
        """Return the features of the rows; columns may be in any order, and an unknown category becomes all zeros."""
        missing = [column.name for column in self.columns if column.name not in frame.columns]
        if missing:
            raise ValueError(f"columns that the model needs are missing: {', '.join(missing)}")
        frame = as_pandas(frame)
        values, unseen, start = np.zeros((len(frame), len(self.features))), {}, 0
        for column in self.columns:
            series, stop = frame[column.name], start + len(column.features)
            if column.form is not None:
                _fill(column.form, series, values[:, start:stop])
            elif column.categories is None:
                values[:, start] = _numbers(series)
            elif unknown := _one_hot(column.categories, series, values[:, start:stop]):
                unseen[column.name] = unknown
            start = stop
        return Encoded(values, unseen)

    def to_json(self) -> dict[str, Any]:
        """Return the encoding as JSON, which ``from_json`` reads."""
        columns = [column.to_json() for column in self.columns]
        return {"columns": columns, "dropped": self.dropped, "max_categories": self.max_categories}

    @classmethod
    def from_json(cls, stored: dict[str, Any]) -> Encoding:
        """Return the encoding that ``to_json`` has turned into JSON.

        Examples
        --------
        >>> encoding = Encoding((Column("city", ("Oslo", None)),), {})
        >>> Encoding.from_json(encoding.to_json()) == encoding
        True
        """
        columns = [Column.from_json(column) for column in stored["columns"]]
        if len({column.name for column in columns}) < len(columns) or not columns:
            raise ValueError("expected columns of different names in an encoding, found others")
        dropped = {str(name): str(reason) for name, reason in stored["dropped"].items()}
        return cls(tuple(columns), dropped, int(stored["max_categories"]))


def as_text(value: Any) -> str:
    """Return a category as text; a whole number gets no decimal point, even if it was read as a float.

    Examples
    --------
    >>> as_text(1.0), as_text(True), as_text("01")
    ('1', 'True', '01')
    """
    return str(int(value)) if isinstance(value, float) and value.is_integer() else str(value)


def check_range(X: Any, names: Sequence[str] | None = None) -> None:
    """Raise ValueError at a number of a dense array that float32, in which trees hold features, cannot hold.

    Examples
    --------
    >>> check_range(np.array([[1.0], [1e39]]), ["age"])
    Traceback (most recent call last):
    ValueError: X must hold numbers up to 3.4e+38 in size, got 1e+39 in row 1 of column 'age'
    """
    if not isinstance(X, np.ndarray):
        return
    if max(np.fmax.reduce(X, None, initial=0.0), -np.fmin.reduce(X, None, initial=0.0)) > LARGEST:
        row, k = np.argwhere(np.abs(X) > LARGEST)[0].tolist()
        where = f"row {row} of column {k if names is None else names[k]!r}"
        raise ValueError(f"X must hold numbers up to {LARGEST:.2g} in size, got {X[row, k]:g} in {where}")


def _column(series: Series, max_categories: int, names_rows: float) -> Column | str:
    """Return how a column becomes features, or why it is dropped; a text is distinct from others without its spaces."""
    missing = series.isna().to_numpy(bool)
    if missing.all():
        return "all values missing"
    name = str(series.name)
    if _holds_numbers(series):
        numbers = _numbers(series)
        return "constant" if not missing.any() and (numbers == numbers[0]).all() else Column(name)
    spans = (datetime.timedelta, np.timedelta64)
    if series.dtype.kind == "m" or (series.dtype == object and all(isinstance(x, spans) for x in series[~missing])):
        example = series[~missing].iloc[0]
        raise ValueError(
            f"column {name!r} holds lengths of time (such as {example}): make numbers of them, such as hours"
        )
    codes, found = _texts(series)
    texts = list(dict.fromkeys(found))
    if len(texts) == 1 and not missing.any():
        return "constant"
    many = len(texts) > max_categories
    if (form := _recognized(texts, many)) is not None:
        return Column(name, form=form)
    names = len(texts) >= names_rows
    if many or names:
        _check_odd(series, codes, found)
    form = Hashed.of(texts) if many else None
    if names and not (isinstance(form, Hashed) and form.by_word):
        return f"it names rows: {len(texts)} distinct texts"
    if form is not None:
        return Column(name, form=form)
    return Column(name, (*sorted(texts), *([None] if missing.any() else [])))


def _recognized(texts: list[str], many: bool) -> Form | None:
    """Return the form of dates, times or numbers if all texts have it."""
    if (form := Dates.recognize(texts) or TimesOfDay.recognize(texts)) is not None:
        return form
    numbers = Numbers.recognize(texts)
    if numbers is None:
        return None
    # Plain digits, and decimal commas, may also name categories, if there are few of them.
    grouped = numbers.decimal == "." and any("," in text for text in texts)
    return numbers if many or numbers.mark or grouped else None


def _check_odd(series: Series, codes: NDArray[np.intp], found: list[str]) -> None:
    """Raise ValueError if all texts but a few are numbers or dates: these few would make names of the column."""
    for what, reads in (("numbers", is_number), ("dates", is_date)):
        odd = [text for text in dict.fromkeys(found) if not reads(text)]
        codes_among = what == "numbers" and any(text.isdigit() and text[0] == "0" for text in found if len(text) > 1)
        if odd and len(odd) < _ODD * len(set(found)) and not codes_among:
            rows = np.isin(codes, [k for k, text in enumerate(found) if text in odd])
            raise ValueError(
                f"column {series.name!r} holds {what} except {', '.join(map(repr, odd[:5]))} in "
                f"{_where(series, rows)}: leave missing values empty"
            )


def _sharing_features(columns: list[Column]) -> list[Column]:
    """Return the columns, with fewer features of each that is hashed if there are many of them."""
    count = Counter(column.form.by_word for column in columns if isinstance(column.form, Hashed))
    return [
        column._replace(form=column.form.among(count[column.form.by_word]))
        if isinstance(column.form, Hashed)
        else column
        for column in columns
    ]


def _form(stored: dict[str, Any]) -> Form:
    """Return the form that ``Column.to_json`` has turned into JSON."""
    settings = {key: tuple(value) if isinstance(value, list) else value for key, value in stored.items()}
    form: Form = _FORMS[settings.pop("kind")](**settings)
    return form


def _holds_numbers(series: Series) -> bool:
    """Return whether a column holds numbers, or true and false; the type of a column may leave that open."""
    import pandas as pd

    if series.dtype == object:
        return all(isinstance(value, (Real, Decimal)) for value in series.dropna())
    return _has_numeric_type(series) and not isinstance(series.dtype, pd.CategoricalDtype)


def _has_numeric_type(series: Series) -> bool:
    import pandas as pd

    return bool(series.dtype.kind == "b" or pd.api.types.is_numeric_dtype(series.dtype))


def _numbers(series: Series) -> Array:
    """Return the values as numbers; NaN is a missing value."""
    missing = series.isna().to_numpy(bool)
    if _has_numeric_type(series):
        numbers = series.to_numpy(np.float64, na_value=np.nan)
        wrong = np.isnan(numbers) & ~missing
    else:
        codes, found = _distinct(series)
        plain = Numbers(".")
        of_found = [float(x) if isinstance(x, (Real, Decimal)) else plain.number(str(x)) for x in found]
        numbers = np.array([*of_found, np.nan])[codes]
        wrong = np.isnan(numbers) & ~missing
        odd = wrong & np.array([*(not is_number(str(x)) for x in found), False])[codes]
        wrong = odd if odd.any() else wrong  # rather these than numbers that have another decimal mark
    if wrong.any():
        example = series.iloc[int(np.argmax(wrong))]
        raise ValueError(f"column {series.name!r} must hold numbers, got {example!r} in {_where(series, wrong)}")
    large = np.abs(numbers) > LARGEST
    if large.any():
        what = "infinite values" if np.isinf(numbers[large]).all() else f"values above {LARGEST:.2g} in size"
        raise ValueError(f"column {series.name!r} holds {what} in {_where(series, large)}: leave missing values empty")
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


def _fill(form: Form, series: Series, out: Array) -> None:
    """Write the features of a column into ``out``."""
    if isinstance(form, Numbers) and _holds_numbers(series):
        out[:, 0] = _numbers(series)
        return
    codes, texts = _texts(series)
    wrong = form.fill(texts, codes, out)
    if wrong.any():
        rows = np.append(wrong, False)[codes]
        example = texts[codes[int(np.argmax(rows))]]
        where = _where(series, rows)
        order = isinstance(form, Dates) and form.day_first is None and is_date(example)
        reason = "; the fit saw no date that tells whether the day or the month comes first" if order else ""
        raise ValueError(
            f"column {series.name!r} must hold {form.what}, as in the fit, got {example!r} in {where}{reason}"
        )


def _where(series: Series, rows: NDArray[np.bool_]) -> str:
    """Return the rows, in words: how many they are, and the first."""
    count, k = int(rows.sum()), int(np.argmax(rows))
    first = row_name(series.index[k : k + 1].tolist()[0])
    return first if count == 1 else f"{count} rows, the first of them {first}"


def _one_hot(categories: tuple[str | None, ...], series: Series, out: Array) -> int:
    """Write 1 into ``out`` at the category of each row, and return how many rows have a category that is not known."""
    codes, texts = _texts(series)
    place_of = {value: k for k, value in enumerate(categories)}
    known = np.array([*(place_of.get(text, -1) for text in texts), place_of.get(None, -1)])
    places = known[codes]  # a missing value has the code -1, which is the last place
    rows = np.flatnonzero(places >= 0)
    out[rows, places[rows]] = 1.0
    return len(out) - len(rows)
