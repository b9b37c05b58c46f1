"""Margin losses l(z): many are built in, and others are made by subclassing ``Loss`` or wrapping a function."""

from symloss.losses.base import CallableLoss, Loss, Properties, Slope
from symloss.losses.builtin import (
    BarrierHinge,
    DoubleHinge,
    Exponential,
    Hinge,
    Logistic,
    Ramp,
    Savage,
    Sigmoid,
    Squared,
    SquaredHinge,
    Unhinged,
    ZeroOne,
)
from symloss.losses.minimizer import Linear, Logit, Minimizer, Sign, Stationary, Tan
from symloss.losses.noisy import (
    ActivePassive,
    Focal,
    GeneralizedCrossEntropy,
    HuberizedHinge,
    NormalizedCrossEntropy,
    SymmetricCrossEntropy,
    Tangent,
)
from symloss.losses.registry import LossLike, get_loss, import_named, list_losses
from symloss.losses.structure import Analytic, ExponentialDecay, Kink, Piecewise, Structure

__all__ = ["ActivePassive", "Analytic", "BarrierHinge", "CallableLoss", "DoubleHinge", "Exponential",
           "ExponentialDecay", "Focal", "GeneralizedCrossEntropy", "Hinge", "HuberizedHinge", "Kink", "Linear",
           "Logistic", "Logit", "Loss", "LossLike", "Minimizer", "NormalizedCrossEntropy", "Piecewise", "Properties",
           "Ramp", "Savage", "Sigmoid", "Sign", "Slope", "Squared", "SquaredHinge", "Stationary", "Structure",
           "SymmetricCrossEntropy", "Tan", "Tangent", "Unhinged", "ZeroOne", "get_loss", "import_named",
           "list_losses"]  # fmt: skip
