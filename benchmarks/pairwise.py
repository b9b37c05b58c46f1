"""Time the AUC risk of all pairs, value and gradient, beside the matrix of pairs and one sort, within one run.

    python benchmarks/pairwise.py run [--device cuda] [--dtype float64]      # writes results/pairwise_MACHINE.csv
    python benchmarks/pairwise.py page                                       # tables of the page, from these files
    python benchmarks/pairwise.py figure docs/images/pairwise.svg

Methods take turns, on one CPU thread or on a GPU; a time is the median of value and gradient together. Ratios are to
one ``torch.sort`` of all scores in one tensor (of ``pairwise_risk``, n positives and n negatives), or to three lines of
torch with the matrix (of ``AUCLoss``, n scores with labels): pick the classes, take all differences, mean of the loss.
"""

import argparse
import platform
import statistics
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pandas as pd
import torch
from torch import Tensor
from torch.nn import functional

import symloss as sl

RESULTS = Path(__file__).parent / "results"
LARGE = (1_000, 10_000, 100_000, 1_000_000)
SMALL = (64, 128, 256, 512, 1024, 2048)
# What you would write without the library.
MATRIX: dict[str, Callable[[Tensor], Tensor]] = {
    "squared": lambda z: (1 - z) ** 2,
    "exponential": lambda z: torch.exp(-z),
    "unhinged": lambda z: 1 - z,
    "sigmoid": lambda z: torch.sigmoid(-z),
    "logistic": lambda z: functional.softplus(-z),
    "savage": lambda z: torch.sigmoid(-2 * z) ** 2,
    "hinge": lambda z: functional.relu(1 - z),
    "squared_hinge": lambda z: functional.relu(1 - z) ** 2,
    "ramp": lambda z: (0.5 - 0.5 * z).clamp(0, 1),
    "double_hinge": lambda z: torch.maximum(-z, functional.relu(0.5 - 0.5 * z)),
    "barrier_hinge": lambda z: torch.maximum(-10 * (1 + z) + 1, torch.maximum(10 * (z - 1), 1 - z)),
}
GROUPS = {
    "squared, exponential, unhinged": ("squared", "exponential", "unhinged"),
    "sigmoid, logistic, savage": ("sigmoid", "logistic", "savage"),
    "hinge, squared hinge": ("hinge", "squared_hinge"),
    "ramp, double hinge, barrier hinge (b = 10, r = 1)": ("ramp", "double_hinge", "barrier_hinge"),
}
COLORS = ("#0072B2", "#009E73", "#D55E00", "#CC79A7")


def loss_of(name: str) -> sl.Loss:
    """Give a loss; barrier hinge has both corners inside the range of the scores, which is its hardest case."""
    return sl.BarrierHinge(b=10, r=1) if name == "barrier_hinge" else sl.get_loss(name)


def medians(functions: dict[str, Callable[[], object]], rounds: int, device: str) -> dict[str, float]:
    """Time the functions in turns; on a CPU by the time of the thread, which other programs disturb less."""
    clock = time.perf_counter if device == "cuda" else time.thread_time
    wait = torch.cuda.synchronize if device == "cuda" else lambda: None
    times: dict[str, list[float]] = {name: [] for name in functions}
    for attempt in range(rounds + 1):
        for name, function in functions.items():
            wait()
            start = clock()
            function()
            wait()
            if attempt:  # the first round warms up
                times[name].append(clock() - start)
    return {name: statistics.median(values) for name, values in times.items()}


def beside_sort(name: str, n: int, device: str, dtype: torch.dtype) -> tuple[dict[str, Callable[[], object]], int]:
    """Give all pairs of n positives and n negatives, and one sort of all of them; and how often to time them."""
    pos, neg = (torch.randn(n, device=device, dtype=dtype).requires_grad_() for _ in range(2))
    both, loss = torch.cat([pos, neg]).detach(), loss_of(name)
    ours = lambda: torch.autograd.grad(sl.pairwise_risk(pos, neg, loss), (pos, neg))  # noqa: E731
    return {"symloss": ours, "sort": lambda: torch.sort(both)}, 7 if n > 10_000 else 31


def beside_matrix(name: str, n: int, device: str, dtype: torch.dtype) -> tuple[dict[str, Callable[[], object]], int]:
    """Give the loss of n scores with labels, and three lines of torch."""
    scores = torch.randn(n, device=device, dtype=dtype).requires_grad_()
    target, loss, formula = (torch.arange(n, device=device) % 2).float(), sl.AUCLoss(loss_of(name)), MATRIX[name]

    def matrix() -> object:
        pos, neg = scores[target == 1], scores[target == 0]
        z = pos[:, None] - neg
        return torch.autograd.grad(formula(z).mean(), scores)

    return {"symloss": lambda: torch.autograd.grad(loss(scores, target), scores), "matrix": matrix}, 201


