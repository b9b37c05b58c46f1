"""The mean over all pairs as one node of PyTorch's graph: both gradients are computed together with the value."""

from __future__ import annotations

from typing import Any, cast

import numpy as np
import torch
from torch import Tensor

from symloss.losses import Loss
from symloss.pairwise.choose import all_pairs, way_for
from symloss.pairwise.every_pair import Sums
from symloss.tracing import remember_signature


def pair_mean(pos: Tensor, neg: Tensor, w: Tensor | None, v: Tensor | None, loss: Loss, method: str) -> Tensor:
    """Return the mean over all pairs, a plain tensor that can be differentiated once and changed in place.

    Examples
    --------
    >>> from symloss.losses import get_loss
    >>> s = torch.tensor([0.0], requires_grad=True)
    >>> risk = pair_mean(s, torch.tensor([0.0, 3.0]), None, None, get_loss("hinge"), "auto")
    >>> risk *= 2
    >>> risk.backward()
    >>> s.grad
    tensor([-2.])
    """
    try:
        value = _PairMean.apply(pos, neg, w, v, loss, method)  # type: ignore[no-untyped-call]
    except RuntimeError as error:  # a transform of torch.func needs the other form
        if "setup_context" not in str(error):
            raise
        value = _TransformedPairMean.apply(pos, neg, w, v, loss, method)[0]  # type: ignore[no-untyped-call]
    return cast(Tensor, value)


def point_mean(scores: Tensor, positive: Tensor, loss: Loss) -> Tensor | None:
    """Return the mean over all pairs of points (n,) on a CPU with labels, or None under a transform of ``torch.func``.

    It is one node of the graph, where picking the classes first would be three.

    Examples
    --------
    >>> from symloss.losses import get_loss
    >>> point_mean(torch.tensor([1.0, 0.0, 3.0]), torch.tensor([True, False, False]), get_loss("hinge"))
    tensor(1.5000)
    """
    try:
        return cast(Tensor, _PointMean.apply(scores, positive, loss))  # type: ignore[no-untyped-call]
    except RuntimeError as error:
        if "setup_context" not in str(error):
            raise
        return None


def _scaled(grad: Tensor, scores: Tensor, gradient: Tensor) -> Tensor:
    """Return the gradient with respect to scores, times the one that comes in."""
    scaled = grad.unsqueeze(-1) * gradient if grad.ndim else grad * gradient
    if scaled.shape != scores.shape:
        scaled = scaled.sum_to_size(scores.shape)
    if torch.is_grad_enabled():  # the caller may differentiate again, and PyTorch would take it for a constant
        scaled = _Once.apply(scaled, scores)  # type: ignore[no-untyped-call]
    return scaled


class _PairMean(torch.autograd.Function):
    """The form for common use, which takes half the time to call."""

    @staticmethod
    def forward(ctx: Any, *inputs: Any) -> Tensor:
        value, *gradients = all_pairs(*inputs)
        ctx.scores = inputs[:2]  # not saved: they may be changed in place
        ctx.save_for_backward(*gradients)
        return value

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor | None, ...]:
        of_pos, of_neg = ctx.saved_tensors
        if not grad.ndim and not torch.is_grad_enabled():  # the usual case, in few steps
            return grad * of_pos, grad * of_neg, None, None, None, None
        pos, neg = ctx.scores
        return _scaled(grad, pos, of_pos), _scaled(grad, neg, of_neg), None, None, None, None


class _PointMean(torch.autograd.Function):
    """The same for points with labels, without weights and on a CPU."""

    @staticmethod
    def forward(ctx: Any, scores: Tensor, positive: Tensor, loss: Loss) -> Tensor:
        points, is_pos = scores.numpy(), positive.numpy()
        is_neg = ~is_pos
        pos, neg = torch.from_numpy(points[is_pos]), torch.from_numpy(points[is_neg])
        pairs = len(pos) * len(neg)
        gradient = np.zeros_like(points)
        value = scores.new_zeros(())
        if pairs:
            total, of_pos, of_neg = way_for(loss, pairs, "cpu", "auto")(pos, neg, None, None, loss)
            value = (total / pairs).to(scores.dtype)
            gradient[is_pos], gradient[is_neg] = of_pos.numpy(), -of_neg.numpy()
            gradient *= 1 / pairs
        ctx.scores = scores
        ctx.save_for_backward(torch.from_numpy(gradient))
        return value

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor | None, ...]:
        (gradient,) = ctx.saved_tensors
        return _scaled(grad, ctx.scores, gradient), None, None


class _TransformedPairMean(torch.autograd.Function):
    """The form for ``torch.func``, where both gradients are outputs that are not differentiable."""

    @staticmethod
    def forward(pos: Tensor, neg: Tensor, w: Tensor | None, v: Tensor | None, loss: Loss, method: str) -> Sums:
        return all_pairs(pos, neg, w, v, loss, method)

    @staticmethod
    def setup_context(ctx: Any, inputs: Any, output: Sums) -> None:
        ctx.mark_non_differentiable(*output[1:])
        ctx.save_for_backward(*inputs[:2], *output[1:])

    @staticmethod
    def backward(ctx: Any, grad: Tensor, *_: Any) -> tuple[Tensor | None, ...]:
        pos, neg, of_pos, of_neg = ctx.saved_tensors
        return _scaled(grad, pos, of_pos), _scaled(grad, neg, of_neg), None, None, None, None

    @staticmethod
    def vmap(info: Any, in_dims: Any, *inputs: Any) -> tuple[Any, tuple[int, int, int]]:
        """Turn the mapped dimension into one more leading dimension of independent problems."""
        *tensors, loss, method = inputs
        dims = max(x.ndim - (dim is not None) for x, dim in zip(tensors, in_dims, strict=False) if x is not None)
        leading = []
        for x, dim in zip(tensors, in_dims, strict=False):
            if x is not None:
                x = x.expand(info.batch_size, *x.shape) if dim is None else x.movedim(dim, 0)
                x = x.reshape(x.shape[0], *[1] * (dims + 1 - x.ndim), *x.shape[1:])
            leading.append(x)
        return _TransformedPairMean.apply(*leading, loss, method), (0, 0, 0)  # type: ignore[no-untyped-call]


remember_signature(_TransformedPairMean)


class _Once(torch.autograd.Function):
    """A gradient that raises an error when it is differentiated again."""

    generate_vmap_rule = True

    @staticmethod
    def forward(gradient: Tensor, scores: Tensor) -> Tensor:  # noqa: ARG004
        return gradient.clone()

    @staticmethod
    def setup_context(ctx: Any, inputs: Any, output: Tensor) -> None:
        pass

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor, None]:  # noqa: ARG004
        raise RuntimeError(
            "the AUC risk can be differentiated once, with respect to the scores. For second derivatives use "
            "pairwise_derivatives (the diagonal of the Hessian), or the matrix loss(pos[:, None] - neg).mean()"
        )
