"""Clean classes from corrupted ones, where the noise rates are known: an estimate of a clean risk, kept non-negative.

Corrupted positives CP are a mixture pi P + (1 - pi) N of the clean classes, and corrupted negatives CN a mixture
pi' P + (1 - pi') N. Solved for the clean classes, with b = (1 - pi) / (pi - pi') and d = pi' / (pi - pi'):

    P = CP + b (CP - CN),    N = CN + d (CN - CP).
"""

from __future__ import annotations

import math
from typing import NamedTuple

import torch
from torch import Tensor

from symloss.checking import check_contamination
from symloss.losses import Loss


class Unmixing(NamedTuple):
    """The clean classes in terms of the corrupted ones: P = CP + b (CP - CN) and N = CN + d (CN - CP).

    Examples
    --------
    >>> unmixing(pi=1.0, pi_prime=0.5)
    Unmixing(b=0.0, d=1.0)
    """

    b: float
    d: float


def unmixing(pi: float | None, pi_prime: float | None) -> Unmixing | None:
    """Return how the clean classes are made of the corrupted ones, or None if no rates are given.

    Examples
    --------
    >>> unmixing(0.75, None)
    Traceback (most recent call last):
    ...
    ValueError: pi and pi_prime go together, got pi=0.75 and pi_prime=None
    """
    if pi is None and pi_prime is None:
        return None
    if pi is None or pi_prime is None:
        raise ValueError(f"pi and pi_prime go together, got pi={pi!r} and pi_prime={pi_prime!r}")
    check_contamination(pi, pi_prime)
    return Unmixing(b=(1 - pi) / (pi - pi_prime), d=pi_prime / (pi - pi_prime))


def non_negative(estimate: Tensor, loss: Loss) -> Tensor:
    """Return an estimate of a mean loss, zero where it is negative, unless the loss itself takes negative values.

    The correction is that of Kiryo et al. (2017) and Lu et al. (2020). The signs of the loss are read off at margins
    up to 1e12, and a loss that is negative there keeps its estimate.

    Examples
    --------
    >>> import symloss as sl
    >>> non_negative(torch.tensor(-0.5), sl.Hinge()), non_negative(torch.tensor(-0.5), sl.Unhinged())
    (tensor(0.), tensor(-0.5000))
    """
    sizes = torch.logspace(-3, 12, 151, dtype=estimate.dtype, device=estimate.device)
    with torch.no_grad():
        values = loss.checked_value(torch.cat([-sizes, sizes.new_tensor([0.0, *loss.breakpoints]), sizes]))
    least = torch.where((values < 0).any(), -math.inf, 0.0).to(estimate.dtype)
    return estimate.clamp(min=least)
