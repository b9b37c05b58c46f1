"""Checks of tensors, binary labels, weights, probabilities and noise rates: once per call, where the input comes in.

Reading a value makes a GPU wait. So shapes and dtypes are checked first, and then all values with a single read. Only
if something is wrong are values read one by one, to say what it is.
"""

from __future__ import annotations

from numbers import Real
from typing import Any, NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from symloss.tracing import concrete

_LABELS = "labels in {0, 1}, {-1, +1} or bool"


def as_tensor(values: Any, name: str, dtype: torch.dtype | None = None) -> Tensor:
    """Return a tensor unchanged, and anything array-like as a tensor: lists, NumPy arrays of any layout, pandas Series.

    ``dtype`` applies to numbers and lists only, which have no dtype of their own: float64 keeps all their digits.

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


def as_real(values: Any, name: str, dtype: torch.dtype | None = None) -> Tensor:
    """Return real numbers as a float32 or float64 tensor, in float32 if that holds every number of their dtype.

    So half precision and integers of at most 16 bits become float32, and larger integers float64. If ``dtype`` is
    given, everything is converted to it.

    Examples
    --------
    >>> as_real([1, 2], "scores"), as_real(torch.tensor([1, 2], dtype=torch.int8), "scores")
    (tensor([1., 2.], dtype=torch.float64), tensor([1., 2.]))
    """
    tensor = as_tensor(values, name, dtype)
    if tensor.dtype == torch.bool or tensor.is_complex():
        raise ValueError(f"{name} must be real numbers, got dtype {tensor.dtype}")
    if dtype is not None:
        return tensor.to(dtype)
    if tensor.dtype in (torch.float32, torch.float64):
        return tensor
    small = tensor.is_floating_point() or tensor.element_size() <= 2
    return tensor.to(torch.float32 if small else torch.float64)


def is_positive(target: Any) -> Tensor:
    """Return which labels are positive, as a bool tensor; raise a ValueError unless they are {0, 1}, {-1, +1} or bool.

    Examples
    --------
    >>> is_positive([-1, 1, 1])
    tensor([False,  True,  True])
    """
    labels = as_tensor(target, _LABELS)
    one = _ones(labels)
    _refuse_other_labels(labels, one)
    return one


def is_larger(target: Any) -> NDArray[np.bool_]:
    """Return which labels are positive, where labels are any two values and the larger one is positive.

    Labels in {0, 1}, {-1, +1} or bool may all be equal; two values are needed of any other kind.

    Examples
    --------
    >>> is_larger(["no", "yes", "yes"])
    array([False,  True,  True])
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


def check_weight(weight: Any, scores: Tensor, name: str = "weight") -> Tensor:
    """Return weights in float64 and the scores' shape, or raise a ValueError that says what is wrong with them.

    Examples
    --------
    >>> check_weight(torch.tensor([1, 2]), torch.zeros(2)).tolist()
    [1.0, 2.0]
    """
    checked = _as_weight(weight, scores, name)
    _refuse_bad_weight(checked, name)
    return checked


def check_finite(scores: Tensor, name: str, weight: Tensor | None = None) -> None:
    """Raise a ValueError if a score is NaN or infinite, unless its weight is zero; nothing is read under a transform.

    Examples
    --------
    >>> check_finite(torch.tensor([0.0, torch.nan, torch.inf]), "scores")
    Traceback (most recent call last):
    ...
    ValueError: scores must be finite, got nan at position 1 and 1 more that is not; with validate=False ...
    """
    if _finite_by_numpy(scores):
        return
    if concrete(_all_finite(scores, weight)) is False:
        wrong = ~scores.isfinite() if weight is None else ~scores.isfinite() & (weight != 0)
        first, *others = wrong.nonzero().tolist()
        more = f" and {len(others)} more that {'is' if len(others) == 1 else 'are'} not" if others else ""
        raise ValueError(
            f"{name} must be finite, got {scores[tuple(first)].item():g} at position "
            f"{first[0] if len(first) == 1 else tuple(first)}{more}; with validate=False they are computed with"
        )


def _finite_by_numpy(scores: Tensor) -> bool:
    """Return whether scores on a CPU are known to be finite; NumPy needs one thread only, and waits for no other."""
    if scores.device.type != "cpu" or torch.compiler.is_compiling():
        return False
    try:
        return bool(np.isfinite(scores.detach().numpy()).all())
    except (RuntimeError, TypeError):  # under vmap
        return False


def nan_unless(fine: Tensor, scores: Tensor, weight: Tensor | None = None) -> tuple[Tensor, Tensor | None]:
    """Return scores that are NaN, and weights that are 1, unless a condition and the weights are fine: neither is read.

    Examples
    --------
    >>> nan_unless(torch.tensor(True), torch.zeros(1), torch.tensor([-1.0]))
    (tensor([nan]), tensor([1.]))
    """
    if weight is not None:
        fine = fine & _all_weights(weight)
        weight = torch.where(fine, weight, 1.0)
    return torch.where(fine, scores, torch.nan), weight


