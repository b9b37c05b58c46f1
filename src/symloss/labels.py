"""Binary labels in their three codings: {0, 1}, {-1, +1} and bool."""

from __future__ import annotations

from typing import Any, cast

import torch
from torch import Tensor

from symloss.tracing import concrete


def is_positive(target: Any) -> Tensor:
    """Return which labels are positive, as a bool tensor; other labels than the three codings are an error.

    Examples
    --------
    >>> is_positive([-1, 1, 1])
    tensor([False,  True,  True])
    """
    try:
        target = torch.as_tensor(target)
    except (TypeError, ValueError, RuntimeError) as error:
        raise ValueError(f"labels must be {{0, 1}}, {{-1, +1}} or bool, got {type(target).__name__}: {error}") from None
    if target.dtype == torch.bool:
        return cast(Tensor, target)
    if target.is_complex():
        raise ValueError(f"labels must be {{0, 1}}, {{-1, +1}} or bool, got dtype {target.dtype}")
    one = target == 1
    valid = (one | (target == 0)).all() | (one | (target == -1)).all()
    if concrete(valid) is False:
        values = sorted(set(target.flatten().tolist()), key=lambda value: (value != value, value))
        shown = ", ".join(f"{value:g}" for value in values[:5]) + (", ..." if len(values) > 5 else "")
        raise ValueError(f"labels must be {{0, 1}}, {{-1, +1}} or bool, got the values {shown}")
    return cast(Tensor, target > 0)
