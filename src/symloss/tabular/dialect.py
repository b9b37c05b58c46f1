"""How a text file is written: its encoding, its separator and its decimal mark, found or told."""

from __future__ import annotations

import codecs
import csv
import io
import re
from collections import Counter
from collections.abc import Iterable, Iterator
from itertools import islice
from typing import NamedTuple

from symloss.naming import named
from symloss.tabular.numerals import decimal_of
from symloss.tabular.sources import Source

SEPARATORS = {"comma": ",", "semicolon": ";", "tab": "\t", "pipe": "|"}
_NAMES = SEPARATORS | {"space": " ", "\\t": "\t"}
_MARKS = {"point": ".", "comma": ",", ".": ".", ",": ","}
_ENCODINGS = {"utf-8": "UTF-8", "utf-8-sig": "UTF-8 with a byte order mark", "utf-16": "UTF-16", "utf-32": "UTF-32",
              "cp1252": "Windows-1252", "latin-1": "Latin-1"}  # fmt: skip
_ORDER_MARKS = {codecs.BOM_UTF8: "utf-8-sig", codecs.BOM_UTF32_LE: "utf-32", codecs.BOM_UTF32_BE: "utf-32",
                codecs.BOM_UTF16_LE: "utf-16", codecs.BOM_UTF16_BE: "utf-16"}  # fmt: skip
_HEAD, _LINES = 1 << 20, 200  # bytes and lines in which the separator and the decimal mark are looked for
_LONGEST = 16 << 20  # bytes of a line of names: a small compressed file may unpack to any number of them
_BLOCK = 1 << 20
_CONTROL = bytes(set(range(32)) - set(b"\t\n\v\f\r\x1a\x1b"))  # which no text has
_MARKUP = re.compile(r"\s*<(!doctype|!--|\?xml|html|head|body|table|meta|style|div)", re.I)
_DIGITS = re.compile(r"[0-9]+")
_SAYS = re.compile(r'"?sep=([^\w"\r\n])"?[ \t]*(?:\r\n|\r|\n)')
_JSON = re.compile(r"\s*(\{\s*\"|\[\s*[\[{])")


class ReadOptions(NamedTuple):
    """What the user says about a file; None is to be found in the file.

    Parameters
    ----------
    sep : str, optional
        The sign between the values of a text file, or its name: comma, semicolon, tab, pipe, space.
    decimal : {".", ","}, optional
        The sign before decimals.
    encoding : str, optional
        The encoding of a text file, by one of Python's names for it, such as ``"cp1252"``.
    sheet : str or int, optional
        The sheet of an Excel file, by its name or by its number from 1 on.
    usual_decimal : {".", ","}, optional
        The sign before decimals in files like this one, for numbers that do not tell.

    Examples
    --------
    >>> ReadOptions(sep=";").decimal is None
    True
    """

    sep: str | None = None
    decimal: str | None = None
    encoding: str | None = None
    sheet: str | int | None = None
    usual_decimal: str | None = None

    def checked(self) -> ReadOptions:
        r"""Return the options with signs for their names; raise ValueError if one cannot be used.

        Examples
        --------
        >>> ReadOptions(sep="tab").checked().sep
        '\t'
        """
        sep = None if self.sep is None else _NAMES.get(self.sep.lower(), self.sep)
        if sep is not None and (len(sep) != 1 or sep.isalnum() or sep in '"\r\n\0.'):
            raise ValueError(f"{named('sep')} must be one sign, or one of {', '.join(_NAMES)}; got {self.sep!r}")
        if self.decimal is not None and self.decimal not in _MARKS:
            raise ValueError(f"{named('decimal')} must be a point or a comma, got {self.decimal!r}")
        if self.encoding is not None:
            try:
                "a".encode(self.encoding)
            except LookupError:
                raise ValueError(
                    f"{named('encoding')}: no encoding {self.encoding!r}; some are utf-8, utf-16, cp1252, latin-1, "
                    "shift_jis"
                ) from None
        return self._replace(sep=sep, decimal=None if self.decimal is None else _MARKS[self.decimal])


TO_BE_FOUND = ReadOptions()


