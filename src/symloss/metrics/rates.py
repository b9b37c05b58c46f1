"""True and false positive rates on clean labels at one threshold, and what follows from them for a class prior.

With T and F, the shares above the threshold among the points labeled positive and negative, mutual contamination says
T = pi TPR + (1 - pi) FPR and F = pi' TPR + (1 - pi') FPR. So TPR = ((1 - pi') T - (1 - pi) F) / (pi - pi') and
FPR = (pi F - pi' T) / (pi - pi').
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from symloss.checking import check_fraction
from symloss.corruption import check_contamination
from symloss.metrics.curves import check_costs
from symloss.metrics.estimates import Estimate, binomial, of_sum
from symloss.metrics.scores import class_accuracies, two_samples


@dataclass(frozen=True)
class CleanRates:
    """The true and the false positive rate on clean labels, and accuracy, precision, F1 and cost for a class prior.

    Attributes
    ----------
    tpr, fpr : Estimate
        On clean labels. Iterating over the object yields these two.
    corrupted_tpr, corrupted_fpr : Estimate
        On the labels given, with exact binomial (Clopper-Pearson) intervals.
    pi, pi_prime : float
        The rates of the noise.

    Notes
    -----
    All intervals follow from the two binomial intervals, which are independent: their ends are combined as independent
    errors of a sum. The precision is v where prior (1 - v) TPR - v (1 - prior) FPR is 0, which is such a sum, and its
    interval holds all v whose sum has 0 in its interval. The same is done for F1.
    """

    tpr: Estimate
    fpr: Estimate
    corrupted_tpr: Estimate
    corrupted_fpr: Estimate
    pi: float
    pi_prime: float

    def __iter__(self) -> Iterator[Estimate]:
        return iter((self.tpr, self.fpr))

    def accuracy(self, prior: float) -> Estimate:
        """Return the accuracy on clean labels where a share ``prior`` of the points is positive."""
        check_fraction("prior", prior)
        value, low, high = (1 - prior + part for part in self._sum(prior, prior - 1))
        return self._estimate(value, low, high)

    def precision(self, prior: float) -> Estimate:
        """Return the share of clean positives among the points above the threshold, at a class prior."""
        check_fraction("prior", prior)
        found, false = prior * self.tpr.value, (1 - prior) * self.fpr.value
        if found + false == 0:
            raise ValueError(
                "precision needs points that are predicted positive: no clean point is above the threshold"
            )
        return self._ratio(found / (found + false), lambda v: (prior * (1 - v), -v * (1 - prior), 0.0))

    def cost(self, prior: float, *, cost_false_positive: float = 1.0, cost_false_negative: float = 1.0) -> Estimate:
        """Return the expected cost of a point at a class prior; right predictions cost nothing.

        The interval is for a threshold that was not chosen on the same points: for such a one, see ``clean_roc_band``.
        """
        check_fraction("prior", prior)
        check_costs(cost_false_positive, cost_false_negative)
        most = prior * cost_false_negative, (1 - prior) * cost_false_positive
        value, low, high = (min(max(most[0] + part, 0.0), sum(most)) for part in self._sum(-most[0], most[1]))
        return Estimate(value, low, high, self.corrupted_tpr.level)

    def f1(self, prior: float) -> Estimate:
        """Return F1, the harmonic mean of precision and recall, on clean labels at a class prior."""
        check_fraction("prior", prior)
        found, false = prior * self.tpr.value, (1 - prior) * self.fpr.value
        value = 2 * found / (prior + found + false)
        return self._ratio(value, lambda v: (prior * (2 - v), -v * (1 - prior), -v * prior))

    def _sum(self, of_tpr: float, of_fpr: float) -> tuple[float, float, float]:
        """Return a sum of multiples of the clean rates, and its interval; none is kept inside [0, 1]."""
        between = self.pi - self.pi_prime
        factors = (
            (of_tpr * (1 - self.pi_prime) - of_fpr * self.pi_prime) / between,
            (of_fpr * self.pi - of_tpr * (1 - self.pi)) / between,
        )
        corrupted = (self.corrupted_tpr, self.corrupted_fpr)
        values = [rate.value for rate in corrupted]
        low, high = of_sum(factors, values, [(rate.low, rate.high) for rate in corrupted])
        return factors[0] * values[0] + factors[1] * values[1], low, high

    def _ratio(self, value: float, terms: Any) -> Estimate:
        """Return a value with the interval of all v in [0, 1] for which the sum of ``terms(v)`` may be 0."""
        from scipy.optimize import brentq

        def end(v: float, which: int) -> float:
            of_tpr, of_fpr, constant = terms(v)
            return float(self._sum(of_tpr, of_fpr)[which] + constant)

        # Each sum falls as v grows.
        low, high = (
            0.0 if end(0.0, which) <= 0 else 1.0 if end(1.0, which) >= 0 else float(brentq(end, 0.0, 1.0, which))
            for which in (1, 2)
        )
        return self._estimate(value, min(low, value), max(high, value))

    def _estimate(self, *ends: float) -> Estimate:
        value, low, high = (min(1.0, max(0.0, end)) for end in ends)
        return Estimate(value, low, high, self.corrupted_tpr.level)


def clean_rates(
    scores: Any,
    y: Any,
    pi: float,
    pi_prime: float,
    threshold: float = 0.0,
    *,
    level: float = 0.95,
    weight: Any = None,
) -> CleanRates:
    """Estimate true and false positive rates on clean labels, and with a class prior accuracy, precision and F1.

    Parameters
    ----------
    scores : array or tensor of n scores
        Scores of points that the model was not fitted on.
    y : array, list or tensor of n corrupted labels
        Any two values, of which the larger one is positive.
    pi, pi_prime : float
        The share of clean positives among the points labeled positive, and among those labeled negative. The intervals
        take them as exact.
    threshold : float
        Scores above it are predicted positive. A score at the threshold counts one half.
    level : float
        How often an interval is to contain the true value.
    weight : array or tensor, optional
        Non-negative weights. The width of the intervals follows from Kish's effective number of points.

    Returns
    -------
    CleanRates
        ``tpr`` and ``fpr``, each with ``value``, ``low`` and ``high``, and the methods ``accuracy(prior)``,
        ``precision(prior)``, ``f1(prior)`` and ``cost(prior)``, where ``prior`` is the share of positives in the data
        you care about.

    Examples
    --------
    >>> import numpy as np
    >>> rng = np.random.default_rng(0)
    >>> y = np.repeat([1, -1], 2000)
    >>> clean = np.where(rng.random(4000) < np.where(y == 1, 0.8, 0.3), 1, -1)
    >>> rates = clean_rates(clean + rng.normal(size=4000), y, pi=0.8, pi_prime=0.3, threshold=0)
    >>> print(rates.tpr)  # the truth is 0.841
    0.840 (95% interval 0.810 to 0.869)
    >>> print(rates.precision(prior=0.1))  # the truth is 0.371
    0.346 (95% interval 0.299 to 0.404)
    """
    check_contamination(pi, pi_prime)
    check_fraction("level", level)
    if math.isnan(threshold):
        raise ValueError("threshold must be a number, got nan")
    pos, neg = two_samples(scores, y, weight)
    above, below = class_accuracies(pos, neg, threshold)
    corrupted_tpr = Estimate(above, *binomial(above, pos.size, level), level)
    corrupted_fpr = Estimate(1 - below, *binomial(1 - below, neg.size, level), level)
    bare = CleanRates(corrupted_tpr, corrupted_fpr, corrupted_tpr, corrupted_fpr, pi, pi_prime)
    sums = [bare._sum(*factors) for factors in ((1.0, 0.0), (0.0, 1.0))]
    if any(low > 1 or high < 0 for _, low, high in sums):
        warnings.warn(
            f"rates of {above:.3f} and {1 - below:.3f} on labels at (pi, pi') = ({pi:g}, {pi_prime:g}) cannot be: on "
            f"clean labels they would lie outside [0, 1]; pi must be larger or pi' smaller",
            stacklevel=2,
        )
    tpr, fpr = (bare._estimate(*found) for found in sums)
    return CleanRates(tpr, fpr, corrupted_tpr, corrupted_fpr, pi, pi_prime)