def _all_finite(scores: Tensor, weight: Tensor | None) -> Tensor:
    finite = scores.isfinite()
    return (finite if weight is None else finite | (weight == 0)).all()


def check_both_weights(
    pos_weight: Any, neg_weight: Any, pos: Tensor, neg: Tensor
) -> tuple[Tensor | None, Tensor | None]:
    """Return the weights of two classes, each checked as by ``check_weight``; None stays None.

    Examples
    --------
    >>> check_both_weights(None, [3.0], torch.zeros(2), torch.zeros(1))
    (None, tensor([3.], dtype=torch.float64))
    """
    w = None if pos_weight is None else _as_weight(pos_weight, pos, "pos_weight")
    v = None if neg_weight is None else _as_weight(neg_weight, neg, "neg_weight")
    if w is not None and v is not None and concrete(_all_weights(w) & _all_weights(v)):
        return w, v
    for weight, name in ((w, "pos_weight"), (v, "neg_weight")):
        if weight is not None:
            _refuse_bad_weight(weight, name)
    return w, v


class Problem(NamedTuple):
    """Checked scores (..., n), which of them are positive, and their weights in float64 or None, all of one shape.

    Leading dimensions are independent problems. ``complete`` says whether each of them has weight in both classes; it
    is None where that cannot be read, or is not to be read.

    Examples
    --------
    >>> check_problem([0.5, -1.0], [1, 1], None).complete
    False
    """

    scores: Tensor
    positive: Tensor
    weight: Tensor | None
    complete: bool | None


def check_problem(scores: Any, target: Any, weight: Any, validate: bool = True) -> Problem:
    """Return scores, labels and weights as a ``Problem``, or raise a ValueError that says what is wrong with them.

    Scores must be finite where they have weight. Under ``torch.compile`` and ``vmap``, where nothing can be read,
    scores become NaN if a value is wrong. Without ``validate``, shapes and dtypes are checked, but no values: 1 is
    positive, any other label is negative.

    Examples
    --------
    >>> check_problem([0.5, -1.0], [1, 0], [1, 2]).weight.tolist()
    [1.0, 2.0]
    """
    scores = as_real(scores, "scores")
    if scores.ndim == 0:
        raise ValueError("scores must have shape (n,) or (..., n), got a single number")
    labels = as_tensor(target, _LABELS)
    if weight is None and validate and scores.ndim == 1:
        quick = _quickly(scores, labels)
        if quick is not None:
            return quick
    one = _ones(labels)
    try:
        positive = _fitting(one.to(scores.device), scores)
        weight = None if weight is None else _as_weight(weight, scores, "weight")
    except ValueError:
        if validate:
            _refuse_other_labels(labels, one)  # that labels are not binary says more than that their shape is wrong
        raise
    if not validate:
        return Problem(scores, positive, weight, None)
    complete = both_classes(positive, weight)
    fine = complete & _all_finite(scores, weight)
    fine = fine if labels.dtype == torch.bool else fine & _all_labels(labels, one).to(scores.device)
    if concrete(fine if weight is None else fine & _all_weights(weight)):
        return Problem(scores, positive, weight, True)
    _refuse_other_labels(labels, one)
    if weight is not None:
        _refuse_bad_weight(weight, "weight")
    check_finite(scores, "scores", weight)
    if concrete(fine) is None:
        fine = _all_finite(scores, weight)
        fine = fine if labels.dtype == torch.bool else fine & _all_labels(labels, one).to(scores.device)
        scores, weight = nan_unless(fine, scores, weight)
    return Problem(scores, positive, weight, concrete(complete))


def _quickly(scores: Tensor, labels: Tensor) -> Problem | None:
    """Return a problem on a CPU that has both classes and no faults, by NumPy, which takes a fraction of the time."""
    if scores.shape != labels.shape or scores.device.type != "cpu" or torch.compiler.is_compiling():
        return None
    try:
        values, numbers = labels.numpy(), scores.detach().numpy()
    except (RuntimeError, TypeError):  # under vmap, on another device, or a dtype that NumPy does not have
        return None
    if not np.isfinite(numbers).all():
        return None
    one = values if values.dtype == np.bool_ else values == 1
    count, n = int(np.count_nonzero(one)), len(values)
    if not 0 < count < n:
        return None
    if np.count_nonzero(values) != count and np.count_nonzero(values == -1) != n - count:
        return None
    # Labels that are bool stay the caller's tensor: autograd then notices if they change before the backward pass.
    return Problem(scores, labels if labels.dtype == torch.bool else torch.from_numpy(one), None, True)


