"""What a report shows, as plain data: runs, how each was made, and its cells beside the paper's."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import count
from pathlib import Path

from symloss.files import real
from symloss.paper.compare import Cell, compare
from symloss.paper.images import FURTHER_WAYS
from symloss.paper.results import PUBLISHED, DamagedResult, Result, read_results
from symloss.report.provenance import provenance


@dataclass(frozen=True)
class Run:
    """A folder of results.

    Parameters
    ----------
    name : str
        The folder's name, with as many parent folders as are needed to tell it from the other runs.
    provenance : dict
        How it was made: for each title, one text or several.
    cells : dict
        The cells of each way of scoring, in the paper's order; the published way comes first.
    damaged : tuple of DamagedResult
        Errors of the damaged files, which are left out.

    Examples
    --------
    >>> Run("uci-matched", {"trials": ["20"]}, {"as published": ()}, ()).name
    'uci-matched'
    """

    name: str
    provenance: Mapping[str, Sequence[str]]
    cells: Mapping[str, Sequence[Cell]]
    damaged: tuple[DamagedResult, ...]

    @property
    def published(self) -> Sequence[Cell]:
        """The cells that are scored as published."""
        return self.cells[PUBLISHED]


def read_runs(folders: Iterable[Path]) -> list[Run]:
    """Read folders of results, and number their cells; a folder that is given twice is one run.

    Raises
    ------
    FileNotFoundError, ValueError
        If a folder is missing, or holds no whole result.

    Examples
    --------
    >>> import tempfile
    >>> from symloss.paper.results import write_result
    >>> scores = {"auc": {"sigmoid": [90, 91]}}
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     result = Result(family="my", dataset="own", pi=1, pi_prime=0, trials=2, scores=scores)
    ...     _ = write_result(Path(folder), result)
    ...     (run,) = read_runs([Path(folder)])
    >>> run.published[0].scores, run.provenance["trials"]
    ((90.0, 91.0), ['2'])
    """
    paths = list(dict.fromkeys(map(real, folders)))
    if not paths:
        raise ValueError("a report needs at least one folder of results, got none")
    runs, numbers = [], count()
    for name, path in zip(distinct_names(paths), paths, strict=True):
        found = read_results(path)
        cells = _numbered_cells(found.whole, numbers)
        runs.append(Run(name, provenance(path, found.whole), cells, tuple(found.damaged)))
    return runs


def distinct_names(paths: Sequence[Path]) -> list[str]:
    """Return for each path its shortest ending that no other path has.

    Examples
    --------
    >>> distinct_names([Path("results/mnist-matched"), Path("old/uci"), Path("new/uci")])
    ['mnist-matched', 'old/uci', 'new/uci']
    """

    def end(path: Path, parts: int) -> str:
        return "/".join(path.parts[-parts:])

    names = []
    for path in paths:
        lengths = range(1, len(path.parts) + 1)
        alone = (n for n in lengths if [end(other, n) for other in paths].count(end(path, n)) == 1)
        names.append(end(path, next(alone, len(path.parts))))
    return names


def _numbered_cells(results: Sequence[Result], numbers: Iterator[int]) -> dict[str, list[Cell]]:
    cells = {}
    for way, title in {PUBLISHED: PUBLISHED, **FURTHER_WAYS}.items():
        if with_way := [result for result in results if way in result.ways]:
            cells[title] = [replace(cell, number=next(numbers)) for cell in compare(with_way, way)]
    return cells


__all__ = ["Run", "distinct_names", "read_runs"]
