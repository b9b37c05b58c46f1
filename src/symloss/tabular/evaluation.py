"""What out-of-fold scores tell of a table: how noisy its labels are, which to check, and which columns matter."""

from __future__ import annotations

import copy
import time
import warnings
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import product
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from symloss.audit import Noise, label_quality
from symloss.columns import as_text
from symloss.corruption import Contamination
from symloss.estimators.folds import split
from symloss.estimators.selection import falls
from symloss.machines import one_thread
from symloss.metrics import Estimate, estimate_clean_auc, estimate_clean_balanced_accuracy
from symloss.metrics.estimates import clean_auc_of, clean_balanced_accuracy_of
from symloss.metrics.scores import Sample, two_samples
from symloss.models.family import TrainingData
from symloss.tabular.model import Review, Rows, TableModel

if TYPE_CHECKING:
    from pandas import DataFrame

Array = NDArray[np.float64]
LEVEL = 0.9  # of the intervals of the noise
_ROWS = 2500  # of a label: enough to tell which columns matter, and few enough to fit again in seconds
OWN = ("row", "given_label", "suggested_label", "wrong_probability", "why", "checked_label")
_BLOCK = 20  # rows that somebody checks before asking whether to go on
_LISTED, _RANDOM = 400, 4  # of so many rows at the head of the list every fourth is random
_WIDE = 0.3  # an interval of a share of wrong labels
_LEAST = 0.02  # of pi - pi': at 0 labels would say nothing
_FEW = 0.1  # the share of wrong labels in a block at which checking is hardly worth it


@dataclass(frozen=True)
class Evaluation:
    """What out-of-fold scores tell about the labels of a table: of the rows that have such a score."""

    scores: Array  # out of fold, above 0 for the positive label
    positive: NDArray[np.bool_]
    weight: Array
    unlabeled: bool  # whether the rows that are not labeled positive have no label
    noise: Noise
    rates: Contamination
    rates_given: bool  # to the fit
    auc: Estimate  # on the labels given, as is the next
    balanced_accuracy: Estimate
    clean_auc: Estimate  # on clean labels, as is the next; between those of all rates that are possible
    clean_balanced_accuracy: Estimate
    warnings: tuple[str, ...]  # what is odd about these estimates
    samples: tuple[Sample, Sample]
    possible: Sequence[Contamination]  # the rates, and what else they may be: nothing if they were given
    review: Review | None = None

    @property
    def basis(self) -> str:
        """What the estimate of the noise rests on."""
        if self.review is None or self.review.wrong_before is None:
            return (
                "by comparison with other tables in which we know which labels are wrong; if a rule made your labels "
                "from these columns, they look right even where they are wrong"
            )
        return f"by the labels that you checked, {self.review.random} of them random"

    @property
    def share_labeled_positive(self) -> float:
        """The share of the rows, by weight, that is labeled positive."""
        return float(self.weight[self.positive].sum() / self.weight.sum())

    @property
    def prior(self) -> float:
        """The share of the rows that is truly positive."""
        share = self.share_labeled_positive
        return share * self.rates.pi + (1 - share) * self.rates.pi_prime

    @property
    def wrong_share(self) -> Estimate:
        """The share of all labels that is wrong; the interval of an estimate adds up those of both labels."""

        def wrong(pi: float, pi_prime: float) -> float:
            return self.share_labeled_positive * (1 - pi) + (1 - self.share_labeled_positive) * pi_prime

        noise, value = self.noise, wrong(*self.rates)
        ends = wrong(noise.pi_high, noise.pi_prime_low), wrong(noise.pi_low, noise.pi_prime_high)
        return Estimate(value, *((value, value) if self.rates_given else ends), LEVEL)

    @property
    def has_signal(self) -> bool:
        """Whether the scores tell the labels apart, beyond what chance could do."""
        return self.auc.low > 0.5


def rows_of(model: TableModel) -> Rows:
    """Return the rows that a model was fitted to; a model that was loaded does not have them."""
    if model.rows is None:
        raise ValueError("the rows of the fit are not known: they are not saved with a model")
    return model.rows


def with_rates(model: TableModel, pi: float, pi_prime: float) -> TableModel:
    """Return a model that goes by other rates of the noise, without a fit: its probabilities, labels and costs."""
    rows, estimator = rows_of(model), copy.copy(model.estimator).set_params(pi=pi, pi_prime=pi_prime)
    used, clean = ~np.isnan(estimator.label_quality_), model.score_name == "AUC"
    estimate = estimate_clean_auc if clean else estimate_clean_balanced_accuracy
    labeled, rates = before_review(replace(model, estimator=estimator))
    samples = estimator.oof_scores_[used], labeled[used]
    estimator.clean_score_ = estimate(*samples, *rates, weight=rows.weight[used])
    return with_quality(replace(model, estimator=estimator))


