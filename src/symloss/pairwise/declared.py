"""Whether a loss is what its structure says: compared once, when the structure of a user's own loss is first used."""

from __future__ import annotations

import sys

import torch
from torch import Tensor

from symloss.losses import Analytic, ExponentialDecay, Loss, Piecewise, Slope
from symloss.pairwise.problem import Side
from symloss.pairwise.remembering import remembered
from symloss.pairwise.smooth import analytic
from symloss.pairwise.tiles import tiled

_POINTS = 300
_FARTHEST = 30  # as a power of 10: margins are compared up to this size
_LEAST_POLE = 1e-3  # in lengths of decay: the grid has thousands of points in each length already
_ROUNDING = 1e-14
_TOLERANCE = 1e-8  # of the largest value: what the algorithms compute differs by less than 1e-10 for a true structure


def check_declared(loss: Loss) -> None:
    """Raise a ValueError if a loss and its structure differ; the losses of symloss are trusted.

    Examples
    --------
    >>> from symloss.losses import Kink
    >>> class Wrong(Loss):
    ...     structure = Piecewise(kinks=(Kink(where=1.0, weight=2.0),))
    ...     def value(self, z):
    ...         return (1 - z).clamp(min=0)
    >>> check_declared(Wrong())
    Traceback (most recent call last):
    ...
    ValueError: the structure of Wrong() must have its values: at z = -1000 the loss is 1001, and its structure says ...
    """
    own = loss.loss if isinstance(loss, Slope) else loss
    if not type(own).__module__.startswith("symloss.losses."):
        if any(isinstance(parameter, Tensor) for parameter in vars(own).values()):
            _compare.__wrapped__(loss)  # type: ignore[attr-defined]  # its numbers may change
        else:
            _compare(loss)


@remembered
def _compare(loss: Loss) -> None:
    structure = loss.structure
    if isinstance(structure, Analytic):
        _check_pole(loss, structure)
        _compare_lines(loss, structure)
        _compare_sums(loss, structure)
    elif isinstance(structure, Piecewise | ExponentialDecay):
        near, far = _margins(structure), _far_margins(structure)
        z = torch.cat([near, far])
        values, declared = loss.checked_value(z), structure(z)
        size, rounding = torch.maximum(values.abs(), declared.abs()), _ROUNDING * _parts(structure, z)
        size[: len(near)].clamp_(min=1e-3 * float(values[: len(near)].abs().max()))
        overflowed = ~(values.isfinite() & declared.isfinite())
        overflowed[: len(near)] = False
        tolerance = (_TOLERANCE * size + rounding + sys.float_info.min / _TOLERANCE).where(~overflowed, torch.inf)
        _refuse_difference(loss, z, values, declared, tolerance)


def _parts(structure: Piecewise | ExponentialDecay, z: Tensor) -> Tensor:
    """Return the sum of the sizes of a structure's parts: where they cancel, their rounding remains."""
    if isinstance(structure, ExponentialDecay):
        return structure(z).abs()
    powers = [abs(coefficient) * z.abs() ** power for power, coefficient in enumerate(structure.coefficients)]
    kinks = [abs(kink.weight) * (kink.where - z).clamp(min=0) ** kink.power for kink in structure.kinks]
    return sum([*powers, *kinks], torch.zeros_like(z))


