"""A curvature for every loss under which the quadratic that a boosting round minimizes lies above the risk.

A round has g, the gradient of the risk by the scores, and h > 0, and moves the scores by the d that trees can give and
for which sum(g d + h d^2 / 2) is least. Where R(scores + d) <= R(scores) + sum(g d + h d^2 / 2) for every d, a round
cannot raise the risk, convex or not. Let c be such that, for every margin z and every step x,

    l(z + x) <= l(z) + l'(z) x + c x^2 / 2 + slack.                                                        (1)

The balanced-error risk is a sum over points, so (1) is what it needs: h is c times the point's share. In the AUC risk
the pair (i, j) moves by x = d_i - d_j, and (d_i - d_j)^2 <= 2 d_i^2 + 2 d_j^2: h is 2 c times the share. The factor 2
is reached where a split moves positives up and negatives down by the same amount; the second derivative alone, which
knows of one score at a time, is half of what is needed.

(1) holds with slack 0 for c = sup l'', by Taylor's theorem. A corner, where l' rises by w at once, has no such c. With
any c > 0 it is passed at a price: behind corners that rise by w together the loss lies at most w x - c x^2 / 2, which
is w^2 / (2 c) at most, above the quadratic. Where the slope falls, at a corner or along a concave piece, the loss lies
below its tangent and costs nothing.
"""

from __future__ import annotations

import math
import warnings
from functools import lru_cache

import torch

from symloss.losses import ExponentialDecay, Loss

_REACH, _POINTS = 32.0, 1 << 17  # around zero and around every corner
_EXPONENT = 30.0  # a pair's is twice this at most: exp(-60) to exp(60), far inside of float32
_STEP_OF_ONE = 2 * (math.e - 2)  # exp(-x) <= 1 - x + (e - 2) x^2 for |x| <= 1: the series, term by term


@lru_cache
def largest_curvature(loss: Loss) -> float:
    """Return c of (1): the largest l'', or the largest rise of l' over a unit of the margin where that is more.

    The second is the size of a corner. A loss that is a line has neither; it gets its slope, so that a leaf of one
    class takes a step of one. Margins are tried on a grid: a loss that bends most at its end is warned of.

    Examples
    --------
    >>> import symloss as sl
    >>> round(largest_curvature(sl.Logistic()), 6), round(largest_curvature(sl.Hinge()), 6)
    (0.25, 1.0)
    """
    centers = torch.tensor([0.0, *loss.breakpoints], dtype=torch.float64)
    around = torch.linspace(-_REACH, _REACH, _POINTS + 1, dtype=torch.float64)
    z = (centers[:, None] + around).flatten()
    bend = torch.maximum(loss.curvature(z), loss.slope(z + 0.5) - loss.slope(z - 0.5))
    largest, low, high = float(bend.max()), float(z.min()), float(z.max())
    if largest > 0:
        inside = float(bend[(z > low + 1) & (z < high - 1)].max())
        if largest > inside * (1 + 1e-6) and relative_curvature(loss) is None:
            warnings.warn(
                f"{loss!r} bends most at the end of the margins tried, {low:g} to {high:g}: beyond them a boosting "
                "round may raise the risk",
                stacklevel=2,
            )
        return largest
    steepest = float(loss.slope(z).abs().max())
    if not steepest > 0:
        raise ValueError(
            f"boosting follows the slope of a loss, and {loss!r} is flat at all margins tried, {low:g} to {high:g}"
        )
    return steepest


def relative_curvature(loss: Loss) -> float | None:
    """Return c / |l'| where the curvature is to follow the slope: for exponential losses, whose l'' has no bound.

    A leaf then moves its scores by 0.7 / rate at most, 0.35 / rate under the AUC risk, and up to steps of 1 / rate (1)
    holds with slack 0.

    Examples
    --------
    >>> import symloss as sl
    >>> round(relative_curvature(sl.Exponential()), 4), relative_curvature(sl.Sigmoid())
    (1.4366, None)
    """
    return _STEP_OF_ONE * loss.structure.rate if isinstance(loss.structure, ExponentialDecay) else None


def score_limit(loss: Loss) -> float:
    """Return where scores are cut off: an exponential loss's slope would overflow, or vanish and take h with it.

    Gradient and curvature of a score beyond are those at the limit, whatever the loss is there.

    Examples
    --------
    >>> import symloss as sl
    >>> score_limit(sl.Exponential()), score_limit(sl.Sigmoid())
    (30.0, inf)
    """
    return _EXPONENT / loss.structure.rate if isinstance(loss.structure, ExponentialDecay) else math.inf
