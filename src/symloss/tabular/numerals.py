"""Which sign a column of written numbers has before its decimals: a point or a comma."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, NamedTuple

from symloss.naming import named

if TYPE_CHECKING:
    from pandas import DataFrame, Series

_GROUPS = {".": r"[1-9]\d{0,2}(?:,\d{3})+", ",": r"[1-9]\d{0,2}(?:(?:\.\d{3})+|(?:[ \u00a0\u202f]\d{3})+|(?:'\d{3})+)"}
_PATTERNS = {
    mark: re.compile(rf"[+-]?(?:\d+|{groups}|(?:\d*|{groups}){re.escape(mark)}\d+)(?:[eE][+-]?\d+)?")
    for mark, groups in _GROUPS.items()
}
_PLAIN = {".": str.maketrans("", "", ", "), ",": str.maketrans(",", ".", ". \u00a0\u202f'")}
# What pandas takes for a missing value, as far as it is found among numbers.
_MISSING = {"", "NA", "N/A", "n/a", "NaN", "nan", "null", "NULL", "None", "#N/A", "<NA>"}


class Mark(NamedTuple):
    """The decimal mark of a column, whether its values tell so, and a value that shows it.

    Examples
    --------
    >>> Mark(",", True, "1,5").sure
    True
    """

    decimal: str
    sure: bool
    example: str


def mark_of(values: Iterable[str]) -> Mark | None:
    """Return the decimal mark of a column of numbers, or None if it has none or holds other texts.

    A number such as 1,234 tells nothing: it may be above a thousand, or little more than one.

    Examples
    --------
    >>> mark_of(["3", "1,5"]), mark_of(["3", "1.234"])
    (Mark(decimal=',', sure=True, example='1,5'), Mark(decimal='.', sure=False, example='1.234'))
    >>> mark_of(["3"]) is None, mark_of(["1,5", "many"]) is None
    (True, True)
    """
    possible, signs = {".", ","}, set[str]()
    shown: dict[int, str] = {}  # a value that only one mark fits, and one that both fit
    for value in values:
        text = value.strip()
        if text in _MISSING:
            continue
        fits = {mark for mark in (".", ",") if _PATTERNS[mark].fullmatch(text)}
        possible &= fits
        if not possible:
            return None
        if "." in text or "," in text:
            signs |= {".", ","}.intersection(text)
            shown.setdefault(len(fits), text)
    if not shown or (len(possible) == 2 and len(signs) == 2):  # 1,234 beside 1.234 is neither
        return None
    if len(possible) == 1:
        return Mark(possible.pop(), True, shown.get(1, shown.get(2, "")))
    return Mark(signs.pop(), False, shown[2])


def decimal_of(records: Sequence[Sequence[str]], separator: str) -> tuple[str, str | None]:
    """Return the decimal mark that most columns of the first rows have, and a note where the values do not tell.

    Examples
    --------
    >>> decimal_of([["a", "1,5"], ["b", "2,25"]], ";")
    (',', None)
    """
    marks = [mark for column in zip(*records, strict=True) if (mark := mark_of(column)) is not None]
    sure = [mark.decimal for mark in marks if mark.sure]
    if sure:
        commas, points = sure.count(","), sure.count(".")
        return ("," if commas > points or (commas == points and separator == ";") else "."), None
    unsure = {mark.decimal: mark.example for mark in marks}
    if separator == ";" and "," in unsure:
        return ",", (
            f"decimal comma taken: {unsure[',']} is read as {unsure[','].replace(',', '.')}, though no number tells; "
            f"{named('decimal', '.')} if the comma groups thousands"
        )
    if separator != "," and "," in unsure:
        return ".", (
            f"decimal point taken: the comma in {unsure[',']} groups thousands, though no number tells; "
            f"{named('decimal', ',')} if it is a decimal comma"
        )
    if separator == ";" and "." in unsure:
        return ".", (
            f"decimal point taken: {unsure['.']} is read as it stands, though no number tells; "
            f"{named('decimal', ',')} if the point groups thousands"
        )
    return ".", None


def read_numerals(frame: DataFrame, text: Sequence[str], decimal: str, told: bool) -> list[str]:
    """Turn columns of text into numbers where pandas could not, and return notes.

    These are numbers with groups of thousands under a decimal comma and, unless the mark was told, columns that have
    another mark than most others.
    """
    notes = []
    for name, dtype in frame.dtypes.items():
        if name in text or dtype.kind != "O":
            continue
        mark = _mark_of_column(frame[name])
        if mark is None or (mark.sure and mark.decimal != decimal and told):
            continue
        taken = mark.decimal if mark.sure else decimal
        if taken == decimal == ".":  # commas between thousands, which the encoding of columns reads
            continue
        frame[name] = _numbers(frame[name], taken)
        if taken != decimal:
            sign = "comma" if taken == "," else "point"
            reads = f"{named('decimal', decimal)} reads it as text"
            notes.append(f"column {name!r} has a decimal {sign} ({mark.example}); {reads}")
        elif not mark.sure and not told:
            notes.append(
                f"column {name!r}: the point in {mark.example} groups thousands, since other columns have decimal "
                f"commas; {named('decimal', '.')} if it is a decimal point"
            )
    return notes


def _mark_of_column(column: Series) -> Mark | None:
    values = column.dropna()
    if not len(values) or not all(isinstance(value, str) for value in values.iloc[:50]):
        return None
    few = values.iloc[:50]  # most columns of text end here
    if not all(any(pattern.fullmatch(value.strip()) for pattern in _PATTERNS.values()) for value in few):
        return None
    distinct = values.unique()
    return mark_of(distinct) if all(isinstance(value, str) for value in distinct) else None


def _numbers(column: Series, decimal: str) -> Series:
    import pandas as pd

    signs = _PLAIN[decimal]
    return pd.to_numeric(column.map(lambda value: value.translate(signs), na_action="ignore"))
