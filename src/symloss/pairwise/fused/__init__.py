"""Fused kernels for NVIDIA GPUs, where most of the time of the plain algorithms is that of launching small steps.

They need Triton, which comes with PyTorch for GPUs. Where it is missing, or for problems that no kernel is made for,
the plain algorithms compute the same sums.
"""

from __future__ import annotations

from functools import cache
from importlib.util import find_spec
from typing import TYPE_CHECKING, cast

import torch
from torch import Tensor

from symloss.losses import Analytic, Loss, Piecewise
from symloss.pairwise.bands import cancels
from symloss.pairwise.fused.formulas import Formula, ends_of, formula_of
from symloss.pairwise.fused.lost import lost_rows
from symloss.pairwise.fused.points import Points, Results, room_for

if TYPE_CHECKING:
    from symloss.losses import ExponentialDecay, Structure

# The most pairs for which computing each is fastest: separable losses, kinks and smooth losses.
_SEPARABLE, _KINKS, _SMOOTH = 1 << 24, 1 << 26, 1 << 26
_MOST_PROBLEMS = 65_535  # of one launch
_MOST_SCORES = 1 << 30  # twice a number of scores must fit into an int32


@cache
def _has_triton() -> bool:
    return find_spec("triton") is not None


def fits(scores: Tensor) -> bool:
    """Return whether kernels can run where these scores are; they are launched on the current device."""
    if not scores.is_cuda or not _has_triton() or scores.get_device() != torch.cuda.current_device():
        return False
    return 0 < scores.shape[-1] < _MOST_SCORES


def fused_sums(points: Points, loss: Loss, dtype: torch.dtype, method: str, reads: bool = True) -> Results | None:
    """Return the value and both gradients in ``dtype``, or None if the plain algorithms must do it.

    Unless ``reads``, nothing is read from the device, and nothing waits for it. Kernels then compute every pair where
    those for the structure do not do. That can take long for scores that are not finite, or very far apart.
    """
    device, structure = points.pos.device, loss.structure
    formula, ends = formula_of(loss, device), ends_of(loss, device)
    k, n, m = points.sizes()
    if k > _MOST_PROBLEMS:
        return None
    pairs = k * n * m if points.split is None else n * n // 4
    every = method == "tiles" or (method == "auto" and pairs <= _most_pairs(structure))
    if formula is not None and every:
        into = room_for(points, dtype)
        _every_pair(points, formula, ends, into)
        return into
    if k > 1 or method == "tiles" or not _has_kernels(structure):
        return None
    into = room_for(points, dtype)
    capturing = points.pos.is_cuda and torch.cuda.is_current_stream_capturing()
    reads = not capturing and (reads or formula is None)
    flag = _structured(points, loss, formula, ends, into, reads)
    if flag is None:
        return None
    if reads:
        return None if not isinstance(structure, Analytic) and bool(flag) else into
    if formula is not None:
        _every_pair(points, formula, ends, into, flag)
        return into
    return Results(torch.where(flag.view(()) == 0, into.value, torch.nan), into.gradients)


def _every_pair(points: Points, formula: Formula, ends: Tensor, into: Results, flag: Tensor | None = None) -> None:
    from symloss.pairwise.fused.pairs import every_pair
    from symloss.pairwise.fused.problems import every_pair_of_small, is_small

    if flag is None and is_small(points):
        every_pair_of_small(points, formula, ends, into)
    else:
        every_pair(points, formula, ends, into, flag)


def _most_pairs(structure: Structure | None) -> int:
    if isinstance(structure, Analytic):
        return _SMOOTH
    return _KINKS if isinstance(structure, Piecewise) and structure.kinks else _SEPARABLE


def _has_kernels(structure: Structure | None) -> bool:
    if isinstance(structure, Piecewise):
        return not structure.kinks or not any(structure.coefficients[2:])
    return structure is not None


def _structured(
    points: Points, loss: Loss, formula: Formula | None, ends: Tensor, into: Results, reads: bool
) -> Tensor | None:
    structure = loss.structure
    if isinstance(structure, Analytic):
        from symloss.pairwise.fused.smooth import smooth

        return smooth(points, loss, formula, ends, into, reads)
    if isinstance(structure, Piecewise) and structure.kinks:
        from symloss.pairwise.fused.kinks import bends_of, kinked

        flag = kinked(points, bends_of(structure, points.pos.device), ends, into)
        weighted = points.pos_share is not None or points.neg_share is not None
        return flag | lost_rows(points, into.gradients, structure) if weighted and cancels(structure) else flag
    from symloss.pairwise.fused.separable import separable

    return separable(points, cast("Piecewise | ExponentialDecay", structure), ends, into)


def fused_point_sums(scores: Tensor, positive: Tensor, share: Tensor | None, loss: Loss, reads: bool) -> Results | None:
    """Return the value and the gradient (N,) of points with labels, or None as ``fused_sums`` does."""
    from symloss.pairwise.fused.split import split

    return fused_sums(split(scores.contiguous(), positive.contiguous(), share), loss, scores.dtype, "auto", reads)
