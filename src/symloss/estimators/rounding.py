"""Losses whose corners are rounded off, so that L-BFGS can minimize them: at corners it stalls far from the optimum."""

from __future__ import annotations

from dataclasses import dataclass
from typing import cast

from torch import Tensor

from symloss.losses import Kink, Loss, Piecewise


@dataclass(frozen=True)
class Rounded(Loss):
    """A piecewise loss, each corner c of which is replaced by its average over [c - width, c + width].

    It is symmetric if the loss is symmetric, and convex if the loss is convex. A corner max(0, c - z) becomes
    (max(0, c + w - z)^2 - max(0, c - w - z)^2) / 4w, where w is the width. The all-pairs algorithms know both terms.

    Examples
    --------
    >>> import torch, symloss as sl
    >>> Rounded(sl.Hinge(), 0.5)(torch.tensor([0.0, 1.0, 2.0]))
    tensor([1.0000, 0.1250, 0.0000])
    """

    loss: Loss
    width: float

    @property
    def structure(self) -> Piecewise:  # type: ignore[override]
        """The polynomial of the loss, and two jumps of the second derivative in place of each corner."""
        kinks = list(self._rest.kinks)
        for kink in self._corners:
            weight = kink.weight / (4 * self.width)
            kinks += [Kink(kink.where + self.width, weight, 2), Kink(kink.where - self.width, -weight, 2)]
        return Piecewise(self._rest.coefficients, tuple(kinks))

    @property
    def _corners(self) -> list[Kink]:
        return [kink for kink in cast(Piecewise, self.loss.structure).kinks if kink.power == 1]

    @property
    def _rest(self) -> Piecewise:
        structure = cast(Piecewise, self.loss.structure)
        return Piecewise(structure.coefficients, tuple(kink for kink in structure.kinks if kink.power != 1))

    def value(self, z: Tensor) -> Tensor:
        """Return the loss of the margins z, from each piece's own formula: the two squares would cancel."""
        total = self._rest(z)
        for kink in self._corners:
            inside = (kink.where + self.width - z).clamp(0, 2 * self.width)
            beyond = (kink.where - self.width - z).clamp(min=0)
            total = total + kink.weight * (inside**2 / (4 * self.width) + beyond)
        return total

    def slope(self, z: Tensor) -> Tensor:
        """Return the derivative of the loss at the margins z."""
        total = self._rest.derivative()(z)
        for kink in self._corners:
            total = total - kink.weight * ((kink.where + self.width - z) / (2 * self.width)).clamp(0, 1)
        return total


def roundings(loss: Loss) -> list[Loss]:
    """Return the losses to minimize one after another, each from the minimizer of the one before.

    Each is rounded over a tenth of the width of the one before; the last over 1e-4 of the distance of the farthest
    corner from 0. A loss without corners is returned alone.

    Examples
    --------
    >>> import symloss as sl
    >>> roundings(sl.Logistic())
    [Logistic()]
    >>> [loss.width for loss in roundings(sl.Hinge())]
    [1.0, 0.1, 0.01, 0.001, 0.0001]
    """
    if not isinstance(loss.structure, Piecewise) or all(kink.power != 1 for kink in loss.structure.kinks):
        return [loss]
    scale = max(abs(kink.where) for kink in loss.structure.kinks) or 1.0
    return [Rounded(loss, width * scale) for width in (1.0, 0.1, 0.01, 0.001, 0.0001)]
