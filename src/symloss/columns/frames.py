"""Data frames of pandas and of polars: what their columns hold, in the same words for both.

Neither library is imported before the user passes one of its frames, so both remain optional.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from decimal import Decimal
from numbers import Real
from typing import Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]


class Cells(Protocol):
    """The values of a column; NaN, None, and what a library calls NA or null are missing values.

    If the type of a column is that of dates with a time, its distinct values are texts as in ISO 8601.
    """

    @property
    def name(self) -> str:
        """The name of the column."""

    @property
    def kind(self) -> str:
        """What the type of the column says about its values: "number", "date", "object" (anything) or "text"."""

    @property
    def missing(self) -> NDArray[np.bool_]:
        """Whether each value is missing."""

    def distinct(self) -> list[Any]:
        """Return the distinct values that are not missing; raise TypeError if they cannot be compared."""

    def coded(self) -> tuple[Sequence[int], Sequence[Any]]:
        """Return the place of each value among the distinct values, -1 if it is missing, and the distinct values."""

    def at(self, row: int) -> Any:
        """Return the value of a row."""

    def label(self, row: int) -> Any:
        """Return the label of a row in the index of the frame; without an index, its place."""

    def numbers(self) -> Array:
        """Return all values as numbers; NaN where a value is missing or is no number."""

    def converts_to_numbers(self) -> bool:
        """Return whether NumPy, and so scikit-learn, makes numbers of all values, and NaN of missing ones."""


class PandasCells(NamedTuple):
    """A column of a pandas DataFrame.

    Examples
    --------
    >>> import pandas as pd
    >>> cells = PandasCells(pd.Series(["Oslo", None, "Rome"], name="city"))
    >>> cells.kind, cells.distinct(), cells.missing.tolist()
    ('text', ['Oslo', 'Rome'], [False, True, False])
    """

    series: Any

    @property
    def name(self) -> str:
        """The name of the column."""
        return self.series.name  # type: ignore[no-any-return]

    @property
    def kind(self) -> str:
        """What the type of the column says about its values."""
        import pandas as pd

        dtype = self.series.dtype
        if dtype.kind in "mM":
            return "date"
        if isinstance(dtype, pd.CategoricalDtype) or dtype.kind == "c":
            return "text"
        if dtype.kind == "b" or pd.api.types.is_numeric_dtype(dtype):
            return "number"
        return "object" if dtype.name == "object" else "text"

    @property
    def missing(self) -> NDArray[np.bool_]:
        """Whether each value is missing."""
        return np.asarray(self.series.isna(), dtype=bool)

    def distinct(self) -> list[Any]:
        """Return the distinct values that are not missing; raise TypeError if they cannot be compared."""
        return list(self.coded()[1] if self.kind == "date" else self.series.dropna().unique())

    def coded(self) -> tuple[Sequence[int], Sequence[Any]]:
        """Return the place of each value among the distinct values, -1 if it is missing, and the distinct values."""
        import pandas as pd

        if not isinstance(self.series.dtype, (np.dtypes.DateTime64DType, pd.DatetimeTZDtype)):
            return pd.factorize(self.series.astype(object))  # type: ignore[no-any-return]
        local = self.series.dt.tz_localize(None)  # what the clock says
        codes, found = pd.factorize(local.to_numpy("datetime64[s]"))
        return codes, np.datetime_as_string(found).tolist()

    def at(self, row: int) -> Any:
        """Return the value of a row."""
        return self.series.iloc[row]

    def label(self, row: int) -> Any:
        """Return the label of a row in the index of the frame."""
        return self.series.index[row : row + 1].tolist()[0]

    def numbers(self) -> Array:
        """Return all values as numbers; NaN where a value is missing or is no number."""
        import pandas as pd

        series = self.series if self.kind == "number" else pd.to_numeric(self.series, errors="coerce")
        return np.asarray(series.to_numpy(dtype=np.float64, na_value=np.nan))

    def converts_to_numbers(self) -> bool:
        """Return whether NumPy, and so scikit-learn, makes numbers of all values, and NaN of missing ones."""
        if self.kind == "object":  # it may hold pandas' NA, too, of which NumPy makes no NaN
            return all(value is None or isinstance(value, (Real, Decimal)) for value in self.series)
        return self.series.dtype.kind in "biufc"


class PolarsCells(NamedTuple):
    """A column of a polars DataFrame.

    Examples
    --------
    >>> import polars as pl
    >>> cells = PolarsCells(pl.Series("city", ["Oslo", None, "Rome"]))
    >>> cells.kind, cells.distinct(), cells.missing.tolist()
    ('text', ['Oslo', 'Rome'], [False, True, False])
    """

    series: Any

    @property
    def name(self) -> str:
        """The name of the column."""
        return self.series.name  # type: ignore[no-any-return]

    @property
    def kind(self) -> str:
        """What the type of the column says about its values."""
        import polars as pl

        dtype = self.series.dtype
        if dtype.is_temporal():
            return "date"
        if dtype.is_numeric() or dtype in (pl.Boolean, pl.Null):
            return "number"
        return "object" if dtype == pl.Object else "text"

    @property
    def missing(self) -> NDArray[np.bool_]:
        """Whether each value is missing."""
        absent = self.series.is_null()
        return np.asarray(absent | self.series.is_nan() if self.series.dtype.is_float() else absent, dtype=bool)

    def distinct(self) -> list[Any]:
        """Return the distinct values that are not missing; raise TypeError if they cannot be compared."""
        series = self._plain()
        found = series if self.kind == "object" else series.unique(maintain_order=True)
        values = zip(found.to_list(), PolarsCells(found).missing, strict=True)
        return list(dict.fromkeys(value for value, missing in values if not missing))

    def coded(self) -> tuple[Sequence[int], Sequence[Any]]:
        """Return the place of each value among the distinct values, -1 if it is missing, and the distinct values."""
        found = self.distinct()
        places = {value: place for place, value in enumerate(found)}
        return [places.get(value, -1) for value in self._plain().to_list()], found

    def _plain(self) -> Any:
        """Return the values, dates with a time as texts: what the clock says."""
        import polars as pl

        return self.series.dt.to_string("%Y-%m-%dT%H:%M:%S") if self.series.dtype == pl.Datetime else self.series

    def at(self, row: int) -> Any:
        """Return the value of a row."""
        return self.series.slice(row, 1).to_list()[0]

    def label(self, row: int) -> Any:
        """Return the place of a row, because polars has no index."""
        return row

    def numbers(self) -> Array:
        """Return all values as numbers; NaN where a value is missing or is no number."""
        import polars as pl

        dtype = self.series.dtype
        if dtype.is_nested() or dtype in (pl.Object, pl.Binary):
            numbers = (value if isinstance(value, (Real, Decimal)) else np.nan for value in self.series)
            return np.fromiter(numbers, np.float64)
        # Casting a category to a number would give its place in the list of categories.
        series = self.series.cast(pl.String) if dtype in (pl.Categorical, pl.Enum) else self.series
        return np.asarray(series.cast(pl.Float64, strict=False).fill_null(float("nan")).to_numpy())

    def converts_to_numbers(self) -> bool:
        """Return whether NumPy, and so scikit-learn, makes numbers of all values, and NaN of missing ones."""
        return self.kind == "number"


def library_of(X: Any) -> str | None:
    """Return "pandas" or "polars" if X is a data frame of that library, else None.

    Examples
    --------
    >>> import pandas as pd
    >>> library_of(pd.DataFrame()), library_of(np.zeros((1, 1)))
    ('pandas', None)
    """
    for library in ("pandas", "polars"):
        if isinstance(X, getattr(sys.modules.get(library), "DataFrame", ())):
            return library
    return None


def check_collected(X: Any) -> None:
    """Raise ValueError if X is a polars LazyFrame, which does not hold its values.

    Examples
    --------
    >>> import polars as pl
    >>> check_collected(pl.LazyFrame())
    Traceback (most recent call last):
    ValueError: X must hold its values, got a polars LazyFrame: pass X.collect()
    """
    if isinstance(X, getattr(sys.modules.get("polars"), "LazyFrame", ())):
        raise ValueError("X must hold its values, got a polars LazyFrame: pass X.collect()")


def cells_of(frame: Any) -> Iterator[Cells]:
    """Yield the columns of a data frame.

    Examples
    --------
    >>> import pandas as pd
    >>> [cells.name for cells in cells_of(pd.DataFrame({"age": [30], "city": ["Oslo"]}))]
    ['age', 'city']
    """
    if library_of(frame) == "polars":
        yield from map(PolarsCells, frame.iter_columns())
    else:
        yield from (PandasCells(frame.iloc[:, k]) for k in range(frame.shape[1]))


def has_only_numbers(frame: Any) -> bool:
    """Return whether every column of a data frame holds numbers, or true and false; values may be missing.

    Examples
    --------
    >>> import pandas as pd
    >>> has_only_numbers(pd.DataFrame({"age": [30, None]})), has_only_numbers(pd.DataFrame({"city": ["Oslo"]}))
    (True, False)
    """
    if library_of(frame) == "pandas" and all(dtype.kind in "biufc" for dtype in frame.dtypes):
        return True  # at once, because a frame may have many columns
    return all(cells.converts_to_numbers() for cells in cells_of(frame))


def column_names(frame: Any) -> list[str]:
    """Return the names of the columns; raise ValueError unless they are texts that differ.

    Examples
    --------
    >>> import pandas as pd
    >>> column_names(pd.DataFrame({0: ["Oslo"]}))
    Traceback (most recent call last):
    ValueError: a data frame with columns of text needs names that are texts, got the name 0
    """
    names = list(frame.columns)
    for name in names:
        if not isinstance(name, str):
            raise ValueError(f"a data frame with columns of text needs names that are texts, got the name {name!r}")
    twice = sorted({name for name in names if names.count(name) > 1}) if len(set(names)) < len(names) else []
    if twice:
        raise ValueError(f"several columns have the name {', '.join(twice)}; rename all but one")
    return names
