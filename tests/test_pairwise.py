import math
import re

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

import symloss as sl
from symloss.losses import Analytic, Kink, Piecewise
from symloss.pairwise import classes, exponentials, few, merged, ordered, problem, sorting, tiles

LOSSES = sl.list_losses()


def matrix(pos, neg, name, w=None, v=None):
    """All pairs at once in float64, with the loss's own derivative."""
    loss = sl.get_loss(name)
    pos, neg = pos.double(), neg.double()
    w = torch.ones_like(pos) if w is None else w.double()
    v = torch.ones_like(neg) if v is None else v.double()
    w, v = w / w.sum(-1, keepdim=True), v / v.sum(-1, keepdim=True)
    z, weight = pos[..., :, None] - neg[..., None, :], w[..., :, None] * v[..., None, :]
    slopes = weight * loss.derivative(z)
    return (weight * loss(z)).sum((-2, -1)), slopes.sum(-1), -slopes.sum(-2)


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
@pytest.mark.parametrize("name", LOSSES)
def test_tiles_are_the_matrix(name, dtype, monkeypatch):
    monkeypatch.setitem(tiles._PAIRS, "cpu", 64)  # many ragged tiles
    pos = torch.randn(3, 1, 23, dtype=dtype, requires_grad=True)
    neg = torch.randn(2, 17, dtype=dtype, requires_grad=True)
    w, v = torch.rand(23, dtype=dtype), torch.rand(2, 17, dtype=dtype)
    value = sl.pairwise_risk(pos, neg, name, w, v, method="tiles")
    expected, grad_pos, grad_neg = matrix(pos.detach(), neg.detach(), name, w, v)
    rtol = 2e-7 if dtype == torch.float32 else 1e-12
    assert value.shape == (3, 2)
    torch.testing.assert_close(value.double(), expected, rtol=rtol, atol=0)
    gradients = torch.autograd.grad(value.sum(), (pos, neg))
    for gradient, exact in zip(gradients, (grad_pos.sum(1, keepdim=True), grad_neg.sum(0)), strict=True):
        assert gradient.dtype == dtype
        assert (gradient.double() - exact).abs().max() <= rtol * exact.abs().max()


def cauchy(k, n):
    return torch.randn(k, n) / torch.randn(k, n)


def outliers(k, n):
    return torch.cat([torch.randn(k, n - 2), torch.full((k, 1), 1e6), torch.full((k, 1), -1e6)], 1)


SHAPES = {
    "normal": lambda k, n: torch.randn(k, n),
    "wide": lambda k, n: 30 * torch.randn(k, n),
    "offset": lambda k, n: torch.randn(k, n) + 1e4,
    "tied": lambda k, n: torch.full((k, n), 0.5),
    "integers": lambda k, n: torch.randint(-3, 4, (k, n)).float(),
    "quarters": lambda k, n: torch.randint(-8, 9, (k, n)) / 4.0,
    "cauchy": cauchy,
    "outliers": outliers,
    "long": lambda k, n: 1e6 * torch.rand(k, n),
    "zeros of both signs": lambda k, n: torch.randint(-2, 3, (k, n)).float() * torch.tensor(-1.0),
    "two clusters": lambda k, n: torch.randn(k, n) + 500.0 * torch.randint(0, 2, (k, n)),
}
STRUCTURED = [*LOSSES, sl.BarrierHinge(b=10, r=1), sl.BarrierHinge(b=1.5, r=3), sl.GeneralizedCrossEntropy(q=0.25)]


def off_by(found, exact):
    return ((found.double() - exact).abs().max() / exact.abs().max().clamp(min=1e-290)).item()


def compare(pos, neg, loss, w=None, v=None, method="structure"):
    """The largest relative error of the value and of both gradients, against the float64 matrix."""
    pos, neg = pos.detach().requires_grad_(), neg.detach().requires_grad_()
    value = sl.pairwise_risk(pos, neg, loss, w, v, method=method)
    gradients = torch.autograd.grad(value.sum(), (pos, neg))
    return max(map(off_by, (value, *gradients), matrix(pos.detach(), neg.detach(), loss, w, v)))


OVERFLOWING = ("wide", "cauchy", "outliers", "long", "two clusters")  # for the exponential loss
CASES = [(loss, shape) for loss in STRUCTURED for shape in SHAPES if loss != "exponential" or shape not in OVERFLOWING]


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
@pytest.mark.parametrize(("loss", "shape"), CASES, ids=str)
def test_structure_is_the_matrix(loss, shape, dtype, weighted):
    pos, neg = SHAPES[shape](3, 90).to(dtype), SHAPES[shape](3, 70).to(dtype)
    w, v = (torch.rand(3, 90), torch.rand(70)) if weighted else (None, None)
    assert compare(pos, neg, loss, w, v) <= (2e-7 if dtype == torch.float32 else 1e-11)


