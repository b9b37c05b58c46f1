"""Turn the columns of a data frame of pandas or polars into features: numbers stay, categories are one-hot encoded.

Dates, times of the day, numbers written for people, and columns with many texts have a form of their own. Neither
library is imported before the user passes a frame, so both remain optional.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import asdict, replace
from decimal import Decimal
from itertools import count
from numbers import Real
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from symloss.columns.values import (
    LARGEST,
    MISSING,
    NO_NUMBER,
    Categories,
    Dates,
    Form,
    Hashed,
    Numbers,
    is_date,
    is_number,
)
from symloss.messages import require, row_name

if TYPE_CHECKING:
    from pandas import DataFrame, Series
Array = NDArray[np.float64]
_FORMS: dict[str, Any] = {form.__name__: form for form in (Numbers, Categories, Dates, Hashed)}
_CATEGORIES = 50
_IDENTIFIER = 0.9  # a column names rows if it has at least so many distinct texts per row
_FEWEST_NAMED = 10  # rows, below which texts are often distinct by chance
_CLEAN = ": leave missing values empty, or drop the column"
_ODD = 0.1  # of the distinct texts may be no numbers or dates in a column that was meant to hold them


def library_of(X: Any) -> str | None:
    """Return "pandas" or "polars" if X is a data frame of that library, else None."""
    for library in ("pandas", "polars"):
        if isinstance(X, getattr(sys.modules.get(library), "DataFrame", ())):
            return library
    return None


def as_pandas(frame: Any) -> DataFrame:
    """Return a data frame of pandas or polars as one of pandas."""
    library = library_of(frame)
    if library is None:
        raise ValueError(f"the table must be a pandas or polars DataFrame, got {type(frame).__name__}")
    if library == "polars":
        require("tables", "polars frames with columns of text need pandas and pyarrow", "pandas", "pyarrow")
        frame = frame.to_pandas()
    return frame


def has_only_numbers(frame: Any) -> bool:
    """Return whether every column of a data frame holds numbers, or true and false; values may be missing."""
    if library_of(frame) == "polars":
        return all(dtype.is_numeric() or str(dtype) in ("Boolean", "Null") for dtype in frame.dtypes)
    return all(
        dtype.kind in "biufc"
        or (dtype.name == "object" and all(x is None or isinstance(x, (Real, Decimal)) for x in frame.iloc[:, k]))
        for k, dtype in enumerate(frame.dtypes)  # NumPy makes no NaN of pandas' NA
    )


def holds_numbers(series: Series) -> bool:
    """Return whether a column of pandas holds numbers, or true and false; its type may leave that open."""
    if series.dtype == object:
        return all(isinstance(value, (Real, Decimal)) for value in series.dropna())
    return is_numeric(series.dtype)


def is_numeric(dtype: Any) -> bool:
    """Return whether a type of pandas is that of numbers, or of true and false."""
    import pandas as pd

    return bool(dtype.kind == "b" or pd.api.types.is_numeric_dtype(dtype))


def column_names(frame: Any) -> list[str]:
    """Return the names of the columns; raise ValueError unless they are texts that differ."""
    names = list(frame.columns)
    for name in names:
        if not isinstance(name, str):
            raise ValueError(f"a data frame with columns of text needs names that are texts, got the name {name!r}")
    if len(set(names)) < len(names):
        twice = sorted({name for name in names if names.count(name) > 1})
        raise ValueError(f"several columns have the name {', '.join(twice)}; rename all but one")
    return names


class Encoded(NamedTuple):
    """The features of a table's rows, and for each column the number of rows whose category is not known."""

    values: Array
    unseen: dict[str, int]


