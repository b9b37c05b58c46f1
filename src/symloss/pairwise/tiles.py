"""Exact tiles: every pair of a tile at once, one tile after another, for any loss in O(n + m) memory."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from symloss.losses import Loss

# Pairs a tile: small enough for a CPU's cache, large enough to hide a GPU's launches.
_PAIRS = {"cpu": 1 << 16, "cuda": 1 << 24}


class TiledPairMean(torch.autograd.Function):
    """sum over i, j of w_i v_j l(s_i - t_j) for each row of (k, n) and (k, m), with both gradients in the same pass."""

    @staticmethod
    def forward(
        pos: Tensor, neg: Tensor, pos_weight: Tensor, neg_weight: Tensor, loss: Loss
    ) -> tuple[Tensor, Tensor, Tensor]:
        """Return the value and the gradients by pos and neg; weights sum to 1 in each row."""
        value = pos.new_zeros(pos.shape[0])
        grad_pos, grad_neg = torch.zeros_like(pos), torch.zeros_like(neg)
        rows, columns = _tile_shape(pos, neg)
        for i in range(0, pos.shape[1], rows):
            s, w = pos[:, i : i + rows, None], pos_weight[:, i : i + rows, None]
            for j in range(0, neg.shape[1], columns):
                t, v = neg[:, None, j : j + columns], neg_weight[:, None, j : j + columns]
                z, weight = s - t, w * v
                # A pair of weight zero counts for nothing, even where its loss is infinite.
                values = torch.where(weight == 0, 0.0, weight * loss(z))
                slopes = torch.where(weight == 0, 0.0, weight * loss.derivative(z))
                value += values.sum((1, 2))
                grad_pos[:, i : i + rows] += slopes.sum(2)
                grad_neg[:, j : j + columns] -= slopes.sum(1)
        return value, grad_pos, grad_neg

    @staticmethod
    def setup_context(ctx: Any, inputs: Any, output: tuple[Tensor, Tensor, Tensor]) -> None:
        """Keep the gradients."""
        pos, neg, *_ = inputs
        _, grad_pos, grad_neg = output
        ctx.mark_non_differentiable(grad_pos, grad_neg)
        ctx.save_for_backward(pos, neg, grad_pos, grad_neg)

    @staticmethod
    def backward(ctx: Any, grad: Tensor, *_: Tensor) -> tuple[Tensor, Tensor, None, None, None]:
        """Scale the gradients."""
        pos, neg, grad_pos, grad_neg = ctx.saved_tensors
        by_pos = _Once.apply(grad[:, None] * grad_pos, pos)  # type: ignore[no-untyped-call]
        by_neg = _Once.apply(grad[:, None] * grad_neg, neg)  # type: ignore[no-untyped-call]
        return by_pos, by_neg, None, None, None

    @staticmethod
    def vmap(info: Any, in_dims: Any, *inputs: Any) -> tuple[Any, tuple[int, int, int]]:
        """Fold one more leading dimension of independent problems into the rows, and unfold the results."""
        *tensors, loss = inputs
        folded = []
        for tensor, dim in zip(tensors, in_dims, strict=False):
            stacked = tensor.expand(info.batch_size, *tensor.shape) if dim is None else tensor.movedim(dim, 0)
            folded.append(stacked.flatten(0, 1))
        outputs = TiledPairMean.apply(*folded, loss)  # type: ignore[no-untyped-call]
        rows = folded[0].shape[0] // info.batch_size
        return tuple(output.unflatten(0, (info.batch_size, rows)) for output in outputs), (0, 0, 0)


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


def _tile_shape(pos: Tensor, neg: Tensor) -> tuple[int, int]:
    pairs = max(1, _PAIRS.get(pos.device.type, 1 << 16) // max(1, pos.shape[0]))
    columns = min(max(1, neg.shape[1]), max(1, int(pairs**0.5) * 4))
    return max(1, pairs // columns), columns
