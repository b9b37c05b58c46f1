"""Read tables from files, and check that a table has the columns needed."""

from __future__ import annotations

from collections.abc import Sequence
from difflib import get_close_matches
from pathlib import Path
from typing import TYPE_CHECKING

from symloss.tabular.dialect import TO_BE_FOUND, ReadOptions
from symloss.tabular.reading import Read, read, read_chunks

if TYPE_CHECKING:
    from pandas import DataFrame


def read_table(path: str | Path, text: Sequence[str] = (), options: ReadOptions = TO_BE_FOUND) -> DataFrame:
    r"""Read a table with at least one row from a CSV, Parquet or Excel file: the frame that ``read`` returns.

    Parameters
    ----------
    path : str or Path
        The separator, the decimal mark and the encoding of a CSV file are found, and it may be compressed
        (``.csv.gz``). Its first line holds the names of the columns.
    text : sequence of str
        Columns of a CSV file to read as text, exactly as they are written: the label 01 stays 01.
    options : ReadOptions
        What is known about the file.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     _ = (Path(folder) / "data.csv").write_text("plan, age\n01, 40\n02,\n")
    ...     read_table(Path(folder) / "data.csv", text=["plan"])
      plan   age
    0   01  40.0
    1   02   NaN
    """
    frame: DataFrame = read(path, text, options).frame
    return frame


def check_columns(names: Sequence[str], frame: DataFrame, what: str) -> None:
    """Raise ValueError if a table lacks one of these columns, and suggest columns with similar names.

    Examples
    --------
    >>> import pandas as pd
    >>> check_columns(["chrun"], pd.DataFrame({"age": [1], "churn": [0]}), "the label column")
    Traceback (most recent call last):
    ValueError: no column 'chrun' (the label column); did you mean 'churn'?
    """
    known = list(frame.columns)
    for name in names:
        if name not in known:
            near = get_close_matches(name, known, n=3, cutoff=0.6)
            near += [other for other in known if other.lower() == name.lower() and other not in near]
            shown = ", ".join(map(repr, near or known[:20])) + (", ..." if not near and len(known) > 20 else "")
            hint = f"did you mean {shown}?" if near else f"the columns are {shown}"
            raise ValueError(f"no column {name!r} ({what}); {hint}")


__all__ = [
    "Read",
    "ReadOptions",
    "check_columns",
    "read",
    "read_chunks",
    "read_table",
]
