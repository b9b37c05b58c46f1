"""The texts of a file as values: numbers with a decimal point or a comma, true and false, codes, or text."""

from __future__ import annotations

from collections.abc import Collection
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from symloss.columns import MISSING, Numbers
from symloss.naming import argument
from symloss.tabular.dialect import ReadOptions

if TYPE_CHECKING:
    import pyarrow as pa

_FEW = 50  # values, by which most columns of text are told


class _Written(NamedTuple):
    """How a column of a file writes its numbers, a value that has a point or a comma, and its plain numbers."""

    numbers: Numbers
    example: str | None
    plain: pa.Array | None

    @property
    def tells(self) -> bool:
        return self.numbers.told and self.example is not None


def as_values(
    table: pa.Table, text: Collection[str], sep: str, options: ReadOptions
) -> tuple[dict[str, Any], str | None, list[str]]:
    """Return the columns of texts as values, the decimal mark that most of them have (None if none has), and notes.

    Columns in ``text`` stay texts, of which some say that a value is missing. If the mark was told, numbers that have
    the other one stay texts; otherwise a column whose numbers do not tell has the mark of the others.
    """
    given = {name: _without_missing(table[name]) for name in table.column_names}
    written = {name: _written(*cells) for name, cells in given.items() if name not in text}
    told = options.decimal is not None
    decimal = options.decimal or _decimal_of([found for found in written.values() if found], sep, options.usual_decimal)
    values, codes, notes = {}, list[str](), list[str]()
    for name, (column, _) in given.items():
        found = written.get(name)
        if found is None or (told and found.tells and found.numbers.decimal != decimal):
            values[name] = _texts_or_truth(column, name in text)
            codes += [name] if name not in text and _are_codes(column) else []
            continue
        own = found.numbers.decimal if found.tells else decimal or "."
        values[name] = _numbers(column, found, own)
        if found.example and not found.tells and not told and (sep == ";" or own not in found.example):
            notes.append(
                f"column {name!r}: {found.example} is read as {Numbers(own).number(found.example):.15g}, though no "
                f"number there tells; {argument('decimal', ',' if own == '.' else '.')} reads it otherwise"
            )
    if codes:
        notes.append(f"codes, since some begin with 0, and no numbers: {', '.join(codes)}")
    return values, decimal, notes


def as_written(column: pa.ChunkedArray) -> Any:
    """Return a column as it is written: only blank cells are missing, for NA may be a country."""
    import pyarrow.compute as pc

    return pc.if_else(pc.equal(column, ""), None, column).to_pandas()


def _without_missing(column: pa.ChunkedArray) -> tuple[pa.Array, pa.Array | None]:
    """Return a column without the texts that say that a value is missing, and its numbers if pyarrow reads all."""
    import pyarrow as pa
    import pyarrow.compute as pc

    known = pc.if_else(pc.equal(column, ""), None, column).combine_chunks()
    plain = _plain(known)
    if plain is None:
        known = pc.if_else(pc.is_in(pc.utf8_lower(known), pa.array(sorted(MISSING))), None, known)
        plain = _plain(known)
    return known, plain


def _plain(column: pa.Array) -> pa.Array | None:
    """Return the numbers of a column if pyarrow reads all; it reads no more than ``Numbers``, but for nan and inf."""
    import pyarrow as pa
    import pyarrow.compute as pc

    try:
        numbers = column.cast(pa.float64())
    except pa.ArrowInvalid:
        return None
    return numbers if pc.all(pc.is_finite(numbers)).as_py() else None


def _written(column: pa.Array, plain: pa.Array | None) -> _Written | None:
    """Return how a column writes its numbers; None if it holds other texts, or codes, or nothing."""
    import pyarrow.compute as pc

    known = column.drop_null()
    few = known[:_FEW].to_pylist()
    if Numbers.recognize(few) is None:
        return None
    telling = known.filter(pc.match_substring_regex(known, "[.,]"))[:_FEW].to_pylist()
    example = telling[0] if telling else None
    numbers = Numbers.recognize(telling or few)
    if plain is None or numbers != Numbers(".") or (not telling and _are_codes(column)):  # or at once: it may be long
        numbers = Numbers.recognize(pc.unique(known).to_pylist())
    return None if numbers is None or numbers.mark else _Written(numbers, example, plain)


def _decimal_of(columns: list[_Written], sep: str, usual: str | None) -> str | None:
    """Return the decimal mark that most columns have; where none tells, that of the fit, or what the separator says."""
    sure = [column.numbers.decimal for column in columns if column.tells]
    if sure:
        commas, points = sure.count(","), sure.count(".")
        return "," if commas > points or (commas == points and sep == ";") else "."
    examples = "".join(column.example or "" for column in columns)
    if not examples:
        return None
    if sep != ";" and "," not in examples:
        return "."
    return usual or ("," if sep == ";" and "," in examples else ".")


def _numbers(column: pa.Array, found: _Written, decimal: str) -> Any:
    import pandas as pd

    if found.plain is None or (decimal == "," and found.example):
        codes, texts = pd.factorize(column.to_pandas())
        form = Numbers(decimal)
        return pd.Series(np.array([*(form.number(text) for text in texts), np.nan])[codes])
    numbers = found.plain.to_pandas()
    whole = not found.example and not column.null_count and (numbers.abs() < 2**53).all() and (numbers % 1 == 0).all()
    return numbers.astype(np.int64) if whole else numbers


def _texts_or_truth(column: pa.Array, is_text: bool) -> Any:
    import pyarrow.compute as pc

    series = column.to_pandas()
    if is_text or column.null_count == len(column):
        return series if is_text else series.astype(float)
    truth = {"true": True, "false": False}
    known = column.drop_null()
    if known[0].as_py().lower() in truth and all(text.lower() in truth for text in pc.unique(known).to_pylist()):
        return series.astype(object).map(lambda text: truth[text.lower()], na_action="ignore").infer_objects()
    return series


def _are_codes(column: pa.Array) -> bool:
    import pyarrow.compute as pc

    digits, zeros = (pc.match_substring_regex(column, pattern) for pattern in ("^[0-9]+$", "^0[0-9]"))
    return bool(pc.all(digits).as_py() and pc.any(zeros).as_py())
