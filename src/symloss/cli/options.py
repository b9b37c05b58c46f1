"""Options that several commands have, and how they are read."""

from __future__ import annotations

import shlex
import sys
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

if TYPE_CHECKING:
    from symloss.losses import Loss


def option(help: str, metavar: str | None = None, default: str | bool = True, *names: str, **limits: Any) -> Any:
    """Return an option for the command line: ``default`` says what happens without it, ``names`` are those it has."""
    return typer.Option(*names, help=help, metavar=metavar, show_default=default, **limits)


Json = Annotated[bool, option("Print JSON instead of a table, for programs.", None, True, "--json")]
Names = list[str] | None

# How a file of data is written.
_DATA = "A CSV, Parquet or Excel file, possibly compressed; - is the standard input."
Data = Annotated[Path, typer.Argument(help=_DATA, metavar="DATA")]
Sep = Annotated[str | None, option("What separates values: a sign, or tab, semicolon, ...", "SIGN", "found")]
Decimal = Annotated[str | None, option("The decimal mark of numbers.", ".|,", "found")]
FileEncoding = Annotated[str | None, option("The encoding of text, such as cp1252.", "NAME", "found", "--encoding")]
Sheet = Annotated[str | None, option("The sheet of an Excel file.", "NAME|NUMBER", "the first")]

# What is fitted to it.
_UNLABELED = "What rows without a label are: unlabeled data beside positive rows."
_IDS = "Columns that tell rows apart; they are not learned from."
Label = Annotated[str, option("The column of labels, which has two values.", "COLUMN")]
Risk = Annotated[str, option("auc: rank rows well; ber: classify them well.", "auc|ber")]
Positive = Annotated[str | None, option("The positive label.", "VALUE", "the larger")]
Ids = Annotated[Names, option(_IDS, "COLUMN,...", True, "--id")]
Unlabeled = Annotated[str | None, option(_UNLABELED, "positive-unlabeled", "left out")]
Drop = Annotated[Names, option("Columns to leave out; may be repeated.", "COLUMN,...")]
Weight = Annotated[str | None, option("A column of weights; a row of weight k counts as k rows.", "COLUMN")]
WrongPositive = Annotated[float | None, option("Share of wrong labels among rows labeled positive, if known.", "SHARE")]
WrongNegative = Annotated[float | None, option("Share of wrong labels among rows labeled negative, if known.", "SHARE")]
Pi = Annotated[float | None, option("The same as a share of right labels: 1 less --wrong-positive.", "SHARE")]
PiPrime = Annotated[float | None, option("The same as --wrong-negative.", "SHARE")]
MaxCategories = Annotated[int, option("Most texts of a column that are one-hot encoded; more are hashed.", min=2)]
TimeLimit = Annotated[float | None, option("After so many seconds, no more candidates are tried.", "SECONDS")]
Seed = Annotated[int, option("Seed of all random numbers.", min=0)]
Jobs = Annotated[int, option("How many fits run at a time; -1 means one per core.")]
Overwrite = Annotated[bool, option("Write over labels that somebody has checked, too.", None, True, "--overwrite")]

# Where predictions draw the line between the labels.
Threshold = Annotated[float | None, option("Predict positive above this score.", "VALUE", "0")]
Share = Annotated[float | None, option("Predict this share of the rows positive.", "SHARE", min=0, max=1)]
TopK = Annotated[int | None, option("Predict so many rows positive: the largest scores.", "K", min=0)]
CostFalsePositive = Annotated[float | None, option("What it costs to predict a true negative positive.", "COST", "1")]
CostFalseNegative = Annotated[float | None, option("What it costs to predict a true positive negative.", "COST", "1")]

# What of the paper is run.
Losses = Annotated[str | None, option("Losses, or package.module:MyLoss.", "NAME,...", "all of them")]


def listed(names: str) -> list[str]:
    """Return comma-separated names as a list, each name once."""
    found = list(dict.fromkeys(name.strip() for name in names.split(",")))
    if "" in found:
        raise ValueError(f"names must be separated by single commas, got {names!r}")
    return found


def all_listed(options: Iterable[str] | None) -> list[str]:
    """Return the names of an option that may be repeated, each name once."""
    return list(dict.fromkeys(name for names in options or () for name in listed(names)))


def rates(
    wrong_positive: float | None, wrong_negative: float | None, pi: float | None, pi_prime: float | None
) -> dict[str, float | None]:
    """Return the rates of the noise, ``pi`` and ``pi_prime``, however they were given; None if they were not."""
    for wrong, name, other, option in (
        (wrong_positive, "--wrong-positive", pi, "--pi"),
        (wrong_negative, "--wrong-negative", pi_prime, "--pi-prime"),
    ):
        if wrong is not None and other is not None:
            raise ValueError(f"give one of {name} and {option}, which say the same")
        if wrong is not None and not 0 <= wrong <= 1:
            raise ValueError(f"{name} must be a share from 0 to 1, got {wrong:g}")
    found = {"pi": pi if wrong_positive is None else 1 - wrong_positive,
             "pi_prime": pi_prime if wrong_negative is None else wrong_negative}  # fmt: skip
    if (found["pi"] is None) != (found["pi_prime"] is None):
        raise ValueError("give both --wrong-positive and --wrong-negative or neither")
    return found


def command_line() -> str:
    """Return the command that is running, as a shell needs it."""
    return shlex.join(["symloss", *sys.argv[1:]])


def check_device(device: str) -> None:
    """Raise ValueError if PyTorch cannot use a device."""
    import torch

    try:
        torch.zeros(1, device=device).item()
    except (RuntimeError, AssertionError) as error:
        what = str(error).splitlines()[0].removesuffix(".")
        raise ValueError(f"--device {device} cannot be used ({what}); --device cpu works everywhere") from None


def noise_rate(pair: str) -> tuple[float, float]:
    """Return the two numbers of a text such as ``0.65,0.45``: pi and pi_prime."""
    try:
        pi, pi_prime = (float(rate) for rate in pair.split(","))
    except ValueError:
        raise ValueError(f"--noise must be two rates such as 0.65,0.45, got {pair!r}") from None
    return pi, pi_prime


def risk_names(names: str) -> list[str]:
    """Return comma-separated names of risks as a list; raise ValueError if a name is unknown."""
    from symloss.functional import RISKS

    for name in listed(names):
        if name not in RISKS:
            raise ValueError(f"--risks must be of {', '.join(RISKS)}, got {name!r}")
    return listed(names)


def find_loss(name: str, **parameters: float) -> Loss:
    """Return a loss by its name: a built-in one, or one of the user's own, as ``package.module:MyLoss``."""
    from symloss.losses import get_loss, import_named

    if ":" not in name:
        return get_loss(name, **parameters)
    try:
        return get_loss(import_named(name), **parameters)
    except (Exception, SystemExit) as error:  # importing a user's module, or making its loss, may raise anything
        raise ValueError(f"cannot import {name}: {type(error).__name__}: {error}") from error


def find_losses(names: str) -> list[Loss]:
    """Return the losses of comma-separated names."""
    return [find_loss(name) for name in listed(names)]


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
