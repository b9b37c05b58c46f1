"""Measure whether the default number of threads is slower than one thread, for all that the library runs by itself.

    python benchmarks/threads.py [--rounds 3] [--only EXPRESSION] [--out FOLDER]

Every job runs in two processes, which take turns: one with the default threads, and one with ``OMP_NUM_THREADS=1``. The
ratio is that of their median times. Everything is measured twice: on the machine as it is, and beside a neighbor, which
is one process per core that never pauses. Fits are timed without imports, commands with everything. ``make demo`` runs
once.
"""

import argparse
import os
import platform
import re
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

N, D = 2000, 36
GOAL = 1.2
SETTINGS = {"random_state": 0, "epochs": 10}
WIDE = {"random_state": 0, "epochs": 1, "threshold": 0.0}  # 500 points, 16 million parameters: several threads


def drawn() -> tuple:
    import numpy as np

    generator = np.random.default_rng(0)
    y = np.arange(N) % 2
    X = generator.normal(size=(N, D)) + 0.4 * y[:, None] * (np.arange(D) < 8)
    return X, np.where(generator.random(N) < 0.3, 1 - y, y)


def fit(make: Callable) -> Callable[[], float]:
    """Return a function that times a fit and its scores: the mean over three seconds, after one untimed fit."""
    warm = False

    def seconds() -> float:
        nonlocal warm
        import symloss as sl

        X, y = drawn()
        estimator = make(sl)
        if not warm:  # the first fit of a process imports what it needs
            estimator.fit(X, y)
            warm = True
        start, times = time.perf_counter(), 0
        while time.perf_counter() < start + 3:
            estimator.fit(X, y).decision_function(X)
            times += 1
        return (time.perf_counter() - start) / times

    return seconds


def analyze() -> float:
    import symloss as sl

    start = time.perf_counter()
    for name in ("sigmoid", "barrier_hinge", "logistic"):
        sl.theory.analyze(name)
    return time.perf_counter() - start


def command(*words: str, rows: int = 0) -> Callable[[], float]:
    """Return a function that times a command; if ``rows`` is given, on a table with this many rows."""

    def seconds() -> float:
        with tempfile.TemporaryDirectory() as folder:
            if rows:
                import numpy as np

                X, y = drawn()
                header = ",".join([*(f"x{k}" for k in range(D)), "y"])
                table = np.column_stack([X, y])[:rows]
                np.savetxt(Path(folder) / "data.csv", table, delimiter=",", header=header, comments="", fmt="%.6g")
            start = time.perf_counter()
            subprocess.run([sys.executable, "-m", "symloss", *words], cwd=folder, check=True, capture_output=True)
            return time.perf_counter() - start

    return seconds


def demo() -> float:
    root = Path(__file__).parents[1]
    shutil.rmtree(root / "demo", ignore_errors=True)  # otherwise finished cells would not be run again
    start = time.perf_counter()
    subprocess.run(["make", "demo"], cwd=root, check=True, capture_output=True)
    return time.perf_counter() - start


JOBS: dict[str, Callable[[], float]] = {
    **{
        f"{kind}({loss!r}, {model!r})": fit(lambda sl, k=kind, lo=loss, m=model: getattr(sl, k)(lo, m, **SETTINGS))
        for kind in ("BERClassifier", "AUCClassifier")
        for loss, model in (("logistic", "linear"), ("logistic", "kernel"), ("unhinged", "trees"), ("sigmoid", "mlp"))
    },
    "AUCClassifier('sigmoid', a module)": fit(lambda sl: sl.AUCClassifier("sigmoid", own_network(100), **SETTINGS)),
    "AUCClassifier('sigmoid', a wide module)": fit(lambda sl: sl.AUCClassifier("sigmoid", own_network(4000), **WIDE)),
    "BERClassifierCV()": fit(lambda sl: sl.BERClassifierCV(random_state=0)),
    "AUCClassifierCV()": fit(lambda sl: sl.AUCClassifierCV(random_state=0)),
    "AUCClassifierCV(n_jobs=-1)": fit(lambda sl: sl.AUCClassifierCV(random_state=0, n_jobs=-1)),
    "theory.analyze, three losses": analyze,
    "symloss fit": command("fit", "data.csv", "--label", "y", "--out", "model", rows=500),
    "symloss reproduce uci": command("reproduce", "uci", "--datasets", "twonorm", "--trials", "2", "--no-download"),
    "make demo": demo,
}


