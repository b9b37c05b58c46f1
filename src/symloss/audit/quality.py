"""Which labels are wrong: the probability that a label is right, given the score of a point that was held out.

Let c(s) be the probability that a point with score s is clean positive, and e+ and e- the probabilities that a clean
positive and a clean negative carry the other label. Then a point is labeled positive with probability
e- + (1 - e+ - e-) c(s). With c(s) = 1 / (1 + exp(-slope s - intercept)), the most likely slope and intercept follow
from the labels given, and by Bayes' rule a positive label is right with odds c / (1 - c) (1 - e+) / e-, and a negative
one with odds (1 - c) / c (1 - e-) / e+.

Where e+ and e- are not known, the probability is the mean over a grid of them. Each pair has the weight of its
likelihood, times a prior by which equal rates and clean classes of the same size are more likely than others. In the
odds above, e+ and e- are then both taken to be their mean: which of the two labels is the more often wrong is mostly
chance, and the curve already knows.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit

from symloss.checking import is_larger
from symloss.corruption import Contamination, check_contamination, to_flip_rates
from symloss.metrics.samples import Sample, two_samples

Array = NDArray[np.float64]
_RATES = (0.002, 0.03, 0.06, 0.1, 0.15, 0.2, 0.26, 0.32, 0.38, 0.44, 0.5, 0.6, 0.7)  # at 0 no label could be wrong
_MOST_RATES = 0.9  # their sum: at 1 the labels would say nothing
_WIDTH = 0.2  # of the prior: how far two rates may lie apart before their weight is divided by e
_BALANCE = 10.0  # of the prior: its weight is (4 p (1 - p)) to this power, where p is the share of clean positives
_BINS = 256  # of scores: so the time does not grow with the number of points
_STEPS = 30  # of Newton's method: half of them are enough for almost all pairs
_FAR = 30.0  # in medians of the distance to the middle: an outlier must not decide
_FARTHEST = 1e6  # finite, so that 0 times it is 0
_PENALTY = 1e-4  # so small that it matters only if a threshold separates the labels


def label_quality(
    scores: Any, y: Any, pi: float | None = None, pi_prime: float | None = None, *, weight: Any = None
) -> Array:
    """Return the probability that each label is right, from the scores of held-out points.

    Parameters
    ----------
    scores : array or tensor of n scores
        Scores of points that the model was not fitted on: a model has learned the wrong labels of its own points.
    y : array, list or tensor of n labels
        Any two values, of which the larger one is positive.
    pi, pi_prime : float, optional
        The share of clean positives among the points labeled positive, and among those labeled negative. If they are
        not given, all rates are tried, and those that fit the labels well count the most.
    weight : array or tensor, optional
        Non-negative weights. With rates that are given, weight k counts as k repetitions; how much is learned about
        other rates follows from Kish's effective number of points.

    Returns
    -------
    array of n floats in [0, 1]
        Low where the label is probably wrong, and comparable between the classes. With rates that are given, these are
        probabilities as far as the log odds of the classes are linear in the score, as those of most models are about.
        Otherwise take the numbers as a ranking.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> y = np.repeat([1, -1], 500)
    >>> clean = np.where(rng.random(1000) < 0.1, -y, y)  # a tenth of the labels is wrong
    >>> quality = label_quality(2 * clean + rng.normal(size=1000), y, pi=0.9, pi_prime=0.1)
    >>> worst = np.argsort(quality)[:100]
    >>> print(f"{np.mean(y[worst] != clean[worst]):.2f} of the 100 worst are wrong")
    0.84 of the 100 worst are wrong
    """
    if (pi is None) != (pi_prime is None):
        raise ValueError(f"give both pi and pi_prime or neither, got {pi!r} and {pi_prime!r}")
    if pi is not None and pi_prime is not None:
        check_contamination(pi, pi_prime)
    positive = is_larger(y)
    pos, neg = two_samples(scores, positive, weight)
    given = None if pi is None or pi_prime is None else Contamination(pi, pi_prime)
    quality = np.empty(len(positive))
    quality[positive], quality[~positive] = quality_of(pos, neg, given)
    return quality


def quality_of(pos: Sample, neg: Sample, given: Contamination | None) -> tuple[Array, Array]:
    """Return what ``label_quality`` does for the positives and for the negatives, from two samples that are checked."""
    center, unit = _middle(np.concatenate([pos.scores, neg.scores]), np.concatenate([pos.weight, neg.weight]))
    of_pos, of_neg = (np.clip((x.scores - center) / unit, -_FARTHEST, _FARTHEST) for x in (pos, neg))
    bins = _binned(of_pos, pos.weight, of_neg, neg.weight)
    share = float(bins.positive.sum())
    if given is not None:
        flips = to_flip_rates(given, share * given.pi + (1 - share) * given.pi_prime)
        rates = _FlipPairs(np.array([flips.positive]), np.array([flips.negative]))
        slope, intercept, _ = _most_likely(bins, rates)
        return _right(of_pos, of_neg, slope, intercept, rates, np.ones(1))
    rates = _FlipPairs(*np.array([(e, f) for e in _RATES for f in _RATES if e + f <= _MOST_RATES]).T)
    slope, intercept, likelihood = _most_likely(bins, rates)
    evidence = likelihood + _log_prior(rates, share)
    weight = np.exp(evidence - evidence.max())
    mean = (rates.positive + rates.negative) / 2
    return _right(of_pos, of_neg, slope, intercept, _FlipPairs(mean, mean), weight / weight.sum())


def logistic_curve(of_pos: Array, pos_weight: Array, of_neg: Array, neg_weight: Array) -> tuple[float, float]:
    """Return the slope of the most likely logistic curve through given labels, at least 0, and where it crosses 1/2.

    Examples
    --------
    >>> slope, crossing = logistic_curve(np.array([1.0, 4.0, 7.0]), np.ones(3), np.array([1.0, -2.0, 3.0]), np.ones(3))
    >>> slope > 0, 1 < crossing < 4
    (True, True)
    """
    center, unit = _middle(np.concatenate([of_pos, of_neg]), np.concatenate([pos_weight, neg_weight]))
    places = (np.clip((scores - center) / unit, -_FARTHEST, _FARTHEST) for scores in (of_pos, of_neg))
    bins = _binned(next(places), pos_weight, next(places), neg_weight)
    (slope,), (intercept,), _ = _most_likely(bins, _FlipPairs(np.zeros(1), np.zeros(1)))
    return float(slope / unit), float(center - unit * (intercept / slope if slope > 0 else 0.0))


class _FlipPairs(NamedTuple):
    """Pairs of rates: how often the labels of clean positives and of clean negatives are flipped."""

    positive: Array
    negative: Array


class _Bins(NamedTuple):
    """Scores in bins: their places, the shares of positives and of negatives in each, and Kish's effective size."""

    places: Array
    positive: Array
    negative: Array
    size: float


