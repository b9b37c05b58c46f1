"""Compare the paper's standard errors with ours, which tells whether its trials share one corrupted sample.

    python benchmarks/standard_errors.py [--out FOLDER]

If all trials of the paper are trained on one sample, its standard errors lack the variance between samples, which ours
have. For each family, loss and noise rate, the first tables show the ratio of the two: the paper's, as root mean square
over data sets and risks, divided by ours. The third table adds to the variance of a difference what one sample for all
trials would add: our variance between trials less the paper's, pooled over the data sets. It shows how large |z| is
then, and the last table shows both z of the twenty cells that differ most. All numbers are from the committed results.
"""

import argparse
import math
import statistics
from collections.abc import Iterable, Sequence
from pathlib import Path

from symloss.paper.compare import Cell, compare, noise_text
from symloss.paper.protocol import NOISES
from symloss.paper.published import LOSSES, ROUNDING_VARIANCE
from symloss.paper.results import read_results
from symloss.paper.worst import worst_cells

ROOT = Path(__file__).parents[1]


def our_variance(cells: Iterable[Cell]) -> float:
    return statistics.fmean((cell.se or 0.0) ** 2 for cell in cells)


def papers_variance(cells: Iterable[Cell]) -> float:
    return statistics.fmean((cell.paper_se or 0.0) ** 2 + ROUNDING_VARIANCE for cell in cells)


def table(title: str, heads: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    lines = [f"| {' | '.join(row)} |" for row in rows]
    return "\n".join([title, "", f"| | {' | '.join(heads)} |", "|---" * (len(heads) + 1) + "|", *lines, ""])


def ratios(cells: Sequence[Cell]) -> list[list[str]]:
    rows = []
    for loss, heading in LOSSES.items():
        of_noise = [[cell for cell in cells if cell.loss == loss and cell.pi == pi] for pi, _ in NOISES]
        rows.append([heading, *(f"{math.sqrt(papers_variance(of) / our_variance(of)):.2f}" for of in of_noise)])
    return rows


def if_one_sample(cell: Cell, cells: Sequence[Cell]) -> float:
    """Return z if the paper's trials share one sample."""
    row = [other for other in cells if (other.loss, other.risk, other.pi) == (cell.loss, cell.risk, cell.pi)]
    between = max(0.0, cell.trials * (our_variance(row) - papers_variance(row)))
    variance = our_variance([cell]) + papers_variance([cell]) + ROUNDING_VARIANCE
    return (cell.difference or 0.0) / math.sqrt(variance + between)


def sizes(name: str, found: Sequence[float]) -> list[str]:
    shares = [f"{statistics.fmean(abs(z) < limit for z in found):.1%}" for limit in (1, 2, 3)]
    return [name, *shares, f"{max(map(abs, found)):.1f}"]


def worst(cells: Sequence[Cell]) -> list[list[str]]:
    return [
        [f"{cell.dataset}, {LOSSES[cell.loss]}, {cell.risk}, {noise_text(cell.pi, cell.pi_prime)}",
         f"{cell.z:+.1f}", f"{if_one_sample(cell, cells):+.1f}"]
        for cell in worst_cells(cells, 20)
    ]  # fmt: skip


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=Path, help="folder to write standard_errors.md into")
    options = parser.parse_args()
    uci, cifar10 = (compare(read_results(ROOT / "results" / folder).whole) for folder in ("uci-matched", "cifar10"))
    noises = [noise_text(*noise) for noise in NOISES]
    z = [[cell.z or 0.0 for cell in cifar10], [if_one_sample(cell, cifar10) for cell in cifar10]]
    names = ["as computed from the paper's standard errors", "if its trials share one sample"]
    parts = [
        table("Standard errors, UCI and LIBSVM:", noises, ratios(uci)),
        table("Standard errors, CIFAR-10:", noises, ratios(cifar10)),
        table("Size of z, CIFAR-10:", [r"\|z\| < 1", r"\|z\| < 2", r"\|z\| < 3", "largest"], map(sizes, names, z)),
        table("Largest z, CIFAR-10:", ["z", "if one sample"], worst(cifar10)),
    ]
    text = "\n".join(parts)
    print(text)
    if options.out:
        (options.out / "standard_errors.md").write_text(text)


if __name__ == "__main__":
    main()
