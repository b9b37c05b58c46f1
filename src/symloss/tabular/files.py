"""Read tables in CSV and Parquet files."""

from __future__ import annotations

import warnings
import zlib
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from difflib import get_close_matches
from pathlib import Path
from typing import TYPE_CHECKING, Any

from symloss.extras import require

if TYPE_CHECKING:
    from pandas import DataFrame

_PARQUET = (".parquet", ".pq")
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
    path = _checked(path)
    frame = _read_parquet(path) if path.suffix in _PARQUET else _read_csv(path, text)
    if frame.empty:
        raise ValueError(f"{path} has no rows")
    return frame


def read_chunks(path: str | Path, rows: int, text: Sequence[str] = ()) -> Iterator[DataFrame]:
    r"""Yield the rows of a table in parts, all of so many rows except the last, for files larger than memory.

    Parameters
    ----------
    path : str or Path
        What ``read_table`` reads.
    rows : int
        The number of rows of a part.
    text : sequence of str
        Columns of a CSV file to read as text, exactly as they are written.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     _ = (Path(folder) / "data.csv").write_text("age\n40\n50\n60\n")
    ...     [len(part) for part in read_chunks(Path(folder) / "data.csv", rows=2)]
    [2, 1]
    """
    path, empty = _checked(path), True
    for part in _parquet_chunks(path, rows) if path.suffix in _PARQUET else _csv_chunks(path, text, rows):
        if len(part):
            empty = False
            yield part
    if empty:
        raise ValueError(f"{path} has no rows")


def _checked(path: str | Path) -> Path:
    path = Path(path)
    if not path.is_file():
        raise ValueError(f"{path} is a folder" if path.is_dir() else f"no such file: {path}")
    if path.stat().st_size == 0:
        raise ValueError(f"{path} is empty")
    require("tables", "tables need pandas", "pandas")
    return path


def _read_csv(path: Path, text: Sequence[str]) -> DataFrame:
    import pandas as pd

    with _csv_errors(path):
        _check_names(path)
        return pd.read_csv(path, **_csv_options(path, text))


def _csv_chunks(path: Path, text: Sequence[str], rows: int) -> Iterator[DataFrame]:
    import pandas as pd

    with _csv_errors(path):
        _check_names(path)
        parts = pd.read_csv(path, chunksize=rows, **_csv_options(path, text))
    with parts:
        while True:
            with _csv_errors(path):  # not while the caller works: it changes what warnings do
                part = next(parts, None)
            if part is None:
                return
            yield part


def _csv_options(path: Path, text: Sequence[str]) -> dict[str, Any]:
    options = {"skipinitialspace": True, "index_col": False, "low_memory": False}
    return {"sep": _separator(path), "dtype": dict.fromkeys(text, str), **options}


def _separator(path: Path) -> str:
    return "\t" if ".tsv" in path.suffixes else ","


def _check_names(path: Path) -> None:
    import pandas as pd

    names = pd.read_csv(path, sep=_separator(path), header=None, nrows=1, dtype=str, skipinitialspace=True).iloc[0]
    twice = sorted({str(name) for name in names[names.duplicated() & names.notna()]})
    if twice:
        raise ValueError(f"several columns have the name {', '.join(twice)}")


@contextmanager
def _csv_errors(path: Path) -> Iterator[None]:
    """Say of which file an error is, and what kind of file was expected."""
    import pandas as pd

    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error", pd.errors.ParserWarning)  # a row has more values than there are names
            yield
    except pd.errors.EmptyDataError:
        raise ValueError(f"{path} is empty") from None
    except UnicodeDecodeError:
        raise ValueError(f"{path} is not a CSV file: it is not text in UTF-8") from None
    except (ValueError, pd.errors.ParserWarning, OSError, EOFError, zlib.error) as error:
        raise ValueError(f"{path} cannot be read as CSV: {error}") from None


def _read_parquet(path: Path) -> DataFrame:
    import pandas as pd

    require(*_PYARROW)
    with _parquet_errors(path):
        return _with_names(pd.read_parquet(path, engine="pyarrow"))


def _parquet_chunks(path: Path, rows: int) -> Iterator[DataFrame]:
    require(*_PYARROW)
    import pandas as pd
    import pyarrow as pa
    from pyarrow.parquet import ParquetFile

    # Whole numbers stay whole in a part with missing values, as in one without.
    whole = {pa.int64(): pd.Int64Dtype(), pa.int32(): pd.Int32Dtype(), pa.bool_(): pd.BooleanDtype()}
    with _parquet_errors(path), ParquetFile(path) as file:
        for batch in file.iter_batches(rows):
            yield _with_names(pa.Table.from_batches([batch]).to_pandas(types_mapper=whole.get))


def _with_names(frame: DataFrame) -> DataFrame:
    """Return a table whose index, if it has a name, is a column, and whose names are texts."""
    if any(name is not None for name in frame.index.names):
        frame = frame.reset_index()
    return frame.set_axis(frame.columns.map(str), axis=1)


@contextmanager
def _parquet_errors(path: Path) -> Iterator[None]:
    try:
        yield
    except (ValueError, OSError) as error:
        raise ValueError(f"{path} cannot be read as Parquet: {error}") from None


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
