"""The losses of the paper and a few like them: formula, claims and structure as data, then value and derivative.

``formula`` is plain text that a program can evaluate (``^`` is a power).
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar

import torch
from torch import Tensor
from torch.nn import functional as F  # noqa: N812

from symloss.losses.base import Loss, Properties, check_number, symmetric
from symloss.losses.minimizer import Linear, Logit, Sign
from symloss.losses.structure import Analytic, ExponentialDecay, Kink, Piecewise, step_down

INF = math.inf


class ZeroOne(Loss):
    """The zero-one loss: 1 for a wrong sign, 0 for a right one, 1/2 at z = 0."""

    name: ClassVar[str] = "zero_one"
    title: ClassVar[str] = "Zero-one"
    formula: ClassVar[str] = "-0.5*sign(z) + 0.5"
    properties = symmetric(1.0, Sign())
    structure = Piecewise(kinks=(Kink(where=0.0, power=0),))

    def value(self, z: Tensor) -> Tensor:
        return step_down(z, 0.0)

    def slope(self, z: Tensor) -> Tensor:
        return torch.zeros_like(z)


class Squared(Loss):
    """The squared loss."""

    formula: ClassVar[str] = "(1 - z)^2"
    properties = Properties(convex=True, non_increasing=False, bounded=False, minimizer=Linear())
    structure = Piecewise(coefficients=(1.0, -2.0, 1.0))

    def value(self, z: Tensor) -> Tensor:
        return (1 - z) ** 2

    def slope(self, z: Tensor) -> Tensor:
        return 2 * (z - 1)


class Hinge(Loss):
    """The hinge loss: symmetric on [-1, 1] only."""

    formula: ClassVar[str] = "max(0, 1 - z)"
    properties = Properties(convex=True, non_increasing=True, bounded=False, minimizer=Sign(), symmetric_radius=1.0)
    structure = Piecewise(kinks=(Kink(where=1.0),))

    def value(self, z: Tensor) -> Tensor:
        return (1 - z).clamp(min=0)

    def slope(self, z: Tensor) -> Tensor:
        return step_down(z, 1.0, -1.0)


class SquaredHinge(Loss):
    """The squared hinge loss."""

    formula: ClassVar[str] = "max(0, 1 - z)^2"
    properties = Properties(convex=True, non_increasing=True, bounded=False, minimizer=Linear())
    structure = Piecewise(kinks=(Kink(where=1.0, power=2),))

    def value(self, z: Tensor) -> Tensor:
        return (1 - z).clamp(min=0) ** 2

    def slope(self, z: Tensor) -> Tensor:
        return -2 * (1 - z).clamp(min=0)


class DoubleHinge(Loss):
    """The double hinge loss of du Plessis et al. (2015)."""

    formula: ClassVar[str] = "max(-z, max(0, 0.5 - 0.5*z))"
    properties = Properties(convex=True, non_increasing=True, bounded=False, minimizer=Sign(), symmetric_radius=1.0)
    structure = Piecewise(kinks=(Kink(where=1.0, weight=0.5), Kink(where=-1.0, weight=0.5)))

    def value(self, z: Tensor) -> Tensor:
        return torch.maximum(-z, (0.5 - 0.5 * z).clamp(min=0))

    def slope(self, z: Tensor) -> Tensor:
        return step_down(z, 1.0, -0.5) + step_down(z, -1.0, -0.5)


class Logistic(Loss):
    """The logistic loss, exact in both tails."""

    formula: ClassVar[str] = "log(1 + exp(-z))"
    properties = Properties(convex=True, non_increasing=True, bounded=False, minimizer=Logit())
    structure = Analytic(pole_distance=math.pi, left=(0.0, -1.0), right=(0.0, 0.0))

    def value(self, z: Tensor) -> Tensor:
        return -F.logsigmoid(z)  # softplus would cut its tail off at 20

    def slope(self, z: Tensor) -> Tensor:
        return -torch.sigmoid(-z)

    def value_and_slope(self, z: Tensor) -> tuple[Tensor, Tensor]:
        opposite = -z  # from 40 on, log(1 + exp(x)) is x in float64 too
        return F.softplus(opposite, threshold=40), opposite.sigmoid_().neg_()

    def curvature(self, z: Tensor) -> Tensor:
        return torch.sigmoid(z) * torch.sigmoid(-z)


class Exponential(Loss):
    """The exponential loss; infinite where exp(-z) overflows."""

    formula: ClassVar[str] = "exp(-z)"
    properties = Properties(convex=True, non_increasing=True, bounded=False, minimizer=Logit(scale=0.5))
    structure = ExponentialDecay()

    def value(self, z: Tensor) -> Tensor:
        return torch.exp(-z)

    def slope(self, z: Tensor) -> Tensor:
        return -torch.exp(-z)

    def value_and_slope(self, z: Tensor) -> tuple[Tensor, Tensor]:
        value = torch.exp(-z)
        return value, -value


class Savage(Loss):
    """The savage loss of Masnadi-Shirazi and Vasconcelos (2009): bounded, but not symmetric."""

    formula: ClassVar[str] = "1/(1 + exp(2*z))^2"
    properties = Properties(convex=False, non_increasing=True, bounded=True, minimizer=Logit(scale=0.5))
    structure = Analytic(pole_distance=math.pi / 2, left=(1.0, 0.0), right=(0.0, 0.0), left_rate=2.0, right_rate=4.0)

    def value(self, z: Tensor) -> Tensor:
        return torch.sigmoid(-2 * z) ** 2

    def slope(self, z: Tensor) -> Tensor:
        return -4 * torch.sigmoid(-2 * z) ** 2 * torch.sigmoid(2 * z)

    def value_and_slope(self, z: Tensor) -> tuple[Tensor, Tensor]:
        twice = 2 * z
        root = torch.sigmoid(-twice)
        value = root * root
        return value, torch.sigmoid(twice).mul_(value).mul_(-4)


class Ramp(Loss):
    """The ramp loss: the hinge loss, scaled and cut off at 1; symmetric."""

    formula: ClassVar[str] = "max(0, min(1, 0.5 - 0.5*z))"
    properties = symmetric(1.0, Sign())
    structure = Piecewise(kinks=(Kink(where=1.0, weight=0.5), Kink(where=-1.0, weight=-0.5)))

    def value(self, z: Tensor) -> Tensor:
        return (0.5 - 0.5 * z).clamp(0, 1)

    def slope(self, z: Tensor) -> Tensor:
        return step_down(z, 1.0, -0.5) + step_down(z, -1.0, 0.5)


class Sigmoid(Loss):
    """The sigmoid loss: smooth, bounded and symmetric.

    For two classes, the mean absolute error of a softmax is twice this loss (Ghosh et al., 2017), and the reverse
    cross-entropy of Wang et al. (2019) is this loss times -A.
    """

    formula: ClassVar[str] = "1/(1 + exp(z))"
    properties = symmetric(1.0, Sign(INF))
    structure = Analytic(pole_distance=math.pi, left=(1.0, 0.0), right=(0.0, 0.0))

    def value(self, z: Tensor) -> Tensor:
        return torch.sigmoid(-z)

    def slope(self, z: Tensor) -> Tensor:
        return -torch.sigmoid(z) * torch.sigmoid(-z)  # for s = sigmoid(z), s (1 - s) would lose a tail

    def value_and_slope(self, z: Tensor) -> tuple[Tensor, Tensor]:
        value = z.neg().sigmoid_()
        return value, torch.sigmoid(z).mul_(value).neg_()


class Unhinged(Loss):
    """The unhinged loss of van Rooyen et al. (2015): the only convex symmetric loss, unbounded below."""

    formula: ClassVar[str] = "1 - z"
    properties = symmetric(2.0, Sign(INF), convex=True, bounded=False)
    structure = Piecewise(coefficients=(1.0, -1.0))

    def value(self, z: Tensor) -> Tensor:
        return 1 - z

    def slope(self, z: Tensor) -> Tensor:
        return torch.full_like(z, -1.0)


@dataclass(frozen=True)
class BarrierHinge(Loss):
    """The paper's barrier hinge loss: convex, non-negative, symmetric on [-r, r], steep outside.

    Parameters
    ----------
    b : float
        Slope of the barrier, more than 1.
    r : float
        Half-width of the interval on which l(z) + l(-z) = 2 r, more than 0.

    Notes
    -----
    The right corner is at r. The left one is at -b r / (b - 1), a little outside -r.

    Examples
    --------
    >>> BarrierHinge(b=10, r=1)(torch.tensor([-2.0, 0.0, 1.0, 2.0]))
    tensor([11.,  1.,  0., 10.])
    """

    b: float = 200
    r: float = 50

    formula: ClassVar[str] = "max(-b*(r + z) + r, max(b*(z - r), r - z))"

    def __post_init__(self) -> None:
        check_number(self, "b", above=1)
        check_number(self, "r", above=0)

    @property
    def properties(self) -> Properties:  # type: ignore[override]
        return Properties(
            convex=True, non_increasing=False, bounded=False, minimizer=Sign(self.r), symmetric_radius=self.r
        )

    @property
    def _left(self) -> float:
        return -self.b * self.r / (self.b - 1)

    @property
    def structure(self) -> Piecewise:  # type: ignore[override]
        """The line b (z - r), bent upwards at both corners."""
        return Piecewise(
            coefficients=(-self.b * self.r, self.b),
            kinks=(Kink(where=self.r, weight=self.b + 1), Kink(where=self._left, weight=self.b - 1)),
        )

    def value(self, z: Tensor) -> Tensor:
        left = -self.b * (self.r + z) + self.r
        return torch.maximum(left, torch.maximum(self.b * (z - self.r), self.r - z))

    def slope(self, z: Tensor) -> Tensor:
        # Two steps are added to the middle slope -1, so that it stays exact for any b.
        return step_down(-z, -self.r, self.b + 1) + step_down(z, self._left, 1 - self.b) - 1
