"""Time rounds of LightGBM and XGBoost on a million rows: symloss's risks against the built-in binary objective.

    python benchmarks/boosting.py [--rows N] [--threads K ...] [--out FOLDER]

All objectives take their rounds in turn, on the same data and with the same number of threads. ``--out`` writes
boosting.csv and boosting.md: median seconds per round, and median ratios to the built-in objective in the same turn.
On one thread the seconds are CPU time, which other programs on the machine do not lengthen; on more threads they are
wall-clock time.
"""

import argparse
import csv
import platform
import statistics
import time
from pathlib import Path

import lightgbm
import numpy as np
import torch
import xgboost

import symloss as sl
from symloss.files import whole_file

BUILT_IN = "built-in"
OBJECTIVES = [("ber", "sigmoid"), ("ber", "barrier_hinge"), ("ber", "logistic"), ("auc", "sigmoid"),
              ("auc", "barrier_hinge"), ("auc", "ramp"), ("auc", "logistic")]  # fmt: skip
GOALS = {"ber": 1.5, "auc": 2.5}
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
        rounds[risk, loss] = lambda booster=booster, objective=objective: booster.update(fobj=objective)
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
        rounds[risk, loss] = taken_by(booster, sl.boosting.xgboost_objective(loss, risk))
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


def rows_of(threads, library, seconds):
    for name, times in seconds.items():
        risk, loss = ("", BUILT_IN) if name == BUILT_IN else name
        ratios = [own / peer for own, peer in zip(times, seconds[BUILT_IN], strict=True)]
        yield [threads, library, risk, loss, f"{statistics.median(times):.4f}", f"{statistics.median(ratios):.3f}"]


def markdown(rows, title):
    lines = [
        title,
        "",
        "| threads | library | risk | loss | seconds per round | relative to the built-in | goal, at most |",
    ]
    lines.append("|--:|---|---|---|--:|--:|--:|")
    for threads, library, risk, loss, seconds, ratio in rows:
        goal = f"{GOALS[risk]}" if risk else ""
        lines.append(
            f"| {threads} | {library} | {risk} | {loss} | {float(seconds):.3f} | {float(ratio):.2f} | {goal} |"
        )
    return "\n".join(lines) + "\n"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, default=1_000_000)
    parser.add_argument("--threads", type=int, nargs="+", default=[1, 2])
    parser.add_argument("--rounds", type=int, default=31)
    parser.add_argument("--out", type=Path)
    arguments = parser.parse_args()
    X, y = data(arguments.rows)
    rows = []
    for threads in arguments.threads:
        torch.set_num_threads(threads)
        clock = time.process_time if threads == 1 else time.perf_counter
        for library, start in (("LightGBM", lightgbm_rounds), ("XGBoost", xgboost_rounds)):
            rows += rows_of(threads, library, timed(start(X, y, threads), arguments.rounds, clock))
    title = (
        f"{arguments.rows:,} rows, {FEATURES} features ({platform.machine()}), medians of {arguments.rounds} rounds. "
        "Seconds are CPU time on one thread, and wall-clock time on more threads. "
        f"LightGBM {lightgbm.__version__}, XGBoost {xgboost.__version__}."
    )
    table = markdown(rows, title)
    print(table)
    if arguments.out:
        names = ["threads", "library", "risk", "loss", "seconds", "ratio"]
        with whole_file(arguments.out / "boosting.csv") as path, path.open("w", newline="") as file:
            csv.writer(file, lineterminator="\n").writerows([names, *rows])
        (arguments.out / "boosting.md").write_text(table)


if __name__ == "__main__":
    main()