KINKED = [loss for loss in STRUCTURED if getattr(sl.get_loss(loss).structure, "kinks", ())]


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
@pytest.mark.parametrize("shape", ["normal", "tied", "zeros of both signs", "quarters", "cauchy", "outliers", "offset"])
@pytest.mark.parametrize("loss", KINKED, ids=str)
@pytest.mark.usefixtures("long_rows")
def test_rows_merged_in_chunks(loss, shape, dtype, weighted):
    pos, neg = SHAPES[shape](2, 190).to(dtype), SHAPES[shape](2, 170).to(dtype)
    w, v = (torch.rand(2, 190), torch.rand(170)) if weighted else (None, None)
    assert compare(pos, neg, loss, w, v) <= (2e-7 if dtype == torch.float32 else 1e-11)
    assert compare(pos, neg[:, :1], loss, w, None if v is None else v[:1]) <= (
        2e-7 if dtype == torch.float32 else 1e-11
    )


@pytest.mark.usefixtures("long_rows")
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_merging_and_searching_count_the_same(dtype):
    pos, neg = (
        problem.Side((torch.randint(-99, 99, (2, n)) / 8.0).to(dtype), torch.rand(2, n).double()) for n in (3000, 900)
    )
    sides = ordered.ordered(pos), ordered.ordered(neg)
    wheres = [0.0, 1.0, -10 / 9, 1e-30]
    found = merged.merged_ranks(pos, neg, wheres, with_sorted=True)
    for own, exact, rank, in_order in zip(sides, ordered.ranks(*sides, wheres), found[:2], found[2:], strict=True):
        assert torch.equal(rank.twice.gather(2, own.places.expand(4, -1, -1)), exact.twice)
        assert torch.equal(rank.below.gather(2, own.places.expand(4, -1, -1)), exact.below)
        assert torch.equal(in_order.scores.double(), own.scores)


@pytest.mark.usefixtures("long_rows")
@pytest.mark.parametrize("scale", [1 / 8, 1e-7, 1e20, -0.0])
@pytest.mark.parametrize("weighted", [False, True])
def test_classes_merged_in_pieces_and_searching_count_the_same(scale, weighted):
    pos, neg = (
        problem.Side(scale * torch.randint(-99, 99, (2, n)), torch.rand(2, n).double() if weighted else None)
        for n in (3000, 900)
    )
    sides = classes.ordered_by_vectors(pos), classes.ordered_by_vectors(neg)
    wheres = [0.0, 1.0, -10 / 9, 1e-30]
    for own, in_order in zip((pos, neg), sides, strict=True):
        assert torch.equal(own.scores.gather(1, in_order.places), in_order.scores)
        assert torch.equal(own.scores.sort(1).values, in_order.scores)
    searched = ordered.ranks(ordered.ordered(pos), ordered.ordered(neg), wheres)
    for rank, exact in zip(classes.ranks_in_pieces(*sides, wheres), searched, strict=True):
        assert torch.equal(rank.twice, exact.twice)
        assert torch.equal(rank.below, exact.below) if weighted else rank.below is None


@pytest.mark.usefixtures("long_rows")
@pytest.mark.parametrize("loss", KINKED, ids=str)
def test_long_rows_of_separated_classes(loss):
    for shift in (-7.0, 7.0):
        pos, neg = torch.randn(3, 90) + shift, torch.randn(3, 70)
        assert compare(pos, neg, loss) <= 2e-7
        assert compare(pos[:, :1], neg, loss) <= 2e-7


@pytest.mark.parametrize("dtype", [np.int32, np.int64])
def test_both_sorts_return_the_same(dtype):
    rng, limits = np.random.default_rng(0), np.iinfo(dtype)
    for low, high in ((limits.min, limits.max), (-50, 50)):
        keys = rng.integers(low, high, 40_000, dtype, endpoint=True)
        places = np.argsort(keys, kind="stable")
        for sort in (sorting.by_digits, sorting.by_vectors):
            found = sort(keys)
            assert np.array_equal(found[0], keys[places])
            assert np.array_equal(found[1], places)


@pytest.mark.parametrize("shift", [0.0, 60.0, -60.0])
@pytest.mark.parametrize("loss", [sl.Sigmoid(), sl.Savage(), sl.Logistic()], ids=str)
def test_exponentials_of_scores_keep_all_digits(loss, shift):
    form = exponentials.form_of(loss)
    for n, m in ((120, 110), (7, 9)):
        pos, neg = torch.randn(n).double() + shift / 2, 5 * torch.randn(m).double() - shift / 2
        pos, neg = pos / form.rate, neg / form.rate
        assert n * m <= form.most
        found = exponentials.by_exponentials(pos.numpy(), neg.numpy(), form)
        for part, expected in zip(found, tiles.tiled(*sides_of(pos, neg), loss), strict=True):
            np.testing.assert_allclose(part, expected[0].numpy(), rtol=1e-12, atol=0)
        for too_large in (81.0, -81.0, math.inf, math.nan):
            far = np.full(3, too_large)
            assert exponentials.by_exponentials(np.append(pos, far), neg.numpy(), form) is None
            assert exponentials.by_exponentials(pos.numpy(), np.append(neg, far), form) is None


