"""Train CIFAR-10's networks on the sample of the authors' script, which is the same in every trial.

    SYMLOSS_DATA=FOLDER python benchmarks/cifar10_file_order.py [--pairs frog,ship] [--trials 10] --out FOLDER

The script draws nothing: it takes the images of a class in the order of the official files. The corrupted positives
are the first images of both classes, and the corrupted negatives are those that follow (but for one image between
them). So the trials of the script differ in initial weights, batches and dropout only. All else is as in ``symloss
reproduce cifar10``, and so are the files; ``symloss compare FOLDER`` puts them beside the paper's scores. Files that
exist are kept. ``--device cpu --small`` only checks that the code runs.
"""

import argparse
import time
from dataclasses import asdict, replace
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from symloss.paper.convolutional import Architecture
from symloss.paper.images import Images, load_images, run_image_trials
from symloss.paper.protocol import CIFAR10, CIFAR10_PAIRS, IMAGE_TRIALS, NOISES, ImageSettings
from symloss.paper.results import PUBLISHED, Result, current_versions, result_path, write_result

Rows = NDArray[np.int64]


def in_file_order(y: Rows, pi: float, pi_prime: float, n: int) -> tuple[Rows, Rows]:
    """Return rows and corrupted labels: n images of each corrupted class, as the script takes them."""
    positives, negatives = np.flatnonzero(y > 0), np.flatnonzero(y < 0)
    clean, wrong = int(n * pi), int(n * pi_prime)  # clean positives in either class
    after = int(n * (1 - pi)) + 1  # where the second class starts among the negatives
    rows = [positives[:clean], negatives[: n - clean],
            positives[clean + 1 : clean + 1 + wrong], negatives[after : after + n - wrong]]  # fmt: skip
    sizes = [len(part) for part in rows]
    if sum(sizes) != 2 * n:
        raise ValueError(f"{n} images of each corrupted class need more than {len(positives)} and {len(negatives)}")
    return np.concatenate(rows), np.repeat([1, 1, -1, -1], sizes)


def few(images: Images) -> Images:
    """Return every hundredth image, with every second pixel in both directions."""
    return Images(
        images.train[::100, :, ::2, ::2], images.y_train[::100], images.test[::100, :, ::2, ::2], images.y_test[::100]
    )


def run(images: Images, pair: str, pi: float, pi_prime: float, trials: int, device: str, small: bool) -> Result:
    """Return the result of a pair at a noise rate."""
    settings: ImageSettings = replace(CIFAR10, n_positive=45, n_negative=45, epochs=2) if small else CIFAR10
    rows, y = in_file_order(images.y_train, pi, pi_prime, settings.n_positive)
    start = time.perf_counter()
    found = run_image_trials(
        images, pi, pi_prime, settings, trials=trials, name=pair, device=device,
        draws=(np.tile(rows, (trials, 1)), np.tile(y, (trials, 1))),
        architecture=Architecture(3, 16, 2, 3, 8, 4) if small else None,
    )  # fmt: skip
    published = found.pop(PUBLISHED)
    return Result(
        family="cifar10", dataset=pair, pi=pi, pi_prime=pi_prime, trials=trials, protocol="file order",
        settings=asdict(settings), scores=published.scores, curves=published.curves, errors=published.errors,
        further={"dropout_off": found["dropout_off"]}, versions=current_versions(), device=device,
        seconds=round(time.perf_counter() - start, 2),
    )  # fmt: skip


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--pairs", default=",".join(CIFAR10_PAIRS))
    parser.add_argument("--trials", type=int, default=IMAGE_TRIALS)
    parser.add_argument("--device", default="cuda")
    parser.add_argument("--small", action="store_true", help="few images, tiny networks")
    parser.add_argument("--out", type=Path, required=True, help="folder for the result files")
    options = parser.parse_args()
    for pair in options.pairs.split(","):
        images = few(load_images("cifar10", pair)) if options.small else load_images("cifar10", pair)
        for pi, pi_prime in NOISES:
            if not result_path(options.out, pair, pi, pi_prime).exists():
                result = run(images, pair, pi, pi_prime, options.trials, options.device, options.small)
                print(f"{write_result(options.out, result)}: {result.seconds} s", flush=True)


if __name__ == "__main__":
    main()
