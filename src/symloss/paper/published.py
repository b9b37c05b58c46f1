"""The 1,064 cells of the paper's tables of experiments, as printed (``published.csv``), and the paper's boldface."""

from __future__ import annotations

import csv
import math
from collections.abc import Sequence
from functools import cache
from importlib.resources import files
from typing import NamedTuple

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


class PublishedCell(NamedTuple):
    """A cell of the paper's tables: mean and standard error, 0 to 100, and whether it is in boldface."""

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
    """Return all published cells in the paper's order, with our names of losses and of CIFAR's ``cat``."""
    text = (files("symloss.paper") / "published.csv").read_text(encoding="utf-8")
    return tuple(
        PublishedCell(
            row["family"], _OUR_NAMES.get(row["dataset"], row["dataset"]), int(row["dim"]) if row["dim"] else None,
            row["objective"], float(row["pi"]), float(row["pi_prime"]), _OUR_NAMES.get(row["loss"], row["loss"]),
            float(row["mean"]), float(row["se"]), row["bold"] == "1",
        )
        for row in csv.DictReader(text.splitlines())
    )  # fmt: skip


def find_published(family: str, dataset: str, risk: str, pi: float, pi_prime: float, loss: str) -> PublishedCell | None:
    """Return a published cell, or None if the paper does not have this data set, noise rate or loss."""
    return _by_key().get((family, dataset, risk, round(pi, 6), round(pi_prime, 6), loss))


@cache
def _by_key() -> dict[tuple[str, str, str, float, float, str], PublishedCell]:
    return {(of.family, of.dataset, of.risk, of.pi, of.pi_prime, of.loss): of for of in published_cells()}


def boldface(means: Sequence[float], standard_errors: Sequence[float | None], trials: int) -> list[bool]:
    """Return which of several losses go into boldface: the best mean, and all that a t-test does not find to be worse.

    The test is one-sided and unpaired, with significance level 5% and Welch's degrees of freedom. For the printed means
    and standard errors, it gives the published boldface wherever their rounding leaves no doubt. After one trial, whose
    standard error is None, only the best mean is in boldface.

    Examples
    --------
    >>> boldface([82.3, 84.1, 83.0], [0.8, 0.6, 0.5], trials=20)
    [False, True, True]
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
