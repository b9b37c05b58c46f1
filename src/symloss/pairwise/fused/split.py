"""Kernels that put the points of each class together, so that nothing waits for the number of positives."""

from __future__ import annotations

import torch
import triton
import triton.language as tl
from torch import Tensor

from symloss.pairwise.fused.points import Points, Split

_BLOCK = 1024


@triton.jit(do_not_specialize=["size"])
def _count_kernel(positive, block_counts, size, BLOCK: tl.constexpr):
    """Count the positives of a block."""
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(block_counts + tl.program_id(0), tl.sum(tl.load(positive + i, mask=i < size, other=0).to(tl.int32), 0))


@triton.jit(do_not_specialize=["size", "blocks"])
def _split_kernel(
    scores, positive, share, pos, neg, pos_share, neg_share, pos_place, neg_place, block_counts, counts, size, blocks,
    WEIGHTED: tl.constexpr, BLOCK: tl.constexpr,
):  # fmt: skip
    """Move a block of points into their classes; the room that a class does not need is filled with infinity."""
    block = tl.program_id(0)
    before, total = tl.full((BLOCK,), 0, tl.int32), tl.full((BLOCK,), 0, tl.int32)
    for start in range(0, blocks, BLOCK):
        j = start + tl.arange(0, BLOCK)
        count = tl.load(block_counts + j, mask=j < blocks, other=0)
        before += tl.where(j < block, count, 0)
        total += count
    all_pos, first_pos = tl.sum(total, 0), tl.sum(before, 0)
    i = block * BLOCK + tl.arange(0, BLOCK)
    there = i < size
    is_pos = tl.load(positive + i, mask=there, other=0).to(tl.int32)
    rank_pos = first_pos + tl.cumsum(is_pos, 0) - is_pos
    rank_neg = i - rank_pos
    x = tl.load(scores + i, mask=there, other=0.0)
    nothing = tl.full((BLOCK,), float("inf"), scores.dtype.element_ty)
    to_pos = tl.where(is_pos > 0, rank_pos, all_pos + rank_neg)
    to_neg = tl.where(is_pos > 0, size - all_pos + rank_pos, rank_neg)
    tl.store(pos + to_pos, tl.where(is_pos > 0, x, nothing), mask=there)
    tl.store(neg + to_neg, tl.where(is_pos > 0, nothing, x), mask=there)
    tl.store(pos_place + to_pos, i.to(tl.int64), mask=there)
    tl.store(neg_place + to_neg, i.to(tl.int64), mask=there)
    if WEIGHTED:
        w = tl.load(share + i, mask=there, other=0.0)
        tl.store(pos_share + to_pos, tl.where(is_pos > 0, w, 0.0), mask=there)
        tl.store(neg_share + to_neg, tl.where(is_pos > 0, 0.0, w), mask=there)
    if block == 0:
        tl.store(counts, all_pos)
        tl.store(counts + 1, size - all_pos)


def split(scores: Tensor, positive: Tensor, share: Tensor | None) -> Points:
    """Return the points (N,) of one problem by class; ``share`` is each point's share of its own class."""
    size, device = scores.shape[0], scores.device
    blocks = -(-size // _BLOCK)
    pos, neg = torch.empty_like(scores), torch.empty_like(scores)
    pos_place, neg_place = (torch.empty(size, dtype=torch.int64, device=device) for _ in range(2))
    shares = (pos, neg)
    if share is not None:
        shares = torch.empty_like(share), torch.empty_like(share)
    block_counts, counts = (torch.empty(length, dtype=torch.int32, device=device) for length in (blocks, 2))
    _count_kernel[(blocks,)](positive, block_counts, size, _BLOCK, num_warps=4)
    _split_kernel[(blocks,)](
        scores, positive, scores if share is None else share, pos, neg, *shares, pos_place, neg_place, block_counts,
        counts, size, blocks, share is not None, _BLOCK, num_warps=4,
    )  # fmt: skip
    w, v = (None, None) if share is None else (shares[0], shares[1])
    return Points(pos, neg, w, v, scores.shape[:0], Split(pos_place, neg_place, counts))
