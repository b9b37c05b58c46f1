"""Proposition 10: a symmetric, classification-calibrated loss that is not AUC-consistent."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar

import torch
from torch import Tensor

from symloss.losses import Loss, Properties, Sign


class CounterexampleLoss(Loss):
    """The paper's l_EX: 0 at z = 1, 1 at z = -1 and 1/2 elsewhere.

    Examples
    --------
    >>> CounterexampleLoss()(torch.tensor([-1.0, 0.3, 1.0]))
    tensor([1.0000, 0.5000, 0.0000])
    """

    name: ClassVar[str] = "counterexample"
    formula: ClassVar[str] = "0 if z = 1, 1 if z = -1, 0.5 otherwise"
    latex: ClassVar[str] = r"\mathbb{1}[z=-1] + 0.5 \cdot \mathbb{1}[|z| \neq 1]"
    properties = Properties(
        convex=False,
        non_increasing=False,
        bounded=True,
        minimizer=Sign(),
        symmetric_constant=1.0,
        symmetric_radius=math.inf,
    )

    @property
    def breakpoints(self) -> tuple[float, ...]:
        """The two margins at which the loss is not 1/2."""
        return (-1.0, 1.0)

    def value(self, z: Tensor) -> Tensor:
        """Return 0, 1/2 or 1."""
        return 0.5 * (1 + (z == -1).to(z.dtype) - (z == 1).to(z.dtype))

    def slope(self, z: Tensor) -> Tensor:
        """Return 0: the loss is flat wherever it has a derivative."""
        return torch.zeros_like(z)


@dataclass(frozen=True)
class PairRow:
    """One ordered pair of points in the counterexample: eta_i - eta_j, and l_EX(g(x_i) - g(x_j)) for g_1 to g_4.

    Examples
    --------
    >>> proposition_10().rows[0].losses
    (0.0, 0.0, 0.5, 0.5)
    """

    pair: tuple[int, int]
    weight: float
    losses: tuple[float, ...]


@dataclass(frozen=True)
class Proposition10:
    """The table of six pairs, and one score for each of the scoring functions g_1 to g_4.

    A lower score is better. g_2 ranks by eta, but g_1 and g_4 have lower scores.

    Examples
    --------
    >>> proposition_10().scores
    (-1.5, -1.0, 0.0, -1.5)
    """

    eta: tuple[float, ...]
    scorings: tuple[tuple[float, ...], ...]
    rows: tuple[PairRow, ...]
    scores: tuple[float, ...]


def proposition_10() -> Proposition10:
    """Compute the counterexample of proposition 10: three points, four scoring functions, six ordered pairs.

    Examples
    --------
    >>> [row.weight for row in proposition_10().rows]
    [0.5, 1.0, -0.5, 0.5, -1.0, -0.5]
    """
    eta = (1.0, 0.5, 0.0)
    scorings = ((1.0, 0.0, 0.0), (2.0, 1.0, 0.0), (0.0, 0.0, 0.0), (1.0, 1.0, 0.0))
    loss = CounterexampleLoss()
    rows = []
    for i, j in ((0, 1), (0, 2), (1, 0), (1, 2), (2, 0), (2, 1)):
        gaps = torch.tensor([g[i] - g[j] for g in scorings], dtype=torch.float64)
        rows.append(PairRow((i + 1, j + 1), eta[i] - eta[j], tuple(loss(gaps).tolist())))
    scores = tuple(sum(row.weight * row.losses[g] for row in rows) for g in range(len(scorings)))
    return Proposition10(eta, scorings, tuple(rows), scores)
