"""Read tables from files and data frames: text by pyarrow's reader, Parquet and Excel, whole or in pieces."""

from __future__ import annotations

import warnings
from collections import Counter
from collections.abc import Callable, Collection, Iterator, Sequence
from difflib import get_close_matches
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from symloss.columns import as_pandas, column_names
from symloss.extras import require
from symloss.naming import argument, remember_lines
from symloss.tabular.cells import as_values
from symloss.tabular.dialect import (
    ENCODINGS,
    TO_BE_FOUND,
    Dialect,
    ReadOptions,
    find_dialect,
    names_notes,
    spelled,
    titles,
)
from symloss.tabular.sources import Source, open_source

if TYPE_CHECKING:
    import pyarrow as pa
    from pandas import DataFrame

_BLOCK = 1 << 24  # bytes of text that pyarrow reads at a time; a row must be shorter


class Read(NamedTuple):
    """Rows of a table, notes on how they were read, the sign before decimals, and the columns as they are written."""

    frame: Any
    notes: list[str]
    decimal: str | None = None
    written: Any = None


def read(
    data: Any, options: ReadOptions = TO_BE_FOUND, text: Collection[str] = (), written: Collection[str] = ()
) -> Read:
    r"""Read a table with at least one row, and say how; a data frame is taken as it is.

    A path leads to text with a first line of names, Parquet or Excel, possibly compressed (gzip, or zip with one file);
    ``"-"`` is the standard input. In columns of ``text``, the category 01 stays 01, and words such as NA are missing.
    In those that are taken as they are ``written``, only blank cells are missing: NA may be a label.
    """
    if isinstance(data, (str, Path, Source)):
        (piece,) = read_pieces(data, None, options, {*text, *written})
        columns = {name: piece.written[name] for name in written if name in piece.frame}
        return piece._replace(frame=piece.frame.assign(**columns), written=None)
    told = [argument(name) for name in ("sep", "decimal", "encoding", "sheet") if getattr(options, name) is not None]
    if told:
        raise ValueError(f"{', '.join(told)} can be told of a file only, and the table is a data frame")
    frame = as_pandas(data)
    column_names(frame)  # raises unless they are texts that differ
    return Read(frame, [])


def read_written(path: str | Path, options: ReadOptions = TO_BE_FOUND) -> DataFrame:
    """Return the columns of a file as they are written, texts in which only blank cells are missing."""
    (piece,) = read_pieces(path, None, options)
    written: DataFrame = piece.written[piece.frame.columns]
    return written.astype(object)


def labeled_table(data: Any, label: str, ids: Collection[str] = (), options: ReadOptions = TO_BE_FOUND) -> Read:
    """Return a table that has the column of the label; if a file does not, the error says how it was read."""
    found = read(data, options, written=[label, *ids])
    try:
        check_columns([label], found.frame, "the label")
    except ValueError as error:  # perhaps the file was read in a way that was not meant
        how = f"; as it was read: {'; '.join(found.notes)}" if found.notes else ""
        raise ValueError(f"{error}{how}") from None
    return found


def read_pieces(
    path: str | Path | Source, rows: int | None, options: ReadOptions = TO_BE_FOUND, text: Collection[str] = ()
) -> Iterator[Read]:
    """Read a table in pieces of so many rows, or in one; an Excel file is held whole, as it is small.

    The columns as they are written, with only blank cells missing, come beside the values.
    """
    options = options.checked()
    require("tables", "tables need pandas and pyarrow", "pandas", "pyarrow")
    import pandas as pd

    start = 0
    with open_source(path) as source:
        if options.sheet is not None and source.kind != "Excel":  # it may be another file than was meant
            raise ValueError(f"{source.name} is a {source.kind} file and has no sheets; leave out {argument('sheet')}")
        remember_lines(None)
        for frame, notes, decimal, written in _READERS[source.kind](source, rows, text, options):
            index = pd.RangeIndex(start, start + len(frame))
            if len(frame):
                yield Read(frame.set_axis(index), notes * (start == 0), decimal, written.set_axis(index))
            start += len(frame)
        if not start:
            raise ValueError(f"{source.name} has no rows")


