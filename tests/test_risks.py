"""The risks: values, shapes, missing labels and classes, what users do with a loss, ranks, whole epochs, batches.

Run as a script, this file is one of several ranks: ``python test_risks.py RANK WORLD INIT_FILE DEVICE``.
"""

import copy
import itertools
import math
import pickle
import re
import subprocess
import sys
import warnings
from collections import Counter

import numpy as np
import pandas
import pytest
import torch
import torch.distributed as dist
from hypothesis import given
from hypothesis import strategies as st
from sklearn.metrics import roc_curve
from torch import nn
from torch.nn.parallel import DistributedDataParallel
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils.data import DataLoader, TensorDataset

import symloss as sl
from symloss.functional import MissingClassWarning, auc_derivatives, auc_risk, ber_risk, partial_auc_risk

LOSSES = sl.list_losses()
RISKS = [ber_risk, auc_risk]
MODULES = [sl.BERLoss, sl.AUCLoss, sl.PartialAUCLoss]
quiet = pytest.mark.filterwarnings("ignore::symloss.functional.MissingClassWarning")
needs_cuda = pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a CUDA device")
DEVICES = ["cpu", pytest.param("cuda", marks=[pytest.mark.gpu, needs_cuda])]


def values(loss, z):
    return sl.get_loss(loss)(torch.as_tensor(z, dtype=torch.float64)).numpy()


def definition(risk, scores, target, loss, weight=None):
    """The risk of points with both classes, by all pairs in float64 NumPy."""
    weight = np.ones(len(scores)) if weight is None else weight
    (s, w), (t, v) = ((scores[of], weight[of] / weight[of].sum()) for of in (target == 1, target != 1))
    if risk is ber_risk:
        return (w @ values(loss, s) + v @ values(loss, -t)) / 2
    return w @ values(loss, s[:, None] - t) @ v


@pytest.mark.parametrize("risk", RISKS)
@given(seed=st.integers(0, 2**32), n=st.integers(2, 40), name=st.sampled_from(LOSSES), weighted=st.booleans())
def test_against_the_definition(risk, seed, n, name, weighted):
    rng = np.random.default_rng(seed)
    target = rng.choice([-1, 1], n)
    target[:2] = -1, 1
    scores = rng.choice([rng.normal(size=n), rng.integers(-3, 4, n).astype(float)])  # also with ties
    weight = rng.choice([0.0, 0.5, 1.0, 3.0], n) if weighted else None
    if weighted:
        weight[:2] = 1.0
    found = risk(torch.from_numpy(scores), target, name, weight).item()
    assert found == pytest.approx(definition(risk, scores, target, name, weight), rel=1e-11, abs=1e-12)


@pytest.mark.parametrize("risk", [*RISKS, lambda *args: partial_auc_risk(*args, max_fpr=0.6, min_tpr=0.2)])
@pytest.mark.parametrize("name", LOSSES)
def test_gradient_by_finite_differences(risk, name):
    scores = (torch.randn(2, 12, dtype=torch.float64) * 2 + 0.017).requires_grad_()
    target = torch.stack([torch.arange(12) % 3 == 0, torch.arange(12) % 4 == 0])
    weight = torch.rand(12, dtype=torch.float64)
    assert torch.autograd.gradcheck(lambda s: risk(s, target, name, weight), (scores,), atol=1e-6)


@pytest.mark.parametrize("risk", RISKS)
def test_codings_and_containers_agree(risk):
    scores, y = np.array([0.5, -1.0, 2.0, 0.1]), np.array([1, 0, 1, 0])
    expected = risk(torch.from_numpy(scores), y)
    codings = [y == 1, 2 * y - 1, y.astype(np.float16), y.tolist(), y.astype(">i4"), y[::-1][::-1]]
    for target in [*codings, *map(torch.as_tensor, codings[:4]), pandas.Series(y, index=[7, 3, 9, 4])]:
        assert risk(torch.from_numpy(scores), target) == expected
    assert risk(scores[::-1], y[::-1]) == pytest.approx(expected.item())
    as_function = risk(torch.from_numpy(scores), y, lambda z: torch.sigmoid(-z))
    torch.testing.assert_close(as_function, expected)


@pytest.mark.parametrize("risk", [*RISKS, lambda *args: partial_auc_risk(*args, max_fpr=0.5)])
def test_points_without_weight_do_not_exist(risk):
    scores = torch.tensor([0.0, -1e4, 1.0, math.nan, math.inf], requires_grad=True)  # exp(1e4) is infinite
    weight = torch.tensor([1.0, 0.0, 2.0, 0.0, 0.0])
    value = risk(scores, [1, 1, 0, 0, 7], "exponential", weight)  # a label of no weight may be anything
    value.backward()
    assert (
        value == risk(scores[[0, 2]], [1, 0], "exponential") == risk(scores, [1, 1, 0, 0, 7], "exponential", weight > 0)
    )
    assert scores.grad.isfinite().all()
    assert not scores.grad[weight == 0].any()


