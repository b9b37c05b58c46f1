"""Kernels for a line plus kinks: both classes are sorted, and each point finds its rank in the other class.

The formulas are those of ``symloss.pairwise.kinks``. Sums with weights, or with moments for squares, come from scans
within blocks and the sums of the blocks before: of the positives from below, of the negatives from above.
"""

from __future__ import annotations

from typing import NamedTuple

import torch
import triton
import triton.language as tl
from torch import Tensor

from symloss.losses import Piecewise
from symloss.pairwise.fused.formulas import on_device
from symloss.pairwise.fused.pairs import kept_in_range
from symloss.pairwise.fused.points import Points, Results
from symloss.pairwise.remembering import remembered

_SCAN = 2048  # scores per block of a scan
_BLOCK = 1024  # scores per block that searches
_WIDE = 2.0**20  # as for the plain algorithm: scores farther out lose digits here


class Bends(NamedTuple):
    """The line and the kinks as a table on the device: first the corners and steps, then the squares.

    The table starts with the intercept, the slope, the reach beyond which scores are too far out, and the size of the
    squares' weights. A row of it is the margin of a kink, and what turns an active share into slopes and into values;
    for a square, it is its margin and its weight.
    """

    table: Tensor
    corners: int
    squares: int
    flat: bool


@remembered
def bends_of(structure: Piecewise, device: torch.device) -> Bends:
    """Return the kinks of a structure whose polynomial is a line."""
    intercept, slope = (*structure.coefficients, 0.0, 0.0)[:2]
    corners = [kink for kink in structure.kinks if kink.power < 2]
    squares = [kink for kink in structure.kinks if kink.power == 2]
    flat = not (slope or squares or any(kink.power for kink in corners))
    reach = float("inf") if flat else _WIDE * max(1.0, *(abs(kink.where) for kink in structure.kinks))
    numbers = [intercept, slope, reach, sum(abs(kink.weight) for kink in squares)]
    for kink in corners:
        numbers += [kink.where, -kink.weight * kink.power, kink.weight * kink.where**kink.power]
    for kink in squares:
        numbers += [kink.where, kink.weight, 0.0]
    return Bends(on_device(numbers, device), len(corners), len(squares), flat)


@triton.jit(do_not_specialize=["n", "m", "pos_blocks"])
def _scan_kernel(
    pos, neg, pos_order, neg_order, pos_share, neg_share, counts, shares, moments, block_shares, block_moments,
    n, m, pos_blocks, POS_WEIGHTED: tl.constexpr, NEG_WEIGHTED: tl.constexpr, MOMENTS: tl.constexpr,
    COUNTED: tl.constexpr, BLOCK: tl.constexpr,
):  # fmt: skip
    """Add up shares and moments within a block: positives from below, negatives from above."""
    block = tl.program_id(0)
    n_here, m_here = n, m
    if COUNTED:
        n_here, m_here = tl.load(counts).to(tl.int32), tl.load(counts + 1).to(tl.int32)
    center = _center(pos, neg, n_here, m_here)
    if block < pos_blocks:
        i = block * BLOCK + tl.arange(0, BLOCK)
        there = i < n_here
        x = tl.load(pos + i, mask=there, other=0.0).to(tl.float64) - center
        share = there.to(tl.float64)
        if POS_WEIGHTED:
            share = tl.load(pos_share + tl.load(pos_order + i, mask=there, other=0), mask=there, other=0.0)
        tl.store(shares + i, tl.cumsum(share, 0), mask=i < n)
        tl.store(block_shares + block, tl.sum(share, 0))
        if MOMENTS:
            tl.store(moments + i, tl.cumsum(share * x, 0), mask=i < n)
            tl.store(block_moments + block, tl.sum(share * x, 0))
    else:
        i = (block - pos_blocks) * BLOCK + tl.arange(0, BLOCK)
        there = i < m_here
        x = tl.load(neg + i, mask=there, other=0.0).to(tl.float64) - center
        share = there.to(tl.float64)
        if NEG_WEIGHTED:
            share = tl.load(neg_share + tl.load(neg_order + i, mask=there, other=0), mask=there, other=0.0)
        tl.store(shares + n + i, tl.cumsum(share, 0, reverse=True), mask=i < m)
        tl.store(block_shares + block, tl.sum(share, 0))
        if MOMENTS:
            tl.store(moments + n + i, tl.cumsum(share * x, 0, reverse=True), mask=i < m)
            tl.store(block_moments + block, tl.sum(share * x, 0))


