"""Time the training of the paper's convolutional networks on a GPU: many at once against one at a time, in one run.

    python benchmarks/images.py [--trials 10] [--batch 128] [--channels 3] [--out FOLDER]

One at a time is what you would write without the library: ``nn.Module``, automatic differentiation, the n x m matrix of
all margins for the AUC, and ``torch.optim.Adam(amsgrad=True, fused=True)``. It is timed with ordinary kernel launches,
and with one CUDA graph per step. The stack trains both risks of all seven losses in all trials, with Triton kernels or
with plain PyTorch. The parts of a step of the stack are timed too. Batches are on the device before a step begins, and
evaluation is not timed. ``--device cpu --small`` only checks that the code runs.
"""

import argparse
import csv
import statistics
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
import torch

from symloss.functional import RISKS
from symloss.paper.convolutional import Architecture, ConvolutionalNetwork, NetworkStack
from symloss.paper.convolutional.batches import classes_of
from symloss.paper.convolutional.network import initial_layers
from symloss.paper.convolutional.step import has_kernels, make_step
from symloss.paper.protocol import CIFAR10, LOSSES
from symloss.paper.training import Risk

STEPS = CIFAR10.epochs * -(-(CIFAR10.n_positive + CIFAR10.n_negative) // CIFAR10.batch_size)  # of one training
Row = dict[str, str | int | float]


def milliseconds(function: Callable[[], object], device: torch.device, rounds: int = 5, calls: int = 30) -> float:
    """Return the milliseconds of a call, as the median over rounds."""
    found = []
    for _ in range(rounds + 1):  # the first round does not count
        if device.type == "cuda":
            torch.cuda.synchronize()
        start = time.perf_counter()
        for _ in range(calls):
            function()
        if device.type == "cuda":
            torch.cuda.synchronize()
        found.append(1000 * (time.perf_counter() - start) / calls)
    return statistics.median(found[1:])


def graphed(function: Callable[[], object], generator: torch.Generator | None = None) -> Callable[[], None]:
    """Record a function as one CUDA graph, and return a function that replays it."""
    side = torch.cuda.Stream()
    side.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(side):
        for _ in range(3):
            function()
    torch.cuda.current_stream().wait_stream(side)
    graph = torch.cuda.CUDAGraph()
    if generator is not None:
        graph.register_generator_state(generator)
    with torch.cuda.graph(graph):
        function()
    return graph.replay


def one_network(architecture: Architecture, batch: int, device: torch.device, low: bool = False) -> Callable[[], None]:
    """Return a step of one network: the AUC risk of the sigmoid loss, in float32 with TF32 or bfloat16 by autocast."""
    model = ConvolutionalNetwork(architecture).to(device).train()
    adam = torch.optim.Adam(
        model.parameters(), lr=1e-4, weight_decay=1e-4, amsgrad=True, fused=True, capturable=device.type == "cuda"
    )
    images = torch.randn(batch, architecture.channels, architecture.side, architecture.side, device=device)
    half = batch // 2

    def step() -> None:
        with torch.autocast(device.type, torch.bfloat16, enabled=low, cache_enabled=False):
            scores = model(images).float()
        adam.zero_grad()
        torch.sigmoid(scores[half:, None] - scores[None, :half]).mean().backward()
        adam.step()

    return step


class StackSteps:
    """A stack of networks and one batch for each trial: a whole step, and its parts."""

    def __init__(
        self,
        architecture: Architecture,
        trials: int,
        batch: int,
        device: torch.device,
        kernels: bool,
        dtype: torch.dtype,
    ) -> None:
        risks = [Risk(risk, loss) for risk in RISKS for loss in LOSSES]
        initial = [initial_layers(architecture, np.random.default_rng(trial)) for trial in range(trials)]
        self.stack = NetworkStack(architecture, initial * len(risks), device)
        self.generator = torch.Generator(device)
        self.step, self.optimizer = make_step(self.stack, risks, self.generator, 1e-4, 1e-4, kernels, dtype)
        size = trials, batch, architecture.side, architecture.side, architecture.channels
        self.images = torch.randn(size, device=device, dtype=dtype)
        sign = torch.ones(trials, batch, device=device)
        sign[:, ::2] = -1
        self.classes = classes_of(sign)

    def whole(self) -> None:
        """Take a step."""
        self.step.write_gradients(self.images, self.classes)
        self.optimizer.step()

    def parts(self) -> dict[str, Callable[[], object]]:
        """Return the parts of a step, each on its own."""
        step = self.step
        first, second = step.features(self.images)
        features, n = second.output.flatten(2), self.images.shape[1]
        by_second = torch.randn_like(second.output)
        by_first = torch.randn_like(first.output)
        return {
            "first convolution": lambda: step.first.forward(self.images, step.parameters.first),
            "second convolution": lambda: step.second.forward(first.output, step.parameters.second),
            "fully connected, both ways": lambda: step._fully_connected(features, step.masks(n), self.classes),
            "second convolution's weights": lambda: step.second.weight_gradient(
                second, by_second, step.gradients.second
            ),
            "second convolution's input": lambda: step.second.input_gradient(second, by_second, step.parameters.second),
            "first convolution's weights": lambda: step.first.weight_gradient(first, by_first, step.gradients.first),
            "AMSGrad": self.optimizer.step,
        }


@torch.no_grad()
def stack_rows(
    name: str,
    architecture: Architecture,
    trials: int,
    batch: int,
    device: torch.device,
    kernels: bool,
    dtype: torch.dtype,
) -> list[Row]:
    """Return the times of a step of the stack and of its parts."""
    steps = StackSteps(architecture, trials, batch, device, kernels, dtype)
    tried = {"whole step": steps.whole, **steps.parts()}
    rows: list[Row] = []
    for part, function in tried.items():
        call = graphed(function, steps.generator) if device.type == "cuda" else function
        rows.append({"method": name, "part": part, "networks": len(steps.stack), "ms": milliseconds(call, device)})
    return rows


def measure(architecture: Architecture, trials: int, batch: int, device: torch.device) -> list[Row]:
    rows: list[Row] = []
    alone = [("one, launches", False)]
    if device.type == "cuda":
        alone += [("one, graph", False), ("one, bfloat16, graph", True)]
    for name, low in alone:
        step = one_network(architecture, batch, device, low)  # must stay alive as long as its graph
        call = graphed(step) if "graph" in name else step
        rows.append({"method": name, "part": "whole step", "networks": 1, "ms": milliseconds(call, device)})
    methods = [("stack, plain, float32", False, torch.float32), ("stack, plain, bfloat16", False, torch.bfloat16)]
    if has_kernels(device):
        methods.append(("stack, kernels, bfloat16", True, torch.bfloat16))
    for name, kernels, dtype in methods:
        rows += stack_rows(name, architecture, trials, batch, device, kernels, dtype)
    return rows


def with_ratios(rows: list[Row]) -> list[Row]:
    """Add the trainings per hour, and their ratios to those of one network at a time."""
    whole = [row for row in rows if row["part"] == "whole step"]
    hourly = {row["method"]: 3.6e6 * float(row["networks"]) / (float(row["ms"]) * STEPS) for row in whole}
    for row in rows:
        if row["part"] == "whole step":
            row["trainings_an_hour"] = round(hourly[row["method"]])
            for one in ("one, launches", "one, graph", "one, bfloat16, graph"):
                if one in hourly:
                    column = one.removeprefix("one, ").replace(", ", "_")
                    row[f"times_{column}"] = round(hourly[row["method"]] / hourly[one], 2)
        row["ms"] = round(float(row["ms"]), 4)
    return rows


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--trials", type=int, default=10)
    parser.add_argument("--batch", type=int, default=128)
    parser.add_argument("--channels", type=int, default=3)
    parser.add_argument("--device", default="cuda")
    parser.add_argument("--small", action="store_true", help="tiny networks")
    parser.add_argument("--out", type=Path, help="folder to write images.csv into")
    options = parser.parse_args()
    torch.set_float32_matmul_precision("high")  # TF32 for every method, which convolutions use by default
    device = torch.device(options.device)
    sizes = Architecture(1, 16, 2, 3, 8, 4) if options.small else Architecture(options.channels)
    rows = with_ratios(measure(sizes, options.trials, options.batch, device))
    name = torch.cuda.get_device_name(device) if device.type == "cuda" else str(device)
    print(f"{name}, torch {torch.__version__}, batch {options.batch}, {sizes}; one training takes {STEPS} steps")
    for row in rows:
        further = "".join(f"  {key} {row[key]}" for key in row if key not in ("method", "part", "networks", "ms"))
        print(f"{row['method']:26} {row['part']:30} {row['networks']:4} networks {row['ms']:9.3f} ms{further}")
    if options.out:
        options.out.mkdir(parents=True, exist_ok=True)
        columns = list(dict.fromkeys(key for row in rows for key in row))
        with (options.out / "images.csv").open("w", newline="") as stream:
            writer = csv.DictWriter(stream, columns, lineterminator="\n")
            writer.writeheader()
            writer.writerows(rows)


if __name__ == "__main__":
    main()
