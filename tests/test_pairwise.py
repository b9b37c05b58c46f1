"""All pairs: every way keeps one numerical promise, and what it returns behaves like any tensor of PyTorch.

The promise: a value is off by at most 1e-6 (float32) or 1e-12 (float64) of the sum of the absolute terms, and an entry
of a gradient by at most that part of its own share times the steepest slope on the margins that occur.
"""

import contextlib
import copy
import math
import os
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

import symloss as sl
from symloss.losses import Analytic, ExponentialDecay, Kink, Piecewise, Slope, Structure
from symloss.pairwise import choose, piecewise, separable, smooth
from symloss.pairwise.check_structure import check_structure
from symloss.pairwise.every_pair import every_pair

LOSSES = [
    *sl.list_losses(),
    sl.BarrierHinge(b=10, r=1),
    sl.BarrierHinge(b=1.5, r=3),
    sl.GeneralizedCrossEntropy(q=0.25),
]
TOLERANCE = {torch.float32: 1e-6, torch.float64: 1e-12}
TINY = {torch.float32: 1e-37, torch.float64: 1e-300}  # about the smallest numbers of either precision
WAYS = ["squared", "exponential", "hinge", "squared_hinge", "zero_one", "sigmoid", "tangent"]  # one or more a way
METHODS = ["auto", "structure", "tiles"]


def shares(weight, like):
    """Return each point's share of its class: 0 where the class has no weight."""
    weight = torch.ones_like(like, dtype=torch.float64) if weight is None else weight.double().expand(like.shape)
    total = weight.sum(-1, keepdim=True)
    return weight / torch.where(total > 0, total, 1.0)


def matrix(pos, neg, loss, w=None, v=None):
    """Return value and gradients from all pairs in float64, and how far each may be off, in units of the tolerance."""
    loss = sl.get_loss(loss)
    w, v = shares(w, pos), shares(v, neg)
    z = pos.double()[..., :, None] - neg.double()[..., None, :]
    weight = w[..., :, None] * v[..., None, :]
    values, slopes = (torch.where(weight > 0, part, 0.0) for part in (loss(z), loss.derivative(z)))
    steepest = slopes.abs().amax((-2, -1))[..., None]
    found = (weight * values).sum((-2, -1)), (weight * slopes).sum(-1), -(weight * slopes).sum(-2)
    return found, ((weight * values.abs()).sum((-2, -1)), w * steepest, v * steepest)


def found_by(pos, neg, loss, w=None, v=None, method="auto", validate=True):
    pos, neg = pos.detach().requires_grad_(), neg.detach().requires_grad_()
    value = sl.pairwise_risk(pos, neg, loss, w, v, method=method, validate=validate)
    return value, *torch.autograd.grad(value.sum(), (pos, neg))


def keeps_its_promise(pos, neg, loss, w=None, v=None, method="auto"):
    dtype = torch.promote_types(pos.dtype, neg.dtype)
    exact, allowed = matrix(pos, neg, loss, w, v)
    for found, true, unit in zip(found_by(pos, neg, loss, w, v, method), exact, allowed, strict=True):
        off = (found.detach().double() - true).abs()
        assert (off <= TOLERANCE[dtype] * unit + TINY[dtype]).all(), (method, (off / unit).max())


SHAPES = {
    "normal": torch.randn,
    "quarters": lambda *size: torch.randint(-8, 9, size) / 4,
    "equal": lambda *size: torch.full(size, 0.5),
    "offset": lambda *size: torch.randn(size) + 1e4,
    "wide": lambda *size: 40 * torch.randn(size),
    "long": lambda *size: 1e3 * torch.randn(size),
    "clusters": lambda *size: torch.randn(size) + 300.0 * torch.randint(0, 3, size),
    "heavy tails": lambda *size: (torch.randn(size) / torch.randn(size)).clamp(-1e6, 1e6),
    "outliers": lambda *size: torch.where(torch.rand(size) < 0.02, 1e6 * torch.randn(size).sign(), torch.randn(size)),
}
NARROW = ("normal", "quarters", "equal", "offset")  # where exponentials do not overflow


def draw_weight(kind, *size):
    if kind == "six orders":
        return 10 ** (6 * torch.rand(size, dtype=torch.float64) - 3)
    if kind == "whole":
        return torch.randint(0, 4, size)
    return None


