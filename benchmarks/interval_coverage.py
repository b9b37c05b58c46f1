"""Simulate how often the 95% intervals for clean AUC and balanced accuracy contain the true value."""

import math
from statistics import NormalDist

import numpy as np

from symloss import metrics

RUNS = 1500
# The distance between the means of two normal classes, (pi, pi'), and the sizes of the corrupted classes.
SETTINGS = [
    (1.0, (0.8, 0.3), (300, 300)),
    (1.0, (0.65, 0.45), (500, 500)),
    (2.5, (1.0, 0.0), (60, 60)),
    (0.5, (0.9, 0.2), (50, 400)),
    (2.0, (1.0, 0.0), (200, 12)),
    (2.0, (1.0, 0.0), (200, 5)),
    (3.0, (1.0, 0.0), (1000, 10)),
]


def main() -> None:
    rng = np.random.default_rng(3)
    estimators = {
        "AUC": (metrics.estimate_clean_auc, math.sqrt(2)),
        "balanced accuracy": (metrics.estimate_clean_balanced_accuracy, 2.0),
    }
    for shift, (pi, pi_prime), sizes in SETTINGS:
        y = np.repeat([1, -1], sizes)
        covered = dict.fromkeys(estimators, 0)
        for _ in range(RUNS):
            clean = np.where(rng.random(len(y)) < np.where(y == 1, pi, pi_prime), 1, -1)
            scores = clean * shift / 2 + rng.normal(size=len(y))
            for name, (estimate, spread) in estimators.items():
                result = estimate(scores, y, pi, pi_prime)
                covered[name] += result.low <= NormalDist().cdf(shift / spread) <= result.high
        shares = ", ".join(f"{name} {count / RUNS:.3f}" for name, count in covered.items())
        print(f"shift {shift}, (pi, pi') = ({pi}, {pi_prime}), sizes {sizes}: {shares}")


if __name__ == "__main__":
    main()
