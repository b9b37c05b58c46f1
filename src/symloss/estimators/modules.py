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

_jit: Any = torch.jit  # torch.jit.script would read a "type: ignore" below


def _check_points(X: Tensor, d: int) -> None:
    """Refuse points of another width, which may broadcast; but in a trace, where sizes are not numbers."""
    if not _jit.is_tracing() and (X.dim() != 2 or X.shape[-1] != d):
        raise ValueError(f"X must have shape (n, {d}), got {list(X.shape)}")


class Standardised(nn.Module):
    """The mean score of networks on standardised features, less a threshold.

    Features are standardised in float64: where their mean is large, float32 has no digits left for what varies.

    Examples
    --------
    >>> import numpy as np
    >>> module = Standardised([nn.Flatten(0)], Standard(np.array([1.0]), np.array([2.0])), threshold=0.5)
    >>> module(torch.tensor([[1.0], [5.0]]))
    tensor([-0.5000,  1.5000])
    """

    mean: Tensor
    scale: Tensor
    threshold: Tensor

    def __init__(self, networks: list[nn.Module], standard: Standard, threshold: float) -> None:
        super().__init__()
        self.networks = nn.ModuleList(networks)
        self.register_buffer("mean", torch.tensor(standard.mean, dtype=torch.float64))
        self.register_buffer("scale", torch.tensor(standard.scale, dtype=torch.float64))
        self.register_buffer("threshold", torch.tensor(threshold, dtype=torch.float32))

    def forward(self, X: Tensor) -> Tensor:
        """Return the scores (n,) of the points (n, d)."""
        _check_points(X, self.mean.shape[0])
        standard = ((X.double() - self.mean) / self.scale).to(self.threshold.dtype)
        scores = [network(standard).flatten() for network in self.networks]
        return torch.stack(scores).mean(0) - self.threshold


class Linear(nn.Module):
    """Scores (X - origin) @ coef + intercept in float64: large terms of both signs may cancel.

    Examples
    --------
    >>> import numpy as np
    >>> Linear(LinearScores(np.array([2.0]), 1.0), 0.5)(torch.ones(1, 1)).detach()
    tensor([2.5000])
    """

    origin: Tensor

    def __init__(self, scorer: LinearScores, threshold: float) -> None:
        super().__init__()
        origin = torch.zeros(len(scorer.coef)) if scorer.origin is None else torch.tensor(scorer.origin)
        self.register_buffer("origin", origin.double())
        self.layer = nn.Linear(len(scorer.coef), 1, dtype=torch.float64)
        with torch.no_grad():
            self.layer.weight.copy_(torch.tensor(scorer.coef))
            self.layer.bias.fill_(scorer.intercept - threshold)

    def forward(self, X: Tensor) -> Tensor:
        """Return the scores (n,) of the points (n, d)."""
        _check_points(X, self.layer.weight.shape[1])
        scores: Tensor = self.layer(X.to(self.layer.weight.dtype) - self.origin)
        return scores.flatten().float()


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
    tensor([2.5000], grad_fn=<ToCopyBackward0>)
    """
    if isinstance(scorer, LinearScores):
        return Linear(scorer, threshold).eval()
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
