"""Compare the CV estimators with other methods on many data sets: trained on noisy labels, scored on clean ones.

SYMLOSS_DATA=FOLDER python benchmarks/noisy_labels.py --jobs 2
python benchmarks/noisy_labels.py --report --figure docs/images/noisy_labels_by_dataset.svg

Finished rows are kept in noisy_labels.csv: run the script again to continue. After a change of a method, remove its
rows. ``--half``, ``--sizes``, ``--noises``, ``--draws``, ``--methods`` and ``--datasets`` run a part. All runs may
write into the same folder at the same time. ``--report`` writes the tables from the rows that are there, and runs
nothing. LightGBM and cleanlab have to be installed.
"""

import argparse
import os
import sys
import time
import warnings
from collections.abc import Callable, Iterable, Iterator
from importlib.util import find_spec
from pathlib import Path
from typing import Any, NamedTuple

os.environ.setdefault("OMP_NUM_THREADS", "1")  # several processes run at once

import torch
from joblib import Parallel, delayed
from noisy_labels_figure import draw_figure
from noisy_labels_tables import by_dataset, headline, overview
from sklearn.ensemble import ExtraTreesClassifier, HistGradientBoostingClassifier, RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.neural_network import MLPClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from wild_comparison import Results
from wild_datasets import CHOSEN_ON, DATASETS, REPORTED_ON
from wild_noise import NOISES, SIZES, SIZES_OF, draw, same_sizes
from wild_results import Row, add_rows, read_rows

import symloss as sl
from symloss.files import write_whole

DRAWS = (0, 1, 2, 3)
HALVES = {"chosen": CHOSEN_ON, "reported": REPORTED_ON, "both": DATASETS}
NEEDS = {"LightGBM": "lightgbm", "cleanlab": "cleanlab"}  # the first word of a method, and its package


class Cell(NamedTuple):
    """What all methods are fitted to in turn."""

    dataset: str
    size: int
    noise: str
    draw: int


def lightgbm(seed: int) -> Any:
    from lightgbm import LGBMClassifier

    return LGBMClassifier(random_state=seed, verbose=-1, n_jobs=1)


def cleanlab(classifier: Any, seed: int) -> Any:
    from cleanlab.classification import CleanLearning

    return CleanLearning(classifier, seed=seed, find_label_issues_kwargs={"n_jobs": 1})


def forest(kind: Any, leaf: int) -> Callable[[int], Any]:
    return lambda seed: kind(300, min_samples_leaf=leaf, random_state=seed)


OURS: dict[str, Callable[[int], Any]] = {
    "AUCClassifierCV": lambda seed: sl.AUCClassifierCV(random_state=seed),
    "BERClassifierCV": lambda seed: sl.BERClassifierCV(random_state=seed),
}
PEERS: dict[str, Callable[[int], Any]] = {
    **{f"extra trees leaf {leaf}": forest(ExtraTreesClassifier, leaf) for leaf in (1, 5, 20)},
    **{f"random forest leaf {leaf}": forest(RandomForestClassifier, leaf) for leaf in (1, 5, 20)},
    "HistGradientBoosting": lambda seed: HistGradientBoostingClassifier(random_state=seed),
    "LightGBM": lightgbm,
    "logistic regression": lambda _: make_pipeline(StandardScaler(), LogisticRegression(max_iter=1000)),
    "cleanlab random forest": lambda seed: cleanlab(RandomForestClassifier(random_state=seed), seed),
    "cleanlab random forest leaf 20": lambda seed: cleanlab(forest(RandomForestClassifier, 20)(seed), seed),
    "MLP early stopping": lambda seed: make_pipeline(
        StandardScaler(), MLPClassifier(early_stopping=True, random_state=seed)
    ),
}
METHODS = OURS | PEERS


def run(cell: Cell, names: list[str]) -> tuple[list[Row], list[str]]:
    """Fit some methods to the same points; return their rows, and a message for each method that failed."""
    torch.set_num_threads(1)
    X, y, X_test, y_test = draw(*cell)
    rows, failures = [], []
    for name in names:
        try:
            method = METHODS[name](cell.draw)
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")  # perceptrons that have not converged
                start = time.perf_counter()
                method.fit(X, (y > 0).astype(int))
                seconds = time.perf_counter() - start
                scores = scores_of(method, X_test)
        except Exception as error:  # the others go on, and the next run tries again
            failures.append(f"{name} failed at {', '.join(map(str, cell))}: {error!r}")
            continue
        auc, accuracy = sl.metrics.auc(scores, y_test), sl.metrics.balanced_accuracy(scores, y_test)
        sizes = same_sizes(cell.dataset, cell.noise, cell.size)
        rows += [Row(*cell._replace(size=size), name, 100 * auc, 100 * accuracy, seconds) for size in sizes]
    return rows, failures


