"""The tables of a report as texts: what stands in each cell, and its colour."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

from symloss.paper.compare import ComparedCell
from symloss.paper.score_tables import ScoreTable, loss_heading, score_tables, score_text, single_dataset_families
from symloss.report.content import Run, Scoring
from symloss.report.data import placed_cells

LIMITS = (0.5, 1.5, 3.0)  # points of difference at which a colour deepens; the last two are those of the summary


@dataclass(frozen=True)
class ShownCell:
    """A cell of a table, as texts.

    Parameters
    ----------
    number : int
        Its place among all cells of the report.
    ours, paper, difference : str
        Empty where there is no such number.
    bold, paper_bold : bool
    shade : str
        The class of its colour: ``above2`` is ours higher by 1.5 to 3 points, ``below1`` ours lower by 0.5 to 1.5.

    Examples
    --------
    >>> cell = ComparedCell("uci", "susy", "ber", 1, 0, "hinge", 79.2, 0.4, 20, True, 77.5, 0.4, True)
    >>> shown_cell(7, cell)
    ShownCell(number=7, ours='79.2 (0.4)', paper='77.5 (0.4)', difference='+1.7', bold=True, paper_bold=True,
              shade='above2')
    """

    number: int
    ours: str
    paper: str
    difference: str
    bold: bool
    paper_bold: bool
    shade: str


@dataclass(frozen=True)
class ShownTable:
    """A table with its rows: a label, a data set, and a cell or None for each loss.

    Examples
    --------
    >>> table = ScoreTable("uci", "ber", (1.0, 0.0), ("hinge",), ())
    >>> ShownTable(table, ()).headings
    [('hinge', 'Hinge')]
    """

    table: ScoreTable
    rows: tuple[tuple[str, str, tuple[ShownCell | None, ...]], ...]

    @property
    def headings(self) -> list[tuple[str, str]]:
        """The name and the heading of every column."""
        return [(loss, loss_heading(loss)) for loss in self.table.losses]


class ShownScoring(NamedTuple):
    """The tables of a run that is scored in one way.

    Examples
    --------
    >>> ShownScoring("as published", []).tables
    []
    """

    way: str
    tables: list[ShownTable]


def shown_cell(number: int, cell: ComparedCell) -> ShownCell:
    """Return a cell as texts.

    Examples
    --------
    >>> shown_cell(0, ComparedCell("my", "own", "auc", 1, 0, "hinge", 77.94, None, 1, False)).ours
    '77.9'
    """
    paper = "" if cell.paper_mean is None else score_text(cell.paper_mean, cell.paper_se)
    return ShownCell(
        number,
        score_text(cell.mean, cell.se),
        paper,
        signed(cell.difference),
        cell.bold,
        bool(cell.paper_bold),
        shade(cell.difference),
    )


def signed(difference: float | None) -> str:
    """Return a difference as text, with its sign unless it is printed as zero; nothing where there is none.

    Examples
    --------
    >>> signed(1.25), signed(-0.7), signed(-0.04), signed(None)
    ('+1.2', '−0.7', '0.0', '')
    """
    if difference is None:
        return ""
    return f"{difference:+.1f}".replace("-", "−") if abs(round(difference, 1)) else "0.0"


def shade(difference: float | None) -> str:
    """Return the class of the colour of a difference; nothing where it is small, or where there is none.

    Examples
    --------
    >>> shade(0.2), shade(-0.7), shade(1.5), shade(-10), shade(None)
    ('', 'below1', 'above1', 'below3', '')
    """
    size = sum(abs(difference or 0.0) > limit for limit in LIMITS)
    return f"{'above' if (difference or 0.0) > 0 else 'below'}{size}" if size else ""


def shown_tables(runs: Sequence[Run]) -> list[list[ShownScoring]]:
    """Return the tables of every run, one entry for each way in which it is scored.

    Examples
    --------
    >>> shown_tables([])
    []
    """
    numbers = {
        (place.run.name, place.scoring.way, place.cell.compared.row, place.cell.compared.loss): number
        for number, place in enumerate(placed_cells(runs))
    }

    def shown(run: Run, scoring: Scoring, table: ScoreTable) -> ShownTable:
        rows = []
        for row in table.rows:
            cells = tuple(
                shown_cell(numbers[run.name, scoring.way, row[loss].row, loss], row[loss]) if loss in row else None
                for loss in table.losses
            )
            rows.append((table.label(row), next(iter(row.values())).dataset, cells))
        return ShownTable(table, tuple(rows))

    return [
        [
            ShownScoring(scoring.way, [shown(run, scoring, table) for table in _tables(scoring.compared)])
            for scoring in run.scorings
        ]
        for run in runs
    ]


def _tables(cells: Sequence[ComparedCell]) -> list[ScoreTable]:
    return score_tables(cells, by_noise=single_dataset_families(cells))


__all__ = ["LIMITS", "ShownCell", "ShownScoring", "ShownTable", "shade", "shown_cell", "shown_tables", "signed"]
