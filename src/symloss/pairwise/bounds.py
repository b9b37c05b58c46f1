"""The range of the values of a loss, which a mean over pairs may pass by rounding only."""

from __future__ import annotations

import math

import torch
from torch import Tensor

from symloss.losses import Loss, Piecewise
from symloss.pairwise.remembering import remembered


def in_range(value: Tensor, loss: Loss) -> Tensor:
    """Return the mean kept between the least and the largest value of the loss, which rounding may pass."""
    ends = range_of(loss)
    if ends is None:
        return value
    low, high = ends
    if not value.is_cuda and (low <= value.item() <= high if not value.ndim else _all_between(low, value, high)):
        return value
    kept = value.clamp(low, high)
    # Rounding is put right; a loss that is wrong about itself gets the mean of its values all the same.
    return torch.where(torch.isclose(kept, value, rtol=1e-6, atol=1e-6), kept, value)


def _all_between(low: float, value: Tensor, high: float) -> bool:
    numbers = value.detach().numpy()  # which takes a fraction of the time
    return bool(((low <= numbers) & (numbers <= high)).all())


@remembered
def range_of(loss: Loss) -> tuple[float, float] | None:
    """Return the least and the largest value of a loss, or None if what it declares does not tell."""
    points = _extreme_points(loss)
    if not points:
        return None
    values = loss.value(torch.tensor(points, dtype=torch.float64, device="cpu")).tolist()
    low, high = min(values), max(values)
    # Where a class has no weight, the risk is 0.
    return None if any(map(math.isnan, values)) or not low <= 0 <= high else (low, high)


def _extreme_points(loss: Loss) -> list[float]:
    """Return margins at which a loss is least and largest, from what it declares; empty if that does not tell."""
    ends = [math.inf, -math.inf]
    if loss.properties is not None and loss.properties.non_increasing:
        return ends
    structure = loss.structure
    if not isinstance(structure, Piecewise) or any(structure.coefficients[2:]) or not structure.kinks:
        return []
    return (
        [*ends, *(kink.where for kink in structure.kinks)] if all(kink.power == 1 for kink in structure.kinks) else []
    )
