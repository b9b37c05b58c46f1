"""Search for settings that bring the scores on MNIST nearer to the published ones: many settings in one stack of CNNs.

    SYMLOSS_DATA=FOLDER python benchmarks/mnist_search.py --out FOLDER [--seconds 520] [--waves pairs,pixels]
    python benchmarks/mnist_search.py --out FOLDER --summary benchmarks/results/mnist_search.csv

Settings that share the shape of a step are trained together: each has its own images, learning rate, optimizer, pixel
scale, initial weights and dropout. A wave of settings is trained at the highest noise, one trial each; then the
finalists, those nearest to the published rows, are trained at all four noises. Test images are scored every two epochs
with dropout on and off, so that other numbers of epochs come for free.

``curves.csv`` in FOLDER holds all scores, and what is there is not trained again. ``fits.csv`` compares them with the
paper, by every way to make a score of a curve. No wave begins that would not end within ``--seconds``. ``--summary``
trains nothing: it writes a small file of what ``curves.csv`` says, and prints it as a table. ``--small --device cpu``
trains tiny networks for a few steps, and only checks that every setting runs.
"""

import argparse
import csv
import itertools
import math
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from symloss.corruption import Contamination, contaminate
from symloss.losses import Loss
from symloss.pairwise import pairwise_risk
from symloss.paper.convolutional import Architecture, NetworkStack, as_graph
from symloss.paper.convolutional.batches import Batches, draw_batches
from symloss.paper.convolutional.network import NetworkLayers, initial_layers
from symloss.paper.convolutional.patches import Convolution, Patches, Pooled
from symloss.paper.convolutional.step import Step, has_kernels
from symloss.paper.experiment import trial_seeds
from symloss.paper.images import Images, load_images
from symloss.paper.protocol import LOSSES, NOISES
from symloss.paper.published import find_published
from symloss.paper.score_tables import loss_heading
from symloss.paper.training.risks import Classes, Risk

ROWS = ("ber", "auc: one by one", "auc: all pairs")  # what a network minimizes
SCREENED = [loss for loss in LOSSES if loss.name != "hinge"]  # hinge behaves like logistic
CHUNK = 500  # test images at a time


@dataclass(frozen=True)
class Setting:
    """What one training may do differently; the defaults are those of the authors' script."""

    learning_rate: float = 1e-4
    weight_decay: float = 0.0  # added to the gradient
    momentum: float = 0.9
    second: float = 0.999  # the decay of the squared gradients' mean
    eps: float = 1e-8
    amsgrad: bool = True
    scale: float = 1.0  # of pixels from 0 to 255
    shift: float = 0.0
    initial: str = "uniform"  # PyTorch's; or "lecun", "he", "glorot": normal or uniform weights, biases of zero
    dropout: tuple[float, float, float] = (0.0, 0.5, 0.5)  # before 800 units, after them, after 400
    relu: bool = False  # after the convolutions
    margin: float = 1.0  # what margins are multiplied by
    repeated: bool = False  # whether the contaminated sample is drawn with repetition
    images: int = 15000  # of each corrupted class

    def __str__(self) -> str:
        changed = {name: value for name, value in vars(self).items() if value != getattr(Setting(), name)}
        parts = [
            f"{name}={value:.4g}" if type(value) is float else f"{name}={value}" for name, value in changed.items()
        ]
        return " ".join(parts).replace("(", "").replace(")", "").replace(", ", "+") or "script"


@dataclass(frozen=True)
class Wave:
    """Settings that are trained together, and what they share: the shape of a step, and what is minimized."""

    settings: tuple[Setting, ...]
    rows: tuple[str, ...] = ROWS[:2]
    side: int = 32  # 28: without padding
    batch_size: int = 128  # of each class
    balanced: bool = True  # False: that many in all
    epochs: int = 50
    losses: tuple[Loss, ...] = tuple(SCREENED)

    @property
    def shared(self) -> str:
        """What the settings share, in words."""
        batch = f"{self.batch_size}+{self.batch_size}" if self.balanced else f"{self.batch_size} mixed"
        return f"side={self.side} batch={batch} epochs={self.epochs}"


@dataclass(frozen=True)
class Run:
    """One setting at one noise in one trial."""

    setting: Setting
    noise: Contamination
    trial: int


def _crossed(**values: Sequence[float | str | bool]) -> tuple[Setting, ...]:
    return tuple(Setting(**dict(zip(values, each, strict=True))) for each in itertools.product(*values.values()))  # type: ignore[arg-type]