@triton.jit
def _center(pos, neg, n, m):
    """Return the mean of the medians of both sorted classes."""
    s = tl.load(pos + n // 2, mask=n > 0, other=0.0).to(tl.float64)
    t = tl.load(neg + m // 2, mask=m > 0, other=0.0).to(tl.float64)
    return 0.5 * s + 0.5 * t


@triton.jit(do_not_specialize=["pos_blocks", "neg_blocks"])
def _offsets_kernel(block_sums, pos_blocks, neg_blocks, BLOCK: tl.constexpr):
    """Turn the sums of blocks into sums over the blocks before: below for positives, above for negatives; in place."""
    sums = block_sums + tl.program_id(0) * (pos_blocks + neg_blocks)
    carry = tl.full((), 0.0, tl.float64)
    for start in range(0, pos_blocks, BLOCK):
        i = start + tl.arange(0, BLOCK)
        x = tl.load(sums + i, mask=i < pos_blocks, other=0.0)
        tl.store(sums + i, carry + tl.cumsum(x, 0) - x, mask=i < pos_blocks)
        carry += tl.sum(x, 0)
    carry = tl.full((), 0.0, tl.float64)
    for start in range(0, neg_blocks, BLOCK):
        i = neg_blocks - 1 - start - tl.arange(0, BLOCK)
        x = tl.load(sums + pos_blocks + i, mask=i >= 0, other=0.0)
        tl.store(sums + pos_blocks + i, carry + tl.cumsum(x, 0) - x, mask=i >= 0)
        carry += tl.sum(x, 0)


@triton.jit
def _before(x, y, where, INCLUDED: tl.constexpr, OWN_IS_POS: tl.constexpr):
    """Return whether the point y of the other class comes before the point x, with s - where compared exactly.

    With INCLUDED, a point at the same place counts, too.
    """
    if OWN_IS_POS:
        s, t = x, y
    else:
        s, t = y, x
    u = s - where
    back = u - s
    rest = (s - (u - back)) - (where + back)  # s - where is u + rest
    if OWN_IS_POS:  # noqa: SIM108
        before = (t < u) | ((t == u) & (rest > 0))
    else:
        before = (u < t) | ((t == u) & (rest < 0))
    if INCLUDED:
        before = before | ((t == u) & (rest == 0))
    return before


@triton.jit
def _rank(x, other, low, high, where, steps, INCLUDED: tl.constexpr, OWN_IS_POS: tl.constexpr):
    """Return how many points of the sorted other class come before each x, by a binary search in [low, high]."""
    for _ in range(steps):
        searching = low < high
        middle = (low + high) // 2
        y = tl.load(other + middle, mask=searching, other=0.0).to(tl.float64)
        before = _before(x, y, where, INCLUDED, OWN_IS_POS)
        low = tl.where(searching & before, middle + 1, low)
        high = tl.where(searching & (before == 0), middle, high)
    return low


@triton.jit
def _steps(size):
    """Return how many steps a binary search among ``size`` points takes."""
    steps = size * 0
    while size > 0:
        steps += 1
        size = size // 2
    return steps


@triton.jit
def _ranks(begin, x, own, other, last, size, where, BLOCK: tl.constexpr, OWN_IS_POS: tl.constexpr):
    """Return how many points of the other class lie below each x, and how many up to it.

    The lowest and the highest x of the block are searched first; all others lie between.
    """
    whole = _steps(size)
    first = tl.load(own + begin).to(tl.float64)
    end = tl.load(own + last).to(tl.float64)
    least = _rank(first, other, size * 0, size, where, whole, False, OWN_IS_POS)
    most = _rank(end, other, size * 0, size, where, whole, True, OWN_IS_POS)
    steps = _steps(most - least)
    low, high = tl.full((BLOCK,), 0, tl.int32) + least, tl.full((BLOCK,), 0, tl.int32) + most
    below = _rank(x, other, low, high, where, steps, False, OWN_IS_POS)
    y = tl.load(other + below, mask=below < size, other=0.0).to(tl.float64)
    tied = (below < size) & _before(x, y, where, True, OWN_IS_POS)
    up_to = below
    if tl.max(tied.to(tl.int32), 0) > 0:
        up_to = _rank(x, other, below, high, where, steps, True, OWN_IS_POS)
    return below, up_to


@triton.jit
def _sum_at(sums, block_sums, rank, size, SCAN: tl.constexpr, OWN_IS_POS: tl.constexpr):
    """Return the sum over the active part of the other class: from ``rank`` on if own is positive, else up to it."""
    if OWN_IS_POS:
        inside = rank < size
        at = tl.where(inside, rank, 0)
    else:
        inside = rank > 0
        at = tl.where(inside, rank - 1, 0)
    return tl.load(sums + at, mask=inside, other=0.0) + tl.load(block_sums + at // SCAN, mask=inside, other=0.0)


@triton.jit
def _one_side(
    block, own, other, own_order, own_share, own_place, other_shares, other_moments, other_block_shares,
    other_block_moments, table, gradient, partial, own_size, other_size, center, scale, total, sign,
    OWN_WEIGHTED: tl.constexpr, OTHER_WEIGHTED: tl.constexpr, PLACED: tl.constexpr, CORNERS: tl.constexpr,
    SQUARES: tl.constexpr, FLAT: tl.constexpr, BLOCK: tl.constexpr, SCAN: tl.constexpr, OWN_IS_POS: tl.constexpr,
):  # fmt: skip
    """Write the gradient of a block of sorted points, and its part of the value.

    ``scale`` is the share of a pair of points that all count 1. ``total`` is the sum of the other class's shares, in
    the same unit.
    """
    i = block * BLOCK + tl.arange(0, BLOCK)
    there = i < own_size
    last = tl.minimum(block * BLOCK + BLOCK, own_size) - 1
    x = tl.load(own + tl.minimum(i, last)).to(tl.float64)
    order = tl.load(own_order + i, mask=there, other=0)
    share = tl.full((BLOCK,), 1.0, tl.float64)
    if OWN_WEIGHTED:
        share = tl.load(own_share + order, mask=there, other=0.0)
    slopes = tl.full((BLOCK,), 0.0, tl.float64)
    constants = tl.full((BLOCK,), 0.0, tl.float64)
    if OWN_IS_POS:
        constants += tl.load(table) * total
    for kink in tl.static_range(CORNERS):
        row = table + 4 + 3 * kink
        below, up_to = _ranks(block * BLOCK, x, own, other, last, other_size, tl.load(row), BLOCK, OWN_IS_POS)
        if OTHER_WEIGHTED:
            active = 0.5 * (
                _sum_at(other_shares, other_block_shares, below, other_size, SCAN, OWN_IS_POS)
                + _sum_at(other_shares, other_block_shares, up_to, other_size, SCAN, OWN_IS_POS)
            )
        else:
            twice = below + up_to
            if OWN_IS_POS:
                twice = 2 * other_size - twice
            active = 0.5 * twice.to(tl.float64)
        slopes += tl.load(row + 1) * active
        if OWN_IS_POS:
            constants += tl.load(row + 2) * active
    slopes = sign * (slopes + tl.load(table + 1) * total)
    centered = x - center
    value = slopes * centered + constants
    for kink in tl.static_range(SQUARES):
        row = table + 4 + 3 * (CORNERS + kink)
        where = tl.load(row)
        below, up_to = _ranks(block * BLOCK, x, own, other, last, other_size, where, BLOCK, OWN_IS_POS)
        if OTHER_WEIGHTED:
            active = _sum_at(other_shares, other_block_shares, below, other_size, SCAN, OWN_IS_POS)
        elif OWN_IS_POS:
            active = (other_size - below).to(tl.float64)
        else:
            active = below.to(tl.float64)
        moment = _sum_at(other_moments, other_block_moments, below, other_size, SCAN, OWN_IS_POS)
        of_square = 2 * tl.load(row + 1) * (active * (centered - sign * where) - moment)
        if OWN_IS_POS:
            value += 0.5 * of_square * (centered - where)
        else:
            value += 0.5 * of_square * centered
        slopes += of_square
    to = order
    if PLACED:
        to = tl.load(own_place + order, mask=there, other=0)
    if FLAT:
        slopes = tl.full((BLOCK,), 0.0, tl.float64)
    tl.store(gradient + to, (slopes * share * scale).to(gradient.dtype.element_ty), mask=there)
    tl.store(partial, tl.sum(tl.where(there, value * share, 0.0), 0) * scale)


@triton.jit(do_not_specialize=["n", "m", "pos_blocks", "pos_scans"])
def _kinks_kernel(
    pos, neg, pos_order, neg_order, pos_share, neg_share, pos_place, neg_place, counts, shares, moments,
    block_shares, block_moments, table, gradients, partial, n, m, pos_blocks, pos_scans,
    POS_WEIGHTED: tl.constexpr, NEG_WEIGHTED: tl.constexpr, COUNTED: tl.constexpr, CORNERS: tl.constexpr,
    SQUARES: tl.constexpr, FLAT: tl.constexpr, BLOCK: tl.constexpr, SCAN: tl.constexpr,
):  # fmt: skip
    """Compute a block of one class; blocks of the positives come first."""
    block = tl.program_id(0)
    n_here, m_here = n, m
    if COUNTED:
        n_here, m_here = tl.load(counts).to(tl.int32), tl.load(counts + 1).to(tl.int32)
    center = _center(pos, neg, n_here, m_here)
    scale = tl.full((), 1.0, tl.float64)
    n_total, m_total = n_here.to(tl.float64), m_here.to(tl.float64)
    if POS_WEIGHTED:
        n_total = _sum_at(shares, block_shares, n_here, n_here, SCAN, False)
    else:
        scale = scale / tl.maximum(n_here, 1).to(tl.float64)
    if NEG_WEIGHTED:
        m_total = _sum_at(shares + n, block_shares + pos_scans, m_here * 0, m_here, SCAN, True)
    else:
        scale = scale / tl.maximum(m_here, 1).to(tl.float64)
    if block < pos_blocks:  # noqa: SIM108
        inside = block * BLOCK < n_here
    else:
        inside = (block - pos_blocks) * BLOCK < m_here
    grad_neg = gradients
    if not COUNTED:
        grad_neg = gradients + n
    if not inside:  # only where the numbers of points are on the device
        tl.store(partial + block, tl.full((), 0.0, tl.float64))
    elif block < pos_blocks:
        _one_side(
            block, pos, neg, pos_order, pos_share, pos_place, shares + n, moments + n, block_shares + pos_scans,
            block_moments + pos_scans, table, gradients, partial + block, n_here, m_here, center, scale, m_total, 1.0,
            POS_WEIGHTED, NEG_WEIGHTED, COUNTED, CORNERS, SQUARES, FLAT, BLOCK, SCAN, True,
        )  # fmt: skip
    else:
        _one_side(
            block - pos_blocks, neg, pos, neg_order, neg_share, neg_place, shares, moments, block_shares,
            block_moments, table, grad_neg, partial + block, m_here, n_here, center, scale, n_total, -1.0,
            NEG_WEIGHTED, POS_WEIGHTED, COUNTED, CORNERS, SQUARES, FLAT, BLOCK, SCAN, False,
        )  # fmt: skip


@triton.jit
def _is_finite(x):
    return (x - x) == 0


@triton.jit(do_not_specialize=["n", "m", "blocks"])
def _end_kernel(
    pos, neg, counts, table, ends, partial, value, flag, n, m, blocks, COUNTED: tl.constexpr, BLOCK: tl.constexpr
):
    """Add up the value, and set the flag if these formulas do not do: scores not finite, or too far out."""
    n_here, m_here = n, m
    if COUNTED:
        n_here, m_here = tl.load(counts).to(tl.int32), tl.load(counts + 1).to(tl.int32)
    both = (n_here > 0) & (m_here > 0)
    total = tl.full((BLOCK,), 0.0, tl.float64)
    for start in range(0, blocks, BLOCK):
        i = start + tl.arange(0, BLOCK)
        total += tl.load(partial + i, mask=i < blocks, other=0.0)
    result = tl.sum(total, 0)
    center = _center(pos, neg, n_here, m_here)
    farthest = tl.full((), 0.0, tl.float64)
    finite = n_here >= 0
    for side in tl.static_range(2):
        own, size = pos, n_here
        if side == 1:
            own, size = neg, m_here
        low = tl.load(own, mask=both, other=0.0).to(tl.float64)
        high = tl.load(own + size - 1, mask=both, other=0.0).to(tl.float64)
        finite = finite & _is_finite(low) & _is_finite(high)
        farthest = tl.maximum(farthest, tl.maximum(tl.abs(low - center), tl.abs(high - center)))
    wide = farthest > tl.load(table + 2)
    canceled = tl.load(table + 3) * farthest * farthest > 65536.0 * tl.abs(result)
    result = kept_in_range(tl.where(both, result, 0.0), ends)
    tl.store(value, result.to(value.dtype.element_ty))
    tl.store(flag, (both & ((finite == 0) | wide | canceled)).to(tl.int32))


def kinked(points: Points, bends: Bends, ends: Tensor, into: Results) -> Tensor:
    """Compute one problem, and return a flag on the device that is not 0 where the results do not hold."""
    pos, neg, w, v, _, split = points
    (_, n, m), device = points.sizes(), pos.device
    s, pos_order = torch.sort(pos.view(n))
    t, neg_order = torch.sort(neg.view(m))
    counts, pointers = points.counts_or(s), points.pointers()
    kinds = (w is not None, v is not None)
    shares = moments = block_shares = block_moments = s
    pos_scans, neg_scans = -(-n // _SCAN), -(-m // _SCAN)
    if any(kinds) or bends.squares:
        rows = 2 if bends.squares else 1
        scans = torch.empty((rows, n + m), dtype=torch.float64, device=device)
        blocks = torch.empty((rows, pos_scans + neg_scans), dtype=torch.float64, device=device)
        shares, moments, block_shares, block_moments = scans[0], scans[-1], blocks[0], blocks[-1]
        _scan_kernel[(pos_scans + neg_scans,)](
            s, t, pos_order, neg_order, *pointers[2:4], counts, shares, moments, block_shares, block_moments,
            n, m, pos_scans, *kinds, bends.squares > 0, split is not None, _SCAN, num_warps=4,
        )  # fmt: skip
        _offsets_kernel[(rows,)](blocks, pos_scans, neg_scans, 1024, num_warps=4)
    pos_blocks, neg_blocks = -(-n // _BLOCK), -(-m // _BLOCK)
    partial = torch.empty(pos_blocks + neg_blocks, dtype=torch.float64, device=device)
    flag = torch.empty(1, dtype=torch.int32, device=device)
    _kinks_kernel[(pos_blocks + neg_blocks,)](
        s, t, pos_order, neg_order, *pointers[2:], counts, shares, moments, block_shares, block_moments, bends.table,
        into.gradients, partial, n, m, pos_blocks, pos_scans, *kinds, split is not None, bends.corners, bends.squares,
        bends.flat, _BLOCK, _SCAN, num_warps=4,
    )  # fmt: skip
    _end_kernel[(1,)](
        s, t, counts, bends.table, ends, partial, into.value, flag, n, m, pos_blocks + neg_blocks, split is not None,
        1024, num_warps=4,
    )  # fmt: skip
    return flag
