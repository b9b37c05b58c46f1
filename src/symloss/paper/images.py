"""The image experiments: many convolutional networks at once, every risk of every trial, and how they are scored.

All risks of a trial start from the same parameters and see the same batches and the same dropout. All images lie on the
device as bytes, all batches are drawn in advance, and on a GPU a whole step is one CUDA graph, so that nothing waits
for the CPU. With Triton's kernels a step computes in bfloat16, while parameters, AMSGrad and risks are in float32;
without them everything is in float32.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from importlib.util import find_spec
from typing import Any, NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor
from torch.nn import functional as F  # noqa: N812

from symloss.corruption import contaminate
from symloss.functional import RISKS
from symloss.losses import Loss
from symloss.paper.perceptrons import Classes, Risk
from symloss.paper.results import CHANCE, LOSSES, TRIALS, ImageSettings, label, trial_generators

KERNEL = 5  # pixels, the width and height of a convolution's patches
Rows = NDArray[np.int64]
Columns = dict[tuple[str, str], dict[str, list[float]]]


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


class Images(NamedTuple):
    """Clean images of two classes, as bytes of shape (n, channels, side, side), and their labels +1 and -1."""

    train: Tensor
    y_train: Rows
    test: Tensor
    y_test: Rows


@lru_cache(maxsize=2)
def load_images(family: str, dataset: str, download: bool = True) -> Images:
    """Return MNIST (even digits are positive), or CIFAR-10's airplanes (positive) and another class."""
    from symloss.datasets import load, load_cifar10_class

    if family == "mnist":
        train, test = (load("mnist", split=split, download=download) for split in ("train", "test"))
        pixels = [F.pad(torch.from_numpy(part.data), (2, 2, 2, 2)) for part in (train, test)]
        return Images(pixels[0], train.target, pixels[1], test.target)
    classes = [load_cifar10_class(name, download) for name in ("airplane", dataset)]
    parts: list[Any] = []
    for both in zip(*classes, strict=True):
        parts += [torch.from_numpy(np.concatenate(both)), np.repeat([1, -1], [len(part) for part in both])]
    return Images(*parts)


def run_image_trials(
    images: Images,
    pi: float,
    pi_prime: float,
    settings: ImageSettings,
    losses: Sequence[Loss] = LOSSES,
    risks: Sequence[str] = RISKS,
    trials: int = TRIALS["mnist"],
    seed: int = 0,
    name: str = "",
    device: str | torch.device = "cpu",
    *,
    architecture: Architecture | None = None,
    progress: Callable[[int], None] | None = None,
) -> tuple[Columns, Columns]:
    """Train networks on corrupted samples of images, and return their scores on the clean test images.

    Parameters are those of `symloss.paper.run.run_trials`, and of `symloss.paper.images.train_networks`. Dropout is
    drawn for all trials together, so it depends on how many there are; all else in a trial does not.

    Returns
    -------
    scores : dict
        ``{(risk, loss): {column: [value of each trial]}}``. ``score`` is as published, after the last epoch with
        dropout on. ``dropout_off`` is the same with dropout off. ``chosen_epoch`` is with dropout off, after the epoch
        that is chosen on corrupted labels (see `choose_epochs`), and ``chosen_at`` is the number of that epoch.
    curves : dict
        The same with the mean after each epoch: ``score``, ``dropout_off``, their standard errors ``score_se`` and
        ``dropout_off_se``, and ``corrupted``, the score on the corrupted labels.
    """
    generators = [trial_generators(seed, name, pi, pi_prime, trial) for trial in range(trials)]
    sizes = {"n_positive": settings.n_positive, "n_negative": settings.n_negative}
    rows, y = np.arange(len(images.y_train)), images.y_train
    drawn = [contaminate(rows, y, pi=pi, pi_prime=pi_prime, **sizes, random_state=of) for of, _, _ in generators]
    of_losses = [Risk(risk, loss, settings.one_by_one and risk == "auc") for risk in risks for loss in losses]
    found = train_networks(
        images.train.to(device),
        np.stack([rows for rows, _ in drawn]),
        np.stack([labels for _, labels in drawn]),
        images.test.to(device),
        of_losses,
        [of_training for _, of_training, _ in generators],
        architecture or Architecture(images.train.shape[1], images.train.shape[2]),
        settings,
        progress=progress,
    )
    folds = [halves(images.y_test, pi, pi_prime, generator) for _, _, generator in generators]
    clean = [np.tile(np.flatnonzero(images.y_test == sign), (trials, 1)) for sign in (1, -1)]
    off, on = (measured(part, of_losses, *clean) for part in found)  # (epochs, risks, trials)
    chosen, epoch, corrupted = choose_epochs(found[0], folds, of_losses)
    scores: Columns = {}
    curves: Columns = {}
    for j, risk in enumerate(of_losses):
        key = risk.name, label(risk.loss)
        values = {"score": on[-1, j], "dropout_off": off[-1, j], "chosen_epoch": chosen[j], "chosen_at": epoch[j]}
        scores[key] = {way: of.tolist() for way, of in values.items()}
        curves[key] = {}
        for way, of in (("score", on[:, j]), ("dropout_off", off[:, j]), ("corrupted", corrupted[:, j])):
            by_epoch = of.nan_to_num(CHANCE)
            curves[key][way] = by_epoch.mean(1).tolist()
            if way != "corrupted":
                curves[key][f"{way}_se"] = (by_epoch.std(1, correction=min(1, trials - 1)) / trials**0.5).tolist()
    return scores, curves


