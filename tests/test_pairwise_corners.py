"""Margins that lie within rounding of a corner: every method takes the slope of the side that they are on."""

from fractions import Fraction

import pytest
import torch

import symloss as sl
from symloss.losses import Piecewise

LOSSES = [
    sl.Hinge(),
    sl.Ramp(),
    sl.DoubleHinge(),
    sl.ZeroOne(),
    sl.BarrierHinge(b=10, r=1),
    sl.BarrierHinge(b=1.5, r=3),
]


def exact(pos, neg, loss):
    """Value and gradients in rational numbers, for scores of equal weight."""
    structure = loss.structure
    assert isinstance(structure, Piecewise)
    a, b = (Fraction(c) for c in (*structure.coefficients, 0.0, 0.0)[:2])
    n, m = len(pos), len(neg)
    value, by_pos, by_neg = Fraction(0), [Fraction(0)] * n, [Fraction(0)] * m
    for i, s in enumerate(pos.tolist()):
        for j, t in enumerate(neg.tolist()):
            z = Fraction(s) - Fraction(t)
            found, slope = a + b * z, b
            for kink in structure.kinks:
                below, weight = Fraction(kink.where) - z, Fraction(kink.weight)
                active = Fraction((below > 0) + (below >= 0), 2)
                found += weight * active * (below if kink.power else 1)
                slope -= weight * active if kink.power else 0
            value, by_pos[i], by_neg[j] = value + found, by_pos[i] + slope, by_neg[j] - slope
    return value / (n * m), [x / (n * m) for x in by_pos], [x / (n * m) for x in by_neg]


def near_corners(loss, dtype, n, seed):
    """Scores whose margins are a corner, or the numbers next to it, or off by less than any number next to it."""
    generator = torch.Generator().manual_seed(seed)
    neg = torch.randn(n, dtype=dtype, generator=generator)
    neg[::3] *= 1e-25
    where = torch.tensor([kink.where for kink in loss.structure.kinks], dtype=dtype)
    pos = neg + where[torch.randint(len(where), (n,), generator=generator)]
    step = torch.randint(-1, 2, (n,), generator=generator).to(dtype)
    return torch.nextafter(pos, pos + step), neg


@pytest.mark.parametrize("method", ["auto", "tiles", "structure"])
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
@pytest.mark.parametrize("loss", LOSSES, ids=str)
def test_the_side_of_a_corner(loss, dtype, method):
    check_the_side_of_a_corner(loss, dtype, method)


@pytest.mark.usefixtures("long_rows")
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
@pytest.mark.parametrize("loss", LOSSES, ids=str)
def test_the_side_of_a_corner_in_long_rows(loss, dtype):
    check_the_side_of_a_corner(loss, dtype, "structure")


def check_the_side_of_a_corner(loss, dtype, method):
    tolerance = 2e-7 if dtype == torch.float32 else 1e-13
    for seed, n in ((0, 1), (1, 5), (2, 17)):
        pos, neg = near_corners(loss, dtype, n, seed)
        value, by_pos, by_neg = exact(pos, neg, loss)
        for shape, weight in (((), None), ((1,), None), ((), torch.ones(n, dtype=dtype))):
            leaves = [side.clone().expand(*shape, n).requires_grad_() for side in (pos, neg)]
            found = sl.pairwise_risk(*leaves, loss, weight, weight, method=method)
            assert abs(found.item() - value) <= tolerance * max(1, abs(value))
            for gradient, expected in zip(torch.autograd.grad(found.sum(), leaves), (by_pos, by_neg), strict=True):
                largest = max(map(abs, expected))
                for own, true in zip(gradient.flatten().tolist(), expected, strict=True):
                    assert abs(own - true) <= tolerance * largest


def test_few_hundred_scores_near_a_corner():
    """Up to some thousand pairs each is computed, then they are searched, then sorted."""
    loss = sl.Hinge()
    for n in (60, 200, 1100):
        neg = 1e-25 * torch.randn(n, dtype=torch.float64)
        pos = torch.ones(n, dtype=torch.float64, requires_grad=True)
        sl.pairwise_risk(pos, neg, loss).backward()
        assert torch.equal(pos.grad.mul(n * n).round(), torch.full((n,), -float((neg > 0).sum())).double())
