"""The conditional risk C(eta, a) = eta l(a) + (1 - eta) l(-a): its infima, its minimizer and the psi-transform.

Everything is found from the loss's values, at margins that are multiples of the loss's own unit, so that l(z) and
l(c z) get the same answers.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from symloss.checking import check_probability
from symloss.losses import Loss, LossLike, get_loss

Array = NDArray[np.float64]
Function = Callable[[Array], Array]

_SETTLED = 1e-9  # of the loss's range: a value that changes by less than this near 1e12 units is a limit
_ROUNDING = 64 * float(np.finfo(np.float64).eps)
_UNDERFLOW = 1e-290  # smaller values have lost digits
_BENT = math.log2(1.1)  # a part that is ten per cent off its power of z is no longer that power
_FAR: Array = np.geomspace(1e4, 1e12, 9)  # in units: the margins at which limits are found


@dataclass(frozen=True)
class Infimum:
    """An infimum and where it is attained: ``at`` is infinite if it is only approached, NaN if that cannot be told.

    Examples
    --------
    >>> conditional_infima("sigmoid", 0.75)[0]
    Infimum(value=0.25, at=inf)
    """

    value: float
    at: float


def as_function(loss: Loss) -> Function:
    """Return a loss as a function of float64 arrays."""

    def function(z: Array) -> Array:
        with torch.no_grad():
            # Not loss(...): recording a gradient costs more than computing the values.
            values: Array = loss.checked_value(torch.from_numpy(np.array(z, dtype=np.float64))).numpy()
        return values

    return function


def unit(function: Function) -> float:
    """Return a loss's own unit of length: the margin from which it is no longer what it is near 0, or 1 if none is.

    Near 0 the part l(z) - l(-z) is a multiple of a power of z. The unit is the margin from which it no longer is, or
    from which the part l(z) + l(-z) - 2 l(0) is no longer small beside it. For a step, it is the margin of the step.
    """
    z = 2.0 ** (np.arange(-4000, 4001) / 8)
    with np.errstate(all="ignore"):
        there, back, middle = function(z), function(-z), float(function(np.zeros(1))[0])
        odd, even = there - back, there + back - 2 * middle
        # At smaller margins, rounding or underflow hides both parts, and quotients of hidden parts mean nothing.
        seen = np.abs(odd) > 1e6 * _ROUNDING * (np.abs(there) + np.abs(back) + abs(middle)) + _UNDERFLOW
        height = np.log2(np.abs(odd))
        # The formula of the loss may round more than its values show: begin where two octaves are one power of z.
        octaves = np.lib.stride_tricks.sliding_window_view(height, 17)
        powers = (octaves[:, -1] - octaves[:, 0]) / 2
        off = np.abs(octaves - octaves[:, :1] - powers[:, None] * np.arange(17) / 8).max(1)
        steady = seen[: len(off)] & (off < 0.02)
        start = int(np.argmax(steady))
        power = float(powers[start])
        if not steady.any() or abs(power) < 0.1:
            return float(z[start]) if start else 1.0
        power = round(power) if abs(power - round(power)) < 0.1 else power
        bent = np.abs(height - height[start] - max(power, 1.0) * np.log2(z / z[start])) > _BENT
        turned = np.abs(even) > 0.1 * np.abs(odd)
        departs = seen & (bent | (turned & ~turned[start])) & (np.arange(len(z)) > start)
    first = int(np.argmax(departs))
    return float(z[first]) if departs.any() and first > start + 1 else 1.0


def probes(loss: Loss) -> Array:
    """Return positive margins at which to examine a loss: dense near 0, up to 1e12 units, around its breakpoints."""
    marks = np.abs(np.array([mark for mark in loss.breakpoints if mark], dtype=np.float64))
    beside = [marks * factor for factor in (0.5, 0.999, 1 - 1e-9, 1, 1 + 1e-9, 1.001, 1.5, 2)]
    regular = np.concatenate([np.arange(1, 1001) / 100, np.geomspace(1e-6, 1e4, 401), np.geomspace(1e4, 1e12, 161)])
    return np.unique(np.concatenate([regular, unit(as_function(loss)) * regular, *beside]))


def infima(loss: Loss, etas: Array, side: int, sign: int = 1) -> tuple[Array, Array]:
    """Return, for each eta, the infimum of sign * C(eta, a) over a > 0 or a < 0, and where it is attained."""
    function, margins = as_function(loss), side * probes(loss)
    length = unit(function)

    def risk(z: Array) -> Array:
        """Return the conditional risks, (etas, margins)."""
        there, back = function(z), function(-z)
        with np.errstate(invalid="ignore", over="ignore"):
            total = etas[:, None] * there + (1 - etas)[:, None] * back
        only = np.where(etas[:, None] == 1, there, back)  # avoids zero times infinity
        return sign * np.where((etas[:, None] == 1) | (etas[:, None] == 0), only, total)

    with np.errstate(invalid="ignore", over="ignore"):
        return _infima(risk, margins, side * length)


def _infima(risk: Function, margins: Array, direction: float) -> tuple[Array, Array]:
    """Return the infimum of each risk, and where it is attained; ``direction`` is plus or minus the loss's unit."""
    values, tail = risk(margins), risk(direction * _FAR)
    near = values[:, np.abs(margins) <= 10 * abs(direction)]
    spread = np.where(np.isfinite(near), near, -np.inf).max(1) - np.where(np.isfinite(near), near, np.inf).min(1)
    drops = np.nan_to_num(-np.diff(tail), nan=0.0)  # infinity minus infinity is no drop
    settled = _SETTLED * spread
    moving = (drops[:, -1] > settled) | ((drops.max(1) > settled) & (drops[:, -1] < -settled))
    endless = moving & (drops.min(1) > 0) & (drops[:, -1] > drops[:, 0] / 2)
    endless |= (values == -np.inf).any(1)
    best = np.nanargmin(np.where(np.isnan(values), np.inf, values), axis=1)
    at, lowest = _refined(risk, margins, best, spread)
    limit = _limits(tail, drops)
    close = 1e-13 * spread + _ROUNDING * np.abs(lowest)
    approached = (limit < lowest - close) | (
        (limit <= lowest + close) & _only_approached(values, margins, np.minimum(lowest, limit))
    )
    one = np.sign(direction)
    at = np.where(best == 0, one, at)  # the risk is as low at all margins down to 0: report 1 or -1
    value = np.where(approached, np.minimum(lowest, limit), lowest)
    value, at = np.where(endless, -np.inf, value), np.where(approached | endless, one * np.inf, at)
    unknown = np.isnan(values).any(1) | np.isnan(tail).any(1) | (moving & ~endless)
    return np.where(unknown, np.nan, value), np.where(unknown, np.nan, at)


