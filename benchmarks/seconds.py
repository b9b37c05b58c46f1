"""Print how long fits take, from the rows of noisy_labels.py.

python benchmarks/seconds.py --out benchmarks/results
"""

import argparse
from pathlib import Path

import numpy as np
from wild_noise import points
from wild_results import read_rows

from symloss.files import write_whole

RESULTS = Path(__file__).parent / "results" / "noisy_labels.csv"
METHODS = {
    "AUCClassifierCV": "`AUCClassifierCV()`",
    "BERClassifierCV": "`BERClassifierCV()`",
    "cleanlab random forest leaf 20": "cleanlab, random forest with leaves of 20",
    "extra trees leaf 20": "extra trees with leaves of 20",
    "LightGBM": "LightGBM",
}


def table():
    """Return medians and ranges as Markdown; data sets that are too small for a size are left out of it."""
    rows = [row for row in read_rows(RESULTS) if points(row.dataset, row.noise, row.size) == row.size]
    sizes = sorted({row.size for row in rows})
    heads = [f"{2 * size:,} points" for size in sizes]
    lines = [f"| seconds to fit, one core | {' | '.join(heads)} |", "|---|" + "--:|" * len(sizes)]
    for method, title in METHODS.items():
        cells = []
        for size in sizes:
            seconds = [row.seconds for row in rows if (row.method, row.size) == (method, size)]
            low, middle, high = np.quantile(seconds, (0.05, 0.5, 0.95))
            cells.append(f"{middle:.1f} ({low:.1f} to {high:.1f})")
        lines.append(f"| {title} | {' | '.join(cells)} |")
    return "\n".join(lines) + "\n"


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out", type=Path, help="folder for seconds.md")
    options = parser.parse_args()
    print(table())
    if options.out:
        write_whole(options.out / "seconds.md", table())


if __name__ == "__main__":
    main()
