"""Losses from papers on learning with noisy labels, written for two classes and a margin z.

Where a paper has a softmax over classes, p = sigmoid(z) is the probability of the given label, and 1 - p that of the
other one.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar

import torch
from torch import Tensor
from torch.nn import functional as F  # noqa: N812

from symloss.losses.base import Loss, Properties, check_number, symmetric
from symloss.losses.minimizer import Linear, Logit, Minimizer, Sign, Stationary, Tan
from symloss.losses.structure import Analytic, Kink, Piecewise

INF = math.inf


@dataclass(frozen=True)
class GeneralizedCrossEntropy(Loss):
    """The generalized cross-entropy (1 - p^q) / q of Zhang and Sabuncu (2018): between logistic and sigmoid.

    At q = 1 it is the sigmoid loss, which is half of the mean absolute error of two classes. For q toward 0 it becomes
    the logistic loss.

    Parameters
    ----------
    q : float
        More than 0, and at most 1.

    References
    ----------
    Zhang and Sabuncu, Generalized cross entropy loss for training deep neural networks with noisy labels, NeurIPS 2018.
    """

    q: float = 0.7

    title: ClassVar[str] = "Generalized cross-entropy"
    formula: ClassVar[str] = "(1 - exp(-q*log(1 + exp(-z))))/q"

    def __post_init__(self) -> None:
        check_number(self, "q", above=0, at_most=1)

    @property
    def properties(self) -> Properties:  # type: ignore[override]
        if self.q == 1:
            return symmetric(1.0, Sign(INF))
        return Properties(convex=False, non_increasing=True, bounded=True, minimizer=Logit(scale=1 / (1 - self.q)))

    @property
    def structure(self) -> Analytic:  # type: ignore[override]
        """From 1 / q on the left to 0 on the right."""
        return Analytic(pole_distance=math.pi, left=(1 / self.q, 0.0), right=(0.0, 0.0), left_rate=self.q)

    def value(self, z: Tensor) -> Tensor:
        return torch.expm1(self.q * F.logsigmoid(z)) / -self.q

    def slope(self, z: Tensor) -> Tensor:
        return -torch.exp(self.q * F.logsigmoid(z)) * torch.sigmoid(-z)


@dataclass(frozen=True)
class SymmetricCrossEntropy(Loss):
    """The symmetric cross-entropy of Wang et al. (2019): alpha times cross-entropy + beta times reverse cross-entropy.

    Despite its name, it is not symmetric in the sense of l(z) + l(-z) = K. For two classes the reverse cross-entropy
    is -A (1 - p), a multiple of the sigmoid loss, and only this part is symmetric. So this is the logistic loss times
    alpha, plus the sigmoid loss times -A beta.

    Parameters
    ----------
    alpha, beta : float
        The weights of cross-entropy and of reverse cross-entropy, more than 0.
    A : float
        What log(0) is replaced by in the reverse cross-entropy, less than 0.

    References
    ----------
    Wang, Ma, Chen, Luo, Yi and Bailey, Symmetric cross entropy for robust learning with noisy labels, ICCV 2019.
    """

    alpha: float = 0.1
    beta: float = 1.0
    A: float = -4.0

    title: ClassVar[str] = "Symmetric cross-entropy"
    formula: ClassVar[str] = "alpha*log(1 + exp(-z)) - beta*A/(1 + exp(z))"

    def __post_init__(self) -> None:
        check_number(self, "alpha", above=0)
        check_number(self, "beta", above=0)
        check_number(self, "A", below=0)

    @property
    def properties(self) -> Properties:  # type: ignore[override]
        """The claims, for these weights: l'' = p (1 - p) (alpha + beta A (1 - 2 p))."""
        return Properties(
            convex=self.alpha >= self._of_sigmoid, non_increasing=True, bounded=False, minimizer=Stationary(self.slope)
        )

    @property
    def _of_sigmoid(self) -> float:
        return -self.beta * self.A

    @property
    def structure(self) -> Analytic:  # type: ignore[override]
        """The line of the logistic loss, raised by that of the sigmoid loss."""
        return Analytic(pole_distance=math.pi, left=(self._of_sigmoid, -self.alpha), right=(0.0, 0.0))

    def value(self, z: Tensor) -> Tensor:
        return self._of_sigmoid * torch.sigmoid(-z) - self.alpha * F.logsigmoid(z)

    def slope(self, z: Tensor) -> Tensor:
        return -torch.sigmoid(-z) * (self.alpha + self._of_sigmoid * torch.sigmoid(z))


class NormalizedCrossEntropy(Loss):
    """The normalized cross-entropy of Ma et al. (2020): log(p) / (log(p) + log(1 - p)), smooth, bounded and symmetric.

    References
    ----------
    Ma, Huang, Wang, Romano, Erfani and Bailey, Normalized loss functions for deep learning with noisy labels, ICML
    2020.
    """

    title: ClassVar[str] = "Normalized cross-entropy"
    formula: ClassVar[str] = "log(1 + exp(-z))/(log(1 + exp(-z)) + log(1 + exp(z)))"
    properties = symmetric(1.0, Sign(INF))
    # The denominator log(2 + 2 cosh(z)) vanishes at 2 pi i / 3, nearer than the singularities of the logarithms.
    structure = Analytic(pole_distance=2 * math.pi / 3, left=(1.0, 0.0), right=(0.0, 0.0))

    def value(self, z: Tensor) -> Tensor:
        return (F.logsigmoid(-z) / F.logsigmoid(z) + 1).reciprocal()  # needs no limit at infinite margins

    def slope(self, z: Tensor) -> Tensor:
        total = F.logsigmoid(z) + F.logsigmoid(-z)
        return (torch.sigmoid(-z) * self.value(-z) + torch.sigmoid(z) * self.value(z)) / total


@dataclass(frozen=True)
class ActivePassive(Loss):
    """An active-passive loss of Ma et al. (2020): alpha normalized cross-entropy + beta mean absolute error.

    For two classes, the mean absolute error is 2 (1 - p), twice the sigmoid loss; the reverse cross-entropy -A (1 - p)
    is the same up to scale. So normalized cross-entropy plus reverse cross-entropy, the paper's other combination, is
    this loss with beta multiplied by -A / 2. It is symmetric, as both parts are.

    Parameters
    ----------
    alpha, beta : float
        The weights of the active and of the passive part, more than 0.

    References
    ----------
    Ma, Huang, Wang, Romano, Erfani and Bailey, Normalized loss functions for deep learning with noisy labels, ICML
    2020.
    """

    alpha: float = 1.0
    beta: float = 1.0

    title: ClassVar[str] = "Active-passive"
    formula: ClassVar[str] = "alpha*(log(1 + exp(-z))/(log(1 + exp(-z)) + log(1 + exp(z)))) + 2*beta/(1 + exp(z))"

    def __post_init__(self) -> None:
        check_number(self, "alpha", above=0)
        check_number(self, "beta", above=0)

    @property
    def properties(self) -> Properties:  # type: ignore[override]
        return symmetric(self._left, Sign(INF))

    @property
    def _left(self) -> float:
        return self.alpha + 2 * self.beta

    @property
    def structure(self) -> Analytic:  # type: ignore[override]
        """From alpha + 2 beta on the left to 0 on the right, with the poles of the normalized cross-entropy."""
        return Analytic(pole_distance=2 * math.pi / 3, left=(self._left, 0.0), right=(0.0, 0.0))

    def value(self, z: Tensor) -> Tensor:
        return self.alpha * _NORMALIZED.value(z) + 2 * self.beta * torch.sigmoid(-z)

    def slope(self, z: Tensor) -> Tensor:
        return self.alpha * _NORMALIZED.slope(z) - 2 * self.beta * torch.sigmoid(z) * torch.sigmoid(-z)


_NORMALIZED = NormalizedCrossEntropy()


@dataclass(frozen=True)
class Focal(Loss):
    """The focal loss -(1 - p)^gamma log(p) of Lin et al. (2017): the logistic loss, with less weight on easy points.

    Its sigmoid is not the probability of the label, but determines it (Charoenphakdee et al., 2021).

    Parameters
    ----------
    gamma : float
        The strength of the focus, more than 0; at 0 it would be the logistic loss.

    References
    ----------
    Lin, Goyal, Girshick, He and Dollár, Focal loss for dense object detection, ICCV 2017.
    Charoenphakdee, Vongkulbhisal, Chairatanakul and Sugiyama, On focal loss for class-posterior probability estimation,
    CVPR 2021.
    """

    gamma: float = 2.0

    formula: ClassVar[str] = "log(1 + exp(-z))*exp(-gamma*log(1 + exp(z)))"

    def __post_init__(self) -> None:
        check_number(self, "gamma", above=0)

    @property
    def properties(self) -> Properties:  # type: ignore[override]
        return Properties(convex=False, non_increasing=True, bounded=False, minimizer=Stationary(self.slope))

    @property
    def structure(self) -> Analytic:  # type: ignore[override]
        """The line -z on the left, and 0 on the right."""
        return Analytic(pole_distance=math.pi, left=(0.0, -1.0), right=(0.0, 0.0), right_rate=1 + self.gamma)

    def value(self, z: Tensor) -> Tensor:
        return -(torch.sigmoid(-z) ** self.gamma) * F.logsigmoid(z)

    def slope(self, z: Tensor) -> Tensor:
        rest = torch.sigmoid(-z)
        # Far on the left p is 0, and zero times an infinite logarithm would be NaN.
        entropy = torch.sigmoid(z) * F.logsigmoid(z.clamp(min=-1e4))
        return -(rest**self.gamma) * (rest - self.gamma * entropy)


class Tangent(Loss):
    """The tangent loss of Masnadi-Shirazi et al. (2010): bounded, and a right margin that is too large costs, too.

    It approaches its limits like 1/z, too slowly for a grid: all pairs are computed one by one.

    References
    ----------
    Masnadi-Shirazi, Mahadevan and Vasconcelos, On the design of robust classifiers for computer vision, CVPR 2010.
    """

    formula: ClassVar[str] = "(2*atan(z) - 1)^2"
    properties = Properties(convex=False, non_increasing=False, bounded=True, minimizer=Tan())

    def value(self, z: Tensor) -> Tensor:
        return (2 * torch.atan(z) - 1) ** 2

    def slope(self, z: Tensor) -> Tensor:
        return (8 * torch.atan(z) - 4) / (1 + z**2)


@dataclass(frozen=True)
class HuberizedHinge(Loss):
    """The huberized hinge loss of Rosset and Zhu (2007): a hinge loss with a parabola of width delta for its corner.

    With delta = 2 it is a quarter of the modified Huber loss of Zhang (2004). For delta toward 0 it becomes the hinge
    loss. It is the difference of two parabolas.

    Parameters
    ----------
    delta : float
        The width of the parabola, left of z = 1; more than 0.

    References
    ----------
    Rosset and Zhu, Piecewise linear regularized solution paths, Annals of Statistics 2007.
    Wang, Zhu and Zou, Hybrid huberized support vector machines, Bioinformatics 2008.
    """

    delta: float = 2.0

    formula: ClassVar[str] = "max(0, min(delta, 1 - z))^2/(2*delta) + max(0, 1 - z - delta)"

    def __post_init__(self) -> None:
        check_number(self, "delta", above=0)

    @property
    def properties(self) -> Properties:  # type: ignore[override]
        """The claims, for this delta: from 2 on, both l(z) and l(-z) are parabolas where the minimizer lies."""
        minimizer: Minimizer = Linear() if self.delta >= 2 else Stationary(self.slope)
        return Properties(
            convex=True,
            non_increasing=True,
            bounded=False,
            minimizer=minimizer,
            symmetric_radius=max(0.0, 1.0 - self.delta),
        )

    @property
    def structure(self) -> Piecewise:  # type: ignore[override]
        """The parabola at 1, from which the one at 1 - delta is subtracted."""
        weight = 1 / (2 * self.delta)
        return Piecewise(kinks=(Kink(1.0, weight, power=2), Kink(1.0 - self.delta, -weight, power=2)))

    def value(self, z: Tensor) -> Tensor:
        short = (1 - z).clamp(min=0)
        curved = short.clamp(max=self.delta)
        return curved**2 / (2 * self.delta) + (short - curved)

    def slope(self, z: Tensor) -> Tensor:
        return (1 - z).clamp(0, self.delta) / -self.delta
