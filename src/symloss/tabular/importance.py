"""How much each column of a table matters: how far the score on held-out rows falls if its values are shuffled."""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from symloss.estimators import AUCClassifierCV
from symloss.estimators.candidates import fit, raw_scores
from symloss.estimators.folds import split
from symloss.metrics import auc, balanced_accuracy
from symloss.models.family import TrainingData
from symloss.tabular.checks import places
from symloss.tabular.evaluation import rows_of
from symloss.tabular.model import Rows, TableModel
from symloss.threads import one_thread

if TYPE_CHECKING:
    from pandas import DataFrame

Array = NDArray[Any]
_ROWS = 5000  # enough to tell which columns matter, and few enough to fit again in seconds


class Importance(NamedTuple):
    """A column, the mean fall of the score if its values are shuffled, and the standard deviation over folds."""

    column: str
    fall: float
    sd: float | None

    @property
    def is_clear(self) -> bool:
        """Whether the fall is more than chance."""
        return self.fall > (0.01 if self.sd is None else 2 * self.sd)


def column_importance(model: TableModel, frame: DataFrame, seconds: float) -> list[Importance]:
    """Return how much each column matters, the most important first.

    The members are fitted again on each fold of the rows, so that no row is scored by a model that has seen its label.
    Of a large table 5,000 rows are used. No further fold is begun if it would end after some seconds, and no further
    column is shuffled after them: then only those are returned that were, at least the first.

    Examples
    --------
    >>> import pandas as pd, symloss as sl
    >>> x = np.arange(60.0)
    >>> frame = pd.DataFrame({"x": x % 20, "other": x % 3, "y": (["no"] * 10 + ["yes"] * 10) * 3})
    >>> model = sl.tabular.fit(frame, "y", candidates=[("linear", sl.AUCClassifier())], tell=str)
    >>> [(found.column, found.is_clear) for found in column_importance(model, frame, seconds=20)]
    [('x', True), ('other', False)]
    """
    start, estimator, rows = time.monotonic(), model.estimator, rows_of(model)
    some = _some_rows(rows)
    values = model.encoding.transform(frame.iloc[rows.numbers[some]]).values
    positive, weight = rows.positive[some], rows.weight[some]
    folds: list[list[float]] = []
    for k, (train, test) in enumerate(split(5, values, positive, weight, seed=0)):
        if folds and (time.monotonic() - start) * (k + 1) / k > seconds:
            break
        with one_thread():
            training = TrainingData(values[train], positive[train], weight[train])
            fits = [fit(member.estimator, training) for member in estimator.members_]
            generator, points, labels = np.random.default_rng(k), values[test], (positive[test], weight[test])
            whole, falls = _score(estimator, fits, points, *labels), list[float]()
            for _, features in places(model.encoding):
                if falls and time.monotonic() > start + seconds:
                    break
                shuffled = points.copy()
                shuffled[:, features] = points[generator.permutation(len(points))][:, features]
                falls.append(whole - _score(estimator, fits, shuffled, *labels))
        if not folds or len(falls) == len(model.columns):
            folds.append(falls)
    found = np.array(folds)
    importances = [
        Importance(column, float(falls.mean()), float(falls.std()) if len(folds) > 1 else None)
        for column, falls in zip(model.columns, found.T, strict=False)
    ]
    return sorted(importances, key=lambda each: -each.fall)


def _score(estimator: Any, fits: Sequence[Any], points: Array, positive: Array, weight: Array) -> float:
    """Return the score of the average of fits to other points."""
    averaged = sum(
        member.weight * (raw_scores(fit, points) - member.mean) / member.scale
        for member, fit in zip(estimator.members_, fits, strict=True)
    )
    score = auc if isinstance(estimator, AUCClassifierCV) else balanced_accuracy
    return float(score(np.asarray(averaged) - estimator.threshold_, positive, weight))


def _some_rows(rows: Rows) -> NDArray[np.intp]:
    """Return the rows of weight above 0, or some of them, with at least ten of each label where there are so many."""
    generator = np.random.default_rng(0)
    used = rows.weight > 0
    part = min(1.0, _ROWS / used.sum())
    of_label = [np.flatnonzero(used & of) for of in (rows.positive, ~rows.positive)]
    counts = [max(round(part * len(each)), min(10, len(each))) for each in of_label]
    chosen = [generator.permutation(each)[:count] for each, count in zip(of_label, counts, strict=True)]
    return np.sort(np.concatenate(chosen))
