"""A test of AUC-consistency on three points: whether a wrong or tied ranking minimizes the pairwise risk."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from symloss.losses import LossLike, get_loss
from symloss.theory.conditional import Array, Function, as_function

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

    Examples
    --------
    >>> three_points("hinge").scores
    (1.0, 1.0, 0.0)
    """

    eta: tuple[float, float, float]
    scores: tuple[float, float, float]
    risk: float


def three_points(loss: LossLike, breakpoints: tuple[float, ...] | None = None) -> ThreePoints | None:
    """Return three points on which scores that do not rank by eta minimize the pairwise risk, or None.

    The loss must be linear between its breakpoints. Its pairwise risk is then linear between the lines on which a score
    difference is a breakpoint, so the minimum is at a corner of these regions, and there are few corners. A corner that
    does not rank by eta is returned if its risk is below that of every corner that does. Scores between the corners
    that rank by eta can then approach its risk, but not go below it.

    Examples
    --------
    >>> three_points("ramp") is None
    True
    """
    loss = get_loss(loss)
    function = as_function(loss)
    marks = _distances(loss.breakpoints, breakpoints or ())
    if not marks or not _linear_between(function, marks):
        return None
    far = max(marks) or 1.0  # if 0 is the only mark, any distance will do
    signed = {0.0, far, -far, *marks, *(-mark for mark in marks)}
    gaps = np.array(sorted({a + b for a in signed for b in signed} | {(a + b) / 2 for a in signed for b in signed}))
    first, second = (axis.ravel() for axis in np.meshgrid(gaps, gaps))
    ranks_by_eta = (first > 0) & (second > 0)
    for eta in _TRIPLES:
        risk = _pairwise_risk(function, eta, first, second)
        ranking, other = (float(risk[side].min()) for side in (ranks_by_eta, ~ranks_by_eta))
        best = int(np.argmin(np.where(ranks_by_eta, np.inf, risk)))
        if other < ranking - 1e-9 * abs(ranking):
            scores = (float(first[best] + second[best]), float(second[best]), 0.0)
            return ThreePoints(eta, scores, other)
    return None


def _pairwise_risk(function: Function, eta: tuple[float, float, float], first: Array, second: Array) -> Array:
    """Return the sum over pairs of eta (1 - eta') l(g - g') + eta' (1 - eta) l(g' - g)."""
    pairs = ((eta[0], eta[1], first), (eta[1], eta[2], second), (eta[0], eta[2], first + second))
    total = np.zeros_like(first)
    for high, low, gap in pairs:
        total = total + high * (1 - low) * function(gap) + low * (1 - high) * function(-gap)
    return total


def _distances(declared: tuple[float, ...], found: tuple[float, ...]) -> set[float]:
    """Return the distances of the breakpoints from 0.

    A breakpoint that was found is left out if it equals a declared one up to rounding.
    """
    marks = {abs(mark) for mark in declared}
    return marks | {abs(mark) for mark in found if all(abs(abs(mark) - other) > 1e-8 * other for other in marks)}


def _linear_between(function: Function, marks: set[float]) -> bool:
    ends = sorted({0.0, *marks, *(-mark for mark in marks)})
    beyond = 10 * ends[-1] or 10.0
    ends = [ends[0] - beyond, *ends, ends[-1] + beyond]
    inside = np.linspace(0.01, 0.99, 9)
    for low, high in pairwise(ends):
        values = function(low + (high - low) * inside)
        if not np.abs(np.diff(values, 2)).max() <= 1e-9 * np.abs(values).max():
            return False
    return True
