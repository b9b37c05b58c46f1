"""Losses by name, class or function."""

from __future__ import annotations

import importlib
import inspect
import sys
from collections.abc import Callable
from difflib import get_close_matches
from typing import Any

from torch import Tensor

from symloss.losses import builtin, noisy
from symloss.losses.base import CallableLoss, Loss

# In the order of the files: whatever these define is built in.
_BUILT_IN: dict[str, type[Loss]] = {
    kind.name: kind
    for module in (builtin, noisy)
    for kind in vars(module).values()
    if isinstance(kind, type) and issubclass(kind, Loss) and kind.__module__ == module.__name__
}

_DEFAULTS = {name: loss() for name, loss in _BUILT_IN.items()}  # immutable, so one instance of each can be shared

LossLike = str | Loss | type[Loss] | Callable[[Tensor], Tensor]


def list_losses() -> list[str]:
    """Return the names of the built-in losses."""
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
    >>> get_loss("sigmoid")
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
    try:
        inspect.signature(loss).bind(**parameters)
    except TypeError as error:
        known = ", ".join(inspect.signature(loss).parameters) or "none"
        raise ValueError(f"{loss.name}: {error}; its parameters: {known}") from None
    return loss(**parameters)


def import_named(name: str) -> Any:
    """Return the object ``package.module:name``; the module may be in the working directory, as with ``python -m``."""
    module, _, attribute = name.partition(":")
    if "" not in sys.path:
        sys.path.insert(0, "")
    return getattr(importlib.import_module(module), attribute)
