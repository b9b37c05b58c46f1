"""
Lightning: AUCLoss in a LightningModule
=======================================

``training_step`` returns the loss, and that is all. Of the points labeled positive 65% are positive, and of those
labeled negative 45% are positive. For comparison, the same network is trained with cross-entropy on the same noisy
labels.
"""

import lightning
import torch
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
# On many devices, give the loss ``process_group="world"`` to pair points across them. The loader is made in
# ``train_dataloader``, when ranks are known. ``use_distributed_sampler=False`` keeps Lightning from replacing it.


class Ranker(lightning.LightningModule):
    """A network with one score per point, and its loss."""

    def __init__(self, loss: nn.Module) -> None:
        super().__init__()
        self.network = nn.Sequential(nn.Linear(21, 100), nn.ReLU(), nn.Linear(100, 1), nn.Flatten(0))
        self.loss = loss

    def forward(self, X: Tensor) -> Tensor:
        """Return the scores."""
        return self.network(X)

    def training_step(self, batch: list[Tensor]) -> Tensor:
        """Return the loss of a batch."""
        return self.loss(self(batch[0]), batch[1])

    def train_dataloader(self) -> DataLoader:
        """Return batches that hold both classes."""
        return DataLoader(TensorDataset(X, y_noisy), batch_sampler=sl.StratifiedBatchSampler(y_noisy, 200))

    def configure_optimizers(self) -> torch.optim.Optimizer:
        """Return the optimizer; any optimizer works."""
        return torch.optim.Adam(self.parameters(), lr=1e-3)


def cross_entropy(scores: Tensor, target: Tensor) -> Tensor:
    return nn.functional.binary_cross_entropy_with_logits(scores, (target > 0).float())


def make_trainer(max_epochs: int = 30, **options) -> lightning.Trainer:
    return lightning.Trainer(
        accelerator="cpu", max_epochs=max_epochs, use_distributed_sampler=False, logger=False,
        enable_checkpointing=False, enable_progress_bar=False, enable_model_summary=False, **options,
    )  # fmt: skip


# %%
# Train both, and score them on clean labels.


def main() -> None:
    torch.set_num_threads(1)
    for name, loss in {"AUCLoss, barrier hinge": sl.AUCLoss("barrier_hinge"), "cross-entropy": cross_entropy}.items():
        torch.manual_seed(0)
        model = Ranker(loss)
        make_trainer().fit(model)
        with torch.no_grad():
            print(f"{name:<24} AUC on clean labels {sl.metrics.auc(model(X_test), y_test):.3f}")


if __name__ == "__main__":
    main()