RATES = (1e-4, 2e-4, 3e-4, 5e-4, 1e-3)
UNIT = 1 / 255
STANDARD = {"scale": (UNIT / 0.3081,), "shift": (-0.1307 / 0.3081,)}
BASE = Setting()
# In the order of what the published numbers make likely. The page on images has the results of the first four.
WAVES = {
    "pairs": Wave((
        *_crossed(initial=("uniform", "lecun"), learning_rate=RATES),
        Setting(amsgrad=False), Setting(3e-4, amsgrad=False),
    )),
    "pixels": Wave((
        *_crossed(scale=(UNIT,), initial=("uniform", "lecun"), learning_rate=(1e-4, 3e-4, 1e-3)),
        *_crossed(**STANDARD, initial=("uniform", "lecun"), learning_rate=(1e-4, 3e-4, 1e-3)),
    )),
    "layers": Wave((
        Setting(dropout=(0.0, 0.0, 0.0)), Setting(1e-3, dropout=(0.0, 0.0, 0.0)), Setting(dropout=(0.5, 0.5, 0.5)),
        Setting(dropout=(0.5, 0.0, 0.0)), Setting(relu=True), Setting(3e-4, relu=True), Setting(1e-3, relu=True),
        Setting(1e-3, relu=True, scale=UNIT), Setting(weight_decay=0.05), Setting(1e-3, weight_decay=1e-4),
        Setting(repeated=True), Setting(margin=0.1),
    )),
    "smaller batches": Wave((
        *_crossed(learning_rate=(1e-4, 2e-4, 3e-4, 1e-3)), *_crossed(initial=("lecun",), learning_rate=(1e-4, 3e-4)),
        Setting(scale=UNIT), Setting(1e-3, scale=UNIT),
    ), batch_size=64),
    "smallest batches": Wave(_crossed(initial=("uniform", "lecun"), learning_rate=(3e-5, 1e-4, 3e-4)), batch_size=32),
    "all pairs": Wave((
        *_crossed(initial=("lecun", "he", "glorot"), learning_rate=(1e-4, 3e-4, 1e-3)),
        *_crossed(initial=("lecun",), scale=(UNIT,), learning_rate=(1e-4, 1e-3)),
        *_crossed(relu=(True,), learning_rate=(1e-4, 1e-3)),
        *(Setting(margin=margin) for margin in (0.01, 0.1, 10.0)),
        Setting(eps=1e-4), Setting(eps=1e-6), Setting(weight_decay=0.05), Setting(dropout=(0.0, 0.0, 0.0)),
        Setting(dropout=(0.5, 0.5, 0.5)), Setting(amsgrad=False), Setting(repeated=True), Setting(momentum=0.5),
    ), rows=("auc: all pairs",)),
    "no padding": Wave((
        *_crossed(scale=(1.0, UNIT), learning_rate=(1e-4, 2e-4, 3e-4, 1e-3)),
        *_crossed(initial=("lecun",), learning_rate=(1e-4, 3e-4)), Setting(relu=True), Setting(amsgrad=False),
    ), side=28),
    "optimizer": Wave((
        Setting(eps=1e-3), Setting(eps=1e-4), Setting(eps=1e-6), Setting(1e-3, eps=1e-4), Setting(momentum=0.5),
        Setting(momentum=0.0), Setting(second=0.99), Setting(second=0.9), Setting(weight_decay=1e-3),
        Setting(weight_decay=1e-2), Setting(1e-3, weight_decay=0.05), Setting(1e-3, amsgrad=False),
    )),
    "further": Wave((
        *_crossed(initial=("he", "glorot"), learning_rate=(1e-4, 3e-4)), Setting(margin=0.01), Setting(margin=10.0),
        Setting(repeated=True, learning_rate=1e-3), Setting(images=7500), Setting(dropout=(0.0, 0.2, 0.2)),
        Setting(dropout=(0.0, 0.5, 0.0)), Setting(scale=2.0), Setting(scale=0.1),
    )),
    "longer": Wave(_crossed(initial=("uniform", "lecun"), learning_rate=(3e-5, 1e-4, 2e-4)), epochs=100),
    "mixed": Wave(
        _crossed(scale=(1.0, UNIT), initial=("uniform", "lecun"), learning_rate=(1e-4, 3e-4, 1e-3)),
        rows=("ber", "auc: all pairs"), batch_size=256, balanced=False,
    ),
}  # fmt: skip


@dataclass(frozen=True)
class SearchRisk:
    """A row of the paper and a loss: its gradient, with margins multiplied by each training's factor."""

    row: str
    loss: Loss
    margin: Tensor  # (runs, 1)

    def gradient(self, scores: Tensor, classes: Classes) -> Tensor:
        """Return the gradient with respect to the scores (runs, b)."""
        scores = scores * self.margin
        if self.row != ROWS[1]:
            return Risk(self.row[:3], self.loss).gradient(scores, classes) * self.margin
        half = scores.shape[1] // 2  # the positives, then as many negatives
        there = classes.positive[:, :half] * classes.negative[:, half:]
        slope = self.loss.slope(scores[:, :half] - scores[:, half:]) * there * self.margin
        slope = slope / there.sum(1, keepdim=True).clamp(min=1)
        return torch.cat([slope, -slope], 1)


