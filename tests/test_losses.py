import copy
import math
import pickle
import re
from dataclasses import dataclass

import mpmath as mp
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

import symloss as sl
from symloss import losses
from symloss.losses import (
    Analytic,
    ExponentialDecay,
    Kink,
    Linear,
    Logit,
    Piecewise,
    Sign,
    Slope,
    Stationary,
    Tan,
)

LOSSES = [
    *(sl.get_loss(name) for name in sl.list_losses()),
    sl.BarrierHinge(b=10, r=1),
    sl.BarrierHinge(b=1.5, r=3),
    sl.GeneralizedCrossEntropy(q=1),
    sl.GeneralizedCrossEntropy(q=0.25),
    sl.SymmetricCrossEntropy(alpha=6, beta=0.1, A=-6),
    sl.ActivePassive(alpha=2, beta=0.5),
    sl.Focal(gamma=0.5),
    sl.Focal(gamma=3),
    sl.HuberizedHinge(delta=0.5),
    sl.HuberizedHinge(delta=3),
]
MARGINS = [
    -1e4,
    -800.0,
    -60.3,
    -50.1,
    -7.0,
    -1.5,
    -1.0,
    -0.3,
    0.0,
    1e-9,
    0.3,
    1.0,
    1.5,
    2.5,
    19.0,
    37.0,
    49.9,
    88.0,
    1e4,
]
mp.mp.dps = 50


def evaluate(text, z, loss):
    """A formula as printed, in 50 digits: an implementation that shares nothing with the library's."""
    functions = {"exp": mp.exp, "log": mp.log, "atan": mp.atan, "max": max, "min": min, "sign": mp.sign}
    parameters = {name: mp.mpf(value) for name, value in vars(loss).items()}
    return mp.mpf(eval(text.replace("^", "**"), {"__builtins__": {}}, {"z": z, **functions, **parameters}))


def reference(loss, z):
    return evaluate(loss.formula, mp.mpf(z), loss)


def close(value, expected, rtol, tiny):
    """Relative closeness, down to the smallest normal number."""
    return abs(mp.mpf(value) - expected) <= rtol * abs(expected) + tiny


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
@pytest.mark.parametrize("loss", LOSSES, ids=repr)
def test_value_against_fifty_digits(loss, dtype):
    z = torch.tensor(MARGINS, dtype=dtype)
    info = torch.finfo(dtype)
    steepness, radius = getattr(loss, "b", 1), getattr(loss, "r", 1)
    for margin, value in zip(z.tolist(), loss(z).tolist(), strict=True):
        expected = reference(loss, margin)
        if expected > info.max:
            assert value == math.inf  # exp(1e4) has no other float
        else:
            # 1 - z and the like cancel near their root: an absolute error of the size of the terms' rounding.
            slack = info.eps * steepness * (abs(margin) + radius) if isinstance(loss.structure, Piecewise) else 0
            assert close(value, expected, 4 * info.eps, slack + info.tiny), (margin, value, float(expected))


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
@pytest.mark.parametrize("loss", LOSSES, ids=repr)
def test_derivative_against_fifty_digits(loss, dtype):
    z = torch.tensor(MARGINS, dtype=dtype)
    info = torch.finfo(dtype)
    step = mp.mpf(10) ** -20
    for margin, slope in zip(z.tolist(), loss.derivative(z).tolist(), strict=True):
        here = reference(loss, margin)
        left, right = ((reference(loss, mp.mpf(margin) + side * step) - here) / (side * step) for side in (-1, 1))
        if loss.name == "zero_one":
            assert slope == 0
        elif abs(left) > info.max:
            assert slope == -math.inf
        else:
            assert close(slope, (left + right) / 2, 8 * info.eps, 1e-18 + info.tiny), (margin, slope)


@pytest.mark.parametrize("loss", LOSSES, ids=repr)
def test_no_nan_and_no_needless_overflow(loss):
    for dtype in (torch.float32, torch.float64):
        z = torch.linspace(-1e4, 1e4, 4001, dtype=dtype)
        for result in (loss(z), loss.derivative(z)):
            assert not result.isnan().any()
            assert result.isfinite().all() or loss.name == "exponential"