def _middle(scores: Array, weight: Array) -> tuple[float, float]:
    """Return the median of the finite scores, and the median of the distances to it, or another length if that is 0."""
    finite = np.isfinite(scores)
    if not finite.any():
        return 0.0, 1.0
    center = _median(scores[finite], weight[finite])
    distance = np.abs(scores[finite] - center)
    return center, _median(distance, weight[finite]) or float(distance.max()) or 1.0


def _median(values: Array, weight: Array) -> float:
    order = np.argsort(values)
    below = np.cumsum(weight[order])
    return float(values[order][np.searchsorted(below, below[-1] / 2)])


def _binned(of_pos: Array, pos_weight: Array, of_neg: Array, neg_weight: Array) -> _Bins:
    """Return the scores in bins of about the same weight; equal scores are in the same bin."""
    scores, weight = np.concatenate([of_pos, of_neg]), np.concatenate([pos_weight, neg_weight])
    weight = weight / weight.sum()
    distinct, place = np.unique(np.clip(scores, -_FAR, _FAR), return_inverse=True)
    at = np.bincount(place, weight)
    middle = np.cumsum(at) - at / 2
    of_distinct = np.minimum((_BINS * middle).astype(np.intp), _BINS - 1)
    of_point = of_distinct[place]
    labels = (slice(len(of_pos)), slice(len(of_pos), None))
    positive, negative = (np.bincount(of_point[label], weight[label], _BINS).astype(np.float64) for label in labels)
    used = positive + negative > 0
    places = np.bincount(of_distinct, at * distinct, _BINS)[used] / (positive + negative)[used]
    return _Bins(places, positive[used], negative[used], float(1 / (weight @ weight)))


