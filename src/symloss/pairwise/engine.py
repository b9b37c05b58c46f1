"""The sums over all pairs of k problems: choice of the algorithm, scores that are not finite, and gradients."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, NoReturn, cast

import torch
from torch import Tensor

from symloss.losses import Analytic, ExponentialDecay, Loss, Piecewise
from symloss.pairwise.bounds import in_range
from symloss.pairwise.declared import check_declared
from symloss.pairwise.few import few_pairs, finite_sum
from symloss.pairwise.fused import fits, fused_point_sums, fused_sums
from symloss.pairwise.fused.points import Points, Results
from symloss.pairwise.kinks import piecewise
from symloss.pairwise.moments import exponential
from symloss.pairwise.once import NO_FORWARD_MODE, Once
from symloss.pairwise.problem import Side, Sums
from symloss.pairwise.smooth import analytic
from symloss.pairwise.tiles import tiled

_FEW = 1 << 14  # scores


def pair_sums(pos: Side, neg: Side, loss: Loss, method: str) -> Sums:
    """Return the value and both gradients; scores may be infinite or NaN, and shares of a class sum to 1 or to 0."""
    if not pos.scores.numel() or not neg.scores.numel():
        return pos.scores.new_zeros(pos.scores.shape[0]), torch.zeros_like(pos.scores), torch.zeros_like(neg.scores)
    if method == "tiles" or loss.structure is None:
        return tiled(pos, neg, loss)
    if not (finite_sum(pos.scores, neg.scores) or _all_finite(pos, neg)):
        return _with_infinite(pos, neg, loss)
    return _structured(pos.without_strays(), neg.without_strays(), loss)


def _structured(pos: Side, neg: Side, loss: Loss) -> Sums:
    structure = loss.structure
    if isinstance(structure, Piecewise):
        value, grad_pos, grad_neg = piecewise(pos, neg, structure)
    elif isinstance(structure, ExponentialDecay):
        value, grad_pos, grad_neg = exponential(pos, neg, structure)
    elif isinstance(structure, Analytic):
        value, grad_pos, grad_neg = analytic(pos, neg, loss, structure)
    else:
        raise TypeError(f"{loss!r} has a structure of unknown kind: {structure!r}")
    return in_range(value, loss), pos.where_counted(grad_pos), neg.where_counted(grad_neg)


def _all_finite(pos: Side, neg: Side) -> bool:
    return bool(pos.scores.isfinite().all()) and bool(neg.scores.isfinite().all())


def _with_infinite(pos: Side, neg: Side, loss: Loss) -> Sums:
    """Return the sums where some scores are NaN or infinite.

    The finite scores of both classes are paired as usual. All scores of a class that are NaN become one point with
    their total weight, and so do those at each infinity. These points are paired with the other class by tiles. All is
    added up in float64, since slopes toward both infinities may cancel.
    """
    dtype = pos.dtype
    pos, neg = (Side(side.scores.double(), side.shares) for side in (pos, neg))
    value, grad_pos, grad_neg = _structured(
        pos.finite_part().without_strays(), neg.finite_part().without_strays(), loss
    )
    for special in (math.nan, math.inf, -math.inf):
        group, members = pos.group(special)
        if bool(members.any()):
            parts = tiled(group, neg, loss)
            value, grad_neg = value + parts[0], grad_neg + parts[2]
            grad_pos = grad_pos + pos.spread(parts[1], group, members)
        group, members = neg.group(special)
        if bool(members.any()):
            parts = tiled(pos.finite_part(), group, loss)
            value, grad_pos = value + parts[0], grad_pos + parts[1]
            # Pairs of this group with positives that are not finite are counted with the positives' groups.
            grad_neg = grad_neg + neg.spread(parts[2], group, members)
    return value, grad_pos.to(dtype), grad_neg.to(dtype)


def batch_sums(
    pos: Tensor, neg: Tensor, pos_share: Tensor | None, neg_share: Tensor | None, loss: Loss, method: str
) -> Sums:
    """Return the value (...) in the scores' precision, and its gradients (..., n) and (..., m)."""
    found = _fused(pos, neg, pos_share, neg_share, loss, method)
    if found is not None:
        return found.value, *_parted(found.gradients, pos)
    return _plain_sums(pos, neg, pos_share, neg_share, loss, method)


