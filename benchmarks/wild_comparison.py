"""How far the CV estimators are ahead of other methods. The best peer is the one with the best mean of a table."""

from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np
from wild_noise import NOISES, SIZES_OF
from wild_results import Row

OURS = {"AUC": "AUCClassifierCV", "balanced accuracy": "BERClassifierCV"}  # which of ours is compared by which score
SCORES = (*OURS, "seconds")


class Lead(NamedTuple):
    """How far we are ahead of a peer: the mean over data sets, its standard error, and on how many we are ahead."""

    mean: float
    error: float
    sets_ahead: int
    sets: int

    @property
    def text(self) -> str:
        """The mean and its standard error."""
        return f"{self.mean:+.2f}" + (f" ± {self.error:.2f}" if np.isfinite(self.error) else "")

    @property
    def count(self) -> str:
        """On how many data sets we are ahead."""
        return f"{self.sets_ahead} of {self.sets}"


class Table:
    """The results of one half at one size and noise, in those draws that all methods have.

    Parameters
    ----------
    rows : sequence of Row
    half : names of the data sets
    size, noise : which rows to take
    methods : the methods that a complete table has
    draws : the number of draws that a complete table has of each data set
    """

    def __init__(
        self, rows: Sequence[Row], half: Sequence[str], size: int, noise: str, methods: Sequence[str], draws: int
    ):
        found: dict[str, dict[tuple[str, int], tuple[float, ...]]] = {}
        for row in rows:
            if (row.size, row.noise) == (size, noise) and row.dataset in half and row.method in methods:
                found.setdefault(row.method, {})[row.dataset, row.draw] = row[5:]
        self.half, self.size, self.noise = half, size, noise
        self.methods = [method for method in methods if method in found]
        self.peers = [method for method in self.methods if method not in OURS.values()]
        self.draws = sorted(set.intersection(*(set(of) for of in found.values()))) if found else []
        self.datasets = sorted({dataset for dataset, _ in self.draws})
        self._found = found
        absent = [method for method in methods if method not in found]
        lacks = [f"{len(self.draws)} of {draws * len(half)} draws"] * (len(self.draws) < draws * len(half))
        lacks += [f"without {', '.join(absent)}"] * bool(found and absent)
        self.lacks = ", ".join(lacks)  # what a complete table has and this one does not, or an empty text

    @property
    def can_compare(self) -> bool:
        """Whether there is a draw that both of ours and a peer have."""
        return bool(self.draws and self.peers) and set(OURS.values()) <= set(self.methods)

    def of(self, method: str, score: str, dataset: str) -> np.ndarray:
        """Return the scores of a method on a data set, one per draw."""
        column = SCORES.index(score)
        return np.array([self._found[method][draw][column] for draw in self.draws if draw[0] == dataset])

    def by_dataset(self, method: str, score: str) -> np.ndarray:
        """Return the scores of a method, one per data set."""
        return np.array([self.of(method, score, dataset).mean() for dataset in self.datasets])

    def mean(self, method: str, score: str) -> float:
        """Return the mean of a score over the data sets."""
        return float(self.by_dataset(method, score).mean())

    def best_peer(self, score: str) -> str:
        """Return the peer with the best mean of a score."""
        return max(self.peers, key=lambda peer: self.mean(peer, score))

    def lead(self, score: str, peer: str) -> Lead:
        """Return how far ours is ahead of a peer, in the same draws."""
        return lead_of(self.by_dataset(OURS[score], score) - self.by_dataset(peer, score))


def lead_of(differences: np.ndarray) -> Lead:
    """Return how far we are ahead, from one difference per data set."""
    error = standard_error(differences)
    return Lead(float(differences.mean()), error, int((differences > 0).sum()), len(differences))


class Results(NamedTuple):
    """All rows, and what complete tables of them would have."""

    rows: Sequence[Row]
    methods: Sequence[str]
    draws: int

    def table(self, half: Sequence[str], size: int, noise: str) -> Table:
        """Return one table of a half."""
        return Table(self.rows, half, size, noise, self.methods, self.draws)

    def tables(self, half: Sequence[str]) -> Iterator[Table]:
        """Yield all tables of a half."""
        for noise in NOISES:
            for size in SIZES_OF[noise]:
                yield self.table(half, size, noise)

    def mean_lead(self, half: Sequence[str], size: int, score: str, peer: str) -> Lead | None:
        """Return how far ours is ahead of a peer in the mean over all noises, or None if a table is not complete."""
        tables = [table for table in self.tables(half) if table.size == size]
        if any(table.lacks for table in tables):
            return None
        ours = OURS[score]
        return lead_of(
            np.mean([table.by_dataset(ours, score) - table.by_dataset(peer, score) for table in tables], axis=0)
        )


def standard_error(values: np.ndarray) -> float:
    """Return the standard error of a mean, or NaN for one value alone."""
    return float(np.std(values, ddof=1) / np.sqrt(len(values))) if len(values) > 1 else float("nan")