@settings(max_examples=250)
@given(
    loss=st.sampled_from(LOSSES),
    kind=st.sampled_from(sorted(SHAPES)),
    weights=st.sampled_from(["none", "six orders", "whole"]),
    method=st.sampled_from(METHODS),
    dtype=st.sampled_from([torch.float32, torch.float64]),
    sizes=st.tuples(st.integers(100, 400), st.integers(100, 400)) | st.tuples(st.integers(1, 9), st.integers(1, 9)),
    leading=st.sampled_from([((), ()), ((2,), (2,)), ((2, 1), (3,)), ((), (2,))]),
    gap=st.sampled_from([0.0, 0.0, 12.0, -12.0, 30.0, -30.0]),
    seed=st.integers(0, 2**20),
)
def test_the_promise(loss, kind, weights, method, dtype, sizes, leading, gap, seed):
    torch.manual_seed(seed)
    kind = kind if loss != "exponential" or kind in NARROW else "normal"
    pos, neg = (SHAPES[kind](*batch, size).to(dtype) for batch, size in zip(leading, sizes, strict=True))
    if kind != "quarters":
        pos, neg = pos + 1e-3 * torch.rand_like(pos), neg + 1e-3 * torch.rand_like(neg)
    pos = pos + gap
    w, v = draw_weight(weights, sizes[0]), draw_weight(weights, *leading[1], sizes[1])
    batch = torch.broadcast_shapes(*leading)
    keeps_its_promise(pos.expand(*batch, -1), neg.expand(*batch, -1), loss, w, v, method)
    value = sl.pairwise_risk(pos, neg, loss, w, v, method=method)
    assert value.shape == batch
    assert value.dtype == dtype


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("kind", SHAPES)
@pytest.mark.parametrize("loss", WAYS, ids=str)
def test_some_hundred_scores(loss, kind, weighted):
    if loss == "tangent" or (loss == "exponential" and kind not in NARROW):
        pytest.skip("tiles only, or it overflows")
    pos, neg = SHAPES[kind](600), SHAPES[kind](500)
    w, v = (torch.rand(600), torch.rand(500)) if weighted else (None, None)
    keeps_its_promise(pos, neg, loss, w, v)


@pytest.mark.parametrize("loss", [loss for loss in LOSSES if sl.get_loss(loss).structure is not None], ids=str)
def test_the_steps_of_a_gpu_keep_the_promise(loss, monkeypatch):
    """There, arrays are tensors; on tensors of a CPU the same steps run without one."""
    pos, neg = torch.randn(9001, dtype=torch.float64), torch.randint(-8, 9, (8001,)).double() / 4
    expected = found_by(pos, neg, loss)
    for module in (piecewise, separable, smooth):
        monkeypatch.setattr(module, "as_array", lambda x: x)
    torch.testing.assert_close(found_by(pos, neg, loss), expected, rtol=1e-11, atol=1e-14)
    for kind in NARROW:
        pos, neg = SHAPES[kind](901).double(), SHAPES[kind](703).double()
        for w, v in ((None, None), (torch.rand(901), torch.rand(703))):
            keeps_its_promise(pos, neg, loss, w, v, "structure")


def test_long_classes_are_sorted_by_their_digits():
    for dtype in (torch.float32, torch.float64):
        pos, neg = torch.randn(40_000, dtype=dtype) * 1e3, (torch.randint(-9, 9, (70,)) / 4).to(dtype)
        keeps_its_promise(pos, neg, "hinge")


@pytest.mark.parametrize("method", METHODS)
@given(data=st.data())
def test_ties_count_one_half_exactly(method, data):
    score, weight = st.integers(-4, 4), st.integers(0, 5)
    points = st.lists(st.tuples(score, weight), min_size=1, max_size=30)
    pos, neg = data.draw(points), data.draw(points)
    total = sum(w for _, w in pos) * sum(v for _, v in neg)
    lost = sum(Fraction(w * v * ((s < t) + (s <= t)), 2) for s, w in pos for t, v in neg)
    s, w, t, v = (torch.tensor(part, dtype=torch.float64) for side in (pos, neg) for part in zip(*side, strict=True))
    expected = float(lost / total) if total else 0.0
    assert sl.pairwise_risk(s, t, "zero_one", w, v, method=method).item() == expected
    each = sl.pairwise_risk(s.repeat_interleave(w.long()), t.repeat_interleave(v.long()), "zero_one", method=method)
    assert each.item() == expected


