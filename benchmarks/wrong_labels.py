"""Compare how well wrong labels are found: by the CV estimators and by cleanlab, on labels of which a share is flipped.

SYMLOSS_DATA=FOLDER python benchmarks/wrong_labels.py --jobs 2
python benchmarks/wrong_labels.py --report

Every method ranks the labels of all points, the most suspicious first. The ranking is scored by its average precision,
and by the share of wrong labels among its first k, where k is the number of wrong labels. Finished rows are kept in
wrong_labels.csv: run the script again to continue. ``--half``, ``--datasets``, ``--noises``, ``--rates``, ``--draws``
and ``--methods`` run a part. ``--report`` writes the table from the rows that are there, and runs nothing. cleanlab has
to be installed.
"""

import argparse
import os
import sys
import time
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

os.environ.setdefault("OMP_NUM_THREADS", "1")  # several processes run at once

import numpy as np
import torch
from joblib import Parallel, delayed
from noisy_labels import HALVES, parts
from sklearn.ensemble import HistGradientBoostingClassifier, RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import average_precision_score
from sklearn.model_selection import cross_val_predict
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from wild_datasets import load
from wild_results import add_rows, read_rows

import symloss as sl
from symloss.files import write_whole

POINTS = 2000
DRAWS = (0, 1)
RATES = (0.05, 0.1, 0.2, 0.3, 0.4)  # the share of labels that are flipped
UNIFORM, BY_CLASS, NEAR_BORDER = "uniform", "by class", "near the border"
NOISES = (UNIFORM, BY_CLASS, NEAR_BORDER)
# The eighteen data sets, and the halves, that the committed results are of: in alphabetical order, in turn.
DATASETS = (
    "adult", "breast_cancer", "clusters", "digits", "hastie", "marketing", "mushroom", "penbased", "phishing",
    "phoneme", "segment", "spambase", "splice", "susy", "texture", "twonorm", "w8a", "waveform",
)  # fmt: skip
CHOSEN_ON, REPORTED_ON = DATASETS[::2], DATASETS[1::2]

FIRST_SEED = 40_000

Quality = np.ndarray  # of each label: low if it is probably wrong
Method = Callable[[np.ndarray, np.ndarray, int], dict[str, Quality]]


class Cell(NamedTuple):
    """What all methods look at in turn."""

    dataset: str
    noise: str
    rate: float
    draw: int


class Row(NamedTuple):
    """How well one method finds the wrong labels of one draw, in percent, and in how many seconds."""

    dataset: str
    noise: str
    rate: float
    draw: int
    method: str
    average_precision: float
    precision_at_k: float
    seconds: float

    @property
    def key(self) -> tuple[str, str, float, int, str]:
        """Return what identifies the row."""
        return self[:5]


def flipped(X: np.ndarray, y: np.ndarray, noise: str, rate: float, generator: np.random.Generator) -> np.ndarray:
    """Return which labels to flip: anywhere, three times as often in one class, or mostly near the border.

    The border is that of a logistic regression on clean labels; the distance of a point from it is by a model that has
    not seen the point. Points to flip are drawn with probabilities proportional to exp(-distance / median distance).
    """
    if noise == NEAR_BORDER:
        reference = make_pipeline(StandardScaler(), LogisticRegression(max_iter=1000))
        distance = np.abs(cross_val_predict(reference, X, y, cv=5, method="decision_function"))
        keys = generator.gumbel(size=len(y)) - distance / np.median(distance)
        flips = np.zeros(len(y), bool)
        flips[np.argsort(-keys)[: round(rate * len(y))]] = True
        return flips
    often = generator.integers(2) * 2 - 1  # the class whose labels are flipped more often
    rates = np.full(len(y), rate) if noise == UNIFORM else np.where(y == often, 1.5 * rate, 0.5 * rate)
    return generator.random(len(y)) < rates


def draw(cell: Cell) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return points, their noisy labels, and which of these are wrong."""
    seed = [FIRST_SEED, cell.draw, DATASETS.index(cell.dataset), NOISES.index(cell.noise), round(100 * cell.rate)]
    generator = np.random.default_rng(seed)
    X, y = load(cell.dataset)
    rows = generator.permutation(len(y))[:POINTS]
    X, y = np.asarray(X[rows], dtype=np.float64), y[rows]
    wrong = flipped(X, y, cell.noise, cell.rate, generator)
    return X, np.where(wrong, -y, y), wrong


def cleanlab_scores(name: str, y: np.ndarray, probability: np.ndarray) -> dict[str, Quality]:
    """Return cleanlab's qualities from the probabilities of the positive label, without and with its adjustment."""
    from cleanlab.rank import get_label_quality_scores

    labels, probabilities = (y > 0).astype(int), np.column_stack([1 - probability, probability])
    return {
        name: get_label_quality_scores(labels, probabilities),
        f"{name}, adjusted": get_label_quality_scores(labels, probabilities, adjust_pred_probs=True),
    }


def ours(kind: type) -> Method:
    def rank(X: np.ndarray, y: np.ndarray, seed: int) -> dict[str, Quality]:
        fitted = kind(random_state=seed).fit(X, y)
        probability = fitted.calibration_.probabilities(fitted.oof_scores_)
        return {kind.__name__: fitted.label_quality_} | cleanlab_scores(f"cleanlab on {kind.__name__}", y, probability)

    return rank


def cleanlab(name: str, classifier: Callable[[int], object]) -> Method:
    def rank(X: np.ndarray, y: np.ndarray, seed: int) -> dict[str, Quality]:
        found = cross_val_predict(classifier(seed), X, y, cv=5, method="predict_proba")[:, 1]
        return cleanlab_scores(name, y, found)

    return rank


