"""
Labeled positives and unlabeled points
======================================

Learning from positive and unlabeled points (PU) is label noise with pi = 1. Of the unlabeled points 40% are positive,
but the estimator need not know this. Its AUC for labeled against unlabeled points is (1 - pi') * clean AUC + pi' / 2.
So the model that is best at ranking labeled points above unlabeled ones is also best at ranking positives above
negatives.
"""

import sys

import matplotlib.pyplot as plt
import numpy as np
import torch

import symloss as sl

PRIOR = 0.4

torch.set_num_threads(1)
drawn = sl.datasets.make_twonorm(12_000, random_state=0)
X, y = drawn.data.astype(float), drawn.target
train, test = slice(0, 6000), slice(6000, None)
X_pu, y_pu = sl.corruption.positive_unlabeled(
    X[train], y[train], prior=PRIOR, n_labeled=200, n_unlabeled=2000, random_state=0
)
labeled, unlabeled = X_pu[y_pu == 1], X_pu[y_pu == -1]

# %%
# The estimator learns from the two sets alone:

X_both, y_both = sl.from_two_sets(labeled, unlabeled)
ranker = sl.AUCClassifierCV(random_state=0, verbose=True).fit(X_both, y_both)
scores = ranker.decision_function(X[test])
clean = sl.metrics.auc(scores, y[test])
print(f"200 labeled positives, 2,000 unlabeled points: AUC {clean:.3f} on clean labels")
print(f"AUC out of fold, labeled against unlabeled points: {ranker.corrupted_score_:.3f}")
expected = sl.metrics.estimate_clean_auc(ranker.oof_scores_, y_both, pi=1.0, pi_prime=PRIOR)
print(f"clean AUC that this gives with pi' = {PRIOR}: {expected.value:.3f} ({expected.low:.3f} to {expected.high:.3f})")

# %%
# The scores of new points, whose true classes only this script knows:

figure, panel = plt.subplots(figsize=(6, 4), layout="constrained")
edges = np.linspace(*np.quantile(scores, [0.001, 0.999]), 40)
for label, name in ((1, "positive"), (-1, "negative")):
    panel.hist(scores[y[test] == label], edges, alpha=0.6, label=f"truly {name}")
panel.set(xlabel="score", ylabel="new points", title=f"Learned without a single negative label: AUC {clean:.3f}")
panel.spines[["top", "right"]].set_visible(False)
panel.legend(frameon=False)
if len(sys.argv) > 1:
    figure.savefig(sys.argv[1], dpi=120)