@pytest.mark.parametrize("method", METHODS)
def test_a_pair_at_a_corner_has_the_mean_of_both_slopes(method):
    pos, neg = torch.tensor([1.0, 2.0, 1.5], dtype=torch.float64), torch.tensor([0.0, 1.0], dtype=torch.float64)
    _, of_pos, of_neg = found_by(pos, neg, "hinge", method=method)
    assert (-6 * of_pos).tolist() == [1.5, 0.5, 1.0]
    assert (6 * of_neg).tolist() == [0.5, 2.5]


@pytest.mark.parametrize("gap", [10.0, 20.0, 30.0])
@pytest.mark.parametrize("name", ["sigmoid", "logistic", "savage"])
def test_separated_classes_learn_on_under_adam(name, gap):
    """Adam divides by the size of a gradient: that of a separated class needs its own digits."""
    generator = torch.Generator().manual_seed(0)
    x = torch.randn(400, 3, generator=generator)
    x[:200, 0] += gap
    learned = []
    for risk in (
        lambda s: sl.pairwise_risk(s[:200], s[200:], name, method="structure"),
        lambda s: sl.get_loss(name)(s[:200, None].double() - s[200:].double()).mean(),
    ):
        weight = torch.tensor([1.0, 0.2, -0.1], requires_grad=True)
        optimizer = torch.optim.Adam([weight], lr=0.01, eps=1e-40)
        for _ in range(30):
            optimizer.zero_grad()
            risk(x @ weight).backward()
            optimizer.step()
        learned.append(weight.detach())
    torch.testing.assert_close(learned[0], learned[1], rtol=1e-3, atol=1e-4)


# What is returned is a fresh, plain tensor.


def cases(loss, dtype):
    """Problems of all ways: few and many scores, weights, leading dimensions, batches without a class."""
    for n in (3, 40, 300):
        pos, neg = torch.randn(n, dtype=dtype), torch.randn(n + 1, dtype=dtype)
        yield pos, neg, None, None
        yield pos, neg, torch.rand(n), torch.rand(n + 1)
        yield pos.expand(2, n), neg, None, None
    yield pos, neg[:0], None, None
    yield pos, neg, torch.zeros(n), None


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
@pytest.mark.parametrize("loss", WAYS)
def test_the_risk_is_a_plain_tensor(loss, dtype):
    for pos, neg, w, v in cases(loss, dtype):
        leaves = [pos.clone().requires_grad_(), neg.clone().requires_grad_()]
        scores = [2 * leaf for leaf in leaves]
        risk = sl.pairwise_risk(*scores, loss, w, v)
        before, penalty = risk.detach().clone(), (leaves[0] ** 2).sum()
        risk += penalty
        risk *= 2
        torch.testing.assert_close(risk, 2 * (before + penalty))
        for part in scores:
            with torch.no_grad():
                part.mul_(0)  # as activations in place do
        first = torch.autograd.grad(risk.sum(), leaves, retain_graph=True)
        risk.sum().backward()
        plain = sl.pairwise_risk(*(2 * leaf for leaf in leaves), loss, w, v)
        expected = torch.autograd.grad(2 * (plain + (leaves[0] ** 2).sum()).sum(), leaves)
        for leaf, once, exact in zip(leaves, first, expected, strict=True):
            assert torch.equal(leaf.grad, once)
            torch.testing.assert_close(once, exact)
        copied = copy.deepcopy(before)
        assert torch.equal(copied, before)
        assert not before._is_view()
        assert sl.pairwise_risk(pos, neg, loss, w, v)._is_view() is False


@pytest.mark.parametrize("weighted", [False, True])
def test_points_with_labels_are_the_two_classes(weighted):
    scores, target = torch.randn(50, requires_grad=True), torch.arange(50) % 3 == 0
    weight = torch.rand(50, dtype=torch.float64) if weighted else None
    risk = sl.functional.auc_risk(scores, target, "sigmoid", weight)
    w, v = (None, None) if weight is None else (weight[target], weight[~target])
    expected = sl.pairwise_risk(scores[target], scores[~target], "sigmoid", w, v)
    torch.testing.assert_close(risk, expected)
    torch.testing.assert_close(*(torch.autograd.grad(value, scores)[0] for value in (risk, expected)))
    risk = sl.functional.auc_risk(scores, target, "sigmoid", weight)
    risk += 1
    risk.backward()
    (gradient,) = torch.autograd.grad(sl.functional.auc_risk(scores, target), scores, create_graph=True)
    with pytest.raises(RuntimeError, match="can be differentiated once"):
        gradient.sum().backward()


