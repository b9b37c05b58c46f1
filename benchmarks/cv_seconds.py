"""Measure time, memory and clean AUC of the CV forms, from 2,000 to a million rows, beside one forest of scikit-learn.

    taskset -c 0,1 python benchmarks/cv_seconds.py --out benchmarks/results
    python benchmarks/cv_seconds.py --sizes 2000x36 20000x20 --ways "AUCClassifierCV()"

Every measurement is a process of its own, right after one of ExtraTreesClassifier(300, min_samples_leaf=20, n_jobs=2).
Fits are timed without imports and without the start of workers: a small fit comes first. ``symloss fit`` is timed with
everything. Memory is that of all processes together, in which shared memory counts once, where the system has /proc.
"""

import argparse
import contextlib
import json
import os
import platform
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

SIZES = ("2000x36", "20000x20", "200000x20", "1000000x20")
FOREST = "forest"
WAYS = ("AUCClassifierCV()", "AUCClassifierCV(n_jobs=-1)", "BERClassifierCV(n_jobs=-1)", "symloss fit --jobs -1")
TEST = 20_000
FLIPS = 0.3
SEVERAL = 10_000  # up to this many rows, times are medians of three


def drawn(rows, features):
    """Return points, labels of which 30% are flipped, test points and clean labels of these."""
    import numpy as np
    from sklearn.datasets import make_classification

    X, y = make_classification(
        rows + TEST, features, n_informative=10, n_redundant=4, n_clusters_per_class=4, flip_y=0, random_state=0
    )
    noisy = np.where(np.random.default_rng(0).random(rows) < FLIPS, 1 - y[:rows], y[:rows])
    return X[:rows], noisy, X[rows:], y[rows:]


def cell(way, rows, features, limit, verbose):
    """Return seconds, seconds of processor time and the clean AUC of one way."""
    X, y, X_test, y_test = drawn(rows, features)
    if way.startswith("symloss"):
        return of_command(way, X, y, limit)
    from sklearn.metrics import roc_auc_score

    estimator = made(way, limit)
    if way != FOREST:
        estimator.fit(X[:200], y[:200]).set_params(verbose=verbose)
    times, before = [], processor_seconds()
    for _ in range(3 if rows <= SEVERAL else 1):
        start = time.perf_counter()
        estimator.fit(X, y)
        times.append(time.perf_counter() - start)
    busy = (processor_seconds() - before) / len(times)
    scores = estimator.predict_proba(X_test)[:, 1] if way == FOREST else estimator.decision_function(X_test)
    return {"seconds": statistics.median(times), "busy": busy, "auc": 100 * roc_auc_score(y_test, scores)}


def made(way, limit):
    import symloss as sl

    if way == FOREST:
        from sklearn.ensemble import ExtraTreesClassifier

        return ExtraTreesClassifier(300, min_samples_leaf=20, n_jobs=2, random_state=0)
    kind, jobs = getattr(sl, way.split("(")[0]), -1 if "n_jobs=-1" in way else None
    return kind(n_jobs=jobs, random_state=0, time_limit=limit)


def of_command(way, X, y, limit):
    import numpy as np

    with tempfile.TemporaryDirectory() as folder:
        table = Path(folder) / "table.csv"
        header = ",".join([*(f"x{k}" for k in range(X.shape[1])), "y"])
        np.savetxt(table, np.column_stack([X, y]), "%.6g", ",", header=header, comments="")
        words = [*way.split()[1:], *(["--time-limit", str(limit)] if limit else [])]
        program = Path(sys.executable).with_name("symloss")
        start, before = time.perf_counter(), os.times().children_user + os.times().children_system
        command = [program, words[0], table, *words[1:], "--label", "y", "--out", Path(folder, "out")]
        ended = subprocess.run(command, stderr=subprocess.PIPE, text=True)
        if ended.returncode:
            print(ended.stderr, file=sys.stderr)
            return {"failed": (ended.stderr.strip().splitlines() or [f"exit code {ended.returncode}"])[-1]}
        busy = os.times().children_user + os.times().children_system - before
        return {"seconds": time.perf_counter() - start, "busy": busy, "auc": None}


def family(of):
    """Return the numbers of a process and of all that it has started."""
    parents = {}
    for entry in Path("/proc").glob("[0-9]*/stat"):
        with contextlib.suppress(OSError):
            parents[int(entry.parent.name)] = int(entry.read_text().rsplit(")", 1)[1].split()[1])
    found = [of]
    for each in found:
        found += [child for child, parent in parents.items() if parent == each]
    return found


