"""Predict the labels of a table, also of one in a file larger than memory; the predictions are a table too."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from symloss.columns import as_text
from symloss.tabular.cautions import MARK
from symloss.tabular.differences import Differences
from symloss.tabular.model import BLOCK, TableModel
from symloss.tabular.reading import TO_BE_FOUND, ReadOptions, Source, check_columns, read_chunks, read_chunks_beside
from symloss.tabular.writing import whole_table

if TYPE_CHECKING:
    from pandas import DataFrame

Array = NDArray[np.float64]
ROWS = 4 * BLOCK  # rows in memory at a time: a multiple of the block, so that a file's scores do not depend on it


class PredictionTable(NamedTuple):
    """A table with the score and the prediction of each row, and the number of rows with unknown categories.

    Examples
    --------
    >>> PredictionTable(None, {"city": 3}).unseen
    {'city': 3}
    """

    table: Any
    unseen: dict[str, int]


@dataclass
class Counts:
    """What was predicted so far: how many rows, how many of them positive, unknown categories, and columns ignored.

    Categories and columns of which a warning is given are not among them.

    Examples
    --------
    >>> Counts(rows=3, positive=1).rows
    3
    """

    rows: int = 0
    positive: int = 0
    unseen: Counter[str] = field(default_factory=Counter)
    ignored: list[str] = field(default_factory=list)


def predictions(
    model: TableModel,
    frame: DataFrame,
    keep: Sequence[str] = (),
    threshold: float = 0.0,
    written: DataFrame | None = None,
) -> PredictionTable:
    """Return the score, the predicted label and the probability of every row, next to the columns to keep.

    Scores above the threshold are predicted positive. The columns to keep are taken from ``written`` if it is given:
    the same rows, as they are written in a file.

    Examples
    --------
    >>> import pandas as pd, symloss as sl
    >>> from symloss.tabular import Encoding
    >>> frame = pd.DataFrame({"age": [20.0, 30.0, 50.0, 60.0], "who": list("abcd")})
    >>> classifier = sl.BERClassifier(threshold=0.0).fit(frame[["age"]], [0, 0, 1, 1])
    >>> model = TableModel(classifier, Encoding.fit(frame[["age"]]), "churn", ("no", "yes"))
    >>> predictions(model, frame, ["who"]).table[["who", "prediction"]]
      who prediction
    0   a         no
    1   b         no
    2   c        yes
    3   d        yes
    """
    check_columns(keep, frame, "to keep")
    predicted = model.predict_frame(frame, threshold)
    table = predicted.table
    for place, name in enumerate(keep):
        if name in table.columns[place:]:
            raise ValueError(f"a column of predictions already has the name {name!r}; rename the column to keep")
        table.insert(place, name, (frame if written is None else written)[name])
    return PredictionTable(table, predicted.unseen)


def predict_file(
    model: TableModel,
    data: str | Path | Source,
    out: str | Path,
    keep: Sequence[str] = (),
    threshold: float = 0.0,
    rows: int = ROWS,
    options: ReadOptions = TO_BE_FOUND,
) -> list[str]:
    r"""Predict the rows of a file into another file, a part at a time, and return notes on what was done.

    The rows keep their order. If anything fails, no file is left or changed.

    Parameters
    ----------
    model : TableModel
        The model.
    data : str, Path or Source
        The file to read.
    out : str or Path
        The CSV or Parquet file to write.
    keep : sequence of str
        Columns to write beside the predictions, as they are written in the file.
    threshold : float
        Scores above it are predicted positive.
    rows : int
        How many rows are in memory at a time.
    options : ReadOptions
        What is known about the file.

    Examples
    --------
    >>> import tempfile, pandas as pd, symloss as sl
    >>> frame = pd.DataFrame({"age": range(40), "churn": ["no"] * 20 + ["yes"] * 20})
    >>> model = sl.tabular.fit_table(frame, "churn", candidates=[("linear", sl.AUCClassifier())]).model
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     _ = (Path(folder) / "new.csv").write_text("who,age\n007,5\n008,35\n")
    ...     predict_file(model, folder + "/new.csv", folder + "/predictions.csv", keep=["who"])[0]
    ...     print((Path(folder) / "predictions.csv").read_text().splitlines()[0])
    "2 rows: 1 predicted 'yes', 1 'no'"
    who,score,prediction,given_probability
    """
    counts, known = Counts(), {*model.columns, *keep}
    text = [*model.encoding.texts, *(name for name in keep if name not in model.columns)]
    read_notes: list[str] = []
    differences = Differences(model.encoding, model.profile, list(keep))
    with whole_table(out) as write:
        for frame, written in read_chunks_beside(data, rows, text, keep, options, read_notes):
            predicted = predictions(model, frame, keep, threshold, written)
            write(predicted.table)
            counts.rows += len(frame)
            counts.positive += int((predicted.table["score"] > threshold).sum())
            counts.unseen.update(predicted.unseen)
            differences.add(frame, predicted.unseen)
            counts.ignored = [name for name in frame.columns if name not in (*known, *differences.new)]
    for name in differences.often_unseen:  # a warning says so
        del counts.unseen[name]
    warnings = [MARK + sentence for sentence in differences.sentences()]
    return [*prediction_notes(model, counts), *read_notes, *warnings]


def scores_of_file(
    model: TableModel, data: str | Path | Source, rows: int = ROWS, options: ReadOptions = TO_BE_FOUND
) -> Array:
    r"""Return the scores of all rows of a file, of which only some are in memory at a time.

    Examples
    --------
    >>> import tempfile, pandas as pd, symloss as sl
    >>> frame = pd.DataFrame({"age": range(40), "churn": ["no"] * 20 + ["yes"] * 20})
    >>> model = sl.tabular.fit_table(frame, "churn", candidates=[("linear", sl.AUCClassifier())]).model
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     _ = (Path(folder) / "new.csv").write_text("age\n5\n35\n")
    ...     scores_of_file(model, folder + "/new.csv") > 0
    array([False,  True])
    """
    parts = read_chunks(data, rows, text=[*model.encoding.texts], options=options)
    return np.concatenate([model.predict_frame(frame).scores for frame in parts])


def prediction_notes(model: TableModel, counts: Counts) -> list[str]:
    """Return notes: how many rows were predicted, what the probability is, and which columns and categories are new.

    Examples
    --------
    >>> import pandas as pd
    >>> from symloss.tabular import Encoding
    >>> model = TableModel(None, Encoding.fit(pd.DataFrame({"age": [20.0, 50.0]})), "churn", ("no", "yes"))
    >>> prediction_notes(model, Counts(rows=2, positive=1, ignored=["who"]))
    ["2 rows: 1 predicted 'yes', 1 'no'", 'columns ignored: who']
    """
    negative_label, positive_label = map(as_text, model.labels)
    negative = counts.rows - counts.positive
    notes = [f"{counts.rows} rows: {counts.positive} predicted {positive_label!r}, {negative} {negative_label!r}"]
    if model.probability_of is not None:
        notes.append(_probability_note(model, positive_label))
    if counts.ignored:
        notes.append(f"columns ignored: {', '.join(counts.ignored)}")
    if counts.unseen:
        listed = ", ".join(f"{name} ({count} rows)" for name, count in counts.unseen.items())
        notes.append(f"categories not seen in the fit, treated as none of those seen: {listed}")
    return notes


def _probability_note(model: TableModel, positive: str) -> str:
    if model.rates is None:
        return f"given_probability: that a row is labeled {positive!r}, rightly or wrongly, as in the data of the fit"
    known = "estimated in the fit" if getattr(model.estimator, "pi", None) is None else "given to the fit"
    rates = f"pi = {model.rates.pi:.2f} and pi' = {model.rates.pi_prime:.2f}, {known}"
    return f"clean_probability: that {positive!r} is the true label of a row, for {rates}"