def _read_text(source: Source, rows: int | None, text: Collection[str], options: ReadOptions) -> Iterator[Read]:
    dialect = find_dialect(source, options)
    _check_names(dialect.names, source)
    remember_lines(dialect.line_of)
    encoding = ENCODINGS.get(dialect.encoding, dialect.encoding)
    for table in _text_tables(source, dialect, rows):
        written = table.to_pandas().replace("", None)
        frame, decimal, notes = as_values(written, text, dialect.sep, options)
        if options.decimal is None:  # of the pieces below, too
            options = options._replace(usual_decimal=decimal or options.usual_decimal)
        # Columns without a name and without a value come from separators at the ends of lines.
        named = [bool(name) or frame.iloc[:, k].notna().any() for k, name in enumerate(dialect.names)]
        point = "decimal comma" if decimal == "," else "decimal point"
        how = f"separator: {spelled(dialect.sep)}; {point}; encoding: {encoding}"
        yield Read(frame.loc[:, named], [how, *dialect.notes, *notes], decimal or ".", written)


def _text_tables(source: Source, dialect: Dialect, rows: int | None) -> Iterator[pa.Table]:
    """Yield the texts of so many rows, without spaces around them; raise ValueError where rows are uneven."""
    import pyarrow as pa
    import pyarrow.compute as pc
    import pyarrow.csv

    first_line = dialect.line_of(0)
    if first_line is None:
        return
    names = [name or f"Unnamed: {k}" for k, name in enumerate(dialect.names)]
    encoding = "utf8" if dialect.encoding.startswith("utf-8") else dialect.encoding
    held: list[pa.RecordBatch] = []
    last: list[dict[str, str]] = []
    try:
        for batch in pa.csv.open_csv(
            str(source.path),
            pa.csv.ReadOptions(
                column_names=names, skip_rows=first_line - 1, block_size=_BLOCK, encoding=encoding, use_threads=False
            ),
            pa.csv.ParseOptions(
                delimiter=dialect.sep,
                newlines_in_values=True,
                invalid_row_handler=lambda row: "error" if row.text.strip() else "skip",
            ),
            pa.csv.ConvertOptions(column_types=dict.fromkeys(names, pa.string()), strings_can_be_null=False),
        ):
            arrays = [pc.utf8_trim_whitespace(column) for column in batch.columns]
            held.append(pa.RecordBatch.from_arrays(arrays, names))
            last = held[-1].slice(len(batch) - 1).to_pylist() or last
            while rows is not None and sum(map(len, held)) >= rows:
                table = pa.Table.from_batches(held)
                yield table.slice(0, rows)
                held = table.slice(rows).to_batches()
    except pa.ArrowInvalid as error:
        raise ValueError(f"{source.name} cannot be read as CSV: {dialect.what_is_wrong() or error}") from None
    if any("\n" in value for row in last for value in row.values()) and (wrong := dialect.what_is_wrong()):
        raise ValueError(f"{source.name} cannot be read as CSV: {wrong}")
    if held:
        yield pa.Table.from_batches(held)


def _read_parquet(source: Source, rows: int | None, *_: object) -> Iterator[Read]:
    import pandas as pd
    import pyarrow as pa
    import pyarrow.parquet

    # Whole numbers stay whole in a piece with missing values, as in one without.
    whole = {pa.int64(): pd.Int64Dtype(), pa.int32(): pd.Int32Dtype(), pa.bool_(): pd.BooleanDtype()}
    try:
        file = pa.parquet.ParquetFile(source.path)
        for batch in [file.read()] if rows is None else file.iter_batches(batch_size=rows):
            frame = (batch if rows is None else pa.Table.from_batches([batch])).to_pandas(types_mapper=whole.get)
            if any(name is not None for name in frame.index.names):
                frame = frame.reset_index()
            frame = frame.set_axis(frame.columns.map(str), axis=1)
            _check_names(list(frame.columns), source)
            yield Read(frame, [], None, frame)
    except (OSError, pa.ArrowException) as error:
        raise ValueError(f"{source.name} cannot be read as Parquet: {error}") from None


