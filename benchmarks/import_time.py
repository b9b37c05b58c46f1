"""Measure how much time ``import symloss`` adds to ``import torch``: medians over new processes, in turns."""

import statistics
import subprocess
import sys
import time

ROUNDS = 11
STATEMENTS = {"import torch": "import torch", "import torch, symloss": "import torch, symloss"}


def seconds(statement: str) -> float:
    start = time.perf_counter()
    subprocess.run([sys.executable, "-c", statement], check=True)
    return time.perf_counter() - start


def main() -> None:
    for statement in STATEMENTS.values():
        seconds(statement)  # fill the disk cache
    times: dict[str, list[float]] = {name: [] for name in STATEMENTS}
    for _ in range(ROUNDS):
        for name, statement in STATEMENTS.items():
            times[name].append(seconds(statement))
    base, both = (statistics.median(times[name]) for name in STATEMENTS)
    print(f"import torch {base:.2f} s, with symloss {both:.2f} s: {both - base:+.3f} s, {both / base:.2f} times")


if __name__ == "__main__":
    main()
