"""Losses with their corners rounded off, which L-BFGS can minimise: at a corner it stalls, far from the optimum."""

from __future__ import annotations

from dataclasses import dataclass

from torch import Tensor

from symloss.losses import Kink, Loss, Piecewise


@dataclass(frozen=True)
class Rounded(Loss):
    """A piecewise loss with each corner averaged over [c - width, c + width]; symmetric and convex if the loss is.

    A corner max(0, c - z) becomes (max(0, c + w - z)^2 - max(0, c - w - z)^2) / 4w: two kinks of a kind that the
    all-pairs algorithms know.

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
        """The polynomial, and for each corner two jumps in curvature."""
        structure = self.loss.structure
        assert isinstance(structure, Piecewise)
        kinks = []
        for kink in structure.kinks:
            if kink.power == 1:
                weight = kink.weight / (4 * self.width)
                kinks += [Kink(kink.where + self.width, weight, 2), Kink(kink.where - self.width, -weight, 2)]
            else:
                kinks.append(kink)
        return Piecewise(structure.coefficients, tuple(kinks))

    def value(self, z: Tensor) -> Tensor:
        """Return the sum of the parts."""
        return self.structure(z)

    def slope(self, z: Tensor) -> Tensor:
        """Return the derivative of the parts."""
        return self.structure.derivative()(z)


def roundings(loss: Loss) -> list[Loss]:
    """Return the losses to minimise one after another, each from the last one's minimiser: rounder ones first.

    The last is rounded over 1e-4 of the distance of the farthest corner from 0; a loss without corners is minimised
    as it is.

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
