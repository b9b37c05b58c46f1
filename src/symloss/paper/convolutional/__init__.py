"""Train many independent convolutional networks at once: every risk of every trial, for the paper's image experiments.

All risks of a trial start from the same parameters and see the same batches and the same dropout. All images lie
on the device as bytes, all batches are drawn in advance, and on a GPU a whole step is one CUDA graph, so that nothing
waits for the CPU. Gradients are written by hand. With Triton, a step computes in bfloat16, while parameters, AMSGrad
and risks are in float32; without it, everything is in float32, by plain matrix products.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from symloss.corruption import RandomState
from symloss.paper.convolutional.batches import draw_batches
from symloss.paper.convolutional.network import Architecture, ConvolutionalNetwork, NetworkStack, initial_layers
from symloss.paper.convolutional.step import Step, has_kernels, make_step
from symloss.paper.training.risks import Risk

_CHUNK, _PLAIN_CHUNK = 500, 100  # test images at a time; fewer where plain products store the patches of every network


@dataclass(frozen=True)
class TrainingSettings:
    """How networks are trained.

    Parameters
    ----------
    epochs, batch_size : int
    balanced : bool
        Whether a batch has ``batch_size`` points of each class, instead of ``batch_size`` points in all.
    learning_rate, weight_decay : float
        Of AMSGrad; the decay is added to the gradient.
    mean, sd : tuple of float
        Mean and standard deviation that normalize each channel, for pixels from 0 to 1. With ``mean=(0,)`` and
        ``sd=(1/255,)`` pixels keep their values from 0 to 255.

    Examples
    --------
    >>> TrainingSettings(epochs=1).batch_size
    128
    """

    epochs: int = 50
    batch_size: int = 128
    balanced: bool = False
    learning_rate: float = 1e-4
    weight_decay: float = 1e-4
    mean: tuple[float, ...] = (0.0,)
    sd: tuple[float, ...] = (1.0,)


class Trained(NamedTuple):
    """Trained networks, and their scores of the test images after every epoch.

    Parameters
    ----------
    stack : NetworkStack
        The networks after the last epoch; risk j in trial t is number ``j * trials + t``.
    scores : Tensor of shape (2, epochs, risks, trials, n_test)
        With dropout off, and with dropout on.

    Examples
    --------
    >>> one = NetworkStack(Architecture(), [initial_layers(Architecture(), np.random.default_rng(0))])
    >>> len(Trained(one, torch.zeros(2, 50, 1, 1, 2000)).stack)
    1
    """

    stack: NetworkStack
    scores: Tensor


def train_networks(
    images: Tensor,
    rows: NDArray[np.int64],
    y: NDArray[np.int64],
    test_images: Tensor,
    risks: Sequence[Risk],
    random_states: Sequence[RandomState],
    architecture: Architecture,
    training: TrainingSettings,
    *,
    kernels: bool | None = None,
    dtype: torch.dtype | None = None,
    progress: Callable[[int], None] | None = None,
) -> Trained:
    """Train a network for every risk in every trial, and score the test images after every epoch.

    Parameters
    ----------
    images, test_images : Tensor of shape (n, channels, side, side), uint8
        The device that they are on is the device used.
    rows, y : array of shape (trials, n_train)
        Each trial's training images, as rows of ``images``, and their labels +1 and -1.
    risks : sequence of Risk
        What to minimize, with one network per risk in every trial.
    random_states : sequence of int or numpy Generator, one per trial
        Seeds of the initial parameters and of the batches, which all risks of a trial share.
    architecture : Architecture
    training : TrainingSettings
    kernels : bool, optional
        Whether to use Triton's kernels; by default, they are used if the device can run them.
    dtype : torch.dtype, optional
        The type of number to compute with; by default bfloat16 with kernels, else float32.
    progress : callable, optional
        Called with the number of epochs that the device has been given to compute.

    Examples
    --------
    >>> from symloss.losses import Sigmoid
    >>> images = torch.randint(0, 256, (20, 1, 16, 16), dtype=torch.uint8)
    >>> rows, y = np.arange(20)[None], np.repeat([[1, -1]], 10, 1)
    >>> small = Architecture(1, 16, 2, 3, 8, 4)
    >>> risks, training = [Risk("auc", Sigmoid())], TrainingSettings(epochs=2)
    >>> trained = train_networks(images, rows, y, images, risks, [0], small, training)
    >>> trained.scores.shape
    torch.Size([2, 2, 1, 1, 20])
    """
    device = images.device
    kernels = has_kernels(device) if kernels is None else kernels
    dtype = dtype or (torch.bfloat16 if kernels else torch.float32)
    generators = [np.random.default_rng(state) for state in random_states]
    initial = [initial_layers(architecture, generator) for generator in generators]
    batches = draw_batches(rows, y, generators, training.epochs, training.batch_size, training.balanced).to(device)
    seed = int(generators[0].integers(2**62))
    stack = NetworkStack(architecture, initial * len(risks), device)
    generator = torch.Generator(device)
    step, optimizer = make_step(stack, risks, generator, training.learning_rate, training.weight_decay, kernels, dtype)
    pixels, test_pixels = (part.permute(0, 2, 3, 1).contiguous() for part in (images, test_images))
    prepare = _Preparation(training, dtype, device)
    number = torch.zeros(1, dtype=torch.int64, device=device)

    def take() -> None:
        of_step, classes = batches.at(number)
        step.write_gradients(prepare(pixels.index_select(0, of_step.flatten()).unflatten(0, of_step.shape)), classes)
        optimizer.step()
        number.add_(1)

    with torch.no_grad():
        state = [stack.flat, step.copy, number]
        run = as_graph(take, generator, state, optimizer.reset) if device.type == "cuda" else take
        generator.manual_seed(seed)
        found = torch.empty(
            2, training.epochs, len(risks), len(rows), len(test_images), device=device, dtype=torch.float32
        )
        steps, chunk = len(batches.rows) // training.epochs, _CHUNK if kernels else _PLAIN_CHUNK
        for epoch in range(training.epochs):
            for _ in range(steps):
                run()
            for start in range(0, len(test_pixels), chunk):
                part = slice(start, start + chunk)
                found[:, epoch, ..., part] = _both_ways(step, prepare(test_pixels[part]))
            if progress:
                progress(epoch + 1)
    return Trained(stack, found)


class _Preparation:
    """Turns bytes into normalized numbers."""

    def __init__(self, training: TrainingSettings, dtype: torch.dtype, device: torch.device) -> None:
        mean, sd = (torch.tensor(part, device=device) for part in (training.mean, training.sd))
        self.scale, self.shift, self.dtype = 1 / (255 * sd), -mean / sd, dtype

    def __call__(self, pixels: Tensor) -> Tensor:
        return (pixels.float() * self.scale + self.shift).to(self.dtype)


def _both_ways(step: Step, images: Tensor) -> Tensor:
    """Return the scores (2, risks, trials, n) of the same images for all trials, with dropout off and on."""
    shared = images.expand(step.trials, *images.shape).contiguous()
    features = step.features(shared)[1].output.flatten(2)
    split = (len(step.risks), step.trials)
    masks = step.masks(len(images)) if step.rate else None
    return torch.stack([step.scores(features, drop)[0].unflatten(0, split) for drop in (None, masks)])


def as_graph(
    function: Callable[[], None], generator: torch.Generator, state: Sequence[Tensor], forget: Callable[[], None]
) -> Callable[[], None]:
    """Return a function as one CUDA graph; the state is restored after the few calls that must come before."""
    before = [part.clone() for part in state]
    side = torch.cuda.Stream()
    side.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(side):
        for _ in range(3):
            function()
    torch.cuda.current_stream().wait_stream(side)
    torch.cuda.synchronize()
    for part, value in zip(state, before, strict=True):
        part.copy_(value)
    forget()
    graph = torch.cuda.CUDAGraph()
    graph.register_generator_state(generator)
    with torch.cuda.graph(graph):
        function()
    return graph.replay


__all__ = [
    "Architecture",
    "ConvolutionalNetwork",
    "NetworkStack",
    "Trained",
    "TrainingSettings",
    "as_graph",
    "train_networks",
]
