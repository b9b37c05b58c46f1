"""The files of results of noisy_labels.py and wrong_labels.py: one row per draw and method."""

import csv
import fcntl
import os
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple, get_type_hints

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


def read_rows(path: Path, kind: Any = Row) -> list[Any]:
    """Return the rows of a file, or none if there is no file; ``kind`` is their class, whose last field is seconds."""
    if not path.exists():
        return []
    types = get_type_hints(kind).values()
    with path.open(newline="") as file:
        lines = csv.reader(file)
        next(lines)  # the names of the columns
        return [kind(*(read(value) for read, value in zip(types, line, strict=True))) for line in lines]


def add_rows(path: Path, rows: Iterable[Any], kind: Any = Row) -> None:
    """Add rows to a file, which is written whole or not at all; of two rows with the same key, the first one stays."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with _alone(path.parent):
        known = {row.key: row for row in [*rows, *read_rows(path, kind)]}
        with whole_file(path) as part, part.open("w", newline="") as file:
            writer = csv.writer(file, lineterminator="\n")
            writer.writerow(kind._fields)
            for key, found in sorted(known.items()):
                *scores, seconds = found[len(key) :]
                writer.writerow([*key, *(f"{score:.3f}" for score in scores), f"{seconds:.2f}"])


@contextmanager
def _alone(folder: Path) -> Iterator[None]:
    """Let other runs that write into the same folder wait: none may overwrite what another has added."""
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX)
        yield
    finally:
        os.close(descriptor)
