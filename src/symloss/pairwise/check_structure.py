"""Whether a loss is what its structure says: compared once, when the structure of a loss is first used."""

from __future__ import annotations

from functools import lru_cache

import torch
from torch import Tensor

from symloss.losses import Analytic, ExponentialDecay, Loss
from symloss.pairwise.every_pair import every_pair
from symloss.pairwise.smooth import smooth

_TOLERANCE = 1e-8  # of the largest value; a true structure differs by less than 1e-10


def check_structure(loss: Loss) -> None:
    """Raise a ValueError if a loss and its structure differ.

    Examples
    --------
    >>> from symloss.losses import Kink, Piecewise
    >>> class Wrong(Loss):
    ...     structure = Piecewise(kinks=(Kink(where=1.0, weight=2.0),))
    ...     def value(self, z):
    ...         return (1 - z).clamp(min=0)
    >>> check_structure(Wrong())
    Traceback (most recent call last):
    ...
    ValueError: the structure of Wrong() must have its values: at z = -1000 the loss is 1001, and its structure says ...
    """
    try:
        _compare(loss)
    except TypeError as error:  # its parameters cannot be hashed
        if "unhashable" not in str(error):
            raise
        _compare.__wrapped__(loss)


@lru_cache(maxsize=256)
def _compare(loss: Loss) -> None:
    structure = loss.structure
    if isinstance(structure, Analytic):
        _compare_lines(loss, structure)
        _compare_sums(loss, structure)
    elif structure is not None:
        far = 30 / max(abs(structure.rate), 1e-300) if isinstance(structure, ExponentialDecay) else 1000.0
        sizes = torch.logspace(-6, 0, 200, dtype=torch.float64, device="cpu") * far
        kinks = [where + sign * max(1.0, abs(where)) for where in loss.breakpoints for sign in (-0.01, 0.0, 0.01)]
        z = torch.cat([-sizes.flip(0), sizes.new_tensor(kinks), sizes])
        _refuse(loss, z, loss.checked_value(z), structure(z))


def _compare_lines(loss: Loss, structure: Analytic) -> None:
    """Compare the loss with its lines, where it has reached them by the rates that it declares."""
    lengths = torch.linspace(0, 100, 101, dtype=torch.float64, device="cpu")
    for side, line, rate in ((-1, structure.left, structure.left_rate), (1, structure.right, structure.right_rate)):
        z = side * lengths / rate
        values = loss.checked_value(z)
        reached = lengths < 36  # exp(-36) is 2e-16
        _refuse(loss, z, values, torch.where(reached, values, line[0] + line[1] * z))


def _compare_sums(loss: Loss, structure: Analytic) -> None:
    """Compare means over pairs from the grid with those of every pair: the grid's spacing follows the poles."""
    slowest = min(structure.left_rate, structure.right_rate)
    if structure.pole_distance < 1e-3 / slowest:
        raise ValueError(
            f"the structure of {loss!r} must have a pole_distance of at least {1e-3 / slowest:g} (1e-3 / its smaller "
            f"rate), got {structure.pole_distance:g}: the grid would be too fine; leave the structure out"
        )
    reach = 12 / slowest
    pos, neg = (torch.linspace(-reach, reach, n, dtype=torch.float64, device="cpu") for n in (300, 341))
    for found, exact in zip(smooth(pos, neg, None, None, loss), every_pair(pos, neg, None, None, loss), strict=True):
        difference = float((found - exact).abs().max())
        if not difference <= _TOLERANCE * float(exact.abs().max()):
            raise ValueError(
                f"the structure of {loss!r} must be true: sums over pairs computed with it differ from those of every "
                f"pair by {difference:.2g}; is pole_distance = {structure.pole_distance:g} right?"
            )


def _refuse(loss: Loss, z: Tensor, values: Tensor, declared: Tensor) -> None:
    """Raise an error if values differ from what the structure says."""
    wrong = ~((values - declared).abs() <= _TOLERANCE * torch.maximum(values.abs(), 1e-3 * values.abs().max()))
    if bool(wrong.any()):
        at = int(wrong.nonzero()[0])
        raise ValueError(
            f"the structure of {loss!r} must have its values: at z = {z[at]:g} the loss is {values[at]:g}, and its "
            f"structure says {declared[at]:g}, which differs by {(values - declared)[at].abs():.2g}"
        )
