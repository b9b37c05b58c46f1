"""Score candidates beside a pool that the CV estimators once had, on the nine data sets that it was chosen on.

SYMLOSS_DATA=FOLDER python benchmarks/screening.py --scores SCORES --jobs 2
python benchmarks/screening_tables.py --scores SCORES --out benchmarks/results

Every candidate is fitted to each of five folds of noisy labels and to all points. A file of SCORES has the held-out
scores, and those of clean test points, of one draw: any pool or rule can be judged by them. If you stop the first
command and start it again, it continues. It takes about two hours of one core.
"""

import argparse
import os
from pathlib import Path

os.environ.setdefault("OMP_NUM_THREADS", "1")  # several processes run at once

import numpy as np
import screening_candidates as candidates
import torch
from joblib import Parallel, delayed
from sklearn.ensemble import ExtraTreesClassifier
from wild_noise import draw

import symloss as sl
from symloss.estimators.base import TrainingData
from symloss.estimators.folds import split
from symloss.estimators.repetitions import merge_with_folds
from symloss.files import whole_file

DATASETS = ("adult", "clusters", "hastie", "mushroom", "phishing", "segment", "splice", "texture", "w8a")
DRAWS = {"0.65/0.45": 4, "0.8/0.3": 4, "1/0": 1}
PEERS = (20, 5)  # leaves of extra trees


def all_scores(X, positive, weight, Z, seed):
    """Return scores of Z by every candidate."""
    points = candidates.Split(X, positive, weight, Z, seed)
    found = candidates.pool(points)
    for of_kind in candidates.KINDS.values():
        found |= of_kind(points)
    return found


def run(dataset, noise, number, path):
    """Score one draw as the CV estimators would: equal points are merged inside the folds."""
    torch.set_num_threads(1)
    X, y, X_test, y_test = draw(dataset, 1000, noise, number)
    ones, positive = np.ones(len(y)), y > 0
    seed = sl.AUCClassifierCV(random_state=number)._seed()
    (*merged, _), folds = merge_with_folds(TrainingData(X, positive, ones), split(5, X, positive, ones, seed))
    points, positives, weight = merged
    fold, held_out = np.empty(len(weight), np.int8), {}
    for k, (train, test) in enumerate(folds):
        fold[test] = k
        for name, scores in all_scores(points[train], positives[train], weight[train], points[test], seed).items():
            held_out.setdefault(name, np.empty(len(weight)))[test] = scores
    tested = all_scores(points, positives, weight, X_test, seed)
    peers = [
        ExtraTreesClassifier(300, min_samples_leaf=leaf, random_state=seed % 2**31)
        .fit(X, y)
        .predict_proba(X_test)[:, 1]
        for leaf in PEERS
    ]
    with whole_file(path) as part:
        np.savez_compressed(
            part, names=list(tested), noisy=np.array([held_out[name] for name in tested], np.float32),
            clean=np.array(list(tested.values()), np.float32), peers=np.array(peers, np.float32),
            positive=positives, weight=weight, fold=fold, y_test=y_test > 0,
        )  # fmt: skip


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--scores", type=Path, required=True)
    parser.add_argument("--jobs", type=int, default=1)
    arguments = parser.parse_args()
    arguments.scores.mkdir(parents=True, exist_ok=True)
    cells = {
        arguments.scores / f"{dataset}-{noise.replace('/', '_')}-{number}.npz": (dataset, noise, number)
        for noise, draws in DRAWS.items()
        for number in range(draws)
        for dataset in DATASETS
    }
    missing = {path: cell for path, cell in cells.items() if not path.exists()}
    runs = Parallel(arguments.jobs, return_as="generator_unordered")(
        delayed(run)(*cell, path) for path, cell in missing.items()
    )
    for number, _ in enumerate(runs, 1):
        print(f"{number} of {len(missing)}", flush=True)


if __name__ == "__main__":
    main()
