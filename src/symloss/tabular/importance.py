"""How much each column of a table matters: how far the score on held-out rows falls if its values are shuffled."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from symloss.estimators.folds import split
from symloss.estimators.selection import falls
from symloss.models.family import TrainingData
from symloss.tabular.evaluation import rows_of
from symloss.tabular.model import TableModel
from symloss.threads import one_thread

if TYPE_CHECKING:
    from pandas import DataFrame

Array = NDArray[Any]
_ROWS = 2500  # of a label: enough to tell which columns matter, and few enough to fit again in seconds


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

    The members are fitted again on each fold, so that no row is scored by a model that has seen its label.
    Of a large table 2,500 rows of each label are used. If all folds would take longer than this, some are left out.
    """
    start, rows, generator = time.monotonic(), rows_of(model), np.random.default_rng(0)
    of_label = (np.flatnonzero((rows.weight > 0) & label) for label in (rows.positive, ~rows.positive))
    some = np.sort(np.concatenate([generator.permutation(each)[:_ROWS] for each in of_label]))
    values = model.encoding.transform(frame.iloc[rows.numbers[some]]).values
    data = TrainingData(values, rows.positive[some], rows.weight[some])
    columns = [*model.encoding.places.values()]
    found: list[Array] = []
    for k, fold in enumerate(split(5, *data, seed=0)):
        if found and (time.monotonic() - start) * (k + 1) / k > seconds:
            break
        with one_thread():
            found.append(falls(model.estimator, data, *fold, columns, 1, k)[:, 0])
    importances = [
        Importance(column, float(fall.mean()), float(fall.std()) if len(fall) > 1 else None)
        for column, fall in zip(model.columns, np.transpose(found), strict=True)
    ]
    return sorted(importances, key=lambda each: -each.fall)