class SearchStep(Step):
    """A step whose networks differ in dropout, and in ReLU after the convolutions, from run to run."""

    def __init__(
        self,
        stack: NetworkStack,
        risks: Sequence[SearchRisk],
        convolutions: tuple[Convolution, Convolution],
        dtype: torch.dtype,
        generator: torch.Generator,
        settings: Sequence[Setting],
    ) -> None:
        super().__init__(stack, risks, convolutions, dtype, generator)  # type: ignore[arg-type]
        device = stack.flat.device
        self.keep = [
            torch.tensor([1 - setting.dropout[place] for setting in settings], device=device)[:, None, None]
            for place in range(3)
        ]
        self.drops = [any(setting.dropout[place] for setting in settings) for place in range(3)]
        kept = torch.tensor([not setting.relu for setting in settings], device=device).repeat(len(risks))
        self.linear = kept[:, None, None, None, None] if not all(kept.tolist()) else None

    def features(self, images: Tensor) -> tuple[Pooled, Pooled]:
        """Return the outputs of both convolutions."""
        first = self._rectified(self.first.forward(images, self.parameters.first))
        return first, self._rectified(self.second.forward(first.output, self.parameters.second))

    def _rectified(self, pooled: Pooled) -> Pooled:
        if self.linear is None:
            return pooled
        return pooled._replace(output=torch.where(self.linear, pooled.output, pooled.output.relu()))

    def _through(self, pooled: Pooled, by_output: Tensor) -> Tensor:
        """Return the gradient before ReLU, given the gradient after it."""
        return by_output if self.linear is None else by_output * (self.linear | (pooled.output > 0))

    def masks(self, n: int) -> tuple[Tensor | None, ...]:  # type: ignore[override]
        """Draw the scaled masks of dropout for three places, each (runs, n, units)."""
        sizes = self.stack.architecture
        found: list[Tensor | None] = []
        for keep, drops, units in zip(self.keep, self.drops, (sizes.features, sizes.wide, sizes.narrow), strict=True):
            drawn = (
                torch.rand(self.trials, n, units, device=self.copy.device, generator=self.generator) if drops else None
            )
            found.append(None if drawn is None else ((drawn < keep) / keep).to(self.dtype))
        return tuple(found)

    def _dropped(self, layer: Tensor, mask: Tensor | None) -> Tensor:
        return layer if mask is None else (layer.unflatten(0, (len(self.risks), -1)) * mask).flatten(0, 1)

    def scores(self, features: Tensor, masks: tuple[Tensor | None, ...] | None) -> tuple[Tensor, ...]:  # type: ignore[override]
        """Return the scores (networks, n), and the three layers before them, after dropout."""
        p = self.parameters
        before, after, last = masks or (None, None, None)
        features = self._dropped(features, before)
        wide = self._dropped(torch.baddbmm(p.wide_bias, features, p.wide).relu_(), after)
        narrow = self._dropped(torch.baddbmm(p.narrow_bias, wide, p.narrow).relu_(), last)
        scores = torch.baddbmm(*(part.to(self.sums) for part in (p.output_bias, narrow, p.output)))
        return scores.squeeze(2), wide, narrow, features

    def write_gradients(self, images: Tensor, classes: Classes) -> None:
        """Write the gradients of every network's risk on its run's batch (runs, n, side, side, channels)."""
        p, g = self.parameters, self.gradients
        first, second = self.features(images)
        masks = self.masks(images.shape[1])
        scores, wide, narrow, features = self.scores(second.output.flatten(2), masks)
        by_scores = self._by_scores(scores.unflatten(0, (len(self.risks), -1)), classes).flatten(0, 1)[..., None]
        g.output_bias.copy_(by_scores.sum(1, keepdim=True))
        by_scores = by_scores.to(self.dtype)
        torch.bmm(narrow.mT, by_scores, out=g.output)
        by_narrow = self._dropped((by_scores * p.output.mT).mul_(narrow > 0), masks[2])
        torch.bmm(wide.mT, by_narrow, out=g.narrow)
        g.narrow_bias.copy_(by_narrow.sum(1, keepdim=True, dtype=self.sums))
        by_wide = self._dropped(torch.bmm(by_narrow, p.narrow.mT).mul_(wide > 0), masks[1])
        torch.bmm(features.mT, by_wide, out=g.wide)
        g.wide_bias.copy_(by_wide.sum(1, keepdim=True, dtype=self.sums))
        by_features = self._dropped(torch.bmm(by_wide, p.wide.mT), masks[0]).view_as(second.output)
        by_second = self._through(second, by_features)
        self.second.weight_gradient(second, by_second, g.second)
        by_first = self._through(first, self.second.input_gradient(second, by_second, p.second))
        self.first.weight_gradient(first, by_first, g.first)


