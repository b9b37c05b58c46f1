"""The 1,064 cells of the paper's tables of experiments, as printed (``published.csv``)."""

from __future__ import annotations

import csv
from dataclasses import dataclass
from functools import cache
from importlib.resources import files

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

# How many trials the paper's means and standard errors are of, for each family.
TRIALS = {"uci": 20, "mnist": 10, "cifar10": 10}

_OUR_NAMES = {"barrier": "barrier_hinge", "car": "cat"}  # CIFAR-10 has no car; that row is between bird and deer


@dataclass(frozen=True)
class PublishedCell:
    """A cell of the paper's tables: mean and standard error, 0 to 100, and whether it is in boldface.

    Examples
    --------
    >>> find_published("cifar10", "cat", "ber", 1.0, 0.0, "squared")
    PublishedCell(family='cifar10', dataset='cat', dim=None, risk='ber', pi=1.0, pi_prime=0.0, loss='squared',
                  mean=93.1, se=0.1, bold=True)
    """

    family: str
    dataset: str
    dim: int | None
    risk: str
    pi: float
    pi_prime: float
    loss: str
    mean: float
    se: float
    bold: bool


@cache
def published_cells() -> tuple[PublishedCell, ...]:
    """Return all published cells in the paper's order, with our names: ``barrier_hinge`` and, for CIFAR's car, ``cat``.

    Examples
    --------
    >>> len(published_cells())
    1064
    >>> published_cells()[0].loss, published_cells()[0].mean
    ('barrier_hinge', 89.4)
    """
    text = (files("symloss.paper") / "published.csv").read_text(encoding="utf-8")
    return tuple(
        PublishedCell(
            row["family"],
            _OUR_NAMES.get(row["dataset"], row["dataset"]),
            int(row["dim"]) if row["dim"] else None,
            row["objective"],
            float(row["pi"]),
            float(row["pi_prime"]),
            _OUR_NAMES.get(row["loss"], row["loss"]),
            float(row["mean"]),
            float(row["se"]),
            row["bold"] == "1",
        )
        for row in csv.DictReader(text.splitlines())
    )


def find_published(family: str, dataset: str, risk: str, pi: float, pi_prime: float, loss: str) -> PublishedCell | None:
    """Return a published cell, or None if the paper does not have this data set, noise rate or loss.

    Examples
    --------
    >>> find_published("uci", "spambase", "auc", 0.65, 0.45, "unhinged").mean
    90.9
    >>> find_published("uci", "spambase", "auc", 0.65, 0.45, "ramp") is None
    True
    """
    return _by_key().get((family, dataset, risk, round(pi, 6), round(pi_prime, 6), loss))


@cache
def _by_key() -> dict[tuple[str, str, str, float, float, str], PublishedCell]:
    return {
        (cell.family, cell.dataset, cell.risk, cell.pi, cell.pi_prime, cell.loss): cell for cell in published_cells()
    }
