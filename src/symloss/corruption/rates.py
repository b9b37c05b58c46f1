"""The rates of corrupted labels: mutual contamination (pi, pi'), flip rates, and conversions between them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from symloss.checking import check_contamination, check_fraction, check_probability


class Contamination(NamedTuple):
    """The share of clean positives among the corrupted positives (pi) and the corrupted negatives (pi')."""

    pi: float
    pi_prime: float


class FlipRates(NamedTuple):
    """The probability that a clean positive, or a clean negative, carries the other label."""

    positive: float
    negative: float


def to_contamination(rates: Sequence[float], prior: float) -> Contamination:
    """Return the (pi, pi') that flip rates lead to, where ``prior`` is the share of positives in the clean data.

    Examples
    --------
    >>> to_contamination(FlipRates(positive=0.2, negative=0.2), prior=0.5)
    Contamination(pi=0.8, pi_prime=0.2)
    """
    positive, negative = rates
    check_probability("rates[0]", positive)
    check_probability("rates[1]", negative)
    check_fraction("prior", prior)
    observed = prior * (1 - positive) + (1 - prior) * negative
    if not 0 < observed < 1:
        raise ValueError(f"rates {positive:g} and {negative:g} leave only one label at prior {prior:g}")
    return Contamination(prior * (1 - positive) / observed, prior * positive / (1 - observed))


def to_flip_rates(contamination: Sequence[float], prior: float) -> FlipRates:
    """Return the flip rates that lead to (pi, pi'), where ``prior`` is the share of positives in the clean data.

    The prior must lie strictly between pi' and pi, since corrupted positives and negatives together are the clean data.

    Examples
    --------
    >>> rates = to_flip_rates(Contamination(pi=0.8, pi_prime=0.2), prior=0.5)
    >>> round(rates.positive, 12), round(rates.negative, 12)
    (0.2, 0.2)
    """
    pi, pi_prime = contamination
    check_contamination(pi, pi_prime)
    if not pi_prime < prior < pi:
        raise ValueError(f"prior must be between pi' = {pi_prime:g} and pi = {pi:g}, got {prior!r}")
    observed = (prior - pi_prime) / (pi - pi_prime)
    return FlipRates((1 - observed) * pi_prime / prior, observed * (1 - pi) / (1 - prior))