class Encoding(NamedTuple):
    """How the columns of a table become features.

    Parameters
    ----------
    forms : dict
        The columns that are used, and what each becomes.
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

    forms: dict[str, Form]
    dropped: dict[str, str]

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
        return cls(forms, dropped)

    @property
    def features(self) -> list[str]:
        """The names of the features."""
        return [feature for name, form in self.forms.items() for feature in form.features(name)]

    @property
    def places(self) -> dict[str, list[int]]:
        """The numbers of the features of each column."""
        numbers = count()
        return {name: [next(numbers) for _ in form.features(name)] for name, form in self.forms.items()}

    @property
    def categorical(self) -> dict[str, int]:
        """The columns that are one-hot encoded, and how many categories each has."""
        return {name: len(form.names) for name, form in self.forms.items() if isinstance(form, Categories)}

    @property
    def texts(self) -> list[str]:
        """The columns that have to be read from a file as text."""
        return [name for name, form in self.forms.items() if not isinstance(form, Numbers) or form.mark]

    @property
    def decisions(self) -> dict[str, str]:
        """What was done with each column, in words."""
        used = {name: form.decision for name, form in self.forms.items()}
        return used | {name: f"dropped: {reason}" for name, reason in self.dropped.items()}

    def transform(self, frame: Any) -> Encoded:
        """Return the features of the rows; columns may be in any order, and an unknown category becomes all zeros."""
        missing = [name for name in self.forms if name not in frame.columns]
        if missing:
            raise ValueError(f"columns that the model needs are missing: {', '.join(missing)}")
        frame, unseen = as_pandas(frame), {}
        values = np.zeros((len(frame), len(self.features)))
        for name, place in self.places.items():
            values[:, place], unknown = _encoded(frame[name], self.forms[name])
            if unknown:
                unseen[name] = unknown
        return Encoded(values, unseen)

    def to_json(self) -> dict[str, Any]:
        """Return the encoding as JSON, which ``from_json`` reads."""
        columns = [{"name": name, "form": type(form).__name__, **asdict(form)} for name, form in self.forms.items()]
        return {"columns": columns, "dropped": self.dropped}

    @classmethod
    def from_json(cls, stored: dict[str, Any]) -> Encoding:
        """Return the encoding that ``to_json`` has turned into JSON."""
        forms: dict[str, Form] = {}
        for column in stored["columns"]:
            settings = {key: tuple(value) if isinstance(value, list) else value for key, value in column.items()}
            name, form = str(settings.pop("name")), str(settings.pop("form"))
            forms[name] = _FORMS[form](**settings)
        return cls(forms, stored["dropped"])


def as_text(value: Any) -> str:
    """Return a category as text; a whole number gets no decimal point, even if it was read as a float."""
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
    if holds_numbers(series):
        values = _encoded(series, Numbers())[0]
        return "constant" if not missing.any() and (values == values[0]).all() else Numbers()
    if series.dtype.kind == "m":
        raise ValueError(f"column {series.name!r} holds lengths of time: make numbers of them, such as hours")
    codes, found = _distinct(series)
    spelled = [as_text(value).strip() for value in found]
    texts = list(dict.fromkeys(spelled))
    if len(texts) == 1 and not missing.any():
        return "constant"
    many, names = len(texts) > max_categories, len(texts) >= names_rows
    if (form := Dates.recognize(texts)) is not None:
        return form
    # Plain digits, and decimal commas, may also name categories, if there are few of them.
    numbers = Numbers.recognize(texts)
    if numbers is not None and (
        many or numbers.mark or (numbers.decimal == "." and any("," in text for text in texts))
    ):
        return numbers
    if many or names:
        _check_odd(series, codes, spelled)
    hashed = Hashed.of(texts)
    if names and not (many and hashed.by_word):
        return f"it names rows: {len(texts)} distinct texts"
    return hashed if many else Categories((*sorted(texts), *([None] if missing.any() else [])))


def _check_odd(series: Series, codes: NDArray[np.intp], found: list[str]) -> None:
    """Raise ValueError if all texts but a few are numbers or dates: these few would make names of the column."""
    for what, reads in (("numbers", is_number), ("dates or times", is_date)):
        odd = [k for k, text in enumerate(found) if not reads(text)]
        are_codes = what == "numbers" and any(text.isdigit() and text[0] == "0" for text in found if len(text) > 1)
        if odd and len(odd) < _ODD * len(found) and not are_codes:
            shown = ", ".join(dict.fromkeys(repr(found[k]) for k in odd[:5]))
            raise _refusal(series, f"holds {what} except {shown}", np.isin(codes, odd), _CLEAN)


def _encoded(series: Series, form: Form) -> tuple[Array, int]:
    """Return the features of a column, and how many rows have a category that is not known."""
    if isinstance(form, Numbers) and is_numeric(series.dtype):
        values, unread = series.to_numpy(np.float64, na_value=np.nan)[:, None], np.zeros(len(series), bool)
    else:
        codes, found = _distinct(series)
        texts = [as_text(value).strip() for value in found]
        of_texts = form.encode([*texts, None])  # the last, of the code -1, is missing
        if isinstance(form, Numbers):
            for k, value in enumerate(found):
                if isinstance(value, (Real, Decimal)):
                    of_texts[k] = float(value)
        values = of_texts[codes]
        missing = NO_NUMBER if isinstance(form, Numbers) else MISSING
        said = np.array([*(text.lower() not in missing for text in texts), False])
        wrong = said & np.isnan(of_texts).all(1)
        # A text that is no number at all says more than the numbers with another decimal mark beside it.
        odd = [k for k in np.flatnonzero(wrong) if isinstance(form, Numbers) and not is_number(texts[k])]
        unread = np.isin(codes, odd or np.flatnonzero(wrong))
    if unread.any():
        example = as_text(series.iloc[int(np.argmax(unread))])
        what = "dates or times" if isinstance(form, Dates) else "numbers"
        mark = f" with {form.mark}" if isinstance(form, Numbers) and form.mark else ""
        order = isinstance(form, Dates) and form.day_first is None and is_date(example)
        hint = "; the fit saw no date that tells whether the day or the month comes first" if order else ""
        raise _refusal(series, f"must hold {what}{mark}, got {example!r}", unread, hint)
    if isinstance(form, Numbers) and (large := np.abs(values[:, 0]) > LARGEST).any():
        what = "infinite values" if np.isinf(values[large]).all() else f"values above {LARGEST:.2g} in size"
        raise _refusal(series, f"holds {what}", large, _CLEAN)
    return values, int((~values.any(1)).sum()) if isinstance(form, Categories) else 0


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


def _refusal(series: Series, what: str, rows: NDArray[np.bool_], hint: str) -> ValueError:
    """Return an error about a column that names its rows: how many they are, and the first."""
    total, first = int(rows.sum()), row_name(series.index[rows][:1].tolist()[0])
    where = first if total == 1 else f"{total} rows, the first of them {first}"
    return ValueError(f"column {series.name!r} {what} in {where}{hint}")
