"""Warnings that a colleague would give: columns that tell too much or nothing, few rows, labels that disagree."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import NDArray

from symloss.columns import Column, Encoding
from symloss.metrics import auc
from symloss.naming import named

if TYPE_CHECKING:
    from pandas import DataFrame, Series

Array = NDArray[np.float64]
Positive = NDArray[np.bool_]

MARK = "warning: "
_FEW_ROWS, _FEW_OF_A_CLASS = 50, 10
_ENOUGH_OF_A_CLASS = 20_000
_COPY = 0.99  # the AUC from which a column alone tells the label
_ROWS_PER_CATEGORY = 20  # fewer would tell the label by chance
_ROWS_OF_A_NUMBERING = 100  # fewer whole numbers are often distinct by chance
_ROWS_OF_A_COUNT, _COUNTED = 10, 0.8  # rows, and the share of steps of one from row to row: some rows may be left out


class Disagreement(NamedTuple):
    """How many rows have the features of a row with the other label, and how much weight must be labeled wrongly.

    Examples
    --------
    >>> Disagreement(rows=3, wrong=1.0).wrong
    1.0
    """

    rows: int
    wrong: float


def cautions(frame: DataFrame, encoding: Encoding, values: Array, positive: Positive, weight: Array) -> list[str]:
    """Return warnings, one sentence each.

    Parameters
    ----------
    frame : DataFrame
        The table, without the columns that are no features.
    encoding : Encoding
        How it becomes features.
    values : array of n x d floats
        The features.
    positive : array of n bool
        Whether each label is the positive one.
    weight : array of n floats
        The weight of each row.

    Examples
    --------
    >>> import pandas as pd
    >>> frame = pd.DataFrame({"plan": ["a", "b"] * 30, "ended": ["yes", "no"] * 30})
    >>> encoding = Encoding.fit(frame)
    >>> positive = np.arange(60) % 2 == 0
    >>> for warning in cautions(frame, encoding, encoding.transform(frame).values, positive, np.ones(60)):
    ...     print(warning)
    column 'plan' alone tells the label (AUC 1.000 on the labels given): leave it out (drop='plan') if it ...
    column 'ended' alone tells the label (AUC 1.000 on the labels given): leave it out (drop='ended') if it ...
    """
    some = _some_of_each_class(positive)
    signal = dict(_signal(encoding, values[some], positive[some]))
    numberings = [name for name in signal if _is_numbering(frame[name], signal[name], positive[some])]
    others = [column.name for column in encoding.columns if column.name not in numberings]
    found = disagreement(frame[others], positive, weight)
    enough = min(positive.sum(), (~positive).sum()) >= _FEW_OF_A_CLASS / 2  # a column tells one or two rows by chance
    return [
        *_few(positive),
        *(_copy(name, value) for name, value in signal.items() if value >= _COPY and enough),
        *([_numbered(numberings)] if numberings else []),
        *([_disagreeing(found, weight)] if found.wrong > 0 else []),
    ]


def disagreement(frame: DataFrame, positive: Positive, weight: Array) -> Disagreement:
    """Return how many rows have the same features as a row with the other label, and how many labels must be wrong.

    If rows with the same features have the same true label, then in a group with p positive and q negative labels the
    wrong ones are either the p or the q, so min(p, q) or more. The sum over all groups is a lower bound, and no larger
    one holds, because the majority of every group may be right. In any case no classifier of these features agrees with
    more labels than all but these.

    Examples
    --------
    >>> import pandas as pd
    >>> frame = pd.DataFrame({"city": ["Oslo", "Oslo", "Oslo", "Rome"]})
    >>> disagreement(frame, np.array([True, True, False, False]), np.ones(4))
    Disagreement(rows=3, wrong=1.0)
    """
    if not len(frame.columns):
        return Disagreement(0, 0.0)
    plain = frame.reset_index(drop=True)  # its index may have the name of a column
    group = plain.groupby(list(frame.columns), dropna=False, sort=False, observed=True).ngroup().to_numpy()
    sides = [np.bincount(group, np.where(side, weight, 0.0), group.max() + 1) for side in (positive, ~positive)]
    smaller = np.minimum(*sides)
    return Disagreement(int((smaller > 0)[group].sum()), float(smaller.sum()))


def _few(positive: Positive) -> Iterator[str]:
    if len(positive) < _FEW_ROWS:
        yield f"there are only {len(positive)} rows: with others, the model and its score may be quite different"
    for name, count in (("positive", int(positive.sum())), ("negative", int((~positive).sum()))):
        if count < _FEW_OF_A_CLASS:
            yield f"only {count} rows are labeled {name}: too few to tell a good model from a bad one"


def _copy(name: str, value: float) -> str:
    return (
        f"column {name!r} alone tells the label (AUC {value:.3f} on the labels given): leave it out "
        f"({named('drop', name)}) if it is not known before the label"
    )


def _numbered(names: list[str]) -> str:
    drop = named("drop", names[0])
    return f"whole numbers, distinct in every row: {', '.join(names)}; leave out those that only number rows ({drop})"


def _disagreeing(found: Disagreement, weight: Array) -> str:
    share = found.wrong / weight.sum()
    return (
        f"{found.rows} rows have the same features as a row with the other label: if equal rows have the same true "
        f"label, at least {share:.2%} of the labels are wrong"
    )


def _some_of_each_class(positive: Positive) -> NDArray[np.intp]:
    """Return rows of both classes, not too many, which tell an AUC of 0.99 as well as all do."""
    classes = (np.flatnonzero(positive), np.flatnonzero(~positive))
    return np.concatenate([rows[:: len(rows) // _ENOUGH_OF_A_CLASS + 1] for rows in classes])


def _signal(encoding: Encoding, values: Array, positive: Positive) -> Iterator[tuple[str, float]]:
    """Yield the columns, and how well each alone tells the label: an AUC of at least one half."""
    start = 0
    for column in encoding.columns:
        stop = start + len(column.features)
        yield column.name, _auc_of(column, values[:, start:stop], positive)
        start = stop


def _auc_of(column: Column, features: Array, positive: Positive) -> float:
    if column.is_measured:
        return max(_auc_of_numbers(features[:, k], positive) for k in range(features.shape[1]))
    present = features != 0
    if column.categories is None:  # hashed: whether each text is there, and whether there is any
        present = np.column_stack([present, present.any(1)])
    counts = [np.count_nonzero(present[side], axis=0) for side in (positive, ~positive)]
    rates = [count / side.sum() for count, side in zip(counts, (positive, ~positive), strict=True)]
    if column.categories is None:
        return float(0.5 + np.abs(rates[0] - rates[1]).max() / 2)
    if len(column.categories) * _ROWS_PER_CATEGORY > len(positive):
        return 0.5
    order = np.argsort(counts[0] / np.maximum(counts[0] + counts[1], 1))
    below = np.cumsum(rates[1][order]) - rates[1][order] / 2  # negatives of smaller categories, and half of the same
    return float((rates[0][order] * below).sum())


def _auc_of_numbers(numbers: Array, positive: Positive) -> float:
    """Return the AUC of numbers or of their negatives; that a value is missing may tell the label, too."""
    missing = np.isnan(numbers)
    fills = (-np.inf, np.inf) if missing.any() else (0.0,)
    found = [auc(np.where(missing, fill, numbers), positive) for fill in fills]
    return max(*found, *(1 - value for value in found))


def _is_numbering(series: Series, signal: float, positive: Positive) -> bool:
    """Return whether a column holds whole numbers, all distinct, that tell nothing of the label beyond chance.

    Numbers that count the rows, one by one, only number them, however few there are and whatever they tell.
    """
    if series.dtype.kind not in "iu" or not series.is_unique:
        return False
    if len(series) >= _ROWS_OF_A_COUNT and (np.diff(series) == 1).mean() >= _COUNTED:
        return True
    if len(series) < _ROWS_OF_A_NUMBERING:
        return False
    deviation = np.sqrt(len(positive) / (12 * positive.sum() * (~positive).sum()))  # of the AUC of chance
    return bool(signal - 0.5 < 4 * deviation)
