"""How a text file is written: its encoding, its separator and the names of its columns, found or told."""

from __future__ import annotations

import codecs
import csv
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from itertools import islice, takewhile
from pathlib import Path
from typing import NamedTuple

from symloss.columns import is_number
from symloss.naming import argument
from symloss.tabular.sources import Source

SEPARATORS = {"comma": ",", "semicolon": ";", "tab": "\t", "pipe": "|"}
_MARKS = {"point": ".", "comma": ",", ".": ".", ",": ","}
ENCODINGS = {"utf-8-sig": "UTF-8", "cp1252": "Windows-1252"}
_LINES = 200  # in which the separator is looked for
_BINARY = re.compile("[\0\udc80-\udcff]")  # NUL, and what Python makes of bytes that it cannot decode
_MARKUP = re.compile(r"\s*<(!doctype|!--|\?xml|html|head|body|table|meta|style|div)", re.I)
_SAYS = re.compile(r'"?sep=([,;\t|])"?\s*$')  # as Excel writes and reads it


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

    def line_of(self, row: int) -> int | None:
        """Return the line where a row begins, counted from 0 after the names; None if it can no longer be read."""
        try:
            return next((line for line, _ in islice(self.records(), row, None)), None)
        except (OSError, csv.Error):
            return None

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