def test_derivatives_of_the_auc_risk():
    scores = torch.randn(60, dtype=torch.float64, requires_grad=True)
    target, weight = torch.arange(60) % 3 == 0, torch.rand(60)
    (expected,) = torch.autograd.grad(auc_risk(scores, target, "logistic", weight), scores)
    torch.testing.assert_close(auc_derivatives(scores, target, "logistic", weight)[0], expected)
    hessian = torch.autograd.functional.hessian(
        lambda s: ((s[target][:, None] - s[~target] - 1) ** 2).mean(), scores.detach()
    )
    torch.testing.assert_close(auc_derivatives(scores, target, "squared")[1], hessian.diagonal())
    with pytest.warns(MissingClassWarning, match="derivatives"):
        assert not any(part.any() for part in auc_derivatives(torch.randn(3), [1, 1, 1]))


def test_the_partial_risk_is_the_area_of_a_part_of_the_curve():
    generator = np.random.default_rng(0)
    y = generator.random(500) < 0.3
    scores = generator.normal(size=500) + y
    fpr, tpr, _ = roc_curve(y, scores, drop_intermediate=False)
    for share, least in ((0.05, 0), (0.333, 0), (0.5, 0.4), (1, 0.7)):
        grid = np.linspace(0, share, 200_001)
        height = np.maximum(np.interp(grid, fpr, tpr) - least, 0)
        risk = partial_auc_risk(torch.from_numpy(scores), y, "zero_one", max_fpr=share, min_tpr=least)
        assert 1 - risk.item() == pytest.approx(height.mean() / (1 - least), abs=1e-4)


# Shapes, several labels, missing labels, missing classes.


@pytest.mark.parametrize("module", MODULES)
def test_a_last_dimension_of_one_is_no_problem(module):
    scores, y, weight = torch.randn(20), torch.arange(20) % 3 == 0, torch.rand(20)
    expected = module()(scores, y, weight)
    assert module()(scores[:, None], y[:, None], weight[:, None]) == expected
    assert module()(scores[:, None], y.float()[:, None], weight) == expected
    assert module()(scores, y[:, None], weight[:, None]) == expected
    assert module()(scores[:, None], y, weight) == expected
    two = module()(torch.stack([scores, -scores])[..., None], y[:, None])
    torch.testing.assert_close(two, torch.stack([module()(scores, y), module()(-scores, y)]))


@pytest.mark.parametrize("module", MODULES)
@pytest.mark.parametrize("loss", ["sigmoid", "barrier_hinge"])
def test_several_labels_are_one_problem_a_column(module, loss):
    scores = torch.randn(30, 4, dtype=torch.float64, requires_grad=True)
    target, weight = (torch.rand(30, 4) < 0.4).float(), torch.rand(30, 4)
    target[:, 2] = 0  # a label that no point has
    with warnings.catch_warnings():
        warnings.simplefilter("error")  # of which macro says nothing
        macro = module(loss, num_labels=4)(scores, target, weight)
    expected = torch.stack([module(loss)(scores[:, k], target[:, k], weight[:, k]) for k in (0, 1, 3)])
    torch.testing.assert_close(macro, expected.mean())
    for found, wanted in zip(*(torch.autograd.grad(of, scores) for of in (macro, expected.mean())), strict=True):
        torch.testing.assert_close(found, wanted)
    each = module(loss, num_labels=4, average="none", empty="nan")(scores, target, weight)
    torch.testing.assert_close(each[[0, 1, 3]], expected)
    assert each.isnan().tolist() == [False, False, True, False]


@pytest.mark.parametrize("module", MODULES)
def test_class_numbers_are_one_class_against_the_rest(module):
    scores, classes = torch.randn(40, 5), torch.arange(40) % 4  # the last class is empty
    one_hot = nn.functional.one_hot(classes, 5)
    criterion = module(num_labels=5)
    for target in (classes, classes[:, None], classes.float(), classes.tolist()):
        assert criterion(scores, target) == criterion(scores, one_hot)
    some = module(num_labels=5, ignore_index=-100)(scores, torch.where(classes == 3, -100, classes))
    torch.testing.assert_close(some, criterion(scores[classes != 3], classes[classes != 3]))
    with pytest.raises(ValueError, match="class numbers must be whole numbers from 0 to 4, got the values -1, 0, 1, 2"):
        criterion(scores, classes - 1)
    with pytest.raises(ValueError, match=re.escape("scores must have shape (N, 3) with num_labels=3, got (40, 5)")):
        module(num_labels=3)(scores, classes)
    with pytest.raises(ValueError, match=re.escape("must have shape (40, 5), or (40,) for class numbers, got (40, 4)")):
        criterion(scores, one_hot[:, :4])
    with pytest.raises(ValueError, match="weight must have the scores' shape"):
        criterion(scores, classes, torch.ones(5))  # weights of labels would count for nothing


