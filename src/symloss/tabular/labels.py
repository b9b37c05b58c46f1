"""Which labels of a table to check: every row with the quality of its label, the worst first."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from symloss.columns import as_text
from symloss.tabular.evaluation import Evaluation, rows_of
from symloss.tabular.model import TableModel
from symloss.tabular.reading import check_columns

if TYPE_CHECKING:
    from pandas import DataFrame

COLUMNS = ("row", "given_label", "label_quality", "suggested_label", "score")


def label_table(model: TableModel, frame: DataFrame, ids: Sequence[str] = ()) -> DataFrame:
    """Return every row that was fitted, with the quality of its label, the worst first.

    Parameters
    ----------
    model : TableModel
        What ``fit`` returned.
    frame : DataFrame
        The table that was given to it.
    ids : sequence of str
        Columns to keep, which tell the rows apart.

    Returns
    -------
    DataFrame
        ``row``: the number of the row in the table, from 1. Then the columns ``ids``. ``given_label``;
        ``label_quality``: how probably it is right; ``suggested_label``: the other label where that is below one half,
        and nothing at all if the noise cannot be told, because then qualities are a mere ranking;
        ``score``: by models that have not seen the row, above 0 for the positive label. Of positive-unlabeled data,
        ``given_label`` is empty for the rows without one. They come first, and only they can have another suggestion.

    Examples
    --------
    >>> import pandas as pd, symloss as sl
    >>> y = ["no"] * 30 + ["yes"] * 30
    >>> frame = pd.DataFrame({"x": np.arange(60.0) / 7, "y": [*y[:3], "yes", *y[4:]]})  # the fourth label is wrong
    >>> linear = [("linear", sl.AUCClassifier())]
    >>> model = sl.tabular.fit(frame, "y", candidates=linear, pi=0.95, pi_prime=0.05)
    >>> label_table(model, frame)[["row", "given_label", "suggested_label"]].head(1)
       row given_label suggested_label
    0    4         yes              no
    """
    import pandas as pd

    check_ids(frame, ids)
    rows, quality = rows_of(model), model.estimator.label_quality_
    given = rows.positive.astype(int)
    suggested = np.where(suspicious(model), 1 - given, given)
    texts = np.array([as_text(label) for label in model.labels], dtype=object)
    without = rows.unlabeled & ~rows.positive
    silent = (without & (suggested == 0)) | (model.rates is None)
    table = pd.DataFrame(
        {
            "row": rows.numbers + 1,
            **{name: frame[name].iloc[rows.numbers].to_numpy() for name in ids},
            "given_label": np.where(without, "", texts[given]),
            "label_quality": quality.round(6),
            "suggested_label": np.where(silent, "", texts[suggested]),
            "score": model.estimator.oof_scores_.round(6),
        }
    )
    # Of positive-unlabeled data the labels are taken as right, so that rows with one come after all without.
    credible = np.where(rows.unlabeled & rows.positive, quality + 2, quality)
    order = np.argsort(credible, kind="stable")  # missing qualities, of rows without weight, come last
    return table.iloc[order].reset_index(drop=True)


def suspicious(model: TableModel) -> NDArray[np.bool_]:
    """Return of which rows the label looks more likely wrong than right; without a label, which look positive."""
    rows = rows_of(model)
    found: NDArray[np.bool_] = model.estimator.label_quality_ < 0.5
    return found & ~rows.positive if rows.unlabeled else found


def check_ids(frame: DataFrame, ids: Sequence[str]) -> None:
    """Raise ValueError if a table lacks a column to keep, or if its name is one of those of the table of labels."""
    check_columns(ids, frame, "to keep")
    for name in ids:
        if name in COLUMNS:
            raise ValueError(f"a column of labels.csv already has the name {name!r}; rename the column to keep")


def noise_in_words(found: Evaluation, labels: tuple[Any, Any]) -> list[str]:
    """Return sentences that say how noisy the labels seem; ``labels`` are the negative and the positive one."""
    negative, positive = (repr(as_text(label)) for label in labels)
    noise, level = found.noise, f"{100 * found.noise.level:g}%"
    pi_prime = f"{level} interval {percent(noise.pi_prime_low)} to {percent(noise.pi_prime_high)}"
    if found.unlabeled:
        if found.rates is None:
            return [
                f"How many of the unlabeled rows are {positive} cannot be told: {noise.reason}. At most "
                f"{percent(noise.pi_prime_high)} of them are ({level} bound)."
            ]
        share = percent(found.rates.pi_prime)
        if found.rates_given:
            return [f"As you said, {share} of the unlabeled rows are {positive}."]
        return [
            f"About {share} of the unlabeled rows seem to be {positive} ({pi_prime}).",
            f"This assumes that the rows labeled {positive} are like all others that are {positive}, and that the rows "
            "with the most extreme scores are of one class.",
        ]
    if found.rates is None:
        return [
            f"How many labels are wrong cannot be told: {noise.reason}. At most {percent(1 - noise.pi_low)} of the "
            f"labels {positive} and {percent(noise.pi_prime_high)} of the labels {negative} are wrong ({level} bounds)."
        ]
    of_positive, of_negative = percent(1 - found.rates.pi), percent(found.rates.pi_prime)
    wrong = percent(found.wrong_share.value)
    if found.rates_given:
        return [
            f"As you said, {of_positive} of the labels {positive} and {of_negative} of the labels {negative} are "
            f"wrong: {wrong} of all labels."
        ]
    return [
        f"About {wrong} of the labels seem wrong: {of_positive} of the labels {positive} ({level} interval "
        f"{percent(1 - noise.pi_high)} to {percent(1 - noise.pi_low)}) and {of_negative} of the labels {negative} "
        f"({pi_prime}).",
        "This assumes that errors depend on nothing but the true label, and that the rows with the most extreme "
        "scores are of one class. Where even these are a mixture, it is counted as noise.",
    ]


def percent(share: float) -> str:
    """Return a share in percent, as text.

    Examples
    --------
    >>> percent(0.125), percent(0.004), percent(0.0004), percent(0)
    ('12%', '0.4%', 'below 0.1%', '0%')
    """
    if 0 < share < 0.001:
        return "below 0.1%"
    return f"{share:.1%}" if 0 < share < 0.0095 else f"{share:.0%}"
