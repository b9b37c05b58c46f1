"""Measure seconds, memory and clean AUC from 5,000 rows on, one core, beside what people would pick.

    taskset -c 0 python -m benchmarks.seconds [--sizes 5000x20 20000x20 50000x20 200000x20]

The table is synthetic; 35% of the positive and 25% of the negative labels are flipped. Every fit is a process of its
own; imports are not timed. Seconds are those of the processor. LightGBM is tuned by AUC on folds of the noisy labels,
of at most 50,000 rows. Prints Markdown.
"""

import argparse
import multiprocessing
import os
import resource
import time
from typing import Any

os.environ.setdefault("OMP_NUM_THREADS", "1")

METHODS = ("symloss", "forest", "forest, leaves of 20", "tuned LightGBM")
TUNED_ON = 50_000  # rows


def fitted(method: str, rows: int, columns: int) -> tuple[float, float, float]:
    """Fit one method: seconds, GiB at the peak, and AUC in percent on clean labels."""
    import numpy as np
    from lightgbm import LGBMClassifier
    from sklearn.datasets import make_classification
    from sklearn.ensemble import RandomForestClassifier
    from sklearn.metrics import roc_auc_score
    from sklearn.model_selection import GridSearchCV

    import symloss as sl
    from benchmarks.noisy_labels import scores_of

    options = {"n_informative": 10, "n_clusters_per_class": 4, "class_sep": 0.8, "flip_y": 0, "random_state": 0}
    x, y = make_classification(rows + 20_000, columns, **options)
    wrong = np.random.default_rng(0).random(rows) < np.where(y[:rows], 0.35, 0.25)
    x, x_new, given = x[:rows], x[rows:], y[:rows] ^ wrong
    boosting = LGBMClassifier(n_estimators=300, random_state=0, verbose=-1, n_jobs=1)
    grid = {"num_leaves": [7, 31, 127], "learning_rate": [0.03, 0.1], "min_child_samples": [20, 100]}
    model: Any = {
        "symloss": sl.AUCClassifierCV(random_state=0),
        "forest": RandomForestClassifier(100, random_state=0),
        "forest, leaves of 20": RandomForestClassifier(100, min_samples_leaf=20, random_state=0),
        "tuned LightGBM": boosting,
    }[method]
    start = time.process_time()
    if model is boosting:
        tuned = GridSearchCV(boosting, grid, scoring="roc_auc", cv=3, refit=False)
        model.set_params(**tuned.fit(x[:TUNED_ON], given[:TUNED_ON]).best_params_)
    model.fit(x, given)
    seconds = time.process_time() - start
    scores = scores_of(model, x_new)
    memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
    return seconds, memory, 100 * roc_auc_score(y[rows:], scores)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sizes", nargs="+", default=["5000x20", "20000x20", "50000x20", "200000x20"])
    parser.add_argument("--methods", default=";".join(METHODS), help="separated by semicolons")
    options = parser.parse_args()
    print("| rows x columns | method | seconds | GiB | AUC on clean labels |\n|---|---|--:|--:|--:|")
    for size in options.sizes:
        rows, columns = map(int, size.split("x"))
        for method in options.methods.split(";"):
            with multiprocessing.get_context("spawn").Pool(1) as pool:
                seconds, memory, auc = pool.apply(fitted, (method, rows, columns))
            print(f"| {rows:,} x {columns} | {method} | {seconds:.1f} | {memory:.1f} | {auc:.1f} |", flush=True)


if __name__ == "__main__":
    main()
