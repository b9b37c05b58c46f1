"""The sums over all pairs for separable losses: polynomials up to degree 2 and exponentials.

A few sums over each class are enough, so that all pairs take O(n + m).
"""

from __future__ import annotations

import math

import numpy as np
import torch
from torch import Tensor

from symloss.losses import ExponentialDecay
from symloss.pairwise.arrays import Arrays, Scores
from symloss.pairwise.problem import Side, Sums, blocks, in_one_block

_LARGEST_EXPONENT = 680.0  # its exponential is finite, with some room to spare


def mean(side: Side, center: Tensor) -> Tensor:
    """Return the weighted mean of (score - center), (k, 1) in float64; 0 where the class has no weight."""
    total = torch.zeros_like(center)
    for rows, columns in blocks(side.scores):
        centered = side.scores[rows, columns].double() - center[rows]
        total[rows] += (centered * side.share(rows, columns)).sum(1, keepdim=True)
    weight = side.total
    return total / torch.where(weight > 0, weight, 1.0) if isinstance(weight, Tensor) else total


def _center(side: Side) -> Tensor:
    """Return a score of each problem's class near most of its weight, (k, 1) in float64.

    Subtracting it from the scores keeps the sums over most of them exact.
    """
    if side.shares is not None:
        return side.scores.gather(1, side.shares.argmax(1, keepdim=True)).double()
    return side.middle  # median() is not deterministic on CUDA


def polynomial(pos: Side, neg: Side, coefficients: tuple[float, ...]) -> Sums:
    """Return the sums for a + b z + c z^2, from the means and the variances."""
    if _plain(pos, neg):
        return plain_polynomial(pos.scores, neg.scores, coefficients)
    a, b, c = (*coefficients, 0.0, 0.0, 0.0)[:3]
    center_pos, center_neg = _center(pos), _center(neg)
    mean_pos, mean_neg = mean(pos, center_pos), mean(neg, center_neg)
    apart = center_pos - center_neg
    value = _at(apart + (mean_pos - mean_neg), a, b, c) * (pos.total * neg.total)
    gradients = []
    # Scores are taken from the center of the other class, since that of their own may be far from both.
    for side, center, own, other, weight, sign in (
        (pos, center_neg, apart + mean_pos, mean_neg, neg.total, 1.0),
        (neg, center_pos, mean_neg - apart, mean_pos, pos.total, -1.0),
    ):
        gradient = torch.empty_like(side.scores)
        for rows, columns in blocks(side.scores):
            share = side.share(rows, columns) * (weight[rows] if isinstance(weight, Tensor) else weight)
            if c:
                centered = side.scores[rows, columns].double() - center[rows]
                value[rows] += c * ((centered - own[rows]).square_() * share).sum(1, keepdim=True)
                gradient[rows, columns] = centered.sub_(other[rows]).mul_(2 * c).add_(sign * b).mul_(share)
            else:
                gradient[rows, columns] = sign * b * share
        gradients.append(gradient)
    return value[:, 0], gradients[0], gradients[1]


def exponential(pos: Side, neg: Side, decay: ExponentialDecay) -> Sums:
    """Return the sums for scale * exp(-rate z), from one sum of exponentials per class.

    Each sum is relative to its largest term, and exponents are differences of two scores, so outliers cost no digits.
    """
    rate, scale = decay.rate, decay.scale
    if _plain(pos, neg):
        return plain_exponential(pos.scores, neg.scores, rate, scale)
    extremes, logarithms = [], []
    for side, sign in ((pos, -1.0), (neg, 1.0)):
        extreme = _extreme(side.scores, sign * rate)
        total = torch.zeros_like(extreme)
        for rows, columns in blocks(side.scores):
            powers = (side.scores[rows, columns].double() - extreme[rows]).mul_(sign * rate).exp_()
            total[rows] += powers.mul_(side.share(rows, columns)).sum(1, keepdim=True)
        extremes.append(extreme)
        logarithms.append(total.log())
    value = scale * (rate * (extremes[1] - extremes[0]) + logarithms[0] + logarithms[1]).exp()
    gradients = []
    for side, other, sign in ((pos, 1, -1.0), (neg, 0, 1.0)):
        extreme, logarithm = extremes[other], logarithms[other]
        gradient = torch.empty_like(side.scores)
        for rows, columns in blocks(side.scores):
            exponents = (side.scores[rows, columns].double() - extreme[rows]).mul_(sign * rate)
            powers = exponents.add_(logarithm[rows]).exp_()
            gradient[rows, columns] = powers.mul_(sign * rate * scale).mul_(side.share(rows, columns))
        gradients.append(gradient)
    return value[:, 0], gradients[0], gradients[1]


def _extreme(scores: Tensor, rate: float) -> Tensor:
    """Return the score (..., 1) in float64 whose exp(rate * score) is the largest."""
    return (scores.amax(-1, keepdim=True) if rate > 0 else scores.amin(-1, keepdim=True)).double()


def _plain(pos: Side, neg: Side) -> bool:
    """Return whether all scores weigh the same and fit into one block: then the plain formulas are the fastest."""
    return pos.shares is None and neg.shares is None and in_one_block(pos.scores, neg.scores)


