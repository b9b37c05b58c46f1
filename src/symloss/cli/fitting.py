"""What the commands that fit a model to a file share: their options, and the way from the file to the fit."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, NamedTuple

import typer

from symloss.cli.arguments import listed
from symloss.cli.terminal import fit_progress

if TYPE_CHECKING:
    from pandas import DataFrame

    from symloss.tabular import Fitted
    from symloss.tabular.reading import ReadOptions

Label = Annotated[str, typer.Option(help="The column of labels, which has two values.", metavar="COLUMN")]
Positive = Annotated[str | None, typer.Option(help="The positive label.", metavar="VALUE", show_default="the larger")]
Ids = Annotated[
    list[str] | None,
    typer.Option("--id", help="Columns that tell rows apart; they are not learned from.", metavar="COLUMN,..."),
]
Unlabeled = Annotated[
    str | None,
    typer.Option(
        help="What rows without a label are: unlabeled data beside positive rows.",
        metavar="positive-unlabeled",
        show_default="left out",
    ),
]
Drop = Annotated[list[str] | None, typer.Option(help="Columns to leave out; may be repeated.", metavar="COLUMN,...")]
Weight = Annotated[
    str | None, typer.Option(help="A column of weights; a row of weight k counts as k rows.", metavar="COLUMN")
]
Pi = Annotated[float | None, typer.Option(help="Share of clean positives among the rows labeled positive.")]
PiPrime = Annotated[float | None, typer.Option(help="Share of clean positives among the rows labeled negative.")]
MaxCategories = Annotated[
    int, typer.Option(help="How many distinct texts of a column are one-hot encoded; more are hashed.", min=2)
]
TimeLimit = Annotated[
    float | None, typer.Option(help="After so many seconds, no more candidates are tried.", metavar="SECONDS")
]
Seed = Annotated[int, typer.Option(help="Seed of all random numbers.", min=0)]
Jobs = Annotated[int, typer.Option(help="How many fits run at a time; -1 means one per core.")]


class FittedFile(NamedTuple):
    """What was fitted, the table of the file, and the columns that tell its rows apart."""

    fitted: Fitted
    frame: DataFrame
    ids: list[str]


def fit_file(
    data: Path,
    options: ReadOptions,
    label: str,
    ids: list[str] | None,
    drop: list[str] | None,
    jobs: int,
    quiet: bool,
    **how: Any,
) -> FittedFile:
    """Read a file and fit a model to its table; ``how`` are further arguments of ``fit_table``.

    What is found is printed at once, unless it is to be quiet.
    """
    from symloss.tabular import fit_table
    from symloss.tabular.labels import check_ids
    from symloss.tabular.reading import labeled_table

    if jobs == 0:
        raise ValueError("--jobs must be a number of fits, or -1 for one per core; got 0")
    kept, dropped = (
        list(dict.fromkeys(name for names in given or () for name in listed(names))) for given in (ids, drop)
    )
    frame, notes, found = labeled_table(data, label, kept, options)
    check_ids(frame, kept)
    tell = None if quiet else partial(print, flush=True)
    if tell is not None:
        for note in notes:
            tell(note)
    with fit_progress() as progress:
        how |= {"jobs": jobs, "progress": progress, "tell": tell, "notes": notes, "decimal": found.decimal}
        fitted = fit_table(frame, label, drop=[*kept, *dropped], **how)
    return FittedFile(fitted, frame, kept)