def measure(n: int, device: str, dtype: torch.dtype, peer: str) -> list[dict[str, object]]:
    """Time every loss beside the peer, "sort" or "matrix"."""
    rows: list[dict[str, object]] = []
    for name in MATRIX:
        functions, rounds = (beside_sort if peer == "sort" else beside_matrix)(name, n, device, dtype)
        found = medians(functions, rounds, device)
        rows.append({"loss": name, "n": n, "peer": peer, "ms": 1e3 * found["symloss"], "peer_ms": 1e3 * found[peer]})
    return rows


def machine(device: str) -> str:
    """Name what the times depend on besides the code."""
    lines = Path("/proc/cpuinfo").read_text().splitlines() if Path("/proc/cpuinfo").exists() else []
    processor = next((line.split(": ", 1)[1] for line in lines if line.startswith("model name")), platform.machine())
    gpu = f"{torch.cuda.get_device_name()}, " if device == "cuda" else "one thread of "
    return f"{gpu}{processor}, NumPy {np.__version__}, PyTorch {torch.__version__}"


def run(device: str, dtype: torch.dtype) -> None:
    """Measure, print, and write the results of this machine."""
    where = machine(device)
    rows = [row for n in SMALL for row in measure(n, device, dtype, "matrix")]
    rows += [row for n in LARGE for row in measure(n, device, dtype, "sort")]
    table = pd.DataFrame(rows).assign(machine=where, dtype=str(dtype).removeprefix("torch."))
    kind = "cuda" if device == "cuda" else next((k for k in ("amd", "intel") if k in where.lower()), platform.machine())
    path = RESULTS / f"pairwise_{kind}.csv"
    table.to_csv(path, index=False, float_format="%.4g")
    print(page({kind: table}))


def read() -> dict[str, pd.DataFrame]:
    """Read the results of all machines."""
    return {path.stem.removeprefix("pairwise_"): pd.read_csv(path) for path in sorted(RESULTS.glob("pairwise_*.csv"))}


def page(results: dict[str, pd.DataFrame]) -> str:
    """Write the tables of the page: ratios to the peers, from the least to the largest of the losses of a group."""
    blocks = []
    for table in results.values():
        blocks.append(f"On {table['machine'].iloc[0]}, {table['dtype'].iloc[0]}:")
        for peer in ("sort", "matrix"):
            part = table[table["peer"] == peer]
            sizes = sorted(part["n"].unique())
            lines = [f"| time / {peer} | {' | '.join(f'n = {n:,}' for n in sizes)} |", "|---|" + "--:|" * len(sizes)]
            for title, losses in GROUPS.items():
                ratio = (
                    part[part["loss"].isin(losses)].assign(ratio=lambda t: t["ms"] / t["peer_ms"]).groupby("n")["ratio"]
                )
                cells = [f"{low:.2f} to {high:.2f}" for low, high in zip(ratio.min(), ratio.max(), strict=True)]
                lines.append(f"| {title} | {' | '.join(cells)} |")
            peers = part.groupby("n")["peer_ms"].median()
            lines.append(f"| the {peer}, ms | {' | '.join(f'{ms:.3g}' for ms in peers)} |")
            blocks.append("\n".join(lines))
    return "\n\n".join(blocks) + "\n"


def figure(results: dict[str, pd.DataFrame], path: Path) -> None:
    """Draw milliseconds against the number of scores, of the first machine."""
    import matplotlib as mpl

    mpl.use("Agg")
    import matplotlib.pyplot as plt

    plt.rcParams.update(
        {"font.size": 10, "svg.hashsalt": "symloss", "axes.spines.top": False, "axes.spines.right": False}
    )
    table = next(iter(results.values()))
    drawn = plt.figure(figsize=(5.2, 4.2), layout="constrained")
    axes = drawn.subplots()
    for (title, losses), color in zip(GROUPS.items(), COLORS, strict=True):
        ours = table[table["loss"].isin(losses)].groupby("n")["ms"].median()
        axes.plot(ours.index, ours, color=color, lw=2, label=title)
    for peer, color, text in (("matrix", "0.2", "n x n matrix"), ("sort", "0.6", "one torch.sort")):
        times = table[table["peer"] == peer].groupby("n")["peer_ms"].median()
        axes.plot(times.index, times, "--", color=color, lw=1.6, label=text)
    axes.set(xscale="log", yscale="log", xlabel="scores", ylabel="value and gradient, ms")
    axes.set_title("All pairs in the time of about one sort", loc="left", weight="bold")
    axes.legend(frameon=False, fontsize=8)
    drawn.savefig(path, metadata={"Date": None})


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    commands = parser.add_subparsers(dest="command", required=True)
    running = commands.add_parser("run")
    running.add_argument("--device", default="cpu", choices=["cpu", "cuda"])
    running.add_argument("--dtype", default="float32", choices=["float32", "float64"])
    commands.add_parser("page")
    commands.add_parser("figure").add_argument("path", type=Path)
    options = parser.parse_args()
    torch.set_num_threads(1)
    torch.manual_seed(0)
    if options.command == "run":
        run(options.device, getattr(torch, options.dtype))
    elif options.command == "page":
        print(page(read()), end="")
    else:
        figure(read(), options.path)


if __name__ == "__main__":
    main()
