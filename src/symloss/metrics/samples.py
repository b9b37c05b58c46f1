"""The scores of the two classes, with weights, checked once where they come in."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray

from symloss.checking import is_larger

Array = NDArray[np.float64]


class Sample(NamedTuple):
    """The scores of the points of one class, their weights, and how many independent points they are worth."""

    scores: Array
    weight: Array
    size: float


def two_samples(scores: Any, target: Any, weight: Any, repetitions: bool = False) -> tuple[Sample, Sample]:
    """Return the positives and the negatives, or raise a ValueError that says what is wrong with the input.

    The size of a weighted sample is Kish's effective size, (sum of weights)^2 / sum of squared weights: the mean of so
    many points of equal weight has the same variance. With ``repetitions``, weights that are all whole numbers count
    how often a point was drawn, and the size is their sum.
    """
    positive = is_larger(target)
    values = vector("scores", scores)
    weights = np.ones(len(values)) if weight is None else vector("weight", weight)
    for name, part in (("target", positive), ("weight", weights)):
        if part.shape != values.shape:
            raise ValueError(f"{name} must have the scores' shape {values.shape}, got {part.shape}")
    if np.isnan(values).any():
        raise ValueError(f"scores must be numbers, got NaN at position {int(np.flatnonzero(np.isnan(values))[0])}")
    if not (np.isfinite(weights) & (weights >= 0)).all():
        raise ValueError("weight must hold finite numbers >= 0")
    counts = repetitions and bool((weights == np.floor(weights)).all())
    unit = float(weights.max(initial=0.0)) or 1.0
    weights = weights / unit  # so that sums of weights can neither overflow nor vanish
    samples = []
    for label, side in (("positive", positive), ("negative", ~positive)):
        total = float(weights[side].sum())
        if not total > 0:
            raise ValueError(f"this needs points of both classes, got no {label} one (of weight above 0)")
        size = total * unit if counts else _effective_size(weights[side])
        samples.append(Sample(values[side], weights[side], size))
    return samples[0], samples[1]


def _effective_size(weight: Array) -> float:
    share = weight / weight.max()  # squares of small numbers would vanish
    return float(share.sum() ** 2 / (share**2).sum())


def vector(name: str, values: Any) -> Array:
    """Return n numbers in float64; raise a ValueError if they are not numbers, or not of shape (n,)."""
    if isinstance(values, torch.Tensor):
        values = values.detach().to("cpu", torch.float64).numpy()
    try:
        array = np.asarray(values, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise ValueError(f"{name} must be numbers: {error}") from None
    if array.ndim != 1:
        raise ValueError(f"{name} must have shape (n,), got {array.shape}")
    return array
