"""The sums over all pairs for any loss: one tile of pairs after another, so that O(n + m) memory is enough."""

from __future__ import annotations

import math

import torch
from torch import Tensor

from symloss.losses import Loss, Piecewise
from symloss.pairwise.problem import Side, Sums

# Pairs per tile: small enough for a CPU's cache, large enough to hide the time of a GPU's launches.
_PAIRS = {"cpu": 1 << 16, "cuda": 1 << 24}


def one_tile(pos: Tensor, neg: Tensor, loss: Loss) -> Sums:
    """Return the sums (...), (..., n) and (..., m) in float64 for scores of equal weight, with little overhead."""
    z = pos.double().unsqueeze(-1) - neg.unsqueeze(-2)  # the other operand is converted along the way
    pairs = pos.shape[-1] * neg.shape[-1]
    values, slopes = loss.value_and_slope(z)
    value = values.mean() if z.ndim == 2 else values.mean((-2, -1))
    return value, slopes.sum(-1).div_(pairs), slopes.sum(-2).div_(-pairs)


def weighted_tile(
    pos: Tensor, neg: Tensor, pos_share: Tensor | None, neg_share: Tensor | None, loss: Loss
) -> Sums | None:
    """Return the same sums with shares, or None if they are not finite.

    An infinite loss times a weight of zero gives NaN here, where it should count for nothing.
    """
    w, v = (
        scores.new_full((scores.shape[-1],), 1 / scores.shape[-1], dtype=torch.float64) if share is None else share
        for scores, share in ((pos, pos_share), (neg, neg_share))
    )
    z = pos.double().unsqueeze(-1) - neg.double().unsqueeze(-2)
    values, slopes = loss.value_and_slope(z)
    value = (w * (values @ v.unsqueeze(-1)).squeeze(-1)).sum(-1)
    grad_pos = w * (slopes @ v.unsqueeze(-1)).squeeze(-1)
    grad_neg = -v * (w.unsqueeze(-2) @ slopes).squeeze(-2)
    finite = math.isfinite((value.sum() + grad_pos.sum() + grad_neg.sum()).item())
    return (value, grad_pos, grad_neg) if finite else None


def kinked_tile(pos: Tensor, neg: Tensor, loss: Loss, structure: Piecewise) -> Sums:
    """Return the same sums for a line plus kinks and finite scores of equal weight; slopes are counted by signs."""
    z = pos.double().unsqueeze(-1) - neg.double().unsqueeze(-2)
    n, m = z.shape[-2:]
    slope = (*structure.coefficients, 0.0, 0.0)[1]
    value = loss.value(z).mean((-2, -1))
    by_pos, by_neg = z.new_full(z.shape[:-1], slope * m), z.new_full((*z.shape[:-2], m), slope * n)
    for kink in structure.kinks:
        below = kink.where - z
        if kink.power == 1:
            active, scale, rest = below.sign_(), 0.5 * kink.weight, 0.5 * kink.weight
        elif kink.power == 2:
            active, scale, rest = below.clamp_(min=0), 2 * kink.weight, 0.0
        else:
            continue
        by_pos -= active.sum(-1).mul_(scale).add_(rest * m)
        by_neg -= active.sum(-2).mul_(scale).add_(rest * n)
    return value, by_pos.div_(n * m), by_neg.div_(-n * m)


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
            z = s[:, :, None] - t[:, None, :]
            values, slopes = loss.value_and_slope(z)
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
