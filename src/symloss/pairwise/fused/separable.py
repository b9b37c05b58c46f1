"""Kernels for separable losses: one launch adds up each class in blocks, a second one combines them into gradients."""

from __future__ import annotations

import math

import torch
import triton
import triton.language as tl
from torch import Tensor

from symloss.losses import ExponentialDecay, Piecewise
from symloss.pairwise.fused.formulas import on_device
from symloss.pairwise.fused.pairs import kept_in_range
from symloss.pairwise.fused.points import Points, Results
from symloss.pairwise.remembering import remembered

_MOST_BLOCKS = 512  # of each class; every block of gradients reads the sums of all of them
_BLOCK = 1024


@remembered
def _numbers(structure: Piecewise | ExponentialDecay, device: torch.device) -> Tensor:
    """Return the coefficients and the least or largest value of a polynomial, or the scale and rate of a decay."""
    if isinstance(structure, ExponentialDecay):
        numbers = [structure.scale, structure.rate]
    else:
        a, b, c = (*structure.coefficients, 0.0, 0.0, 0.0)[:3]
        vertex = a - b**2 / (4 * c) if c else math.inf
        numbers = [a, b, c, vertex if math.isfinite(vertex) else math.copysign(math.inf, -c)]
    return on_device(numbers, device)


@triton.jit
def _is_finite(x):
    return (x - x) == 0


@triton.jit
def _center(neg, neg_share, size, WEIGHTED: tl.constexpr, BLOCK: tl.constexpr):
    """Return the first negative that counts: an offset of all scores then costs no digits, even a huge one.

    It is 0 if that one is not finite, or if none of the first block counts.
    """
    i = tl.arange(0, BLOCK)
    there = i < tl.minimum(size, BLOCK if WEIGHTED else 1)
    if WEIGHTED:
        there = there & (tl.load(neg_share + i, mask=there, other=0.0) > 0)
    first = tl.min(tl.where(there, i, BLOCK), 0)
    center = tl.sum(tl.where(i == first, tl.load(neg + i, mask=there, other=0.0).to(tl.float64), 0.0), 0)
    return tl.where(_is_finite(center), center, 0.0)


@triton.jit
def _sums_of_one_side(
    scores, shares, out, size, block, blocks, rate, center, WEIGHTED: tl.constexpr, DECAY: tl.constexpr,
    BLOCK: tl.constexpr,
):  # fmt: skip
    """Store the weight, the mean less a center, and the sum of squares; of a decay the extreme and the sum of powers.

    Blocks are strided, and combined as they come, so that no large numbers cancel.
    """
    weight, mean, rest = (tl.full((), 0.0, tl.float64), tl.full((), 0.0, tl.float64), tl.full((), 0.0, tl.float64))
    if DECAY:
        mean += float("-inf")
    for start in range(block * BLOCK, size, blocks * BLOCK):
        i = start + tl.arange(0, BLOCK)
        there = i < size
        x = tl.load(scores + i, mask=there, other=0.0).to(tl.float64)
        share = there.to(tl.float64)
        if WEIGHTED:
            share = tl.load(shares + i, mask=there, other=0.0)
            there = share > 0  # a score without weight counts for nothing, even if it is not finite
            x = tl.where(there, x, 0.0)
        here = tl.sum(share, 0)
        if DECAY:  # of the exponents' places: those of x in the direction in which its power grows
            y = tl.where(rate > 0, x, -x)
            top = tl.maximum(mean, tl.max(tl.where(there, y, float("-inf")), 0))
            bad = tl.max((there & (x != x)).to(tl.int32), 0)
            top = tl.where(bad > 0, float("nan"), top)
            kept = tl.where(rest > 0, rest * tl.exp(tl.abs(rate) * (mean - top)), 0.0)
            rest = kept + tl.sum(tl.where(there, share * tl.exp(tl.abs(rate) * (y - top)), 0.0), 0)
            mean = top
        else:
            y = tl.where(there, x - center, 0.0)
            own = tl.sum(share * y, 0) / tl.where(here > 0, here, 1.0)
            away = tl.where(there, y - own, 0.0)
            both = weight + here
            part = here / tl.where(both > 0, both, 1.0)
            gap = own - mean
            rest += tl.sum(share * away * away, 0) + gap * gap * weight * part
            mean += gap * part
        weight += here
    tl.store(out, weight)
    tl.store(out + 1, mean)
    tl.store(out + 2, rest)


