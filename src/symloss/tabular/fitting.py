"""Fit a CV estimator to a table, and describe what was done with its columns."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from symloss.columns import Encoding, as_text
from symloss.estimators import AUCClassifierCV, BERClassifierCV
from symloss.metrics import clean_auc
from symloss.naming import named, place
from symloss.tabular.cautions import MARK, cautions
from symloss.tabular.differences import Profile
from symloss.tabular.given_labels import read_labels
from symloss.tabular.model import TableModel
from symloss.tabular.reading import check_columns

if TYPE_CHECKING:
    from pandas import DataFrame, Series

Array = NDArray[np.float64]
Progress = Callable[[str, int, int], None]
Tell = Callable[[str], None]
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
    unlabeled: bool = False  # whether the rows that are not labeled positive have no label


def fit_table(
    frame: DataFrame,
    label: str,
    *,
    risk: str = "auc",
    positive: str | None = None,
    unlabeled: str | None = None,
    drop: Sequence[str] = (),
    weight: str | None = None,
    pi: float | None = None,
    pi_prime: float | None = None,
    candidates: Any = None,
    max_categories: int = 50,
    time_limit: float | None = None,
    seed: int = 0,
    jobs: int | None = 1,
    progress: Progress | None = None,
    tell: Tell | None = None,
    notes: Sequence[str] = (),
    decimal: str | None = None,
) -> Fitted:
    """Fit ``AUCClassifierCV`` or ``BERClassifierCV`` to a table.

    Parameters
    ----------
    frame : DataFrame
        Its columns become features as ``Encoding`` says.
    label : str
        The column of labels, of two distinct values. Rows without a label are left out.
    risk : {"auc", "ber"}
        The risk to minimize: ``"auc"`` ranks rows well, ``"ber"`` classifies them well.
    positive : str, optional
        The positive label; by default the larger of the two.
    unlabeled : {"positive-unlabeled"}, optional
        Take the rows without a label as unlabeled data instead, if all others have the same label, the positive one.
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
        The largest number of distinct texts that are one-hot encoded; a column with more of them is hashed.
    time_limit : float, optional
        After how many seconds no more candidates are scored.
    seed, jobs
        ``random_state`` and ``n_jobs`` of the estimator.
    progress : callable, optional
        Called as ``progress(stage, done, total)`` whenever a candidate has been fitted: ``stage`` says what is being
        done, and ``done`` of ``total`` fits of this stage have ended.
    tell : callable, optional
        Called with each note on the labels and columns, and with each warning, before anything is fitted.
    notes : sequence of str
        What was done before, such as when the table was read; it stands in the model, too.
    decimal : {".", ","}, optional
        The sign before decimals in the file of the table; it stands in the model, for files to predict.

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
    _check_options(risk, pi, pi_prime, time_limit)
    check_columns([label], frame, "the label")
    check_columns(drop, frame, "to drop")
    check_columns([weight] if weight else [], frame, "the weight")
    if label in drop or (weight and weight in (label, *drop)):
        raise ValueError("the label, the weight and the columns to drop must be different columns")
    columns, (labels, is_positive, rows, label_notes) = frame.columns, read_labels(frame[label], positive, unlabeled)
    frame = frame.iloc[rows]
    weights = _weights(frame[weight]) if weight else np.ones(len(frame))
    features = frame.drop(columns=[label, *drop, *([weight] if weight else [])])
    used = weights > 0  # a row of weight 0 counts as no row
    if not (used[is_positive].any() and used[~is_positive].any()):
        raise ValueError(f"column {weight!r}, the weight, must be above 0 in rows of both labels")
    _check_two_rows(label, labels, is_positive[used])
    encoding = Encoding.fit(features[used], max_categories, rows=weights.sum())
    values = encoding.transform(features).values
    warnings = cautions(features[used], encoding, values[used], is_positive[used], weights[used])
    of_table = [
        _label_note(label, labels, is_positive, positive or unlabeled),
        *label_notes,
        *_notes(features, encoding),
        *(MARK + warning for warning in warnings),
    ]
    if tell is not None:
        for note in of_table:
            tell(note)
    notes = [*notes, *of_table]
    callback = None if progress is None else lambda stage, done, total, _: progress(stage, done, total)
    estimator = ESTIMATORS[risk](
        candidates,
        pi=pi,
        pi_prime=pi_prime,
        time_limit=time_limit,
        random_state=seed,
        n_jobs=jobs,
        callback=callback,
    )
    _fit(estimator, encoding, values, is_positive, weights if weight else None)
    estimator.set_params(callback=None)  # the model is kept, but the progress bar is not
    profile = Profile.of(columns, encoding, values[used])
    model = TableModel(estimator, encoding, label, labels, tuple(notes), profile, decimal)
    return Fitted(model, is_positive, weights, notes, rows, unlabeled is not None)


