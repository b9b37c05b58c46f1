import math
import re
import warnings

import numpy as np
import pandas
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from sklearn.metrics import balanced_accuracy_score, roc_auc_score

import symloss as sl
from symloss.functional import MissingClassWarning, auc_derivatives, auc_risk, ber_risk

LOSSES = sl.list_losses()
RISKS = [ber_risk, auc_risk]


def reference(risk, scores, target, name, weight=None):
    """The definitions, by loops over points in float64 NumPy."""
    loss = sl.get_loss(name)
    weight = np.ones(len(scores)) if weight is None else weight

    def value(z):
        return loss(torch.tensor(float(z), dtype=torch.float64)).item()

    pos = [(s, w) for s, y, w in zip(scores, target, weight, strict=True) if y > 0 and w > 0]
    neg = [(s, w) for s, y, w in zip(scores, target, weight, strict=True) if y <= 0 and w > 0]
    if risk is ber_risk:
        terms = [
            sum(w * value(sign * s) for s, w in side) / sum(w for _, w in side)
            for side, sign in ((pos, 1), (neg, -1))
            if side
        ]
        return 0.5 * sum(terms)
    total = sum(w for _, w in pos) * sum(w for _, w in neg)
    return sum(w * v * value(s - t) for s, w in pos for t, v in neg) / total if total else 0.0


@pytest.mark.filterwarnings("ignore::symloss.functional.MissingClassWarning")
@pytest.mark.parametrize("risk", RISKS)
@pytest.mark.parametrize("name", LOSSES)
@given(data=st.data())
def test_against_the_definition(risk, name, data):
    n = data.draw(st.integers(1, 12))
    scores = data.draw(
        st.lists(st.sampled_from([-60.0, -1.0, 0.0, 0.5, 1.0, 3.25, 60.0]) | st.floats(-9, 9), min_size=n, max_size=n)
    )
    target = data.draw(st.lists(st.sampled_from([-1, 1]), min_size=n, max_size=n))
    weight = data.draw(st.none() | st.lists(st.sampled_from([0.0, 0.5, 1.0, 3.0]), min_size=n, max_size=n))
    tensor = None if weight is None else torch.tensor(weight, dtype=torch.float64)
    value = risk(torch.tensor(scores, dtype=torch.float64), target, name, tensor).item()
    assert value == pytest.approx(reference(risk, scores, target, name, weight), rel=1e-12, abs=1e-13)


@pytest.mark.parametrize("risk", RISKS)
@pytest.mark.parametrize("name", LOSSES)
def test_gradient_by_finite_differences(risk, name):
    scores = torch.randn(12, dtype=torch.float64) * 2 + 0.017
    scores.requires_grad_()
    target = torch.arange(12) % 3 == 0
    weight = torch.rand(12, dtype=torch.float64)
    assert torch.autograd.gradcheck(lambda s: risk(s, target, name, weight), (scores,), atol=1e-6)


@pytest.mark.parametrize("risk", RISKS)
@pytest.mark.parametrize("name", ["sigmoid", "barrier_hinge", "savage"])
def test_label_codings_agree(risk, name):
    scores = torch.randn(20)
    y = torch.arange(20) % 3 == 0
    values = [
        risk(scores, target, name) for target in (y, y.long(), y.float(), 2 * y.long() - 1, y.numpy(), y.tolist())
    ]
    assert len({value.item() for value in values}) == 1


@pytest.mark.parametrize("risk", RISKS)
@given(data=st.data())
def test_weights_are_repetitions(risk, data):
    n = data.draw(st.integers(2, 8))
    weight = torch.tensor(data.draw(st.lists(st.integers(0, 4), min_size=n, max_size=n)))
    scores = torch.randn(n, dtype=torch.float64, generator=torch.Generator().manual_seed(n))
    target = torch.arange(n) % 2
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", MissingClassWarning)
        weighted = risk(scores, target, "logistic", weight)
        repeated = risk(scores.repeat_interleave(weight), target.repeat_interleave(weight), "logistic")
    torch.testing.assert_close(weighted, repeated, rtol=1e-12, atol=1e-13)


