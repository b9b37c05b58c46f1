"""Time the training of the paper's perceptrons: symloss against a plain autograd loop, within one run.

    SYMLOSS_DATA=FOLDER python benchmarks/training.py [--epochs 10] [--rounds 5] [--parts] [--out FOLDER]

Both train the seven losses with both risks on the same trial of a data set, in one process on one CPU thread. They take
turns, and times are medians. The loop is what you would write without the library, one model at a time:
``nn.Sequential``, the n x m matrix of all margins for the AUC, ``torch.optim.Adam(amsgrad=True)``. Times include the
set-up of both. ``--parts`` also prints where a step of symloss spends its time.
"""

import argparse
import csv
import statistics
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional as F  # noqa: N812

import symloss as sl
from symloss.functional import RISKS
from symloss.models import PerceptronStack, lecun_normal
from symloss.paper.experiment import standardized
from symloss.paper.protocol import LOSSES, MATCHED, NOISES
from symloss.paper.training import Risk, train
from symloss.paper.training.first_layer import points_of
from symloss.paper.training.risks import Classes

DATASETS = ("twonorm", "phoneme", "adult", "w8a")

PLAIN: dict[str, Callable[[Tensor], Tensor]] = {
    "barrier_hinge": lambda z: torch.maximum(-200 * (50 + z) + 50, torch.maximum(200 * (z - 50), 50 - z)),
    "unhinged": lambda z: 1 - z,
    "sigmoid": lambda z: torch.sigmoid(-z),
    "logistic": lambda z: F.softplus(-z),
    "hinge": lambda z: F.relu(1 - z),
    "squared": lambda z: (1 - z) ** 2,
    "savage": lambda z: torch.sigmoid(-2 * z) ** 2,
}


def plain_loop(X: Tensor, y: Tensor, loss: Callable[[Tensor], Tensor], risk: str, epochs: int) -> nn.Module:
    model = nn.Sequential(nn.Linear(X.shape[1], 500), nn.ReLU(), nn.Linear(500, 1))
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-3, amsgrad=True, weight_decay=MATCHED.weight_decay)
    for _ in range(epochs):
        for rows in torch.randperm(len(X)).split(500):
            scores, positive = model(X[rows]).squeeze(1), y[rows] > 0
            pos, neg = scores[positive], scores[~positive]
            optimizer.zero_grad()
            if risk == "ber":
                (loss(pos).mean() + loss(-neg).mean()).backward()
            else:
                loss(pos[:, None] - neg[None, :]).mean().backward()
            optimizer.step()
    return model


def draw(name: str) -> tuple[Tensor, Tensor]:
    data = sl.datasets.load(name)
    X, y, X_test, _ = sl.contaminated_split(
        data.data, data.target, **NOISES[1]._asdict(), n_positive=500, n_negative=500, n_test=500, random_state=0
    )
    return standardized(X, X_test)[0], torch.from_numpy(np.asarray(y))


@torch.no_grad()
def parts(X: Tensor, risks: list[Risk], rounds: int = 30) -> dict[str, float]:
    """Return the microseconds per step and model of each part; the rest of a step is Python and small operations."""
    size, many = 500, len(risks)
    stack = PerceptronStack([lecun_normal(X.shape[1], size, np.random.default_rng(0))] * many)
    stack.rows.grad = torch.randn_like(stack.rows)
    optimizer = torch.optim.Adam([stack.rows], amsgrad=True, fused=True)
    weights, output, bias = stack.views(stack.rows[:1])
    gradient, classes = torch.empty_like(weights), Classes.of([size // 2], size)
    rows, hidden = torch.randperm(len(X))[None, :size], torch.empty(1, size, size)
    batch = points_of(X[None], 1, hidden).batch(rows)
    hidden = batch.times(weights)
    by_scores, mask = torch.randn(1, size), hidden.relu().sign()
    scores = torch.randn(1, size)
    functions: dict[str, tuple[Callable[[], object], int]] = {
        "first layer": (lambda: batch.times(weights), 1),
        "ReLU": (lambda: hidden.relu_(), 1),
        "scores": (lambda: torch.baddbmm(bias[:, None], hidden, output.mT), 1),
        "risk": (lambda: [risk.gradient(scores, classes) for risk in risks], many),
        "mask": (lambda: mask.sign_(), 1),
        "product": (lambda: batch.transposed_times(by_scores, mask, gradient), 1),
        "layers": (lambda: ((weights * gradient).sum(1), gradient * output), 1),
        "AMSGrad": (lambda: optimizer.step(), many),
    }
    times: dict[str, list[float]] = {name: [] for name in functions}
    for _ in range(rounds):
        for name, (function, models) in functions.items():
            times[name].append(1e6 * seconds(function) / models)
    return {name: statistics.median(values) for name, values in times.items()}


def seconds(function: Callable[[], object]) -> float:
    start = time.perf_counter()
    function()
    return time.perf_counter() - start


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--epochs", type=int, default=10)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--parts", action="store_true", help="print where a step spends its time")
    parser.add_argument("--out", type=Path, help="folder to write training_cpu.csv into")
    options = parser.parse_args()
    torch.set_num_threads(1)
    torch.manual_seed(0)
    risks = [Risk(name, loss) for name in RISKS for loss in LOSSES]
    steps = 2 * options.epochs * len(risks)
    rows, times = [], {"ours": 0.0, "loop": 0.0}
    print(f"{len(risks)} models of {options.epochs} epochs, ms per step and model")
    for name in DATASETS:
        X, y = draw(name)

        def ours(X: Tensor = X, y: Tensor = y) -> None:
            train(
                X[None],
                y[None],
                risks,
                [0],
                epochs=options.epochs,
                weight_decay=MATCHED.weight_decay,
            )

        def loop(X: Tensor = X, y: Tensor = y) -> None:
            for risk in risks:
                plain_loop(X, y, PLAIN[risk.loss.name], risk.name, options.epochs)

        pairs = [(seconds(ours), seconds(loop)) for _ in range(options.rounds + 1)][1:]  # the first round warms up
        mine, plain = (1e3 * statistics.median(side) / steps for side in zip(*pairs, strict=True))
        ratio = statistics.median(other / own for own, other in pairs)
        print(f"  {name:<8} d = {X.shape[1]:<3} ours {mine:6.3f}  loop {plain:6.3f}  loop / ours {ratio:5.2f}")
        if options.parts:
            found = parts(X, risks)
            print("    microseconds: " + ", ".join(f"{part} {value:.0f}" for part, value in found.items()))
        rows.append((name, X.shape[1], f"{ratio:.2f}"))
        times["ours"] += mine
        times["loop"] += plain
    print(f"  all together, loop / ours {times['loop'] / times['ours']:.2f}")
    if options.out:
        options.out.mkdir(parents=True, exist_ok=True)
        with (options.out / "training_cpu.csv").open("w", newline="") as file:
            csv.writer(file).writerows([("dataset", "d", "loop_over_ours"), *rows])


if __name__ == "__main__":
    main()