def sides_of(*scores):
    return [problem.Side(part[None]) for part in scores]


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("name", LOSSES)
def test_small_batches_do_not_warn(name):
    for n in (5, 120):
        pos, neg = torch.randn(n, dtype=torch.float64), torch.randn(n, dtype=torch.float64)
        for special in (math.inf, math.nan, 3e38, 1.7e308):
            pos[0], neg[1], pos[2] = special, special, -special
            for dtype in (torch.float32, torch.float64):
                sl.pairwise_risk(pos.to(dtype), neg.to(dtype), name, validate=False)


@pytest.mark.parametrize("loss", STRUCTURED, ids=str)
def test_auto_is_exact_on_both_sides_of_its_thresholds(loss):
    for n in (3, 60, 70, 100, 200, 300, 400, 600, 1200):
        pos, neg = torch.randn(n), torch.randn(n - 1)
        assert compare(pos, neg, loss, method="auto") <= 2e-7
        assert compare(pos.double(), neg.double(), loss, method="auto") <= 1e-11


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
@pytest.mark.parametrize(
    "shape", ["offset", "integers", "outliers", "wide", "quarters", "two clusters", "apart", "touching"]
)
@pytest.mark.parametrize("loss", [loss for loss in STRUCTURED if loss != "exponential"], ids=str)
def test_some_hundred_scores(loss, shape, dtype):
    """They are searched or expanded where that keeps all digits."""
    shapes = SHAPES | {"apart": lambda k, n: torch.rand(k, n), "touching": lambda k, n: torch.rand(k, n)}
    pos, neg = (shapes[shape](1, n)[0].to(dtype) for n in (180, 150))
    shift = {"apart": 12.0, "touching": 1.0}.get(shape, 0.0)
    for sign in (1, -1):
        assert compare(pos + sign * shift, neg, loss, method="auto") <= (2e-7 if dtype == torch.float32 else 1e-11)


@pytest.mark.parametrize("loss", STRUCTURED, ids=str)
@pytest.mark.parametrize("method", ["auto", "structure", "tiles"])
def test_leading_dimensions_broadcast(loss, method, monkeypatch):
    monkeypatch.setitem(few.LIMITS, "cpu", few.Limits(100, 1 << 20, 1 << 20))
    pos, neg = torch.randn(3, 1, 23, requires_grad=True), torch.randn(2, 17, dtype=torch.float64, requires_grad=True)
    value = sl.pairwise_risk(pos, neg, loss, method=method)
    assert value.shape == (3, 2)
    assert value.dtype == torch.float64
    expected, grad_pos, grad_neg = matrix(pos.detach(), neg.detach(), loss)
    torch.testing.assert_close(value, expected, rtol=2e-7, atol=0)
    for gradient, exact, scores in zip(
        torch.autograd.grad(value.sum(), (pos, neg)),
        (grad_pos.sum(1, keepdim=True), grad_neg.sum(0)),
        (pos, neg),
        strict=True,
    ):
        assert gradient.dtype == scores.dtype
        torch.testing.assert_close(gradient.double(), exact, rtol=2e-7, atol=1e-9)


def test_dense_kinks_of_every_power():
    class Everything(sl.Loss):
        structure = Piecewise((0.5, -0.25), (Kink(0.0, 0.3, 0), Kink(1.0, 0.5), Kink(-1.0, -0.2), Kink(0.5, 0.1, 2)))

        def value(self, z):
            return self.structure(z)

        def slope(self, z):
            return self.structure.derivative()(z)

    pos, neg = torch.randint(-8, 9, (2, 31)) / 4.0, torch.randint(-8, 9, (2, 29)) / 4.0
    for found, exact in zip(
        few.kinked_tile(pos + 1 / 8, neg, Everything(), Everything.structure),
        few.one_tile(pos + 1 / 8, neg, Everything()),
        strict=True,
    ):
        torch.testing.assert_close(found, exact, rtol=1e-13, atol=1e-15)


@pytest.mark.parametrize("method", ["structure", "tiles"])
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("loss", [*STRUCTURED, pytest.param(torch.cos, id="cos")], ids=str)
def test_derivatives_are_those_of_the_matrix(loss, weighted, method):
    pos = torch.randn(2, 31, dtype=torch.float64, requires_grad=True)
    neg = torch.randn(2, 27, dtype=torch.float64, requires_grad=True)
    draw = torch.rand if weighted else torch.ones
    w, v = draw(2, 31, dtype=torch.float64), draw(2, 27, dtype=torch.float64)
    w, v = w / w.sum(-1, keepdim=True), v / v.sum(-1, keepdim=True)
    function = sl.get_loss(loss)
    z = pos[..., :, None] - neg[..., None, :]
    slopes = function.slope(z)
    value = (w[..., :, None] * v[..., None, :] * slopes).sum()
    by_pos, by_neg = torch.autograd.grad(value, (pos, neg)) if value.requires_grad else (0 * pos, 0 * neg)
    weights = (w, v) if weighted else (None, None)
    found = sl.pairwise_derivatives(pos, neg, loss, *weights, method=method)
    _, first_pos, first_neg = matrix(pos.detach(), neg.detach(), loss, w, v)
    for part, exact in zip(found, (first_pos, first_neg, by_pos, -by_neg), strict=True):
        assert not part.requires_grad
        torch.testing.assert_close(part, exact.detach(), rtol=1e-9, atol=1e-12)


