"""Consoles, tables and progress bars with which several commands print."""

from __future__ import annotations

import sys
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
    """Show what is being fitted, if this is a terminal: with a bar as soon as the number of fits is known."""
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

    console = Console(stderr=True)
    columns = (SpinnerColumn(), TextColumn("{task.description}", markup=False), BarColumn(), MofNCompleteColumn())
    with Progress(
        *columns, TimeElapsedColumn(), console=console, transient=True, disable=not console.is_terminal
    ) as bar:
        task = bar.add_task("fitting candidates", total=None)
        yield lambda name, done, total: bar.update(task, description=name, completed=done, total=total)


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