def softmax_losses(z):
    """The papers' definitions, for a softmax over two logits whose difference is z; the first class is the label."""
    p = torch.softmax(torch.stack([z, torch.zeros_like(z)]), 0)
    label = torch.tensor([1.0, 0.0], dtype=z.dtype)[:, None]
    cross = -(label * p.log()).sum(0)
    absolute = (p - label).abs().sum(0)
    reverse = -(p * torch.tensor([0.0, -6.0], dtype=z.dtype)[:, None]).sum(0)  # log(1) = 0, log(0) = A = -6
    normalized = cross / -p.log().sum(0)
    return {
        sl.GeneralizedCrossEntropy(q=0.4): (1 - p[0] ** 0.4) / 0.4,
        sl.SymmetricCrossEntropy(alpha=0.3, beta=2, A=-6): 0.3 * cross + 2 * reverse,
        sl.NormalizedCrossEntropy(): normalized,
        sl.ActivePassive(alpha=2, beta=0.5): 2 * normalized + 0.5 * absolute,
        sl.ActivePassive(alpha=2, beta=0.5 * 6 / 2): 2 * normalized + 0.5 * reverse,
        sl.Focal(gamma=1.5): (1 - p[0]) ** 1.5 * cross,
        sl.GeneralizedCrossEntropy(q=1): absolute / 2,
        sl.Sigmoid(): reverse / 6,
        sl.GeneralizedCrossEntropy(q=1e-9): cross,
    }


def test_losses_for_noisy_labels_as_published():
    z = torch.linspace(-12, 12, 97, dtype=torch.float64)
    for loss, expected in softmax_losses(z).items():
        torch.testing.assert_close(loss(z), expected, rtol=1e-7 if getattr(loss, "q", 1) < 1e-8 else 1e-9, atol=1e-12)
    modified_huber = torch.where(z >= -1, (1 - z).clamp(min=0) ** 2, -4 * z)
    torch.testing.assert_close(4 * sl.HuberizedHinge()(z), modified_huber)
    torch.testing.assert_close(sl.HuberizedHinge(1e-9)(z), sl.Hinge()(z), rtol=0, atol=1e-9)


@pytest.mark.parametrize("loss", LOSSES, ids=repr)
def test_nan_and_infinity(loss):
    assert loss(torch.tensor(math.nan)).isnan()
    ends = loss(torch.tensor([-math.inf, math.inf], dtype=torch.float64))
    expected = (
        [float(reference(loss, -1e300)), float(reference(loss, 1e300))] if loss.name != "exponential" else [math.inf, 0]
    )
    for end, value in zip(ends.tolist(), expected, strict=True):
        assert end == pytest.approx(value, rel=1e-15, abs=0) or (
            math.isinf(end) and abs(value) > 1e200 and (end > 0) == (value > 0)
        )


@pytest.mark.parametrize("loss", LOSSES, ids=repr)
def test_gradcheck(loss):
    z = torch.randn(40, dtype=torch.float64) * 2 + 0.013
    z.requires_grad_()
    assert torch.autograd.gradcheck(lambda x: loss(x), (z,), atol=1e-5, rtol=1e-4)


@pytest.mark.parametrize("loss", LOSSES, ids=repr)
@given(z=st.floats(-300, 300))
def test_declared_symmetry(loss, z):
    claims = loss.properties
    total = loss(torch.tensor([z, -z], dtype=torch.float64)).sum().item()
    if abs(z) <= claims.symmetric_radius:
        assert total == pytest.approx(2 * loss(torch.zeros(1, dtype=torch.float64)).item(), rel=1e-12)
        slopes = loss.derivative(torch.tensor([z, -z], dtype=torch.float64))
        if abs(z) < claims.symmetric_radius:
            assert slopes[0].item() == pytest.approx(slopes[1].item(), rel=1e-12)
    if claims.symmetric_constant is not None:
        assert total == pytest.approx(claims.symmetric_constant, rel=1e-12, abs=1e-12)


@pytest.mark.parametrize("loss", [loss for loss in LOSSES if callable(loss.structure)], ids=repr)
@given(z=st.floats(-200, 200))
def test_structure_adds_up_to_the_value(loss, z):
    margins = torch.tensor([z, *loss.breakpoints], dtype=torch.float64)
    torch.testing.assert_close(loss.structure(margins), loss(margins), rtol=1e-11, atol=1e-9)


