"""Turn the columns of a data frame into features: numbers stay as they are, categories are one-hot encoded.

Dates, times of the day, numbers written for people, and columns with many texts have a form of their own, each in its
own module.
"""

from __future__ import annotations

import datetime
import re
from collections import Counter
from collections.abc import Iterable, Sequence
from decimal import Decimal
from numbers import Real
from typing import Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from symloss.columns.dates import PARTS, Dates
from symloss.columns.frames import Cells, cells_of
from symloss.columns.hashing import Hashed
from symloss.columns.times import TimesOfDay
from symloss.columns.written_numbers import WrittenNumbers
from symloss.naming import named, place

Array = NDArray[np.float64]
_FORMS = {"dates": Dates, "times": TimesOfDay, "written numbers": WrittenNumbers, "hashed": Hashed}
_CODE = re.compile(r"0\d+")
_CATEGORIES = 50
_MOST_HASHED = 2**20  # features of all hashed columns together: a file could ask for any number
_IDENTIFIER = 0.9  # a column names rows if it has at least so many distinct texts per row
_FEWEST_NAMED = 10  # rows, below which texts are often distinct by chance


class Form(Protocol):
    """How the texts of a column become features."""

    @property
    def what(self) -> str:
        """What the column must hold, in a word."""

    @property
    def decision(self) -> str:
        """What the column becomes, in words."""

    def features(self, name: str) -> list[str]:
        """Return the names of the features of a column."""

    def fill(self, texts: Sequence[str], codes: NDArray[np.intp], out: Array) -> NDArray[np.bool_]:
        """Write the features of ``texts[codes]`` into ``out`` (-1 is missing); return which texts cannot be read."""

    def _asdict(self) -> dict[str, Any]: ...


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
            stored["form"] = {"kind": kind, **self.form._asdict()}
        return stored

    @classmethod
    def from_json(cls, stored: dict[str, Any]) -> Column:
        """Return the column that ``to_json`` has turned into JSON; earlier versions knew no forms."""
        name, categories, form = stored["name"], stored["categories"], stored.get("form")
        if not isinstance(name, str) or not (categories is None or _are_categories(categories)):
            raise ValueError(f"{str(stored)[:100]} is not a column: expected a name, and texts as categories")
        return cls(name, None if categories is None else tuple(categories), None if form is None else _form(form))


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
        for name, distinct in _distinct_texts(columns).items():
            if len(frame) >= _FEWEST_NAMED and distinct >= _IDENTIFIER * max(rows, len(frame)):
                dropped[name] = f"it names rows: {distinct} distinct texts"
        columns = _sharing_features([column for column in columns if column.name not in dropped])
        if not columns:
            reasons = ", ".join(f"{name} ({reason})" for name, reason in dropped.items())
            raise ValueError("no column is left to learn from" + (f": dropped {reasons}" if reasons else ""))
        _check_names(columns, options)
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
        """The columns that have to be read from a file as text, exactly as they are written."""
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
        given = {cells.name: cells for cells in cells_of(frame)}
        values, unseen, start = np.zeros((len(frame), len(self.features))), {}, 0
        for column in self.columns:
            cells, stop = given[column.name], start + len(column.features)
            if column.form is not None:
                _fill(column.form, cells, values[:, start:stop])
            elif column.categories is None:
                values[:, start] = _numbers(cells)
            elif unknown := _one_hot(column.categories, cells, values[:, start:stop]):
                unseen[column.name] = unknown
            start = stop
        return Encoded(values, unseen)

    def to_json(self) -> dict[str, Any]:
        """Return the encoding as JSON, which ``from_json`` reads."""
        stored = {"columns": [column.to_json() for column in self.columns], "dropped": self.dropped}
        # As earlier versions wrote it, where that says the same.
        return stored if self.max_categories == _CATEGORIES else stored | {"max_categories": self.max_categories}

    @classmethod
    def from_json(cls, stored: dict[str, Any]) -> Encoding:
        """Return the encoding that ``to_json`` has turned into JSON; earlier versions did not store max_categories.

        Examples
        --------
        >>> encoding = Encoding((Column("city", ("Oslo", None)),), {})
        >>> Encoding.from_json(encoding.to_json()) == encoding
        True
        """
        columns = [Column.from_json(column) for column in stored["columns"]]
        if len({column.name for column in columns}) < len(columns) or not columns:
            raise ValueError("expected columns of different names in an encoding, found others")
        hashed = sum(column.form.n_features for column in columns if isinstance(column.form, Hashed))
        if hashed > _MOST_HASHED:
            raise ValueError(f"expected at most {_MOST_HASHED} features of hashed columns, found more")
        _check_names(columns, options=False)
        dropped = {str(name): str(reason) for name, reason in stored["dropped"].items()}
        return cls(tuple(columns), dropped, int(stored.get("max_categories", _CATEGORIES)))


