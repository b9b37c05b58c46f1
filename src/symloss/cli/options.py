"""Options that several commands have, and how they are read."""

from __future__ import annotations

import shlex
import sys
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from symloss.losses import Loss

Json = Annotated[bool, typer.Option("--json", help="Print JSON instead of a table, for programs.")]
Names = list[str] | None

# How a file of data is written.
Data = Annotated[
    Path,
    typer.Argument(help="A CSV, Parquet or Excel file, possibly compressed; - is the standard input.", metavar="DATA"),
]
Sep = Annotated[
    str | None,
    typer.Option(help="What separates values: a sign, or tab, semicolon, ...", metavar="SIGN", show_default="found"),
]
Decimal = Annotated[str | None, typer.Option(help="The decimal mark of numbers.", metavar=".|,", show_default="found")]
FileEncoding = Annotated[
    str | None,
    typer.Option("--encoding", help="The encoding of text, such as cp1252.", metavar="NAME", show_default="found"),
]
Sheet = Annotated[
    str | None, typer.Option(help="The sheet of an Excel file.", metavar="NAME|NUMBER", show_default="the first")
]

# What is fitted to it.
Label = Annotated[str, typer.Option(help="The column of labels, which has two values.", metavar="COLUMN")]
Risk = Annotated[str, typer.Option(help="auc: rank rows well; ber: classify them well.", metavar="auc|ber")]
Positive = Annotated[str | None, typer.Option(help="The positive label.", metavar="VALUE", show_default="the larger")]
Ids = Annotated[
    Names, typer.Option("--id", help="Columns that tell rows apart; they are not learned from.", metavar="COLUMN,...")
]
Unlabeled = Annotated[
    str | None,
    typer.Option(
        help="What rows without a label are: unlabeled data beside positive rows.",
        metavar="positive-unlabeled",
        show_default="left out",
    ),
]
Drop = Annotated[Names, typer.Option(help="Columns to leave out; may be repeated.", metavar="COLUMN,...")]
Weight = Annotated[
    str | None, typer.Option(help="A column of weights; a row of weight k counts as k rows.", metavar="COLUMN")
]
Pi = Annotated[float | None, typer.Option(help="The same as a share of right labels: 1 less --wrong-positive.")]
PiPrime = Annotated[float | None, typer.Option(help="The same as --wrong-negative.")]
WrongPositive = Annotated[
    float | None, typer.Option(help="Share of wrong labels among the rows labeled positive, if known.", metavar="SHARE")
]
WrongNegative = Annotated[
    float | None, typer.Option(help="Share of wrong labels among the rows labeled negative, if known.", metavar="SHARE")
]
MaxCategories = Annotated[
    int, typer.Option(help="How many distinct texts of a column are one-hot encoded; more are hashed.", min=2)
]
TimeLimit = Annotated[
    float | None, typer.Option(help="After so many seconds, no more candidates are tried.", metavar="SECONDS")
]
Seed = Annotated[int, typer.Option(help="Seed of all random numbers.", min=0)]
Jobs = Annotated[int, typer.Option(help="How many fits run at a time; -1 means one per core.")]
Overwrite = Annotated[bool, typer.Option("--overwrite", help="Write over labels that somebody has checked, too.")]

# Where predictions draw the line between the labels.
Threshold = Annotated[
    float | None, typer.Option(help="Predict positive above this score.", metavar="VALUE", show_default="0")
]
Share = Annotated[
    float | None, typer.Option(help="Predict this share of the rows positive.", min=0, max=1, metavar="SHARE")
]
TopK = Annotated[
    int | None, typer.Option(help="Predict so many rows positive: the largest scores.", min=0, metavar="K")
]
CostFalsePositive = Annotated[
    float | None, typer.Option(help="What it costs to predict a true negative positive.", show_default="1")
]
CostFalseNegative = Annotated[
    float | None, typer.Option(help="What it costs to predict a true positive negative.", show_default="1")
]


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


def find_loss(name: str, parameters: dict[str, float]) -> Loss:
    """Return a loss by its name: a built-in one, or one of the user's own, as ``package.module:MyLoss``."""
    from symloss.losses import get_loss, import_named

    if ":" not in name:
        return get_loss(name, **parameters)
    try:
        found = import_named(name)
    except (Exception, SystemExit) as error:  # importing a user's module may raise anything
        raise ValueError(f"cannot import {name}: {type(error).__name__}: {error}") from error
    try:
        return get_loss(found, **parameters)
    except Exception as error:  # its constructor may raise anything too
        raise ValueError(f"cannot make a loss of {name}: {error}") from error


@contextmanager
def code_of(losses: list[str]) -> Iterator[None]:
    """Turn any error into a ValueError if a loss among these is the user's own: its code may raise anything."""
    from symloss.losses import list_losses

    try:
        yield
    except OSError:  # a file cannot be written
        raise
    except (Exception, SystemExit) as error:
        own = [name for name in losses if name not in list_losses()]
        if not own:
            raise
        raise ValueError(f"{', '.join(own)} failed on a tensor of margins: {type(error).__name__}: {error}") from error


def modules_of(losses: list[str]) -> list[Path]:
    """Return the files from which losses of the user's own were imported, given their names."""
    modules = [sys.modules[name.partition(":")[0]] for name in losses if ":" in name]
    return [Path(module.__file__) for module in modules if module.__file__]
