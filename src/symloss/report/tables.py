"""The tables of a report, and a cell's difference from the paper as a text and as a color."""

from __future__ import annotations

from collections.abc import Sequence

from symloss.paper.compare import Cell
from symloss.paper.score_tables import ScoreTable, score_tables, single_dataset_families

LIMITS = (0.5, 1.5, 3.0)  # points of difference at which a color deepens; the last two are those of the summary


def tables_of(cells: Sequence[Cell]) -> list[ScoreTable]:
    """Return the tables of a run's cells, which must all be scored in the same way.

    Examples
    --------
    >>> [table.title for table in tables_of([Cell("my", "own", "auc", 1, 0, "hinge", 77.94, None, 1, False)])]
    ['my own: AUC']
    """
    return score_tables(cells, by_noise=single_dataset_families(cells))


def signed(difference: float | None) -> str:
    """Return a difference as text, with its sign unless it is printed as zero; an empty text if there is none.

    Examples
    --------
    >>> signed(1.25), signed(-0.7), signed(-0.04), signed(None)
    ('+1.2', '−0.7', '0.0', '')
    """
    if difference is None:
        return ""
    return f"{difference:+.1f}".replace("-", "−") if abs(round(difference, 1)) else "0.0"


def shade(difference: float | None) -> str:
    """Return the CSS class that colors a difference; an empty text if it is small, or if there is none.

    ``above2`` means that ours is higher by 1.5 to 3 points, ``below1`` that ours is lower by 0.5 to 1.5 points.

    Examples
    --------
    >>> shade(0.2), shade(-0.7), shade(1.5), shade(-10), shade(None)
    ('', 'below1', 'above1', 'below3', '')
    """
    size = sum(abs(difference or 0.0) > limit for limit in LIMITS)
    return f"{'above' if (difference or 0.0) > 0 else 'below'}{size}" if size else ""


__all__ = ["LIMITS", "shade", "signed", "tables_of"]
