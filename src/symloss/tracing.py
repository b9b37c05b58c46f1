"""Functions that are not traced, and conditions that may not be readable, under ``torch.compile`` and ``vmap``."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from inspect import signature
from typing import Any, TypeVar, cast

import torch
from torch import Tensor

F = TypeVar("F", bound=Callable[..., object])

_OUTSIDE = (
    "pairs are computed outside of graphs: compile the model and call the loss on its output, or use fullgraph=False"
)


def eager(function: F) -> F:
    """Return a function that breaks the graph of ``torch.compile`` and runs untraced; its type stays the same."""

    @wraps(function)
    def wrapper(*args: Any, **kwargs: Any) -> Any:
        if torch.compiler.is_compiling():
            torch._dynamo.graph_break(msg=_OUTSIDE)  # fullgraph=True shows the message
            # Not disabled earlier: that imports the compiler, which takes longer than importing torch.
            return torch.compiler.disable(function)(*args, **kwargs)  # type: ignore[no-untyped-call]
        return function(*args, **kwargs)

    return cast(F, wrapper)


def concrete(condition: Tensor) -> bool | None:
    """Return whether a condition is true, or None where it cannot be read: under ``torch.compile`` and ``vmap``."""
    if torch.compiler.is_compiling():
        return None
    try:
        return bool(condition)
    except RuntimeError as error:
        if "vmap" in str(error):
            return None
        raise


def readable(values: Tensor) -> bool:
    """Return whether values can be read: not under ``torch.compile`` and ``vmap``. A GPU is not waited for."""
    return concrete(values.new_zeros((), device="cpu") == 0) is not None


def transformed() -> bool:
    """Return whether this runs under a transform of ``torch.func``."""
    return bool(torch._C._are_functorch_transforms_active())


def remember_signature(function: type[torch.autograd.Function]) -> None:
    """Store the signature of ``forward``; otherwise PyTorch works it out again at every call, which is slow."""
    function.forward.__signature__ = signature(function.forward)  # type: ignore[attr-defined]
