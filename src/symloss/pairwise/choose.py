"""Which way computes the sums over all pairs: one table, structure x size x device -> way.

A way is a function of scores (n,) and (m,), their weights or None, and a loss, that returns what ``every_pair`` does.
A new one is one file, and one line of the table.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import cache
from importlib.util import find_spec
from typing import NamedTuple, cast

import torch
from torch import Tensor

from symloss.losses import Analytic, ExponentialDecay, Loss, Piecewise
from symloss.pairwise.check_structure import check_structure
from symloss.pairwise.every_pair import Sums, every_pair
from symloss.pairwise.piecewise import piecewise
from symloss.pairwise.separable import separable
from symloss.pairwise.smooth import smooth

Way = Callable[[Tensor, Tensor, Tensor | None, Tensor | None, Loss], Sums]


class _Choice(NamedTuple):
    """The way for a structure, and the most pairs of all problems together for which every pair is computed."""

    way: Way
    cpu: float
    cuda: float


_TABLE = {
    "separable": _Choice(separable, 1 << 11, 1 << 24),
    "piecewise": _Choice(piecewise, 1 << 13, 1 << 26),
    "smooth": _Choice(smooth, 1 << 15, 1 << 26),
    "none": _Choice(every_pair, math.inf, math.inf),
}


def kind_of(loss: Loss) -> str:
    """Return the line of the table for a loss.

    Examples
    --------
    >>> from symloss.losses import get_loss
    >>> [kind_of(get_loss(name)) for name in ("squared", "hinge", "sigmoid", "tangent")]
    ['separable', 'piecewise', 'smooth', 'none']
    """
    structure = loss.structure
    if isinstance(structure, Piecewise):
        return "piecewise" if structure.kinks else "separable"
    if structure is None:
        return "none"
    if not isinstance(structure, ExponentialDecay | Analytic):
        raise TypeError(f"{loss!r} has a structure of unknown kind: {structure!r}")
    return "smooth" if isinstance(structure, Analytic) else "separable"


def way_for(loss: Loss, pairs: int, device: str, method: str) -> Way:
    """Return how to compute the sums over so many pairs, those of all problems together.

    Examples
    --------
    >>> from symloss.losses import get_loss
    >>> [way_for(get_loss("hinge"), pairs, "cpu", "auto").__name__ for pairs in (100, 10**6)]
    ['every_pair', 'piecewise']
    """
    choice = _TABLE[kind_of(loss)]
    most = choice.cuda if device == "cuda" else choice.cpu
    every = choice.way is every_pair or method == "tiles" or (method == "auto" and pairs <= most)
    if every and not (device == "cuda" and pairs <= 1 << 26 and _has_triton()):
        return every_pair
    check_structure(loss)  # the kernel reads it, too
    if every:
        from symloss.pairwise.every_pair_triton import every_pair_triton

        return every_pair_triton
    return choice.way


@cache
def _has_triton() -> bool:
    return find_spec("triton") is not None


def all_pairs(
    pos: Tensor, neg: Tensor, pos_weight: Tensor | None, neg_weight: Tensor | None, loss: Loss, method: str
) -> Sums:
    """Return the weighted mean of l(s_i - t_j) over all pairs, and its gradients, all of them fresh tensors.

    Scores are (..., n) and (..., m), with leading dimensions that broadcast; weights are in float64. A problem that
    lacks a class has the mean 0 and no gradient. A score that is not finite makes all of its problem NaN, unless its
    weight is 0 or every pair is computed.

    Examples
    --------
    >>> from symloss.losses import get_loss
    >>> all_pairs(torch.tensor([0.0]), torch.tensor([0.0, 3.0]), None, None, get_loss("hinge"), "auto")
    (tensor(2.5000), tensor([-1.]), tensor([0.5000, 0.5000]))
    """
    n, m = pos.shape[-1], neg.shape[-1]
    dtype = pos.dtype if pos.dtype == neg.dtype else torch.promote_types(pos.dtype, neg.dtype)
    alone = pos.ndim == neg.ndim == 1
    batch = torch.Size() if alone else torch.broadcast_shapes(pos.shape[:-1], neg.shape[:-1])  # type: ignore[no-untyped-call]
    pairs = batch.numel() * n * m
    if not pairs:
        return tuple(pos.new_zeros((*batch, *size), dtype=dtype) for size in ((), (n,), (m,)))  # type: ignore[return-value]
    if not alone:
        pos, neg = pos.expand(*batch, n), neg.expand(*batch, m)
    s, w, total_w = _counted(pos, pos_weight)
    t, v, total_v = _counted(neg, neg_weight)
    way = way_for(loss, pairs, pos.device.type, method)
    if alone or way not in (piecewise, smooth):
        value, slopes_pos, slopes_neg = way(s, t, w, v, loss)
    else:
        value, slopes_pos, slopes_neg = _one_by_one(way, s, t, w, v, loss)
    if w is None and v is None:
        pairs = n * m
        return (value / pairs).to(dtype), slopes_pos.div_(pairs).to(pos.dtype), slopes_neg.div_(-pairs).to(neg.dtype)
    total = cast(Tensor, total_w * total_v)
    some = total > 0
    value = torch.where(some, value / total, 0.0).to(dtype)
    share = torch.where(some, 1 / total, 0.0)[..., None]
    return value, _times(share, w, slopes_pos).to(pos.dtype), _times(-share, v, slopes_neg).to(neg.dtype)


def _counted(scores: Tensor, weight: Tensor | None) -> tuple[Tensor, Tensor | None, Tensor | float]:
    """Return scores, those of weight 0 moved onto one that counts, with the weights and their sum."""
    if weight is None:
        return scores, None, float(scores.shape[-1])
    weight = weight.double().expand(scores.shape)
    # A power of 2 rounds nothing, and keeps sums from overflowing and vanishing.
    weight = weight * 2.0 ** -weight.amax(-1, keepdim=True).clamp(min=1e-300).log2().floor()
    heaviest = scores.gather(-1, weight.argmax(-1, keepdim=True))
    return torch.where(weight > 0, scores, heaviest), weight, weight.sum(-1)


def _times(share: Tensor, weight: Tensor | None, slopes: Tensor) -> Tensor:
    """Return the gradient of points from their slopes; that of a point of weight 0 is 0, whatever its slope."""
    counts = share * (torch.ones_like(slopes) if weight is None else weight)
    return torch.where(counts == 0, 0.0, counts * slopes)


def _one_by_one(way: Way, s: Tensor, t: Tensor, w: Tensor | None, v: Tensor | None, loss: Loss) -> Sums:
    """Return the sums of independent problems, one after another."""
    batch = s.shape[:-1]
    rows = [None if x is None else x.reshape(-1, x.shape[-1]) for x in (s, t, w, v)]
    found = [way(*(None if x is None else x[k] for x in rows), loss) for k in range(batch.numel())]  # type: ignore[call-arg, arg-type]
    value, slopes_pos, slopes_neg = (torch.stack(parts) for parts in zip(*found, strict=True))
    return value.view(batch), slopes_pos.view(*batch, -1), slopes_neg.view(*batch, -1)
