"""Losses of one's own that declare what they are made of: squares and lines that cancel each other far out.

Their formulas are written without that cancellation, so that every pair can be computed exactly.
"""

from __future__ import annotations

import torch
from torch import Tensor

import symloss as sl
from symloss.losses import Analytic, Kink, Piecewise
from symloss.losses.structure import step_down


class RoundedRamp(sl.Loss):
    """A ramp with rounded corners, flat at both ends: four squares that cancel."""

    structure = Piecewise(
        kinks=tuple(
            Kink(where, weight, 2) for where, weight in ((1.5, 0.25), (0.5, -0.25), (-0.5, -0.25), (-1.5, 0.25))
        )
    )

    def value(self, z: Tensor) -> Tensor:
        """Return the structure at margins moved to where it is not flat."""
        return self.structure(z.clamp(-1.5, 1.5))

    def slope(self, z: Tensor) -> Tensor:
        """Return the same of its derivative."""
        return -0.5 * (1.5 - z.abs()).clamp(0, 1)


class SmoothHinge(sl.Loss):
    """A hinge with a rounded corner: two squares of opposite signs."""

    structure = Piecewise(kinks=(Kink(1.0, 0.5, 2), Kink(0.0, -0.5, 2)))

    def value(self, z: Tensor) -> Tensor:
        """Return a square, and a line beyond it."""
        return 0.5 * (1 - z).clamp(0, 1) ** 2 + (-z).clamp(min=0)

    def slope(self, z: Tensor) -> Tensor:
        """Return the derivative."""
        return -(1 - z).clamp(0, 1)


class Huber(sl.Loss):
    """A square with straight ends: a line and two squares, and slopes of both signs."""

    structure = Piecewise(coefficients=(-1.0, 2.0), kinks=(Kink(1.0, 1.0, 2), Kink(-1.0, -1.0, 2)))

    def value(self, z: Tensor) -> Tensor:
        """Return a square, and lines beyond it."""
        near = z.clamp(-1, 1)
        return near**2 + 2 * (z.abs() - near.abs())

    def slope(self, z: Tensor) -> Tensor:
        """Return the derivative."""
        return 2 * z.clamp(-1, 1)


class CappedLine(sl.Loss):
    """A line that a corner cancels to the left."""

    structure = Piecewise(coefficients=(0.0, -0.5), kinks=(Kink(-1.0, -0.5, 1),))

    def value(self, z: Tensor) -> Tensor:
        """Return the line, from the corner on."""
        return -0.5 * z.clamp(min=-1)

    def slope(self, z: Tensor) -> Tensor:
        """Return the derivative."""
        return 0.5 * step_down(z, -1.0) - 0.5


class SlowSigmoid(sl.Loss):
    """A sigmoid of half the rate, which declares where it is analytic."""

    structure = Analytic(pole_distance=6.28, left=(1.0, 0.0), right=(0.0, 0.0), left_rate=0.5, right_rate=0.5)

    def value(self, z: Tensor) -> Tensor:
        """Return the sigmoid of -z / 2."""
        return torch.sigmoid(-0.5 * z)

    def slope(self, z: Tensor) -> Tensor:
        """Return the derivative."""
        return -0.5 * torch.sigmoid(-0.5 * z) * torch.sigmoid(0.5 * z)


OWN = [RoundedRamp(), SmoothHinge(), Huber(), CappedLine(), SlowSigmoid()]
SQUARES = {RoundedRamp: 0.5, SmoothHinge: 1.0, Huber: 2.0, sl.SquaredHinge: 2.0, sl.Squared: 2.0}  # largest curvature