class Dialect(NamedTuple):
    """How a text file is written, the names of its columns, and notes on what was found.

    Examples
    --------
    >>> Dialect(";", ",", "utf-8", ["age"], []).sep
    ';'
    """

    sep: str
    decimal: str
    encoding: str
    names: list[str]
    notes: list[str]
    skip: int = 0  # lines above the names
    codes: tuple[str, ...] = ()  # columns of digits with leading zeros, which numbers would lose

    @property
    def note(self) -> str:
        """What was found, in one line."""
        if len(self.names) == 1:
            says = f"{named('sep')} says what does, if there are more columns"
            return f"one column: no {spelled(self.sep)} separates names; {says}"
        point = "decimal comma" if self.decimal == "," else "decimal point"
        return f"separator: {spelled(self.sep)}; {point}; encoding: {_ENCODINGS.get(self.encoding, self.encoding)}"


def spelled(sep: str) -> str:
    """Return the name of a separator.

    Examples
    --------
    >>> spelled(";"), spelled("^")
    ('semicolon', "'^'")
    """
    return next((name for name, sign in _NAMES.items() if sign == sep), repr(sep))


def find_dialect(source: Source, options: ReadOptions) -> Dialect:
    """Find out how a text file is written; raise ValueError if it is no text."""
    with source.open() as stream:
        head = stream.read(_HEAD)
        while not (b"\n" in head or b"\r" in head) and (more := stream.read(_HEAD)):  # a hundred thousand names
            head += more
            if len(head) > _LONGEST:
                raise ValueError(f"{source.name}: the first line is longer than 16 MiB: this is no table")
        whole = not stream.read(1)
    encoding, notes = _find_encoding(source, head, options.encoding)
    text = head.decode(encoding, errors="ignore").removeprefix("\ufeff")
    _refuse_other_text(source.name, text)
    if not text.strip():
        raise ValueError(f"{source.name} is empty")
    if not whole:
        text = text[: max(text.rfind("\n"), text.rfind("\r")) + 1]  # the last line may be cut
    says = _SAYS.match(text)  # as Excel writes and reads it
    text = text[says.end() :] if says else text
    sep, doubts = options.sep or (says and says[1]), list[str]()
    if sep is None:
        sep, doubts = _find_separator(source.name, text)
    first, *rows = _sample(text, sep) or [[""]]
    names = [name.strip("\ufeff").strip() for name in first]
    full = [row for row in rows if len(row) == len(first)]
    decimal, doubt = decimal_of(full, sep)
    if options.decimal is not None:
        decimal, doubt = options.decimal, None
    elif doubt and options.usual_decimal:
        decimal = options.usual_decimal
        mark = "comma" if decimal == "," else "point"
        doubt = f"decimal {mark} taken, as in the table of the fit, though no number tells"
    notes += [*doubts, *([doubt] if doubt else []), *names_notes(names)]
    notes += [f"the first line says only what separates values ({says[0].strip()})"] if says else []
    codes = tuple(name for name, *values in zip(names, *full, strict=True) if _are_codes(values))
    return Dialect(sep, decimal, encoding, names, notes, 1 if says else 0, codes)


def _are_codes(values: Iterable[str]) -> bool:
    """Return whether all values are digits, and some have a leading zero."""
    given = [stripped for value in values if (stripped := value.strip())]
    return all(map(_DIGITS.fullmatch, given)) and any(len(value) > 1 and value[0] == "0" for value in given)


def records(lines: Iterable[str], sep: str) -> Iterator[tuple[int, list[str]]]:
    r"""Yield the values of each row that is not blank, and the line where it starts.

    Examples
    --------
    >>> list(records(["a;b\n", "\n", '"1\n', '2";3\n'], ";"))
    [(1, ['a', 'b']), (3, ['1\n2', '3'])]
    """
    before, start = csv.field_size_limit(1 << 30), 1
    try:
        reader = csv.reader(lines, delimiter=sep, skipinitialspace=True)
        for row in reader:
            if len(row) > 1 or (row and row[0].strip()):
                yield start, row
            start = reader.line_num + 1
    finally:
        csv.field_size_limit(before)


def _sample(text: str, sep: str) -> list[list[str]]:
    return [row for _, row in islice(records(io.StringIO(text, newline=""), sep), _LINES)]