@pytest.mark.parametrize("loss", [loss for loss in LOSSES if isinstance(loss.structure, Analytic)], ids=repr)
def test_analytic_structure(loss):
    structure = loss.structure
    for side, (intercept, slope), rate in (
        (-1, structure.left, structure.left_rate),
        (1, structure.right, structure.right_rate),
    ):

        def step(z, side=side, slope=slope):
            """How the distance to the line changes from z to z + 1: it decays as the distance itself."""
            return abs(reference(loss, side * (z + 1)) - reference(loss, side * z) - side * mp.mpf(slope))

        with mp.workdps(int(1000 * rate)):
            # The logarithm of a factor |z|^k changes by k / z, which the second difference cancels.
            once, twice = (mp.log(step(z) / step(z + 1)) for z in (1000, 2000))
            assert float(2 * twice - once) == pytest.approx(rate, rel=2e-6)
            limit = reference(loss, 1000 * side) - mp.mpf(slope) * side * 1000
            assert float(limit) == pytest.approx(intercept, rel=1e-15, abs=1e-100)
    # The nearest pole: the loss blows up there and nowhere closer.
    pole = mp.mpc(0, structure.pole_distance)

    def beside(factor):
        names = {"z": pole * factor, "exp": mp.exp, "log": mp.log, **vars(loss)}
        return abs(eval(loss.formula.replace("^", "**"), {"__builtins__": {}}, names))

    assert beside(1 - mp.mpf(10) ** -12) > 5 * beside(mp.mpf("0.9"))
    assert all(beside(mp.mpf(k) / 20) < 100 for k in range(19))


@pytest.mark.parametrize("loss", LOSSES, ids=repr)
def test_immutable_hashable_picklable(loss):
    for twin in (pickle.loads(pickle.dumps(loss)), copy.deepcopy(loss), eval(repr(loss), vars(losses).copy())):
        assert twin == loss
        assert hash(twin) == hash(loss)
    with pytest.raises(AttributeError):
        loss.b = 3
    assert loss != sl.BarrierHinge(b=3, r=3)


def test_wrapped_callables():
    loss = sl.get_loss(torch.exp)
    assert loss == sl.CallableLoss(torch.exp)
    assert pickle.loads(pickle.dumps(loss)) == loss
    torch.testing.assert_close(loss.derivative(torch.ones(3)), torch.ones(3).exp())
    assert sl.get_loss(lambda z: torch.ones_like(z)).derivative(torch.ones(2)).tolist() == [0, 0]
    with pytest.raises(ValueError, match="element-wise"):
        sl.get_loss(torch.sum)(torch.ones(3))


def test_minimizers_and_inverse_links():
    eta = torch.tensor([0.05, 0.3, 0.5, 0.8], dtype=torch.float64)
    stationary = [Stationary(loss.slope) for loss in (sl.Focal(), sl.SymmetricCrossEntropy(), sl.HuberizedHinge(0.5))]
    for link in (Logit(), Logit(0.5), Linear(), Tan(), *stationary):
        torch.testing.assert_close(link.inverse(link(eta)), eta)
    assert Sign(math.inf)(eta).tolist() == [-math.inf, -math.inf, 0, math.inf]
    with pytest.raises(ValueError, match="cannot give probabilities"):
        Sign().inverse(eta)


def test_own_losses_under_inference_mode_and_vmap():
    loss = sl.CallableLoss(lambda z: torch.sigmoid(-z))
    with torch.inference_mode():
        assert loss.derivative(torch.zeros(2)).tolist() == [-0.25, -0.25]
    z = torch.randn(3, 4)
    torch.testing.assert_close(torch.func.vmap(loss.derivative)(z), sl.Sigmoid().derivative(z))


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
@pytest.mark.parametrize("name", sl.list_losses())
def test_value_and_slope_together(name, dtype):
    loss = sl.get_loss(name)
    z = torch.cat([torch.linspace(-90, 90, 721, dtype=dtype), torch.tensor([-1e4, 1e4, -1e30, 1e30], dtype=dtype)])
    z = torch.cat([z, torch.tensor([-math.inf, math.inf, math.nan], dtype=dtype)])
    value, slope = loss.value_and_slope(z.clone())
    rtol, smallest = (1e-6, 1e-30) if dtype == torch.float32 else (1e-14, 1e-290)
    torch.testing.assert_close(value, loss.value(z), rtol=rtol, atol=smallest, equal_nan=True)
    torch.testing.assert_close(slope, loss.slope(z), rtol=rtol, atol=smallest, equal_nan=True)


