"""The cells and curves of a report as its scripts read them: a list for each property, names as numbers."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any, NamedTuple

from symloss.functional import RISKS
from symloss.paper.compare import loss_order, noise_text
from symloss.paper.figures import styles_of
from symloss.paper.score_tables import SCORES, loss_heading
from symloss.report.content import Run, ScoredCell, Scoring

DECIMALS = 4  # of means, as in the result files
CURVE_DECIMALS = 2  # finer than a screen
SYMBOLS = {"s": "square", "^": "triangle-up", "o": "circle", "D": "diamond", "v": "triangle-down", "P": "cross",
           "*": "star"}  # fmt: skip
# Of other losses. Six colours are for those of one's own: pairs of symbol and colour repeat after forty-two.
FURTHER_SYMBOLS = ("hexagon", "pentagon", "triangle-left", "triangle-right", "x", "hourglass", "bowtie")
FILTERS = {"run": "Run", "dataset": "Data set", "risk": "Risk", "loss": "Loss", "scores": "Scores"}


class Placed(NamedTuple):
    """A cell, and the run and scoring that it is of.

    Examples
    --------
    >>> Placed._fields
    ('run', 'scoring', 'cell')
    """

    run: Run
    scoring: Scoring
    cell: ScoredCell


def placed_cells(runs: Iterable[Run]) -> Iterator[Placed]:
    """Yield all cells in the order of the report; a cell's number is its place here.

    Examples
    --------
    >>> list(placed_cells([]))
    []
    """
    for run in runs:
        for scoring in run.scorings:
            for cell in scoring.cells:
                yield Placed(run, scoring, cell)


def filter_values(runs: Sequence[Run]) -> dict[str, dict[str, str]]:
    """Return what cells can be chosen by, and the values of each: a name, and the title that is shown.

    Examples
    --------
    >>> list(filter_values([]))
    ['run', 'dataset', 'risk', 'loss', 'scores']
    """
    placed = list(placed_cells(runs))
    cells = [place.cell.compared for place in placed]
    risks = {cell.risk for cell in cells}
    return {
        "run": {run.name: run.name for run in runs},
        "dataset": {cell.dataset: cell.dataset for cell in cells},
        "risk": {risk: SCORES[risk] for risk in RISKS if risk in risks},
        "loss": {loss: loss_heading(loss) for loss in sorted({cell.loss for cell in cells}, key=loss_order)},
        "scores": {place.scoring.way: place.scoring.way for place in placed},
    }


def report_data(runs: Sequence[Run]) -> dict[str, Any]:
    """Return all that the scripts of a report need.

    Examples
    --------
    >>> sorted(report_data([]))
    ['cells', 'curves', 'names', 'noises', 'styles', 'titles']
    """
    values = filter_values(runs)
    names = {key: list(titles) for key, titles in values.items()}
    cells = [place.cell.compared for place in placed_cells(runs)]
    noises = sorted({(cell.pi, cell.pi_prime) for cell in cells}, key=lambda noise: (noise[1] - noise[0], -noise[0]))
    return {
        "names": names,
        "titles": {key: list(titles.values()) for key, titles in values.items()},
        "noises": [noise_text(*noise) for noise in noises],
        "styles": _styles(names["loss"]),
        "cells": _columns(_cell_row(place, names, noises) for place in placed_cells(runs)),
        "curves": _columns(_curve_rows(runs, names, noises)),
    }


def _styles(losses: Sequence[str]) -> list[dict[str, str]]:
    """The colours of the paper's figures, and a symbol for each loss."""
    styles = styles_of(losses)
    further = [loss for loss in losses if styles[loss]["marker"] not in SYMBOLS]
    return [
        {
            "colour": styles[loss]["color"],
            "symbol": FURTHER_SYMBOLS[further.index(loss) % len(FURTHER_SYMBOLS)]
            if loss in further
            else SYMBOLS[styles[loss]["marker"]],
        }
        for loss in losses
    ]


def _cell_row(place: Placed, names: dict[str, list[str]], noises: list[tuple[float, float]]) -> dict[str, Any]:
    cell = place.cell.compared
    return {
        "run": names["run"].index(place.run.name),
        "scores": names["scores"].index(place.scoring.way),
        "family": cell.family,
        "dataset": names["dataset"].index(cell.dataset),
        "risk": names["risk"].index(cell.risk),
        "noise": noises.index((cell.pi, cell.pi_prime)),
        "loss": names["loss"].index(cell.loss),
        "mean": round(cell.mean, DECIMALS),
        "se": _rounded(cell.se),
        "bold": cell.bold,
        "paper_mean": cell.paper_mean,
        "paper_se": cell.paper_se,
        "paper_bold": cell.paper_bold,
        "difference": _rounded(cell.difference),
        "z": _rounded(cell.z),
        "trials": place.cell.trials,
    }


def _curve_rows(
    runs: Sequence[Run], names: dict[str, list[str]], noises: list[tuple[float, float]]
) -> Iterator[dict[str, Any]]:
    for number, run in enumerate(runs):
        for scoring in run.scorings:
            for result in scoring.results:
                errors = result.further_curves.get("se", {})
                for risk, losses in result.curves.items():
                    for loss, curve in losses.items():
                        if loss not in result.scores.get(risk, {}):
                            continue  # the report is of cells: without a score there is none
                        error = errors.get(risk, {}).get(loss)
                        yield {
                            "run": number,
                            "scores": names["scores"].index(scoring.way),
                            "family": result.family,
                            "dataset": names["dataset"].index(result.dataset),
                            "risk": names["risk"].index(risk),
                            "noise": noises.index((result.pi, result.pi_prime)),
                            "loss": names["loss"].index(loss),
                            "mean": [round(value, CURVE_DECIMALS) for value in curve],
                            "se": error and [round(value, CURVE_DECIMALS) for value in error],
                        }


def _columns(rows: Iterable[dict[str, Any]]) -> dict[str, list[Any]]:
    columns: dict[str, list[Any]] = {}
    for row in rows:
        for name, value in row.items():
            columns.setdefault(name, []).append(value)
    return columns


def _rounded(value: float | None) -> float | None:
    return None if value is None else round(value, DECIMALS)


__all__ = ["FILTERS", "Placed", "filter_values", "placed_cells", "report_data"]
