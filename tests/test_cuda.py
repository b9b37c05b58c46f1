"""The risks on a CUDA device agree with the CPU (make test-gpu)."""

import pytest
import torch

import symloss as sl
from symloss.functional import auc_risk, ber_risk
from symloss.losses import Piecewise

pytestmark = [
    pytest.mark.gpu,
    pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a CUDA device"),
]


@pytest.mark.parametrize("risk", [ber_risk, auc_risk])
@pytest.mark.parametrize("name", sl.list_losses())
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_agrees_with_the_cpu(risk, name, dtype):
    scores = 2 * torch.randn(3, 400, dtype=dtype)
    target, weight = torch.rand(3, 400) < 0.4, torch.rand(400)
    results = []
    for device in ("cpu", "cuda"):
        leaf = scores.to(device).requires_grad_()
        value = risk(leaf, target.to(device), name, weight.to(device))
        (gradient,) = torch.autograd.grad(value.sum(), leaf)
        results.append((value.cpu().double(), gradient.cpu().double()))
    rtol = 2e-6 if dtype == torch.float32 else 1e-12
    for cpu, cuda in zip(*results, strict=True):
        assert (cpu - cuda).abs().max() <= rtol * cpu.abs().max()


@pytest.mark.parametrize("name", sl.list_losses())
def test_margins_on_the_device(name):
    loss = sl.get_loss(name)
    z = torch.linspace(-60, 60, 1001, dtype=torch.float64, device="cuda")
    torch.testing.assert_close(loss(z).cpu(), loss(z.cpu()), rtol=1e-13, atol=0)
    torch.testing.assert_close(loss.derivative(z).cpu(), loss.derivative(z.cpu()), rtol=1e-13, atol=0)


@pytest.mark.parametrize("module", [sl.BERLoss, sl.AUCLoss])
def test_under_cuda_autocast(module):
    model, X = torch.nn.Linear(3, 1).cuda(), torch.randn(40, 3, device="cuda")
    y = torch.arange(40, device="cuda") % 2
    with torch.autocast("cuda", dtype=torch.bfloat16):
        value = module("logistic")(model(X).squeeze(-1), y)
    value.backward()
    assert value.dtype == torch.float32
    assert model.weight.grad.isfinite().all()


@pytest.mark.parametrize("method", ["structure", "tiles"])
@pytest.mark.parametrize("name", sl.list_losses())
def test_every_algorithm_on_the_device(name, method):
    for dtype, rtol in ((torch.float32, 2e-7), (torch.float64, 1e-11)):
        pos, neg = torch.randn(2, 700, dtype=dtype), torch.randint(-8, 9, (2, 600)).to(dtype) / 4
        expected = sl.pairwise_risk(pos.double(), neg.double(), name, method="tiles")
        found = sl.pairwise_risk(pos.cuda(), neg.cuda(), name, method=method).cpu().double()
        assert (found - expected).abs().max() <= rtol * expected.abs().max()


@pytest.mark.parametrize("name", sl.list_losses())
def test_deterministic_on_the_device(name):
    torch.use_deterministic_algorithms(True)
    try:
        pos, neg = torch.randn(5000, device="cuda"), torch.randn(4000, device="cuda")
        first, second = (sl.pairwise_risk(pos, neg, name, method="structure") for _ in range(2))
        assert first == second
    finally:
        torch.use_deterministic_algorithms(False)


def test_under_compile_on_the_device():
    loss = sl.AUCLoss("barrier_hinge")
    scores, target = torch.randn(64, device="cuda", requires_grad=True), torch.arange(64, device="cuda") % 2
    value = torch.compile(loss, backend="aot_eager")(scores, target)
    torch.testing.assert_close(value, loss(scores, target))


def captured(loss, scores, target):
    """Return a CUDA graph of the loss and its gradient, and the loss that it computes."""
    stream = torch.cuda.Stream()
    stream.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(stream):  # as PyTorch's documentation asks for: what is compiled and cached is so before
        for _ in range(2):
            loss(scores, target).backward()
    torch.cuda.current_stream().wait_stream(stream)
    scores.grad = None
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        value = loss(scores, target)
        value.backward()
    return graph, value


