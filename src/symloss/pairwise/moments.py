"""Separable losses: polynomials up to degree 2 and exponentials, from a few sums over either class, in O(n + m)."""

from __future__ import annotations

import torch
from torch import Tensor

from symloss.losses import ExponentialDecay
from symloss.pairwise.problem import Side, Sums, blocks


def mean(side: Side, centre: Tensor) -> Tensor:
    """Return the weighted mean of (score - centre), (k, 1) in float64; 0 where the class has no weight."""
    total = torch.zeros_like(centre)
    for rows, columns in blocks(side.scores):
        centred = side.scores[rows, columns].double() - centre[rows]
        total[rows] += (centred * side.share(rows, columns)).sum(1, keepdim=True)
    weight = side.total
    return total / torch.where(weight > 0, weight, 1.0)


def centre_of(pos: Side, neg: Side) -> Tensor:
    """Return an offset (k, 1) in float64 that makes sums of the bulk of each problem exact: the median of a sample."""
    sample = torch.cat([side.scores[:, :: max(1, side.scores.shape[1] // 500)] for side in (pos, neg)], 1)
    middle = sample.shape[1] // 2
    return sample.sort(1).values[:, middle : middle + 1].double()  # median() is not deterministic on CUDA


def polynomial(pos: Side, neg: Side, coefficients: tuple[float, ...]) -> Sums:
    """Return the sums for a + b z + c z^2, from the means and the variances."""
    a, b, c = (*coefficients, 0.0, 0.0, 0.0)[:3]
    centre = centre_of(pos, neg)
    mean_pos, mean_neg = mean(pos, centre), mean(neg, centre)
    gap = mean_pos - mean_neg
    value = (a + b * gap + c * gap**2) * pos.total * neg.total
    gradients = []
    for side, own, other, weight, sign in (
        (pos, mean_pos, mean_neg, neg.total, 1.0),
        (neg, mean_neg, mean_pos, pos.total, -1.0),
    ):
        gradient = torch.empty_like(side.scores)
        for rows, columns in blocks(side.scores):
            share = side.share(rows, columns) * weight[rows]
            if c:
                centred = side.scores[rows, columns].double() - centre[rows]
                value[rows] += c * ((centred - own[rows]).square_() * share).sum(1, keepdim=True)
                gradient[rows, columns] = centred.sub_(other[rows]).mul_(2 * c).add_(sign * b).mul_(share)
            else:
                gradient[rows, columns] = sign * b * share
        gradients.append(gradient)
    return value[:, 0], gradients[0], gradients[1]


def exponential(pos: Side, neg: Side, decay: ExponentialDecay) -> Sums:
    """Return the sums for scale * exp(-rate z), from one sum of exponentials a class."""
    rate, scale = decay.rate, decay.scale
    centre = centre_of(pos, neg)
    parts = []
    for side, sign in ((pos, -1.0), (neg, 1.0)):
        extreme = side.scores.amax(1, keepdim=True) if sign * rate > 0 else side.scores.amin(1, keepdim=True)
        top = sign * rate * (extreme.double() - centre)
        total = torch.zeros_like(top)
        for rows, columns in blocks(side.scores):
            centred = side.scores[rows, columns].double() - centre[rows]
            powers = centred.mul_(sign * rate).sub_(top[rows]).exp_()
            total[rows] += powers.mul_(side.share(rows, columns)).sum(1, keepdim=True)
        parts.append(top + total.log())
    value = scale * (parts[0] + parts[1]).exp()
    gradients = []
    for side, other, sign in ((pos, parts[1], -1.0), (neg, parts[0], 1.0)):
        gradient = torch.empty_like(side.scores)
        for rows, columns in blocks(side.scores):
            centred = side.scores[rows, columns].double() - centre[rows]
            powers = centred.mul_(sign * rate).add_(other[rows]).exp_()
            gradient[rows, columns] = powers.mul_(sign * rate * scale).mul_(side.share(rows, columns))
        gradients.append(gradient)
    return value[:, 0], gradients[0], gradients[1]
