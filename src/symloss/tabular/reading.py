"""Read tables from files and data frames: text by pyarrow's reader, Parquet and Excel, whole or in pieces."""

from __future__ import annotations

import warnings
from collections import Counter
from collections.abc import Collection, Iterator, Sequence
from difflib import get_close_matches
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from symloss.columns import Encoding, as_pandas, column_names
from symloss.extras import require
from symloss.naming import named, remember_lines
from symloss.tabular.cells import as_values, as_written
from symloss.tabular.dialect import ENCODINGS, TO_BE_FOUND, Dialect, ReadOptions, find_dialect, names_notes, spelled
from symloss.tabular.sources import Source, open_source

if TYPE_CHECKING:
    import pyarrow as pa
    from pandas import DataFrame

_ROWS = 20_000  # of a file to predict that are read at a time
_BLOCK = 1 << 24  # bytes of text that pyarrow reads at a time; a row must be shorter


class Read(NamedTuple):
    """A table, notes on how it was read, and the options that were told or found.

    Examples
    --------
    >>> Read(None, ["separator: semicolon; decimal comma"], ReadOptions(";", ",")).options.sep
    ';'
    """

    frame: Any
    notes: list[str]
    options: ReadOptions


class _Piece(NamedTuple):
    """Some rows of a table: their values, the columns to keep as they are written, and what was found."""

    frame: DataFrame
    written: DataFrame
    notes: list[str]
    options: ReadOptions


def read(path: str | Path, text: Sequence[str] = (), options: ReadOptions = TO_BE_FOUND) -> Read:
    r"""Read a table with at least one row, and say how.

    Parameters
    ----------
    path : str or Path
        Text with a first line of names, Parquet or Excel, possibly compressed (gzip, or zip with one file). ``"-"`` is
        the standard input.
    text : sequence of str
        Columns to read as text, as they are written: the label 01 stays 01, and NA is a text, so that only blank cells
        are missing. Cells of Parquet files, and of Excel files, have types of their own.
    options : ReadOptions
        What is known about the file; the rest is found.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     _ = (Path(folder) / "data.csv").write_text("plan;age\n01;40,5\n02;\n")
    ...     found = read(Path(folder) / "data.csv", text=["plan"])
    >>> found.frame
      plan   age
    0   01  40.5
    1   02   NaN
    >>> found.notes
    ['separator: semicolon; decimal comma; encoding: UTF-8']
    """
    (piece,) = _pieces(path, None, text, text, options)
    return Read(_with_written(piece.frame, piece.written), piece.notes, piece.options)


def read_table(path: str | Path, text: Sequence[str] = (), options: ReadOptions = TO_BE_FOUND) -> DataFrame:
    """Return the table that ``read`` returns, without notes."""
    frame: DataFrame = read(path, text, options).frame
    return frame


def read_chunks(
    path: str | Path | Source,
    rows: int,
    text: Sequence[str] = (),
    options: ReadOptions = TO_BE_FOUND,
    notes: list[str] | None = None,
) -> Iterator[DataFrame]:
    r"""Read a table in pieces of so many rows, without ever holding it all; an Excel file is held, as it is small.

    Parameters
    ----------
    path, options
        As in ``read``; a source that is open already may be given, too.
    rows : int
        The number of rows of a piece.
    text : sequence of str
        Columns to read as text: the category 01 stays 01. As in columns of numbers, words such as NA are missing.
    notes : list of str, optional
        A list to which notes on how the table is read are added.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     _ = (Path(folder) / "data.csv").write_text("age\n40\n50\n60\n")
    ...     [len(frame) for frame in read_chunks(Path(folder) / "data.csv", rows=2)]
    [2, 1]
    """
    return (chunk for chunk, _ in read_chunks_beside(path, rows, text, options=options, notes=notes))


def read_chunks_beside(
    path: str | Path | Source,
    rows: int,
    text: Sequence[str] = (),
    kept: Sequence[str] = (),
    options: ReadOptions = TO_BE_FOUND,
    notes: list[str] | None = None,
) -> Iterator[tuple[DataFrame, DataFrame]]:
    r"""Read a table in pieces and, beside each piece, columns as they are written.

    Parameters
    ----------
    path, rows, text, options, notes
        As in ``read_chunks``.
    kept : sequence of str
        Columns for the second table of each pair; the first table does not depend on them. Names that the file does
        not have are passed over.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     _ = (Path(folder) / "data.csv").write_text("age;x\n40;1,5\n")
    ...     [(frame, written)] = read_chunks_beside(Path(folder) / "data.csv", rows=2, kept=["x"])
    >>> frame.values.tolist(), written.values.tolist()
    ([[40.0, 1.5]], [['1,5']])
    """
    for piece in _pieces(path, rows, text, kept, options):
        if notes is not None:
            notes += [note for note in piece.notes if note not in notes]
        yield piece.frame, piece.written


