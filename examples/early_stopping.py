"""
Early stopping on corrupted labels
==================================

Under noise, the scores of losses that are not symmetric collapse during training. How much of this does early stopping
undo? The figure and the tables show the mean scores after the last epoch and after the epoch that corrupted labels
choose, both with dropout off (``results/cifar10``, the mean of its nine pairs, and ``results/mnist-matched``). The
tables are those of the page on MNIST and CIFAR-10.
"""

import sys
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from symloss.drawing import COLORS
from symloss.paper.results import LOSSES, NOISES, read_run
from symloss.paper.tables import SCORES, loss_heading

NAMES = [loss.name for loss in LOSSES]
WAYS = {"dropout_off": "last epoch", "chosen_epoch": "chosen epoch"}
STYLES = (":", "-")


def trials(scores: pd.DataFrame, way: str, risk: str, loss: str, noise: tuple[float, float]) -> np.ndarray:
    """Return the scores as an array of shape (data sets, trials)."""
    of = scores[(scores["risk"] == risk) & (scores["loss"] == loss) & (scores["pi"] == noise[0])]
    return of.pivot(index="dataset", columns="trial", values=way).to_numpy()


def mean_and_error(scores: np.ndarray) -> tuple[float, float]:
    """Return the mean of all scores, and its standard error over the trials, for these fixed data sets."""
    return scores.mean(), np.sqrt((scores.var(1, ddof=1) / scores.shape[1]).sum()) / len(scores)


def draw(families: dict[str, pd.DataFrame]) -> Figure:
    figure, axes = plt.subplots(1, 4, figsize=(12, 3.7), layout="constrained")
    for panel, (family, risk) in zip(axes, [(f, o) for f in families for o in SCORES], strict=True):
        for loss in NAMES:
            for way, style in zip(WAYS, STYLES, strict=True):
                points = [mean_and_error(trials(families[family], way, risk, loss, noise)) for noise in NOISES]
                panel.errorbar(
                    range(len(NOISES)), *zip(*points, strict=True), fmt=style, marker=".", color=COLORS[loss],
                    linewidth=2.2 if loss == "barrier_hinge" else 1.2,
                )  # fmt: skip
        panel.set_title(f"{family}: {SCORES[risk]}", fontsize=10)
        panel.set_xticks(range(len(NOISES)), [f"{pi:g}\n{pi_prime:g}" for pi, pi_prime in NOISES], fontsize=8)
        panel.spines[["top", "right"]].set_visible(False)
    figure.supxlabel("noise: π above, π' below", fontsize=10)
    handles = [Line2D([], [], color=COLORS[loss], label=loss_heading(loss)) for loss in NAMES]
    handles += [
        Line2D([], [], color="#555555", linestyle=style, label=WAYS[way])
        for way, style in zip(WAYS, STYLES, strict=True)
    ]
    figure.legend(handles=handles, loc="outside right center", frameon=False, fontsize=9)
    return figure


def print_means(results: pd.DataFrame, risk: str) -> None:
    print("| | " + " | ".join(str(tuple(noise)) for noise in NOISES) + " |\n|---" + "|---" * len(NOISES) + "|")
    for loss in NAMES:
        texts = []
        for noise in NOISES:
            last, chosen = (mean_and_error(trials(results, way, risk, loss, noise)) for way in WAYS)
            epoch = trials(results, "chosen_at", risk, loss, noise).mean()
            texts.append(f"{last[0]:.1f} ({last[1]:.1f}) → {chosen[0]:.1f} ({chosen[1]:.1f}), {epoch:.0f}")
        print(f"| {loss_heading(loss)} | " + " | ".join(texts) + " |")


def print_barrier_ahead(results: pd.DataFrame, risk: str, way: str) -> None:
    """Print by how much the barrier hinge loss is ahead of each other loss at its chosen epoch, trial by trial."""
    print("| | " + " | ".join(str(tuple(noise)) for noise in NOISES) + " |\n|---" + "|---" * len(NOISES) + "|")
    for loss in NAMES[1:]:
        texts = []
        for noise in NOISES:
            barrier = trials(results, way, risk, NAMES[0], noise)
            other = trials(results, "chosen_epoch", risk, loss, noise)
            mean, error = mean_and_error(barrier - other)
            ahead = f", {(barrier.mean(1) > other.mean(1)).sum()} of {len(barrier)}" if len(barrier) > 1 else ""
            texts.append(f"{mean:+.1f} ({error:.1f}){ahead}")
        print(f"| {loss_heading(loss)} | " + " | ".join(texts) + " |")


folder = Path(sys.argv[0]).resolve().parents[1] / "results"
families = {"CIFAR-10": read_run(folder / "cifar10").scores, "MNIST": read_run(folder / "mnist-matched").scores}
figure = draw(families)
if len(sys.argv) > 1:
    figure.savefig(sys.argv[1], dpi=110)

# %%
# The numbers:

for family, results in families.items():
    for risk, score in SCORES.items():
        print(f"\n{family}, {score}: last → chosen epoch (standard errors over trials), and the mean chosen epoch\n")
        print_means(results, risk)
        for way, label in WAYS.items():
            print(f"\n{family}, {score}: barrier hinge at the {label} minus others at their chosen epochs\n")
            print_barrier_ahead(results, risk, way)
