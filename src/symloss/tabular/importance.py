"""How much each column of a table matters: how far the score on held-out rows falls if its values are shuffled."""

from __future__ import annotations

import time
from contextlib import suppress
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from sklearn.base import clone

from symloss.estimators import AUCClassifierCV
from symloss.estimators.folds import split
from symloss.estimators.importance import falls_of_fold
from symloss.estimators.judging import Score
from symloss.metrics import auc, balanced_accuracy
from symloss.tabular.fitting import Fitted
from symloss.threads import one_thread

if TYPE_CHECKING:
    from pandas import DataFrame

_ROWS = 5000  # enough to tell which columns matter, and few enough to fit again in seconds


class Importance(NamedTuple):
    """A column, the mean fall of the score if its values are shuffled, and the standard deviation over several folds.

    Examples
    --------
    >>> Importance("age", 0.12, 0.01).column
    'age'
    """

    column: str
    fall: float
    sd: float | None


def column_importance(fitted: Fitted, frame: DataFrame, seconds: float = 20.0) -> list[Importance]:
    """Return how much each column matters, the most important first.

    The members are fitted again on each fold of the rows, so that no row is scored by a model that has seen its label.
    Of a large table 5,000 rows are used. There are as many folds as the time allows, up to five. If it does not allow
    one, the columns that were shuffled in time are returned, at least the first.

    Parameters
    ----------
    fitted : Fitted
        What ``fit_table`` returned.
    frame : DataFrame
        The table that was given to it.
    seconds : float
        No further fold is begun if it would end after this time, and no further column is shuffled after it.

    Examples
    --------
    >>> import pandas as pd, symloss as sl
    >>> from symloss.tabular import fit_table
    >>> x = np.arange(40.0)
    >>> frame = pd.DataFrame({"x": x, "other": x % 3, "y": ["no"] * 20 + ["yes"] * 20})
    >>> fitted = fit_table(frame, "y", candidates=[("linear", sl.AUCClassifier())])
    >>> [(found.column, found.fall > 0.2) for found in column_importance(fitted, frame)]
    [('x', True), ('other', False)]
    """
    start, estimator, encoding = time.monotonic(), fitted.model.estimator, fitted.model.encoding
    rows = _some_rows(fitted)
    values = encoding.transform(frame.iloc[fitted.rows[rows]]).values
    ends = np.cumsum([len(column.features) for column in encoding.columns])
    columns = [
        np.arange(end - len(column.features), end) for column, end in zip(encoding.columns, ends.tolist(), strict=True)
    ]
    positive, weight = fitted.positive[rows], fitted.weight[rows]
    shares = np.array([[member.weight, member.mean, member.scale] for member in estimator.members_])
    score = auc if isinstance(estimator, AUCClassifierCV) else balanced_accuracy
    falls: list[np.ndarray] = []
    for k, (train, test) in enumerate(split(5, values, positive, weight, seed=0)):
        if falls and (time.monotonic() - start) * (k + 1) / k > seconds:
            break
        members = [clone(member.estimator) for member in estimator.members_]
        timed = _TimedScore(score, start + seconds)
        with one_thread(), suppress(_TimeUpError):
            falls_of_fold(members, shares, values, positive, weight, train, test, estimator.threshold_, columns,
                          timed, 1, seed=k)  # fmt: skip
        if not falls or len(timed.found) == 1 + len(columns):
            falls.append(timed.found[0] - np.array(timed.found[1:]))
    found = np.column_stack(falls)
    importances = [
        Importance(column.name, float(mean), float(sd) if len(falls) > 1 else None)
        for column, mean, sd in zip(encoding.columns[: len(found)], found.mean(1), found.std(1), strict=True)
    ]
    return sorted(importances, key=lambda each: -each.fall)


class _TimeUpError(Exception):
    """No further column is shuffled."""


class _TimedScore:
    """A score that keeps what it found: of the rows as they are, and then with each column shuffled, until a time."""

    def __init__(self, score: Score, end: float) -> None:
        self.score, self.end, self.found = score, end, list[float]()

    def __call__(self, scores: Any, positive: Any, weight: Any) -> float:
        self.found.append(self.score(scores, positive, weight))
        if len(self.found) > 1 and time.monotonic() > self.end:
            raise _TimeUpError
        return self.found[-1]


def _some_rows(fitted: Fitted) -> np.ndarray:
    """Return the rows of weight above 0, or some of them, with at least ten of each label where there are so many."""
    generator = np.random.default_rng(0)
    used = fitted.weight > 0
    part = min(1.0, _ROWS / used.sum())
    of_label = [np.flatnonzero(used & of) for of in (fitted.positive, ~fitted.positive)]
    counts = [max(round(part * len(rows)), min(10, len(rows))) for rows in of_label]
    chosen = [generator.permutation(rows)[:count] for rows, count in zip(of_label, counts, strict=True)]
    return np.sort(np.concatenate(chosen))