@pytest.mark.parametrize("risk", RISKS)
@pytest.mark.parametrize("name", LOSSES)
def test_permutation_and_class_balance(risk, name):
    scores, target = torch.randn(30, dtype=torch.float64), torch.arange(30) % 4 == 0
    order = torch.randperm(30)
    value = risk(scores, target, name)
    torch.testing.assert_close(risk(scores[order], target[order], name), value, rtol=1e-12, atol=1e-13)
    more = torch.cat([scores, scores[target]])  # twice the positives: the same risk
    torch.testing.assert_close(risk(more, torch.cat([target, target[target]]), name), value, rtol=1e-12, atol=1e-13)


@pytest.mark.parametrize("name", LOSSES)
def test_auc_does_not_see_a_shift(name):
    scores, target = torch.randn(30, dtype=torch.float64), torch.arange(30) % 4 == 0
    torch.testing.assert_close(
        auc_risk(scores + 2.0**20, target, name), auc_risk(scores, target, name), rtol=1e-8, atol=1e-9
    )


@pytest.mark.parametrize("risk", RISKS)
@pytest.mark.parametrize("name", LOSSES)
@pytest.mark.parametrize("shared", [True, False])
def test_batched_is_one_by_one(risk, name, shared):
    scores = torch.randn(2, 3, 14, dtype=torch.float64, requires_grad=True)
    target = torch.arange(14) % 3 == 0 if shared else torch.rand(2, 3, 14) < 0.4
    target[..., 0], target[..., 1] = True, False
    weight = torch.rand(14, dtype=torch.float64)
    value = risk(scores, target, name, weight)
    assert value.shape == (2, 3)
    (gradient,) = torch.autograd.grad(value.sum(), scores)
    labels = target.expand(2, 3, 14)
    for index in np.ndindex(2, 3):
        one = scores[index].detach().requires_grad_()
        single = risk(one, labels[index], name, weight)
        torch.testing.assert_close(value[index], single, rtol=1e-12, atol=1e-13)
        torch.testing.assert_close(gradient[index], torch.autograd.grad(single, one)[0], rtol=1e-11, atol=1e-13)


def test_agrees_with_scikit_learn():
    rng = np.random.default_rng(0)
    scores = rng.integers(-3, 4, 200).astype(float)  # many ties
    y, weight = rng.random(200) < 0.3, rng.random(200)
    value = auc_risk(torch.from_numpy(scores), y, "zero_one", torch.from_numpy(weight)).item()
    assert 1 - value == pytest.approx(roc_auc_score(y, scores, sample_weight=weight), abs=1e-12)
    off = scores + 0.5
    value = ber_risk(torch.from_numpy(off), y, "zero_one", torch.from_numpy(weight)).item()
    assert 1 - value == pytest.approx(balanced_accuracy_score(y, off > 0, sample_weight=weight), abs=1e-12)


@pytest.mark.parametrize("name", LOSSES)
@pytest.mark.parametrize("label", [1, -1, 0])
def test_a_missing_class(name, label):
    scores = torch.tensor([0.5, -2.0], requires_grad=True)
    target = torch.tensor([label, label])
    sign = 1 if label == 1 else -1
    with pytest.warns(MissingClassWarning, match="lacks a class"):
        value = sl.BERLoss(name)(scores, target)
    torch.testing.assert_close(value, 0.5 * sl.get_loss(name)(sign * scores).mean())
    with pytest.warns(MissingClassWarning, match="zero"):
        value = sl.AUCLoss(name)(scores, target)
    value.backward()
    assert value.item() == 0
    assert scores.grad.tolist() == [0, 0]


@pytest.mark.filterwarnings("ignore::symloss.functional.MissingClassWarning")
@pytest.mark.parametrize("risk", RISKS)
def test_empty_batches(risk):
    scores = torch.zeros(0, requires_grad=True)
    risk(scores, torch.zeros(0), "sigmoid").backward()
    assert scores.grad.shape == (0,)
    assert risk(torch.zeros(3, 0), torch.zeros(0), "sigmoid").tolist() == [0, 0, 0]
    assert risk(torch.zeros(0, 4), torch.tensor([0, 1, 0, 1]), "sigmoid").shape == (0,)
    assert risk(torch.ones(2), [0, 1], "hinge", torch.zeros(2)).item() == 0


