"""Train many independent convolutional networks at once: every risk of every trial, for the paper's image experiments.

All risks of a trial start from the same parameters and see the same batches and the same dropout. All images lie on the
device as bytes, all batches are drawn in advance, and on a GPU a whole step is one CUDA graph, so that nothing waits
for the CPU. With Triton's kernels a step computes in bfloat16, while parameters, AMSGrad and risks are in float32;
without them everything is in float32.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from importlib.util import find_spec
from typing import NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor
from torch.nn import functional as F  # noqa: N812

from symloss.paper.perceptrons import Classes, Risk
from symloss.paper.results import ImageSettings

KERNEL = 5  # pixels, the width and height of a convolution's patches


class Layers(NamedTuple):
    """The parameters of networks, which are the first dimension.

    Convolutions are (networks, 25 * channels + 1, outputs): weights in the order row, column, channel of the patch, and
    the biases as the last row. Fully connected layers are (networks, inputs, outputs).
    """

    first: Tensor
    second: Tensor
    wide: Tensor
    wide_bias: Tensor
    narrow: Tensor
    narrow_bias: Tensor
    output: Tensor
    output_bias: Tensor


@dataclass(frozen=True)
class Architecture:
    """The sizes of Conv[18,5,1,0]-Max[2,2]-Conv[48,5,1,0]-Max[2,2]-800-400-1, for square images.

    The fully connected layers, wide and narrow, are followed by ReLU and dropout, unlike the convolutions.
    """

    channels: int = 3
    side: int = 32
    first: int = 18
    second: int = 48
    wide: int = 800
    narrow: int = 400

    def initial(self, generator: np.random.Generator) -> list[Tensor]:
        """Draw a network's parameters as PyTorch does by default: uniform, up to 1 / sqrt(number of inputs) in size."""
        pooled = ((self.side - KERNEL + 1) // 2 - KERNEL + 1) // 2
        features, taps = pooled**2 * self.second, KERNEL**2
        shapes = [
            (taps * self.channels + 1, self.first, taps * self.channels),  # a convolution's last row is its bias
            (taps * self.first + 1, self.second, taps * self.first),
            *((rows, units, inputs) for inputs, units in
              ((features, self.wide), (self.wide, self.narrow), (self.narrow, 1)) for rows in (inputs, 1)),
        ]  # fmt: skip
        return [
            torch.from_numpy((2 * generator.random((rows, outputs), dtype=np.float32) - 1) * np.float32(inputs**-0.5))
            for rows, outputs, inputs in shapes
        ]


def draw_batches(
    rows: NDArray[np.int64], y: NDArray[np.int64], generators: Sequence[np.random.Generator], settings: ImageSettings
) -> tuple[Tensor, Tensor]:
    """Shuffle the points (trials, n) with labels +1 and -1 anew in every epoch, and cut them into batches.

    Both tensors that are returned are (steps, trials, b): the batch of every step, and its labels +1 and -1; 0 marks an
    empty place in the last batch of an epoch.
    """
    found_rows, found_sign, epochs, batch_size = [], [], settings.epochs, settings.batch_size
    for of, labels, generator in zip(rows, y, generators, strict=True):
        signs = (labels > 0, labels < 0) if settings.balanced else (labels != 0,)
        steps = -(-max(sign.sum() for sign in signs) // batch_size)
        drawn = np.full((epochs, steps * batch_size, len(signs)), -1)
        for epoch in drawn:
            for column, sign in enumerate(signs):
                epoch[: sign.sum(), column] = generator.permutation(np.flatnonzero(sign))
        chosen = drawn.reshape(epochs * steps, batch_size, len(signs)).swapaxes(1, 2).reshape(epochs * steps, -1)
        found_rows.append(np.where(chosen >= 0, of[chosen], 0).astype(np.int32))
        found_sign.append(np.where(chosen >= 0, labels[chosen], 0).astype(np.int8))
    return torch.from_numpy(np.stack(found_rows, 1)), torch.from_numpy(np.stack(found_sign, 1))


def convolve_and_pool(images: Tensor, weights: Tensor) -> Tensor:
    """Convolve for many networks at once, and return the largest of every 2 x 2 square (networks, n, p, p, outputs).

    Networks that share images (groups, n, side, side, channels) form a group: network k works on the images of group k
    modulo the number of groups. Weights are (networks, 25 * channels + 1, outputs).
    """
    groups, channels = images.shape[0], images.shape[4]
    by_group = weights.unflatten(0, (-1, groups)).transpose(0, 1)  # (groups, networks of a group, 25 channels + 1, ...)
    kernels = by_group[:, :, :-1].unflatten(2, (KERNEL, KERNEL, channels)).permute(0, 1, 5, 4, 2, 3)
    pixels = images.permute(1, 0, 4, 2, 3).flatten(1, 2)
    found = F.conv2d(pixels, kernels.flatten(0, 2), by_group[:, :, -1].flatten(), groups=groups)
    pooled: Tensor = F.max_pool2d(found, 2).unflatten(1, (groups, by_group.shape[1], -1))
    return pooled.permute(2, 1, 0, 4, 5, 3).flatten(0, 1).contiguous()


@dataclass(frozen=True)
class Stack:
    """Networks whose parameters lie side by side: that of risk j in trial t is number ``j * trials + t``.

    Networks of a trial share its images and its dropout, which the generator draws.
    """

    layers: Layers
    trials: int
    dropout: float
    generator: torch.Generator
    convolution: Callable[[Tensor, Tensor], Tensor] = convolve_and_pool

    def features(self, images: Tensor) -> Tensor:
        """Return the features (networks, n, features) of each trial's images (trials, n, side, side, channels)."""
        first = self.convolution(images, self.layers.first)
        return self.convolution(first, self.layers.second).flatten(2)

    def masks(self, n: int) -> list[Tensor] | None:
        """Draw the scaled masks of dropout for both layers, each (trials, n, units)."""
        if not self.dropout:
            return None
        like, keep = self.layers.wide, 1 - self.dropout
        return [
            like.new_empty(self.trials, n, bias.shape[2]).bernoulli_(keep, generator=self.generator).div_(keep)
            for bias in (self.layers.wide_bias, self.layers.narrow_bias)
        ]

    def scores(self, features: Tensor, masks: list[Tensor] | None) -> Tensor:
        """Return the scores (risks, trials, n), in float32 or better."""
        p, hidden = self.layers, features
        for k, (weights, bias) in enumerate(((p.wide, p.wide_bias), (p.narrow, p.narrow_bias))):
            hidden = torch.relu(torch.baddbmm(bias, hidden, weights))
            if masks:
                hidden = (hidden.unflatten(0, (-1, self.trials)) * masks[k]).flatten(0, 1)
        precise = torch.promote_types(features.dtype, torch.float32)
        scores = torch.baddbmm(*(part.to(precise) for part in (p.output_bias, hidden, p.output)))
        by_risk: Tensor = scores.squeeze(2).unflatten(0, (-1, self.trials))
        return by_risk

    def both_ways(self, images: Tensor) -> Tensor:
        """Return the scores (2, risks, trials, n) of the same images for all trials, with dropout off and on."""
        features = self.features(images.expand(self.trials, *images.shape).contiguous())
        return torch.stack([self.scores(features, drop) for drop in (None, self.masks(len(images)))])

    def gradients(self, images: Tensor, classes: Classes, risks: Sequence[Risk]) -> tuple[Tensor, ...]:
        """Return the gradient of every network's risk on its trial's batch, with respect to each of the layers."""
        with torch.enable_grad():
            scores = self.scores(self.features(images), self.masks(images.shape[1]))
        by_scores = [risk.gradient(part, classes) for risk, part in zip(risks, scores.detach(), strict=True)]
        return torch.autograd.grad(scores, self.layers, torch.stack(by_scores))


@torch.no_grad()
def train_networks(
    images: Tensor,
    rows: NDArray[np.int64],
    y: NDArray[np.int64],
    test_images: Tensor,
    risks: Sequence[Risk],
    generators: Sequence[np.random.Generator],
    architecture: Architecture,
    settings: ImageSettings,
    *,
    kernels: bool | None = None,
    progress: Callable[[int], None] | None = None,
) -> Tensor:
    """Train a network for every risk in every trial, and score the test images after every epoch.

    Images are bytes (n, channels, side, side) on the device to use; ``rows`` and ``y`` (trials, n_train) are each
    trial's training images and their labels +1 and -1. The generator of a trial draws the initial parameters and the
    batches, which all its risks share. Triton's ``kernels``, in bfloat16, are used if the device can run them.
    ``progress`` is called with the number of epochs that the device has been given to compute. The scores (2, epochs,
    risks, trials, n_test) are those with dropout off, and with dropout on.
    """
    device, trials = images.device, len(rows)
    kernels = has_kernels(device) if kernels is None else kernels
    dtype, convolution = torch.float32, convolve_and_pool
    if kernels:
        from symloss.paper.kernels import convolve_and_pool as convolution

        dtype = torch.bfloat16
    initial = [architecture.initial(generator) for generator in generators]
    batches = draw_batches(rows, y, generators, settings)
    of_steps, signs = (part.to(device) for part in batches)
    parameters = [torch.stack(list(parts) * len(risks)).to(device) for parts in zip(*initial, strict=True)]
    computed = [part.to(dtype).requires_grad_() for part in parameters]  # in float32, the parameters themselves
    gradients = [torch.zeros_like(part) for part in parameters]
    for part, gradient in zip(parameters, gradients, strict=True):
        part.grad = gradient
    adam = torch.optim.Adam(
        parameters, lr=settings.learning_rate, weight_decay=settings.weight_decay, amsgrad=True, fused=True,
        capturable=images.is_cuda,
    )  # fmt: skip
    generator = torch.Generator(device)
    stack = Stack(Layers(*computed), trials, settings.dropout, generator, convolution)
    pixels, test_pixels = (part.permute(0, 2, 3, 1).contiguous() for part in (images, test_images))
    mean, sd = (torch.tensor(part, device=device) for part in (settings.mean, settings.sd))
    number = torch.zeros(1, dtype=torch.int64, device=device)

    def normalized(some: Tensor) -> Tensor:
        return (some.float() * (1 / (255 * sd)) - mean / sd).to(dtype)

    def step() -> None:
        of_step, sign = (part.index_select(0, number).squeeze(0) for part in (of_steps, signs))
        batch = normalized(pixels.index_select(0, of_step.flatten()).unflatten(0, of_step.shape))
        for target, found in zip(gradients, stack.gradients(batch, Classes.of(sign.float()), risks), strict=True):
            target.copy_(found)
        adam.step()
        for part, used in zip(parameters, computed, strict=True):
            if used is not part:
                used.copy_(part)
        number.add_(1)

    seed = int(generators[0].integers(2**62))
    run = _as_graph(step, generator, [*parameters, *computed, number], adam) if device.type == "cuda" else step
    generator.manual_seed(seed)
    found = torch.empty(2, settings.epochs, len(risks), trials, len(test_images), device=device)
    chunk = 500 if kernels else 100  # test images at a time
    for epoch in range(settings.epochs):
        for _ in range(len(of_steps) // settings.epochs):
            run()
        for start in range(0, len(test_pixels), chunk):
            some = slice(start, start + chunk)
            found[:, epoch, ..., some] = stack.both_ways(normalized(test_pixels[some]))
        if progress:
            progress(epoch + 1)
    return found


def has_kernels(device: torch.device) -> bool:
    """Return whether Triton is installed and the device can run its kernels in bfloat16."""
    capable = device.type == "cuda" and torch.cuda.get_device_capability(device) >= (8, 0)
    return capable and find_spec("triton") is not None


def _as_graph(
    step: Callable[[], None], generator: torch.Generator, state: Sequence[Tensor], adam: torch.optim.Adam
) -> Callable[[], None]:
    """Return a step as one CUDA graph; the state is restored after the few steps that must come before."""
    before = [part.clone() for part in state]
    side = torch.cuda.Stream()
    side.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(side):
        for _ in range(3):
            step()
    torch.cuda.current_stream().wait_stream(side)
    torch.cuda.synchronize()
    for part, value in zip(state, before, strict=True):
        part.copy_(value)
    for of_parameter in adam.state.values():
        for part in of_parameter.values():
            part.zero_()
    graph = torch.cuda.CUDAGraph()
    graph.register_generator_state(generator)
    with torch.cuda.graph(graph):
        step()
    return graph.replay
