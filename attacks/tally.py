"""Count cases and faults, and let a case be repeated alone."""

from __future__ import annotations

import argparse
import random
import sys
import time
from collections import Counter
from collections.abc import Callable

_SHOWN = 40

Case = Callable[[random.Random], tuple[str, str | None]]


def attack(title: str, case: Case, cases: int) -> None:
    """Run numbered cases, print how many of each kind there were, and end with code 1 if there was a fault.

    Parameters
    ----------
    title : str
        What is attacked.
    case : callable
        Given a generator of random numbers, it does one case, and returns its kind and its fault or None.
    cases : int
        How many cases are run unless the command line says otherwise.
    """
    parser = argparse.ArgumentParser(description=title)
    parser.add_argument("--cases", type=int, default=cases, help="how many cases are run")
    parser.add_argument("--seed", type=int, default=0, help="which cases these are")
    parser.add_argument("--only", type=int, help="the number of one case to repeat alone")
    options = parser.parse_args()
    numbers = range(options.cases) if options.only is None else [options.only]
    counts, faults, start = Counter[str](), list[str](), time.monotonic()
    for number in numbers:
        kind, fault = case(random.Random(1_000_003 * options.seed + number))
        counts[kind] += 1
        if fault is not None:
            faults.append(f"case {number}, --seed {options.seed} ({kind}): {fault}")
            print(faults[-1] if len(faults) <= _SHOWN else ".", file=sys.stderr, flush=True)
    for kind, count in sorted(counts.items()):
        print(f"  {kind}: {count}")
    print(f"{title}: {counts.total()} cases, {len(faults)} faults, {time.monotonic() - start:.0f} s")
    sys.exit(1 if faults else 0)
