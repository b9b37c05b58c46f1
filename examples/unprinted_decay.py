"""
The weight decay that the paper does not print
==============================================

How much does the robustness of the paper's losses depend on the weight decay? The figure shows the AUC against noise
with the decay (``results/uci-matched``) and without it (``results/uci-printed``), with one panel per data set.
"""

import sys
from pathlib import Path

import matplotlib.pyplot as plt

from symloss.drawing import COLORS
from symloss.paper.results import NOISES, UCI_DATASETS, read_run

LOSSES = ("barrier_hinge", "unhinged", "sigmoid", "logistic")

folder = Path(sys.argv[0]).resolve().parents[1] / "results"
runs = {"with decay 0.05": "uci-matched", "as printed, without": "uci-printed"}
results = {protocol: read_run(folder / name).scores.query("risk == 'auc'") for protocol, name in runs.items()}
figure, axes = plt.subplots(3, 3, figsize=(9, 8), sharex=True)
for name, panel in zip(sorted(UCI_DATASETS), axes.flat, strict=True):
    for (protocol, of_protocol), style in zip(results.items(), ("-", ":"), strict=True):
        of_set = of_protocol[of_protocol["dataset"] == name].groupby(["loss", "pi"])["score"].mean()
        for loss in LOSSES:
            means = [of_set[loss, pi] for pi, _ in NOISES]
            panel.plot(means, style, color=COLORS[loss], label=f"{loss.replace('_', ' ')}, {protocol}")
    panel.set_title(name, fontsize=10)
    panel.set_xticks(range(4), [f"{pi:g}, {pi_prime:g}" for pi, pi_prime in NOISES], fontsize=8)
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

print("AUC, 35% and 45% wrong, mean of nine data sets: with decay  without")
for loss in LOSSES:
    means = [part.query("pi == 0.65 and loss == @loss")["score"].mean() for part in results.values()]
    print(f"  {loss:<14} {means[0]:42.1f} {means[1]:8.1f}")
