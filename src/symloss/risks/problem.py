"""What a risk is computed of: scores, which of them are positive, and their weights, checked once where they come in.

Reading a value makes a GPU wait. So all values are checked with a single read, and one by one only if some are wrong.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np
import torch
from torch import Tensor

from symloss.checking import (
    LABELS,
    all_finite,
    are_labels,
    are_weights,
    as_real,
    as_tensor,
    as_weight,
    check_finite,
    check_weight,
    concrete,
    fitted_weight,
    nan_unless,
    raise_for_labels,
    shown_values,
)


class Problem(NamedTuple):
    """Checked scores (..., n), which of them are positive, and their weights in float64 or None, all of one shape.

    Leading dimensions are independent problems. ``complete`` says whether each of them has weight in both classes; it
    is None where that cannot be read, or is not to be read.
    """

    scores: Tensor
    positive: Tensor
    weight: Tensor | None
    complete: bool | None

    def has_both(self) -> Tensor:
        """Return for each problem whether positives and negatives both have weight, as a bool tensor (...)."""
        if self.weight is None:
            return self.positive.any(-1) > self.positive.all(-1)  # for bools, a > b is a & ~b
        counts = self.weight > 0
        return (counts & self.positive).any(-1) & (counts > self.positive).any(-1)


def check_problem(
    scores: Any,
    target: Any,
    weight: Any = None,
    validate: bool = True,
    num_labels: int | None = None,
    ignore_index: float | None = None,
) -> Problem:
    """Return scores, labels and weights as a ``Problem``, or raise a ValueError that says what is wrong with them.

    Scores of shape (N, 1) are N scores. With ``num_labels``, scores of shape (N, L) become L problems of N points.
    Labels equal to ``ignore_index``, or NaN, get weight 0; a point without weight may have any label and score. Where
    nothing can be read, under ``torch.compile`` and ``vmap``, scores become NaN if a value is wrong. Without
    ``validate``, shapes and dtypes are checked, but no values: 1 is positive, any other label is negative.

    Examples
    --------
    >>> check_problem([0.5, -1.0, 2.0], [1, 0, -1], ignore_index=-1).weight.tolist()
    [1.0, 1.0, 0.0]
    >>> check_problem(torch.zeros(4, 3), [0, 2, 1, 2], num_labels=3).positive.int().tolist()
    [[1, 0, 0, 0], [0, 0, 1, 0], [0, 1, 0, 1]]
    """
    scores, labels = as_real(scores, "scores"), as_tensor(target, LABELS)
    if weight is None and validate and num_labels is None and ignore_index is None and scores.shape == labels.shape:
        quick = _quickly(*((scores, labels) if scores.ndim < 2 else (scores.squeeze(-1), labels.squeeze(-1))))
        if quick is not None:
            return quick
    if scores.ndim == 0:
        raise ValueError("scores must have shape (n,) or (..., n), got a single number")
    labels = labels.to(scores.device)
    weight = None if weight is None else as_weight(weight, scores)
    if num_labels is None:
        return _checked(*_rows(scores, labels, weight), None, validate, ignore_index)
    return _checked(*_columns(scores, labels, weight, num_labels), validate, ignore_index)


def _quickly(scores: Tensor, labels: Tensor) -> Problem | None:
    """Return a problem (n,) on a CPU that has both classes and no faults; NumPy takes a fraction of the time."""
    if scores.ndim != 1 or not scores.is_cpu or torch.compiler.is_compiling():
        return None
    try:
        values, numbers = labels.numpy(), scores.detach().numpy()
    except (RuntimeError, TypeError):  # under vmap, on another device, or a dtype that NumPy does not have
        return None
    if not np.logical_and.reduce(np.isfinite(numbers)):  # quicker than all()
        return None
    one = values if values.dtype == np.bool_ else values == 1
    count, n = int(np.count_nonzero(one)), len(values)
    if not 0 < count < n:
        return None
    if np.count_nonzero(values) != count and np.count_nonzero(values == -1) != n - count:
        return None
    # Labels that are bool stay the caller's tensor: autograd then notices if they change before the backward pass.
    return Problem(scores, labels if labels.dtype == torch.bool else torch.from_numpy(one), None, True)


def _rows(scores: Tensor, labels: Tensor, weight: Tensor | None) -> tuple[Tensor, Tensor, Tensor | None]:
    """Return scores, labels and weights (..., n) without a last dimension of 1, which could hold no pair."""
    column = scores.ndim > 1 and scores.shape[-1] == 1
    scores = scores.squeeze(-1) if column else scores

    def flat(x: Tensor) -> Tensor:
        return x.squeeze(-1) if x.ndim > 1 and x.shape[-1] == 1 and (column or x.ndim > scores.ndim) else x

    labels = flat(labels)
    if labels.ndim and labels.shape[-1] == scores.shape[-1] and labels.ndim <= scores.ndim:
        try:
            return scores, labels.expand(scores.shape), None if weight is None else fitted_weight(flat(weight), scores)
        except RuntimeError:  # leading dimensions that do not fit
            pass
    hint = "; for one problem a column, or class numbers, pass num_labels" if scores.ndim > 1 else ""
    if labels.dtype != torch.bool and concrete(are_labels(labels)) is False:  # says more than a wrong shape
        raise_for_labels(labels, hint)
    shape = tuple(scores.shape)
    expected = str(shape) if len(shape) == 1 else f"{shape[-1:]} or the scores' shape {shape}"
    raise ValueError(f"target must have shape {expected}, got {tuple(labels.shape)}{hint}")


def _columns(
    scores: Tensor, labels: Tensor, weight: Tensor | None, num_labels: int
) -> tuple[Tensor, Tensor, Tensor | None, int | None]:
    """Return scores (L, n), labels (L, n), or (n,) if they are class numbers, weights, and the number of classes."""
    if scores.ndim != 2 or scores.shape[1] != num_labels:
        got = tuple(scores.shape)
        raise ValueError(f"scores must have shape (N, {num_labels}) with num_labels={num_labels!r}, got {got}")
    n = len(scores)
    if weight is not None:
        weight = fitted_weight(weight[:, None] if weight.ndim == 1 else weight, scores).mT
    if labels.shape == scores.shape:
        return scores.mT, labels.mT, weight, None
    if labels.shape not in ((n,), (n, 1)):
        raise ValueError(
            f"target must have shape {(n, num_labels)}, or {(n,)} for class numbers, got {tuple(labels.shape)}"
        )
    labels = labels.reshape(n)
    return scores.mT, (labels if num_labels > 1 else labels[None]), weight, num_labels if num_labels > 1 else None


def _checked(
    scores: Tensor,
    labels: Tensor,
    weight: Tensor | None,
    num_classes: int | None,
    validate: bool,
    ignore_index: float | None,
) -> Problem:
    """Return a problem whose shapes fit and whose values are right."""
    if ignore_index is not None:
        there = labels != ignore_index
        if labels.is_floating_point():
            there = there & ~labels.isnan()
        weight = there.double().expand(scores.shape) if weight is None else weight * there
    if num_classes is None:
        positive = labels if labels.dtype == torch.bool else labels == 1
    else:
        positive = labels == torch.arange(num_classes, device=labels.device)[:, None]
    problem = Problem(scores, positive, weight, None)
    if not validate:
        return problem
    right = _are_right(labels, weight, num_classes)
    fine = right & all_finite(scores, weight)
    fine = fine if weight is None else fine & are_weights(weight)
    both = problem.has_both().all()
    if concrete(fine & both):
        return problem._replace(complete=True)
    if ignore_index is None and labels.is_floating_point() and concrete(labels.isnan().any()) is not False:
        return _checked(scores, labels, weight, num_classes, validate, math.nan)
    if concrete(fine) is None:
        scores, weight = nan_unless(fine, scores, weight)
        return Problem(scores, positive, weight, None)
    if not fine:
        _raise(scores, labels, weight, right, num_classes)
    return problem._replace(complete=concrete(both))


def _are_right(labels: Tensor, weight: Tensor | None, num_classes: int | None) -> Tensor:
    """Return whether all labels that have weight are possible ones, as a bool tensor of shape ()."""
    if labels.dtype == torch.bool:
        return torch.ones((), dtype=torch.bool, device=labels.device)
    anything = None if weight is None else weight == 0
    if num_classes is None:
        return are_labels(labels, anything)
    number = (labels >= 0) & (labels < num_classes) & (labels == labels.floor())
    return (number if anything is None else number | anything).all()


def _raise(scores: Tensor, labels: Tensor, weight: Tensor | None, right: Tensor, num_classes: int | None) -> None:
    """Raise the ValueError that says which values are wrong: of labels, of weights, else of scores."""
    if weight is not None:
        check_weight(weight, scores)
    if not right:
        counted = labels if weight is None else labels.expand(scores.shape)[weight > 0]
        if num_classes is not None:
            got = shown_values(counted)
            raise ValueError(f"class numbers must be whole numbers from 0 to {num_classes - 1}, got the values {got}")
        raise_for_labels(counted, "; a label that is missing is NaN or ignore_index")
    check_finite(scores, "scores", weight)
