"""Kernels that compute every pair in float64: both gradients and parts of the value, and then the value."""

from __future__ import annotations

import torch
import triton
import triton.language as tl
from torch import Tensor

from symloss.pairwise.fused.formulas import Formula
from symloss.pairwise.fused.points import Points, Results


@triton.jit
def kept_in_range(value, ends):
    """Return a mean kept between two ends, which rounding may pass; one that is far outside stays as it is."""
    kept = tl.minimum(tl.maximum(value, tl.load(ends)), tl.load(ends + 1))
    return tl.where(tl.abs(kept - value) <= 1e-6 + 1e-6 * tl.abs(value), kept, value)


@triton.jit
def _times(factor, x):
    """Multiply; a factor of zero counts for nothing, even where x is infinite."""
    return tl.where(factor == 0, 0.0, factor * x)


@triton.jit
def _piece(z, table, number):
    """Return the value and the slope of one piece."""
    y = z - tl.load(table + 5 * number + 1)
    b, c = tl.load(table + 5 * number + 3), tl.load(table + 5 * number + 4)
    square = _times(c, y)
    return tl.load(table + 5 * number + 2) + _times(b, y) + tl.where(c == 0, 0.0, square * y), b + 2 * square


@triton.jit
def value_and_slope(z, table, KIND: tl.constexpr, COUNT: tl.constexpr):
    """Return l(z) and l'(z) for margins in float64; at a corner or a step, the mean of both sides."""
    if KIND == "pieces":
        value, slope = _piece(z, table, 0)
        for number in tl.static_range(1, COUNT):
            start = tl.load(table + 5 * number)
            right_value, right_slope = _piece(z, table, number)
            above, at = z > start, z == start
            value = tl.where(above, right_value, tl.where(at, 0.5 * (value + right_value), value))
            slope = tl.where(above, right_slope, tl.where(at, 0.5 * (slope + right_slope), slope))
        missing = z != z
        value = tl.where(missing, z, value)
        slope = tl.where(missing, tl.load(table + 5 * COUNT), slope)
    elif KIND == "exponential":
        rate = tl.load(table + 1)
        value = tl.load(table) * tl.exp(-rate * z)
        slope = -rate * value
    else:
        margin = z
        if KIND == "savage":
            margin = 2 * z
        e = tl.exp(-tl.abs(margin))
        near = 1 / (1 + e)  # of the probability of the label and that of the other one, the larger
        wrong = tl.where(margin >= 0, e * near, near)
        if KIND == "sigmoid":
            value, slope = wrong, -e * near * near
        elif KIND == "logistic":
            one_more = 1 + e
            tail = tl.where(one_more == 1, e, tl.log(one_more) * (e / (one_more - 1)))  # log1p
            value, slope = tl.where(z < 0, -z, 0.0) + tail, -wrong
        else:
            value, slope = wrong * wrong, -4 * wrong * wrong * tl.where(margin >= 0, near, e * near)
    return value, slope


@triton.jit
def _one_side(
    own, other, own_share, other_share, own_place, gradient, partial, table, first, own_size, other_size,
    scale, sign, IS_POS: tl.constexpr, OWN_WEIGHTED: tl.constexpr, OTHER_WEIGHTED: tl.constexpr,
    PLACED: tl.constexpr, KIND: tl.constexpr, COUNT: tl.constexpr, BI: tl.constexpr, BJ: tl.constexpr,
):  # fmt: skip
    """Compute the gradient of BI points of one class, and for positives their part of the value."""
    i = first + tl.arange(0, BI)
    there = i < own_size
    x = tl.load(own + i, mask=there, other=0.0).to(tl.float64)
    slopes, values = tl.zeros((BI, BJ), tl.float64), tl.zeros((BI, BJ), tl.float64)
    share = tl.full((BI,), 1.0, tl.float64)
    if OWN_WEIGHTED:
        share = tl.load(own_share + i, mask=there, other=0.0)
    for start in range(0, other_size, BJ):
        j = start + tl.arange(0, BJ)
        inside = j < other_size
        y = tl.load(other + j, mask=inside, other=0.0).to(tl.float64)
        if IS_POS:  # noqa: SIM108
            z = x[:, None] - y[None, :]
        else:
            z = y[None, :] - x[:, None]
        value, slope = value_and_slope(z, table, KIND, COUNT)
        counted = tl.broadcast_to(inside[None, :], (BI, BJ))
        if OTHER_WEIGHTED:
            weight = tl.load(other_share + j, mask=inside, other=0.0)
            counted = counted & (weight > 0)[None, :]
            value, slope = value * weight[None, :], slope * weight[None, :]
        if OWN_WEIGHTED:  # a pair of weight zero counts for nothing, even where its loss is infinite
            counted = counted & (share > 0)[:, None]
        slopes += tl.where(counted, slope, 0.0)
        if IS_POS:
            values += tl.where(counted, value, 0.0)
    total = tl.sum(slopes, 1) * share * (scale * sign)
    to = i
    if PLACED:
        to = tl.load(own_place + i, mask=there, other=0)
    tl.store(gradient + to, total.to(gradient.dtype.element_ty), mask=there)
    if IS_POS:
        tl.store(partial, tl.sum(tl.where(there, tl.sum(values, 1) * share, 0.0), 0) * scale)