def _pieces(
    path: str | Path | Source, rows: int | None, text: Collection[str], written: Collection[str], options: ReadOptions
) -> Iterator[_Piece]:
    options = options.checked()
    require("tables", "tables need pandas and pyarrow", "pandas", "pyarrow")
    with open_source(path) as source:
        if options.sheet is not None and source.kind != "Excel":  # it may be another file than was meant
            raise ValueError(f"{source.name} is a {source.kind} file and has no sheets; leave out {named('sheet')}")
        remember_lines(None)
        if source.kind == "CSV":
            pieces = _read_text(source, rows, text, written, options)
        elif source.kind == "Parquet":
            pieces = _read_parquet(source, rows, written)
        else:
            pieces = _read_excel(source, rows, text, written, options.sheet)
        idle = () if source.kind == "CSV" else ("sep", "decimal", "encoding")
        told = [named(name) for name in idle if getattr(options, name) is not None]
        notes = [f"{name} has no meaning for a {source.kind} file" for name in told]
        empty = True
        for piece in pieces:
            if len(piece.frame):
                yield piece._replace(notes=notes + piece.notes)
                empty = False
        if empty:
            raise ValueError(f"{source.name} has no rows")


def _read_text(
    source: Source, rows: int | None, text: Collection[str], written: Collection[str], options: ReadOptions
) -> Iterator[_Piece]:
    import pandas as pd

    dialect = find_dialect(source, options)
    _check_names(dialect.names, source)
    remember_lines(dialect.line_of)
    start, usual = 0, options
    for table in _text_tables(source, dialect, rows):
        as_they_are = pd.DataFrame({name: as_written(table[name]) for name in written if name in table.column_names})
        values, decimal, notes = as_values(table, text, dialect.sep, usual)
        frame, more = _without_empty(pd.DataFrame(values), dialect.names)
        if not start:
            point = "decimal comma" if decimal == "," else "decimal point"
            encoding = ENCODINGS.get(dialect.encoding, dialect.encoding)
            how = [f"separator: {spelled(dialect.sep)}; {point}; encoding: {encoding}"] * (len(dialect.names) > 1)
            notes = [*how, *dialect.notes, *notes]
            if usual.decimal is None:
                usual = usual._replace(usual_decimal=decimal)
        index = pd.RangeIndex(start, start + len(frame))
        start += len(frame)
        found = options._replace(sep=dialect.sep, decimal=decimal, encoding=dialect.encoding, usual_decimal=None)
        yield _Piece(frame.set_axis(index), as_they_are.set_axis(index), [*notes, *more], found)


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


def _read_parquet(source: Source, rows: int | None, written: Collection[str]) -> Iterator[_Piece]:
    import pandas as pd
    import pyarrow as pa
    import pyarrow.parquet

    # Whole numbers stay whole in a piece with missing values, as in one without.
    whole = {pa.int64(): pd.Int64Dtype(), pa.int32(): pd.Int32Dtype(), pa.bool_(): pd.BooleanDtype()}
    start = 0
    try:
        file = pa.parquet.ParquetFile(source.path)
        batches = [file.read()] if rows is None else file.iter_batches(batch_size=rows)
        for batch in batches:
            frame = (batch if rows is None else pa.Table.from_batches([batch])).to_pandas(types_mapper=whole.get)
            if any(name is not None for name in frame.index.names):
                frame = frame.reset_index()
            frame = frame.set_axis(frame.columns.map(str), axis=1)
            frame = frame.set_axis(pd.RangeIndex(start, start + len(frame)), axis=0)
            start += len(frame)
            _check_names(list(frame.columns), source)
            yield _Piece(frame, _only(frame, written), [], ReadOptions())
    except (OSError, pa.ArrowException) as error:
        raise ValueError(f"{source.name} cannot be read as Parquet: {error}") from None


