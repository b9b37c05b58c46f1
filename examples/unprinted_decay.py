"""What the paper's robust losses owe to a weight decay that it does not print.

Draws the AUC against noise with the decay (results/uci-matched) and without (results/uci-printed), a panel a data set.
"""

import sys
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np

from symloss.paper.figures import COLOURS
from symloss.paper.results import read_cells

LOSSES = ("barrier_hinge", "unhinged", "sigmoid", "logistic")


def main(matched: Path, printed: Path, target: Path) -> None:
    """Draw both, and print how far each loss falls at the highest noise."""
    results = {"with decay 0.05": read_cells(matched).cells, "as printed, without": read_cells(printed).cells}
    datasets = sorted({cell.dataset for cell in results["with decay 0.05"]})
    figure, axes = plt.subplots(3, 3, figsize=(9, 8), sharex=True)
    for name, panel in zip(datasets, axes.flat, strict=True):
        for (protocol, cells), style in zip(results.items(), ("-", ":"), strict=True):
            of_set = sorted((cell for cell in cells if cell.dataset == name), key=lambda cell: -cell.pi)
            for loss in LOSSES:
                means = [np.mean(cell.scores["auc"][loss]) for cell in of_set]
                panel.plot(means, style, color=COLOURS[loss], label=f"{loss.replace('_', ' ')}, {protocol}")
        panel.set_title(name, fontsize=10)
        panel.set_xticks(range(4), [f"{cell.pi:g}, {cell.pi_prime:g}" for cell in of_set], fontsize=8)
        panel.spines[["top", "right"]].set_visible(False)
    figure.supxlabel("pi, pi'", y=0.07, fontsize=10)
    figure.supylabel("AUC")
    handles, labels = axes.flat[0].get_legend_handles_labels()
    figure.tight_layout(rect=(0, 0.06, 1, 1))
    figure.legend(handles, labels, loc="lower center", ncols=4, frameon=False, fontsize=8)
    target.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(target, dpi=110)
    print("AUC at (0.65, 0.45), mean over nine data sets:  with decay  without")
    for loss in LOSSES:
        means = [np.mean([cell.scores["auc"][loss] for cell in cells if cell.pi == 0.65]) for cells in results.values()]
        print(f"  {loss:<14} {means[0]:42.1f} {means[1]:8.1f}")


if __name__ == "__main__":
    root = Path(__file__).parents[1] / "results"
    main(root / "uci-matched", root / "uci-printed", Path(sys.argv[1] if len(sys.argv) > 1 else "unprinted_decay.png"))
