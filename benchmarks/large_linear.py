"""Measure time and memory of fitting a linear ranker to a million rows: the AUC risk of all pairs, to the optimum.

python benchmarks/large_linear.py --rows 1000000 --features 100 --out benchmarks/results
"""

import argparse
import resource
import time
from pathlib import Path

import numpy as np
import torch

import symloss as sl


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, default=1_000_000)
    parser.add_argument("--features", type=int, default=100)
    parser.add_argument("--out", type=Path)
    arguments = parser.parse_args()
    torch.set_num_threads(1)
    generator = np.random.default_rng(0)
    y = generator.random(arguments.rows) < 0.5
    X = generator.normal(size=(arguments.rows, arguments.features))
    X[:, :10] += 0.3 * y[:, None]
    noisy = np.where(generator.random(arguments.rows) < 0.3, ~y, y)
    own = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
    lines = [
        f"| {arguments.rows:,} rows × {arguments.features} features, AUC risk "
        "| seconds | seconds, with the choice of a threshold | clean AUC |",
        "|---|--:|--:|--:|",
    ]
    for loss in ("unhinged", "logistic", "barrier_hinge"):
        alpha = 1.0 if loss == "barrier_hinge" else 1e-3
        row = f"| `AUCClassifier({loss!r}, alpha={alpha:g})` |"
        for threshold in (0.0, "auto"):
            start = time.perf_counter()
            model = sl.AUCClassifier(loss, alpha=alpha, threshold=threshold, random_state=0).fit(X, noisy)
            row += f" {time.perf_counter() - start:.0f} |"
        lines.append(f"{row} {sl.metrics.auc(model.decision_function(X), y):.3f} |")
        print(lines[-1], flush=True)
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
    lines += ["", f"Peak memory is {peak:.1f} GiB, of which data and imports take {own:.1f} GiB.", ""]
    print("\n".join(lines))
    if arguments.out:
        (arguments.out / "large_linear.md").write_text("\n".join(lines))


if __name__ == "__main__":
    main()
