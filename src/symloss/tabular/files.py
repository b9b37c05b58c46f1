"""Read and write tables in CSV and Parquet files."""

from __future__ import annotations

import warnings
import zlib
from collections.abc import Sequence
from difflib import get_close_matches
from pathlib import Path
from typing import TYPE_CHECKING

from symloss.extras import require
from symloss.files import whole_file

if TYPE_CHECKING:
    from pandas import DataFrame

_PARQUET = (".parquet", ".pq")
_TEXT = (".csv", ".tsv")
_PYARROW = "tables", "Parquet files need pyarrow", "pyarrow.parquet"


def read_table(path: str | Path, text: Sequence[str] = ()) -> DataFrame:
    r"""Read a table with at least one row: as Parquet if the suffix says so, else as CSV with a first line of names.

    Parameters
    ----------
    path : str or Path
        The columns of a ``.tsv`` file are separated by tabs. A CSV file may be compressed (``.csv.gz``).
    text : sequence of str
        Columns of a CSV file to read as text, exactly as they are written: the label 01 stays 01.

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
    path = Path(path)
    if not path.is_file():
        raise ValueError(f"{path} is a folder" if path.is_dir() else f"no such file: {path}")
    if path.stat().st_size == 0:
        raise ValueError(f"{path} is empty")
    require("tables", "tables need pandas", "pandas")
    frame = _read_parquet(path) if path.suffix in _PARQUET else _read_csv(path, text)
    if frame.empty:
        raise ValueError(f"{path} has no rows")
    return frame


def _read_csv(path: Path, text: Sequence[str]) -> DataFrame:
    import pandas as pd

    separator = "\t" if ".tsv" in path.suffixes else ","
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error", pd.errors.ParserWarning)  # a row has more values than there are names
            names = pd.read_csv(path, sep=separator, header=None, nrows=1, dtype=str, skipinitialspace=True).iloc[0]
            twice = sorted({str(name) for name in names[names.duplicated() & names.notna()]})
            if twice:
                raise ValueError(f"several columns have the name {', '.join(twice)}")
            return pd.read_csv(
                path,
                sep=separator,
                dtype=dict.fromkeys(text, str),
                skipinitialspace=True,
                index_col=False,
                low_memory=False,
            )
    except pd.errors.EmptyDataError:
        raise ValueError(f"{path} is empty") from None
    except UnicodeDecodeError:
        raise ValueError(f"{path} is not a CSV file: it is not text in UTF-8") from None
    except (ValueError, pd.errors.ParserWarning, OSError, EOFError, zlib.error) as error:
        raise ValueError(f"{path} cannot be read as CSV: {error}") from None


def _read_parquet(path: Path) -> DataFrame:
    import pandas as pd

    require(*_PYARROW)
    try:
        frame = pd.read_parquet(path, engine="pyarrow")
    except (ValueError, OSError) as error:
        raise ValueError(f"{path} cannot be read as Parquet: {error}") from None
    if any(name is not None for name in frame.index.names):
        frame = frame.reset_index()
    return frame.set_axis(frame.columns.map(str), axis=1)


def write_table(frame: DataFrame, path: str | Path) -> None:
    r"""Write a table as Parquet or CSV, depending on the suffix; if writing fails, no file is left or changed.

    Examples
    --------
    >>> import tempfile, pandas as pd
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     write_table(pd.DataFrame({"score": [0.5]}), Path(folder) / "scores.csv")
    ...     (Path(folder) / "scores.csv").read_text()
    'score\n0.5\n'
    """
    path = Path(path)
    if path.is_dir():
        raise ValueError(f"{path} is a folder, not a file to write")
    if not {*_PARQUET, *_TEXT}.intersection(path.suffixes):
        raise ValueError(f"{path} must end in one of {', '.join((*_TEXT, *_PARQUET))}")
    if path.suffix in _PARQUET:
        require(*_PYARROW)
    with whole_file(path) as temporary:
        if path.suffix in _PARQUET:
            frame.to_parquet(temporary, engine="pyarrow", index=False)
        else:
            frame.to_csv(temporary, index=False, sep="\t" if ".tsv" in path.suffixes else ",", lineterminator="\n")


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
