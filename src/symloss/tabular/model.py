"""A fitted estimator, together with what it needs to know about tables: their columns and labels."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from symloss.estimators.encoding import Encoding
from symloss.estimators.persistence import load, read_contents, read_file, save_with

if TYPE_CHECKING:
    from pandas import DataFrame

    from symloss.estimators.base import BinaryClassifier

_TABLE = "table.json"


class Predicted(NamedTuple):
    """Scores and predicted labels of a table's rows, and for each column the number of rows with an unknown category.

    Examples
    --------
    >>> Predicted([0.5], ["yes"], {}).labels
    ['yes']
    """

    scores: Any
    labels: list[Any]
    unseen: dict[str, int]


class TableModel(NamedTuple):
    """A fitted estimator, the encoding that turns a table into its features, the label's column and its two values.

    Parameters
    ----------
    estimator : BERClassifierCV or AUCClassifierCV
        The estimator, fitted to labels 0 and 1.
    encoding : Encoding
        How a table becomes features.
    label : str
        The column of labels.
    labels : tuple of two values
        The negative label and the positive label.

    Examples
    --------
    >>> import pandas as pd, symloss as sl
    >>> frame = pd.DataFrame({"age": [20.0, 30.0, 50.0, 60.0]})
    >>> classifier = sl.BERClassifier(threshold=40.0).fit(frame, [0, 0, 1, 1])
    >>> TableModel(classifier, Encoding.fit(frame), "churn", ("no", "yes")).predict(frame).labels[0]
    'no'
    """

    estimator: BinaryClassifier
    encoding: Encoding
    label: str
    labels: tuple[Any, Any]

    def predict(self, frame: DataFrame) -> Predicted:
        """Return the scores and the labels of the rows; a score above 0 means the positive label."""
        import pandas as pd

        values, unseen = self.encoding.transform(frame)
        features = pd.DataFrame(values, columns=self.encoding.features)
        scores = self.estimator.decision_function(features)
        return Predicted(scores, [self.labels[int(score > 0)] for score in scores], unseen)

    def save(self, folder: Path) -> list[Path]:
        """Write the model into a folder, and return the paths of all files in it."""
        table = {"label": self.label, "labels": list(self.labels), "encoding": self.encoding.to_json()}
        save_with(self.estimator, folder, {_TABLE: json.dumps(table, indent=1).encode()})
        return sorted(folder.iterdir())

    @classmethod
    def load(cls, folder: Path) -> TableModel:
        """Return the model that ``symloss fit`` or ``save`` has written into a folder."""
        contents = read_contents(folder)
        if _TABLE not in contents["files"]:
            raise ValueError(f"{folder} holds an estimator without the columns of a table: symloss fit writes both")
        try:
            table = json.loads(read_file(folder, _TABLE, contents))
            encoding = Encoding.from_json(table["encoding"])
            negative, positive = table["labels"]
            label = str(table["label"])
        except (KeyError, TypeError, AttributeError) as error:
            raise ValueError(f"{folder / _TABLE} is damaged: {error}") from None
        return cls(load(folder), encoding, label, (negative, positive))
