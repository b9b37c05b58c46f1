"""Choose the pool of the CV estimators, and how it is averaged, on the half of the data sets that is not reported.

SYMLOSS_DATA=FOLDER python benchmarks/pool.py --draws 2 --jobs 2 --out benchmarks/results

Every candidate, of the pool and of those that were left out of it, is scored once on folds of the noisy labels and once
on clean test labels. Pools and rules then combine the same scores. The draws differ from those of noisy_labels.py.
"""

import argparse
import os
from collections import defaultdict
from pathlib import Path

os.environ.setdefault("OMP_NUM_THREADS", "1")  # several processes run at once

import numpy as np
import torch
from joblib import Parallel, delayed
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import QuantileTransformer
from wild_datasets import CHOSEN_ON, load
from wild_noise import CONTAMINATIONS, points

import symloss as sl
from symloss.estimators.candidates import fit_together, raw_scores, score_together
from symloss.estimators.folds import split
from symloss.estimators.judging import AUC
from symloss.estimators.threshold import choose_threshold
from symloss.estimators.weighting import weights_of_average
from symloss.files import write_whole

NOISES = ("0.65/0.45", "0.8/0.3", "1/0")
FIRST_SEED = 9000


def further(seed):
    """Return candidates that were tried and are not in the pool."""
    common = {"threshold": 0.0, "random_state": seed}
    process = {"loss": "squared", "model": "gaussian_process", **common}
    quantiles = QuantileTransformer(n_quantiles=200, output_distribution="normal", random_state=seed)
    return [
        ("cells", sl.AUCClassifier(model="cells", n_estimators=100, **common)),
        ("linear, 20% pruned", sl.AUCClassifier(prune=0.2, **common)),
        ("linear, logistic, alpha 1", sl.AUCClassifier("logistic", alpha=1.0, **common)),
        ("kernel, gamma 0.3", sl.AUCClassifier("logistic", "kernel", gamma=0.3, alpha=0.005, **common)),
        (
            "trees, 10% pruned",
            sl.AUCClassifier(model="trees", prune=0.1, n_estimators=100, min_samples_leaf=5, **common),
        ),
        (
            "trees, 30% pruned",
            sl.AUCClassifier(model="trees", prune=0.3, n_estimators=100, min_samples_leaf=5, **common),
        ),
        ("Gaussian process, 20% pruned", sl.AUCClassifier(prune=0.2, **process)),
        ("Gaussian process, 30% pruned", sl.AUCClassifier(prune=0.3, **process)),
        ("linear, logistic, 20% pruned", sl.AUCClassifier("logistic", prune=0.2, alpha=0.03, **common)),
        ("Gaussian process on normal quantiles", make_pipeline(quantiles, sl.AUCClassifier(**process))),
    ]


def draw(dataset, noise, number):
    X, y = load(dataset)
    pi, pi_prime = CONTAMINATIONS[noise]
    n = points(dataset, noise, 1000)
    return sl.contaminated_split(
        X.astype(float), y, pi=pi, pi_prime=pi_prime, n_positive=n, n_negative=n, n_test=min(n, 1000),
        random_state=FIRST_SEED + number,
    )  # fmt: skip


def compare(dataset, noise, number):
    """Return the noise, and the clean AUC and balanced accuracy of every candidate and of every average."""
    torch.set_num_threads(1)
    X, y, X_test, y_test = draw(dataset, noise, number)
    positive, ones = y > 0, np.ones(len(y))
    pool = sl.estimators.default_candidates(sl.AUCClassifier, X, random_state=number)
    names, estimators = zip(*pool, *further(number), strict=True)
    folds = split(5, X, positive, ones, number)
    noisy = np.empty((len(names), len(y)))
    for train, test in folds:
        noisy[:, test] = [of.scores for of in score_together(estimators, X, positive, ones, train, test, False)]
    clean = np.array([raw_scores(fitted, X_test) for fitted in fit_together(estimators, X, positive, ones)])
    mean, scale = noisy.mean(1, keepdims=True), noisy.std(1, keepdims=True) + 1e-300
    noisy, clean = (noisy - mean) / scale, (clean - mean) / scale
    found = {name: scores(noisy[k], clean[k], positive, y_test) for k, name in enumerate(names)}
    inside = np.arange(len(names)) < len(pool)
    averages = {f"AVERAGE the pool, temperature {t:g}": (inside, t) for t in (0.0, 0.5, 0.7, 1.0, 1.4)}
    averages |= {f"AVERAGE without {n}": (inside & (np.arange(len(names)) != k), 0.7) for k, (n, _) in enumerate(pool)}
    averages |= {f"AVERAGE with {n}": (inside | (np.array(names) == n), 0.7) for n in names[len(pool) :]}
    for name, (members, temperature) in averages.items():
        weights = weights_of(noisy[members], positive, folds, temperature)
        found[name] = scores(weights @ noisy[members], weights @ clean[members], positive, y_test)
    return noise, found


def weights_of(noisy, positive, folds, temperature):
    ((score, contributions),) = AUC.weighed_by
    rows = np.concatenate([test for _, test in folds])
    means, parts = [], []
    for of in noisy:
        held_out = [(of[test], positive[test], np.ones(len(test))) for _, test in folds]
        means.append(np.mean([score(*fold) for fold in held_out]))
        parts.append(np.concatenate([contributions(*fold) for fold in held_out]))
    return weights_of_average(np.array(means), np.array(parts), positive[rows], np.ones(len(rows)), temperature)


def scores(noisy, clean, positive, y_test):
    threshold = choose_threshold(noisy, positive, np.ones(len(noisy)))
    return 100 * sl.metrics.auc(clean, y_test), 100 * sl.metrics.balanced_accuracy(clean - threshold, y_test)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--draws", type=int, default=2)
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--out", type=Path)
    arguments = parser.parse_args()
    cells = [(dataset, noise, k) for k in range(arguments.draws) for noise in NOISES for dataset in CHOSEN_ON]
    found = defaultdict(lambda: defaultdict(list))
    runs = Parallel(arguments.jobs, return_as="generator_unordered")(delayed(compare)(*cell) for cell in cells)
    for number, (noise, by_name) in enumerate(runs, 1):
        for name, both in by_name.items():
            found[name][noise].append(both)
        print(f"{number} of {len(cells)}", flush=True)
    table = markdown(found, arguments.draws)
    print(table)
    if arguments.out:
        write_whole(arguments.out / "pool.md", table)


def markdown(found, draws):
    heads = " | ".join(f"AUC at {noise} | balanced accuracy" for noise in NOISES)
    lines = [
        f"| mean over {len(CHOSEN_ON)} data sets, {draws} draws each | {heads} |",
        "|---|" + "--:|" * 2 * len(NOISES),
    ]
    for name in sorted(found, key=lambda name: not name.startswith("AVERAGE")):
        means = [np.mean(found[name][noise], 0) for noise in NOISES]
        cells = " | ".join(f"{auc:.2f} | {accuracy:.2f}" for auc, accuracy in means)
        shown = name.removeprefix("AVERAGE ")
        lines.append(f"| {f'**{shown}**' if shown != name else name} | {cells} |")
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    main()
