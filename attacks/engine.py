"""All-pairs risks and their gradients against every pair in float64: far scores, ties, weights, dtypes, threads.

``python -m attacks.engine --cases 2000`` runs so many cases, ``--seed`` others, and ``--only`` repeats one.
"""

from __future__ import annotations

import math
import random

import numpy as np
import torch
from attacks.own_losses import OWN, SQUARES
from attacks.tally import attack

import symloss as sl

SIZES = [1.0, 1.0, 30.0, 1e4, 1e8, 1e15, 1e25, 1e37, 3e38]
COUNTS = [1, 2, 3, 7, 60, 90, 300, 700]
KINDS = [
    "normal",
    "ties",
    "all equal",
    "one outlier",
    "two clusters",
    "separated",
    "wrong way round",
    "tiny",
    "all over",
    "tails",
]
LOSSES = [*(sl.get_loss(name) for name in sl.list_losses()), sl.BarrierHinge(b=10, r=1), sl.BarrierHinge(b=2, r=1e4)]
LOSSES += OWN
UNIT_RANGE = {"zero_one", "ramp", "sigmoid", "savage", "rounded_ramp", "slow_sigmoid"}
UNBOUNDED = {"unhinged", "capped_line"}
_TOLERANCE = {torch.float32: 3e-6, torch.float64: 1e-8}  # of the sizes of all terms of a number, added up
_LEAST = {torch.float32: 1e-44, torch.float64: 1e-300}  # numbers below have fewer digits


