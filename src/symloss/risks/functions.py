"""The balanced-error and the AUC risk as functions of scores and labels."""

from __future__ import annotations

import math
import sys
import warnings
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor

from symloss.checking import check_contamination, concrete, eager, readable
from symloss.losses import CallableLoss, Loss, LossLike, get_loss
from symloss.pairwise import check_constant, derivatives_of_pairs, risk_of_pairs, risk_of_points
from symloss.risks.distributed import gather_problem
from symloss.risks.problem import Problem, check_problem

if TYPE_CHECKING:
    from symloss.risks.distributed import GroupLike

RISKS = ("ber", "auc")  # the balanced-error and the AUC risk
_AVERAGES, _EMPTY = ("macro", "none"), ("zero", "nan", "raise")


class MissingClassWarning(UserWarning):
    """A batch lacks the positive or the negative class."""


def ber_risk(
    scores: Tensor,
    target: Any,
    loss: LossLike = "sigmoid",
    weight: Any = None,
    *,
    pi: float | None = None,
    pi_prime: float | None = None,
    num_labels: int | None = None,
    ignore_index: float | None = None,
    average: str = "macro",
    empty: str = "zero",
    process_group: GroupLike | None = None,
    validate: bool = True,
) -> Tensor:
    """Return 1/2 (mean of l(g) over the positives + mean of l(-g) over the negatives), whatever the class balance.

    Parameters are those of ``BERLoss`` and of its call.

    Examples
    --------
    >>> ber_risk(torch.tensor([2.0, -1.0, -3.0]), [1, 1, 0], "zero_one")
    tensor(0.2500)
    >>> ber_risk(torch.tensor([2.0, -1.0, -3.0]), [1, 1, 0], "zero_one", pi=0.75, pi_prime=0.0)
    tensor(0.1667)
    """
    loss, rates = get_loss(loss), unmixing(pi, pi_prime)
    check_choices(average, empty, validate)
    problem = _problem(scores, target, weight, num_labels, ignore_index, process_group, validate)
    risk = _ber(problem, loss) if rates is None else _clean_ber(problem, loss, rates)
    what = "its balanced-error risk " + ("is that of the class that is there" if rates is None else "is zero")
    return _averaged(risk, problem, None, num_labels is not None and average == "macro", empty, what)


@eager
def auc_risk(
    scores: Tensor,
    target: Any,
    loss: LossLike = "sigmoid",
    weight: Any = None,
    *,
    pi: float | None = None,
    pi_prime: float | None = None,
    num_labels: int | None = None,
    ignore_index: float | None = None,
    average: str = "macro",
    empty: str = "zero",
    process_group: GroupLike | None = None,
    validate: bool = True,
) -> Tensor:
    """Return the mean of l(g_i - g_j) over all pairs of a positive i and a negative j.

    With the zero-one loss this is 1 - AUC, ties counted as one half. Parameters are those of ``AUCLoss`` and of its
    call.

    Examples
    --------
    >>> auc_risk(torch.tensor([2.0, -1.0, -3.0]), [1, 0, 1], "zero_one")
    tensor(0.5000)
    >>> auc_risk(torch.tensor([2.0, 1.0, -1.0, 0.0]), [1, 1, 0, 1], "zero_one", pi=1.0, pi_prime=0.0)
    tensor(0.)
    """
    loss, rates = get_loss(loss), unmixing(pi, pi_prime)
    check_choices(average, empty, validate)
    problem = _problem(scores, target, weight, num_labels, ignore_index, process_group, validate)
    check_constant(loss, problem.scores)
    risk, lacking = (_auc(problem, loss), None) if rates is None else _clean_auc(problem, loss, rates)
    what = "its AUC risk is zero and has no gradient"
    return _averaged(risk, problem, lacking, num_labels is not None and average == "macro", empty, what)


