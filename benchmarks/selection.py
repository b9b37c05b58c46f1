"""How often the model that is best on corrupted labels is also best on clean ones: simulated, and from theory.

python benchmarks/selection.py --out benchmarks/results --figure docs/images/selection.svg

The models are five fixed linear rankers of two Gaussian classes. A corrupted AUC is (pi - pi') * clean AUC + constant
(corollary 2). Its estimate on n + n points is normal for large n, and its covariance follows from what each point
contributes. So theory gives the chance of choosing the best ranker without drawing a validation set.
"""

import argparse
import csv
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
from scipy.stats import norm

import symloss as sl
from symloss.estimators.standard_errors import auc_contributions

ANGLES = np.deg2rad([0.0, 20.0, 30.0, 40.0, 60.0])  # angles to the best direction
SHIFT = 0.8
NOISES = [(1.0, 0.0), (0.8, 0.3), (0.7, 0.4), (0.65, 0.45)]
SIZES = [100, 200, 500, 1000, 2000, 5000]


def draw(n, share, generator):
    """Return the scores (5, n) of n points, each of which is positive with this probability."""
    y = np.where(generator.random(n) < share, 1.0, -1.0)
    along, across = generator.normal(size=(2, n))
    return np.cos(ANGLES)[:, None] * (along + SHIFT * y) + np.sin(ANGLES)[:, None] * across


def corrupted(n, pi, pi_prime, generator):
    scores = np.hstack([draw(n, pi, generator), draw(n, pi_prime, generator)])
    return scores, np.arange(2 * n) < n


def observed(n, pi, pi_prime, repetitions, generator):
    """Return how often ranker 0, the best one on clean labels, has the largest corrupted AUC."""
    hits = 0
    for _ in range(repetitions):
        scores, positive = corrupted(n, pi, pi_prime, generator)
        hits += int(np.argmax([sl.metrics.auc(of, positive) for of in scores]) == 0)
    return hits / repetitions


def predicted(n, pi, pi_prime, generator, population=100_000, draws=200_000):
    """Return the same by normal theory: means by corollary 2, covariances from what each point contributes."""
    clean = norm.cdf(np.sqrt(2) * SHIFT * np.cos(ANGLES))
    scores, positive = corrupted(population, pi, pi_prime, generator)
    parts = np.array([auc_contributions(of, positive, np.ones(2 * population)) for of in scores])
    covariance = (np.cov(parts[:, positive]) + np.cov(parts[:, ~positive])) / n
    estimates = generator.multivariate_normal((pi - pi_prime) * clean, covariance, draws)
    return float(np.mean(np.argmax(estimates, 1) == 0))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--repetitions", type=int, default=1000)
    parser.add_argument("--out", type=Path)
    parser.add_argument("--figure", type=Path)
    arguments = parser.parse_args()
    rows = []
    generator = np.random.default_rng(0)
    print("   pi  pi'      n  observed  theory      z")
    for noise in NOISES:
        for n in SIZES:
            found, expected = observed(n, *noise, arguments.repetitions, generator), predicted(n, *noise, generator)
            z = (found - expected) / np.sqrt(max(expected * (1 - expected), 1e-9) / arguments.repetitions)
            rows.append([*noise, n, found, expected, z])
            print(f"{noise[0]:5} {noise[1]:4} {n:6} {found:9.3f} {expected:7.3f} {z:6.2f}", flush=True)
    if arguments.out:
        with (arguments.out / "selection.csv").open("w", newline="") as file:
            writer = csv.writer(file)
            writer.writerow(["pi", "pi_prime", "n", "observed", "theory", "z"])
            writer.writerows([[*row[:3], f"{row[3]:.4f}", f"{row[4]:.4f}", f"{row[5]:.2f}"] for row in rows])
    if arguments.figure:
        figure, panel = plt.subplots(figsize=(6, 4), layout="constrained")
        for noise, color in zip(NOISES, plt.colormaps["viridis"](np.linspace(0, 0.85, 4)), strict=True):
            of = np.array([row[2:] for row in rows if tuple(row[:2]) == noise])
            panel.plot(of[:, 0], of[:, 2], color=color, label=f"(π, π′) = {noise}, theory")
            panel.plot(of[:, 0], of[:, 1], "o", color=color, label="observed" if noise == NOISES[-1] else None)
        panel.set(xscale="log", xlabel="corrupted points a class", ylabel="share of clean-best picks", ylim=(0.2, 1.02))
        panel.spines[["top", "right"]].set_visible(False)
        panel.legend(frameon=False)
        figure.savefig(arguments.figure)


if __name__ == "__main__":
    main()
