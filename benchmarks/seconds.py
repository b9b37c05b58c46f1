"""Measure seconds, memory and clean AUC from 2,000 to a million rows, one core, beside what people would pick.

    taskset -c 0 python -m benchmarks.seconds [--sizes 2000x36 20000x20 200000x20 1000000x20] [--jobs 1]

The table is synthetic, 30% of the labels are flipped at random. Every fit is a process of its own; imports are not
timed. Seconds are those of the processor. The tuned grid is that of ``noisy_labels.py``, without its support vector
machines above 10,000 rows. Prints Markdown.
"""

import argparse
import multiprocessing
import os
import resource
import time
from typing import Any

os.environ.setdefault("OMP_NUM_THREADS", "1")

METHODS = ("symloss", "tuned grid", "forest, leaves of 20", "LightGBM")


def fitted(method: str, rows: int, columns: int, jobs: int) -> tuple[float, float, float]:
    """Fit one method: seconds, GiB at the peak, and AUC in percent on clean labels."""
    import numpy as np
    from lightgbm import LGBMClassifier
    from sklearn.datasets import make_classification
    from sklearn.ensemble import ExtraTreesClassifier
    from sklearn.metrics import roc_auc_score

    import symloss as sl
    from benchmarks.noisy_labels import Tuned, grid, scores_of

    options = {"n_informative": 10, "n_redundant": 4, "n_clusters_per_class": 4, "flip_y": 0, "random_state": 0}
    x, y = make_classification(rows + 20_000, columns, **options)
    given = y[:rows] ^ (np.random.default_rng(0).random(rows) < 0.3)
    model: Any = {
        "symloss": sl.AUCClassifierCV(random_state=0, n_jobs=jobs),
        "tuned grid": Tuned(grid(0)[: 14 if rows <= 10_000 else -3]),
        "forest, leaves of 20": ExtraTreesClassifier(300, min_samples_leaf=20, random_state=0, n_jobs=jobs),
        "LightGBM": LGBMClassifier(random_state=0, verbose=-1, n_jobs=jobs),
    }[method]
    start = time.process_time()
    model.fit(x[:rows], given)
    seconds = time.process_time() - start
    scores = scores_of(model, x[rows:])
    memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
    return seconds, memory, 100 * roc_auc_score(y[rows:], scores)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sizes", nargs="+", default=["2000x36", "20000x20", "200000x20", "1000000x20"])
    parser.add_argument("--methods", default=";".join(METHODS), help="separated by semicolons")
    parser.add_argument("--jobs", type=int, default=1)
    options = parser.parse_args()
    print("| rows x columns | method | seconds | GiB | AUC on clean labels |\n|---|---|--:|--:|--:|")
    for size in options.sizes:
        rows, columns = map(int, size.split("x"))
        for method in options.methods.split(";"):
            with multiprocessing.get_context("spawn").Pool(1) as pool:
                seconds, memory, auc = pool.apply(fitted, (method, rows, columns, options.jobs))
            print(f"| {rows:,} x {columns} | {method} | {seconds:.1f} | {memory:.1f} | {auc:.1f} |", flush=True)


if __name__ == "__main__":
    main()
