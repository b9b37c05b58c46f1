"""The points with the largest and with the smallest scores: how many carry the other label, and whether that is steady.

A tail of a class holds the points that the scores say are surest to be of this class. If they all are, then which of
them carry the other label is chance, and the share of the other label is the same all over the tail: a plateau. If the
tail also holds points of the other class, this share usually goes on falling towards the end of the ranking.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from symloss.metrics.samples import Sample

_SHARES = tuple(0.7 * 2.0 ** (-k / 2) for k in range(8))  # of the labels of a class, from seven tenths to a sixteenth
_LEAST = 20  # points in a tail
_DIFFERENT = (
    20  # scores in a tail, or else it shows one or two groups of points (a yes or no, scored by each fold's model)
)
_STEADY = 2.054  # standard errors of the slope: so much of a rise is chance in one of fifty plateaus
_SURE = 1.645  # standard errors: a slope may be called small with a risk of one in twenty
_FLAT = 0.6  # of the slope outside the tail


class Tail(NamedTuple):
    """A tail of a class, and the share of the other label in it as a straight line over the ranks of its points.

    Attributes
    ----------
    own_share : float
        The share of the labels of the class that are in the tail.
    points, other : float
        How many points there are, and how many of them carry the other label (effective numbers, if weighted).
    slope, error : float
        The rise of the share of the other label from the sure end of the tail to its inner end, and its standard error.
    outside : float
        The rise over an equally long part of the ranking, on average outside the tail.
    at_end : float
        How many points the value of the line at the sure end is worth: a quarter of all, if no scores tie.
    different : int
        How many different scores there are.

    Examples
    --------
    >>> Tail(0.5, points=100, other=20, slope=0.01, error=0.1, outside=0.4, at_end=25, different=90).is_plateau
    True
    """

    own_share: float
    points: float
    other: float
    slope: float
    error: float
    outside: float
    at_end: float
    different: int

    @property
    def other_share(self) -> float:
        """The share of the points that carry the other label."""
        return self.other / self.points

    @property
    def has_few_scores(self) -> bool:
        """Whether there are too few different scores to see how the share of the other label changes with them."""
        return self.different < _DIFFERENT

    @property
    def is_plateau(self) -> bool:
        """Whether the share of the other label is seen to be steady: it changes little, and rises less than outside."""
        steady = abs(self.slope) < _STEADY * self.error
        return not self.has_few_scores and steady and self.slope + _SURE * self.error < _FLAT * self.outside


def tails(own: Sample, other: Sample, at_top: bool) -> list[Tail]:
    """Return the tails of the class ``own``, the longest first; the top holds the largest scores.

    Examples
    --------
    >>> own, other = (Sample(np.arange(n, n + 100.0), np.ones(100), 100.0) for n in (50, 0))
    >>> [(tail.points, tail.other, tail.is_plateau) for tail in tails(own, other, at_top=True)[:2]]
    [(90.0, 20.0, False), (50.0, 0.0, True)]
    """
    scores, place = np.unique(np.concatenate([own.scores, other.scores]), return_inverse=True)
    if at_top:
        place = len(scores) - 1 - place
    counts = []
    for sample, of in ((own, place[: len(own.scores)]), (other, place[len(own.scores) :])):
        weight = np.bincount(of, sample.weight, len(scores))
        counts.append(weight * (sample.size / weight.sum()))
    of_own, of_other = counts
    found = []
    for share in _SHARES:
        end = 1 + int(np.searchsorted(np.cumsum(of_own), share * own.size * (1 - 1e-12)))
        points = of_own[:end] + of_other[:end]
        total, wrong = float(points.sum()), float(of_other[:end].sum())
        left = own.size + other.size - total
        if total < _LEAST or left < 1e-9 * total:
            continue
        position = (np.cumsum(points) - points / 2) / total  # from 0 at the sure end to 1; ties share one
        spread = float(points @ (position - 0.5) ** 2)
        rest = (other.size - wrong) / left
        variance = (wrong + 0.5) * (total - wrong + 0.5) / (total + 1) ** 2
        found.append(
            Tail(
                share,
                total,
                wrong,
                slope=float(of_other[:end] @ (position - 0.5)) / spread if spread > 0 else 0.0,
                error=math.sqrt(variance / spread) if spread > 0 else math.inf,
                outside=2 * (rest - wrong / total) * total / (own.size + other.size),
                at_end=1 / (1 / total + 0.25 / spread) if spread > 0 else 0.0,
                different=int(np.count_nonzero(points)),
            )
        )
    return found
