"""Write tables to CSV and Parquet files, at once or in parts: a file is complete or absent."""

from __future__ import annotations

import gzip
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from symloss.extras import require
from symloss.files import whole_file

if TYPE_CHECKING:
    from pandas import DataFrame

_PARQUET = (".parquet", ".pq")
_TEXT = (".csv", ".tsv")


@contextmanager
def whole_table(path: str | Path) -> Iterator[Callable[[DataFrame], None]]:
    """Yield a function that writes the next rows of a CSV or Parquet file; if anything fails, nothing is changed.

    A Parquet file gets a row group for every part. The columns have the types of the first part.
    """
    path = check_target(path)
    with whole_file(path) as temporary, (_parquet if path.suffix in _PARQUET else _csv)(temporary, path) as write:
        yield write


def check_target(path: str | Path) -> Path:
    """Return the path of a table to write; raise ValueError if it is no file in a folder, or of an unknown kind."""
    path = Path(path)
    if path.is_dir():
        raise ValueError(f"{path} is a folder, not a file to write")
    if not path.parent.is_dir():
        raise ValueError(f"{path} cannot be written: there is no folder {path.parent}")
    suffix = path.suffix if path.suffix != ".gz" else path.with_suffix("").suffix
    if suffix not in _TEXT and path.suffix not in _PARQUET:
        raise ValueError(f"{path} must end in one of {', '.join((*_TEXT, *_PARQUET))}")
    if path.suffix in _PARQUET:
        require("tables", "Parquet files need pyarrow", "pyarrow.parquet")
    return path


@contextmanager
def _csv(temporary: Path, path: Path) -> Iterator[Callable[[DataFrame], None]]:
    separator, parts = "\t" if ".tsv" in path.suffixes else ",", 0
    opened: Any = gzip.open if path.suffix == ".gz" else open
    with opened(temporary, "wt", encoding="utf-8", newline="") as file:

        def write(frame: DataFrame) -> None:
            nonlocal parts
            frame.to_csv(file, index=False, header=parts == 0, sep=separator, lineterminator="\n")
            parts += 1

        yield write


@contextmanager
def _parquet(temporary: Path, _: Path) -> Iterator[Callable[[DataFrame], None]]:
    import pyarrow as pa
    from pyarrow.parquet import ParquetWriter

    with ExitStack() as stack:
        writer: Any = None

        def write(frame: DataFrame) -> None:
            nonlocal writer
            table = pa.Table.from_pandas(frame, preserve_index=False)
            if writer is None:  # a column without any value has no type yet: it becomes text
                types = [pa.string() if pa.types.is_null(one.type) else one.type for one in table.schema]
                fields = [one.with_type(kind) for one, kind in zip(table.schema, types, strict=True)]
                writer = stack.enter_context(ParquetWriter(temporary, pa.schema(fields, table.schema.metadata)))
            writer.write_table(table.cast(writer.schema))

        yield write
