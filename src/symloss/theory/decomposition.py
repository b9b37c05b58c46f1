"""Theorems 1 and 3, corollaries 2 and 4: what corruption does to the AUC and BER risks, term by term."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from symloss.checking import as_real, check_probability, check_weight
from symloss.functional import auc_risk, ber_risk
from symloss.losses import Loss, LossLike, get_loss
from symloss.pairwise import risk_of_pairs
from symloss.theory.shape import Shape

Side = tuple[Tensor, Tensor]  # the scores of a class and their probabilities, in float64


@dataclass(frozen=True)
class Decomposition:
    """A corrupted risk, written as scale * clean risk + excess terms.

    Parameters
    ----------
    corrupted : float
        The risk on the corrupted distribution, computed from its definition.
    clean : float
        The risk on the clean distribution.
    scale : float
        pi - pi'.
    excess_terms : dict of str to float
        The theorem's excess terms, named by the classes that they involve.
    """

    corrupted: float
    clean: float
    scale: float
    excess_terms: dict[str, float]

    @property
    def excess(self) -> float:
        """The sum of the excess terms: a constant if the loss is symmetric."""
        return sum(self.excess_terms.values())

    @property
    def total(self) -> float:
        """The theorem's right-hand side, equal to ``corrupted``."""
        return self.scale * self.clean + self.excess


def ber_decomposition(
    loss: LossLike, pos: Any, neg: Any, pi: float, pi_prime: float, pos_weight: Any = None, neg_weight: Any = None
) -> Decomposition:
    """Return the terms of theorem 3, each computed by itself from the clean scores ``pos`` and ``neg``.

    Parameters
    ----------
    loss : str, Loss or callable
        The margin loss.
    pos, neg : array of scores
        A sample of either class, or the support of its distribution.
    pi, pi_prime : float
        Share of clean positives among the corrupted positives and among the corrupted negatives.
    pos_weight, neg_weight : array, optional
        The probabilities of a discrete distribution on ``pos`` and ``neg``; uniform by default.

    Examples
    --------
    >>> parts = ber_decomposition("hinge", [2.0], [-2.0], pi=0.8, pi_prime=0.3)
    >>> parts.clean, round(parts.corrupted, 12), {name: round(term, 12) for name, term in parts.excess_terms.items()}
    (0.0, 0.75, {'positive': 0.45, 'negative': 0.3})
    """
    loss, p, n = _checked(loss, pos, neg, pi, pi_prime, pos_weight, neg_weight)

    def both_ways(side: Side) -> float:
        values, share = side
        return float((share * (loss(values) + loss(-values))).sum())

    return Decomposition(
        corrupted=_risk(ber_risk, loss, *_mixture(p, n, pi, pi_prime)),
        clean=_risk(ber_risk, loss, p, n),
        scale=pi - pi_prime,
        excess_terms={"positive": pi_prime * both_ways(p) / 2, "negative": (1 - pi) * both_ways(n) / 2},
    )


def auc_decomposition(
    loss: LossLike, pos: Any, neg: Any, pi: float, pi_prime: float, pos_weight: Any = None, neg_weight: Any = None
) -> Decomposition:
    """Return the terms of theorem 1, each computed by itself from the clean scores ``pos`` and ``neg``.

    Parameters are those of ``ber_decomposition``. In an expectation over two points of one class, the points are drawn
    independently, so a point is also paired with itself.

    Examples
    --------
    >>> parts = auc_decomposition("hinge", [2.0], [0.0], pi=0.8, pi_prime=0.3)
    >>> parts.clean, round(parts.corrupted, 12)
    (0.0, 0.56)
    >>> {name: round(term, 12) for name, term in parts.excess_terms.items()}
    {'positive_negative': 0.18, 'positive_positive': 0.24, 'negative_negative': 0.14}
    """
    loss, p, n = _checked(loss, pos, neg, pi, pi_prime, pos_weight, neg_weight)

    def both_ways(first: Side, second: Side) -> float:
        (s, w), (t, v) = first, second
        return float(risk_of_pairs(s, t, loss, w, v) + risk_of_pairs(t, s, loss, v, w))

    return Decomposition(
        corrupted=_risk(auc_risk, loss, *_mixture(p, n, pi, pi_prime)),
        clean=float(risk_of_pairs(p[0], n[0], loss, p[1], n[1])),
        scale=pi - pi_prime,
        excess_terms={
            "positive_negative": (1 - pi) * pi_prime * both_ways(p, n),
            "positive_positive": pi * pi_prime / 2 * both_ways(p, p),
            "negative_negative": (1 - pi) * (1 - pi_prime) / 2 * both_ways(n, n),
        },
    )


def ber_corollary(loss: LossLike, pos: Any, neg: Any, pi: float, pi_prime: float) -> Decomposition:
    """Return the terms of corollary 4, theorem 3 for a symmetric loss: the only excess term is K (1 - pi + pi') / 2."""
    loss = get_loss(loss)
    return _corollary(loss, ber_decomposition(loss, pos, neg, pi, pi_prime), pi, pi_prime)


def auc_corollary(loss: LossLike, pos: Any, neg: Any, pi: float, pi_prime: float) -> Decomposition:
    """Return the terms of corollary 2, theorem 1 for a symmetric loss: the only excess term is K (1 - pi + pi') / 2."""
    loss = get_loss(loss)
    return _corollary(loss, auc_decomposition(loss, pos, neg, pi, pi_prime), pi, pi_prime)


def _corollary(loss: Loss, parts: Decomposition, pi: float, pi_prime: float) -> Decomposition:
    shape = Shape(loss)
    if not shape.symmetric:
        raise ValueError(f"the corollary needs a symmetric loss, and {loss!r} is not: {shape.symmetric.reason}")
    excess = shape.at_zero * (1 - pi + pi_prime)
    return Decomposition(parts.corrupted, parts.clean, parts.scale, {"constant": excess})


def _checked(
    loss: LossLike, pos: Any, neg: Any, pi: float, pi_prime: float, pos_weight: Any, neg_weight: Any
) -> tuple[Loss, Side, Side]:
    loss = get_loss(loss)
    p, n = _side(pos, pos_weight, "pos"), _side(neg, neg_weight, "neg")
    check_probability("pi", pi)
    check_probability("pi_prime", pi_prime)
    return loss, p, n


def _side(scores: Any, weight: Any, name: str) -> Side:
    values = as_real(scores, name, torch.float64).detach()
    if values.ndim != 1 or not len(values) or not values.isfinite().all():
        raise ValueError(f"{name} must be a non-empty vector of finite scores, got shape {tuple(values.shape)}")
    if weight is None:
        shares = torch.ones_like(values)
    else:
        shares = check_weight(weight, values, f"{name}_weight")
        if not shares.sum() > 0:
            raise ValueError(f"{name}_weight must have a positive sum")
    return values, shares / shares.sum()


def _mixture(p: Side, n: Side, pi: float, pi_prime: float) -> tuple[Side, Side]:
    """Return the corrupted classes: every point once as a corrupted positive, once as a corrupted negative."""
    scores = torch.cat([p[0], n[0]])
    return (
        (scores, torch.cat([pi * p[1], (1 - pi) * n[1]])),
        (scores, torch.cat([pi_prime * p[1], (1 - pi_prime) * n[1]])),
    )


def _risk(risk: Callable[..., Tensor], loss: Loss, pos: Side, neg: Side) -> float:
    """Return a risk on two distributions."""
    scores, weight = (torch.cat(parts) for parts in zip(pos, neg, strict=True))
    return float(risk(scores, torch.arange(len(scores), device=scores.device) < len(pos[0]), loss, weight))
