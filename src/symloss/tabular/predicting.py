"""Predict the labels of a table, also of one in a file larger than memory; the predictions are a table too."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from symloss.columns import as_text
from symloss.tabular.checks import WARNING, Differences
from symloss.tabular.dialect import TO_BE_FOUND, ReadOptions
from symloss.tabular.model import Predicted, TableModel
from symloss.tabular.reading import check_columns, read_pieces
from symloss.tabular.thresholds import rates_in_words
from symloss.tabular.writing import whole_table

if TYPE_CHECKING:
    from pandas import DataFrame

Array = NDArray[np.float64]
ROWS = 20_000  # in memory at a time


def predict_file(
    model: TableModel,
    data: Any,
    out: str | Path,
    keep: Sequence[str] = (),
    threshold: float = 0.0,
    rows: int = ROWS,
    options: ReadOptions = TO_BE_FOUND,
) -> list[str]:
    r"""Predict the rows of a file into another file, a part at a time, and return notes on what was done.

    The rows keep their order. If anything fails, no file is left or changed.
    """
    total, positive, unseen, ignored = 0, 0, Counter[str](), list[str]()
    text = [*model.encoding.texts, *(name for name in keep if name not in model.columns)]
    read_notes: list[str] = []
    differences = Differences(model.encoding, model.profile, list(keep))
    with whole_table(out) as write:
        for frame, found, _, written in read_pieces(data, rows, options, text):
            read_notes += [note for note in found if note not in read_notes]
            check_columns(keep, frame, "to keep")
            predicted = model.predict_frame(frame, threshold)
            write(_beside(written, keep, predicted))
            total += len(frame)
            positive += int((predicted.scores > threshold).sum())
            unseen.update(predicted.unseen)
            differences.add(frame, predicted.unseen)
            ignored = [name for name in frame.columns if name not in (*model.columns, *keep, *differences.new)]
    labels = list(map(as_text, model.labels))
    notes = [f"{total} rows: {positive} predicted {labels[1]!r}, {total - positive} {labels[0]!r}"]
    notes.append(f"clean_probability: that {labels[1]!r} is the true label of a row, if {rates_in_words(model)}")
    if ignored:
        notes.append(f"columns ignored: {', '.join(ignored)}")
    few = [f"{name} ({count} rows)" for name, count in unseen.items() if name not in differences.often_unseen]
    if few:
        notes.append(f"categories not seen in the fit, treated as none of those seen: {', '.join(few)}")
    return [*notes, *read_notes, *(WARNING + sentence for sentence in differences.sentences())]


def _beside(kept: DataFrame, names: Sequence[str], predicted: Predicted) -> DataFrame:
    """Return predictions with columns to keep before them."""
    table = predicted.table
    for place, name in enumerate(names):
        if name in table.columns[place:]:
            raise ValueError(f"a column of predictions already has the name {name!r}; rename the column to keep")
        table.insert(place, name, kept[name])
    return table


def scores_of_file(model: TableModel, data: Any, rows: int = ROWS, options: ReadOptions = TO_BE_FOUND) -> Array:
    """Return the scores of all rows of a file, of which only some are in memory at a time."""
    pieces = read_pieces(data, rows, options, model.encoding.texts)
    return np.concatenate([model.predict_frame(piece.frame).scores for piece in pieces])
