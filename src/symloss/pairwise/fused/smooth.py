"""Kernels for smooth losses: the loss as a polynomial in either score, from its values at Chebyshev points.

A loss that is analytic around the real axis is l(s - t) = sum of T_a(s) c_ab T_b(t), up to rounding, with some ten
polynomials for scores in a narrow range and some hundreds in a wide one. So the moments of T_b over the negatives give
the slopes of all positives as one polynomial, and the other way round. There are no atomic additions, and the results
are the same at every run.
"""

from __future__ import annotations

import math
from functools import lru_cache
from typing import NamedTuple, cast

import numpy as np
import torch
import triton
import triton.language as tl
from torch import Tensor

from symloss.losses import Analytic, Loss
from symloss.pairwise.fused.formulas import Formula, on_device
from symloss.pairwise.fused.pairs import kept_in_range, value_and_slope
from symloss.pairwise.fused.points import Points, Results
from symloss.pairwise.remembering import remembered

_BLOCK = 2048
_MOST_ENDS = 512  # blocks of each class that are searched for its ends
_DIGITS = {torch.float32: math.log(1e11), torch.float64: math.log(1e16)}
_NODES = (32, 64, 128, 256, 512, 1024)
_MOST_FUSED = 128  # nodes for which one kernel computes the interaction
_UNREAD = 256  # nodes where the range of the scores is not read
_SEPARATED = 2.0  # margins that all exceed this, in decay lengths, would lose digits


class Frame(NamedTuple):
    """The middle and half the width of the range of either class, and the least and the largest margin."""

    pos_middle: float
    pos_half: float
    neg_middle: float
    neg_half: float
    least: float
    most: float


@remembered
def _limits(structure: Analytic, dtype: torch.dtype, device: torch.device) -> Tensor:
    """Return the widest half range and the extreme margins if nothing is read, and the least half width of a range."""
    widest = _widest(_UNREAD, structure, dtype)
    right, left = _SEPARATED / structure.right_rate, _SEPARATED / structure.left_rate
    numbers = [widest, right, -left, 1e-3 * structure.pole_distance]
    return on_device(numbers, device)


def _widest(nodes: int, structure: Analytic, dtype: torch.dtype) -> float:
    """Return half the width of the widest range for which so many nodes are enough.

    The error falls by a factor of rho a node, where rho is the sum of the half axes of the ellipse around the range
    that reaches the nearest pole.
    """
    rho = math.exp((_DIGITS[dtype] + 5.0) / nodes)
    return structure.pole_distance / (0.5 * (rho - 1 / rho))


@triton.jit(do_not_specialize=["n", "m", "blocks"])
def _ends_kernel(
    pos, neg, pos_share, neg_share, counts, ends, n, m, blocks, POS_WEIGHTED: tl.constexpr,
    NEG_WEIGHTED: tl.constexpr, COUNTED: tl.constexpr, BLOCK: tl.constexpr,
):  # fmt: skip
    """Store the lowest and the highest score of a part of one class; the parts of the positives come first."""
    block = tl.program_id(0)
    n_here, m_here = n, m
    if COUNTED:
        n_here, m_here = tl.load(counts).to(tl.int32), tl.load(counts + 1).to(tl.int32)
    if block < blocks:
        _ends_of_one_side(pos, pos_share, ends + 2 * block, n_here, block, blocks, POS_WEIGHTED, BLOCK)
    else:
        _ends_of_one_side(neg, neg_share, ends + 2 * block, m_here, block - blocks, blocks, NEG_WEIGHTED, BLOCK)


@triton.jit
def _ends_of_one_side(scores, shares, ends, size, block, blocks, WEIGHTED: tl.constexpr, BLOCK: tl.constexpr):
    low, high = tl.full((BLOCK,), float("inf"), tl.float64), tl.full((BLOCK,), float("-inf"), tl.float64)
    for start in range(block * BLOCK, size, blocks * BLOCK):
        i = start + tl.arange(0, BLOCK)
        there = i < size
        x = tl.load(scores + i, mask=there, other=0.0).to(tl.float64)
        if WEIGHTED:
            there = there & (tl.load(shares + i, mask=there, other=0.0) > 0)
        x = tl.where(x == x, x, float("inf"))  # NaN: a range that is not finite
        low, high = (
            tl.minimum(low, tl.where(there, x, float("inf"))),
            tl.maximum(high, tl.where(there, x, float("-inf"))),
        )
    tl.store(ends, tl.min(low, 0))
    tl.store(ends + 1, tl.max(high, 0))