def _most_likely(bins: _Bins, rates: _FlipPairs) -> tuple[Array, Array, Array]:
    """Return for each pair of rates the most likely slope and intercept, and their log likelihood.

    Newton's method with Levenberg's damping, for all pairs at once; where the loss is not convex, Fisher's scoring.
    """
    positive, negative = bins.positive, bins.negative
    e_pos, e_neg = rates.positive[:, None], rates.negative[:, None]
    kept = 1 - e_pos - e_neg
    tiny = 1e-12  # of a probability: rates may be 0

    def loss(slope: Array, intercept: Array) -> tuple[Array, Array, Array]:
        clean = expit(slope * bins.places + intercept)
        labeled = np.clip(e_neg + kept * clean, tiny, 1 - tiny)
        value = -(np.log(labeled) @ positive + np.log1p(-labeled) @ negative) + _PENALTY * slope[:, 0] ** 2
        return value, clean, labeled

    share = np.clip((positive.sum() - e_neg) / kept, 0.01, 0.99)
    slope, intercept, damping = np.ones_like(kept), np.log(share / (1 - share)), np.full(len(kept), 1e-3)
    value, clean, labeled = loss(slope, intercept)
    for _ in range(_STEPS):
        change = kept * clean * (1 - clean)
        pull = (positive / labeled - negative / (1 - labeled)) * change
        seen = (positive / labeled**2 + negative / (1 - labeled) ** 2) * change**2 - pull * (1 - 2 * clean)
        expected = (positive + negative) * change**2 / (labeled * (1 - labeled))
        newton, fisher = (np.stack([x @ bins.places**2, x @ bins.places, x.sum(axis=1)]) for x in (seen, expected))
        convex = (newton[0] > 0) & (newton[0] * newton[2] > newton[1] ** 2)
        first, cross, last = np.where(convex, newton, fisher)
        first, last = (first + 2 * _PENALTY) * (1 + damping) + tiny, last * (1 + damping) + tiny
        down = pull @ bins.places - 2 * _PENALTY * slope[:, 0], pull.sum(axis=1)
        step = np.column_stack([last * down[0] - cross * down[1], first * down[1] - cross * down[0]])
        step /= np.maximum(first * last - cross**2, tiny**2)[:, None]
        new = np.maximum(slope + step[:, :1], 0.0), np.clip(intercept + step[:, 1:], -_FAR, _FAR)
        new_value, new_clean, new_labeled = loss(*new)
        better = new_value < value
        damping = np.where(better, damping / 10, np.minimum(damping * 10, 1e6))
        moved = better[:, None]
        slope, intercept = np.where(moved, new[0], slope), np.where(moved, new[1], intercept)
        clean, labeled = np.where(moved, new_clean, clean), np.where(moved, new_labeled, labeled)
        value = np.where(better, new_value, value)
    return slope[:, 0], intercept[:, 0], -value * bins.size


def _log_prior(rates: _FlipPairs, share: float) -> Array:
    """Return how likely pairs of rates are before the scores are seen, if a share of the labels is positive."""
    clean = np.clip((share - rates.negative) / (1 - rates.positive - rates.negative), 0.01, 0.99)
    return _BALANCE * np.log(4 * clean * (1 - clean)) - np.abs(rates.positive - rates.negative) / _WIDTH


def _right(
    of_pos: Array, of_neg: Array, slope: Array, intercept: Array, rates: _FlipPairs, weight: Array
) -> tuple[Array, Array]:
    """Return the mean probability that a positive label is right, and that a negative one is."""
    quality_pos, quality_neg = np.zeros(len(of_pos)), np.zeros(len(of_neg))
    with np.errstate(divide="ignore"):
        kept_pos = np.log1p(-rates.positive) - np.log(rates.negative)
        kept_neg = np.log1p(-rates.negative) - np.log(rates.positive)
    for place in np.flatnonzero(weight > 1e-4 * weight.max()):
        quality_pos += weight[place] * expit(slope[place] * of_pos + intercept[place] + kept_pos[place])
        quality_neg += weight[place] * expit(kept_neg[place] - slope[place] * of_neg - intercept[place])
    return quality_pos, quality_neg
