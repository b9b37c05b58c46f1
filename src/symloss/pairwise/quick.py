"""One small problem on a CPU, where most of the time goes into calls: the shortest way from scores to a risk.

Where it does not apply (weights, batches, other devices, many scores, scores that are not finite), nothing is returned,
and the usual way has to be gone.
"""

from __future__ import annotations

from typing import Any, NoReturn

import numpy as np
import torch
from torch import Tensor

from symloss.losses import Loss
from symloss.pairwise.arrays import Scores
from symloss.pairwise.once import NO_FORWARD_MODE, Once
from symloss.pairwise.plans import Plan, plan_of

_TYPES, _DTYPES = (Tensor, torch.nn.Parameter), (torch.float32, torch.float64)
_MOST_POINTS = 1 << 12  # more are not worth a second way
_LARGEST = 1e30  # the slopes of larger values might overflow in float32


def quick_pair_mean(pos: Any, neg: Any, loss: Loss) -> Tensor | None:
    """Return the mean over all pairs of two classes of equal weight, or None where this way does not apply."""
    if not (_plain(pos) and _plain(neg)) or pos.dtype is not neg.dtype:
        return None
    return _applied(_PairMean, loss, pos, neg)


def quick_point_mean(scores: Tensor, positive: Tensor, loss: Loss) -> Tensor | None:
    """Return the same for points with labels."""
    if not _plain(scores) or scores.shape[0] > _MOST_POINTS or type(positive) is not Tensor:
        return None
    return _applied(_PointMean, loss, scores, positive)


def _plain(scores: Any) -> bool:
    return (
        type(scores) in _TYPES
        and scores.ndim == 1
        and scores.dtype in _DTYPES
        and scores.is_cpu
        and not scores.is_neg()
    )


class _NotQuick(Exception):  # noqa: N818  # no error
    """Raised where the usual way has to be gone."""


def _applied(function: Any, loss: Loss, *inputs: Any) -> Tensor | None:
    plan = plan_of(loss)
    if plan is None:
        return None
    try:
        value: Tensor = function.apply(*inputs, plan)
    except _NotQuick:
        return None
    except RuntimeError as error:  # a transform of torch.func needs another form
        if "setup_context" not in str(error):
            raise
        return None
    return value


def _found(plan: Plan, s: Scores, t: Scores) -> tuple[Tensor, Scores, Scores]:
    """Return the value and the slopes in the precision of the scores."""
    sums = plan(s, t)
    if sums is None or not abs(sums[0]) <= _LARGEST:
        raise _NotQuick
    dtype = s.dtype
    return (
        torch.from_numpy(np.array(sums[0], dtype)),
        sums[1].astype(dtype, copy=False),
        sums[2].astype(dtype, copy=False),
    )


class _PairMean(torch.autograd.Function):
    """The mean over all pairs as a single node of the graph; gradients are computed with it."""

    @staticmethod
    def forward(ctx: Any, pos: Tensor, neg: Tensor, plan: Plan) -> Tensor:
        value, of_pos, of_neg = _found(plan, pos.detach().numpy(), neg.detach().numpy())
        ctx.inputs = pos, neg  # saving takes longer
        ctx.gradients = torch.from_numpy(of_pos), torch.from_numpy(of_neg)
        return value

    @staticmethod
    def jvp(*_: Any) -> NoReturn:
        raise RuntimeError(NO_FORWARD_MODE)

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor, Tensor, None]:
        of_pos, of_neg = ctx.gradients
        if torch.is_grad_enabled():  # the caller may differentiate again
            pos, neg = ctx.inputs
            return Once.apply(grad * of_pos, pos), Once.apply(grad * of_neg, neg), None  # type: ignore[no-untyped-call]
        return grad * of_pos, grad * of_neg, None


class _PointMean(torch.autograd.Function):
    """The same for points with labels."""

    @staticmethod
    def forward(ctx: Any, scores: Tensor, positive: Tensor, plan: Plan) -> Tensor:
        x, is_pos = scores.detach().numpy(), positive.numpy()
        is_neg = ~is_pos
        value, of_pos, of_neg = _found(plan, x[is_pos], x[is_neg])
        gradient = np.empty_like(x)
        gradient[is_pos], gradient[is_neg] = of_pos, of_neg
        ctx.scores, ctx.gradient = scores, torch.from_numpy(gradient)
        return value

    @staticmethod
    def jvp(*_: Any) -> NoReturn:
        raise RuntimeError(NO_FORWARD_MODE)

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor, None, None]:
        gradient = grad * ctx.gradient
        if torch.is_grad_enabled():  # the caller may differentiate again
            gradient = Once.apply(gradient, ctx.scores)  # type: ignore[no-untyped-call]
        return gradient, None, None