def own_network(width: int):
    from torch import nn

    return nn.Sequential(nn.Linear(D, width), nn.ReLU(), nn.Linear(width, width), nn.ReLU(), nn.Linear(width, 1))


@contextmanager
def neighbor(busy: bool) -> Iterator[None]:
    """Keep every core busy with other processes inside the block, if asked to."""
    count = os.cpu_count() or 1
    others = [subprocess.Popen([sys.executable, "-c", "while True: pass"]) for _ in range(count if busy else 0)]
    try:
        yield
    finally:
        for other in others:
            other.kill()
            other.wait()


def worker(job: str, one_thread: bool) -> subprocess.Popen:
    """Start a process that runs the job whenever it is sent a line, and answers with the seconds."""
    environment = {key: value for key, value in os.environ.items() if not key.endswith("_NUM_THREADS")}
    if one_thread:
        environment["OMP_NUM_THREADS"] = "1"
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE}
    return subprocess.Popen([sys.executable, __file__, "--job", job], env=environment, text=True, **pipes)


def serve(job: str) -> None:
    for _ in sys.stdin:
        print(JOBS[job](), flush=True)


def measure(job: str, busy: bool, rounds: int) -> tuple[float, float]:
    """Return the median seconds with default threads and with one thread, which take turns."""
    both = [worker(job, one_thread) for one_thread in (False, True)]
    seconds: tuple[list[float], list[float]] = ([], [])
    with neighbor(busy):
        for _ in range(rounds):
            for process, found in zip(both, seconds, strict=True):
                process.stdin.write("go\n")
                process.stdin.flush()
                found.append(float(process.stdout.readline()))
    for process in both:
        process.communicate()
    return statistics.median(seconds[0]), statistics.median(seconds[1])


def processor() -> str:
    for line in Path("/proc/cpuinfo").read_text().splitlines() if Path("/proc/cpuinfo").exists() else ():
        if line.startswith("model name"):
            return line.partition(":")[2].strip()
    return platform.processor() or platform.machine()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--only", default="", help="run only jobs whose name contains this regular expression")
    parser.add_argument("--out", type=Path)
    parser.add_argument("--job", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.job:
        serve(options.job)
        return
    import torch

    head = (
        f"{processor()}, {os.cpu_count()} cores, Python {platform.python_version()}, PyTorch {torch.__version__}; "
        f"medians of {options.rounds} rounds."
    )
    lines = [
        head,
        "",
        "| | seconds, idle machine | ratio, idle machine | seconds, beside a neighbor | ratio, beside a neighbor |",
        "|---|---|---|---|---|",
    ]
    print("\n".join(lines), flush=True)
    worst = 0.0
    for job in (job for job in JOBS if re.search(options.only, job)):
        cells = []
        for busy in (False, True):
            default, one = measure(job, busy, 1 if job == "make demo" else options.rounds)
            worst = max(worst, default / one)
            cells += [f"{default:.2f}", f"{default / one:.2f}"]
        lines.append(f"| {job} | {' | '.join(cells)} |")
        print(lines[-1], flush=True)
    lines += ["", f"The largest ratio is {worst:.2f}; the goal is at most {GOAL}."]
    print("\n".join(lines[-2:]))
    if options.out:
        (options.out / "threads.md").write_text("\n".join(lines) + "\n")


if __name__ == "__main__":
    main()
