"""A kernel that computes every pair of a small problem in one program, each pair once: all results in one launch."""

from __future__ import annotations

import triton
import triton.language as tl
from torch import Tensor

from symloss.pairwise.fused.formulas import Formula
from symloss.pairwise.fused.pairs import kept_in_range, value_and_slope
from symloss.pairwise.fused.points import Points, Results

_MOST_PAIRS = 1 << 14  # of one problem: more take longer than a second launch
_MANY_PROBLEMS = 64  # so many programs use most of the processors: their problems may be larger
_MOST_PAIRS_OF_MANY = 1 << 17
_MOST_POSITIVES = 512  # a program holds all of them at once
_TILE = 2048  # pairs


@triton.jit(do_not_specialize=["n", "m"])
def _problem_kernel(
    pos, neg, pos_share, neg_share, pos_place, neg_place, counts, table, ends, gradients, result, n, m,
    POS_WEIGHTED: tl.constexpr, NEG_WEIGHTED: tl.constexpr, COUNTED: tl.constexpr, KIND: tl.constexpr,
    COUNT: tl.constexpr, BI: tl.constexpr, BJ: tl.constexpr,
):  # fmt: skip
    """Compute all pairs of one problem: all positives with a block of negatives after the other."""
    row = tl.program_id(0).to(tl.int64)
    n_here, m_here = n, m
    if COUNTED:
        n_here, m_here = tl.load(counts).to(tl.int32), tl.load(counts + 1).to(tl.int32)
    grad_pos, grad_neg = gradients, gradients
    if not COUNTED:
        grad_pos, grad_neg = gradients + row * (n + m), gradients + row * (n + m) + n
    scale = tl.full((), 1.0, tl.float64)
    if not POS_WEIGHTED:
        scale = scale / tl.maximum(n_here, 1).to(tl.float64)
    if not NEG_WEIGHTED:
        scale = scale / tl.maximum(m_here, 1).to(tl.float64)
    i = tl.arange(0, BI)
    is_pos = i < n_here
    x = tl.load(pos + row * n + i, mask=is_pos, other=0.0).to(tl.float64)
    own = is_pos.to(tl.float64)
    if POS_WEIGHTED:
        own = tl.load(pos_share + row * n + i, mask=is_pos, other=0.0)
    of_pos, values = tl.zeros((BI, BJ), tl.float64), tl.zeros((BI, BJ), tl.float64)
    for start in range(0, m_here, BJ):
        j = start + tl.arange(0, BJ)
        is_neg = j < m_here
        y = tl.load(neg + row * m + j, mask=is_neg, other=0.0).to(tl.float64)
        other = is_neg.to(tl.float64)
        if NEG_WEIGHTED:
            other = tl.load(neg_share + row * m + j, mask=is_neg, other=0.0)
        value, slope = value_and_slope(x[:, None] - y[None, :], table, KIND, COUNT)
        # A pair of weight zero counts for nothing, even where its loss is infinite.
        counted = (own > 0)[:, None] & (other > 0)[None, :]
        value, slope = tl.where(counted, value, 0.0), tl.where(counted, slope, 0.0)
        values += value * other[None, :]
        of_pos += slope * other[None, :]
        of_neg = tl.sum(slope * own[:, None], 0) * other * -scale
        to = j
        if COUNTED:
            to = tl.load(neg_place + j, mask=is_neg, other=0)
        tl.store(grad_neg + to, of_neg.to(gradients.dtype.element_ty), mask=is_neg)
    to = i
    if COUNTED:
        to = tl.load(pos_place + i, mask=is_pos, other=0)
    tl.store(grad_pos + to, (tl.sum(of_pos, 1) * own * scale).to(gradients.dtype.element_ty), mask=is_pos)
    mean = tl.sum(tl.where(is_pos, tl.sum(values, 1) * own, 0.0), 0)
    if not POS_WEIGHTED:  # divided, so that the mean of ones is 1
        mean = mean / tl.maximum(n_here, 1).to(tl.float64)
    if not NEG_WEIGHTED:
        mean = mean / tl.maximum(m_here, 1).to(tl.float64)
    tl.store(result + row, kept_in_range(mean, ends).to(result.dtype.element_ty))


def is_small(points: Points) -> bool:
    """Return whether one program per problem is the fastest way to compute every pair."""
    k, n, m = points.sizes()
    pairs = n * m if points.split is None else n * n // 4
    return n <= _MOST_POSITIVES and pairs <= (_MOST_PAIRS if k < _MANY_PROBLEMS else _MOST_PAIRS_OF_MANY)


def every_pair_of_small(points: Points, formula: Formula, ends: Tensor, into: Results) -> None:
    """Compute every pair of small problems."""
    k, n, m = points.sizes()
    rows = max(4, triton.next_power_of_2(n))
    columns = max(4, min(_TILE // rows, triton.next_power_of_2(m)))
    _problem_kernel[(k,)](
        *points.pointers(), points.counts_or(points.pos), formula.table, ends, into.gradients, into.value, n, m,
        points.pos_share is not None, points.neg_share is not None, points.split is not None, formula.kind,
        formula.pieces, rows, columns, num_warps=8 if rows * columns > 512 else 2,
    )  # fmt: skip
