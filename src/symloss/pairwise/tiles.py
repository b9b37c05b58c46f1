"""Exact tiles: every pair of a tile at once, one tile after another, for any loss in O(n + m) memory."""

from __future__ import annotations

import torch
from torch import Tensor

from symloss.losses import Loss
from symloss.pairwise.problem import Side, Sums

# Pairs a tile: small enough for a CPU's cache, large enough to hide a GPU's launches.
_PAIRS = {"cpu": 1 << 16, "cuda": 1 << 24}


def tiled(pos: Side, neg: Side, loss: Loss) -> Sums:
    """Return the sums for any loss, pair by pair in float64."""
    s_all, t_all = pos.scores.double(), neg.scores.double()
    if (
        pos.shares is None
        and neg.shares is None
        and s_all.numel() * t_all.shape[1] <= _PAIRS.get(s_all.device.type, 1 << 16)
    ):
        return _one_tile(s_all, t_all, loss, pos.scores.dtype)
    w_all, v_all = pos.all_shares(), neg.all_shares()
    value = s_all.new_zeros(s_all.shape[0])
    grad_pos, grad_neg = torch.zeros_like(s_all), torch.zeros_like(t_all)
    rows, columns = _tile_shape(s_all, t_all)
    for i in range(0, s_all.shape[1], rows):
        s, w = s_all[:, i : i + rows, None], w_all[:, i : i + rows, None]
        for j in range(0, t_all.shape[1], columns):
            z = s - t_all[:, None, j : j + columns]
            weight = w * v_all[:, None, j : j + columns]
            # A pair of weight zero counts for nothing, even where its loss is infinite.
            values = torch.where(weight == 0, 0.0, weight * loss(z))
            slopes = torch.where(weight == 0, 0.0, weight * loss.derivative(z))
            value += values.sum((1, 2))
            grad_pos[:, i : i + rows] += slopes.sum(2)
            grad_neg[:, j : j + columns] -= slopes.sum(1)
    return value, grad_pos.to(pos.scores.dtype), grad_neg.to(neg.scores.dtype)


def _one_tile(pos: Tensor, neg: Tensor, loss: Loss, dtype: torch.dtype) -> Sums:
    """Few pairs, all of the same weight: what matters is the number of operations."""
    z = pos[:, :, None] - neg[:, None, :]
    slopes, pairs = loss.slope(z), pos.shape[1] * neg.shape[1]
    value = loss.value(z).mean((1, 2))
    return value, (slopes.sum(2) / pairs).to(dtype), (slopes.sum(1) / -pairs).to(dtype)


def _tile_shape(pos: Tensor, neg: Tensor) -> tuple[int, int]:
    pairs = max(1, _PAIRS.get(pos.device.type, 1 << 16) // max(1, pos.shape[0]))
    columns = min(max(1, neg.shape[1]), max(1, int(pairs**0.5) * 4))
    return max(1, pairs // columns), columns
