"""Binary labels in their three codings: {0, 1}, {-1, +1} and bool."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from symloss.tracing import as_tensor, concrete


def is_positive(target: Any) -> Tensor:
    """Return which labels are positive, as a bool tensor; other labels than the three codings are an error.

    Examples
    --------
    >>> is_positive([-1, 1, 1])
    tensor([False,  True,  True])
    """
    labels = as_tensor(target, "labels in {0, 1}, {-1, +1} or bool")
    if labels.dtype == torch.bool:
        return labels
    one = labels == 1
    if all(concrete((one | (labels == other)).all()) is False for other in (0, -1)):
        values = sorted(set(labels.flatten().tolist()), key=lambda value: (value != value, str(value)))
        shown = ", ".join(f"{value:g}" for value in values[:5]) + (", ..." if len(values) > 5 else "")
        raise ValueError(f"labels must be {{0, 1}}, {{-1, +1}} or bool, got the values {shown}")
    return one
