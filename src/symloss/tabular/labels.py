"""Which labels of a table to check: every row with the quality of its label, the worst first."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from symloss.columns import as_text
from symloss.tabular.findings import Findings
from symloss.tabular.fitting import Fitted
from symloss.tabular.reading import check_columns

if TYPE_CHECKING:
    from pandas import DataFrame

COLUMNS = ("row", "given_label", "label_quality", "suggested_label", "score")


def label_table(fitted: Fitted, frame: DataFrame, ids: Sequence[str] = ()) -> DataFrame:
    """Return every row that was fitted, with the quality of its label, the worst first.

    Parameters
    ----------
    fitted : Fitted
        What ``fit_table`` returned.
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
    >>> from symloss.tabular import fit_table
    >>> y = ["no"] * 20 + ["yes"] * 20
    >>> frame = pd.DataFrame({"x": np.arange(40.0), "y": [*y[:3], "yes", *y[4:]]})  # the fourth label is wrong
    >>> fitted = fit_table(frame, "y", candidates=[("linear", sl.AUCClassifier())], pi=0.95, pi_prime=0.05)
    >>> label_table(fitted, frame)[["row", "given_label", "suggested_label"]].head(1)
       row given_label suggested_label
    0    4         yes              no
    """
    import pandas as pd

    check_ids(frame, ids)
    rows = fitted.rows
    quality = fitted.model.estimator.label_quality_
    given = fitted.positive.astype(int)
    suggested = np.where(suspicious(fitted), 1 - given, given)
    texts = np.array([as_text(label) for label in fitted.model.labels], dtype=object)
    without = fitted.unlabeled & ~fitted.positive
    silent = (without & (suggested == 0)) | (fitted.model.rates is None)
    table = pd.DataFrame(
        {
            "row": rows + 1,
            **{name: frame[name].iloc[rows].to_numpy() for name in ids},
            "given_label": np.where(without, "", texts[given]),
            "label_quality": quality.round(6),
            "suggested_label": np.where(silent, "", texts[suggested]),
            "score": fitted.model.estimator.oof_scores_.round(6),
        }
    )
    # Of positive-unlabeled data the labels are taken as right, so that rows with one come after all without.
    credible = np.where(fitted.unlabeled & fitted.positive, quality + 2, quality)
    order = np.argsort(credible, kind="stable")  # missing qualities, of rows without weight, come last
    return table.iloc[order].reset_index(drop=True)


def suspicious(fitted: Fitted) -> NDArray[np.bool_]:
    """Return of which rows the label looks more likely wrong than right; without a label, which look positive.

    Examples
    --------
    >>> import pandas as pd, symloss as sl
    >>> from symloss.tabular import fit_table
    >>> y = ["no"] * 20 + ["yes"] * 20
    >>> frame = pd.DataFrame({"x": np.arange(40.0), "y": [*y[:3], "yes", *y[4:]]})  # the fourth label is wrong
    >>> np.flatnonzero(suspicious(fit_table(frame, "y", candidates=[("linear", sl.AUCClassifier())])))
    array([3])
    """
    found: NDArray[np.bool_] = fitted.model.estimator.label_quality_ < 0.5
    return found & ~fitted.positive if fitted.unlabeled else found


def check_ids(frame: DataFrame, ids: Sequence[str]) -> None:
    """Raise ValueError if a table lacks a column to keep, or if its name is one of those of the table of labels.

    Examples
    --------
    >>> import pandas as pd
    >>> check_ids(pd.DataFrame({"score": [1]}), ["score"])
    Traceback (most recent call last):
    ValueError: a column of labels.csv already has the name 'score'; rename the column to keep
    """
    check_columns(ids, frame, "to keep")
    for name in ids:
        if name in COLUMNS:
            raise ValueError(f"a column of labels.csv already has the name {name!r}; rename the column to keep")


def noise_in_words(found: Findings, labels: tuple[str, str]) -> list[str]:
    """Return sentences that say how noisy the labels seem; ``labels`` are the negative and the positive one.

    Examples
    --------
    >>> import pandas as pd, symloss as sl
    >>> from symloss.tabular import fit_table
    >>> from symloss.tabular.findings import findings
    >>> frame = pd.DataFrame({"x": np.arange(40.0), "y": list("nnnnnnnnnY" * 2 + "YYYYYYYYYn" * 2)})
    >>> fitted = fit_table(frame, "y", positive="Y", candidates=[("linear", sl.AUCClassifier())], pi=0.9, pi_prime=0.1)
    >>> noise_in_words(findings(fitted), ("n", "Y"))[0]
    "As you said, 10% of the labels 'Y' and 10% of the labels 'n' are wrong: 10% of all labels."
    """
    negative, positive = map(repr, labels)
    noise, wrong = found.noise, found.wrong_share
    level = f"{100 * noise.level:g}%"
    if found.unlabeled:
        return _unlabeled_in_words(found, positive, level)
    if found.rates_given and found.rates is not None:
        of_positive, of_negative = percent(1 - found.rates.pi), percent(found.rates.pi_prime)
        return [
            f"As you said, {of_positive} of the labels {positive} and {of_negative} of the labels {negative} are "
            f"wrong: {percent(wrong.value)} of all labels."
        ]
    if noise.pi is not None and noise.pi_prime is not None:
        return [
            f"About {percent(wrong.value)} of the labels seem wrong: {percent(1 - noise.pi)} of the labels {positive} "
            f"({level} interval {percent(1 - noise.pi_high)} to {percent(1 - noise.pi_low)}) and "
            f"{percent(noise.pi_prime)} of the labels {negative} ({level} interval {percent(noise.pi_prime_low)} to "
            f"{percent(noise.pi_prime_high)}).",
            "This assumes that errors depend on nothing but the true label, and that the rows with the most extreme "
            "scores are of one class. Where even these are a mixture, it is counted as noise.",
        ]
    return [
        f"How many labels are wrong cannot be told: {noise.reason}. At most {percent(1 - noise.pi_low)} of the labels "
        f"{positive} and {percent(noise.pi_prime_high)} of the labels {negative} are wrong ({level} bounds)."
    ]


def _unlabeled_in_words(found: Findings, positive: str, level: str) -> list[str]:
    noise = found.noise
    if found.rates is None:
        return [
            f"How many of the unlabeled rows are {positive} cannot be told: {noise.reason}. At most "
            f"{percent(noise.pi_prime_high)} of them are ({level} bound)."
        ]
    if found.rates_given:
        return [f"As you said, {percent(found.rates.pi_prime)} of the unlabeled rows are {positive}."]
    return [
        f"About {percent(found.rates.pi_prime)} of the unlabeled rows seem to be {positive} ({level} interval "
        f"{percent(noise.pi_prime_low)} to {percent(noise.pi_prime_high)}).",
        f"This assumes that the rows labeled {positive} are like all others that are {positive}, and that the rows "
        "with the most extreme scores are of one class.",
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
