"""Conditional risk minimizers f*(eta) = argmin over a of eta l(a) + (1 - eta) l(-a), and their inverse links."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import ClassVar

import torch
from torch import Tensor


def _scaled(scale: float, text: str, between: str = "") -> str:
    return text if scale == 1 else f"{scale:g}{between}{text}"


class Minimizer:
    """The minimizer f*(eta) of the conditional risk: a function, and its formula.

    ``recovers_eta`` says whether f* is invertible. If it is, ``inverse`` maps scores back to class probabilities.
    """

    recovers_eta: ClassVar[bool] = False
    formula: ClassVar[str] = ""

    def __call__(self, eta: Tensor) -> Tensor:
        """Return f*(eta)."""
        raise NotImplementedError

    def inverse(self, score: Tensor) -> Tensor:  # noqa: ARG002
        """Return the class probability eta whose minimizer is ``score``."""
        raise ValueError(f"f*(eta) = {self.formula} does not determine eta: this loss cannot give probabilities")


@dataclass(frozen=True)
class Sign(Minimizer):
    """``scale * sign(eta - 1/2)``: the Bayes classifier, scaled (theorem 8); infinite if scores are unbounded."""

    scale: float = 1.0

    @property
    def formula(self) -> str:  # type: ignore[override]
        """The formula as plain text; the paper prints an unbounded minimizer as its sign."""
        return _scaled(self.scale if math.isfinite(self.scale) else 1.0, "sign(eta - 0.5)", " ")

    def __call__(self, eta: Tensor) -> Tensor:
        sign = torch.sign(eta - 0.5)
        return torch.where(sign == 0, sign, self.scale * sign)


@dataclass(frozen=True)
class Logit(Minimizer):
    """``scale * log(eta / (1 - eta))``."""

    scale: float = 1.0
    recovers_eta: ClassVar[bool] = True

    @property
    def formula(self) -> str:  # type: ignore[override]
        return _scaled(self.scale, "log(eta / (1 - eta))", " ")

    def __call__(self, eta: Tensor) -> Tensor:
        return self.scale * torch.logit(eta)

    def inverse(self, score: Tensor) -> Tensor:
        return torch.sigmoid(score / self.scale)


@dataclass(frozen=True)
class Linear(Minimizer):
    """``2 eta - 1``."""

    recovers_eta: ClassVar[bool] = True
    formula: ClassVar[str] = "2 eta - 1"

    def __call__(self, eta: Tensor) -> Tensor:
        return 2 * eta - 1

    def inverse(self, score: Tensor) -> Tensor:
        return ((score + 1) / 2).clamp(0, 1)


@dataclass(frozen=True)
class Tan(Minimizer):
    """``tan(eta - 1/2)``, of the tangent loss."""

    recovers_eta: ClassVar[bool] = True
    formula: ClassVar[str] = "tan(eta - 0.5)"

    def __call__(self, eta: Tensor) -> Tensor:
        return torch.tan(eta - 0.5)

    def inverse(self, score: Tensor) -> Tensor:
        return (torch.atan(score) + 0.5).clamp(0, 1)


@dataclass(frozen=True)
class Stationary(Minimizer):
    """The score a at which the conditional risk is stationary: eta l'(a) = (1 - eta) l'(-a).

    It has no closed form, but its inverse has: eta = l'(-a) / (l'(a) + l'(-a)), which must increase with a.

    Parameters
    ----------
    slope : callable
        l', the derivative of the loss.

    Examples
    --------
    >>> import symloss as sl
    >>> of_focal = Stationary(sl.Focal().slope)
    >>> of_focal.inverse(of_focal(torch.tensor(0.8)))
    tensor(0.8000)
    """

    slope: Callable[[Tensor], Tensor]
    recovers_eta: ClassVar[bool] = True
    formula: ClassVar[str] = "eta l'(a) = (1 - eta) l'(-a)"

    def __call__(self, eta: Tensor) -> Tensor:
        """Return the score, by bisection; at 0 and 1, the score nearest to 0 whose probability rounds to them."""
        high = torch.ones_like(eta, dtype=torch.float64)
        upper = torch.maximum(eta, 1 - eta).double()  # f* is odd around 1/2
        for _ in range(64):
            high = torch.where(self.inverse(high) < upper, 2 * high, high)
        low = torch.zeros_like(high)
        for _ in range(80):
            middle = 0.5 * (low + high)
            below = self.inverse(middle) < upper
            low, high = torch.where(below, middle, low), torch.where(below, high, middle)
        return (torch.sign(eta - 0.5).double() * high).to(eta.dtype)

    def inverse(self, score: Tensor) -> Tensor:
        there, back = self.slope(score), self.slope(-score)
        return back / (there + back)
