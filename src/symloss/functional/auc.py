"""The AUC risk and its derivatives: of the labels at hand, or of clean labels where the noise rates are known."""

from __future__ import annotations

import warnings
from typing import Any, NamedTuple

import torch
from torch import Tensor

from symloss.checking import Problem, check_problem
from symloss.functional.clean import Unmixing, non_negative, unmixing
from symloss.functional.missing import MissingClassWarning, warn_if_missing
from symloss.losses import Loss, LossLike, get_loss
from symloss.pairwise import check_constant, derivatives_of_pairs, fractions, risk_of_pairs, risk_of_points
from symloss.tracing import concrete, eager

_OUTWEIGHED = 2.0**-20  # of the square of all weights: if different points make up less, six digits would be lost


@eager  # a graph break: labels pick the scores, and the pairs are computed eagerly
def auc_risk(
    scores: Tensor,
    target: Any,
    loss: LossLike = "sigmoid",
    weight: Tensor | None = None,
    *,
    pi: float | None = None,
    pi_prime: float | None = None,
    validate: bool = True,
) -> Tensor:
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
    pi, pi_prime : float, optional
        Share of clean positives among the points labeled positive and among those labeled negative, pi > pi'. If both
        are given, the result estimates the risk on clean labels; see ``AUCLoss``.
    validate : bool
        Whether to check the values of scores, labels and weights; see ``AUCLoss``.

    Returns
    -------
    Tensor of shape (...)
        The risk; zero, with zero gradient, where a class is missing or has no weight. If rates are given, also where a
        class whose points must be paired with each other has only one.

    Examples
    --------
    >>> auc_risk(torch.tensor([2.0, -1.0, -3.0]), [1, 0, 1], "zero_one")
    tensor(0.5000)
    >>> auc_risk(torch.tensor([2.0, 1.0, -1.0, 0.0]), [1, 1, 0, 1], "zero_one", pi=1.0, pi_prime=0.0)
    tensor(0.)
    """
    rates = unmixing(pi, pi_prime)
    problem = check_problem(scores, target, weight, validate)
    return auc_of(problem, get_loss(loss), rates)


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
    warn_if_missing(complete, "the derivatives of the AUC risk are zero", stacklevel=3)
    of_pos, of_neg = _places(positive)
    w, v = (None, None) if weight is None else (weight[of_pos], weight[of_neg])
    found = derivatives_of_pairs(scores[of_pos].detach(), scores[of_neg].detach(), loss, w, v)
    first, second = torch.empty_like(scores), torch.empty_like(scores)
    first[of_pos], first[of_neg], second[of_pos], second[of_neg] = found
    return first, second


@eager
def auc_of(problem: Problem, loss: Loss, rates: Unmixing | None = None) -> Tensor:
    """Return ``auc_risk`` of a problem that has been checked.

    Examples
    --------
    >>> auc_of(check_problem([2.0, -1.0, -3.0], [1, 0, 1], None), get_loss("zero_one"))
    tensor(0.5000)
    """
    check_constant(loss, problem.scores)
    warn_if_missing(problem.complete, "the AUC risk is zero and has no gradient")
    if rates is None:
        reads = problem.complete is not None
        risk = risk_of_points(problem.scores, problem.positive, loss, problem.weight, reads)
        if risk is not None:
            return risk
    pos, neg = _sides(problem)
    return _between(pos, neg, loss) if rates is None else _clean_auc(pos, neg, loss, rates, problem.complete)


class _Side(NamedTuple):
    """The scores of one class and their weights; None if all are equal."""

    scores: Tensor
    weight: Tensor | None

    def is_missing(self) -> Tensor:
        """Return whether no point has weight."""
        return ~(self.counted() > 0).any(-1)

    def counted(self) -> Tensor:
        """Return the weights, as fractions of the largest."""
        return torch.ones_like(self.scores) if self.weight is None else fractions(self.weight)

    def in_float64(self) -> _Side:
        """Return the same scores in float64, unless their device has none."""
        return self if self.scores.device.type == "mps" else self._replace(scores=self.scores.double())


def _sides(problem: Problem) -> tuple[_Side, _Side]:
    """Return the positives and the negatives."""
    scores, positive, weight, _ = problem
    shared = _shared_labels(problem)
    if shared is None:  # every point is on both sides, but has weight on one only
        weight = torch.ones_like(scores) if weight is None else weight
        return _Side(scores, weight * positive), _Side(scores, weight * ~positive)
    pos, neg = (_Side(scores[..., own], None if weight is None else weight[..., own]) for own in _places(shared))
    return pos, neg


def _between(first: _Side, second: _Side, loss: Loss) -> Tensor:
    """Return the mean of l(s - t) over all pairs of a point of the first class and one of the second."""
    return risk_of_pairs(first.scores, second.scores, loss, first.weight, second.weight)


def _clean_auc(pos: _Side, neg: _Side, loss: Loss, rates: Unmixing, complete: bool | None) -> Tensor:
    """Return the mean over pairs of clean points, as a combination of four means over pairs of corrupted points.

    The four are those of the product of P = (1 + b) CP - b CN and N = (1 + d) CN - d CP. One that is not needed is not
    computed.
    """
    b, d = rates
    dtype, pos, neg = pos.scores.dtype, pos.in_float64(), neg.in_float64()
    risk = (1 + b) * (1 + d) * _between(pos, neg, loss)
    few = pos.is_missing() | neg.is_missing()
    if b and d:
        risk = risk + b * d * _between(neg, pos, loss)
    for side, factor in ((pos, (1 + b) * d), (neg, b * (1 + d))):
        if factor:
            total, share = _within(side, loss, reads=complete is not None or not side.scores.is_cuda)
            risk, few = risk - factor * total / torch.where(share > 0, share, 1.0), few | ~(share > 0)
    if complete and concrete(few.any()):
        warnings.warn(
            "a batch has a single point of a class: the risk of clean labels is taken to be zero, and has no gradient",
            MissingClassWarning,
            stacklevel=4,
        )
    return non_negative(torch.where(few, 0.0, risk).to(dtype), loss)


def _within(side: _Side, loss: Loss, reads: bool) -> tuple[Tensor, Tensor]:
    """Return the sum of l(s - s') over pairs of two different points of a class, by weight, and that of the weights.

    A clean pair is two independent draws. A point paired with itself is not, and would add l(0) to the mean: so these
    pairs are taken out. A point of weight k is still one point. Where a point outweighs all others together, hardly
    anything else would be left: its pairs with the others are computed for themselves. If nothing may be read, the sum
    is NaN there.
    """
    weight = side.counted()
    if not weight.shape[-1]:
        return weight.sum(-1), weight.sum(-1)
    total, share = weight.sum(-1), (weight * _others(weight)).sum(-1)
    outweighed = share < _OUTWEIGHED * total.square()
    split = concrete(outweighed.any()) if reads else None
    if split:
        place = weight.argmax(-1, keepdim=True)
        heavy, light = weight.gather(-1, place), weight.scatter(-1, place, 0.0)
        point, others = _Side(side.scores.gather(-1, place), heavy), _Side(side.scores, light)
        scale = light.amax(-1)
        rest, rest_share = _within(others, loss, reads)
        across = (heavy * light).sum(-1)
        both = _between(point, others, loss) + _between(others, point, loss)
        return across * both + scale.square() * rest, 2 * across + scale.square() * rest_share
    at_zero = loss.checked_value(side.scores.new_zeros(1))[0]
    found = total.square() * _between(side, side, loss) - weight.square().sum(-1) * at_zero
    return (found if split is False else torch.where(outweighed, torch.nan, found)), share


def _others(weight: Tensor) -> Tensor:
    """Return for each point the sum of the weights of all others, as a sum of those before and those after it."""
    before = torch.nn.functional.pad(weight.cumsum(-1), (1, 0))[..., :-1]
    after = torch.nn.functional.pad(weight.flip(-1).cumsum(-1), (1, 0))[..., :-1].flip(-1)
    return before + after


def _shared_labels(problem: Problem) -> Tensor | None:
    """Return the labels (n,) that all problems share, or None if each has its own or they cannot be read."""
    positive = problem.positive
    if problem.complete is None and positive.is_cuda:  # nothing is to be read: a GPU would have to wait
        return None
    if positive.ndim == 1 and problem.complete is not None:
        return positive
    n = positive.shape[-1]
    first = positive.reshape(-1, n)[0] if positive.numel() else positive.new_zeros(n)
    return first if concrete((positive == first).all()) else None


def _places(positive: Tensor) -> tuple[Tensor, Tensor]:
    """Return the places of the positives and of the negatives; a mask would be searched again at every use."""
    return positive.nonzero(as_tuple=True)[0], (~positive).nonzero(as_tuple=True)[0]
