"""Tables as data frames of pandas: what comes as one of polars, or as a file, becomes one."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from symloss.estimators.encoding import Encoding
from symloss.estimators.frames import check_collected, column_names, library_of
from symloss.extras import require
from symloss.naming import named
from symloss.tabular.dialect import TO_BE_FOUND
from symloss.tabular.files import Read, ReadOptions, check_columns, read
from symloss.tabular.reading import read_chunks_beside

if TYPE_CHECKING:
    from pandas import DataFrame

_ROWS = 20_000  # that are read at a time


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


def table_to_predict(data: Any, encoding: Encoding, options: ReadOptions, written: Sequence[str] = ()) -> Read:
    """Return a table that is given as a data frame or as the path of a file, read as ``symloss predict`` does.

    Parameters
    ----------
    data : pandas or polars DataFrame, str or Path
        The table.
    encoding : Encoding
        How its columns become features.
    options : ReadOptions
        What is known about a file.
    written : sequence of str
        Columns of a file to take exactly as they are written.

    Examples
    --------
    >>> import pandas as pd
    >>> encoding = Encoding.fit(pd.DataFrame({"age": [30, 40]}))
    >>> found = table_to_predict(pd.DataFrame({"age": [50]}), encoding, ReadOptions())
    >>> found.frame["age"].tolist(), found.notes
    ([50], [])
    """
    if not isinstance(data, (str, Path)):
        return _table_of_frame(data, options)
    import pandas as pd

    notes: list[str] = []
    parts = read_chunks_beside(data, _ROWS, encoding.texts, written, options, notes)
    frames = [frame.assign(**{name: beside[name] for name in beside}) for frame, beside in parts]
    return Read(pd.concat(frames), notes, options)


def _table_of_frame(data: Any, options: ReadOptions) -> Read:
    told = [named(name) for name in ("sep", "decimal", "encoding", "sheet") if getattr(options, name) is not None]
    if told:
        raise ValueError(f"{', '.join(told)} can be told of a file only, and the table is a data frame")
    return Read(as_pandas(data), [], ReadOptions())


def labeled_table(data: Any, label: str, text: Sequence[str] = (), options: ReadOptions = TO_BE_FOUND) -> Read:
    """Return a table that has the column of the label; if a file does not, the error says how it was read.

    Examples
    --------
    >>> import pandas as pd
    >>> labeled_table(pd.DataFrame({"age": [30]}), "churn")
    Traceback (most recent call last):
    ValueError: no column 'churn' (the label); the columns are 'age'
    """
    is_file = isinstance(data, (str, Path))
    found = read(data, [label, *text], options) if is_file else _table_of_frame(data, options)
    try:
        check_columns([label], found.frame, "the label")
    except ValueError as error:  # perhaps the file was read in a way that was not meant
        raise ValueError("; as it was read: ".join([str(error), *filter(None, ["; ".join(found.notes)])])) from None
    return found
