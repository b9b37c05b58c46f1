"""The cells that differ most from the paper's, and how many such cells chance alone would give."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from symloss.paper.compare import Cell
from symloss.paper.published import ROUNDING_VARIANCE, TRIALS
from symloss.paper.score_tables import loss_heading

if TYPE_CHECKING:
    from numpy.typing import NDArray
    from rich.console import Console
    from rich.table import Table

LIMITS = (2, 3, 4, 5)
LEGEND = """\
Number of cells found, in brackets by chance alone: the expected number, and the
median of the largest |z|. Chance is Student's t with Welch's degrees of
freedom, because standard errors are from 10 or 20 trials; in the last line it
is normal, as if they were known. Cells are taken to be independent."""


def worst_cells(cells: Sequence[Cell], number: int) -> list[Cell]:
    """Return the cells with the largest ``|z|``, the largest first.

    Examples
    --------
    >>> cells = [Cell("uci", "susy", "auc", 1, 0, "hinge", mean, 0.4, 20, True, 77.5, 0.4) for mean in (77, 79, 74)]
    >>> [cell.mean for cell in worst_cells(cells, 2)]
    [74, 79]
    """
    return sorted(_with_z(cells), key=lambda cell: -abs(cell.z or 0.0))[:number]


@dataclass(frozen=True)
class Chance:
    """How large ``|z|`` is, as found and as chance alone would make it.

    Parameters
    ----------
    cells : int
    found, expected : tuple of float
        Number of cells with ``|z|`` larger than each of ``LIMITS``.
    largest, median_largest : float
        The largest ``|z|``, and the median that it would have by chance if cells were independent.

    Examples
    --------
    >>> cells = [Cell("uci", "susy", "auc", 1, 0, "hinge", mean, 0.4, 20, True, 77.5, 0.4) for mean in (77, 79, 74)]
    >>> by_chance = chance(cells)
    >>> by_chance.found, [round(number, 2) for number in by_chance.expected], round(by_chance.median_largest, 2)
    ((2, 1, 1, 1), [0.16, 0.01, 0.0, 0.0], 1.29)
    """

    cells: int
    found: tuple[int, ...]
    expected: tuple[float, ...]
    largest: float
    median_largest: float


def chance(cells: Sequence[Cell], normal: bool = False) -> Chance | None:
    """Return how large ``|z|`` is among cells and by chance, or None if no cell has a z.

    By chance, z has Student's t-distribution with the cell's degrees of freedom (see `degrees_of_freedom`), or the
    normal distribution if ``normal``.

    Examples
    --------
    >>> cells = [Cell("uci", "susy", "auc", 1, 0, "hinge", 77.9, 0.4, 20, True, 77.5, 0.4)] * 1000
    >>> round(chance(cells).expected[1], 1), round(chance(cells, normal=True).expected[1], 1)
    (4.7, 2.7)
    """
    import numpy as np
    from scipy.optimize import brentq

    compared = _with_z(cells)
    if not compared:
        return None
    degrees = np.array([math.inf if normal else degrees_of_freedom(cell) for cell in compared])

    def no_larger(size: float) -> float:
        """Return the logarithm of the probability that no cell is beyond, plus log 2: zero at the median."""
        return float(np.log1p(-_tails(degrees, size)).sum() + math.log(2))

    sizes = [abs(cell.z or 0.0) for cell in compared]
    return Chance(
        len(compared),
        tuple(sum(size > limit for size in sizes) for limit in LIMITS),
        tuple(float(_tails(degrees, limit).sum()) for limit in LIMITS),
        max(sizes),
        float(brentq(no_larger, 1e-6, 1e6)),
    )


def degrees_of_freedom(cell: Cell) -> float:
    """Return Welch's degrees of freedom of z, whose variance is in part that of rounding, which is known exactly.

    Examples
    --------
    >>> round(degrees_of_freedom(Cell("uci", "susy", "auc", 1, 0, "hinge", 77.9, 0.4, 20, True, 77.5, 0.4)), 1)
    38.2
    """
    if cell.se is None or cell.paper_se is None:
        raise ValueError(f"the cell must have two standard errors, got {cell.se} and {cell.paper_se}")
    ours, papers = cell.se**2, cell.paper_se**2 + ROUNDING_VARIANCE
    by_trials = ours**2 / (cell.trials - 1) + papers**2 / (TRIALS[cell.family] - 1)
    return (ours + papers + ROUNDING_VARIANCE) ** 2 / by_trials


def print_worst(cells: Sequence[Cell], number: int, console: Console) -> None:
    """Print the cells that differ most, and how many such cells chance would give, for each family and for all.

    Examples
    --------
    >>> from rich.console import Console
    >>> cells = [Cell("uci", "susy", "auc", 1, 0, "hinge", 74.9, 0.4, 20, True, 77.5, 0.4)]
    >>> print_worst(cells, 1, Console(width=80))
    family  data set  score  noise     loss       ours      paper  diff     z
    ─────────────────────────────────────────────────────────────────────────
    uci     susy      AUC    1.0, 0.0  Hinge  74.9±0.4   77.5±0.4  -2.6  -4.6
    ...
    """
    table = _table(("family", "data set", "score", "noise", "loss"), ("ours", "paper", "diff", "z"))
    for cell in worst_cells(cells, number):
        noise = f"{float(cell.pi)}, {float(cell.pi_prime)}"
        table.add_row(cell.family, cell.dataset, _SCORES[cell.risk], noise, loss_heading(cell.loss),
                      f"{cell.mean:.1f}±{cell.se:.1f}", f" {cell.paper_mean:.1f}±{cell.paper_se:.1f}",
                      f"{cell.difference:+.1f}", f"{cell.z:+.1f}")  # fmt: skip
    console.print(table)
    console.print()
    console.print(_chance_table(cells))
    console.print(LEGEND, style="dim", highlight=False)


_SCORES = {"ber": "BAC", "auc": "AUC"}


def _chance_table(cells: Sequence[Cell]) -> Table:
    table = _table(("",), ("cells", *(f" |z| > {limit}" for limit in LIMITS), "   largest"))
    families = {family: [cell for cell in cells if cell.family == family] for family in TRIALS}
    rows = [(family, chance(of)) for family, of in families.items()]
    for name, found in [*rows, ("all", chance(cells)), ("all, normal", chance(cells, normal=True))]:
        if found:
            pairs = zip(found.found, found.expected, strict=True)
            table.add_row(name, str(found.cells), *(f" {count} ({expected:.1f})" for count, expected in pairs),
                          f" {found.largest:.1f} ({found.median_largest:.1f})")  # fmt: skip
    return table


def _table(left: Sequence[str], right: Sequence[str]) -> Table:
    from rich import box
    from rich.table import Table

    table = Table(box=box.SIMPLE_HEAD, padding=(0, 1, 0, 0), show_edge=False, pad_edge=False)
    for column in left:
        table.add_column(column, no_wrap=True)
    for column in right:
        table.add_column(column, justify="right", no_wrap=True)
    return table


def _with_z(cells: Sequence[Cell]) -> list[Cell]:
    return [cell for cell in cells if cell.z is not None and cell.family in TRIALS]


def _tails(degrees: NDArray[Any], size: float) -> NDArray[Any]:
    """Return the probability that a t-deviate is beyond a size, on either side."""
    from scipy.special import stdtr

    tails: NDArray[Any] = 2 * stdtr(degrees, -size)
    return tails


__all__ = ["LIMITS", "Chance", "chance", "degrees_of_freedom", "print_worst", "worst_cells"]
