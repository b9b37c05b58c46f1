"""The paper's convolutional network, and a stack of them with their parameters side by side."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Generic, NamedTuple, TypeVar

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional as F  # noqa: N812

KERNEL = 5  # pixels, the width and height of a convolution's patches
Part = TypeVar("Part")
_ALIGNED = 64  # numbers: every part of the stack begins at a multiple of this, at a whole line of a GPU's memory


@dataclass(frozen=True)
class Architecture:
    """The sizes of Conv[18,5,1,0]-Max[2,2]-Conv[48,5,1,0]-Max[2,2]-800-400-1.

    Parameters
    ----------
    channels, side : int
        Number of channels and side of the images, which are square.
    first, second : int
        Channels after the first and after the second convolution.
    wide, narrow : int
        Units of the two fully connected layers, each followed by ReLU and dropout, unlike the convolutions.
    dropout : float
        The share of these units that a training step leaves out.

    Examples
    --------
    >>> Architecture().features
    1200
    """

    channels: int = 3
    side: int = 32
    first: int = 18
    second: int = 48
    wide: int = 800
    narrow: int = 400
    dropout: float = 0.5

    @property
    def pooled(self) -> tuple[int, int]:
        """The side of the images after the first and after the second pooling."""
        first = (self.side - KERNEL + 1) // 2
        return first, (first - KERNEL + 1) // 2

    @property
    def features(self) -> int:
        """The number of features that the convolutions compute from an image."""
        return self.pooled[1] ** 2 * self.second

    @property
    def shapes(self) -> NetworkLayers[tuple[int, int]]:
        """The shapes of one network's parameters."""
        taps = KERNEL**2
        return NetworkLayers(
            (taps * self.channels + 1, self.first),
            (taps * self.first + 1, self.second),
            (self.features, self.wide),
            (1, self.wide),
            (self.wide, self.narrow),
            (1, self.narrow),
            (self.narrow, 1),
            (1, 1),
        )


class NetworkLayers(NamedTuple, Generic[Part]):
    """The parameters of networks, with the networks as leading dimensions; or one value for each of these parts.

    Parameters
    ----------
    first, second : Tensor of shape (..., 25 * channels + 1, outputs)
        The convolutions: weights in the order row, column, channel of the patch, and the biases as the last row.
    wide, wide_bias, narrow, narrow_bias, output, output_bias : Tensor of shape (..., inputs, outputs)
        The fully connected layers. The inputs of the first are in the order row, column, channel.

    Examples
    --------
    >>> Architecture().shapes.second
    (451, 48)
    """

    first: Part
    second: Part
    wide: Part
    wide_bias: Part
    narrow: Part
    narrow_bias: Part
    output: Part
    output_bias: Part


class ConvolutionalNetwork(nn.Module):
    """One convolutional network of the paper, with PyTorch's initial parameters.

    Parameters
    ----------
    architecture : Architecture, optional

    Examples
    --------
    >>> ConvolutionalNetwork()(torch.zeros(5, 3, 32, 32)).shape
    torch.Size([5])
    """

    def __init__(self, architecture: Architecture | None = None) -> None:
        super().__init__()
        sizes = architecture or Architecture()
        self.first = nn.Conv2d(sizes.channels, sizes.first, KERNEL)
        self.second = nn.Conv2d(sizes.first, sizes.second, KERNEL)
        self.wide = nn.Linear(sizes.features, sizes.wide)
        self.narrow = nn.Linear(sizes.wide, sizes.narrow)
        self.output = nn.Linear(sizes.narrow, 1)
        self.dropout = nn.Dropout(sizes.dropout)

    def forward(self, images: Tensor) -> Tensor:
        """Return the scores (n,) of images (n, channels, side, side)."""
        x = F.max_pool2d(self.second(F.max_pool2d(self.first(images), 2)), 2).flatten(1)
        x = self.dropout(torch.relu(self.narrow(self.dropout(torch.relu(self.wide(x))))))
        scores: Tensor = self.output(x).squeeze(1)
        return scores


