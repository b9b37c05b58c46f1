"""The 1,064 cells of the paper's tables (``published.csv``), and our scores beside them, cell by cell."""

from __future__ import annotations

import csv
import io
import math
import statistics
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cache
from importlib.resources import files
from itertools import groupby
from typing import Any

from symloss.functional import RISKS
from symloss.losses import list_losses
from symloss.paper.results import CELL_COLUMNS, CIFAR10_PAIRS, PUBLISHED, TRIALS, UCI_DATASETS, Run

# The columns of the paper's tables, in its order: our name for each loss, and its heading in the paper.
LOSSES = {
    "barrier_hinge": "Barrier",
    "unhinged": "Unhinged",
    "sigmoid": "Sigmoid",
    "logistic": "Logistic",
    "hinge": "Hinge",
    "squared": "Squared",
    "savage": "Savage",
}

# Means and standard errors are printed to 0.1, so the rounding error is uniform on an interval of length 0.1.
ROUNDING_VARIANCE = 0.1**2 / 12
LEVEL = 0.05  # of the t-test that decides boldface

_OUR_NAMES = {"barrier": "barrier_hinge", "car": "cat"}  # CIFAR-10 has no car; that row is between bird and deer

_COLUMNS = ("family", "dataset", "risk", "pi", "pi_prime", "loss", "mean", "se", "trials", "bold",
            "paper_mean", "paper_se", "paper_bold", "difference", "z")  # fmt: skip


def boldface(means: Sequence[float], standard_errors: Sequence[float | None], trials: int) -> list[bool]:
    """Return which of several losses go into boldface: the best mean, and all that a t-test does not find to be worse.

    The test is one-sided and unpaired, with significance level 5% and Welch's degrees of freedom. For the printed means
    and standard errors, it gives the published boldface wherever their rounding leaves no doubt. After one trial, whose
    standard error is None, only the best mean is in boldface.
    """
    best = max(range(len(means)), key=means.__getitem__)
    return [
        mean == means[best] or not _is_worse(means[best] - mean, standard_errors[best] or 0.0, error or 0.0, trials)
        for mean, error in zip(means, standard_errors, strict=True)
    ]


def _is_worse(difference: float, first: float, second: float, trials: int) -> bool:
    from scipy.special import stdtr

    variance = first**2 + second**2
    if variance == 0:
        return True
    degrees = (trials - 1) * variance**2 / (first**4 + second**4)
    return bool(stdtr(degrees, -difference / math.sqrt(variance)) < LEVEL)


@dataclass(frozen=True)
class Cell:
    """A cell of the tables, ours and the paper's: the score of one loss and risk on one data set at one noise rate.

    The paper's mean, standard error and boldface are None where it has no such cell; ours is None for the standard
    error of a single trial. The curve is the mean score after each epoch, with its standard errors.
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


@cache
def published_cells() -> dict[tuple[Any, ...], Cell]:
    """Return all published cells in the paper's order, by row and loss, with our names of losses and of the ``cat``."""
    text = (files("symloss.paper") / "published.csv").read_text(encoding="utf-8")
    cells = [
        Cell(
            row["family"], _OUR_NAMES.get(row["dataset"], row["dataset"]), row["objective"], float(row["pi"]),
            float(row["pi_prime"]), _OUR_NAMES.get(row["loss"], row["loss"]), float(row["mean"]), float(row["se"]),
            TRIALS[row["family"]], row["bold"] == "1",
        )
        for row in csv.DictReader(text.splitlines())
    ]  # fmt: skip
    return {(*cell.row, cell.loss): cell for cell in cells}


def compare(runs: Iterable[Run], way: str = PUBLISHED) -> list[Cell]:
    """Return the cells of runs, scored in this way, beside the paper's, in its order; others come last."""
    return sorted((cell for run in runs for cell in _cells(run, way)), key=_order)


def _cells(run: Run, way: str) -> Iterator[Cell]:
    if way not in run.ways:
        known = ", ".join(run.ways[1:]) or "none"
        raise ValueError(f"these results have no scores {way!r} beside the published kind; they have: {known}")
    curves: dict[Any, dict[str, Any]] = {}
    if run.curves is not None and way in run.curves:
        for key, of in run.curves.groupby(CELL_COLUMNS, sort=False):
            curves[key] = {"curve": tuple(of[way]), "curve_errors": tuple(of[f"{way}_se"])}
    for (dataset, pi, pi_prime, risk), row in run.scores.groupby(CELL_COLUMNS[:-1], sort=False):
        scores = {loss: tuple(of[way]) for loss, of in row.groupby("loss", sort=False)}
        means = [statistics.fmean(of) for of in scores.values()]
        errors = [statistics.stdev(of) / math.sqrt(len(of)) if len(of) > 1 else None for of in scores.values()]
        for loss, mean, se, bold in zip(scores, means, errors, boldface(means, errors, run.trials), strict=True):
            cell = Cell(run.family, dataset, risk, pi, pi_prime, loss, mean, se, run.trials, bold, scores=scores[loss])
            if paper := published_cells().get((*cell.row, loss)):
                cell = replace(cell, paper_mean=paper.mean, paper_se=paper.se, paper_bold=paper.bold)
            yield replace(cell, **curves.get((dataset, pi, pi_prime, risk, loss), {}))


