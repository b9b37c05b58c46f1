"""Try which settings bring the scores on MNIST, at the highest noise, nearer to the published ones.

    SYMLOSS_DATA=FOLDER python benchmarks/mnist_ablation.py [--risks auc] [--trials 3] [--out FOLDER]

The settings are those of the authors' script with all pairs (``symloss.paper.protocol.MNIST_PRINTED``), except those
that a variant names: the batch, the scale of the pixels, weight decay, learning rate, epochs. None of them is what
differs from the paper: see mnist_search.py. Scores are after the last epoch with dropout on, as published; ``rms`` is
the root mean square of their differences from the paper's. ``--device cpu --small`` only checks that the code runs.
"""

import argparse
import csv
import time
from dataclasses import replace
from pathlib import Path

import numpy as np
import torch

from symloss.paper.convolutional import Architecture
from symloss.paper.images import Images, load_images, run_image_trials
from symloss.paper.protocol import LOSSES, MNIST_PRINTED, NOISES, ImageSettings
from symloss.paper.published import find_published
from symloss.paper.results import PUBLISHED

NOISE = NOISES[-1]
NAMES = [loss.name for loss in LOSSES]
VARIANTS = {
    "the script's: 128 + 128, 0-255, no decay, 1e-4": MNIST_PRINTED,
    "batch: 256 mixed": replace(MNIST_PRINTED, batch_size=256, balanced=False),
    "batch: 128 mixed": replace(MNIST_PRINTED, batch_size=128, balanced=False),
    "pixels: 0-1": replace(MNIST_PRINTED, sd=(1.0,)),
    "pixels: standardised": replace(MNIST_PRINTED, mean=(0.1307,), sd=(0.3081,)),
    "weight decay: 1e-4": replace(MNIST_PRINTED, weight_decay=1e-4),
    "weight decay: 1e-3": replace(MNIST_PRINTED, weight_decay=1e-3),
    "learning rate: 3e-5": replace(MNIST_PRINTED, learning_rate=3e-5),
    "learning rate: 3e-4": replace(MNIST_PRINTED, learning_rate=3e-4),
    "learning rate: 1e-3": replace(MNIST_PRINTED, learning_rate=1e-3),
    "pixels: 0-1, learning rate: 1e-3": replace(MNIST_PRINTED, sd=(1.0,), learning_rate=1e-3),
    "epochs: 100": replace(MNIST_PRINTED, epochs=100),
}
Row = dict[str, str | float | int]


def published(risk: str) -> dict[str, float]:
    found = {name: find_published("mnist", "mnist", risk, *NOISE, name) for name in NAMES}
    return {name: cell.mean for name, cell in found.items() if cell}


def few(images: Images) -> Images:
    """Return every hundredth image, with every second pixel in both directions."""
    return Images(
        images.train[::100, :, ::2, ::2], images.y_train[::100], images.test[::100, :, ::2, ::2], images.y_test[::100]
    )


def run_variant(
    images: Images, settings: ImageSettings, risks: list[str], trials: int, device: str, small: bool
) -> list[Row]:
    """Return one row per risk and loss."""
    tiny = Architecture(1, 16, 2, 3, 8, 4) if small else None
    if small:
        settings = replace(settings, n_positive=100, n_negative=100, epochs=2, batch_size=settings.batch_size // 8)
    found = run_image_trials(
        images, *NOISE, settings, LOSSES, risks, trials, 0, "mnist", device, architecture=tiny
    )  # fmt: skip
    rows: list[Row] = []
    for risk in risks:
        papers = published(risk)
        for name in NAMES:
            on, off = (
                np.array(scores[risk][name]) for scores in (found[PUBLISHED].scores, found["dropout_off"].scores)
            )
            curve = np.array(found[PUBLISHED].curves[risk][name])
            error = float(on.std(ddof=min(1, trials - 1)) / trials**0.5)
            rows.append({
                "objective": risk, "loss": name, "mean": round(float(on.mean()), 2),
                "se": round(error, 2), "dropout_off": round(float(off.mean()), 2),
                "best": round(float(curve.max()), 2), "best_epoch": int(curve.argmax()) + 1, "paper": papers[name],
            })  # fmt: skip
    return rows


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--risks", "--objectives", default="auc")
    parser.add_argument("--trials", type=int, default=3)
    parser.add_argument("--device", default="cuda")
    parser.add_argument("--small", action="store_true", help="few images, tiny networks")
    parser.add_argument("--out", type=Path, help="folder to write mnist_ablation.csv into")
    options = parser.parse_args()
    risks = options.risks.split(",")
    images = few(load_images("mnist", "mnist")) if options.small else load_images("mnist", "mnist")
    rows: list[Row] = []
    print(f"MNIST at {tuple(NOISE)}, {options.trials} trials, {options.device}, torch {torch.__version__}")
    print(f"{'':52}" + "".join(f"{name[:8]:>9}" for name in NAMES) + "      rms  seconds")
    for risk in risks:
        print(f"{f'paper, {risk}':52}" + "".join(f"{mean:9.1f}" for mean in published(risk).values()))
    for variant, settings in VARIANTS.items():
        start = time.perf_counter()
        of = run_variant(images, settings, risks, options.trials, options.device, options.small)
        seconds = time.perf_counter() - start
        for risk in risks:
            here = [row for row in of if row["objective"] == risk]
            rms = np.sqrt(np.mean([(float(row["mean"]) - float(row["paper"])) ** 2 for row in here]))
            means = "".join(f"{row['mean']:9.1f}" for row in here)
            print(f"{f'{variant}, {risk}':52}{means}{rms:9.1f}{seconds:9.1f}", flush=True)
        rows += [{"variant": variant} | row for row in of]
        if options.out:  # after each variant, so that finished ones are kept
            options.out.mkdir(parents=True, exist_ok=True)
            with (options.out / "mnist_ablation.csv").open("w", newline="") as stream:
                writer = csv.DictWriter(stream, list(rows[0]), lineterminator="\n")
                writer.writeheader()
                writer.writerows(rows)


if __name__ == "__main__":
    main()
