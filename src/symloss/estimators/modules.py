"""Scores of fitted models as plain ``nn.Module``, to export, to serve, or to train further."""

from typing import Any  # annotations are not postponed in this file: torch.jit.script reads those of the classes

import numpy as np
import torch
from torch import Tensor, nn

from symloss.estimators.imputation import Imputation
from symloss.estimators.standardization import Array, Standardization

_jit: Any = torch.jit  # torch.jit.script would read a "type: ignore" below


def _check_width(X: Tensor, d: int) -> None:
    """Raise ValueError unless X has d columns: one column would broadcast. In a trace, sizes are not known."""
    if not _jit.is_tracing() and (X.dim() != 2 or X.shape[-1] != d):
        raise ValueError(f"X must have shape (n, {d}), got {list(X.shape)}")


class ImputedScores(nn.Module):
    """The scores that a module gives to features in which missing values, NaN, were replaced.

    Medians take their place, and indicators of missing values come after the features; in float64, because other
    modules need all digits of large features.

    Examples
    --------
    >>> import numpy as np
    >>> imputation = Imputation(np.array([2.0]), np.array([0]))
    >>> scores = Linear(np.array([1.0, 10.0]), 0.5, origin=None)
    >>> ImputedScores(imputation, scores)(torch.tensor([[1.0], [torch.nan]])).detach()
    tensor([ 1.5000, 12.5000])
    """

    medians: Tensor
    indicators: Tensor

    def __init__(self, imputation: Imputation, scores: nn.Module) -> None:
        super().__init__()
        self.register_buffer("medians", torch.tensor(imputation.medians, dtype=torch.float64))
        self.register_buffer("indicators", torch.tensor(imputation.indicators, dtype=torch.int64))
        self.scores = scores

    def forward(self, X: Tensor) -> Tensor:
        """Return the scores (n,) of the points (n, d)."""
        _check_width(X, self.medians.shape[0])
        missing = X.isnan()
        filled = torch.where(missing, self.medians, X.to(self.medians.dtype))
        scores: Tensor = self.scores(torch.cat([filled, missing[:, self.indicators].to(filled.dtype)], 1))
        return scores


class StandardizedNetworks(nn.Module):
    """The mean score of networks on standardized features, less a threshold.

    Features are standardized in float64: where their mean is large, float32 has no digits left for what varies.

    Examples
    --------
    >>> import numpy as np
    >>> standardization = Standardization(np.array([1.0]), np.array([2.0]))
    >>> module = StandardizedNetworks([nn.Flatten(0)], standardization, threshold=0.5)
    >>> module(torch.tensor([[1.0], [5.0]]))
    tensor([-0.5000,  1.5000])
    """

    mean: Tensor
    scale: Tensor
    threshold: Tensor

    def __init__(self, networks: list[nn.Module], standardization: Standardization, threshold: float) -> None:
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


class Linear(nn.Module):
    """Scores (X - origin) @ coef + intercept, in float64: large terms of opposite signs may cancel.

    Examples
    --------
    >>> import numpy as np
    >>> Linear(np.array([2.0]), 0.5, origin=None)(torch.ones(1, 1)).detach()
    tensor([2.5000])
    """

    origin: Tensor

    def __init__(self, coef: Array, intercept: float, origin: Array | None) -> None:
        super().__init__()
        self.register_buffer("origin", (torch.zeros(len(coef)) if origin is None else torch.tensor(origin)).double())
        self.layer = nn.Linear(len(coef), 1, dtype=torch.float64)
        with torch.no_grad():
            self.layer.weight.copy_(torch.tensor(coef))
            self.layer.bias.fill_(intercept)

    def forward(self, X: Tensor) -> Tensor:
        """Return the scores (n,) of the points (n, d)."""
        _check_width(X, self.layer.weight.shape[1])
        scores: Tensor = self.layer(X.to(self.layer.weight.dtype) - self.origin)
        return scores.flatten().float()


class GaussianKernels(nn.Module):
    """Scores sum_k dual_k exp(-gamma |x - landmark_k|^2) + intercept.

    Examples
    --------
    >>> import numpy as np
    >>> GaussianKernels(np.zeros((1, 1)), np.array([2.0]), gamma=1.0, intercept=0.5)(torch.zeros(1, 1))
    tensor([2.5000])
    """

    landmarks: Tensor
    dual: Tensor

    def __init__(self, landmarks: Array, dual: Array, gamma: float, intercept: float) -> None:
        super().__init__()
        self.register_buffer("landmarks", torch.tensor(landmarks))
        self.register_buffer("dual", torch.tensor(dual))
        self.gamma, self.intercept = gamma, intercept

    def forward(self, X: Tensor) -> Tensor:
        """Return the scores (n,) of the points (n, d), summed in float64: large terms of opposite signs cancel."""
        squares = _squared_distances(X.double(), self.landmarks)
        return ((-self.gamma * squares).exp() @ self.dual + self.intercept).float()


