"""The comparison on a terminal: tables of scores, the summary, and the cells that differ most."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from symloss.paper import tables
from symloss.paper.compare import Cell, summarize, summarize_parts

if TYPE_CHECKING:
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

# Limits from which a number is yellow, and red: of differences in points, and of z in standard errors.
DIFFERENCE_COLORS = (1.0, 2.0)
Z_COLORS = (2.0, 3.0)
_AT_ONCE = 7  # losses in a table that is 80 characters wide
LEGEND = """\
cells: our scores that the paper has too.
rms: root mean square of our means minus the paper's means, in points.
|z| < 1, 2, 3: shares of the cells; about 68, 95 and 99.7% by chance alone.
boldface: cells that agree: in boldface in both tables, or in neither.
best loss: rows whose best loss in our runs is in boldface in the paper.
The last two columns count only rows with all seven losses of the paper."""
CHANCE_LEGEND = """\
Number of cells found, in brackets by chance alone: the expected number, and the
median of the largest |z|. Chance is Student's t with Welch's degrees of
freedom, because standard errors are from 10 or 20 trials. Cells are taken to be
independent."""


def print_comparison(cells: Sequence[Cell], console: Console) -> None:
    """Print every table of the comparison, with three lines a row: our scores, the paper's, and the difference.

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

    for table in tables.score_tables(cells, by_noise=tables.single_dataset_families(cells)):
        for start in range(0, len(table.losses), _AT_ONCE):
            losses = table.losses[start : start + _AT_ONCE]
            shown = _new_table([table.row_header], [tables.loss_heading(loss) + " " for loss in losses])
            width = max(8, *(len(table.label(row)) for row in table.rows))
            for row in table.rows:
                label = Text(table.label(row))
                if any(loss in row and row[loss].paper_mean is not None for loss in losses):
                    label.append(f"\n{'paper':>{width}}\n{'diff |z|':>{width}}", style="dim")
                shown.add_row(label, *(Text("\n").join(_lines(row[loss])) if loss in row else "" for loss in losses))
            console.print(Text(table.title + (", continued" if start else ""), style="bold"))
            console.print(shown)
            console.print()


def print_summary(cells: Sequence[Cell], console: Console) -> None:
    """Print how well our scores and the paper's agree: for all cells, and for each family, risk and noise rate."""
    first, *others = tables.SUMMARY_COLUMNS
    table = _new_table([first], [f" {name}" for name in others])
    for part, summaries in summarize_parts(cells).items():
        for index, (name, summary) in enumerate(summaries.items(), start=1):
            style = "bold" if part == "all" else None
            table.add_row(*tables.summary_texts(name, summary), end_section=index == len(summaries), style=style)
    console.print(table)
    if near := tables.near_text(summarize(cells)):
        console.print(near, highlight=False)
    console.print(LEGEND, style="dim", highlight=False)


def print_worst(cells: Sequence[Cell], number: int, console: Console) -> None:
    """Print the cells that differ most, and how many such cells chance would give, for each family and for all.

    Examples
    --------
    >>> from rich.console import Console
    >>> cells = [Cell("uci", "susy", "auc", 1, 0, "hinge", 74.9, 0.4, 20, True, 77.5, 0.4)]
    >>> print_worst(cells, 1, Console(width=80))
    family data set score noise      loss        ours      paper diff    z
    ──────────────────────────────────────────────────────────────────────
    uci    susy     AUC   (1.0, 0.0) Hinge 74.9 (0.4) 77.5 (0.4) -2.6 -4.6
    ...
    """
    for columns, left, rows in (
        (tables.WORST_COLUMNS, 5, tables.worst_texts(cells, number)),
        (tables.CHANCE_COLUMNS, 1, tables.chance_texts(cells)),
    ):
        table = _new_table(columns[:left], columns[left:])
        for row in rows:
            table.add_row(*row)
        console.print(table)
        console.print()
    console.print(CHANCE_LEGEND, style="dim", highlight=False)


def _lines(cell: Cell) -> list[Text]:
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


def _new_table(left: Sequence[str], right: Sequence[str]) -> Table:
    from rich import box
    from rich.markup import escape
    from rich.table import Table

    table = Table(box=box.SIMPLE_HEAD, padding=0, show_edge=False, pad_edge=False)
    for k, column in enumerate((*left, *right)):
        table.add_column(escape(column), justify="left" if k < len(left) else "right", no_wrap=True)
    return table
