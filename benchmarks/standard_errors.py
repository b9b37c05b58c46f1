"""Compare the paper's standard errors with ours, which tells whether its trials share one corrupted sample.

    python benchmarks/standard_errors.py [--out FOLDER]

If all trials of the paper are trained on one sample, its standard errors lack the variance between samples, which ours
have. For each family, loss and noise rate, the first tables show the ratio of the two: the paper's, as root mean square
over data sets and risks, divided by ours. The last table adds to the variance of a difference what one sample for all
trials would add: our variance between trials less the paper's, pooled over the data sets. It shows how large |z| is
then. All numbers are from the committed results.
"""

import argparse
import math
import statistics
from collections.abc import Iterable, Sequence
from pathlib import Path

from symloss.paper.compare import Cell, compare
from symloss.paper.protocol import NOISES
from symloss.paper.published import LOSSES, ROUNDING_VARIANCE
from symloss.paper.results import read_results

ROOT = Path(__file__).parents[1]
FOLDERS = {"uci": "uci-matched", "cifar10": "cifar10"}
NOISE_TEXTS = [f"({pi}, {pi_prime})" for pi, pi_prime in NOISES]


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


def corrected(cells: Sequence[Cell]) -> list[float]:
    """Return |z| if the paper's trials share one sample."""
    found = []
    for cell in cells:
        row = [other for other in cells if (other.loss, other.risk, other.pi) == (cell.loss, cell.risk, cell.pi)]
        between = max(0.0, cell.trials * (our_variance(row) - papers_variance(row)))
        variance = our_variance([cell]) + papers_variance([cell]) + ROUNDING_VARIANCE
        found.append(abs(cell.difference or 0.0) / math.sqrt(variance + between))
    return found


def sizes(name: str, found: Sequence[float]) -> list[str]:
    shares = [f"{statistics.fmean(size < limit for size in found):.1%}" for limit in (1, 2, 3)]
    return [name, *shares, f"{max(found):.1f}"]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=Path, help="folder to write standard_errors.md into")
    options = parser.parse_args()
    parts, last = [], []
    for family, folder in FOLDERS.items():
        cells = compare(read_results(ROOT / "results" / folder).whole)
        parts.append(table(f"Standard errors, {family}:", NOISE_TEXTS, ratios(cells)))
        last.append(sizes(family, [abs(cell.z or 0.0) for cell in cells]))
        last.append(sizes(f"{family}, one sample", corrected(cells)))
    parts.append(table("Size of z:", [r"\|z\| < 1", r"\|z\| < 2", r"\|z\| < 3", "largest"], last))
    text = "\n".join(parts)
    print(text)
    if options.out:
        (options.out / "standard_errors.md").write_text(text)


if __name__ == "__main__":
    main()
