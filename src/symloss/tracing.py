"""Code that PyTorch transforms: what runs as it is, and what can be read, under ``torch.compile`` and ``vmap``."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from inspect import signature
from typing import Any, TypeVar, cast

import torch
from torch import Tensor

F = TypeVar("F", bound=Callable[..., object])


def eager(function: F) -> F:
    """Make a function break the graph of ``torch.compile`` and run as it is, keeping its type.

    Examples
    --------
    >>> @eager
    ... def twice(x: float) -> float:
    ...     return 2 * x
    >>> twice(2.0)
    4.0
    """

    @wraps(function)
    def wrapper(*args: Any, **kwargs: Any) -> Any:
        if torch.compiler.is_compiling():
            # Only here: the call imports the compiler, which takes longer than importing torch.
            return torch.compiler.disable(function)(*args, **kwargs)  # type: ignore[no-untyped-call]
        return function(*args, **kwargs)

    return cast(F, wrapper)


def concrete(condition: Tensor) -> bool | None:
    """Return a condition's truth, or None where it cannot be read: under ``torch.compile`` and ``vmap``.

    Examples
    --------
    >>> concrete(torch.tensor(True))
    True
    """
    if torch.compiler.is_compiling():
        return None
    try:
        return bool(condition)
    except RuntimeError as error:
        if "vmap" in str(error):
            return None
        raise


def remember_signature(function: type[torch.autograd.Function]) -> None:
    """Keep the signature of ``forward``, which PyTorch otherwise works out anew, slowly, at every call.

    Examples
    --------
    >>> class Twice(torch.autograd.Function):
    ...     @staticmethod
    ...     def forward(x):
    ...         return 2 * x
    >>> remember_signature(Twice)
    """
    function.forward.__signature__ = signature(function.forward)  # type: ignore[attr-defined]