def test_the_second_derivative_of_convex_losses_is_not_negative():
    for name in LOSSES:
        loss = sl.get_loss(name)
        if loss.properties.convex:
            found = sl.pairwise_derivatives(torch.randn(700), torch.randn(600), loss)
            assert (found.pos_second >= 0).all()
            assert (found.neg_second >= 0).all()


@pytest.mark.parametrize("side", [1, -1])
@pytest.mark.parametrize("name", ["sigmoid", "logistic", "savage"])
def test_separated_classes_keep_their_digits(name, side):
    pos, neg = side * (10 + 3 * torch.rand(2, 300)), side * (-10 - 2 * torch.rand(2, 250))
    assert compare(pos.double(), neg.double(), name) <= 1e-11
    assert compare(pos, neg, name) <= 2e-7 or name == "savage"  # whose slope, exp(-80), float32 does not hold


@given(data=st.data())
def test_adversarial_scores(data):
    loss = data.draw(st.sampled_from(STRUCTURED))
    width = data.draw(st.sampled_from([1.0, 8.0, 40.0] if loss == "exponential" else [1.0, 40.0, 1e3, 1e6]))
    # Half precision: no difference of two scores is rounded, so the reference decides every corner exactly.
    score = st.floats(-1, 1, width=16).map(lambda x: width * x) | st.sampled_from(
        [0.0, -0.0, 1.0, -1.0, 0.5, 50.0, 51.0]
    )
    pos, neg = (
        torch.tensor(data.draw(st.lists(score, min_size=1, max_size=40)), dtype=torch.float32) for _ in range(2)
    )
    dtype = data.draw(st.sampled_from([torch.float32, torch.float64]))
    error = compare(pos.to(dtype), neg.to(dtype), loss)
    exact = matrix(pos, neg, loss)
    tiny = max(part.abs().max().item() for part in exact[1:]) < 1e-9  # gradients below what the grid resolves
    assert error <= (2e-7 if dtype == torch.float32 else 1e-11) or tiny


@pytest.mark.parametrize("loss", STRUCTURED, ids=str)
def test_batched_is_one_by_one(loss):
    pos, neg = torch.randn(7, 60) * torch.logspace(-2, 1, 7)[:, None], torch.randn(7, 50)
    together = sl.pairwise_risk(pos, neg, loss, method="structure")
    alone = torch.stack([sl.pairwise_risk(p, n, loss, method="structure") for p, n in zip(pos, neg, strict=True)])
    torch.testing.assert_close(together, alone, rtol=2e-7, atol=0)


@pytest.mark.parametrize("loss", STRUCTURED, ids=str)
def test_weights_are_repetitions_in_every_algorithm(loss):
    pos, neg = torch.randn(40, dtype=torch.float64), torch.randn(30, dtype=torch.float64)
    w, v = torch.randint(0, 4, (40,)), torch.randint(0, 4, (30,))
    weighted = sl.pairwise_risk(pos, neg, loss, w, v, method="structure")
    repeated = sl.pairwise_risk(pos.repeat_interleave(w), neg.repeat_interleave(v), loss, method="structure")
    torch.testing.assert_close(weighted, repeated, rtol=1e-11, atol=1e-13)


@pytest.mark.parametrize("loss", STRUCTURED, ids=str)
def test_stray_points_without_weight(loss):
    pos, neg = torch.randn(60), torch.randn(50)
    w, v = torch.ones(60), torch.ones(50)
    w[3], v[4] = 0.0, 0.0
    expected = sl.pairwise_risk(torch.cat([pos[:3], pos[4:]]), torch.cat([neg[:4], neg[5:]]), loss, method="structure")
    pos[3], neg[4] = -1e30, 1e30
    leaf = pos.requires_grad_()
    value = sl.pairwise_risk(leaf, neg, loss, w, v, method="structure")
    torch.testing.assert_close(value, expected, rtol=2e-7, atol=0)
    value.backward()
    assert leaf.grad[3] == 0
    assert leaf.grad.isfinite().all()


@pytest.mark.parametrize("loss", STRUCTURED, ids=str)
@pytest.mark.parametrize("special", [math.nan, math.inf, -math.inf])
@pytest.mark.parametrize("sides", ["pos", "neg", "both"])
def test_what_is_not_finite_spreads_as_in_the_matrix(loss, special, sides):
    pos, neg = torch.randn(2, 40, dtype=torch.float64), torch.randn(2, 30, dtype=torch.float64)
    if sides != "neg":
        pos[0, 5] = pos[0, 9] = special
    if sides != "pos":
        neg[0, 7] = special
    leaves = [pos.clone().requires_grad_(), neg.clone().requires_grad_()]
    value = sl.pairwise_risk(*leaves, loss, method="structure", validate=False)
    gradients = torch.autograd.grad(value.sum(), leaves)
    for found, exact in zip((value, *gradients), matrix(pos, neg, loss), strict=True):
        torch.testing.assert_close(found, exact, rtol=1e-11, atol=1e-13, equal_nan=True)