def _read_excel(
    source: Source, rows: int | None, text: Collection[str], written: Collection[str], wanted: str | int | None
) -> Iterator[_Piece]:
    """Yield the rows of a sheet whose first row that is not blank holds the names; blank rows are left out."""
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
            sheet = _sheet(source.name, sheets, wanted)
            cells = book.parse(sheet, header=None, dtype=object).dropna(how="all").dropna(how="all", axis=1)
    notes = [f"sheet: {sheet!r}"]
    if len(sheets) > 1 and wanted is None:
        notes = [f"sheet: {sheet!r}, the first of {len(sheets)}; {named('sheet', sheets[1])} reads the second"]
    frame, more = _with_names(f"{source.name}, sheet {sheet!r}", cells)
    _check_names(list(frame.columns), source)
    texts = frame.map(str, na_action="ignore")  # before whole numbers with gaps become floats
    values = frame.assign(**{name: texts[name] for name in text if name in frame.columns}).infer_objects()
    for start in range(0, len(frame), rows or len(frame)):
        some = slice(start, start + (rows or len(frame)))
        yield _Piece(values[some], _only(texts[some], written), notes + more, ReadOptions(sheet=sheet))


def _sheet(file: str, names: list[str], wanted: str | int | None) -> str:
    """Return a sheet by its name or, if there is no such name, by its number from 1 on."""
    if wanted is None:
        return names[0]
    if str(wanted) in names:
        return str(wanted)
    if str(wanted).isdecimal() and 1 <= int(wanted) <= len(names):
        return names[int(wanted) - 1]
    shown = ", ".join(map(repr, names[:20]))
    asked = f"no sheet {str(wanted)!r} ({named('sheet')})"
    raise ValueError(f"{file} has {asked}; its sheets are {shown}, or 1 to {len(names)}")


def _with_names(where: str, cells: DataFrame) -> tuple[DataFrame, list[str]]:
    if cells.empty:
        raise ValueError(f"{where} is empty")
    first, missing = cells.iloc[0], cells.iloc[0].isna()
    if missing.sum() > len(first) / 2:
        raise ValueError(
            f"{where}: row {cells.index[0] + 1} names only {len(first) - missing.sum()} of {len(first)} columns; "
            "delete what stands above the names"
        )
    names = ["" if absent else str(value).strip() for value, absent in zip(first, missing, strict=True)]
    notes = names_notes(names)
    notes += [f"column {k + 1} has no name, and is called 'Unnamed: {k}'" for k, name in enumerate(names) if not name]
    frame = cells.iloc[1:].set_axis([name or f"Unnamed: {k}" for k, name in enumerate(names)], axis=1)
    return frame.reset_index(drop=True), notes


def _only(frame: DataFrame, names: Collection[str]) -> DataFrame:
    return frame[[name for name in names if name in frame.columns]]


def _with_written(frame: DataFrame, written: DataFrame) -> DataFrame:
    return frame.assign(**{name: written[name] for name in written if name in frame.columns})


def _without_empty(frame: DataFrame, names: list[str]) -> tuple[DataFrame, list[str]]:
    """Leave out columns without a name and without a value, which separators at the ends of lines make."""
    unnamed = [k for k, name in enumerate(names) if not name]
    empty = [k for k in unnamed if frame.iloc[:, k].isna().all()]
    notes = [f"column {k + 1} has no name, and is called {frame.columns[k]!r}" for k in unnamed if k not in empty]
    if empty:
        notes.append(f"left out: {len(empty)} column{'s' * (len(empty) > 1)} without a name and without a value")
    return frame.drop(columns=frame.columns[empty]), notes


def _check_names(names: Sequence[str], source: Source) -> None:
    twice = sorted(name for name, times in Counter(names).items() if times > 1 and name)
    if twice:
        raise ValueError(
            f"{source.name} cannot be read as {source.kind}: several columns have the name {', '.join(twice)}; "
            "rename all but one"
        )


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


_ROWS = 20_000  # that are read at a time


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
    frames = [_with_written(frame, beside) for frame, beside in parts]
    return Read(pd.concat(frames), notes, options)


def _table_of_frame(data: Any, options: ReadOptions) -> Read:
    told = [named(name) for name in ("sep", "decimal", "encoding", "sheet") if getattr(options, name) is not None]
    if told:
        raise ValueError(f"{', '.join(told)} can be told of a file only, and the table is a data frame")
    frame = as_pandas(data)
    column_names(frame)  # raises unless they are texts that differ
    return Read(frame, [], ReadOptions())


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


__all__ = [
    "TO_BE_FOUND",
    "Read",
    "ReadOptions",
    "Source",
    "as_pandas",
    "check_columns",
    "labeled_table",
    "open_source",
    "read",
    "read_chunks",
    "read_chunks_beside",
    "read_table",
    "table_to_predict",
]
