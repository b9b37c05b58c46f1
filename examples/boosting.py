"""
Boosting on noisy labels
========================

This example compares LightGBM's own objective with risks of symmetric losses, round by round. The data are waveforms,
one class against the other two. Of the labels "positive" 35% are wrong, and of the labels "negative" 45%. All models
have the same settings. The built-in objective learns the noise. The sigmoid loss learns it too, but later. With the
barrier hinge loss every round grows a tree on the same slopes but on different rows and columns, and nothing that was
learned is lost. The right panel is all that one could see without clean labels: the AUC on noisy labels that were held
out. It tells when to stop, because it is an increasing function of the clean AUC (corollary 2).
"""

import sys
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
import torch
from lightgbm import LGBMClassifier

import symloss as sl

PI, PI_PRIME = 0.65, 0.45
ROUNDS = np.union1d(np.geomspace(1, 300, 25).astype(int), [30])
OBJECTIVES = {
    "built-in binary": "binary",
    "sigmoid, AUC risk": sl.boosting.lightgbm_objective("sigmoid", risk="auc"),
    "barrier hinge, AUC risk": sl.boosting.lightgbm_objective("barrier_hinge", risk="auc"),
}


def main(target: Path | None) -> None:
    torch.set_num_threads(1)
    drawn = sl.datasets.make_waveform(30_000, random_state=0)
    X, y, X_test, y_test = sl.contaminated_split(
        drawn.data.astype(float), drawn.target, pi=PI, pi_prime=PI_PRIME, n_positive=2000, n_negative=2000,
        n_test=4000, random_state=0,
    )  # fmt: skip
    held = np.random.default_rng(0).random(len(y)) < 0.5

    figure, panels = plt.subplots(1, 2, figsize=(9, 4), layout="constrained")
    print("AUC on clean labels after 30 and 300 rounds, and after the round that is best on noisy labels")
    for name, objective in OBJECTIVES.items():
        model = LGBMClassifier(
            objective=objective, n_estimators=int(ROUNDS[-1]), subsample=0.5, subsample_freq=1, colsample_bytree=0.5,
            n_jobs=1, random_state=0, verbose=-1,
        ).fit(X[~held], y[~held])  # fmt: skip
        clean, noisy = (
            np.array([sl.metrics.auc(model.predict(points, raw_score=True, num_iteration=k), labels) for k in ROUNDS])
            for points, labels in ((X_test, y_test), (X[held], y[held]))
        )
        chosen = int(np.argmax(noisy))
        at_30 = clean[np.searchsorted(ROUNDS, 30)]
        print(f"  {name:<24} {at_30:.3f}  {clean[-1]:.3f}  {clean[chosen]:.3f} (round {ROUNDS[chosen]})")
        for panel, scores in zip(panels, (clean, noisy), strict=True):
            (line,) = panel.plot(ROUNDS, scores, label=name)
            panel.plot(ROUNDS[chosen], scores[chosen], "o", color=line.get_color())
    panels[0].set(title="clean test labels", xlabel="rounds", ylabel="AUC", xscale="log")
    panels[1].set(title="noisy labels held out", xlabel="rounds", xscale="log")
    for panel in panels:
        panel.spines[["top", "right"]].set_visible(False)
    panels[0].legend(frameon=False, loc="lower left")
    if target:
        figure.savefig(target, dpi=120)


if __name__ == "__main__":
    main(Path(sys.argv[1]) if len(sys.argv) > 1 else None)
