"""How a text file is written: its encoding, its separator and the names of its columns, found or told."""

from __future__ import annotations

import codecs
import csv
import io
import re
from collections import Counter
from collections.abc import Iterable, Iterator
from itertools import islice
from pathlib import Path
from typing import NamedTuple

from symloss.columns import is_number
from symloss.naming import argument
from symloss.tabular.sources import Source

SEPARATORS = {"comma": ",", "semicolon": ";", "tab": "\t", "pipe": "|"}
_MARKS = {"point": ".", "comma": ",", ".": ".", ",": ","}
ENCODINGS = {"utf-8": "UTF-8", "utf-8-sig": "UTF-8 with a byte order mark", "cp1252": "Windows-1252"}
_HEAD, _LINES = 1 << 20, 200  # bytes and lines in which the separator is looked for
_MARKUP = re.compile(r"\s*<(!doctype|!--|\?xml|html|head|body|table|meta|style|div)", re.I)
_SAYS = re.compile(r'"?sep=([,;\t|])"?[ \t]*(?:\r\n|\r|\n)')


class ReadOptions(NamedTuple):
    """What the user says about a file; None is to be found in the file.

    Parameters
    ----------
    sep : str, optional
        The sign between the values of a text file, or its name: comma, semicolon, tab or pipe.
    decimal : {".", ","}, optional
        The sign before decimals.
    encoding : str, optional
        The encoding of a text file, by one of Python's names for it, such as ``"cp1252"``.
    sheet : str or int, optional
        The sheet of an Excel file, by its name or by its number from 1 on.
    usual_decimal : {".", ","}, optional
        The sign before decimals in files like this one, for numbers that do not tell.
    """

    sep: str | None = None
    decimal: str | None = None
    encoding: str | None = None
    sheet: str | int | None = None
    usual_decimal: str | None = None

    def checked(self) -> ReadOptions:
        """Return the options with signs for their names; raise ValueError if one cannot be used."""
        sep = None if self.sep is None else SEPARATORS.get(self.sep.lower(), self.sep.replace("\\t", "\t"))
        if sep is not None and sep not in SEPARATORS.values():
            raise ValueError(f"{argument('sep')} must be one of {', '.join(SEPARATORS)}; got {self.sep!r}")
        if self.decimal is not None and self.decimal not in _MARKS:
            raise ValueError(f"{argument('decimal')} must be a point or a comma, got {self.decimal!r}")
        if self.encoding is not None:
            try:
                "a".encode(self.encoding)
            except LookupError:
                some = "utf-8, cp1252, latin-1, utf-16"
                raise ValueError(f"{argument('encoding')}: no encoding {self.encoding!r}; some are {some}") from None
        return self._replace(sep=sep, decimal=None if self.decimal is None else _MARKS[self.decimal])


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
        """Yield the line and the values of each row, that of the names first."""
        with self.path.open(encoding=self.encoding, newline="") as lines:
            for _ in range(self.above):
                lines.readline()
            yield from records(lines, self.sep, self.above + 1, strict)

    def line_of(self, row: int) -> int | None:
        """Return the line where a row begins, counted from 0 after the names; None if it can no longer be read."""
        try:
            found = next(islice(self.records(), row + 1, None), None)
        except (OSError, ValueError, csv.Error):
            return None
        return None if found is None else found[0]

    def what_is_wrong(self) -> str | None:
        """Return the first row that has more or fewer values than there are names, or the quote that stays open."""
        line, expected = 0, len(self.names)
        try:
            for line, row in islice(self.records(strict=True), 1, None):
                if len(row) != expected:
                    return (
                        f"Expected {expected} fields in line {line}, saw {len(row)} (separator: {spelled(self.sep)}); "
                        f"{self._hint(len(row) > expected)}"
                    )
        except csv.Error as error:
            if "unexpected end" in str(error):
                return f"a quote that opens below line {line} is never closed"
        return None

    def _hint(self, too_many: bool) -> str:
        for sep in SEPARATORS.values():
            if sep != self.sep and sep in "".join(self.names):
                return f"{argument('sep', sep)} if {spelled(sep)}s separate them"
        if len(self.names) == 1:
            return (
                f"delete what stands above the names of the columns, or say with {argument('sep')} what separates them"
            )
        advice = f"a value that holds a {spelled(self.sep)} needs quotes" if too_many else "the line may be cut off"
        return f"{advice}, and {argument('sep')} says what separates values"


def spelled(sep: str) -> str:
    """Return the name of a separator."""
    return next(name for name, sign in SEPARATORS.items() if sign == sep)