def test_a_second_derivative_is_an_error_that_says_what_to_use():
    pos, neg = torch.randn(9, requires_grad=True), torch.randn(8)
    (gradient,) = torch.autograd.grad(sl.pairwise_risk(pos, neg), pos, create_graph=True)
    with pytest.raises(RuntimeError, match=r"can be differentiated once.*pairwise_derivatives"):
        (gradient**2).sum().backward()


@pytest.mark.parametrize("loss", WAYS)
def test_under_transforms_of_functions(loss):
    pos, neg = torch.randn(5, 30, dtype=torch.float64), torch.randn(5, 20, dtype=torch.float64)
    torch.testing.assert_close(
        torch.vmap(lambda p, q: sl.pairwise_risk(p, q, loss))(pos, neg), sl.pairwise_risk(pos, neg, loss)
    )
    gradients = torch.vmap(torch.func.grad(lambda p, q: sl.pairwise_risk(p, q, loss)), (0, None))(pos, neg[0])
    torch.testing.assert_close(gradients, found_by(pos, neg[0].expand(5, -1), loss)[1])
    compiled = torch.compile(lambda p, q: sl.pairwise_risk(p, q, loss), backend="eager")
    torch.testing.assert_close(compiled(pos, neg), sl.pairwise_risk(pos, neg, loss))


@pytest.mark.parametrize("method", ["structure", "tiles"])
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("loss", [*LOSSES, pytest.param(torch.cos, id="cos")], ids=str)
def test_derivatives_are_those_of_the_matrix(loss, weighted, method):
    pos, neg = (torch.randn(2, n, dtype=torch.float64, requires_grad=True) for n in (31, 27))
    weights = (torch.rand(2, 31).double(), torch.rand(2, 27).double()) if weighted else (None, None)
    w, v = shares(weights[0], pos), shares(weights[1], neg)
    slopes = sl.get_loss(loss).slope(pos[..., :, None] - neg[..., None, :])
    value = (w[..., :, None] * v[..., None, :] * slopes).sum()
    by_pos, by_neg = torch.autograd.grad(value, (pos, neg)) if value.requires_grad else (0 * pos, 0 * neg)
    (_, of_pos, of_neg), _ = matrix(pos.detach(), neg.detach(), loss, *weights)
    found = sl.pairwise_derivatives(pos, neg, loss, *weights, method=method)
    for part, exact in zip(found, (of_pos, of_neg, by_pos, -by_neg), strict=True):
        assert not part.requires_grad
        torch.testing.assert_close(part, exact.detach(), rtol=1e-9, atol=1e-12)


# Points without weight, classes that are missing, scores that are not finite.


@pytest.mark.parametrize("special", [1e30, math.inf, math.nan])
@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("loss", WAYS)
def test_points_of_weight_zero_do_not_exist(loss, method, special):
    pos, neg = torch.randn(2, 60), torch.randn(50)
    w, v = torch.ones(60), torch.ones(50)
    expected = found_by(pos[:, 1:], neg[1:], loss, method=method)
    w[0], v[0], pos[:, 0], neg[0] = 0.0, 0.0, special, -special
    value, of_pos, of_neg = found_by(pos, neg, loss, w, v, method)
    torch.testing.assert_close(value, expected[0])
    torch.testing.assert_close(of_pos, torch.cat([torch.zeros(2, 1), expected[1]], 1))
    torch.testing.assert_close(of_neg, torch.cat([torch.zeros(1), expected[2]]))


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("loss", WAYS)
def test_a_missing_class_has_risk_zero_and_no_gradient(loss, method):
    full, none = torch.randn(3, 20), torch.empty(3, 0)
    zero = torch.zeros(20)
    for pos, neg, w, v in ((full, none, None, None), (none, full, None, None), (full, 1e3 * full, zero, None)):
        value, *gradients = found_by(pos, neg, loss, w, v, method)
        assert torch.equal(value, torch.zeros(3))
        assert all(torch.equal(gradient, torch.zeros_like(gradient)) for gradient in gradients)
    assert sl.pairwise_risk(torch.empty(0, 3), torch.empty(0, 4), loss, method=method).shape == (0,)


