"""The margins s - t of all pairs in float64, on the right side of every kink although the subtraction is rounded."""

from __future__ import annotations

import torch
from torch import Tensor

from symloss.losses import Loss
from symloss.pairwise.problem import dropped
from symloss.pairwise.remembering import remembered


def margins(pos: Tensor, neg: Tensor, loss: Loss) -> Tensor:
    """Return s - t for scores (..., n) in float64 and (..., m): exact, or next to a kink if rounding moves it there.

    Examples
    --------
    >>> import symloss as sl
    >>> pos, neg = torch.tensor([1.0], dtype=torch.float64), torch.tensor([-1e-30])
    >>> pos - neg == 1, margins(pos, neg, sl.Hinge()) > 1  # the margin is 1 + 1e-30, and the corner is at 1
    (tensor([True]), tensor([[True]]))
    """
    s, t = pos.unsqueeze(-1), neg if neg.ndim == 1 else neg.unsqueeze(-2)  # t is converted along the way
    z = s - t
    for where in _kinks(loss):
        hit = z == where
        if hit.any():
            rest = dropped(s, z, t.double())
            z = torch.where(hit & (rest != 0), z.nextafter(rest.sign() * torch.inf), z)
    return z


@remembered
def _kinks(loss: Loss) -> tuple[float, ...]:
    return tuple(dict.fromkeys(loss.breakpoints))
