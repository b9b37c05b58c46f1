"""The structure of a loss, the parts it is made of: it selects the all-pairs algorithm and allows exact analyses."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import torch
from torch import Tensor


def step_down(z: Tensor, where: float, height: float = 1.0) -> Tensor:
    """Return ``height`` for z below ``where``, 0 above it, half of ``height`` at it, and NaN if z is NaN.

    With height 1, this is minus the slope of ``max(0, where - z)``.
    """
    # A huge slope between 0 and the height: sign() would lose NaN, and heaviside() is twenty times slower.
    steep, half = math.copysign(1e300 if z.dtype == torch.float64 else 1e38, height), abs(height) / 2
    return z.sub(where).mul_(-steep).clamp(-half, half).add_(height / 2)


@dataclass(frozen=True)
class Kink:
    """One bend of a loss: ``weight * max(0, where - z) ** power``.

    Power 0 is a step down at ``where``, and has half its weight exactly there. Power 1 is a corner, and power 2 a jump
    in curvature.
    """

    where: float
    weight: float = 1.0
    power: int = 1

    def __post_init__(self) -> None:
        if self.power not in (0, 1, 2):
            raise ValueError(f"a kink's power must be 0, 1 or 2, got {self.power!r}")
        if not (math.isfinite(self.where) and math.isfinite(self.weight)):
            raise ValueError(
                f"a kink must be at a finite margin, of finite weight, got {self.where!r}, {self.weight!r}"
            )


@dataclass(frozen=True)
class Piecewise:
    """A polynomial plus kinks: ``sum_k coefficients[k] z**k + sum of kinks``.

    Without kinks the loss is separable, and all pairs are computed in O(N). Each kink takes one merged sort.

    Examples
    --------
    >>> hinge = Piecewise(kinks=(Kink(where=1.0),))
    >>> hinge(torch.tensor([-1.0, 0.0, 2.0]))
    tensor([2., 1., 0.])
    """

    coefficients: tuple[float, ...] = ()
    kinks: tuple[Kink, ...] = ()

    def __post_init__(self) -> None:
        if len(self.coefficients) > 3:
            raise ValueError(f"a polynomial may have degree 2 at most, got coefficients {self.coefficients!r}")
        if not all(map(math.isfinite, self.coefficients)):
            raise ValueError(f"a polynomial must have finite coefficients, got {self.coefficients!r}")

    def __call__(self, z: Tensor) -> Tensor:
        """Evaluate the sum of the parts at the margins ``z``."""
        total = torch.zeros_like(z)
        for power, coefficient in enumerate(self.coefficients):
            total = total + coefficient * z**power
        for kink in self.kinks:
            step = kink.power == 0
            total = total + kink.weight * (
                step_down(z, kink.where) if step else (kink.where - z).clamp(min=0) ** kink.power
            )
        return total

    def derivative(self) -> Piecewise:
        """Return the structure of the derivative; steps have no derivative and are left out."""
        return Piecewise(
            coefficients=tuple(power * c for power, c in enumerate(self.coefficients))[1:],
            kinks=tuple(
                Kink(kink.where, -kink.power * kink.weight, kink.power - 1) for kink in self.kinks if kink.power > 0
            ),
        )


@dataclass(frozen=True)
class ExponentialDecay:
    """``scale * exp(-rate * z)``: separable, so all pairs are computed in O(N)."""

    scale: float = 1.0
    rate: float = 1.0

    def __post_init__(self) -> None:
        if not (math.isfinite(self.scale) and math.isfinite(self.rate)):
            raise ValueError(f"an exponential must have a finite scale and rate, got {self.scale!r}, {self.rate!r}")

    def __call__(self, z: Tensor) -> Tensor:
        """Evaluate the exponential at the margins ``z``."""
        return self.scale * torch.exp(-self.rate * z)

    def derivative(self) -> ExponentialDecay:
        """Return the structure of the derivative."""
        return ExponentialDecay(scale=-self.rate * self.scale, rate=self.rate)


@dataclass(frozen=True)
class Analytic:
    """A smooth loss that approaches a line on either side; all pairs are computed on a grid.

    Parameters
    ----------
    pole_distance : float
        Distance from the real axis to the nearest singularity in the complex plane; it sets the grid spacing.
    left, right : (float, float)
        ``(intercept, slope)`` of the line that the loss approaches as z tends to minus and plus infinity.
    left_rate, right_rate : float
        The distance to that line decays like ``exp(-rate * |z|)``.
    """

    pole_distance: float
    left: tuple[float, float]
    right: tuple[float, float]
    left_rate: float = 1.0
    right_rate: float = 1.0

    def __post_init__(self) -> None:
        for name in ("pole_distance", "left_rate", "right_rate"):
            if not 0 < getattr(self, name) < math.inf:
                raise ValueError(f"{name} must be a finite number above 0, got {getattr(self, name)!r}")
        if not all(map(math.isfinite, (*self.left, *self.right))):
            raise ValueError(f"the lines of a loss must be finite, got {self.left!r} and {self.right!r}")

    def derivative(self) -> Analytic:
        """Return the structure of the derivative, which approaches the slopes of the two lines.

        The poles of the derivative are of higher order and need a finer grid, so the pole distance is reduced.
        """
        return replace(
            self, pole_distance=0.7 * self.pole_distance, left=(self.left[1], 0.0), right=(self.right[1], 0.0)
        )


Structure = Piecewise | ExponentialDecay | Analytic