@eager
def partial_auc_risk(
    scores: Tensor,
    target: Any,
    loss: LossLike = "sigmoid",
    weight: Any = None,
    *,
    max_fpr: float = 1.0,
    min_tpr: float = 0.0,
    num_labels: int | None = None,
    ignore_index: float | None = None,
    average: str = "macro",
    empty: str = "zero",
    process_group: GroupLike | None = None,
    validate: bool = True,
) -> Tensor:
    """Return the mean of l(g_i - g_j) over the positives i with the lowest and the negatives j with the top scores.

    These are a share 1 - ``min_tpr`` of the positives and a share ``max_fpr`` of the negatives, by weight. With the
    zero-one loss, this is one minus the normalized area under the part of the ROC curve where the false positive rate
    is at most ``max_fpr`` and the true positive rate at least ``min_tpr``. Which points these are depends on the
    scores, and is constant for the gradient. Parameters are those of ``PartialAUCLoss`` and of its call.

    Examples
    --------
    >>> scores, target = torch.tensor([2.0, 0.0, 1.0, -1.0, -2.0, -3.0]), [1, 1, 0, 0, 0, 0]
    >>> partial_auc_risk(scores, target, "zero_one", max_fpr=0.25), partial_auc_risk(scores, target, max_fpr=0.5)
    (tensor(0.5000), tensor(0.3291))
    >>> partial_auc_risk(scores, target, "zero_one", max_fpr=0.25, min_tpr=0.5)
    tensor(1.)
    """
    loss = get_loss(loss)
    check_range(max_fpr, min_tpr)
    check_choices(average, empty, validate)
    problem = _problem(scores, target, weight, num_labels, ignore_index, process_group, validate)
    check_constant(loss, problem.scores)
    scores, positive, weight, _ = problem
    weight = torch.ones_like(scores, dtype=torch.float64) if weight is None else weight
    of_neg = _top(scores.detach(), weight * ~positive, max_fpr)
    of_pos = _top(-scores.detach(), weight * positive, 1 - min_tpr)
    risk = _auc(problem._replace(weight=torch.where(positive, of_pos, of_neg)), loss)
    what = "its partial AUC risk is zero and has no gradient"
    return _averaged(risk, problem, None, num_labels is not None and average == "macro", empty, what)


