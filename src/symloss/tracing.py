"""Tensors at the edge: made from what users have, and read where ``torch.compile`` and ``vmap`` allow it."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from inspect import signature
from typing import Any, TypeVar, cast

import numpy as np
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


def as_tensor(values: Any, name: str, dtype: torch.dtype | None = None) -> Tensor:
    """Return a tensor as it is, and anything array-like as a tensor: lists, NumPy arrays of any layout, pandas Series.

    ``dtype`` keeps the digits of numbers in lists, which have none of their own.

    Examples
    --------
    >>> as_tensor(np.arange(3)[::-1], "scores")
    tensor([2, 1, 0])
    """
    if isinstance(values, Tensor):
        return values
    if isinstance(values, int | float | list | tuple):
        try:
            return torch.as_tensor(values, dtype=dtype)
        except (TypeError, ValueError, RuntimeError) as error:
            raise ValueError(f"{name} must be numbers, got {type(values).__name__}: {error}") from None
    array = np.asarray(values)
    if array.dtype.kind not in "biuf":
        raise ValueError(f"{name} must be numbers, got {type(values).__name__} of dtype {array.dtype}")
    kind, size = array.dtype.kind, array.dtype.itemsize
    if kind == "f" and size <= 8:
        return torch.from_numpy(array.astype(array.dtype.newbyteorder("=")))
    plain = {"b": np.bool_, "i": np.int64, "u": np.int64 if size < 8 else np.float64, "f": np.float64}[kind]
    return torch.from_numpy(array.astype(plain))
