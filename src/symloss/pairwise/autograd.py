"""The mean over all pairs as one node of PyTorch's graph: both gradients are computed together with the value."""

from __future__ import annotations

from typing import Any, cast

import numpy as np
import torch
from torch import Tensor

from symloss.checking import remember_signature, transformed
from symloss.losses import Loss
from symloss.pairwise.choose import all_pairs, way_for
from symloss.pairwise.every_pair import Sums


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
    if transformed():
        return cast(Tensor, _Transformed.apply(pos, neg, w, v, loss, method)[0])  # type: ignore[no-untyped-call]
    found = all_pairs(pos.detach(), neg.detach(), w, v, loss, method)
    return cast(Tensor, _Known.apply(found, pos, neg))  # type: ignore[no-untyped-call]


def point_mean(scores: Tensor, positive: Tensor, loss: Loss) -> Tensor:
    """Return the mean over all pairs of points (n,) on a CPU with labels; picking the classes in NumPy is quickest.

    Examples
    --------
    >>> from symloss.losses import get_loss
    >>> point_mean(torch.tensor([1.0, 0.0, 3.0]), torch.tensor([True, False, False]), get_loss("hinge"))
    tensor(1.5000)
    """
    points, is_pos = scores.detach().numpy(), positive.numpy()
    of_pos, of_neg = is_pos.nonzero()[0], (~is_pos).nonzero()[0]
    pairs = len(of_pos) * len(of_neg)
    value, gradient = 0.0, np.zeros(len(points), points.dtype)
    if pairs:
        pos, neg = torch.from_numpy(points[of_pos]), torch.from_numpy(points[of_neg])
        total, slopes_pos, slopes_neg = way_for(loss, pairs, "cpu", "auto")(pos, neg, None, None, loss)
        value = total.item() / pairs
        gradient[of_pos], gradient[of_neg] = slopes_pos.numpy() / pairs, slopes_neg.numpy() / -pairs
    found = scores.new_full((), value), torch.from_numpy(gradient)
    return cast(Tensor, _Known.apply(found, scores))  # type: ignore[no-untyped-call]


class _Known(torch.autograd.Function):
    """A value whose gradients with respect to some scores are known."""

    @staticmethod
    def forward(ctx: Any, found: tuple[Tensor, ...], *scores: Tensor) -> Tensor:
        ctx.scores = scores  # not saved: they may be changed in place
        ctx.save_for_backward(*found[1:])
        return found[0]

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor | None, ...]:
        return None, *[_scaled(grad, *pair) for pair in zip(ctx.scores, ctx.saved_tensors, strict=True)]


def _scaled(grad: Tensor, scores: Tensor, gradient: Tensor) -> Tensor:
    """Return the gradient with respect to scores, times the one that comes in."""
    scaled = grad.unsqueeze(-1) * gradient if grad.ndim else grad * gradient
    if scaled.shape != scores.shape:
        scaled = scaled.sum_to_size(scores.shape)
    if torch.is_grad_enabled():  # the caller may differentiate again, and PyTorch would take it for a constant
        scaled = _Once.apply(scaled, scores)  # type: ignore[no-untyped-call]
    return scaled


class _Transformed(torch.autograd.Function):
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
        return _Transformed.apply(*leading, loss, method), (0, 0, 0)  # type: ignore[no-untyped-call]


remember_signature(_Transformed)


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
