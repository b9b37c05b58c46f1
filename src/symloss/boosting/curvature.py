"""A curvature for every loss, so large that the quadratic which a boosting round minimizes lies above the risk.

A round is given g, the gradient of the risk with respect to the scores, and a curvature h > 0. Among the steps d that
trees can make, it takes the one for which sum(g d + h d^2 / 2) is least. If

    R(scores + d) <= R(scores) + sum(g d + h d^2 / 2)

for every d, a round cannot raise the risk, convex or not. Let c be such that, for every margin z and every step x,

    l(z + x) <= l(z) + l'(z) x + c x^2 / 2 + slack.                                                        (1)

The balanced-error risk is a sum over points, so (1) is what it needs: h is c times the point's share. In the AUC risk,
the margin of the pair (i, j) moves by x = d_i - d_j, and (d_i - d_j)^2 <= 2 d_i^2 + 2 d_j^2. So h is 2 c times the
share. The factor 2 is reached where a split moves positives up and negatives down by the same amount. The second
derivative alone, for which one score moves at a time, is half of what is needed.

(1) holds with slack 0 for c = sup l'', by Taylor's theorem. At a corner, where l' jumps up by w, no c gives slack 0.
But any c > 0 gives a bounded slack: after corners at which l' rises by w in total, the loss is above the quadratic by
at most w x - c x^2 / 2, which is at most w^2 / (2 c). Where the slope falls, at a corner or along a concave piece, the
loss lies below its tangent, and no slack is needed.
"""

from __future__ import annotations

import math
import warnings
from functools import lru_cache

import torch

from symloss.losses import ExponentialDecay, Loss

_REACH, _POINTS = 32.0, 1 << 17  # margins tried around zero and around every corner
_EXPONENT = 30.0  # that of a pair is at most twice this: exp(-60) to exp(60), well inside float32
_STEP_OF_ONE = 2 * (math.e - 2)  # exp(-x) <= 1 - x + (e - 2) x^2 for |x| <= 1: the series, term by term


@lru_cache
def largest_curvature(loss: Loss) -> float:
    """Return c of (1): the largest l'', or the largest rise of l' over one unit of the margin if that is larger.

    At a corner, this rise is the size of the corner. For a loss that is a line both are 0, and c is its slope, so that
    a leaf with one class takes a step of 1. Margins are tried on a grid, and there is a warning if the loss bends most
    at the end of the grid.
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
    """Return c / |l'| for exponential losses, whose curvature follows the slope as l'' has no bound; None for others.

    A leaf then moves its scores by at most 0.7 / rate, or 0.35 / rate under the AUC risk. For steps up to 1 / rate, (1)
    holds with slack 0.
    """
    return _STEP_OF_ONE * loss.structure.rate if isinstance(loss.structure, ExponentialDecay) else None


def score_limit(loss: Loss) -> float:
    """Return the limit at which scores are cut off: infinite, except for exponential losses.

    For larger scores their slope, and h with it, would overflow or vanish. A score beyond the limit gets the gradient
    and the curvature at the limit.
    """
    return _EXPONENT / loss.structure.rate if isinstance(loss.structure, ExponentialDecay) else math.inf
