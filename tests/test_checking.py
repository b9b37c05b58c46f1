"""Input is checked once a call: how often values are read, and what is said of those that are wrong."""

import sys
import warnings
from collections import Counter

import pytest
import torch
from torch.utils._python_dispatch import TorchDispatchMode

import symloss as sl
from symloss import checking
from symloss.checking import check_problem, is_positive
from symloss.functional import MissingClassWarning, auc_derivatives, auc_risk, ber_of, ber_risk
from symloss.tracing import readable

CODINGS = {"0 and 1": torch.tensor([1, 0] * 50), "-1 and 1": torch.tensor([1, -1] * 50), "bool": torch.arange(100) < 50}


class Reads(TorchDispatchMode):
    """Count what makes a GPU wait: values that Python reads, and masks whose size it must know."""

    def __init__(self):
        super().__init__()
        self.values = self.masks = 0

    def __torch_dispatch__(self, function, types, args=(), kwargs=None):
        self.values += function is torch.ops.aten._local_scalar_dense.default
        self.masks += function is torch.ops.aten.nonzero.default
        if function is torch.ops.aten.index.Tensor:
            self.masks += sum(index is not None and index.dtype == torch.bool for index in args[1])
        return function(*args, **(kwargs or {}))


def reads(function, *args):
    """Return how many values and masks are read in a call."""
    with Reads() as seen:
        function(*args)
    return seen.values, seen.masks


@pytest.mark.parametrize("coding", CODINGS)
def test_a_risk_reads_its_input_once(coding, monkeypatch):
    """One read checks the input; a CPU then reads sums to choose a shorter way, which costs it nothing."""
    monkeypatch.setattr(checking, "_quickly", lambda *_: None)
    scores, target, weight = torch.randn(100), CODINGS[coding], torch.rand(100)
    assert reads(sl.BERLoss(), scores, target) == (3, 0)  # how many are positive, and whether the risk is finite
    assert reads(sl.BERLoss(), scores, target, weight) == (1, 0)
    assert reads(sl.AUCLoss(), scores, target) == (1, 0)
    assert reads(sl.AUCLoss(), scores, target, weight) == (3, 2)  # whether the sum is finite, and in the loss's range
    assert reads(auc_derivatives, scores, target, "sigmoid", weight) == (4, 2)  # two sums


def test_without_validation_nothing_is_read_of_labels_and_weights():
    scores, weight = torch.randn(100), torch.rand(100)
    for target in (CODINGS["0 and 1"], CODINGS["-1 and 1"], 5 * CODINGS["0 and 1"] + 1):
        assert reads(sl.BERLoss(validate=False), scores, target) == (0, 0)
        assert reads(sl.BERLoss(validate=False), scores, target, -weight) == (0, 0)
    for module in (sl.BERLoss, sl.AUCLoss):
        unchecked = module(validate=False)(scores, CODINGS["0 and 1"], weight)
        torch.testing.assert_close(unchecked, module()(scores, CODINGS["0 and 1"], weight))
        torch.testing.assert_close(
            module(validate=False)(scores, 1 - 2 * CODINGS["0 and 1"]), module()(scores, 1 - CODINGS["0 and 1"])
        )
        with pytest.raises(ValueError, match="target must have shape"):
            module(validate=False)(scores, torch.ones(3))


@pytest.mark.parametrize("coding", CODINGS)
def test_the_quick_check_on_a_cpu_finds_the_same(coding, monkeypatch):
    scores, target = torch.randn(100), CODINGS[coding]
    quick = check_problem(scores, target, None)
    assert reads(check_problem, scores, target, None) == (0, 0)
    for wrong in (target.new_ones(100), target.float() + 1, target.float() / 0, target[:-1]):
        assert checking._quickly(scores, wrong) is None
    monkeypatch.setattr(checking, "_quickly", lambda *_: None)
    slow = check_problem(scores, target, None)
    assert torch.equal(quick.positive, slow.positive)
    assert quick.complete is slow.complete is True


def test_pairs_read_their_weights_once():
    pos, neg, w, v = torch.randn(60), torch.randn(40), torch.rand(60), torch.rand(40)
    assert reads(sl.pairwise_risk, pos, neg) == (0, 0)  # NumPy looks whether scores are finite
    assert reads(sl.pairwise_risk, pos, neg, "sigmoid", w) == (4, 0)  # also: under vmap, the sum, its range
    assert reads(sl.pairwise_risk, pos, neg, "sigmoid", w, v) == (5, 0)


@pytest.fixture
def calls(monkeypatch):
    """Count the calls of functions of symloss by name, and by the name of what they check, whoever calls them."""
    seen = Counter()

    def count(name, argument=None):
        modules = [module for key, module in sys.modules.items() if key.startswith("symloss") and name in vars(module)]
        original = getattr(modules[0], name)

        def counted(*args, **kwargs):
            seen[name if argument is None else f"{name} of {args[argument]}"] += 1
            return original(*args, **kwargs)

        for module in modules:
            monkeypatch.setattr(module, name, counted)

    count("get_loss")
    count("as_real", argument=1)
    count("check_constant")
    return seen


PROBLEM = torch.randn(100), CODINGS["0 and 1"]
ONCE = {"get_loss": 1, "as_real of scores": 1, "as_real of weight": 1}
PAIRS = {f"as_real of {name}": 1 for name in ("pos", "neg", "pos_weight", "neg_weight")} | {"get_loss": 1}


