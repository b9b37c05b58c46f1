"""The ``symloss`` application: how it reports errors, how it prints, and options that several commands have."""

from __future__ import annotations

import inspect
import io
import math
import shlex
import sys
import time
import warnings
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, get_type_hints

import typer
from typer.core import TyperGroup

from symloss import __version__
from symloss.messages import as_options

if TYPE_CHECKING:
    from rich.table import Table

    from symloss.losses import Loss
    from symloss.paper.run import Outcome

_UsageError: type[Exception] = typer.BadParameter.__mro__[1]  # its public name differs between typer's versions
_LONGEST = 2000  # characters of an error
_SECONDS = 5.0  # from one line of progress to the next


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
    """Show what is being fitted: as a bar with the time left in a terminal, else in lines, one every few seconds."""
    from rich.console import Console

    console, printed = Console(stderr=True), -math.inf
    # What is printed meanwhile goes above the bar, unless it goes somewhere else.
    options = {"transient": True, "redirect_stdout": sys.stdout.isatty(), "disable": not console.is_interactive}
    with _bars(console=console, **options) as bars:
        task = bars.add_task("fitting candidates", total=None)

        def show(stage: str, done: int, total: int) -> None:
            nonlocal printed
            if not console.is_interactive:
                if time.monotonic() - printed >= _SECONDS:
                    print(f"{stage}: {done} of {total}", file=sys.stderr, flush=True)
                    printed = time.monotonic()
                return
            if stage != bars.tasks[0].description:  # the time left is that of this stage
                bars.reset(task, description=stage, total=total)
            bars.update(task, completed=done, total=total)

        yield show


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


def option(help: str, metavar: str | None = None, default: str | bool = True, *names: str, **limits: Any) -> Any:
    """Return an option for the command line: ``default`` says what happens without it, ``names`` are those it has."""
    return typer.Option(*names, help=help, metavar=metavar, show_default=default, **limits)


