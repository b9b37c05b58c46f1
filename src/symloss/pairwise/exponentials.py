"""The sums over some thousand pairs for three smooth losses, in which exp(z) is the product of exp(s) and exp(-t).

So n + m exponentials are enough, and products with a matrix give the sums of slopes. Nothing cancels: every digit of a
small slope is kept.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import torch
from torch import Tensor

from symloss.losses import Logistic, Loss, Savage, Sigmoid
from symloss.pairwise.problem import Sums

_LARGEST = 100.0  # the exponents of either score: the third power of the product of their exponentials is finite


class Form(NamedTuple):
    """A loss in terms of q = exp(rate * z): its slope is scale * q * h(q).

    ``evaluate`` turns the matrix of all q into that of all h(q), and returns the sum of the values too.
    From ``least`` to ``most`` pairs this is the shortest way.
    """

    rate: float
    scale: float
    least: int
    most: int
    evaluate: Callable[[Tensor], tuple[Tensor, Tensor]]


def _sigmoid(q: Tensor) -> tuple[Tensor, Tensor]:
    values = q.add_(1).reciprocal_()
    return values.sum(), values.square_()


def _savage(q: Tensor) -> tuple[Tensor, Tensor]:
    roots = q.add_(1).reciprocal_()
    values = roots.square()
    return values.sum(), values.mul_(roots)


def _logistic(q: Tensor) -> tuple[Tensor, Tensor]:
    total = q.log1p().sum()
    return total, q.add_(1).reciprocal_()


_FORMS: dict[type[Loss], Form] = {
    Sigmoid: Form(1.0, -1.0, 12_000, 45_000, _sigmoid),
    Savage: Form(2.0, -4.0, 8_000, 40_000, _savage),
    Logistic: Form(-1.0, -1.0, 9_000, 15_000, _logistic),
}


def form_of(loss: Loss) -> Form | None:
    """Return the form of a loss, or None if it has none here."""
    return _FORMS.get(type(loss))


def by_exponentials(pos: Tensor, neg: Tensor, form: Form) -> Sums | None:
    """Return the sums for scores (n,) and (m,) of equal weight on a CPU, or None if a score is large or not finite."""
    n, m = pos.shape[0], neg.shape[0]
    exponents = torch.cat([pos, neg.neg()] if form.rate > 0 else [pos.neg(), neg]).double()
    if abs(form.rate) != 1:
        exponents *= abs(form.rate)
    if not exponents.abs().max().item() <= _LARGEST:
        return None
    powers = exponents.exp_()
    of_s, of_t = powers[:n], powers[n:]
    total, rest = form.evaluate(torch.outer(of_s, of_t))
    part = form.scale / (n * m)
    by_pos = torch.addmv(of_s, rest, of_t, beta=0, alpha=part).mul_(of_s)
    by_neg = torch.addmv(of_t, rest.t(), of_s, beta=0, alpha=-part).mul_(of_t)
    return total.div_(n * m), by_pos, by_neg