def test_the_warning_shows_once():
    with warnings.catch_warnings(record=True) as seen:
        warnings.simplefilter("default")
        for _ in range(5):
            sl.AUCLoss()(torch.randn(3), torch.ones(3))
    assert len(seen) == 1


@pytest.mark.parametrize("risk", RISKS)
def test_weightless_points_cannot_poison(risk):
    # exp(1e4) is infinite, and zero times infinity is not a number.
    scores = torch.tensor([0.0, -1e4, 1.0, 1e4], requires_grad=True)
    value = risk(scores, [1, 1, 0, 0], "exponential", torch.tensor([1.0, 0.0, 1.0, 0.0]))
    value.backward()
    assert value.isfinite()
    assert scores.grad.isfinite().all()
    ragged = torch.tensor([[0.0, -1e4], [-1e4, 0.0]], requires_grad=True)
    risk(ragged, [[1, 0], [0, 1]], "exponential").sum().backward()
    assert ragged.grad.isfinite().all()


@pytest.mark.parametrize("rates", [{}, {"pi": 0.9, "pi_prime": 0.2}])
def test_a_balanced_risk_that_is_infinite(rates):
    # The point of no weight has no part in it, also if the one that counts has an infinite loss.
    scores = torch.tensor([-1e4, 0.0, 0.0], requires_grad=True)
    value = ber_risk(scores, [1, 0, 0], "exponential", torch.tensor([1.0, 1.0, 0.0]), **rates)
    value.backward()
    assert value == math.inf
    assert scores.grad[0] == -math.inf
    assert scores.grad[2] == 0


@pytest.mark.parametrize("rates", [{}, {"pi": 0.9, "pi_prime": 0.2}])
def test_a_share_that_float32_cannot_hold(rates):
    # A share of 1e-60 would be 0 in float32, and the loss infinite: their product is a number, and not NaN.
    target, weight = [1, 1, 0], torch.tensor([1.0, 1e-60, 1.0], dtype=torch.float64)
    for margin in (-100.0, -200.0):
        found = []
        for dtype in (torch.float32, torch.float64):
            scores = torch.tensor([1.0, margin, 0.0], dtype=dtype, requires_grad=True)
            value = ber_risk(scores, target, "exponential", weight, **rates)
            value.backward()
            found.append(torch.cat([value.detach()[None], scores.grad]).double())
        torch.testing.assert_close(*found, rtol=1e-6, atol=0)


BAD = [
    (torch.zeros(()), [1], "single number"),
    (torch.zeros(3), [1, 0], "target must have shape (3,)"),
    (torch.zeros(3, 1), [1, 0, 1], "use scores.squeeze(-1)"),
    (torch.zeros(3), [[1, 0, 1]], "target must have shape (3,)"),
    (torch.zeros(4, 3), torch.zeros(2, 3), "does not fit scores"),
    (torch.zeros(3), [0, 1, 2], "got the values 0, 1, 2"),
    (torch.zeros(3), [-1, 0, 1], "got the values -1, 0, 1"),
    (torch.zeros(2), [0.0, math.nan], "got the values 0, nan"),
    (torch.zeros(2), [0.5, 1.0], "got the values 0.5, 1"),
    (torch.zeros(2), ["a", "b"], "labels in {0, 1}, {-1, +1} or bool must be numbers, got list"),
    (torch.zeros(2), np.array(["a", "b"]), "must be numbers, got ndarray of dtype <U1"),
    (torch.zeros(2), [[1], [0]], "use target.squeeze(-1)"),
    (torch.zeros(2, dtype=torch.bool), [0, 1], "scores must be real numbers"),
    ("abc", [0, 1], "scores must be"),
]