def processor_seconds():
    """Return the processor time of this process and of its workers; without /proc, of this process alone."""
    if not Path("/proc/self/stat").exists():
        return time.process_time()
    total = 0
    for each in family(os.getpid()):
        with contextlib.suppress(OSError):
            fields = Path(f"/proc/{each}/stat").read_text().rsplit(")", 1)[1].split()
            total += sum(map(int, fields[11:13]))
    return total / os.sysconf("SC_CLK_TCK")


def memory(of):
    """Return the memory of a process and of all that it has started in GiB."""
    total = 0
    for each in family(of):
        with contextlib.suppress(OSError):
            lines = Path(f"/proc/{each}/smaps_rollup").read_text().splitlines()
            total += next((int(line.split()[1]) for line in lines if line.startswith("Pss:")), 0)
    return total / 2**20


def measured(way, rows, features, limit, verbose):
    """Run a cell in a process of its own, and return what it found with its largest memory, or why it failed."""
    words = [sys.executable, __file__, "--cell", way, "--sizes", f"{rows}x{features}"]
    words += ["--time-limit", str(limit)] if limit and way != FOREST else []
    words += ["--verbose"] if verbose else []
    with subprocess.Popen(words, stdout=subprocess.PIPE, text=True) as process:
        largest = 0.0
        while process.poll() is None:
            largest = max(largest, memory(process.pid))
            time.sleep(0.5)
        if process.returncode:
            return {"failed": f"exit code {process.returncode}"}
        return json.loads(process.stdout.read().splitlines()[-1]) | {"memory": largest}


def machine():
    import sklearn
    import torch

    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    names = [line.split(":")[1].strip() for line in _lines("/proc/cpuinfo") if line.startswith("model name")]
    return (
        f"{names[0] if names else platform.processor()}, {cores} cores, Python {platform.python_version()}, "
        f"scikit-learn {sklearn.__version__}, PyTorch {torch.__version__}, "
        f"OMP_NUM_THREADS={os.environ.get('OMP_NUM_THREADS', 'not set')}"
    )


def _lines(path):
    return Path(path).read_text().splitlines() if Path(path).exists() else []


def line(way, rows, features, forest, found):
    failed = found.get("failed") or forest.get("failed")
    if failed:
        return f"| {rows:,} x {features} | `{way}` | failed: {failed.replace('|', '/')} | | | | | |"
    clean = "" if found["auc"] is None else f"{found['auc']:.1f} ({forest['auc']:.1f})"
    return (
        f"| {rows:,} x {features} | `{way}` | {found['seconds']:.1f} | {forest['seconds']:.2f} "
        f"| {found['seconds'] / forest['seconds']:.1f} | {found['busy']:.0f} | {found['memory']:.1f} | {clean} |"
    )


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sizes", nargs="+", default=SIZES, help="rows x features, such as 2000x36")
    parser.add_argument("--ways", nargs="+", default=WAYS)
    parser.add_argument("--time-limit", type=float, help="time_limit of the CV forms")
    parser.add_argument("--verbose", action="store_true", help="show the progress of each fit on standard error")
    parser.add_argument("--out", type=Path, help="folder for cv_seconds.md")
    parser.add_argument("--cell", help=argparse.SUPPRESS)
    options = parser.parse_args()
    sizes = [tuple(map(int, size.split("x"))) for size in options.sizes]
    if options.cell:
        print(json.dumps(cell(options.cell, *sizes[0], options.time_limit, options.verbose)))
        return
    limited = f"; time_limit={options.time_limit:g}" if options.time_limit else ""
    lines = [
        f"{machine()}{limited}. The forest is `ExtraTreesClassifier(300, min_samples_leaf=20, n_jobs=2)`.",
        "",
        "| rows x features | | seconds | forest's seconds | ratio | core seconds | GiB | clean AUC (forest's) |",
        "|---|---|--:|--:|--:|--:|--:|--:|",
    ]
    print("\n".join(lines), flush=True)
    if options.out:
        options.out.mkdir(parents=True, exist_ok=True)
    for rows, features in sizes:
        for way in options.ways:
            forest = measured(FOREST, rows, features, None, False)
            found = measured(way, rows, features, options.time_limit, options.verbose)
            lines.append(line(way, rows, features, forest, found))
            print(lines[-1], flush=True)
            if options.out:
                (options.out / "cv_seconds.md").write_text("\n".join(lines) + "\n")


if __name__ == "__main__":
    main()
