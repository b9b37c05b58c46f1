"""Scores up to the largest that float32 holds: the exact number, and never one outside the range of the loss."""

import math
from dataclasses import dataclass, replace

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

import symloss as sl
from symloss.estimators.rounding import Rounded
from symloss.losses import Analytic, Loss, Piecewise

LOSSES = [*sl.list_losses(), sl.BarrierHinge(b=10, r=1)]
KINKED = [loss for loss in LOSSES if getattr(sl.get_loss(loss).structure, "kinks", ())]
BIG = [1e8, 1e13, 1e17, 3e38]
UNIT_RANGE = ["zero_one", "ramp", "sigmoid", "savage"]


def scores(kind, big, dtype, n=90, m=100):
    """Two classes with outliers or clusters at ``big``."""
    generator = torch.Generator().manual_seed(0)
    pos, neg = (2 * torch.randn(size, generator=generator, dtype=dtype) for size in (n, m))
    if kind == "one positive below":
        pos[3] = -big
    elif kind == "one negative above":
        neg[3] = big
    elif kind == "outliers of both":
        pos[0], neg[0], pos[1] = big, big, -big
    elif kind == "two clusters of both":
        pos[: n // 2] += big
        neg[: m // 3] += big
    elif kind == "negatives in two clusters":
        pos += big
        neg[: m // 2] += big
    elif kind == "all over":
        pos, neg = pos * (big / 10), neg * (big / 10)
    return pos, neg


KINDS = ["one positive below", "one negative above", "outliers of both", "two clusters of both",
         "negatives in two clusters", "all over"]  # fmt: skip


def matrix(pos, neg, loss, w):
    """All pairs at once in float64: margins are differences of scores, so that each is rounded once at most."""
    pos, neg, loss = pos.double(), neg.double(), sl.get_loss(loss)
    z = pos[:, None] - neg
    share = torch.full_like(pos, 1 / len(pos)) if w is None else w / w.sum()
    slopes = share[:, None] * loss.derivative(z) / len(neg)
    return (share[:, None] * loss(z) / len(neg)).sum(), slopes.sum(1), -slopes.sum(0)


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("loss", LOSSES, ids=str)
def test_far_scores_cost_no_digits(loss, kind, dtype, weighted):
    check_far_scores(loss, kind, dtype, weighted)


@pytest.mark.usefixtures("long_rows")
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("loss", KINKED, ids=str)
def test_far_scores_cost_no_digits_in_long_rows(loss, kind, weighted):
    check_far_scores(loss, kind, torch.float32, weighted)


def check_far_scores(loss, kind, dtype, weighted):
    for big in BIG:
        smooth = isinstance(sl.get_loss(loss).structure, Analytic)  # these compute few pairs one by one
        pos, neg = scores(kind, big, dtype, *((520, 540) if smooth else ()))
        w = torch.linspace(0.1, 2, len(pos), dtype=torch.float64) if weighted else None
        if loss == "unhinged" and "positive" not in kind and "negative" not in kind:
            continue  # its value is a difference of two means, which are that large
        pos.requires_grad_()
        neg.requires_grad_()
        value = sl.pairwise_risk(pos, neg, loss, w, method="structure")
        found = (value.detach(), *torch.autograd.grad(value, (pos, neg)))
        exact = matrix(pos.detach(), neg.detach(), loss, w)
        for part, expected in zip(found, exact, strict=True):
            expected = expected.to(dtype).double()  # too large a number is infinite in float32
            assert torch.equal(part.isnan(), expected.isnan())
            off = torch.where(part.double() == expected, 0.0, (part.double() - expected).abs())  # equal infinities
            finite = expected[expected.isfinite()].abs()
            limit = (3e-7 if dtype == torch.float32 else 1e-9) * (finite.max() if len(finite) else 1.0)
            assert off[~expected.isnan()].max() <= limit + 1e-37, f"{big}: {part} is not {expected}"


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("name", ["ramp", "hinge", "double_hinge", "zero_one"])
def test_the_largest_numbers_of_float64(name, weighted):
    generator = torch.Generator().manual_seed(0)
    pos, neg = (8e307 * (2 * torch.rand(300, generator=generator, dtype=torch.float64) - 1) for _ in "pn")
    w = torch.linspace(0.1, 2, 300, dtype=torch.float64) if weighted else None
    value = sl.pairwise_risk(pos, neg, name, w, method="structure")
    torch.testing.assert_close(value, matrix(pos, neg, name, w)[0], rtol=1e-9, atol=0)


@pytest.mark.parametrize("spread", [1.0, 1e2, 1e4, 5e5, 2e6, 1e9])
def test_squares_that_cancel(spread):
    generator = torch.Generator().manual_seed(0)
    pos, neg = (spread * torch.rand(200, generator=generator, dtype=torch.float64) for _ in "pn")
    loss = Rounded(sl.Ramp(), 1e-4)
    pos.requires_grad_()
    value = sl.pairwise_risk(pos, neg, loss, method="structure")
    (gradient,) = torch.autograd.grad(value, pos)
    expected, slopes, _ = matrix(pos.detach(), neg, loss, None)
    torch.testing.assert_close(value.detach(), expected, rtol=1e-8, atol=0)
    assert (gradient - slopes).abs().max() <= 1e-8 * slopes.abs().max() + 1e-300


@dataclass(frozen=True)
class Parabola(Loss):
    c: float

    @property
    def structure(self):
        return Piecewise((1.0, -1.0, self.c))

    def value(self, z):
        return self.structure(z)


@pytest.mark.parametrize("c", [1.0, -1.0, 1e-10, 1e-18, 1e-300, 1e-310, 0.0])
def test_a_square_of_any_weight(c):
    pos, neg = torch.randn(300, dtype=torch.float64), torch.randn(300, dtype=torch.float64)
    exact = sl.pairwise_risk(pos, neg, Parabola(c), method="tiles")
    for w in (None, torch.ones(300)):
        found = sl.pairwise_risk(pos, neg, Parabola(c), w, method="structure")
        torch.testing.assert_close(found, exact, rtol=1e-12, atol=0)


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
@pytest.mark.parametrize("b", [10.0, 200.0])
@pytest.mark.parametrize("r", [1.0, 50.0, 1e4])
def test_all_margins_on_a_corner(b, r, dtype):
    pos, neg = torch.full((800,), r + 1, dtype=dtype), torch.ones(700, dtype=dtype)
    for weight in (None, torch.ones(800)):
        assert sl.pairwise_risk(pos, neg, sl.BarrierHinge(b=b, r=r), weight, method="structure") >= 0


CLAIMS = replace(sl.Hinge().properties, bounded=True)


class NotANumberFarLeft(Loss):
    """It never increases, and is NaN at minus infinity alone."""

    properties = CLAIMS
    structure = sl.Hinge().structure

    def value(self, z):
        return torch.where(z == -torch.inf, torch.nan, (1 - z).clamp(min=0))


class WrongAboutItself(Loss):
    """It says that it never increases, and does."""

    properties = CLAIMS
    structure = Piecewise((0.0, 0.0, 1.0))

    def value(self, z):
        return torch.where(z.isinf(), 0.0, z**2)


@pytest.mark.parametrize("loss", [NotANumberFarLeft(), WrongAboutItself()], ids=str)
def test_a_claim_changes_no_number(loss):
    pos, neg = torch.randn(60, dtype=torch.float64), torch.randn(70, dtype=torch.float64)
    expected = sl.pairwise_risk(pos, neg, loss, method="tiles")
    assert expected > 0.1
    for weight in (None, torch.ones(60)):
        for method in ("structure", "auto"):
            torch.testing.assert_close(sl.pairwise_risk(pos, neg, loss, weight, method=method), expected)


def test_a_loss_that_cannot_be_hashed():
    class Unhashable:
        __hash__ = None

        def __call__(self, z):
            return torch.exp(-z)

    scores_, target = torch.randn(20), torch.arange(20) % 2
    found = sl.functional.auc_risk(scores_, target, Unhashable(), torch.ones(20))
    torch.testing.assert_close(found, sl.functional.auc_risk(scores_, target, "exponential"))


@pytest.mark.parametrize("method", ["auto", "structure", "tiles"])
@pytest.mark.parametrize("name", [name for name in sl.list_losses() if name != "unhinged"])
@settings(max_examples=30)
@given(data=st.data())
def test_a_risk_lies_in_the_range_of_its_loss(name, method, data):
    size = data.draw(st.sampled_from([1.0, 1e3, 1e8, 1e16, 1e37, 3e38]))
    number = st.floats(-1, 1, width=32) | st.sampled_from([-1.0, 0.0, 1.0])
    pos, neg = (torch.tensor(data.draw(st.lists(number, min_size=1, max_size=90))) * size for _ in "pn")
    w = torch.tensor(data.draw(st.lists(st.integers(0, 3), min_size=len(pos), max_size=len(pos)))).double()
    for weight in (None, w):
        for dtype in (torch.float32, torch.float64):
            risk = sl.pairwise_risk(pos.to(dtype), neg.to(dtype), name, weight, method=method).item()
            assert 0 <= risk <= (1 if name in UNIT_RANGE else math.inf)


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
@pytest.mark.parametrize("name", ["sigmoid", "logistic", "savage"])
@pytest.mark.parametrize("wrong_way_round", [True, False])
def test_classes_that_are_far_apart_and_wide(name, dtype, wrong_way_round):
    for seed in range(10):  # as the scores of a badly initialized network may be
        torch.manual_seed(seed)
        x = 50 * torch.randn(1000, dtype=dtype).abs()
        low, high = -x[:500] - 2, x[500:] + 2
        pos, neg = (low, high) if wrong_way_round else (high, low)
        pos.requires_grad_()
        risk = sl.AUCLoss(name)(torch.cat([pos, neg]), torch.arange(1000) < 500)
        (gradient,) = torch.autograd.grad(risk, pos)
        expected, slopes, _ = matrix(pos.detach(), neg, name, None)
        rtol = 1e-5 if dtype == torch.float32 else 1e-9
        torch.testing.assert_close(risk.detach().double(), expected, rtol=rtol, atol=0)
        assert (gradient.double() - slopes).abs().max() <= rtol * slopes.abs().max()


def test_an_outlier_among_few_pairs_of_squares_of_both_signs():
    pos, neg = torch.zeros(70, requires_grad=True), torch.zeros(70).index_fill(0, torch.tensor([0]), 1e18)
    sl.pairwise_risk(pos, neg, "huberized_hinge").backward()
    slopes = sl.HuberizedHinge().slope(pos.detach().double()[:, None] - neg.double()).mean(1) / 70
    torch.testing.assert_close(pos.grad.double(), slopes, rtol=1e-6, atol=0)


@pytest.mark.parametrize("shift", [1e3, 1e5, 1.9e6])
def test_squares_whose_classes_lie_apart_keep_their_digits(shift):
    generator = torch.Generator().manual_seed(0)
    pos, neg = (torch.randn(400, generator=generator, dtype=torch.float64) for _ in "pn")
    pos[:320] += shift
    found = sl.pairwise_risk(pos, neg, "squared_hinge", method="structure")
    torch.testing.assert_close(found, matrix(pos, neg, "squared_hinge", None)[0], rtol=1e-12, atol=0)


@pytest.mark.parametrize("name", ["ramp", "hinge", "double_hinge"])
@pytest.mark.parametrize("heaviest", [1e12, 1e16, 1e20])
def test_weights_far_apart(name, heaviest):
    check_weights_far_apart(name, heaviest, torch.float64)


@pytest.mark.usefixtures("long_rows")
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
@pytest.mark.parametrize("heaviest", [1e12, 1e16, 1e20])
def test_weights_far_apart_in_long_rows(heaviest, dtype):
    check_weights_far_apart("ramp", heaviest, dtype)


def check_weights_far_apart(name, heaviest, dtype):
    """Where the heaviest negative has no slope, as for the ramp loss, the others give all the gradient."""
    pos = torch.randn(700, generator=torch.Generator().manual_seed(0), dtype=torch.float64).round(decimals=1).to(dtype)
    weight = torch.tensor([1.0, 1.0, heaviest], dtype=torch.float64)
    for far in (30.0, 1e25):
        neg = torch.tensor([0.3, -0.2, far], dtype=dtype)
        for first, second, first_weight, second_weight in ((pos, neg, None, weight), (-neg, -pos, weight, None)):
            first, second = first.clone().requires_grad_(), second.clone().requires_grad_()
            gradients = [
                torch.autograd.grad(
                    sl.pairwise_risk(first, second, name, first_weight, second_weight, method=method), (first, second)
                )
                for method in ("structure", "tiles")
            ]
            for found, exact in zip(*gradients, strict=True):
                assert exact.any()
                off = (found - exact).abs().max() / exact.abs().max()
                assert off <= (1e-6 if dtype == torch.float32 else 1e-10)


@pytest.mark.parametrize("name", ["hinge", "ramp", "squared_hinge"])
def test_a_single_pair_just_past_a_corner_keeps_its_digits(name):
    pos, neg = torch.linspace(5, 1000, 40).double(), torch.zeros(3).double()
    pos[7] = 1 - 1e-9
    found, exact = (sl.pairwise_risk(pos, neg, name, method=method) for method in ("auto", "tiles"))
    assert found > 0
    torch.testing.assert_close(found, exact, rtol=1e-9, atol=0)


@pytest.mark.parametrize("name", ["hinge", "sigmoid", "squared"])
def test_scores_that_are_stored_with_the_opposite_sign(name):
    pos, neg = (torch.view_as_complex(torch.randn(9, 2)).conj().imag for _ in range(2))
    assert pos.is_neg()
    found, expected = (sl.pairwise_risk(*sides, name) for sides in ((pos, neg), (pos.resolve_neg(), neg.resolve_neg())))
    torch.testing.assert_close(found, expected, rtol=1e-6, atol=0)
    expected = sl.pairwise_risk(pos[:4].resolve_neg(), pos[4:].resolve_neg(), name)
    torch.testing.assert_close(sl.AUCLoss(name)(pos, torch.arange(9) < 4), expected, rtol=1e-6, atol=0)
