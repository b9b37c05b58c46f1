"""The sums over all pairs for smooth losses, where scores are so far apart that few pairs are close.

Close pairs are computed one by one, and all others from the lines that the loss approaches.
"""

from __future__ import annotations

import torch
from torch import Tensor

from symloss.losses import Analytic, Loss
from symloss.pairwise.problem import Side, Sums

# Beyond a decay of exp(-745), a loss equals its line to the last bit. If too many pairs are closer, exp(-40) must do.
_DECAYS = (745.0, 40.0)
_PAIRS_A_SCORE = 64
_PAIRS_A_STEP = 1 << 20


def sparse(pos: Side, neg: Side, loss: Loss, structure: Analytic) -> Sums | None:
    """Return the sums of one problem, or None where too many pairs are close."""
    s, w = pos.scores[0].double(), pos.all_shares()[0]
    t, order = neg.scores[0].double().sort()
    v = neg.all_shares()[0][order]
    for decay in _DECAYS:
        reach = decay / min(structure.left_rate, structure.right_rate)
        first, last = torch.searchsorted(t, s - reach), torch.searchsorted(t, s + reach, right=True)
        total = int((last - first).sum())
        if total <= _PAIRS_A_SCORE * (len(s) + len(t)):
            break
    else:
        return None
    value, grad_pos, grad_neg = _close_pairs(
        s, t, w, v, first, last, loss, max(1, _PAIRS_A_STEP * len(s) // (total + 1))
    )
    for (intercept, slope), bound in ((structure.right, first), (structure.left, last)):
        below = bound is first
        of_t, distance = _beyond(t, v, s, bound) if below else _beyond(-t.flip(0), v.flip(0), -s, len(t) - bound)
        value = value + (w * (intercept * of_t + (slope if below else -slope) * distance)).sum()
        grad_pos += slope * w * of_t
        # The pairs of a negative are those with positives whose bound lies beyond it.
        bounds = t.new_zeros(len(t) + 1).index_add_(0, bound, w)
        grad_neg -= slope * v * (bounds.flip(0).cumsum(0).flip(0)[1:] if below else bounds.cumsum(0)[:-1])
    back = torch.empty_like(grad_neg).index_copy_(0, order, grad_neg)
    return value.reshape(1), grad_pos[None].to(pos.scores.dtype), back[None].to(neg.scores.dtype)


def _close_pairs(
    s: Tensor, t: Tensor, w: Tensor, v: Tensor, first: Tensor, last: Tensor, loss: Loss, step: int
) -> Sums:
    """Return the sums over the pairs of each s with t[first:last], for ``step`` values of s at a time."""
    value, grad_pos, grad_neg = s.new_zeros(()), torch.zeros_like(s), torch.zeros_like(t)
    for start in range(0, len(s), step):
        here = torch.arange(start, min(start + step, len(s)), device=s.device)
        counts = (last - first)[here]
        i = torch.repeat_interleave(here, counts)
        j = torch.arange(len(i), device=s.device) - (counts.cumsum(0) - counts - first[here])[i - start]
        z, weight = s[i] - t[j], w[i] * v[j]
        slopes = weight * loss.derivative(z)
        value = value + (weight * loss(z)).sum()
        grad_pos.index_add_(0, i, slopes)
        grad_neg.index_add_(0, j, -slopes)
    return value, grad_pos, grad_neg


def _beyond(t: Tensor, v: Tensor, s: Tensor, bound: Tensor) -> tuple[Tensor, Tensor]:
    """Return, for each s, the share of t[:bound], and the sum of share times distance from there up to s.

    All terms have one sign, so that none cancel.
    """
    zero = v.new_zeros(1)
    share = torch.cat([zero, v.cumsum(0)])
    # Share times distance, up to the last t before each bound.
    from_last = torch.cat([zero, zero, (t.diff() * share[1:-1]).cumsum(0)])
    last = t[(bound - 1).clamp(min=0)]
    return share[bound], from_last[bound] + share[bound] * (s - last)