@pytest.mark.parametrize("module", MODULES)
@pytest.mark.parametrize("validate", [True, False])
def test_missing_labels(module, validate):
    scores = torch.randn(30, 3, dtype=torch.float64, requires_grad=True)
    target = torch.arange(90).reshape(30, 3) % 5 // 2 - 1  # -1, 0 and 1
    criterion = module(num_labels=3, average="none", ignore_index=-1, validate=validate)
    expected = torch.stack([module()(s[y >= 0], y[y >= 0]) for s, y in zip(scores.T, target.T, strict=True)])
    unlabeled = torch.where(target < 0, math.nan, target.double())
    found = [criterion(scores, target), module(num_labels=3, average="none", ignore_index=math.nan)(scores, unlabeled)]
    if validate:
        found.append(module(num_labels=3, average="none")(scores, unlabeled))  # NaN is missing anyway
        found.append(torch.stack([module()(s, y) for s, y in zip(scores.T, unlabeled.T, strict=True)]))
        found.append(torch.vmap(module(), 1)(scores, unlabeled))
    for each in found:
        torch.testing.assert_close(each, expected)
        (gradient,) = torch.autograd.grad(each.sum(), scores)
        assert not gradient[target < 0].any()
        torch.testing.assert_close(gradient, torch.autograd.grad(expected.sum(), scores, retain_graph=True)[0])


@pytest.mark.parametrize("module", MODULES)
def test_a_missing_class(module):
    scores = torch.tensor([0.5, -2.0, 1.0], requires_grad=True)
    for label in (1, 0):
        with pytest.warns(MissingClassWarning, match="a batch lacks a class") as seen:
            value = module()(scores, 3 * [label])
        assert [(warning.filename, len(seen)) for warning in seen] == [(__file__, 1)]  # names the line of the user
        half = 0.5 * sl.Sigmoid()((2 * label - 1) * scores).mean()
        torch.testing.assert_close(value, half if module is sl.BERLoss else torch.tensor(0.0))
        (gradient,) = torch.autograd.grad(value, scores)
        assert bool(gradient.any()) == (module is sl.BERLoss)
        value = module(empty="nan")(scores, 3 * [label])
        assert value.isnan()
        assert torch.autograd.grad(value, scores)[0].isfinite().all()
        with pytest.raises(ValueError, match="a batch lacks a class"):
            module(empty="raise")(scores, 3 * [label])
    assert module(empty="raise")(scores, [1, 0, 0]).isfinite()
    with pytest.warns(MissingClassWarning):
        two = module()(torch.stack([scores, scores]), [[1, 1, 1], [0, 1, 0]])
    assert two[1] == module()(scores, [0, 1, 0])
    with warnings.catch_warnings(record=True) as seen:
        warnings.simplefilter("default")
        for _ in range(5):
            module()(torch.randn(3), torch.ones(3))
    assert len(seen) == 1


@quiet
@pytest.mark.parametrize("module", MODULES)
def test_batches_without_points(module):
    scores = torch.zeros(0, requires_grad=True)
    module()(scores, torch.zeros(0)).backward()
    assert scores.grad.shape == (0,)
    assert module()(torch.zeros(3, 0), torch.zeros(0)).tolist() == [0, 0, 0]
    assert module()(torch.zeros(0, 4), torch.tensor([0, 1, 0, 1])).shape == (0,)
    assert module(num_labels=2)(torch.zeros(0, 2), torch.zeros(0, 2)) == 0


# What users do with a loss: the contract.

CRITERIA = [sl.AUCLoss(), sl.AUCLoss("barrier_hinge"), sl.AUCLoss("squared"), sl.AUCLoss(torch.cos),
            sl.AUCLoss("logistic", pi=0.9, pi_prime=0.2), sl.BERLoss(), sl.BERLoss("hinge", pi=0.9, pi_prime=0.2),
            sl.PartialAUCLoss("hinge", max_fpr=0.3)]  # fmt: skip
INPUTS = {  # shape, dtype, with weights, whether both classes are there
    "few": ((30,), torch.float32, False, True),
    "float64": ((600,), torch.float64, False, True),
    "bfloat16": ((30,), torch.bfloat16, False, True),
    "many": ((4200,), torch.float32, False, True),
    "weights": ((1100,), torch.float32, True, True),
    "one class": ((30,), torch.float32, False, False),
    "a column": ((30, 1), torch.float32, False, True),
    "columns": ((30, 3), torch.float32, False, True),
    "leading": ((2, 3, 30), torch.float32, True, True),
}


