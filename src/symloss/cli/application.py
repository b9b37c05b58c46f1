"""The ``symloss`` application: its help, its version, how it reports errors in one line, and how it prints."""

from __future__ import annotations

import io
import sys
import time
import warnings
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Annotated, Any

import typer
from typer.core import TyperGroup

from symloss import __version__
from symloss.naming import as_options

if TYPE_CHECKING:
    from rich.table import Table

    from symloss.paper.run import Outcome

_UsageError: type[Exception] = typer.BadParameter.__mro__[1]  # its public name differs between typer's versions
_LONGEST = 2000  # characters of an error


class _OneLineErrors(TyperGroup):
    """A group of commands that reports bad input in one line on standard error, and ends with exit code 2."""

    def main(self, *args: Any, **kwargs: Any) -> Any:
        kwargs["standalone_mode"] = False
        if isinstance(sys.stdout, io.TextIOWrapper):
            sys.stdout.reconfigure(errors="replace")  # some terminals cannot print η and ✓
        try:
            with _one_line_warnings(), as_options():
                code = super().main(*args, **kwargs)
        except _UsageError as error:
            self._fail(error.format_message())  # type: ignore[attr-defined]
        except (ValueError, OSError, ImportError) as error:  # ImportError: an extra is not installed
            self._fail(str(error))
        except typer.Abort:
            sys.exit(130)
        sys.exit(code if isinstance(code, int) else 0)

    @staticmethod
    def _fail(message: str) -> None:
        line = " ".join(message.split())
        shown = line if len(line) <= _LONGEST else line[:_LONGEST] + " ..."  # it may hold a value of megabytes
        print("symloss: error:", shown, file=sys.stderr)
        sys.exit(2)


@contextmanager
def _one_line_warnings() -> Iterator[None]:
    """Show warnings that are meant for users in one line each, without the place in the code."""
    with warnings.catch_warnings():
        show = warnings.showwarning

        def in_one_line(message: Any, category: type[Warning], *place: Any, **more: Any) -> None:
            if issubclass(category, UserWarning):
                warn(message)
            else:
                show(message, category, *place, **more)

        warnings.showwarning = in_one_line
        yield


def warn(message: object) -> None:
    """Print a warning on standard error, in one line."""
    print("symloss: warning:", " ".join(str(message).split()), file=sys.stderr)


app = typer.Typer(
    cls=_OneLineErrors,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode="markdown",
    help="Learn from labels of which some are wrong, and find the wrong ones.",
)


@app.callback(invoke_without_command=True)
def main(
    context: typer.Context,
    version: Annotated[bool, typer.Option("--version", help="Print the version.", metavar="")] = False,
) -> None:
    """Print the version, or the help if no command is given."""
    if version:
        print(__version__)
    elif context.invoked_subcommand is None:
        print(context.get_help())


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
        table.add_column(column, overflow="fold")
    return table


@contextmanager
def _bars(**options: Any) -> Iterator[Any]:
    """Show bars of progress with the time left."""
    from rich.progress import (
        BarColumn,
        MofNCompleteColumn,
        Progress,
        TextColumn,
        TimeElapsedColumn,
        TimeRemainingColumn,
    )

    columns = TextColumn("{task.description}", markup=False), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn()
    with Progress(*columns, TextColumn("left"), TimeRemainingColumn(), **options) as bars:
        yield bars


@contextmanager
def fit_progress() -> Iterator[Callable[[str, int, int], None]]:
    """Show what is being fitted and the time left: as a bar in a terminal, else in lines, one every few seconds."""
    from rich.console import Console

    console = Console(stderr=True)
    if not console.is_interactive:
        yield progress_lines()
        return
    # What is printed meanwhile goes above the bar, unless it goes somewhere else.
    with _bars(console=console, transient=True, redirect_stdout=sys.stdout.isatty()) as bars:
        task = bars.add_task("fitting candidates", total=None)

        def show(stage: str, done: int, total: int) -> None:
            if stage != bars.tasks[0].description:  # the time left is that of this stage
                bars.reset(task, description=stage, total=total)
            bars.update(task, completed=done, total=total)

        yield show


def progress_lines(
    seconds: float = 5.0, clock: Callable[[], float] = time.monotonic
) -> Callable[[str, int, int], None]:
    """Return a function that prints how many fits of a stage are done, and how long the others may take, in lines.

    At most one line is printed in so many seconds, but for the first one.
    """
    of, start, last, printed = "", clock(), clock(), -seconds

    def show(stage: str, done: int, total: int) -> None:
        nonlocal of, start, last, printed
        if stage != of:
            of, start = stage, last  # it began when the stage before it ended
        last = clock()
        if last - printed >= seconds:
            printed = last
            left = f", about {(last - start) * (total - done) / done:.0f} s left in this step" if done < total else ""
            print(f"{stage}: {done} of {total}{left}", file=sys.stderr, flush=True)

    return show


def follow(start: Callable[[Callable[[int, int], None]], Iterable[Outcome]], total: int) -> int:
    """Print outcomes as they come, with progress bars of cells and epochs on a terminal; return how many failed.

    ``start`` is given a function to call with the number of epochs that a cell has done, and returns the outcomes.
    """
    from rich.console import Console

    console, failed = Console(stderr=True), 0
    with _bars(console=console, disable=not console.is_terminal) as bars:
        task, within = (
            bars.add_task("data sets and noises", total=total),
            bars.add_task("epochs of this one", visible=False),
        )
        for outcome in start(lambda done, of: bars.update(within, completed=done, total=of, visible=done < of)):
            failed += outcome.error is not None
            text, style = " ".join(str(outcome).split()), "red" if outcome.error else None
            bars.console.print(text, style=style, markup=False, emoji=False, highlight=False, soft_wrap=True)
            bars.advance(task)
    return failed
