"""The sums over few pairs: every pair is computed at once, for one problem or many, with weights or without."""

from __future__ import annotations

import math
from typing import NamedTuple, TypeGuard, cast

import torch
from torch import Tensor

from symloss.losses import Analytic, Loss, Piecewise
from symloss.pairwise.bounds import in_range
from symloss.pairwise.margins import margins
from symloss.pairwise.problem import Sums


class Limits(NamedTuple):
    """The most pairs for which computing each one is fastest: for any loss, for smooth losses, and for kinks."""

    any: int
    smooth: int
    kinked: int


LIMITS = {"cpu": Limits(1 << 12, 1 << 16, 1 << 16), "cuda": Limits(1 << 24, 1 << 24, 1 << 24)}


def few_pairs(
    pos: Tensor, neg: Tensor, pos_share: Tensor | None, neg_share: Tensor | None, pairs: int, loss: Loss
) -> Sums | None:
    """Return the value (...) and gradients (..., n) and (..., m) in float64, or None where other ways are faster."""
    limits = LIMITS.get(pos.device.type, LIMITS["cpu"])
    if not 0 < pairs <= max(limits):
        return None
    if pos_share is not None or neg_share is not None:
        few = weighted_tile(pos, neg, pos_share, neg_share, loss) if pairs <= limits.smooth else None
        return None if few is None else (in_range(few[0], loss), *few[1:])
    structure = loss.structure
    if by_signs(structure):
        if pairs > limits.kinked:
            return None
        found = kinked_tile(pos, neg, loss, structure)
        return one_tile(pos, neg, loss) if found is None else found
    smooth = structure is None or isinstance(structure, Analytic)
    return one_tile(pos, neg, loss) if pairs <= (limits.smooth if smooth else limits.any) else None


def by_signs(structure: object) -> TypeGuard[Piecewise]:
    """Return whether the slopes of a loss are counted by signs: for a line plus kinks, unless large squares cancel."""
    if not isinstance(structure, Piecewise) or not structure.kinks or any(structure.coefficients[2:]):
        return False
    squares = [kink.weight for kink in structure.kinks if kink.power == 2]
    return not squares or min(squares) > 0 or max(squares) < 0


def finite_sum(pos: Tensor, neg: Tensor) -> bool:
    """Return whether the sum of all scores is finite.

    If it is, all scores are finite. This test is quick, but it can fail for finite scores whose sum overflows.
    """
    return math.isfinite((pos.sum() + neg.sum()).item())


def one_tile(pos: Tensor, neg: Tensor, loss: Loss) -> Sums:
    """Return the sums for scores of equal weight."""
    z = margins(pos.double(), neg, loss)
    pairs = pos.shape[-1] * neg.shape[-1]
    values, slopes = loss.value_and_slope(z)
    return mean_of(values), slopes.sum(-1).div_(pairs), slopes.sum(-2).div_(-pairs)


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
    values, slopes = loss.value_and_slope(margins(pos.double(), neg, loss))
    value = (w * (values @ v.unsqueeze(-1)).squeeze(-1)).sum(-1)
    grad_pos = w * (slopes @ v.unsqueeze(-1)).squeeze(-1)
    grad_neg = -v * (w.unsqueeze(-2) @ slopes).squeeze(-2)
    finite = math.isfinite((value.sum() + grad_pos.sum() + grad_neg.sum()).item())
    return (value, grad_pos, grad_neg) if finite else None


def kinked_tile(pos: Tensor, neg: Tensor, loss: Loss, structure: Piecewise) -> Sums | None:
    """Return the same sums for a line plus kinks; slopes are counted by signs, and divided once they are added up.

    None is returned if a score is not finite, and if a margin lies at a corner or a step: there its rounding matters.
    """
    z = finite_margins(pos, neg)
    if z is None:
        return None
    n, m = z.shape[-2:]
    kinks, slope = structure.kinks, (*structure.coefficients, 0.0, 0.0)[1]
    alone = len(kinks) == 1 and kinks[0].weight == 1 and not any(structure.coefficients)
    values, active = None if alone else loss.value(z), None
    for kink in kinks:
        below = kink.where - z
        if kink.power < 2 and torch.count_nonzero(below).item() < z.numel():
            return None
        values = _values(below, kink.power) if values is None else values
        if kink.power:
            part, scale = (below.sign_(), 0.5) if kink.power == 1 else (below.clamp_(min=0), 2.0)
            slope -= scale * kink.weight if kink.power == 1 else 0.0
            active = _added(active, part, scale * kink.weight)
    value = mean_of(cast(Tensor, values))
    if active is None:
        return value, z.new_full(z.shape[:-1], slope / n), z.new_full((*z.shape[:-2], m), -slope / m)
    return value, active.sum(-1).sub_(slope * m).div_(-n * m), active.sum(-2).sub_(slope * n).div_(n * m)


def _values(below: Tensor, power: int) -> Tensor:
    """Return the values of a loss that is a single kink, from the distances to it, none of which is zero."""
    if power:
        return below.clamp(min=0) if power == 1 else below.clamp(min=0).square_()
    return below.sign().add_(1).mul_(0.5)


def _added(total: Tensor | None, part: Tensor, weight: float) -> Tensor:
    if total is None:
        return part if weight == 1 else part.mul_(weight)
    return total.add_(part, alpha=weight)


def finite_margins(pos: Tensor, neg: Tensor) -> Tensor | None:
    """Return all margins in float64, or None if there are none, or if a score is not finite."""
    z = pos.double().unsqueeze(-1) - (neg if neg.ndim == 1 else neg.unsqueeze(-2))
    return z if z.numel() and math.isfinite(z.sum().item()) else None


def mean_of(values: Tensor) -> Tensor:
    """Return the mean over all pairs (..., n, m); for one problem in the quickest way."""
    return values.sum().div_(values.numel()) if values.ndim == 2 else values.mean((-2, -1))
