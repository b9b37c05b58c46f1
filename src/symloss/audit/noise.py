"""How many labels are wrong, by comparison with tables in which we know it.

No data tell noise from classes that overlap, unless one assumes how labels go wrong. What can be told is what usually
is: ``reference.npz`` holds draws from real tables whose labels were corrupted by us in many ways (flipped at rates of
the class, mostly near the border, in one class only, in a part of the space, all made by one rule, not at all), each
with the ROC curve of its noisy labels by scores out of fold. A forest says which draws have a curve like yours. The
shares of wrong labels in these draws, by their quantiles, are the answer. ``benchmarks/noise_shares.py`` makes the
draws, and measures on other tables, and on labels that people and rules made, how often the intervals hold.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.ensemble import ExtraTreesRegressor

from symloss.metrics.scores import Sample, two_samples

Array = NDArray[np.float64]
REFERENCE = "reference.npz"
QUANTILES = (0.05, 0.5, 0.95)
_RATES = np.array([0.01, 0.03, 0.1, 0.2, 0.35, 0.5, 0.65, 0.8, 0.9, 0.97, 0.99])  # places on the curve
_MOST = 3000.0  # rows of a label: the draws have no more, and with more rows a curve hardly changes
_FARTHEST = 0.98  # sum of both shares of wrong labels: at 1 the labels would say nothing


@dataclass(frozen=True)
class Noise:
    """How noisy labels are: `pi` and `pi_prime`, each with the ends of its 90% interval.

    Attributes
    ----------
    pi, pi_low, pi_high : float
        The share of true positives among the points labeled positive: 1 - pi of these labels are wrong.
    pi_prime, pi_prime_low, pi_prime_high : float
        The share of true positives among the points labeled negative: so many of these labels are wrong.

    Examples
    --------
    >>> print(Noise(0.8, 0.75, 0.85, 0.3, 0.2, 0.4))
    20% (15% to 25%) of the positive and 30% (20% to 40%) of the negative labels seem wrong
    """

    pi: float
    pi_low: float
    pi_high: float
    pi_prime: float
    pi_prime_low: float
    pi_prime_high: float

    def __str__(self) -> str:
        return (
            f"{1 - self.pi:.0%} ({1 - self.pi_high:.0%} to {1 - self.pi_low:.0%}) of the positive and "
            f"{self.pi_prime:.0%} ({self.pi_prime_low:.0%} to {self.pi_prime_high:.0%}) of the negative labels "
            "seem wrong"
        )


def estimate_noise(scores: Any, y: Any, *, weight: Any = None) -> Noise:
    """Estimate which shares of the labels are wrong, from scores of held-out points and their noisy labels.

    Parameters
    ----------
    scores : array or tensor of n scores
        Scores of points that the model was not fitted on, such as ``oof_scores_`` of a CV estimator.
    y : array, list or tensor of n noisy labels
        Any two values, of which the larger one is positive.
    weight : array or tensor, optional
        Non-negative weights.

    Returns
    -------
    Noise
        There always is an answer. Where little can be told, its intervals are wide.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> y = np.repeat(["no", "yes"], 1000)
    >>> clean = np.where(rng.random(2000) < np.where(y == "yes", 0.8, 0.3), 1, -1)
    >>> noise = estimate_noise(2 * clean + rng.normal(size=2000), y)
    >>> noise.pi_low < 0.8 < noise.pi_high and noise.pi_prime_low < 0.3 < noise.pi_prime_high
    True
    """
    return noise_of(*two_samples(scores, y, weight))


def noise_of(pos: Sample, neg: Sample) -> Noise:
    """Return what ``estimate_noise`` does, for two samples that are checked."""
    turned = [Sample(-sample.scores, sample.weight, sample.size) for sample in (neg, pos)]
    curves = np.stack([curve(pos, neg), curve(*turned)])
    (low, middle, high), (low_prime, middle_prime, high_prime) = _Draws.reference().quantiles(curves).tolist()
    shrink = min(1.0, _FARTHEST / max(middle + middle_prime, 1e-9))
    pi, pi_prime = 1 - shrink * middle, shrink * middle_prime
    return Noise(pi, min(1 - high, pi), 1 - low, pi_prime, min(low_prime, pi_prime), high_prime)


def curve(own: Sample, other: Sample) -> Array:
    """Describe how scores rank two labels, of which ``own`` should have the larger scores: the curve, AUC and sizes."""
    scores, place = np.unique(np.concatenate([own.scores, other.scores]), return_inverse=True)
    parts = place[: len(own.scores)], place[len(own.scores) :]
    above = []
    for sample, of in zip((own, other), parts, strict=True):
        weight = np.bincount(of, sample.weight, len(scores))
        above.append(np.concatenate([[0.0], np.cumsum(weight[::-1])]) / weight.sum())
    found, wrong = above
    sizes = min(own.size, _MOST), min(other.size, _MOST)
    shares = np.interp(_RATES, wrong, found), np.interp(_RATES, found, wrong)
    odds = [np.log((share * n + 0.5) / ((1 - share) * n + 0.5)) for share, n in zip(shares, sizes, strict=True)]
    return np.concatenate([*odds, [np.trapezoid(found, wrong)], np.log(sizes)])


class _Draws:
    """Curves of draws with their shares of wrong labels, and a forest that says which curves are alike."""

    def __init__(self, curves: Array, wrong: Array) -> None:
        order = np.argsort(wrong, kind="stable")
        self.wrong = wrong[order]
        self.forest = ExtraTreesRegressor(200, min_samples_leaf=5, random_state=0).fit(curves[order], self.wrong)
        self.leaves = self.forest.apply(curves[order])

    @staticmethod
    @cache
    def reference() -> _Draws:
        with (files("symloss.audit") / REFERENCE).open("rb") as file, np.load(file) as arrays:
            return _Draws(arrays["curves"].astype(np.float64), arrays["wrong"].astype(np.float64))

    def quantiles(self, curves: Array) -> Array:
        """Return for each curve the quantiles of the share of wrong labels in draws alike: those in the same leaves."""
        found = []
        for leaves in self.forest.apply(curves):
            alike = self.leaves == leaves
            weight = (alike / alike.sum(0)).mean(1)
            place = np.searchsorted(np.cumsum(weight), np.array(QUANTILES) * (1 - 1e-9))
            found.append(self.wrong[np.minimum(place, len(self.wrong) - 1)])
        return np.array(found)