@quiet
@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize("kind", INPUTS)
@pytest.mark.parametrize("criterion", CRITERIA, ids=repr)
def test_a_loss_is_a_plain_tensor(criterion, kind, device):
    shape, dtype, weighted, both = INPUTS[kind]
    if kind == "columns":
        criterion = copy.deepcopy(criterion)
        criterion.options["num_labels"] = 3
    x = torch.randn(shape, dtype=dtype).to(device).requires_grad_()
    target = torch.rand(shape, device=device) < (0.3 if both else -1.0)
    weight = torch.rand(shape, device=device) if weighted else None

    def fresh():
        return criterion(1 * x, target, weight)

    value = fresh()
    assert value.shape == (shape[:-1] if kind == "leading" else ())
    assert value.dtype == (torch.float64 if dtype == torch.float64 else torch.float32)
    exact = criterion(x.detach().double(), target, weight)
    torch.testing.assert_close(value.double(), exact, rtol=2e-6, atol=1e-7)
    (plain,) = torch.autograd.grad(fresh().sum(), x)
    loss = fresh()
    loss += 3 * x.sum()
    loss *= 2
    torch.testing.assert_close(loss, 2 * (value + 3 * x.sum()))
    assert kind == "leading" or loss.item() == loss.tolist()
    loss.sum().backward(retain_graph=True)
    loss.sum().backward()
    torch.testing.assert_close(x.grad, 4 * (plain + 3 * value.numel()))
    twin = pickle.loads(pickle.dumps(copy.deepcopy(criterion)))
    twin.load_state_dict(criterion.state_dict())
    assert not twin.state_dict()
    with torch.autocast(device, torch.bfloat16):
        torch.testing.assert_close(twin(x, target, weight), value)


@pytest.mark.filterwarnings("ignore")  # the compiler's own
@pytest.mark.parametrize("module", [sl.BERLoss, sl.AUCLoss])
def test_under_compile(module):
    for rates in ({}, {"pi": 0.9, "pi_prime": 0.2}):
        loss = module("barrier_hinge", **rates)
        compiled = torch.compile(loss, backend="aot_eager", fullgraph=module is sl.BERLoss)
        scores, target = torch.randn(16, requires_grad=True), torch.arange(16) % 2
        value, expected = compiled(2 * scores, target), loss(2 * scores, target)
        torch.testing.assert_close(value, expected)
        torch.testing.assert_close(*(torch.autograd.grad(x, scores)[0] for x in (value, expected)))
    if module is sl.BERLoss:
        assert compiled(scores, target + 1).isnan()  # values cannot be read: NaN tells that some are wrong
    else:
        torch._dynamo.reset()
        with pytest.raises(Exception, match="compile the model and call the loss on its output"):
            torch.compile(loss, backend="aot_eager", fullgraph=True)(scores, target)


@pytest.mark.parametrize("risk", [*RISKS, lambda *args: partial_auc_risk(*args, max_fpr=0.5)])
@pytest.mark.parametrize("name", ["sigmoid", "barrier_hinge", "zero_one"])
def test_under_vmap(risk, name):
    scores, labels = torch.randn(4, 3, 10, dtype=torch.float64), torch.rand(4, 3, 10) < 0.5
    labels[..., 0], labels[..., 1] = True, False
    mapped = torch.func.vmap(lambda s, y: risk(s, y, name))(scores, labels)
    torch.testing.assert_close(mapped, risk(scores, labels, name), rtol=1e-12, atol=1e-13)
    gradients = torch.func.vmap(torch.func.vmap(torch.func.grad(lambda s, y: risk(s, y, name))))(scores, labels)
    leaf = scores.clone().requires_grad_()
    expected = torch.autograd.grad(risk(leaf, labels, name).sum(), leaf)[0]
    torch.testing.assert_close(gradients, expected, rtol=1e-11, atol=1e-13)


def test_trainable_losses():
    beta = torch.tensor(2.0, requires_grad=True)
    loss = sl.CallableLoss(lambda z: torch.sigmoid(-beta * z))
    scores, target = torch.tensor([1.0, -2.0]), [1, 0]
    ber_risk(scores, target, loss, torch.ones(2), pi=0.9, pi_prime=0.1).backward()
    assert beta.grad is not None
    with pytest.raises(ValueError, match="detach them"):
        auc_risk(scores, target, loss)


# Input that is wrong.

BAD = [
    (torch.zeros(()), [1], None, "single number"),
    (torch.zeros(3), [1, 0], None, "target must have shape (3,), got (2,)"),
    (torch.zeros(4, 3), torch.zeros(2, 3), None, "target must have shape (3,) or the scores' shape (4, 3), got (2, 3)"),
    (torch.zeros(3), [0, 1, 2], None, "got the values 0, 1, 2"),
    (torch.zeros(9, 2), torch.arange(9) % 2, None, "got (9,); for one problem a column, or class numbers, pass num_"),
    (torch.zeros(30, 10), torch.arange(30) % 10, None, "got the values 0, 1, 2, 3, 4, ...; for one problem a column"),
    (torch.zeros(2), np.array([2**64 - 1, 1], dtype=np.uint64), None, "labels must be"),
    (torch.tensor([0.0, math.nan, math.inf]), [0, 1, 1], None, "got nan at position 1 and 1 more that is not"),
    (torch.zeros(2), [0, 1], torch.tensor([1.0, -1.0]), "weight must hold finite numbers >= 0, got -1"),
    (torch.zeros(2), [1, 1], torch.tensor([0.0, -1.0]), "got -1"),  # a missing class hides no mistake
    (torch.zeros(2), [0, 1], torch.ones(3), "weight must have the scores' shape (2,), got (3,)"),
    (torch.zeros(2), [0, 1], torch.ones(2, requires_grad=True), "weight.detach()"),
]


