"""Compare final scores of training by bfloat16 kernels and by plain PyTorch in float32, on a GPU, on the same draws.

    SYMLOSS_DATA=FOLDER python benchmarks/bfloat16.py [--trials 5] [--out FOLDER]

The data are CIFAR-10's airplanes against horses, and MNIST with all pairs, both at (0.65, 0.45). In a trial, both have
the same draws, initial weights, batches and dropout. But small differences by rounding grow over the epochs, so the
difference of the scores in one trial is partly chance.
"""

import argparse
import csv
import time
from pathlib import Path

import numpy as np
import torch

from symloss.functional import RISKS
from symloss.paper.images import load_images, run_image_trials
from symloss.paper.protocol import CIFAR10, LOSSES, MNIST_PRINTED, NOISES
from symloss.paper.results import PUBLISHED

PAIRS = [("cifar10", "horse", CIFAR10), ("mnist", "mnist", MNIST_PRINTED)]
WAYS = [("bfloat16 kernels", True, torch.bfloat16), ("float32", False, torch.float32)]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--trials", type=int, default=5)
    parser.add_argument("--out", type=Path, help="folder to write bfloat16.csv into")
    options = parser.parse_args()
    print(f"{torch.cuda.get_device_name()}, torch {torch.__version__}, {options.trials} trials")
    rows: list[dict[str, str | float]] = []
    for family, dataset, settings in PAIRS:
        images, found = load_images(family, dataset, download=False), []
        for name, kernels, dtype in WAYS:
            start = time.perf_counter()
            drawn = {"trials": options.trials, "name": dataset, "device": "cuda"}
            found.append(run_image_trials(images, *NOISES[-1], settings, **drawn, kernels=kernels, dtype=dtype))
            print(f"{family}, {name}: {time.perf_counter() - start:.1f} s", flush=True)
        for risk in RISKS:
            for loss in LOSSES:
                low, full = (np.array(of[PUBLISHED].scores[risk][loss.name]) for of in found)
                error = float((low - full).std(ddof=1) / len(low) ** 0.5)
                rows.append({
                    "data": dataset, "objective": risk, "loss": loss.name,
                    "bfloat16": round(float(low.mean()), 2), "float32": round(float(full.mean()), 2),
                    "difference": round(float((low - full).mean()), 2), "se": round(error, 2),
                })  # fmt: skip
                print(", ".join(map(str, rows[-1].values())), flush=True)
    if options.out:
        options.out.mkdir(parents=True, exist_ok=True)
        with (options.out / "bfloat16.csv").open("w", newline="") as stream:
            writer = csv.DictWriter(stream, list(rows[0]), lineterminator="\n")
            writer.writeheader()
            writer.writerows(rows)


if __name__ == "__main__":
    main()