def _find_encoding(source: Source, head: bytes, told: str | None) -> tuple[str, list[str]]:
    found = next((encoding for mark, encoding in _ORDER_MARKS.items() if head.startswith(mark)), None)
    if told is not None:
        same = found is not None and codecs.lookup(told).name.startswith(codecs.lookup(found).name.removesuffix("-sig"))
        encoding = found if found is not None and same else told  # the mark is no part of the first name
        if (line := _undecodable(source, encoding)) is not None:
            raise ValueError(
                f"{source.name}: line {line} is not text in {told}, as {named('encoding')} says; try without it"
            )
        return encoding, []
    if found is not None:
        if (line := _undecodable(source, found)) is not None:
            raise ValueError(
                f"{source.name} starts as text in {_ENCODINGS[found]}, but line {line} is not; "
                f"{named('encoding')} says another"
            )
        return found, []
    if b"\0" in head:
        for encoding, half in (("utf-16-le", head[1::2]), ("utf-16-be", head[::2])):
            if half.count(0) > 0.8 * len(half):
                raise ValueError(
                    f"{source.name} is not text in UTF-8: it seems to be UTF-16 without a byte order mark; "
                    f"{named('encoding', encoding)} reads it"
                )
    wrong = _undecodable(source, "utf-8")
    if wrong is None:
        return "utf-8", []
    if len(head.translate(None, _CONTROL)) < len(head):
        raise ValueError(f"{source.name} is not a CSV file: it is not text in UTF-8 or another encoding, but binary")
    encoding = "cp1252" if _undecodable(source, "cp1252") is None else "latin-1"
    guess = f"line {wrong} is not UTF-8, so {_ENCODINGS[encoding]} is a guess"
    note = f"encoding: {guess}; {named('encoding')} says another"
    return encoding, [note]


def _undecodable(source: Source, encoding: str) -> int | None:
    """Return the first line that is not text in this encoding, or None; refuse a file with a NUL in its text."""
    decoder, line = codecs.getincrementaldecoder(encoding)(), 1
    with source.open() as stream:
        while True:
            block = stream.read(_BLOCK)
            try:
                text = decoder.decode(block, final=not block)
            except UnicodeDecodeError as error:
                return line + error.object[: error.start].count(b"\n")
            if "\0" in text:
                line += text[: text.index("\0")].count("\n")
                raise ValueError(
                    f"{source.name} cannot be read as CSV: line {line} holds a NUL byte; the file is damaged or binary"
                )
            if not block:
                return None
            line += text.count("\n")


def _refuse_other_text(name: str, text: str) -> None:
    if _MARKUP.match(text):
        raise ValueError(f"{name} holds HTML or XML, not CSV: open it in a spreadsheet and save it as .xlsx or CSV")
    if _JSON.match(text):
        raise ValueError(f"{name} holds JSON, not CSV: pandas.read_json reads it, and to_csv writes CSV")


def _find_separator(name: str, text: str) -> tuple[str, list[str]]:
    """Return the separator that gives the same number of values, more than one, in the most of the first lines."""
    shares: dict[str, tuple[float, bool]] = {}
    for sep in ("\t", "|", ";", ","):  # of two that fit alike, the sign that is rarer in texts
        counts = [len(row) for row in _sample(text, sep)]
        several = Counter(count for count in counts if count > 1)
        if several:
            count, times = several.most_common(1)[0]
            shares[sep] = times / len(counts), counts[0] == count
    if not shares:
        _refuse_spaces(name, text)
        return ",", []
    best = max(shares, key=lambda sep: shares[sep])
    others = [sep for sep in shares if sep != best and shares[sep] == (1.0, True)]
    return best, [
        f"separator: {spelled(best)} taken, but {spelled(sep)} fits too; {named('sep', sep)}" for sep in others
    ]


def _refuse_spaces(name: str, text: str) -> None:
    counts = Counter(len(line.split()) for line in text.splitlines()[:_LINES] if line.strip())
    count, times = counts.most_common(1)[0] if counts else (0, 0)
    if count > 1 and times > 1 and len(counts) == 1:
        raise ValueError(
            f"{name} has no comma, semicolon, tab or pipe between its values, and {count} words in each line: "
            f"{named('sep', ' ')} if spaces separate them, {named('sep', ',')} if each line is one value"
        )


def names_notes(names: list[str]) -> list[str]:
    """Return a note if the names of columns are all numbers, as in a file without a line of names.

    Examples
    --------
    >>> names_notes(["age", "1"]), len(names_notes(["1.5", "2"]))
    ([], 1)
    """
    filled = [name for name in names if name.strip()]
    if filled and all(re.fullmatch(r"[+-]?\d*[.,]?\d+(?:[eE][+-]?\d+)?", name.strip()) for name in filled):
        shown = ", ".join(filled[:3]) + (", ..." if len(filled) > 3 else "")
        return [f"the first line holds only numbers ({shown}), and is taken for the names of the columns; add a line "
                "of names if it is a row"]  # fmt: skip
    return []