def _plain_sums(
    pos: Tensor, neg: Tensor, pos_share: Tensor | None, neg_share: Tensor | None, loss: Loss, method: str
) -> Sums:
    if method != "tiles" and loss.structure is not None:
        check_declared(loss)
    dtype = pos.dtype if pos.dtype == neg.dtype else torch.promote_types(pos.dtype, neg.dtype)
    batch = _batch(pos, neg)
    if method == "auto":
        few = few_pairs(pos, neg, pos_share, neg_share, batch.numel() * pos.shape[-1] * neg.shape[-1], loss)
        if few is not None:
            return few[0].to(dtype), few[1].to(pos.dtype), few[2].to(neg.dtype)
    s, t = (
        Side(_rows(scores.to(dtype), batch), None if share is None else _rows(share, batch))
        for scores, share in ((pos, pos_share), (neg, neg_share))
    )
    value, grad_pos, grad_neg = pair_sums(s, t, loss, method)
    grad_pos, grad_neg = (gradient.view(*batch, gradient.shape[1]) for gradient in (grad_pos, grad_neg))
    return value.to(dtype).view(batch), grad_pos, grad_neg


def _batch(pos: Tensor, neg: Tensor) -> torch.Size:
    if pos.ndim == neg.ndim == 1:
        return torch.Size()
    return torch.broadcast_shapes(pos.shape[:-1], neg.shape[:-1])  # type: ignore[no-untyped-call, no-any-return]


def _fused(
    pos: Tensor, neg: Tensor, pos_share: Tensor | None, neg_share: Tensor | None, loss: Loss, method: str
) -> Results | None:
    """Return the results of fused kernels, or None where there are none for this problem."""
    if not (fits(pos) and fits(neg)):
        return None
    if method != "tiles" and loss.structure is not None:
        check_declared(loss)
    dtype = pos.dtype
    if neg.dtype != dtype:
        dtype = torch.promote_types(dtype, neg.dtype)
        pos, neg = pos.to(dtype), neg.to(dtype)
    batch = _batch(pos, neg)
    if not batch.numel():
        return None
    s, t = _all_rows(pos, batch), _all_rows(neg, batch)
    w = None if pos_share is None else _all_rows(pos_share, batch)
    v = None if neg_share is None else _all_rows(neg_share, batch)
    return fused_sums(Points(s, t, w, v, batch), loss, dtype, method)


def _all_rows(x: Tensor, batch: torch.Size) -> Tensor:
    """Return the numbers of all problems in a row."""
    return x.expand(*batch, x.shape[-1]).contiguous() if batch else x.contiguous()


def _parted(gradients: Tensor, pos: Tensor) -> tuple[Tensor, Tensor]:
    """Return the gradients of positives and of negatives."""
    n = pos.shape[-1]
    return gradients[..., :n], gradients[..., n:]


def point_sums(
    scores: Tensor, positive: Tensor, share: Tensor | None, loss: Loss, reads: bool
) -> tuple[Tensor, Tensor]:
    """Return the value () and the gradient (N,) for points with labels; a share is that of a point in its own class."""
    check_declared(loss)
    found = fused_point_sums(scores, positive, share, loss, reads)
    if found is not None:
        return found
    if torch.cuda.is_current_stream_capturing():  # fused kernels are for CUDA only
        raise RuntimeError(
            f"{loss!r} cannot be captured in a CUDA graph: without a structure its pairs are computed in tiles, which "
            "need the numbers of positives and negatives"
        )
    of_pos, of_neg = positive.nonzero(as_tuple=True)[0], (~positive).nonzero(as_tuple=True)[0]
    w, v = (None, None) if share is None else (share[of_pos], share[of_neg])
    value, grad_pos, grad_neg = batch_sums(scores[of_pos], scores[of_neg], w, v, loss, "auto")
    gradient = torch.empty_like(scores)
    gradient[of_pos], gradient[of_neg] = grad_pos.to(scores.dtype), grad_neg.to(scores.dtype)
    return value, gradient


def _rows(x: Tensor, batch: torch.Size) -> Tensor:
    if not batch:
        return x[None].contiguous()
    return x.expand(*batch, x.shape[-1]).reshape(batch.numel(), x.shape[-1]).contiguous()


