"""Checks of tensors, binary labels, weights, probabilities and noise rates: once a call, where the input comes in.

Under ``torch.compile`` and ``vmap`` conditions may not be readable, and some functions are not traced.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from inspect import signature
from numbers import Real
from typing import Any, TypeVar, cast

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

F = TypeVar("F", bound=Callable[..., object])

_OUTSIDE = (
    "pairs are computed outside of graphs: compile the model and call the loss on its output, or use fullgraph=False"
)
LABELS = "labels in {0, 1}, {-1, +1} or bool"


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


def as_tensor(values: Any, name: str, dtype: torch.dtype | None = None) -> Tensor:
    """Return a tensor unchanged, and anything array-like as a tensor: lists, NumPy arrays of any layout, pandas Series.

    ``dtype`` applies to numbers and lists only, which have no dtype of their own: float64 keeps all their digits.
    """
    if isinstance(values, Tensor):
        return values
    if isinstance(values, int | float | list | tuple):
        try:
            return torch.as_tensor(values, dtype=dtype)
        except (TypeError, ValueError, RuntimeError) as error:
            raise ValueError(f"{name} must be numbers, got {type(values).__name__}: {error}") from None
    array = np.asarray(values)
    kind, size = array.dtype.kind, array.dtype.itemsize
    if kind not in "biuf":
        raise ValueError(f"{name} must be numbers, got {type(values).__name__} of dtype {array.dtype}")
    if kind == "f" and size <= 8:
        return torch.from_numpy(array.astype(array.dtype.newbyteorder("=")))
    plain = {"b": np.bool_, "i": np.int64, "u": np.int64 if size < 8 else np.float64, "f": np.float64}[kind]
    return torch.from_numpy(array.astype(plain))


def as_real(values: Any, name: str, dtype: torch.dtype | None = None) -> Tensor:
    """Return real numbers as a float32 or float64 tensor, in float32 if that holds every number of their dtype.

    So half precision and integers of at most 16 bits become float32, and larger integers float64. If ``dtype`` is
    given, everything is converted to it.
    """
    tensor = as_tensor(values, name, dtype)
    if tensor.dtype == torch.bool or tensor.is_complex():
        raise ValueError(f"{name} must be real numbers, got dtype {tensor.dtype}")
    if dtype is not None:
        return tensor.to(dtype)
    if tensor.dtype in (torch.float32, torch.float64):
        return tensor.resolve_neg()  # NumPy reads no tensor that is stored with the opposite sign
    small = tensor.is_floating_point() or tensor.element_size() <= 2
    return tensor.to(torch.float32 if small else torch.float64)


def is_positive(target: Any) -> Tensor:
    """Return which labels are positive, as a bool tensor; raise ValueError unless they are {0, 1}, {-1, +1} or bool."""
    labels = as_tensor(target, LABELS)
    if labels.dtype == torch.bool:
        return labels
    if concrete(are_labels(labels)) is False:
        raise_for_labels(labels)
    return labels == 1


def are_labels(labels: Tensor, but: Tensor | None = None) -> Tensor:
    """Return whether labels are in {0, 1} or {-1, +1}, but for some that may be anything; a bool tensor of shape ()."""
    one = labels == 1 if but is None else (labels == 1) | but
    return (one | (labels == 0)).all() | (one | (labels == -1)).all()


def raise_for_labels(labels: Tensor, hint: str = "") -> None:
    """Raise a ValueError that says which values the labels have."""
    raise ValueError(f"labels must be {{0, 1}}, {{-1, +1}} or bool, got the values {shown_values(labels)}{hint}")


def shown_values(labels: Tensor) -> str:
    """Return the first five different values as text."""
    values = sorted(set(labels.flatten().tolist()), key=lambda value: (value != value, value))
    return ", ".join(f"{value:g}" for value in values[:5]) + (", ..." if len(values) > 5 else "")


def is_larger(target: Any) -> NDArray[np.bool_]:
    """Return which labels are positive, where labels are any two values and the larger one is positive.

    Labels in {0, 1}, {-1, +1} or bool may all be equal; two values are needed of any other kind.
    """
    if isinstance(target, Tensor):
        target = (target.double() if target.is_floating_point() else target).detach().cpu().numpy()
    labels = np.asarray(target)
    if labels.dtype.kind == "b":
        return labels
    if labels.dtype.kind in "iuf":  # the usual labels need no sorting, and may all be equal
        one = labels == 1
        if (one | (labels == 0)).all() or (one | (labels == -1)).all():
            return np.asarray(one)
    try:
        values = np.unique(labels)
    except TypeError:
        types = ", ".join(sorted({type(value).__name__ for value in labels.flat}))
        raise ValueError(f"labels must be two values that can be compared, got values of the types {types}") from None
    missing = [value for value in values.tolist() if value != value]  # NaN differs from itself
    if len(values) != 2 or missing:
        shown = ", ".join(map(str, values[:5].tolist())) + (", ..." if len(values) > 5 else "")
        raise ValueError(f"labels must be two values, the larger of which is positive, got the values {shown}")
    return np.asarray(labels == values[1])


def as_weight(weight: Any, like: Tensor, name: str = "weight") -> Tensor:
    """Return weights, or a mask, in float64 on the device of the scores, whatever their values and shape."""
    given = as_tensor(weight, name, torch.float64)
    real = as_real(given.double() if given.dtype == torch.bool else given, name, torch.float64).to(like.device)
    if real.requires_grad:
        raise ValueError(f"{name} is a constant here: gradients flow to the scores only; pass {name}.detach()")
    return real


def fitted_weight(weight: Tensor, scores: Tensor, name: str = "weight") -> Tensor:
    """Return weights in the scores' shape, or raise a ValueError."""
    try:
        return weight.expand(scores.shape)
    except RuntimeError:
        message = f"{name} must have the scores' shape {tuple(scores.shape)}, got {tuple(weight.shape)}"
        raise ValueError(message) from None


