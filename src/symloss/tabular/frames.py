"""Tables as data frames of pandas: what comes as one of polars, or as a file, becomes one."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from symloss.estimators.frames import check_collected, column_names, library_of
from symloss.extras import require
from symloss.tabular.files import Read, ReadOptions, read

if TYPE_CHECKING:
    from pandas import DataFrame


def as_pandas(frame: Any) -> DataFrame:
    """Return a data frame of pandas or polars as one of pandas.

    Examples
    --------
    >>> import polars as pl
    >>> as_pandas(pl.DataFrame({"age": [30, 40]}))
       age
    0   30
    1   40
    """
    check_collected(frame)
    library = library_of(frame)
    if library is None:
        raise ValueError(f"the table must be a pandas or polars DataFrame, got {type(frame).__name__}")
    column_names(frame)  # raises unless they are texts that differ
    if library == "polars":
        require("tables", "tables of polars need pandas and pyarrow", "pandas", "pyarrow")
        frame = frame.to_pandas()
    return frame


def table_of(data: Any, text: Sequence[str] = ()) -> Read:
    """Return the table that is given as a data frame or as the path of a file, and how a file was read.

    Parameters
    ----------
    data : pandas or polars DataFrame, str or Path
        The table.
    text : sequence of str
        Columns of a file to read as text, exactly as they are written.

    Examples
    --------
    >>> import pandas as pd
    >>> found = table_of(pd.DataFrame({"age": [30]}))
    >>> found.frame.columns.tolist(), found.notes
    (['age'], [])
    """
    return read(data, text) if isinstance(data, (str, Path)) else Read(as_pandas(data), [], ReadOptions())
