"""Labels that somebody has checked: how many others are wrong, and the model anew on the corrected labels."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.stats import beta
from sklearn.base import clone
from sklearn.utils.validation import has_fit_parameter

from symloss.audit import Noise
from symloss.columns import as_text
from symloss.corruption import to_flip_rates
from symloss.models.family import TrainingData
from symloss.tabular.checks import sha256_of
from symloss.tabular.evaluation import LEVEL, before_review, rows_of, with_quality, wrong_probability
from symloss.tabular.fitting import learn, weights_of
from symloss.tabular.given_labels import match_labels
from symloss.tabular.model import Review, Rows, TableModel, features_of
from symloss.tabular.reading import TO_BE_FOUND, ReadOptions, check_columns, read, read_pieces

if TYPE_CHECKING:
    from pandas import DataFrame

Array = NDArray[np.float64]
Places = NDArray[np.intp]
_PRIOR = 4.0  # what the model thinks of a class counts as so many more checked labels of it
_LEAST = 0.02  # of pi - pi': labels that say nothing at all are not believed in
_LEAST_WEIGHT = 0.1
_WRITTEN = ("given_label", "why", "checked_label")


class Reviewed(NamedTuple):
    """The model that was fitted to corrected labels, and the table with these: as values, and as it is written."""

    model: TableModel
    frame: DataFrame
    table: DataFrame


def review(
    data: Any,
    checked: Any,
    model: TableModel,
    *,
    n_jobs: int | None = 1,
    progress: Callable[[str, int, int], None] | None = None,
    options: ReadOptions = TO_BE_FOUND,
) -> Reviewed:
    """Correct labels that somebody has checked, estimate from them how many others are wrong, and fit the model anew.

    The most suspicious rows are all known, up to the last one that was checked. Of the others, those that are listed
    as random are a simple random sample: the share of wrong labels there, with a 90% interval, is that of them all.

    Parameters
    ----------
    data : pandas or polars DataFrame, str or Path
        The table that the model was fitted to.
    checked : DataFrame, str or Path
        ``labels.csv``, or some rows of it, with what somebody found in the column ``checked_label``.
    model : TableModel
        The model that wrote it.
    n_jobs, progress, options
        As in ``fit``; ``options`` say how the file of the table is written.

    Returns
    -------
    Reviewed
        The new ``model``, whose ``review`` says what was found, and the ``table`` with corrected labels.

    Examples
    --------
    >>> import pandas as pd, symloss as sl
    >>> y = ["no"] * 30 + ["yes"] * 30
    >>> frame = pd.DataFrame({"x": np.arange(60.0) / 7, "y": [*y[:3], "yes", *y[4:]]})  # the fourth label is wrong
    >>> model = sl.tabular.fit(frame, "y", candidates=[("linear", sl.AUCClassifier())])
    >>> labels = sl.tabular.label_table(model, frame)[:20]
    >>> labels["checked_label"] = [y[row - 1] for row in labels["row"]]  # what somebody finds who looks at these rows
    >>> found = review(frame, labels, model)
    >>> found.table["y"][3], found.model.review.checked, found.model.review.changed
    ('no', 20, [3])
    """
    label = model.label
    if model.labels[0] == f"not {as_text(model.labels[1])}":
        raise ValueError("a review needs labels of two values, and these are positive and unlabeled rows")
    if isinstance(data, (str, Path)):
        options = options._replace(usual_decimal=model.decimal)
        (found,) = read_pieces(data, None, options, {*model.encoding.texts, label})
        frame, table = found.frame, found.written[found.frame.columns].copy()
        check_columns([label], frame, "the label")
        values = [as_text(value) for value in model.labels]
        beside = [name for name in frame if name not in (*model.columns, model.weight, model.group)]
        frame[beside] = table[beside]  # the label, and what tells rows apart, as they are written
    else:
        frame, values = read(data, options).frame.copy(), list(model.labels)
        table = frame
    check_columns([label, *model.columns, *filter(None, (model.weight, model.group))], frame, "which the model needs")
    given = match_labels(frame[label], model.labels)
    wrong = wrong_probability(model)
    used = frame.iloc[given.rows]
    weights, features = weights_of(used, model.weight), features_of(used, model.encoding)
    if sha256_of(features.to_numpy()[weights > 0]) != model.profile.sha256:
        raise ValueError(
            "the table must be that of the fit, got one with other values, or with its rows in another order"
        )
    place, truth, random = _looked_at(checked, model, given.rows, given.positive)
    positive, known = given.positive.copy(), (wrong == 0) & (model.review is not None)  # in reviews before this one
    positive[place], known[place] = truth, True
    wrong_before, noise = _shares(random, known, given.positive, positive, wrong)

    estimator = clone(model.estimator).set_params(n_jobs=n_jobs, pi=None, pi_prime=None)
    estimator.noise_ = noise or model.noise
    changed = place[truth != given.positive[place]]
    ever = {*changed.tolist()} ^ {*(model.review.changed if model.review else ())}
    random_wrong = int((given.positive != positive)[random].sum())
    said = Review(int(known.sum()), sorted(ever), len(random), random_wrong, wrong_before, np.nan, np.nan)
    rows = Rows(given.rows, positive, weights, False, known)
    fitted = replace(model, estimator=estimator, rows=rows, review=said)
    counts = _counts(fitted)
    learn(estimator, features, positive, weights * np.where(known, 1.0, counts), used, model.group, progress)
    data = TrainingData(features, positive, weights)  # threshold and probabilities are for rows that count the same
    estimator._set_threshold(estimator.oof_scores_ + estimator.threshold_, data, np.arange(len(positive)))
    estimator.noise_ = noise or estimator.noise_
    held_out = ~np.isnan(estimator.oof_scores_) & ~np.isnan(model.estimator.oof_scores_)
    scores = [
        float(estimator._metric.score(each.oof_scores_[held_out], positive[held_out], weights[held_out]))
        for each in (model.estimator, estimator)
    ]
    column = frame[label].astype(object).to_numpy(copy=True)
    column[given.rows[changed]] = [values[int(positive[k])] for k in changed]
    frame[label] = column
    frame[label] = table[label] = frame[label].infer_objects()
    notes = (*model.notes, f"label {label}: in a review, {len(changed)} of these were corrected")
    if counts < 1:
        notes += (f"label {label}: one that nobody has checked counts {counts:.2f} times as much as one that is",)
    if model.rates_given:
        notes += (f"label {label}: the shares of wrong labels that you gave before the review count no more",)
    said = said._replace(score_before=scores[0], score_after=scores[1])
    return Reviewed(with_quality(replace(fitted, review=said, notes=notes)), frame, table)


def _counts(model: TableModel) -> float:
    """Return how much a label that nobody has checked counts in a fit, if one that is checked counts 1.

    With labels that are flipped at the rates e+ and e-, the share of positive labels rises 1 - e+ - e- times as much
    from a clean negative to a clean positive. So their average with labels that are right errs least if they count
    so much. Where labels are corrected was chosen by the scores: with the same weight, these would be learned again.
    """
    if not all(has_fit_parameter(each, "sample_weight") for _, each in model.estimator.candidates or ()):
        return 1.0
    labeled, rates = before_review(model)
    share = np.average(labeled, weights=rows_of(model).weight)
    flips = to_flip_rates(rates, float(share * rates.pi + (1 - share) * rates.pi_prime))
    return max(_LEAST_WEIGHT, 1 - flips.positive - flips.negative)


def _looked_at(
    checked: Any, model: TableModel, rows: Places, positive: NDArray[np.bool_]
) -> tuple[Places, NDArray[np.bool_], Places]:
    """Return the places of the checked rows among those of the fit, the truth, and the places of the random ones."""
    frame = read(checked, written=_WRITTEN).frame
    check_columns([*_WRITTEN, "row", "wrong_probability"], frame, "as in labels.csv")
    frame = frame[frame["checked_label"].notna() & (frame["checked_label"].astype(str).str.strip() != "")]
    if frame.empty:
        raise ValueError("no row has a checked_label: write the true labels there, and leave the others empty")
    truth = match_labels(frame["checked_label"], model.labels).positive
    number = frame["row"].astype(np.intp).to_numpy() - 1
    if (twice := frame["row"].duplicated().to_numpy()).any():
        raise ValueError(f"row {number[np.argmax(twice)] + 1} is twice in the list of checked labels: leave one out")
    place = np.searchsorted(rows, number).clip(0, len(rows) - 1)
    listed = match_labels(frame["given_label"], model.labels)
    odd = (rows[place] != number) | ~np.isin(np.arange(len(frame)), listed.rows)
    odd[listed.rows] |= listed.positive != positive[place][listed.rows]
    if odd.any():
        raise ValueError(
            f"row {int(number[np.argmax(odd)]) + 1} has another label in the table than in the list of checked labels: "
            "give the table that the model was fitted to"
        )
    probability = frame["wrong_probability"].replace("", None).astype(float).to_numpy()
    last = np.nanmin(probability[(frame["why"] == "ranked").to_numpy()], initial=np.inf)
    return place, truth, place[(frame["why"] == "random").to_numpy() & (probability <= last)]


def _shares(
    random: Places, known: NDArray[np.bool_], given: NDArray[np.bool_], positive: NDArray[np.bool_], wrong: Array
) -> tuple[tuple[float, ...] | None, Noise | None]:
    """Return the share of wrong labels before the review and the noise after it; None if too few rows are random."""
    n, unknown, differs = len(given), ~known, given != positive
    if len(np.unique(given[random])) < 2:
        return None, None
    shares, expected = [], 0.0
    for label in (True, False):
        rest, of = unknown & (given == label), random[given[random] == label]
        left = _left(int(rest.sum()), len(of), int(differs[of].sum()), float(np.nansum(wrong[rest])))
        expected += left[0]
        shares.append(left / max(1, int((positive == label).sum())))
    low, high = _left(int(unknown.sum()), len(random), int(differs[random].sum()), 0.0)[1:]
    before = [float((differs.sum() + each) / n) for each in (np.clip(expected, low, high), low, high)]
    of_positive, of_negative = shares
    shrink = min(1.0, (1 - _LEAST) / max(of_positive[0] + of_negative[0], 1e-9))
    pi, pi_high, pi_low = (1 - of_positive * [shrink, 1, 1]).tolist()
    return tuple(before), Noise(pi, pi_low, pi_high, *(of_negative * [shrink, 1, 1]).tolist())


def _left(rest: int, random: int, wrong: int, expected: float) -> Array:
    """Return how many of the rows that nobody has looked at are wrong, by those that are random, with a 90% interval.

    ``expected`` is how many of them are wrong by the model.
    """
    of_share, tail = beta(wrong + 0.5, random - wrong + 0.5), (1 - LEVEL) / 2  # Jeffreys
    low = of_share.ppf(tail) if wrong else 0.0
    high = of_share.ppf(1 - tail) if wrong < random else 1.0
    value = np.clip((wrong + 0.5 + _PRIOR * expected / max(1, rest)) / (random + 1 + _PRIOR), low, high)
    found: Array = np.clip((rest + random) * np.array([value, low, high]) - wrong, 0, rest)
    return found
