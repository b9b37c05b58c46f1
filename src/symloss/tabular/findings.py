"""What a fit tells about labels and scores: how noisy the labels are, how good the ranking is, and on clean labels."""

from __future__ import annotations

import warnings
from dataclasses import replace
from typing import Any, NamedTuple, cast

import numpy as np
from numpy.typing import NDArray

from symloss.audit import Noise
from symloss.audit.noise import noise_of
from symloss.corruption import Contamination
from symloss.metrics import Estimate
from symloss.metrics.estimates import clean_auc_of, clean_balanced_accuracy_of
from symloss.metrics.samples import Sample, two_samples
from symloss.tabular.fitting import Fitted
from symloss.tabular.rates import known_rates

Array = NDArray[np.float64]


class Findings(NamedTuple):
    """What out-of-fold scores tell about the labels of a table.

    Attributes
    ----------
    scores, positive, weight : arrays of n values
        Of the rows that have a score: their out-of-fold scores, above 0 for the positive label, whether they are
        labeled positive, and their weights.
    noise : Noise
        How noisy the labels are, or bounds and the reason why that cannot be told.
    rates : Contamination or None
        The rates pi and pi': those given to the fit, or else the estimated ones, or None.
    rates_given : bool
        Whether these were given.
    auc, balanced_accuracy : Estimate
        On the labels given.
    clean_auc, clean_balanced_accuracy : Estimate or None
        On clean labels, if there are rates.
    warnings : tuple of str
        What is odd about these estimates.
    unlabeled : bool
        Whether the rows that are not labeled positive have no label.

    Examples
    --------
    >>> import pandas as pd, symloss as sl
    >>> from symloss.tabular import fit_table
    >>> frame = pd.DataFrame({"x": np.arange(40.0), "y": ["no"] * 20 + ["yes"] * 20})
    >>> found = findings(fit_table(frame, "y", candidates=[("linear", sl.AUCClassifier())], pi=1.0, pi_prime=0.0))
    >>> found.auc.value, found.clean_auc.value, found.rates_given
    (1.0, 1.0, True)
    """

    scores: Array
    positive: NDArray[np.bool_]
    weight: Array
    noise: Noise
    rates: Contamination | None
    rates_given: bool
    auc: Estimate
    balanced_accuracy: Estimate
    clean_auc: Estimate | None
    clean_balanced_accuracy: Estimate | None
    warnings: tuple[str, ...]
    unlabeled: bool

    @property
    def share_labeled_positive(self) -> float:
        """The share of the rows, by weight, that is labeled positive."""
        return float(self.weight[self.positive].sum() / self.weight.sum())

    @property
    def prior(self) -> float | None:
        """The share of the rows that is truly positive, if there are rates."""
        if self.rates is None:
            return None
        share = self.share_labeled_positive
        return share * self.rates.pi + (1 - share) * self.rates.pi_prime

    @property
    def wrong_share(self) -> Estimate:
        """The share of all labels that is wrong: an estimate, or from 0 to a bound where the noise cannot be told."""
        share, noise = self.share_labeled_positive, self.noise
        if self.rates_given and self.rates is not None:
            wrong = share * (1 - self.rates.pi) + (1 - share) * self.rates.pi_prime
            return Estimate(wrong, wrong, wrong, noise.level)
        low = share * (1 - noise.pi_high) + (1 - share) * noise.pi_prime_low
        high = share * (1 - noise.pi_low) + (1 - share) * noise.pi_prime_high
        if self.rates is None:
            return Estimate(low, low, high, noise.level)
        return Estimate(share * (1 - self.rates.pi) + (1 - share) * self.rates.pi_prime, low, high, noise.level)

    @property
    def has_little_signal(self) -> bool:
        """Whether there is so little signal that it can be chance, since the best of several models was chosen."""
        return 0.5 < self.auc.low < 0.55

    @property
    def has_signal(self) -> bool:
        """Whether the scores tell the labels apart, beyond what chance could do."""
        return self.auc.low > 0.5


def findings(fitted: Fitted) -> Findings:
    """Return what the out-of-fold scores of a fit tell.

    Examples
    --------
    >>> import pandas as pd, symloss as sl
    >>> from symloss.tabular import fit_table
    >>> frame = pd.DataFrame({"x": np.arange(40.0), "y": ["no"] * 20 + ["yes"] * 20})
    >>> findings(fit_table(frame, "y", candidates=[("linear", sl.AUCClassifier())])).has_signal
    True
    """
    estimator = fitted.model.estimator
    scores = estimator.oof_scores_
    used = ~np.isnan(scores) & (fitted.weight > 0)
    scores, positive, weight = scores[used], fitted.positive[used], fitted.weight[used]
    samples = two_samples(scores, positive, weight, repetitions=True)
    noise = _noise(estimator, samples)
    of_auc, of_accuracy = clean_auc_of(*samples, 1.0, 0.0), clean_balanced_accuracy_of(*samples, 1.0, 0.0)
    given = estimator.pi is not None and estimator.pi_prime is not None
    rates, clean_auc, clean_accuracy = known_rates(estimator), None, None
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        if rates is not None and given:
            clean_auc, clean_accuracy = clean_auc_of(*samples, *rates), clean_balanced_accuracy_of(*samples, *rates)
        elif rates is not None:
            clean_auc, clean_accuracy = _clean(of_auc, noise, rates), _clean(of_accuracy, noise, rates)
    odd = tuple(dict.fromkeys(str(each.message) for each in caught))
    return Findings(
        scores, positive, weight, noise, rates, given, of_auc, of_accuracy, clean_auc, clean_accuracy, odd,
        fitted.unlabeled,
    )  # fmt: skip


def _noise(estimator: Any, samples: tuple[Sample, Sample]) -> Noise:
    """Return the noise that the estimator goes by; where it has none, bounds and the reason."""
    if estimator.noise_ is not None:
        return cast(Noise, estimator.noise_)
    noise = noise_of(*samples)
    if noise.pi is None:
        return noise
    # The estimator merges rows with the same features, which matters here if weights are fractions.
    reason = "it depends on how rows with the same features are counted"
    return replace(noise, pi=None, pi_prime=None, pi_high=1.0, pi_prime_low=0.0, reason=reason)


def _clean(score: Estimate, noise: Noise, rates: Contamination) -> Estimate:
    """Return the score on clean labels; its interval allows for those of the score and of both rates."""

    def clean(value: float, difference: float) -> float:
        return min(1.0, max(0.0, 0.5 + (value - 0.5) / difference))

    difference = rates.pi - rates.pi_prime
    least = min(max(noise.difference_low, noise.pi_low - noise.pi_prime_high, 1e-6), difference)
    most = max(noise.pi_high - noise.pi_prime_low, difference)
    ends = [clean(value, each) for value in (score.low, score.high) for each in (least, most)]
    return Estimate(clean(score.value, difference), min(ends), max(ends), score.level)