@pytest.mark.parametrize(
    ("function", "arguments", "expected"),
    [
        (sl.BERLoss(), (*PROBLEM, torch.rand(100)), ONCE | {"as_real of margins": 1}),
        (sl.AUCLoss(), (*PROBLEM, torch.rand(100)), ONCE | {"check_constant": 1}),
        (ber_risk, (*PROBLEM, "hinge", torch.rand(100)), ONCE | {"as_real of margins": 1}),
        (auc_risk, (*PROBLEM, "hinge", torch.rand(100)), ONCE | {"check_constant": 1}),
        (auc_derivatives, (*PROBLEM, "hinge", torch.rand(100)), ONCE | {"check_constant": 1}),
        (sl.pairwise_risk, (torch.randn(9), torch.randn(5), "hinge", [1] * 9, [2] * 5), PAIRS | {"check_constant": 1}),
        (
            sl.theory.auc_decomposition,
            ("hinge", [1.0, 2.0], [0.5], 0.8, 0.3, [1, 2], [1]),
            PAIRS | {"check_constant": 1},
        ),
        (
            sl.theory.ber_decomposition,
            ("hinge", [1.0, 2.0], [0.5], 0.8, 0.3, [1, 2], [1]),
            PAIRS | {"as_real of margins": 6},  # the risk of two samples, and both signs of each side
        ),
        (sl.metrics.auc, PROBLEM, {}),
    ],
    ids=[
        "BERLoss",
        "AUCLoss",
        "ber_risk",
        "auc_risk",
        "auc_derivatives",
        "pairwise_risk",
        "auc_decomposition",
        "ber_decomposition",
        "metrics.auc",
    ],
)
def test_every_argument_is_examined_once(calls, function, arguments, expected):
    function(*arguments)
    assert calls == expected


@pytest.mark.parametrize("risk", [ber_risk, auc_risk])
def test_labels_of_many_classes_are_told_so_before_anything_else(risk):
    classes = torch.arange(30) % 10
    for scores, weight in ((torch.zeros(30, 10), None), (torch.zeros(30), torch.ones(3)), (torch.zeros(30), -classes)):
        with pytest.raises(ValueError, match=r"got the values 0, 1, 2, 3, 4, \.\.\."):
            risk(scores, classes, "sigmoid", weight)


def test_a_missing_class_hides_no_mistake():
    assert check_problem(torch.zeros(2), [1, 1], [0, 1]).complete is False
    with pytest.raises(ValueError, match="got the values 1, 2"):
        check_problem(torch.zeros(2), [1, 2], None)
    with pytest.raises(ValueError, match="weight must hold finite numbers >= 0, got -1"):
        check_problem(torch.zeros(2), [1, 1], [0, -1])


def test_under_vmap_what_can_be_read_is_checked():
    scores, weight, target = torch.randn(3, 4), torch.rand(3, 4), torch.tensor([0, 1, 1, 0])
    for risk in (ber_risk, auc_risk):
        mapped = torch.func.vmap(lambda s, w: risk(s, target, "sigmoid", w))  # noqa: B023
        torch.testing.assert_close(mapped(scores, weight), risk(scores, target, "sigmoid", weight))
        assert mapped(scores, -weight).shape == (3,)  # these weights cannot be read
        with pytest.raises(ValueError, match="got the values 0, 1, 2"):
            torch.func.vmap(lambda s, w: risk(s, [0, 1, 2, 0], "sigmoid", w))(scores, weight)  # noqa: B023
        with pytest.raises(ValueError, match="numbers >= 0, got -1"):
            torch.func.vmap(lambda s: risk(s, target, "sigmoid", -torch.ones(4)))(scores)  # noqa: B023


def test_a_warning_names_the_line_of_the_call():
    with warnings.catch_warnings(record=True) as seen:
        warnings.simplefilter("always")
        ber_risk(torch.zeros(2), [1, 1])
    assert [(warning.category, warning.filename) for warning in seen] == [(MissingClassWarning, __file__)]


@pytest.mark.filterwarnings("ignore:.*:DeprecationWarning", "error::symloss.functional.MissingClassWarning")
def test_a_compiled_graph_is_not_broken_to_warn():
    problem, loss = check_problem(torch.randn(3), [1, 1, 1], None), sl.Sigmoid()
    compiled = torch.compile(ber_of, backend="aot_eager", fullgraph=True)
    with pytest.warns(MissingClassWarning):
        expected = ber_of(problem, loss)
    torch.testing.assert_close(compiled(problem, loss), expected)


@pytest.mark.parametrize("dtype", [torch.uint8, torch.int8, torch.int64, torch.float16, torch.float64])
def test_labels_of_any_number_type(dtype):
    assert is_positive(torch.tensor([0, 1, 0], dtype=dtype)).tolist() == [False, True, False]
    with pytest.raises(ValueError, match="got the values 0, 2"):
        is_positive(torch.tensor([0, 2], dtype=dtype))


def test_whether_values_can_be_read_is_told_without_reading_one():
    assert readable(torch.ones(3, device="meta"))  # which has no values
    seen = []
    torch.vmap(torch.func.grad(lambda x: (seen.append(readable(x)), x.sum())[1]))(torch.ones(2, 3))
    assert seen == [False]
