"""The shape of a loss, from its values: symmetry, convexity, monotonicity, bounds, slopes and corners."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Literal

import numpy as np
import torch
from numpy.typing import NDArray

from symloss.losses import Loss
from symloss.theory.conditional import ROUNDING, TOLERANCE, Array, Infimum, Sampled, minimizer, psi_transform

Answer = Literal["yes", "no", "cannot tell"]


@dataclass(frozen=True)
class Verdict:
    """An answer, the reason for it, and a witness where the answer is no; as a bool, it is True for yes."""

    answer: Answer
    reason: str
    witness: str | None = None

    def __bool__(self) -> bool:
        return self.answer == "yes"

    def __str__(self) -> str:
        return f"{self.answer}: {self.reason}" + (f" ({self.witness})" if self.witness else "")


@dataclass(frozen=True)
class Report:
    """What ``analyze`` found; printing it shows every verdict with its reason.

    Parameters
    ----------
    loss : Loss
        The loss analyzed.
    symmetric, convex, non_increasing, bounded : Verdict
        The shape of the loss.
    calibrated, excess_risk_bound, recovers_eta : Verdict
        What it says about classification.
    auc_consistent, auc_regret_bound : Verdict
        What it says about ranking.
    K : float or None
        The constant l(z) + l(-z), if the loss is symmetric.
    symmetric_interval : tuple of float
        The largest interval around 0 on which l(z) + l(-z) is constant.
    excess_risk_constant : float or None
        (inf over a <= 0 of l) - (inf over a > 0 of l) (theorem 7), for a calibrated symmetric loss.
    M : float or None
        The scale in f*(eta) = M sign(eta - 1/2) (theorem 8), infinite if scores are unbounded; None if f* does not
        have this form.
    link : str or None
        The formula of f* that the loss claims, or None if the claim is wrong.
    disagreements : tuple of str
        Claims of ``loss.properties`` that the checks contradict.
    """

    loss: Loss
    symmetric: Verdict
    convex: Verdict
    non_increasing: Verdict
    bounded: Verdict
    calibrated: Verdict
    excess_risk_bound: Verdict
    recovers_eta: Verdict
    auc_consistent: Verdict
    auc_regret_bound: Verdict
    K: float | None = None
    symmetric_interval: tuple[float, float] = (0.0, 0.0)
    excess_risk_constant: float | None = None
    M: float | None = None
    link: str | None = None
    disagreements: tuple[str, ...] = ()

    @property
    def verdicts(self) -> dict[str, Verdict]:
        """The verdicts by name, in the order of the report."""
        return {name: value for name, value in vars(self).items() if isinstance(value, Verdict)}

    def minimizer(self, eta: float) -> float:
        """Return f*(eta), found numerically; infinite if unbounded."""
        return minimizer(self.loss, eta)

    def psi(self, theta: Any) -> Array:
        """Return the psi-transform at ``theta`` in [0, 1], found numerically."""
        return psi_transform(self.loss, theta)

    @property
    def minimizer_formula(self) -> str:
        """f*(eta) as text: the form of theorem 8, the formula that the loss claims, or values found numerically."""
        if self.M is not None:
            return "M sign(eta - 0.5), " + ("M unbounded" if math.isinf(self.M) else f"M = {self.M:g}")
        if self.link is not None:
            return self.link
        return ", ".join(f"f*({eta:g}) = {self.minimizer(eta):.4g}" for eta in (0.1, 0.3, 0.7, 0.9))

    def __str__(self) -> str:
        lines = [f"{self.loss!r}" + (f": l(z) = {self.loss.formula}" if self.loss.formula else "")]
        lines += [f"  {name.replace('_', ' ')}: {verdict}" for name, verdict in self.verdicts.items()]
        lines += [f"  minimizer f*(eta): {self.minimizer_formula}"]
        lines += [f"  claim contradicted: {disagreement}" for disagreement in self.disagreements]
        return "\n".join(lines)


class Shape(Sampled):
    """What a loss's values at many margins say about its shape, each computed once."""

    def __init__(self, loss: Loss) -> None:
        super().__init__(loss)
        self.margins = np.concatenate([-self.positive[::-1], [0.0], self.positive])
        self.values = self(self.margins)
        self.near = np.abs(self.margins) <= 10 * self.unit
        self.scale = float(np.ptp(self.values[self.near]))

    def value(self, z: float) -> float:
        """Return l(z)."""
        return float(self(np.array([z]))[0])

    def rounding(self, *values: Array) -> Array:
        """Return the allowed error of a sum of values: a billionth of the loss's range, and the values' rounding."""
        size: Array = np.asarray(TOLERANCE * self.scale + ROUNDING * sum(np.abs(value) for value in values))
        return size

    @cached_property
    def unknown(self) -> str | None:
        """Why nothing can be said about the loss, if so."""
        unknown = np.isnan(self.values) | (np.isinf(self.values) & self.near)
        if unknown.any():
            i = int(np.argmin(np.where(unknown, np.abs(self.margins), np.inf)))
            return f"l({self.margins[i]:g}) is {self.values[i]:g}"
        if ROUNDING * np.abs(self.values[self.near]).max() > 1e-6 * self.scale > 0:
            return "the loss's differences drown in the rounding of its values"
        return None

    def _asymmetric(self, z: Array, times: float = 1.0) -> NDArray[np.bool_]:
        """Return where l(z) + l(-z) differs from 2 l(0) by more than rounding, or by so many ``times`` that."""
        there, back = self(z), self(-z)
        with np.errstate(invalid="ignore"):
            size = times * self.rounding(there, back)
            return ~(np.abs(there + back - 2 * self.at_zero) <= size) | np.isinf(size)

    @cached_property
    def symmetric(self) -> Verdict:
        """Whether l(z) + l(-z) is constant."""
        constant, radius = 2 * self.at_zero, self.symmetric_radius
        if math.isinf(radius):
            margins = f"{len(self.positive):,} margins up to {self.positive[-1]:g}"
            return Verdict("yes", f"l(z) + l(-z) = {constant:g} at {margins}")
        broken = self.positive[self._asymmetric(self.positive)]
        z = float(broken[np.argmin(np.abs(np.log(broken / (2 * radius or 1.0))))])
        (z,) = shortest(lambda z: bool(self._asymmetric(np.array([z]))[0]), z)
        left, right = "()" if self._asymmetric(np.array([radius]), times=16)[0] else "[]"  # open at a jump
        held = f"on {left}{-radius:g}, {radius:g}{right} only" if radius else "at z = 0 only"
        witness = f"l({plain(z)}) + l({plain(-z)}) = {self.value(z) + self.value(-z):.6g}"
        return Verdict("no", f"l(z) + l(-z) = {constant:.6g} {held}", witness)

    @cached_property
    def symmetric_radius(self) -> float:
        """The half-width of the interval on which l(z) + l(-z) is constant."""
        first, second, third = (self._departure(times) for times in (1, 4, 16))
        if not math.isfinite(third):
            return first if math.isinf(first) else 0.0
        # Beyond its end, l(z) + l(-z) departs from 2 l(0) like a power of the distance: the margins at which it is 1, 4
        # and 16 times as far away lead back to the end. If it bends smoothly at 0, they lead back to 0: no interval.
        growth = (third - second) / (second - first) if second > first else math.inf
        radius = first - (second - first) / (growth - 1) if growth > 1.2 else 0.0
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
        close, sparse = self.unit * np.linspace(-5, 5, 101), self.positive[::11]
        grid = np.unique(np.concatenate([close, sparse, -sparse, self.loss.breakpoints]))
        values = self(grid)
        middle = self(((grid[:, None] + grid) / 2).ravel()).reshape(len(grid), -1)
        with np.errstate(invalid="ignore"):
            excess = middle - (values[:, None] + values) / 2
            far = self.unit + np.abs(grid)[:, None] + np.abs(grid)
            # Divided by the distance, so that the witness is near 0.
            excess = np.where(excess > self.rounding(values[:, None], values), excess, 0.0) / far
        if not excess.any():
            return Verdict("yes", f"no chord lies below the loss, for {len(grid) ** 2:,} chords")

        def ends(x: float, y: float) -> tuple[float, float, float]:
            middle = float(f"{(x + y) / 2:.10g}")  # 5.01, not 5.010000000000001
            return middle, self.value(middle), (self.value(x) + self.value(y)) / 2

        def below(x: float, y: float) -> bool:
            _, above, mean = ends(x, y)
            return bool(above - mean > self.rounding(np.array(self.value(x)), np.array(self.value(y))))

        i, j = np.unravel_index(int(np.argmax(excess)), excess.shape)
        x, y = shortest(below, float(grid[i]), float(grid[j]))
        at, above, mean = ends(x, y)
        witness = f"l({plain(at)}) = {above:.6g} > {mean:.6g}, the mean of l({plain(x)}) and l({plain(y)})"
        return Verdict("no", "a chord lies below the loss", witness)

    @cached_property
    def non_increasing(self) -> Verdict:
        """Whether the loss never rises."""
        with np.errstate(invalid="ignore"):
            rises = np.nan_to_num(np.diff(self.values), nan=0.0)
            rising = rises > np.nan_to_num(self.rounding(self.values[1:]), posinf=0.0)
        if not rising.any():
            return Verdict("yes", f"no rise between {len(self.margins):,} margins in order")
        clear = rising & (rises > 1e-3 * self.scale)
        i = int(np.argmin(np.where(clear if clear.any() else rising, np.abs(self.margins[1:]), np.inf)))

        def rise(x: float, y: float) -> bool:
            return x < y and bool(self.value(y) - self.value(x) > self.rounding(np.array(self.value(y))))

        x, y = shortest(rise, float(self.margins[i]), float(self.margins[i + 1]))
        witness = f"l({plain(x)}) = {self.value(x):.6g} < l({plain(y)}) = {self.value(y):.6g}"
        return Verdict("no", "the loss rises", witness)

    def _sides(self, sign: int = 1) -> list[Infimum]:
        """Return the infima of plus or minus l over positive and over negative margins."""
        values, at = self.lowest(np.array([1.0, 0.0]), sign)
        values = np.where(np.abs(values) < 1e-12 * self.scale, 0.0, values)  # what is left of a slow tail
        return [Infimum(float(values[0]), float(at[0])), Infimum(float(values[1]), float(-at[1]))]

    @cached_property
    def infimum_positive(self) -> Infimum:
        """The infimum of l over a > 0."""
        return self._sides()[0]

    @cached_property
    def infimum_rest(self) -> Infimum:
        """The infimum of l over a <= 0."""
        below = self._sides()[1]
        return Infimum(self.at_zero, 0.0) if self.at_zero <= below.value else below

    @cached_property
    def lowest_value(self) -> float:
        """The infimum of l; NaN if it cannot be read off."""
        return float(np.minimum(self.infimum_positive.value, self.infimum_rest.value))  # keeps NaN

    @cached_property
    def bounded(self) -> Verdict:
        """Whether the loss is bounded from below and from above."""
        suprema = self._sides(sign=-1)
        for name, ends in (("below", [self.infimum_positive, self.infimum_rest]), ("above", suprema)):
            for end in ends:
                if math.isinf(end.value):
                    z = float(f"{math.copysign(1e4 * self.unit, end.at):.6g}")
                    return Verdict("no", f"unbounded {name}", f"l({z:g}) = {self.value(z):g}")
                if math.isnan(end.value):
                    why = f"the limit {name} cannot be read off at margins up to {1e12 * self.unit:g}"
                    return Verdict("cannot tell", why)
        high = max(-end.value for end in suprema)
        return Verdict("yes", f"values between {self.lowest_value:g} and {max(high, self.at_zero) + 0.0:g}")

    @cached_property
    def lowest_at_infinity(self) -> bool:
        """Whether l(z) and l(z) + l(-z) are lowest as z grows: C(eta, a) then tends to H(eta) for every eta > 1/2.

        H is concave and at most the limit of C, which is a line in eta. So it is the line if it is so at 1/2 and at 1.
        """
        sums = self.values + self.values[::-1]
        size = 1e-12 * self.scale + ROUNDING * (abs(self.values[-1]) + abs(self.values[0]))
        return bool(self.bounded and self.values.min() >= self.values[-1] - size and sums.min() >= sums[-1] - size)

    @cached_property
    def slopes_at_zero(self) -> tuple[float, float]:
        """The slopes just left and just right of 0; NaN where the loss jumps."""
        step = 1e-9 * self.unit * np.array([-1.0, 1.0])
        if np.abs(self(step) - self.at_zero).sum() > 1e-3 * self.scale:
            return math.nan, math.nan
        close, wide = self.slopes(step), self.slopes(1e5 * step)
        close = np.where(np.abs(close) < 0.5 * np.abs(wide), 0.0, close)  # a slope that shrinks toward 0 is 0 there
        return float(close[0]) + 0.0, float(close[1]) + 0.0  # turns -0 into 0

    @cached_property
    def falls_at_zero(self) -> bool:
        """Whether l'(0) exists and is negative."""
        left, right = self.slopes_at_zero
        return left < 0 and right < 0 and abs(left - right) <= 1e-8 * abs(left)

    @cached_property
    def corners(self) -> tuple[float, ...]:
        """Margins at which the slope jumps: gaps between margins are halved toward the larger change of slope."""
        offset = 0.00314 * self.unit  # away from round numbers, where corners often are
        grid = self.margins[np.abs(self.margins) <= 1e3 * self.unit] + offset
        low, high = grid[:-1], grid[1:]
        with np.errstate(invalid="ignore"):
            for _ in range(50):
                middle = (low + high) / 2
                left, center, right = self.slopes(low), self.slopes(middle), self.slopes(high)
                in_left = np.abs(center - left) >= np.abs(right - center)
                low, high = np.where(in_left, low, middle), np.where(in_left, middle, high)
            left, right = self.slopes(low), self.slopes(high)
            steep = np.abs(self.slopes(self.unit * np.array([-1.0, 0.1, 1.0]))).max()
            jumps = np.abs(right - left) > 1e-8 * (np.abs(left) + np.abs(right) + steep)
        return tuple(sorted({float(f"{z:.9g}") for z in (low + high)[jumps] / 2}))

    def slopes(self, z: Array) -> Array:
        """Return l'(z)."""
        slopes: Array = self.loss.derivative(torch.from_numpy(z)).detach().numpy()
        return slopes


def shortest(holds: Callable[..., bool], *numbers: float) -> tuple[float, ...]:
    """Return the numbers rounded to so few digits, four or more, that what they witness still holds."""
    for digits in range(4, 17):
        rounded = tuple(float(f"{number:.{digits}g}") for number in numbers)
        if holds(*rounded):
            return rounded
    return numbers


def plain(number: float) -> str:
    """Return a number with all its digits, and no others."""
    return f"{number + 0.0!r}".removesuffix(".0")
