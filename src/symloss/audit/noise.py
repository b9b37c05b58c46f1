"""How noisy the labels are: pi and pi' from held-out scores, or bounds where they cannot be told.

Let r be the ratio of the densities of points labeled positive and negative, and L that of the clean classes. By mutual
contamination r = (pi L + 1 - pi) / (pi' L + 1 - pi'), which rises with L from (1 - pi) / (1 - pi') to pi / pi'. So for
any set A of points, a = pi' / pi is at most P(A | labeled negative) / P(A | labeled positive), with equality if all
points of A are positive. Likewise b = (1 - pi) / (1 - pi') is at most the inverse ratio, with equality if all points
are negative. From a and b follow pi = (1 - b) / (1 - a b) and pi' = a pi (Scott, 2015; Menon et al., 2015).

Bounds. Sets of points with the largest and with the smallest scores bound a and b from above, whatever the scores are.
Since pi falls as b grows and rises with a, while pi' rises with a and falls with b: pi is at least 1 - b, pi' at most
a, and pi - pi' at least (1 - a) (1 - b) / (1 - a b). Also pi - pi' is at least 2 AUC - 1, by corollary 2.

Estimates. They assume that the points at the very ends of the ranking are of one class, but for one in twenty
(anchor points). This cannot be tested: if even the surest points are a mixture, the numbers are those of other clean
classes with the same labels. But it can be seen whether a tail has a plateau. As in best-bin estimation
(Garg et al., 2021), the longest tail with a plateau is used. The upper ends of a and b are exact binomial limits; the
lower ends allow for the slope that the tail may have and for the one in twenty. Without a plateau at both ends,
there is no estimate.

A tail of a class holds the points that the scores say are surest to be of this class. If they all are, then which of
them carry the other label is chance, and the share of the other label is the same all over the tail: a plateau. If the
tail also holds points of the other class, this share usually goes on falling towards the end of the ranking.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from symloss.checking import check_fraction
from symloss.metrics.estimates import clean_auc_of
from symloss.metrics.intervals import binomial
from symloss.metrics.samples import Sample, two_samples

_IMPURE = 0.05  # points of the other class in a tail, for each point of its own
_SHARES = tuple(0.7 * 2.0 ** (-k / 2) for k in range(8))  # of the labels of a class, from seven tenths to a sixteenth
_LEAST = 20  # points in a tail
_DIFFERENT = 20  # scores in a tail: fewer show one or two groups of points, such as a yes or no
_STEADY = 2.054  # standard errors of the slope: so much of a rise is chance in one of fifty plateaus
_SURE = 1.645  # standard errors: a slope may be called small with a risk of one in twenty
_FLAT = 0.6  # of the slope outside the tail


@dataclass(frozen=True)
class Noise:
    """How noisy labels are: pi and pi' with their intervals, or only bounds and the reason why.

    Attributes
    ----------
    pi, pi_prime : float or None
        The share of clean positives among the points labeled positive, and among those labeled negative; None where
        they cannot be told.
    pi_low, pi_high, pi_prime_low, pi_prime_high : float
        The interval of each. Where pi and pi' cannot be told, these are bounds that assume nothing of the tails.
    difference_low : float
        A lower bound of pi - pi', which assumes nothing of the tails.
    level : float
        How often an interval is to contain the true value.
    reason : str or None
        Why pi and pi' cannot be told; None if they can.

    Examples
    --------
    >>> print(Noise(0.8, 0.3, 0.75, 0.85, 0.2, 0.4, difference_low=0.4, level=0.95))
    pi = 0.80 (95% interval 0.75 to 0.85), pi' = 0.30 (95% interval 0.20 to 0.40), if the points with the largest scores
    are all positive and those with the smallest all negative
    """

    pi: float | None
    pi_prime: float | None
    pi_low: float
    pi_high: float
    pi_prime_low: float
    pi_prime_high: float
    difference_low: float
    level: float
    reason: str | None = None

    def __str__(self) -> str:
        if self.pi is None or self.pi_prime is None:
            return (
                f"pi and pi' cannot be told: {self.reason}. At level {100 * self.level:g}%, pi is at least "
                f"{self.pi_low:.2f}, pi' at most {self.pi_prime_high:.2f}, and pi - pi' at least "
                f"{self.difference_low:.2f}"
            )
        interval = f"{100 * self.level:g}% interval"
        return (
            f"pi = {self.pi:.2f} ({interval} {self.pi_low:.2f} to {self.pi_high:.2f}), "
            f"pi' = {self.pi_prime:.2f} ({interval} {self.pi_prime_low:.2f} to {self.pi_prime_high:.2f}), "
            f"if the points with the largest scores are all positive and those with the smallest all negative"
        )


def estimate_noise(scores: Any, y: Any, level: float = 0.95, *, weight: Any = None) -> Noise:
    """Estimate pi and pi' from scores of held-out points and their noisy labels, or bound them.

    Parameters
    ----------
    scores : array or tensor of n scores
        Scores of points that the model was not fitted on, such as ``oof_scores_`` of a CV form. The better they rank
        the points, the more can be told.
    y : array, list or tensor of n noisy labels
        Any two values, of which the larger one is positive.
    level : float
        How often each interval is to contain the true value.
    weight : array or tensor, optional
        Non-negative weights. The width of the intervals follows from Kish's effective number of points.

    Returns
    -------
    Noise
        ``pi`` and ``pi_prime`` with their intervals. Both are None where the noise cannot be told. Then ``reason`` says
        why, and the intervals are bounds that assume nothing but mutual contamination.

    Notes
    -----
    The estimates assume that which points of a class are mislabeled has nothing to do with the features, and that the
    points with the most extreme scores are of one class, but for one in twenty. In data where even the surest points
    are a mixture of both classes, the mixture is counted as noise: then ``pi_high`` may be too small and
    ``pi_prime_low`` too large. ``pi_low`` and ``pi_prime_high`` hardly depend on this assumption.

    Examples
    --------
    >>> import numpy as np
    >>> rng = np.random.default_rng(0)
    >>> y = np.repeat(["no", "yes"], 5000)
    >>> clean = np.where(rng.random(10000) < np.where(y == "yes", 0.8, 0.3), 1, -1)
    >>> print(estimate_noise(2 * clean + rng.normal(size=10000), y))
    pi = 0.80 (95% interval 0.75 to 0.89), pi' = 0.30 (95% interval 0.21 to 0.35), if the points with ...
    >>> print(estimate_noise(0.3 * clean + rng.normal(size=10000), y))
    pi and pi' cannot be told: ...
    """
    check_fraction("level", level)
    return noise_of(*two_samples(scores, y, weight), level)


def noise_of(pos: Sample, neg: Sample, level: float = 0.95) -> Noise:
    """Return what ``estimate_noise`` does, for two samples that are checked."""
    top, bottom = _tails(pos, neg, at_top=True), _tails(neg, pos, at_top=False)
    a, a_most = _ratio(top, pos.size / neg.size, level)
    b, b_most = _ratio(bottom, neg.size / pos.size, level)
    difference = max(0.0, 2 * clean_auc_of(pos, neg, 1.0, 0.0, level).low - 1, _difference(a_most, b_most))
    if a is None or b is None:
        ends = ((a, top, "largest"), (b, bottom, "smallest"))
        reason = " and ".join(_reason(found, end) for ratio, found, end in ends if ratio is None)
        return Noise(None, None, 1 - b_most, 1.0, 0.0, a_most, difference, level, reason)
    a_low = max(0.0, a.low - _IMPURE * (1 - a.value) / (1 - b.value))
    b_low = max(0.0, b.low - _IMPURE * (1 - b.value) / (1 - a.value))
    pi, pi_prime = _rates(a.value, b.value)
    pi_low, pi_prime_low = _rates(a_low, b.high)
    pi_high, pi_prime_high = _rates(a.high, b_low)
    return Noise(pi, pi_prime, pi_low, pi_high, pi_prime_low, pi_prime_high, difference, level)


class _Ratio(NamedTuple):
    """The ratio of the densities of both labels at one end of the ranking, with its limits."""

    value: float
    low: float
    high: float


def _ratio(found: list[_Tail], odds: float, level: float) -> tuple[_Ratio | None, float]:
    """Return the ratio of the other label to the own one, or None without a plateau, and an upper bound of it.

    There are ``odds`` times as many labels of the own kind as of the other one.
    """

    def ratio(other_share: float) -> float:
        return min(1.0, other_share / (1 - other_share) * odds) if other_share < 1 else 1.0

    of_all = 1 - (1 - level) / max(len(found), 1)  # the smallest of several limits is one only if all are
    bound = min((ratio(binomial(tail.other_share, tail.points, of_all)[1]) for tail in found), default=1.0)
    number, tail = next(((k, tail) for k, tail in enumerate(found) if tail.is_plateau), (0, None))
    if tail is None:
        return None, bound
    level = 1 - (1 - level) / (1 + number)  # a tail that was found only after others may be a plateau by chance
    at_end = min(max(tail.other_share - tail.slope / 2, 0.0), tail.other_share)
    low, high = binomial(at_end, tail.at_end, level)[0], binomial(tail.other_share, tail.points, level)[1]
    # Where a longer tail is purer, the scores do not rank the points, and this end holds both classes.
    told = ratio(high) < 1 and ratio(low) <= bound
    return (_Ratio(ratio(tail.other_share), ratio(low), ratio(high)) if told else None), bound


def _rates(a: float, b: float) -> tuple[float, float]:
    pi = (1 - b) / (1 - a * b)
    return pi, a * pi


def _difference(a: float, b: float) -> float:
    return (1 - a) * (1 - b) / (1 - a * b) if a * b < 1 else 0.0


def _reason(found: list[_Tail], end: str) -> str:
    """Return why the ratio at one end of the ranking cannot be told."""
    if not found:
        return f"there are too few points or different scores to look at the {end} ones alone"
    if all(tail.has_few_scores for tail in found):
        most = max(tail.different for tail in found)
        return f"too few different scores are among the {end} ones ({most}) to see how the labels change with them"
    return f"the share of the labels is not seen to be steady among the {end} scores"


class _Tail(NamedTuple):
    """A tail of a class, and the share of the other label in it as a straight line over the ranks of its points."""

    points: float  # effective numbers, if weighted
    other: float  # of these, with the other label
    slope: float  # the rise of the share of the other label from the sure end of the tail to its inner end
    error: float  # of the slope: its standard error
    outside: float  # the rise over an equally long part of the ranking, on average outside the tail
    at_end: float  # how many points the value of the line at the sure end is worth: a quarter of all without ties
    different: int  # scores

    @property
    def other_share(self) -> float:
        """The share of the points that carry the other label."""
        return self.other / self.points

    @property
    def has_few_scores(self) -> bool:
        """Whether there are too few different scores to see how the share of the other label changes with them."""
        return self.different < _DIFFERENT

    @property
    def is_plateau(self) -> bool:
        """Whether the share of the other label is seen to be steady: it changes little, and rises less than outside."""
        steady = abs(self.slope) < _STEADY * self.error
        return not self.has_few_scores and steady and self.slope + _SURE * self.error < _FLAT * self.outside


def _tails(own: Sample, other: Sample, at_top: bool) -> list[_Tail]:
    """Return the tails of the class ``own``, the longest first; the top holds the largest scores."""
    scores, place = np.unique(np.concatenate([own.scores, other.scores]), return_inverse=True)
    if at_top:
        place = len(scores) - 1 - place
    counts = []
    for sample, of in ((own, place[: len(own.scores)]), (other, place[len(own.scores) :])):
        weight = np.bincount(of, sample.weight, len(scores))
        counts.append(weight * (sample.size / weight.sum()))
    of_own, of_other = counts
    found = []
    for share in _SHARES:
        end = 1 + int(np.searchsorted(np.cumsum(of_own), share * own.size * (1 - 1e-12)))
        points = of_own[:end] + of_other[:end]
        total, wrong = float(points.sum()), float(of_other[:end].sum())
        left = own.size + other.size - total
        if total < _LEAST or left < 1e-9 * total:
            continue
        position = (np.cumsum(points) - points / 2) / total  # from 0 at the sure end to 1; ties share one
        spread = float(points @ (position - 0.5) ** 2)
        rest = (other.size - wrong) / left
        variance = (wrong + 0.5) * (total - wrong + 0.5) / (total + 1) ** 2
        found.append(
            _Tail(
                total,
                wrong,
                slope=float(of_other[:end] @ (position - 0.5)) / spread if spread > 0 else 0.0,
                error=math.sqrt(variance / spread) if spread > 0 else math.inf,
                outside=2 * (rest - wrong / total) * total / (own.size + other.size),
                at_end=1 / (1 / total + 0.25 / spread) if spread > 0 else 0.0,
                different=int(np.count_nonzero(points)),
            )
        )
    return found
