"""Confidence intervals for a share, for many shares at once, for an AUC, and for sums of independent shares."""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import lru_cache
from statistics import NormalDist

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]
_GRID = np.sin(np.linspace(0, np.pi / 2, 2001)) ** 2  # of shares: as fine as their errors are at either end


def student(level: float, freedom: float) -> float:
    """Return the quantile of Student's distribution that bounds the middle share ``level`` of it."""
    from scipy.stats import t

    return float(t.ppf((1 + level) / 2, freedom))


def expit(logit: float) -> float:
    """Return 1 / (1 + exp(-logit))."""
    return 1 / (1 + math.exp(-logit)) if logit > -700 else 0.0


def hanley_mcneil(value: float, n: float, m: float, level: float) -> tuple[float, float]:
    """Return the lowest and highest AUC that agree with ``value``, by Hanley and McNeil's formula for the error."""
    from scipy.optimize import brentq

    quantile, size = NormalDist().inv_cdf((1 + level) / 2), (n + m) / 2 - 1

    def surprise(auc: float) -> float:
        spread = 1 + size * ((1 - auc) / (2 - auc) + auc / (1 + auc))
        return (value - auc) ** 2 - quantile**2 * auc * (1 - auc) * spread / (n * m)

    low = brentq(surprise, 0.0, value) if value > 0 and surprise(0.0) > 0 > surprise(value) else 0.0
    high = brentq(surprise, value, 1.0) if value < 1 and surprise(1.0) > 0 > surprise(value) else 1.0
    if value == 1:
        low = brentq(surprise, 0.0, 1.0 - 1e-12)
    elif value == 0:
        high = brentq(surprise, 1e-12, 1.0)
    return low, high


def binomial(share: float, n: float, level: float) -> tuple[float, float]:
    """Return the Clopper-Pearson interval of a share among n points; half successes count as halves."""
    from scipy.stats import beta

    successes, tail = share * n, (1 - level) / 2
    low = float(beta.ppf(tail, successes, n - successes + 1)) if successes > 0 else 0.0
    high = float(beta.ppf(1 - tail, successes + 1, n - successes)) if successes < n else 1.0
    return low, high


def binomial_at_once(shares: Array, n: float, level: float) -> tuple[Array, Array]:
    """Return limits for the shares of n points above many thresholds, which with probability ``level`` hold for all.

    Each pair is a Clopper-Pearson interval, of one level that is the same for all of them. It follows from Miller and
    Siegmund's (1982) probability that a Brownian bridge between 1/n and 1 - 1/n, divided by its standard deviation,
    ever leaves [-z, z]. So the limits are tight where a share is close to 0 or 1, unlike Kolmogorov's.
    """
    low, high = _limits_at_once(n, level)
    return np.interp(shares, _GRID, low), np.interp(shares, _GRID, high)


@lru_cache(maxsize=16)
def _limits_at_once(n: float, level: float) -> tuple[Array, Array]:
    from scipy.optimize import brentq
    from scipy.special import betaincinv

    length = 2 * math.log(max(n, 2.0))

    def missed(z: float) -> float:
        return math.exp(-z * z / 2) / math.sqrt(2 * math.pi) * ((z - 1 / z) * length + 4 / z) - (1 - level)

    least = 1.5  # where z is smaller than this, the formula is no longer close
    tail = NormalDist().cdf(-(brentq(missed, least, 40.0) if missed(least) > 0 else least))
    counts = n * _GRID
    low = np.append(0.0, betaincinv(counts[1:], n - counts[1:] + 1, tail))
    high = np.append(betaincinv(counts[:-1] + 1, n - counts[:-1], 1 - tail), 1.0)
    return low, high


def of_sum(
    factors: Sequence[float], values: Sequence[float], intervals: Sequence[tuple[float, float]]
) -> tuple[float, float]:
    """Return an interval for the sum of factors times independent values, from an interval for each value.

    The distances from the values to the ends of their intervals are combined as independent errors (Zou and Donner,
    2008).
    """
    down, up = 0.0, 0.0
    for factor, value, (low, high) in zip(factors, values, intervals, strict=True):
        below, above = factor * (value - low), factor * (high - value)
        if factor < 0:
            below, above = -above, -below
        down, up = down + below**2, up + above**2
    total = sum(factor * value for factor, value in zip(factors, values, strict=True))
    return total - math.sqrt(down), total + math.sqrt(up)
