"""Run the same experiments on one and two workers of loky, Dask and Ray: seconds, overhead per cell, bytes sent.

python benchmarks/machines.py --out benchmarks/results

Workers are processes of this machine, and have run a small task before the clock starts. The column ``load`` shows how
busy the machine was with everything that ran on it.
"""

import argparse
import csv
import os
import pickle
import tempfile
import time
from collections import defaultdict
from pathlib import Path

from symloss.machines import cluster
from symloss.paper.protocol import LOSSES
from symloss.paper.runner import run, uci_configurations
from symloss.paper.worker import Task, run_task


def sweep(backend, workers, trials):
    cells = uci_configurations(["twonorm", "waveform"], trials=trials)
    with tempfile.TemporaryDirectory() as name:
        folder, began = Path(name), time.perf_counter()
        with cluster(backend, jobs=workers):
            warm = uci_configurations(["twonorm"], [(0.9, 0.1 * k) for k in range(2 * workers)], trials=1)
            assert all(outcome.error is None for outcome in run(folder / "warm", warm, LOSSES[:1], ["auc"]))
            start, load = time.perf_counter(), os.getloadavg()[0]
            outcomes = list(run(folder / "cells", cells, LOSSES))
            seconds = time.perf_counter() - start
        assert all(outcome.error is None for outcome in outcomes)
        busy = sum(outcome.seconds for outcome in outcomes)
        return {
            "backend": backend,
            "workers": workers,
            "cells": len(cells),
            "start (s)": round(start - began, 1),
            "sweep (s)": round(seconds, 1),
            "in cells (s)": round(busy, 1),
            "workers busy (%)": round(100 * busy / (seconds * workers), 1),
            "load": round(load, 1),
        }


def cost_of_a_cell(trials=20):
    """Return the bytes that a cell sends to a worker and back, and the seconds to write its result."""
    cell = uci_configurations(["twonorm"], [(0.8, 0.3)], trials=trials)
    task = Task(cell[0], LOSSES, ["ber", "auc"])
    found = run_task(task)
    with tempfile.TemporaryDirectory() as name:
        from symloss.paper.runner import _written

        start = time.perf_counter()
        for k in range(100):
            _written(Path(name) / str(k), cell[0], found, {})
        return len(pickle.dumps(task)), len(pickle.dumps(found)), (time.perf_counter() - start) / 100


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--trials", type=int, default=1)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--out", type=Path, required=True, help="folder to write machines.csv and machines.md into")
    args = parser.parse_args()
    ways = [(backend, workers) for backend in ("loky", "dask", "ray") for workers in (1, 2)]
    found = defaultdict(list)
    for _ in range(args.rounds):
        for way in ways:
            found[way].append(sweep(*way, args.trials))
            print(found[way][-1], flush=True)
    rows = [sorted(found[way], key=lambda row: row["sweep (s)"])[args.rounds // 2] for way in ways]  # the medians
    for row in rows:
        alone = next(other for other in rows if other["backend"] == row["backend"])
        row["speed-up"] = round(alone["sweep (s)"] / row["sweep (s)"], 2)
    there, back, seconds = cost_of_a_cell()
    args.out.mkdir(parents=True, exist_ok=True)
    with (args.out / "machines.csv").open("w", newline="") as file:
        writer = csv.DictWriter(file, rows[0], lineterminator="\n")
        writer.writeheader()
        writer.writerows(rows)
    lines = [" | ".join(map(str, row.values())) for row in rows]
    table = [" | ".join(rows[0]), " | ".join(["---", *["--:"] * (len(rows[0]) - 1)]), *lines]
    cost = (
        f"A cell of 20 trials sends {there:,} bytes to the worker and {back:,} bytes back, "
        f"and takes {1000 * seconds:.1f} ms to write."
    )
    (args.out / "machines.md").write_text("\n".join(f"| {line} |" for line in table) + f"\n\n{cost}\n")
    print(cost)


if __name__ == "__main__":
    main()
