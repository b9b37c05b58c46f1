"""The risks on a CUDA device agree with the CPU (make test-gpu)."""

import pytest
import torch

import symloss as sl
from symloss.functional import auc_risk, ber_risk

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


@pytest.mark.parametrize("name", sl.list_losses())
def test_deterministic_on_the_device(name):
    torch.use_deterministic_algorithms(True)
    try:
        pos, neg = torch.randn(5000, device="cuda"), torch.randn(4000, device="cuda")
        first, second = (sl.pairwise_risk(pos, neg, name, method="structure") for _ in range(2))
        assert first == second
    finally:
        torch.use_deterministic_algorithms(False)
