"""
The claims of section 6.2
=========================

This example prints the numbers behind each claim of the paper's section 6.2, from ``results/cifar10`` and
``results/mnist-matched`` with dropout on: which loss is best at each noise rate, and how the scores change over the
epochs at the highest noise. Then it compares the two ways to pair MNIST's images in the AUC risk, one by one
(``results/mnist-matched``) and all pairs (``results/mnist-printed``).
"""

import sys
from collections import Counter
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np

from symloss.drawing import COLORS
from symloss.paper.compare import Cell, compare, rows_of
from symloss.paper.protocol import LOSSES, NOISES
from symloss.paper.results import read_run
from symloss.paper.tables import SCORES, loss_heading

NAMES = [loss.name for loss in LOSSES]
HIGHEST = NOISES[-1]
FALL = 5.0  # a curve counts as fallen when it is this many points below its best


def print_best(cells: list[Cell]) -> None:
    print("| | " + " | ".join(str(tuple(noise)) for noise in NOISES) + " |\n|---" + "|---" * len(NOISES) + "|")
    rows = rows_of(cells)
    for risk, score in SCORES.items():
        texts = []
        for noise in NOISES:
            of = [row for row in rows if (row[0].risk, row[0].pi, row[0].pi_prime) == (risk, *noise)]
            best = Counter(loss_heading(max(row, key=lambda cell: cell.mean).loss) for row in of)
            texts.append(", ".join(f"{loss} {count}" for loss, count in best.most_common()))
        print(f"| {score} | " + " | ".join(texts) + " |")


def mean_curve(cells: list[Cell], risk: str, loss: str) -> np.ndarray:
    """Return the mean over the data sets of the scores after each epoch, at the highest noise."""
    return np.mean([of.curve for of in cells if (of.risk, of.loss, of.pi, of.pi_prime) == (risk, loss, *HIGHEST)], 0)


def print_curves(cells: list[Cell], risk: str) -> None:
    """Print when the mean curve of these data sets is best, and how it goes on."""
    print(
        "| | after epoch 1 | best | at epoch | last | 5 below the best from epoch | within 1 of the last from epoch |"
    )
    print("|---" * 7 + "|")
    for loss in NAMES:
        curve = mean_curve(cells, risk, loss)
        best = int(curve.argmax())
        fallen = [epoch + 1 for epoch in range(best, len(curve)) if curve[epoch] < curve[best] - FALL]
        away = np.flatnonzero(abs(curve - curve[-1]) > 1)
        settled = int(away[-1]) + 2 if len(away) else 1
        print(f"| {loss_heading(loss)} | {curve[0]:.1f} | {curve[best]:.1f} | {best + 1} | {curve[-1]:.1f} | "
              f"{fallen[0] if fallen else 'never'} | {settled} |")  # fmt: skip


def print_meetings(cells: list[Cell], risk: str) -> None:
    """Print after which epochs a curve passes the published value."""
    print("| (π, π') | " + " | ".join(map(loss_heading, NAMES)) + " |\n|---" + "|---" * len(NAMES) + "|")
    for row in rows_of([cell for cell in cells if cell.risk == risk]):
        texts = []
        for cell in row:
            above = above_paper(cell)
            crossed = np.flatnonzero(np.sign(above[:-1]) != np.sign(above[1:])) + 2
            side = "always above" if above[-1] > 0 else "always below"
            texts.append(", ".join(map(str, crossed)) if len(crossed) else side)
        print(f"| ({row[0].pi}, {row[0].pi_prime}) | " + " | ".join(texts) + " |")


def above_paper(cell: Cell) -> np.ndarray:
    """Return how far our mean is above the published one after each epoch."""
    return np.array(cell.curve) - cell.paper_mean


def print_rms(cells: list[Cell], risks: list[str]) -> None:
    """Print the rms difference after the last epoch and at the epoch that fits best."""
    rms = np.sqrt(np.mean([above_paper(cell) ** 2 for cell in cells if cell.risk in risks], 0))
    print(f"{' and '.join(risks)}: rms {rms[-1]:.2f} after the last epoch, {rms.min():.2f} after {rms.argmin() + 1}")


def print_rms_of_trials(cells: list[Cell], risk: str, losses: list[str], first: int) -> None:
    """Print the rms difference after the last epoch of the trials from the first one on."""
    chosen = [cell for cell in cells if cell.risk == risk and cell.loss in losses]
    rms = np.sqrt(np.mean([(np.mean(cell.scores[first:]) - cell.paper_mean) ** 2 for cell in chosen]))
    print(f"{risk}, {len(chosen)} cells of {len(losses)} losses, trials from {first + 1} on: rms {rms:.2f}")


folder = Path(sys.argv[0]).resolve().parents[1] / "results"
runs = {"CIFAR-10": "cifar10", "MNIST": "mnist-matched", "all pairs": "mnist-printed"}
cells = {name: compare([read_run(folder / run)]) for name, run in runs.items()}
printed = cells.pop("all pairs")

# %%
# The losses that are best, and in how many of the ten data sets:

print_best([*cells["CIFAR-10"], *cells["MNIST"]])

# %%
# How the mean curves develop at the highest noise:

for family, of in cells.items():
    for risk, score in SCORES.items():
        print(f"\n{family}, {score} at {tuple(HIGHEST)}, mean curve\n")
        print_curves(of, risk)

# %%
# MNIST's AUC risk over all pairs: the curves, and the epochs at which they cross the published values:

print_curves(printed, "auc")
print_meetings(printed, "auc")

# %%
# The rms differences from the paper, with all pairs and with pairs one by one. The search for this setting saw trials
# 1 and 2.

for name, of in (("all pairs", printed), ("one by one", cells["MNIST"])):
    print(f"\n{name}")
    for risks in (["ber", "auc"], ["ber"], ["auc"]):
        print_rms(of, risks)
    for risk in SCORES:
        for losses in (NAMES, [loss for loss in NAMES if loss != "unhinged"]):
            for first in (0, 2):
                print_rms_of_trials(of, risk, losses, first)

# %%
# The mean curves at the highest noise:

figure, axes = plt.subplots(1, 4, figsize=(12, 3.4), layout="constrained")
for panel, (family, risk) in zip(axes, [(f, o) for f in cells for o in SCORES], strict=True):
    for loss in NAMES:
        panel.plot(mean_curve(cells[family], risk, loss), color=COLORS[loss], label=loss_heading(loss))
    panel.set_title(f"{family}: {SCORES[risk]}", fontsize=10)
    panel.set_xlabel("epoch")
    panel.spines[["top", "right"]].set_visible(False)
figure.legend(*axes[0].get_legend_handles_labels(), loc="outside right center", frameon=False, fontsize=9)
if len(sys.argv) > 1:
    figure.savefig(sys.argv[1], dpi=110)
