"""
Training a network on corrupted labels
======================================

The data are two Gaussian classes in twenty dimensions. 65% of the "positive" and 45% of the "negative" training points
are really positive. A network that is trained for long can fit such noise. With the barrier hinge and the unhinged loss
it does not. The sigmoid loss is symmetric too, but its tails are flat, so without weight decay the network can memorize
the labels.
"""

import sys

import matplotlib.pyplot as plt
import torch

import symloss as sl
from symloss.drawing import COLORS

torch.set_num_threads(1)
generator = torch.Generator().manual_seed(0)
y = torch.arange(8000) % 2 * 2 - 1
X = torch.randn(8000, 20, generator=generator) + y[:, None] * 0.45
X_train, y_train, X_test, y_test = sl.contaminated_split(
    X, y, pi=0.65, pi_prime=0.45, n_positive=500, n_negative=500, n_test=2000, random_state=0
)


def auc(model: torch.nn.Module, X: torch.Tensor, y: torch.Tensor) -> float:
    with torch.no_grad():
        return sl.metrics.auc(model(X), y)


# %%
# This is a plain PyTorch loop, with any optimizer and one line of symloss.


def train(loss: str, steps: int = 300) -> tuple[torch.nn.Module, list[float]]:
    """Return the network, and its AUC on clean test labels after every tenth step."""
    torch.manual_seed(0)
    model = torch.nn.Sequential(
        torch.nn.Linear(X.shape[1], 200), torch.nn.ReLU(), torch.nn.Linear(200, 1), torch.nn.Flatten(0)
    )
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-3, amsgrad=True)
    criterion = sl.AUCLoss(loss)
    curve = []
    for step in range(steps):
        optimizer.zero_grad()
        criterion(model(X_train), y_train).backward()
        optimizer.step()
        if step % 10 == 9:
            curve.append(auc(model, X_test, y_test))
    return model, curve


# %%
# Train with five losses, and draw the AUC on clean labels:

figure, panel = plt.subplots(figsize=(6, 4), layout="constrained")
print("AUC after training at (pi, pi') = (0.65, 0.45), on corrupted training labels and on clean test labels:")
for name in ("logistic", "squared", "sigmoid", "barrier_hinge", "unhinged"):
    model, curve = train(name)
    title = sl.get_loss(name).title
    print(f"  {title:<14} {auc(model, X_train, y_train):.3f}  {auc(model, X_test, y_test):.3f}")
    panel.plot(range(10, 301, 10), curve, color=COLORS[name], linewidth=2, label=title)
panel.set(xlabel="training steps", ylabel="AUC on clean test labels", ylim=(0.5, 1.01))
panel.spines[["top", "right"]].set_visible(False)
panel.legend(frameon=False)
if len(sys.argv) > 1:
    figure.savefig(sys.argv[1], dpi=110)
