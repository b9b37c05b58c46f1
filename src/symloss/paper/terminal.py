"""The comparison on a terminal: tables of scores, the summary, and the cells that differ most."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from symloss.paper import tables
from symloss.paper.compare import Cell

if TYPE_CHECKING:
    from rich.console import Console

LEGEND = """\
scores: ours that the paper has, too.
rms: root mean square of our means minus the paper's means, in points.
|z| < 1, 2, 3: shares of the scores; about 68, 95 and 99.7% by chance alone.
boldface: scores that agree: in boldface in both tables, or in neither.
best loss: rows whose best loss in our runs is in boldface in the paper.
The last two columns count only rows with all seven losses of the paper."""


def print_comparison(cells: Sequence[Cell], console: Console) -> None:
    """Print every table of the comparison, with three lines a row: our scores, the paper's, and the differences."""
    for table in tables.score_tables(cells):
        console.print(table.title(), style="bold", markup=False, highlight=False, soft_wrap=True)
        lines = ([label or what, *texts] for label, what, *texts in tables.score_lines(table, _score))
        narrow = ([text.replace("difference", "diff").replace(", ", " ") for text in line] for line in lines)
        _print_table(["", *map(tables.loss_heading, table.losses)], narrow, 1, console)


def print_summary(cells: Sequence[Cell], console: Console) -> None:
    """Print how well our scores and the paper's agree: for all cells, and for each family, risk and noise rate."""
    _print_table(tables.SUMMARY_COLUMNS, tables.summary_lines(cells), 1, console)
    console.print("\n".join([tables.near_text(cells), LEGEND]).strip(), highlight=False)


def print_worst(cells: Sequence[Cell], number: int, console: Console) -> None:
    """Print the cells that differ most, and how many such cells chance would give, for each family and for all."""
    _print_table(tables.WORST_COLUMNS, tables.worst_texts(cells, number), 5, console)
    console.print(tables.CHANCE_NOTE, highlight=False)
    _print_table(tables.CHANCE_COLUMNS, tables.chance_texts(cells), 1, console)


def _print_table(columns: Sequence[str], rows: Iterable[Sequence[str]], left: int, console: Console) -> None:
    """Print a table whose first columns are texts, and the others numbers."""
    from rich import box
    from rich.table import Table
    from rich.text import Text

    table = Table(box=box.SIMPLE_HEAD, padding=0, collapse_padding=True, show_edge=False, pad_edge=False)
    for index, column in enumerate(columns):
        table.add_column(Text(column), justify="left" if index < left else "right", overflow="fold")
    for row in rows:
        table.add_row(*map(Text, row))
    console.print(table, "")


def _score(mean: float, se: float | None, bold: bool | None) -> str:
    """Return a score that is narrow enough for seven in a line; a star marks boldface."""
    return f"{mean:.1f}" + ("" if se is None else f"±{se:.1f}") + ("*" if bold else " ")
