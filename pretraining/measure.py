"""Measure weights on real tables with drawn noise: ``python -m pretraining.measure TABLES WEIGHTS ...``.

TABLES is a folder of files ``NAME.npz`` with `X` (rows, features) and `y` (0 or 1), as ``benchmarks/tables.py`` writes
them. Each table is given wrong labels in three ways, and the network answers for clean rows that it has not seen.
"""

import argparse
import csv
from pathlib import Path

import numpy as np
import torch
from numpy.typing import NDArray

from pretraining.network import LEVELS, PLACE, Network

NOISES = {"(.65, .45)": (0.65, 0.45), "(.8, .3)": (0.8, 0.3), "clean": (1.0, 0.0)}


def draw(
    rng: np.random.Generator, x: NDArray[np.float32], y: NDArray[np.bool_], pi: float, pi_prime: float, size: int
) -> tuple[NDArray[np.float32], NDArray[np.bool_], NDArray[np.bool_], NDArray[np.float32], NDArray[np.bool_]]:
    """Draw `size` rows labeled positive, of which a share `pi` is, as many labeled negative, and questions."""
    positive, negative = rng.permutation(np.flatnonzero(y)), rng.permutation(np.flatnonzero(~y))
    asked = min(500, len(positive) // 3, len(negative) // 3)
    questions = np.concatenate([positive[:asked], negative[:asked]])
    positive, negative = positive[asked:], negative[asked:]
    size = int(min(size, len(positive) / (pi + pi_prime), len(negative) / (2 - pi - pi_prime)))
    first, second = round(size * pi), round(size * pi_prime)
    rows = np.concatenate(
        [positive[:first], negative[: size - first], positive[first : first + second],
         negative[size - first : 2 * size - first - second]]
    )  # fmt: skip
    given = np.arange(len(rows)) < size
    return x[rows], given, y[rows], x[questions], y[questions]


def area(score: NDArray[np.float32], y: NDArray[np.bool_]) -> float:
    """Area under the ROC curve."""
    order, count = score.argsort(), y.sum()
    return float((np.flatnonzero(y[order]).sum() - count * (count - 1) / 2) / (count * (~y).sum()))


@torch.inference_mode()
def answers(
    network: Network,
    x: NDArray[np.float32],
    given: NDArray[np.bool_],
    asked: NDArray[np.float32],
    views: int,
    device: str,
) -> tuple[NDArray[np.float32], NDArray[np.float32], NDArray[np.float32]]:
    """Mean logits of new and of given labels, and quantiles of noise, over orders of columns and signs of the label."""
    keep = np.nanstd(x, 0) > 0
    x, asked = x[:, keep], asked[:, keep]
    if x.shape[1] > 160:
        gap = np.abs(np.nanmean(x[given], 0) - np.nanmean(x[~given], 0)) / (np.nanstd(x, 0) + 1e-9)
        chosen = gap.argsort()[-160:]
        x, asked = x[:, chosen], asked[:, chosen]
    total: list[tuple[torch.Tensor, torch.Tensor, torch.Tensor]] = []
    for view in range(views):
        random = torch.Generator().manual_seed(view)
        order = torch.randperm(x.shape[1], generator=random)
        place = torch.randn(1, -(-x.shape[1] // network.shape.pair), PLACE, generator=random).to(device)
        sign = 1 - 2 * (view % 2)
        train, new = (torch.from_numpy(part).to(device)[None][:, :, order] for part in (x, asked))
        label = torch.from_numpy(given).to(device).float()[None] * 2 - 1
        with torch.autocast(device, torch.bfloat16):
            memory, old, noise = network.read(train, sign * label, place)
            answer = network.answer(new, memory)
        total.append((sign * answer[0].float(), sign * old[0].float(), noise[0] if sign > 0 else noise[0].flip(0)))
    new, old, noise = (torch.stack(part).mean(0).cpu().numpy() for part in zip(*total, strict=True))
    return new, old, noise


def measure(
    network: Network, folder: Path, device: str, size: int = 1000, views: int = 4
) -> list[dict[str, float | str]]:
    """One row a table and noise."""
    rows: list[dict[str, float | str]] = []
    for file in sorted(folder.glob("*.npz")):
        with np.load(file) as arrays:
            x, y = arrays["X"].astype(np.float32), arrays["y"].astype(bool)
        for name, (pi, pi_prime) in NOISES.items():
            rng = np.random.default_rng(0)
            train, given, clean, asked, truth = draw(rng, x, y, pi, pi_prime, size)
            new, old, noise = answers(network, train, given, asked, views, device)
            wrong = given != clean
            found = area(np.where(given, -old, old), wrong) if wrong.any() else np.nan
            shares = np.array([wrong[~given].mean(), wrong[given].mean()])
            high = noise[:, LEVELS.index(0.95)]
            rows.append(
                {
                    "table": file.stem,
                    "noise": name,
                    "auc": 100 * area(new, truth),
                    "balanced_accuracy": 50 * ((new[truth] > 0).mean() + (new[~truth] <= 0).mean()),
                    "wrong_found": 100 * found,
                    "share_error": float(np.abs(noise[:, LEVELS.index(0.5)] - shares).mean()),
                    "covered": float(((noise[:, LEVELS.index(0.05)] <= shares) & (shares <= high)).mean()),
                }
            )
    return rows


def summary(rows: list[dict[str, float | str]]) -> str:
    """Means over tables, a line a noise."""
    lines = []
    for name in NOISES:
        chosen = [row for row in rows if row["noise"] == name]
        means = {key: np.nanmean([row[key] for row in chosen]) for key in chosen[0] if key not in ("table", "noise")}
        lines.append(
            f"{name:11}" + "  ".join(f"{key} {value:.3f}" for key, value in means.items()) + f"  {len(chosen)} tables"
        )
    return "\n".join(lines)


def main() -> None:
    """Parse the command line, measure, print."""
    parser = argparse.ArgumentParser(prog="python -m pretraining.measure", description=__doc__.splitlines()[0])
    parser.add_argument("tables", type=Path, help="folder of NAME.npz with X and y")
    parser.add_argument("weights", type=Path, nargs="+", help="as `python -m pretraining` writes them")
    parser.add_argument("--size", type=int, default=1000, help="rows of either given label, where there are enough")
    parser.add_argument("--views", type=int, default=4, help="orders of columns and signs of the label")
    parser.add_argument("--out", type=Path, help="a CSV file of all tables")
    options = parser.parse_args()
    device = "cuda" if torch.cuda.is_available() else "cpu"
    network = Network().to(device).eval()
    every = []
    for weights in options.weights:
        network.load_state_dict(torch.load(weights, map_location=device, weights_only=True))
        rows = measure(network, options.tables, device, options.size, options.views)
        print(f"{weights}\n{summary(rows)}", flush=True)
        every += [{"weights": weights.stem, **row} for row in rows]
    if options.out:
        with options.out.open("w", newline="") as file:
            writer = csv.DictWriter(file, list(every[0]))
            writer.writeheader()
            writer.writerows(every)


if __name__ == "__main__":
    main()
