"""Measure seconds, memory and clean AUC from 5,000 rows on, one core, beside what people would pick.

    taskset -c 0 python -m benchmarks.seconds [--sizes 5000x20 20000x20 50000x20 200000x20]
    taskset -c 0 python -m benchmarks.seconds --images DATA --sizes 5000x100 5000x465 50000x100 50000x465

The table is synthetic; 35% of the positive and 25% of the negative labels are flipped. With ``--images`` it is
CIFAR-10N: even classes against odd ones, by the labels of the least careful of three people, of which 16% ("even") and
20% are wrong; DATA is that of ``people.py``, columns are drawn at random, and the test images have true labels. Every
fit is a process of its own; imports are not timed. Seconds are those of the processor. LightGBM is tuned by AUC on
folds of the noisy labels, of at most 50,000 rows. Prints Markdown.
"""

import argparse
import multiprocessing
import os
import resource
import time
from pathlib import Path
from typing import Any

os.environ.setdefault("OMP_NUM_THREADS", "1")

METHODS = ("symloss", "forest", "forest, leaves of 20", "tuned LightGBM")
TUNED_ON = 50_000  # rows


def synthetic(rows: int, columns: int) -> tuple[Any, ...]:
    """Draw a table and its noisy labels; columns and clean labels of 20,000 new rows."""
    import numpy as np
    from sklearn.datasets import make_classification

    options = {"n_informative": 10, "n_clusters_per_class": 4, "class_sep": 0.8, "flip_y": 0, "random_state": 0}
    x, y = make_classification(rows + 20_000, columns, **options)
    wrong = np.random.default_rng(0).random(rows) < np.where(y[:rows], 0.35, 0.25)
    return x[:rows], y[:rows] ^ wrong, x[rows:], y[rows:]


def images(data: Path, rows: int, columns: int) -> tuple[Any, ...]:
    """Give the same of images that people labeled; test images are new."""
    import numpy as np

    from benchmarks.people import colors, gradients

    files = [
        data / "cifar-10-batches-bin" / f"{name}.bin"
        for name in (*map("data_batch_{}".format, range(1, 6)), "test_batch")
    ]
    pixels = np.concatenate([np.fromfile(file, np.uint8) for file in files]).reshape(-1, 3073)
    even, rng = pixels[:, 0] % 2 == 0, np.random.default_rng(0)
    given = np.load(data / "cifar10n.npz")["worse_label"] % 2 == 0
    kept = np.concatenate([rng.permutation(50_000)[:rows], np.arange(50_000, 60_000)])
    parts = [pixels[part, 1:].reshape(-1, 3, 32, 32) for part in np.array_split(kept, 10)]
    x = np.concatenate([np.concatenate([gradients(part), colors(part)], 1) for part in parts])
    x = x[:, rng.permutation(x.shape[1])[:columns]]
    return x[:rows], given[kept[:rows]], x[rows:], even[50_000:]


def fitted(method: str, rows: int, columns: int, data: Path | None) -> tuple[float, float, float]:
    """Fit one method: seconds, GiB at the peak, and AUC in percent on clean labels."""
    from lightgbm import LGBMClassifier
    from sklearn.ensemble import RandomForestClassifier
    from sklearn.metrics import roc_auc_score
    from sklearn.model_selection import GridSearchCV

    import symloss as sl
    from benchmarks.noisy_labels import scores_of

    x, given, x_new, y_new = images(data, rows, columns) if data else synthetic(rows, columns)
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
    return seconds, memory, 100 * roc_auc_score(y_new, scores)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sizes", nargs="+", default=["5000x20", "20000x20", "50000x20", "200000x20"])
    parser.add_argument("--images", type=Path, help="folder of images that people labeled")
    parser.add_argument("--methods", default=";".join(METHODS), help="separated by semicolons")
    options = parser.parse_args()
    print("| rows x columns | method | seconds | GiB | AUC on clean labels |\n|---|---|--:|--:|--:|")
    for size in options.sizes:
        rows, columns = map(int, size.split("x"))
        for method in options.methods.split(";"):
            with multiprocessing.get_context("spawn").Pool(1) as pool:
                seconds, memory, auc = pool.apply(fitted, (method, rows, columns, options.images))
            print(f"| {rows:,} x {columns} | {method} | {seconds:.1f} | {memory:.1f} | {auc:.1f} |", flush=True)


if __name__ == "__main__":
    main()
