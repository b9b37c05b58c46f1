"""A kernel for NVIDIA GPUs that computes every pair in float64, in one launch: the fastest way up to 2^26 pairs.

Each program takes a block of one class and goes through all of the other one. So every pair is computed twice, once for
either gradient, nothing is read from the GPU, and sums do not depend on the run. Triton comes with PyTorch for GPUs.
"""

from __future__ import annotations

from functools import lru_cache
from typing import NamedTuple

import torch
import triton
import triton.language as tl
from torch import Tensor

from symloss.losses import ExponentialDecay, Logistic, Loss, Piecewise, Savage, Sigmoid
from symloss.pairwise.every_pair import Sums, every_pair

_NAMED: dict[type[Loss], str] = {Sigmoid: "sigmoid", Logistic: "logistic", Savage: "savage"}


class _Formula(NamedTuple):
    """A loss as the kernel reads it: which kind, and its numbers.

    The numbers of "exponential" are scale and rate. Those of "piecewise" are the three coefficients of the polynomial,
    then where, weight and power of each of the kinks.
    """

    kind: str
    kinks: int
    numbers: tuple[float, ...]


def _formula_of(loss: Loss) -> _Formula | None:
    structure = loss.structure
    if isinstance(structure, ExponentialDecay):
        return _Formula("exponential", 0, (structure.scale, structure.rate))
    if isinstance(structure, Piecewise):
        polynomial = (*structure.coefficients, 0.0, 0.0, 0.0)[:3]
        kinks = [float(x) for kink in structure.kinks for x in (kink.where, kink.weight, kink.power)]
        return _Formula("piecewise", len(structure.kinks), (*polynomial, *kinks))
    return _Formula(_NAMED[type(loss)], 0, (0.0,)) if type(loss) in _NAMED else None


@lru_cache(maxsize=64)
def _on_device(numbers: tuple[float, ...], device: torch.device) -> Tensor:
    return torch.tensor(numbers, dtype=torch.float64, device=device)


def every_pair_triton(s: Tensor, t: Tensor, w: Tensor | None, v: Tensor | None, loss: Loss) -> Sums:
    """Return the sums over all pairs of s (..., n) and t (..., m) on a GPU, as ``every_pair`` does.

    A loss whose formula the kernel does not know goes to ``every_pair``.
    """
    formula = _formula_of(loss)
    if formula is None:
        return every_pair(s, t, w, v, loss)
    batch, n, m = s.shape[:-1], s.shape[-1], t.shape[-1]
    k = batch.numel()
    s, t = s.contiguous(), t.contiguous()
    pos_weight, neg_weight = (x if weight is None else weight.contiguous() for x, weight in ((s, w), (t, v)))
    rows, columns, warps = _tile(k * n * m)
    pos_blocks, neg_blocks = triton.cdiv(n, rows), triton.cdiv(m, rows)
    of_pos, of_neg, values = (s.new_empty((k, size), dtype=torch.float64) for size in (n, m, pos_blocks))
    with torch.cuda.device(s.device):
        _pairs_kernel[(k * (pos_blocks + neg_blocks),)](
            s, t, pos_weight, neg_weight, _on_device(formula.numbers, s.device), of_pos, of_neg, values, n, m,
            pos_blocks, neg_blocks, w is not None, v is not None, formula.kind, formula.kinks, rows, columns,
            num_warps=warps,
        )  # fmt: skip
    return values.sum(1).view(batch), of_pos.view(*batch, n), of_neg.view(*batch, m)


def _tile(pairs: int) -> tuple[int, int, int]:
    """Return the rows, the columns and the warps of a tile: small ones use more of the processors."""
    if pairs <= 1 << 18:
        return 4, 128, 2
    return (8, 128, 4) if pairs <= 1 << 24 else (16, 128, 4)


@triton.jit
def _piecewise(z, numbers, KINKS: tl.constexpr):
    """Return l(z) and l'(z) of a polynomial and kinks; exactly at a kink, the mean of both sides."""
    linear, square = tl.load(numbers + 1), tl.load(numbers + 2)
    value = tl.load(numbers) + z * (linear + square * z)
    slope = linear + 2 * square * z
    for kink in tl.static_range(KINKS):
        where, weight = tl.load(numbers + 3 + 3 * kink), tl.load(numbers + 4 + 3 * kink)
        power = tl.load(numbers + 5 + 3 * kink)
        active = tl.where(z < where, 1.0, tl.where(z == where, 0.5, 0.0))
        gap = tl.where(z < where, where - z, 0.0)
        value += weight * tl.where(power == 0, active, tl.where(power == 1, gap, gap * gap))
        slope -= weight * tl.where(power == 0, 0.0, tl.where(power == 1, active, 2 * gap))
    # Comparisons have lost a margin that is NaN.
    return tl.where(z == z, value, z), tl.where(z == z, slope, z)


