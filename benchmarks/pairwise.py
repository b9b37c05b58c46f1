"""All pairs: the AUC risk, value and gradient, beside the matrix and other peers, as ratios within one run.

    python benchmarks/pairwise.py [--device cuda] [--quick] [--out FOLDER]

Everything is forward plus backward in float32, one CPU thread, peers interleaved, medians. Times are multiples of one
``torch.sort`` of all scores, or of the n x m matrix with autograd.
"""

import argparse
import csv
import statistics
import time
from collections.abc import Callable
from pathlib import Path

import torch
from torch import Tensor
from torch.nn import functional as F  # noqa: N812

import symloss as sl

# What one would write without the library: the matrix of all margins, and autograd.
MATRIX: dict[str, Callable[[Tensor], Tensor]] = {
    "zero_one": lambda z: (z < 0).float() + 0.5 * (z == 0).float() + 0 * z,
    "squared": lambda z: (1 - z) ** 2,
    "hinge": lambda z: F.relu(1 - z),
    "squared_hinge": lambda z: F.relu(1 - z) ** 2,
    "double_hinge": lambda z: torch.maximum(-z, F.relu(0.5 - 0.5 * z)),
    "logistic": lambda z: F.softplus(-z),
    "exponential": lambda z: torch.exp(-z),
    "savage": lambda z: torch.sigmoid(-2 * z) ** 2,
    "ramp": lambda z: (0.5 - 0.5 * z).clamp(0, 1),
    "sigmoid": lambda z: torch.sigmoid(-z),
    "unhinged": lambda z: 1 - z,
    "barrier_hinge": lambda z: torch.maximum(-10 * (1 + z) + 1, torch.maximum(10 * (z - 1), 1 - z)),
}


def loss_of(name: str) -> sl.Loss:
    """Barrier hinge with both corners inside the scores' range: its hardest case."""
    return sl.BarrierHinge(b=10, r=1) if name == "barrier_hinge" else sl.get_loss(name)


def ours(name: str, method: str = "auto") -> Callable[[Tensor, Tensor], Tensor]:
    loss = loss_of(name)
    return lambda pos, neg: sl.pairwise_risk(pos, neg, loss, method=method)


def matrix(name: str) -> Callable[[Tensor, Tensor], Tensor]:
    function = MATRIX[name]
    return lambda pos, neg: function(pos[..., :, None] - neg[..., None, :]).mean((-2, -1))


def cumulative_squared_hinge(pos: Tensor, neg: Tensor) -> Tensor:
    """The published idea for the squared hinge: one sort, a running quadratic, and autograd for the gradient."""
    values = torch.cat([pos - 1, neg])
    order = torch.argsort(values)
    x, positive = values[order].double(), (order < len(pos)).double()
    count, first, second = (torch.cumsum(positive * x**k, 0) for k in range(3))
    terms = (count * x**2 - 2 * first * x + second) * (1 - positive)
    return terms.sum() / (len(pos) * len(neg))


def timed(functions: dict[str, Callable[[], object]], rounds: int, device: str) -> dict[str, float]:
    times: dict[str, list[float]] = {name: [] for name in functions}
    for attempt in range(rounds + 1):
        for name, function in functions.items():
            if device == "cuda":
                torch.cuda.synchronize()
            start = time.perf_counter()
            function()
            if device == "cuda":
                torch.cuda.synchronize()
            if attempt:  # the first round warms up
                times[name].append(time.perf_counter() - start)
    return {name: statistics.median(values) for name, values in times.items()}


def step(function: Callable[[Tensor, Tensor], Tensor], pos: Tensor, neg: Tensor) -> Callable[[], object]:
    return lambda: torch.autograd.grad(function(pos, neg).sum(), (pos, neg))


def scores(*shape: int, device: str) -> tuple[Tensor, Tensor]:
    return tuple(torch.randn(shape, device=device).requires_grad_() for _ in range(2))  # type: ignore[return-value]


def against_the_sort(n: int, rounds: int, device: str) -> dict[str, float]:
    pos, neg = scores(n, device=device)
    both = torch.cat([pos, neg]).detach()
    functions = {name: step(ours(name), pos, neg) for name in MATRIX}
    functions["sort"] = lambda: torch.sort(both)
    functions["cumulative squared hinge"] = step(cumulative_squared_hinge, pos, neg)
    return timed(functions, rounds, device)


def against_the_matrix(n: int, rounds: int, device: str, batch: tuple[int, ...] = ()) -> dict[str, tuple[float, float]]:
    found = {}
    for name in MATRIX:
        pos, neg = scores(*batch, n, device=device)
        times = timed({"ours": step(ours(name), pos, neg), "matrix": step(matrix(name), pos, neg)}, rounds, device)
        found[name] = (times["ours"], times["matrix"])
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--device", default="cpu", choices=["cpu", "cuda"])
    parser.add_argument("--quick", action="store_true", help="a tenth of the sizes")
    parser.add_argument("--out", type=Path, help="folder for pairwise_DEVICE.csv")
    options = parser.parse_args()
    torch.set_num_threads(1)
    torch.manual_seed(0)
    device, large = options.device, 100_000 if options.quick else 1_000_000
    rows: list[tuple[str, str, int, float]] = []

    times, smaller = (against_the_sort(n, 7, device) for n in (large, large // 10))
    print(f"n = m = {large:,}, {device}: value and gradient; in sorts of all scores (torch.sort); growth from n / 10")
    for name, value in times.items():
        print(f"  {name:<25} {value * 1e3:9.2f} ms {value / times['sort']:8.3f} {value / smaller[name]:8.1f}")
        rows.append(("sort", name, large, value / times["sort"]))

    for n in (1, 16, 64, 128, 256, 512, 1024, 2_000 if options.quick else 10_000):
        found = against_the_matrix(n, 15 if n <= 1024 else 1, device)
        ratios = {name: mine / other for name, (mine, other) in found.items()}
        worst = max(ratios, key=ratios.__getitem__)
        print(f"n = m = {n:<6} time / matrix: {min(ratios.values()):.4f} to {ratios[worst]:.4f} ({worst})")
        rows += [("matrix", name, n, ratio) for name, ratio in ratios.items()]

    found = against_the_matrix(250, 5, device, batch=(140,))
    print("140 problems of n = m = 250, matrix / ours:")
    print("  " + ", ".join(f"{name} {other / mine:.1f}" for name, (mine, other) in found.items()))
    rows += [("batched matrix", name, 250, mine / other) for name, (mine, other) in found.items()]

    if options.out:
        options.out.mkdir(parents=True, exist_ok=True)
        with (options.out / f"pairwise_{device}.csv").open("w", newline="") as file:
            csv.writer(file).writerows([("peer", "loss", "n", "time_over_peer"), *rows])


if __name__ == "__main__":
    main()
