"""Probabilities from scores: of the observed labels, and of the clean ones if the rates of the noise are known."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import brentq
from scipy.special import expit

from symloss.threads import one_thread

Array = NDArray[np.float64]
_PENALTY = 1e-4  # so small that it matters only if a threshold separates the classes
_FAR = 30.0  # in medians of the distance to the threshold: an outlier must not decide


class Calibration(NamedTuple):
    """A logistic curve of scores: the probability of the positive label is 1 / (1 + exp(-slope s - intercept)).

    Examples
    --------
    >>> Calibration(1.0, 0.0).probabilities(np.array([0.0]))
    array([0.5])
    """

    slope: float
    intercept: float

    @classmethod
    @one_thread()
    def fit(cls, scores: Array, positive: NDArray[np.bool_], weight: Array) -> Calibration:
        """Return the most likely curve through the share of the positive label at score 0; it never falls.

        ``scores`` are those of points that the model was not fitted on, less the threshold.
        """
        share = weight / weight.sum()
        prior = float(share[positive].sum())
        intercept = float(np.log(prior / (1 - prior)))
        unit = float(np.median(np.abs(scores))) or float(np.abs(scores).max()) or 1.0
        places = np.clip(scores / unit, -_FAR, _FAR)

        def gain(slope: float) -> float:  # the derivative of the penalized likelihood, which falls
            return float(share @ ((positive - expit(slope * places + intercept)) * places)) - _PENALTY * slope

        if gain(0.0) <= 0:
            return cls(0.0, intercept)
        return cls(float(brentq(gain, 0.0, 1 / _PENALTY * max(gain(0.0), 1.0), xtol=1e-12)) / unit, intercept)

    def probabilities(self, scores: Array) -> Array:
        """Return the probability of the positive label at each score."""
        if not np.isfinite(scores).all():
            raise ValueError("probabilities need finite scores, got infinite ones or NaN: the model may be damaged")
        with np.errstate(over="ignore"):  # beyond the largest number, a probability is 0 or 1
            return np.asarray(expit(self.slope * scores + self.intercept))


def clean_probabilities(observed: Array, share: float, pi: float, pi_prime: float) -> Array:
    """Return the probabilities of the clean positive label from those of the observed one.

    With the ratio r of the densities of points labeled positive and negative, the ratio of the clean densities is
    ((1 - pi') r - (1 - pi)) / (pi - pi' r). It is at least 0 if r is at least (1 - pi) / (1 - pi'), and finite if r is
    below pi / pi'; an r beyond these bounds is taken as the nearest bound.

    Parameters
    ----------
    observed : array of n probabilities
        Of the positive label, among points of which a share is labeled positive.
    share : float
        This share.
    pi, pi_prime : float
        The share of clean positives among the points that are labeled positive, and among those labeled negative.

    Examples
    --------
    >>> clean_probabilities(np.array([0.5, 0.8, 0.95]), share=0.5, pi=0.8, pi_prime=0.2).round(3)
    array([0.5, 1. , 1. ])
    """
    labeled_positive, labeled_negative = observed / share, (1 - observed) / (1 - share)
    positive = np.maximum((1 - pi_prime) * labeled_positive - (1 - pi) * labeled_negative, 0.0)
    negative = np.maximum(pi * labeled_negative - pi_prime * labeled_positive, 0.0)
    prior = share * pi + (1 - share) * pi_prime
    return np.asarray(prior * positive / (prior * positive + (1 - prior) * negative))
