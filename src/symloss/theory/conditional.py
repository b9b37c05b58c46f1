"""The conditional risk C(eta, a) = eta l(a) + (1 - eta) l(-a): its infima, its minimiser and the psi-transform."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from symloss.losses import Loss, LossLike, get_loss

Array = NDArray[np.float64]
Function = Callable[[Array], Array]

_FAR: Array = np.geomspace(1e4, 1e12, 9)  # where limits at infinity are read off


@dataclass(frozen=True)
class Infimum:
    """An infimum and where it is attained: ``at`` is infinite if it is only approached, NaN if that cannot be told.

    Examples
    --------
    >>> Infimum(value=0.0, at=math.inf).attained
    False
    """

    value: float
    at: float

    @property
    def attained(self) -> bool:
        """Whether some finite argument has the infimum as its value."""
        return math.isfinite(self.at)


def as_function(loss: Loss) -> Function:
    """Return a loss as a function of float64 arrays.

    Examples
    --------
    >>> as_function(get_loss("hinge"))(np.array([0.0, 2.0]))
    array([1., 0.])
    """
    return lambda z: loss(torch.from_numpy(np.ascontiguousarray(z, dtype=np.float64))).detach().numpy()


def probes(loss: Loss) -> Array:
    """Return positive margins at which to examine a loss: dense near 0, up to 1e4, on and beside its breakpoints.

    Examples
    --------
    >>> z = probes(get_loss("barrier_hinge"))
    >>> bool(50 in z), bool(z.min() > 0)
    (True, True)
    """
    marks = np.abs(np.array([mark for mark in loss.breakpoints if mark], dtype=np.float64))
    beside = [marks * factor for factor in (0.5, 0.999, 1 - 1e-9, 1, 1 + 1e-9, 1.001, 1.5, 2)]
    return np.unique(np.concatenate([np.arange(1, 1001) / 100, np.geomspace(1e-6, 1e4, 401), *beside]))


def infimum(function: Function, margins: Array) -> Infimum:
    """Return the infimum of a function over a half-line that ``margins`` probe, outwards from its end.

    Examples
    --------
    >>> infimum(lambda z: (z - 2) ** 2, probes(get_loss("hinge"))).at
    2.0
    """
    side = float(np.sign(margins[-1]))
    values, tail = function(margins), function(side * _FAR)
    if np.isnan(values).any() or np.isnan(tail).any():
        return Infimum(math.nan, math.nan)
    near = values[(np.abs(margins) <= 10) & np.isfinite(values)]
    tiny = 1e-9 * (float(np.ptp(near)) + abs(float(near[0])))
    with np.errstate(invalid="ignore"):
        drops = np.nan_to_num(-np.diff(tail), nan=0.0)  # infinity less infinity: no drop
    if drops[-1] > tiny or (drops.max() > tiny and drops[-1] < -tiny):
        # Not settled at 1e12: falling as fast as ever means without end, anything else means that we cannot tell.
        endless = drops.min() > 0 and drops[-1] > drops[0] / 2
        return Infimum(-math.inf, side * math.inf) if endless else Infimum(math.nan, math.nan)
    at, value = _refined(function, margins, int(np.argmin(values)))
    limit = float(tail[-1])
    if limit < value - tiny or (limit <= value + tiny and _only_approached(values, margins, min(value, limit))):
        return Infimum(min(value, limit), side * math.inf)
    # Among many minimisers, name 1 if it is one of them.
    return Infimum(value, side) if float(function(np.array([side]))[0]) <= value else Infimum(value, at)


def _refined(function: Function, margins: Array, best: int) -> tuple[float, float]:
    from scipy.optimize import minimize_scalar

    at, value = float(margins[best]), float(function(margins[best : best + 1])[0])
    low, high = sorted((float(margins[max(best - 1, 0)]), float(margins[min(best + 1, len(margins) - 1)])))
    found = minimize_scalar(
        lambda z: float(function(np.array([z]))[0]), bounds=(low, high), method="bounded", options={"xatol": 1e-12}
    )
    return (float(found.x), float(found.fun)) if found.fun < value else (at, value)


def _only_approached(values: Array, margins: Array, limit: float) -> bool:
    """Whether the way to within 1e-9 of the limit keeps growing, as in an asymptote, rather than settling."""
    height = float(values[0]) - limit
    if not 0 < height < math.inf:
        return False
    first = [np.abs(margins[int(np.argmax(values <= limit + share * height))]) for share in (1e-3, 1e-6, 1e-9)]
    return bool(first[2] - first[1] > 0.25 * (first[1] - first[0]) + 0.02 * first[1])


def conditional_risk(loss: LossLike, eta: float, margins: Any) -> Array:
    """Return C(eta, a) = eta l(a) + (1 - eta) l(-a).

    Examples
    --------
    >>> conditional_risk("hinge", 0.75, [1.0])
    array([0.5])
    """
    function, z = as_function(get_loss(loss)), np.asarray(margins, dtype=np.float64)
    if not 0 <= eta <= 1:
        raise ValueError(f"eta must be between 0 and 1, got {eta!r}")
    if eta in (0, 1):
        return function(z if eta else -z)
    return eta * function(z) + (1 - eta) * function(-z)


def conditional_infima(loss: LossLike, eta: float) -> tuple[Infimum, Infimum]:
    """Return H(eta), over all scores, and H⁻(eta), over the scores of the wrong sign and 0 (Bartlett et al., 2006).

    Examples
    --------
    >>> best, wrong = conditional_infima("hinge", 0.75)
    >>> best.value, best.at, wrong.value
    (0.5, 1.0, 1.0)
    """
    loss = get_loss(loss)
    z = probes(loss)

    def risk(margins: Array) -> Array:
        return conditional_risk(loss, eta, margins)

    at_zero = Infimum(float(risk(np.zeros(1))[0]), 0.0)
    positive, negative = infimum(risk, z), infimum(risk, -z)
    sides = (positive, negative) if eta >= 0.5 else (negative, positive)
    right, wrong = sides
    wrong = _lower(at_zero, wrong)
    return _lower(wrong, right), wrong


def _lower(first: Infimum, second: Infimum) -> Infimum:
    if math.isnan(first.value) or math.isnan(second.value):
        return Infimum(math.nan, math.nan)
    return second if second.value < first.value else first


def minimiser(loss: LossLike, eta: float) -> float:
    """Return f*(eta), the score that minimises the conditional risk: infinite if unbounded, NaN if it cannot be told.

    Examples
    --------
    >>> minimiser("ramp", 0.9), minimiser("sigmoid", 0.9), round(minimiser("squared", 0.9), 6)
    (1.0, inf, 0.8)
    """
    if eta == 0.5:
        return 0.0
    best, _ = conditional_infima(loss, eta)
    return best.at


def psi_transform(loss: LossLike, theta: Any) -> Array:
    """Return psi(theta), with psi(R01 - R01*) <= R_l - R_l*: the convex hull of H⁻ - H at (1 + theta) / 2.

    For a symmetric loss psi is the line [inf over a <= 0 of l - inf over a > 0 of l] theta (theorem 7).

    Examples
    --------
    >>> psi_transform("sigmoid", [0.0, 0.5, 1.0])
    array([0.  , 0.25, 0.5 ])
    """
    theta = np.atleast_1d(np.asarray(theta, dtype=np.float64))
    if not ((theta >= 0) & (theta <= 1)).all():
        raise ValueError("theta must be between 0 and 1")
    grid = np.unique(np.concatenate([np.linspace(0, 1, 41), theta]))
    gaps = np.array([_gap(get_loss(loss), float(point)) for point in grid])
    if not np.isfinite(gaps).all():
        return np.where(theta == 0, 0.0, gaps[-1])
    psi: Array = np.interp(theta, *_lower_hull(grid, gaps))
    return psi


def _gap(loss: Loss, theta: float) -> float:
    if theta == 0:
        return 0.0  # at eta = 1/2 either sign is right
    best, wrong = conditional_infima(loss, (1 + theta) / 2)
    return wrong.value - best.value


def _lower_hull(x: Array, y: Array) -> tuple[Array, Array]:
    hull: list[int] = []
    for i in range(len(x)):
        while len(hull) > 1:
            a, b = hull[-2], hull[-1]
            if (y[b] - y[a]) * (x[i] - x[a]) < (y[i] - y[a]) * (x[b] - x[a]):
                break
            hull.pop()
        hull.append(i)
    return x[hull], y[hull]
