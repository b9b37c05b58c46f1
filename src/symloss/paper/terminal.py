"""The comparison on a terminal: tables that fit its width, and the summary below them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from symloss.paper.compare import Cell, summarize, summarize_parts
from symloss.paper.markdown import SUMMARY_COLUMNS, near_text, summary_texts
from symloss.paper.score_tables import ScoreTable, loss_heading, score_tables, single_dataset_families

if TYPE_CHECKING:
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

# Limits from which a number is yellow, and red: of differences in points, and of z in standard errors.
DIFFERENCE_COLORS = (1.0, 2.0)
Z_COLORS = (2.0, 3.0)
LEGEND = """\
cells: our scores that the paper has too.
rms: root mean square of our means minus the paper's means, in points.
|z| < 1, 2, 3: shares of the cells; about 68, 95 and 99.7% by chance alone.
boldface: cells that agree: in boldface in both tables, or in neither.
best loss: rows whose best loss in our runs is in boldface in the paper.
The last two columns count only rows with all seven losses of the paper."""


def print_comparison(cells: Sequence[Cell], console: Console) -> None:
    """Print every table of the comparison; a table that is too wide is printed in several pieces.

    Examples
    --------
    >>> from rich.console import Console
    >>> cells = [Cell("uci", "susy", "ber", 1, 0, "hinge", 77.9, 0.4, 20, True, 77.5, 0.4, True)]
    >>> print_comparison(cells, Console(width=80))
    UCI and LIBSVM susy: Balanced accuracy
    π, π'       Hinge
    ──────────────────
    1.0, 0.0 77.9±0.4*
       paper 77.5±0.4*
    diff |z|  +0.4 0.7
    <BLANKLINE>
    """
    from rich.text import Text

    for table in score_tables(cells, by_noise=single_dataset_families(cells)):
        for index, piece in enumerate(_fitting(table, console.width)):
            console.print(Text(table.title + (", continued" if index else ""), style="bold"))
            console.print(piece)
            console.print()


def print_summary(cells: Sequence[Cell], console: Console) -> None:
    """Print how well our scores and the paper's agree: for all cells, and for each family, risk and noise rate.

    Examples
    --------
    >>> from rich.console import Console
    >>> cells = [Cell("uci", "susy", "ber", 1, 0, "hinge", 77.9, 0.4, 20, True, 77.5, 0.4, True)]
    >>> print_summary(cells, Console(width=80))
                cells   rms  |z| < 1  |z| < 2  |z| < 3  boldface  best loss
    ...
    all             1  0.40   100.0%   100.0%   100.0%         -          -
    ...
    """
    table = _new_table()
    for column in SUMMARY_COLUMNS:
        table.add_column(column.rjust(len(column) + 1), justify="right" if column else "left")
    for part, summaries in summarize_parts(cells).items():
        for index, (name, summary) in enumerate(summaries.items(), start=1):
            table.add_row(
                *summary_texts(name, summary),
                end_section=index == len(summaries),
                style="bold" if part == "all" else None,
            )
    console.print(table)
    if near := near_text(summarize(cells)):
        console.print(near, highlight=False)
    console.print(LEGEND, style="dim", highlight=False)


def _fitting(table: ScoreTable, width: int) -> list[Table]:
    """Return a table in as many pieces as the width requires, each with some of the losses."""
    first = max(len(text) for row in table.rows for text in _labels(table, row, table.losses))
    pieces: list[list[str]] = [[]]
    room = width - first
    for loss in table.losses:
        texts = [text for row in table.rows if loss in row for text in _texts(row[loss])]
        needed = 1 + max(len(loss_heading(loss)) + 1, *map(len, texts))
        if needed > room and pieces[-1]:
            pieces.append([])
            room = width - first
        pieces[-1].append(loss)
        room -= needed
    return [_piece(table, losses, first) for losses in pieces]


def _piece(table: ScoreTable, losses: Sequence[str], first: int) -> Table:
    from rich.markup import escape
    from rich.text import Text

    piece = _new_table()
    piece.add_column(table.row_header)
    for loss in losses:
        piece.add_column(escape(loss_heading(loss)) + " ", justify="right")
    for row in table.rows:
        name, *further = _labels(table, row, losses)
        label = Text("\n").join([Text(name), *(Text(text.rjust(first), style="dim") for text in further)])
        piece.add_row(label, *(Text("\n").join(_texts(row[loss])) if loss in row else "" for loss in losses))
    return piece


def _labels(table: ScoreTable, row: dict[str, Cell], losses: Sequence[str]) -> list[str]:
    published = any(loss in row and row[loss].paper_mean is not None for loss in losses)
    return [table.label(row), *(["paper", "diff |z|"] if published else [])]


def _texts(cell: Cell) -> list[Text]:
    """Return the lines of a cell; a star marks boldface, which some terminals and files cannot show."""
    from rich.text import Text

    lines = [Text(_score(cell.mean, cell.se, cell.bold), style="bold" if cell.bold else "")]
    if cell.paper_mean is not None and cell.difference is not None:
        lines.append(Text(_score(cell.paper_mean, cell.paper_se, cell.paper_bold), style="dim"))
        sign = "+" if cell.difference >= 0 else "-"
        lines.append(Text(f"{sign}{_short(cell.difference)} ", style=_color(cell.difference, DIFFERENCE_COLORS)))
        if cell.z is not None:
            lines[-1].append(f"{_short(cell.z)} ", style=_color(cell.z, Z_COLORS))
    return lines


def _score(mean: float, se: float | None, bold: bool | None) -> str:
    shown = f"{mean:.1f}".replace("100.0", "100")  # no wider than the others
    return shown + ("" if se is None else f"±{se:.1f}") + ("*" if bold else " ")


def _short(value: float) -> str:
    """Return a number without its sign, in three characters or fewer: large ones get no decimals."""
    return f"{abs(value):.1f}" if abs(value) < 9.95 else f"{abs(value):.0f}"


def _color(value: float, limits: tuple[float, float]) -> str:
    yellow, red = limits
    return "red" if abs(value) >= red else "yellow" if abs(value) >= yellow else "green"


def _new_table() -> Table:
    from rich import box
    from rich.table import Table

    return Table(box=box.SIMPLE_HEAD, padding=0, show_edge=False)
