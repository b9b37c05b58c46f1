"""The balanced-error risk: of the labels at hand, or of clean labels where the noise rates are known."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from symloss.checking import Problem, check_problem
from symloss.functional.clean import Unmixing, non_negative, unmixing
from symloss.functional.missing import warn_if_missing
from symloss.losses import CallableLoss, Loss, LossLike, get_loss
from symloss.pairwise import fractions
from symloss.tracing import concrete


def ber_risk(
    scores: Tensor,
    target: Any,
    loss: LossLike = "sigmoid",
    weight: Tensor | None = None,
    *,
    pi: float | None = None,
    pi_prime: float | None = None,
    validate: bool = True,
) -> Tensor:
    """Return 1/2 (mean of l(g) over the positives + mean of l(-g) over the negatives), whatever the class balance.

    Parameters
    ----------
    scores : Tensor of shape (..., n)
        Scores g; leading dimensions are independent problems.
    target : Tensor of shape (n,) or (..., n)
        Labels in {0, 1}, {-1, +1} or bool.
    loss : str, Loss or callable
        The margin loss l.
    weight : Tensor of shape (n,) or (..., n), optional
        Non-negative weights; weight k counts as k repetitions.
    pi, pi_prime : float, optional
        Share of clean positives among the points labeled positive and among those labeled negative, pi > pi'. If both
        are given, the result estimates the risk on clean labels; see ``BERLoss``.
    validate : bool
        Whether to check the values of scores, labels and weights; see ``BERLoss``.

    Returns
    -------
    Tensor of shape (...)
        The risk. The term of a class that is missing, or has no weight, is zero. If rates are given, the whole risk is
        zero then, with zero gradient.

    Notes
    -----
    Under ``torch.compile`` and ``vmap``, values cannot be read: the risk is NaN if labels, weights or scores are wrong.

    Examples
    --------
    >>> ber_risk(torch.tensor([2.0, -1.0, -3.0]), [1, 1, 0], "zero_one")
    tensor(0.2500)
    >>> ber_risk(torch.tensor([2.0, -1.0, -3.0]), [1, 1, 0], "zero_one", pi=0.75, pi_prime=0.0)
    tensor(0.1667)
    """
    rates = unmixing(pi, pi_prime)
    problem = check_problem(scores, target, weight, validate)
    return ber_of(problem, get_loss(loss), rates)


def ber_of(problem: Problem, loss: Loss, rates: Unmixing | None = None) -> Tensor:
    """Return ``ber_risk`` of a problem that has been checked.

    Examples
    --------
    >>> ber_of(check_problem([2.0, -1.0, -3.0], [1, 1, 0], None), get_loss("zero_one"))
    tensor(0.2500)
    """
    scores, positive, weight, complete = problem
    if complete and weight is None and rates is None and scores.ndim == 1 and not scores.is_cuda:
        return _of_one_batch(scores, positive, loss)
    share, both = _shares_of_class(problem)
    if rates is not None:
        warn_if_missing(complete, "the risk of clean labels is taken to be zero, and has no gradient")
        return _clean_ber(scores, positive, torch.where(both, share, 0.0), loss, rates)
    warn_if_missing(complete, "the balanced-error risk uses the class that is there")
    margins = torch.where(positive, scores, -scores)
    if weight is None:
        risk = (0.5 * share.to(scores.dtype) * loss(margins)).sum(-1)
        if complete is None or concrete(risk.isfinite().all()) is not False:
            return risk
        share = share.double()  # losses that overflow in float32 may have a mean that does not
    return _where_counted(0.5 * share, margins, loss).sum(-1).to(scores.dtype)


def _of_one_batch(scores: Tensor, positive: Tensor, loss: Loss) -> Tensor:
    """Return the risk of one batch of equal weights with both classes, in few steps."""
    count = int(positive.sum())
    sign = positive.to(scores.dtype).mul_(2).sub_(1)
    share = torch.full_like(sign, 0.5 / (scores.shape[0] - count)).masked_fill_(positive, 0.5 / count)
    risk = (loss(scores * sign) * share).sum()
    if concrete(risk.isfinite()) is not False:
        return risk
    return _where_counted(share.double(), scores * sign, loss).sum().to(scores.dtype)


def _shares_of_class(problem: Problem) -> tuple[Tensor, Tensor]:
    """Return each point's share of the weight of its class, and whether both classes have weight, (..., 1)."""
    scores, positive, weight, complete = problem
    if weight is None:
        of_pos, of_neg = positive.to(scores.dtype), (~positive).to(scores.dtype)
    else:
        of_pos, of_neg = fractions(weight * positive), fractions(weight * ~positive)
    total_pos, total_neg = of_pos.sum(-1, keepdim=True), of_neg.sum(-1, keepdim=True)
    total = torch.where(positive, total_pos, total_neg)
    if not complete:
        total = torch.where(total > 0, total, 1.0)
    return torch.where(positive, of_pos, of_neg) / total, (total_pos > 0) & (total_neg > 0)


def _clean_ber(scores: Tensor, positive: Tensor, share: Tensor, loss: Loss, rates: Unmixing) -> Tensor:
    """Return half the sum of the mean losses of the clean classes, which are combinations of the corrupted ones."""
    b, d = rates

    def mean(margins: Tensor, of_pos: float, of_neg: float) -> Tensor:
        part = torch.where(positive, of_pos * share, of_neg * share)
        estimate = _where_counted(part, margins, loss).sum(-1)
        # The signs of a loss are read in the precision of the estimate, which a callable may not take.
        return non_negative(estimate.to(scores.dtype) if isinstance(loss, CallableLoss) else estimate, loss)

    return (0.5 * (mean(scores, 1 + b, -b) + mean(-scores, -d, 1 + d))).to(scores.dtype)


def _where_counted(part: Tensor, margins: Tensor, loss: Loss) -> Tensor:
    """Return part times loss in the precision of the parts, and zero where the part is zero.

    Zero times an infinite loss, or an infinite slope, would be NaN: margins of no weight are moved to one that counts,
    without its gradient. Weights are in float64: a float32 could not hold a small share, nor the loss that it scales.
    Only callables get margins in the precision of the scores: they may have parameters of that precision.
    """
    if not margins.shape[-1]:
        return part * loss(margins)
    if not isinstance(loss, CallableLoss):
        margins = margins.to(part.dtype)
    counted = part != 0
    elsewhere = margins.detach().gather(-1, part.abs().argmax(-1, keepdim=True))
    return torch.where(counted, part * loss(torch.where(counted, margins, elsewhere)), 0.0)