def initial_layers(architecture: Architecture, generator: np.random.Generator) -> NetworkLayers[Tensor]:
    """Draw a network's parameters as PyTorch does by default: uniform, up to 1 / sqrt(number of inputs) in size.

    Examples
    --------
    >>> layers = initial_layers(Architecture(), np.random.default_rng(0))
    >>> round(1200**0.5 * float(layers.wide_bias.abs().max()), 2)
    1.0
    """
    parts: list[Tensor] = []
    for name, shape in architecture.shapes._asdict().items():
        inputs = getattr(architecture.shapes, name.removesuffix("_bias"))[0]
        bound = (inputs - (name in ("first", "second"))) ** -0.5  # a convolution's last row is its bias
        drawn = generator.random(shape, dtype=np.float32)
        parts.append(torch.from_numpy((2 * drawn - 1) * np.float32(bound)))
    return NetworkLayers(*parts)


def state_dict(layers: NetworkLayers[Tensor], architecture: Architecture) -> dict[str, Tensor]:
    """Return one network's parameters as the state that a ``ConvolutionalNetwork`` loads.

    Examples
    --------
    >>> model = ConvolutionalNetwork()
    >>> model.load_state_dict(state_dict(initial_layers(Architecture(), np.random.default_rng(0)), Architecture()))
    <All keys matched successfully>
    """
    side = architecture.pooled[1]
    found = {}
    for name, matrix in (("first", layers.first), ("second", layers.second)):
        found[f"{name}.weight"] = matrix[:-1].unflatten(0, (KERNEL, KERNEL, -1)).permute(3, 2, 0, 1).contiguous()
        found[f"{name}.bias"] = matrix[-1].clone()
    by_channel = layers.wide.unflatten(0, (side, side, -1)).permute(2, 0, 1, 3).flatten(0, 2)
    for name, matrix, bias in (
        ("wide", by_channel, layers.wide_bias),
        ("narrow", layers.narrow, layers.narrow_bias),
        ("output", layers.output, layers.output_bias),
    ):
        found[f"{name}.weight"], found[f"{name}.bias"] = matrix.T.contiguous(), bias[0].clone()
    return found


class NetworkStack:
    """The parameters of several networks of one architecture, in one flat tensor that holds them layer by layer.

    Parameters
    ----------
    architecture : Architecture
    networks : sequence of NetworkLayers
        The parameters of each network, copied.
    device : torch.device or str

    Examples
    --------
    >>> stack = NetworkStack(Architecture(), [initial_layers(Architecture(), np.random.default_rng(0))] * 2)
    >>> stack.layers.wide.shape
    torch.Size([2, 1200, 800])
    """

    def __init__(
        self, architecture: Architecture, networks: Sequence[NetworkLayers[Tensor]], device: torch.device | str = "cpu"
    ) -> None:
        self.architecture, self.count = architecture, len(networks)
        self.flat = torch.zeros(sum(size for size, _ in self._parts()), device=device)
        for target, *parts in zip(self.layers, *networks, strict=True):
            for row, part in zip(target, parts, strict=True):
                row.copy_(part)

    def __len__(self) -> int:
        """Return the number of networks."""
        return self.count

    @property
    def layers(self) -> NetworkLayers[Tensor]:
        """The parameters with the networks as their leading dimension."""
        return self.views(self.flat)

    def views(self, flat: Tensor) -> NetworkLayers[Tensor]:
        """Return views of the layers in a flat tensor of parameters, or of something laid out like them (gradients)."""
        parts, start = [], 0
        for size, shape in self._parts():
            parts.append(flat[start : start + shape[0] * shape[1] * shape[2]].view(shape))
            start += size
        return NetworkLayers(*parts)

    def network(self, k: int) -> ConvolutionalNetwork:
        """Return a copy of network k."""
        copy = ConvolutionalNetwork(self.architecture)
        one = NetworkLayers(*(part[k].cpu() for part in self.layers))
        copy.load_state_dict(state_dict(one, self.architecture))
        return copy

    def _parts(self) -> list[tuple[int, tuple[int, int, int]]]:
        shapes = [(self.count, *shape) for shape in self.architecture.shapes]
        return [(a * b * c + -(a * b * c) % _ALIGNED, (a, b, c)) for a, b, c in shapes]


__all__ = [
    "KERNEL",
    "Architecture",
    "ConvolutionalNetwork",
    "NetworkLayers",
    "NetworkStack",
    "initial_layers",
    "state_dict",
]
