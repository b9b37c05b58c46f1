"""Print what each candidate of the default pool brings: what is lost if it is left out, then one after the other.

python benchmarks/pool.py TABLES RUNS --out benchmarks/results/pool.md

TABLES is the folder that tables.py makes; its tables to choose on are used. Every candidate is scored once on folds of
the noisy labels, and once on clean labels of other rows; RUNS keeps these scores, a file for each table and noise, and
what is there is not computed again. Pools then combine the same scores, as AUCClassifierCV does.
"""

import argparse
import os
from pathlib import Path

os.environ.setdefault("OMP_NUM_THREADS", "1")  # several processes run at once

import numpy as np
from joblib import Parallel, delayed
from tables import draw

import symloss as sl
from symloss.estimators.folds import split
from symloss.estimators.scoring import auc_contributions, fit_curve, weights_of_average
from symloss.estimators.search import fit, fit_and_score, raw_scores
from symloss.models.family import TrainingData

NOISES = ("35% and 45% wrong", "20% and 30% wrong", "clean")
TEMPERATURE = 0.7


def run(path, noise, runs):
    """Score all candidates of the pool on one table with one noise, unless that has been done."""
    file = runs / f"{path.stem}__{noise.replace(' ', '_').replace('%', '')}.npz"
    if file.exists():
        return
    table = np.load(path)
    drawn = draw((table["X"], table["y"]), noise, 1000, 500)
    if drawn is None:
        return
    X, given, ones = drawn.x.astype(float), drawn.given, np.ones(len(drawn.given))
    names, candidates = zip(*sl.estimators.default_candidates(sl.AUCClassifier, X, random_state=0), strict=True)
    noisy, fold = np.empty((len(names), len(given))), np.empty(len(given), int)
    for k, (train, test) in enumerate(split(5, X, given, ones, 0)):
        fold[test] = k
        noisy[:, test] = [fit_and_score(each, X, given, ones, train, test, False).scores for each in candidates]
    fits = [fit(each, TrainingData(X, given, ones)) for each in candidates]
    clean = np.array([raw_scores(each, drawn.x_new.astype(float)) for each in fits])
    part = file.with_suffix(".part.npz")
    np.savez(part, names=names, noisy=noisy, clean=clean, given=given, y_new=drawn.y_new, fold=fold)
    part.replace(file)


class Run:
    """The scores of all candidates on one table, and what their weights in an average follow from."""

    def __init__(self, file):
        found = np.load(file)
        self.names, self.noise, self.given, self.y_new = (
            found["names"],
            file.stem.partition("__")[2],
            found["given"],
            found["y_new"],
        )
        mean, scale = found["noisy"].mean(1, keepdims=True), found["noisy"].std(1, keepdims=True)
        scale[scale == 0] = 1.0
        self.noisy, self.clean = (found["noisy"] - mean) / scale, (found["clean"] - mean) / scale
        tests = [np.flatnonzero(found["fold"] == k) for k in np.unique(found["fold"])]
        self.rows = np.concatenate(tests)
        parts = [[(of[t], self.given[t], np.ones(len(t))) for t in tests] for of in self.noisy]
        self.means = np.array([np.mean([sl.metrics.auc(*part) for part in of]) for of in parts])
        self.contributions = np.array([np.concatenate([auc_contributions(*part) for part in of]) for of in parts])

    def score(self, pool):
        """Return clean AUC and balanced accuracy of the average of some candidates, in percent."""
        labels = self.given[self.rows], np.ones(len(self.rows))
        weights = weights_of_average(self.means[pool], self.contributions[pool], *labels, TEMPERATURE)
        clean, noisy = weights @ self.clean[pool], weights @ self.noisy[pool]
        threshold = fit_curve(noisy, self.given, np.ones(len(noisy)))[0]
        return 100 * sl.metrics.auc(clean, self.y_new), 100 * sl.metrics.balanced_accuracy(
            clean - threshold, self.y_new
        )


def scores(runs, pool, jobs):
    """Return the mean clean AUC and balanced accuracy of a pool for each noise."""
    found = np.array(Parallel(jobs)(delayed(each.score)(pool) for each in runs))
    noise = np.array([each.noise for each in runs])
    return np.array([found[noise == of].mean(0) for of in np.unique(noise)])


def row(name, values):
    """Return a row of a table in Markdown: the mean over noises, then each noise."""
    return f"| {name} | " + " | ".join(f"{auc:+.3f} | {ba:+.3f}" for auc, ba in [values.mean(0), *values]) + " |"


def tables(runs, jobs):
    """Return both tables in Markdown."""
    names, pool = runs[0].names, np.arange(len(runs[0].names))
    whole = scores(runs, pool, jobs)
    counts = dict(zip(*np.unique([each.noise for each in runs], return_counts=True), strict=True))
    heads = ["mean of noises", *(f"{noise.replace('_', ' ')} ({n} tables)" for noise, n in counts.items())]
    head = "| | " + " | ".join(f"{head}: AUC | balanced accuracy" for head in heads) + " |"
    start = [head, "|---|" + "--:|" * 2 * len(heads), row("the pool", whole).replace("+", "")]
    lines = ["What changes if one candidate is left out, in percent:", "", *start]
    lines += [row(f"without {name}", scores(runs, np.delete(pool, k), jobs) - whole) for k, name in enumerate(names)]
    lines += ["", "What changes if more and more are left out, each time the one that costs the least:", "", *start]
    while len(pool) > 3:
        changes = [scores(runs, np.delete(pool, k), jobs) - whole for k in range(len(pool))]
        least = int(np.argmax([change.mean() for change in changes]))
        lines.append(row(f"{len(pool) - 1}: without {names[pool[least]]}, too", changes[least]))
        pool = np.delete(pool, least)
    return "\n".join(lines) + "\n"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("tables", type=Path)
    parser.add_argument("runs", type=Path)
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--out", type=Path)
    options = parser.parse_args()
    options.runs.mkdir(parents=True, exist_ok=True)
    paths = sorted((options.tables / "chosen").glob("*.npz"))
    Parallel(options.jobs)(delayed(run)(path, noise, options.runs) for noise in NOISES for path in paths)
    files = [file for file in sorted(options.runs.glob("*.npz")) if ".part" not in file.name]
    text = tables(Parallel(options.jobs)(delayed(Run)(file) for file in files), options.jobs)
    print(text)
    if options.out:
        options.out.write_text(text)


if __name__ == "__main__":
    main()
