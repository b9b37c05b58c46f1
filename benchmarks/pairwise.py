"""Time the AUC risk of all pairs, value and gradient, against the matrix of pairs and others, within one run.

    python benchmarks/pairwise.py [--device cuda] [--quick] [--brief] [--threads] [--out FOLDER]

All times are medians of value and gradient together, in float32, on one CPU thread (its CPU time, which is the time
on the wall if nothing else runs) or on a GPU; methods take turns.
Ratios are to the time of one ``torch.sort`` of all scores, or to that of the n x m matrix with autograd. ``--out``
writes pairwise_cpu_VENDOR.csv (amd, intel, ...) or pairwise_cuda.csv. From these files
``benchmarks/pairwise_tables.py`` makes the tables of the page, and ``benchmarks/plot_pairwise.py`` draws time against
n. ``--brief`` leaves out large matrices, and takes at most four minutes. LibAUC is measured if it is installed.
"""

import argparse
import csv
import platform
import statistics
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor
from torch.nn import functional as F  # noqa: N812

import symloss as sl

# What you would write without the library: the matrix of all margins, and autograd.
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
    """Return a loss; barrier hinge has both corners inside the range of the scores, which is its hardest case."""
    return sl.BarrierHinge(b=10, r=1) if name == "barrier_hinge" else sl.get_loss(name)


def ours(name: str, method: str = "auto") -> Callable[[Tensor, Tensor], Tensor]:
    loss = loss_of(name)
    return lambda pos, neg: sl.pairwise_risk(pos, neg, loss, method=method)


def matrix(name: str) -> Callable[[Tensor, Tensor], Tensor]:
    function = MATRIX[name]
    return lambda pos, neg: function(pos[..., :, None] - neg[..., None, :]).mean((-2, -1))


def cumulative_squared_hinge(pos: Tensor, neg: Tensor) -> Tensor:
    """Compute the risk of the squared hinge by a published method: one sort, cumulative sums, and autograd."""
    values = torch.cat([pos - 1, neg])
    order = torch.argsort(values)
    x, positive = values[order].double(), (order < len(pos)).double()
    count, first, second = (torch.cumsum(positive * x**k, 0) for k in range(3))
    terms = (count * x**2 - 2 * first * x + second) * (1 - positive)
    return terms.sum() / (len(pos) * len(neg))


def processor() -> str:
    """Return the name of the CPU."""
    if Path("/proc/cpuinfo").exists():  # Linux
        lines = Path("/proc/cpuinfo").read_text().splitlines()
        names = [line.split(":", 1)[1].strip() for line in lines if line.startswith("model name")]
        if names:
            return names[0]
    return platform.processor() or platform.machine()


def vendor() -> str:
    """Return the maker of the CPU, for the name of the file of results."""
    name = processor().lower()
    return next((maker for maker in ("amd", "intel") if maker in name), platform.machine().lower())


def machine(device: str) -> str:
    """Return what the times depend on besides the code."""
    gpu = f"{torch.cuda.get_device_name()}, " if device == "cuda" else ""
    return f"{gpu}{processor()}, NumPy {np.__version__}, PyTorch {torch.__version__}, {torch.get_num_threads()} thread"


def timed(
    functions: dict[str, Callable[[], object]], rounds: int, device: str, clock: Callable[[], float] | None = None
) -> dict[str, float]:
    """Return the median seconds of each function; on a CPU those of the thread, which other programs disturb less."""
    clock = clock or (time.perf_counter if device == "cuda" else time.thread_time)
    times: dict[str, list[float]] = {name: [] for name in functions}
    for attempt in range(rounds + 1):
        for name, function in functions.items():
            if device == "cuda":
                torch.cuda.synchronize()
            start = clock()
            function()
            if device == "cuda":
                torch.cuda.synchronize()
            if attempt:  # the first round warms up
                times[name].append(clock() - start)
    return {name: statistics.median(values) for name, values in times.items()}


def step(function: Callable[[Tensor, Tensor], Tensor], pos: Tensor, neg: Tensor) -> Callable[[], object]:
    return lambda: torch.autograd.grad(function(pos, neg).sum(), (pos, neg))


def scores(*shape: int, device: str) -> tuple[Tensor, Tensor]:
    return tuple(torch.randn(shape, device=device).requires_grad_() for _ in range(2))  # type: ignore[return-value]


def libauc(name: str) -> Callable[[Tensor, Tensor], Tensor] | None:
    """Return LibAUC's loss for the same surrogate, or None if it has none or is not installed."""
    hparams = {"squared": 1.0, "hinge": 1.0, "squared_hinge": 1.0, "logistic": 1.0, "barrier_hinge": (1.0, 10.0)}
    if name not in hparams:
        return None
    try:
        from libauc.losses.auc import PairwiseAUCLoss
    except ImportError:
        return None
    criterion = PairwiseAUCLoss(name, hparams[name])

    def risk(pos: Tensor, neg: Tensor) -> Tensor:
        target = torch.cat([torch.ones_like(pos), torch.zeros_like(neg)])
        return criterion(torch.cat([pos, neg]), target)

    return risk


