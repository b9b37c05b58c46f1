"""The sums over some thousand pairs for three smooth losses that are functions of exp(-s) / exp(-t).

So n + m exponentials are enough, and products with a matrix give the sums of slopes. Nothing cancels: every digit of a
small slope is kept.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from symloss.losses import Logistic, Loss, Savage, Sigmoid
from symloss.pairwise.arrays import Arrays, Floats, Scores, ones

_LARGEST = 80.0  # the exponent of either score: products of eight sums of exponentials neither overflow nor vanish
_LEAST_LOGARITHM = 0.01  # a smaller mean of log(1 + q) would lose digits as the logarithm of a product
_FEW_LOGARITHMS = 1 << 10  # so few are computed at once
_FOLDS = 3  # so many times, two factors become one: a logarithm takes as long as ten products


class Form(NamedTuple):
    """A loss in terms of a = exp(-rate * s) and b = exp(-rate * t).

    ``sums`` takes the matrix of all a + b, which it may change, a and b, and returns the sum of the values, and the
    sums of the slopes divided by ``-scale``, by s and by t. Up to ``most`` pairs this is the shortest way.
    """

    rate: float
    scale: float
    most: int
    sums: Callable[[Floats, Floats, Floats], Arrays]


def _sigmoid(both: Floats, a: Floats, b: Floats) -> Arrays:
    """The value is a / (a + b), the slope -a b / (a + b)^2."""
    rest = np.reciprocal(both, out=both)
    total = a.dot(rest.dot(ones(len(b)))).item()
    rest *= rest
    return total, rest.dot(b) * a, a.dot(rest) * b


def _savage(both: Floats, a: Floats, b: Floats) -> Arrays:
    """The value is a^2 / (a + b)^2, the slope -4 a^2 b / (a + b)^3."""
    roots = np.reciprocal(both, out=both)
    rest, a = roots * roots, a * a
    total = a.dot(rest.dot(ones(len(b)))).item()
    rest *= roots
    return total, rest.dot(b) * a, a.dot(rest) * b


def _logistic(both: Floats, a: Floats, b: Floats) -> Arrays:
    """The value is log((a + b) / b), the slope -a / (a + b)."""
    rest, total = np.reciprocal(both), 0.0
    if both.size > _FEW_LOGARITHMS:
        total = _logarithms(both) - len(a) * _sum(np.log(b))
    if not total > _LEAST_LOGARITHM * rest.size:
        total = _sum(np.log1p(a[:, None] / b))
    return total, rest.dot(ones(len(b))) * a, a.dot(rest)


def _logarithms(factors: Floats) -> float:
    """Return the sum of the logarithms of all factors, which are changed."""
    rows = len(factors)
    for _ in range(_FOLDS):
        half = rows // 2
        factors[:half] *= factors[rows - half : rows]
        rows -= half
    return _sum(np.log(factors[:rows]))


def _sum(values: Floats) -> float:
    total = values.dot(ones(values.shape[-1]))
    return float(total if values.ndim == 1 else total.dot(ones(len(total))))


_FORMS: dict[type[Loss], Form] = {
    Sigmoid: Form(1.0, 1.0, 80_000, _sigmoid),
    Savage: Form(2.0, 4.0, 80_000, _savage),
    Logistic: Form(1.0, 1.0, 80_000, _logistic),
}


def form_of(loss: Loss) -> Form | None:
    """Return the form of a loss, or None if it has none here."""
    return _FORMS.get(type(loss))


def by_exponentials(s: Scores, t: Scores, form: Form) -> Arrays | None:
    """Return the sums for scores (n,) and (m,) of equal weight, or None if a score is large or not finite."""
    n, m = len(s), len(t)
    a, b = s.astype(np.float64), t.astype(np.float64)
    if not _all_below(_LARGEST / form.rate, a, b, from_float32=s.dtype == np.float32):
        return None
    a *= -form.rate
    b *= -form.rate
    np.exp(a, out=a)
    np.exp(b, out=b)
    total, by_pos, by_neg = form.sums(a[:, None] + b, a, b)
    part = form.scale / (n * m)
    by_pos *= -part
    by_neg *= part
    return total / (n * m), by_pos, by_neg


def _all_below(largest: float, a: Floats, b: Floats, from_float32: bool) -> bool:
    """Return whether all numbers are at most so large; squares of float32 cannot overflow, and mostly tell quickly."""
    if from_float32 and a.dot(a) + b.dot(b) <= largest**2:
        return True
    return bool(np.abs(a).max() <= largest and np.abs(b).max() <= largest)
