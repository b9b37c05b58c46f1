"""
skorch: AUCLoss as the criterion
================================

A skorch net takes ``sl.AUCLoss`` as it is. The name and the parameters of the loss are parameters of the criterion. Of
the points labeled positive 65% are positive, and of those labeled negative 45% are positive. For comparison, the same
network is trained with cross-entropy on the same noisy labels.
"""

import torch
from skorch import NeuralNet
from torch import nn
from torch.utils.data import DataLoader

import symloss as sl

# %%
# Noisy training data, and test data with clean labels, which only this script has.

drawn = sl.datasets.make_waveform(20_000, random_state=0)
X, y_noisy, X_test, y_test = sl.contaminated_split(
    drawn.data, drawn.target, pi=0.65, pi_prime=0.45, n_positive=1000, n_negative=1000, n_test=4000, random_state=0
)

# %%
# The network gives one score per point. The iterator puts both classes into every batch.


class Scorer(nn.Sequential):
    """A perceptron."""

    def __init__(self, n_features: int = 21) -> None:
        super().__init__(nn.Linear(n_features, 100), nn.ReLU(), nn.Linear(100, 1), nn.Flatten(0))


def stratified(dataset, batch_size: int, **options) -> DataLoader:
    return DataLoader(dataset, batch_sampler=sl.StratifiedBatchSampler(dataset.y, batch_size), **options)


class CrossEntropy(nn.Module):
    """The cross-entropy of labels +1 and -1."""

    def forward(self, scores: torch.Tensor, target: torch.Tensor) -> torch.Tensor:
        """Return its mean."""
        return nn.functional.binary_cross_entropy_with_logits(scores, (target > 0).float())


def make_net(criterion: type[nn.Module], **parameters) -> NeuralNet:
    return NeuralNet(
        Scorer, criterion, optimizer=torch.optim.Adam, lr=1e-3, max_epochs=30, batch_size=200, train_split=None,
        iterator_train=stratified, verbose=0, **parameters,
    )  # fmt: skip


# %%
# Train both, and score them on clean labels. ``predict`` of a plain ``NeuralNet`` gives the scores.


def main() -> None:
    torch.set_num_threads(1)
    nets = {
        "AUCLoss, barrier hinge": make_net(sl.AUCLoss, criterion__loss="barrier_hinge"),
        "cross-entropy": make_net(CrossEntropy),
    }
    for name, net in nets.items():
        torch.manual_seed(0)
        net.fit(X, y_noisy)
        print(f"{name:<24} AUC on clean labels {sl.metrics.auc(net.predict(X_test), y_test):.3f}")


if __name__ == "__main__":
    main()
