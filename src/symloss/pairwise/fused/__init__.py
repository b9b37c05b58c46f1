"""Fused kernels for NVIDIA GPUs, where most of the time of the plain algorithms is that of launching small steps.

They need Triton, which comes with PyTorch for GPUs. Where it is missing, or for problems that no kernel is made for,
the plain algorithms compute the same sums.
"""

from __future__ import annotations

from functools import cache
from importlib.util import find_spec
from typing import TYPE_CHECKING

import torch
from torch import Tensor

from symloss.losses import Analytic, ExponentialDecay, Loss, Piecewise
from symloss.pairwise.fused.formulas import formula_of
from symloss.pairwise.fused.points import Points
from symloss.pairwise.problem import Sums

if TYPE_CHECKING:
    from symloss.losses.structure import Structure

# The most pairs for which computing each is fastest: separable losses, kinks, smooth losses, and no structure.
_SEPARABLE, _KINKS, _SMOOTH, _ANY = 1 << 20, 1 << 26, 1 << 25, 1 << 34
_MOST_SCORES = 1 << 30  # twice a number of scores must fit into an int32


@cache
def _has_triton() -> bool:
    return find_spec("triton") is not None


def fits(scores: Tensor) -> bool:
    """Return whether kernels can run where these scores are."""
    return scores.device.type == "cuda" and _has_triton() and 0 < scores.shape[-1] < _MOST_SCORES


def fused_sums(points: Points, loss: Loss, dtype: torch.dtype, method: str) -> Sums | None:
    """Return the value (k,) in float64 and both gradients in ``dtype``, or None if the plain algorithms must do it."""
    formula = formula_of(loss, points.pos.device)
    k, n, m = points.pos.shape[0], points.pos.shape[1], points.neg.shape[1]
    pairs = k * n * m if points.split is None else n * n // 4
    structure = loss.structure
    if formula is not None and (method == "tiles" or (method == "auto" and pairs <= _most_pairs(structure))):
        from symloss.pairwise.fused.pairs import sums_of_every_pair

        return sums_of_every_pair(points, formula, dtype)
    if k > 1 or method == "tiles":
        return None
    capturing = points.pos.is_cuda and torch.cuda.is_current_stream_capturing()
    found = _structured(points, loss, structure, dtype, capturing)
    if found is None:
        return None
    sums, flag = found
    if not capturing:
        return None if not isinstance(structure, Analytic) and bool(flag) else sums
    # Nothing can be read while a CUDA graph is captured: where the flag is set, every pair is computed.
    value = torch.full_like(sums[0], torch.nan)
    if formula is not None:
        from symloss.pairwise.fused.pairs import every_pair

        value = every_pair(points, formula, sums[1:], flag)
    return torch.where(flag == 0, sums[0], value), *sums[1:]


def _most_pairs(structure: Structure | None) -> int:
    if isinstance(structure, Analytic):
        return _SMOOTH
    if structure is None:
        return _ANY
    return _KINKS if isinstance(structure, Piecewise) and structure.kinks else _SEPARABLE


def _structured(
    points: Points, loss: Loss, structure: Structure | None, dtype: torch.dtype, capturing: bool
) -> tuple[Sums, Tensor] | None:
    if isinstance(structure, Analytic):
        from symloss.pairwise.fused.smooth import smooth

        return smooth(points, loss, structure, dtype, capturing)
    if isinstance(structure, ExponentialDecay) or (isinstance(structure, Piecewise) and not structure.kinks):
        from symloss.pairwise.fused.separable import separable

        return separable(points, structure, dtype)
    if isinstance(structure, Piecewise) and not any(structure.coefficients[2:]):
        from symloss.pairwise.fused.kinks import bends_of, kinked

        return kinked(points, bends_of(structure, points.pos.device), dtype)
    return None


def fused_point_sums(
    scores: Tensor, positive: Tensor, share: Tensor | None, loss: Loss
) -> tuple[Tensor, Tensor] | None:
    """Return the value () in float64 and the gradient (N,) of points with labels, or None as ``fused_sums`` does."""
    from symloss.pairwise.fused.split import split

    points = split(scores.contiguous(), positive.contiguous(), share)
    sums = fused_sums(points, loss, scores.dtype, "auto")
    return None if sums is None else (sums[0][0], sums[1][0])
