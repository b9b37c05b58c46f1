"""The sums over all pairs for any loss: one tile of pairs after another, so that O(n + m) memory is enough."""

from __future__ import annotations

import torch
from torch import Tensor

from symloss.losses import Loss
from symloss.pairwise.margins import margins
from symloss.pairwise.problem import Side, Sums

# Pairs per tile: small enough for a CPU's cache, large enough to hide the time of a GPU's launches.
_PAIRS = {"cpu": 1 << 16, "cuda": 1 << 24}


def tiled(pos: Side, neg: Side, loss: Loss) -> Sums:
    """Return the sums for any loss, pair by pair in float64."""
    s_all, t_all = pos.scores.double(), neg.scores.double()
    equal = pos.shares is None and neg.shares is None
    w_all, v_all = (None, None) if equal else (pos.all_shares(), neg.all_shares())
    value = s_all.new_zeros(s_all.shape[0])
    grad_pos, grad_neg = torch.zeros_like(s_all), torch.zeros_like(t_all)
    rows, columns = _tile_shape(s_all, t_all)
    for i in range(0, s_all.shape[1], rows):
        s = s_all[:, i : i + rows]
        for j in range(0, t_all.shape[1], columns):
            t = t_all[:, j : j + columns]
            values, slopes = loss.value_and_slope(margins(s, t, loss))
            if w_all is not None and v_all is not None:
                weight = w_all[:, i : i + rows, None] * v_all[:, None, j : j + columns]
                # A pair of weight zero counts for nothing, even where its loss is infinite.
                values, slopes = (torch.where(weight == 0, 0.0, weight * part) for part in (values, slopes))
            value += values.sum((1, 2))
            grad_pos[:, i : i + rows] += slopes.sum(2)
            grad_neg[:, j : j + columns] -= slopes.sum(1)
    if equal:
        for part in (value, grad_pos, grad_neg):
            part /= s_all.shape[1] * t_all.shape[1]
    return value, grad_pos.to(pos.scores.dtype), grad_neg.to(neg.scores.dtype)


def _tile_shape(pos: Tensor, neg: Tensor) -> tuple[int, int]:
    pairs = max(1, _PAIRS.get(pos.device.type, 1 << 16) // max(1, pos.shape[0]))
    columns = min(max(1, neg.shape[1]), max(1, int(pairs**0.5) * 4))
    return max(1, pairs // columns), columns
