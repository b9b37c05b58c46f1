"""Read tables from files and data frames: what a file is, how text is written, and its columns as values."""

from __future__ import annotations

import codecs
import csv
import gzip
import re
import shutil
import sys
import tempfile
import warnings
import zipfile
import zlib
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from contextlib import contextmanager
from difflib import get_close_matches
from itertools import islice, takewhile
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from symloss.columns import MISSING, Numbers, are_codes, as_pandas, column_names, is_number
from symloss.messages import argument, require

if TYPE_CHECKING:
    import pyarrow as pa
    from pandas import DataFrame, Series

_STARTS = {b"PAR1": "Parquet", b"\xd0\xcf\x11\xe0": "old Excel"}
SEPARATORS = {"comma": ",", "semicolon": ";", "tab": "\t", "pipe": "|"}
_MARKS = {"point": ".", "comma": ",", ".": ".", ",": ","}
ENCODINGS = {"utf-8-sig": "UTF-8", "cp1252": "Windows-1252"}
_LINES = 200  # in which the separator is looked for
_BINARY = re.compile("[\0\udc80-\udcff]")  # NUL, and what Python makes of bytes that it cannot decode
_MARKUP = re.compile(r"\s*<(!doctype|!--|\?xml|html|head|body|table|meta|style|div)", re.I)
_SAYS = re.compile(r'"?sep=([,;\t|])"?\s*$')  # as Excel writes and reads it
_BLOCK = 1 << 24  # bytes of text that pyarrow reads at a time; a row must be shorter


class Source(NamedTuple):
    """A file to read: where its bytes are, what errors call it, and whether it is CSV, Parquet or Excel."""

    path: Path
    name: str
    kind: str


@contextmanager
def open_source(path: str | Path | Source) -> Iterator[Source]:
    """Find out what a file holds, and unpack one that is compressed by gzip, or alone in a zip archive.

    A minus sign is the standard input. A source that is open already is yielded as it is: so a pipe can be read twice.
    """
    if isinstance(path, Source):
        yield path
        return
    name, path = "standard input" if str(path) == "-" else str(path), Path(path)
    if re.match(r"[a-z0-9]+:/", name, re.I):
        url = re.sub(":/+", "://", name, count=1)  # of two slashes, a path keeps one
        raise ValueError(f"URLs are not read: download {url} first, or pass the data frame of pandas.read_csv({url!r})")
    if path.is_dir():
        raise ValueError(f"{path} is a folder, not a file")
    if name == str(path) and not path.exists():
        raise ValueError(f"no such file: {path}")
    with tempfile.TemporaryDirectory() as folder:
        copy, unpacked = Path(folder) / "data", Path(folder) / "unpacked"
        if name == "standard input":
            path = _copied(sys.stdin.buffer, copy)
        elif not path.is_file():  # a pipe can be read only once
            with path.open("rb") as stream:
                path = _copied(stream, copy)
        try:
            kind = _kind(path)
            if kind == "gzip":
                with gzip.open(path) as stream:
                    path = _copied(stream, unpacked)
            elif kind == "zip":
                with zipfile.ZipFile(path) as archive:
                    found = [one for one in archive.namelist() if not one.endswith("/") and "__MACOSX/" not in one]
                    if len(found) != 1:
                        raise ValueError(f"{name} holds {len(found)} files, and must hold exactly one: unpack it")
                    with archive.open(found[0]) as stream:
                        path = _copied(stream, unpacked)
            kind = _kind(path)
        except (OSError, EOFError, RuntimeError, zlib.error, zipfile.BadZipFile) as error:
            raise ValueError(f"{name} cannot be read: it is damaged, incomplete or protected ({error})") from None
        if kind == "old Excel":
            raise ValueError(f"{name} is an old Excel file, or has a password: save it as .xlsx without a password")
        yield Source(path, name, kind)


def _copied(stream: Any, target: Path) -> Path:
    with target.open("wb") as copy:
        shutil.copyfileobj(stream, copy)
    return target


def _kind(path: Path) -> str:
    with path.open("rb") as file:
        start = file.read(4)
    if start == b"PK\x03\x04":
        with zipfile.ZipFile(path) as archive:
            return "Excel" if "xl/workbook.xml" in archive.namelist() else "zip"
    return "gzip" if start[:2] == b"\x1f\x8b" else _STARTS.get(start, "CSV")


