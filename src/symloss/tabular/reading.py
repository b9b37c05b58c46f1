"""Read tables of many kinds: text with any separator and encoding, Parquet and Excel, also compressed."""

from __future__ import annotations

import warnings
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from difflib import get_close_matches
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from symloss.columns import Encoding, check_collected, column_names, library_of
from symloss.extras import require
from symloss.naming import named, remember_lines
from symloss.tabular.dialect import (
    TO_BE_FOUND,
    Dialect,
    ReadOptions,
    find_dialect,
)
from symloss.tabular.excel import read_excel
from symloss.tabular.numerals import read_numerals
from symloss.tabular.parquet import parquet_chunks, read_parquet
from symloss.tabular.rows import check_rows, first_row_is_longer, line_of, open_quote
from symloss.tabular.sources import Source, open_source

if TYPE_CHECKING:
    from pandas import DataFrame


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


def read(path: str | Path, text: Sequence[str] = (), options: ReadOptions = TO_BE_FOUND) -> Read:
    r"""Read a table with at least one row, and say how.

    Parameters
    ----------
    path : str or Path
        Text with a first line of names, Parquet or Excel, possibly compressed (gzip, bzip2, xz, zstd, or zip with one
        file). ``"-"`` is the standard input.
    text : sequence of str
        Columns to read as text, exactly as they are written: the label 01 stays 01, and NA is a text, so that only
        blank cells are missing. Cells of Parquet files, and of Excel files, have types of their own.
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
    options = options.checked()
    with open_source(path) as source:
        require("tables", "tables need pandas", "pandas")
        _check_sheet(source, options)
        remember_lines(None)
        if source.kind == "CSV":
            found = _read_text(source, text, options)
        elif source.kind == "Parquet":
            found = Read(read_parquet(source), [], ReadOptions())
        else:
            frame, notes, sheet = read_excel(source, text, options.sheet)
            found = Read(frame, notes, ReadOptions(sheet=sheet))
        _check_names([str(name) for name in found.frame.columns], source)
        if found.frame.empty:
            raise ValueError(f"{source.name} has no rows")
        return found._replace(notes=[*source.notes, *found.notes, *_idle(source, options)])


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
    r"""Read a table in pieces and, beside each piece, columns exactly as they are written.

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
    ...     _ = (Path(folder) / "data.csv").write_text("age;x\n040;1,5\n")
    ...     [(frame, written)] = read_chunks_beside(Path(folder) / "data.csv", rows=2, kept=["age", "x"])
    >>> frame.values.tolist(), written.values.tolist()
    ([[40.0, 1.5]], [['040', '1,5']])
    """
    options, notes = options.checked(), [] if notes is None else notes
    with open_source(path) as source:
        require("tables", "tables need pandas", "pandas")
        _check_sheet(source, options)
        notes += [*source.notes, *_idle(source, options)]
        remember_lines(None)
        if source.kind == "CSV":
            chunks = _text_chunks(source, rows, text, kept, options, notes)
        elif source.kind == "Parquet":
            chunks = ((chunk, _only(chunk, kept)) for chunk in parquet_chunks(source, rows))
        else:
            frame, found, _ = read_excel(source, text, options.sheet)
            written = _only(read_excel(source, kept, options.sheet).frame if kept else frame, kept)
            notes += found
            places = (slice(start, start + rows) for start in range(0, len(frame), rows))
            chunks = ((frame[place], written[place]) for place in places)
        empty = True
        for chunk, beside in chunks:
            if empty:
                _check_names([str(name) for name in chunk.columns], source)
            if len(chunk):
                empty = False
                yield chunk, beside
        if empty:
            raise ValueError(f"{source.name} has no rows")


def _read_text(source: Source, text: Sequence[str], options: ReadOptions) -> Read:
    import pandas as pd

    dialect = find_dialect(source, options)
    remember_lines(partial(line_of, source, dialect))
    _check_names(dialect.names, source)
    codes = [name for name in dialect.codes if name not in text]
    with source.open() as stream, _refused(source, dialect):
        frame = pd.read_csv(stream, **_arguments(dialect, [*text, *codes]))
    if _may_be_short(frame) or first_row_is_longer(source, dialect):
        check_rows(source, dialect)
    frame, notes = _without_empty(frame, dialect.names)
    notes = [dialect.note, *dialect.notes, *notes]
    notes += [f"codes, since some begin with 0, and no numbers: {', '.join(codes)}"] if codes else []
    notes += read_numerals(frame, [*text, *codes], dialect.decimal, options.decimal is not None)
    if text:
        with source.open() as stream:
            written = pd.read_csv(stream, **_only_written(dialect, text))
        for name in _only(written, frame.columns):
            frame[name] = written[name]
    return Read(frame, notes, ReadOptions(dialect.sep, dialect.decimal, dialect.encoding))


def _text_chunks(
    source: Source, rows: int, text: Sequence[str], kept: Sequence[str], options: ReadOptions, notes: list[str]
) -> Iterator[tuple[DataFrame, DataFrame]]:
    import pandas as pd

    dialect = find_dialect(source, options)
    remember_lines(partial(line_of, source, dialect))
    notes += [dialect.note, *dialect.notes]
    _check_names(dialect.names, source)
    checked, start = False, True
    with ExitStack() as stack:
        stream = stack.enter_context(source.open())
        with _refused(source, dialect):
            chunks = pd.read_csv(stream, chunksize=rows, **_arguments(dialect, text))
        if kept:
            again = stack.enter_context(source.open())
            written = pd.read_csv(again, chunksize=rows, **_only_written(dialect, kept))
        while True:
            with _refused(source, dialect):
                if (chunk := next(chunks, None)) is None:
                    return
            if not checked and (_may_be_short(chunk) or (start and first_row_is_longer(source, dialect))):
                check_rows(source, dialect)
                checked = True
            start = False
            beside = next(written) if kept else chunk[[]]
            frame, more = _without_empty(chunk, dialect.names)
            more += read_numerals(frame, text, dialect.decimal, options.decimal is not None)
            notes += [note for note in more if note not in notes]
            yield frame, beside


def _only(frame: DataFrame, kept: Iterable[str]) -> DataFrame:
    return frame[[name for name in kept if name in frame.columns]]


def _arguments(dialect: Dialect, text: Sequence[str]) -> dict[str, Any]:
    return {
        "sep": dialect.sep,
        "decimal": dialect.decimal,
        "encoding": dialect.encoding.removesuffix("-sig"),  # pandas passes over the mark, faster than the decoder
        "skiprows": dialect.skip,
        "header": 0,
        "names": [name or f"Unnamed: {k}" for k, name in enumerate(dialect.names)],  # without spaces around them
        "dtype": dict.fromkeys(text, str),
        "skipinitialspace": True,
        "index_col": False,
        "low_memory": False,
    }


def _only_written(dialect: Dialect, names: Sequence[str]) -> dict[str, Any]:
    """Return arguments that read these columns alone, in which only blank cells are missing: NA may be a country."""
    arguments = _arguments(dialect, names)
    places = [k for k, name in enumerate(arguments["names"]) if name in names]  # rows may have more values than names
    return arguments | {"usecols": places, "keep_default_na": False, "na_values": [""]}


@contextmanager
def _refused(source: Source, dialect: Dialect) -> Iterator[None]:
    """Name the line of a row that pandas refuses."""
    import pandas as pd

    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error", pd.errors.ParserWarning)  # a row has more values than there are names
            yield
    except (pd.errors.ParserError, pd.errors.ParserWarning) as error:
        reason = str(error)
        if "EOF inside string" in reason:
            reason = f"the quote that opens in line {open_quote(source, dialect)} is never closed"
        else:
            check_rows(source, dialect, longer=True)
        raise ValueError(f"{source.name} cannot be read as CSV: {reason.strip()}") from None


def _may_be_short(frame: DataFrame) -> bool:
    """Return whether a row may have fewer values than there are names: pandas takes the last ones for missing."""
    return bool(frame.iloc[:, -1].isna().any())


def _without_empty(frame: DataFrame, names: list[str]) -> tuple[DataFrame, list[str]]:
    """Leave out columns without a name and without a value, which separators at the ends of lines make."""
    unnamed = [k for k, name in enumerate(names) if not name and k < frame.shape[1]]
    empty = [k for k in unnamed if frame.iloc[:, k].isna().all()]
    notes = [f"column {k + 1} has no name, and is called {frame.columns[k]!r}" for k in unnamed if k not in empty]
    if empty:
        notes.append(f"left out: {len(empty)} column{'s' * (len(empty) > 1)} without a name and without a value")
        frame = frame.drop(columns=frame.columns[empty])
    return frame, notes


def _check_names(names: Sequence[str], source: Source) -> None:
    twice = sorted(name for name, times in Counter(names).items() if times > 1 and name)
    if twice:
        raise ValueError(
            f"{source.name} cannot be read as {source.kind}: several columns have the name {', '.join(twice)}; "
            "rename all but one"
        )


def _idle(source: Source, options: ReadOptions) -> list[str]:
    """Return notes on options that were told but do not matter to a file of this kind."""
    others = () if source.kind == "CSV" else ("sep", "decimal", "encoding")
    return [
        f"{named(name)} has no meaning for a {source.kind} file"
        for name in others
        if getattr(options, name) is not None
    ]


def _check_sheet(source: Source, options: ReadOptions) -> None:
    """Raise ValueError if a sheet is asked of a file without sheets: it may be another file than was meant."""
    if options.sheet is not None and source.kind != "Excel":
        raise ValueError(f"{source.name} is a {source.kind} file and has no sheets; leave out {named('sheet')}")


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