def before_review(model: TableModel) -> tuple[NDArray[np.bool_], Contamination]:
    """Return the labels before any review, and their rates: what a review has corrected, and what is left."""
    positive, rates = rows_of(model).positive, model.rates
    if model.review is None:
        return positive, rates
    labeled = positive.copy()
    labeled[list(model.review.changed)] ^= True
    wrong = []
    for of, left in ((True, 1 - rates.pi), (False, rates.pi_prime)):
        known = ((labeled == of) & (labeled != positive)).sum()
        wrong.append(float((known + left * (positive == of).sum()) / max(1, (labeled == of).sum())))
    shrink = min(1.0, (1 - _LEAST) / max(sum(wrong), 1e-9))
    return labeled, Contamination(1 - shrink * wrong[0], shrink * wrong[1])


def with_quality(model: TableModel) -> TableModel:
    """Return a model whose probabilities of wrong labels are by its rates; labels that were checked are right."""
    rows, estimator = rows_of(model), copy.copy(model.estimator)
    used, quality = ~np.isnan(estimator.label_quality_), np.full(len(rows.positive), np.nan)
    labeled, rates = before_review(model)
    quality[used] = label_quality(estimator.oof_scores_[used], labeled[used], *rates, weight=rows.weight[used])
    estimator.label_quality_ = np.where(rows.checked, 1.0, quality.clip(max=1 - 1e-9))  # 1: somebody has checked it
    return replace(model, estimator=estimator)


def evaluate(model: TableModel) -> Evaluation:
    """Return what the out-of-fold scores of a fit tell."""
    rows, estimator, rates = rows_of(model), model.estimator, model.rates
    used = ~np.isnan(estimator.oof_scores_) & (rows.weight > 0)
    scores, positive, weight = estimator.oof_scores_[used], rows.positive[used], rows.weight[used]
    samples = two_samples(scores, positive, weight, repetitions=True)
    given = clean_auc_of(*samples, 1.0, 0.0), clean_balanced_accuracy_of(*samples, 1.0, 0.0)
    possible = [rates]
    if not model.rates_given:
        share = float(np.average(positive, weights=weight)) if model.review else None
        possible += _ends(model.noise, given[0].low, share)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        clean = (
            hull([clean_auc_of(*samples, *each) for each in possible]),
            hull([clean_balanced_accuracy_of(*samples, *each) for each in possible]),
        )
    odd = tuple(dict.fromkeys(str(each.message) for each in caught)) if model.rates_given else ()
    told = rows.unlabeled, model.noise, rates, model.rates_given
    return Evaluation(scores, positive, weight, *told, *given, *clean, odd, samples, possible, model.review)


def _ends(noise: Noise, auc: float, share: float | None) -> list[Contamination]:
    """Return what the rates may be: none wrong, and the ends of their intervals, as far as the AUC on labels allows.

    Labels that are wrong where the classes meet lower scores on the labels given less than others do: then the scores
    on true labels are near to these. The wrong labels that a review leaves are of rows that look right, as those of a
    rule that the model has learned. At worst, the scores of rows with a label are the same whether it is right or not.
    So scores on true labels are *mixed* from those on labels, and the rates are those that undo it; ``share`` is that
    of the positive labels after a review.
    """
    most, found = 1 - max(2 * auc - 1, _LEAST), [Contamination(1.0, 0.0)]  # corollary 2
    for pi, pi_prime in product((noise.pi_low, noise.pi_high), (noise.pi_prime_low, noise.pi_prime_high)):
        wrong = np.array([1 - pi, pi_prime]) / max(1 - pi + pi_prime, 1e-9)
        of_positive, of_negative = (wrong * min(most, 1 - pi + pi_prime)).tolist()
        found.append(Contamination(1 - of_positive, of_negative))
        if share is not None:
            of_positive, of_negative = (wrong * min(1 - _LEAST, 1 - pi + pi_prime)).tolist()
            prior = share * (1 - of_positive) + (1 - share) * of_negative
            above, below = share * (1 - of_positive) / prior, share * of_positive / (1 - prior)
            found.append(Contamination((1 - below) / (above - below), -below / (above - below)))
    return found


def hull(estimates: Sequence[Estimate]) -> Estimate:
    """Return the first of some estimates with an interval that holds those of all."""
    first, lows, highs = estimates[0], [each.low for each in estimates], [each.high for each in estimates]
    return Estimate(first.value, min(lows), max(highs), first.level)