@triton.jit
def _value_and_slope(z, numbers, KIND: tl.constexpr, KINKS: tl.constexpr):
    """Return l(z) and l'(z) for margins in float64."""
    if KIND == "piecewise":
        value, slope = _piecewise(z, numbers, KINKS)
    elif KIND == "exponential":
        rate = tl.load(numbers + 1)
        value = tl.load(numbers) * tl.exp(-rate * z)
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
    own, other, own_weight, other_weight, numbers, slopes, value_of_block, first, own_size, other_size,
    IS_POS: tl.constexpr, OWN_WEIGHTED: tl.constexpr, OTHER_WEIGHTED: tl.constexpr, KIND: tl.constexpr,
    KINKS: tl.constexpr, ROWS: tl.constexpr, COLUMNS: tl.constexpr,
):  # fmt: skip
    """Compute the slopes of a block of one class, and for positives the block's part of the value."""
    i = first + tl.arange(0, ROWS)
    there = i < own_size
    x = tl.load(own + i, mask=there, other=0.0).to(tl.float64)
    slope_sums, value_sums = tl.zeros((ROWS, COLUMNS), tl.float64), tl.zeros((ROWS, COLUMNS), tl.float64)
    for start in range(0, other_size, COLUMNS):
        j = start + tl.arange(0, COLUMNS)
        inside = j < other_size
        y = tl.load(other + j, mask=inside, other=0.0).to(tl.float64)
        weight = inside.to(tl.float64)
        if OTHER_WEIGHTED:
            weight = tl.load(other_weight + j, mask=inside, other=0.0)
        if IS_POS:  # noqa: SIM108
            z = x[:, None] - y[None, :]
        else:
            z = y[None, :] - x[:, None]
        value, slope = _value_and_slope(z, numbers, KIND, KINKS)
        counts = (weight > 0)[None, :]
        slope_sums += tl.where(counts, weight[None, :] * slope, 0.0)
        if IS_POS:
            value_sums += tl.where(counts, weight[None, :] * value, 0.0)
    tl.store(slopes + i, tl.sum(slope_sums, 1), mask=there)
    if IS_POS:
        share = there.to(tl.float64)
        if OWN_WEIGHTED:
            share = tl.load(own_weight + i, mask=there, other=0.0)
        tl.store(value_of_block, tl.sum(tl.where(share > 0, share * tl.sum(value_sums, 1), 0.0), 0))


@triton.jit(do_not_specialize=["n", "m", "pos_blocks", "neg_blocks"])
def _pairs_kernel(
    pos, neg, pos_weight, neg_weight, numbers, of_pos, of_neg, values, n, m, pos_blocks, neg_blocks,
    POS_WEIGHTED: tl.constexpr, NEG_WEIGHTED: tl.constexpr, KIND: tl.constexpr, KINKS: tl.constexpr,
    ROWS: tl.constexpr, COLUMNS: tl.constexpr,
):  # fmt: skip
    """Compute all pairs of a block of one class with the whole other class; blocks of the positives come first."""
    blocks = pos_blocks + neg_blocks
    row, block = (tl.program_id(0) // blocks).to(tl.int64), tl.program_id(0) % blocks
    if block < pos_blocks:
        _one_side(
            pos + row * n, neg + row * m, pos_weight + row * n, neg_weight + row * m, numbers, of_pos + row * n,
            values + row * pos_blocks + block, block * ROWS, n, m,
            True, POS_WEIGHTED, NEG_WEIGHTED, KIND, KINKS, ROWS, COLUMNS,
        )  # fmt: skip
    else:
        _one_side(
            neg + row * m, pos + row * n, neg_weight + row * m, pos_weight + row * n, numbers, of_neg + row * m,
            values, (block - pos_blocks) * ROWS, m, n,
            False, NEG_WEIGHTED, POS_WEIGHTED, KIND, KINKS, ROWS, COLUMNS,
        )  # fmt: skip
