"""The texts of a file as values: numbers with a decimal point or a comma, true and false, codes, or text."""

from __future__ import annotations

from collections.abc import Collection
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from symloss.columns import MISSING, Numbers
from symloss.naming import named
from symloss.tabular.dialect import ReadOptions

if TYPE_CHECKING:
    import pyarrow as pa

_FEW = 50  # values, by which most columns of text are told
_PLAIN = r"^[+-]?((0|[1-9][0-9]*)(\.[0-9]*)?|\.[0-9]+)([eE][+-]?[0-9]+)?$"  # which pyarrow reads
_SIGN_OF = {".": "point", ",": "comma"}


class _Written(NamedTuple):
    """How a column of a file writes its numbers, and its first value that has a point or a comma."""

    numbers: Numbers
    example: str | None

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
    written = {name: _written(column) for name, column in given.items() if name not in text}
    decimal, notes = options.decimal, list[str]()
    if decimal is None:
        decimal, notes = _decimal_of([found for found in written.values() if found], sep, options.usual_decimal)
    told = options.decimal is not None
    decided = bool(notes)  # a note on all columns that do not tell
    values, codes = {}, []
    for name, column in given.items():
        found = written.get(name)
        if found is None or (told and found.tells and found.numbers.decimal != decimal):
            values[name] = _texts_or_truth(column, name in text)
            codes += [name] if name not in text and _are_codes(column) else []
            continue
        own = found.numbers.decimal if found.tells else decimal or "."
        values[name] = _numbers(column, own)
        if decimal is not None and own != decimal:
            reads = f"{named('decimal', decimal)} reads it as text"
            notes.append(f"column {name!r} has a decimal {_SIGN_OF[own]} ({found.example}); {reads}")
        elif found.example and not found.numbers.told and not told and not decided and own not in found.example:
            other = "," if own == "." else "."
            notes.append(
                f"column {name!r}: the {_SIGN_OF[other]} in {found.example} groups thousands, since other columns have "
                f"decimal {_SIGN_OF[own]}s; {named('decimal', other)} if it is a decimal {_SIGN_OF[other]}"
            )
    if codes:
        notes.append(f"codes, since some begin with 0, and no numbers: {', '.join(codes)}")
    return values, decimal, notes


def as_written(column: pa.ChunkedArray) -> Any:
    """Return a column as it is written: only blank cells are missing, for NA may be a country."""
    import pyarrow.compute as pc

    return pc.if_else(pc.equal(column, ""), None, column).to_pandas()


def _without_missing(column: pa.ChunkedArray) -> pa.Array:
    import pyarrow as pa
    import pyarrow.compute as pc

    missing = pc.is_in(pc.utf8_lower(column), pa.array(sorted(MISSING)))
    return pc.if_else(missing, None, column).combine_chunks()


def _written(column: pa.Array) -> _Written | None:
    """Return how a column writes its numbers; None if it holds other texts, or codes, or nothing."""
    import pyarrow.compute as pc

    known = column.drop_null()
    if Numbers.recognize(known[:_FEW].to_pylist()) is None:
        return None
    telling = known.filter(pc.match_substring_regex(known, "[.,]"))[:_FEW].to_pylist()
    example = telling[0] if telling else None
    few = Numbers.recognize(telling or ["0"])
    plain = pc.all(pc.match_substring_regex(known, _PLAIN)).as_py()
    if plain and few is not None and few.told and few.decimal == ".":  # at once, for a column may be long
        return _Written(few, example)
    numbers = Numbers.recognize(pc.unique(known).to_pylist())
    return None if numbers is None or numbers.mark else _Written(numbers, example)


def _decimal_of(columns: list[_Written], sep: str, usual: str | None) -> tuple[str | None, list[str]]:
    """Return the decimal mark that most columns have, and a note where the values do not tell."""
    sure = [column.numbers.decimal for column in columns if column.tells]
    if sure:
        commas, points = sure.count(","), sure.count(".")
        return ("," if commas > points or (commas == points and sep == ";") else "."), []
    examples = {"," if "," in column.example else ".": column.example for column in columns if column.example}
    if not examples:
        return None, []
    if sep != ";" and "," not in examples:
        return ".", []
    if usual is not None:
        return usual, [f"decimal {_SIGN_OF[usual]} taken, as in the table of the fit, though no number tells"]
    decimal = "," if "," in examples and sep == ";" else "."
    example = examples.get(",") or examples["."]
    return decimal, [
        f"decimal {_SIGN_OF[decimal]} taken: {example} is read as {Numbers(decimal).number(example):.15g}, though no "
        f"number tells; {named('decimal', ',' if decimal == '.' else '.')} reads it otherwise"
    ]


def _numbers(column: pa.Array, decimal: str) -> Any:
    import pandas as pd
    import pyarrow as pa
    import pyarrow.compute as pc

    if decimal == "," or not pc.all(pc.match_substring_regex(column, _PLAIN)).as_py():
        codes, found = pd.factorize(column.to_pandas())
        form = Numbers(decimal)
        return pd.Series(np.array([*(form.number(text) for text in found), np.nan])[codes])
    numbers = column.cast(pa.float64())
    if not column.null_count and pc.all(pc.match_substring_regex(column, "^-?[0-9]{1,18}$")).as_py():
        numbers = column.cast(pa.int64())
    return numbers.to_pandas()


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