@pytest.mark.parametrize("module", MODULES)
@pytest.mark.parametrize(("scores", "target", "weight", "message"), BAD)
def test_bad_input(module, scores, target, weight, message):
    with pytest.raises(ValueError, match=re.escape(message)):
        module()(scores, target, weight)


class Reads(TorchDispatchMode):
    """Count the values that Python reads, for which a GPU would wait."""

    seen = 0

    def __torch_dispatch__(self, function, types, args=(), kwargs=None):
        self.seen += function is torch.ops.aten._local_scalar_dense.default
        return function(*args, **(kwargs or {}))


def test_without_validation_nothing_is_read():
    scores, weight, target = torch.randn(100), torch.rand(100), torch.arange(100) % 3 % 2
    with Reads() as reads:
        for options in ({}, {"pi": 0.8, "pi_prime": 0.1}, {"ignore_index": -1}):
            sl.BERLoss(validate=False, **options)(scores, target, weight)
    assert reads.seen == 0
    with Reads() as reads:
        sl.BERLoss()(scores.expand(2, -1), target, weight)
    assert reads.seen == 1  # all values are checked with one
    for module in MODULES:
        torch.testing.assert_close(module(validate=False)(scores, target, weight), module()(scores, target, weight))
        assert module(validate=False)(scores * math.nan, target).isnan()
        with pytest.raises(ValueError, match="target must have shape"):
            module(validate=False)(scores, torch.ones(3))


# Risks of clean labels.


def lowered(name):
    """A loss with 3 subtracted: it takes negative values, so that its estimates are not kept non-negative."""
    return lambda z: sl.get_loss(name)(z) - 3


def clean_parts(risk, scores, target, loss, pi, pi_prime, weight):
    """The means whose mean is the clean risk: two for the balanced error, one for the AUC.

    Means over clean classes solve linear equations, of which those over corrupted classes are the right-hand side: two
    equations for points, four for pairs. The AUC is the corrupted risk less the excess of theorem 1.
    """
    classes = [(scores[target == y], weight[target == y]) for y in (1, 0)]
    mixing = np.array([[pi, 1 - pi], [pi_prime, 1 - pi_prime]])  # rows: CP and CN, columns: P and N
    if risk is ber_risk:
        there, back = (
            np.linalg.solve(mixing, [np.average(values(loss, sign * s), weights=w) for s, w in classes])
            for sign in (1, -1)
        )
        return [there[0], back[1]]
    corrupted = []
    for (i, (s, w)), (j, (t, v)) in itertools.product(enumerate(classes), repeat=2):
        pairs = w[:, None] * v * (1 - np.eye(len(s)) if i == j else 1)
        corrupted.append((pairs * values(loss, s[:, None] - t)).sum() / pairs.sum())
    pp, pn, np_, nn_ = np.linalg.solve(np.kron(mixing, mixing), corrupted)
    excess = (1 - pi) * pi_prime * (pn + np_) + pi * pi_prime * pp + (1 - pi) * (1 - pi_prime) * nn_
    return [(corrupted[1] - excess) / (pi - pi_prime)]


def noisy_points(n=40):
    rng = np.random.default_rng(0)
    target = (np.arange(n) % 3 == 0).astype(int)
    return rng.normal(size=n) + target, target, rng.integers(1, 4, n) / 2


@pytest.mark.parametrize("rates", [(0.8, 0.3), (1.0, 0.4), (0.7, 0.0)])
@pytest.mark.parametrize("risk", RISKS)
@pytest.mark.parametrize("name", ["sigmoid", "hinge", "squared", "logistic", "unhinged", "exponential"])
def test_clean_risks_against_the_theorems(risk, name, rates):
    scores, target, weight = noisy_points()
    for loss, least in ((lowered(name), -math.inf), (name, -math.inf if name == "unhinged" else 0)):
        parts = clean_parts(risk, scores, target, loss, *rates, weight)
        leaf = torch.from_numpy(scores).requires_grad_()
        found = risk(leaf, target, loss, weight, pi=rates[0], pi_prime=rates[1])
        assert found.item() == pytest.approx(np.maximum(parts, least).mean(), rel=1e-9, abs=1e-9)
    plain, same = (risk(leaf, target, name, weight, **of) for of in ({}, {"pi": 1, "pi_prime": 0}))
    torch.testing.assert_close(plain, same, rtol=1e-14, atol=1e-15)


