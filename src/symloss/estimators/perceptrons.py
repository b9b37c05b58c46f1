"""Scores of several perceptrons: trained as one stack from different seeds, and averaged."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray

from symloss.losses import Loss
from symloss.models import PerceptronStack
from symloss.training import Objective, train

Array = NDArray[np.float64]


class PerceptronScores(NamedTuple):
    """The mean score of a stack of perceptrons on standardised features.

    Examples
    --------
    >>> from symloss.models import lecun_normal
    >>> stack = PerceptronStack([lecun_normal(2, 8, np.random.default_rng(seed)) for seed in range(3)])
    >>> PerceptronScores(stack, np.zeros(2), np.ones(2)).scores(np.zeros((1, 2)))
    array([0.])
    """

    stack: PerceptronStack
    mean: Array
    scale: Array

    @torch.no_grad()
    def scores(self, X: Any) -> Array:
        """Return the scores of the rows of X."""
        rows = torch.from_numpy((X - self.mean) / self.scale).float()
        return np.concatenate([self.stack(part).mean(0).double().numpy() for part in torch.split(rows, 4096)])


def fit_perceptrons(
    X: Array,
    positive: NDArray[np.bool_],
    *,
    risk: str,
    loss: Loss,
    weight_decay: float,
    hidden_units: int,
    epochs: int,
    n_seeds: int,
    seed: int,
) -> PerceptronScores:
    """Train ``n_seeds`` perceptrons on standardised features with ``symloss.training.train``.

    Examples
    --------
    >>> from symloss.losses import Unhinged
    >>> X = np.linspace(-1, 1, 40)[:, None]
    >>> model = fit_perceptrons(X, X[:, 0] > 0, risk="auc", loss=Unhinged(), weight_decay=0.01, hidden_units=20,
    ...                         epochs=20, n_seeds=2, seed=0)
    >>> low, high = model.scores(X[[0, -1]])
    >>> bool(low < high)
    True
    """
    mean, scale = X.mean(0), X.std(0)
    scale[scale <= 10 * np.finfo(np.float64).eps * np.abs(mean)] = 1.0
    rows = torch.from_numpy((X - mean) / scale).float().expand(n_seeds, -1, -1)
    labels = torch.from_numpy(positive).expand(n_seeds, -1)
    seeds = [np.random.default_rng([seed, k]) for k in range(n_seeds)]
    stack = train(
        rows,
        labels,
        [Objective(risk, loss)],
        seeds,
        hidden_units=hidden_units,
        epochs=epochs,
        weight_decay=weight_decay,
    )
    return PerceptronScores(stack, mean, scale)
