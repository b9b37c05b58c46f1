"""Draw noisy labels of many kinds, and measure how well the shares of wrong labels are told.

    python -m benchmarks.noise_shares draw TABLES/chosen chosen.csv [--jobs 8]      # TABLES: see tables.py
    python -m benchmarks.noise_shares reference chosen.csv                          # writes symloss/audit/reference.npz
    python -m benchmarks.noise_shares draw TABLES/reported reported.csv [--jobs 8]
    python -m benchmarks.noise_shares draw PEOPLE people.csv                        # PEOPLE: see people.py
    python -m benchmarks.noise_shares measure reported.csv people.csv [--out benchmarks/results/noise_shares.md]

A draw is a part of a table with noisy labels, and scores of ``AUCClassifierCV`` out of fold. Its lines hold the curve
of these scores, as ``symloss.audit.noise.curve`` describes it, for either label, and the share of it that is wrong.
``draw`` adds to its file, and goes on where it was stopped. Nothing of the reported tables or of people's labels is in
the reference.
"""

import argparse
import csv
import os
import warnings
from pathlib import Path
from typing import Any

os.environ.setdefault("OMP_NUM_THREADS", "1")  # several processes run at once

import numpy as np
import pandas as pd
from joblib import Parallel, delayed
from numpy.typing import NDArray
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import cross_val_predict
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer, StandardScaler
from sklearn.tree import DecisionTreeClassifier

import symloss as sl
from symloss.audit import noise
from symloss.metrics.scores import two_samples

KINDS = ("clean", "flips", "border", "region", "one class", "flips", "border", "region", "one rule", "one rule")
SIZES = (100, 200, 400, 800, 1500, 2500)
Labels = NDArray[np.bool_]


def corrupted(kind: str, x: NDArray[np.float64], y: Labels, rng: np.random.Generator) -> Labels:
    """Give noisy labels."""
    if kind == "clean":
        return y.copy()
    if kind == "one rule":  # that somebody made up, by columns that the table has, or has roughly; it makes all labels
        few = np.concatenate([rng.choice(np.flatnonzero(y == side), rng.integers(20, 200)) for side in (True, False)])
        found = []
        for _ in range(4):
            seen = x[:, rng.choice(x.shape[1], min(int(rng.integers(1, 5)), x.shape[1]), replace=False)]
            seen = seen + rng.choice([0, 0.3, 1.0]) * seen.std(0) * rng.normal(size=seen.shape)
            tree = DecisionTreeClassifier(max_leaf_nodes=int(rng.integers(2, 6)), random_state=0).fit(seen[few], y[few])
            found.append(np.asarray(tree.predict(seen), bool))
        return max(found, key=lambda given: given[y].mean() - given[~y].mean())
    if kind == "flips":
        rate = np.where(y, rng.uniform(0, 0.4), rng.uniform(0, 0.4))
    elif kind == "one class":
        rate = np.where(y == (rng.random() < 0.5), rng.uniform(0.05, 0.5), 0)
    elif kind == "border":  # of a logistic regression on columns and their squares that has not seen the row
        line = make_pipeline(
            StandardScaler(), FunctionTransformer(lambda z: np.hstack([z, z**2])), LogisticRegression(max_iter=300)
        )
        distance = np.abs(cross_val_predict(line, x, y, cv=5, method="decision_function"))
        rate = np.exp(-distance / np.median(distance) * rng.uniform(0.5, 2))
        for side in (True, False):
            rate[y == side] *= rng.uniform(0.02, 0.35) / rate[y == side].mean()
    else:  # a rule that is wrong for some kinds of rows: leaves of a random tree, in both classes or in one
        columns = rng.choice(x.shape[1], min(3, x.shape[1]), replace=False)
        seed = int(rng.integers(2**31))
        tree = DecisionTreeClassifier(max_leaf_nodes=6, max_features=1, splitter="random", random_state=seed)
        leaf = tree.fit(x[:, columns], y).apply(x[:, columns])
        of_leaf = {k: rng.uniform(0.2, 0.9) if rng.random() < 0.3 else rng.uniform(0, 0.05) for k in np.unique(leaf)}
        rate = np.array([of_leaf[k] for k in leaf])
        side = rng.integers(3)
        rate = rate if side == 2 else np.where(y == side, rate, 0.02)
    return np.where(rng.random(len(y)) < np.clip(rate, 0, 0.9), ~y, y)


