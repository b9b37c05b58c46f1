"""Consoles, tables and progress bars with which several commands print."""

from __future__ import annotations

import sys
import time
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from rich.table import Table

    from symloss.paper.runner import Outcome
    from symloss.paper.runner import Progress as OfCell


def new_console() -> Any:
    """Return a console for what standard output is now."""
    from rich.console import Console

    return Console()


def plain_table(*columns: str) -> Table:
    """Return an empty table with these columns."""
    from rich import box
    from rich.table import Table

    table = Table(box=box.SIMPLE_HEAD, title_justify="left", caption_justify="left", pad_edge=False)
    for column in columns:
        table.add_column(
            column, overflow="fold", justify="center" if column in ("convex", "symmetric", "recovers η") else "left"
        )
    return table


def warn_of_damage(files: Iterable[object]) -> None:
    """Print the names of damaged files on standard error, one per line."""
    for damaged in files:
        print("symloss: warning:", " ".join(str(damaged).split()), file=sys.stderr)


@contextmanager
def fit_progress() -> Iterator[Callable[[str, int, int], None]]:
    """Show what is being fitted and the time left: as a bar in a terminal, else in lines, one every few seconds."""
    from rich.console import Console
    from rich.progress import (
        BarColumn,
        MofNCompleteColumn,
        Progress,
        SpinnerColumn,
        TextColumn,
        TimeElapsedColumn,
        TimeRemainingColumn,
    )

    console = Console(stderr=True)
    if not console.is_interactive:
        yield ProgressLines()
        return
    columns = (SpinnerColumn(), TextColumn("{task.description}", markup=False), BarColumn(), MofNCompleteColumn())
    times = (TimeElapsedColumn(), TextColumn("left"), TimeRemainingColumn())
    # What is printed meanwhile goes above the bar, unless it goes somewhere else.
    with Progress(*columns, *times, console=console, transient=True, redirect_stdout=sys.stdout.isatty()) as bar:
        task = bar.add_task("fitting candidates", total=None)

        def show(stage: str, done: int, total: int) -> None:
            if stage != bar.tasks[0].description:  # the time left is that of this stage
                bar.reset(task, description=stage, total=total)
            bar.update(task, completed=done, total=total)

        yield show


class ProgressLines:
    """Prints how many fits of a stage are done, and how long the others may take, on standard error.

    Parameters
    ----------
    seconds : float
        At most one line is printed in so many seconds.
    clock : callable
        Returns the time in seconds.
    """

    def __init__(self, seconds: float = 10.0, clock: Callable[[], float] = time.monotonic) -> None:
        self._seconds, self._clock, self._stage = seconds, clock, ""
        self._start = self._last = self._printed = clock()

    def __call__(self, stage: str, done: int, total: int) -> None:
        """Print a line, unless one was printed just before."""
        now = self._clock()
        if stage != self._stage:
            self._stage, self._start = stage, self._last  # it began when the stage before it ended
        self._last = now
        if now - self._printed >= self._seconds:
            self._printed = now
            seconds = (now - self._start) * (total - done) / done
            left = f", about {seconds:.0f} s left in this step" if done < total else ""
            print(f"{stage}: {done} of {total}{left}", file=sys.stderr, flush=True)


def follow(start: Callable[[OfCell], Iterable[Outcome]], total: int) -> int:
    """Print outcomes as they come, with progress bars of cells and epochs on a terminal; return how many failed.

    ``start`` is given a function to call with the number of epochs that a cell has done, and returns the outcomes.
    """
    from rich.console import Console
    from rich.progress import (
        BarColumn,
        MofNCompleteColumn,
        Progress,
        TextColumn,
        TimeElapsedColumn,
        TimeRemainingColumn,
    )

    console, failed = Console(stderr=True), 0
    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TimeElapsedColumn(),
        TextColumn("left"),
    )
    with Progress(*columns, TimeRemainingColumn(), console=console, disable=not console.is_terminal) as bar:
        task, within = bar.add_task("cells", total=total), bar.add_task("epochs of this cell", visible=False)
        for outcome in start(lambda done, of: bar.update(within, completed=done, total=of, visible=done < of)):
            failed += outcome.error is not None
            text, style = " ".join(str(outcome).split()), "red" if outcome.error else None
            bar.console.print(text, style=style, markup=False, emoji=False, highlight=False, soft_wrap=True)
            bar.advance(task)
    return failed