class ReadOptions(NamedTuple):
    """What the user says about a file; None is to be found in the file."""

    sep: str | None = None  # between the values of a text file: the sign, or comma, semicolon, tab or pipe
    decimal: str | None = None  # the sign before decimals: a point or a comma
    encoding: str | None = None  # of a text file, by one of Python's names for it, such as cp1252
    sheet: str | int | None = None  # of an Excel file, by its name or by its number from 1 on
    usual_decimal: str | None = None  # the sign before decimals in files like this one, for numbers that do not tell

    def checked(self) -> ReadOptions:
        """Return the options with signs for their names; raise ValueError if one cannot be used."""
        sep = None if self.sep is None else SEPARATORS.get(self.sep.lower(), self.sep.replace("\\t", "\t"))
        if sep is not None and sep not in SEPARATORS.values():
            raise ValueError(f"{argument('sep')} must be one of {', '.join(SEPARATORS)}; got {self.sep!r}")
        if self.decimal is not None and self.decimal not in _MARKS:
            raise ValueError(f"{argument('decimal')} must be a point or a comma, got {self.decimal!r}")
        encoding = self.encoding
        try:
            encoding = "utf-8-sig" if encoding and codecs.lookup(encoding).name == "utf-8" else encoding
        except LookupError:
            raise ValueError(f"{argument('encoding')}: no encoding {encoding!r}; try cp1252, utf-16") from None
        return self._replace(sep=sep, decimal=_MARKS.get(self.decimal or ""), encoding=encoding)


TO_BE_FOUND = ReadOptions()


class Dialect(NamedTuple):
    """How a text file is written, the names of its columns, how many lines stand above them, and notes."""

    path: Path
    sep: str
    encoding: str
    names: list[str]
    above: int
    notes: list[str]

    def records(self, strict: bool = False) -> Iterator[tuple[int, list[str]]]:
        """Yield the line and the values of each row below the names."""
        with self.path.open(encoding=self.encoding, newline="") as lines:
            yield from islice(records(islice(lines, self.above, None), self.sep, self.above + 1, strict), 1, None)

    def what_is_wrong(self) -> str | None:
        """Return the first row that has more or fewer values than there are names, or the quote that stays open."""
        line, expected = 0, len(self.names)
        try:
            for line, row in self.records(strict=True):
                if len(row) != expected:
                    return (
                        f"Expected {expected} fields in line {line}, saw {len(row)} (separator: {spelled(self.sep)}); "
                        f"{argument('sep')} says what separates values, those that hold a separator need quotes, and "
                        "only a title may stand above the names of the columns"
                    )
        except csv.Error as error:
            if "unexpected end" in str(error):
                return f"a quote that opens below line {line} is never closed"
        return None


def spelled(sep: str) -> str:
    """Return the name of a separator."""
    return next(name for name, sign in SEPARATORS.items() if sign == sep)


def find_dialect(source: Source, options: ReadOptions) -> Dialect:
    """Find out how a text file is written; raise ValueError if it is no text."""
    encoding, notes = _find_encoding(source, options.encoding)
    with source.path.open(encoding=encoding, newline="") as lines:
        head = list(islice(lines, _LINES))
    if _MARKUP.match("".join(head)):
        raise ValueError(
            f"{source.name} holds HTML or XML, not CSV: open it in a spreadsheet and save it as .xlsx or CSV"
        )
    if not any(map(str.strip, head)):
        raise ValueError(f"{source.name} is empty")
    says = _SAYS.match(head[0])
    above = 1 if says else 0
    sep = options.sep or (says[1] if says else _find_separator(head))
    rows = list(records(head[above:], sep, above + 1)) or [(1, [""])]
    title = titles([row for _, row in rows])
    above = rows[len(title)][0] - 1 if title else above
    (_, first), *rows = rows[len(title) :]
    names = [name.strip() for name in first]
    if rows and all(len(row) == len(names) + 1 and not row[-1] for _, row in rows):
        names.append("")  # separators at the ends of rows
    return Dialect(source.path, sep, encoding, names, above, notes + names_notes(names, title))


def records(lines: Iterable[str], sep: str, start: int = 1, strict: bool = False) -> Iterator[tuple[int, list[str]]]:
    r"""Yield the line where each row that is not blank starts, and its values."""
    csv.field_size_limit(1 << 30)
    reader, before = csv.reader(lines, delimiter=sep, strict=strict), start - 1
    for row in reader:
        if len(row) > 1 or (row and row[0].strip()):
            yield start, row
        start = before + reader.line_num + 1


def _find_encoding(source: Source, told: str | None) -> tuple[str, list[str]]:
    """Return the encoding, and a note if it is a guess."""
    wrong = _undecodable(source, told or "utf-8-sig")
    if wrong is None:
        return told or "utf-8-sig", []
    if told is not None:
        raise ValueError(f"{source.name}: line {wrong} is not text in {told}, as {argument('encoding')} says")
    if (binary := _undecodable(source, "cp1252")) is not None:
        raise ValueError(
            f"{source.name} is not a CSV file: line {binary} is not text in UTF-8 or Windows-1252, but binary, or in "
            f"another encoding, which {argument('encoding')} says, such as {argument('encoding', 'utf-16')}"
        )
    guess = f"line {wrong} is not UTF-8, so Windows-1252 is a guess"
    return "cp1252", [f"encoding: {guess}; {argument('encoding')} says another"]


