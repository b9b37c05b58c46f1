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
SMOOTH = [
    *(sl.get_loss(name) for name in ("sigmoid", "savage", "logistic", "generalized_cross_entropy", "focal")),
    sl.GeneralizedCrossEntropy(q=0.3),
    sl.GeneralizedCrossEntropy(q=0.1),
]


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


def of_all_sizes(seed, *sides):
    """Weights that span 24 orders of magnitude."""
    generator = torch.Generator().manual_seed(seed)
    return [10 ** (24 * torch.rand(x.shape, generator=generator, dtype=torch.float64) - 12) for x in sides]


@pytest.mark.parametrize("loss", [*KINKED, *SMOOTH], ids=repr)
def test_weights_of_all_sizes_and_ties(loss):
    pos, neg = (x.mul(2).round() / 2 for x in spread_out(torch.float64))
    check_each(pos, neg, loss, *of_all_sizes(1, pos, neg))


@pytest.mark.parametrize("loss", SMOOTH, ids=repr)
def test_weights_of_all_sizes_of_smooth_losses(loss):
    for seed in range(5):
        pos, neg = spread_out(torch.float64, 300, 200, scale=1.0 + seed)
        check_each(pos, neg, loss, *of_all_sizes(seed, pos, neg))


@pytest.mark.parametrize("loss", SMOOTH, ids=repr)
def test_values_of_a_batch_with_weights_of_all_sizes(loss):
    pos, neg = spread_out(torch.float64, 40 * 90, 40 * 110, scale=2.0)
    pos, neg = pos.view(40, 90) + torch.linspace(0, 30, 40)[:, None], neg.view(40, 110)
    w, v = of_all_sizes(3, pos, neg)
    values = sl.pairwise_risk(pos, neg, loss, w, v, method="structure")
    exact = torch.stack([each(*problem[:2], loss, *problem[2:])[0][0] for problem in zip(pos, neg, w, v, strict=True)])
    torch.testing.assert_close(values, exact, rtol=2e-8, atol=0)


@pytest.mark.parametrize("far", [1e3, 1e8, 1e15, 1e37])
@pytest.mark.parametrize("loss", KINKED[:3], ids=lambda loss: loss.name)
def test_squares_and_lines_beside_an_outlier(loss, far):
    pos, neg = spread_out(torch.float64)
    pos[0], neg[1] = -far, far  # where a parabola is 0, or has its largest value
    check_each(pos, neg, loss)


@pytest.mark.parametrize("method", ["auto", "structure"])
@pytest.mark.parametrize("n", [3, 30, 700])
@pytest.mark.parametrize("width", [1e2, 2e5])
def test_squares_of_equal_weight_close_to_their_ends(width, n, method):
    pos, neg = spread_out(torch.float64, n, n, width)
    pos[0], neg[0] = 5 * width, 5 * width - 1 + 1e-5  # the only active pair of the first row
    pos[1], neg[1] = -5 * width + 1e-5, -5 * width - 1 + 2e-5  # and of the second column
    check_each(pos, neg, sl.SquaredHinge(), method=method)
    check_each(pos, neg, sl.SquaredHinge(), torch.ones(n), method=method)


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
@pytest.mark.parametrize("loss", SMOOTH, ids=repr)
def test_tails_of_smooth_losses(loss, longest, dtype, rows, monkeypatch):
    monkeypatch.setattr(tails, "_FEW_ROWS", rows)
    check_each(*in_tails(dtype, longest), loss)


@pytest.mark.parametrize("loss", SMOOTH, ids=repr)
def test_tails_in_many_cells(loss, monkeypatch):
    monkeypatch.setattr(tails, "_FEW_ROWS", 0)
    monkeypatch.setattr(tails, "_FEW_CELLS", 0)
    check_each(*in_tails(torch.float64, 300.0), loss)
    check_each(*in_tails(torch.float64, 1e15), loss)


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
@pytest.mark.parametrize("loss", SMOOTH[:3], ids=repr)
def test_tails_in_some_thousand_pairs(loss, dtype):
    for scale in (3.0, 10.0, 40.0):
        check_each(*spread_out(dtype, 180, 200, scale), loss, method="auto")


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
@pytest.mark.parametrize("loss", SMOOTH, ids=repr)
def test_tails_beside_a_heavy_weight(loss, dtype, monkeypatch):
    pos, neg = spread_out(dtype)
    v = torch.ones(len(neg))
    neg[0], v[0] = -20.0, 1e20  # so far that its slopes are as small as those of the light ones
    for pairs in (0, 5):  # all pairs nearby are gathered, or all pairs computed
        monkeypatch.setattr(tails, "_NEAR_PAIR", pairs)
        check_each(pos, neg, loss, None, v)


def test_no_more_than_so_many_pairs_are_computed_beside_a_heavy_weight(monkeypatch):
    pos, neg = spread_out(torch.float64)
    v, count = torch.ones(len(neg)), 0
    neg[0], v[0] = -25.0, 1e20
    every, near = tails._every, tails._near

    def counted_every(s, t, *rest):
        nonlocal count
        count += len(s) * len(t)
        return every(s, t, *rest)

    def counted_near(s, t, v, first, last, function):
        nonlocal count
        count += tails._NEAR_PAIR * int((last - first).sum())
        return near(s, t, v, first, last, function)

    monkeypatch.setattr(tails, "_every", counted_every)
    monkeypatch.setattr(tails, "_near", counted_near)
    check_each(pos, neg, "sigmoid", None, v)
    assert 0 < count <= 3 * len(pos) * len(neg)  # both gradients and the value
    monkeypatch.setattr(tails, "_MOST_PAIRS", len(pos) * len(neg) // 2)
    count, pos = 0, pos.requires_grad_()
    (found,) = torch.autograd.grad(sl.pairwise_risk(pos, neg, "sigmoid", None, v, method="structure"), pos)
    assert count <= len(pos) * len(neg)
    assert (found - each(pos, neg, "sigmoid", None, v)[0][1]).abs().max() <= 1e-15  # the digits of the steepest slope


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("q", [0.1, 0.01, 1e-4])
@pytest.mark.parametrize("side", [1, -1])
def test_tails_start_near_where_two_rates_are_far_apart(side, q):
    assert tails.tail_of(sl.GeneralizedCrossEntropy(q=q), side).start == 8.0


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
