"""Our scores beside the paper's, cell by cell (a cell of a table is one score), and how well the two agree."""

from __future__ import annotations

import csv
import io
import math
import statistics
from collections.abc import Callable, Iterable, Sequence
from dataclasses import asdict, dataclass, replace
from functools import cache
from itertools import groupby
from typing import Any

from symloss.functional import RISKS
from symloss.losses import list_losses
from symloss.paper.boldface import boldface
from symloss.paper.published import LOSSES, ROUNDING_VARIANCE, find_published, published_cells
from symloss.paper.results import PUBLISHED, Result, Scored

_FILE_WORDS = {"risk": "objective"}  # the name that CSV and JSON files use
_COLUMNS = ("family", "dataset", "risk", "pi", "pi_prime", "loss", "mean", "se", "trials", "bold",
            "paper_mean", "paper_se", "paper_bold", "difference", "z")  # fmt: skip


@dataclass(frozen=True)
class Cell:
    """A cell of the tables, ours and the paper's: the score of one loss and risk on one data set at one noise rate.

    Parameters
    ----------
    family, dataset, risk, pi, pi_prime, loss
        Which cell it is.
    mean, se : float
        Our mean score and its standard error; ``se`` is None after a single trial.
    trials : int
    bold : bool
        Whether our score is in boldface when compared with all losses of the row.
    paper_mean, paper_se, paper_bold
        The same of the paper, or None where it has no such cell.
    scores : tuple of float
        The score of every trial.
    curve, curve_errors : tuple of float
        The mean score after each epoch, and the standard errors of these means, where they were recorded.
    number : int
        Its place among all cells of a report.

    Examples
    --------
    >>> cell = Cell("uci", "susy", "ber", 1, 0, "hinge", 77.9, 0.4, 20, True, 77.5, 0.4, True)
    >>> round(cell.difference, 3), round(cell.z, 3)
    (0.4, 0.705)
    """

    family: str
    dataset: str
    risk: str
    pi: float
    pi_prime: float
    loss: str
    mean: float
    se: float | None
    trials: int
    bold: bool
    paper_mean: float | None = None
    paper_se: float | None = None
    paper_bold: bool | None = None
    scores: tuple[float, ...] = ()
    curve: tuple[float, ...] = ()
    curve_errors: tuple[float, ...] = ()
    number: int = 0

    @property
    def difference(self) -> float | None:
        """Our mean minus the paper's."""
        return None if self.paper_mean is None else self.mean - self.paper_mean

    @property
    def z(self) -> float | None:
        """The difference divided by its standard error, which includes the rounding of the paper's numbers.

        A mean that is printed to one decimal adds the variance 0.1^2 / 12. A printed standard error s adds the same:
        over all values that are printed as s, the mean of the square is s^2 + 0.1^2 / 12. This also holds where 0.0
        is printed, for values from 0 to 0.05.
        """
        if self.difference is None or self.paper_se is None or self.se is None:
            return None
        return self.difference / math.sqrt(self.se**2 + self.paper_se**2 + 2 * ROUNDING_VARIANCE)

    @property
    def row(self) -> tuple[str, str, str, float, float]:
        """What tells the cell's row from other rows: family, data set, risk and noise rate."""
        return self.family, self.dataset, self.risk, self.pi, self.pi_prime


def compare(results: Iterable[Result], way: str = PUBLISHED) -> list[Cell]:
    """Return the cells of results beside the paper's, in its order; other data sets and losses come last.

    Parameters
    ----------
    results : iterable of Result
    way : str
        How our networks are scored, such as ``dropout_off``; every result must have such scores.

    Examples
    --------
    >>> scores = {"auc": {"sigmoid": [90.0, 91.0], "ramp": [88.0, 90.0]}}
    >>> result = Result(family="uci", dataset="twonorm", pi=0.65, pi_prime=0.45, trials=2, scores=scores)
    >>> for cell in compare([result]):
    ...     print(cell.loss, cell.mean, cell.bold, cell.paper_mean)
    sigmoid 90.5 True 98.0
    ramp 89.0 True None
    """
    cells = [cell for result in results for risk in RISKS for cell in _row(result, result.scored(way), risk)]
    return sorted(cells, key=_order)