def _margins(structure: Piecewise | ExponentialDecay) -> Tensor:
    """Return margins of all sizes, and on both sides of every kink."""
    sizes = torch.logspace(-3, 3, _POINTS // 2, dtype=torch.float64, device="cpu")
    if isinstance(structure, ExponentialDecay):
        sizes = sizes * (30.0 / 1000.0 / max(abs(structure.rate), 1e-300))  # exp overflows beyond 700
        return torch.cat([-sizes.flip(0), sizes])
    kinks = [kink.where + side * max(1.0, abs(kink.where)) for kink in structure.kinks for side in (-0.01, 0.0, 0.01)]
    return torch.cat([-sizes.flip(0), torch.tensor(kinks, dtype=torch.float64, device="cpu"), sizes])


def _far_margins(structure: Piecewise | ExponentialDecay) -> Tensor:
    """Return margins as far out as scores may lie; an exponential is compared up to where it overflows."""
    sizes = torch.logspace(3, _FARTHEST, _POINTS // 4, dtype=torch.float64, device="cpu")
    if isinstance(structure, ExponentialDecay):
        exponents = torch.linspace(30.0, 690.0, _POINTS // 4, dtype=torch.float64, device="cpu")
        sizes = torch.cat([exponents / max(abs(structure.rate), 1e-300), sizes])
    return torch.cat([-sizes, sizes])


def _check_pole(loss: Loss, structure: Analytic) -> None:
    """Refuse poles so close to the real axis that their grid would not fit into memory."""
    least = _LEAST_POLE / min(structure.left_rate, structure.right_rate)
    if structure.pole_distance < least:
        raise ValueError(
            f"the structure of {loss!r} must have a pole_distance of at least {least:g} ({_LEAST_POLE:g} / its smaller "
            f"rate), got {structure.pole_distance:g}: the spacing of the grid follows it, and a finer grid would not "
            "fit into memory; without a structure, the loss is computed pair by pair"
        )


def _compare_lines(loss: Loss, structure: Analytic) -> None:
    """Compare the loss with the lines that it approaches, where it has reached them by the rates that it declares."""
    for side, (intercept, slope), rate in (
        (-1.0, structure.left, structure.left_rate),
        (1.0, structure.right, structure.right_rate),
    ):
        lengths = torch.cat(
            [
                torch.linspace(0.0, 72.0, _POINTS, dtype=torch.float64, device="cpu"),
                torch.logspace(2, _FARTHEST, _POINTS // 4, dtype=torch.float64, device="cpu"),
            ]
        )
        z = side * lengths / rate
        values, line = loss.checked_value(z), intercept + slope * z
        near = float((values - line).abs()[lengths < 6].max())
        tolerance = 1e-12 * near + _ROUNDING * values.abs()
        far = lengths > 72  # where a loss may be the difference of two numbers of the size of z, or may overflow
        tolerance = torch.where(far, tolerance + _ROUNDING * z.abs(), tolerance)
        overflowed = far & ~(values.isfinite() & line.isfinite())
        tolerance = tolerance.where((lengths > 36) & ~overflowed, torch.inf)  # exp(-36) is 2e-16
        _refuse_difference(loss, z, values, line, tolerance)


def _compare_sums(loss: Loss, structure: Analytic) -> None:
    """Compare means over all pairs from the grid with those of every pair: the grid's spacing follows the poles."""
    reach = 12.0 / min(structure.left_rate, structure.right_rate)
    pos, neg = (
        Side(torch.linspace(-reach, reach, n, dtype=torch.float64, device="cpu")[None], None)
        for n in (_POINTS, _POINTS + 41)
    )
    size = float(loss.checked_value(pos.scores).abs().max())
    for name, grid, every in zip(
        ("value", "gradient", "gradient"), analytic(pos, neg, loss, structure), tiled(pos, neg, loss), strict=True
    ):
        difference = float((grid - every).abs().max())
        if not difference <= _TOLERANCE * (size if name == "value" else 1e-6 * size + float(every.abs().max())):
            raise ValueError(
                f"the structure of {loss!r} must be true: the {name} over pairs computed with it differs from that of "
                f"every pair by {difference:.2g}; is pole_distance = {structure.pole_distance:g} right?"
            )


def _refuse_difference(loss: Loss, z: Tensor, values: Tensor, declared: Tensor, tolerance: Tensor) -> None:
    wrong = ~((values - declared).abs() <= tolerance) & (tolerance < torch.inf)
    if bool(wrong.any()):
        at = int(wrong.nonzero()[0])
        raise ValueError(
            f"the structure of {loss!r} must have its values: at z = {z[at]:g} the loss is {values[at]:g}, and its "
            f"structure says {declared[at]:g}, which differs by {(values - declared)[at].abs():.2g}"
        )