def as_text(value: Any) -> str:
    """Return a category as text; a whole number gets no decimal point, even if it was read as a float.

    Examples
    --------
    >>> as_text(1.0), as_text(True), as_text("01")
    ('1', 'True', '01')
    """
    return str(int(value)) if isinstance(value, float) and value.is_integer() else str(value)


def _stripped(value: Any) -> str:
    """Return a category as text, without the spaces around it, which nobody sees."""
    return as_text(value).strip()


def _distinct(cells: Cells) -> list[Any]:
    """Return the distinct values that are not missing."""
    try:
        return cells.distinct()
    except TypeError:
        raise _not_plain(cells) from None


def _coded(cells: Cells) -> tuple[Sequence[int], Sequence[Any]]:
    """Return the place of each value among the distinct values, and the distinct values."""
    try:
        return cells.coded()
    except TypeError:
        raise _not_plain(cells) from None


def _not_plain(cells: Cells) -> ValueError:
    """Return the error for values that cannot be compared, such as lists."""
    kind = type(cells.at(int(np.argmin(cells.missing)))).__name__.replace("ndarray", "list")
    return ValueError(
        f"column {cells.name!r} holds {kind}s, not numbers or text: leave it out, or split it into columns"
    )


def _column(cells: Cells, found: list[Any], max_categories: int, options: bool) -> Column:
    if _is_number(cells, found):
        _numbers(cells, options)  # raises if a value is infinite
        return Column(cells.name)
    if _is_span(cells, found):
        raise ValueError(
            f"column {cells.name!r} holds lengths of time (such as {found[0]}): make numbers of them, such as hours"
            f"{_or_drop(cells.name, options)}"
        )
    texts = list(dict.fromkeys(map(_stripped, found)))
    many = len(texts) > max_categories
    form: Form | None = _recognized(texts, many)
    if form is None and many:
        _check_nearly_numbers(cells, texts, options)
        form = Hashed.of(texts)
    if form is not None:
        return Column(cells.name, form=form)
    return Column(cells.name, (*sorted(texts), *([None] if cells.missing.any() else [])))


def _recognized(texts: list[str], many: bool) -> Form | None:
    """Return the form of dates, times or numbers if all texts have it."""
    dates = Dates.recognize(texts)
    if dates is not None:
        return dates
    times = TimesOfDay.recognize(texts)
    return times if times is not None else WrittenNumbers.recognize(texts, many)


def _check_nearly_numbers(cells: Cells, texts: list[str], options: bool) -> None:
    others = [text for text in texts if not _reads_as_number(text)]
    has_codes = any(_CODE.fullmatch(text) for text in texts)
    if others and not has_codes and len(others) < len(texts) / 10:
        codes, found = _coded(cells)
        of_others = [k for k, value in enumerate(found) if _stripped(value) in others]
        where = _where(cells, np.isin(np.asarray(codes, np.intp), of_others))
        raise ValueError(
            f"column {cells.name!r} holds numbers except {', '.join(map(repr, others[:5]))} in {where}: leave missing "
            f"values empty{_or_drop(cells.name, options)}"
        )


def _check_names(columns: Iterable[Column], options: bool) -> None:
    """Raise ValueError if two columns become features of the same name."""
    column_of: dict[str, str] = {}
    for column in columns:
        for feature in column.features:
            other = column_of.setdefault(feature, column.name)
            if other != column.name:
                raise ValueError(
                    f"columns {other!r} and {column.name!r} become features of the same name, {feature!r}: leave one "
                    "of them out" + (f", such as with {named('drop', column.name)}" if options else "")
                )


def _distinct_texts(columns: Iterable[Column]) -> dict[str, int]:
    """Return the columns of texts that are not split into words, and how many distinct texts each has."""
    found = {}
    for column in columns:
        if column.categories is not None:
            found[column.name] = len(column.categories) - (None in column.categories)
        elif isinstance(column.form, Hashed) and not column.form.words:
            found[column.name] = column.form.distinct
    return found


