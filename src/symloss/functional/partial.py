"""The risk of the partial AUC: positives are paired with the negatives that are ranked highest only."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from symloss.checking import Problem, check_fraction, check_problem
from symloss.functional.auc import auc_of
from symloss.losses import LossLike, get_loss
from symloss.pairwise import fractions
from symloss.tracing import eager


@eager
def partial_auc_risk(
    scores: Tensor, target: Any, loss: LossLike = "sigmoid", weight: Tensor | None = None, *, max_fpr: float
) -> Tensor:
    """Return the mean of l(g_i - g_j) over positives i and those negatives j with the top scores: a share ``max_fpr``.

    With the zero-one loss this is 1 - pAUC / max_fpr, where pAUC is the area under the ROC curve for false positive
    rates in [0, max_fpr], unless the curve has a tie of both classes right there. Which negatives are on top depends on
    the scores, and is constant for the gradient.

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
    max_fpr : float
        The share of negatives, by weight, between 0 and 1. A negative at the limit counts in part, and negatives with
        equal scores there count alike.

    Returns
    -------
    Tensor of shape (...)
        The risk; zero, with zero gradient, where a class is missing or has no weight.

    Notes
    -----
    Unlike the AUC risk, this one has no guarantee for corrupted labels: among the negatives with the top scores, the
    share of wrong labels is larger than elsewhere. Use it for labels that you trust.

    Examples
    --------
    >>> import torch
    >>> scores, target = torch.tensor([2.0, 0.0, 1.0, -1.0, -2.0, -3.0]), [1, 1, 0, 0, 0, 0]
    >>> partial_auc_risk(scores, target, "zero_one", max_fpr=0.25), partial_auc_risk(scores, target, max_fpr=0.5)
    (tensor(0.5000), tensor(0.3291))
    """
    check_fraction("max_fpr", max_fpr)
    problem = check_problem(scores, target, weight)
    return auc_of(problem._replace(weight=_top_only(problem, max_fpr)), get_loss(loss))


def _top_only(problem: Problem, share: float) -> Tensor:
    """Return the weights, with those of negatives below the top share set to zero."""
    scores, positive, weight, _ = problem
    scores = scores.detach()
    weight = torch.ones_like(scores, dtype=torch.float64) if weight is None else weight
    mass = fractions(weight * ~positive)
    order = scores.argsort(-1, descending=True)
    sums = mass.gather(-1, order).cumsum(-1)
    limit = share * sums[..., -1:]
    place = torch.searchsorted(sums, limit).clamp(max=scores.shape[-1] - 1)
    border = scores.gather(-1, order.gather(-1, place))
    above = ((scores > border) | scores.isnan()) & ~positive  # NaN is sorted to the top, and must stay to be seen
    at = (scores == border) & ~positive
    there = (mass * at).sum(-1, keepdim=True)
    part = (limit - (mass * above).sum(-1, keepdim=True)) / torch.where(there > 0, there, 1.0)
    return torch.where(positive | above, weight, torch.where(at, weight * part.clamp(0, 1), 0.0))
