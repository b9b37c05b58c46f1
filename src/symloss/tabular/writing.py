"""Write tables to CSV and Parquet files, at once or in parts: a file is complete or absent."""

from __future__ import annotations

import bz2
import gzip
import lzma
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from symloss.extras import require
from symloss.files import whole_file

if TYPE_CHECKING:
    from pandas import DataFrame

_PARQUET = (".parquet", ".pq")
_TEXT = (".csv", ".tsv")
_COMPRESSED: dict[str, Any] = {".gz": gzip.open, ".bz2": bz2.open, ".xz": lzma.open}


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
    with whole_table(path) as write:
        write(frame)


@contextmanager
def whole_table(path: str | Path) -> Iterator[Callable[[DataFrame], None]]:
    r"""Yield a function that writes the next rows of a table; if anything fails, no file is left or changed.

    A Parquet file gets a row group for every part. The columns have the types of the first part.

    Examples
    --------
    >>> import tempfile, pandas as pd
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     with whole_table(Path(folder) / "scores.csv") as write:
    ...         write(pd.DataFrame({"score": [0.5]}))
    ...         write(pd.DataFrame({"score": [0.25]}))
    ...     (Path(folder) / "scores.csv").read_text()
    'score\n0.5\n0.25\n'
    """
    path = check_target(path)
    with whole_file(path) as temporary, (_parquet if path.suffix in _PARQUET else _csv)(temporary, path) as write:
        yield write


def check_target(path: str | Path) -> Path:
    """Return the path of a table to write; raise ValueError if it is a folder, or if its suffix is not known.

    Examples
    --------
    >>> check_target("scores.xlsx")
    Traceback (most recent call last):
    ValueError: scores.xlsx must end in one of .csv, .tsv, .parquet, .pq
    """
    path = Path(path)
    if path.is_dir():
        raise ValueError(f"{path} is a folder, not a file to write")
    suffix = path.suffix if path.suffix not in _COMPRESSED else path.with_suffix("").suffix
    if suffix not in _TEXT and path.suffix not in _PARQUET:
        raise ValueError(f"{path} must end in one of {', '.join((*_TEXT, *_PARQUET))}")
    if path.suffix in _PARQUET:
        require("tables", "Parquet files need pyarrow", "pyarrow.parquet")
    return path


@contextmanager
def _csv(temporary: Path, path: Path) -> Iterator[Callable[[DataFrame], None]]:
    separator, parts = "\t" if ".tsv" in path.suffixes else ",", 0
    with _COMPRESSED.get(path.suffix, open)(temporary, "wt", encoding="utf-8", newline="") as file:

        def write(frame: DataFrame) -> None:
            nonlocal parts
            frame.to_csv(file, index=False, header=parts == 0, sep=separator, lineterminator="\n")
            parts += 1

        yield write


@contextmanager
def _parquet(temporary: Path, _: Path) -> Iterator[Callable[[DataFrame], None]]:
    import pyarrow as pa
    from pyarrow.parquet import ParquetWriter

    writer: Any = None
    try:

        def write(frame: DataFrame) -> None:
            nonlocal writer
            table = pa.Table.from_pandas(frame, preserve_index=False)
            if writer is None:  # a column without any value has no type yet: it becomes text
                fields = [
                    field.with_type(pa.string()) if pa.types.is_null(field.type) else field for field in table.schema
                ]
                writer = ParquetWriter(temporary, pa.schema(fields, table.schema.metadata))
            writer.write_table(table.cast(writer.schema))

        yield write
    finally:
        if writer is not None:
            writer.close()
