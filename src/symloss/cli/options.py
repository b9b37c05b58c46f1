"""Options that several commands have, and how they are read."""

from __future__ import annotations

import inspect
import shlex
import sys
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, get_type_hints

import typer

if TYPE_CHECKING:
    from symloss.losses import Loss


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


Json = Annotated[bool, option("Print JSON instead of a table, for programs.", "", True, "--json")]
Names = list[str] | None
Data = Annotated[
    Path,
    typer.Argument(help="A CSV, Parquet or Excel file, possibly compressed; - is the standard input.", metavar="DATA"),
]
Model = Annotated[Path, typer.Argument(help="A folder written by symloss fit.", metavar="MODEL")]
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
        float | None, option("Share of wrong labels among rows labeled positive, if known.", "SHARE")
    ] = None
    wrong_negative: Annotated[
        float | None, option("Share of wrong labels among rows labeled negative, if known.", "SHARE")
    ] = None
    pi: Annotated[float | None, option("The same as a share of right labels: 1 less --wrong-positive.", "SHARE")] = None
    pi_prime: Annotated[float | None, option("The same as --wrong-negative.", "SHARE")] = None


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
    found = list(dict.fromkeys(name.strip() for name in names.split(",")))
    if "" in found:
        raise ValueError(f"names must be separated by single commas, got {names!r}")
    return found


def all_listed(options: Iterable[str] | None) -> list[str]:
    """Return the names of an option that may be repeated, each name once."""
    return list(dict.fromkeys(name for names in options or () for name in listed(names)))


def rates(options: dict[str, Any]) -> dict[str, float | None]:
    """Take the rates of the noise out of all options: ``pi`` and ``pi_prime``, however they were given."""
    wrong_positive, wrong_negative, pi, pi_prime = taken(options, WrongShares).values()
    for wrong, name, other, same in (
        (wrong_positive, "--wrong-positive", pi, "--pi"),
        (wrong_negative, "--wrong-negative", pi_prime, "--pi-prime"),
    ):
        if wrong is not None and other is not None:
            raise ValueError(f"give one of {name} and {same}, which say the same")
        if wrong is not None and not 0 <= wrong <= 1:
            raise ValueError(f"{name} must be a share from 0 to 1, got {wrong:g}")
    pi = pi if wrong_positive is None else 1 - wrong_positive
    pi_prime = pi_prime if wrong_negative is None else wrong_negative
    if (pi is None) != (pi_prime is None):
        raise ValueError("give both --wrong-positive and --wrong-negative or neither")
    if wrong_positive is not None and wrong_negative is not None and wrong_positive + wrong_negative >= 1:
        got = f"{wrong_positive:g} and {wrong_negative:g}"
        raise ValueError(f"--wrong-positive and --wrong-negative must add up to less than 1, got {got}")
    return {"pi": pi, "pi_prime": pi_prime}


def command_line() -> str:
    """Return the command that is running, as a shell needs it."""
    return shlex.join(["symloss", *sys.argv[1:]])


def find_loss(name: str, **parameters: float) -> Loss:
    """Return a loss by its name: a built-in one, or one of the user's own, as ``package.module:MyLoss``."""
    from symloss.losses import get_loss, import_named

    if ":" not in name:
        return get_loss(name, **parameters)
    try:
        return get_loss(import_named(name), **parameters)
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