@pytest.mark.parametrize("special", [math.nan, math.inf, -math.inf])
@pytest.mark.parametrize("loss", WAYS)
def test_what_is_not_finite_is_refused_or_spreads(loss, special):
    pos, neg = torch.randn(2, 40), torch.randn(2, 30)
    pos[0, 5] = pos[0, 9] = special
    with pytest.raises(ValueError, match=r"pos must be finite, got .* at position \(0, 5\) and 1 more"):
        sl.pairwise_risk(pos, neg, loss)
    for method in METHODS:
        value, of_pos, of_neg = found_by(pos, neg, loss, method=method, validate=False)
        torch.testing.assert_close(value[1], sl.pairwise_risk(pos[1], neg[1], loss, method=method))
        assert of_pos[1].isfinite().all()
        assert of_neg[1].isfinite().all()
        if math.isnan(special):
            assert value[0].isnan()
            assert sl.pairwise_risk(neg, pos, loss, method=method, validate=False)[0].isnan()


# Input.


def test_dtypes_devices_and_strides():
    pos, neg = torch.randn(400), torch.randn(300)
    expected = sl.pairwise_risk(pos, neg)
    torch.testing.assert_close(sl.pairwise_risk(pos.numpy(), neg.tolist()), expected)
    torch.testing.assert_close(sl.pairwise_risk(pos.repeat_interleave(2)[::2], neg), expected)
    torch.testing.assert_close(sl.pairwise_risk(pos.expand(3, 400), neg), expected.expand(3))
    torch.testing.assert_close(torch.conj(1j * neg).imag.neg(), neg)  # stored with the opposite sign
    torch.testing.assert_close(sl.pairwise_risk(pos, torch.conj(-1j * neg).imag), expected)
    assert sl.pairwise_risk(pos.half(), neg.half()).dtype == torch.float32
    assert sl.pairwise_risk(pos, neg.double()).dtype == torch.float64
    assert sl.pairwise_risk(np.arange(3), np.arange(2), "zero_one").item() == pytest.approx(2 / 6)


def test_memory_is_linear():
    pos, neg = torch.randn(1000), torch.randn(200_000)  # the matrix would take 1.6 GB
    for loss in ("hinge", "sigmoid"):
        value = sl.pairwise_risk(pos, neg, loss, method="tiles" if loss == "hinge" else "auto")
        assert value.isfinite()


def test_an_error_in_a_loss_is_raised():
    class Wrong(sl.Loss):
        def value(self, z):
            return z.sum()

    with pytest.raises(ValueError, match="must act element-wise"):
        sl.pairwise_risk(torch.randn(3), torch.randn(2), Wrong())


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"method": "fast"}, "method must be one of auto, structure, tiles, got 'fast'"),
        ({"pos": torch.tensor(1.0)}, r"pos must have shape \(..., n\), got a single number"),
        ({"pos": torch.randn(2, 3), "neg": torch.randn(3, 3)}, r"must broadcast, got \(2, 3\) and \(3, 3\)"),
        ({"pos_weight": torch.tensor([1.0, -1.0, 1.0])}, "pos_weight must hold finite numbers >= 0, got -1"),
        ({"neg_weight": torch.ones(5)}, r"neg_weight must have the scores' shape \(4,\)"),
        ({"loss": lambda z: torch.ones((), requires_grad=True) * z}, "gradients flow to the scores only"),
    ],
)
def test_bad_input(arguments, message):
    with pytest.raises(ValueError, match=message):
        sl.pairwise_risk(**{"pos": torch.randn(3), "neg": torch.randn(4), **arguments})


# Structures that a loss declares.


@dataclass(frozen=True)
class Declared(sl.Loss):
    """A loss of symloss with a structure that somebody else wrote."""

    like: str
    structure: Structure = None

    def value(self, z):
        return sl.get_loss(self.like).value(z)

    def slope(self, z):
        return sl.get_loss(self.like).slope(z)


SIGMOID = {"pole_distance": math.pi, "left": (1.0, 0.0), "right": (0.0, 0.0)}


