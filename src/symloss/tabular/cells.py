"""The texts of a file as values: numbers with a decimal point or a comma, true and false, codes, or text."""

from __future__ import annotations

from collections.abc import Collection
from typing import TYPE_CHECKING, Any

from symloss.columns import MISSING, Numbers, are_codes
from symloss.naming import argument
from symloss.tabular.dialect import ReadOptions

if TYPE_CHECKING:
    from pandas import DataFrame, Series


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
    examples = {name: example for name in forms if (example := _with_a_mark(frame[name]))}
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


def _with_a_mark(column: Series) -> str | None:
    """Return the first text of a column that has a point or a comma."""
    column = column.dropna()
    return next(iter(column[column.str.contains("[.,]")]), None)


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
