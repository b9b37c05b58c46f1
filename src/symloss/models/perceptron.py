"""The paper's perceptron, d-500-1 with ReLU, and a stack of them with their parameters side by side."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor, nn

from symloss.corruption import RandomState

_VECTOR = 16  # float32 numbers in the widest registers


class Perceptron(nn.Module):
    """One hidden layer of ReLU units and one output, d-500-1 in the paper; LeCun-normal weights, zero biases.

    Parameters
    ----------
    n_features : int
        The dimension d of the inputs.
    hidden_units : int
        The number of hidden units.
    random_state : int or numpy Generator, optional
        Seed of the initial weights.
    """

    def __init__(self, n_features: int, hidden_units: int = 500, random_state: RandomState = None) -> None:
        super().__init__()
        self.hidden = nn.Linear(n_features, hidden_units)
        self.output = nn.Linear(hidden_units, 1)
        initial = lecun_normal(n_features, hidden_units, np.random.default_rng(random_state))
        self.load_state_dict(initial.state_dict())

    def forward(self, X: Tensor) -> Tensor:
        """Return the scores (..., n) of the points (..., n, d)."""
        scores: Tensor = self.output(torch.relu(self.hidden(X))).squeeze(-1)
        return scores


class Layers(NamedTuple):
    """The parameters of perceptrons, any number of them: leading dimensions are models.

    Parameters
    ----------
    hidden : Tensor of shape (..., d + 1, hidden units)
        The first layer's weights, and its biases as the last row.
    output : Tensor of shape (..., 1, hidden units)
        The second layer's weights.
    bias : Tensor of shape (..., 1)
        The second layer's bias.
    """

    hidden: Tensor
    output: Tensor
    bias: Tensor

    def state_dict(self) -> dict[str, Tensor]:
        """Return the parameters of one model, under the names that ``Perceptron`` gives them."""
        return {
            "hidden.weight": self.hidden[:-1].T,
            "hidden.bias": self.hidden[-1],
            "output.weight": self.output,
            "output.bias": self.bias,
        }


def lecun_normal(n_features: int, hidden_units: int, generator: np.random.Generator) -> Layers:
    """Draw a perceptron's initial parameters: normal weights of variance 1 / (number of inputs), zero biases."""
    hidden = torch.zeros(n_features + 1, hidden_units)
    for weights, inputs in ((hidden[:-1], n_features), (output := torch.empty(1, hidden_units), hidden_units)):
        drawn = generator.standard_normal(weights.shape, dtype=np.float32) / np.float32(np.sqrt(inputs))
        weights.copy_(torch.from_numpy(drawn))
    return Layers(hidden, output, torch.zeros(1))


class PerceptronStack(nn.Module):
    """Perceptrons of one shape side by side: row k of the scores is what perceptron k alone would return.

    Parameters
    ----------
    models : sequence of Layers
        The parameters of each perceptron, copied.
    """

    def __init__(self, models: Sequence[Layers]) -> None:
        super().__init__()
        self.n_features, self.hidden_units = models[0].hidden.shape[0] - 1, models[0].hidden.shape[1]
        # One row per model, filled up to whole vectors of a CPU. Then an optimizer rounds a parameter in the same way
        # wherever it is in the stack, and a perceptron does not depend on its neighbors.
        size = sum(part.numel() for part in models[0])
        self.rows = nn.Parameter(models[0].hidden.new_zeros(len(models), size + -size % _VECTOR))
        with torch.no_grad():
            for k, model in enumerate(models):
                for target, part in zip(self.layers, model, strict=True):
                    target[k] = part

    def __len__(self) -> int:
        """The number of perceptrons."""
        return len(self.rows)

    @property
    def layers(self) -> Layers:
        """The parameters, with the models as their leading dimension: views of ``rows``."""
        return self.views(self.rows)

    def views(self, rows: Tensor) -> Layers:
        """Return rows of parameters, or of anything with the same layout, as layers that are views of the rows."""
        first, units = (self.n_features + 1) * self.hidden_units, self.hidden_units
        return Layers(
            rows[:, :first].view(len(rows), -1, units),
            rows[:, None, first : first + units],
            rows[:, first + units : first + units + 1],
        )

    def model(self, k: int) -> Layers:
        """Return the parameters of perceptron k."""
        hidden, output, bias = self.layers
        return Layers(hidden[k], output[k], bias[k])

    def perceptron(self, k: int) -> Perceptron:
        """Return a copy of perceptron k."""
        copy = Perceptron(self.n_features, self.hidden_units, random_state=0)
        copy.load_state_dict(self.model(k).state_dict())
        return copy

    def forward(self, X: Tensor, models: slice = slice(None)) -> Tensor:
        """Return the scores (k, n) of the points (n, d), or of points (k, n, d) where each perceptron has its own.

        ``models`` selects some of the perceptrons: the hidden layers of all at once can take much memory.
        """
        weights, output, bias = self.views(self.rows[models])
        hidden = torch.relu(X @ weights[:, :-1] + weights[:, -1:])
        return (hidden @ output.mT).squeeze(-1) + bias


__all__ = ["Perceptron"]
