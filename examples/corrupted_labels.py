"""
Training a network on noisy labels
==================================

The data are two Gaussian classes in twenty dimensions. Of the training rows labeled positive 35% are wrong, of those
labeled negative 45%. A fifth of the noisy rows is held out: the step with the largest AUC on them is, up to chance, the
best on clean labels, too. A network that is trained for longer learns the wrong labels by heart: not with the barrier
hinge and the unhinged loss, later with the sigmoid loss, which is the default, than with others.
"""

import sys

import matplotlib.pyplot as plt
import numpy as np
import torch

import symloss as sl
from symloss.drawing import COLORS

torch.set_num_threads(1)
generator = torch.Generator().manual_seed(0)
y = torch.arange(12_000) % 2 * 2 - 1
X = torch.randn(12_000, 20, generator=generator) + y[:, None] * 0.45
X_noisy, y_noisy, X_test, y_test = sl.contaminated_split(
    X, y, pi=0.65, pi_prime=0.45, n_positive=1000, n_negative=1000, n_test=2000, random_state=0
)
held_out = torch.arange(len(y_noisy)) % 5 == 0
X_train, y_train, X_held, y_held = X_noisy[~held_out], y_noisy[~held_out], X_noisy[held_out], y_noisy[held_out]


# %%
# This is a plain PyTorch loop, with any optimizer and one line of symloss.


def train(criterion: torch.nn.Module, steps: int = 300) -> np.ndarray:
    """Return the AUC on held-out noisy labels and on clean test labels after every tenth step."""
    torch.manual_seed(0)
    model = torch.nn.Sequential(
        torch.nn.Linear(X.shape[1], 200), torch.nn.ReLU(), torch.nn.Linear(200, 1), torch.nn.Flatten(0)
    )
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-3, amsgrad=True)
    curve = []
    for step in range(steps):
        optimizer.zero_grad()
        criterion(model(X_train), y_train).backward()
        optimizer.step()
        if step % 10 == 9:
            with torch.no_grad():
                curve.append([sl.metrics.auc(model(X_held), y_held), sl.metrics.auc(model(X_test), y_test)])
    return np.array(curve)


def cross_entropy(scores: torch.Tensor, labels: torch.Tensor) -> torch.Tensor:
    return torch.nn.functional.binary_cross_entropy_with_logits(scores, (labels > 0).float())


# %%
# Train with five criteria, and draw the AUC on clean labels:

figure, panel = plt.subplots(figsize=(6, 4), layout="constrained")
print("AUC on clean labels, learned from labels of which 35% and 45% are wrong")
print("                            stopped early, on   after")
print("                            noisy labels        300 steps")
for title, criterion, color in (
    ("AUCLoss(), the default", sl.AUCLoss(), COLORS["sigmoid"]),
    ('AUCLoss("barrier_hinge")', sl.AUCLoss("barrier_hinge"), COLORS["barrier_hinge"]),
    ('AUCLoss("unhinged")', sl.AUCLoss("unhinged"), COLORS["unhinged"]),
    ('AUCLoss("logistic")', sl.AUCLoss("logistic"), COLORS["logistic"]),
    ("cross-entropy", cross_entropy, "0.6"),
):
    noisy, clean = train(criterion).T
    print(f"{title:<28}{clean[noisy.argmax()]:<20.3f}{clean[-1]:.3f}")
    panel.plot(range(10, 301, 10), clean, color=color, linewidth=2, label=title)
    panel.plot(10 * noisy.argmax() + 10, clean[noisy.argmax()], "o", color=color)
panel.set(
    xlabel="training steps; a dot is where noisy labels say to stop", ylabel="AUC on clean labels", ylim=(0.5, 1.01)
)
panel.spines[["top", "right"]].set_visible(False)
panel.legend(frameon=False, loc="lower left")
if len(sys.argv) > 1:
    figure.savefig(sys.argv[1], dpi=110)