def test_clean_risks_are_never_negative():
    """Where corrupted labels are learned by heart, the estimate is below zero: it becomes zero, without a gradient."""
    scores, target, _ = noisy_points()
    moved = torch.from_numpy(np.where(target == 1, 3.0, -3.0) + 0.1 * scores).requires_grad_()
    for risk in RISKS:
        value = risk(moved, target, "ramp", pi=0.7, pi_prime=0.4)
        assert risk(moved, target, lowered("ramp"), pi=0.7, pi_prime=0.4).item() + 3 < -0.1
        assert value.item() == 0
        assert not torch.autograd.grad(value, moved)[0].any()
        assert risk(3 * moved, target, "unhinged", pi=0.7, pi_prime=0.4).item() < -5  # a loss that may be negative


def test_a_class_of_one_point_has_no_pairs_within():
    scores = torch.tensor([0.5, -2.0, 1.0], requires_grad=True)
    rates = {"pi": 0.9, "pi_prime": 0.3}
    with pytest.warns(MissingClassWarning, match="lacks a class"):
        value = auc_risk(scores, [1, 0, 0], "logistic", **rates)
    assert value == 0
    assert not torch.autograd.grad(value, scores)[0].any()
    assert auc_risk(scores, [1, 0, 0], "logistic", empty="nan", **rates).isnan()
    assert auc_risk(scores, [1, 0, 0], "logistic", pi=0.9, pi_prime=0.0) > 0  # positives are not paired with each other
    with pytest.warns(MissingClassWarning, match="lacks a class"):
        assert ber_risk(scores, [1, 1, 1], "logistic", **rates) == 0


def test_parameters_that_cannot_be():
    for module, parameters, message in (
        (sl.AUCLoss, {"pi": 0.3, "pi_prime": 0.8}, "pi must exceed pi', got pi = 0.3 and pi' = 0.8"),
        (sl.AUCLoss, {"pi": 1.2, "pi_prime": 0.5}, "pi must be between 0 and 1, got 1.2"),
        (sl.BERLoss, {"pi": 0.8}, "pi and pi_prime go together, got pi=0.8 and pi_prime=None"),
        (sl.PartialAUCLoss, {"max_fpr": 0.0}, "max_fpr must be above 0 and at most 1, got 0.0"),
        (sl.PartialAUCLoss, {"min_tpr": 1.0}, "min_tpr must be at least 0 and below 1, got 1.0"),
        (sl.BERLoss, {"empty": "skip"}, "empty must be one of zero, nan, raise, got 'skip'"),
        (sl.AUCLoss, {"average": "micro"}, "average must be one of macro, none, got 'micro'"),
        (sl.AUCLoss, {"empty": "raise", "validate": False}, "needs validate=True"),
    ):
        with pytest.raises(ValueError, match=re.escape(message)):
            module(**parameters)
    with pytest.raises(TypeError, match="clean labels cannot be had"):
        sl.PartialAUCLoss(pi=0.9, pi_prime=0.1)


# Ranks.


