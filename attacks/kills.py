"""Sweeps that are killed at random times and in every phase of writing: nothing that was finished is lost.

``python -m attacks.kills --cases 50`` runs so many sweeps, each of which is killed several times and then finished,
``--seed`` others, and ``--only`` repeats one. A fork of this process is killed, because importing takes seconds.
"""

from __future__ import annotations

import contextlib
import functools
import io
import os
import random
import signal
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from attacks.tally import attack

from symloss.cli import app
from symloss.files import is_temporary
from symloss.paper.results import Result, read_results

SWEEP = [
    "reproduce",
    "uci",
    "--datasets",
    "twonorm,waveform",
    "--noise",
    "1,0",
    "--noise",
    "0.8,0.3",
    "--trials",
    "1",
    "--risks",
    "auc",
    "--losses",
    "unhinged",
    "--jobs",
    "1",
    "--no-download",
    "--out",
]
CELLS = 4
PHASES = ["any time", "any time", "before a rename", "after a rename", "half of a file", "before a lock"]


def _sweep(folder: Path) -> int:
    """Run the sweep in this process, silently, and return its exit code."""
    with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()):
        try:
            app([*SWEEP, str(folder)])
        except SystemExit as end:
            return int(end.code or 0)
    return 0


@functools.cache
def reference() -> dict[tuple[str, float], Any]:
    """Return the scores of a sweep that nobody kills, and how long it takes."""
    with tempfile.TemporaryDirectory() as folder:
        start = time.monotonic()
        assert _sweep(Path(folder)) == 0
        seconds = time.monotonic() - start
        return {(cell.dataset, cell.pi): cell.scores for cell in read_results(Path(folder)).whole} | {
            ("seconds", 0.0): seconds
        }


def _die_at(phase: str, count: int) -> None:
    """Let this process kill itself in a phase of writing, the ``count``-th time that it gets there."""
    left = [count]

    def dying(function: Callable[..., Any], before: bool, half: bool = False) -> Callable[..., Any]:
        def call(self: Path, *arguments: Any, **options: Any) -> Any:
            left[0] -= 1
            if left[0] == 0 and half:
                function(self, arguments[0][: len(arguments[0]) // 2], **options)
            if left[0] == 0 and before:
                os.kill(os.getpid(), signal.SIGKILL)
            found = function(self, *arguments, **options)
            if left[0] == 0:
                os.kill(os.getpid(), signal.SIGKILL)
            return found

        return call

    if phase in ("before a rename", "after a rename"):
        Path.replace = dying(Path.replace, phase == "before a rename")  # type: ignore[method-assign]
    elif phase == "half of a file":
        Path.write_text = dying(Path.write_text, before=True, half=True)  # type: ignore[method-assign]
    elif phase == "before a lock":
        Path.with_name = dying(Path.with_name, before=True)  # type: ignore[method-assign]


def _killed(folder: Path, phase: str, generator: random.Random) -> bool:
    """Start a sweep in a fork, and kill it; return whether it was killed before its end."""
    wait = generator.uniform(0, 1.1 * reference()["seconds", 0.0])
    count = generator.choice([1, 2, 3])
    child = os.fork()
    if not child:
        try:
            _die_at(phase, count)
            _sweep(folder)
        finally:
            os._exit(0)
    if phase == "any time":
        time.sleep(wait)
        with contextlib.suppress(ProcessLookupError):
            os.kill(child, signal.SIGKILL)
    _, status = os.waitpid(child, 0)
    return os.WIFSIGNALED(status)


def _kept(folder: Path) -> dict[tuple[str, float], Result]:
    if not folder.is_dir() or not any(folder.glob("*_pi*_*.json")):
        return {}
    found = read_results(folder)
    if found.damaged:
        raise AssertionError(f"damaged: {found.damaged[0]}")
    return {(cell.dataset, cell.pi): cell for cell in found.whole}


def case(generator: random.Random) -> tuple[str, str | None]:
    """Kill a sweep some times, then finish it: what was there stays, and the end is that of the reference."""
    expected = {key: scores for key, scores in reference().items() if key[0] != "seconds"}
    phase = generator.choice(PHASES)
    with tempfile.TemporaryDirectory() as parent:
        folder, kept = Path(parent) / "results", {}
        try:
            for _ in range(generator.choice([1, 2, 3])):
                was_killed = _killed(folder, phase, generator)
                now = _kept(folder)
                if not was_killed and len(now) < CELLS:
                    return phase, "it ended by itself before its end"
                lost = [key for key, cell in kept.items() if now.get(key) != cell]
                if lost:
                    return phase, f"lost or changed: {lost}"
                kept = now
            if (code := _sweep(folder)) != 0:
                return phase, f"the sweep that finishes it ends with {code}"
            found = _kept(folder)
        except AssertionError as error:
            return phase, str(error)
        if {key: cell.scores for key, cell in found.items()} != expected or len(found) != CELLS:
            return phase, "other scores than those of a sweep that nobody kills"
        if any(found[key] != cell for key, cell in kept.items()):
            return phase, "a finished cell was run again"
        strange = [
            path.name for path in folder.iterdir() if not (path.suffix in (".json", ".lock") or is_temporary(path.name))
        ]
        return phase, f"left behind: {strange}" if strange else None


if __name__ == "__main__":
    if not hasattr(os, "fork"):
        sys.exit("this attack needs fork, which this system does not have")
    attack("killed sweeps", case, 50)
