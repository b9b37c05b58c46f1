"""The shape of a loss, from its values: symmetry, convexity, monotonicity, bounds, slopes and corners."""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import cached_property

import numpy as np
import torch
from numpy.typing import NDArray

from symloss.losses import Analytic, Loss
from symloss.theory.conditional import Array, Infimum, as_function, infima, limit, unit
from symloss.theory.report import Verdict

TOLERANCE = 1e-9  # of the loss's range
ROUNDING = 64 * float(np.finfo(np.float64).eps)


class Shape:
    """What a loss's values at many margins say about its shape, each computed once."""

    def __init__(self, loss: Loss, positive: Array) -> None:
        self.loss = loss
        self.function = as_function(loss)
        self.unit = unit(self.function)
        self.positive = positive
        self.margins = np.concatenate([-self.positive[::-1], [0.0], self.positive])
        self.values = self.function(self.margins)
        self.near = np.abs(self.margins) <= 10 * self.unit
        self.scale = self._range()
        self.at_zero = float(self.function(np.zeros(1))[0]) + 0.0  # turns -0 into 0

    def _range(self) -> float:
        """Return by how much the loss varies within ten units, or within one if further out it explodes."""
        wide, close = (float(np.ptp(self.values[np.abs(self.margins) <= k * self.unit])) for k in (10, 1))
        return close if wide > 1e9 * close > 0 else wide

    def value(self, z: float) -> float:
        """Return l(z)."""
        return float(self.function(np.array([z]))[0])

    @cached_property
    def unknown(self) -> str | None:
        """Why nothing can be said about the loss, if so."""
        unknown = np.isnan(self.values) | (np.isinf(self.values) & self.near)
        if not unknown.any() and ROUNDING * np.abs(self.values[self.near]).max() > 1e-6 * self.scale > 0:
            return "the loss's differences drown in the rounding of its values"
        if max(map(abs, self.loss.breakpoints), default=0.0) > 1e10 * self.unit:
            return "the loss's breakpoints lie beyond the margins that are looked at"
        if unknown.any():
            i = int(np.argmin(np.where(unknown, np.abs(self.margins), np.inf)))
            return f"l({self.margins[i]:g}) is {self.values[i]:g}"
        return None

    def _asymmetric(self, z: Array, times: float = 1.0) -> NDArray[np.bool_]:
        """Return where l(z) + l(-z) differs from 2 l(0) by more than rounding, or by so many ``times`` that."""
        there, back = self.function(z), self.function(-z)
        with np.errstate(invalid="ignore"):
            size = times * self.rounding(there, back)
            return ~(np.abs(there + back - 2 * self.at_zero) <= size) | np.isinf(size)

    def rounding(self, *values: Array) -> Array:
        """Return the allowed error of a sum of values: a billionth of the loss's range, and the values' rounding."""
        size: Array = np.full((), TOLERANCE * self.scale)
        for value in values:
            size = size + ROUNDING * np.abs(value)
        return size

    @cached_property
    def _broken(self) -> NDArray[np.bool_]:
        return self._asymmetric(self.positive)

    @cached_property
    def symmetric(self) -> Verdict:
        """Whether l(z) + l(-z) is constant."""
        constant = 2 * self.at_zero
        if not self._broken.any():
            margins = f"{len(self.positive):,} margins up to {self.positive[-1]:g}"
            return Verdict("yes", f"l(z) + l(-z) = {constant:g} at {margins}")
        worst = self.positive[self._broken]
        z = float(worst[np.argmin(np.abs(np.log(worst / (2 * self.symmetric_radius or 1.0))))])
        (z,) = shortest(lambda z: bool(self._asymmetric(np.array([z]))[0]), z)
        radius = self.symmetric_radius
        left, right = "()" if self._asymmetric(np.array([radius]), times=16)[0] else "[]"  # open at a jump
        held = f"on {left}{-radius:g}, {radius:g}{right} only" if radius else "at z = 0 only"
        witness = f"l({plain(z)}) + l({plain(-z)}) = {self.value(z) + self.value(-z):.6g}"
        return Verdict("no", f"l(z) + l(-z) = {constant:.6g} {held}", witness)

    @cached_property
    def symmetric_radius(self) -> float:
        """The half-width of the interval on which l(z) + l(-z) is constant."""
        if not self._broken.any():
            return math.inf
        first, second, third = (self._departure(times) for times in (1, 4, 16))
        # Beyond its end, l(z) + l(-z) departs from 2 l(0) like a power of the distance: the margins at which it is 1, 4
        # and 16 times as far away lead back to the end. If it bends smoothly at 0, they lead back to 0: no interval.
        growth = (third - second) / (second - first) if second > first else math.inf
        if growth < 1.2 or not math.isfinite(third):
            return 0.0
        radius = first - (second - first) / (growth - 1)
        return float(f"{radius:.7g}") if radius > 0.5 * first else 0.0

    def _departure(self, times: float) -> float:
        """Return the first margin at which l(z) + l(-z) differs from 2 l(0) by more than so many times rounding."""
        broken = self._asymmetric(self.positive, times)
        if not broken.any():
            return math.inf
        first = int(np.argmax(broken))
        low, high = (float(self.positive[first - 1]) if first else 0.0), float(self.positive[first])
        for _ in range(50):
            middle = (low + high) / 2
            low, high = (low, middle) if self._asymmetric(np.array([middle]), times)[0] else (middle, high)
        return low

    @cached_property
    def convex(self) -> Verdict:
        """Whether no chord lies below the loss."""
        close = self.unit * np.linspace(-5, 5, 101)
        grid = np.unique(
            np.concatenate([close, *(side * self.positive[::11] for side in (-1, 1)), self.loss.breakpoints])
        )
        values = self.function(grid)
        middle = self.function(((grid[:, None] + grid) / 2).ravel()).reshape(len(grid), -1)
        with np.errstate(invalid="ignore"):
            excess = middle - (values[:, None] + values) / 2
            far = self.unit + np.abs(grid)[:, None] + np.abs(grid)
            # Divided by the distance, so that the witness is near 0.
            excess = np.where(excess > self.rounding(values[:, None], values), excess, 0.0) / far
        if not excess.any():
            if self._may_hide_curvature:
                return Verdict(
                    "cannot tell",
                    "no chord lies below the loss by more than rounding, but the loss is declared not convex",
                )
            return Verdict("yes", f"no chord lies below the loss, for {len(grid) ** 2:,} chords")
        i, j = np.unravel_index(int(np.argmax(excess)), excess.shape)

        def middle_of(x: float, y: float) -> float:
            return float(f"{(x + y) / 2:.10g}")  # 5.01, not 5.010000000000001

        def chord(x: float, y: float) -> tuple[float, float]:
            return self.value(middle_of(x, y)), (self.value(x) + self.value(y)) / 2

        def below(x: float, y: float) -> bool:
            above, mean = chord(x, y)
            return bool(above - mean > self.rounding(np.array(self.value(x)), np.array(self.value(y))))

        x, y = shortest(below, float(grid[i]), float(grid[j]))
        above, mean = chord(x, y)
        witness = f"l({plain(middle_of(x, y))}) = {above:.6g} > {mean:.6g}, the mean of l({plain(x)}) and l({plain(y)})"
        return Verdict("no", "a chord lies below the loss", witness)

    @property
    def _may_hide_curvature(self) -> bool:
        """Whether the loss may bend the wrong way where nobody can see it: near a line, by less than rounding."""
        claims = self.loss.properties
        return isinstance(self.loss.structure, Analytic) and claims is not None and not claims.convex

    @cached_property
    def non_increasing(self) -> Verdict:
        """Whether the loss never rises."""
        with np.errstate(invalid="ignore"):
            rises = np.nan_to_num(np.diff(self.values), nan=0.0)
            size = self.rounding(self.values[1:])
            rising = rises > np.where(np.isfinite(size), size, 0.0)
        if not rising.any():
            return Verdict("yes", f"no rise between {len(self.margins):,} margins in order")
        clear = rising & (rises > 1e-3 * self.scale) if (rises > 1e-3 * self.scale).any() else rising
        i = int(np.argmin(np.where(clear, np.abs(self.margins[1:]), np.inf)))

        def rise(x: float, y: float) -> bool:
            return x < y and bool(self.value(y) - self.value(x) > self.rounding(np.array(self.value(y))))

        x, y = shortest(rise, float(self.margins[i]), float(self.margins[i + 1]))
        return Verdict(
            "no", "the loss rises", f"l({plain(x)}) = {self.value(x):.6g} < l({plain(y)}) = {self.value(y):.6g}"
        )

    def _infimum(self, side: int, sign: int = 1) -> Infimum:
        value, at = infima(self.loss, np.ones(1), side, sign)
        tidy = abs(value[0]) < 1e-12 * self.scale  # what is left of an extrapolated limit
        return Infimum(0.0 if tidy else float(value[0]), float(at[0]))

    @cached_property
    def infimum_positive(self) -> Infimum:
        """The infimum of l over a > 0."""
        return self._infimum(1)

    @cached_property
    def infimum_rest(self) -> Infimum:
        """The infimum of l over a <= 0."""
        below = self._infimum(-1)
        return Infimum(self.at_zero, 0.0) if self.at_zero <= below.value else below

    @cached_property
    def lowest(self) -> float:
        """The infimum of l; NaN if it cannot be read off."""
        return float(np.minimum(self.infimum_positive.value, self.infimum_rest.value))  # keeps NaN

    @cached_property
    def bounded(self) -> Verdict:
        """Whether the loss is bounded from below and from above."""
        suprema = [self._infimum(side, sign=-1) for side in (1, -1)]
        infima_ = [self.infimum_positive, self.infimum_rest]
        for name, ends in (("below", infima_), ("above", suprema)):
            for end in ends:
                if math.isinf(end.value):
                    z = float(f"{math.copysign(1e4 * self.unit, end.at):.6g}")
                    return Verdict("no", f"unbounded {name}", f"l({z:g}) = {self.value(z):g}")
                if math.isnan(end.value):
                    return Verdict(
                        "cannot tell", f"the limit {name} cannot be read off at margins up to {1e12 * self.unit:g}"
                    )
        low, high = min(end.value for end in infima_), max(-end.value for end in suprema)
        return Verdict("yes", f"values between {low:g} and {high + 0.0:g}")

    @cached_property
    def lowest_at_infinity(self) -> bool:
        """Whether l(z) and l(z) + l(-z) are lowest as z grows: C(eta, a) then tends to H(eta) for every eta > 1/2.

        H is concave and at most the limit of C, which is a line in eta. So it is the line if it is so at 1/2 and at 1.
        """
        there, back = limit(self.loss, 1), limit(self.loss, -1)
        if not math.isfinite(there + back):
            return False
        sums, size = self.values + self.values[::-1], 1e-12 * self.scale + ROUNDING * (abs(there) + abs(back))
        return bool(self.values.min() >= there - size and sums.min() >= there + back - size)

    @cached_property
    def slopes_at_zero(self) -> tuple[float, float]:
        """The slopes just left and just right of 0; NaN where the loss jumps."""
        step = 1e-9 * self.unit
        left, right = self.function(np.array([-step, step]))
        if abs(left - self.at_zero) + abs(right - self.at_zero) > 1e-3 * self.scale:
            return math.nan, math.nan
        sides = np.array([-1.0, 1.0])
        close, wide = self.slopes(step * sides), self.slopes(1e5 * step * sides)
        close = np.where(np.abs(close) < 0.5 * np.abs(wide), 0.0, close)  # a slope that shrinks toward 0 is 0 there
        return float(close[0]) + 0.0, float(close[1]) + 0.0  # turns -0 into 0

    @cached_property
    def falls_at_zero(self) -> bool:
        """Whether l'(0) exists and is negative."""
        left, right = self.slopes_at_zero
        return left < 0 and right < 0 and abs(left - right) <= 1e-8 * abs(left)

    @cached_property
    def corners(self) -> tuple[float, ...]:
        """Margins at which the slope jumps: gaps between probes are bisected toward the larger change of slope."""
        offset = 0.00314 * self.unit  # away from round numbers, where corners often are
        grid = self.margins[np.abs(self.margins) <= 1e3 * self.unit] + offset
        low, high = grid[:-1], grid[1:]
        for _ in range(50):
            middle = (low + high) / 2
            left, center, right = self.slopes(low), self.slopes(middle), self.slopes(high)
            with np.errstate(invalid="ignore"):
                in_left = np.abs(center - left) >= np.abs(right - center)
            low, high = np.where(in_left, low, middle), np.where(in_left, middle, high)
        left, right = self.slopes(low), self.slopes(high)
        steep = np.abs(self.slopes(self.unit * np.array([-1.0, 0.1, 1.0]))).max()
        with np.errstate(invalid="ignore"):
            jumps = np.abs(right - left) > 1e-8 * (np.abs(left) + np.abs(right) + steep)
        return tuple(sorted({float(f"{z:.9g}") for z in (low + high)[jumps] / 2}))

    def slopes(self, z: Array) -> Array:
        """Return l'(z)."""
        slopes: Array = self.loss.derivative(torch.from_numpy(z)).detach().numpy()
        return slopes


def shortest(holds: Callable[..., bool], *numbers: float, digits: int = 4) -> tuple[float, ...]:
    """Return the numbers rounded to so few digits, at least ``digits``, that what they witness still holds."""
    for precision in range(digits, 17):
        rounded = tuple(float(f"{number:.{precision}g}") for number in numbers)
        if holds(*rounded):
            return rounded
    return numbers


def plain(number: float) -> str:
    """Return a number with all its digits, and no others."""
    return f"{number + 0.0!r}".removesuffix(".0")