def _scaled(
    grad: Tensor, pos: Tensor, neg: Tensor, gradients: Sequence[Tensor]
) -> tuple[Tensor, Tensor, None, None, None, None]:
    """Return the gradients with respect to pos and neg, in their shapes, scaled by the incoming gradient."""
    scale = grad.unsqueeze(-1) if grad.ndim else grad
    if len(gradients) == 1:  # both in one piece, which one launch scales
        grad_pos, grad_neg = _parted(scale * gradients[0], pos)
    else:
        grad_pos, grad_neg = scale * gradients[0], scale * gradients[1]
    if grad.ndim and (grad_pos.shape != pos.shape or grad_neg.shape != neg.shape):
        grad_pos, grad_neg = grad_pos.sum_to_size(pos.shape), grad_neg.sum_to_size(neg.shape)
    if torch.is_grad_enabled():  # the caller may differentiate again
        grad_pos, grad_neg = Once.apply(grad_pos, pos), Once.apply(grad_neg, neg)  # type: ignore[no-untyped-call]
    return grad_pos, grad_neg, None, None, None, None


def _keep(ctx: Any, *tensors: Tensor) -> None:
    """Keep tensors for the backward pass; saving few numbers takes longer than it is worth."""
    ctx.kept = tensors if tensors[0].numel() <= _FEW else None
    if ctx.kept is None:  # freed after the backward pass, even if the value lives on
        ctx.save_for_backward(*tensors)


class _PairMean(torch.autograd.Function):
    """The mean over all pairs as a single node of the graph, with both gradients computed in the same pass."""

    @staticmethod
    def forward(ctx: Any, *inputs: Any) -> Tensor:
        found: Any = _fused(*inputs)
        value, *gradients = _plain_sums(*inputs) if found is None else found
        _keep(ctx, *inputs[:2], *gradients)
        return cast(Tensor, value)

    @staticmethod
    def jvp(*_: Any) -> NoReturn:
        raise RuntimeError(NO_FORWARD_MODE)

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor | None, ...]:
        pos, neg, *gradients = ctx.kept or ctx.saved_tensors
        return _scaled(grad, pos, neg, gradients)


class _PointMean(torch.autograd.Function):
    """The mean over all pairs of points with labels, as a single node of the graph."""

    @staticmethod
    def forward(ctx: Any, scores: Tensor, positive: Tensor, share: Tensor | None, loss: Loss, reads: bool) -> Tensor:
        value, gradient = point_sums(scores, positive, share, loss, reads)
        _keep(ctx, scores, gradient)
        return value

    @staticmethod
    def jvp(*_: Any) -> NoReturn:
        raise RuntimeError(NO_FORWARD_MODE)

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor, None, None, None, None]:
        scores, gradient = ctx.kept or ctx.saved_tensors
        gradient = grad * gradient
        if torch.is_grad_enabled():  # the caller may differentiate again
            gradient = Once.apply(gradient, scores)  # type: ignore[no-untyped-call]
        return gradient, None, None, None, None


def point_mean(scores: Tensor, positive: Tensor, share: Tensor | None, loss: Loss, reads: bool = True) -> Tensor | None:
    """Return the mean over all pairs for points (N,), or None where no fused kernels can compute it."""
    if scores.ndim != 1 or not fits(scores):
        return None
    try:
        value: Tensor = _PointMean.apply(scores, positive, share, loss, reads)  # type: ignore[no-untyped-call]
    except RuntimeError as error:  # a transform of torch.func needs another form
        if "setup_context" not in str(error):
            raise
        return None
    return value


class _TransformedPairMean(torch.autograd.Function):
    """The same, in the slower form that ``torch.func`` can transform."""

    @staticmethod
    def forward(*inputs: Any) -> Sums:
        return batch_sums(*inputs)

    @staticmethod
    def setup_context(ctx: Any, inputs: Any, output: Sums) -> None:
        ctx.mark_non_differentiable(*output[1:])
        ctx.save_for_backward(*inputs[:2], *output[1:])

    @staticmethod
    def jvp(*_: Any) -> NoReturn:
        raise RuntimeError(NO_FORWARD_MODE)

    @staticmethod
    def backward(ctx: Any, grad: Tensor, *_: Tensor) -> tuple[Tensor | None, ...]:
        pos, neg, *gradients = ctx.saved_tensors
        return _scaled(grad, pos, neg, gradients)

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
        value, *gradients = _TransformedPairMean.apply(*leading, loss, method)  # type: ignore[no-untyped-call]
        return (value, *gradients), (0, 0, 0)


def pair_mean(*inputs: Any) -> Tensor:
    """Return the mean over all pairs for scores (..., n) and (..., m), shares or None, a loss and a method."""
    try:
        value: Tensor = _PairMean.apply(*inputs)  # type: ignore[no-untyped-call]
    except RuntimeError as error:  # a transform of torch.func needs the other form
        if "setup_context" not in str(error):
            raise
        value = _TransformedPairMean.apply(*inputs)[0]  # type: ignore[no-untyped-call]
    return value