@triton.jit(do_not_specialize=["blocks"])
def _frame_kernel(ends, limits, frame, flag, blocks, MOST: tl.constexpr):
    """Store the frame, and a flag that is not 0 where the nodes are not enough if nothing is read."""
    i = tl.arange(0, MOST)
    there = i < blocks
    pos_low = tl.min(tl.load(ends + 2 * i, mask=there, other=float("inf")), 0)
    pos_high = tl.max(tl.load(ends + 2 * i + 1, mask=there, other=float("-inf")), 0)
    neg_low = tl.min(tl.load(ends + 2 * (blocks + i), mask=there, other=float("inf")), 0)
    neg_high = tl.max(tl.load(ends + 2 * (blocks + i) + 1, mask=there, other=float("-inf")), 0)
    both = (pos_low <= pos_high) & (neg_low <= neg_high)
    pos_half, neg_half = 0.5 * pos_high - 0.5 * pos_low, 0.5 * neg_high - 0.5 * neg_low
    least, most = pos_low - neg_high, pos_high - neg_low
    narrow = (pos_half <= tl.load(limits)) & (neg_half <= tl.load(limits))
    mixed = (least <= tl.load(limits + 1)) & (most >= tl.load(limits + 2))
    floor = tl.load(limits + 3)
    tl.store(flag, (both & ((narrow == 0) | (mixed == 0))).to(tl.int32))
    # A little wider than the scores; where a class is missing, any range will do.
    tl.store(frame, tl.where(both, 0.5 * pos_low + 0.5 * pos_high, 0.0))
    tl.store(frame + 1, tl.where(both, tl.maximum(pos_half * 1.000000001, floor), 1.0))
    tl.store(frame + 2, tl.where(both, 0.5 * neg_low + 0.5 * neg_high, 0.0))
    tl.store(frame + 3, tl.where(both, tl.maximum(neg_half * 1.000000001, floor), 1.0))
    tl.store(frame + 4, tl.where(both, least, 0.0))
    tl.store(frame + 5, tl.where(both, most, 0.0))


@triton.jit
def _place(scores, i, there, frame):
    """Return the places of scores in their range, from -1 to 1."""
    x = tl.load(scores + i, mask=there, other=0.0).to(tl.float64)
    x = (x - tl.load(frame)) / tl.load(frame + 1)
    return tl.minimum(tl.maximum(x, -1.0), 1.0)  # a score without weight may lie outside


@triton.jit
def _moments_of_one_side(
    scores, shares, moments, frame, size, block, blocks, nodes, WEIGHTED: tl.constexpr, BLOCK: tl.constexpr
):
    i = block * BLOCK + tl.arange(0, BLOCK)
    there = i < size
    x = _place(scores, i, there, frame)
    this = there.to(tl.float64)
    if WEIGHTED:
        this = tl.load(shares + i, mask=there, other=0.0)
    following = this * x
    for k in range(nodes):
        tl.store(moments + k * blocks + block, tl.sum(this, 0))
        this, following = following, 2 * x * following - this


@triton.jit(do_not_specialize=["n", "m", "pos_blocks", "nodes"])
def _moments_kernel(
    pos, neg, pos_share, neg_share, counts, frame, parts, n, m, pos_blocks, nodes, POS_WEIGHTED: tl.constexpr,
    NEG_WEIGHTED: tl.constexpr, COUNTED: tl.constexpr, BLOCK: tl.constexpr,
):  # fmt: skip
    """Store the sums of share times T_k over a block of one class; all parts of the positives come first."""
    block = tl.program_id(0)
    n_here, m_here = n, m
    if COUNTED:
        n_here, m_here = tl.load(counts).to(tl.int32), tl.load(counts + 1).to(tl.int32)
    if block < pos_blocks:
        _moments_of_one_side(pos, pos_share, parts, frame, n_here, block, pos_blocks, nodes, POS_WEIGHTED, BLOCK)
    else:
        _moments_of_one_side(
            neg, neg_share, parts + pos_blocks * nodes, frame + 2, m_here, block - pos_blocks,
            tl.num_programs(0) - pos_blocks, nodes, NEG_WEIGHTED, BLOCK,
        )  # fmt: skip


@triton.jit(do_not_specialize=["pos_blocks", "neg_blocks", "nodes"])
def _add_kernel(parts, moments, pos_blocks, neg_blocks, nodes, BLOCK: tl.constexpr):
    """Add up the parts of one moment of one class."""
    degree, side = tl.program_id(0), tl.program_id(1)
    blocks = tl.where(side == 0, pos_blocks, neg_blocks)
    own = parts + side * pos_blocks * nodes + degree * blocks
    total = tl.full((BLOCK,), 0.0, tl.float64)
    for start in range(0, blocks, BLOCK):
        i = start + tl.arange(0, BLOCK)
        total += tl.load(own + i, mask=i < blocks, other=0.0)
    tl.store(moments + side * nodes + degree, tl.sum(total, 0))


