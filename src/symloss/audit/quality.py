"""Which labels are wrong: the probability that a label is right, given the score of a point that was held out.

Let c(s) be the probability that a point with score s is clean positive, and e+ and e- the probabilities that a clean
positive and a clean negative carry the other label. Then a point is labeled positive with probability
e- + (1 - e+ - e-) c(s). With c(s) = 1 / (1 + exp(-slope s - intercept)), the most likely slope and intercept follow
from the labels given, and by Bayes' rule a positive label is right with odds c / (1 - c) (1 - e+) / e-, and a negative
one with odds (1 - c) / c (1 - e-) / e+.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from symloss.audit.noise import Noise, noise_of
from symloss.audit.tails import Tail, tails
from symloss.checking import is_larger
from symloss.corruption import Contamination, FlipRates, check_contamination, to_flip_rates
from symloss.metrics.samples import Sample, two_samples

Array = NDArray[np.float64]
_LEAST_SHARE = 0.17  # of the labels of a class: shorter tails are too few points for a guess
_LEAST_RATE = 1e-3  # of estimated rates: at 0 no label could be wrong
_MOST_RATES = 0.95  # their sum: at 1 the labels would say nothing
_FAR = 30.0  # in medians of the distance to the middle: an outlier must not decide
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
        not given, they are estimated by ``estimate_noise``.
    weight : array or tensor, optional
        Non-negative weights; weight k counts as k repetitions.

    Returns
    -------
    array of n floats in [0, 1]
        Low where the label is probably wrong, and comparable between the classes. Where the rates are neither given nor
        can be told, they are guessed from the ends of the ranking; the numbers then rank the labels, and are no
        probabilities.

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
    quality[positive], quality[~positive] = quality_of(pos, neg, given or noise_of(pos, neg))
    return quality


def quality_of(pos: Sample, neg: Sample, rates: Contamination | Noise) -> tuple[Array, Array]:
    """Return what ``label_quality`` does for the positives and for the negatives, from two samples that are checked.

    Examples
    --------
    >>> pos, neg = two_samples([-3, -2, 2, 3, -1, 1], [0, 0, 1, 1, 0, 0], None)
    >>> good, bad = quality_of(pos, neg, Contamination(pi=1.0, pi_prime=0.2))
    >>> good, bool(bad.argmin() == 3)
    (array([1., 1.]), True)
    """
    share = float(pos.weight.sum() / (pos.weight.sum() + neg.weight.sum()))
    if isinstance(rates, Contamination):
        flips = _flips(rates, share)
        right = _added_by_label(flips)
    else:
        flips = _estimated(pos, neg, rates, share)
        # The ratio of two small rates that are estimated is mostly chance: so both labels are as often right.
        mean = (flips.positive + flips.negative) / 2
        right = _added_by_label(FlipRates(mean, mean))
    of_pos, of_neg = _log_odds(pos, neg, share, flips)
    return _expit(of_pos + right[0]), _expit(right[1] - of_neg)


def _added_by_label(flips: FlipRates) -> tuple[float, float]:
    """Return what is added to the log odds of the positive class by a positive label, and of the negative one."""
    with np.errstate(divide="ignore"):
        positive = np.log1p(-flips.positive) - np.log(flips.negative)
        negative = np.log1p(-flips.negative) - np.log(flips.positive)
    return float(positive), float(negative)


def _flips(rates: Contamination, share: float) -> FlipRates:
    """Return the flip rates of labels of which a share is positive."""
    return to_flip_rates(rates, share * rates.pi + (1 - share) * rates.pi_prime)


def _estimated(pos: Sample, neg: Sample, noise: Noise, share: float) -> FlipRates:
    """Return the flip rates of the noise, or a guess: the smallest shares of the other label in the longer tails."""

    def least(found: list[Tail]) -> float:
        return min((tail.other_share for tail in found if tail.own_share > _LEAST_SHARE), default=0.0)

    if noise.pi is not None and noise.pi_prime is not None:
        positive, negative = _flips(Contamination(noise.pi, noise.pi_prime), share)
    else:
        positive, negative = least(tails(pos, neg, at_top=True)), least(tails(neg, pos, at_top=False))
    positive, negative = max(positive, _LEAST_RATE), max(negative, _LEAST_RATE)
    factor = min(1.0, _MOST_RATES / (positive + negative))
    return FlipRates(positive * factor, negative * factor)


def _log_odds(pos: Sample, neg: Sample, share: float, flips: FlipRates) -> tuple[Array, Array]:
    """Return the log odds that a point is clean positive, from a logistic curve seen through the flips."""
    from scipy.optimize import minimize

    largest = np.finfo(np.float64).max / 4
    scores = np.clip(np.concatenate([pos.scores, neg.scores]), -largest, largest)
    center = float(np.median(scores))
    distance = np.abs(scores - center)
    unit = float(np.median(distance)) or float(distance.max()) or 1.0
    places = np.clip((scores - center) / unit, -_FAR, _FAR)
    weight = np.concatenate([pos.weight, neg.weight])
    weight = weight / weight.sum()
    positive = np.arange(len(scores)) < len(pos.scores)
    kept = 1 - flips.positive - flips.negative

    def loss(line: Array) -> tuple[float, Array]:
        clean = _expit(line[0] * places + line[1])
        labeled = flips.negative + kept * clean
        given = np.maximum(np.where(positive, labeled, 1 - labeled), 1e-300)
        gain = weight * np.where(positive, 1, -1) / given * kept * clean * (1 - clean)
        value = -float(weight @ np.log(given)) + _PENALTY * line[0] ** 2
        return value, np.array([2 * _PENALTY * line[0] - gain @ places, -gain.sum()])

    start = np.array([1.0, np.log(share / (1 - share))])
    slope, intercept = minimize(loss, start, jac=True, method="L-BFGS-B", bounds=[(0, None), (None, None)]).x
    # The places beyond the limit are taken as they are, so that points of one label do not tie.
    odds = slope * ((scores - center) / unit) + intercept
    return odds[positive], odds[~positive]


def _expit(logit: Array) -> Array:
    from scipy.special import expit

    return np.asarray(expit(logit))
