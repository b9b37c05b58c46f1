"""Fit a CV estimator to a table as it is, or one for each of several classes, and say what was done."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from symloss.audit import Noise
from symloss.columns import Encoding, as_text
from symloss.corruption import check_contamination
from symloss.estimators import AUCClassifierCV, BERClassifierCV
from symloss.messages import argument, row_name
from symloss.tabular.checks import WARNING, Profile, check_table
from symloss.tabular.evaluation import rows_of, with_columns, with_quality, wrong_probability
from symloss.tabular.given_labels import read_labels
from symloss.tabular.model import Rows, TableModel, features_of
from symloss.tabular.reading import Read, ReadOptions, check_columns, labeled_table

if TYPE_CHECKING:
    from pandas import DataFrame

Array = NDArray[np.float64]
ESTIMATORS = {"auc": AUCClassifierCV, "ber": BERClassifierCV}


def fit(
    data: Any,
    label: str,
    *,
    risk: str = "auc",
    positive: Any = None,
    unlabeled: str | None = None,
    drop: str | Sequence[str] = (),
    weight: str | None = None,
    group: str | None = None,
    pi: float | None = None,
    pi_prime: float | None = None,
    candidates: Any = None,
    max_categories: int = 50,
    time_limit: float | None = None,
    random_state: int = 0,
    n_jobs: int | None = 1,
    progress: Callable[[str, int, int], None] | None = None,
    tell: Callable[[str], None] | None = None,
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
    group : str, optional
        A column of groups, such as a customer: rows of one group are in the same fold. It is not used as a feature.
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
    tell : callable, optional
        Called with each note on the table before anything is fitted. By default, what a colleague would point out,
        such as a column that copies the label, is a warning of Python.
    sep, decimal, encoding, sheet : optional
        How a file is written, where that is not found: what separates values, ``"."`` or ``","`` before decimals,
        the encoding of text, and the sheet of an Excel file by its name or number.

    Returns
    -------
    TableModel
        The model, with ``predict``, ``score``, ``notes`` and ``save``.

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
    if risk not in ESTIMATORS:
        raise ValueError(f"the risk must be {' or '.join(ESTIMATORS)}, got {risk!r}")
    if time_limit is not None and not time_limit > 0:
        raise ValueError(f"{argument('time_limit')} must be a number of seconds above 0, got {time_limit:g}")
    if (pi is None) != (pi_prime is None):
        raise ValueError(f"give both pi and pi' or neither, got {pi} and {pi_prime}")
    if pi is not None and pi_prime is not None:
        check_contamination(pi, pi_prime)
    options = ReadOptions(sep, decimal, encoding, sheet)
    frame, read_notes, sign, _ = data if isinstance(data, Read) else labeled_table(data, label, options=options)
    dropped = [drop] if isinstance(drop, str) else list(drop)
    beside = [name for name in (weight, group) if name]
    for names, what in (([label], "the label"), (dropped, "to drop"), (beside, "the weight or the group")):
        check_columns(names, frame, what)
    if label in (*dropped, *beside) or weight in (*dropped, group or label):
        raise ValueError("the label, the weight, the group and the columns to drop must be different columns")

    chosen = None if positive is None else as_text(positive)
    labels, is_positive, numbers, label_notes = read_labels(frame[label], chosen, unlabeled)
    columns, frame = frame.columns, frame.iloc[numbers]
    weights = weights_of(frame, weight)
    used = weights > 0  # a row of weight 0 counts as no row
    for value, count in zip(labels, (int((~is_positive[used]).sum()), int(is_positive[used].sum())), strict=True):
        if count < 2:
            raise ValueError(
                f"column {label!r}, the label: {as_text(value)!r} has {count} {'row' if count == 1 else 'rows'}"
                f"{' of weight above 0' * bool(weight)}; two are needed, one to learn from and one to judge by"
            )
    features = frame.drop(columns=list({label, *dropped, *beside}))
    encoder = Encoding.fit(features[used], max_categories, rows=weights.sum())
    encoded = features_of(features, encoder)
    values = encoded.to_numpy()[used]

    warned = check_table(features[used], encoder, values, is_positive[used], weights[used])
    (negative, larger), count = map(as_text, labels), int(is_positive.sum())
    why = "" if chosen or unlabeled else ", the larger label"
    notes = [
        f"label {label}: {larger!r} is positive ({count} rows){why}; {negative!r} is negative "
        f"({len(is_positive) - count} rows)",
        *label_notes,
        *_column_notes(features, encoder),
        *(WARNING + sentence for sentence in warned),
    ]
    for note in notes:
        if tell is not None:
            tell(note)
        elif note.startswith(WARNING):
            warnings.warn(note.removeprefix(WARNING), stacklevel=2)

    estimator = ESTIMATORS[risk](
        candidates,
        pi=pi,
        pi_prime=pi_prime,
        time_limit=time_limit,
        random_state=random_state,
        n_jobs=n_jobs,
    )
    learn(estimator, encoded, is_positive, weights, frame, group, progress)
    rows = Rows(numbers, is_positive, weights, unlabeled is not None, np.zeros(len(numbers), bool))
    profile = Profile.of(columns, encoder, values)
    model = TableModel(estimator, encoder, label, labels, (*read_notes, *notes), profile, sign, rows, weight, group)
    return with_quality(model) if rows.unlabeled else model  # by shares of either class: only one has wrong labels


def learn(
    estimator: Any,
    features: DataFrame,
    positive: NDArray[np.bool_],
    weights: Array,
    frame: DataFrame,
    group: str | None,
    progress: Callable[[str, int, int], None] | None,
) -> None:
    """Fit an estimator to the rows of a table; the progress bar is not kept with it."""
    code = frame[group].factorize()[0] if group else None
    groups = None if code is None else np.where(code < 0, -1 - np.arange(len(code)), code)  # a missing one is alone
    if progress is not None:
        estimator.set_params(callback=lambda stage, done, total, _: progress(stage, done, total))
    weighted = None if (weights == 1).all() else weights
    estimator.fit(features, positive.astype(np.int64), sample_weight=weighted, groups=groups)
    estimator.set_params(callback=None)


def weights_of(frame: DataFrame, weight: str | None) -> Array:
    """Return the weights of the rows of a table, 1 if it has no column of them."""
    if weight is None:
        return np.ones(len(frame))
    series = frame[weight]
    try:
        weights = np.asarray(series.to_numpy(dtype=np.float64, na_value=np.nan))
    except (TypeError, ValueError):
        raise ValueError(f"column {series.name!r}, the weight, must hold numbers") from None
    wrong = ~(np.isfinite(weights) & (weights >= 0))
    if wrong.any():
        first = row_name(series.index[wrong].tolist()[0])
        where = f"in {wrong.sum()} rows, the first of them {first}" if wrong.sum() > 1 else f"in {first}"
        raise ValueError(f"column {series.name!r}, the weight, is missing, negative or infinite {where}")
    return weights


def _column_notes(frame: DataFrame, encoder: Encoding) -> Iterator[str]:
    """Yield sentences that say what is done with the columns."""
    yield f"{len(frame)} rows, {len(encoder.forms)} columns as {len(encoder.features)} features"
    if encoder.categorical:
        counts = (f"{name} ({count} categories)" for name, count in encoder.categorical.items())
        yield f"one-hot encoded: {', '.join(counts)}"
    for name, form in encoder.forms.items():
        if form.decision != "numbers" and name not in encoder.categorical:
            yield f"{name}: {form.decision}"
    if encoder.dropped:
        yield "dropped: " + ", ".join(f"{name} ({reason})" for name, reason in encoder.dropped.items())
    numbers = [name for name, form in encoder.forms.items() if form.measured]
    missing = [f"{name} ({count} rows)" for name in numbers if (count := int(frame[name].isna().sum()))]
    if missing:
        yield f"missing values in {', '.join(missing)}: medians take their place, and models know where they are"


def audit_classes(
    data: Read, label: str, ids: Sequence[str], tell: Callable[[str], None], **options: Any
) -> tuple[DataFrame, dict[str, tuple[int, Noise]]]:
    """Return all labeled rows as ``label_table`` does, and for each class how many rows it has and how noisy they are.

    A label is judged by the model of its class, and the suggestion is the class that is likeliest by its own model.
    """
    given = data.frame[label].map(as_text, na_action="ignore").astype(object).str.strip()
    counts, found = given.value_counts(), {}
    classes, used = sorted(counts.index[counts > 1]), given.isin(counts.index[counts > 1])
    if len(classes) < 2:
        raise ValueError(f"column {label!r}, the label, must have two classes of two or more rows, got {len(classes)}")
    if few := sorted(counts.index[counts == 1]):
        tell(f"label {label}: left out, as they have one row each: {', '.join(map(repr, few))}")
    frame, given = data.frame[used], given[used]
    right = np.zeros((len(frame), len(classes)))
    for k, name in enumerate(classes):
        one = frame.assign(**{label: np.where(given == name, name, "any other label")}).reset_index(drop=True)
        notes = (lambda _: None) if k else tell  # they are the same of each class
        model = fit(data._replace(frame=one), label, tell=notes, **options | {"positive": name})
        wrong = wrong_probability(model)
        right[:, k] = np.where(rows_of(model).positive, 1 - wrong, wrong)
        found[name] = int((given == name).sum()), model.noise
    own = (np.arange(len(frame)), [classes.index(name) for name in given])
    wrong, right[own] = 1 - right[own], -1.0
    suggested = np.where(wrong > 0.5, np.array(classes, object)[right.argmax(1)], "")
    listed = np.flatnonzero(used) + 1, given, suggested, wrong.round(4), "ranked", ""
    table = with_columns(listed, frame, ids, label)
    return table.iloc[np.argsort(-wrong, kind="stable")].reset_index(drop=True), found