def with_options(*groups: type) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Let a command have the options of some classes, too: it gets them as ``**options``."""

    def shared(command: Callable[..., None]) -> Callable[..., None]:
        own = inspect.signature(command, eval_str=True).parameters.values()
        parameters = [each for each in own if each.kind is not each.VAR_KEYWORD]
        for group in groups:
            for name, hint in get_type_hints(group, include_extras=True).items():
                default, kind = getattr(group, name), inspect.Parameter.KEYWORD_ONLY
                parameters.append(inspect.Parameter(name, kind, default=default, annotation=hint))
        command.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
        return command

    return shared


Names = list[str] | None
Data = Annotated[
    Path,
    typer.Argument(help="A CSV, Parquet or Excel file, possibly compressed; - is the standard input.", metavar="DATA"),
]
Model = Annotated[Path, typer.Argument(help="A folder written by symloss fit, audit or review.", metavar="MODEL")]
Label = Annotated[str, option("The column of labels, which has two values.", "COLUMN")]
Losses = Annotated[str | None, option("Losses, or package.module:MyLoss.", "NAME,...", "all of them")]


class Reading:
    """How a file of data is written."""

    sep: Annotated[str | None, option("What separates values: a sign, or tab, semicolon, ...", "SIGN", "found")] = None
    decimal: Annotated[str | None, option("The decimal mark of numbers.", ".|,", "found")] = None
    encoding: Annotated[str | None, option("The encoding of text, such as cp1252.", "NAME", "found")] = None
    sheet: Annotated[str | None, option("The sheet of an Excel file.", "NAME|NUMBER", "the first")] = None


class WrongShares:
    """How many labels are wrong, if somebody knows."""

    wrong_positive: Annotated[
        float | None, option("Share of wrong labels among rows labeled positive, if known.", "SHARE", min=0, max=1)
    ] = None
    wrong_negative: Annotated[
        float | None, option("Share of wrong labels among rows labeled negative, if known.", "SHARE", min=0, max=1)
    ] = None
    pi: Annotated[
        float | None, option("The same as a share of right labels: 1 less --wrong-positive.", "SHARE", min=0, max=1)
    ] = None
    pi_prime: Annotated[float | None, option("The same as --wrong-negative.", "SHARE", min=0, max=1)] = None


class Fitting:
    """What is fitted to a table."""

    ids: Annotated[
        Names, option("Columns that tell rows apart; they are not learned from.", "COLUMN,...", True, "--id")
    ] = None
    positive: Annotated[str | None, option("The positive label.", "VALUE", "the larger")] = None
    unlabeled: Annotated[
        str | None,
        option("What rows without a label are: unlabeled data beside positive rows.", "positive-unlabeled", "left out"),
    ] = None
    drop: Annotated[Names, option("Columns to leave out; may be repeated.", "COLUMN,...")] = None
    weight: Annotated[str | None, option("A column of weights; a row of weight k counts as k rows.", "COLUMN")] = None
    group: Annotated[str | None, option("A column whose equal values stay in one fold.", "COLUMN")] = None
    max_categories: Annotated[
        int, option("Most texts of a column that are one-hot encoded; more are hashed.", "NUMBER", min=2)
    ] = 50
    time_limit: Annotated[float | None, option("Seconds after which no more candidates are tried.", "SECONDS")] = None
    seed: Annotated[int, option("Seed of all random numbers.", "NUMBER", min=0)] = 0


class Writing:
    """How a model is made and written."""

    jobs: Annotated[int, option("How many fits run at a time; -1 means one per core.", "NUMBER")] = 1
    overwrite: Annotated[bool, option("Write over labels that somebody has checked, too.", "", True, "--overwrite")] = (
        False
    )


class Costs:
    """What the two kinds of errors cost."""

    cost_false_positive: Annotated[
        float | None, option("What it costs to predict a true negative positive.", "COST", "1")
    ] = None
    cost_false_negative: Annotated[
        float | None, option("What it costs to predict a true positive negative.", "COST", "1")
    ] = None


class Threshold(Costs):
    """Where predictions draw the line between the labels."""

    threshold: Annotated[float | None, option("Predict positive above this score.", "VALUE", "0")] = None
    share: Annotated[float | None, option("Predict this share of the rows positive.", "SHARE", min=0, max=1)] = None
    top_k: Annotated[int | None, option("Predict so many rows positive: the largest scores.", "K", min=0)] = None


def taken(options: dict[str, Any], group: type) -> dict[str, Any]:
    """Take the options of a class out of all options of a command, and return them."""
    return {name: options.pop(name) for name in get_type_hints(group)}


def listed(names: str) -> list[str]:
    """Return comma-separated names as a list, each name once."""
    return list(dict.fromkeys(name.strip() for name in names.split(",")))


def all_listed(options: Iterable[str] | None) -> list[str]:
    """Return the names of an option that may be repeated, each name once."""
    return list(dict.fromkeys(name for names in options or () for name in listed(names)))


def rates(options: dict[str, Any]) -> dict[str, float | None]:
    """Take the shares of wrong labels out of all options, and return them as ``pi`` and ``pi_prime``."""
    positive, negative, pi, pi_prime = taken(options, WrongShares).values()
    if None not in (positive, pi) or None not in (negative, pi_prime):
        raise ValueError("give --wrong-positive and --wrong-negative, or --pi and --pi-prime, which say the same")
    pi, pi_prime = pi if positive is None else 1 - positive, pi_prime if negative is None else negative
    if (pi is None) != (pi_prime is None):
        raise ValueError("give both --wrong-positive and --wrong-negative or neither")
    if pi is not None and pi <= pi_prime:
        raise ValueError(
            f"--wrong-positive and --wrong-negative must add up to less than 1, got {1 - pi:g} and {pi_prime:g} "
            "(--pi is 1 less --wrong-positive, --pi-prime is --wrong-negative)"
        )
    return {"pi": pi, "pi_prime": pi_prime}


def command_line() -> str:
    """Return the command that is running, as a shell needs it."""
    return shlex.join(["symloss", *sys.argv[1:]])


def find_loss(name: str) -> Loss:
    """Return a loss by its name: a built-in one, or one of the user's own, as ``package.module:MyLoss``."""
    from symloss.losses import get_loss, import_named

    if ":" not in name:
        return get_loss(name)
    try:
        return get_loss(import_named(name))
    except (Exception, SystemExit) as error:  # importing a user's module, or making its loss, may raise anything
        raise ValueError(f"cannot import {name}: {type(error).__name__}: {error}") from error


@contextmanager
def code_of(losses: list[str]) -> Iterator[None]:
    """Turn any error into a ValueError if a loss among these is the user's own: its code may raise anything."""
    try:
        yield
    except (Exception, SystemExit) as error:
        own = [name for name in losses if ":" in name]
        if not own or isinstance(error, OSError):
            raise
        raise ValueError(f"{', '.join(own)} failed on a tensor of margins: {type(error).__name__}: {error}") from error
