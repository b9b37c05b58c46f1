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

from typing import Any

import numpy as np
from numpy.typing import NDArray

from symloss.audit.curve import FlipPairs, binned, expit, middle, most_likely
from symloss.checking import is_larger
from symloss.corruption import Contamination, check_contamination, to_flip_rates
from symloss.metrics.samples import Sample, two_samples

Array = NDArray[np.float64]
_RATES = (0.002, 0.03, 0.06, 0.1, 0.15, 0.2, 0.26, 0.32, 0.38, 0.44, 0.5, 0.6, 0.7)  # at 0 no label could be wrong
_MOST_RATES = 0.9  # their sum: at 1 the labels would say nothing
_WIDTH = 0.2  # of the prior: how far two rates may lie apart before their weight is divided by e
_BALANCE = 10.0  # of the prior: its weight is (4 p (1 - p)) to this power, where p is the share of clean positives
_FARTHEST = 1e300  # finite, so that 0 times it is 0


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
    """Return what ``label_quality`` does for the positives and for the negatives, from two samples that are checked.

    Examples
    --------
    >>> pos, neg = two_samples([-3, -2, 2, 3, -1, 1], [0, 0, 1, 1, 0, 0], None)
    >>> good, bad = quality_of(pos, neg, Contamination(pi=1.0, pi_prime=0.2))
    >>> good, bool(bad.argmin() == 3)
    (array([1., 1.]), True)
    """
    pos, neg = _finite(pos, neg)
    center, unit = middle(np.concatenate([pos.scores, neg.scores]), np.concatenate([pos.weight, neg.weight]))
    with np.errstate(over="ignore"):
        of_pos, of_neg = (np.clip((x.scores / 4 - center / 4) / unit * 4, -_FARTHEST, _FARTHEST) for x in (pos, neg))
    bins = binned(of_pos, pos.weight, of_neg, neg.weight)
    if given is not None:
        share = float(bins.positive.sum())
        flips = to_flip_rates(given, share * given.pi + (1 - share) * given.pi_prime)
        rates = FlipPairs(np.array([flips.positive]), np.array([flips.negative]))
        slope, intercept, _ = most_likely(bins, rates)
        return _right(of_pos, of_neg, slope, intercept, rates, np.ones(1))
    pairs = np.array([(e, f) for e in _RATES for f in _RATES if e + f <= _MOST_RATES])
    rates = FlipPairs(pairs[:, 0], pairs[:, 1])
    slope, intercept, likelihood = most_likely(bins, rates)
    evidence = likelihood + _log_prior(rates, float(bins.positive.sum()))
    weight = np.exp(evidence - evidence.max())
    mean = (rates.positive + rates.negative) / 2
    return _right(of_pos, of_neg, slope, intercept, FlipPairs(mean, mean), weight / weight.sum())


def _finite(pos: Sample, neg: Sample) -> tuple[Sample, Sample]:
    """Return the samples with finite scores: infinite ones lie beyond all others, by half of their range."""
    scores = np.concatenate([pos.scores, neg.scores])
    finite = scores[np.isfinite(scores)]
    if len(finite) == len(scores):
        return pos, neg
    low, high = (float(finite.min()), float(finite.max())) if len(finite) else (0.0, 0.0)
    beyond = (high / 2 - low / 2) or 1.0
    most = np.finfo(np.float64).max
    ends = max(low / 2 - beyond / 2, -most / 2) * 2, min(high / 2 + beyond / 2, most / 2) * 2
    of_pos, of_neg = (sample._replace(scores=np.clip(sample.scores, *ends)) for sample in (pos, neg))
    return of_pos, of_neg


def _log_prior(rates: FlipPairs, share: float) -> Array:
    """Return how likely pairs of rates are before the scores are seen, if a share of the labels is positive.

    Examples
    --------
    >>> both = FlipPairs(np.array([0.2, 0.0]), np.array([0.2, 0.4]))  # the second one from 17 percent of positives
    >>> _log_prior(both, share=0.5).round(2)
    array([ 0.  , -7.88])
    """
    clean = np.clip((share - rates.negative) / (1 - rates.positive - rates.negative), 0.01, 0.99)
    return _BALANCE * np.log(4 * clean * (1 - clean)) - np.abs(rates.positive - rates.negative) / _WIDTH


def _right(
    of_pos: Array, of_neg: Array, slope: Array, intercept: Array, rates: FlipPairs, weight: Array
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