@pytest.mark.parametrize("b", [10, 200])
def test_slopes_toward_both_infinities_cancel_in_float64(b):
    loss = sl.BarrierHinge(b=b, r=1)
    for seed in range(5):
        generator = torch.Generator().manual_seed(seed)
        pos, neg = torch.randn(50, generator=generator), torch.randn(40, generator=generator)
        pos[:2], neg[:4] = torch.tensor([math.inf, -math.inf]), torch.tensor([math.inf, -math.inf, math.inf, -math.inf])
        leaves = [pos.clone().requires_grad_(), neg.clone().requires_grad_()]
        value = sl.pairwise_risk(*leaves, loss, method="structure", validate=False)
        for found, exact in zip(torch.autograd.grad(value, leaves), matrix(pos, neg, loss)[1:], strict=True):
            torch.testing.assert_close(found.double(), exact, rtol=2e-7, atol=1e-9, equal_nan=True)


@pytest.mark.parametrize("size", [1e3, 1e6, 1e8])
@pytest.mark.parametrize("side", ["pos", "neg"])
@pytest.mark.parametrize("sign", [1, -1])
@pytest.mark.parametrize("loss", [loss for loss in STRUCTURED if loss != "exponential"], ids=str)
def test_an_outlier_in_first_place(loss, sign, side, size):
    pos, neg = torch.randn(80, dtype=torch.float64), torch.randn(70, dtype=torch.float64)
    (pos if side == "pos" else neg)[0] = sign * size
    assert compare(pos, neg, loss) <= 1e-11


@pytest.mark.parametrize("name", ["sigmoid", "logistic", "savage"])
def test_rows_that_are_separated_by_different_amounts(name):
    shift = torch.tensor([0.0, 20.0, -20.0, 100.0, -100.0])[:, None]
    pos, neg = torch.randn(5, 90, dtype=torch.float64) + shift, torch.randn(5, 80, dtype=torch.float64)
    value = sl.pairwise_risk(pos, neg, name, method="structure")
    torch.testing.assert_close(value, matrix(pos, neg, name)[0], rtol=1e-11, atol=0)
    for row in range(5):
        assert compare(pos[row], neg[row], name) <= 1e-11


def test_scores_that_hardly_differ():
    for scale in (1e-310, 1e-200, 1e-30):
        pos = scale * torch.arange(3, dtype=torch.float64)
        for name in LOSSES:
            assert compare(pos, pos[:2], name) <= 1e-11


def corners_beyond_the_reach_of_float64():
    huge, tiny = torch.tensor([1e17]), torch.tensor([1e-30])
    assert sl.pairwise_risk(huge, huge, "hinge", method="structure").item() == 1
    pos, neg = tiny.clone().requires_grad_(), torch.tensor([-1.0])
    sl.pairwise_risk(pos, neg, "hinge", method="structure").backward()
    assert pos.grad.item() == 0  # the margin is 1 + 1e-30, though float64 would round it to the corner


def test_float32_corners_beyond_the_reach_of_float64():
    corners_beyond_the_reach_of_float64()


@pytest.mark.usefixtures("long_rows")
def test_float32_corners_beyond_the_reach_of_float64_in_long_rows():
    corners_beyond_the_reach_of_float64()


@pytest.mark.parametrize("offset", [1e6, 1e9])
def test_exponential_with_an_offset(offset):
    pos, neg = torch.randn(60, dtype=torch.float64) + offset, torch.randn(50, dtype=torch.float64) + offset
    assert compare(pos, neg, "exponential") <= 1e-11


@pytest.mark.parametrize("loss", STRUCTURED, ids=str)
@pytest.mark.parametrize("special", [math.nan, math.inf])
def test_what_is_not_finite_and_has_no_weight_does_not_exist(loss, special):
    pos = torch.tensor([1.0, special, 0.5], requires_grad=True)
    value = sl.pairwise_risk(pos, torch.tensor([0.0, 0.3]), loss, torch.tensor([1.0, 0.0, 1.0]), method="structure")
    value.backward()
    torch.testing.assert_close(value, sl.pairwise_risk(torch.tensor([1.0, 0.5]), torch.tensor([0.0, 0.3]), loss))
    assert pos.grad.isfinite().all()


def test_axes_of_any_length():
    """Segments and close pairs against tiles; were the grid to grow with the axis, this would not fit in memory."""
    for width in (1e5, 1e8, 1e30):
        pos, neg = width * torch.rand(3000, dtype=torch.float64), width * torch.rand(400, dtype=torch.float64)
        expected = sl.pairwise_risk(pos, neg, "logistic", method="tiles")
        torch.testing.assert_close(
            sl.pairwise_risk(pos, neg, "logistic", method="structure"), expected, rtol=1e-11, atol=0
        )


