"""Compare how well wrong labels are found: by the CV estimators and by cleanlab, on tables of which labels are flipped.

    python -m benchmarks.wrong_labels run TABLES/new      [--jobs 8]     # TABLES: see tables.py
    python -m benchmarks.wrong_labels page

Every method ranks the labels of 2,000 rows, the most suspicious first; average precision judges the ranking. Labels
that symloss suggests to change are judged by their precision and recall. A run that was stopped goes on. After a
change of symloss, ``--again`` runs it anew, and keeps the results of the others.
"""

import argparse
import csv
import os
import warnings
from itertools import product
from pathlib import Path
from typing import Any

os.environ.setdefault("OMP_NUM_THREADS", "1")  # several processes run at once

import numpy as np
import pandas as pd
from joblib import Parallel, delayed
from numpy.typing import NDArray
from sklearn.ensemble import HistGradientBoostingClassifier, RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import average_precision_score
from sklearn.model_selection import cross_val_predict
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import symloss as sl

RESULTS = Path(__file__).parent / "results" / "wrong_labels.csv"
COLUMNS = ["table", "noise", "rate", "draw", "method", "average_precision", "precision", "recall"]
RATES = (0.05, 0.15, 0.3)
NOISES = ("anywhere", "near the border")
PEERS: dict[str, Any] = {
    "random forest": RandomForestClassifier(300, min_samples_leaf=5, random_state=0),
    "boosting": HistGradientBoostingClassifier(random_state=0),
    "logistic regression": make_pipeline(StandardScaler(), LogisticRegression(max_iter=1000)),
}
OURS = "symloss"
METHODS = [OURS, *(f"cleanlab, {name}" for name in PEERS)]


def flipped(x: NDArray[np.float32], y: NDArray[np.bool_], noise: str, rate: float, seed: int) -> NDArray[np.bool_]:
    """Tell which labels to flip: anywhere, or mostly near the border of a logistic regression that has not seen it."""
    rng = np.random.default_rng([seed, round(100 * rate)])
    keys = rng.gumbel(size=len(y))
    if noise == "near the border":
        distance = np.abs(cross_val_predict(PEERS["logistic regression"], x, y, cv=5, method="decision_function"))
        keys -= distance / np.median(distance)
    return keys.argsort().argsort() >= len(y) - round(rate * len(y))


def run_one(path: Path, noise: str, rate: float, number: int, names: list[str]) -> list[list[Any]]:
    """Let some methods look for the wrong labels of one draw."""
    from cleanlab.filter import find_label_issues
    from cleanlab.rank import get_label_quality_scores

    with np.load(path) as arrays:
        rows = np.random.default_rng(number).permutation(len(arrays["y"]))[:2000]
        x, y = arrays["X"][rows], arrays["y"][rows].astype(bool)
    wrong = flipped(x, y, noise, rate, number)
    given = (y ^ wrong).astype(int)
    lines = []
    for name in names:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # models that have not converged
            if name == OURS:
                quality = np.asarray(sl.AUCClassifierCV(random_state=number).fit(x, given).label_quality_)
                suggested = quality < 0.5
            else:
                model = PEERS[name.removeprefix("cleanlab, ")]
                probability = cross_val_predict(model, x, given, cv=5, method="predict_proba")
                quality = get_label_quality_scores(given, probability)
                suggested = find_label_issues(given, probability, n_jobs=1)
        precision = wrong[suggested].mean() if suggested.any() else np.nan
        numbers = (average_precision_score(wrong, -quality), precision, suggested[wrong].mean())
        lines.append([path.stem, noise, rate, number, name, *(f"{100 * value:.1f}" for value in numbers)])
    return lines


def page(results: pd.DataFrame) -> str:
    """Write means over tables and draws as Markdown."""
    means = results.groupby(["noise", "rate", "method"])[COLUMNS[5:]].mean()
    lines = [
        "| wrong labels | method | average precision | precision of suggestions | recall |",
        "|---|---|--:|--:|--:|",
    ]
    for (noise, rate, method), row in means.iterrows():
        lines.append(f"| {rate:.0%} {noise} | {method} | " + " | ".join(f"{value:.1f}" for value in row) + " |")
    return "\n".join(lines) + "\n"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    commands = parser.add_subparsers(dest="command", required=True)
    running = commands.add_parser("run")
    running.add_argument("tables", type=Path)
    running.add_argument("--draws", type=int, default=1)
    running.add_argument("--jobs", type=int, default=1)
    running.add_argument("--again", action="store_true", help="first remove the results of symloss")
    commands.add_parser("page")
    options = parser.parse_args()
    if options.command == "page":
        print(page(pd.read_csv(RESULTS)), end="")
        return
    if not RESULTS.exists():
        RESULTS.write_text(",".join(COLUMNS) + "\n")
    if options.again:
        kept = pd.read_csv(RESULTS, dtype=str)
        kept[kept["method"] != OURS].to_csv(RESULTS, index=False)
    done = set(pd.read_csv(RESULTS)[COLUMNS[:5]].itertuples(index=False, name=None))
    todo = []
    paths = sorted(options.tables.glob("*.npz"))
    for path, noise, rate, number in product(paths, NOISES, RATES, range(options.draws)):
        missing = [name for name in METHODS if (path.stem, noise, rate, number, name) not in done]
        if missing:
            todo.append(delayed(run_one)(path, noise, rate, number, missing))
    for count, lines in enumerate(Parallel(options.jobs, return_as="generator_unordered", batch_size=1)(todo), 1):
        with RESULTS.open("a", newline="") as file:
            csv.writer(file, lineterminator="\n").writerows(lines)
        print(f"{count} of {len(todo)}", *(f"{line[4]} {line[5]}" for line in lines), flush=True)


if __name__ == "__main__":
    main()
