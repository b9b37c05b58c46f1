"""Time rounds of LightGBM and XGBoost on a million rows: symloss's risks against the built-in binary objective.

    python benchmarks/boosting.py [--rows N] [--threads K ...] > benchmarks/results/boosting.md

All objectives take their rounds in turn, on the same data and with the same number of threads.
"""

import argparse
import platform
import time

import lightgbm
import numpy as np
import pandas as pd
import torch
import xgboost

import symloss as sl

BUILT_IN = "built-in"
OBJECTIVES = [("ber", "sigmoid"), ("ber", "barrier_hinge"), ("ber", "logistic"), ("auc", "sigmoid"),
              ("auc", "barrier_hinge"), ("auc", "ramp"), ("auc", "logistic")]  # fmt: skip
FEATURES = 28


def data(rows):
    generator = np.random.default_rng(0)
    X = generator.normal(size=(rows, FEATURES)).astype(np.float32)
    clean = X[:, :4].sum(1) + X[:, 4] * X[:, 5] > 0
    return X, np.where(generator.random(rows) < 0.3, ~clean, clean).astype(np.float32)


def lightgbm_rounds(X, y, threads):
    """Return one function per objective; each call of it runs the next round."""
    settings = {"num_threads": threads, "verbose": -1}
    dataset = lightgbm.Dataset(X, y, params=settings).construct()
    rounds = {BUILT_IN: lightgbm.Booster({**settings, "objective": "binary"}, dataset).update}
    for risk, loss in OBJECTIVES:
        booster = lightgbm.Booster({**settings, "objective": "none"}, dataset)
        objective = sl.boosting.lightgbm_objective(loss, risk)
        rounds[f"{risk}, {loss}"] = lambda booster=booster, objective=objective: booster.update(fobj=objective)
    return rounds


def xgboost_rounds(X, y, threads):
    settings = {"nthread": threads, "tree_method": "hist"}
    matrix = xgboost.QuantileDMatrix(X, y, nthread=threads)

    def taken_by(booster, objective):
        count = iter(range(10**6))
        return lambda: booster.update(matrix, next(count), fobj=objective)

    rounds = {BUILT_IN: taken_by(xgboost.Booster({**settings, "objective": "binary:logistic"}, [matrix]), None)}
    for risk, loss in OBJECTIVES:
        booster = xgboost.Booster({**settings, "base_score": 0}, [matrix])
        rounds[f"{risk}, {loss}"] = taken_by(booster, sl.boosting.xgboost_objective(loss, risk))
    return rounds


def timed(rounds, count, clock):
    """Return the seconds of every round of every objective, without the first two rounds, which warm up."""
    seconds = {name: [] for name in rounds}
    for attempt in range(count + 2):
        for name, take in rounds.items():
            start = clock()
            take()
            if attempt >= 2:
                seconds[name].append(clock() - start)
    return seconds


def medians(threads, library, seconds):
    """Return a line a name: median seconds of a round, and the median ratio to the built-in objective in its turn."""
    table = pd.DataFrame(seconds)
    found = pd.DataFrame({"seconds": table.median(), "ratio": table.div(table[BUILT_IN], axis=0).median()})
    return found.rename_axis("objective").assign(threads=threads, library=library).reset_index()


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, default=1_000_000)
    parser.add_argument("--threads", type=int, nargs="+", default=[1, 2])
    parser.add_argument("--rounds", type=int, default=31)
    arguments = parser.parse_args()
    X, y = data(arguments.rows)
    found = []
    for threads in arguments.threads:
        torch.set_num_threads(threads)
        clock = time.process_time if threads == 1 else time.perf_counter
        for library, start in (("LightGBM", lightgbm_rounds), ("XGBoost", xgboost_rounds)):
            found.append(medians(threads, library, timed(start(X, y, threads), arguments.rounds, clock)))
    print(
        f"{arguments.rows:,} rows, {FEATURES} features ({platform.machine()}), medians of {arguments.rounds} rounds. "
        "Seconds are CPU time on one thread, and wall-clock time on more threads. "
        f"LightGBM {lightgbm.__version__}, XGBoost {xgboost.__version__}.\n\n"
        "| threads | library | objective | seconds per round | relative to the built-in |\n|--:|---|---|--:|--:|"
    )
    for line in pd.concat(found).itertuples():
        print(f"| {line.threads} | {line.library} | {line.objective} | {line.seconds:.3f} | {line.ratio:.2f} |")


if __name__ == "__main__":
    main()
