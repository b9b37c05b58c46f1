"""Boosting on the nine UCI and LIBSVM data sets: symloss's risks against the built-in objective, at equal settings.

python benchmarks/boosting_noisy_labels.py --trials 3 --jobs 2 --out benchmarks/results

Every draw has 1,000 points per corrupted class (500 if the data set is too small). A fifth of the noisy points is
held out. Their noisy labels choose the threshold of every model, and their AUC chooses the round at which models that
stop early stop. Scores are on clean test labels. Finished draws are kept in boosting_noisy_labels.csv: run the script
again to continue.
"""

import argparse
import csv
import os
from collections import defaultdict
from pathlib import Path

os.environ.setdefault("OMP_NUM_THREADS", "1")  # several processes run at once

import lightgbm
import numpy as np
import torch
import xgboost
from joblib import Parallel, delayed
from sklearn.model_selection import train_test_split

import symloss as sl
from symloss.estimators.threshold import choose_threshold
from symloss.files import whole_file, write_whole

DATASETS = ["spambase", "phoneme", "phishing", "waveform", "susy", "w8a", "adult", "twonorm", "mushroom"]
NOISES = [(0.65, 0.45), (1.0, 0.0)]
OBJECTIVES = [None, ("auc", "sigmoid"), ("auc", "barrier_hinge"), ("auc", "logistic"), ("ber", "sigmoid"),
              ("ber", "barrier_hinge")]  # fmt: skip
SETTINGS = {
    "all rows and columns": {},
    "half of rows and columns": {"subsample": 0.5, "colsample_bytree": 0.5},
    "half of rows and columns, stopped early": {"subsample": 0.5, "colsample_bytree": 0.5},
}
SHAPE = {"n_estimators": 100, "learning_rate": 0.1, "max_depth": 6, "n_jobs": 1}
PATIENCE = 20
FIELDS = ["dataset", "pi", "pi_prime", "trial", "library", "settings", "objective", "auc", "balanced_accuracy"]


def draw(name, pi, pi_prime, seed):
    """Return points with corrupted labels to train on, and points with clean labels to test on."""
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


def by_lightgbm(objective, setting, stop, seed, X, y, X_held, y_held):
    """Fit a model, and return a function from points to raw scores."""
    setting = {**setting, "subsample_freq": 1} if "subsample" in setting else setting
    model = lightgbm.LGBMClassifier(
        objective=sl.boosting.lightgbm_objective(objective[1], objective[0]) if objective else "binary",
        metric="None", verbose=-1, random_state=seed, **SHAPE, **setting,
    )  # fmt: skip
    if stop:
        model.set_params(n_estimators=3 * SHAPE["n_estimators"])
        watch = {"eval_X": X_held, "eval_y": y_held, "eval_metric": sl.boosting.lightgbm_metric("auc")}
        model.fit(X, y, **watch, callbacks=[lightgbm.early_stopping(PATIENCE, verbose=False)])
    else:
        model.fit(X, y)
    return lambda points: model.predict(points, raw_score=True)


def by_xgboost(objective, setting, stop, seed, X, y, X_held, y_held):
    model = xgboost.XGBClassifier(
        objective=sl.boosting.xgboost_objective(objective[1], objective[0]) if objective else "binary:logistic",
        random_state=seed, **SHAPE, **setting,
    )  # fmt: skip
    if stop:
        model.set_params(
            n_estimators=3 * SHAPE["n_estimators"], early_stopping_rounds=PATIENCE,
            eval_metric=sl.boosting.xgboost_metric("auc"),
        ).fit(X, y, eval_set=[(X_held, y_held)], verbose=False)  # fmt: skip
    else:
        model.fit(X, y)
    return lambda points: model.predict(points, output_margin=True)


LIBRARIES = {"LightGBM": by_lightgbm, "XGBoost": by_xgboost}