def _limits(tail: Array, drops: Array) -> Array:
    """Return the limits of the risks at infinity: the last values, less what a tail that falls like a power still owes.

    The margins of the tail are powers of ten, so the drops of such a tail are a geometric series.
    """
    falling = (drops[:, -1] > 0) & (drops[:, -2] > 2 * drops[:, -1])
    owed = drops[:, -1] ** 2 / np.where(falling, drops[:, -2] - drops[:, -1], 1.0)
    limits: Array = tail[:, -1] - np.where(falling, owed, 0.0)
    return limits


def _refined(risk: Function, margins: Array, best: NDArray[np.intp], spread: Array) -> tuple[Array, Array]:
    """Return where each risk is lowest and its value there, by golden-section search around the lowest probe."""
    ratio = (math.sqrt(5) - 1) / 2
    at = margins[best].astype(np.float64)
    lowest = np.diagonal(risk(at)).copy()
    low, high = (
        margins[np.maximum(best - 1, 0)].astype(np.float64),
        margins[np.minimum(best + 1, len(margins) - 1)].astype(np.float64),
    )
    for _ in range(70):
        left, right = high - ratio * (high - low), low + ratio * (high - low)
        at_left, at_right = np.diagonal(risk(left)), np.diagonal(risk(right))
        for point, value in ((left, at_left), (right, at_right)):
            better = value < lowest
            at, lowest = np.where(better, point, at), np.where(better, value, lowest)
        low, high = np.where(at_left < at_right, low, left), np.where(at_left < at_right, right, high)
    # If the lowest part is flat, take its end nearest to 0.
    outer = np.minimum(best + 1, len(margins) - 1)
    flat = np.diagonal(risk(margins[outer])) <= lowest
    low, high = margins[np.maximum(best - 1, 0)].astype(np.float64), at
    for _ in range(60):
        middle = (low + high) / 2
        reached = np.diagonal(risk(middle)) <= lowest
        low, high = np.where(reached, low, middle), np.where(reached, middle, high)
    close = np.abs(high - margins[best]) <= _ROUNDING * np.abs(high)
    nearest = np.where(close | _at_step(risk, high, lowest, spread), margins[best], high)
    at = np.where(flat, nearest, at)
    return np.where(_at_step(risk, at, lowest, spread), np.nan, at), lowest


