"""Scores so far apart that few pairs are close: those one by one, all others through the kernel's lines."""

from __future__ import annotations

import torch
from torch import Tensor

from symloss.losses import Analytic, Loss
from symloss.pairwise.problem import Side, Sums

_UNDERFLOW = 745.0  # exp(-745) is the smallest float64: beyond, a kernel is its line to the last bit
_PAIRS_A_SCORE = 16


def sparse(pos: Side, neg: Side, loss: Loss, structure: Analytic) -> Sums | None:
    """Return the sums of one problem, or None where too many pairs are close."""
    reach = _UNDERFLOW / min(structure.left_rate, structure.right_rate)
    s, w = pos.scores[0].double(), pos.all_shares()[0]
    t, order = neg.scores[0].double().sort()
    v = neg.all_shares()[0][order]
    first, last = torch.searchsorted(t, s - reach), torch.searchsorted(t, s + reach, right=True)
    counts = last - first
    total = int(counts.sum())
    if total > _PAIRS_A_SCORE * (len(s) + len(t)):
        return None
    i = torch.repeat_interleave(torch.arange(len(s), device=s.device), counts)
    j = torch.arange(total, device=s.device) - (counts.cumsum(0) - counts - first)[i]
    z, weight = s[i] - t[j], w[i] * v[j]
    slopes = weight * loss.derivative(z)
    value = (weight * loss(z)).sum()
    grad_pos, grad_neg = torch.zeros_like(s).index_add_(0, i, slopes), torch.zeros_like(t).index_add_(0, j, -slopes)
    for (intercept, slope), below in ((structure.right, first), (structure.left, last)):
        of_t, moment_t = _running(v, below is first), _running(v * t, below is first)
        value = value + (w * ((intercept + slope * s) * of_t[below] - slope * moment_t[below])).sum()
        grad_pos += slope * w * of_t[below]
        # A negative meets the positives whose bound lies beyond it.
        bounds = torch.zeros(len(t) + 1, dtype=torch.float64, device=s.device).index_add_(0, below, w)
        of_s = bounds.flip(0).cumsum(0).flip(0)[1:] if below is first else bounds.cumsum(0)[:-1]
        grad_neg -= slope * v * of_s
    back = torch.empty_like(grad_neg).index_copy_(0, order, grad_neg)
    dtype = pos.scores.dtype
    return value.reshape(1), grad_pos[None].to(dtype), back[None].to(dtype)


def _running(x: Tensor, from_start: bool) -> Tensor:
    """Entry b is the sum of x[:b], or of x[b:]."""
    sums = torch.cat([x.new_zeros(1), x.cumsum(0)])
    return sums if from_start else sums[-1] - sums
