"""Every pair, one block of rows of the matrix after another: the reference, for any loss, in O(n + m) memory."""

from __future__ import annotations

import torch
from torch import Tensor

from symloss.losses import Loss

Sums = tuple[Tensor, Tensor, Tensor]

# Pairs at a time: few enough for a processor's cache and for memory that is used again, or to hide a GPU's launches.
_BLOCK = {"cpu": 1 << 15, "cuda": 1 << 24}


def every_pair(s: Tensor, t: Tensor, w: Tensor | None, v: Tensor | None, loss: Loss) -> Sums:
    """Return the sums over all pairs of s (..., n) and t (..., m), which every way of computing them returns.

    Parameters
    ----------
    s, t : Tensor of shape (..., n) and (..., m)
        Scores of the positive and of the negative class, with equal leading dimensions.
    w, v : Tensor, optional
        Their weights in float64; None means that each is 1.
    loss : Loss
        The margin loss l.

    Returns
    -------
    (Tensor, Tensor, Tensor) of shapes (...), (..., n) and (..., m), in float64
        The sum of w_i v_j l(s_i - t_j) over all pairs; for each i, the sum of v_j l'(s_i - t_j); and for each j, the
        sum of w_i l'(s_i - t_j).

    Examples
    --------
    >>> from symloss.losses import get_loss
    >>> every_pair(torch.tensor([1.0]), torch.tensor([0.0, 3.0]), None, None, get_loss("hinge"))[0]
    tensor(3., dtype=torch.float64)
    """
    s, n, m = s.double(), s.shape[-1], t.shape[-1]
    rows = max(1, _BLOCK.get(s.device.type, 1 << 16) // max(1, t.numel()))
    if n <= rows:
        return _block(s, t, w, v, loss)
    value, of_neg = s.new_zeros(s.shape[:-1]), s.new_zeros((*s.shape[:-1], m))
    of_pos = []
    for start in range(0, n, rows):
        part = slice(start, start + rows)
        sums = _block(s[..., part], t, None if w is None else w[..., part], v, loss)
        value += sums[0]
        of_pos.append(sums[1])
        of_neg += sums[2]
    return value, torch.cat(of_pos, -1), of_neg


def _block(s: Tensor, t: Tensor, w: Tensor | None, v: Tensor | None, loss: Loss) -> Sums:
    # A difference with a score in float64 is in float64.
    values, slopes = loss.value_and_slope(s.unsqueeze(-1) - t.unsqueeze(-2))
    if w is None and v is None:
        return values.sum((-2, -1)), slopes.sum(-1), slopes.sum(-2)
    w, v = (torch.ones_like(x, dtype=torch.float64) if weight is None else weight for x, weight in ((s, w), (t, v)))
    column = v.unsqueeze(-1)
    value = (w * (values @ column).squeeze(-1)).sum(-1)
    return value, (slopes @ column).squeeze(-1), (w.unsqueeze(-2) @ slopes).squeeze(-2)