@triton.jit(do_not_specialize=["n", "m", "pos_blocks"])
def _pairs_kernel(
    pos, neg, pos_share, neg_share, pos_place, neg_place, counts, flag, table, gradients, partial, n, m,
    pos_blocks, POS_WEIGHTED: tl.constexpr, NEG_WEIGHTED: tl.constexpr, COUNTED: tl.constexpr,
    FLAGGED: tl.constexpr, KIND: tl.constexpr, COUNT: tl.constexpr, BI: tl.constexpr, BJ: tl.constexpr,
):  # fmt: skip
    """Compute all pairs of a block of one class with the whole other class; blocks of the positives come first."""
    block, row = tl.program_id(0), tl.program_id(1).to(tl.int64)
    if FLAGGED:  # noqa: SIM102
        if tl.load(flag) == 0:
            return
    n_here, m_here = n, m
    if COUNTED:
        n_here, m_here = tl.load(counts).to(tl.int32), tl.load(counts + 1).to(tl.int32)
    scale = tl.full((), 1.0, tl.float64)
    if not POS_WEIGHTED:
        scale = scale / tl.maximum(n_here, 1).to(tl.float64)
    if not NEG_WEIGHTED:
        scale = scale / tl.maximum(m_here, 1).to(tl.float64)
    grad_pos, grad_neg = gradients, gradients
    if not COUNTED:
        grad_pos, grad_neg = gradients + row * (n + m), gradients + row * (n + m) + n
    if block < pos_blocks:
        _one_side(
            pos + row * n, neg + row * m, pos_share + row * n, neg_share + row * m, pos_place, grad_pos,
            partial + row * pos_blocks + block, table, block * BI, n_here, m_here, scale, 1.0,
            True, POS_WEIGHTED, NEG_WEIGHTED, COUNTED, KIND, COUNT, BI, BJ,
        )  # fmt: skip
    else:
        _one_side(
            neg + row * m, pos + row * n, neg_share + row * m, pos_share + row * n, neg_place, grad_neg,
            partial, table, (block - pos_blocks) * BI, m_here, n_here, scale, -1.0,
            False, NEG_WEIGHTED, POS_WEIGHTED, COUNTED, KIND, COUNT, BI, BJ,
        )  # fmt: skip


@triton.jit(do_not_specialize=["blocks"])
def _value_kernel(partial, ends, flag, value, blocks, FLAGGED: tl.constexpr, BLOCK: tl.constexpr):
    """Add up the parts of the value of each problem."""
    row = tl.program_id(0)
    if FLAGGED:  # noqa: SIM102
        if tl.load(flag) == 0:
            return
    total = tl.full((BLOCK,), 0.0, tl.float64)
    for start in range(0, blocks, BLOCK):
        i = start + tl.arange(0, BLOCK)
        total += tl.load(partial + row.to(tl.int64) * blocks + i, mask=i < blocks, other=0.0)
    tl.store(value + row, kept_in_range(tl.sum(total, 0), ends).to(value.dtype.element_ty))


def every_pair(points: Points, formula: Formula, ends: Tensor, into: Results, flag: Tensor | None = None) -> None:
    """Compute every pair; with a flag, nothing is done where it is 0."""
    pos, split = points.pos, points.split
    k, n, m = points.sizes()
    rows, columns, warps = _tile(k * n * m)
    pos_blocks, neg_blocks = -(-n // rows), -(-m // rows)
    partial = torch.empty((k, pos_blocks), dtype=torch.float64, device=pos.device)
    flagged, flag = flag is not None, pos if flag is None else flag
    _pairs_kernel[(pos_blocks + neg_blocks, k)](
        *points.pointers(), points.counts_or(pos), flag, formula.table, into.gradients, partial, n, m, pos_blocks,
        points.pos_share is not None, points.neg_share is not None, split is not None, flagged, formula.kind,
        formula.pieces, rows, columns, num_warps=warps,
    )  # fmt: skip
    _value_kernel[(k,)](partial, ends, flag, into.value, pos_blocks, flagged, 1024, num_warps=4)


def _tile(pairs: int) -> tuple[int, int, int]:
    """Return the rows, the columns and the warps of a tile: small ones use more of the processors."""
    if pairs <= 1 << 18:
        return 4, 128, 2
    return (8, 128, 4) if pairs <= 1 << 24 else (16, 128, 4)
