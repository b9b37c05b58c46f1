"""Every entry of a gradient has its digits, however small it is beside the others: heavy weights, tails, squares."""

import math

import pytest
import torch

import symloss as sl
from symloss.losses import Kink, Loss, Piecewise
from symloss.losses.structure import step_down
from symloss.pairwise import tails
from symloss.pairwise.fused.lost import lost_rows
from symloss.pairwise.fused.points import Points, Split
from symloss.pairwise.ranges import Ranges


class RoundedRamp(Loss):
    """Four squares that cancel at both ends."""

    structure = Piecewise(
        kinks=tuple(
            Kink(where, weight, 2) for where, weight in zip((1.5, 0.5, -0.5, -1.5), (1, -1, -1, 1), strict=True)
        )
    )

    def value(self, z):
        return self.structure(z.clamp(-1.5, 1.5))

    def slope(self, z):
        return -2 * (1.5 - z.abs()).clamp(0, 1)


class CappedLine(Loss):
    """A line that a corner cancels to the left."""

    structure = Piecewise(coefficients=(0.0, -0.5), kinks=(Kink(-1.0, -0.5, 1),))

    def value(self, z):
        return -0.5 * z.clamp(min=-1)

    def slope(self, z):
        return 0.5 * step_down(z, -1.0) - 0.5


class RoundedSquare(Loss):
    """A parabola that a square cancels to the left: 0 below -1, and (z + 1)^2 above."""

    structure = Piecewise(coefficients=(1.0, 2.0, 1.0), kinks=(Kink(-1.0, -1.0, 2),))

    def value(self, z):
        return (z + 1).clamp(min=0) ** 2

    def slope(self, z):
        return 2 * (z + 1).clamp(min=0)


KINKED = [RoundedRamp(), CappedLine(), RoundedSquare(), sl.Ramp(), sl.HuberizedHinge(), sl.SquaredHinge()]
SMOOTH = ["sigmoid", "savage", "logistic", "generalized_cross_entropy", "focal"]


def each(pos, neg, loss, w=None, v=None):
    """All pairs in float64: the value, both gradients, and the sizes of the terms of each, added up."""
    loss, pos, neg = sl.get_loss(loss), pos.detach().double(), neg.detach().double()
    w, v = (torch.ones_like(x) if y is None else y.double() for x, y in ((pos, w), (neg, v)))
    z, share = pos[:, None] - neg, (w / w.sum())[:, None] * (v / v.sum())
    values, slopes = share * loss(z), share * loss.derivative(z)
    return (values.sum(), slopes.sum(1), -slopes.sum(0)), (values.abs().sum(), slopes.abs().sum(1), slopes.abs().sum(0))


def check_each(pos, neg, loss, w=None, v=None, method="structure", rtol=None):
    pos, neg = pos.clone().requires_grad_(), neg.clone().requires_grad_()
    value = sl.pairwise_risk(pos, neg, loss, w, v, method=method)
    rtol = rtol or (3e-6 if pos.dtype == torch.float32 else 2e-8)
    least = 1e-43 if pos.dtype == torch.float32 else 1e-300
    for found, exact, size in zip(
        (value.detach(), *torch.autograd.grad(value, (pos, neg))), *each(pos, neg, loss, w, v), strict=True
    ):
        close = (found.double() - exact).abs() <= rtol * size + least
        assert (close | (exact.abs() > torch.finfo(pos.dtype).max)).all()


def spread_out(dtype, n=90, m=110, scale=1.0):
    generator = torch.Generator().manual_seed(0)
    return [scale * torch.randn(size, generator=generator, dtype=torch.float64).to(dtype) for size in (n, m)]


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
@pytest.mark.parametrize("heaviest", [1e8, 1e12, 1e20])
@pytest.mark.parametrize("loss", KINKED, ids=lambda loss: loss.name)
def test_beside_a_heavy_weight(loss, heaviest, dtype):
    pos, neg = spread_out(dtype)
    for far in (30.0, -30.0, 1e25):
        neg[0] = pos[1] = far
        v, w = torch.ones(len(neg)), torch.ones(len(pos))
        v[0] = w[1] = heaviest
        check_each(pos, neg, loss, None, v)
        check_each(pos, neg, loss, w, v)


@pytest.mark.usefixtures("long_rows")
@pytest.mark.parametrize("loss", KINKED, ids=lambda loss: loss.name)
def test_beside_a_heavy_weight_in_long_rows(loss):
    pos, neg = spread_out(torch.float32)
    neg[0], v = 30.0, torch.ones(len(neg)).index_fill(0, torch.tensor([0]), 1e12)
    check_each(pos, neg, loss, None, v)


@pytest.mark.parametrize("loss", KINKED, ids=lambda loss: loss.name)
def test_weights_of_all_sizes_and_ties(loss):
    generator = torch.Generator().manual_seed(1)
    pos, neg = (x.mul(2).round() / 2 for x in spread_out(torch.float64))
    w, v = (10 ** (24 * torch.rand(len(x), generator=generator, dtype=torch.float64) - 12) for x in (pos, neg))
    check_each(pos, neg, loss, w, v)


@pytest.mark.parametrize("far", [1e3, 1e8, 1e15, 1e37])
@pytest.mark.parametrize("loss", KINKED[:3], ids=lambda loss: loss.name)
def test_squares_and_lines_beside_an_outlier(loss, far):
    pos, neg = spread_out(torch.float64)
    pos[0], neg[1] = -far, far  # where a parabola is 0, or has its largest value
    check_each(pos, neg, loss)


