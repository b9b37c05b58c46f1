"""
The AUC under noise: symloss and other methods
==============================================

The figure shows the AUC on clean labels after learning from labels at four noise rates, as the mean over the nine data
sets of the benchmark on which the pool of symloss is not chosen. There are 1,000 training points per corrupted class,
or fewer if a data set is small. The numbers are from the committed benchmark (benchmarks/results/noisy_labels.csv).
Logistic regression, LightGBM and the perceptron minimize cross-entropy. This is the figure of the README.
"""

import csv
import sys
from collections import defaultdict
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np

NOISES = ["1/0", "0.8/0.3", "0.7/0.4", "0.65/0.45"]
DATASETS = ["breast_cancer", "digits", "marketing", "penbased", "phoneme", "spambase", "susy", "twonorm", "waveform"]
METHODS = {
    "AUCClassifierCV": ("symloss, AUCClassifierCV", "#C40F2E", 3),
    "extra trees leaf 20": ("extra trees, leaves of 20", "#6E6E6E", 1.8),
    "logistic regression": ("logistic regression", "#0072B2", 1.8),
    "LightGBM": ("LightGBM", "#009E73", 1.8),
    "MLP early stopping": ("perceptron, stopped early", "#7A5195", 1.8),
}

aucs = defaultdict(list)
with (Path(sys.argv[0]).resolve().parents[1] / "benchmarks/results/noisy_labels.csv").open() as file:
    for row in csv.DictReader(file):
        if row["size"] == "1000" and row["dataset"] in DATASETS:
            aucs[row["method"], row["noise"]].append(float(row["auc"]))

# %%
# The share of wrong labels grows from left to right.

plt.rcParams["svg.hashsalt"] = "symloss"
figure, panel = plt.subplots(figsize=(7, 3.6), layout="constrained", facecolor="white")
height = 100.0
found = {method: [np.mean(aucs[method, noise]) for noise in NOISES] for method in METHODS}
for method, means in sorted(found.items(), key=lambda item: -item[1][-1]):  # from the best to the worst at high noise
    label, color, width = METHODS[method]
    print(f"{label:<26}", *(f"{mean:6.1f}" for mean in means))
    panel.plot(means, color=color, linewidth=width, marker="o", markersize=2 + 1.5 * width)
    height = min(means[-1], height - 2)  # of the label, below the one before
    panel.annotate(f"{label}  {means[-1]:.1f}", (3.06, height), color=color, va="center", annotation_clip=False)
panel.set_xticks(range(4), ["clean", "20% and 30%", "30% and 40%", "35% and 45%"])
panel.set(xlabel="wrong labels among the positives and the negatives", xlim=(-0.1, 4.75))
panel.set_ylabel("AUC on clean labels")
panel.xaxis.set_label_coords(0.33, -0.14)
panel.grid(axis="y", alpha=0.25)
panel.spines[["top", "right"]].set_visible(False)
panel.spines["bottom"].set_bounds(-0.1, 3)
if len(sys.argv) > 1:
    figure.savefig(sys.argv[1], metadata={"Date": None} if sys.argv[1].endswith("svg") else None, dpi=120)
