"""
The AUC under noise: symloss and other methods
==============================================

The figure shows the AUC on clean labels after learning from labels at three noise rates, as the mean over the 69 data
sets of the benchmark on which the pool of symloss is not chosen. Bars are two standard errors of the difference to
symloss over these data sets. There are up to 1,000 training points per corrupted class. The numbers are from the
committed benchmark (benchmarks/results/noisy_labels.csv). Logistic regression, LightGBM and the perceptron minimize
cross-entropy. cleanlab is its ``CleanLearning`` around a random forest with leaves of 20 points, the better one of its
two at high noise. This is the figure of the README.
"""

import csv
import sys
from collections import defaultdict
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np

NOISES = ["1/0", "0.8/0.3", "0.65/0.45"]
OURS = "AUCClassifierCV"
METHODS = {
    OURS: ("symloss, AUCClassifierCV", "#C40F2E", 3),
    "random forest leaf 20": ("random forest, leaves of 20", "#6E6E6E", 1.8),
    "extra trees leaf 20": ("extra trees, leaves of 20", "#9C6B30", 1.8),
    "cleanlab random forest leaf 20": ("cleanlab, random forest", "#E07B00", 1.8),
    "logistic regression": ("logistic regression", "#0072B2", 1.8),
    "LightGBM": ("LightGBM", "#009E73", 1.8),
    "MLP early stopping": ("perceptron, stopped early", "#7A5195", 1.8),
}

aucs = defaultdict(lambda: defaultdict(list))  # by method and noise, then by data set: one for each draw
with (Path(sys.argv[0]).resolve().parents[1] / "benchmarks/results/noisy_labels.csv").open() as file:
    for row in csv.DictReader(file):
        if row["size"] == "1000":
            aucs[row["method"], row["noise"]][row["dataset"]].append(float(row["auc"]))


def mean_and_error(method, noise):
    """Return the mean over data sets, and the standard error of its difference to symloss."""
    own, ours = ({name: np.mean(draws) for name, draws in aucs[of, noise].items()} for of in (method, OURS))
    differences = [own[name] - ours[name] for name in own]
    return np.mean(list(own.values())), np.std(differences, ddof=1) / np.sqrt(len(differences))


# %%
# The share of wrong labels grows from left to right.

plt.rcParams["svg.hashsalt"] = "symloss"
figure, panel = plt.subplots(figsize=(7, 4), layout="constrained", facecolor="white")
height = 100.0
found = {method: [mean_and_error(method, noise) for noise in NOISES] for method in METHODS}
order = sorted(found, key=lambda method: -found[method][-1][0])  # from the best to the worst at high noise
for place, method in enumerate(order):
    label, color, width = METHODS[method]
    means, errors = np.transpose(found[method])
    print(f"{label:<26}", *(f"{mean:6.1f} ± {2 * error:.1f}" for mean, error in zip(means, errors, strict=True)))
    x = np.arange(len(NOISES)) + 0.03 * (place - 3)  # side by side, so that no bar hides another
    panel.errorbar(
        x, means, 2 * errors, color=color, linewidth=width, elinewidth=1.2, capsize=2.5, marker="o",
        markersize=2 + 1.2 * width,
    )  # fmt: skip
    height = min(means[-1], height - 1.9)  # of the label, below the one before
    panel.annotate(f"{label}  {means[-1]:.1f}", (2.16, height), color=color, va="center", annotation_clip=False)
panel.set_xticks(range(len(NOISES)), ["clean", "20% and 30%", "35% and 45%"])
panel.set(xlabel="wrong labels among the positives and the negatives", xlim=(-0.15, 3.6))
panel.set_ylabel("AUC on clean labels")
panel.xaxis.set_label_coords(0.33, -0.12)
panel.grid(axis="y", alpha=0.25)
panel.spines[["top", "right"]].set_visible(False)
panel.spines["bottom"].set_bounds(-0.15, 2.1)
if len(sys.argv) > 1:
    figure.savefig(sys.argv[1], metadata={"Date": None} if sys.argv[1].endswith("svg") else None, dpi=120)
