import copy
import pickle
import subprocess
import sys
from pathlib import Path

import pytest
import torch
import torch.distributed as dist

import symloss as sl

RANKS = Path(__file__).with_name("ranks.py")
EXAMPLE = Path(__file__).parents[1] / "examples" / "distributed_auc.py"


def differences(world, device, folder):
    """The largest difference from a single process that each rank found."""
    command = [sys.executable, str(RANKS)]
    ranks = [
        subprocess.Popen(
            [*command, str(rank), str(world), str(folder / "init"), device],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        for rank in range(world)
    ]
    try:
        outcomes = [(*process.communicate(timeout=300), process.returncode) for process in ranks]
    finally:
        for process in ranks:
            process.kill()
    for _, errors, code in outcomes:
        assert code == 0, errors
    return [float(output.rpartition(" ")[2]) for output, _, _ in outcomes]


@pytest.mark.parametrize("world", [2, pytest.param(4, marks=pytest.mark.slow)])
def test_ranks_together_are_one_process(world, tmp_path):
    for difference in differences(world, "cpu", tmp_path):
        assert 0 < difference < 1e-12


needs_cuda = pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a CUDA device")


@pytest.mark.gpu
@needs_cuda
@pytest.mark.parametrize("world", [2, 4])
def test_ranks_on_one_gpu_are_one_process(world, tmp_path):
    for difference in differences(world, "cuda", tmp_path):
        assert 0 < difference < 1e-12


@pytest.mark.gpu
@needs_cuda
@pytest.mark.parametrize("module", [sl.AUCLoss, sl.BERLoss])
def test_nccl_with_a_single_rank(module, tmp_path):
    scores, target = torch.randn(3, 50, device="cuda", requires_grad=True), torch.arange(50) % 3 == 0
    dist.init_process_group("nccl", init_method=f"file://{tmp_path / 'init'}", rank=0, world_size=1)
    try:
        loss = module("barrier_hinge", process_group="world")
        for wrong in (scores.tolist(), scores.cpu()):
            with pytest.raises(ValueError, match="by NCCL need scores on a CUDA device, got cpu"):
                loss(wrong, target)
        found = loss(scores, target)
    finally:
        dist.destroy_process_group()
    expected = module("barrier_hinge")(scores, target)
    torch.testing.assert_close(found, expected)
    gradients = [torch.autograd.grad(value.sum(), scores)[0] for value in (found, expected)]
    torch.testing.assert_close(*gradients)


@pytest.mark.parametrize("module", [sl.AUCLoss, sl.BERLoss])
def test_without_a_process_group(module):
    loss = module("barrier_hinge", b=10, r=1, process_group="world")
    assert repr(loss) == f"{module.__name__}(BarrierHinge(b=10, r=1), process_group='world')"
    with pytest.raises(RuntimeError, match=r"process_group='world' needs torch.distributed.init_process_group\(\)"):
        loss(torch.zeros(2), [0, 1])
    for twin in (copy.deepcopy(loss), pickle.loads(pickle.dumps(loss))):
        assert repr(twin) == repr(loss)


def run_example(*command):
    result = subprocess.run(
        [sys.executable, *command, str(EXAMPLE)], capture_output=True, text=True, timeout=300, check=False
    )
    assert result.returncode == 0, result.stderr
    return result.stdout


@pytest.mark.slow
@pytest.mark.skipif(not EXAMPLE.exists(), reason="installed from a wheel")
def test_the_example_alone_and_with_torchrun():
    alone = run_example()
    together = run_example("-m", "torch.distributed.run", "--standalone", "--nproc-per-node", "2")
    assert "1 process" in alone
    assert "2 processes" in together
    for output in (alone, together):
        assert float(output.rpartition(" ")[2]) > 0.95