@pytest.mark.parametrize("risk", RISKS)
@pytest.mark.parametrize(("scores", "target", "message"), BAD)
def test_bad_input(risk, scores, target, message):
    with pytest.raises(ValueError, match=re.escape(message)):
        risk(scores, target, "sigmoid")


@pytest.mark.parametrize("risk", RISKS)
@pytest.mark.parametrize(
    ("weight", "message"),
    [
        (torch.tensor([1.0, -1.0]), "numbers >= 0, got -1"),
        (torch.tensor([1.0, math.nan]), "got nan"),
        (torch.tensor([1.0, math.inf]), "got inf"),
        (torch.ones(3), "weight must have the scores' shape (2,), got (3,)"),
        (torch.ones(2, requires_grad=True), "weight.detach()"),
        (torch.tensor([True, False]), "weight must be real numbers"),
    ],
)
def test_bad_weights(risk, weight, message):
    with pytest.raises(ValueError, match=re.escape(message)):
        risk(torch.zeros(2), [0, 1], "sigmoid", weight)


@pytest.mark.parametrize("module", [sl.BERLoss, sl.AUCLoss])
def test_modules_are_thin_shells(module):
    loss = module("barrier_hinge", b=10, r=1)
    assert repr(loss) == f"{module.__name__}(BarrierHinge(b=10, r=1))"
    assert not loss.state_dict()
    assert not list(loss.parameters())
    function = ber_risk if module is sl.BERLoss else auc_risk
    scores, target = torch.randn(9), torch.arange(9) % 2
    assert loss(scores, target) == function(scores, target, sl.BarrierHinge(10, 1))
    assert loss(scores, target, weight=torch.ones(9)) == pytest.approx(loss(scores, target).item())


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64, torch.float16, torch.bfloat16])
@pytest.mark.parametrize("risk", RISKS)
def test_precision_in_and_out(risk, dtype):
    scores = torch.randn(50, dtype=dtype, requires_grad=True)
    target = torch.arange(50) % 2
    value = risk(scores, target, "sigmoid")
    value.backward()
    assert value.dtype == (torch.float64 if dtype == torch.float64 else torch.float32)
    assert scores.grad.dtype == dtype
    exact = risk(scores.detach().double(), target, "sigmoid")
    assert value.item() == pytest.approx(exact.item(), rel=2e-7)


@pytest.mark.parametrize("module", [sl.BERLoss, sl.AUCLoss])
@pytest.mark.parametrize("optimizer", [torch.optim.SGD, torch.optim.Adam, torch.optim.LBFGS])
def test_trains_with_any_optimizer(module, optimizer):
    X = torch.randn(200, 3)
    y = (X[:, 0] + 0.3 * torch.randn(200) > 0).long()
    model, loss = torch.nn.Linear(3, 1), module("sigmoid")
    step = optimizer(model.parameters(), lr=0.5)

    def closure():
        step.zero_grad()
        value = loss(model(X).squeeze(-1), y)
        value.backward()
        return value

    first = closure().item()
    for _ in range(30):
        step.step(closure)
    assert closure().item() < 0.7 * first


@pytest.mark.parametrize("module", [sl.BERLoss, sl.AUCLoss])
def test_under_autocast(module):
    model, X = torch.nn.Linear(3, 1), torch.randn(40, 3)
    y = torch.arange(40) % 2
    with torch.autocast("cpu", dtype=torch.bfloat16):
        scores = model(X).squeeze(-1)
        value = module("logistic")(scores, y)
    assert scores.dtype == torch.bfloat16
    assert value.dtype == torch.float32
    assert value.item() == pytest.approx(module("logistic")(scores.detach().double(), y).item(), rel=2e-7)
    value.backward()
    assert model.weight.grad.isfinite().all()