class LaplaceKernels(nn.Module):
    """Scores sum_k dual_k exp(-|x - landmark_k| / length), with Euclidean or with city-block distances.

    Examples
    --------
    >>> import numpy as np
    >>> LaplaceKernels(np.zeros((1, 1)), np.array([2.0]), length=1.0)(torch.zeros(1, 1))
    tensor([2.])
    """

    landmarks: Tensor
    dual: Tensor

    def __init__(self, landmarks: Array, dual: Array, length: float, city_block: bool = False) -> None:
        super().__init__()
        self.register_buffer("landmarks", torch.tensor(landmarks))
        self.register_buffer("dual", torch.tensor(dual))
        self.length, self.city_block = length, city_block
        self.by_landmark = landmarks.shape[0] < landmarks.shape[1]

    def forward(self, X: Tensor) -> Tensor:
        """Return the scores (n,) of the points (n, d), summed in float64: large terms of opposite signs cancel."""
        points = X.double()
        if self.city_block:
            distances = _city_block_distances(points, self.landmarks, self.by_landmark)
        else:
            distances = _squared_distances(points, self.landmarks).sqrt()
        return ((-distances / self.length).exp() @ self.dual).float()


def _squared_distances(points: Tensor, landmarks: Tensor) -> Tensor:
    """Return the matrix of squared distances; ONNX has no torch.cdist. In float64, half of the digits are enough."""
    squares = (points**2).sum(1, keepdim=True) + (landmarks**2).sum(1) - 2 * points @ landmarks.T
    return squares.clamp(min=0)


def _city_block_distances(points: Tensor, landmarks: Tensor, by_landmark: bool) -> Tensor:
    """Return the matrix of sums of absolute differences; ONNX has no torch.cdist, and all at once take much memory."""
    if by_landmark:
        return torch.stack([(points - landmark).abs().sum(1) for landmark in landmarks.unbind(0)], 1)
    distances = torch.zeros(points.shape[0], landmarks.shape[0], dtype=points.dtype, device=points.device)
    for j, column in enumerate(landmarks.unbind(1)):
        distances = distances + (points[:, j, None] - column).abs()
    return distances


class CellMeans(nn.Module):
    """The mean, over partitions, of the values of the cells that a point is in, less a threshold.

    Places are whole numbers in float64, so that the nearest center is the one that ``CellScores`` finds.

    Examples
    --------
    >>> import numpy as np
    >>> standard, centers = Standardization(np.zeros(1), np.ones(1)), np.array([[-1024.0], [1024.0]])
    >>> cells = np.zeros((1, 1)), np.array([2.0]), centers, np.array([-0.5, 0.5])
    >>> CellMeans(standard, (8.0, 1024.0), *cells, threshold=0.0)(torch.tensor([[2.0], [-3.0]]))
    tensor([ 0.5000, -0.5000])
    """

    mean: Tensor
    scale: Tensor
    features: Tensor
    centers: Tensor
    halves: Tensor
    values: Tensor

    def __init__(
        self,
        standard: Standardization,
        grid: tuple[float, float],
        features: Array,
        sizes: Array,
        centers: Array,
        values: Array,
        threshold: float,
    ) -> None:
        super().__init__()
        self.farthest, self.steps = grid
        self.threshold, self.count, self.width = threshold, len(sizes), features.shape[1]
        order = np.argsort(sizes, kind="stable")  # partitions of the same size are scored together
        self.parts = _equal_runs(sizes[order].astype(int).tolist())
        ends = np.cumsum(sizes).astype(int)
        cells = np.concatenate([np.arange(ends[k] - int(sizes[k]), ends[k]) for k in order])
        features, centers, values = features[order], centers[cells], values[cells]
        self.register_buffer("mean", torch.tensor(standard.mean, dtype=torch.float64))
        self.register_buffer("scale", torch.tensor(standard.scale, dtype=torch.float64))
        self.register_buffer("features", torch.tensor(features).long())
        self.register_buffer("centers", torch.tensor(centers))
        self.register_buffer("halves", torch.tensor((centers**2).sum(1) / 2))
        self.register_buffer("values", torch.tensor(values))

    def forward(self, X: Tensor) -> Tensor:
        """Return the scores (n,) of the points (n, d)."""
        _check_width(X, self.mean.shape[0])
        standardized = (X.double() - self.mean) / self.scale
        places = (standardized.clamp(-self.farthest, self.farthest) * self.steps).round()
        total = torch.zeros_like(places[:, 0])
        partition, cell = 0, 0
        for count, size in self.parts:
            features = self.features[partition : partition + count].flatten()
            points = places[:, features].view(-1, count, self.width).transpose(0, 1)
            end = cell + count * size
            centers = self.centers[cell:end].view(count, size, self.width)
            nearest = (points @ centers.transpose(1, 2) - self.halves[cell:end].view(count, 1, size)).argmax(2)
            total = total + self.values[cell:end].view(count, size).gather(1, nearest).sum(0)
            partition, cell = partition + count, end
        return (total / self.count).float() - self.threshold


def _equal_runs(sizes: list[int]) -> list[tuple[int, int]]:
    """Return how many partitions of each size stand one after the other, at most eight: more take much memory."""
    runs: list[tuple[int, int]] = []
    for size in sizes:
        if runs and runs[-1][1] == size and runs[-1][0] < 8:
            runs[-1] = (runs[-1][0] + 1, size)
        else:
            runs.append((1, size))
    return runs


class AveragedScores(nn.Module):
    """The weighted mean of the standardized scores of modules, less a threshold, summed in float64.

    Examples
    --------
    >>> import numpy as np
    >>> double = Linear(np.array([2.0]), 0.0, origin=None)
    >>> numbers = np.array([[0.5, 0.5], [1.0, 0.0], [2.0, 1.0]])
    >>> AveragedScores([double, double], *numbers, threshold=0.25)(torch.ones(1, 1)).detach()
    tensor([1.])
    """

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