def percent(share: float) -> str:
    """Return a share in percent, as text."""
    if 0 < share < 0.001:
        return "below 0.1%"
    return f"{share:.1%}" if 0 < share < 0.0095 else f"{share:.0%}"


class Importance(NamedTuple):
    """A column, the mean fall of the score if its values are shuffled, and the standard deviation over folds."""

    column: str
    fall: float
    sd: float | None

    @property
    def is_clear(self) -> bool:
        """Whether the fall is more than chance."""
        return self.fall > (0.01 if self.sd is None else 2 * self.sd)


def column_importance(model: TableModel, frame: DataFrame, seconds: float) -> list[Importance]:
    """Return how much each column matters, the most important first.

    The members are fitted again on each fold, so that no row is scored by a model that has seen its label.
    Of a large table 2,500 rows of each label are used. If all folds would take longer than this, some are left out.
    """
    start, rows, generator = time.monotonic(), rows_of(model), np.random.default_rng(0)
    of_label = (np.flatnonzero((rows.weight > 0) & label) for label in (rows.positive, ~rows.positive))
    some = np.sort(np.concatenate([generator.permutation(each)[:_ROWS] for each in of_label]))
    values = model.encoding.transform(frame.iloc[rows.numbers[some]]).values
    data = TrainingData(values, rows.positive[some], rows.weight[some])
    columns = [*model.encoding.places.values()]
    found: list[Array] = []
    for k, fold in enumerate(split(5, *data, seed=0)):
        if found and (time.monotonic() - start) * (k + 1) / k > seconds:
            break
        with one_thread():
            found.append(falls(model.estimator, data, *fold, columns, 1, k)[:, 0])
    importances = [
        Importance(column, float(fall.mean()), float(fall.std()) if len(fall) > 1 else None)
        for column, fall in zip(model.columns, np.transpose(found), strict=True)
    ]
    return sorted(importances, key=lambda each: -each.fall)


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
    rows, wrong = rows_of(model), wrong_probability(model)
    given, (order, why) = rows.positive.astype(int), _listed(model)
    texts = np.array([as_text(label) for label in model.labels], dtype=object)
    own = (
        rows.numbers + 1,
        np.where(rows.unlabeled & ~rows.positive, "", texts[given]),
        np.where(suspicious(model), texts[1 - given], ""),
        wrong.round(4),
        why,
        np.where(rows.checked, texts[given], ""),
    )
    return with_columns(own, frame.iloc[rows.numbers], ids, model.label).iloc[order].reset_index(drop=True)


def with_columns(own: Sequence[Any], frame: DataFrame, ids: Sequence[str], label: str) -> DataFrame:
    """Return the columns of a list of labels, with those of the table beside them."""
    table = frame[[*ids, *(name for name in frame.columns if name not in (*ids, label))]]
    table = table.rename(columns={name: f"{name}_" for name in OWN})
    for place, values in enumerate(own):
        table.insert(place, OWN[place], values)
    return table


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
    return wrong_in_blocks(wrong_probability(model)[kept], "positive" if rows.unlabeled else "wrong")


def wrong_in_blocks(ordered: Array, what: str = "wrong") -> str:
    """Return the same from how probably the labels of a list are wrong, in its order."""
    ordered, parts = ordered[~np.isnan(ordered)], list[str]()
    for start in range(0, len(ordered), _BLOCK):
        block = ordered[start : start + _BLOCK]
        parts.append(f"of the {'next' if start else 'first'} {len(block)} about {block.sum():.0f}")
        if block.mean() < _FEW or len(parts) == 4:
            break
    if not parts:
        return "All labels are checked."
    first, *others = parts
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
            f"rows beside the most suspicious ones, {review.random_wrong} had a wrong label."
        )
    return [
        f"You have checked {review.checked} labels: {len(review.changed)} were wrong, and are corrected.",
        share,
        f"On the corrected labels the {score}, cross-validated, was {review.score_before:.3f} before the review (a "
        f"little too high, as these scores chose what to check), and is {review.score_after:.3f} now.",
    ]


def score_in_words(found: Evaluation, name: str) -> tuple[str, str]:
    """Return the score on true labels, and a sentence on what it assumes; ``name`` is that of the score."""
    score = found.clean_auc if name == "AUC" else found.clean_balanced_accuracy
    if found.rates_given:
        return str(score), "This holds if which labels are wrong has nothing to do with the columns."
    rule = "" if found.review else ", and may be below both if a rule made them from these columns"
    return f"{score.low:.2f} to {score.high:.2f}", (
        "It is nearer to the lower end if labels are wrong where the classes meet, to the upper end if they are wrong "
        f"anywhere{rule}."
    )


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