def scores(kind: str, n: int, m: int, size: float, dtype: torch.dtype, seed: int) -> tuple[torch.Tensor, torch.Tensor]:
    """Return scores of positives and negatives of one kind, at most ``size`` from zero."""
    generator = torch.Generator().manual_seed(seed)
    pos, neg = (torch.randn(count, generator=generator, dtype=torch.float64).clamp(-3, 3) for count in (n, m))
    if kind == "ties":
        pos, neg = pos.round(), neg.round()
    elif kind == "all equal":
        pos, neg = torch.ones_like(pos), torch.ones_like(neg)
    elif kind == "one outlier":
        pos[0], neg[-1] = -size, size
        return pos.to(dtype), neg.to(dtype)
    elif kind == "two clusters":
        pos[: n // 2 + 1] += size / 4
        neg[: m // 3] += size / 4
        return pos.to(dtype), neg.to(dtype)
    elif kind == "separated":
        pos, neg = pos.abs() + 2, -neg.abs() - 2
    elif kind == "wrong way round":
        pos, neg = -pos.abs() - 2, neg.abs() + 2
    elif kind == "tails":  # distances of all sizes from the other class, up to where a float64 ends
        for side, part in ((pos, n // 4), (neg, m // 8)):
            side[:part] *= torch.logspace(0, 2.5, part, dtype=torch.float64)
        return pos.to(dtype), neg.to(dtype)
    elif kind == "tiny":
        return (pos / size).to(dtype), (neg / size).to(dtype)
    return (pos * (size / 6)).to(dtype), (neg * (size / 6)).to(dtype)


def exact(pos, neg, loss, v, w):  # type: ignore[no-untyped-def]
    """Return the risk and its two gradients from every pair, in float64 and with analytic slopes.

    The last part says by how much each number may err, in multiples of the tolerance: the sizes of its terms, added up.
    """
    z = pos.double()[:, None] - neg.double()
    shares = v.double()[:, None] * w.double() / (v.double().sum() * w.double().sum())
    slopes = torch.where(shares > 0, shares * loss.derivative(z), 0.0)
    values = torch.where(shares > 0, shares * loss(z), 0.0)
    return (
        values.sum(),
        slopes.sum(1),
        -slopes.sum(0),
        (values.abs().sum(), *_sizes(shares, slopes, pos, neg, loss)),
    )


def _sizes(shares, slopes, pos, neg, loss):  # type: ignore[no-untyped-def]
    """Return the sum over each row, and over each column, of the sizes of slopes.

    The slope of a square feels the rounding of its margin, unless it is 0: a float64 epsilon of the two scores.
    """
    rounding = torch.finfo(torch.float64).eps * (pos.double().abs()[:, None] + neg.double().abs())
    of_squares = SQUARES.get(type(loss), 0.0) * rounding / _TOLERANCE[pos.dtype]
    sizes = slopes.abs() + torch.where(slopes != 0, shares * of_squares, 0.0)
    return sizes.sum(1), sizes.sum(0)


def by_pairs(pos, neg, loss, v, w, method):  # type: ignore[no-untyped-def]
    """Return what ``pairwise_risk`` says."""
    value = sl.pairwise_risk(pos, neg, loss, v, w, method=method)
    return value.detach(), *torch.autograd.grad(value, (pos, neg))


def by_module(pos, neg, loss, v, w, method):  # type: ignore[no-untyped-def]
    """Return what ``AUCLoss`` says; the method is its own choice."""
    target = torch.cat([torch.ones(len(pos)), torch.zeros(len(neg))])
    weight = None if v is None else torch.cat([v, w])
    value = sl.AUCLoss(loss)(torch.cat([pos, neg]), target, weight)
    return value.detach(), *torch.autograd.grad(value, (pos, neg))


def exact_ber(pos, neg, loss, v, w):  # type: ignore[no-untyped-def]
    """Return the balanced risk and its gradients; a slope feels the rounding of its margin."""
    shares = [weights.double() / weights.double().sum() / 2 for weights in (v, w)]
    margins = (pos.double(), -neg.double())
    values = torch.cat([share * loss(z) for share, z in zip(shares, margins, strict=True)])
    slopes = [share * loss.derivative(z) for share, z in zip(shares, margins, strict=True)]
    sizes = [
        (slope.abs() + share * 0.1 * (z * loss.curvature(z)).abs()).nan_to_num(math.inf)
        for slope, share, z in zip(slopes, shares, margins, strict=True)
    ]
    return values.sum(), slopes[0], -slopes[1], (values.abs().sum(), *sizes)


def by_ber(pos, neg, loss, v, w, method):  # type: ignore[no-untyped-def]
    """Return what ``BERLoss`` says."""
    target = torch.cat([torch.ones(len(pos)), torch.zeros(len(neg))])
    value = sl.BERLoss(loss)(torch.cat([pos, neg]), target, None if v is None else torch.cat([v, w]))
    return value.detach(), *torch.autograd.grad(value, (pos, neg))


def differs(found, expected, dtype, scales, least, may_overflow) -> str | None:  # type: ignore[no-untyped-def]
    """Return which number is off by more than rounding of its own terms."""
    names = ("value", "gradient of positives", "gradient of negatives")
    for name, part, right, scale in zip(names, found, expected, scales, strict=True):
        right, part = right.to(dtype).double().reshape(-1), part.double().reshape(-1)
        off = torch.where(part == right, 0.0, (part - right).abs()).nan_to_num(math.inf)
        off[right.isnan() | (right.abs() > 0.999 * torch.finfo(dtype).max)] = 0.0
        if may_overflow:
            off[part.isinf()] = 0.0
        limit = _TOLERANCE[dtype] * scale.reshape(-1) + least
        worst = int((off / limit).argmax())
        if off[worst] > limit[worst]:
            return f"{name} is {part[worst]:.17g}, not {right[worst]:.17g} (limit {limit[worst]:.3g})"
    return None


def case(generator: random.Random) -> tuple[str, str | None]:
    """Compare one draw of scores, weights and loss by one of the ways to compute its risk."""
    loss, kind, dtype = (
        generator.choice(LOSSES),
        generator.choice(KINDS),
        generator.choice([torch.float32, torch.float64]),
    )
    n, m, size, seed = (
        generator.choice(COUNTS),
        generator.choice(COUNTS),
        generator.choice(SIZES),
        generator.getrandbits(31),
    )
    way, method = generator.choice(
        [(by_pairs, "auto"), (by_pairs, "structure"), (by_pairs, "tiles"), (by_module, "auto"), (by_ber, "")]
    )
    torch.set_num_threads(threads := generator.choice([1, 2]))
    pos, neg = scores(kind, n, m, size, dtype, seed)
    weights = generator.choice(["none", "random", "whole", "some are zero", "far apart", "one is heavy"])
    drawn = np.random.default_rng(seed)
    v, w = (_weights(weights, count, drawn, dtype) for count in (n, m))
    plain = [torch.ones(count, dtype=torch.float64) if given is None else given for count, given in ((n, v), (m, w))]
    expected = (exact_ber if way is by_ber else exact)(pos, neg, loss, *plain)
    what = (
        f"{loss!r}, {kind}, n={n}, m={m}, size={size:g}, {dtype}, weights {weights}, seed={seed}, "
        f"{way.__name__} {method}, {threads} threads"
    )
    pos.requires_grad_()
    neg.requires_grad_()
    try:
        found = way(pos, neg, loss, v, w, method)
    except Exception as error:  # any is a fault: all of this input is valid
        return way.__name__, f"{what}: {type(error).__name__}: {error}"
    # Without weights, BERLoss computes in the dtype of its scores: what float32 cannot hold is infinite or 0.
    in_dtype, margins = way is by_ber and weights == "none", torch.cat([pos, -neg]).detach()
    overflow = in_dtype and not (loss(margins).isfinite() & loss.derivative(margins).isfinite()).all()
    least = 1e-37 if in_dtype and dtype == torch.float32 else _LEAST[dtype]
    wrong = _outside(loss, found[0].item()) or differs(found, expected[:3], dtype, expected[3], least, overflow)
    return way.__name__, None if wrong is None else f"{what}: {wrong}"


def _weights(kind: str, count: int, drawn: np.random.Generator, dtype: torch.dtype) -> torch.Tensor | None:
    if kind == "none":
        return None
    numbers = {
        "random": drawn.random(count) + 0.01,
        "whole": drawn.integers(1, 4, count),
        "some are zero": np.append(1, drawn.integers(0, 2, count - 1)),
        "far apart": 10.0 ** drawn.uniform(-12, 12, count),
        "one is heavy": np.append(10.0 ** drawn.uniform(4, 24), np.ones(count - 1)),
    }[kind]
    return torch.from_numpy(np.asarray(numbers, np.float64)).to(dtype)


def _outside(loss: sl.Loss, risk: float) -> str | None:
    """Return what is wrong if a risk is outside the range of its loss: that is a fault whatever else is right."""
    if loss.name in UNBOUNDED:
        return None
    inside = 0 <= risk <= (1 + 1e-6 if loss.name in UNIT_RANGE else math.inf)
    return None if inside else f"a risk of {risk}, outside the range of the loss"


if __name__ == "__main__":
    attack("all-pairs risks and gradients", case, 2000)