class Half(NamedTuple):
    """The rows of the half of the test images that chooses an epoch, corrupted as in training, and of the other one."""

    corrupted_positive: Rows
    corrupted_negative: Rows
    positive: Rows
    negative: Rows


def halves(y_test: Rows, pi: float, pi_prime: float, generator: np.random.Generator) -> tuple[Half, Half]:
    """Split the test images at random into halves with equal numbers of each class, and corrupt the labels of both.

    Unused training images would do as well, but with noise CIFAR-10 has too few: pi + pi' = 1.1, so the two corrupted
    classes of 4,540 images take 4,994 of the 5,000 airplanes.
    """
    by_class = [generator.permutation(np.flatnonzero(y_test == sign)) for sign in (1, -1)]
    sizes = [len(rows) // 2 for rows in by_class]
    first, second = (
        [rows[start * size : (start + 1) * size] for rows, size in zip(by_class, sizes, strict=True)]
        for start in (0, 1)
    )
    n = min(sizes)  # the largest size of both corrupted classes for which there are enough images
    while (taken := round(pi * n) + round(pi_prime * n)) > sizes[0] or 2 * n - taken > sizes[1]:
        n -= 1
    found = []
    for chooses, scored in ((first, second), (second, first)):
        rows, y = contaminate(
            np.concatenate(chooses), np.repeat([1, -1], sizes), pi=pi, pi_prime=pi_prime, n_positive=n, n_negative=n,
            random_state=generator,
        )  # fmt: skip
        found.append(Half(rows[y > 0], rows[y < 0], *scored))
    return found[0], found[1]


def choose_epochs(
    scores: Tensor, folds: Sequence[tuple[Half, Half]], risks: Sequence[Risk]
) -> tuple[Tensor, Tensor, Tensor]:
    """Choose each network's epoch on corrupted labels of one half of the test images, and score it on the other half.

    Both halves choose in turn, so that no image counts for a score that it helped to choose. If several epochs are
    equally good, the earliest is chosen. From scores (epochs, risks, trials, n_test) this returns means of both halves:
    the score at the chosen epoch and its number (risks, trials), and the score on corrupted labels (epochs, risks,
    trials).
    """
    found = []
    for fold in zip(*folds, strict=True):
        rows = [np.stack(of_trials) for of_trials in zip(*fold, strict=True)]  # in the order of Half
        corrupted, clean = measured(scores, risks, *rows[:2]), measured(scores, risks, *rows[2:])
        epoch = corrupted.nan_to_num(0.0).argmax(0, keepdim=True)
        found.append((clean.gather(0, epoch)[0], 1.0 + epoch[0], corrupted))
    (chosen, epoch, corrupted), (other_chosen, other_epoch, other_corrupted) = found
    return (chosen + other_chosen) / 2, (epoch + other_epoch) / 2, (corrupted + other_corrupted) / 2


def measured(scores: Tensor, risks: Sequence[Risk], positives: Rows, negatives: Rows) -> Tensor:
    """Return balanced accuracy or AUC, by the risk, of scores (epochs, risks, trials, n), each trial with its own rows.

    They are from 0 to 100; zeros and ties count as one half, and NaN makes NaN.
    """
    found = scores.new_empty(scores.shape[:3], dtype=torch.float64)
    rows = [torch.from_numpy(of).to(scores.device).expand(len(risks), -1, -1) for of in (positives, negatives)]
    for of_epoch, target in zip(scores, found, strict=True):
        pos, neg = (of_epoch.gather(2, of) for of in rows)
        for j, risk in enumerate(risks):
            target[j] = 100 * (_auc if risk.name == "auc" else _balanced_accuracy)(pos[j], neg[j])
        wrong = pos.isnan().any(2) | neg.isnan().any(2)
        target.masked_fill_(wrong, torch.nan)
    return found


def _auc(pos: Tensor, neg: Tensor) -> Tensor:
    ordered = neg.sort(1).values
    pos = pos.contiguous()
    below = torch.searchsorted(ordered, pos) + torch.searchsorted(ordered, pos, right=True)
    return below.sum(1).double() / (2 * pos.shape[1] * neg.shape[1])


def _balanced_accuracy(pos: Tensor, neg: Tensor) -> Tensor:
    return (2 + pos.sign().mean(1, dtype=torch.float64) - neg.sign().mean(1, dtype=torch.float64)) / 4