def find_dialect(source: Source, options: ReadOptions) -> Dialect:
    """Find out how a text file is written; raise ValueError if it is no text, or if two columns have one name."""
    encoding, notes = _find_encoding(source, options.encoding)
    with source.path.open(encoding=encoding, newline="") as lines:
        text = lines.read(_HEAD)
        while not ("\n" in text or "\r" in text) and (more := lines.read(_HEAD)):  # a hundred thousand names
            text += more
        if lines.read(1):
            text = text[: max(text.rfind("\n"), text.rfind("\r")) + 1]  # the last line may be cut
    _refuse_other_text(source.name, text)
    says = _SAYS.match(text)  # as Excel writes and reads it
    text = text[says.end() :] if says else text
    sep = options.sep or (says and says[1])
    if sep is None:
        sep, doubts = _find_separator(text)
        notes += doubts
    above = 1 if says else 0
    (_, first), *rows = list(_sample(text, sep, above + 1)) or [(1, [""])]
    names = [name.strip() for name in first]
    if rows and all(len(row) == len(names) + 1 and not row[-1] for _, row in rows):
        names.append("")  # separators at the ends of rows
    for line, row in [(above + 1, first), *rows]:
        if any(value.startswith(' "') for value in row):
            raise ValueError(
                f"{source.name}: line {line} has a space before a quote: delete it, or pass the data frame of "
                "pandas.read_csv(..., skipinitialspace=True)"
            )
    if len(names) == 1:
        says_what = f"{argument('sep')} says what does, if there are more columns"
        notes.insert(0, f"one column: no {spelled(sep)} separates names; {says_what}")
    notes += names_notes(names)
    notes += [f"the first line says only what separates values ({says[0].strip()})"] if says else []
    return Dialect(source.path, sep, encoding, names, above, notes)


def _sample(text: str, sep: str, start: int = 1) -> Iterator[tuple[int, list[str]]]:
    return islice(records(io.StringIO(text, newline=""), sep, start), _LINES)


def records(lines: Iterable[str], sep: str, start: int = 1, strict: bool = False) -> Iterator[tuple[int, list[str]]]:
    r"""Yield the line where each row that is not blank starts, and its values.

    Examples
    --------
    >>> list(records(["a;b\n", "\n", '"1\n', '2";3\n'], ";"))
    [(1, ['a', 'b']), (3, ['1\n2', '3'])]
    """
    csv.field_size_limit(1 << 30)
    reader, before = csv.reader(lines, delimiter=sep, strict=strict), start - 1
    for row in reader:
        if len(row) > 1 or (row and row[0].strip()):
            yield start, row
        start = before + reader.line_num + 1


def _find_encoding(source: Source, told: str | None) -> tuple[str, list[str]]:
    with source.path.open("rb") as file:
        marked = file.read(3) == codecs.BOM_UTF8
    if told is not None:
        told = "utf-8-sig" if marked and codecs.lookup(told).name == "utf-8" else told
        if (line := _undecodable(source, told)) is not None:
            raise ValueError(
                f"{source.name}: line {line} is not text in {told}, as {argument('encoding')} says; try without it"
            )
        return told, []
    wrong = _undecodable(source, "utf-8")
    if wrong is None:
        return "utf-8-sig" if marked else "utf-8", []
    if (binary := _undecodable(source, "cp1252")) is not None:
        raise ValueError(
            f"{source.name} is not a CSV file: line {binary} is not text in UTF-8 or Windows-1252, but binary, or in "
            f"another encoding, which {argument('encoding')} says, such as {argument('encoding', 'utf-16')}"
        )
    guess = f"line {wrong} is not UTF-8, so Windows-1252 is a guess"
    return "cp1252", [f"encoding: {guess}; {argument('encoding')} says another"]


def _undecodable(source: Source, encoding: str) -> int | None:
    """Return the first line that is not text in this encoding: it cannot be decoded, or holds a NUL."""
    line = 1
    with source.path.open("rb") as stream:
        decoder = codecs.getincrementaldecoder(encoding)()
        while True:
            block = stream.read(_HEAD)
            try:
                text = decoder.decode(block, final=not block)
            except UnicodeDecodeError as error:
                return line + error.object[: error.start].count(b"\n")
            if "\0" in text:
                return line + text[: text.index("\0")].count("\n")
            if not block:
                return None
            line += text.count("\n")


def _refuse_other_text(name: str, text: str) -> None:
    if _MARKUP.match(text):
        raise ValueError(f"{name} holds HTML or XML, not CSV: open it in a spreadsheet and save it as .xlsx or CSV")
    if not text.strip():
        raise ValueError(f"{name} is empty")


def _find_separator(text: str) -> tuple[str, list[str]]:
    """Return the separator that gives the same number of values, more than one, in the most of the first lines."""
    shares: dict[str, tuple[float, bool]] = {}
    for sep in ("\t", "|", ";", ","):  # of two that fit alike, the sign that is rarer in texts
        counts = [len(row) for _, row in _sample(text, sep)]
        several = Counter(count for count in counts if count > 1)
        if several:
            count, times = several.most_common(1)[0]
            shares[sep] = times / len(counts), counts[0] == count
    if not shares:
        return ",", []
    best = max(shares, key=lambda sep: shares[sep])
    others = [sep for sep in shares if sep != best and shares[sep] == (1.0, True)]
    return best, [
        f"separator: {spelled(best)} taken, but {spelled(sep)} fits too; {argument('sep', sep)}" for sep in others
    ]


def names_notes(names: list[str]) -> list[str]:
    """Return a note if the names of columns are all numbers, as in a file without a line of names."""
    filled = [name for name in names if name]
    if filled and all(map(is_number, filled)):
        shown = ", ".join(filled[:3]) + (", ..." if len(filled) > 3 else "")
        return [f"the first line holds only numbers ({shown}), and is taken for the names of the columns; add a line "
                "of names if it is a row"]  # fmt: skip
    return []