class SearchAdam:
    """Adam or AMSGrad, with each network's own learning rate, decays and eps."""

    def __init__(self, stack: NetworkStack, step: Step, settings: Sequence[Setting], kernels: bool) -> None:
        device, repeats = stack.flat.device, len(stack) // len(settings)
        columns = ("learning_rate", "weight_decay", "momentum", "second", "eps", "amsgrad")
        values = [[float(getattr(setting, name)) for setting in settings] * repeats for name in columns]
        self.values = torch.tensor(values, device=device)  # (6, networks)
        self.state = [torch.zeros_like(stack.flat) for _ in range(3)]
        self.number = torch.zeros((), device=device)
        flats = (stack.flat, step.gradient, *self.state, step.copy)
        self.parts = list(zip(*(stack.views(flat) for flat in flats), strict=True))
        self.kernels, self.copies = kernels, step.copy is not stack.flat

    def step(self) -> None:
        """Take a step."""
        self.number += 1
        if self.kernels:
            from mnist_search_kernel import launch

            for part in self.parts:
                launch(*part, self.number, self.values, self.copies)
            return
        for p, g, m, v, top, copy in self.parts:
            rate, decay, momentum, second, eps, amsgrad = self.values[:, :, None, None]
            gradient = g.float() + decay * p
            m.copy_(momentum * m + (1 - momentum) * gradient)
            v.copy_(second * v + (1 - second) * gradient * gradient)
            top.copy_(torch.maximum(top * amsgrad, v))
            first, corrected = 1 - momentum**self.number, (1 - second**self.number).sqrt()
            p.sub_(rate / first * m / (top.sqrt() / corrected + eps))
            if self.copies:
                copy.copy_(p)

    def reset(self) -> None:
        """Forget all steps."""
        for part in (*self.state, self.number):
            part.zero_()


def drawn_layers(architecture: Architecture, initial: str, generator: np.random.Generator) -> NetworkLayers[Tensor]:
    """Draw initial parameters: PyTorch's, or weights of another variance with biases of zero."""
    layers = initial_layers(architecture, generator)
    if initial == "uniform":
        return layers
    found = {}
    for name, part in layers._asdict().items():
        bias = name.endswith("_bias")
        convolution = name in ("first", "second")
        inputs = part.shape[0] - convolution
        outputs = part.shape[1] * (25 if convolution else 1)
        variance = {"lecun": 1 / inputs, "he": 2 / inputs, "glorot": 2 / (inputs + outputs)}[initial]
        found[name] = torch.from_numpy(generator.normal(size=part.shape).astype(np.float32)) * variance**0.5
        if bias:
            found[name].zero_()
        if convolution:
            found[name][-1] = 0.0
    return NetworkLayers(**found)


def drawn_sample(images: Images, run: Run, n: int) -> tuple[NDArray[np.int64], NDArray[np.int64], np.random.Generator]:
    """Return the rows and labels of a run's corrupted sample, and the generator of its weights and batches."""
    draw, training, _ = (np.random.default_rng(seed) for seed in trial_seeds(0, "mnist", *run.noise, run.trial))
    everything, (pi, pi_prime) = np.arange(len(images.y_train)), run.noise
    if not run.setting.repeated:
        rows, y = contaminate(
            everything, images.y_train, pi=pi, pi_prime=pi_prime, n_positive=n, n_negative=n, random_state=draw
        )
        return rows, y, training
    even, odd = (everything[images.y_train == sign] for sign in (1, -1))
    parts = [np.where(draw.random(n) < share, draw.choice(even, n), draw.choice(odd, n)) for share in run.noise]
    return np.concatenate(parts), np.repeat([1, -1], n), training


