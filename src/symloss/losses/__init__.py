"""Margin losses l(z): many are built in, and others are made by subclassing ``Loss`` or wrapping a function."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from difflib import get_close_matches
from typing import Any

from torch import Tensor

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
from symloss.losses.structure import Analytic, ExponentialDecay, Kink, Piecewise, Structure

_BUILT_IN: dict[str, type[Loss]] = {
    loss.name: loss
    for loss in (
        ZeroOne,
        Squared,
        Hinge,
        SquaredHinge,
        DoubleHinge,
        Logistic,
        Exponential,
        Savage,
        Ramp,
        Sigmoid,
        Unhinged,
        BarrierHinge,
        GeneralizedCrossEntropy,
        SymmetricCrossEntropy,
        NormalizedCrossEntropy,
        ActivePassive,
        Focal,
        Tangent,
        HuberizedHinge,
    )
}

_DEFAULTS = {name: loss() for name, loss in _BUILT_IN.items()}  # immutable, so one instance of each can be shared

LossLike = str | Loss | type[Loss] | Callable[[Tensor], Tensor]


def list_losses() -> list[str]:
    """Return the names of the built-in losses.

    Examples
    --------
    >>> list_losses()[:3]
    ['zero_one', 'squared', 'hinge']
    """
    return list(_BUILT_IN)


def get_loss(loss: LossLike, **parameters: Any) -> Loss:
    """Return the loss that a name, a class or an element-wise function stands for; a loss is returned unchanged.

    Parameters
    ----------
    loss : str, Loss, Loss subclass or callable
        A built-in name (see ``list_losses``), a loss, its class, or a function of a tensor of margins.
    **parameters
        The parameters of a loss given by name or class.

    Examples
    --------
    >>> get_loss("barrier_hinge", b=10, r=1)
    BarrierHinge(b=10, r=1)
    >>> get_loss(Sigmoid())
    Sigmoid()
    """
    if isinstance(loss, str):
        if loss not in _BUILT_IN:
            near = get_close_matches(loss, _BUILT_IN, n=1)
            hint = f"did you mean {near[0]!r}?" if near else f"known losses: {', '.join(_BUILT_IN)}"
            raise ValueError(f"unknown loss {loss!r}; {hint}")
        if not parameters:
            return _DEFAULTS[loss]
        loss = _BUILT_IN[loss]
    if isinstance(loss, type):
        if not issubclass(loss, Loss):
            raise ValueError(f"a loss class must derive from symloss.Loss, got {loss.__name__}")
        return _instance(loss, parameters)
    if parameters:
        raise ValueError(f"parameters ({', '.join(parameters)}) go with a loss's name or class, not with {loss!r}")
    if isinstance(loss, Loss):
        return loss
    if callable(loss):
        return CallableLoss(loss)
    raise ValueError(f"a loss must be a name, a Loss or a function of a tensor, got {type(loss).__name__}")


def _instance(loss: type[Loss], parameters: dict[str, Any]) -> Loss:
    known = {
        name: parameter
        for name, parameter in inspect.signature(loss).parameters.items()
        if parameter.kind not in (parameter.VAR_POSITIONAL, parameter.VAR_KEYWORD)
    }
    unknown = [name for name in parameters if name not in known]
    missing = [
        name for name, known_as in known.items() if known_as.default is known_as.empty and name not in parameters
    ]
    if unknown or missing:
        wrong = f"has no parameter {', '.join(unknown)}" if unknown else f"needs a value for {', '.join(missing)}"
        raise ValueError(f"{loss.name} {wrong}; its parameters: {', '.join(known) or 'none'}")
    return loss(**parameters)


__all__ = [
    "ActivePassive",
    "Analytic",
    "BarrierHinge",
    "CallableLoss",
    "DoubleHinge",
    "Exponential",
    "ExponentialDecay",
    "Focal",
    "GeneralizedCrossEntropy",
    "Hinge",
    "HuberizedHinge",
    "Kink",
    "Linear",
    "Logistic",
    "Logit",
    "Loss",
    "LossLike",
    "Minimizer",
    "NormalizedCrossEntropy",
    "Piecewise",
    "Properties",
    "Ramp",
    "Savage",
    "Sigmoid",
    "Sign",
    "Slope",
    "Squared",
    "SquaredHinge",
    "Stationary",
    "Structure",
    "SymmetricCrossEntropy",
    "Tan",
    "Tangent",
    "Unhinged",
    "ZeroOne",
    "get_loss",
    "list_losses",
]
