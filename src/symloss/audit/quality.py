"""Which labels are wrong: the probability that a label is right, given the score of a point that was held out.

Let c(s) be the probability that a point with score s is clean positive, and e+ and e- the probabilities that a clean
positive and a clean negative carry the other label. Then a point is labeled positive with probability
e- + (1 - e+ - e-) c(s). With c(s) = 1 / (1 + exp(-slope s - intercept)), the most likely slope and intercept follow
from the labels given, and by Bayes' rule a positive label is right with odds c / (1 - c) (1 - e+) / e-, and a negative
one with odds (1 - c) / c (1 - e-) / e+.

Where e+ and e- are not known, two views are averaged: that each class has the share of wrong labels that seems so, and
that both are flipped at one rate, with as many wrong labels in all. For how many labels of *one* class are wrong is
told badly, and by a wrong share all labels of a class come too late.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import minimize
from scipy.special import expit

from symloss.audit.noise import Noise, noise_of
from symloss.checking import is_larger
from symloss.corruption import Contamination, FlipRates, check_contamination, to_flip_rates
from symloss.metrics.scores import Sample, two_samples

Array = NDArray[np.float64]
_LEAST_RATE = 0.002  # at 0 no label could be wrong
_MOST_FLIPPED = 0.9  # of the smaller class
_PENALTY = 1e-4  # so small that it matters only if a threshold separates the labels
_TINY = 1e-12  # of a probability
_FARTHEST = 30.0  # in medians of the distance to the middle: an outlier must not decide


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
        not given, two views are averaged: those of ``estimate_noise``, and as many wrong labels at one rate of flips.
    weight : array or tensor, optional
        Non-negative weights.

    Returns
    -------
    array of n floats in [0, 1]
        Low where the label is probably wrong, and comparable between the classes.

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
    positive = is_larger(y)
    pos, neg = two_samples(scores, positive, weight)
    if pi is not None and pi_prime is not None:
        check_contamination(pi, pi_prime)
        told: Noise | Contamination = Contamination(pi, pi_prime)
    else:
        told = noise_of(pos, neg)
    quality = np.empty(len(positive))
    quality[positive], quality[~positive] = quality_of(pos, neg, told)
    return quality


def quality_of(pos: Sample, neg: Sample, told: Noise | Contamination) -> tuple[Array, Array]:
    """Return what ``label_quality`` does for the positives and for the negatives, from two samples that are checked.

    What is told of the noise are known rates, or an estimate.
    """
    share = float(pos.weight.sum() / (pos.weight.sum() + neg.weight.sum()))
    rates = Contamination(told.pi, told.pi_prime)
    views = [to_flip_rates(rates, share * rates.pi + (1 - share) * rates.pi_prime)]
    if isinstance(told, Noise):
        rate = min(share * (1 - rates.pi) + (1 - share) * rates.pi_prime, _MOST_FLIPPED * min(share, 1 - share))
        views.append(FlipRates(rate, rate))
    found = [_by_flips(pos, neg, flips) for flips in views]
    of_positive, of_negative = (np.mean(parts, axis=0) for parts in zip(*found, strict=True))
    return of_positive, of_negative


def _by_flips(pos: Sample, neg: Sample, flips: FlipRates) -> tuple[Array, Array]:
    e_pos, e_neg = max(flips.positive, _LEAST_RATE), max(flips.negative, _LEAST_RATE)
    slope, crossing = logistic_curve(pos.scores, pos.weight, neg.scores, neg.weight, e_pos, e_neg)
    of_positive = slope * (pos.scores - crossing) + np.log((1 - e_pos) / e_neg)  # log odds of being right
    of_negative = slope * (crossing - neg.scores) + np.log((1 - e_neg) / e_pos)
    return expit(of_positive), expit(of_negative)


def logistic_curve(
    of_pos: Array, pos_weight: Array, of_neg: Array, neg_weight: Array, e_pos: float = 0.0, e_neg: float = 0.0
) -> tuple[float, float]:
    """Return the slope, at least 0, of the most likely logistic curve of clean labels, and where it crosses 1/2.

    The labels of clean positives are flipped at the rate `e_pos`, those of clean negatives at the rate `e_neg`.
    """
    scores, weight = np.concatenate([of_pos, of_neg]), np.concatenate([pos_weight, neg_weight])
    is_pos, weight = np.arange(len(scores)) < len(of_pos), weight / weight.sum()
    center = np.median(scores)
    distance = np.abs(scores - center)
    unit = float(np.median(distance) or distance.max() or 1.0)
    places = np.clip((scores - center) / unit, -_FARTHEST, _FARTHEST)
    kept = 1 - e_pos - e_neg

    def loss(line: Array) -> tuple[float, Array]:
        clean = expit(line[0] * places + line[1])
        labeled = e_neg + kept * clean
        of_label = np.maximum(np.where(is_pos, labeled, 1 - labeled), _TINY)
        pull = -weight * np.where(is_pos, 1.0, -1.0) / of_label * kept * clean * (1 - clean)
        value = -float(weight @ np.log(of_label)) + _PENALTY * line[0] ** 2
        return value, np.array([pull @ places + 2 * _PENALTY * line[0], pull.sum()])

    share = np.clip((weight[is_pos].sum() - e_neg) / kept, 0.01, 0.99)
    start = np.array([1.0, np.log(share / (1 - share))])
    options = {"ftol": 1e-12, "gtol": 1e-9}
    slope, intercept = minimize(
        loss, start, jac=True, method="L-BFGS-B", bounds=[(0, None), (-30, 30)], options=options
    ).x
    return float(slope / unit), float(center - unit * (intercept / slope if slope > 0 else 0.0))