def _at_step(risk: Function, at: Array, lowest: Array, spread: Array) -> NDArray[np.bool_]:
    """Return whether the lowest risk is that just beside a step, and is lost where a few digits of ``at`` are lost."""
    short = np.array([float(f"{margin:.9g}") for margin in at])
    lost: NDArray[np.bool_] = np.diagonal(risk(short)) > lowest + 1e-6 * spread
    return lost


def _only_approached(values: Array, margins: Array, limit: Array) -> NDArray[np.bool_]:
    """Return whether the limit is only approached, as by an asymptote, and never reached.

    In that case, the margins needed to come within 1e-3, 1e-6 and 1e-9 of the limit keep growing.
    """
    height = values[:, 0] - limit
    first = [
        np.abs(margins[np.argmax(values <= (limit + share * height)[:, None], axis=1)]) for share in (1e-3, 1e-6, 1e-9)
    ]
    growing = first[2] - first[1] > 0.25 * (first[1] - first[0]) + 0.02 * first[1]
    asymptote: NDArray[np.bool_] = (height > 0) & np.isfinite(height) & growing
    return asymptote


def limit(loss: Loss, side: int) -> float:
    """Return the limit of l at infinity or, for ``side`` -1, -infinity; NaN if it is infinite or cannot be told."""
    function = as_function(loss)
    length = unit(function)
    tail, near = function(side * length * _FAR)[None], function(length * np.linspace(-10, 10, 201))
    with np.errstate(invalid="ignore", over="ignore"):
        drops = -np.diff(tail)
        settled = np.abs(drops[0, -1]) <= _SETTLED * np.ptp(near) and np.abs(drops[0, -1]) <= np.abs(drops).max() / 2
        falling = 1 if drops[0, -1] > 0 else -1
        found = falling * _limits(falling * tail, falling * drops)[0]
    return float(found) if settled or not drops.any() else math.nan


def conditional_risk(loss: LossLike, eta: float, margins: Any) -> Array:
    """Return C(eta, a) = eta l(a) + (1 - eta) l(-a).

    Examples
    --------
    >>> conditional_risk("hinge", 0.75, [1.0])
    array([0.5])
    """
    function, z = as_function(get_loss(loss)), np.asarray(margins, dtype=np.float64)
    check_probability("eta", eta)
    if eta in (0, 1):
        return function(z if eta else -z)
    return eta * function(z) + (1 - eta) * function(-z)


