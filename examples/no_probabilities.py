"""
A symmetric loss cannot give probabilities
==========================================

The data are points on a line from two normal classes, so eta(x), the probability of the positive class, is known. A
model with one free score for each of 25 intervals learns from *clean* labels. With the logistic loss its scores are the
log odds of eta, so that a sigmoid function gives eta back. With a symmetric loss, the scores end up at two values, one
for each side of 1/2 (theorem 8): they say which class is more probable, but not by how much.
"""

import sys

import matplotlib.pyplot as plt
import torch

import symloss as sl
from symloss.drawing import COLORS

torch.set_num_threads(1)
torch.manual_seed(0)
y = torch.arange(10_000) % 2 * 2 - 1
x = torch.randn(10_000) + y
edges = torch.linspace(-1.5, 1.5, 24)
interval = torch.bucketize(x, edges)


def learn(loss: str) -> torch.Tensor:
    """Return the scores of the intervals that minimize the balanced error with this loss."""
    scores = torch.zeros(25, requires_grad=True)
    criterion = sl.BERLoss(loss)
    optimizer = torch.optim.Adam([scores], lr=0.2)
    for _ in range(1000):
        optimizer.zero_grad()
        criterion(scores[interval], y).backward()
        optimizer.step()
    return scores.detach()


# %%
# Both classes have the same size, so eta(x) = 1 / (1 + exp(-2x)). Here we use the share of positives in an interval.

eta = torch.stack([(y[interval == k] == 1).float().mean() for k in range(25)])
figure, axes = plt.subplots(1, 3, figsize=(10, 3.4), layout="constrained")
for panel, loss in zip(axes, ("logistic", "sigmoid", "barrier_hinge"), strict=True):
    panel.plot(eta, learn(loss), "o", color=COLORS[loss], label="learned scores")
    if loss == "logistic":
        panel.plot(eta, torch.logit(eta), "k:", label="log odds of eta")
    panel.set(title=sl.get_loss(loss).title, xlabel="eta")
    panel.axvline(0.5, color="0.8", linewidth=1, zorder=0)
    panel.spines[["top", "right"]].set_visible(False)
axes[0].set_ylabel("score")
axes[0].legend(frameon=False, fontsize=9)
if len(sys.argv) > 1:
    figure.savefig(sys.argv[1], dpi=100)
