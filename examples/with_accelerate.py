"""
Accelerate: a plain loop with AUCLoss
=====================================

``backward`` goes through the accelerator, and the loss stays as it is. Of the points labeled positive 65% are positive,
and of those labeled negative 45% are positive. For comparison, the same network is trained with cross-entropy on the
same noisy labels.
"""

import torch
from accelerate import Accelerator
from torch import Tensor, nn
from torch.utils.data import DataLoader, TensorDataset

import symloss as sl

# %%
# Noisy training data, and test data with clean labels, which only this script has.

drawn = sl.datasets.make_waveform(20_000, random_state=0)
X, y_noisy, X_test, y_test = sl.contaminated_split(
    torch.from_numpy(drawn.data), torch.from_numpy(drawn.target), pi=0.65, pi_prime=0.45,
    n_positive=1000, n_negative=1000, n_test=4000, random_state=0,
)  # fmt: skip

# %%
# The sampler handles the ranks itself, so the loader is not prepared: Accelerate would divide the batches once more.
# Under ``accelerate launch`` with several processes, give the loss ``process_group="world"``.


def train(accelerator: Accelerator, loss: nn.Module, epochs: int = 30) -> nn.Module:
    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(21, 100), nn.ReLU(), nn.Linear(100, 1), nn.Flatten(0))
    model, optimizer = accelerator.prepare(model, torch.optim.Adam(model.parameters(), lr=1e-3))
    sampler = sl.StratifiedBatchSampler(y_noisy, 200)
    accelerator.register_for_checkpointing(sampler)
    loader = DataLoader(TensorDataset(X, y_noisy), batch_sampler=sampler)
    while sampler.epoch < epochs:
        for points, labels in loader:
            optimizer.zero_grad()
            accelerator.backward(loss(model(points.to(accelerator.device)), labels.to(accelerator.device)))
            optimizer.step()
    return accelerator.unwrap_model(model)


def cross_entropy(scores: Tensor, target: Tensor) -> Tensor:
    return nn.functional.binary_cross_entropy_with_logits(scores, (target > 0).float())


# %%
# Train both, and score them on clean labels.


def main() -> None:
    torch.set_num_threads(1)
    accelerator = Accelerator(cpu=True)
    group = "world" if accelerator.num_processes > 1 else None
    losses = {
        "AUCLoss, barrier hinge": sl.AUCLoss("barrier_hinge", process_group=group),
        "cross-entropy": cross_entropy,
    }
    for name, loss in losses.items():
        model = train(accelerator, loss)
        with torch.no_grad():
            auc = sl.metrics.auc(model(X_test), y_test)
        accelerator.print(f"{name:<24} AUC on clean labels {auc:.3f}")


if __name__ == "__main__":
    main()
