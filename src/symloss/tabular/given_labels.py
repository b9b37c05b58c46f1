"""The labels of a table: which two values they are, however they are written, and which rows have none."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Collection, Hashable, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from symloss.columns import NO_NUMBER, as_text
from symloss.messages import argument

if TYPE_CHECKING:
    from pandas import Series

UNLABELED = ("positive-unlabeled",)
_SIGNS = {"+": 1.0, "-": -1.0}


class GivenLabels(NamedTuple):
    """The labels of a table: the negative and the positive one, which rows are used and which of them are positive."""

    values: tuple[Any, Any]
    positive: NDArray[np.bool_]
    rows: NDArray[np.intp]
    notes: list[str]


def read_labels(series: Series, positive: str | None = None, unlabeled: str | None = None) -> GivenLabels:
    """Return the two labels of a column, and the rows that have one.

    Spaces around a text do not matter, 1.0 is 1, and small and capital letters are the same if that leaves two labels.
    Texts such as NA or ? stand for a missing label if that leaves two. The larger label is positive: yes, 1, and +.
    Rows without a label are left out, or unlabeled data if the others are all positive: ``"positive-unlabeled"``.
    """
    if unlabeled is not None and unlabeled not in UNLABELED:
        raise ValueError(f"unlabeled must be {' or '.join(UNLABELED)}, got {unlabeled!r}")
    name = str(series.name)
    codes, spellings = _spellings(series)
    counts = np.bincount(codes[codes >= 0], minlength=len(spellings)).tolist()
    times = {spelling: count for spelling, count in zip(spellings, counts, strict=True) if not _says(spelling, {""})}
    label_of = _labels_of(times, 2 if unlabeled is None else 1)
    rows_of: Counter[Any] = Counter()
    for spelling, label in label_of.items():
        rows_of[label] += times[spelling]
    found = sorted(rows_of, key=_place)
    missing = len(series) - sum(rows_of.values())
    shown = ", ".join(f"{as_text(value)!r} ({rows_of[value]} rows)" for value in found[:6])
    shown = (f": {shown}" if found else "") + (", ..." if len(found) > 6 else "")
    notes = [f"label {name}: {mark!r} means that there is no label" for mark in times if mark not in label_of]
    if unlabeled is None:
        _check_two(name, found, missing, shown)
        if missing:
            what = "row without a label is" if missing == 1 else "rows without a label are"
            notes.append(f"label {name}: {missing} {what} left out")
    else:
        if len(found) != 1 or not missing:
            raise ValueError(
                f"positive-unlabeled data need a label {name!r} of one value, the positive one, and rows without a "
                f"label, got {missing} rows without a label and {len(found)} distinct values{shown}"
            )
        notes.append(f"label {name}: {missing} rows without a label are unlabeled data, some of them positive")
        found = [f"not {as_text(found[0])}", as_text(found[0])]
        label_of = dict.fromkeys(label_of, found[1])
    if positive is not None:
        place = _match(positive, found)
        if place < 0 or (unlabeled and place == 0):
            shown = " and ".join(repr(as_text(value)) for value in found)
            raise ValueError(f"no label {positive!r} to be positive: the labels are {shown}")
        found = [found[1 - place], found[place]]
    places = np.array([found.index(label_of[value]) if value in label_of else -1 for value in spellings] + [-1])
    label = places[codes]  # 0, 1, or -1 where there is none; the code of a missing value is the last
    rows = np.arange(len(series)) if unlabeled else np.flatnonzero(label >= 0)
    if len({as_text(value).casefold() for value in found}) == 1:
        both = ", ".join(repr(as_text(value)) for value in found)
        notes.append(f"warning: the labels {both} differ only in small and capital letters")
    for spelling, value in label_of.items():
        if as_text(spelling) != as_text(value):
            notes.append(f"label {name}: {str(spelling)!r} is taken for {as_text(value)!r} ({times[spelling]} rows)")
    negative, larger = (value if isinstance(value, (bool, int, float, str)) else str(value) for value in found)
    return GivenLabels((negative, larger), label[rows] == 1, rows, notes)


def match_labels(series: Series, values: tuple[Any, Any]) -> GivenLabels:
    """Return which rows of a column have the positive one of two known labels, by the rules of ``read_labels``.

    Rows without a label are left out; they are negative if the labels are those of positive-unlabeled data and no row
    has the negative one.
    """
    codes, spellings = _spellings(series)
    places = np.array([*(_match(spelling, values) for spelling in spellings), -1])
    strange = (spelling for spelling, k in zip(spellings, places, strict=False) if k < 0 and not _says(spelling, {""}))
    if unknown := sorted(as_text(spelling).strip() for spelling in strange):
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


def _labels_of(times: dict[Any, int], wanted: int) -> dict[Any, Any]:
    """Return the label that each spelling stands for: of those that mean the same, the one that most rows have.

    Capital letters are told from small ones, and words such as NA are labels, unless that leaves more than are wanted.
    """
    for words, fold in ((set[str](), False), (set[str](), True), (NO_NUMBER, False), (NO_NUMBER, True)):
        keys = {spelling: _key(spelling, fold) for spelling in times if not _says(spelling, words)}
        if len(set(keys.values())) == wanted:
            break
    else:
        keys = {spelling: _key(spelling) for spelling in times}
    label: dict[Any, Any] = {}
    for spelling in sorted(keys, key=lambda spelling: (-times[spelling], str(spelling))):
        label.setdefault(keys[spelling], spelling.strip() if isinstance(spelling, str) else spelling)
    return {spelling: label[key] for spelling, key in keys.items()}


def _says(spelling: Any, words: Collection[str]) -> bool:
    return isinstance(spelling, str) and spelling.strip().lower() in words


def _key(value: Any, fold: bool = False) -> float | str:
    """Return what is the same for spellings of one label: a number, also if written as text, or a text."""
    text = as_text(value).strip()
    try:
        number = _SIGNS[text] if text in _SIGNS else float(value)
    except (TypeError, ValueError):
        number = math.nan
    return number if not math.isnan(number) else text.casefold() if fold else text


def _place(value: Any) -> tuple[bool, float, str, str]:
    """Return a key that sorts labels, numbers first: texts as in a dictionary, so that Yes comes after no."""
    key = _key(value)
    return (True, 0.0, key.casefold(), key) if isinstance(key, str) else (False, key, "", "")


def _match(spelling: Any, values: Sequence[Any]) -> int:
    """Return the place of the label that a spelling means, -1 if none; letters are folded only if they must be."""
    places = [k for k, value in enumerate(values) if _key(value) == _key(spelling)]
    if not places:
        folded = as_text(spelling).strip().casefold()
        places = [k for k, value in enumerate(values) if as_text(value).casefold() == folded]
    return places[0] if len(places) == 1 else -1


def _check_two(name: str, found: list[Any], missing: int, shown: str) -> None:
    if len(found) == 2:
        return
    kind = {0: "none", 1: "only one class"}.get(len(found), f"{len(found)} distinct values")
    hint = "; empty the cells of all but two, or see symloss audit --each-class" if len(found) > 2 else ""
    if len(found) == 1 and missing:
        add = argument("unlabeled", UNLABELED[0])
        hint = f"; if the {missing} rows without a label are unlabeled data, add {add}"
    raise ValueError(f"column {name!r}, the label, must have two distinct values, got {kind}{shown}{hint}")
