"""Which labels of a table to check: every row, the most suspicious first; and in words how many are wrong."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from symloss.columns import as_text
from symloss.tabular.evaluation import Evaluation, percent, rows_of
from symloss.tabular.model import Review, TableModel

if TYPE_CHECKING:
    from pandas import DataFrame

OWN = ("row", "given_label", "suggested_label", "wrong_probability", "why", "checked_label")
_BLOCK = 20  # rows that somebody checks before asking whether to go on
_LISTED, _RANDOM = 400, 4  # of so many rows at the head of the list every fourth is random
_WIDE = 0.3  # an interval of a share of wrong labels
_FEW = 0.1  # the share of wrong labels in a block at which checking is hardly worth it


def label_table(model: TableModel, frame: DataFrame, ids: Sequence[str] = ()) -> DataFrame:
    """Return every row that was fitted, beginning with those whose label is most probably wrong.

    Parameters
    ----------
    model : TableModel
        What ``fit`` returned.
    frame : DataFrame
        The table that was given to it.
    ids : sequence of str
        Columns that tell the rows apart.

    Returns
    -------
    DataFrame
        ``row``: the number of the row in the table, from 1. ``given_label``. ``suggested_label``: the other label where
        it is the more probable one, else empty. ``wrong_probability``: how probably the given label is wrong. ``why``:
        why the row is listed there, "ranked" or "random"; every fourth of the first rows is random, so that a review
        can tell how many labels are wrong. ``checked_label``: empty, for what somebody finds who looks at the
        row; labels that were checked before have it, and are last. Then the columns of the table, ``ids``
        first; one with the name of a column above gets an underscore after it. Of positive-unlabeled data,
        ``given_label`` is empty for the rows without one. They come first, and only they can have a suggestion.

    Examples
    --------
    >>> import pandas as pd, symloss as sl
    >>> y = ["no"] * 30 + ["yes"] * 30
    >>> frame = pd.DataFrame({"x": np.arange(60.0) / 7, "y": [*y[:3], "yes", *y[4:]]})  # the fourth label is wrong
    >>> model = sl.tabular.fit(frame, "y", candidates=[("linear", sl.AUCClassifier())])
    >>> label_table(model, frame)[["row", "given_label", "suggested_label", "x"]].head(1)
       row given_label suggested_label         x
    0    4         yes              no  0.428571
    """
    import pandas as pd

    rows, wrong = rows_of(model), wrong_probability(model)
    given, (order, why) = rows.positive.astype(int), _listed(model)
    texts = np.array([as_text(label) for label in model.labels], dtype=object)
    own = pd.DataFrame(
        {
            "row": rows.numbers + 1,
            "given_label": np.where(rows.unlabeled & ~rows.positive, "", texts[given]),
            "suggested_label": np.where(suspicious(model), texts[1 - given], ""),
            "wrong_probability": wrong.round(4),
            "why": why,
            "checked_label": np.where(rows.checked, texts[given], ""),
        }
    )
    others = [*ids, *(name for name in frame.columns if name not in (*ids, model.label))]
    table = frame.iloc[rows.numbers][others].reset_index(drop=True)
    table = pd.concat([own, table.rename(columns={name: f"{name}_" for name in OWN})], axis=1)
    return table.iloc[order].reset_index(drop=True)


def _listed(model: TableModel) -> tuple[list[int], NDArray[np.object_]]:
    """Return the places of the rows in the order in which they are listed, and why each row is."""
    rows, wrong = rows_of(model), wrong_probability(model)
    # Labels of positive-unlabeled data are taken as right, and missing probabilities are those of rows without weight.
    sure = rows.checked | (rows.unlabeled & rows.positive) | np.isnan(wrong)
    why = np.where(rows.checked, "checked", "ranked").astype(object)
    by_rank = np.argsort(np.where(sure, 1.0 + np.isnan(wrong), -np.nan_to_num(wrong)), kind="stable").tolist()
    shuffled = iter(np.random.default_rng(0).permutation(np.flatnonzero(~sure)).tolist())
    ranked, listed = iter(by_rank), dict[int, None]()  # in order
    for k in range(min(_LISTED, int((~sure).sum()))):
        at_random = k % _RANDOM == _RANDOM - 1
        row = next(row for row in (shuffled if at_random else ranked) if row not in listed)
        listed[row] = None
        if at_random:
            why[row] = "random"
    return list(listed | dict.fromkeys(by_rank)), why


def wrong_probability(model: TableModel) -> NDArray[np.float64]:
    """Return how probably the label of each row is wrong; NaN for rows without weight."""
    return 1 - np.asarray(model.estimator.label_quality_)


def suspicious(model: TableModel) -> NDArray[np.bool_]:
    """Return of which rows the label looks more likely wrong than right; without a label, which look positive."""
    rows = rows_of(model)
    found: NDArray[np.bool_] = wrong_probability(model) > 0.5
    return found & ~rows.positive if rows.unlabeled else found


def when_to_stop(model: TableModel) -> str:
    """Return in one sentence how many labels are expected to be wrong in the first rows and in those after them."""
    rows, listed = rows_of(model), np.array(_listed(model)[0])
    kept = listed[~(rows.checked | (rows.unlabeled & rows.positive))[listed]]
    ordered, parts = wrong_probability(model)[kept], list[str]()
    ordered = ordered[~np.isnan(ordered)]
    for start in range(0, len(ordered), _BLOCK):
        block = ordered[start : start + _BLOCK]
        parts.append(f"of the {'next' if start else 'first'} {len(block)} about {block.sum():.0f}")
        if block.mean() < _FEW or len(parts) == 4:
            break
    if not parts:
        return "All labels are checked."
    first, *others = parts
    what = "positive" if rows.unlabeled else "wrong"
    said = ", ".join([f"{first.capitalize()} are {what}", *others])
    return f"{said}. Stop where this is too few for you."


def review_in_words(review: Review, score: str) -> list[str]:
    r"""Return sentences that say what came out of the labels that somebody has checked; ``score`` is its name."""
    if review.wrong_before is None:
        share = f"How many others are wrong is not known from {review.random} random rows: check more."
    else:
        value, low, high = map(percent, review.wrong_before)
        share = (
            f"Before this review, about {value} ({low} to {high}) of all labels were wrong: of {review.random} random "
            f"rows beside the most suspicious ones, {review.random_wrong} were."
        )
    return [
        f"You have checked {review.checked} labels: {len(review.changed)} were wrong, and are corrected.",
        share,
        f"On the corrected labels the {score}, cross-validated, was {review.score_before:.3f} before the review, and "
        f"is {review.score_after:.3f} now.",
    ]


def noise_in_words(found: Evaluation, labels: tuple[Any, Any]) -> list[str]:
    """Return sentences that say how noisy the labels seem; ``labels`` are the negative and the positive one."""
    negative, positive = (repr(as_text(label)) for label in labels)
    noise, of_positive, of_negative = found.noise, percent(1 - found.rates.pi), percent(found.rates.pi_prime)
    if found.rates_given and found.unlabeled:
        return [f"As you said, {of_negative} of the unlabeled rows are {positive}."]
    if found.rates_given:
        return [
            f"As you said, {of_positive} of the labels {positive} and {of_negative} of the labels {negative} are "
            f"wrong: {percent(found.wrong_share.value)} of all labels."
        ]
    share, interval = found.wrong_share, f"({percent(noise.pi_prime_low)} to {percent(noise.pi_prime_high)})"
    how = f"These are 90% intervals, {found.basis}."
    if found.unlabeled:
        return [f"About {of_negative} of the unlabeled rows seem to be {positive} {interval}.", how]
    said = (
        f"About {percent(share.value)} ({percent(share.low)} to {percent(share.high)}) of the labels seem wrong: "
        f"{of_positive} of the labels {positive} "
        f"({percent(1 - noise.pi_high)} to {percent(1 - noise.pi_low)}) and {of_negative} of the labels {negative} "
        f"{interval}."
    )
    wide = max(noise.pi_high - noise.pi_low, noise.pi_prime_high - noise.pi_prime_low) > _WIDE
    return [said, how, *(["They are wide: check some labels to know more."] if wide else [])]
