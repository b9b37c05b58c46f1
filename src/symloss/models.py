"""The paper's perceptron, d-500-1 with ReLU, and a stack of them with their parameters side by side."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor, nn

from symloss.corruption import RandomState


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

    Examples
    --------
    >>> model = Perceptron(20, random_state=0)
    >>> model(torch.zeros(3, 20))
    tensor([0., 0., 0.], grad_fn=<SqueezeBackward1>)
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

    Examples
    --------
    >>> lecun_normal(2, 3, np.random.default_rng(0)).hidden.shape
    torch.Size([3, 3])
    """

    hidden: Tensor
    output: Tensor
    bias: Tensor

    def state_dict(self) -> dict[str, Tensor]:
        """The same as a ``Perceptron`` names them; for one model."""
        return {
            "hidden.weight": self.hidden[:-1].T,
            "hidden.bias": self.hidden[-1],
            "output.weight": self.output,
            "output.bias": self.bias,
        }


def lecun_normal(n_features: int, hidden_units: int, generator: np.random.Generator) -> Layers:
    """Draw a perceptron's initial parameters: normal weights of variance 1 / (number of inputs), zero biases.

    Examples
    --------
    >>> layers = lecun_normal(400, 500, np.random.default_rng(0))
    >>> round(20 * float(layers.hidden[:-1].std()), 2), float(layers.hidden[-1].abs().max())
    (1.0, 0.0)
    """
    hidden = torch.zeros(n_features + 1, hidden_units)
    for weights, inputs in ((hidden[:-1], n_features), (output := torch.empty(1, hidden_units), hidden_units)):
        drawn = generator.standard_normal(weights.shape, dtype=np.float32) / np.float32(np.sqrt(inputs))
        weights.copy_(torch.from_numpy(drawn))
    return Layers(hidden, output, torch.zeros(1))


class PerceptronStack(nn.Module):
    """Perceptrons of one shape side by side: row k of the scores is what perceptron k alone would say.

    Parameters
    ----------
    models : sequence of Layers
        The parameters of each perceptron.

    Examples
    --------
    >>> stack = PerceptronStack([lecun_normal(20, 500, np.random.default_rng(seed)) for seed in range(3)])
    >>> X = torch.randn(8, 20)
    >>> stack(X).shape
    torch.Size([3, 8])
    >>> bool(torch.allclose(stack(X)[1], stack.perceptron(1)(X), atol=1e-6))
    True
    """

    def __init__(self, models: Sequence[Layers]) -> None:
        super().__init__()
        self.hidden, self.output, self.bias = (nn.Parameter(torch.stack(part)) for part in zip(*models, strict=True))

    def __len__(self) -> int:
        """The number of perceptrons."""
        return len(self.bias)

    @property
    def layers(self) -> Layers:
        """The parameters, with the models as their leading dimension."""
        return Layers(self.hidden, self.output, self.bias)

    def forward(self, X: Tensor) -> Tensor:
        """Return the scores (k, n) of the points (n, d), or (k, n, d) with points of its own for each perceptron."""
        hidden = torch.relu(X @ self.hidden[:, :-1] + self.hidden[:, -1:])
        return (hidden @ self.output.mT).squeeze(-1) + self.bias

    def perceptron(self, k: int) -> Perceptron:
        """Return a copy of perceptron k."""
        copy = Perceptron(self.hidden.shape[1] - 1, self.hidden.shape[2], random_state=0)
        copy.load_state_dict(Layers(*(part[k] for part in self.layers)).state_dict())
        return copy


__all__ = ["Layers", "Perceptron", "PerceptronStack", "lecun_normal"]
