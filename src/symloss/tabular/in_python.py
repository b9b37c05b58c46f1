"""What ``symloss fit`` does, in Python: from a table as it is to a model."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from typing import Any

from symloss.columns import as_text
from symloss.tabular.cautions import MARK
from symloss.tabular.fitting import Progress, fit_table
from symloss.tabular.model import TableModel
from symloss.tabular.reading import ReadOptions, labeled_table


def fit(
    data: Any,
    label: str,
    *,
    risk: str = "auc",
    positive: Any = None,
    unlabeled: str | None = None,
    drop: str | Sequence[str] = (),
    weight: str | None = None,
    pi: float | None = None,
    pi_prime: float | None = None,
    candidates: Any = None,
    max_categories: int = 50,
    time_limit: float | None = None,
    random_state: int = 0,
    n_jobs: int | None = 1,
    progress: Progress | None = None,
    sep: str | None = None,
    decimal: str | None = None,
    encoding: str | None = None,
    sheet: str | int | None = None,
) -> TableModel:
    """Fit a model to a table as it is, with labels that may be corrupted: what ``symloss fit`` does and saves.

    Parameters
    ----------
    data : pandas or polars DataFrame, str or Path
        The table, or the path of a file that ``symloss fit`` reads; ``notes`` of the model say what was done with each
        column. From a CSV file, labels are read as text.
    label : str
        The column of labels, of two distinct values.
    risk : {"auc", "ber"}
        The risk to minimize: ``"auc"`` ranks rows well, ``"ber"`` classifies them well.
    positive : optional
        The positive label; by default the larger of the two.
    unlabeled : {"positive-unlabeled"}, optional
        Take the rows without a label as unlabeled data instead, if all others have the same label, the positive one.
        By default they are left out.
    drop : str or sequence of str
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
        After how many seconds no more candidates are scored, as in ``AUCClassifierCV``.
    random_state, n_jobs
        The seed of all random numbers, and how many fits run at a time.
    progress : callable, optional
        Called as ``progress(stage, done, total)`` whenever a candidate has been fitted.
    sep, decimal, encoding, sheet : optional
        How a file is written, where that is not found: what separates values, ``"."`` or ``","`` before decimals,
        the encoding of text, and the sheet of an Excel file by its name or number.

    Returns
    -------
    TableModel
        The model, with ``predict``, ``score``, ``notes`` and ``save``. What a colleague would point out in the table,
        such as a column that copies the label, is a warning.

    Examples
    --------
    >>> import numpy as np, pandas as pd, symloss as sl
    >>> generator = np.random.default_rng(0)
    >>> frame = pd.DataFrame({"age": generator.uniform(18, 80, 200), "plan": generator.choice(["a", "b"], 200)})
    >>> frame["churn"] = np.where((frame["age"] > 50) ^ (generator.random(200) < 0.2), "yes", "no")
    >>> model = fit(frame, label="churn", candidates=[("linear", sl.AUCClassifier())])
    >>> model.predict(pd.DataFrame({"plan": ["a", "b"], "age": [20, 75]})).labels
    ['no', 'yes']
    >>> print(model.notes[1])
    200 rows, 2 columns as 3 features
    """
    frame, notes, options = labeled_table(data, label, options=ReadOptions(sep, decimal, encoding, sheet))
    fitted = fit_table(
        frame,
        label,
        risk=risk,
        positive=None if positive is None else as_text(positive),
        unlabeled=unlabeled,
        drop=[drop] if isinstance(drop, str) else list(drop),
        weight=weight,
        pi=pi,
        pi_prime=pi_prime,
        candidates=candidates,
        max_categories=max_categories,
        time_limit=time_limit,
        seed=random_state,
        jobs=n_jobs,
        progress=progress,
        notes=notes,
        decimal=options.decimal,
    )
    for note in fitted.notes:
        if note.startswith(MARK):
            warnings.warn(note.removeprefix(MARK), stacklevel=2)
    model: TableModel = fitted.model
    return model
