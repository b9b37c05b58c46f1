"""Fitted models as plain ``nn.Module``: to export, to serve, or to train on."""

import copy  # annotations are not postponed here: torch.jit.script reads those of classes
from typing import Any

import torch
from torch import Tensor, nn

from symloss.estimators.kernel import KernelScores
from symloss.estimators.linear import LinearScores
from symloss.estimators.networks import NetworkScores
from symloss.estimators.standardise import Standard
from symloss.models import PerceptronStack


class Standardised(nn.Module):
    """The mean score of networks on standardised features, less a threshold.

    Examples
    --------
    >>> import numpy as np
    >>> module = Standardised([nn.Flatten(0)], Standard(np.array([1.0]), np.array([2.0])), threshold=0.5)
    >>> module(torch.tensor([[1.0], [5.0]]))
    tensor([-0.5000,  1.5000])
    """

    mean: Tensor
    scale: Tensor

    def __init__(self, networks: list[nn.Module], standard: Standard, threshold: float) -> None:
        super().__init__()
        self.networks = nn.ModuleList(networks)
        self.register_buffer("mean", torch.tensor(standard.mean, dtype=torch.float32))
        self.register_buffer("scale", torch.tensor(standard.scale, dtype=torch.float32))
        self.threshold = threshold

    def forward(self, X: Tensor) -> Tensor:
        """Return the scores (n,) of the points (n, d)."""
        standard = (X - self.mean) / self.scale
        scores = [network(standard).flatten() for network in self.networks]
        return torch.stack(scores).mean(0) - self.threshold


class Gaussians(nn.Module):
    """Scores sum_k dual_k exp(-gamma |x - landmark_k|^2) + intercept.

    Examples
    --------
    >>> import numpy as np
    >>> kernel = KernelScores(Standard(np.zeros(1), np.ones(1)), 1.0, np.zeros((1, 1)), np.array([2.0]), 0.5)
    >>> Gaussians(kernel)(torch.zeros(1, 1))
    tensor([2.5000])
    """

    landmarks: Tensor
    dual: Tensor

    def __init__(self, kernel: KernelScores) -> None:
        super().__init__()
        self.register_buffer("landmarks", torch.tensor(kernel.landmarks))
        self.register_buffer("dual", torch.tensor(kernel.dual))
        self.gamma, self.intercept = kernel.gamma, kernel.intercept

    def forward(self, X: Tensor) -> Tensor:
        """Return the scores (n,) of the points (n, d), summed in float64: large terms of both signs cancel."""
        points = X.double()
        squares = (points**2).sum(1, keepdim=True) + (self.landmarks**2).sum(1) - 2 * points @ self.landmarks.T
        return ((-self.gamma * squares.clamp(min=0)).exp() @ self.dual + self.intercept).float()


def as_module(scorer: Any, threshold: float) -> nn.Module:
    """Return a fitted model's scores less a threshold as a module on the CPU; a copy, in evaluation mode.

    Examples
    --------
    >>> import numpy as np
    >>> as_module(LinearScores(np.array([2.0]), 1.0), 0.5)(torch.ones(1, 1))
    tensor([2.5000], grad_fn=<ViewBackward0>)
    """
    if isinstance(scorer, LinearScores):
        return _linear(scorer, threshold).eval()
    if isinstance(scorer, KernelScores):
        return Standardised([Gaussians(scorer)], scorer.standard, threshold).eval()
    if isinstance(scorer, NetworkScores):
        networks: Any = copy.deepcopy(scorer.networks).cpu()
        parts = (
            [networks.perceptron(k) for k in range(len(networks))]
            if isinstance(networks, PerceptronStack)
            else list(networks.networks)
        )
        return Standardised(parts, scorer.standard, threshold).eval()
    raise ValueError(
        "trees are not a network: to_module() needs model='linear', 'kernel', 'mlp' or a torch module, got 'trees'"
    )


def _linear(scorer: LinearScores, threshold: float) -> nn.Module:
    layer = nn.Linear(len(scorer.coef), 1)
    with torch.no_grad():
        layer.weight.copy_(torch.tensor(scorer.coef))
        layer.bias.fill_(scorer.intercept - threshold)
    return nn.Sequential(layer, nn.Flatten(0))