class Row(NamedTuple):
    """One measured time: whose it is, for which problem, in seconds, and divided by the peer's time in the same run."""

    who: str
    loss: str
    problems: int
    n: int
    seconds: float
    peer: str
    ratio: float


def measure(
    problems: dict[str, dict[str, Callable[[], object]]],
    n: int,
    rounds: int,
    device: str,
    k: int = 1,
    clock: Callable[[], float] | None = None,
) -> list[Row]:
    """Time all methods on each loss, in turns; ratios are to the last method, which is called the peer."""
    rows = []
    for loss, functions in problems.items():
        times = timed(functions, rounds, device, clock)
        peer = list(functions)[-1]
        rows += [Row(who, loss, k, n, value, peer, value / times[peer]) for who, value in times.items() if who != peer]
        rows.append(Row(peer, loss, k, n, times[peer], peer, 1.0))
    return rows


def against_the_sort(n: int, rounds: int, device: str) -> list[Row]:
    pos, neg = scores(n, device=device)
    both = torch.cat([pos, neg]).detach()
    functions = {name: step(ours(name), pos, neg) for name in MATRIX}
    functions["cumulative"] = step(cumulative_squared_hinge, pos, neg)
    functions["sort"] = lambda: torch.sort(both)
    times = timed(functions, rounds, device)
    return [
        Row(name if name in ("sort", "cumulative") else "symloss", name, 1, n, value, "sort", value / times["sort"])
        for name, value in times.items()
    ]


def on_two_threads(n: int, rounds: int) -> list[Row]:
    """Time some losses on one and on two threads, in turns, by the clock on the wall: the machine must be idle."""
    pos, neg = scores(n, device="cpu")

    def on(threads: int, name: str) -> Callable[[], object]:
        risk = step(ours(name), pos, neg)

        def run() -> None:
            torch.set_num_threads(threads)
            risk()

        return run

    problems = {
        name: {"two threads": on(2, name), "one thread": on(1, name)}
        for name in ("zero_one", "hinge", "squared_hinge", "ramp", "sigmoid")
    }
    return measure(problems, n, rounds, "cpu", clock=time.perf_counter)


def against_the_matrix(n: int, rounds: int, device: str, k: int = 0, peers: bool = False) -> list[Row]:
    problems = {}
    for name in MATRIX:
        pos, neg = scores(*([k] if k else []), n, device=device)
        functions = {"symloss": step(ours(name), pos, neg)}
        other = libauc(name) if peers else None
        if other:
            functions["LibAUC"] = step(other, pos, neg)
        if peers:
            functions["tiles"] = step(ours(name, "tiles"), pos, neg)
        functions["matrix"] = step(matrix(name), pos, neg)
        problems[name] = functions
    return measure(problems, n, rounds, device, k or 1)


def masked_auc(name: str) -> Callable[[Tensor, Tensor], Tensor]:
    """Return what you would write for scores with labels 0 and 1: the classes by masks, and their matrix."""
    function = matrix(name)
    return lambda scores, target: function(scores[target == 1], scores[target == 0])


def masked_ber(name: str) -> Callable[[Tensor, Tensor], Tensor]:
    function = MATRIX[name]
    return lambda scores, target: 0.5 * (function(scores[target == 1]).mean() + function(-scores[target == 0]).mean())


def with_labels(n: int, rounds: int, device: str) -> list[Row]:
    """Time AUCLoss and BERLoss of n positives and n negatives, with their checks, against masks of the labels."""
    rows = []
    for who, module, peer in (("AUCLoss", sl.AUCLoss, masked_auc), ("BERLoss", sl.BERLoss, masked_ber)):
        target = torch.arange(2 * n, device=device) % 2
        problems = {}
        for name in MATRIX:
            both = torch.randn(2 * n, device=device).requires_grad_()
            functions = {who: module(loss_of(name)), f"masked {who}": peer(name)}
            problems[name] = {key: labeled_step(risk, both, target) for key, risk in functions.items()}
        rows += measure(problems, n, rounds, device)
    return rows


def labeled_step(risk: Callable[[Tensor, Tensor], Tensor], both: Tensor, target: Tensor) -> Callable[[], object]:
    return lambda: torch.autograd.grad(risk(both, target), both)


def extra_memory(name: str, n: int, device: str) -> float:
    """Return the MiB that a step takes in addition to the scores, with both gradients, measured in a new process."""
    command = [sys.executable, __file__, "--device", device, "--memory-of", name, str(n)]
    return float(subprocess.run(command, check=True, capture_output=True, text=True).stdout)


def print_memory_of(name: str, n: int, device: str) -> None:
    for size in (1000, n):  # the first one sets everything up
        pos, neg = scores(size, device=device)
        before = peak_memory(device, reset=True)
        step(ours(name, "structure"), pos, neg)()
        after = peak_memory(device)
    print((after - before) / 2**20)


