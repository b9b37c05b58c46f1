"""Simulate how often 95% intervals contain the true value: of scores and rates on clean labels, and of the noise.

python benchmarks/interval_coverage.py --runs 1500
"""

import argparse
import math
from collections.abc import Callable, Iterator
from statistics import NormalDist

import numpy as np

from symloss import metrics
from symloss.audit import Noise, estimate_noise

# The distance between the means of two normal classes, (pi, pi'), the sizes of the corrupted classes, and the standard
# deviation of the logarithms of the weights.
SETTINGS = [
    (1.0, (0.8, 0.3), (300, 300), 0.0),
    (1.0, (0.65, 0.45), (500, 500), 0.0),
    (2.5, (1.0, 0.0), (60, 60), 0.0),
    (0.5, (0.9, 0.2), (50, 400), 0.0),
    (2.0, (1.0, 0.0), (200, 12), 0.0),
    (2.0, (1.0, 0.0), (200, 5), 0.0),
    (3.0, (1.0, 0.0), (1000, 10), 0.0),
    (1.0, (0.8, 0.3), (300, 300), 1.0),
    (2.0, (0.9, 0.1), (1000, 1000), 1.5),
]
THRESHOLD, PRIOR = 0.3, 0.3
RATES = [(0.8, 0.3), (0.95, 0.05), (1.0, 0.5), (0.65, 0.45)]
SIZES = [(200, 200), (1000, 1000), (5000, 5000), (150, 1500)]

Draw = Callable[[np.ndarray, np.random.Generator], np.ndarray]


def separable(share: float) -> Draw:
    """Return how to draw scores of which a share stands apart from the other class; the others do not."""

    def draw(clean: np.ndarray, rng: np.random.Generator) -> np.ndarray:
        place, apart = rng.random(len(clean)), rng.random(len(clean)) < share
        return np.where(apart, np.where(clean, 1 + place, -1 - place), 2 * place - 1)

    return draw


def normal(distance: float) -> Draw:
    """Return how to draw normal scores whose means have a distance."""
    return lambda clean, rng: np.where(clean, distance / 2, -distance / 2) + rng.normal(size=len(clean))


def bounded(clean: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Return scores by which a point is positive with probability 0.2 to 0.8: there are no anchor points."""
    place = (np.sqrt(0.16 + 2.4 * rng.random(len(clean))) - 0.4) / 1.2  # of density 0.4 + 1.2 x on [0, 1]
    return np.where(clean, place, 1 - place)


def laplace(clean: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Return scores at whose ends one in twenty points is of the other class."""
    return np.where(clean, 1.5, -1.5) + rng.laplace(size=len(clean))


def spread(clean: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Return scores of positives that reach over all negatives: one in nine of the smallest scores is of a positive.

    This cannot be told from noise: the intervals do not hold.
    """
    return np.where(clean, 2 + 2 * rng.normal(size=len(clean)), rng.normal(size=len(clean)) - 1)


CLASSES: dict[str, Draw] = {
    "90% separable": separable(0.9),
    "50% separable": separable(0.5),
    **{f"normal, distance {distance:g}": normal(distance) for distance in (4.0, 3.0, 2.0, 1.0)},
    "Laplace": laplace,
    "bounded ratio": bounded,
    "positives spread over negatives": spread,
}


def estimates(shift: float, runs: int) -> Iterator[tuple[str, float, Callable[..., metrics.Estimate]]]:
    """Yield the name of an estimate, its true value, and a function that returns it."""
    tpr, fpr = (1 - NormalDist().cdf(THRESHOLD - sign * shift / 2) for sign in (1, -1))
    found, false = PRIOR * tpr, (1 - PRIOR) * fpr
    yield "AUC", NormalDist().cdf(shift / math.sqrt(2)), metrics.estimate_clean_auc
    yield "balanced accuracy", NormalDist().cdf(shift / 2), metrics.estimate_clean_balanced_accuracy
    for name, value in {
        "TPR": tpr,
        "FPR": fpr,
        "accuracy": found + 1 - PRIOR - false,
        "precision": found / (found + false),
        "F1": 2 * found / (PRIOR + found + false),
    }.items():
        yield name, value, rate(name)
    if runs <= 200:  # each takes 200 curves
        at = (np.arange(1000) + 0.5) / 5000
        partial = np.mean([NormalDist().cdf(shift + NormalDist().inv_cdf(float(rate))) for rate in at])
        yield (
            "partial AUC",
            float(partial),
            lambda *inputs, weight: metrics.estimate_clean_partial_auc(*inputs, max_fpr=0.2, weight=weight),
        )


def rate(name: str) -> Callable[..., metrics.Estimate]:
    def estimate(*inputs, weight):
        rates = metrics.clean_rates(*inputs, THRESHOLD, weight=weight)
        if name in ("TPR", "FPR"):
            return getattr(rates, name.lower())
        return getattr(rates, name.lower())(PRIOR)

    return estimate


def scores_and_rates(runs: int) -> None:
    rng = np.random.default_rng(3)
    for shift, (pi, pi_prime), sizes, spread in SETTINGS:
        y = np.repeat([1, -1], sizes)
        wanted = list(estimates(shift, runs))
        covered = dict.fromkeys([name for name, _, _ in wanted], 0)
        for _ in range(runs):
            clean = np.where(rng.random(len(y)) < np.where(y == 1, pi, pi_prime), 1, -1)
            scores = clean * shift / 2 + rng.normal(size=len(y))
            weight = rng.lognormal(0, spread, len(y)) if spread else None
            for name, truth, estimate in wanted:
                result = estimate(scores, y, pi, pi_prime, weight=weight)
                covered[name] += result.low <= truth <= result.high
        shares = ", ".join(f"{name} {count / runs:.3f}" for name, count in covered.items())
        weighted = f", weights {spread}" if spread else ""
        print(f"shift {shift}, (pi, pi') = ({pi}, {pi_prime}), sizes {sizes}{weighted}: {shares}", flush=True)


def noise(runs: int) -> None:
    rng = np.random.default_rng(4)
    for name, draw in CLASSES.items():
        for sizes in SIZES:
            for pi, pi_prime in RATES:
                y = np.repeat([1, -1], sizes)
                found: list[Noise] = []
                for _ in range(runs):
                    clean = rng.random(len(y)) < np.where(y == 1, pi, pi_prime)
                    found.append(estimate_noise(draw(clean, rng), y))
                of_pi = np.mean([one.pi_low <= pi <= one.pi_high for one in found])
                of_prime = np.mean([one.pi_prime_low <= pi_prime <= one.pi_prime_high for one in found])
                told = np.mean([one.pi is not None for one in found])
                width = np.mean([one.pi_high - one.pi_low for one in found])
                print(
                    f"{name}, sizes {sizes}, (pi, pi') = ({pi}, {pi_prime}): told {told:.2f}, pi {of_pi:.3f}, "
                    f"pi' {of_prime:.3f}, mean width of the interval of pi {width:.2f}",
                    flush=True,
                )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--runs", type=int, default=1500)
    runs = parser.parse_args().runs
    scores_and_rates(runs)
    noise(runs)


if __name__ == "__main__":
    main()