def drawn_batches(
    rows: NDArray[np.int64], y: NDArray[np.int64], generator: np.random.Generator, wave: Wave, steps: int
) -> Batches:
    """Return one run's batches for this number of steps."""
    an_epoch = -(-len(y) // (wave.batch_size * (1 + wave.balanced)))
    epochs = -(-steps // an_epoch)
    found = draw_batches(rows[None], y[None], [generator], epochs, wave.batch_size, wave.balanced)
    return Batches(found.rows[:steps], found.sign[:steps])


class Prepared:
    """Turns bytes into numbers, with each run's scale and shift: (runs, n, side, side, 1)."""

    def __init__(self, settings: Sequence[Setting], dtype: torch.dtype, device: torch.device) -> None:
        values = [[setting.scale for setting in settings], [setting.shift for setting in settings]]
        self.scale, self.shift = torch.tensor(values, device=device)[:, :, None, None, None, None]
        self.dtype = dtype

    def __call__(self, pixels: Tensor) -> Tensor:
        """Return the numbers that the networks see."""
        return (pixels.float() * self.scale + self.shift).to(self.dtype).contiguous()


def measured(scores: Tensor, y: NDArray[np.int64], risks: Sequence[SearchRisk]) -> Tensor:
    """Return each network's measure, 0 to 100, of scores (2, risks, runs, n); NaN where training diverged."""
    pos, neg = (scores[..., torch.from_numpy(np.flatnonzero(y == sign)).to(scores.device)].double() for sign in (1, -1))
    wrong = ~(pos.isfinite().all(-1) & neg.isfinite().all(-1))
    found = (2 + pos.sign().mean(-1) - neg.sign().mean(-1)) / 4
    ranked = [j for j, risk in enumerate(risks) if risk.row != "ber"]
    sides = (part[:, ranked].nan_to_num(posinf=0.0, neginf=0.0) for part in (pos, neg))
    found[:, ranked] = 1 - pairwise_risk(*sides, "zero_one", method="structure")
    return 100 * found.masked_fill(wrong, torch.nan)


class Trainer:
    """The networks of a wave at work: every risk of every run."""

    def __init__(self, images: Images, wave: Wave, runs: Sequence[Run], device: torch.device, small: bool) -> None:
        kernels = has_kernels(device)
        dtype = torch.bfloat16 if kernels else torch.float32
        settings = [run.setting for run in runs]
        sizes = Architecture(1, wave.side, 2, 3, 8, 4) if small else Architecture(1, wave.side)
        edge = (32 - wave.side) // 2
        self.train, self.test = (
            part[:, :, edge : 32 - edge, edge : 32 - edge].permute(0, 2, 3, 1).contiguous().to(device)
            for part in (images.train, images.test)
        )
        self.y_test = images.y_test
        n = 40 if small else 15000
        self.an_epoch = -(-(n if wave.balanced else 2 * n) // wave.batch_size)
        self.steps = self.an_epoch * wave.epochs
        margin = torch.tensor([setting.margin for setting in settings], device=device)[:, None]
        self.risks = [SearchRisk(row, loss, margin) for row in wave.rows for loss in wave.losses]
        initial, batches = [], []
        for run in runs:
            rows, y, generator = drawn_sample(images, run, n * run.setting.images // 15000)
            initial.append(drawn_layers(sizes, run.setting.initial, generator))
            batches.append(drawn_batches(rows, y, generator, wave, self.steps))
        self.batches = Batches(*(torch.cat(part, 1) for part in zip(*batches, strict=True))).to(device)
        self.stack = NetworkStack(sizes, initial * len(self.risks), device)
        self.generator = torch.Generator(device)
        convolutions: tuple[Convolution, Convolution] = (Patches(), Patches())
        if kernels:
            from symloss.paper.convolutional.kernels import FIRST, SECOND, KernelConvolution

            convolutions = KernelConvolution(FIRST), KernelConvolution(SECOND)
        self.step = SearchStep(self.stack, self.risks, convolutions, dtype, self.generator, settings)
        self.optimizer = SearchAdam(self.stack, self.step, settings, kernels)
        self.prepare = Prepared(settings, dtype, device)
        self.number = torch.zeros(1, dtype=torch.int64, device=device)

    def take(self) -> None:
        """Take one step of all networks."""
        of_step, classes = self.batches.at(self.number)
        pixels = self.train.index_select(0, of_step.flatten()).unflatten(0, of_step.shape)
        self.step.write_gradients(self.prepare(pixels), classes)
        self.optimizer.step()
        self.number.add_(1)

    def scored(self) -> Tensor:
        """Return the measures (2, risks, runs) of all networks, with dropout off and on."""
        parts = []
        for start in range(0, len(self.test), CHUNK):
            shared = self.test[start : start + CHUNK]
            pixels = self.prepare(shared.expand(self.step.trials, *shared.shape))
            features = self.step.features(pixels)[1].output.flatten(2)
            both = [self.step.scores(features, masks)[0] for masks in (None, self.step.masks(len(shared)))]
            parts.append(torch.stack(both).unflatten(1, (len(self.risks), -1)))
        return measured(torch.cat(parts, -1), self.y_test, self.risks)

    def curves(self, every: int, deadline: float) -> Iterator[tuple[int, Tensor]]:
        """Train, and give the steps taken and the measures after every so many epochs, until the deadline."""
        with torch.no_grad():
            run: Callable[[], object] = self.take
            if self.stack.flat.is_cuda:
                state = [self.stack.flat, self.step.copy, self.number]
                run = as_graph(self.take, self.generator, state, self.optimizer.reset)
            self.generator.manual_seed(0)
            for number in range(1, self.steps + 1):
                run()
                if number % (every * self.an_epoch) == 0 or number == self.steps:
                    yield number, self.scored().cpu()
                    if time.monotonic() > deadline:
                        return


class Curve(NamedTuple):
    """What was trained: the setting with its wave's step, the noise, the trial, the row of the paper and the loss."""

    setting: str
    pi: float
    pi_prime: float
    trial: int
    row: str
    loss: str


Curves = dict[Curve, dict[int, tuple[float, float]]]  # by epoch: the scores with dropout off and on


def name_of(setting: Setting, wave: Wave) -> str:
    return f"{setting}, {wave.shared}"


def read_curves(path: Path) -> Curves:
    found: Curves = {}
    if path.exists():
        with path.open(newline="") as stream:
            for line in csv.DictReader(stream):
                curve = Curve(
                    line["setting"], float(line["pi"]), float(line["pi_prime"]), int(line["trial"]), line["row"],
                    line["loss"],
                )  # fmt: skip
                found.setdefault(curve, {})[int(line["epoch"])] = float(line["dropout_off"]), float(line["dropout_on"])
    return found


def write_curves(path: Path, curves: Curves) -> None:
    with path.open("w", newline="") as stream:
        writer = csv.writer(stream, lineterminator="\n")
        writer.writerow([*Curve._fields, "epoch", "dropout_off", "dropout_on"])
        for curve, scores in curves.items():
            for epoch, both in scores.items():
                writer.writerow([*curve, epoch, *(f"{score:.2f}" for score in both)])


def is_whole(curves: Curves, wave: Wave, run: Run) -> bool:
    """Return whether the last epoch of all networks of a run is there."""
    return all(
        wave.epochs in curves.get(Curve(name_of(run.setting, wave), *run.noise, run.trial, row, loss.name), {})
        for row in wave.rows
        for loss in wave.losses
    )


def train_wave(
    images: Images, wave: Wave, runs: Sequence[Run], device: torch.device, curves: Curves, path: Path, deadline: float,
    small: bool,
) -> float:  # fmt: skip
    """Train the runs of a wave together, add their curves, and return the seconds per network, image and step."""
    start = time.monotonic()
    trainer = Trainer(images, wave, runs, device, small)
    for count, (number, scores) in enumerate(trainer.curves(2, deadline), 1):
        for (j, risk), (r, run) in itertools.product(enumerate(trainer.risks), enumerate(runs)):
            curve = Curve(name_of(run.setting, wave), *run.noise, run.trial, risk.row, risk.loss.name)
            off, on = scores[:, j, r].tolist()
            curves.setdefault(curve, {})[number // trainer.an_epoch] = off, on
        if count % 10 == 0:
            write_curves(path, curves)
    write_curves(path, curves)
    seconds = time.monotonic() - start
    print(f"  {len(trainer.stack)} networks, {number} of {trainer.steps} steps: {seconds:.1f} s", flush=True)
    return seconds / (len(trainer.stack) * trainer.batches.rows.shape[2] * number)


class Fit(NamedTuple):
    """How near a way of scoring a setting comes to the paper's row at one noise."""

    setting: str
    pi: float
    row: str
    way: str
    rms: float
    scores: dict[str, float]


def all_fits(curves: Curves) -> list[Fit]:
    """Compare all settings, averaged over trials, with the paper, by every way to make a score of a curve."""
    grouped: dict[tuple[str, float, float, str], dict[str, list[dict[int, tuple[float, float]]]]] = {}
    for curve, scores in curves.items():
        key = curve.setting, curve.pi, curve.pi_prime, curve.row
        grouped.setdefault(key, {}).setdefault(curve.loss, []).append(scores)
    return [fit for key, of in grouped.items() for fit in _fits(*key, of)]


def _fits(
    setting: str, pi: float, pi_prime: float, row: str, of: dict[str, list[dict[int, tuple[float, float]]]]
) -> Iterator[Fit]:
    published = [find_published("mnist", "mnist", row[:3], pi, pi_prime, loss) for loss in of]
    paper = np.array([cell.mean for cell in published if cell])
    epochs = sorted(set.intersection(*(set(curve) for trials in of.values() for curve in trials)))
    for side, dropout in enumerate(("off", "on")):
        # (losses, epochs), the mean over trials; training that diverged ranks by chance
        values = [
            [np.nan_to_num([curve[e][side] for curve in trials], nan=50.0) for e in epochs] for trials in of.values()
        ]
        means = np.array([[trials.mean() for trials in curve] for curve in values])
        best = np.array([np.max(curve, 0).mean() for curve in values])
        ways = {f"epoch {epoch}": means[:, e] for e, epoch in enumerate(epochs)}
        ways |= {"best epoch of each": best, "mean of epochs": means.mean(1)}
        for way, found in ways.items():
            rms = math.sqrt(np.mean((found - paper) ** 2))
            scores = dict(zip(of, found.round(1).tolist(), strict=True))
            yield Fit(setting, pi, row, f"{way}, dropout {dropout}", rms, scores)


def write_fits(path: Path, fits: Sequence[Fit]) -> None:
    """Write how near every setting comes, by every way of scoring."""
    names = [loss.name for loss in LOSSES]
    with path.open("w", newline="") as stream:
        writer = csv.writer(stream, lineterminator="\n")
        writer.writerow(["setting", "pi", "row", "way", "rms", *names])
        for fit in sorted(fits, key=lambda fit: (fit.pi, fit.row, fit.rms)):
            scores = (fit.scores.get(name, "") for name in names)
            writer.writerow([fit.setting, fit.pi, fit.row, fit.way, f"{fit.rms:.2f}", *scores])


def totals(fits: Sequence[Fit], rows: Sequence[str]) -> dict[str, tuple[float, str]]:
    """Return each setting's smallest rms over these rows and all noises by one way of scoring, and that way."""
    squares: dict[tuple[str, str], dict[tuple[float, str], float]] = {}
    for fit in fits:
        if fit.row in rows:
            squares.setdefault((fit.setting, fit.way), {})[fit.pi, fit.row] = fit.rms**2
    best: dict[str, tuple[float, str]] = {}
    for (setting, way), of in squares.items():
        if {row for _, row in of} == set(rows):
            found = math.sqrt(sum(of.values()) / len(of))
            best[setting] = min(best.get(setting, (math.inf, "")), (found, way))
    return best


def print_nearest(fits: Sequence[Fit], pi: float, count: int) -> None:
    """Print, for every row at a noise, the nearest settings with their nearest way of scoring."""
    for row in sorted({fit.row for fit in fits}):
        here = [fit for fit in fits if fit.row == row and fit.pi == pi]
        nearest: dict[str, Fit] = {}
        for fit in sorted(here, key=lambda fit: fit.rms):
            nearest.setdefault(fit.setting, fit)
        print(f"{row} at pi = {pi}")
        for fit in list(nearest.values())[:count]:
            scores = " ".join(f"{name[:4]} {score:.1f}" for name, score in fit.scores.items())
            print(f"  {fit.rms:5.2f}  {scores}  [{fit.way}] {fit.setting}")


class Summary(NamedTuple):
    """How near a setting comes to the paper's row: by the last epoch with dropout on, and by the nearest way."""

    wave: str
    setting: str
    pi: float
    row: str
    trials: int
    rms: float
    nearest: float
    way: str
    scores: dict[str, float]  # after the last epoch with dropout on


def summaries(curves: Curves) -> list[Summary]:
    """Return the screen, one trial at the highest noise with the losses that all settings have; then the finalists."""
    names = {loss.name for loss in SCREENED}
    last, clean = NOISES[-1][0], NOISES[0][0]
    screen = {of: at for of, at in curves.items() if of.pi == last and of.trial == 0 and of.loss in names}
    whole = {curve.setting for curve in curves if curve.pi == clean}
    finalists = {of: at for of, at in curves.items() if of.setting in whole}
    trials = 1 + max((of.trial for of in finalists), default=0)
    return _summaries(screen, 1) + _summaries(finalists, trials)


def _summaries(curves: Curves, trials: int) -> list[Summary]:
    waves = {
        (name_of(setting, wave), row): name
        for name, wave in WAVES.items()
        for setting, row in itertools.product(wave.settings, wave.rows)
    }
    grouped: dict[tuple[str, float, str], list[Fit]] = {}
    for fit in all_fits(curves):
        grouped.setdefault((fit.setting, fit.pi, fit.row), []).append(fit)
    found = []
    for (setting, pi, row), fits in grouped.items():
        wave, nearest = waves[setting, row], min(fits, key=lambda fit: fit.rms)
        (fixed,) = (fit for fit in fits if fit.way == f"epoch {WAVES[wave].epochs}, dropout on")
        found.append(Summary(wave, setting, pi, row, trials, fixed.rms, nearest.rms, nearest.way, fixed.scores))
    return found


def write_summary(path: Path, lines: Sequence[Summary]) -> None:
    names = [loss.name for loss in LOSSES]
    with path.open("w", newline="") as stream:
        writer = csv.writer(stream, lineterminator="\n")
        writer.writerow([*Summary._fields[:5], "rms", *names, "nearest", "way"])
        for line in lines:
            scores = (line.scores.get(name, "") for name in names)
            writer.writerow([*line[:5], f"{line.rms:.2f}", *scores, f"{line.nearest:.2f}", line.way])


def print_summary(lines: Sequence[Summary]) -> None:
    """Print the screen as a Markdown table, the settings nearest to both rows first."""
    screen: dict[str, dict[str, Summary]] = {}
    for line in lines:
        if line.trials == 1:
            screen.setdefault(line.setting, {})[line.row] = line
    names = [loss.name for loss in SCREENED]
    headings = " | ".join(map(loss_heading, names))
    print(f"| setting | {headings} | AUC rms | nearest AUC rms | BER rms | nearest BER rms |")
    print("|---" * (len(names) + 5) + "|")
    usual = Wave(()).shared.split()
    for setting, rows in sorted(screen.items(), key=lambda of: sum(line.rms**2 for line in of[1].values())):
        changed, shared = setting.split(", ")
        words = " ".join([changed, *(word for word in shared.split() if word not in usual)])
        (auc,) = (line for row, line in rows.items() if row != "ber")
        scores = " | ".join(f"{auc.scores[name]:.1f}" for name in names)
        errors = " | ".join(f"{of.rms:.1f} | {of.nearest:.1f}, {of.way}" for of in (auc, rows["ber"]))
        print(f"| `{words}` | {scores} | {errors} |")


@dataclass
class Search:
    """A search in progress: what it has found, where it writes, what it may still spend, and how fast it was."""

    images: Images
    device: torch.device
    folder: Path
    end: float
    small: bool
    curves: Curves
    rate: float = 3.3e-7  # seconds per network, image and step on an H200; measured anew by every wave

    def seconds(self, wave: Wave, runs: int) -> float:
        """Return how long a wave will take."""
        steps = wave.epochs * -(-(15000 if wave.balanced else 30000) // wave.batch_size)
        each = wave.batch_size * (1 + wave.balanced) + 60  # the optimizer takes as long as 60 images
        return 8 + self.rate * 0.8 * steps * each * runs * len(wave.rows) * len(wave.losses)

    def train(self, name: str, wave: Wave, runs: Sequence[Run], reserve: float = 0.0) -> None:
        """Train what is not there yet, if that ends before the end less a reserve."""
        runs = [run for run in runs if not is_whole(self.curves, wave, run)]
        expected, left = self.seconds(wave, len(runs)), self.end - reserve - time.monotonic()
        print(f"{name}: {len(runs)} runs, {wave.shared}; {expected:.0f} s expected, {left:.0f} s left", flush=True)
        if not runs or expected > left:
            return
        path = self.folder / "curves.csv"
        measured = train_wave(self.images, wave, runs, self.device, self.curves, path, self.end, self.small)
        self.rate = min(measured, 1.2 * self.rate)
        write_fits(self.folder / "fits.csv", all_fits(self.curves))
        if self.device.type == "cuda":
            torch.cuda.empty_cache()


def nearest_settings(fits: Sequence[Fit], waves: Sequence[Wave], count: int) -> list[tuple[Setting, Wave]]:
    """Return the settings that come nearest to both rows at the highest noise, and nearest to each row alone."""
    known = {
        (name_of(setting, wave), row): (setting, replace(wave, rows=("ber", row), losses=LOSSES))
        for wave in waves
        for setting in wave.settings
        for row in wave.rows
        if row != "ber"
    }
    here = [fit for fit in fits if fit.pi == NOISES[-1][0]]
    chosen: list[tuple[str, str]] = []
    for rows in (("ber", ROWS[1]), ("ber", ROWS[2]), (ROWS[1],), (ROWS[2],)):
        ordered = sorted((value, name) for name, value in totals(here, rows).items())
        chosen += [(name, rows[-1]) for _, name in ordered[:2]]
    return [known[name] for name in dict.fromkeys(chosen) if name in known][:count]


def tiny(wave: Wave) -> Wave:
    """Return a wave of two epochs of five steps."""
    return replace(wave, epochs=2, batch_size=8 if wave.balanced else 16)


def runs_of(settings: Sequence[Setting], noises: Sequence[Contamination], trials: int) -> list[Run]:
    return [Run(*each) for each in itertools.product(settings, noises, range(trials))]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=Path, required=True, help="folder of curves.csv and fits.csv")
    parser.add_argument("--seconds", type=float, default=math.inf, help="wall-clock limit")
    parser.add_argument("--waves", default=",".join(WAVES))
    parser.add_argument("--trials", type=int, default=1, help="of the screen; the finalists have twice as many")
    parser.add_argument("--finalists", type=int, default=2)
    parser.add_argument("--device", default="cuda")
    parser.add_argument("--small", action="store_true", help="few images and steps, tiny networks")
    parser.add_argument("--summary", type=Path, help="train nothing; write a summary of curves.csv into this file")
    options = parser.parse_args()
    if options.summary:
        lines = summaries(read_curves(options.out / "curves.csv"))
        write_summary(options.summary, lines)
        print_summary(lines)
        return
    end = time.monotonic() + options.seconds
    options.out.mkdir(parents=True, exist_ok=True)
    images = load_images("mnist", "mnist")
    every = 200 if options.small else 2
    images = images._replace(test=images.test[::every], y_test=images.y_test[::every])
    curves = read_curves(options.out / "curves.csv")
    search = Search(images, torch.device(options.device), options.out, end, options.small, curves)
    waves = {name: tiny(wave) if options.small else wave for name, wave in WAVES.items()}
    for name in options.waves.split(","):
        final = replace(waves["pairs"], losses=LOSSES)
        reserve = options.finalists * search.seconds(final, len(NOISES) * 2 * options.trials)
        search.train(name, waves[name], runs_of(waves[name].settings, NOISES[-1:], options.trials), reserve)
    fits = all_fits(curves)
    print_nearest(fits, NOISES[-1][0], 8)
    for setting, wave in nearest_settings(fits, list(waves.values()), options.finalists):
        print(f"{setting}, {wave.rows[-1]}")
        search.train("finalist", wave, runs_of([setting], NOISES, 2 * options.trials))
    fits = all_fits(curves)
    whole = {fit.setting for fit in fits if fit.pi == NOISES[0][0]}
    for rows in (ROWS[:1], ROWS[1:2], ROWS[2:], ROWS[:2], ROWS[::2]):
        for name, (rms, way) in totals([fit for fit in fits if fit.setting in whole], rows).items():
            print(f"{' and '.join(rows)}, all noises: rms {rms:.2f} [{way}] {name}")


if __name__ == "__main__":
    main()
