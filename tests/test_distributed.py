import copy
import pickle
import subprocess
import sys
from pathlib import Path

import pytest
import torch

import symloss as sl

RANKS = Path(__file__).with_name("ranks.py")
EXAMPLE = Path(__file__).parents[1] / "examples" / "distributed_auc.py"


@pytest.mark.parametrize("world", [2, 4])
def test_ranks_together_are_one_process(world, tmp_path):
    command = [sys.executable, str(RANKS)]
    ranks = [
        subprocess.Popen(
            [*command, str(rank), str(world), str(tmp_path / "init")],
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
    for output, errors, code in outcomes:
        assert code == 0, errors
        difference = float(output.rpartition(" ")[2])
        assert 0 < difference < 1e-12


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


@pytest.mark.skipif(not EXAMPLE.exists(), reason="installed from a wheel")
def test_the_example_alone_and_with_torchrun():
    alone = run_example()
    together = run_example("-m", "torch.distributed.run", "--standalone", "--nproc-per-node", "2")
    assert "1 process" in alone
    assert "2 processes" in together
    for output in (alone, together):
        assert float(output.rpartition(" ")[2]) > 0.95