def test_a_parabola_where_most_scores_are_far_from_the_others():
    pos, neg = spread_out(torch.float64, 90, 3)
    pos[:60] += 1e20
    check_each(pos, neg, "squared", torch.ones(90), torch.ones(3))


def in_tails(dtype, longest, n=400, m=300):
    """Overlapping classes, and scores at all distances from the other class."""
    pos, neg = spread_out(torch.float64, n, m)
    pos[: n // 4] *= torch.logspace(0, math.log10(longest), n // 4)
    neg[: m // 4] *= torch.logspace(0, math.log10(longest), m // 4)
    return pos.to(dtype), neg.to(dtype)


@pytest.mark.parametrize("rows", [0, 8])
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
@pytest.mark.parametrize("longest", [5.0, 30.0, 300.0])
@pytest.mark.parametrize("name", SMOOTH)
def test_tails_of_smooth_losses(name, longest, dtype, rows, monkeypatch):
    monkeypatch.setattr(tails, "_FEW_ROWS", rows)
    check_each(*in_tails(dtype, longest), name)


@pytest.mark.parametrize("name", SMOOTH)
def test_tails_in_many_cells(name, monkeypatch):
    monkeypatch.setattr(tails, "_FEW_ROWS", 0)
    monkeypatch.setattr(tails, "_FEW_CELLS", 0)
    check_each(*in_tails(torch.float64, 300.0), name)
    check_each(*in_tails(torch.float64, 1e15), name)


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
@pytest.mark.parametrize("name", SMOOTH[:3])
def test_tails_in_some_thousand_pairs(name, dtype):
    for scale in (3.0, 10.0, 40.0):
        check_each(*spread_out(dtype, 180, 200, scale), name, method="auto")


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
@pytest.mark.parametrize("name", SMOOTH)
def test_tails_beside_a_heavy_weight(name, dtype):
    pos, neg = spread_out(dtype)
    v = torch.ones(len(neg))
    neg[0], v[0] = -20.0, 1e20  # so far that its slopes are as small as those of the light ones
    check_each(pos, neg, name, None, v)


@pytest.mark.parametrize("side", [1, -1])
def test_scores_far_beyond_a_gap(side):
    pos, neg = spread_out(torch.float64)
    pos[:40] += 200 * torch.rand(40, generator=torch.Generator().manual_seed(0))
    check_each(side * (pos.abs() + 2), -side * (neg.abs() + 2), "sigmoid")


def test_losses_without_exponential_tails(monkeypatch):
    pos, neg = in_tails(torch.float64, 60.0)
    check_each(pos, neg, "normalized_cross_entropy")
    monkeypatch.setattr(tails, "_MOST_PAIRS", 0)  # as if there were too many pairs: the digits of the steepest slope
    pos.requires_grad_()
    (found,) = torch.autograd.grad(sl.pairwise_risk(pos, neg, "normalized_cross_entropy", method="structure"), pos)
    (_, exact, _), _ = each(pos, neg, "normalized_cross_entropy")
    assert (found - exact).abs().max() <= 1e-12 * exact.abs().max()


def test_sums_over_ranges_lose_nothing():
    generator = torch.Generator().manual_seed(0)
    shares = 10 ** (40 * torch.rand(37, generator=generator, dtype=torch.float64) - 20)
    scores = torch.randn(37, generator=generator, dtype=torch.float64).sort().values
    start, stop = (part.flatten() for part in torch.meshgrid(torch.arange(37), torch.arange(38), indexing="ij"))
    start, stop = start[start < stop], stop[start < stop]
    for i, j, *found in zip(start, stop, *Ranges.of(scores, shares).moments(start, stop), strict=True):
        away = scores[i:j] - scores[i]
        exact = [float((shares[i:j] * away**power).sum()) for power in range(3)]
        assert [float(part) for part in found] == pytest.approx(exact, rel=1e-12, abs=0)


@pytest.mark.parametrize("together", [False, True])
@pytest.mark.parametrize("loss", KINKED[:2], ids=lambda loss: loss.name)
def test_kernels_are_told_of_heavy_weights(loss, together):
    """What decides on a GPU that every pair is computed; ordinary weights must pass."""
    pos, neg = spread_out(torch.float32)
    w, v = (torch.rand(len(x), generator=torch.Generator().manual_seed(2), dtype=torch.float64) for x in (pos, neg))
    heavy = v.clone()
    neg[0], heavy[0] = 30.0, 1e14
    for given, expected in ((v, 0), (heavy, 1)):
        share = given / given.sum()
        of_pos, of_neg = each(pos, neg, loss, w, given)[0][1:]
        of_pos[of_pos.abs() < 1e-12 * w / w.sum()] = 0  # as if it were lost
        gradients, own, split = torch.cat([of_pos, of_neg]).float(), w / w.sum(), None
        s, t = pos, neg
        if together:
            split = Split(torch.arange(200), torch.arange(200).roll(-90), torch.tensor([90, 110]))
            s, own = torch.cat([pos, torch.full((110,), math.inf)]), torch.cat([own, torch.zeros(110)])
            t, share = torch.cat([neg, torch.full((90,), math.inf)]), torch.cat([share, torch.zeros(90)])
        points = Points(s, t, own, share, torch.Size(), split)
        assert lost_rows(points, gradients, loss.structure).tolist() == [expected]
