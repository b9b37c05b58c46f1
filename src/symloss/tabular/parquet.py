"""Read Parquet files, whole or in pieces."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from symloss.extras import require
from symloss.tabular.sources import Source

if TYPE_CHECKING:
    from pandas import DataFrame

PYARROW = "tables", "Parquet files need pyarrow", "pyarrow.parquet"


def read_parquet(source: Source) -> DataFrame:
    """Return the table of a Parquet file; an index that has a name becomes a column."""
    import pandas as pd

    require(*PYARROW)
    with _refused(source):
        frame = pd.read_parquet(source.whole(), engine="pyarrow")
    return _plain(frame)


def parquet_chunks(source: Source, rows: int) -> Iterator[DataFrame]:
    """Yield the table of a Parquet file in pieces of so many rows."""
    require(*PYARROW)
    import pandas as pd
    import pyarrow as pa
    import pyarrow.parquet

    # Whole numbers stay whole in a piece with missing values, as in one without.
    whole = {pa.int64(): pd.Int64Dtype(), pa.int32(): pd.Int32Dtype(), pa.bool_(): pd.BooleanDtype()}
    start = 0
    with _refused(source):
        batches = pa.parquet.ParquetFile(source.whole()).iter_batches(batch_size=rows)
    while True:
        with _refused(source):
            if (batch := next(batches, None)) is None:
                return
            frame = _plain(pa.Table.from_batches([batch]).to_pandas(types_mapper=whole.get))
        yield frame.set_axis(pd.RangeIndex(start, start + len(frame)), axis=0)
        start += len(frame)


@contextmanager
def _refused(source: Source) -> Iterator[None]:
    try:
        yield
    except Exception as error:  # pyarrow raises anything on a damaged file
        raise ValueError(f"{source.name} cannot be read as Parquet: {error}") from None


def _plain(frame: DataFrame) -> DataFrame:
    if any(name is not None for name in frame.index.names):
        frame = frame.reset_index()
    return frame.set_axis(frame.columns.map(str), axis=1)
