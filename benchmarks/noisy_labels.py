"""Estimators against scikit-learn on the nine UCI data sets: clean AUC and balanced accuracy from noisy labels.

python benchmarks/noisy_labels.py --trials 2 --pi 0.65 --pi-prime 0.45 --out benchmarks/results
"""

import argparse
import csv
import time
from pathlib import Path

import numpy as np
import torch
from sklearn.ensemble import ExtraTreesClassifier, HistGradientBoostingClassifier, RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.neural_network import MLPClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import symloss as sl

DATASETS = ["spambase", "phoneme", "phishing", "waveform", "susy", "w8a", "adult", "twonorm", "mushroom"]


def competitors(seed):
    return {
        "AUCClassifierCV": sl.AUCClassifierCV(random_state=seed),
        "BERClassifierCV": sl.BERClassifierCV(random_state=seed),
        "BERClassifier linear": sl.BERClassifier(random_state=seed),
        "BERClassifier trees": sl.BERClassifier(model="trees", random_state=seed),
        "BERClassifier mlp": sl.BERClassifier(model="mlp", random_state=seed),
        "extra trees, leaf 20": ExtraTreesClassifier(min_samples_leaf=20, random_state=seed),
        "extra trees": ExtraTreesClassifier(random_state=seed),
        "random forest, leaf 20": RandomForestClassifier(min_samples_leaf=20, random_state=seed),
        "random forest": RandomForestClassifier(random_state=seed),
        "logistic regression": make_pipeline(StandardScaler(), LogisticRegression(max_iter=1000)),
        "gradient boosting": HistGradientBoostingClassifier(random_state=seed),
        "MLP, early stopping": make_pipeline(StandardScaler(), MLPClassifier(early_stopping=True, random_state=seed)),
    }


def draw(name, pi, pi_prime, seed):
    """1,000 + 1,000 training points and 1,000 to test on, or half of that where the data set is too small."""
    dataset = sl.datasets.load(name, download=False)
    X = dataset.data.astype(np.float64)
    for n in (1000, 500):
        try:
            return sl.contaminated_split(
                X, dataset.target, pi=pi, pi_prime=pi_prime, n_positive=n, n_negative=n, n_test=n, random_state=seed
            )
        except ValueError as error:
            problem = error
    raise problem


def measured(name, competitor, data):
    X, y, X_test, y_test = data
    start = time.perf_counter()
    competitor.fit(X, y)
    seconds = time.perf_counter() - start
    scores = (
        competitor.decision_function(X_test)
        if hasattr(competitor, "decision_function")
        else competitor.predict_proba(X_test)[:, 1] - 0.5
    )
    return name, 100 * sl.metrics.auc(scores, y_test), 100 * sl.metrics.balanced_accuracy(scores, y_test), seconds


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--trials", type=int, default=2)
    parser.add_argument("--pi", type=float, default=0.65)
    parser.add_argument("--pi-prime", type=float, default=0.45)
    parser.add_argument("--out", type=Path, help="folder for noisy_labels.csv")
    arguments = parser.parse_args()
    torch.set_num_threads(1)
    rows = []
    for trial in range(arguments.trials):
        for dataset in DATASETS:
            data = draw(dataset, arguments.pi, arguments.pi_prime, 1000 + trial)
            for name, competitor in competitors(trial).items():
                rows.append((dataset, trial, *measured(name, competitor, data)))
            print(dataset, trial, flush=True)
        summarise(rows)
    if arguments.out:
        arguments.out.mkdir(parents=True, exist_ok=True)
        with (arguments.out / "noisy_labels.csv").open("w", newline="") as file:
            writer = csv.writer(file)
            writer.writerow(["dataset", "trial", "competitor", "auc", "balanced_accuracy", "seconds"])
            writer.writerows([(*row[:3], *(f"{number:.2f}" for number in row[3:])) for row in rows])


def summarise(rows):
    print(f"{'':24}{'AUC':>8}{'BAC':>8}{'s':>8}   mean over data sets and trials")
    for name in dict.fromkeys(row[2] for row in rows):
        means = np.mean([row[3:] for row in rows if row[2] == name], 0)
        print(f"{name:24}{means[0]:8.2f}{means[1]:8.2f}{means[2]:8.2f}")


if __name__ == "__main__":
    main()
