"""
From noisy labels to a chosen model
===================================

No clean label is used for learning, and nothing about the noise is known. The data are waveforms, one class against the
other two. Of the labels "positive" 35% are wrong, and of the labels "negative" 45%. ``AUCClassifierCV`` compares models
by cross-validation on the noisy labels. This is valid, because the AUC on noisy labels is an increasing function of the
AUC on clean ones (corollary 2).
"""

import sys

import matplotlib.pyplot as plt
import numpy as np
import torch
from sklearn.base import clone
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import symloss as sl

PI, PI_PRIME = 0.65, 0.45

torch.set_num_threads(1)
drawn = sl.datasets.make_waveform(30_000, random_state=0)
X, y_noisy, X_test, y_test = sl.contaminated_split(
    drawn.data.astype(float), drawn.target, pi=PI, pi_prime=PI_PRIME, n_positive=1000, n_negative=1000,
    n_test=4000, random_state=0,
)  # fmt: skip
ranker = sl.AUCClassifierCV(random_state=0, pi=PI, pi_prime=PI_PRIME).fit(X, y_noisy)

# %%
# The noise rates were given only for the estimate of the clean score. Now compare with two usual choices, on clean
# labels that only this script knows:


def clean_auc(model) -> float:
    has_scores = hasattr(model, "decision_function")
    scores = model.decision_function(X_test) if has_scores else model.predict_proba(X_test)[:, 1]
    return sl.metrics.auc(scores, y_test)


print("AUC on clean test labels, learned from labels of which 35% and 45% are wrong")
print(f"  AUCClassifierCV       {clean_auc(ranker):.3f}")
others = {
    "logistic regression": make_pipeline(StandardScaler(), LogisticRegression(max_iter=1000)),
    "gradient boosting": HistGradientBoostingClassifier(random_state=0),
}
for name, model in others.items():
    print(f"  {name:<21} {clean_auc(model.fit(X, y_noisy)):.3f}")
found = ranker.clean_score_
print(f"clean AUC estimated from noisy folds, pi and pi': {found.value:.3f} ({found.low:.3f} to {found.high:.3f})")

# %%
# The figure shows the candidates' AUC on clean test data against their AUC on noisy folds:

results = ranker.cv_results_
pool = dict(sl.estimators.default_candidates(sl.AUCClassifier, X, random_state=0))
clean = np.array([clean_auc(clone(pool[name]).fit(X, y_noisy)) for name in results["candidate"]])
figure, panel = plt.subplots(figsize=(6, 4.5), layout="constrained")
families = [name.split(",")[0] for name in results["candidate"]]
for family in dict.fromkeys(families):
    of = [k for k, name in enumerate(families) if name == family]
    panel.scatter(
        results["mean_test_score"][of], clean[of], 30 + 600 * results["weight"][of], label=family, alpha=0.8
    )  # fmt: skip
noisy = np.array(panel.get_xlim())
panel.plot(noisy, [sl.metrics.clean_auc(score, PI, PI_PRIME) for score in noisy], "k:", label="corollary 2")
panel.axhline(clean_auc(ranker), color="k", linewidth=1, label="the weighted average")
panel.set(xlabel="AUC on folds of the noisy labels", ylabel="AUC on clean test labels", ylim=(None, 1))
panel.set_title("Candidates, sized by their weights in the average", fontsize=11)
panel.spines[["top", "right"]].set_visible(False)
panel.legend(frameon=False)
if len(sys.argv) > 1:
    figure.savefig(sys.argv[1], dpi=120)