def _undecodable(source: Source, encoding: str) -> int | None:
    """Return the first line that is not text in this encoding: it cannot be decoded, or holds a NUL."""
    number = 0
    with source.path.open(encoding=encoding, errors="surrogateescape", newline="") as lines:
        try:
            for number, line in enumerate(lines, 1):
                if _BINARY.search(line):
                    return number
        except UnicodeError:  # some encodings have no such escapes
            return number + 1
    return None


def _find_separator(head: list[str]) -> str:
    """Return the separator that gives the same number of values, more than one, in the most of the first lines."""
    shares: dict[str, tuple[float, bool]] = {}
    for sep in ("\t", "|", ";", ","):  # of two that fit alike, the sign that is rarer in texts
        counts = [len(row) for _, row in records(head, sep)]
        several = Counter(count for count in counts if count > 1)
        if several:
            count, times = several.most_common(1)[0]
            shares[sep] = times / len(counts), counts[0] == count
    return max(shares, key=lambda sep: shares[sep], default=",")


def titles(rows: Sequence[Sequence[str]]) -> list[str]:
    """Return the texts of the first rows that each stand alone, above the names of the columns."""
    filled = [[value for value in row if value] for row in rows]
    most = max(map(len, filled))
    alone = takewhile(lambda k: len(filled[k]) == 1 and (most > 2 or len(rows[k]) == 1 < most), range(len(rows)))
    return [filled[k][0] for k in alone]


def names_notes(names: list[str], title: list[str]) -> list[str]:
    """Return notes on rows above the names of columns, and on names that are all numbers, as if there were no names."""
    notes = [f"above the names of the columns, and left out: {', '.join(map(repr, title))}"] * bool(title)
    filled = [name for name in names if name]
    if filled and all(map(is_number, filled)):
        shown = ", ".join(filled[:3]) + (", ..." if len(filled) > 3 else "")
        notes.append(
            f"the first line holds only numbers ({shown}), and is taken for the names of the columns; add a line of "
            "names if it is a row"
        )
    return notes


def as_values(
    written: DataFrame, text: Collection[str], sep: str, options: ReadOptions
) -> tuple[DataFrame, str | None, list[str]]:
    """Return the columns of texts as values, the decimal mark that most of them have (None if none has), and notes.

    Columns in ``text`` stay texts, of which some say that a value is missing. If the mark was told, numbers that have
    the other one stay texts; otherwise a column whose numbers do not tell has the mark of the others.
    """
    frame = written.apply(lambda column: column.mask(column.str.lower().isin(MISSING)))
    found = {name: Numbers.recognize(frame[name]) for name in frame if name not in text}
    forms = {name: form for name, form in found.items() if form is not None and not form.mark}
    marked = {name: frame[name][frame[name].str.contains("[.,]", na=False)] for name in forms}
    examples = {name: texts.iloc[0] for name, texts in marked.items() if len(texts)}
    sure = {name: forms[name].decimal for name in examples if forms[name].told}
    decimal = options.decimal or _decimal_of([*sure.values()], "".join(examples.values()), sep, options.usual_decimal)
    codes, notes = list[str](), list[str]()
    for name in frame.columns.difference([*text], sort=False):
        if name not in forms or (options.decimal and sure.get(name, decimal) != decimal):
            codes += [name] if are_codes(frame[name].dropna()) else []
            frame[name] = _truth_or_text(frame[name])
            continue
        own, example = sure.get(name, decimal or "."), examples.get(name)
        numbers = Numbers(own).encode(frame[name])[:, 0]
        whole = not example and (abs(numbers) < 2**53).all() and (numbers % 1 == 0).all()
        frame[name] = numbers.astype("int64") if whole else numbers
        if example and name not in sure and not options.decimal and (sep == ";" or own not in example):
            notes.append(
                f"column {name!r}: {example} is read as {Numbers(own).encode([example])[0, 0]:.15g}, though no number "
                f"there tells; {argument('decimal', ',' if own == '.' else '.')} reads it otherwise"
            )
    if codes:
        notes.append(f"codes, since some begin with 0, and no numbers: {', '.join(codes)}")
    return frame, decimal, notes


def _decimal_of(sure: list[str], examples: str, sep: str, usual: str | None) -> str | None:
    """Return the decimal mark that most columns have; where none tells, that of the fit, or what the separator says."""
    if sure:
        commas, points = sure.count(","), sure.count(".")
        return "," if commas > points or (commas == points and sep == ";") else "."
    if not examples:
        return None
    if sep != ";" and "," not in examples:
        return "."
    return usual or ("," if sep == ";" and "," in examples else ".")


def _truth_or_text(column: Series) -> Any:
    """Return a column of true and false, which may be missing, as such, and any other one as it is."""
    known = column.dropna()
    if known.empty:
        return column.astype(float)
    truth = {"true": True, "false": False}
    return (
        column.str.lower().map(truth).astype(object).infer_objects() if known.str.lower().isin(truth).all() else column
    )


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

    first_line = next((line for line, _ in dialect.records()), None)
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
