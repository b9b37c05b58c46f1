"""The sums over all pairs of k problems: which algorithm, what is not finite, and how gradients flow."""

from __future__ import annotations

import math
from typing import Any

import torch
from torch import Tensor

from symloss.losses import Analytic, ExponentialDecay, Loss, Piecewise
from symloss.pairwise.grid import analytic
from symloss.pairwise.kinks import piecewise
from symloss.pairwise.moments import exponential
from symloss.pairwise.problem import Side, Sums
from symloss.pairwise.tiles import tiled
from symloss.tracing import remember_signature

# Up to so many pairs in all, computing each of them is faster than being clever.
_FEW_PAIRS = {"cpu": 1 << 16, "cuda": 1 << 24}


def pair_sums(pos: Side, neg: Side, loss: Loss, method: str) -> Sums:
    """Return the value and both gradients; scores may be anything, shares of a class sum to 1 or to 0."""
    if not pos.scores.shape[1] or not neg.scores.shape[1]:
        return pos.scores.new_zeros(pos.scores.shape[0]), torch.zeros_like(pos.scores), torch.zeros_like(neg.scores)
    few = pos.scores.numel() * neg.scores.shape[1] <= _FEW_PAIRS.get(pos.scores.device.type, 1 << 16)
    if method == "tiles" or loss.structure is None or (method == "auto" and few):
        return tiled(pos, neg, loss)
    if not bool((pos.scores.sum() + neg.scores.sum()).isfinite()) and not _all_finite(pos, neg):
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
    return value, pos.where_counted(grad_pos), neg.where_counted(grad_neg)


def _all_finite(pos: Side, neg: Side) -> bool:
    return bool(pos.scores.isfinite().all()) and bool(neg.scores.isfinite().all())


def _with_infinite(pos: Side, neg: Side, loss: Loss) -> Sums:
    """Finite scores among themselves, and with NaN and both infinities as one point each, of its group's weight."""
    value, grad_pos, grad_neg = _structured(pos.finite_part(), neg.finite_part(), loss)
    for special in (math.nan, math.inf, -math.inf):
        group, members = pos.group(special)
        if bool(group.total.any()):
            parts = tiled(group, neg, loss)
            value, grad_neg = value + parts[0], grad_neg + parts[2]
            grad_pos = grad_pos + pos.spread(parts[1], group, members)
        group, members = neg.group(special)
        if bool(group.total.any()):
            parts = tiled(pos.finite_part(), group, loss)
            value, grad_pos = value + parts[0], grad_pos + parts[1]
            # With the positives that are not finite, the group's members have met just above.
            grad_neg = grad_neg + neg.spread(parts[2], group, members)
    return value, grad_pos, grad_neg


class PairMean(torch.autograd.Function):
    """The mean over all pairs for each row of (k, n) and (k, m), with both gradients from the same pass."""

    @staticmethod
    def forward(
        pos: Tensor, neg: Tensor, pos_share: Tensor | None, neg_share: Tensor | None, loss: Loss, method: str
    ) -> Sums:
        """Return the value and the gradients by pos and neg."""
        return pair_sums(Side(pos, pos_share), Side(neg, neg_share), loss, method)

    @staticmethod
    def setup_context(ctx: Any, inputs: Any, output: Sums) -> None:
        """Keep the gradients."""
        pos, neg, *_ = inputs
        _, grad_pos, grad_neg = output
        ctx.mark_non_differentiable(grad_pos, grad_neg)
        ctx.save_for_backward(pos, neg, grad_pos, grad_neg)

    @staticmethod
    def backward(ctx: Any, grad: Tensor, *_: Tensor) -> tuple[Tensor | None, ...]:
        """Scale the gradients."""
        pos, neg, grad_pos, grad_neg = ctx.saved_tensors
        scale = grad[:, None].to(grad_pos.dtype)
        by_pos, by_neg = scale * grad_pos, scale * grad_neg
        if torch.is_grad_enabled():  # someone means to differentiate again
            by_pos, by_neg = _Once.apply(by_pos, pos), _Once.apply(by_neg, neg)  # type: ignore[no-untyped-call]
        return by_pos, by_neg, None, None, None, None

    @staticmethod
    def vmap(info: Any, in_dims: Any, *inputs: Any) -> tuple[Any, tuple[int, int, int]]:
        """Fold one more leading dimension of independent problems into the rows, and unfold the results."""
        *tensors, loss, method = inputs
        folded = []
        for tensor, dim in zip(tensors, in_dims, strict=False):
            if tensor is not None:
                tensor = tensor.expand(info.batch_size, *tensor.shape) if dim is None else tensor.movedim(dim, 0)
                tensor = tensor.flatten(0, 1)
            folded.append(tensor)
        outputs = PairMean.apply(*folded, loss, method)  # type: ignore[no-untyped-call]
        rows = folded[0].shape[0] // info.batch_size
        return tuple(output.unflatten(0, (info.batch_size, rows)) for output in outputs), (0, 0, 0)


remember_signature(PairMean)


class _Once(torch.autograd.Function):
    """A gradient that says so when it is differentiated again, where PyTorch would call it a constant."""

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
            "the AUC risk can be differentiated once, by the scores; its second derivative is not defined here"
        )
