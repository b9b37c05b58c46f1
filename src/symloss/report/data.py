"""The cells and curves of a report as its scripts read them: one list per property, with numbers in place of names."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from symloss.functional import RISKS
from symloss.paper.compare import Cell, loss_order, noise_text
from symloss.paper.figures import styles_of
from symloss.paper.score_tables import SCORES, loss_heading
from symloss.report.content import Run

DECIMALS = 4  # of means, as in the result files
CURVE_DECIMALS = 2  # finer than a screen can show
SYMBOLS = {"s": "square", "^": "triangle-up", "o": "circle", "D": "diamond", "v": "triangle-down", "P": "cross",
           "*": "star"}  # fmt: skip
# Symbols of other losses. Users' own losses have six colors, so pairs of symbol and color repeat after 42 losses.
FURTHER_SYMBOLS = ("hexagon", "pentagon", "triangle-left", "triangle-right", "x", "hourglass", "bowtie")
FILTERS = {"run": "Run", "dataset": "Data set", "risk": "Risk", "loss": "Loss", "scores": "Scores"}


def filter_values(runs: Sequence[Run]) -> dict[str, dict[str, str]]:
    """Return the filters that choose cells, and for each the names and shown titles of its values.

    Examples
    --------
    >>> list(filter_values([]))
    ['run', 'dataset', 'risk', 'loss', 'scores']
    """
    cells = [cell for run in runs for of_way in run.cells.values() for cell in of_way]
    risks = {cell.risk for cell in cells}
    return {
        "run": {run.name: run.name for run in runs},
        "dataset": {cell.dataset: cell.dataset for cell in cells},
        "risk": {risk: SCORES[risk] for risk in RISKS if risk in risks},
        "loss": {loss: loss_heading(loss) for loss in sorted({cell.loss for cell in cells}, key=loss_order)},
        "scores": {way: way for run in runs for way in run.cells},
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
    lists = [(run.name, way, cells) for run in runs for way, cells in run.cells.items()]
    noises = sorted(
        {(cell.pi, cell.pi_prime) for _, _, cells in lists for cell in cells},
        key=lambda noise: (noise[1] - noise[0], -noise[0]),
    )

    def place(run: str, way: str, cell: Cell) -> dict[str, Any]:
        return {
            "run": names["run"].index(run),
            "scores": names["scores"].index(way),
            "family": cell.family,
            "dataset": names["dataset"].index(cell.dataset),
            "risk": names["risk"].index(cell.risk),
            "noise": noises.index((cell.pi, cell.pi_prime)),
            "loss": names["loss"].index(cell.loss),
        }

    return {
        "names": names,
        "titles": {key: list(titles.values()) for key, titles in values.items()},
        "noises": [noise_text(*noise) for noise in noises],
        "styles": loss_marks(names["loss"]),
        "cells": _columns(
            place(run, way, cell) | _numbers_of_cell(cell) for run, way, cells in lists for cell in cells
        ),
        "curves": _columns(
            place(run, way, cell) | _numbers_of_curve(cell)
            for run, way, cells in lists
            for cell in sorted(cells, key=_by_name_and_noise)
            if cell.curve
        ),
    }


def loss_marks(losses: Sequence[str]) -> list[dict[str, str]]:
    """Return for each loss its color in the paper's figures, and a symbol.

    Examples
    --------
    >>> loss_marks(["hinge"])
    [{'color': '#56B4E9', 'symbol': 'triangle-up'}]
    """
    styles = styles_of(losses)
    further = [loss for loss in losses if styles[loss]["marker"] not in SYMBOLS]
    return [
        {
            "color": styles[loss]["color"],
            "symbol": FURTHER_SYMBOLS[further.index(loss) % len(FURTHER_SYMBOLS)]
            if loss in further
            else SYMBOLS[styles[loss]["marker"]],
        }
        for loss in losses
    ]


def _numbers_of_cell(cell: Cell) -> dict[str, Any]:
    return {
        "mean": round(cell.mean, DECIMALS),
        "se": _rounded(cell.se),
        "bold": cell.bold,
        "paper_mean": cell.paper_mean,
        "paper_se": cell.paper_se,
        "paper_bold": cell.paper_bold,
        "difference": _rounded(cell.difference),
        "z": _rounded(cell.z),
        "trials": cell.scores,
    }


def _numbers_of_curve(cell: Cell) -> dict[str, Any]:
    mean, se = ([round(value, CURVE_DECIMALS) for value in values] for values in (cell.curve, cell.curve_errors))
    return {"mean": mean, "se": se or None}


def _by_name_and_noise(cell: Cell) -> tuple[str, float, float]:
    """Return a key that sorts curves in the order in which a reader can choose them."""
    return cell.dataset, cell.pi, cell.pi_prime


def _columns(rows: Iterable[dict[str, Any]]) -> dict[str, list[Any]]:
    columns: dict[str, list[Any]] = {}
    for row in rows:
        for name, value in row.items():
            columns.setdefault(name, []).append(value)
    return columns


def _rounded(value: float | None) -> float | None:
    return None if value is None else round(value, DECIMALS)


__all__ = ["FILTERS", "filter_values", "loss_marks", "report_data"]