def summarize(cells: Sequence[Cell]) -> dict[str, Any]:
    """Return how well cells agree with the paper, as numbers by their names; what cannot be told is None.

    Differences are in points, our means minus the paper's; shares are those of the cells that the paper has too.
    Boldface and best losses are counted in rows that have all of the paper's losses, and compare only these: a cell
    agrees if it is in boldface both here and in the paper or in neither, a row if our best loss is in boldface there.
    """
    differences = [cell.difference for cell in cells if cell.difference is not None]
    sizes = [abs(cell.z) for cell in cells if cell.z is not None]
    rows = [row for row in map(_as_in_the_paper, rows_of(cells)) if row]
    agree = [cell.bold == cell.paper_bold for row in rows for cell in row]
    best = [any(cell.paper_bold for cell in row if cell.mean == max(other.mean for other in row)) for row in rows]

    def mean(values: Iterable[float]) -> float | None:
        found = list(values)
        return statistics.fmean(found) if found else None

    square = mean(difference**2 for difference in differences)
    return {
        "cells": len(cells),
        "compared": len(differences),
        "rms_difference": None if square is None else math.sqrt(square),
        "share_within_1_5": mean(abs(difference) <= 1.5 for difference in differences),
        "share_within_3": mean(abs(difference) <= 3 for difference in differences),
        **{f"share_z_below_{limit}": mean(size < limit for size in sizes) for limit in (1, 2, 3)},
        "boldface_of": len(agree),
        "boldface_agree": sum(agree),
        "best_loss_of": len(best),
        "best_loss_agree": sum(best),
    }


def summarize_parts(cells: Sequence[Cell]) -> dict[str, dict[str, dict[str, Any]]]:
    """Return the summaries of each family, risk and noise rate."""
    parts: dict[str, Callable[[Cell], str]] = {
        "family": lambda cell: cell.family,
        "risk": lambda cell: cell.risk,
        "noise": lambda cell: noise_text(cell.pi, cell.pi_prime),
    }
    return {
        part: {name: summarize([of for of in cells if key(of) == name]) for name in dict.fromkeys(map(key, cells))}
        for part, key in parts.items()
    }


def comparison_csv(cells: Sequence[Cell]) -> str:
    """Return the cells as CSV, one row per cell; missing values are empty, and boldface is 1 or 0."""
    stream = io.StringIO()
    writer = csv.writer(stream, lineterminator="\n")
    writer.writerow("objective" if name == "risk" else name for name in _COLUMNS)
    for cell in cells:
        values = [getattr(cell, name) for name in _COLUMNS]
        writer.writerow(
            int(of) if isinstance(of, bool) else round(of, 4) if isinstance(of, float) else of for of in values
        )
    return stream.getvalue()


def rows_of(cells: Sequence[Cell]) -> list[list[Cell]]:
    """Return the cells in rows: one row per data set, risk and noise rate."""
    return [list(row) for _, row in groupby(cells, key=lambda cell: cell.row)]


def noise_text(pi: float, pi_prime: float) -> str:
    """Return a noise rate as the paper writes it: ``(0.65, 0.45)``."""
    return f"({float(pi)!r}, {float(pi_prime)!r})"


def loss_order(loss: str) -> tuple[int, str]:
    """Return a key that sorts losses: the paper's in its order, then other built-in ones, then all others by name."""
    return _place(loss, [*LOSSES, *list_losses()])


def _place(name: str, known: Sequence[str]) -> tuple[int, str]:
    return known.index(name) if name in known else len(known), name


def _as_in_the_paper(row: Sequence[Cell]) -> list[Cell]:
    """Return the cells of the paper's losses, with boldface that compares only these; no cells if one is missing."""
    cells = [cell for cell in row if cell.paper_mean is not None]
    if {cell.loss for cell in cells} != LOSSES.keys():
        return []
    bold = boldface([cell.mean for cell in cells], [cell.se for cell in cells], cells[0].trials)
    return [replace(cell, bold=ours) for cell, ours in zip(cells, bold, strict=True)]


def _order(cell: Cell) -> tuple[Any, ...]:
    """Return a key that sorts cells in the paper's order: its families, data sets and losses first."""
    return (
        _place(cell.family, list(TRIALS)),
        RISKS.index(cell.risk),
        cell.pi_prime - cell.pi,
        -cell.pi,
        _place(cell.dataset, [*UCI_DATASETS, *CIFAR10_PAIRS]),
        loss_order(cell.loss),
    )