def are_weights(weight: Tensor) -> Tensor:
    """Return whether all are finite and none is negative, as a bool tensor of shape ()."""
    return ((weight >= 0) & (weight < torch.inf)).all()


def check_weight(weight: Any, scores: Tensor, name: str = "weight") -> Tensor:
    """Return weights in float64 and the scores' shape, or raise a ValueError that says what is wrong with them."""
    checked = fitted_weight(as_weight(weight, scores, name), scores, name)
    if concrete(are_weights(checked)) is False:
        wrong = checked[~((checked >= 0) & (checked < torch.inf))].flatten()[0].item()
        raise ValueError(f"{name} must hold finite numbers >= 0, got {wrong:g}")
    return checked


def check_both_weights(
    pos_weight: Any, neg_weight: Any, pos: Tensor, neg: Tensor
) -> tuple[Tensor | None, Tensor | None]:
    """Return the weights of two classes, each checked as by ``check_weight``; None stays None."""
    w = None if pos_weight is None else check_weight(pos_weight, pos, "pos_weight")
    v = None if neg_weight is None else check_weight(neg_weight, neg, "neg_weight")
    return w, v


def check_finite(scores: Tensor, name: str, weight: Tensor | None = None) -> None:
    """Raise ValueError if a score is NaN or infinite, unless its weight is zero; nothing is read under a transform."""
    if not _finite_by_numpy(scores) and concrete(all_finite(scores, weight)) is False:
        wrong = ~scores.isfinite() if weight is None else ~scores.isfinite() & (weight != 0)
        first, *others = wrong.nonzero().tolist()
        more = f" and {len(others)} more that {'is' if len(others) == 1 else 'are'} not" if others else ""
        raise ValueError(
            f"{name} must be finite, got {scores[tuple(first)].item():g} at position "
            f"{first[0] if len(first) == 1 else tuple(first)}{more}; with validate=False they are computed with"
        )


def _finite_by_numpy(scores: Tensor) -> bool:
    """Return whether scores on a CPU are known to be finite; NumPy takes a fraction of the time of torch."""
    if scores.device.type != "cpu" or torch.compiler.is_compiling():
        return False
    try:
        return bool(np.logical_and.reduce(np.isfinite(scores.detach().numpy()), axis=None))  # faster than all()
    except (RuntimeError, TypeError):  # under vmap
        return False


def all_finite(scores: Tensor, weight: Tensor | None) -> Tensor:
    """Return whether all scores that have weight are finite, as a bool tensor of shape ()."""
    finite = scores.isfinite()
    return (finite if weight is None else finite | (weight == 0)).all()


def nan_unless(fine: Tensor, scores: Tensor, weight: Tensor | None = None) -> tuple[Tensor, Tensor | None]:
    """Return scores, or NaN unless a condition and the weights are fine, and weights, or 1: nothing is read."""
    if weight is not None:
        fine = fine & are_weights(weight)
        weight = torch.where(fine, weight, 1.0)
    return torch.where(fine, scores, torch.nan), weight


def check_probability(name: str, value: Any) -> None:
    """Raise a ValueError unless 0 <= value <= 1."""
    if value is None:
        raise ValueError(f"{name} must be a number between 0 and 1, got None: an estimate that cannot be had is None")
    if not isinstance(value, Real) or not 0 <= float(value) <= 1:
        raise ValueError(f"{name} must be between 0 and 1, got {value!r}")


def check_contamination(pi: float, pi_prime: float) -> None:
    """Raise a ValueError unless 0 <= pi' < pi <= 1."""
    check_probability("pi", pi)
    check_probability("pi_prime", pi_prime)
    if pi == pi_prime:
        raise ValueError(f"pi must exceed pi', got {pi:g} for both: such labels say nothing about the classes")
    if pi < pi_prime:
        raise ValueError(
            f"pi must exceed pi', got pi = {pi:g} and pi' = {pi_prime:g}: swap the two labels, and with them pi and pi'"
        )


def check_fraction(name: str, value: float) -> None:
    """Raise a ValueError unless 0 < value < 1."""
    if not 0 < value < 1:
        raise ValueError(f"{name} must be between 0 and 1, got {value!r}")
