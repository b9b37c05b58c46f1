"""The balanced-error and the AUC risk as pure functions of scores and labels."""

from __future__ import annotations

import warnings
from typing import Any

import torch
from torch import Tensor

from symloss.checking import Problem, check_problem
from symloss.losses import Loss, LossLike, get_loss
from symloss.pairwise import check_constant, derivatives_of_pairs, fractions, risk_of_pairs
from symloss.tracing import concrete, eager

RISKS = ("ber", "auc")  # the balanced-error and the AUC risk


class MissingClassWarning(UserWarning):
    """A batch lacks the positive or the negative class.

    Examples
    --------
    >>> with warnings.catch_warnings(record=True) as caught:
    ...     warnings.simplefilter("always")
    ...     risk = auc_risk(torch.tensor([0.5, 2.0]), [1, 1])
    >>> caught[0].category.__name__, risk
    ('MissingClassWarning', tensor(0.))
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
    Under ``torch.compile`` and ``vmap``, labels cannot be read and are not checked: 1 is positive, all else negative.

    Examples
    --------
    >>> ber_risk(torch.tensor([2.0, -1.0, -3.0]), [1, 1, 0], "zero_one")
    tensor(0.2500)
    """
    problem = check_problem(scores, target, weight)
    return ber_of(problem, get_loss(loss))


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
    problem = check_problem(scores, target, weight)
    return auc_of(problem, get_loss(loss))


@eager
def auc_derivatives(
    scores: Tensor, target: Any, loss: LossLike = "sigmoid", weight: Tensor | None = None
) -> tuple[Tensor, Tensor]:
    """Return the first and the second derivatives of ``auc_risk`` with respect to each score, for a Newton step.

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
        The gradient and the diagonal of the Hessian; both are zero if a class is missing. Corners and steps of the
        loss add nothing to the second derivative.

    Examples
    --------
    >>> auc_derivatives(torch.tensor([2.0, 0.0]), [1, 0], "squared")
    (tensor([ 2., -2.]), tensor([2., 2.]))
    """
    scores, positive, weight, complete = check_problem(scores, target, weight)
    if scores.ndim != 1:
        raise ValueError(f"scores must have shape (n,), got {tuple(scores.shape)}")
    loss = get_loss(loss)
    check_constant(loss, scores)
    _warn_if_missing(complete, "the derivatives of the AUC risk are zero", stacklevel=3)
    of_pos, of_neg = _places(positive)
    w, v = (None, None) if weight is None else (weight[of_pos], weight[of_neg])
    found = derivatives_of_pairs(scores[of_pos].detach(), scores[of_neg].detach(), loss, w, v)
    first, second = torch.empty_like(scores), torch.empty_like(scores)
    first[of_pos], first[of_neg], second[of_pos], second[of_neg] = found
    return first, second


def ber_of(problem: Problem, loss: Loss) -> Tensor:
    """Return ``ber_risk`` of a problem that has been checked.

    Examples
    --------
    >>> ber_of(check_problem([2.0, -1.0, -3.0], [1, 1, 0], None), get_loss("zero_one"))
    tensor(0.2500)
    """
    scores, positive, weight, complete = problem
    _warn_if_missing(complete, "the balanced-error risk uses the class that is there")
    margins = torch.where(positive, scores, -scores)
    if weight is None:
        of_pos, of_neg = positive.to(scores.dtype), (~positive).to(scores.dtype)
    else:
        of_pos, of_neg = fractions(weight * positive), fractions(weight * ~positive)
        if scores.shape[-1]:
            # Points without weight are moved to a margin that counts: zero times an infinite loss would be NaN.
            margins = torch.where(weight > 0, margins, margins.gather(-1, weight.argmax(-1, keepdim=True)))
    total_pos, total_neg = of_pos.sum(-1, keepdim=True), of_neg.sum(-1, keepdim=True)
    total = torch.where(positive, total_pos, total_neg)
    if not complete:
        total = torch.where(total > 0, total, 1.0)
    share = 0.5 * torch.where(positive, of_pos, of_neg) / total
    return (share.to(scores.dtype) * loss(margins)).sum(-1)


@eager
def auc_of(problem: Problem, loss: Loss) -> Tensor:
    """Return ``auc_risk`` of a problem that has been checked.

    Examples
    --------
    >>> auc_of(check_problem([2.0, -1.0, -3.0], [1, 0, 1], None), get_loss("zero_one"))
    tensor(0.5000)
    """
    scores, positive, weight, complete = problem
    check_constant(loss, scores)
    _warn_if_missing(complete, "the AUC risk is zero and has no gradient")
    shared = _shared_labels(problem)
    if shared is None:  # every point is on both sides, but has weight on one only
        weight = torch.ones_like(scores) if weight is None else weight
        return risk_of_pairs(scores, scores, loss, weight * positive, weight * ~positive)
    of_pos, of_neg = _places(shared)
    w, v = (None, None) if weight is None else (weight[..., of_pos], weight[..., of_neg])
    return risk_of_pairs(scores[..., of_pos], scores[..., of_neg], loss, w, v)


def _shared_labels(problem: Problem) -> Tensor | None:
    """Return the labels (n,) that all problems share, or None if each has its own or they cannot be read."""
    positive = problem.positive
    if positive.ndim == 1 and problem.complete is not None:
        return positive
    n = positive.shape[-1]
    first = positive.reshape(-1, n)[0] if positive.numel() else positive.new_zeros(n)
    return first if concrete((positive == first).all()) else None


def _places(positive: Tensor) -> tuple[Tensor, Tensor]:
    """Return the places of the positives and of the negatives; a mask would be searched again at every use."""
    return positive.nonzero(as_tuple=True)[0], (~positive).nonzero(as_tuple=True)[0]


def _warn_if_missing(complete: bool | None, consequence: str, stacklevel: int = 4) -> None:
    if complete is False and not torch.compiler.is_compiling():  # a warning would break the graph
        # The text is constant, so that Python's default filter shows it once.
        warnings.warn(
            f"a batch lacks a class: {consequence} (scores of shape (n, 1) are n batches of one: squeeze them)",
            MissingClassWarning,
            stacklevel=stacklevel,
        )


__all__ = ["RISKS", "MissingClassWarning", "auc_derivatives", "auc_risk", "ber_risk"]
