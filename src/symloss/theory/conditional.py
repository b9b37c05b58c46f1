"""The conditional risk C(eta, a) = eta l(a) + (1 - eta) l(-a): its infima, its minimizer and the psi-transform.

Everything is found from the loss's values, at margins that are multiples of the loss's own unit, so that l(z) and
l(c z) get the same answers.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from symloss.checking import check_probability
from symloss.losses import Loss, LossLike, get_loss

Array = NDArray[np.float64]

TOLERANCE = 1e-9  # of a loss's range: smaller differences are none
ROUNDING = 64 * float(np.finfo(np.float64).eps)
_REGULAR: Array = np.concatenate([np.arange(1, 1001) / 100, np.geomspace(1e-6, 1e4, 401), np.geomspace(1e4, 1e12, 161)])
_FAR: Array = np.geomspace(1e4, 1e12, 9)  # in units: where the loss must have come to rest, if it has a limit


@dataclass(frozen=True)
class Infimum:
    """An infimum and where it is attained: ``at`` is infinite if it is only approached, NaN if that cannot be told."""

    value: float
    at: float


class Sampled:
    """A loss as a function of float64 arrays, its own unit of length, and the positive margins to look at."""

    def __init__(self, loss: Loss) -> None:
        self.loss = loss
        self.at_zero = float(self(np.zeros(1))[0]) + 0.0  # turns -0 into 0
        self.unit = self._unit()
        marks = np.abs(np.array([mark for mark in loss.breakpoints if mark], dtype=np.float64))
        beside = [marks * factor for factor in (0.5, 0.999, 1 - 1e-9, 1, 1 + 1e-9, 1.001, 1.5, 2)]
        self.positive = np.unique(np.concatenate([_REGULAR, self.unit * _REGULAR, *beside]))

    def __call__(self, z: Array) -> Array:
        """Return l(z)."""
        with torch.no_grad():
            # Not loss(...): recording a gradient costs more than computing the values.
            values: Array = self.loss.checked_value(torch.from_numpy(np.array(z, dtype=np.float64))).numpy()
        return values

    def _unit(self) -> float:
        """Return the margin from which the loss no longer departs from l(0) as it does near 0, or 1 if it always does.

        Near 0, l(z) - l(0) is a multiple of a power of z on either side. For a step, it is the margin of the step.
        """
        z = 2.0 ** (np.arange(-480, 481) / 8)
        with np.errstate(all="ignore"):
            heights = np.abs(np.stack([self(z), self(-z)]) - self.at_zero)
            # Over one octave; at smaller margins, rounding hides the power.
            powers = np.log2(heights[:, 8:] / heights[:, :-8])
            seen = heights[:, :-8] > 1e6 * ROUNDING * abs(self.at_zero) + 1e-290
            power = powers[[0, 1], seen.argmax(1)][:, None]
            departs = seen & ((np.abs(powers - power) > 0.5) | (power < 0.5))
        return float(min((z[at] for at in departs.argmax(1) if at), default=1.0))

    def risk(self, eta: Any, a: Any) -> Array:
        """Return C(eta, a), without a product of zero and infinity."""
        eta, a = np.asarray(eta, dtype=np.float64), np.asarray(a, dtype=np.float64)
        there, back = self(a), self(-a)
        with np.errstate(invalid="ignore", over="ignore"):
            risk: Array = np.where(eta == 0, 0.0, eta * there) + np.where(eta == 1, 0.0, (1 - eta) * back)
        return risk

    def lowest(self, etas: Array, sign: int = 1) -> tuple[Array, Array]:
        """Return the infimum of sign * C(eta, a) over a > 0 for each eta, and where it is attained.

        NaN if the loss is NaN, or if it has not come to rest at 1e12 units and does not go to -infinity either.
        """
        eta, a = etas[:, None], self.positive
        values = sign * self.risk(eta, a)
        best = values.argmin(1)
        value, at = values[np.arange(len(etas)), best], a[best]
        low, high = a[np.maximum(best - 1, 0)], a[np.minimum(best + 1, len(a) - 1)]
        for _ in range(15):  # zoom in on the lowest of 17 margins, the one nearest to 0 if several are as low
            margins = low[:, None] + (high - low)[:, None] * np.linspace(0, 1, 17)
            of = sign * self.risk(eta, margins)
            k = of.argmin(1)[:, None]
            low, here, high = (np.take_along_axis(margins, np.clip(k + side, 0, 16), 1)[:, 0] for side in (-1, 0, 1))
            found = np.take_along_axis(of, k, 1)[:, 0]
            better = (found < value) | ((found == value) & (here < at * (1 - 1e-9)))
            value, at = np.where(better, found, value), np.where(better, here, at)
        near, tail = values[:, a <= 10 * self.unit], sign * self.risk(eta, self.unit * _FAR)
        with np.errstate(invalid="ignore"):
            settled = TOLERANCE * np.ptp(np.where(np.isfinite(near), near, 0.0), axis=1)
            drops = -np.diff(tail)
            moving = (np.abs(drops[:, -1]) > settled) & ~(drops <= settled[:, None]).all(1)
            endless = moving & (drops > 0).all(1) & (drops[:, -1] > drops[:, 0] / 2)
            endless |= (values == -np.inf).any(1)
            # A tail that still falls a little, or does so in the real numbers: a minimum is seen from ten per cent off.
            tails = sign * self.risk(etas, 0.9 * at) - value <= TOLERANCE * (values[:, 0] - value)
        at = np.where(best == 0, 1.0, np.where(endless | tails, np.inf, at))  # 1 if it is as low down to 0
        unknown = np.isnan(values).any(1) | (moving & ~endless)
        return np.where(unknown, np.nan, np.where(endless, -np.inf, value)), np.where(unknown, np.nan, at)

    def infima(self, etas: Array) -> tuple[Array, Array, Array, Array]:
        """Return the infima over scores of the right sign and where they are, then those over 0 and the wrong sign."""
        side, upper = np.where(etas >= 0.5, 1.0, -1.0), np.maximum(etas, 1 - etas)
        (right, right_at), (wrong, wrong_at) = self.lowest(upper), self.lowest(1 - upper)  # C(eta, -a) = C(1 - eta, a)
        below = ~(wrong >= self.at_zero)  # keeps NaN
        return right, side * right_at, np.where(below, wrong, self.at_zero), np.where(below, -side * wrong_at, 0.0)

    def best(self, etas: Array) -> tuple[Array, Array, Array]:
        """Return H(eta), where it is attained, and H⁻(eta)."""
        right, right_at, wrong, wrong_at = self.infima(etas)
        lower = ~(right >= wrong)  # keeps NaN
        at = np.where(etas == 0.5, 0.0, np.where(lower, right_at, wrong_at))
        return np.where(lower, right, wrong), at, wrong

    def psi(self, theta: Any) -> Array:
        """Return psi(theta), see ``psi_transform``."""
        theta = np.asarray(theta, dtype=np.float64)
        if theta.ndim > 1 or not ((theta >= 0) & (theta <= 1)).all():
            raise ValueError(f"theta must be a number or a vector between 0 and 1, got {theta.tolist()}")
        grid = np.unique(np.concatenate([np.linspace(0, 1, 41), np.atleast_1d(theta)]))
        best, _, wrong = self.best((1 + grid) / 2)
        with np.errstate(invalid="ignore"):
            gaps = np.where(grid == 0, 0.0, wrong - best)  # at eta = 1/2 either sign is right
        finite = np.isfinite(gaps)
        hull = np.interp(theta, *_lower_hull(grid[finite], gaps[finite]))
        psi: Array = np.where(finite[np.searchsorted(grid, theta)], hull, np.nan if np.isnan(gaps).any() else np.inf)
        return psi


def conditional_risk(loss: LossLike, eta: float, margins: Any) -> Array:
    """Return C(eta, a) = eta l(a) + (1 - eta) l(-a)."""
    check_probability("eta", eta)
    return Sampled(get_loss(loss)).risk(eta, margins)


def conditional_infima(loss: LossLike, eta: float) -> tuple[Infimum, Infimum]:
    """Return the infima of the conditional risk: H(eta) over all scores, H⁻(eta) over 0 and scores of the wrong sign.

    The names are those of Bartlett et al. (2006).

    Examples
    --------
    >>> best, wrong = conditional_infima("hinge", 0.75)
    >>> best.value, best.at, wrong.value
    (0.5, 1.0, 1.0)
    """
    right, right_at, wrong, wrong_at = (float(of[0]) for of in Sampled(get_loss(loss)).infima(np.array([eta])))
    beyond = Infimum(wrong, wrong_at)
    return beyond if right >= wrong else Infimum(right, right_at), beyond


def minimizer(loss: LossLike, eta: float) -> float:
    """Return f*(eta), the score that minimizes the conditional risk: infinite if unbounded, NaN if it cannot be told.

    Examples
    --------
    >>> minimizer("ramp", 0.9), minimizer("sigmoid", 0.9), round(minimizer("squared", 0.9), 6)
    (1.0, inf, 0.8)
    """
    return float(minimizers(loss, np.array([eta]))[0])


def minimizers(loss: LossLike, etas: Array) -> Array:
    """Return f* at many values of eta; it is 0 at eta = 1/2."""
    return Sampled(get_loss(loss)).best(etas)[1]


def psi_transform(loss: LossLike, theta: Any) -> Array:
    """Return psi(theta), the convex hull of H⁻ - H at (1 + theta) / 2, for which psi(R01 - R01*) <= R_l - R_l*.

    For a symmetric loss psi is the line [(inf over a <= 0 of l) - (inf over a > 0 of l)] theta (theorem 7). psi is
    infinite where H is infinite.

    Examples
    --------
    >>> psi_transform("sigmoid", [0.0, 0.5, 1.0])
    array([0.  , 0.25, 0.5 ])
    """
    return Sampled(get_loss(loss)).psi(theta)


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
