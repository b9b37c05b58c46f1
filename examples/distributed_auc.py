"""
Pairs across ranks
==================

Each process (rank) holds a part of every batch, and a rank may hold no positive at all. With ``process_group="world"``
the loss pairs the points of all ranks: loss and gradient are those of one process with the whole batch.

Run it with ``torchrun --nproc-per-node 2 examples/distributed_auc.py``, or alone as a single process.
"""

# %%
# One class is rare, so that a rank's own part of a batch often lacks it.

import os

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel
from torch.utils.data import DataLoader, DistributedSampler, TensorDataset

import symloss as sl


def noisy_data() -> tuple[TensorDataset, torch.Tensor, torch.Tensor]:
    drawn = sl.datasets.make_twonorm(20_000, random_state=0)
    X, y_noisy, X_test, y_test = sl.contaminated_split(
        torch.from_numpy(drawn.data), torch.from_numpy(drawn.target), pi=0.8, pi_prime=0.3,
        n_positive=400, n_negative=4000, n_test=2000, random_state=0,
    )  # fmt: skip
    return TensorDataset(X, y_noisy), X_test, y_test


# %%
# The model is wrapped as usual; only the loss knows about the other ranks. A ``StratifiedBatchSampler`` would put both
# classes into every rank's batch, but the loss does not need it.


def train(device: torch.device, epochs: int = 5) -> tuple[nn.Module, torch.Tensor, torch.Tensor]:
    data, X_test, y_test = noisy_data()
    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(20, 64), nn.ReLU(), nn.Linear(64, 1), nn.Flatten(0)).to(device)
    parallel = DistributedDataParallel(model)
    loss = sl.AUCLoss("barrier_hinge", process_group="world")
    optimizer = torch.optim.Adam(parallel.parameters(), lr=1e-3, amsgrad=True, weight_decay=0.01)
    sampler = DistributedSampler(data)
    loader = DataLoader(data, batch_size=128 // dist.get_world_size(), sampler=sampler)
    for epoch in range(epochs):
        sampler.set_epoch(epoch)
        for X, y in loader:
            optimizer.zero_grad()
            loss(parallel(X.to(device)), y.to(device)).backward()
            optimizer.step()
    return model, X_test.to(device), y_test


# %%
# ``torchrun`` says through environment variables which rank this is; without it, there is only one rank.


def main() -> None:
    torch.set_num_threads(1)
    device = torch.device("cuda", int(os.environ.get("LOCAL_RANK", 0))) if torch.cuda.is_available() else "cpu"
    backend = "nccl" if torch.cuda.is_available() else "gloo"
    if "RANK" in os.environ:
        dist.init_process_group(backend)
    else:
        dist.init_process_group(backend, store=dist.HashStore(), rank=0, world_size=1)
    if backend == "nccl":
        torch.cuda.set_device(device)
    model, X_test, y_test = train(torch.device(device))
    if dist.get_rank() == 0:
        with torch.no_grad():
            auc = sl.metrics.auc(model(X_test), y_test)
        world = dist.get_world_size()
        print(f"{world} process{'es' if world > 1 else ''}: AUC on clean test labels {auc:.3f}")
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
