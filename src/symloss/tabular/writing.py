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
    """Yield a function that writes the next rows of a CSV or Parquet file; if anything fails, nothing is changed."""
    path = Path(path)
    if path.is_dir():
        raise ValueError(f"{path} is a folder, not a file to write")
    if not path.parent.is_dir():
        raise ValueError(f"{path} cannot be written: there is no folder {path.parent}")
    if path.suffix not in _PARQUET and Path(path.name.removesuffix(".gz")).suffix not in _TEXT:
        raise ValueError(f"{path} must end in one of {', '.join((*_TEXT, *_PARQUET))}")
    require("tables", "tables need pandas and pyarrow", "pandas", "pyarrow.parquet")
    import pyarrow as pa
    from pyarrow.parquet import ParquetWriter

    sep = "\t" if ".tsv" in path.suffixes else ","
    with whole_file(path) as temporary, ExitStack() as stack:
        writer: Any = None

        def write(frame: DataFrame) -> None:
            nonlocal writer
            if path.suffix in _PARQUET:
                table = pa.Table.from_pandas(frame, preserve_index=False)
                if writer is None:  # a column without any value has no type yet: it becomes text
                    types = [pa.string() if pa.types.is_null(one.type) else one.type for one in table.schema]
                    fields = [one.with_type(kind) for one, kind in zip(table.schema, types, strict=True)]
                    schema = pa.schema(fields, table.schema.metadata)
                    writer = stack.enter_context(ParquetWriter(temporary, schema))
                writer.write_table(table.cast(writer.schema))
                return
            header = writer is None
            if writer is None:
                opened: Any = gzip.open if path.suffix == ".gz" else open
                writer = stack.enter_context(opened(temporary, "wt", encoding="utf-8", newline=""))
            frame.to_csv(writer, index=False, header=header, sep=sep, lineterminator="\n")

        yield write