@pytest.mark.parametrize("risk", RISKS)
@pytest.mark.parametrize("name", ["sigmoid", "barrier_hinge", "zero_one"])
def test_under_vmap(risk, name):
    scores, labels = torch.randn(4, 3, 10, dtype=torch.float64), torch.rand(4, 3, 10) < 0.5
    labels[..., 0], labels[..., 1] = True, False
    direct = risk(scores, labels, name)
    mapped = torch.func.vmap(lambda s, y: risk(s, y, name))(scores, labels)
    torch.testing.assert_close(mapped, direct, rtol=1e-12, atol=1e-13)
    shared = torch.func.vmap(lambda s: risk(s, labels[0, 0], name), in_dims=1, out_dims=1)(scores)
    torch.testing.assert_close(shared, risk(scores, labels[0, 0], name), rtol=1e-12, atol=1e-13)
    gradients = torch.func.vmap(torch.func.vmap(torch.func.grad(lambda s, y: risk(s, y, name))))(scores, labels)
    leaf = scores.clone().requires_grad_()
    torch.testing.assert_close(
        gradients, torch.autograd.grad(risk(leaf, labels, name).sum(), leaf)[0], rtol=1e-11, atol=1e-13
    )


@pytest.mark.filterwarnings("ignore")  # the compiler's own
@pytest.mark.parametrize("name", ["sigmoid", "barrier_hinge", "logistic", "ramp"])
@pytest.mark.parametrize("module", [sl.BERLoss, sl.AUCLoss])
def test_under_compile(module, name):
    loss = module(name)
    compiled = torch.compile(loss, backend="aot_eager", fullgraph=module is sl.BERLoss)
    target = torch.arange(16) % 2
    for n in (16, 12):
        scores = torch.randn(n, requires_grad=True)
        value = compiled(2 * scores, target[:n])
        (gradient,) = torch.autograd.grad(value, scores)
        expected = loss(2 * scores, target[:n])
        torch.testing.assert_close(value, expected)
        torch.testing.assert_close(gradient, torch.autograd.grad(expected, scores)[0])


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")  # the compiler's own
def test_under_inductor(tmp_path, monkeypatch):
    # What is in the usual folder may have been compiled for other instructions.
    monkeypatch.setenv("TORCHINDUCTOR_CACHE_DIR", str(tmp_path))
    loss = sl.BERLoss("sigmoid")
    scores, target = torch.randn(16, requires_grad=True), torch.arange(16) % 2
    value = torch.compile(loss)(scores, target)
    torch.testing.assert_close(value, loss(scores, target))
    (gradient,) = torch.autograd.grad(value, scores)
    torch.testing.assert_close(gradient, torch.autograd.grad(loss(scores, target), scores)[0])


def test_a_function_is_as_good_as_the_loss_it_computes():
    scores, target = torch.randn(8, dtype=torch.float64), torch.arange(8) % 2
    for risk in RISKS:
        torch.testing.assert_close(risk(scores, target, lambda z: torch.sigmoid(-z)), risk(scores, target, "sigmoid"))


@pytest.mark.parametrize("risk", RISKS)
@pytest.mark.parametrize("size", [1e-300, 1e-44, 1.0, 3e38, 1e308])
def test_the_size_of_weights_does_not_matter(risk, size):
    scores, target = torch.tensor([1.0, -2.0, 0.5, 3.0]), [1, 0, 0, 1]
    dtypes = [torch.float64] if size in (1e-300, 1e308) else [torch.float32, torch.float64]
    for dtype in dtypes:
        value = risk(scores, target, "sigmoid", torch.full((4,), size, dtype=dtype))
        torch.testing.assert_close(value, risk(scores, target, "sigmoid"))


@pytest.mark.parametrize("risk", RISKS)
def test_pandas_and_odd_arrays(risk):
    scores, y = np.array([0.5, -1.0, 2.0, 0.1]), np.array([1, 0, 1, 0])
    expected = risk(torch.from_numpy(scores), y)
    frozen = y.copy()
    frozen.flags.writeable = False
    for target in (pandas.Series(y, index=[7, 3, 9, 4]), y[::-1][::-1], frozen, y.astype(">i4"), y.astype(np.uint16)):
        assert risk(torch.from_numpy(scores), target) == expected
    assert risk(scores[::-1], y[::-1]) == pytest.approx(expected.item())
    assert risk(pandas.Series(scores, index=[7, 3, 9, 4]), y) == expected