def test_a_new_loss_with_a_declared_structure_is_fast_at_once():
    class Trapezium(sl.Loss):
        structure = Piecewise(
            coefficients=(0.5,),
            kinks=(
                Kink(-2.0, 0.25),
                Kink(-1.0, -0.5),
                Kink(1.0, 0.5),
                Kink(2.0, -0.25),
                Kink(0.5, 0.1, 2),
                Kink(0.0, 0.2, 0),
            ),
        )

        def value(self, z):
            return self.structure(z)

        def slope(self, z):
            kinks = self.structure.kinks
            slopes = sum(-k.weight * torch.heaviside(k.where - z, z.new_tensor(0.5)) for k in kinks if k.power == 1)
            return slopes - sum(2 * k.weight * (k.where - z).clamp(min=0) for k in kinks if k.power == 2)

    class Curved(sl.Loss):
        structure = Piecewise(coefficients=(1.0, -2.0, 1.0), kinks=(Kink(1.0, 0.5),))

        def value(self, z):
            return self.structure(z)

        def slope(self, z):
            return 2 * z - 2 - 0.5 * torch.heaviside(1 - z, z.new_tensor(0.5))

    class Tanh(sl.Loss):
        structure = Analytic(
            pole_distance=math.pi / 2, left=(1.0, 0.0), right=(-1.0, 0.0), left_rate=2.0, right_rate=2.0
        )

        def value(self, z):
            return -torch.tanh(z)

    for loss in (Trapezium(), Curved(), Tanh()):
        for shape in ("normal", "quarters", "wide"):
            assert compare(SHAPES[shape](2, 80), SHAPES[shape](2, 70), loss) <= 2e-7


def test_deterministic_algorithms():
    torch.use_deterministic_algorithms(True)
    try:
        pos, neg = torch.randn(500), torch.randn(400)
        for name in LOSSES:
            first = sl.pairwise_risk(pos, neg, name, method="structure")
            assert first == sl.pairwise_risk(pos, neg, name, method="structure")
    finally:
        torch.use_deterministic_algorithms(False)


@pytest.mark.slow
def test_blocks_cover_long_rows():
    """Sizes beyond one block, against tiles: carries from block to block, and ties across their border."""
    pos, neg = torch.randint(-4000, 4000, (70_001,)) / 1000.0, torch.randint(-4000, 4000, (257,)) / 1000.0
    for loss in STRUCTURED:
        expected = sl.pairwise_risk(pos.double(), neg.double(), loss, method="tiles")
        torch.testing.assert_close(
            sl.pairwise_risk(pos, neg, loss, method="structure").double(), expected, rtol=2e-7, atol=0
        )


@pytest.mark.parametrize("name", LOSSES)
@given(data=st.data())
def test_shift_permutation_repetition(name, data):
    draw = st.lists(st.integers(-64, 64).map(lambda k: k / 16), min_size=1, max_size=9)
    pos, neg = (torch.tensor(data.draw(draw), dtype=torch.float64) for _ in range(2))
    value = sl.pairwise_risk(pos, neg, name)
    torch.testing.assert_close(sl.pairwise_risk(pos, neg, name, method="structure"), value, rtol=1e-11, atol=1e-13)
    shift = data.draw(st.sampled_from([-1e4, 0.25, 1e4]))
    torch.testing.assert_close(sl.pairwise_risk(pos + shift, neg + shift, name), value, rtol=1e-12, atol=1e-13)
    torch.testing.assert_close(sl.pairwise_risk(pos.flip(0), neg.flip(0), name), value, rtol=1e-12, atol=1e-13)
    torch.testing.assert_close(sl.pairwise_risk(pos.repeat(3), neg.repeat(2), name), value, rtol=1e-12, atol=1e-13)
    # The pair (s, t) and the pair (-t, -s) have the same margin.
    torch.testing.assert_close(sl.pairwise_risk(-neg, -pos, name), value, rtol=1e-12, atol=1e-13)


def test_memory_stays_linear():
    pos, neg = torch.randn(3000), torch.randn(3000)
    with torch.autograd.profiler.profile(profile_memory=True) as profile:
        sl.pairwise_risk(pos, neg, "sigmoid", method="tiles")
    largest = max(event.self_cpu_memory_usage for event in profile.function_events)
    assert largest < 3000 * 3000 * 8 / 10


@pytest.mark.parametrize("name", LOSSES)
def test_degenerate_sizes(name):
    for n, m in ((0, 3), (3, 0), (0, 0)):
        pos, neg = torch.randn(n, requires_grad=True), torch.randn(m, requires_grad=True)
        value = sl.pairwise_risk(pos, neg, name)
        value.backward()
        assert value.item() == 0
        assert not pos.grad.any()
    one = sl.pairwise_risk(torch.tensor([2.0]), torch.tensor([2.0]), name)
    torch.testing.assert_close(one, sl.get_loss(name)(torch.zeros(())))