def both_classes(positive: Tensor, weight: Tensor | None) -> Tensor:
    """Return whether positives and negatives both have weight in every problem, as a bool tensor of shape ().

    Examples
    --------
    >>> both_classes(torch.tensor([True, False]), torch.tensor([1.0, 0.0]))
    tensor(False)
    """
    # For bools, a > b is a & ~b.
    if weight is None:
        both = positive.any(-1) > positive.all(-1)
    else:
        counts = weight > 0
        both = (counts & positive).any(-1) & (counts > positive).any(-1)
    return both.all() if both.ndim else both


def check_probability(name: str, value: Any) -> None:
    """Raise a ValueError unless 0 <= value <= 1.

    Examples
    --------
    >>> check_probability("pi", 1.2)
    Traceback (most recent call last):
    ...
    ValueError: pi must be between 0 and 1, got 1.2
    """
    if value is None:
        raise ValueError(f"{name} must be a number between 0 and 1, got None: an estimate that cannot be had is None")
    if not isinstance(value, Real) or not 0 <= float(value) <= 1:
        raise ValueError(f"{name} must be between 0 and 1, got {value!r}")


def check_contamination(pi: float, pi_prime: float) -> None:
    """Raise a ValueError unless 0 <= pi' < pi <= 1.

    Examples
    --------
    >>> check_contamination(0.3, 0.8)
    Traceback (most recent call last):
    ...
    ValueError: pi must exceed pi', got pi = 0.3 and pi' = 0.8: swap the two labels, and with them pi and pi'
    """
    check_probability("pi", pi)
    check_probability("pi_prime", pi_prime)
    if pi == pi_prime:
        raise ValueError(f"pi must exceed pi', got {pi:g} for both: such labels say nothing about the classes")
    if pi < pi_prime:
        raise ValueError(
            f"pi must exceed pi', got pi = {pi:g} and pi' = {pi_prime:g}: swap the two labels, and with them pi and pi'"
        )


def check_fraction(name: str, value: float) -> None:
    """Raise a ValueError unless 0 < value < 1.

    Examples
    --------
    >>> check_fraction("level", 1)
    Traceback (most recent call last):
    ...
    ValueError: level must be between 0 and 1, got 1
    """
    if not 0 < value < 1:
        raise ValueError(f"{name} must be between 0 and 1, got {value!r}")


def _ones(labels: Tensor) -> Tensor:
    return labels if labels.dtype == torch.bool else labels == 1


def _all_labels(labels: Tensor, one: Tensor) -> Tensor:
    return (labels == one).all() | (one | (labels == -1)).all()


def _refuse_other_labels(labels: Tensor, one: Tensor) -> None:
    if labels.dtype != torch.bool and concrete(_all_labels(labels, one)) is False:
        values = sorted(set(labels.flatten().tolist()), key=lambda value: (value != value, str(value)))
        shown = ", ".join(f"{value:g}" for value in values[:5]) + (", ..." if len(values) > 5 else "")
        raise ValueError(f"labels must be {{0, 1}}, {{-1, +1}} or bool, got the values {shown}")


def _fitting(positive: Tensor, scores: Tensor) -> Tensor:
    """Return labels in the scores' shape."""
    n = scores.shape[-1]
    if positive.ndim == 0 or positive.shape[-1] != n or positive.ndim > scores.ndim:
        expected = f"({n},)" if scores.ndim == 1 else f"({n},) or the scores' shape {tuple(scores.shape)}"
        longer = "scores" if scores.ndim > positive.ndim else "target"
        column = (scores if longer == "scores" else positive).shape[-1:] == (1,)
        hint = f"; use {longer}.squeeze(-1)" if column and scores.numel() == positive.numel() else ""
        raise ValueError(f"target must have shape {expected}, got {tuple(positive.shape)}{hint}")
    try:
        return positive.expand(scores.shape)
    except RuntimeError:
        raise ValueError(
            f"target of shape {tuple(positive.shape)} does not fit scores of shape {tuple(scores.shape)}"
        ) from None


def _as_weight(weight: Any, scores: Tensor, name: str) -> Tensor:
    """Return weights in float64 and the scores' shape, whatever their values."""
    real = as_real(weight, name, torch.float64).to(scores.device)
    if real.requires_grad:
        raise ValueError(f"{name} is a constant here: gradients flow to the scores only; pass {name}.detach()")
    try:
        return real.expand(scores.shape)
    except RuntimeError:
        raise ValueError(f"{name} must have the scores' shape {tuple(scores.shape)}, got {tuple(real.shape)}") from None


def _all_weights(weight: Tensor) -> Tensor:
    return ((weight >= 0) & (weight < torch.inf)).all()


def _refuse_bad_weight(weight: Tensor, name: str) -> None:
    if concrete(_all_weights(weight)) is False:
        wrong = weight[~((weight >= 0) & (weight < torch.inf))].flatten()[0].item()
        raise ValueError(f"{name} must hold finite numbers >= 0, got {wrong:g}")