def lines_of(path: Path, number: int) -> list[list[Any]]:
    """Give the two lines of a draw, one for either label, or none if there are too few rows."""
    with np.load(path) as arrays:
        x, y = arrays["X"].astype(np.float64), arrays["y"].astype(bool)
        people = arrays["given"].astype(bool) if "given" in arrays else None
    rng = np.random.default_rng([number, *path.stem.encode()])
    kept = rng.permutation(len(y))[: int(rng.choice(SIZES))]
    x, y = x[kept], y[kept]
    made = "rules" if path.stem.startswith(("hausa", "yoruba")) else "people"
    kind = KINDS[number % len(KINDS)] if people is None else made
    if min(y.sum(), (~y).sum()) < 20:
        return []
    given = corrupted(kind, x, y, rng) if people is None else people[kept]
    if min(given.sum(), (~given).sum()) < 20:
        return []
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # models that have not converged
        scores = sl.AUCClassifierCV(random_state=number).fit(x, given).oof_scores_
    found = []
    for own, sign in ((given, 1), (~given, -1)):
        curve = noise.curve(*two_samples(sign * scores, own, None))
        found.append([path.stem, number, kind, sign, len(y), (y != given)[own].mean(), *curve.round(3)])
    return found


def draw(options: argparse.Namespace) -> None:
    done = set(map(tuple, pd.read_csv(options.out)[["table", "number"]].values)) if options.out.exists() else set()
    paths = sorted(options.tables.glob("*.npz"))
    todo = [(path, k) for k in range(options.draws) for path in paths if (path.stem, k) not in done]
    runs = Parallel(options.jobs, return_as="generator_unordered")(delayed(lines_of)(*each) for each in todo)
    for count, lines in enumerate(runs, 1):
        with options.out.open("a", newline="") as file:
            writer = csv.writer(file, lineterminator="\n")
            if file.tell() == 0 and lines:
                places = [f"c{k}" for k in range(len(lines[0]) - 6)]
                writer.writerow(["table", "number", "kind", "side", "rows", "wrong", *places])
            writer.writerows(lines)
        print(f"{count} of {len(todo)}", flush=True)


def reference(options: argparse.Namespace) -> None:
    draws = pd.read_csv(options.draws)
    curves, wrong = draws.filter(regex=r"^c\d+$").to_numpy(np.float16), draws["wrong"].to_numpy(np.float16)
    target = Path(noise.__file__).with_name(noise.REFERENCE)
    np.savez_compressed(target, curves=curves, wrong=wrong)
    print(f"{target.name}: {len(draws):,} labels of {draws['table'].nunique()} tables, {target.stat().st_size:,} bytes")


def measure(options: argparse.Namespace) -> None:
    """Print coverage of the 90% intervals, their width, and the error of the estimates."""
    draws = pd.concat([pd.read_csv(path) for path in options.draws])
    low, middle, high = noise._Draws.reference().quantiles(draws.filter(regex=r"^c\d+$").to_numpy()).T
    told = draws.assign(
        held=(low <= draws["wrong"] + 5e-4) & (draws["wrong"] <= high + 5e-4),
        width=high - low,
        error=np.abs(middle - draws["wrong"]),
    )
    lines = [
        "| labels | draws | wrong, mean | interval holds | median width | mean absolute error |",
        "|---|--:|--:|--:|--:|--:|",
    ]
    usual = ["flips", "border", "people", "rules"]
    together = [
        (", ".join(usual), told[told["kind"].isin(usual)]),
        ("all that we drew", told[told["kind"].isin(KINDS)]),
    ]
    for name, part in [*told.groupby("kind"), *together]:
        numbers = (part["wrong"].mean(), part["held"].mean(), part["width"].median(), part["error"].mean())
        lines.append(f"| {name} | {len(part) // 2:,} | " + " | ".join(f"{value:.3f}" for value in numbers) + " |")
    print("\n".join(lines))
    if options.out:
        options.out.write_text("\n".join(lines) + "\n")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    commands = parser.add_subparsers(dest="command", required=True)
    drawing = commands.add_parser("draw")
    drawing.add_argument("tables", type=Path, help="folder of NAME.npz")
    drawing.add_argument("out", type=Path)
    drawing.add_argument("--draws", type=int, default=len(KINDS), help="of a table")
    drawing.add_argument("--jobs", type=int, default=1)
    commands.add_parser("reference").add_argument("draws", type=Path)
    measuring = commands.add_parser("measure")
    measuring.add_argument("draws", type=Path, nargs="+")
    measuring.add_argument("--out", type=Path)
    options = parser.parse_args()
    {"draw": draw, "reference": reference, "measure": measure}[options.command](options)


if __name__ == "__main__":
    main()