@pytest.mark.parametrize("method", ["auto", "structure", "tiles"])
def test_scores_that_are_not_finite_are_refused(method):
    neg = torch.tensor([0.0, 1.0])
    for special in (math.nan, math.inf, -math.inf):
        for n in (3, 100, 400):
            scores = torch.zeros(n)
            scores[2] = special
            for name in ("hinge", "sigmoid", "squared", "exponential", "squared_hinge"):
                with pytest.raises(ValueError, match=rf"^pos must be finite, got {special:g} at position 2;"):
                    sl.pairwise_risk(scores, neg, name, method=method)
                with pytest.raises(ValueError, match=rf"^neg must be finite, got {special:g} at position 2;"):
                    sl.pairwise_risk(neg, scores, name, method=method)
    with pytest.raises(ValueError, match=r"at position \(1, 0\) and 2 more that are not"):
        sl.pairwise_derivatives(torch.tensor([[0.0, 1.0], [math.nan, math.inf], [math.inf, 0.0]]), neg)


def test_nan_and_infinity_as_the_matrix():
    neg = torch.tensor([0.0, 1.0])
    assert sl.pairwise_risk(torch.tensor([math.nan, 1.0]), neg, "hinge", validate=False).isnan()
    assert sl.pairwise_risk(torch.tensor([math.inf, 1.0]), neg, "hinge", validate=False).isfinite()
    assert sl.pairwise_risk(torch.tensor([-math.inf]), neg, "hinge", validate=False).item() == math.inf


@pytest.mark.parametrize("loss", STRUCTURED, ids=str)
def test_strided_and_expanded_scores(loss):
    for n in (20, 3000):
        pos, neg = torch.randn(n, 2)[:, 0], torch.randn(1).expand(n)
        value = sl.pairwise_risk(pos, neg, loss, method="structure")
        torch.testing.assert_close(value, sl.pairwise_risk(pos.clone(), neg.clone(), loss, method="structure"))
    rows = torch.randn(40, 3).T
    torch.testing.assert_close(
        sl.pairwise_risk(rows, rows + 1, loss, method="structure"),
        sl.pairwise_risk(rows.contiguous(), rows.contiguous() + 1, loss, method="structure"),
    )


@pytest.mark.parametrize("loss", KINKED, ids=str)
def test_minus_zero_is_zero(loss):
    zero = torch.zeros(1500)
    for pos, neg in ((zero, -zero), (-zero, zero), (zero + 1, -zero)):
        leaves = pos.clone().requires_grad_(), neg.clone().requires_grad_()
        value = sl.pairwise_risk(*leaves, loss, method="structure")
        gradients = torch.autograd.grad(value, leaves)
        for found, exact in zip((value, *gradients), matrix(pos, neg, loss), strict=True):
            torch.testing.assert_close(found.double(), exact, rtol=2e-7, atol=1e-13)


@pytest.mark.parametrize("loss", STRUCTURED, ids=str)
def test_where_denormals_are_flushed(loss):
    pos, neg = torch.randn(3000).relu(), torch.randn(2000).relu()
    expected = matrix(pos, neg, loss)
    if not torch.set_flush_denormal(True):
        pytest.skip("this processor flushes nothing")
    try:
        leaves = pos.requires_grad_(), neg.requires_grad_()
        value = sl.pairwise_risk(*leaves, loss, method="structure")
        gradients = torch.autograd.grad(value, leaves)
    finally:
        torch.set_flush_denormal(False)
    assert max(map(off_by, (value, *gradients), expected)) <= 2e-7


def test_an_outlier_among_few_pairs():
    for size in (1e8, 1e12, 1e15):
        pos, neg = torch.randn(100, dtype=torch.float64), torch.randn(90, dtype=torch.float64)
        pos[0] = -size
        assert compare(pos, neg, "ramp", method="auto") <= 1e-11


@pytest.mark.parametrize("gap", [5.0, 25.0, 45.0, 300.0])
@pytest.mark.parametrize("sign", [1, -1])
@pytest.mark.parametrize("name", ["sigmoid", "logistic", "savage"])
def test_separated_classes_of_great_width(name, gap, sign):
    pos, neg = gap + 200 * torch.rand(600, dtype=torch.float64), -200 * torch.rand(500, dtype=torch.float64)
    if name == "savage" and gap > 100:
        gap = 100.0  # beyond, its slope is zero in float64 too
        pos = gap + 200 * torch.rand(600, dtype=torch.float64)
    assert compare(sign * pos, sign * neg, name) <= 1e-11


def test_tails_of_different_rates():
    class Fifth(sl.Loss):
        structure = Analytic(math.pi, left=(1.0, 0.0), right=(0.0, 0.0), left_rate=1.0, right_rate=5.0)

        def value(self, z):
            return torch.sigmoid(-z) ** 5

        def slope(self, z):
            return -5 * torch.sigmoid(-z) ** 5 * torch.sigmoid(z)

    pos, neg = 100 + 150 * torch.rand(300, dtype=torch.float64), 150 * torch.rand(300, dtype=torch.float64)
    assert compare(pos, neg - 60, Fifth()) <= 1e-10
    assert compare(pos - 100, neg - 60, Fifth()) <= 1e-10


def test_rows_of_very_different_widths():
    pos, neg = torch.randn(6, 700, dtype=torch.float64), torch.randn(6, 600, dtype=torch.float64)
    pos[2] *= 300
    neg[4, 0] = 1e6
    for name in ("sigmoid", "logistic", "savage"):
        value = sl.pairwise_risk(pos, neg, name, method="structure")
        torch.testing.assert_close(value, matrix(pos, neg, name)[0], rtol=1e-11, atol=0)
        assert compare(pos, neg, name) <= 1e-11


