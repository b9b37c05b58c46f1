"""Losses that are not AUC-consistent: a search on three points, and the paper's own example, proposition 10."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from itertools import pairwise
from typing import ClassVar

import numpy as np
import torch
from torch import Tensor

from symloss.losses import Loss, LossLike, Sign, get_loss
from symloss.losses.base import Properties
from symloss.theory.conditional import Array, Sampled

# Values of eta at the three points. Together, they show the inconsistency of every inconsistent piecewise linear loss
# that we know.
_TRIPLES = ((0.6, 0.55, 0.4), (0.9, 0.8, 0.1), (1.0, 0.5, 0.0))


@dataclass(frozen=True)
class ThreePoints:
    """Three equally likely points, and scores that minimize their pairwise risk without ranking them by eta.

    Parameters
    ----------
    eta : tuple of float
        Class probabilities of the points, decreasing.
    scores : tuple of float
        Scores that are tied, or in another order than eta.
    risk : float
        The pairwise risk of these scores, which is the lowest.
    """

    eta: tuple[float, float, float]
    scores: tuple[float, float, float]
    risk: float


def three_points(loss: LossLike, breakpoints: tuple[float, ...] | None = None) -> ThreePoints | None:
    """Return three points on which scores that do not rank by eta minimize the pairwise risk, or None.

    The loss must be linear between its breakpoints, and bounded below. Its pairwise risk is then linear between the
    lines on which a score difference is a breakpoint, so its infimum is at a corner of these regions, or is approached
    there from inside a region if the loss jumps. There are few corners. One that does not rank by eta is returned if
    nothing at or beside another one is lower. Scores that rank by eta may then approach its risk, but not go below it.

    Examples
    --------
    >>> three_points("ramp") is None
    True
    """
    function = Sampled(get_loss(loss))
    marks = {abs(mark) for mark in function.loss.breakpoints}
    # One that was found is left out if it equals a declared one up to rounding.
    marks |= {abs(mark) for mark in breakpoints or () if all(abs(abs(mark) - at) > 1e-8 * at for at in marks)}
    if not marks or not _linear_between(function, marks):
        return None
    far = max(marks) or 1.0  # if 0 is the only mark, any distance will do
    if (function(far * np.array([100.0, -100.0])) < function(far * np.array([10.0, -10.0]))).any():
        return None  # the loss falls forever
    signed = {0.0, far, -far, *marks, *(-mark for mark in marks)}
    gaps = np.array(sorted({a + b for a in signed for b in signed} | {(a + b) / 2 for a in signed for b in signed}))
    first, second = (axis.ravel() for axis in np.meshgrid(gaps, gaps))
    ranks_by_eta = (first > 0) & (second > 0)
    step = 1e-6 * float(np.diff(gaps)[np.diff(gaps) > 1e-9 * far].min())
    sides = step * np.arange(-2, 3)[:, None]  # into the regions around a corner, and along the lines between them
    for eta in _TRIPLES:
        risk = three_point_risk(function, eta, (first, second))
        best = int(np.argmin(np.where(ranks_by_eta, np.inf, risk)))
        lowest = min(float(three_point_risk(function, eta, (first + x, second + sides)).min()) for x in sides)
        if risk[best] <= lowest + 1e-8 * abs(lowest):
            scores = (float(first[best] + second[best]), float(second[best]), 0.0)
            return ThreePoints(eta, scores, float(risk[best]))
    return None


def three_point_risk(
    function: Callable[[Array], Array], eta: tuple[float, float, float], gaps: tuple[Array, Array]
) -> Array:
    """Return the sum over pairs of eta (1 - eta') l(g - g') + eta' (1 - eta) l(g' - g).

    ``gaps`` are the differences g - g' of the first and second point, and of the second and third.
    """
    total = np.zeros(np.broadcast_shapes(*(gap.shape for gap in gaps)))
    for high, low, gap in ((eta[0], eta[1], gaps[0]), (eta[1], eta[2], gaps[1]), (eta[0], eta[2], gaps[0] + gaps[1])):
        total = total + high * (1 - low) * function(gap) + low * (1 - high) * function(-gap)
    return total


def _linear_between(function: Callable[[Array], Array], marks: set[float]) -> bool:
    ends = sorted({0.0, *marks, *(-mark for mark in marks)})
    beyond = 10 * ends[-1] or 10.0
    inside = np.linspace(0.01, 0.99, 9)
    for low, high in pairwise([ends[0] - beyond, *ends, ends[-1] + beyond]):
        values = function(low + (high - low) * inside)
        if not np.abs(np.diff(values, 2)).max() <= 1e-9 * np.abs(values).max():
            return False
    return True


class CounterexampleLoss(Loss):
    """The paper's l_EX: 0 at z = 1, 1 at z = -1 and 1/2 elsewhere."""

    name: ClassVar[str] = "counterexample"
    formula: ClassVar[str] = "0 if z = 1, 1 if z = -1, 0.5 otherwise"
    properties = Properties(False, False, True, Sign(), symmetric_constant=1.0, symmetric_radius=math.inf)
    breakpoints = (-1.0, 1.0)

    def value(self, z: Tensor) -> Tensor:
        """Return 0, 1/2 or 1."""
        return 0.5 * (1 + (z == -1).to(z.dtype) - (z == 1).to(z.dtype))

    def slope(self, z: Tensor) -> Tensor:
        """Return 0: the loss is flat wherever it has a derivative."""
        return torch.zeros_like(z)


@dataclass(frozen=True)
class PairRow:
    """One ordered pair of points in the counterexample: eta_i - eta_j, and l_EX(g(x_i) - g(x_j)) for g_1 to g_4."""

    pair: tuple[int, int]
    weight: float
    losses: tuple[float, ...]


@dataclass(frozen=True)
class Proposition10:
    """The table of six pairs, and one score for each of the scoring functions g_1 to g_4.

    A lower score is better. g_2 ranks by eta, but g_1 and g_4 have lower scores.
    """

    eta: tuple[float, ...]
    scorings: tuple[tuple[float, ...], ...]
    rows: tuple[PairRow, ...]
    scores: tuple[float, ...]


def proposition_10() -> Proposition10:
    """Compute the counterexample of proposition 10: three points, four scoring functions, six ordered pairs."""
    eta = (1.0, 0.5, 0.0)
    scorings = ((1.0, 0.0, 0.0), (2.0, 1.0, 0.0), (0.0, 0.0, 0.0), (1.0, 1.0, 0.0))
    rows = []
    for i, j in ((0, 1), (0, 2), (1, 0), (1, 2), (2, 0), (2, 1)):
        gaps = torch.tensor([g[i] - g[j] for g in scorings], dtype=torch.float64)
        rows.append(PairRow((i + 1, j + 1), eta[i] - eta[j], tuple(CounterexampleLoss()(gaps).tolist())))
    scores = tuple(sum(row.weight * row.losses[g] for row in rows) for g in range(len(scorings)))
    return Proposition10(eta, scorings, tuple(rows), scores)
