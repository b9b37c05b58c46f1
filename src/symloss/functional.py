"""The balanced-error and the AUC risk as pure functions of scores and labels."""

from __future__ import annotations

import warnings
from typing import Any

import torch
from torch import Tensor

from symloss.labels import is_positive
from symloss.losses import LossLike, get_loss
from symloss.losses.base import as_real
from symloss.pairwise import check_weight, fractions, pairwise_derivatives, pairwise_risk
from symloss.tracing import concrete, eager

RISKS = ("ber", "auc")  # the balanced-error and the AUC risk


class MissingClassWarning(UserWarning):
    """A batch lacks the positive or the negative class.

    Examples
    --------
    >>> issubclass(MissingClassWarning, UserWarning)
    True
    """


def ber_risk(scores: Tensor, target: Any, loss: LossLike = "sigmoid", weight: Tensor | None = None) -> Tensor:
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

    Returns
    -------
    Tensor of shape (...)
        The risk. The term of a class that is missing, or has no weight, is zero.

    Notes
    -----
    Under ``torch.compile`` and ``vmap`` labels cannot be read, and are not checked: 1 is positive, the rest negative.

    Examples
    --------
    >>> ber_risk(torch.tensor([2.0, -1.0, -3.0]), [1, 1, 0], "zero_one")
    tensor(0.2500)
    """
    scores, positive, weight = check_problem(scores, target, weight)
    margins = torch.where(positive, scores, -scores)
    if weight is None:
        weight = torch.ones_like(scores)
    elif scores.shape[-1]:
        # Points without weight are moved to a margin that counts: zero times an infinite loss would be NaN.
        margins = torch.where(weight > 0, margins, margins.gather(-1, weight.argmax(-1, keepdim=True)))
    of_pos, of_neg = fractions(weight * positive), fractions(weight * ~positive)
    total_pos, total_neg = of_pos.sum(-1, keepdim=True), of_neg.sum(-1, keepdim=True)
    _warn_if_missing(total_pos, total_neg, "the balanced-error risk uses the class that is there")
    total = torch.where(positive, total_pos, total_neg)
    share = 0.5 * torch.where(positive, of_pos, of_neg) / torch.where(total > 0, total, 1.0)
    return (share.to(scores.dtype) * get_loss(loss)(margins)).sum(-1)


@eager  # a graph break: labels pick the scores, and the pairs are computed eagerly
def auc_risk(scores: Tensor, target: Any, loss: LossLike = "sigmoid", weight: Tensor | None = None) -> Tensor:
    """Return the mean of l(g_i - g_j) over all pairs of a positive i and a negative j.

    With the zero-one loss this is 1 - AUC, ties counted as one half.

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

    Returns
    -------
    Tensor of shape (...)
        The risk; zero, with zero gradient, where a class is missing or has no weight.

    Examples
    --------
    >>> auc_risk(torch.tensor([2.0, -1.0, -3.0]), [1, 0, 1], "zero_one")
    tensor(0.5000)
    """
    scores, positive, weight = check_problem(scores, target, weight)
    _warn_if_missing(*_totals(positive, weight), "the AUC risk is zero and has no gradient")
    shared = positive.reshape(-1, scores.shape[-1])[0] if positive.numel() else positive.new_zeros(scores.shape[-1])
    if concrete((positive == shared).all()):
        pos, neg = scores[..., shared], scores[..., ~shared]
        if weight is None:
            return pairwise_risk(pos, neg, loss)
        return pairwise_risk(pos, neg, loss, weight[..., shared], weight[..., ~shared])
    # Each problem has its own labels, or they cannot be read: every point stands on both sides, weighing on one.
    weight = torch.ones_like(scores) if weight is None else weight
    return pairwise_risk(scores, scores, loss, weight * positive, weight * ~positive)


@eager
def auc_derivatives(
    scores: Tensor, target: Any, loss: LossLike = "sigmoid", weight: Tensor | None = None
) -> tuple[Tensor, Tensor]:
    """Return the first and the second derivative of ``auc_risk`` by each score: what gradient boosting needs.

    Parameters
    ----------
    scores : Tensor of shape (n,)
        Scores g.
    target : Tensor of shape (n,)
        Labels in {0, 1}, {-1, +1} or bool.
    loss : str, Loss or callable
        The margin loss l.
    weight : Tensor of shape (n,), optional
        Non-negative weights; weight k counts as k repetitions.

    Returns
    -------
    (Tensor, Tensor), each of shape (n,)
        The gradient and the diagonal of the Hessian; both zero where a class is missing. Corners and steps of the loss
        have no part in the second derivative.

    Examples
    --------
    >>> auc_derivatives(torch.tensor([2.0, 0.0]), [1, 0], "squared")
    (tensor([ 2., -2.]), tensor([2., 2.]))
    """
    scores, positive, weight = check_problem(scores, target, weight)
    if scores.ndim != 1:
        raise ValueError(f"scores must have shape (n,), got {tuple(scores.shape)}")
    _warn_if_missing(*_totals(positive, weight), "the derivatives of the AUC risk are zero")
    w, v = (None, None) if weight is None else (weight[positive], weight[~positive])
    found = pairwise_derivatives(scores[positive].detach(), scores[~positive].detach(), loss, w, v)
    first, second = torch.empty_like(scores), torch.empty_like(scores)
    first[positive], first[~positive], second[positive], second[~positive] = found
    return first, second


def check_problem(scores: Any, target: Any, weight: Tensor | None) -> tuple[Tensor, Tensor, Tensor | None]:
    """Check scores, labels and weights against each other; labels and weights come back in the scores' shape."""
    scores = as_real(scores, "scores")
    if scores.ndim == 0:
        raise ValueError("scores must have shape (n,) or (..., n), got a single number")
    positive = is_positive(target).to(scores.device)
    n = scores.shape[-1]
    if positive.ndim == 0 or positive.shape[-1] != n or positive.ndim > scores.ndim:
        expected = f"({n},)" if scores.ndim == 1 else f"({n},) or the scores' shape {tuple(scores.shape)}"
        longer = "scores" if scores.ndim > positive.ndim else "target"
        column = (scores if longer == "scores" else positive).shape[-1:] == (1,)
        hint = f"; use {longer}.squeeze(-1)" if column and scores.numel() == positive.numel() else ""
        raise ValueError(f"target must have shape {expected}, got {tuple(positive.shape)}{hint}")
    try:
        positive = positive.expand(scores.shape)
    except RuntimeError:
        raise ValueError(
            f"target of shape {tuple(positive.shape)} does not fit scores of shape {tuple(scores.shape)}"
        ) from None
    return scores, positive, None if weight is None else check_weight(weight, scores)


def _totals(positive: Tensor, weight: Tensor | None) -> tuple[Tensor, Tensor]:
    """Return the weight of the positives and of the negatives."""
    pos, neg = ((side if weight is None else weight * side).sum(-1, keepdim=True) for side in (positive, ~positive))
    return pos, neg


def _warn_if_missing(total_pos: Tensor, total_neg: Tensor, consequence: str) -> None:
    if concrete(((total_pos > 0) & (total_neg > 0)).all()) is False:
        # The text is constant, so that Python's default filter shows it once.
        warnings.warn(
            f"a batch lacks a class: {consequence} (scores of shape (n, 1) are n batches of one: squeeze them)",
            MissingClassWarning,
            stacklevel=3,
        )


__all__ = ["RISKS", "MissingClassWarning", "auc_derivatives", "auc_risk", "ber_risk"]