def test_weightless_points_and_a_loss_that_is_infinite_at_zero():
    for risk in RISKS:
        value = risk(torch.tensor([5.0, 1.0, 2.0]), [1, 0, 1], lambda z: 1 / z, torch.tensor([0.0, 1.0, 1.0]))
        assert value.isfinite()


def test_trainable_losses():
    beta = torch.tensor(2.0, requires_grad=True)
    loss = sl.CallableLoss(lambda z: torch.sigmoid(-beta * z))
    scores, target = torch.tensor([1.0, -2.0]), [1, 0]
    ber_risk(scores, target, loss).backward()
    assert beta.grad is not None
    with pytest.raises(ValueError, match="detach them"):
        auc_risk(scores, target, loss)


@pytest.mark.parametrize("risk", RISKS)
def test_each_class_has_its_own_scale_of_weights(risk):
    scores, target = torch.tensor([1.0, 0.5, -1.0, 2.0]).double(), torch.tensor([1, 0, 1, 0])
    weight = torch.tensor([1e200, 1e-200, 1e200, 1e-200], dtype=torch.float64)
    torch.testing.assert_close(risk(scores, target, "sigmoid", weight), risk(scores, target, "sigmoid"))


def test_labels_that_do_not_fit_an_integer():
    with pytest.raises(ValueError, match="labels must be"):
        auc_risk(torch.zeros(2), np.array([2**64 - 1, 1], dtype=np.uint64))
    assert auc_risk(np.array([1, 0], dtype=np.longdouble), [1, 0], "zero_one") == 0


def test_derivatives_of_the_auc_risk():
    scores, target, weight = (
        torch.randn(60, dtype=torch.float64, requires_grad=True),
        torch.arange(60) % 3 == 0,
        torch.rand(60),
    )
    (expected,) = torch.autograd.grad(auc_risk(scores, target, "logistic", weight), scores)
    first, second = auc_derivatives(scores, target, "logistic", weight)
    torch.testing.assert_close(first, expected)
    step = 1e-4
    for i in (0, 1, 2):
        shift = step * (torch.arange(60) == i)
        ahead, _ = auc_derivatives(scores.detach() + shift, target, "logistic", weight)
        behind, _ = auc_derivatives(scores.detach() - shift, target, "logistic", weight)
        assert second[i].item() == pytest.approx((ahead[i] - behind[i]).item() / (2 * step), rel=1e-5)
    with pytest.warns(MissingClassWarning, match="derivatives"):
        first, second = auc_derivatives(torch.randn(3), [1, 1, 1])
    assert not first.any()
    assert not second.any()
    with pytest.raises(ValueError, match=r"scores must have shape \(n,\), got \(2, 3\)"):
        auc_derivatives(torch.randn(2, 3), [1, 0, 1])


def test_labels_that_change_before_the_backward_pass_are_noticed():
    scores, y = torch.randn(6, requires_grad=True), torch.arange(6) % 2 == 0
    risk = sl.BERLoss("logistic")(scores, y)
    y.logical_not_()
    try:
        risk.backward()
    except RuntimeError as error:
        assert "modified by an inplace operation" in str(error)  # noqa: PT017
    else:
        expected = torch.autograd.grad(sl.BERLoss("logistic")(scores, ~y), scores)[0]
        torch.testing.assert_close(scores.grad, expected)


@pytest.mark.parametrize("module", [sl.BERLoss, sl.AUCLoss])
@pytest.mark.parametrize("special", [math.nan, math.inf, -math.inf])
def test_scores_that_are_not_finite(module, special):
    scores, target = torch.tensor([0.5, special, -1.0, 2.0]), torch.tensor([1, 1, 0, 0])
    message = f"scores must be finite, got {special:g} at position 1; with validate=False"
    for name in ("sigmoid", "hinge", "squared"):
        for labels in (target, target.bool(), 2 * target - 1):
            with pytest.raises(ValueError, match=message):
                module(name)(scores, labels)
        with pytest.raises(ValueError, match=r"at position \(0, 1\) and 1 more that is not"):
            module(name)(scores.expand(2, 4), target)
        with pytest.raises(ValueError, match=message):
            module(name)(scores, target, torch.ones(4))
        weight = torch.tensor([1.0, 0.0, 1.0, 1.0])  # a point without weight does not exist
        assert module(name)(scores, target, weight) == module(name)(scores[[0, 2, 3]], target[[0, 2, 3]])
    unchecked = module("sigmoid", validate=False)(scores, target)
    large = torch.nan_to_num(scores, nan=math.nan, posinf=1e30, neginf=-1e30)
    torch.testing.assert_close(unchecked, module("sigmoid", validate=False)(large, target), equal_nan=True)