def test_scores_beyond_the_reach_of_integers():
    for size in (1.3e17, 3.6e18):
        pos, neg = (size * (torch.rand(1000, dtype=torch.float64) < 0.4) + torch.randn(1000) for _ in range(2))
        assert (
            compare(pos, neg, "sigmoid") <= 1e-6
        )  # there, neighboring numbers lie further apart than the loss is wide


def test_infinite_scores_beside_others_that_do_not_count():
    pos, w = torch.tensor([-1e4, math.inf, 0.0, 1.0]), torch.tensor([0.0, 1.0, 1.0, 1.0])
    neg = torch.tensor([0.0, 0.5])
    expected = sl.pairwise_risk(pos[1:], neg, "exponential", method="tiles", validate=False)
    found = sl.pairwise_risk(pos, neg, "exponential", w, method="structure", validate=False)
    torch.testing.assert_close(found, expected)


def test_exponentials_that_overflow_for_some():
    pos = torch.tensor([-800.0, 800.0], dtype=torch.float64, requires_grad=True)
    (gradient,) = torch.autograd.grad(
        sl.pairwise_risk(pos, torch.zeros(1).double(), "exponential", method="structure"), pos
    )
    assert gradient.tolist() == [-math.inf, 0.0]


@pytest.mark.parametrize("method", ["auto", "structure", "tiles"])
@pytest.mark.parametrize("loss", STRUCTURED, ids=str)
def test_no_problems_at_all(loss, method):
    assert sl.pairwise_risk(torch.randn(0, 5), torch.randn(0, 4), loss, method=method).shape == (0,)


@pytest.mark.parametrize("loss", STRUCTURED, ids=str)
@pytest.mark.parametrize("n", [5, 60, 200, 400])
def test_few_weighted_pairs(loss, n):
    pos, neg, w, v = torch.randn(2, n), torch.randn(n - 1), torch.rand(n), torch.rand(2, n - 1)
    w[0] = 0.0
    assert compare(pos, neg.expand(2, -1), loss, w, v, method="auto") <= 2e-7
    assert compare(pos, neg.expand(2, -1), loss, w.expand(2, -1), None, method="auto") <= 2e-7


def test_another_default_device():
    with torch.device("meta"):
        value = sl.pairwise_risk(torch.ones(3000, device="cpu"), torch.full((3000,), 2.0, device="cpu"), "hinge")
    assert value.item() == 2


def test_second_derivatives_at_corners_and_in_tails():
    one, zero = torch.ones(1, dtype=torch.float64), torch.zeros(1, dtype=torch.float64)
    for method in ("auto", "structure", "tiles"):
        assert sl.pairwise_derivatives(one, zero, "squared_hinge", method=method).pos_second.item() == 1
        found = sl.pairwise_derivatives(-40 * one, zero, "logistic", method=method).pos_second.item()
        assert found == pytest.approx(math.exp(-40), rel=1e-9)


def test_an_error_of_a_loss_is_raised_once():
    calls = []

    def broken(z):
        calls.append(1)
        raise RuntimeError("no")

    with pytest.raises(RuntimeError, match="no"):
        sl.pairwise_risk(torch.randn(3), torch.randn(2), broken)
    assert len(calls) == 1


def test_differentiating_twice_raises():
    pos, neg = torch.randn(4, requires_grad=True), torch.randn(4)
    (gradient,) = torch.autograd.grad(sl.pairwise_risk(pos, neg, "sigmoid"), pos, create_graph=True)
    with pytest.raises(RuntimeError, match="differentiated once"):
        gradient.sum().backward()


@pytest.mark.filterwarnings("ignore:`torch.jit.script` is deprecated")
def test_forward_mode_says_what_to_use():
    pos, neg = torch.randn(5), torch.randn(4)
    with torch.autograd.forward_ad.dual_level(), pytest.raises(RuntimeError, match="no forward-mode derivative"):
        sl.pairwise_risk(torch.autograd.forward_ad.make_dual(pos, torch.ones(5)), neg)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((torch.zeros(()), torch.zeros(2)), "pos must have shape (..., n)"),
        ((torch.zeros(3, 2), torch.zeros(2, 2)), "must broadcast, got (3, 2) and (2, 2)"),
        ((torch.zeros(2), torch.zeros(2), "sigmoid", torch.ones(3)), "pos_weight must have the scores' shape (2,)"),
        ((torch.zeros(2), torch.zeros(2), "sigmoid", None, -torch.ones(2)), "neg_weight must hold finite numbers >= 0"),
        (
            (torch.zeros(2), torch.zeros(2), "sigmoid", None, None, "fast"),
            "method must be one of auto, structure, tiles, got 'fast'",
        ),
    ],
)
def test_bad_input(arguments, message):
    with pytest.raises(ValueError, match=re.escape(message)):
        sl.pairwise_risk(*arguments)
