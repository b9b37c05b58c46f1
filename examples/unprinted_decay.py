"""
The weight decay that the paper does not print
==============================================

How much does the robustness of the paper's losses depend on the weight decay? The figure shows the AUC against noise
with the decay (``results/uci-matched``) and without it (``results/uci-printed``), with one panel per data set.
"""

import sys
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np

from symloss.drawing import COLORS
from symloss.paper.results import read_results

LOSSES = ("barrier_hinge", "unhinged", "sigmoid", "logistic")

folder = Path(sys.argv[0]).resolve().parents[1] / "results"
results = {
    "with decay 0.05": read_results(folder / "uci-matched").whole,
    "as printed, without": read_results(folder / "uci-printed").whole,
}
datasets = sorted({result.dataset for result in results["with decay 0.05"]})
figure, axes = plt.subplots(3, 3, figsize=(9, 8), sharex=True)
for name, panel in zip(datasets, axes.flat, strict=True):
    for (protocol, of_protocol), style in zip(results.items(), ("-", ":"), strict=True):
        of_set = sorted((result for result in of_protocol if result.dataset == name), key=lambda result: -result.pi)
        for loss in LOSSES:
            means = [np.mean(result.scores["auc"][loss]) for result in of_set]
            panel.plot(means, style, color=COLORS[loss], label=f"{loss.replace('_', ' ')}, {protocol}")
    panel.set_title(name, fontsize=10)
    panel.set_xticks(range(4), [f"{result.pi:g}, {result.pi_prime:g}" for result in of_set], fontsize=8)
    panel.spines[["top", "right"]].set_visible(False)
figure.supxlabel("pi, pi'", y=0.07, fontsize=10)
figure.supylabel("AUC")
handles, labels = axes.flat[0].get_legend_handles_labels()
figure.tight_layout(rect=(0, 0.06, 1, 1))
figure.legend(handles, labels, loc="lower center", ncols=4, frameon=False, fontsize=8)
if len(sys.argv) > 1:
    figure.savefig(sys.argv[1], dpi=110)

# %%
# How far each loss falls at the highest noise:

print("AUC at (0.65, 0.45), mean over nine data sets:  with decay  without")
for loss in LOSSES:
    means = [np.mean([of.scores["auc"][loss] for of in part if of.pi == 0.65]) for part in results.values()]
    print(f"  {loss:<14} {means[0]:42.1f} {means[1]:8.1f}")