@triton.jit
def _interact_kernel(
    moments, frame, points, matrix, table, value, coefficients, KIND: tl.constexpr, COUNT: tl.constexpr,
    NODES: tl.constexpr,
):  # fmt: skip
    """Do what ``_interact`` does, for a loss with a formula and few nodes."""
    i = tl.arange(0, NODES)
    transform = tl.load(matrix + i[:, None] * NODES + i[None, :])
    of_pos = tl.sum(transform * tl.load(moments + i)[None, :], 1)
    of_neg = tl.sum(transform * tl.load(moments + NODES + i)[None, :], 1)
    s = tl.load(frame) + tl.load(frame + 1) * tl.load(points + i)
    t = tl.load(frame + 2) + tl.load(frame + 3) * tl.load(points + i)
    values, slopes = value_and_slope(s[:, None] - t[None, :], table, KIND, COUNT)
    tl.store(value, tl.sum(tl.sum(values * of_neg[None, :], 1) * of_pos, 0))
    at_pos = tl.sum(slopes * of_neg[None, :], 1)
    at_neg = tl.sum(slopes * of_pos[:, None], 0)
    tl.store(coefficients + i, tl.sum(transform * at_pos[:, None], 0))
    tl.store(coefficients + NODES + i, -tl.sum(transform * at_neg[:, None], 0))


@triton.jit
def _read_one_side(
    scores, shares, places, coefficients, gradient, frame, size, block, nodes, scale, WEIGHTED: tl.constexpr,
    PLACED: tl.constexpr, BLOCK: tl.constexpr,
):  # fmt: skip
    i = block * BLOCK + tl.arange(0, BLOCK)
    there = i < size
    x = _place(scores, i, there, frame)
    this, before = tl.full((BLOCK,), 0.0, tl.float64), tl.full((BLOCK,), 0.0, tl.float64)
    for k in range(nodes - 1):  # Clenshaw's sum, from the highest degree down
        this, before = tl.load(coefficients + nodes - 1 - k) + 2 * x * this - before, this
    slope = (tl.load(coefficients) + x * this - before) * scale
    if WEIGHTED:
        slope *= tl.load(shares + i, mask=there, other=0.0)
    to = i
    if PLACED:
        to = tl.load(places + i, mask=there, other=0)
    tl.store(gradient + to, slope.to(gradient.dtype.element_ty), mask=there)


@triton.jit(do_not_specialize=["n", "m", "pos_blocks", "nodes"])
def _read_kernel(
    pos, neg, pos_share, neg_share, pos_place, neg_place, counts, frame, coefficients, total, ends, gradients,
    value, n, m, pos_blocks, nodes, POS_WEIGHTED: tl.constexpr, NEG_WEIGHTED: tl.constexpr, COUNTED: tl.constexpr,
    BLOCK: tl.constexpr,
):  # fmt: skip
    """Write a block of a gradient from the polynomial of its class, and scale the value."""
    block = tl.program_id(0)
    n_here, m_here = n, m
    if COUNTED:
        n_here, m_here = tl.load(counts).to(tl.int32), tl.load(counts + 1).to(tl.int32)
    scale = tl.full((), 1.0, tl.float64)
    if not POS_WEIGHTED:
        scale = scale / tl.maximum(n_here, 1).to(tl.float64)
    if not NEG_WEIGHTED:
        scale = scale / tl.maximum(m_here, 1).to(tl.float64)
    if block == 0:
        tl.store(value, kept_in_range(tl.load(total) * scale, ends).to(value.dtype.element_ty))
    grad_neg = gradients
    if not COUNTED:
        grad_neg = gradients + n
    if block < pos_blocks:
        _read_one_side(
            pos, pos_share, pos_place, coefficients, gradients, frame, n_here, block, nodes, scale, POS_WEIGHTED,
            COUNTED, BLOCK,
        )  # fmt: skip
    else:
        _read_one_side(
            neg, neg_share, neg_place, coefficients + nodes, grad_neg, frame + 2, m_here, block - pos_blocks, nodes,
            scale, NEG_WEIGHTED, COUNTED, BLOCK,
        )  # fmt: skip


@lru_cache(maxsize=32)
def _transform(nodes: int, device: torch.device) -> tuple[Tensor, Tensor]:
    """Return the Chebyshev points in (-1, 1), and the matrix D (points, degrees).

    D turns moments into charges at the points, and its transpose turns values there into coefficients.
    """
    angles = (np.arange(nodes) + 0.5) * np.pi / nodes
    matrix = np.cos(np.outer(angles, np.arange(nodes))) * (2 / nodes)
    matrix[:, 0] *= 0.5
    return torch.from_numpy(np.cos(angles)).to(device), torch.from_numpy(matrix).to(device)