def compare(dataset, noise, trial):
    """Return one row per library, setting and objective, all fitted to the same points."""
    torch.set_num_threads(1)
    X, y, X_test, y_test = draw(dataset, *noise, 1000 + trial)
    X, X_held, y, y_held = train_test_split(X, (y > 0).astype(int), test_size=0.2, stratify=y, random_state=trial)
    rows = []
    for library, fit in LIBRARIES.items():
        for name, setting in SETTINGS.items():
            for objective in OBJECTIVES:
                scores = fit(objective, setting, "stopped" in name, trial, X, y, X_held, y_held)
                threshold = choose_threshold(scores(X_held).astype(float), y_held == 1, np.ones(len(y_held)))
                found = scores(X_test)
                auc, accuracy = (
                    sl.metrics.auc(found, y_test),
                    sl.metrics.balanced_accuracy(found, y_test, threshold=threshold),
                )
                label = f"{objective[1]}, {objective[0]}" if objective else "built-in"
                cell = [dataset, *map(str, noise), str(trial), library, name, label]
                rows.append([*cell, f"{100 * auc:.2f}", f"{100 * accuracy:.2f}"])
    return rows


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--trials", type=int, default=3)
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--datasets", default=",".join(DATASETS))
    parser.add_argument("--out", type=Path, default=Path("benchmarks/results"))
    arguments = parser.parse_args()
    path = arguments.out / "boosting_noisy_labels.csv"
    rows = list(csv.reader(path.open()))[1:] if path.exists() else []
    done = {tuple(row[:4]) for row in rows}
    cells = [
        (dataset, noise, trial)
        for noise in NOISES
        for trial in range(arguments.trials)
        for dataset in arguments.datasets.split(",")
        if (dataset, *map(str, noise), str(trial)) not in done
    ]
    tasks = (delayed(compare)(*cell) for cell in cells)
    for finished, found in enumerate(Parallel(arguments.jobs, return_as="generator_unordered")(tasks), 1):
        rows += found
        with whole_file(path) as part, part.open("w", newline="") as file:
            ordered = sorted(rows, key=lambda row: (row[3], row[1], row[0]))
            csv.writer(file, lineterminator="\n").writerows([FIELDS, *ordered])
        print(f"{finished} of {len(cells)}: {', '.join(found[0][:4])}", flush=True)
    table = markdown(rows)
    write_whole(arguments.out / "boosting_noisy_labels.md", table)
    print(table)


def markdown(rows):
    """Return one table per noise level, library and settings: means over data sets, standard errors over trials."""
    lines = []
    for noise in NOISES:
        for library in LIBRARIES:
            for setting in SETTINGS:
                cells = [row for row in rows if row[1:3] == [*map(str, noise)] and row[4:6] == [library, setting]]
                lines += block(f"### {library}, {setting}, (π, π′) = {noise}", cells)
    return "\n".join(lines)


def block(title, cells):
    scores = defaultdict(dict)
    for dataset, _, _, trial, _, _, objective, *numbers in cells:
        scores[objective][trial, dataset] = np.array(numbers, float)
    trials = sorted({trial for trial, _ in scores["built-in"]})
    sets = len({dataset for _, dataset in scores["built-in"]})
    head = (
        "| objective | AUC | AUC minus the built-in's | balanced accuracy | minus the built-in's "
        "| data sets with a higher AUC |"
    )
    lines = [f"{title}: {sets} data sets, {len(trials)} trials", "", head, "|---|--:|--:|--:|--:|--:|"]
    for objective, of in scores.items():
        means = np.mean(list(of.values()), 0)
        by_trial = np.array(
            [np.mean([of[key] - scores["built-in"][key] for key in of if key[0] == trial], 0) for trial in trials]
        )
        error = by_trial.std(0, ddof=1) / np.sqrt(len(trials)) if len(trials) > 1 else np.full(2, np.nan)
        lead = [f"{mean:+.2f} ± {deviation:.2f}" for mean, deviation in zip(by_trial.mean(0), error, strict=True)]
        ahead = sum(
            np.mean([of[key][0] - scores["built-in"][key][0] for key in of if key[1] == dataset]) > 0
            for dataset in {dataset for _, dataset in of}
        )
        if objective == "built-in":
            lead, ahead = ["", ""], ""
        lines.append(f"| {objective} | {means[0]:.2f} | {lead[0]} | {means[1]:.2f} | {lead[1]} | {ahead} |")
    return [*lines, ""]


if __name__ == "__main__":
    main()