OURS = ("AUCClassifierCV", "BERClassifierCV")
# Each gives the rankings of all methods that begin with its name.
METHODS: dict[str, Method] = {
    "AUCClassifierCV": ours(sl.AUCClassifierCV),
    "BERClassifierCV": ours(sl.BERClassifierCV),
    **{
        f"cleanlab {name}": cleanlab(f"cleanlab {name}", classifier)
        for name, classifier in {
            "random forest": lambda seed: RandomForestClassifier(random_state=seed),
            "random forest leaf 20": lambda seed: RandomForestClassifier(300, min_samples_leaf=20, random_state=seed),
            "HistGradientBoosting": lambda seed: HistGradientBoostingClassifier(random_state=seed),
            "logistic regression": lambda _: make_pipeline(StandardScaler(), LogisticRegression(max_iter=1000)),
        }.items()
    },
}


def run(cell: Cell, method: str) -> list[Row]:
    """Return the rows of one method in one draw, and of cleanlab on its probabilities."""
    torch.set_num_threads(1)
    X, y, wrong = draw(cell)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # models that have not converged
        start = time.perf_counter()
        found = METHODS[method](X, y, cell.draw)
        seconds = time.perf_counter() - start
    rows = []
    for name, quality in found.items():
        first = np.argsort(quality, kind="stable")[: wrong.sum()]
        precision = average_precision_score(wrong, -quality)
        rows.append(Row(*cell, name, 100 * precision, 100 * wrong[first].mean(), seconds))
    return rows


def table(rows: list[Row], score: str) -> str:
    """Return the means of a score over the cells that all methods have: a line per method, a column per rate."""
    methods = list(dict.fromkeys(row.method for row in sorted(rows, key=lambda row: (row.method in OURS, row.method))))
    found = {row.key: getattr(row, score) for row in rows}
    cells = {row.key[:4] for row in rows}
    complete = [cell for cell in cells if all((*cell, method) in found for method in methods)]
    rates = [rate for rate in RATES if any(cell[2] == rate for cell in complete)]
    means = {
        (method, rate): float(np.mean([found[*cell, method] for cell in complete if cell[2] == rate]))
        for method in methods
        for rate in rates
    }
    best = {rate: max(means[method, rate] for method in methods) for rate in rates}
    lines = [
        f"| {' | '.join(['labels flipped', *(f'{rate:.0%}' for rate in rates)])} |",
        "|---" + "|--:" * len(rates) + "|",
    ]
    for method in methods:
        numbers = (means[method, rate] for rate in rates)
        marked = (f"**{x:.1f}**" if x == best[rate] else f"{x:.1f}" for x, rate in zip(numbers, rates, strict=True))
        lines.append(f"| {' | '.join([f'`{method}`' if method in OURS else method, *marked])} |")
    return "\n".join(lines)


def write_report(path: Path, out: Path) -> None:
    """Write the tables of both halves, of all data sets, and of each noise."""
    rows = read_rows(path, Row)
    everywhere = [row for row in rows if row.method in {row.method for row in rows if row.dataset in CHOSEN_ON}]
    halves = {
        "the nine data sets that no choice was made on": [row for row in rows if row.dataset in REPORTED_ON],
        "the nine data sets that the rule was chosen on": [row for row in rows if row.dataset in CHOSEN_ON],
        "all data sets": everywhere,
    }
    sections = []
    for score, title in (("average_precision", "Average precision"), ("precision_at_k", "Precision at k")):
        for half, found in halves.items():
            sections.append(f"{title} in percent, {half}:\n\n{table(found, score)}\n")
    for noise in NOISES:
        chosen = [row for row in everywhere if row.noise == noise]
        sections.append(
            f"Average precision in percent, all data sets, flips {noise}:\n\n{table(chosen, 'average_precision')}\n"
        )
    write_whole(out / "wrong_labels.md", "\n".join(sections))


def main(words: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--half", choices=HALVES, default="both")
    parser.add_argument("--datasets", help="names, separated by commas; default: all of the half")
    parser.add_argument("--noises", default=",".join(NOISES))
    parser.add_argument("--rates", default=",".join(map(str, RATES)))
    parser.add_argument("--draws", default=",".join(map(str, DRAWS)))
    parser.add_argument("--methods", default=",".join(METHODS))
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--out", type=Path, default=Path("benchmarks/results"))
    parser.add_argument("--report", action="store_true", help="write the table, and run nothing")
    arguments = parser.parse_args(words)
    path = arguments.out / "wrong_labels.csv"
    if not arguments.report:
        half = HALVES[arguments.half]
        cells = [
            Cell(dataset, noise, float(rate), int(number))
            for number in parts(parser, arguments.draws, map(str, DRAWS))
            for rate in parts(parser, arguments.rates, map(str, RATES))
            for noise in parts(parser, arguments.noises, NOISES)
            for dataset in parts(parser, arguments.datasets or ",".join(half), half)
        ]
        methods = parts(parser, arguments.methods, METHODS)
        done = {row.key for row in read_rows(path, Row)}
        todo = [(cell, method) for cell in cells for method in methods if (*cell, method) not in done]
        found = Parallel(arguments.jobs, return_as="generator_unordered", batch_size=1)(
            delayed(run)(*task) for task in todo
        )
        for finished, new in enumerate(found, 1):
            add_rows(path, new, Row)
            print(f"{finished} of {len(todo)}: {', '.join(map(str, new[0].key))}: {new[0].seconds:.1f} s", flush=True)
    write_report(path, arguments.out)
    return 0


if __name__ == "__main__":
    sys.exit(main())