@triton.jit(do_not_specialize=["n", "m", "blocks"])
def _sums_kernel(
    pos, neg, pos_share, neg_share, counts, numbers, sums, n, m, blocks, POS_WEIGHTED: tl.constexpr,
    NEG_WEIGHTED: tl.constexpr, COUNTED: tl.constexpr, DECAY: tl.constexpr, BLOCK: tl.constexpr,
):  # fmt: skip
    """Add up a part of one class; the parts of the positives come first."""
    block = tl.program_id(0)
    n_here, m_here = n, m
    if COUNTED:
        n_here, m_here = tl.load(counts).to(tl.int32), tl.load(counts + 1).to(tl.int32)
    rate = tl.load(numbers + 1)
    center = _center(neg, neg_share, m_here, NEG_WEIGHTED, BLOCK)
    if block < blocks:
        _sums_of_one_side(
            pos, pos_share, sums + 3 * block, n_here, block, blocks, -rate, center, POS_WEIGHTED, DECAY, BLOCK
        )
    else:
        _sums_of_one_side(
            neg, neg_share, sums + 3 * block, m_here, block - blocks, blocks, rate, center, NEG_WEIGHTED, DECAY, BLOCK
        )


@triton.jit
def _combined(sums, blocks, rate, MOST: tl.constexpr, DECAY: tl.constexpr):
    """Return the total weight of a class, its mean less the center and its sum of squares; for a decay see above."""
    i = tl.arange(0, MOST)
    there = i < blocks
    weights = tl.load(sums + 3 * i, mask=there, other=0.0)
    weight = tl.sum(weights, 0)
    rest = tl.load(sums + 3 * i + 2, mask=there, other=0.0)
    if DECAY:
        tops = tl.load(sums + 3 * i + 1, mask=there, other=float("-inf"))
        mean = tl.max(tops, 0)
        mean = tl.where(tl.max((tops != tops).to(tl.int32), 0) > 0, float("nan"), mean)
        total = tl.sum(tl.where(rest > 0, rest * tl.exp(tl.abs(rate) * (tops - mean)), 0.0), 0)
        mean = tl.where(rate > 0, mean, -mean)
    else:
        means = tl.load(sums + 3 * i + 1, mask=there, other=0.0)
        mean = tl.sum(tl.where(weights > 0, weights * means, 0.0), 0) / tl.where(weight > 0, weight, 1.0)
        away = means - mean
        total = tl.sum(rest + tl.where(weights > 0, weights * away * away, 0.0), 0)
    return weight, mean, total


@triton.jit
def _one_gradient(
    scores, shares, places, gradient, size, block, numbers, sign, scale, center, other_weight, other_mean,
    other_total, WEIGHTED: tl.constexpr, PLACED: tl.constexpr, DECAY: tl.constexpr, BLOCK: tl.constexpr,
):  # fmt: skip
    """Write the gradient of a block of one class."""
    i = block * BLOCK + tl.arange(0, BLOCK)
    there = i < size
    x = tl.load(scores + i, mask=there, other=0.0).to(tl.float64)
    if DECAY:
        rate = sign * tl.load(numbers + 1)  # of the other class: minus that of this one
        slope = -rate * tl.load(numbers) * tl.exp(-rate * (x - other_mean) + tl.log(other_total))
    else:
        slope = (sign * tl.load(numbers + 1) + 2 * tl.load(numbers + 2) * ((x - center) - other_mean)) * other_weight
    if WEIGHTED:
        share = tl.load(shares + i, mask=there, other=0.0)
        slope = tl.where(share > 0, slope * share, 0.0)
    to = i
    if PLACED:
        to = tl.load(places + i, mask=there, other=0)
    tl.store(gradient + to, (slope * scale).to(gradient.dtype.element_ty), mask=there)