@eager
def auc_derivatives(
    scores: Tensor, target: Any, loss: LossLike = "sigmoid", weight: Any = None
) -> tuple[Tensor, Tensor]:
    """Return the first and the second derivatives of ``auc_risk`` with respect to each score (n,), for a Newton step.

    Both are zero if a class is missing. Corners and steps of the loss add nothing to the second derivative.

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
    if complete is False:
        warn("a batch lacks a class: the derivatives of its AUC risk are zero")
    of_pos, of_neg = _places(positive)
    w, v = (None, None) if weight is None else (weight[of_pos], weight[of_neg])
    found = derivatives_of_pairs(scores[of_pos].detach(), scores[of_neg].detach(), loss, w, v)
    first, second = torch.empty_like(scores), torch.empty_like(scores)
    first[of_pos], first[of_neg], second[of_pos], second[of_neg] = found
    return first, second


Unmixing = tuple[float, float]  # b and d of ``unmixing``


def unmixing(pi: float | None, pi_prime: float | None) -> Unmixing | None:
    """Return b and d of P = CP + b (CP - CN) and N = CN + d (CN - CP), or None if no rates are given.

    Corrupted positives CP are a mixture pi P + (1 - pi) N of the clean classes, and corrupted negatives CN a mixture
    pi' P + (1 - pi') N. Solved for P and N, b = (1 - pi) / (pi - pi') and d = pi' / (pi - pi').
    """
    if pi is None and pi_prime is None:
        return None
    if pi is None or pi_prime is None:
        raise ValueError(f"pi and pi_prime go together, got pi={pi!r} and pi_prime={pi_prime!r}")
    check_contamination(pi, pi_prime)
    return (1 - pi) / (pi - pi_prime), pi_prime / (pi - pi_prime)


def check_choices(average: str, empty: str, validate: bool) -> None:
    """Raise a ValueError if one of these parameters of all risks is wrong."""
    if average not in _AVERAGES:
        raise ValueError(f"average must be one of {', '.join(_AVERAGES)}, got {average!r}")
    if empty not in _EMPTY:
        raise ValueError(f"empty must be one of {', '.join(_EMPTY)}, got {empty!r}")
    if empty == "raise" and not validate:
        raise ValueError("empty='raise' reads whether a class is missing, and so needs validate=True")


def check_range(max_fpr: float, min_tpr: float) -> None:
    """Raise a ValueError unless there is a part of the ROC curve in this range."""
    if not 0 < max_fpr <= 1:
        raise ValueError(f"max_fpr must be above 0 and at most 1, got {max_fpr!r}")
    if not 0 <= min_tpr < 1:
        raise ValueError(f"min_tpr must be at least 0 and below 1, got {min_tpr!r}")


def warn(message: str) -> None:
    """Warn of the line that led here from outside of symloss and PyTorch."""
    if torch.compiler.is_compiling():  # a warning would break the graph
        return
    level, frame = 1, sys._getframe()
    while frame.f_back is not None and frame.f_globals["__name__"].partition(".")[0] in ("symloss", "torch"):
        level, frame = level + 1, frame.f_back
    # The text is constant, so that Python's default filter shows it once.
    warnings.warn(message, MissingClassWarning, stacklevel=level)


def _problem(
    scores: Tensor,
    target: Any,
    weight: Any,
    num_labels: int | None,
    ignore_index: float | None,
    process_group: GroupLike | None,
    validate: bool,
) -> Problem:
    """Return what was given as a problem, of the points of all ranks if there is a process group."""
    if process_group is None:
        return check_problem(scores, target, weight, validate, num_labels, ignore_index)
    return gather_problem(lambda: check_problem(scores, target, weight, True, num_labels, ignore_index), process_group)


def _averaged(risk: Tensor, problem: Problem, lacking: Tensor | None, macro: bool, empty: str, what: str) -> Tensor:
    """Return the risk of each problem, or the mean over those with both classes; warn, or raise, where one lacks.

    ``lacking`` tells which problems lack a class, if that is not whether each class has a point.
    """
    if lacking is None and (problem.complete or (problem.complete is None and empty == "zero" and not macro)):
        return risk.mean() if macro else risk
    there = problem.has_both() if lacking is None else ~lacking
    if macro:
        risk = torch.where(there, risk, 0.0).sum() / there.sum().clamp(min=1)
        there = there.any()
    if problem.complete is not None and concrete(there.all()) is False:
        if empty == "raise":
            raise ValueError("a batch lacks a class, and empty='raise': empty='zero' or 'nan' goes on")
        if empty == "zero":
            warn(f"a batch lacks a class: {what}")
    return risk if empty == "zero" else torch.where(there, risk, math.nan)


def _exact(scores: Tensor) -> Tensor:
    """Return scores in float64, which MPS does not have."""
    return scores if scores.device.type == "mps" else scores.double()


def _shares(weight: Tensor | None, of_class: Tensor) -> Tensor:
    """Return each point's share of the weight of a class, zero for points of the other class."""
    part = _exact(of_class) if weight is None else weight * of_class
    total = part.sum(-1, keepdim=True)
    return part / torch.where(total > 0, total, 1.0)


def _mean_loss(loss: Loss, margins: Tensor, share: Tensor) -> Tensor:
    """Return the sum of share times loss, in float64; points of share 0 do not exist.

    Zero times an infinite loss or slope would be NaN, so margins of share 0 are moved to 0. Only callables get margins
    in the precision of the scores: they may have parameters of that precision.
    """
    counted = share != 0
    margins = torch.where(counted, margins if isinstance(loss, CallableLoss) else margins.to(share.dtype), 0.0)
    return torch.where(counted, share * loss(margins), 0.0).sum(-1)


def _ber(problem: Problem, loss: Loss) -> Tensor:
    scores, positive, weight, _ = problem
    margins = torch.where(positive, scores, -scores)
    if weight is not None:
        return (0.5 * _mean_loss(loss, margins, _shares(weight, positive) + _shares(weight, ~positive))).to(
            scores.dtype
        )
    count = positive.sum(-1, keepdim=True)
    share = torch.where(positive, 0.5 / _exact(count), 0.5 / _exact(scores.shape[-1] - count))
    return (share * loss(margins if isinstance(loss, CallableLoss) else _exact(margins))).sum(-1).to(scores.dtype)


def _clean_ber(problem: Problem, loss: Loss, rates: Unmixing) -> Tensor:
    """Return half the sum of the mean losses of the clean classes, which are combinations of the corrupted ones."""
    (scores, positive, weight, complete), (b, d) = problem, rates
    of_pos, of_neg = _shares(weight, positive), _shares(weight, ~positive)
    pos = _mean_loss(loss, scores, (1 + b) * of_pos - b * of_neg).to(scores.dtype)
    neg = _mean_loss(loss, -scores, (1 + d) * of_neg - d * of_pos).to(scores.dtype)
    risk = 0.5 * (_non_negative(pos, loss) + _non_negative(neg, loss))
    return risk if complete else torch.where(problem.has_both(), risk, 0.0)


def _auc(problem: Problem, loss: Loss) -> Tensor:
    scores, positive, weight, complete = problem
    if scores.ndim == 1:
        return risk_of_points(scores, positive, loss, weight, complete is not None)
    if scores.is_cpu and readable(scores) and _shared_labels(problem) is None:  # one after the other is quickest
        n = scores.shape[-1]
        weights = [None] * scores[..., 0].numel() if weight is None else weight.reshape(-1, n).unbind()
        rows = zip(scores.reshape(-1, n).unbind(), positive.reshape(-1, n).unbind(), weights, strict=True)
        return torch.stack([risk_of_points(s, y, loss, w) for s, y, w in rows]).reshape(scores.shape[:-1])
    return _between(*_sides(problem), loss)


Side = tuple[Tensor, Tensor | None]  # the scores of one class and their weights; None if all are equal


def _between(first: Side, second: Side, loss: Loss) -> Tensor:
    """Return the mean of l(s - t) over all pairs of a point of the first class and one of the second."""
    return risk_of_pairs(first[0], second[0], loss, first[1], second[1])


def _clean_auc(problem: Problem, loss: Loss, rates: Unmixing) -> tuple[Tensor, Tensor]:
    """Return the mean over pairs of clean points, and which problems have too few points to tell.

    It is a combination of four means over pairs of corrupted points: those of the product of P = (1 + b) CP - b CN and
    N = (1 + d) CN - d CP.
    """
    b, d = rates
    pos, neg = ((_exact(scores), weight) for scores, weight in _sides(problem))
    risk = (1 + b) * (1 + d) * _between(pos, neg, loss)
    lacking = ~problem.has_both()
    if b and d:
        risk = risk + b * d * _between(neg, pos, loss)
    for side, factor in ((pos, (1 + b) * d), (neg, b * (1 + d))):
        if factor:
            within, share = _within(side, loss)
            risk, lacking = risk - factor * within, lacking | ~(share > 0)
    return _non_negative(torch.where(lacking, 0.0, risk).to(problem.scores.dtype), loss), lacking


def _within(side: Side, loss: Loss) -> tuple[Tensor, Tensor]:
    """Return the mean of l(s - s') over pairs of two different points of a class, and the weight of these pairs.

    A clean pair is two independent draws. A point paired with itself is not, and would add l(0) to the mean: so these
    pairs are taken out. A point of weight k is still one point.
    """
    scores, weight = side
    weight = torch.ones_like(scores) if weight is None else weight
    total, of_itself = weight.sum(-1).square(), weight.square().sum(-1)
    share = total - of_itself
    found = total * _between(side, side, loss) - of_itself * loss(scores.new_zeros(1))[0]
    return found / torch.where(share > 0, share, 1.0), share


def _non_negative(estimate: Tensor, loss: Loss) -> Tensor:
    """Return an estimate of a mean loss, zero where it is negative, unless the loss itself takes negative values.

    The correction is that of Kiryo et al. (2017) and Lu et al. (2020). The signs of the loss are read off at margins
    up to 1e12, and a loss that is negative there keeps its estimate.
    """
    sizes = torch.logspace(-3, 12, 151, dtype=estimate.dtype, device=estimate.device)
    with torch.no_grad():
        values = loss(torch.cat([-sizes, sizes.new_tensor([0.0, *loss.breakpoints]), sizes]))
    least = torch.where((values < 0).any(), -math.inf, 0.0).to(estimate.dtype)
    return estimate.clamp(min=least)


def _top(scores: Tensor, weight: Tensor, share: float) -> Tensor:
    """Return the weights of the points with the top scores that make up a share of all weight, zeros for the others.

    A point at the border counts in part, and points with equal scores there count alike.
    """
    order = scores.argsort(-1, descending=True)
    sums = weight.gather(-1, order).cumsum(-1)
    limit = share * sums[..., -1:]
    place = torch.searchsorted(sums, limit).clamp(max=scores.shape[-1] - 1)
    border = scores.gather(-1, order.gather(-1, place))
    above = (scores > border) | scores.isnan()  # NaN is sorted to the top, and must stay to be seen
    at = scores == border
    there = (weight * at).sum(-1, keepdim=True)
    part = (limit - (weight * above).sum(-1, keepdim=True)) / torch.where(there > 0, there, 1.0)
    return torch.where(above, weight, torch.where(at, weight * part.clamp(0, 1), 0.0))


def _sides(problem: Problem) -> tuple[Side, Side]:
    """Return the positives and the negatives."""
    scores, positive, weight, _ = problem
    shared = _shared_labels(problem)
    if shared is None:  # every point is on both sides, but has weight on one only
        weight = torch.ones_like(scores) if weight is None else weight
        return (scores, weight * positive), (scores, weight * ~positive)
    of_pos, of_neg = ((scores[..., own], None if weight is None else weight[..., own]) for own in _places(shared))
    return of_pos, of_neg


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
