"""Fit a CV estimator to a table, and describe what was done with its columns."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from symloss.estimators import AUCClassifierCV, BERClassifierCV
from symloss.estimators.encoding import Encoding, as_text
from symloss.metrics import clean_auc
from symloss.tabular.files import check_columns
from symloss.tabular.model import TableModel

if TYPE_CHECKING:
    from pandas import DataFrame, Series

Array = NDArray[np.float64]
Progress = Callable[[str, int, int], None]
ESTIMATORS = {"auc": AUCClassifierCV, "ber": BERClassifierCV}


class Fitted(NamedTuple):
    """A model, the labels, weights and rows of the table that it was fitted to, and notes that say what was done.

    Examples
    --------
    >>> import pandas as pd
    >>> frame = pd.DataFrame({"x": [0.0, 1.0, 2.0, 3.0] * 5, "y": ["no", "no", "yes", "yes"] * 5})
    >>> Fitted(None, frame["y"] == "yes", np.ones(20), ["20 rows"], np.arange(20)).notes
    ['20 rows']
    """

    model: Any
    positive: NDArray[np.bool_]
    weight: Array
    notes: list[str]
    rows: NDArray[np.intp]  # their places in the table


def fit_table(
    frame: DataFrame,
    label: str,
    *,
    risk: str = "auc",
    positive: str | None = None,
    drop: Sequence[str] = (),
    weight: str | None = None,
    pi: float | None = None,
    pi_prime: float | None = None,
    candidates: Any = None,
    max_categories: int = 50,
    seed: int = 0,
    jobs: int | None = 1,
    progress: Progress | None = None,
) -> Fitted:
    """Fit ``AUCClassifierCV`` or ``BERClassifierCV`` to a table.

    Parameters
    ----------
    frame : DataFrame
        Numbers are taken as they are, texts are one-hot encoded.
    label : str
        The column of labels, of two distinct values.
    risk : {"auc", "ber"}
        The risk to minimize: ``"auc"`` ranks rows well, ``"ber"`` classifies them well.
    positive : str, optional
        The positive label; by default the larger of the two.
    drop : sequence of str
        Columns that are not used as features.
    weight : str, optional
        A column of weights; a row of weight k counts as k repetitions.
    pi, pi_prime : float, optional
        The share of clean positives among the rows labeled positive (``pi``) and among those labeled negative
        (``pi_prime``). With both, the score on clean labels is estimated.
    candidates : list of (name, estimator), optional
        The candidates to choose from, as in ``AUCClassifierCV``.
    max_categories : int
        The largest number of distinct texts that a column may have.
    seed, jobs
        ``random_state`` and ``n_jobs`` of the estimator.
    progress : callable, optional
        Called as ``progress(stage, done, total)`` whenever a candidate has been fitted: ``stage`` says what is being
        done, and ``done`` of ``total`` fits of this stage have ended.

    Examples
    --------
    >>> import pandas as pd, symloss as sl
    >>> frame = pd.DataFrame({"x": np.arange(40.0), "y": ["no"] * 20 + ["yes"] * 20})
    >>> fitted = fit_table(frame, "y", candidates=[("linear", sl.AUCClassifier())])
    >>> fitted.model.predict(pd.DataFrame({"x": [0.0, 39.0]})).labels
    ['no', 'yes']
    >>> fitted.notes[0]
    "label y: 'yes' is positive (20 rows), the larger label; 'no' is negative (20 rows)"
    """
    _check_options(risk, pi, pi_prime)
    check_columns([label], frame, "the label")
    check_columns(drop, frame, "to drop")
    check_columns([weight] if weight else [], frame, "the weight")
    if label in drop or (weight and weight in (label, *drop)):
        raise ValueError("the label, the weight and the columns to drop must be different columns")
    labels, is_positive = _labels(frame[label], positive)
    weights = _weights(frame[weight]) if weight else np.ones(len(frame))
    features = frame.drop(columns=[label, *drop, *([weight] if weight else [])])
    encoding = Encoding.fit(features, max_categories)
    notes = [_label_note(label, labels, is_positive, positive), *_notes(features, encoding)]
    callback = None if progress is None else lambda stage, done, total, _: progress(stage, done, total)
    estimator = ESTIMATORS[risk](
        candidates, pi=pi, pi_prime=pi_prime, random_state=seed, n_jobs=jobs, callback=callback
    )
    _fit(estimator, encoding, features, is_positive, weights if weight else None)
    estimator.set_params(callback=None)  # the model is kept, but the progress bar is not
    return Fitted(TableModel(estimator, encoding, label, labels), is_positive, weights, notes, np.arange(len(frame)))


def _fit(estimator: Any, encoding: Encoding, frame: DataFrame, positive: NDArray[np.bool_], weight: Any) -> None:
    import pandas as pd

    features = pd.DataFrame(encoding.transform(frame).values, columns=encoding.features)
    estimator.fit(features, positive.astype(np.int64), sample_weight=weight)


def _check_options(risk: str, pi: float | None, pi_prime: float | None) -> None:
    if risk not in ESTIMATORS:
        raise ValueError(f"the risk must be {' or '.join(ESTIMATORS)}, got {risk!r}")
    if (pi is None) != (pi_prime is None):
        raise ValueError(f"give both pi and pi' or neither, got {pi} and {pi_prime}")
    if pi is not None and pi_prime is not None:
        clean_auc(0.5, pi, pi_prime)  # raises if they are invalid, before the fit rather than after


def _labels(series: Series, positive: str | None) -> tuple[tuple[Any, Any], NDArray[np.bool_]]:
    """Return the two labels, the positive one last, and whether each row is positive."""
    missing = int(series.isna().sum())
    if missing:
        raise ValueError(f"column {series.name!r}, the label, is empty in {missing} of {len(series)} rows")
    found = sorted(series.unique().tolist(), key=_order)
    if len(found) != 2:
        shown = ", ".join(repr(as_text(value)) for value in found[:6]) + (", ..." if len(found) > 6 else "")
        kind = "only one class" if len(found) == 1 else f"{len(found)} distinct values"
        raise ValueError(f"column {series.name!r}, the label, must have two distinct values, got {kind}: {shown}")
    if positive is not None:
        if sum(_means(value, positive) for value in found) != 1:
            shown = " and ".join(repr(as_text(value)) for value in found)
            raise ValueError(f"no label {positive!r} to be positive: the labels are {shown}")
        found.sort(key=lambda value: _means(value, positive))
    plain = tuple(value if isinstance(value, (bool, int, float, str)) else str(value) for value in found)
    return (plain[0], plain[1]), np.asarray(series == found[1], dtype=bool)


def _order(value: Any) -> tuple[bool, float, str]:
    """Return a key that sorts numbers, also those written as text, before texts."""
    try:
        return (False, float(value), "")
    except (TypeError, ValueError):
        return (True, 0.0, str(value))


def _means(value: Any, text: str) -> bool:
    return as_text(value) == text or _order(value) == _order(text)


def _weights(series: Series) -> Array:
    try:
        weights = np.asarray(series.to_numpy(dtype=np.float64, na_value=np.nan))
    except (TypeError, ValueError):
        raise ValueError(f"column {series.name!r}, the weight, must hold numbers") from None
    wrong = int((~(np.isfinite(weights) & (weights >= 0))).sum())
    if wrong:
        raise ValueError(f"column {series.name!r}, the weight, is missing, negative or infinite in {wrong} rows")
    return weights


def _label_note(label: str, labels: tuple[Any, Any], is_positive: NDArray[np.bool_], chosen: str | None) -> str:
    count, larger = int(is_positive.sum()), "" if chosen is not None else ", the larger label"
    return (
        f"label {label}: {as_text(labels[1])!r} is positive ({count} rows){larger}; "
        f"{as_text(labels[0])!r} is negative ({len(is_positive) - count} rows)"
    )


def _notes(frame: DataFrame, encoding: Encoding) -> list[str]:
    """Return notes that say what is done with the columns."""
    notes = [f"{len(frame)} rows, {len(encoding.columns)} columns as {len(encoding.features)} features"]
    if encoding.categorical:
        counts = (f"{name} ({count} categories)" for name, count in encoding.categorical.items())
        notes.append(f"one-hot encoded: {', '.join(counts)}")
    if encoding.dropped:
        notes.append("dropped: " + ", ".join(f"{name} ({reason})" for name, reason in encoding.dropped.items()))
    numbers = [column.name for column in encoding.columns if column.categories is None]
    missing = {name: int(count) for name in numbers if (count := frame[name].isna().sum())}
    if missing:
        counts = (f"{name} ({count} rows)" for name, count in missing.items())
        notes.append(f"missing values in {', '.join(counts)}: medians take their place, and models know where they are")
    names = [name for name in numbers if frame[name].dtype.kind in "iu" and len(frame) >= 100 and frame[name].is_unique]
    if names:
        notes.append(f"whole numbers, distinct in every row: {', '.join(names)}; --drop those that only number rows")
    return notes