@dataclass(frozen=True)
class Summary:
    """How well results agree with the paper.

    Parameters
    ----------
    cells, compared : int
        Number of our cells, and how many of them the paper has too.
    rms_difference, mean_difference : float
        Root mean square and mean of our means minus the paper's, in points (scores are from 0 to 100).
    share_within_1_5, share_within_3 : float
        Shares of the compared cells that differ by at most 1.5 and 3 points.
    share_z_below_1, share_z_below_2, share_z_below_3 : float
        Shares of the compared cells with z between -1 and 1, -2 and 2, -3 and 3. They are about 0.68, 0.95 and 0.997
        if the differences are only chance.
    boldface_of, boldface_agree : int
        Number of cells in rows that have all of the paper's losses, and how many of these cells agree: they are in
        boldface both here and in the paper, or in neither. Here boldface compares the paper's losses only.
    best_loss_of, best_loss_agree : int
        Number of rows that have all of the paper's losses, and in how many of them our best loss (or another loss
        with the same mean) is in boldface in the paper.

    Examples
    --------
    >>> cells = [Cell("uci", "susy", "ber", 1, 0, "hinge", 77.9, 0.4, 20, True, 77.5, 0.4, True)]
    >>> summary = summarize(cells)
    >>> summary.compared, round(summary.rms_difference, 3), summary.share_z_below_1
    (1, 0.4, 1.0)
    """

    cells: int
    compared: int
    rms_difference: float | None
    mean_difference: float | None
    share_within_1_5: float | None
    share_within_3: float | None
    share_z_below_1: float | None
    share_z_below_2: float | None
    share_z_below_3: float | None
    boldface_of: int
    boldface_agree: int
    best_loss_of: int
    best_loss_agree: int

    def to_dict(self) -> dict[str, Any]:
        """Return plain data for JSON, which also gives the two agreements as shares."""
        rounded = {name: round(value, 4) if isinstance(value, float) else value for name, value in asdict(self).items()}
        return rounded | {
            "boldface_agreement": _share(self.boldface_agree, self.boldface_of),
            "best_loss_agreement": _share(self.best_loss_agree, self.best_loss_of),
        }


def summarize(cells: Sequence[Cell]) -> Summary:
    """Return how well cells agree with the paper.

    Examples
    --------
    >>> near = Cell("uci", "susy", "ber", 1, 0, "hinge", 77.9, 0.4, 20, True, 77.5, 0.4, True)
    >>> far = Cell("uci", "susy", "auc", 1, 0, "hinge", 85.5, 0.4, 20, True, 83.5, 0.4, True)
    >>> summary = summarize([near, far])
    >>> round(summary.mean_difference, 3), summary.share_within_1_5
    (1.2, 0.5)
    """
    differences = [cell.difference for cell in cells if cell.difference is not None]
    sizes = [abs(cell.z) for cell in cells if cell.z is not None]
    rows = [row for row in map(_as_in_the_paper, rows_of(cells)) if row]
    agree = [cell.bold == cell.paper_bold for row in rows for cell in row]
    best = [any(cell.paper_bold for cell in row if cell.mean == max(other.mean for other in row)) for row in rows]
    return Summary(
        cells=len(cells),
        compared=len(differences),
        rms_difference=math.sqrt(statistics.fmean(d * d for d in differences)) if differences else None,
        mean_difference=statistics.fmean(differences) if differences else None,
        share_within_1_5=statistics.fmean(abs(d) <= 1.5 for d in differences) if differences else None,
        share_within_3=statistics.fmean(abs(d) <= 3 for d in differences) if differences else None,
        share_z_below_1=statistics.fmean(size < 1 for size in sizes) if sizes else None,
        share_z_below_2=statistics.fmean(size < 2 for size in sizes) if sizes else None,
        share_z_below_3=statistics.fmean(size < 3 for size in sizes) if sizes else None,
        boldface_of=len(agree),
        boldface_agree=sum(agree),
        best_loss_of=len(best),
        best_loss_agree=sum(best),
    )


def summarize_parts(cells: Sequence[Cell]) -> dict[str, dict[str, Summary]]:
    """Return one summary of all cells, and one for each family, risk and noise rate.

    Examples
    --------
    >>> cells = [Cell("uci", "susy", "ber", 1, 0, "hinge", 77.9, 0.4, 20, True, 77.5, 0.4, True)]
    >>> {part: list(summaries) for part, summaries in summarize_parts(cells).items()}
    {'all': ['all'], 'family': ['uci'], 'risk': ['ber'], 'noise': ['(1.0, 0.0)']}
    """
    parts: dict[str, Callable[[Cell], str]] = {
        "all": lambda _: "all",
        "family": lambda cell: cell.family,
        "risk": lambda cell: cell.risk,
        "noise": lambda cell: noise_text(cell.pi, cell.pi_prime),
    }
    return {
        part: {
            value: summarize([cell for cell in cells if key(cell) == value]) for value in dict.fromkeys(map(key, cells))
        }
        for part, key in parts.items()
    }


def summary_json(cells: Sequence[Cell]) -> dict[str, Any]:
    """Return the summary of all cells as plain data, with those of each family, risk and noise rate inside.

    Examples
    --------
    >>> cells = [Cell("uci", "susy", "ber", 1, 0, "hinge", 77.9, 0.4, 20, True, 77.5, 0.4, True)]
    >>> summary = summary_json(cells)
    >>> summary["rms_difference"], summary["by_family"]["uci"]["share_z_below_1"]
    (0.4, 1.0)
    """
    parts = summarize_parts(cells)
    parts.pop("all")
    return summarize(cells).to_dict() | {
        f"by_{_FILE_WORDS.get(part, part)}": {name: summary.to_dict() for name, summary in summaries.items()}
        for part, summaries in parts.items()
    }