@pytest.mark.parametrize("n", [300, 40_000])
@pytest.mark.parametrize("name", [name for name in sl.list_losses() if sl.get_loss(name).structure is not None])
def test_a_cuda_graph_of_the_loss_and_its_gradient(name, n):
    pytest.importorskip("triton")
    scores = torch.randn(n, device="cuda", requires_grad=True)
    target = torch.rand(n, device="cuda") < 0.5
    graph, value = captured(sl.AUCLoss(name, validate=False), scores, target)
    for share, width in ((0.3, 1.0), (0.7, 2.0), (2.0, 1.0)):  # the last: no negatives
        with torch.no_grad():
            scores.copy_(width * torch.randn(n, device="cuda"))
            target.copy_(torch.rand(n, device="cuda") < share)
        graph.replay()
        leaf = scores.detach().cpu().double().requires_grad_()
        expected = auc_risk(leaf, target.cpu(), name, validate=False)  # no warning of a missing class
        (gradient,) = torch.autograd.grad(expected, leaf)
        assert (value.cpu().double() - expected).abs() <= 3e-7 * expected.abs()
        assert (scores.grad.cpu().double() - gradient).abs().max() <= 3e-7 * gradient.abs().max()


def test_a_loss_without_a_structure_says_that_it_cannot_be_captured():
    pytest.importorskip("triton")
    scores, target = torch.randn(300, device="cuda", requires_grad=True), torch.arange(300, device="cuda") % 2 == 0
    with pytest.raises(RuntimeError, match=r"Tangent\(\) cannot be captured in a CUDA graph"):
        captured(sl.AUCLoss("tangent", validate=False), scores, target)


@pytest.mark.parametrize("name", ["hinge", "ramp", "sigmoid", "squared"])
def test_a_cuda_graph_where_scores_are_far_apart(name):
    pytest.importorskip("triton")
    scores = torch.randn(20_000, device="cuda", requires_grad=True)
    target = torch.rand(20_000, device="cuda") < 0.5
    graph, value = captured(sl.AUCLoss(name, validate=False), scores, target)
    with torch.no_grad():
        scores[:2] = torch.tensor([1e15, -1e15])
        scores[2:100] *= 1e5
    graph.replay()
    expected = auc_risk(scores.detach().cpu().double(), target.cpu(), name)
    assert (value.cpu().double() - expected).abs() <= 3e-7 * expected.abs()


@pytest.mark.filterwarnings("ignore:Synchronization debug mode is a prototype feature")
@pytest.mark.parametrize("module", [sl.BERLoss, sl.AUCLoss])
@pytest.mark.parametrize("n", [100, 60_000])
def test_nothing_waits_where_values_are_not_validated(module, n):
    pytest.importorskip("triton")
    scores, target = torch.randn(n, device="cuda", requires_grad=True), torch.arange(n, device="cuda") % 2
    for name in ("sigmoid", "hinge", "squared"):
        loss = module(name, validate=False)
        loss(scores, target).backward()  # compiles
        torch.cuda.set_sync_debug_mode("error")
        try:
            value = loss(scores, target)
            value.backward()
        finally:
            torch.cuda.set_sync_debug_mode("default")
        torch.testing.assert_close(value, module(name)(scores, target))


