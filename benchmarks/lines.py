"""Print the lines of Python of each room of src/symloss, now and before it was halved (``make lines``)."""

from pathlib import Path

ROOT = Path(__file__).parents[1]
# What a room held before, in the rooms of today. `columns` was in tabular, `models` in estimators.
BEFORE = {
    "losses": 1665, "pairwise": 5969, "risks": 1900, "theory": 1816, "corruption": 781, "metrics": 1353, "audit": 621,
    "boosting": 448, "models": 2500, "estimators": 5700, "datasets": 1564, "tabular": 4992, "paper": 5127,
    "report": 1647, "machines": 579, "cli": 1323,
}  # fmt: skip
ALL_BEFORE = 38_987
ROOMS_OF = {"functional": "risks", "columns": "tabular"}


def count(path: Path) -> int:
    """Count the lines of a file, or of all files of a folder."""
    files = path.rglob("*.py") if path.is_dir() else [path] if path.suffix == ".py" else []
    return sum(len(file.read_text(encoding="utf-8").splitlines()) for file in files)


def main() -> None:
    """Print a Markdown table."""
    now = dict.fromkeys([*BEFORE, "other"], 0)
    for path in (ROOT / "src" / "symloss").iterdir():
        room = ROOMS_OF.get(path.stem, path.stem)
        now[room if room in BEFORE else "other"] += count(path)
    before = BEFORE | {"other": ALL_BEFORE - sum(BEFORE.values())}
    print("| room | before | now |\n|---|--:|--:|")
    for room, lines in now.items():
        print("| {} | {:,} | {:,} |".format(f"`{room}`" if room in BEFORE else "other files", before[room], lines))
    print(f"| **src/symloss** | **{ALL_BEFORE:,}** | **{sum(now.values()):,}** |")
    for name, lines in (("tests", 25_918), ("benchmarks", 6_864)):
        print(f"| {name} | {lines:,} | {count(ROOT / name):,} |")
    words = sum(len(page.read_text(encoding="utf-8").split()) for page in (ROOT / "docs").rglob("*.md"))
    print(f"| words of docs | 87,600 | {words:,} |")


if __name__ == "__main__":
    main()
