"""Write the tables of the page on pairwise speed, from the results of benchmarks/pairwise.py.

python benchmarks/pairwise_tables.py benchmarks/results
"""

import csv
import sys
from pathlib import Path

FILES = {"AMD": "pairwise_cpu_amd.csv", "Intel": "pairwise_cpu_intel.csv", "H200": "pairwise_cuda.csv"}
GROUPS = {
    "unhinged, exponential, squared": ("unhinged", "exponential", "squared"),
    "sigmoid, logistic, savage": ("sigmoid", "logistic", "savage"),
    "zero-one": ("zero_one",),
    "hinge": ("hinge",),
    "squared hinge": ("squared_hinge",),
    "ramp, double hinge, barrier hinge (b = 10, r = 1)": ("ramp", "double_hinge", "barrier_hinge"),
    "squared hinge by a published cumulative sum and autograd": ("cumulative",),
    "one `torch.sort` of all scores": ("sort",),
}
Rows = list[dict[str, str]]


def read(folder: Path) -> dict[str, Rows]:
    """Return the rows of each machine that has results."""
    paths = {machine: folder / name for machine, name in FILES.items()}
    return {
        machine: list(csv.DictReader(path.read_text().splitlines())) for machine, path in paths.items() if path.exists()
    }


def span(values: list[float], digits: str) -> str:
    """Return the smallest and the largest of some numbers as text, or one number if they look the same."""
    if not values:
        return ""
    low, high = format(min(values), digits), format(max(values), digits)
    return low if low == high else f"{low} to {high}"


def machines(results: dict[str, Rows]) -> list[str]:
    named = {machine: row["loss"] for machine, rows in results.items() for row in rows if row["who"] == "machine"}
    return [f"- {machine}: {text}." for machine, text in named.items()]


def million(results: dict[str, Rows]) -> list[str]:
    """Return the table for the largest n: milliseconds and sorts on each machine, and memory."""
    heads, columns = [""], []
    for machine, rows in results.items():
        largest = max(int(row["n"]) for row in rows if row["peer"] == "sort")
        found = {row["loss"]: row for row in rows if row["peer"] == "sort" and int(row["n"]) == largest}
        ms = {loss: 1e3 * float(row["seconds"]) for loss, row in found.items()}
        heads.append(f"{machine}, ms")
        columns.append((ms, ".2f" if machine == "H200" else ".0f"))
        if machine != "H200":
            heads.append(f"{machine}, in sorts")
            columns.append(({loss: float(row["ratio"]) for loss, row in found.items()}, ".2f"))
    memory = next(iter(results.values()))
    heads.append("extra memory, MiB")
    columns.append(({row["loss"]: float(row["seconds"]) for row in memory if row["who"] == "symloss MiB"}, ".0f"))
    lines = [f"| {' | '.join(heads)} |", "|---" * len(heads) + "|"]
    for title, losses in GROUPS.items():
        cells = [span([values[loss] for loss in losses if loss in values], digits) for values, digits in columns]
        lines.append(f"| {title} | {' | '.join(cells)} |")
    return lines


def against(results: dict[str, Rows], peer: str, who: str) -> dict[str, dict[tuple[int, int], list[float]]]:
    """Return the ratios to a peer by machine, and by the number of problems and n."""
    found: dict[str, dict[tuple[int, int], list[float]]] = {}
    for machine, rows in results.items():
        for row in rows:
            if row["peer"] == peer and row["who"] == who:
                key = int(row["problems"]), int(row["n"])
                found.setdefault(machine, {}).setdefault(key, []).append(float(row["ratio"]))
    return found


def small(results: dict[str, Rows]) -> list[str]:
    """Return the table of time divided by that of the matrix."""
    found = against(results, "matrix", "symloss")
    sizes = sorted({key for ratios in found.values() for key in ratios})
    lines = [f"| n = m | {' | '.join(found)} |", "|---" * (len(found) + 1) + "|"]
    for problems, n in sizes:
        cells = [span(ratios.get((problems, n), []), ".2g" if n > 2048 else ".2f") for ratios in found.values()]
        lines.append(f"| {n:,}{f', {problems} problems' if problems > 1 else ''} | {' | '.join(cells)} |")
    return lines


def labels(results: dict[str, Rows]) -> list[str]:
    """Return the table of time divided by that of masks and a matrix, for scores with labels."""
    risks = ("AUCLoss", "BERLoss")
    found = {
        f"{risk}, {machine}": ratios
        for risk in risks
        for machine, ratios in against(results, f"masked {risk}", risk).items()
    }
    sizes = sorted({key for ratios in found.values() for key in ratios})
    lines = [f"| n = m | {' | '.join(found)} |", "|---" * (len(found) + 1) + "|"]
    return [
        *lines,
        *(
            f"| {n:,} | {' | '.join(span(ratios.get((k, n), []), '.2f') for ratios in found.values())} |"
            for k, n in sizes
        ),
    ]


def threads(results: dict[str, Rows]) -> list[str]:
    found = against(results, "one thread", "two threads")
    texts = [f"{span(next(iter(ratios.values())), '.2f')} times on {machine}" for machine, ratios in found.items()]
    return [f"On two threads, the million takes {' and '.join(texts)} the time of one thread."] if texts else []


def main(folder: Path) -> None:
    results = read(folder)
    parts = {
        "pairwise_million.md": [*machines(results), "", *million(results), "", *threads(results)],
        "pairwise_small.md": small(results),
        "pairwise_labels.md": labels(results),
    }
    for name, lines in parts.items():
        (folder / name).write_text("\n".join(lines).rstrip() + "\n")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