SHAPES = {
    "normal": torch.randn,
    "quarters": lambda n: torch.randint(-8, 9, (n,)) / 4,
    "tied": lambda n: torch.full((n,), 0.5),
    "offset": lambda n: torch.randn(n) + 1e4,
    "outliers": lambda n: torch.cat([torch.randn(n - 2), torch.tensor([3e38, -1e17])]),
    "infinite": lambda n: torch.cat([torch.randn(n - 1), torch.tensor([float("inf")])]),
}


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("name", [*sl.list_losses(), sl.BarrierHinge(b=10, r=1)], ids=str)
def test_kernels_are_the_tiles(name, shape, weighted):
    if shape == "outliers" and name in ("exponential", "unhinged"):
        pytest.skip("overflows, or is a difference of two means that large")
    pos, neg = SHAPES[shape](1500), SHAPES[shape](1400)
    w, v = (torch.rand(1500), torch.rand(1400)) if weighted else (None, None)

    def sums(pos, neg, w, v, method):
        pos, neg = pos.requires_grad_(), neg.requires_grad_()
        value = sl.pairwise_risk(pos, neg, name, w, v, method=method, validate=shape != "infinite")
        return [part.detach().cpu().double() for part in (value, *torch.autograd.grad(value, (pos, neg)))]

    exact = sums(pos.double(), neg.double(), w, v, "tiles")
    w, v = (weight if weight is None else weight.cuda() for weight in (w, v))
    for method in ("auto", "structure", "tiles"):
        for found, expected in zip(sums(pos.cuda(), neg.cuda(), w, v, method), exact, strict=True):
            finite = expected.float().double().isfinite()
            largest = expected[finite].abs().max() if finite.any() else 1.0
            assert torch.equal(found.isfinite(), finite)
            assert ((found - expected)[finite].abs() <= 3e-7 * largest).all()


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("name", [*sl.list_losses(), sl.BarrierHinge(b=10, r=1)], ids=str)
def test_small_problems_are_the_tiles(name, weighted):
    for batch, n, m in (((), 1, 1), ((), 1, 7), ((), 128, 128), ((), 129, 127), ((3, 2), 5, 40), ((70,), 250, 250)):
        pos, neg = (torch.randint(-9, 10, (*batch, size), dtype=torch.float64) / 4 for size in (n, m))
        w, v = (torch.randint(0, 3, x.shape).double() for x in (pos, neg)) if weighted else (None, None)
        results = []
        for device, method in (("cpu", "tiles"), ("cuda", "auto")):
            scores = [x.to(device, copy=True).requires_grad_() for x in (pos, neg)]
            weights = [None if x is None else x.to(device) for x in (w, v)]
            value = sl.pairwise_risk(*scores, name, *weights, method=method)
            results.append([value.detach().cpu(), *(g.cpu() for g in torch.autograd.grad(value.sum(), scores))])
        for expected, found in zip(*results, strict=True):
            torch.testing.assert_close(found, expected, rtol=1e-11, atol=1e-14)


@pytest.mark.parametrize("name", ["hinge", "sigmoid", "unhinged", "zero_one"])
def test_small_problems_with_scores_that_are_not_finite(name):
    inf = float("inf")
    pos, neg = torch.tensor([0.5, inf, -inf, 1.0]), torch.tensor([inf, 0.0, 2.0])
    every = sl.get_loss(name)(pos[:, None] - neg)
    for w in (torch.tensor([1.0, 0.0, 0.0, 3.0]), torch.tensor([1.0, 1.0, 0.0, 3.0])):
        v = torch.tensor([0.0, 1.0, 2.0])
        found = sl.pairwise_risk(pos.cuda(), neg.cuda(), name, w.cuda(), v.cuda())
        shares = w[:, None] * v / (w.sum() * v.sum())
        expected = torch.where(shares > 0, shares * every, 0.0).sum()
        torch.testing.assert_close(found.cpu(), expected)


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("name", ["unhinged", "squared", "exponential"])
@pytest.mark.parametrize("offset", [1e25, 3e38])
def test_a_huge_offset_costs_no_digits(name, weighted, offset):
    pos, neg = torch.full((2000,), offset), torch.full((1900,), offset)
    weights = [torch.rand(len(x), device="cuda") if weighted else None for x in (pos, neg)]
    if weighted:
        neg[0], weights[1][0] = -offset, 0.0  # does not count
    value = sl.pairwise_risk(pos.cuda(), neg.cuda(), name, *weights, method="structure")
    assert value.item() == pytest.approx(1.0, rel=1e-6)  # all margins that count are zero


def test_a_cuda_graph_of_a_smooth_loss_that_read_its_range_before():
    pytest.importorskip("triton")
    pos, neg = (torch.randn(20_000, device="cuda") for _ in range(2))
    before = sl.pairwise_risk(pos, neg, "sigmoid")
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        value = sl.pairwise_risk(pos, neg, "sigmoid")
    graph.replay()
    torch.testing.assert_close(value, before)


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_a_mean_of_equal_values_stays_in_the_range_of_the_loss(dtype):
    for name in ("zero_one", "ramp", "sigmoid", "savage"):
        for n in (7, 3000, 20_000):
            pos = torch.full((n,), -50.0, dtype=dtype, device="cuda")
            assert sl.pairwise_risk(pos, pos + 100, name) == 1


class Listed(sl.Loss):
    """The unhinged loss, whose structure cannot be hashed."""

    structure = Piecewise(coefficients=[1.0, -1.0])

    def value(self, z):
        return 1 - z


@pytest.mark.parametrize("n", [10, 20_000])
def test_a_structure_that_cannot_be_hashed(n):
    pos, neg = torch.randn(n, device="cuda"), torch.randn(n, device="cuda")
    torch.testing.assert_close(sl.pairwise_risk(pos, neg, Listed()), sl.pairwise_risk(pos, neg, "unhinged"))
