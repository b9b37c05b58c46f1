"""The labels of a table: which two values they are, however they are written, and which rows have none."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Hashable, Iterable
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from symloss.columns import NO_NUMBER, as_text
from symloss.naming import argument

if TYPE_CHECKING:
    from pandas import Series

UNLABELED = ("positive-unlabeled",)
_SIGNS = {"+": 1.0, "-": -1.0}


class GivenLabels(NamedTuple):
    """The labels of a table.

    Parameters
    ----------
    values : tuple of two values
        The negative label and the positive label.
    positive : array of bool
        Whether each row that is used is labeled positive.
    rows : array of int
        The places of the rows that are used.
    notes : list of str
        What was decided.
    """

    values: tuple[Any, Any]
    positive: NDArray[np.bool_]
    rows: NDArray[np.intp]
    notes: list[str]


def read_labels(series: Series, positive: str | None = None, unlabeled: str | None = None) -> GivenLabels:
    """Return the two labels of a column, and the rows that have one.

    Spaces around a text do not matter, 1.0 is 1, and small and capital letters are the same if that leaves two labels.
    Texts such as NA or ? stand for a missing label if that leaves two. The larger label is positive: yes, 1, and +.

    Parameters
    ----------
    series : Series
        The column.
    positive : str, optional
        The positive label; by default the larger of the two.
    unlabeled : {"positive-unlabeled"}, optional
        Take the rows without a label as unlabeled data, if the others are all positive. By default they are left out.

    Examples
    --------
    >>> import pandas as pd
    >>> found = read_labels(pd.Series(["yes", "no", None, "yes "], name="churn"))
    >>> found.values, found.positive
    (('no', 'yes'), array([ True, False,  True]))
    >>> found.notes[0]
    'label churn: 1 row without a label is left out'
    """
    if unlabeled is not None and unlabeled not in UNLABELED:
        raise ValueError(f"unlabeled must be {' or '.join(UNLABELED)}, got {unlabeled!r}")
    name = str(series.name)
    codes, spellings = _spellings(series)
    counts = np.bincount(codes[codes >= 0], minlength=len(spellings)).tolist()
    times = {spelling: count for spelling, count in zip(spellings, counts, strict=True) if not _is_blank(spelling)}
    marks = _missing_marks(times, 2 if unlabeled is None else 1)
    times = {spelling: count for spelling, count in times.items() if spelling not in marks}
    label_of = _one_value_each(times)
    found = sorted(dict.fromkeys(label_of.values()), key=_place)
    missing = len(series) - sum(times.values())
    _check_number(name, found, missing, times, label_of, unlabeled)
    if unlabeled is not None:
        found = [f"not {as_text(found[0])}", as_text(found[0])]
        label_of = dict.fromkeys(label_of, found[1])
    if positive is not None:
        _check_positive(positive, found, unlabeled)
        found.sort(key=lambda value: _means(value, positive))
    places = np.array([found.index(label_of[value]) if value in label_of else -1 for value in spellings] + [-1])
    label = places[codes]  # 0, 1, or -1 where there is none; the code of a missing value is the last
    rows = np.arange(len(series)) if unlabeled else np.flatnonzero(label >= 0)
    negative, larger = (value if isinstance(value, (bool, int, float, str)) else str(value) for value in found)
    notes = [f"label {name}: {mark!r} means that there is no label" for mark in marks]
    notes += [*_notes(name, found, missing, unlabeled), *_spelling_notes(name, times, label_of)]
    return GivenLabels((negative, larger), label[rows] == 1, rows, notes)


def match_labels(series: Series, values: tuple[Any, Any]) -> GivenLabels:
    """Return which rows of a column have the positive one of two known labels, by the rules of ``read_labels``.

    Parameters
    ----------
    series : Series
        The column.
    values : tuple of two values
        The negative label and the positive label. Rows without a label are left out; they are negative if the labels
        are those of positive-unlabeled data and no row has the negative one.

    Examples
    --------
    >>> import pandas as pd
    >>> found = match_labels(pd.Series(["YES", "no ", None], name="churn"), ("no", "yes"))
    >>> found.positive, found.rows
    (array([ True, False]), array([0, 1]))
    """
    codes, spellings = _spellings(series)
    places = np.array([-1 if _is_blank(spelling) else _match(spelling, values) for spelling in spellings] + [-1])
    unknown = sorted(
        as_text(spelling).strip()
        for spelling, k in zip(spellings, places, strict=False)
        if k < 0 and not _is_blank(spelling)
    )
    if unknown:
        negative, positive = map(as_text, values)
        shown = ", ".join(map(repr, unknown[:5]))
        raise ValueError(f"column {series.name!r} must hold the labels {negative!r} and {positive!r}, got {shown}")
    label = places[codes]
    if values[0] == f"not {as_text(values[1])}" and not (label == 0).any():
        label = np.maximum(label, 0)
    rows = np.flatnonzero(label >= 0)
    return GivenLabels(values, label[rows] == 1, rows, [])


def _spellings(series: Series) -> tuple[NDArray[np.intp], list[Hashable]]:
    """Return the place of each value among the distinct ones, -1 if it is missing, and the distinct ones."""
    import pandas as pd

    try:
        codes, distinct = pd.factorize(series)
    except TypeError:
        kind = type(series.dropna().iloc[0]).__name__.replace("ndarray", "list")
        raise ValueError(f"column {series.name!r}, the label, must hold two values, got {kind}s") from None
    return codes, distinct.tolist()


def _match(spelling: Any, values: tuple[Any, Any]) -> int:
    """Return the place of the label that a spelling means, -1 if none; letters are folded only if they must be."""
    places = [k for k, value in enumerate(values) if _means(value, _stripped(spelling))]
    if not places:
        folded = as_text(spelling).strip().casefold()
        places = [k for k, value in enumerate(values) if as_text(value).casefold() == folded]
    return places[0] if len(places) == 1 else -1


def _missing_marks(times: dict[Any, int], wanted: int) -> list[str]:
    """Return the spellings that stand for a missing label, such as NA, if without them there are as many as wanted."""
    if len(set(_one_value_each(times).values())) <= wanted:
        return []
    marks = [spelling for spelling in times if isinstance(spelling, str) and spelling.strip().lower() in NO_NUMBER]
    rest = {spelling: count for spelling, count in times.items() if spelling not in marks}
    return marks if len(set(_one_value_each(rest).values())) == wanted else []


def _is_blank(value: Any) -> bool:
    return isinstance(value, str) and not value.strip()


def _stripped(value: Any) -> Any:
    return value.strip() if isinstance(value, str) else value


def _one_value_each(times: dict[Any, int]) -> dict[Any, Any]:
    """Return the value that each spelling stands for: the spelling that most rows have, without spaces around it."""
    keys = {spelling: _order(_stripped(spelling)) for spelling in times}
    if len(set(keys.values())) > 2:
        folded = {spelling: (*key[:2], key[2].casefold()) for spelling, key in keys.items()}
        keys = folded if len(set(folded.values())) == 2 else keys
    rows: dict[Any, Counter[Any]] = {}
    for spelling, key in keys.items():
        rows.setdefault(key, Counter())[_stripped(spelling)] += times[spelling]
    chosen = {key: min(counts, key=lambda value: (-counts[value], str(value))) for key, counts in rows.items()}
    return {spelling: chosen[key] for spelling, key in keys.items()}


def _order(value: Any) -> tuple[bool, float, str]:
    """Return a key with numbers, also those written as text, before texts; equal numbers have the same key."""
    try:
        number = _SIGNS[value] if value in _SIGNS else float(value)
    except (TypeError, ValueError):
        number = math.nan
    return (True, 0.0, str(value)) if math.isnan(number) else (False, number, "")


def _place(value: Any) -> tuple[bool, float, str, str]:
    """Return a key that sorts labels: texts as in a dictionary, so that Yes comes after no."""
    is_text, number, text = _order(value)
    return is_text, number, text.casefold(), text


def _means(value: Any, other: Any) -> bool:
    return as_text(value) == as_text(other) or _order(value) == _order(other)


def _check_number(
    name: str, found: list[Any], missing: int, times: dict[Any, int], label_of: dict[Any, Any], unlabeled: str | None
) -> None:
    """Raise ValueError unless there are two labels, or one and rows without a label."""
    rows: Counter[Any] = Counter()
    for spelling, count in times.items():
        rows[label_of[spelling]] += count
    shown = ", ".join(f"{as_text(value)!r} ({rows[value]} rows)" for value in found[:6])
    shown = (f": {shown}" if found else "") + (", ..." if len(found) > 6 else "")
    if unlabeled is None and len(found) != 2:
        kind = {0: "none", 1: "only one class"}.get(len(found), f"{len(found)} distinct values")
        hint = "; empty the cells of all but two: rows without a label are left out" if len(found) > 2 else ""
        if len(found) == 1 and missing:
            add = argument("unlabeled", UNLABELED[0])
            hint = f"; if the {missing} rows without a label are unlabeled data, add {add}"
        raise ValueError(f"column {name!r}, the label, must have two distinct values, got {kind}{shown}{hint}")
    if unlabeled is not None and (len(found) != 1 or not missing):
        got = f"got {len(found)} distinct values" if len(found) != 1 else "every row has one"
        raise ValueError(
            f"positive-unlabeled data need a label {name!r} of one value, the positive one, and rows without a label, "
            f"{got}{shown}"
        )


def _check_positive(positive: str, found: list[Any], unlabeled: str | None) -> None:
    if sum(_means(value, positive) for value in found) != 1 or (unlabeled and not _means(found[1], positive)):
        texts = [as_text(value) for value in found[unlabeled is not None :]]
        near = [text for text in texts if text.casefold() == positive.strip().casefold()]
        hint = f"; did you mean {argument('positive', near[0])}?" if len(near) == 1 else ""
        shown = " and ".join(repr(as_text(value)) for value in found)
        raise ValueError(f"no label {positive!r} to be positive: the labels are {shown}{hint}")


def _notes(name: str, found: list[Any], missing: int, unlabeled: str | None) -> Iterable[str]:
    if unlabeled:
        yield f"label {name}: {missing} rows without a label are unlabeled data, some of them positive"
    elif missing:
        yield f"label {name}: {missing} {'row' if missing == 1 else 'rows'} without a label " + (
            "is left out" if missing == 1 else "are left out"
        )
    if len({as_text(value).casefold() for value in found}) == 1:
        shown = ", ".join(repr(as_text(value)) for value in found)
        yield f"warning: the labels {shown} differ only in small and capital letters"


def _spelling_notes(name: str, times: dict[Any, int], label_of: dict[Any, Any]) -> Iterable[str]:
    for spelling, label in label_of.items():
        if str(spelling) != str(label) and as_text(spelling) != as_text(label):
            yield f"label {name}: {str(spelling)!r} is taken for {as_text(label)!r} ({times[spelling]} rows)"