@triton.jit(do_not_specialize=["n", "m", "blocks", "pos_blocks"])
def _gradients_kernel(
    pos, neg, pos_share, neg_share, pos_place, neg_place, counts, numbers, sums, ends, value, flag,
    gradients, n, m, blocks, pos_blocks, POS_WEIGHTED: tl.constexpr, NEG_WEIGHTED: tl.constexpr, COUNTED: tl.constexpr,
    DECAY: tl.constexpr, MOST: tl.constexpr, BLOCK: tl.constexpr,
):  # fmt: skip
    """Combine the sums of both classes, and write a block of a gradient; the first block also writes the value."""
    block = tl.program_id(0)
    n_here, m_here = n, m
    if COUNTED:
        n_here, m_here = tl.load(counts).to(tl.int32), tl.load(counts + 1).to(tl.int32)
    rate = tl.load(numbers + 1)
    center = _center(neg, neg_share, m_here, NEG_WEIGHTED, BLOCK)
    of_pos, mean_pos, total_pos = _combined(sums, blocks, -rate, MOST, DECAY)
    of_neg, mean_neg, total_neg = _combined(sums + 3 * blocks, blocks, rate, MOST, DECAY)
    scale = tl.full((), 1.0, tl.float64)
    if not POS_WEIGHTED:
        scale = scale / tl.maximum(n_here, 1).to(tl.float64)
    if not NEG_WEIGHTED:
        scale = scale / tl.maximum(m_here, 1).to(tl.float64)
    if block == 0:
        both = (of_pos > 0) & (of_neg > 0)
        if DECAY:
            exponent = rate * (mean_neg - mean_pos) + tl.log(total_pos * scale) + tl.log(total_neg)
            result = tl.load(numbers) * tl.exp(exponent)
        else:
            a, b, c, vertex = (tl.load(numbers), rate, tl.load(numbers + 2), tl.load(numbers + 3))
            gap = mean_pos - mean_neg
            at = a + b * gap + c * gap * gap
            at = tl.where(c > 0, tl.maximum(at, vertex), tl.where(c < 0, tl.minimum(at, vertex), at))
            spread = total_pos / tl.where(both, of_pos, 1.0) + total_neg / tl.where(both, of_neg, 1.0)
            result = at + tl.where(c == 0, 0.0, c * spread)
        finite = _is_finite(mean_pos) & _is_finite(mean_neg)
        if not DECAY:
            finite = finite & _is_finite(total_pos) & _is_finite(total_neg)
        result = kept_in_range(tl.where(both, result, 0.0), ends)
        tl.store(value, result.to(value.dtype.element_ty))
        tl.store(flag, (both & (finite == 0)).to(tl.int32))
    grad_neg = gradients
    if not COUNTED:
        grad_neg = gradients + n
    if block < pos_blocks:
        _one_gradient(
            pos, pos_share, pos_place, gradients, n_here, block, numbers, 1.0, scale, center, of_neg, mean_neg,
            total_neg, POS_WEIGHTED, COUNTED, DECAY, BLOCK,
        )  # fmt: skip
    else:
        _one_gradient(
            neg, neg_share, neg_place, grad_neg, m_here, block - pos_blocks, numbers, -1.0, scale, center, of_pos,
            mean_pos, total_pos, NEG_WEIGHTED, COUNTED, DECAY, BLOCK,
        )  # fmt: skip


def separable(points: Points, structure: Piecewise | ExponentialDecay, ends: Tensor, into: Results) -> Tensor:
    """Compute one problem, and return a flag on the device that is not 0 where the results do not hold."""
    pos, _, w, v, _, split = points
    (_, n, m), device = points.sizes(), pos.device
    numbers, decay = _numbers(structure, device), isinstance(structure, ExponentialDecay)
    pos_blocks, neg_blocks = -(-n // _BLOCK), -(-m // _BLOCK)
    blocks = min(_MOST_BLOCKS, max(pos_blocks, neg_blocks))
    sums = torch.empty((2 * blocks, 3), dtype=torch.float64, device=device)
    flag = torch.empty(1, dtype=torch.int32, device=device)
    kinds = (w is not None, v is not None, split is not None, decay)
    counts, pointers = points.counts_or(pos), points.pointers()
    _sums_kernel[(2 * blocks,)](*pointers[:4], counts, numbers, sums, n, m, blocks, *kinds, _BLOCK, num_warps=4)
    _gradients_kernel[(pos_blocks + neg_blocks,)](
        *pointers, counts, numbers, sums, ends, into.value, flag, into.gradients, n, m, blocks, pos_blocks, *kinds,
        _MOST_BLOCKS, _BLOCK, num_warps=4,
    )  # fmt: skip
    return flag