def conditional_infima(loss: LossLike, eta: float) -> tuple[Infimum, Infimum]:
    """Return the infima of the conditional risk: H(eta) over all scores, H⁻(eta) over 0 and scores of the wrong sign.

    The names are those of Bartlett et al. (2006).

    Examples
    --------
    >>> best, wrong = conditional_infima("hinge", 0.75)
    >>> best.value, best.at, wrong.value
    (0.5, 1.0, 1.0)
    """
    best, at, wrong, wrong_at = all_infima(get_loss(loss), np.array([eta]))
    return Infimum(float(best[0]), float(at[0])), Infimum(float(wrong[0]), float(wrong_at[0]))


def all_infima(loss: Loss, etas: Array) -> tuple[Array, Array, Array, Array]:
    """Return H and its minimizers, then H⁻ and its minimizers, for many values of eta at once."""
    right, right_at, wrong, wrong_at = sided_infima(loss, etas)
    lower = ~(right >= wrong)  # keeps NaN
    return np.where(lower, right, wrong), np.where(lower, right_at, wrong_at), wrong, wrong_at


def sided_infima(loss: Loss, etas: Array) -> tuple[Array, Array, Array, Array]:
    """Return the infima over scores of the right sign and where they are, then those over 0 and the wrong sign."""
    function = as_function(loss)
    at_zero = 0.5 * function(np.zeros(1))[0] + 0.5 * function(-np.zeros(1))[0]
    positive, negative = infima(loss, etas, 1), infima(loss, etas, -1)
    upper = etas >= 0.5
    right, right_at = (np.where(upper, p, n) for p, n in zip(positive, negative, strict=True))
    wrong, wrong_at = (np.where(upper, n, p) for p, n in zip(positive, negative, strict=True))
    below = ~(wrong >= at_zero)  # keeps NaN
    return right, right_at, np.where(below, wrong, at_zero), np.where(below, wrong_at, 0.0)


def minimizer(loss: LossLike, eta: float) -> float:
    """Return f*(eta), the score that minimizes the conditional risk: infinite if unbounded, NaN if it cannot be told.

    Examples
    --------
    >>> minimizer("ramp", 0.9), minimizer("sigmoid", 0.9), round(minimizer("squared", 0.9), 6)
    (1.0, inf, 0.8)
    """
    return float(minimizers(get_loss(loss), np.array([eta]))[0])


def minimizers(loss: Loss, etas: Array) -> Array:
    """Return f* at many values of eta; it is 0 at eta = 1/2."""
    return np.where(etas == 0.5, 0.0, all_infima(loss, etas)[1])


def psi_transform(loss: LossLike, theta: Any) -> Array:
    """Return psi(theta), the convex hull of H⁻ - H at (1 + theta) / 2, for which psi(R01 - R01*) <= R_l - R_l*.

    For a symmetric loss psi is the line [(inf over a <= 0 of l) - (inf over a > 0 of l)] theta (theorem 7). psi is
    infinite where H is infinite.

    Examples
    --------
    >>> psi_transform("sigmoid", [0.0, 0.5, 1.0])
    array([0.  , 0.25, 0.5 ])
    """
    theta = np.asarray(theta, dtype=np.float64)
    if theta.ndim > 1 or not ((theta >= 0) & (theta <= 1)).all():
        raise ValueError(f"theta must be a number or a vector between 0 and 1, got {theta.tolist()}")
    grid = np.unique(np.concatenate([np.linspace(0, 1, 41), np.atleast_1d(theta)]))
    best, _, wrong, _ = all_infima(get_loss(loss), (1 + grid) / 2)
    with np.errstate(invalid="ignore"):
        gaps = np.where(grid == 0, 0.0, wrong - best)  # at eta = 1/2 either sign is right
    finite = np.isfinite(gaps)
    hull = np.interp(theta, *_lower_hull(grid[finite], gaps[finite]))
    psi: Array = np.where(finite[np.searchsorted(grid, theta)], hull, np.nan if np.isnan(gaps).any() else np.inf)
    return psi


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