def _read_excel(source: Source, rows: int | None, text: Collection[str], options: ReadOptions) -> Iterator[Read]:
    """Yield the rows of a sheet below those that are blank, a title, or the names; blank rows are left out."""
    import pandas as pd

    require("excel", "Excel files need openpyxl", "openpyxl")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # openpyxl warns of styles that it does not know
        try:
            book = pd.ExcelFile(source.path, engine="openpyxl")
            sheets = [str(name) for name in book.sheet_names]
        except Exception as error:  # openpyxl raises anything on a damaged file
            raise ValueError(f"{source.name} cannot be read as Excel: it is damaged ({error})") from None
        with book:
            sheet = _sheet(source.name, sheets, options.sheet)
            cells = book.parse(sheet, header=None, dtype=object).dropna(how="all").dropna(how="all", axis=1)
    notes = [f"sheet: {sheet!r}"]
    if len(sheets) > 1 and options.sheet is None:
        notes = [f"sheet: {sheet!r}, the first of {len(sheets)}; {argument('sheet', sheets[1])} reads the second"]
    if cells.empty:
        raise ValueError(f"{source.name}, sheet {sheet!r} is empty")
    title = titles(cells.head(20).map(str, na_action="ignore").fillna("").to_numpy().tolist())
    cells = cells[len(title) :].dropna(how="all", axis=1)
    names = ["" if pd.isna(value) else str(value).strip() for value in cells.iloc[0]]
    notes += names_notes(names, title)
    _check_names(names, source)
    frame = cells.iloc[1:].set_axis([name or f"Unnamed: {k}" for k, name in enumerate(names)], axis=1)
    written = frame.map(str, na_action="ignore")  # before whole numbers with gaps become floats
    frame = frame.assign(**{name: written[name] for name in text if name in frame.columns}).infer_objects()
    size = rows or max(1, len(frame))
    for start in range(0, len(frame), size):
        some = slice(start, start + size)
        yield Read(frame[some], notes, None, written[some])


_READERS: dict[str, Callable[..., Iterator[Read]]] = {
    "CSV": _read_text, "Parquet": _read_parquet, "Excel": _read_excel,
}  # fmt: skip


def _sheet(file: str, names: list[str], wanted: str | int | None) -> str:
    """Return a sheet by its name or, if there is no such name, by its number from 1 on."""
    if wanted is None:
        return names[0]
    if str(wanted) in names:
        return str(wanted)
    if str(wanted).isdecimal() and 1 <= int(wanted) <= len(names):
        return names[int(wanted) - 1]
    shown = ", ".join(map(repr, names[:20]))
    raise ValueError(f"{file} has no sheet {str(wanted)!r} ({argument('sheet')}); its sheets are {shown}")


def _check_names(names: Sequence[str], source: Source) -> None:
    twice = sorted(name for name, times in Counter(names).items() if times > 1 and name)
    if twice:
        raise ValueError(
            f"{source.name} cannot be read as {source.kind}: several columns have the name {', '.join(twice)}; "
            "rename all but one"
        )


def check_columns(names: Sequence[str], frame: DataFrame, what: str) -> None:
    """Raise ValueError if a table lacks one of these columns, and suggest columns with similar names."""
    known = list(frame.columns)
    lower = {str(column).lower(): column for column in known}
    for name in names:
        if name not in known:
            near = [repr(lower[close]) for close in get_close_matches(name.lower(), lower)]
            hint = f"did you mean {', '.join(near)}?" if near else f"the columns are {', '.join(map(repr, known[:20]))}"
            raise ValueError(f"no column {name!r} ({what}); {hint}")
