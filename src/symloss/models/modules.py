"""Scores of fitted models as plain ``nn.Module``, to export, to serve, or to train further."""

from typing import Any  # annotations are not postponed in this file: torch.jit.script reads those of the classes

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from symloss.models.family import Array, Standardization


def _check_width(X: Tensor, d: int) -> None:
    """Raise ValueError unless X has d columns: one column would broadcast."""
    if X.dim() != 2 or X.shape[-1] != d:
        raise ValueError(f"X must have shape (n, {d}), got {list(X.shape)}")


class ImputedScores(nn.Module):
    """The scores that a module gives to features in which missing values, NaN, were replaced.

    Medians take their place, and indicators of missing values come after the features; in float64, because other
    modules need all digits of large features.
    """

    medians: Tensor
    indicators: Tensor

    def __init__(self, medians: Array, indicators: NDArray[np.intp], scores: nn.Module) -> None:
        super().__init__()
        self.register_buffer("medians", torch.tensor(medians, dtype=torch.float64))
        self.register_buffer("indicators", torch.tensor(indicators, dtype=torch.int64))
        self.scores = scores

    def forward(self, X: Tensor) -> Tensor:
        """Return the scores (n,) of the points (n, d)."""
        _check_width(X, self.medians.shape[0])
        missing = X.isnan()
        filled = torch.where(missing, self.medians, X.to(self.medians.dtype))
        scores: Tensor = self.scores(torch.cat([filled, missing[:, self.indicators].to(filled.dtype)], 1))
        return scores


class LinearModule(nn.Module):
    """Scores X @ coef + intercept, in float64: large terms of opposite signs may cancel."""

    def __init__(self, coef: Array, intercept: float) -> None:
        super().__init__()
        self.layer = nn.Linear(len(coef), 1, dtype=torch.float64)
        with torch.no_grad():
            self.layer.weight.copy_(torch.tensor(coef))
            self.layer.bias.fill_(intercept)

    def forward(self, X: Tensor) -> Tensor:
        """Return the scores (n,) of the points (n, d)."""
        _check_width(X, self.layer.weight.shape[1])
        scores: Tensor = self.layer(X.to(self.layer.weight.dtype))
        return scores.flatten().float()


class StandardizedNetworks(nn.Module):
    """The mean score of networks on standardized features, less a threshold.

    Features are standardized in float64: where their mean is large, float32 has no digits left for what varies.
    """

    mean: Tensor
    scale: Tensor
    threshold: Tensor

    def __init__(self, networks: list[Any], standardization: Standardization, threshold: float) -> None:
        super().__init__()
        self.networks = nn.ModuleList(networks)
        self.register_buffer("mean", torch.tensor(standardization.mean, dtype=torch.float64))
        self.register_buffer("scale", torch.tensor(standardization.scale, dtype=torch.float64))
        self.register_buffer("threshold", torch.tensor(threshold, dtype=torch.float32))

    def forward(self, X: Tensor) -> Tensor:
        """Return the scores (n,) of the points (n, d)."""
        _check_width(X, self.mean.shape[0])
        standardized = ((X.double() - self.mean) / self.scale).to(self.threshold.dtype)
        scores = [network(standardized).flatten() for network in self.networks]
        return torch.stack(scores).mean(0) - self.threshold


class LaplaceKernels(nn.Module):
    """Scores sum_k dual_k exp(-|x - landmark_k| / length), summed in float64: terms of opposite signs cancel."""

    landmarks: Tensor
    dual: Tensor

    def __init__(self, landmarks: Array, dual: Array, length: float) -> None:
        super().__init__()
        self.register_buffer("landmarks", torch.tensor(landmarks))
        self.register_buffer("dual", torch.tensor(dual))
        self.length = length

    def forward(self, X: Tensor) -> Tensor:
        """Return the scores (n,) of the points (n, d); ONNX has no torch.cdist."""
        points = X.double()
        squares = (points**2).sum(1, keepdim=True) + (self.landmarks**2).sum(1) - 2 * points @ self.landmarks.T
        return ((-squares.clamp(min=0).sqrt() / self.length).exp() @ self.dual).float()


class AveragedScores(nn.Module):
    """The weighted mean of the standardized scores of modules, less a threshold, summed in float64."""

    weights: Tensor
    means: Tensor
    scales: Tensor

    def __init__(self, members: list[nn.Module], weights: Array, means: Array, scales: Array, threshold: float) -> None:
        super().__init__()
        self.members = nn.ModuleList(members)
        for name, values in (("weights", weights), ("means", means), ("scales", scales)):
            self.register_buffer(name, torch.tensor(values, dtype=torch.float64))
        self.threshold = threshold

    def forward(self, X: Tensor) -> Tensor:
        """Return the scores (n,) of the points (n, d)."""
        scores = torch.stack([member(X) for member in self.members], 1).double()
        return ((scores - self.means) / self.scales @ self.weights - self.threshold).float()