@pytest.mark.parametrize(
    ("like", "structure", "reason"),
    [
        ("hinge", Piecewise(kinks=(Kink(where=1.0, weight=1.1),)), "the loss is 1001, and its structure says 1101.1"),
        ("hinge", Piecewise(kinks=(Kink(where=1.001),)), "structure says"),
        ("hinge", Piecewise(coefficients=(1.0, -1.0)), "structure says"),
        ("zero_one", Piecewise(kinks=(Kink(where=0.001, power=0),)), "structure says"),
        ("squared", Piecewise(coefficients=(1.0, -2.0)), "structure says"),
        ("exponential", ExponentialDecay(rate=1.0001), "structure says"),
        ("sigmoid", Analytic(**SIGMOID | {"left": (0.9, 0.0)}), "structure says"),
        ("sigmoid", Analytic(**SIGMOID | {"right": (0.0, 1e-6)}), "structure says"),
        ("sigmoid", Analytic(**SIGMOID | {"left_rate": 2.0}), "structure says"),
        ("sigmoid", Analytic(**SIGMOID | {"pole_distance": 60.0}), "is pole_distance = 60 right"),
        ("sigmoid", Analytic(**SIGMOID | {"pole_distance": 1e-9}), "pole_distance of at least 0.001"),
    ],
)
def test_a_structure_that_differs_from_the_values_is_refused(like, structure, reason):
    scores = torch.linspace(-2, 2, 600, dtype=torch.float64).view(2, -1)
    with pytest.raises(ValueError, match=reason):
        sl.pairwise_risk(*scores, Declared(like, structure))
    tiles = (sl.pairwise_risk(*scores, loss, method="tiles") for loss in (like, Declared(like, structure)))
    torch.testing.assert_close(*tiles)


def test_the_kernel_reads_no_structure_that_was_not_compared(monkeypatch):
    monkeypatch.setattr(choose, "_has_triton", lambda: True)
    with pytest.raises(ValueError, match="structure says"):
        choose.way_for(Declared("hinge", Piecewise(kinks=(Kink(where=1.001),))), 100, "cuda", "auto")


@pytest.mark.parametrize("like", [name for name in sl.list_losses() if sl.get_loss(name).structure is not None])
def test_true_structures_of_losses_and_of_their_slopes_are_accepted(like):
    loss = Declared(like, sl.get_loss(like).structure)
    check_structure(loss)
    check_structure(Slope(loss))


def test_a_loss_that_overflows_far_out_is_accepted():
    class Logistic(sl.Loss):
        structure = sl.Logistic().structure

        def value(self, z):
            return torch.log(1 + torch.exp(-z))  # infinite from z = -710 on

    check_structure(Logistic())


@pytest.mark.parametrize("parameter", [[1.0], torch.ones(1)])
def test_a_loss_with_parameters_of_any_kind(parameter):
    @dataclass(frozen=True)
    class Scaled(Declared):
        scale: object = None

    pos, neg = torch.randn(300), torch.randn(300)
    loss = Scaled("hinge", sl.Hinge().structure, parameter)
    torch.testing.assert_close(sl.pairwise_risk(pos, neg, loss), sl.pairwise_risk(pos, neg, "hinge"))


def test_every_kind_of_kink_in_one_loss():
    class Everything(sl.Loss):
        structure = Piecewise(
            (0.5, -0.25, 0.1),
            (Kink(0.0, 0.3, 0), Kink(1.0, 0.5), Kink(-1.0, -0.2), Kink(0.5, 0.1, 2), Kink(2, -0.3, 2)),
        )

        def value(self, z):
            return self.structure(z)

        def slope(self, z):
            return self.structure.derivative()(z)

    for kind in ("normal", "quarters", "wide"):
        pos, neg = SHAPES[kind](3, 120), SHAPES[kind](3, 110)
        keeps_its_promise(pos, neg, Everything(), torch.rand(120), None, method="structure")


# On a GPU (make test-gpu).


@pytest.mark.skipif(os.environ.get("TRITON_INTERPRET") != "1", reason="needs pip install triton and TRITON_INTERPRET=1")
@pytest.mark.parametrize("name", ["squared", "exponential", "ramp", "zero_one", "sigmoid", "logistic", "savage"])
def test_the_kernel_without_a_gpu(name, monkeypatch):
    monkeypatch.setattr(torch.cuda, "device", lambda _: contextlib.nullcontext())
    from symloss.pairwise.every_pair_triton import every_pair_triton

    pos, neg, loss = torch.randint(-8, 9, (2, 5)) / 4, torch.randn(2, 131), sl.get_loss(name)
    for w, v in ((None, None), (torch.arange(10.0).view(2, 5).double(), None), (None, torch.rand(2, 131).double())):
        for found, exact in zip(every_pair_triton(pos, neg, w, v, loss), every_pair(pos, neg, w, v, loss), strict=True):
            torch.testing.assert_close(found, exact, rtol=1e-12, atol=1e-12)