@pytest.mark.parametrize("name", sl.list_losses())
def test_the_structure_of_the_slope(name):
    loss = sl.get_loss(name)
    slope = Slope(loss)
    z = torch.linspace(-5.03, 5.04, 300, dtype=torch.float64)
    if isinstance(slope.structure, Piecewise | ExponentialDecay):
        torch.testing.assert_close(slope(z), slope.structure(z))
        torch.testing.assert_close(slope.derivative(z), slope.structure.derivative()(z))
    elif slope.structure is None:
        assert loss.structure is None
    else:
        ends = -40.0 / loss.structure.left_rate, 40.0 / loss.structure.right_rate
        for end, (intercept, steepness) in zip(ends, (slope.structure.left, slope.structure.right), strict=True):
            assert slope(torch.tensor(end, dtype=torch.float64)).item() == pytest.approx(intercept, abs=1e-15)
            assert steepness == 0


def test_a_subclass_with_other_formulas():
    class Steeper(sl.Sigmoid):
        def value(self, z):
            return torch.sigmoid(-3 * z)

        def slope(self, z):
            return -3 * torch.sigmoid(-3 * z) * torch.sigmoid(3 * z)

    z = torch.linspace(-2, 2, 9)
    value, slope = Steeper().value_and_slope(z)
    torch.testing.assert_close(value, Steeper().value(z))
    torch.testing.assert_close(slope, Steeper().slope(z))


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: sl.get_loss("quadratic"), "known losses: zero_one, squared"),
        (lambda: sl.get_loss("sigmod"), "did you mean 'sigmoid'?"),
        (lambda: sl.get_loss("barrier_hinge", c=2), "its parameters: b, r"),
        (lambda: sl.get_loss(sl.Sigmoid(), b=2), "go with a loss's name"),
        (lambda: sl.BarrierHinge(b=1), "b > 1, got b=1"),
        (lambda: sl.BarrierHinge(b=math.nan), "b > 1, got b=nan"),
        (lambda: sl.GeneralizedCrossEntropy(q=1.5), "q > 0 and <= 1, got q=1.5"),
        (lambda: sl.Hinge()("abc"), "margins must be"),
        (lambda: sl.CallableLoss(torch.sum)(torch.ones(3)), "must act element-wise"),
        (lambda: Kink(where=0, power=3), "power must be 0, 1 or 2"),
        (lambda: Piecewise((0.0, 0.0, 0.0, 1.0)), "degree 2 at most"),
        (lambda: sl.Properties(True, True, True, Sign(), symmetric_constant=1.0), "symmetric_constant must be given"),
    ],
)
def test_bad_input_says_what_was_expected(call, message):
    with pytest.raises(ValueError, match=re.escape(message)):
        call()


def test_losses_by_name_class_and_function():
    assert len(sl.list_losses()) == 19
    assert sl.get_loss("barrier_hinge", b=10, r=1) == sl.BarrierHinge(10, 1)
    loss = sl.Sigmoid()
    assert sl.get_loss(loss) is loss
    assert sl.get_loss(sl.Ramp) == sl.Ramp()


def test_any_shape_and_kind_of_margin():
    loss = sl.Hinge()
    assert loss(torch.zeros(2, 0, 3)).shape == (2, 0, 3)
    assert loss(0.5).item() == 0.5
    assert loss([1, 2]).dtype == torch.float64  # float32 would round large integers
    assert loss(torch.tensor([1, 2], dtype=torch.int16)).dtype == torch.float32
    assert loss(torch.zeros(2, dtype=torch.bfloat16)).dtype == torch.float32


@dataclass(frozen=True)
class Power(sl.Loss):
    k: float = 2

    def value(self, z):
        return torch.abs(1 - z) ** self.k


def test_users_own_losses():
    z = torch.randn(5, dtype=torch.float64, requires_grad=True)
    assert torch.autograd.gradgradcheck(Power(3), (z,))
    torch.testing.assert_close(Power(3).derivative(z), 3 * (1 - z).abs() * (z - 1), check_stride=False)
    assert (Power.name, repr(Power(3))) == ("power", "Power(k=3)")
    assert Power(3) != Power(2)
    with pytest.raises(AttributeError):
        Power(3).k = 4
