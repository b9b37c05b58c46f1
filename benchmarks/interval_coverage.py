"""Simulate how often 95% intervals contain the true value: of scores and rates on clean labels.

python benchmarks/interval_coverage.py --runs 200 --out benchmarks/results
"""

import argparse
import math
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import NamedTuple

import numpy as np
from scipy.special import ndtr, ndtri

from symloss import metrics

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
    (3.0, (0.8, 0.3), (500, 500), 0.0),
    (3.0, (0.65, 0.45), (2000, 2000), 0.0),
]
THRESHOLD, PRIOR, COSTS = 0.3, 0.3, {"cost_false_positive": 1.0, "cost_false_negative": 2.0}


class Found(NamedTuple):
    """Whether an interval contains the truth, and its width."""

    covered: bool
    width: float


Estimator = Callable[..., Found]  # of scores, labels, pi, pi', and weights


def rates_of(shift: float, thresholds: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the true false and true positive rates at thresholds."""
    return 1 - ndtr(thresholds + shift / 2), 1 - ndtr(thresholds - shift / 2)


def contains(truth: float, estimate: Callable[..., metrics.Estimate]) -> Estimator:
    def found(*inputs, weight):
        result = estimate(*inputs, weight=weight)
        return Found(result.low <= truth <= result.high, result.high - result.low)

    return found


def at_threshold(shift: float) -> Iterator[tuple[str, Estimator]]:
    """Yield the estimates of a score, and of what depends on a threshold that is known beforehand."""
    fpr, tpr = (float(rate) for rate in rates_of(shift, np.array(THRESHOLD)))
    found, false = PRIOR * tpr, (1 - PRIOR) * fpr
    truths = {
        "TPR": tpr,
        "FPR": fpr,
        "accuracy": found + 1 - PRIOR - false,
        "precision": found / (found + false),
        "F1": 2 * found / (PRIOR + found + false),
        "cost": COSTS["cost_false_positive"] * false + COSTS["cost_false_negative"] * (PRIOR - found),
    }

    def rate(name: str) -> Callable[..., metrics.Estimate]:
        def estimate(*inputs, weight):
            part = getattr(metrics.clean_rates(*inputs, THRESHOLD, weight=weight), name.lower())
            return part if name in ("TPR", "FPR") else part(PRIOR, **COSTS) if name == "cost" else part(PRIOR)

        return estimate

    yield "AUC", contains(float(ndtr(shift / math.sqrt(2))), metrics.estimate_clean_auc)
    yield "balanced accuracy", contains(float(ndtr(shift / 2)), metrics.estimate_clean_balanced_accuracy)
    for name, truth in truths.items():
        yield name, contains(truth, rate(name))


def of_curve(shift: float) -> Iterator[tuple[str, Estimator]]:
    """Yield the partial AUCs and the band; precisions and costs are inside their bands if the curve is inside its."""
    for most in (0.05, 0.2):
        rates = (np.arange(1000) + 0.5) / 1000 * most

        def partial(*inputs, weight, most=most):
            return metrics.estimate_clean_partial_auc(*inputs, max_fpr=most, weight=weight)

        yield f"partial AUC up to {most:g}", contains(float(ndtr(shift + ndtri(rates)).mean()), partial)

    def band(*inputs, weight):
        worst, best = metrics.clean_roc_band(*inputs, weight=weight)
        # Points on the curve between two thresholds have the same two limits.
        (fpr, tpr), later = rates_of(shift, worst.thresholds), np.append(worst.thresholds[1:], -np.inf)
        later_fpr, later_tpr = rates_of(shift, later)
        low = (best.fpr <= fpr) & (worst.tpr <= tpr)
        high = (later_fpr <= worst.fpr) & (later_tpr <= best.tpr)
        return Found(bool((low & high).all()), float(np.mean(best.tpr - worst.tpr)))

    yield "the whole ROC curve", band


def coverage(estimators: Callable[[float], Iterator[tuple[str, Estimator]]], runs: int) -> str:
    """Return a table: a row per setting, a column per estimate, with the share covered and the mean width."""
    rng = np.random.default_rng(3)
    names = [name for name, _ in estimators(1.0)]
    lines = [f"| classes | {' | '.join(names)} |", "|---" + "|--:" * len(names) + "|"]
    for shift, (pi, pi_prime), sizes, spread in SETTINGS:
        y = np.repeat([1, -1], sizes)
        found: dict[str, list[Found]] = {name: [] for name in names}
        for _ in range(runs):
            clean = np.where(rng.random(len(y)) < np.where(y == 1, pi, pi_prime), 1, -1)
            scores = clean * shift / 2 + rng.normal(size=len(y))
            weight = rng.lognormal(0, spread, len(y)) if spread else None
            for name, estimate in estimators(shift):
                found[name].append(estimate(scores, y, pi, pi_prime, weight=weight))
        weighted = f", weights of spread {spread:g}" if spread else ""
        what = f"distance {shift:g}, (π, π′) = ({pi:g}, {pi_prime:g}), {sizes[0]} and {sizes[1]} points{weighted}"
        shown = (f"{covered:.3f} ({width:.2f})" for covered, width in (np.mean(of, axis=0) for of in found.values()))
        lines.append(f"| {what} | {' | '.join(shown)} |")
        print(lines[-1], flush=True)
    return "\n".join(lines)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--runs", type=int, default=1500)
    parser.add_argument("--out", type=Path, help="a folder to write the tables into")
    arguments = parser.parse_args()
    runs = arguments.runs
    page = (
        f"How often intervals of level 0.95 contain the value on clean labels, in {runs} draws of each kind, and their "
        f"mean width:\n\n{coverage(at_threshold, runs)}\n\n"
        f"The same for ROC curves; the last column is of bands of level 0.95, with the mean width of the TPRs:\n\n"
        f"{coverage(of_curve, runs)}\n"
    )
    if arguments.out:
        (arguments.out / "interval_coverage.md").write_text(page)


if __name__ == "__main__":
    main()
