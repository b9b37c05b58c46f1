"""Data frames of pandas and of polars. Neither is imported before the user passes one, so both remain optional."""

from __future__ import annotations

import sys
from decimal import Decimal
from numbers import Real
from typing import TYPE_CHECKING, Any

from symloss.extras import require

if TYPE_CHECKING:
    from pandas import DataFrame, Series


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