def _at(gap: Tensor, a: float, b: float, c: float) -> Tensor:
    """Return the polynomial at the difference of the means; rounding takes a square no further than its vertex."""
    value = a + b * gap + c * gap**2
    vertex = _vertex(a, b, c)
    return value if not math.isfinite(vertex) else value.clamp(min=vertex) if c > 0 else value.clamp(max=vertex)


def _vertex(a: float, b: float, c: float) -> float:
    return a - b**2 / (4 * c) if c else math.inf


def plain_polynomial(pos: Tensor, neg: Tensor, coefficients: tuple[float, ...]) -> Sums:
    """Return the same sums for few scores (..., n) and (..., m) of equal weight."""
    a, b, c = (*coefficients, 0.0, 0.0, 0.0)[:3]
    s, t = pos.double(), neg.double()
    center = t.mean(-1, keepdim=True)
    s, t = s - center, t - center  # so that an offset costs no digits
    mean_s, mean_t = s.mean(-1, keepdim=True), t.mean(-1, keepdim=True)
    gap = mean_s - mean_t
    n, m = s.shape[-1], t.shape[-1]
    if not c:
        return (a + b * gap)[..., 0], torch.full_like(s, b / n), torch.full_like(t, -b / m)
    spread = (s - mean_s).square_().mean(-1, keepdim=True) + (t - mean_t).square_().mean(-1, keepdim=True)
    value = _at(gap, a, b, c) + c * spread
    grad_pos = (s - mean_t).mul_(2 * c / n).add_(b / n)
    return value[..., 0], grad_pos, (t - mean_s).mul_(2 * c / m).sub_(b / m)


def plain_exponential(pos: Tensor, neg: Tensor, rate: float, scale: float) -> Sums:
    """Return the same sums for few scores (..., n) and (..., m) of equal weight."""
    s, t = pos.double(), neg.double()
    top_s, top_t = _extreme(s, -rate), _extreme(t, rate)
    # Logarithms of the means are added to the exponents, so that nothing overflows on the way.
    of_s = (s - top_s).mul_(-rate).exp_().mean(-1, keepdim=True).log_()
    of_t = (t - top_t).mul_(rate).exp_().mean(-1, keepdim=True).log_()
    value = (rate * (top_t - top_s) + of_s + of_t).exp_().mul_(scale)
    grad_pos = (s - top_t).mul_(-rate).add_(of_t).exp_().mul_(-rate * scale / s.shape[-1])
    return value[..., 0], grad_pos, (t - top_s).mul_(rate).add_(of_s).exp_().mul_(rate * scale / t.shape[-1])


def one_line(s: Scores, t: Scores, coefficients: tuple[float, ...]) -> Arrays | None:
    """Return the same sums for one problem (n,) and (m,) and a line, or None if a score is not finite."""
    a, b = (*coefficients, 0.0, 0.0)[:2]
    center = t.item(0)  # so that an offset costs no digits
    n, m = len(s), len(t)
    gap = np.subtract(s, center, dtype=np.float64).sum().item() / n
    gap -= np.subtract(t, center, dtype=np.float64).sum().item() / m
    return (a + b * gap, np.full(n, b / n), np.full(m, -b / m)) if math.isfinite(gap) else None


def one_polynomial(s: Scores, t: Scores, coefficients: tuple[float, ...]) -> Arrays | None:
    """Return the same sums for one problem (n,) and (m,) and a square, or None if a score is not finite."""
    a, b, c = coefficients
    center = t.item(0)
    n, m = len(s), len(t)
    s, t = np.subtract(s, center, dtype=np.float64), np.subtract(t, center, dtype=np.float64)
    mean_s, mean_t = s.sum().item() / n, t.sum().item() / m
    s -= mean_s
    t -= mean_t
    from_vertex = mean_s - mean_t + b / (2 * c)
    value = _vertex(a, b, c) + c * (
        from_vertex * from_vertex + np.square(s).sum().item() / n + np.square(t).sum().item() / m
    )
    if not math.isfinite(value):
        return None
    s += from_vertex
    t -= from_vertex
    s *= 2 * c / n
    t *= 2 * c / m
    return value, s, t


def one_exponential(s: Scores, t: Scores, rate: float, scale: float) -> Arrays | None:
    """Return the same sums for one problem (n,) and (m,) in the fewest steps, or None if something is not finite."""
    top_s, top_t = (s.min(), t.max()) if rate > 0 else (s.max(), t.min())
    top_s, top_t = top_s.item(), top_t.item()
    largest = rate * (top_t - top_s)
    s, t = np.subtract(s, top_s, dtype=np.float64), np.subtract(t, top_t, dtype=np.float64)
    if not (abs(largest) < _LARGEST_EXPONENT and math.isfinite(s.sum() + t.sum())):
        return None
    s *= -rate
    t *= rate
    np.exp(s, out=s)
    np.exp(t, out=t)
    n, m = len(s), len(t)
    of_s, of_t = s.sum().item() / n, t.sum().item() / m
    factor = scale * math.exp(largest)
    s *= -rate * factor * of_t / n
    t *= rate * factor * of_s / m
    return factor * of_s * of_t, s, t