def peak_memory(device: str, reset: bool = False) -> int:
    if device == "cuda":
        if reset:
            torch.cuda.reset_peak_memory_stats()
        return torch.cuda.max_memory_allocated()
    if reset:
        Path("/proc/self/clear_refs").write_text("5")  # Linux: resets the peak to the memory in use now
    status = Path("/proc/self/status").read_text()
    return 1024 * int(status.split("VmHWM:")[1].split()[0])


def spread(rows: list[Row], who: str) -> str:
    """Return the smallest and the largest ratio, and the losses that have them, as text."""
    ratios = {row.loss: row.ratio for row in rows if row.who == who}
    if not ratios:
        return "not installed"
    least, most = (pick(ratios, key=ratios.__getitem__) for pick in (min, max))
    return f"{ratios[least]:.4g} ({least}) to {ratios[most]:.4g} ({most})"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--device", default="cpu", choices=["cpu", "cuda"])
    parser.add_argument("--quick", action="store_true", help="run problems of a tenth of the size")
    parser.add_argument("--brief", action="store_true", help="leave out matrices of more than 2048 x 2048 pairs")
    parser.add_argument("--threads", action="store_true", help="also time two threads of an idle CPU")
    parser.add_argument("--out", type=Path, help="folder to write pairwise_cpu_VENDOR.csv or pairwise_cuda.csv into")
    parser.add_argument("--memory-of", nargs=2, help=argparse.SUPPRESS)
    options = parser.parse_args()
    torch.set_num_threads(1)
    torch.manual_seed(0)
    device, large = options.device, 100_000 if options.quick else 1_000_000
    if options.memory_of:
        print_memory_of(options.memory_of[0], int(options.memory_of[1]), device)
        return
    print(machine(device))
    rows = [Row("machine", machine(device), 0, 0, 0.0, "none", 0.0)]
    rows += benchmark(device, large, options.brief)
    if options.threads:
        rows += threads(large)
    if options.out:
        options.out.mkdir(parents=True, exist_ok=True)
        name = "pairwise_cuda.csv" if device == "cuda" else f"pairwise_cpu_{vendor()}.csv"
        with (options.out / name).open("w", newline="") as file:
            csv.writer(file, lineterminator="\n").writerows([Row._fields, *rows])


def benchmark(device: str, large: int, brief: bool) -> list[Row]:
    """Print and return all comparisons."""
    rows = million(device, large)
    rows += small_problems(device, brief)
    if not brief:
        rows += peers(device, large // 100 if large == 1_000_000 else 2_000)
    found = against_the_matrix(250, 9, device, k=140)
    print(f"\n140 problems of n = m = 250, time / matrix: {spread(found, 'symloss')}")
    return rows + found


def threads(large: int) -> list[Row]:
    found = on_two_threads(large, 9)
    print(f"\nn = m = {large:,}, time on two threads / on one: {spread(found, 'two threads')}")
    return found


def million(device: str, large: int) -> list[Row]:
    tiny, small, smaller, rows = (against_the_sort(large // ratio, 9, device) for ratio in (1000, 100, 10, 1))
    memory = {name: extra_memory(name, large, device) for name in MATRIX}
    print(f"n = m = {large:,}, {device}: value and gradient\n{'':<14}      ms  in sorts  growth from n/10  extra MiB")
    for row, before in zip(rows, smaller, strict=True):
        mib = f"{memory[row.loss]:11.0f}" if row.loss in memory else ""
        print(f"  {row.loss:<14}{row.seconds * 1e3:8.2f}{row.ratio:10.3f}{row.seconds / before.seconds:18.1f}{mib}")
    rows += smaller + small + tiny
    return rows + [Row("symloss MiB", name, 1, large, mib, "none", mib) for name, mib in memory.items()]


def small_problems(device: str, brief: bool) -> list[Row]:
    print("\nsmall problems, time / matrix")
    rows = []
    for n in (1, 4, 8, 16, 32, 64, 128, 256, 512, 1024, 2048, *(() if brief else (4096, 6000))):
        found = against_the_matrix(n, 51 if n <= 512 else 11 if n <= 2048 else 3, device)
        print(f"  n = m = {n:<6} {spread(found, 'symloss')}")
        rows += found
    print("\nsmall problems with labels, time / masks and matrix")
    for n in (8, 16, 32, 64, 128, 256, 512):
        found = with_labels(n, 51, device)
        print(f"  n = m = {n:<6} AUCLoss {spread(found, 'AUCLoss')}; BERLoss {spread(found, 'BERLoss')}")
        rows += found
    return rows


def peers(device: str, n: int) -> list[Row]:
    found = against_the_matrix(n, 2, device, peers=True)
    print(f"\nn = m = {n}, how many times faster symloss is than each of the others")
    for row in found:
        if row.who == "symloss":
            others = {other.who: other.seconds / row.seconds for other in found if other.loss == row.loss}
            print(f"  {row.loss:<14} " + "  ".join(f"{who} {others[who]:8.0f}" for who in others if who != "symloss"))
    return found


if __name__ == "__main__":
    main()