def _fit(estimator: Any, encoding: Encoding, values: Array, positive: NDArray[np.bool_], weight: Any) -> None:
    import pandas as pd

    features = pd.DataFrame(values, columns=encoding.features)
    estimator.fit(features, positive.astype(np.int64), sample_weight=weight)


def _check_options(risk: str, pi: float | None, pi_prime: float | None, time_limit: float | None) -> None:
    if risk not in ESTIMATORS:
        raise ValueError(f"the risk must be {' or '.join(ESTIMATORS)}, got {risk!r}")
    if time_limit is not None and not time_limit > 0:
        raise ValueError(f"{named('time_limit')} must be a number of seconds above 0, got {time_limit:g}")
    if (pi is None) != (pi_prime is None):
        raise ValueError(f"give both pi and pi' or neither, got {pi} and {pi_prime}")
    if pi is not None and pi_prime is not None:
        clean_auc(0.5, pi, pi_prime)  # raises if they are invalid, before the fit rather than after


def _check_two_rows(label: str, labels: tuple[Any, Any], is_positive: NDArray[np.bool_]) -> None:
    for value, count in zip(labels, (int((~is_positive).sum()), int(is_positive.sum())), strict=True):
        if count < 2:
            raise ValueError(
                f"column {label!r}, the label: only one row is labeled {as_text(value)!r}; two are needed, one to "
                "learn from and one to judge by"
            )


def _weights(series: Series) -> Array:
    try:
        weights = np.asarray(series.to_numpy(dtype=np.float64, na_value=np.nan))
    except (TypeError, ValueError):
        raise ValueError(f"column {series.name!r}, the weight, must hold numbers") from None
    wrong = ~(np.isfinite(weights) & (weights >= 0))
    if wrong.any():
        first = place(series.index[wrong].tolist()[0])
        where = f"in {wrong.sum()} rows, the first of them {first}" if wrong.sum() > 1 else f"in {first}"
        raise ValueError(f"column {series.name!r}, the weight, is missing, negative or infinite {where}")
    return weights


def _label_note(label: str, labels: tuple[Any, Any], is_positive: NDArray[np.bool_], chosen: str | None) -> str:
    count, larger = int(is_positive.sum()), "" if chosen is not None else ", the larger label"
    return (
        f"label {label}: {as_text(labels[1])!r} is positive ({count} rows){larger}; "
        f"{as_text(labels[0])!r} is negative ({len(is_positive) - count} rows)"
    )


def _spaces(frame: DataFrame, encoding: Encoding) -> Iterator[str]:
    """Yield notes on texts with spaces around them, which do not count."""
    for name in [column.name for column in encoding.columns if not column.is_measured]:
        texts = (value for value in frame[name].dropna().unique() if isinstance(value, str))
        spaced = [text for text in texts if text != text.strip()]
        if spaced:
            rows = int(frame[name].isin(spaced).sum())
            yield f"{name}: spaces around texts do not count, as in {spaced[0]!r} ({rows} rows)"


def _notes(frame: DataFrame, encoding: Encoding) -> list[str]:
    """Return notes that say what is done with the columns."""
    notes = [f"{len(frame)} rows, {len(encoding.columns)} columns as {len(encoding.features)} features"]
    if encoding.categorical:
        counts = (f"{name} ({count} categories)" for name, count in encoding.categorical.items())
        notes.append(f"one-hot encoded: {', '.join(counts)}")
    written = [f"{column.name}: {column.form.decision}" for column in encoding.columns if column.form is not None]
    notes += written
    notes += _spaces(frame, encoding)
    if encoding.dropped:
        notes.append("dropped: " + ", ".join(f"{name} ({reason})" for name, reason in encoding.dropped.items()))
    numbers = [column.name for column in encoding.columns if column.is_measured]
    missing = {name: int(count) for name in numbers if (count := frame[name].isna().sum())}
    if missing:
        counts = (f"{name} ({count} rows)" for name, count in missing.items())
        notes.append(f"missing values in {', '.join(counts)}: medians take their place, and models know where they are")
    return notes