def _interact(loss: Loss, frame: Tensor, moments: Tensor) -> tuple[Tensor, Tensor]:
    """Return the value, and the coefficients (2, degrees) of the slopes, from the moments (2, degrees)."""
    points, matrix = _transform(moments.shape[1], moments.device)
    places = torch.addcmul(frame[:4:2, None], frame[1:4:2, None], points)
    margins = places[0, :, None] - places[1]
    values, slopes = loss.value_and_slope(margins)
    charges = moments @ matrix.T
    value = charges[0] @ (values @ charges[1])
    at_points = torch.stack([slopes @ charges[1], (charges[0] @ slopes).neg_()])
    return value, at_points @ matrix


def smooth(
    points: Points, loss: Loss, formula: Formula | None, ends: Tensor, into: Results, reads: bool
) -> Tensor | None:
    """Compute one problem, and return a flag as other kernels do, or None if the range of the scores is too wide.

    The flag counts where nothing is read; otherwise the range is read first.
    """
    pos, _, w, v, _, split = points
    (_, n, m), device, dtype = points.sizes(), pos.device, into.value.dtype
    structure = cast(Analytic, loss.structure)
    kinds, counts, pointers = (
        (w is not None, v is not None, split is not None),
        points.counts_or(pos),
        points.pointers(),
    )
    parts = min(_MOST_ENDS, -(-max(n, m) // _BLOCK))
    room = torch.empty((2 * parts, 2), dtype=torch.float64, device=device)
    frame, flag = torch.empty(6, dtype=torch.float64, device=device), torch.empty(1, dtype=torch.int32, device=device)
    _ends_kernel[(2 * parts,)](*pointers[:4], counts, room, n, m, parts, *kinds, _BLOCK, num_warps=4)
    _frame_kernel[(1,)](room, _limits(structure, dtype, device), frame, flag, parts, _MOST_ENDS, num_warps=4)
    nodes = _enough_nodes(Frame(*frame.tolist()), structure, dtype) if reads else _UNREAD
    _transform(_UNREAD, device)  # a CUDA graph that is captured later could not make it
    if nodes is None:
        return None
    moments, pos_blocks, neg_blocks = _moments(points, frame, nodes)
    if formula is not None and nodes <= _MOST_FUSED:
        total, coefficients = _fused_interaction(formula, frame, moments)
    else:
        total, coefficients = _interact(loss, frame, moments)
    _read_kernel[(pos_blocks + neg_blocks,)](
        *pointers, counts, frame, coefficients, total, ends, into.gradients, into.value, n, m, pos_blocks, nodes,
        *kinds, _BLOCK, num_warps=8,
    )  # fmt: skip
    return flag


def _moments(points: Points, frame: Tensor, nodes: int) -> tuple[Tensor, int, int]:
    """Return the moments (2, degrees), and the number of blocks of either class."""
    pos, _, w, v, _, split = points
    (_, n, m), device = points.sizes(), pos.device
    pos_blocks, neg_blocks = -(-n // _BLOCK), -(-m // _BLOCK)
    parts = torch.empty(((pos_blocks + neg_blocks) * nodes,), dtype=torch.float64, device=device)
    moments = torch.empty((2, nodes), dtype=torch.float64, device=device)
    _moments_kernel[(pos_blocks + neg_blocks,)](
        *points.pointers()[:4], points.counts_or(pos), frame, parts, n, m, pos_blocks, nodes, w is not None,
        v is not None, split is not None, _BLOCK, num_warps=8,
    )  # fmt: skip
    _add_kernel[(nodes, 2)](parts, moments, pos_blocks, neg_blocks, nodes, 512, num_warps=4)
    return moments, pos_blocks, neg_blocks


def _fused_interaction(formula: Formula, frame: Tensor, moments: Tensor) -> tuple[Tensor, Tensor]:
    nodes = moments.shape[1]
    places, matrix = _transform(nodes, moments.device)
    total, coefficients = moments.new_empty(1), torch.empty_like(moments)
    _interact_kernel[(1,)](
        moments, frame, places, matrix, formula.table, total, coefficients, formula.kind, formula.pieces, nodes,
        num_warps=4 if nodes < 128 else 16,
    )  # fmt: skip
    return total, coefficients


def _enough_nodes(frame: Frame, structure: Analytic, dtype: torch.dtype) -> int | None:
    """Return how many nodes do for these ranges, or None if too many, or if all margins are in one tail."""
    right, left = _SEPARATED / structure.right_rate, _SEPARATED / structure.left_rate
    if not (frame.least <= right and frame.most >= -left):
        return None
    half = max(frame.pos_half, frame.neg_half)
    return next((nodes for nodes in _NODES if half <= _widest(nodes, structure, dtype)), None)