def comparison_csv(cells: Sequence[Cell]) -> str:
    """Return the cells as CSV, one row per cell; missing values are empty, and boldface is 1 or 0.

    Examples
    --------
    >>> cells = [Cell("uci", "susy", "ber", 1.0, 0.0, "hinge", 77.9, 0.4, 20, True, 77.5, 0.4, True)]
    >>> print(comparison_csv(cells), end="")
    family,dataset,objective,pi,pi_prime,loss,mean,se,trials,bold,paper_mean,paper_se,paper_bold,difference,z
    uci,susy,ber,1.0,0.0,hinge,77.9,0.4,20,1,77.5,0.4,1,0.4,0.7053
    """
    stream = io.StringIO()
    writer = csv.writer(stream, lineterminator="\n")
    writer.writerow(_FILE_WORDS.get(name, name) for name in _COLUMNS)
    for cell in cells:
        writer.writerow(_csv_value(getattr(cell, name)) for name in _COLUMNS)
    return stream.getvalue()


def rows_of(cells: Sequence[Cell]) -> list[list[Cell]]:
    """Return the cells in rows: one row per data set, risk and noise rate.

    Examples
    --------
    >>> cells = [Cell("uci", "susy", "auc", 1, 0, loss, 77.9, 0.4, 20, True) for loss in ("hinge", "squared")]
    >>> [[cell.loss for cell in row] for row in rows_of(cells)]
    [['hinge', 'squared']]
    """
    return [list(row) for _, row in groupby(cells, key=lambda cell: cell.row)]


def noise_text(pi: float, pi_prime: float) -> str:
    """Return a noise rate as the paper writes it.

    Examples
    --------
    >>> noise_text(1, 0), noise_text(0.65, 0.45)
    ('(1.0, 0.0)', '(0.65, 0.45)')
    """
    return f"({float(pi)!r}, {float(pi_prime)!r})"


def loss_order(loss: str) -> tuple[int, str]:
    """Return a key that sorts losses: the paper's in its order, then other built-in ones, then all others by name.

    Examples
    --------
    >>> sorted(["my_own", "ramp", "sigmoid", "barrier_hinge"], key=loss_order)
    ['barrier_hinge', 'sigmoid', 'ramp', 'my_own']
    """
    known = [*LOSSES, *list_losses()]
    return (known.index(loss) if loss in known else len(known), loss)


def _row(result: Result, scored: Scored, risk: str) -> list[Cell]:
    losses = scored.scores.get(risk, {})
    if not losses:
        return []
    means = [statistics.fmean(values) for values in losses.values()]
    errors = [_standard_error(values) for values in losses.values()]
    curves, curve_errors = (of.get(risk, {}) for of in (scored.curves, scored.errors))
    row = []
    for loss, mean, error, bold in zip(losses, means, errors, boldface(means, errors, result.trials), strict=True):
        place = (result.family, result.dataset, risk, result.pi, result.pi_prime, loss)
        paper = find_published(*place)
        row.append(
            Cell(
                *place,
                mean,
                error,
                result.trials,
                bold,
                paper.mean if paper else None,
                paper.se if paper else None,
                paper.bold if paper else None,
                scores=tuple(losses[loss]),
                curve=tuple(curves.get(loss, ())),
                curve_errors=tuple(curve_errors.get(loss, ())),
            )
        )
    return row


def _standard_error(scores: Sequence[float]) -> float | None:
    return statistics.stdev(scores) / math.sqrt(len(scores)) if len(scores) > 1 else None


def _as_in_the_paper(row: Sequence[Cell]) -> list[Cell]:
    """Return the cells of the paper's losses, with boldface that compares only these; no cells if one is missing."""
    cells = [cell for cell in row if cell.paper_mean is not None]
    if {cell.loss for cell in cells} != LOSSES.keys():
        return []
    bold = boldface([cell.mean for cell in cells], [cell.se for cell in cells], cells[0].trials)
    return [replace(cell, bold=ours) for cell, ours in zip(cells, bold, strict=True)]


def _order(cell: Cell) -> tuple[Any, ...]:
    """Return a key that sorts cells in the paper's order: its families, data sets and losses first."""
    families, datasets = _known()
    return (
        families.index(cell.family) if cell.family in families else len(families),
        cell.family,
        RISKS.index(cell.risk),
        cell.pi_prime - cell.pi,
        -cell.pi,
        datasets.index(cell.dataset) if cell.dataset in datasets else len(datasets),
        cell.dataset,
        loss_order(cell.loss),
    )


@cache
def _known() -> tuple[list[str], list[str]]:
    families = list(dict.fromkeys(cell.family for cell in published_cells()))
    datasets = list(dict.fromkeys(cell.dataset for cell in published_cells()))
    return families, datasets


def _csv_value(value: Any) -> Any:
    if isinstance(value, bool):
        return int(value)
    return round(value, 4) if isinstance(value, float) else value


def _share(part: int, whole: int) -> float | None:
    return round(part / whole, 4) if whole else None
