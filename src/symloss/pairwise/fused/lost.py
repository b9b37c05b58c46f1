"""Whether kernels for kinks lost digits of small rows beside heavy weights; nothing is read from the device."""

from __future__ import annotations

import torch
from torch import Tensor

from symloss.losses import Piecewise
from symloss.pairwise.fused.points import Points
from symloss.pairwise.lost_digits import added_up, has_squares, may_be_lost

_LIGHT = 2.0**-24  # of the mean share: kernels have no other way but every pair, so ordinary weights must pass


def lost_rows(points: Points, gradients: Tensor, structure: Piecewise) -> Tensor:
    """Return whether rows of one problem may have lost digits, as 0 or 1 (1,) in int32; both classes have room."""
    (pos, neg), (w, v) = ((side.view(-1) for side in points[:2]), points[2:4])
    gradients = gradients.view(-1)
    if points.split is None:
        of_pos, of_neg = gradients[: len(pos)], gradients[len(pos) :]
    else:  # where a class has room that it does not need, shares are 0
        of_pos, of_neg = gradients[points.split.pos], gradients[points.split.neg]
    size = added_up(structure, torch.stack([*_ends(pos, w), *_ends(neg, v)]) if has_squares(structure) else gradients)
    lost = [
        _lost(gradient, own, other, size)
        for gradient, own, other in ((of_pos, w, v), (of_neg, v, w))
        if other is not None
    ]
    return torch.stack(lost).any().view(1).to(torch.int32)


def _ends(scores: Tensor, share: Tensor | None) -> tuple[Tensor, Tensor]:
    counted = torch.ones_like(scores, dtype=torch.bool) if share is None else share.view(-1) > 0
    return tuple(  # type: ignore[return-value]
        end.double()
        for end in (
            torch.where(counted, scores, torch.inf).amin(),
            torch.where(counted, scores, -torch.inf).amax(),
        )
    )


def _lost(gradient: Tensor, own: Tensor | None, other: Tensor, size: Tensor | float) -> Tensor:
    """Return whether a row of a class may have lost digits, given the shares of its scores and of the other class."""
    counted = other.view(-1) > 0
    lightest = torch.where(counted, other.view(-1), 1.0).amin()
    share = 1.0 / len(gradient) if own is None else own.view(-1)
    lost = may_be_lost(gradient, share, size, other.numel(), lightest)
    return (lightest * counted.sum() < _LIGHT) & lost.any()
