"""Draw time against n from the results of benchmarks/pairwise.py.

python benchmarks/plot_pairwise.py benchmarks/results docs/images/pairwise.svg
"""

import csv
import sys
from collections import defaultdict
from pathlib import Path

import matplotlib.pyplot as plt

GROUPS = {
    "squared, unhinged, exponential": ("squared", "unhinged", "exponential"),
    "sigmoid, logistic, savage": ("sigmoid", "logistic", "savage"),
    "hinge, squared hinge, zero-one": ("hinge", "squared_hinge", "zero_one"),
    "ramp, double hinge, barrier hinge": ("ramp", "double_hinge", "barrier_hinge"),
}
COLORS = ("#0072B2", "#009E73", "#D55E00", "#CC79A7")


def times(path: Path) -> dict[tuple[str, str], dict[int, float]]:
    """Return milliseconds by (who, loss) and n; those of symloss are from the comparison with the sort."""
    found: dict[tuple[str, str], dict[int, float]] = defaultdict(dict)
    with path.open() as file:
        for row in csv.DictReader(file):
            if row["problems"] == "1" and (row["who"] != "symloss" or row["peer"] == "sort"):
                found[row["who"], row["loss"]][int(row["n"])] = 1e3 * float(row["seconds"])
    return found


def panel(axes: plt.Axes, path: Path, title: str) -> None:
    found = times(path)
    for (label, losses), color in zip(GROUPS.items(), COLORS, strict=True):
        for loss in losses:
            points = {n: ms for n, ms in found["symloss", loss].items() if n >= 1000}
            axes.plot(*zip(*sorted(points.items()), strict=True), color=color, lw=1.6, label=label)
            label = None
    for who, style, color in (("matrix", "--", "0.25"), ("LibAUC", ":", "0.25"), ("sort", "-.", "0.6")):
        loss = "sort" if who == "sort" else "logistic"
        points = {n: ms for n, ms in found[who, loss].items() if n >= 1000}
        if points:
            name = {"matrix": "n x m matrix, logistic", "LibAUC": "LibAUC, logistic", "sort": "torch.sort"}[who]
            marker = "o" if len(points) == 1 else None
            axes.plot(*zip(*sorted(points.items()), strict=True), style, color=color, lw=1.6, marker=marker, label=name)
    axes.set(xscale="log", yscale="log", xlabel="positives = negatives = n", title=title)
    axes.grid(True, which="major", alpha=0.3)
    axes.spines[["top", "right"]].set_visible(False)


def main(results: Path, target: Path) -> None:
    plt.rcParams.update({"font.size": 9, "svg.hashsalt": "symloss"})
    titles = {"cpu_amd": "one thread of an AMD EPYC", "cpu_intel": "one thread of an Intel Xeon", "cuda": "H200"}
    panels = [(results / f"pairwise_{name}.csv", title) for name, title in titles.items()]
    panels = [(path, title) for path, title in panels if path.exists()]
    figure, axes = plt.subplots(1, len(panels), figsize=(4.2 * len(panels), 4.2), squeeze=False, sharey=True)
    for (path, title), plot in zip(panels, axes[0], strict=True):
        panel(plot, path, title)
    axes[0][0].set_ylabel("value and gradient, ms")
    handles, labels = axes[0][0].get_legend_handles_labels()
    figure.tight_layout(rect=(0, 0.13, 1, 1))
    figure.legend(handles, labels, loc="lower center", ncols=3, frameon=False, fontsize=8)
    target.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(target, metadata={"Date": None})


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]))