@pytest.mark.parametrize("risk", RISKS)
def test_what_cannot_be_read_under_vmap_gives_nan(risk):
    scores, target = torch.randn(3, 6), torch.tensor([1, 0, 1, 0, 1, 0])
    weight = torch.ones(3, 6)
    weight[0, 1], weight[1, 2] = -1.0, math.nan
    found = torch.vmap(lambda x, w: risk(x, target, "sigmoid", w))(scores, weight)
    assert found.isnan().tolist() == [True, True, False]
    labels = torch.stack([target, target + 1, 2 * target - 1])
    found = torch.vmap(lambda x, y: risk(x, y, "sigmoid"))(scores, labels)
    assert found.isnan().tolist() == [False, True, False]
    expected = risk(scores[2], labels[2], "sigmoid")
    torch.testing.assert_close(found[2], expected)


def test_weights_under_vmap_of_pairs():
    pos, neg, weight = torch.randn(2, 5), torch.randn(4), torch.tensor([[1.0] * 5, [1, -1, 0, 0, 0]])
    found = torch.vmap(lambda p, w: sl.pairwise_risk(p, neg, "sigmoid", w))(pos, weight)
    assert found.isnan().tolist() == [False, True]


@pytest.mark.filterwarnings("ignore")  # the compiler's own
def test_labels_in_a_compiled_graph():
    compiled = torch.compile(sl.BERLoss("sigmoid"), backend="aot_eager", fullgraph=True)
    scores = torch.randn(4)
    assert compiled(scores, torch.tensor([0, 1, 2, 3])).isnan()
    assert compiled(torch.tensor([0.0, math.nan, 1.0, 2.0]), torch.tensor([0, 1, 0, 1])).isnan()
    torch.testing.assert_close(
        compiled(scores, torch.tensor([0, 1, 1, 0])), sl.BERLoss("sigmoid")(scores, [0, 1, 1, 0])
    )


@pytest.mark.parametrize(
    ("name", "score", "mean"), [("exponential", -89.5, 7.2286e35), ("barrier_hinge", 3e36, 5.8594e35)]
)
@pytest.mark.parametrize("batched", [False, True])
def test_a_balanced_risk_is_finite_where_its_losses_overflow(name, score, mean, batched):
    scores = torch.zeros(1024)
    scores[0] = score
    scores = (scores.expand(2, -1) if batched else scores).clone().requires_grad_()
    found = sl.BERLoss(name)(scores, torch.arange(1024) < 512)
    found.sum().backward()
    torch.testing.assert_close(found.detach(), torch.full(found.shape, mean), rtol=1e-4, atol=0)
    assert scores.grad.isfinite().all()


@pytest.mark.parametrize("rates", [{}, {"pi": 0.9, "pi_prime": 0.2}])
def test_weights_beside_a_callable_with_parameters(rates):
    """A callable gets margins in the precision of the scores, which is that of its parameters."""
    layer = torch.nn.Linear(1, 1)
    scores, target, weight = torch.randn(6), torch.arange(6) % 2, torch.ones(6, dtype=torch.float64)

    def loss(z):
        return layer(z[..., None])[..., 0] ** 2

    found = sl.BERLoss(loss, **rates)(scores, target, weight)
    assert found.dtype == torch.float32
    torch.testing.assert_close(found, sl.BERLoss(loss, **rates)(scores, target))
    found.backward()
    assert layer.weight.grad is not None
