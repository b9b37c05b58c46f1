"""Predict the labels of a table; the predictions are a table too."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from symloss.estimators.encoding import as_text
from symloss.tabular.files import check_columns
from symloss.tabular.model import TableModel

if TYPE_CHECKING:
    from pandas import DataFrame


class PredictionTable(NamedTuple):
    """A table with the score and the prediction of each row, and the number of rows with unknown categories.

    Examples
    --------
    >>> PredictionTable(None, {"city": 3}).unseen
    {'city': 3}
    """

    table: Any
    unseen: dict[str, int]


def predictions(
    model: TableModel, frame: DataFrame, id_column: str | None = None, threshold: float = 0.0
) -> PredictionTable:
    """Return the score and the predicted label of every row, next to the column ``id_column`` if it is given.

    Scores above the threshold are predicted positive.

    Examples
    --------
    >>> import pandas as pd, symloss as sl
    >>> from symloss.tabular import Encoding
    >>> frame = pd.DataFrame({"age": [20.0, 30.0, 50.0, 60.0], "who": list("abcd")})
    >>> classifier = sl.BERClassifier(threshold=0.0).fit(frame[["age"]], [0, 0, 1, 1])
    >>> model = TableModel(classifier, Encoding.fit(frame[["age"]]), "churn", ("no", "yes"))
    >>> predictions(model, frame, "who").table[["who", "prediction"]]
      who prediction
    0   a         no
    1   b         no
    2   c        yes
    3   d        yes
    """
    import pandas as pd

    columns: dict[str, Any] = {}
    if id_column is not None:
        check_columns([id_column], frame, "to keep")
        if id_column in ("score", "prediction"):
            raise ValueError(f"a column of predictions already has the name {id_column!r}; rename the column to keep")
        columns[id_column] = frame[id_column]
    predicted = model.predict(frame)
    labels = [model.labels[int(score > threshold)] for score in predicted.scores]
    table = pd.DataFrame({**columns, "score": predicted.scores, "prediction": labels}, index=frame.index)
    return PredictionTable(table, predicted.unseen)


def prediction_notes(
    model: TableModel, frame: DataFrame, predicted: PredictionTable, id_column: str | None = None
) -> list[str]:
    """Return notes: how many rows were predicted, which columns were ignored, and where categories were unknown.

    Examples
    --------
    >>> import pandas as pd
    >>> from symloss.tabular import Encoding
    >>> frame = pd.DataFrame({"age": [20.0, 50.0], "who": ["a", "b"]})
    >>> table = pd.DataFrame({"score": [-1.0, 1.0], "prediction": ["no", "yes"]})
    >>> model = TableModel(None, Encoding.fit(frame[["age"]]), "churn", ("no", "yes"))
    >>> prediction_notes(model, frame, PredictionTable(table, {}))
    ["2 rows: 1 predicted 'yes', 1 'no'", 'columns ignored: who']
    """
    positive = int((predicted.table["prediction"] == model.labels[1]).sum())
    negative_label, positive_label = map(as_text, model.labels)
    notes = [f"{len(frame)} rows: {positive} predicted {positive_label!r}, {len(frame) - positive} {negative_label!r}"]
    known = {column.name for column in model.encoding.columns} | {id_column}
    ignored = [name for name in frame.columns if name not in known]
    if ignored:
        notes.append(f"columns ignored: {', '.join(ignored)}")
    if predicted.unseen:
        counts = ", ".join(f"{name} ({count} rows)" for name, count in predicted.unseen.items())
        notes.append(f"categories not seen in the fit, treated as none of those seen: {counts}")
    return notes
