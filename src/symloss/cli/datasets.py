"""The command ``datasets``."""

from __future__ import annotations

import json
from dataclasses import asdict
from typing import TYPE_CHECKING, Annotated, Any

import typer

from symloss.cli.application import new_console, plain_table
from symloss.cli.options import Json

if TYPE_CHECKING:
    from rich.table import Table

    from symloss.datasets import DatasetInfo


def datasets(
    names: Annotated[
        list[str] | None, typer.Argument(help="Names of data sets; by default all of them.", metavar="[NAME]...")
    ] = None,
    fetch: Annotated[bool, typer.Option("--fetch", help="Download missing files, and verify all files.")] = False,
    as_json: Json = False,
) -> None:
    """List the data sets: rows, dimension, share of positives, source, license, and whether the files are here.

    Example: [bold]symloss datasets spambase adult --fetch[/bold]
    """
    from symloss.datasets import fetch as fetch_files
    from symloss.datasets import info, list_datasets

    if fetch and not names:
        raise ValueError("--fetch needs the names of data sets, as in: symloss datasets spambase --fetch")
    records = [info(name) for name in names or list_datasets()]
    for record in records if fetch else ():
        fetch_files(record.name)
    if as_json:
        print(json.dumps([_dataset_json(record) for record in records], indent=2))
    else:
        new_console().print(_datasets_table(records))


def _dataset_json(record: DatasetInfo) -> dict[str, Any]:
    from symloss.datasets import where

    facts = {key: value for key, value in asdict(record).items() if key not in ("read", "generate")}
    return facts | {"where": where(record.name)}


def _datasets_table(records: list[DatasetInfo]) -> Table:
    from symloss.datasets import where

    table = plain_table("data set", "rows", "dim", "positive", "source", "license", "here")
    for index in (1, 2, 3):
        table.columns[index].justify = "right"
    for record in records:
        here = " and ".join(where(record.name))
        table.add_row(
            f"[bold]{record.name}[/]",
            f"{record.rows:,}",
            str(record.dim),
            f"{record.positives / record.rows:.1%}",
            f"[link={record.source}]{record.publisher}[/link]",
            record.license,
            f"[green]{here}[/]" if here else "[dim]no[/]",
        )
    table.caption = "To download and verify: symloss datasets NAME --fetch. To use your own files: SYMLOSS_DATA=FOLDER."
    return table
