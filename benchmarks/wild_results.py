"""The file of results of noisy_labels.py: one row per data set, size, noise, draw and method."""

import csv
import fcntl
import os
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

from symloss.files import whole_file


class Row(NamedTuple):
    """What one method reached in one draw: AUC and balanced accuracy on clean labels in percent, seconds to fit."""

    dataset: str
    size: int
    noise: str
    draw: int
    method: str
    auc: float
    balanced_accuracy: float
    seconds: float

    @property
    def key(self) -> tuple[str, int, str, int, str]:
        """Return what identifies the row."""
        return self[:5]


def read_rows(path: Path) -> list[Row]:
    """Return the rows of a file, or none if there is no file."""
    if not path.exists():
        return []
    with path.open(newline="") as file:
        kinds = (str, int, str, int, str, float, float, float)
        lines = csv.reader(file)
        next(lines)  # the names of the columns
        return [Row(*(kind(value) for kind, value in zip(kinds, line, strict=True))) for line in lines]


def add_rows(path: Path, rows: Iterable[Row]) -> None:
    """Add rows to a file, which is written whole or not at all; of two rows with the same key, the first one stays."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with _alone(path.parent):
        known = {row.key: row for row in [*rows, *read_rows(path)]}
        with whole_file(path) as part, part.open("w", newline="") as file:
            writer = csv.writer(file, lineterminator="\n")
            writer.writerow(Row._fields)
            writer.writerows(
                [*row.key, f"{row.auc:.3f}", f"{row.balanced_accuracy:.3f}", f"{row.seconds:.2f}"]
                for _, row in sorted(known.items())
            )


@contextmanager
def _alone(folder: Path) -> Iterator[None]:
    """Let other runs that write into the same folder wait: none may overwrite what another has added."""
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX)
        yield
    finally:
        os.close(descriptor)
