"""Read a sheet of an Excel file."""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, NamedTuple

from symloss.extras import require
from symloss.naming import named
from symloss.tabular.dialect import names_notes
from symloss.tabular.sources import Source

if TYPE_CHECKING:
    from pandas import DataFrame


class Sheet(NamedTuple):
    """The table of a sheet, notes on how it was read, and the sheet's name.

    Examples
    --------
    >>> Sheet(None, [], "2026").name
    '2026'
    """

    frame: Any
    notes: list[str]
    name: str


def read_excel(source: Source, text: Sequence[str], sheet: str | int | None) -> Sheet:
    """Return the table of a sheet whose first row that is not blank holds the names; blank rows are left out."""
    import pandas as pd

    require("excel", "Excel files need openpyxl", "openpyxl")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # openpyxl warns of styles that it does not know
        with _refused(source):
            book = pd.ExcelFile(source.whole(), engine="openpyxl")
        with book:
            names = [str(name) for name in book.sheet_names]
            name = _sheet_name(source.name, names, sheet)
            with _refused(source):
                cells = pd.read_excel(book, sheet_name=name, header=None, dtype=object)
    notes = [f"sheet: {name!r}"]
    if len(names) > 1 and sheet is None:
        notes = [f"sheet: {name!r}, the first of {len(names)}; {named('sheet', names[1])} reads the second"]
    frame, more = _table(f"{source.name}, sheet {name!r}", cells.dropna(how="all").dropna(how="all", axis=1))
    if frame.columns.is_unique:
        for column in set(text).intersection(frame.columns):  # before whole numbers with gaps become floats
            frame[column] = frame[column].map(str, na_action="ignore")
    return Sheet(frame.infer_objects(), notes + more, name)


@contextmanager
def _refused(source: Source) -> Iterator[None]:
    try:
        yield
    except Exception as error:  # openpyxl raises anything on a damaged file
        raise ValueError(f"{source.name} cannot be read as Excel: it is damaged ({error})") from None


def _sheet_name(file: str, names: list[str], wanted: str | int | None) -> str:
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


def _table(where: str, cells: DataFrame) -> tuple[DataFrame, list[str]]:
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
