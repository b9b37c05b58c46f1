"""Checks of the parameters of losses."""

from __future__ import annotations

import math
import sys
from typing import Any

import numpy as np


def check_number(
    loss: Any, name: str, *, above: float = -math.inf, below: float = math.inf, at_most: float = math.inf
) -> None:
    """Raise a ValueError unless a parameter of a loss is a finite number within its bounds.

    Examples
    --------
    >>> import symloss as sl
    >>> sl.BarrierHinge(b=1)
    Traceback (most recent call last):
    ...
    ValueError: barrier hinge needs a finite number b > 1, got b=1
    """
    value = getattr(loss, name)
    number = isinstance(value, int | float | np.number) and not isinstance(value, bool)
    if not number or not abs(value) <= sys.float_info.max or not (above < value < below and value <= at_most):
        bounds = ((">", above), ("<", below), ("<=", at_most))
        asked = " and ".join(f"{sign} {bound:g}" for sign, bound in bounds if math.isfinite(bound))
        raise ValueError(f"{loss.title.lower()} needs a finite number {name} {asked}, got {name}={value!r}")
