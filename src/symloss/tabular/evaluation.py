"""What out-of-fold scores tell of a table: how noisy its labels are, how good the ranking is, which columns matter."""

from __future__ import annotations

import copy
import time
import warnings
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import NDArray

from symloss.audit import Noise, label_quality
from symloss.corruption import Contamination
from symloss.estimators.folds import split
from symloss.estimators.selection import falls
from symloss.machines import one_thread
from symloss.metrics import Estimate, estimate_clean_auc, estimate_clean_balanced_accuracy
from symloss.metrics.estimates import clean_auc_of, clean_balanced_accuracy_of
from symloss.metrics.scores import two_samples
from symloss.models.family import TrainingData
from symloss.tabular.model import Review, Rows, TableModel

if TYPE_CHECKING:
    from pandas import DataFrame

Array = NDArray[np.float64]
LEVEL = 0.9  # of the intervals of the noise
_ROWS = 2500  # of a label: enough to tell which columns matter, and few enough to fit again in seconds


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
    clean_auc: Estimate  # on clean labels, if errors are alike all over a class, as is the next
    clean_balanced_accuracy: Estimate
    warnings: tuple[str, ...]  # what is odd about these estimates
    # Before any review: what it corrects was chosen by the scores, so formulas for clean labels do not hold after it.
    labeled: NDArray[np.bool_]
    labeled_rates: Contamination
    review: Review | None = None

    @property
    def basis(self) -> str:
        """What the estimate of the noise rests on."""
        if self.review is None or self.review.wrong_before is None:
            return "by comparison with other tables in which we know which labels are wrong"
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
    labeled, _, rates = before_review(replace(model, estimator=estimator))
    samples = estimator.oof_scores_[used], labeled[used]
    estimator.clean_score_ = estimate(*samples, *rates, weight=rows.weight[used])
    return with_quality(replace(model, estimator=estimator))


def before_review(model: TableModel) -> tuple[NDArray[np.bool_], Noise, Contamination]:
    """Return the labels before any review, their noise and rates: what a review has corrected, and what is left."""
    positive = rows_of(model).positive
    if model.review is None:
        return positive, model.noise, model.rates
    labeled = positive.copy()
    labeled[list(model.review.changed)] ^= True

    def wrong(of: bool, left: Array) -> Array:
        known = ((labeled == of) & (labeled != positive)).sum()
        found: Array = (known + left * (positive == of).sum()) / max(1, (labeled == of).sum())
        return found

    noise, rates = model.noise, model.rates
    of_positive = wrong(True, 1 - np.array([rates.pi, noise.pi, noise.pi_low, noise.pi_high]))
    of_negative = wrong(False, np.array([rates.pi_prime, noise.pi_prime, noise.pi_prime_low, noise.pi_prime_high]))
    shrink = min(1.0, 0.98 / max(of_positive[0] + of_negative[0], 1e-9))  # some of the labels say something
    then = Noise(*(1 - of_positive[1:]).tolist(), *of_negative[1:].tolist())
    return labeled, then, Contamination(float(1 - shrink * of_positive[0]), float(shrink * of_negative[0]))


def with_quality(model: TableModel) -> TableModel:
    """Return a model whose probabilities of wrong labels are by its rates; labels that were checked are right."""
    rows, estimator = rows_of(model), copy.copy(model.estimator)
    used, quality = ~np.isnan(estimator.label_quality_), np.full(len(rows.positive), np.nan)
    labeled, _, rates = before_review(model)
    quality[used] = label_quality(estimator.oof_scores_[used], labeled[used], *rates, weight=rows.weight[used])
    estimator.label_quality_ = np.where(rows.checked, 1.0, quality.clip(max=1 - 1e-9))  # 1: somebody has checked it
    return replace(model, estimator=estimator)


def evaluate(model: TableModel) -> Evaluation:
    """Return what the out-of-fold scores of a fit tell."""
    rows, estimator, rates = rows_of(model), model.estimator, model.rates
    used = ~np.isnan(estimator.oof_scores_) & (rows.weight > 0)
    scores, positive, weight = estimator.oof_scores_[used], rows.positive[used], rows.weight[used]
    every, noise_then, then = before_review(model)
    labeled = every[used]
    samples = two_samples(scores, labeled, weight, repetitions=True)
    given = clean_auc_of(*samples, 1.0, 0.0), clean_balanced_accuracy_of(*samples, 1.0, 0.0)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        if model.rates_given:
            clean = clean_auc_of(*samples, *then), clean_balanced_accuracy_of(*samples, *then)
        else:
            clean = _clean(given[0], noise_then, then), _clean(given[1], noise_then, then)
    odd = tuple(dict.fromkeys(str(each.message) for each in caught))
    noise = model.noise, rates, model.rates_given
    kept = rows.unlabeled, *noise, *given, *clean, odd, labeled, then, model.review
    return Evaluation(scores, positive, weight, *kept)


def _clean(score: Estimate, noise: Noise, rates: Contamination) -> Estimate:
    """Return the score on clean labels; its interval allows for those of the score and of both rates."""

    def clean(value: float, difference: float) -> float:
        return min(1.0, max(0.0, 0.5 + (value - 0.5) / difference))

    difference = rates.pi - rates.pi_prime
    least = min(max(2 * score.low - 1, noise.pi_low - noise.pi_prime_high, 1e-6), difference)  # corollary 2
    most = max(noise.pi_high - noise.pi_prime_low, difference)
    ends = [clean(value, each) for value in (score.low, score.high) for each in (least, most)]
    return Estimate(clean(score.value, difference), min(ends), max(ends), score.level)


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
