"""Measure weights on real tables with drawn noise: ``python -m pretraining.measure TABLES WEIGHTS.npz ...``.

TABLES is a folder of files ``NAME.npz`` with `X` (rows, features) and `y` (0 or 1), as ``benchmarks/tables.py`` writes
them. Each table is given wrong labels in three ways, and the network answers for clean rows that it has not seen.
"""

import argparse
import csv
from collections.abc import Iterator
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from pretraining.learner import InContextClassifier

NOISES = {"(.65, .45)": (0.65, 0.45), "(.8, .3)": (0.8, 0.3), "clean": (1.0, 0.0)}


def draw(
    rng: np.random.Generator, x: NDArray[np.float32], y: NDArray[np.bool_], pi: float, pi_prime: float, size: int
) -> tuple[NDArray[np.float32], NDArray[np.bool_], NDArray[np.bool_], NDArray[np.float32], NDArray[np.bool_]]:
    """Draw `size` rows labeled positive, of which a share `pi` is, as many labeled negative, and questions."""
    positive, negative = rng.permutation(np.flatnonzero(y)), rng.permutation(np.flatnonzero(~y))
    asked = min(500, len(positive) // 3, len(negative) // 3)
    questions = np.concatenate([positive[:asked], negative[:asked]])
    positive, negative = positive[asked:], negative[asked:]
    size = int(min(size, len(positive) / (pi + pi_prime), len(negative) / (2 - pi - pi_prime)))
    first, second = round(size * pi), round(size * pi_prime)
    rows = np.concatenate(
        [positive[:first], negative[: size - first], positive[first : first + second],
         negative[size - first : 2 * size - first - second]]
    )  # fmt: skip
    given = np.arange(len(rows)) < size
    return x[rows], given, y[rows], x[questions], y[questions]


def area(score: NDArray[np.floating], y: NDArray[np.bool_]) -> float:
    """Area under the ROC curve."""
    order, count = score.argsort(), y.sum()
    return float((np.flatnonzero(y[order]).sum() - count * (count - 1) / 2) / (count * (~y).sum()))


def measure(weights: Path, folder: Path, size: int, views: int, jobs: int) -> Iterator[dict[str, float | str]]:
    """One row a table and noise."""
    for file in sorted(folder.glob("*.npz")):
        with np.load(file) as arrays:
            x, y = arrays["X"].astype(np.float32), arrays["y"].astype(bool)
        for name, (pi, pi_prime) in NOISES.items():
            train, given, clean, asked, truth = draw(np.random.default_rng(0), x, y, pi, pi_prime, size)
            learner = InContextClassifier(views, n_jobs=jobs, random_state=0, weights=str(weights)).fit(train, given)
            new, noise, wrong = learner.decision_function(asked), learner.noise_, given != clean
            shares = np.array([wrong[given].mean(), wrong[~given].mean()])
            low, middle, high = np.array(
                [[1 - noise.pi_high, noise.pi_prime_low], [1 - noise.pi, noise.pi_prime],
                 [1 - noise.pi_low, noise.pi_prime_high]]
            )  # fmt: skip
            yield {
                "table": file.stem,
                "noise": name,
                "auc": 100 * area(new, truth),
                "balanced_accuracy": 50 * ((new[truth] > 0).mean() + (new[~truth] <= 0).mean()),
                "wrong_found": 100 * area(-learner.label_quality_, wrong) if wrong.any() else np.nan,
                "share_error": float(np.abs(middle - shares).mean()),
                "covered": float(((low <= shares) & (shares <= high)).mean()),
            }


def summary(rows: list[dict[str, float | str]]) -> str:
    """Means over tables, a line a noise."""
    lines = []
    for name in NOISES:
        chosen = [row for row in rows if row["noise"] == name]
        keys = [key for key in chosen[0] if key not in ("table", "noise") and not np.isnan(chosen[0][key])]
        means = {key: np.mean([row[key] for row in chosen]) for key in keys}
        lines.append(
            f"{name:11}" + "  ".join(f"{key} {value:.3f}" for key, value in means.items()) + f"  {len(chosen)} tables"
        )
    return "\n".join(lines)


def main() -> None:
    """Parse the command line, measure, print."""
    parser = argparse.ArgumentParser(prog="python -m pretraining.measure", description=__doc__.splitlines()[0])
    parser.add_argument("tables", type=Path, help="folder of NAME.npz with X and y")
    parser.add_argument("weights", type=Path, nargs="+", help="files NAME.npz that training or export has written")
    parser.add_argument("--size", type=int, default=1000, help="rows of either given label, where there are enough")
    parser.add_argument("--views", type=int, default=4, help="orders of columns and signs of the label")
    parser.add_argument("--jobs", type=int, default=1, help="views at a time")
    parser.add_argument("--out", type=Path, help="a CSV file of all tables")
    options = parser.parse_args()
    every = []
    for weights in options.weights:
        rows = list(measure(weights, options.tables, options.size, options.views, options.jobs))
        print(f"{weights}\n{summary(rows)}", flush=True)
        every += [{"weights": weights.stem, **row} for row in rows]
    if options.out:
        with options.out.open("w", newline="") as file:
            writer = csv.DictWriter(file, list(every[0]))
            writer.writeheader()
            writer.writerows(every)


if __name__ == "__main__":
    main()