def scores_of(method: Any, X: Any) -> Any:
    """Return scores that are positive where a method predicts the positive class."""
    if hasattr(method, "decision_function"):
        return method.decision_function(X)
    return method.predict_proba(X)[:, 1] - 0.5


def cells(datasets: Iterable[str], sizes: Iterable[int], noises: Iterable[str], draws: Iterable[int]) -> list[Cell]:
    """Return what there is to run, each draw once: a small data set has the same points at several sizes."""
    wanted = (
        Cell(dataset, same_sizes(dataset, noise, size)[0], noise, number)
        for number in draws
        for size in sizes
        for noise in noises
        for dataset in datasets
        if size in SIZES_OF[noise]
    )
    return list(dict.fromkeys(wanted))


def tasks(wanted: Iterable[Cell], methods: Iterable[str], done: set[Any]) -> Iterator[tuple[Cell, list[str]]]:
    """Yield what is not done yet: our methods, which take longest, one by one, and all others of a cell together."""
    for cell in wanted:
        missing = [name for name in methods if (*cell, name) not in done]
        alone = [[name] for name in missing if name in OURS]
        together = [name for name in missing if name not in OURS]
        yield from ((cell, names) for names in [*alone, together] if names)


def main(words: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--half", choices=HALVES, default="both")
    parser.add_argument("--datasets", help="names, separated by commas; default: all of the half")
    parser.add_argument("--sizes", default=",".join(map(str, SIZES)))
    parser.add_argument("--noises", default=",".join(NOISES))
    parser.add_argument("--draws", default=",".join(map(str, DRAWS)))
    parser.add_argument("--methods", default=",".join(METHODS))
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--out", type=Path, default=Path("benchmarks/results"))
    parser.add_argument("--report", action="store_true", help="write the tables, and run nothing")
    parser.add_argument("--figure", type=Path, help="draw the differences by data set into this file")
    arguments = parser.parse_args(words)
    path = arguments.out / "noisy_labels.csv"
    failures = 0
    if not arguments.report:
        half = HALVES[arguments.half]
        datasets = parts(parser, arguments.datasets or ",".join(half), half)
        sizes = map(int, parts(parser, arguments.sizes, map(str, SIZES)))
        noises = parts(parser, arguments.noises, NOISES)
        draws = map(int, parts(parser, arguments.draws, map(str, DRAWS)))
        methods = parts(parser, arguments.methods, METHODS)
        for method in methods:
            package = NEEDS.get(method.split()[0])
            if package and not find_spec(package):
                parser.error(f"{method} needs the package {package}: install it, or leave the method out by --methods")
        failures = run_all(path, cells(datasets, [*sizes], noises, [*draws]), methods, arguments.jobs)
    write_report(path, arguments.out, arguments.figure)
    return 1 if failures else 0


def parts(parser: argparse.ArgumentParser, text: str, known: Iterable[str]) -> list[str]:
    """Return the names in a text, separated by commas; an unknown one ends the program."""
    known = list(known)
    for name in text.split(","):
        if name not in known:
            parser.error(f"unknown: {name}; expected some of {', '.join(known)}")
    return text.split(",")


def run_all(path: Path, wanted: list[Cell], methods: list[str], jobs: int) -> int:
    """Run what the file does not have, add each result to the file, and return how many methods failed."""
    todo = list(tasks(wanted, methods, {row.key for row in read_rows(path)}))
    found = Parallel(jobs, return_as="generator_unordered", batch_size=1)(delayed(run)(*task) for task in todo)
    failed = 0
    for finished, (rows, failures) in enumerate(found, 1):
        add_rows(path, rows)
        failed += len(failures)
        print(*failures, sep="\n", end="\n" if failures else "", file=sys.stderr)
        for row in rows:
            print(f"{', '.join(map(str, row.key))}: {row.seconds:.1f} s", flush=True)
        print(f"{finished} of {len(todo)} tasks", flush=True)
    return failed


def write_report(path: Path, out: Path, figure: Path | None) -> None:
    results = Results(read_rows(path), list(METHODS), len(DRAWS))
    write_whole(out / "noisy_labels.md", overview(results))
    write_whole(out / "noisy_labels_headline.md", headline(results))
    write_whole(out / "noisy_labels_by_dataset.md", by_dataset(results))
    if figure:
        draw_figure(results, figure)


if __name__ == "__main__":
    sys.exit(main())
