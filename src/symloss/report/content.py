"""What a report shows, as plain data: runs, how each was made, and its cells beside the paper's."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from symloss.paper.compare import ComparedCell, compare
from symloss.paper.images import FURTHER_SCORES
from symloss.paper.results import Cell, DamagedResult, read_results
from symloss.report.facts import run_facts

PUBLISHED_WAY = "as published"


@dataclass(frozen=True)
class ScoredCell:
    """A compared cell, and the score of every trial.

    Examples
    --------
    >>> cell = ComparedCell("uci", "susy", "ber", 1, 0, "hinge", 77.9, 0.4, 2, True)
    >>> ScoredCell(cell, (77.5, 78.3)).trials
    (77.5, 78.3)
    """

    compared: ComparedCell
    trials: tuple[float, ...]


@dataclass(frozen=True)
class Scoring:
    """All cells of a run that are scored in one way.

    Parameters
    ----------
    way : str
        ``as published``, or what a further way is, such as "dropout off, last epoch".
    results : tuple of Cell
        With the scores of this way.
    cells : tuple of ScoredCell
        In the paper's order.

    Examples
    --------
    >>> Scoring("as published", (), ()).compared
    []
    """

    way: str
    results: tuple[Cell, ...]
    cells: tuple[ScoredCell, ...]

    @property
    def compared(self) -> list[ComparedCell]:
        """The cells without their trials."""
        return [cell.compared for cell in self.cells]


@dataclass(frozen=True)
class Run:
    """A folder of results.

    Parameters
    ----------
    name : str
        The folder's name, with as many of its parents as tell it from the other runs.
    facts : dict
        How it was made: a title, and one text or several.
    scorings : tuple of Scoring
        The published way first.
    damaged : tuple of DamagedResult
        Files that are left out.

    Examples
    --------
    >>> Run("uci-matched", {"trials": ["20"]}, (), ()).name
    'uci-matched'
    """

    name: str
    facts: Mapping[str, Sequence[str]]
    scorings: tuple[Scoring, ...]
    damaged: tuple[DamagedResult, ...]


def read_runs(folders: Iterable[Path]) -> list[Run]:
    """Read folders of results; a folder that is named twice is one run.

    Raises
    ------
    FileNotFoundError, ValueError
        If a folder is missing, or holds no whole result.

    Examples
    --------
    >>> import tempfile
    >>> from symloss.paper.results import write_cell
    >>> scores = {"auc": {"sigmoid": [90, 91]}}
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     _ = write_cell(Path(folder), Cell(family="my", dataset="own", pi=1, pi_prime=0, trials=2, scores=scores))
    ...     (run,) = read_runs([Path(folder)])
    >>> run.scorings[0].cells[0].trials, run.facts["trials"]
    ((90.0, 91.0), ['2'])
    """
    paths = list(dict.fromkeys(folder.resolve() for folder in folders))
    if not paths:
        raise ValueError("a report needs at least one folder of results, got none")
    runs = []
    for name, path in zip(distinct_names(paths), paths, strict=True):
        found = read_results(path)
        runs.append(Run(name, run_facts(path, found.cells), _scorings(found.cells), tuple(found.damaged)))
    return runs


def distinct_names(paths: Sequence[Path]) -> list[str]:
    """Return the shortest ends of paths that differ from each other.

    Examples
    --------
    >>> distinct_names([Path("results/mnist"), Path("old/uci"), Path("new/uci")])
    ['mnist', 'old/uci', 'new/uci']
    """

    def end(path: Path, parts: int) -> str:
        return "/".join(path.parts[-parts:])

    names = []
    for path in paths:
        lengths = range(1, len(path.parts) + 1)
        alone = (n for n in lengths if [end(other, n) for other in paths].count(end(path, n)) == 1)
        names.append(end(path, next(alone, len(path.parts))))
    return names


def _scorings(results: Sequence[Cell]) -> tuple[Scoring, ...]:
    scorings = [_scoring(PUBLISHED_WAY, results)]
    for way, title in FURTHER_SCORES.items():
        if with_way := [result.scored(way) for result in results if way in result.further_scores]:
            scorings.append(_scoring(title, with_way))
    return tuple(scorings)


def _scoring(way: str, results: Sequence[Cell]) -> Scoring:
    trials = {
        (result.family, result.dataset, risk, result.pi, result.pi_prime, loss): tuple(values)
        for result in results
        for risk, losses in result.scores.items()
        for loss, values in losses.items()
    }
    cells = tuple(ScoredCell(cell, trials[(*cell.row, cell.loss)]) for cell in compare(results))
    return Scoring(way, tuple(results), cells)


__all__ = ["PUBLISHED_WAY", "Run", "ScoredCell", "Scoring", "distinct_names", "read_runs"]