@pytest.mark.parametrize("device", DEVICES)
def test_ranks_together_are_one_process(device, tmp_path):
    command, world = [sys.executable, __file__], 3
    ranks = [subprocess.Popen([*command, str(rank), str(world), str(tmp_path / "init"), device],
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
             for rank in range(world)]  # fmt: skip
    try:
        outputs = [process.communicate(timeout=400)[0] for process in ranks]
    finally:
        for process in ranks:
            process.kill()
    assert [output.splitlines()[-1] for output in outputs] == world * ["fine"], "\n".join(outputs)


def batches_of_ranks(case, world, seed):
    """Return (X, labels, weights or None) of every rank."""
    torch.manual_seed(seed)
    drawn = []
    for rank, n in enumerate(([6, 0, 7] if case == "a rank is empty" else [5, 9, 1])[:world]):
        X, y = torch.randn(n, 3).double(), torch.rand(n, 2) < 0.4
        if n > 1:
            y[0], y[1] = True, False
        if case == "ranks lack a class" and rank < 2:
            y[:] = rank == 0
        weighted = case == "weights" or (case == "weights on one rank" and rank == 1)
        drawn.append((X, y.long() if rank % 2 else y, torch.rand(n).double() if weighted else None))
    return drawn


def network(outputs=1):
    torch.manual_seed(1)
    return nn.Sequential(nn.Linear(3, 8), nn.Tanh(), nn.Linear(8, outputs)).double()


def step(model, loss, X, y, weight):
    model.zero_grad()
    value = loss(model(X), y, weight)
    value.backward()
    return [value.detach(), *(parameter.grad for parameter in model.parameters())]


def check_one_step(rank, world, device, case, module, **options):
    """Loss and gradients are those of the concatenated batch, on every rank."""
    drawn = [[None if x is None else x.to(device) for x in batch] for batch in batches_of_ranks(case, world, len(case))]
    outputs = options.get("num_labels", 1)
    drawn = [(X, y[:, :outputs], weight) for X, y, weight in drawn]
    weight = None
    if any(w is not None for *_, w in drawn):
        weight = torch.cat([torch.ones(len(X), device=device).double() if w is None else w for X, _, w in drawn])
    together = torch.cat([X for X, *_ in drawn]), torch.cat([y.bool() for _, y, _ in drawn]), weight
    expected = step(network(outputs).to(device), module(**options), *together)
    model = DistributedDataParallel(network(outputs).to(device))
    found = step(model, module(process_group="world", **options), *drawn[rank])
    for own, other in zip(found, expected, strict=True):
        torch.testing.assert_close(own, other, rtol=1e-12, atol=1e-12)


def check_errors(rank, world):
    """Mistakes are raised on all ranks, also those of one rank: the others would wait for it."""
    loss = sl.BERLoss("sigmoid", process_group="world")
    right = torch.zeros(3), torch.tensor([0, 1, 1])
    for wrong in ((torch.zeros(3), [0, 1, 2]), (torch.zeros(3), [0, 1]), (*right, -torch.ones(3)), ("scores", [0, 1])):
        for culprit in range(world):
            kind = ValueError if rank == culprit else RuntimeError
            message = None if rank == culprit else f"rank {culprit} of the process_group refused its batch: ValueError"
            with pytest.raises(kind, match=message):
                loss(*wrong if rank == culprit else right)
    with pytest.raises(ValueError, match="same leading dimensions"):
        loss(torch.zeros(1 + rank, 3), [0, 1, 1])
    with pytest.warns(MissingClassWarning, match="lacks a class"):
        assert sl.AUCLoss(process_group="world")(torch.zeros(rank), torch.ones(rank)) == 0


def main(rank, world, init_file, device):
    torch.set_num_threads(1)
    dist.init_process_group("gloo", init_method=f"file://{init_file}", rank=rank, world_size=world)
    warnings.simplefilter("error", MissingClassWarning)  # no rank may look at its own batch alone
    for module in MODULES:
        for case in ("uneven", "ranks lack a class", "a rank is empty", "weights", "weights on one rank"):
            check_one_step(rank, world, device, case, module, loss="barrier_hinge")
        check_one_step(rank, world, device, "uneven", module, num_labels=2)
    check_one_step(rank, world, device, "uneven", sl.AUCLoss, pi=0.9, pi_prime=0.2, loss="logistic")
    check_errors(rank, world)
    print("fine")
    dist.destroy_process_group()


@pytest.mark.parametrize("module", MODULES)
def test_without_a_process_group(module):
    loss = module("barrier_hinge", b=10, r=1, process_group="world", ignore_index=-1)
    assert "BarrierHinge(b=10, r=1)" in repr(loss)
    assert "ignore_index=-1, process_group='world')" in repr(loss)
    assert repr(pickle.loads(pickle.dumps(loss))) == repr(loss)
    with pytest.raises(RuntimeError, match=r"process_group='world' needs torch.distributed.init_process_group\(\)"):
        loss(torch.zeros(2), [0, 1])


@pytest.mark.parametrize("criterion", [sl.AUCLoss(), sl.BERLoss("hinge"), sl.AUCLoss(num_labels=2, ignore_index=-1)])
@pytest.mark.parametrize("weighted", [False, True])
def test_a_whole_epoch_is_one_step_on_all_examples(criterion, weighted):
    outputs = criterion.options["num_labels"] or 1
    columns = [torch.randn(90, 3).double(), torch.randint(0, 2, (90, outputs)), torch.rand(90)][: 2 + weighted]
    model = network(outputs)
    expected = step(model, criterion, *columns, *([] if weighted else [None]))
    expected = [part.clone() for part in expected]
    model.zero_grad()
    with torch.no_grad():
        risk = sl.whole_epoch(model, DataLoader(TensorDataset(*columns), batch_size=17), criterion)
    for got, want in zip([risk, *(p.grad for p in model.parameters())], expected, strict=True):
        torch.testing.assert_close(got, want)


def test_dropout_is_the_same_in_both_passes_and_random_numbers_go_on_as_after_one():
    X, y = torch.randn(90, 3).double(), torch.arange(90) % 4 == 0
    model, batches = nn.Sequential(nn.Dropout(0.5), network()), [(X[:40], y[:40]), (X[40:], y[40:])]
    torch.manual_seed(2)
    risk = sl.whole_epoch(model, batches, sl.AUCLoss())
    after = torch.rand(1)
    found = [parameter.grad.clone() for parameter in model.parameters()]
    model.zero_grad()
    torch.manual_seed(2)
    expected = sl.AUCLoss()(torch.cat([model(inputs) for inputs, _ in batches]), y)
    assert torch.rand(1) == after
    expected.backward()
    torch.testing.assert_close(risk, expected.detach())
    for got, want in zip(found, model.parameters(), strict=True):
        torch.testing.assert_close(got, want.grad)


def test_batches_that_are_not_the_same_twice_are_refused():
    X, y = torch.randn(90, 3).double(), torch.arange(90) % 4 == 0
    model = network()
    with pytest.raises(ValueError, match="got a generator"):
        sl.whole_epoch(model, (batch for batch in [(X, y)]), sl.AUCLoss())
    with pytest.raises(ValueError, match="were the batches shuffled"):
        sl.whole_epoch(model, DataLoader(TensorDataset(X, y), batch_size=17, shuffle=True), sl.AUCLoss())


# Batches with both classes.


def labels_of(n_pos, n_neg):
    return np.random.default_rng(0).permutation(np.arange(n_pos + n_neg) < n_pos)


SIZES = {
    "n_pos": st.integers(1, 60),
    "n_neg": st.integers(1, 60),
    "batch_size": st.integers(2, 40),
    "ranks": st.integers(1, 5),
    "seed": st.integers(0, 2**40),
}


@given(**SIZES, share=st.none() | st.floats(0.01, 0.99), data=st.data())
def test_every_batch_has_both_classes_and_every_example_is_seen(n_pos, n_neg, batch_size, ranks, seed, share, data):
    labels = labels_of(n_pos, n_neg)
    least = data.draw(st.integers(1, min(n_pos, batch_size - 1)))
    options = {"random_state": seed, "min_positives": least, "positive_share": share, "num_replicas": ranks}
    samplers = [sl.StratifiedBatchSampler(labels, batch_size, rank=rank, **options) for rank in range(ranks)]
    epochs = [list(sampler) for sampler in samplers]
    assert {len(epoch) for epoch in epochs} == {len(samplers[0])}
    batches = [batch for epoch in epochs for batch in epoch]
    sizes, positives = [len(batch) for batch in batches], [sum(labels[batch]) for batch in batches]
    seen = Counter(index for batch in batches for index in batch)
    for rows in (np.flatnonzero(labels), np.flatnonzero(~labels)):
        times = [seen[row] for row in rows.tolist()]
        assert min(times) >= 1
        assert max(times) - min(times) <= 1
    assert min(positives) >= least
    assert all(size > of_pos for size, of_pos in zip(sizes, positives, strict=True))
    if share is None:
        assert max(sizes) <= batch_size
        assert max(sizes) - min(sizes) <= 1
        assert all(len(set(batch)) == len(batch) for batch in batches)  # no example twice in a batch
        assert sum(sizes) == max(n_pos, least * len(batches)) + max(n_neg, len(batches))  # repeated only if need be
    else:
        of_pos = min(max(round(share * batch_size), least), batch_size - 1)
        assert (set(sizes), set(positives)) == ({batch_size}, {of_pos})


@given(**SIZES, epochs=st.integers(1, 3), data=st.data())
def test_a_resumed_epoch_loses_nothing(n_pos, n_neg, batch_size, ranks, seed, epochs, data):
    options = {"random_state": seed, "num_replicas": ranks, "rank": ranks - 1}
    sampler, stopped, resumed = (
        sl.StratifiedBatchSampler(labels_of(n_pos, n_neg), batch_size, **options) for _ in range(3)
    )
    whole = [list(sampler) for _ in range(epochs + 1)]
    done = [list(stopped) for _ in range(epochs - 1)]
    out = data.draw(st.integers(1, len(stopped)))
    part = [batch for _, batch in zip(range(out), stopped, strict=False)]
    resumed.load_state_dict(stopped.state_dict())
    if out < len(stopped):
        resumed.set_epoch(epochs - 1)  # where it is already: nothing is lost
        part += list(resumed)
    assert [*done, part, list(resumed)] == whole


def test_epochs_differ_and_are_reproducible():
    labels = torch.arange(100) % 10 == 0
    sampler = sl.StratifiedBatchSampler(labels, 12)
    first, second = list(sampler), list(sampler)
    assert first != second
    sampler.set_epoch(1)
    assert list(sampler) == second
    assert list(sl.StratifiedBatchSampler(2 * labels.long() - 1, 12)) == first
    assert list(sl.StratifiedBatchSampler(labels, 12, random_state=1)) != first
    loader = DataLoader(TensorDataset(torch.arange(100.0), labels), batch_sampler=sl.StratifiedBatchSampler(labels, 12))
    assert [rows.long().tolist() for rows, _ in loader] == first


def test_batches_that_cannot_be():
    for arguments, message in (
        ({"labels": [1, 1, 1]}, "labels must hold both classes, got 3 positive and 0 negative labels"),
        ({"labels": [0, 1, 2]}, "got the values 0, 1, 2"),
        ({"batch_size": 1}, "batch_size must be a whole number of at least 2, got 1"),
        ({"min_positives": 3, "batch_size": 5}, "min_positives must be at most 2, the number of positives, got 3"),
        ({"rank": 2, "num_replicas": 2}, "rank must be below num_replicas, got rank 2 of 2"),
    ):
        with pytest.raises(ValueError, match=re.escape(message)):
            sl.StratifiedBatchSampler(**{"labels": [0, 1, 1], "batch_size": 2, **arguments})


if __name__ == "__main__":
    main(int(sys.argv[1]), int(sys.argv[2]), *sys.argv[3:])
