"""Which cells stand together in a table, as in the paper's appendix: one row per data set, or per noise rate."""

from __future__ import annotations

from collections.abc import Container, Sequence
from dataclasses import dataclass
from itertools import groupby

from symloss.losses import get_loss, list_losses
from symloss.paper.compare import Cell, loss_order, noise_text, rows_of
from symloss.paper.published import LOSSES

SCORES = {"ber": "Balanced accuracy", "auc": "AUC"}
FAMILIES = {"uci": "UCI and LIBSVM", "mnist": "MNIST", "cifar10": "CIFAR-10, airplane against"}


@dataclass(frozen=True)
class ScoreTable:
    """A table of mean scores, with one column per loss.

    Parameters
    ----------
    family, risk : str
    noise : tuple of (pi, pi_prime), or None where each row has its own
    losses : tuple of str
    rows : tuple of dict
        For each row, its cells by the name of the loss.

    Examples
    --------
    >>> cells = [Cell("uci", "susy", "ber", 1, 0, "hinge", 77.9, 0.4, 20, True)]
    >>> (table,) = score_tables(cells)
    >>> table.title, table.label(table.rows[0])
    ("UCI and LIBSVM: Balanced accuracy, (π, π') = (1.0, 0.0)", 'susy')
    """

    family: str
    risk: str
    noise: tuple[float, float] | None
    losses: tuple[str, ...]
    rows: tuple[dict[str, Cell], ...]

    @property
    def datasets(self) -> list[str]:
        """The data sets of the table."""
        return list(dict.fromkeys(cell.dataset for row in self.rows for cell in row.values()))

    @property
    def title(self) -> str:
        """What the table shows."""
        family = FAMILIES.get(self.family, self.family)
        if self.noise is not None:
            return f"{family}: {SCORES[self.risk]}, (π, π') = {noise_text(*self.noise)}"
        what = " ".join([family, *(name for name in self.datasets if name != self.family)])
        return f"{what}: {SCORES[self.risk]}"

    @property
    def row_header(self) -> str:
        """What the rows are."""
        return "π, π'" if self.noise is None else "data set"

    def label(self, row: dict[str, Cell]) -> str:
        """Return the name of a row."""
        cell = next(iter(row.values()))
        return f"{float(cell.pi)}, {float(cell.pi_prime)}" if self.noise is None else cell.dataset


def score_tables(cells: Sequence[Cell], by_noise: Container[str] = ()) -> list[ScoreTable]:
    """Return the tables of compared cells: one for each family, risk and noise rate.

    In a family of ``by_noise``, noise rates are rows of one table instead, as for MNIST in the paper.

    Examples
    --------
    >>> cells = [Cell("mnist", "mnist", "ber", pi, 0.3, "hinge", 77.9, 0.4, 10, True) for pi in (0.8, 0.7)]
    >>> len(score_tables(cells)), len(score_tables(cells, by_noise={"mnist"}))
    (2, 1)
    """

    def key(cell: Cell) -> tuple[str, str, tuple[float, float] | None]:
        return cell.family, cell.risk, None if cell.family in by_noise else (cell.pi, cell.pi_prime)

    tables = []
    for (family, risk, noise), group in groupby(cells, key):
        rows = rows_of(list(group))
        losses = sorted({cell.loss for row in rows for cell in row}, key=loss_order)
        tables.append(
            ScoreTable(family, risk, noise, tuple(losses), tuple({cell.loss: cell for cell in row} for row in rows))
        )
    return tables


def single_dataset_families(cells: Sequence[Cell]) -> set[str]:
    """Return the families with a single data set; their tables are easiest to read with one row per noise rate.

    Examples
    --------
    >>> single_dataset_families([Cell("uci", "susy", "ber", 1, 0, "hinge", 77.9, 0.4, 20, True)])
    {'uci'}
    """
    datasets = {(cell.family, cell.dataset) for cell in cells}
    families = [family for family, _ in datasets]
    return {family for family in families if families.count(family) == 1}


def loss_heading(loss: str) -> str:
    """Return a loss's heading: that of the paper, else the title of a built-in loss, else the name without its module.

    Examples
    --------
    >>> loss_heading("barrier_hinge"), loss_heading("ramp"), loss_heading("my.module:Own")
    ('Barrier', 'Ramp', 'Own')
    """
    if loss in LOSSES:
        return LOSSES[loss]
    return get_loss(loss).title if loss in list_losses() else loss.rpartition(":")[2]


def score_text(mean: float, se: float | None) -> str:
    """Return a mean and its standard error as the paper prints them.

    Examples
    --------
    >>> score_text(77.94, 0.4), score_text(77.94, None)
    ('77.9 (0.4)', '77.9')
    """
    return f"{mean:.1f}" + ("" if se is None else f" ({se:.1f})")