def _sharing_features(columns: list[Column]) -> list[Column]:
    """Return the columns, with fewer features of each that is hashed if there are many of them."""
    count = Counter(column.form.words for column in columns if isinstance(column.form, Hashed))
    return [
        column._replace(form=column.form.among(count[column.form.words])) if isinstance(column.form, Hashed) else column
        for column in columns
    ]


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


def _is_span(cells: Cells, found: Iterable[Any]) -> bool:
    """Return whether all values are lengths of time."""
    spans = (datetime.timedelta, np.timedelta64)
    return cells.kind in ("date", "object") and all(isinstance(value, spans) for value in found)


def _are_categories(stored: Any) -> bool:
    if not isinstance(stored, (list, tuple)) or not all(value is None or isinstance(value, str) for value in stored):
        return False
    return 0 < len(stored) == len({*stored})


def _form(stored: dict[str, Any]) -> Form:
    """Return the form that ``Column.to_json`` has turned into JSON; raise ValueError if it is none."""
    settings = {key: tuple(value) if isinstance(value, list) else value for key, value in stored.items()}
    form: Any = _FORMS[stored["kind"]](**{key: value for key, value in settings.items() if key != "kind"})
    if isinstance(form, Dates):
        known = 0 < len(form.parts) == len({*form.parts} & {*PARTS})
    elif isinstance(form, TimesOfDay):
        known = True
    elif isinstance(form, WrittenNumbers):
        known = form.decimal in (".", ",") and isinstance(form.mark, str)
    else:
        known = type(form.n_features) is int and form.n_features > 0 and type(form.distinct) is int
    if not known:
        raise ValueError(f"expected how a column of texts becomes features, found {str(stored)[:100]}")
    return form  # type: ignore[no-any-return]


def _numbers(cells: Cells, options: bool = False) -> Array:
    """Return the values as numbers; NaN is a missing value."""
    numbers = cells.numbers()
    wrong = (np.isnan(numbers) | (cells.kind == "date")) & ~cells.missing
    if wrong.any():
        example = cells.at(int(np.argmax(wrong)))
        raise ValueError(f"column {cells.name!r} must hold numbers, got {example!r} in {_where(cells, wrong)}")
    infinite = np.isinf(numbers)
    if infinite.any():
        where = f"column {cells.name!r} holds infinite values in {_where(cells, infinite)}"
        raise ValueError(f"{where}: leave missing values empty{_or_drop(cells.name, options)}")
    return numbers


def _fill(form: Form, cells: Cells, out: Array) -> None:
    """Write the features of a column into ``out``."""
    if form.what == "numbers" and cells.kind == "number":
        out[:, 0] = _numbers(cells)
        return
    codes, found = _coded(cells)
    places, texts = np.asarray(codes, np.intp), [_stripped(value) for value in found]
    wrong = form.fill(texts, places, out)
    if wrong.any():
        rows = np.append(wrong, False)[places]
        example = texts[places[int(np.argmax(rows))]]
        where = _where(cells, rows)
        raise ValueError(f"column {cells.name!r} must hold {form.what}, as in the fit, got {example!r} in {where}")


def _where(cells: Cells, rows: NDArray[np.bool_]) -> str:
    """Return the rows, in words: how many they are, and the first."""
    count, first = int(rows.sum()), place(cells.label(int(np.argmax(rows))))
    return first if count == 1 else f"{count} rows, the first of them {first}"


def _or_drop(name: str, options: bool) -> str:
    """Return the other way out: to drop a column, which only tables have an argument for."""
    return f", or drop the column with {named('drop', name)}" if options else ", or drop the column"


def _one_hot(categories: tuple[str | None, ...], cells: Cells, out: Array) -> int:
    """Write 1 into ``out`` at the category of each row, and return how many rows have a category that is not known."""
    codes, found = _coded(cells)
    place_of = {value: k for k, value in enumerate(categories)}
    texts = map(as_text, found)  # as they are first: earlier versions kept spaces
    known = np.array([*(place_of.get(text, place_of.get(text.strip(), -1)) for text in texts), place_of.get(None, -1)])
    places = known[np.asarray(codes, np.intp)]  # a missing value has the code -1, which is the last place
    rows = np.flatnonzero(places >= 0)
    out[rows, places[rows]] = 1.0
    return len(out) - len(rows)