@pytest.mark.gpu
@pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a CUDA device")
class TestOnTheGPU:
    """The kernel over every pair, up to 2^26 of them, and the same ways in PyTorch's steps beyond."""

    @pytest.mark.parametrize("n", [1, 37, 300, 9000])
    @pytest.mark.parametrize("loss", WAYS)
    def test_agrees_with_the_cpu(self, loss, n):
        kinds = ("normal", "quarters", "outliers") if loss != "exponential" else ("normal", "quarters")
        for kind, weighted in [(kind, weighted) for kind in kinds for weighted in (False, True)]:
            pos, neg = SHAPES[kind](n).double(), SHAPES[kind](n + 1).double()
            w, v = (torch.rand(n), torch.rand(n + 1)) if weighted else (None, None)
            expected = found_by(pos, neg, loss, w, v)
            for method in METHODS if n <= 300 else ["auto"]:
                w_there, v_there = (None if weight is None else weight.cuda() for weight in (w, v))
                found = found_by(pos.cuda(), neg.cuda(), loss, w_there, v_there, method)
                for part, exact in zip(found, expected, strict=True):
                    torch.testing.assert_close(part.cpu(), exact, rtol=1e-10, atol=1e-12)

    @pytest.mark.parametrize("loss", WAYS)
    def test_leading_dimensions(self, loss):
        pos, neg = torch.randn(3, 1, 40, dtype=torch.float64), torch.randn(70, 33, dtype=torch.float64)
        torch.testing.assert_close(
            sl.pairwise_risk(pos.cuda(), neg.cuda(), loss).cpu(), sl.pairwise_risk(pos, neg, loss), rtol=1e-11, atol=0
        )

    @pytest.mark.parametrize("loss", [name for name in WAYS if name != "tangent"])
    def test_a_cuda_graph_of_the_loss_and_its_gradient(self, loss):
        pytest.importorskip("triton")
        criterion = sl.AUCLoss(loss, validate=False)
        scores = torch.randn(300, device="cuda", requires_grad=True)
        target = torch.rand(300, device="cuda") < 0.5
        stream = torch.cuda.Stream()
        stream.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(stream):  # what is compiled and cached must be so before
            for _ in range(2):
                criterion(scores, target).backward()
        torch.cuda.current_stream().wait_stream(stream)
        scores.grad = None
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph):
            value = criterion(scores, target)
            value.backward()
        for share in (0.3, 0.7):
            with torch.no_grad():
                scores.copy_(torch.randn(300, device="cuda"))
                target.copy_(torch.rand(300, device="cuda") < share)
            graph.replay()
            leaf = scores.detach().cpu().double().requires_grad_()
            expected = sl.functional.auc_risk(leaf, target.cpu(), loss, validate=False)
            (gradient,) = torch.autograd.grad(expected, leaf)
            torch.testing.assert_close(value.cpu().double(), expected, rtol=1e-6, atol=1e-9)
            torch.testing.assert_close(scores.grad.cpu().double(), gradient, rtol=1e-5, atol=1e-8)

    @pytest.mark.filterwarnings("ignore:Synchronization debug mode is a prototype feature")
    @pytest.mark.parametrize("n", [100, 60_000])
    def test_nothing_waits_where_values_are_not_validated(self, n):
        pytest.importorskip("triton")
        scores, target = torch.randn(n, device="cuda", requires_grad=True), torch.arange(n, device="cuda") % 2
        for name in ("hinge", "squared") if n > 8192 else ("sigmoid", "hinge", "squared"):
            loss = sl.AUCLoss(name, validate=False)
            loss(scores, target).backward()  # compiles
            torch.cuda.set_sync_debug_mode("error")
            try:
                value = loss(scores, target)
                value.backward()
            finally:
                torch.cuda.set_sync_debug_mode("default")
            torch.testing.assert_close(value, sl.AUCLoss(name)(scores, target))
