"""
Audit noisy labels
==================

How many labels are wrong, which are wrong, and what would clean ones say? Three questions, each answered from noisy
labels alone. The clean labels are only drawn beside the answers.
"""

import sys
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
from sklearn.linear_model import LogisticRegression

import symloss as sl
from symloss.drawing import COLORS, STYLE

OURS, TRUTH, NOISY = COLORS["barrier_hinge"], "black", COLORS["logistic"]
plt.rcParams.update(STYLE | {"svg.hashsalt": "symloss", "figure.figsize": (6.4, 3.4)})


def save(figure, name: str) -> None:
    if len(sys.argv) > 1:
        figure.savefig(Path(sys.argv[1]) / name, metadata={"Date": None}, facecolor="white")


# %%
# **How noisy are the labels?** A quarter of the positives were called negative, and a tenth of the negatives positive.
# ``AUCClassifierCV`` scores each point by models that have not seen its label, and compares how these scores rank the
# labels with draws from other tables of which we know what is wrong.

drawn = sl.datasets.make_twonorm(4000, random_state=0)
y = sl.flip_labels(drawn.target, rate_positive=0.25, rate_negative=0.1, random_state=0)
model = sl.AUCClassifierCV([("logistic", LogisticRegression())], random_state=0).fit(drawn.data, y)
print(model.noise_)

wrong = [np.mean(y[y == label] != drawn.target[y == label]) for label in (1, -1)]
print(f"truth: {wrong[0]:.0%} of the positive and {wrong[1]:.0%} of the negative labels")

# %%
# **Which labels are wrong?** ``label_quality_`` is the probability that a label is right. Look at the labels with the
# smallest values first: nearly all of them are wrong, until few wrong ones are left.

wrong = (y != drawn.target)[np.argsort(model.label_quality_)]
looked_at = np.arange(1, len(y) + 1)
for count in (100, 500, 1000):
    print(f"of the {count} labels with the lowest quality, {wrong[:count].sum()} are wrong")

figure, panel = plt.subplots(layout="constrained")
panel.plot(looked_at, np.minimum(looked_at, wrong.sum()), ":", color=TRUTH, label="perfect order")
panel.plot(looked_at, wrong.cumsum(), color=OURS, linewidth=2.5, label="by label_quality_")
panel.plot(looked_at, wrong.mean() * looked_at, "--", color=NOISY, label="random order")
panel.set(xlabel="labels looked at", ylabel="wrong labels found", xlim=(0, 2000), ylim=(0, None))
panel.legend(loc="lower right")
save(figure, "wrong_labels.svg")

# %%
# **Is 0.63 on noisy labels good?** Here 70% of the points labeled positive are positive, and 40% of those labeled
# negative. If you know or have estimated these rates, the ROC curve on clean labels can be
# computed from the one on noisy labels. With a probability of 95%, the whole curve lies inside the band.

drawn = sl.datasets.make_twonorm(20_000, random_state=0)
X, y, X_clean, y_clean = sl.contaminated_split(
    drawn.data[:, :6], drawn.target, pi=0.7, pi_prime=0.4, n_positive=4000, n_negative=4000, n_test=4000, random_state=0
)
model = LogisticRegression().fit(X[::2], y[::2])
scores, y = model.decision_function(X[1::2]), y[1::2]
print(f"AUC on noisy labels: {sl.metrics.auc(scores, y):.2f}")
print("on clean ones:", sl.metrics.estimate_clean_auc(scores, y, pi=0.7, pi_prime=0.4))

figure, panel = plt.subplots(figsize=(5.2, 4.2), layout="constrained")
clean = (model.decision_function(X_clean), y_clean)
for scored, rates, style in (
    (clean, (1.0, 0.0), {"color": TRUTH, "linestyle": ":", "label": "on clean labels"}),
    ((scores, y), (0.7, 0.4), {"color": OURS, "linewidth": 2.5, "label": "computed from noisy labels"}),
    ((scores, y), (1.0, 0.0), {"color": NOISY, "linestyle": "--", "label": "on noisy labels"}),
):
    fpr, tpr, _ = sl.metrics.clean_roc(*scored, pi=rates[0], pi_prime=rates[1])
    panel.plot(fpr, tpr, **style)
worst, best = sl.metrics.clean_roc_band(scores, y, pi=0.7, pi_prime=0.4)
border = (np.r_[0, best.fpr[::20], 1, worst.fpr[::-20]], np.r_[0, best.tpr[::20], 1, worst.tpr[::-20]])
panel.fill(*border, color=OURS, alpha=0.12, linewidth=0, label="95% band")
panel.set(xlabel="false positive rate", ylabel="true positive rate", xlim=(-0.01, 1.01), ylim=(-0.01, 1.01))
panel.legend(loc="lower right")
save(figure, "clean_scores.svg")
