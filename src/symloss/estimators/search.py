"""Score candidates on folds of the corrupted labels: on all points, or by successive halving on ever larger parts."""

from __future__ import annotations

import time
from collections.abc import Iterator
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from symloss.estimators.candidates import Candidates, Scored, fit_and_score
from symloss.estimators.folds import Folds, check_test_folds
from symloss.estimators.judging import Judge, weights_by_least_squares, weights_of_average
from symloss.estimators.pool import FEW
from symloss.estimators.threshold import choose_threshold
from symloss.models.family import TrainingData
from symloss.threads import one_thread

Array = NDArray[np.float64]
Rows = NDArray[np.intp]
_GROWTH = 8  # the better half of the candidates goes on to a part that is so many times as large
_SMALLEST = 3_000  # points of a part, at least
# Fits to folds are kept if there are at most so many folds, each fitted to at least this share of the points.
_MOST_FOLDS, _LEAST_SHARE = 10, 0.7


class Clock:
    """The time since the start of a fit, and whether it leaves room for more.

    Examples
    --------
    >>> Clock(None).has_room_for(1e9), Clock(10.0).has_room_for(1e9)
    (True, False)
    """

    def __init__(self, limit: float | None) -> None:
        self.limit, self.start = limit, time.monotonic()

    def has_room_for(self, seconds: float, share: float = 1.0) -> bool:
        """Return whether work of so many more seconds would end within a share of the limit."""
        return self.limit is None or time.monotonic() - self.start + seconds <= share * self.limit


class Run(Protocol):
    """Runs a function with the arguments of each task, and reports the name of each; tasks may run in parallel."""

    def __call__(
        self, stage: str, function: Any, names: list[str], tasks: list[tuple[Any, ...]]
    ) -> Iterator[tuple[int, Any]]:
        """Yield the number and the result of each task; if no more are asked for, no more are begun."""


class Search:
    """Candidates, their scores on folds, and the weights that follow from them.

    Up to 24,000 points, all candidates are scored on all points. If there are more, all are scored on an eighth of them
    (or an eighth of that, and so on, as long as it has 3,000 points), with both classes in equal numbers as far as
    possible; the better half goes on to a part that is eight times as large.

    Parameters
    ----------
    candidates : list of k (name, estimator)
        The candidates.
    judge : Judge
        The score.
    temperature : float
        How evenly the weights are spread: see ``weights_of_average``.
    clock : Clock
        When it leaves no room, no more candidates are scored; one always is, on all points.
    run : Run
        How tasks are run.

    Attributes
    ----------
    by_fold : array of shape (k, folds)
        The scores on the folds of the last part that a candidate was scored on; NaN if there was no time for it.
    points : array of k int
        The size of this part.
    weights : array of k floats
        The weights of the average.
    scores : dict
        The out-of-fold scores of all points, by the numbers of the candidates that were scored on all points.
    on_folds : dict
        The fits to the folds of candidates whose fits vary, if there are few points and every fold has most of them.
    """

    def __init__(self, candidates: Candidates, judge: Judge, temperature: float, clock: Clock, run: Run) -> None:
        self._candidates, self._judge, self._temperature = candidates, judge, temperature
        self._clock, self._run = clock, run
        self._seconds = np.zeros(len(candidates))  # that a fold takes, a point
        self.by_fold = np.empty((len(candidates), 0))
        self.points = np.zeros(len(candidates), np.intp)
        self.weights = np.zeros(len(candidates))
        self.scores: dict[int, Array] = {}
        self.on_folds: dict[int, list[Any]] = {}
        self._contributions: dict[int, Array] = {}

    def over(self, data: TrainingData, folds: Folds, seed: int) -> None:
        """Score the candidates on folds of points; the seed is that of drawing parts of them."""
        check_test_folds(folds, data.positive)
        n = len(data.weight)
        self.by_fold = np.full((len(self._candidates), len(folds)), np.nan)
        left = list(range(len(self._candidates)))
        for part, of_part in _parts(data, folds, seed):
            is_last = len(part.weight) == n
            if is_last:
                left = self._affordable(left, n, len(folds))
            means = self._score(left, part, of_part, n, keeps=is_last and self._keeps(data.weight, folds))
            best_first = sorted(self.scores, key=lambda c: -means[c])
            left = best_first[: (len(left) + 1) // 2]
        self._weigh(means, data, folds)

    def _keeps(self, weight: Array, folds: Folds) -> bool:
        """Return whether fits are kept: those to few of the points, or very many of them, would not help."""
        most = len(folds) <= _MOST_FOLDS and all(
            weight[train].sum() >= _LEAST_SHARE * weight.sum() for train, _ in folds
        )
        return most and self._temperature > 0 and len(weight) <= FEW

    def _affordable(self, left: list[int], n: int, folds: int) -> list[int]:
        """Return the candidates, the best first, for which there is time on all points; at least the fastest."""
        if not self.points.any():
            return left
        seconds = self._seconds[left] * n * (folds + 1)
        within = [c for c, total in zip(left, np.cumsum(seconds), strict=True) if self._clock.has_room_for(total)]
        return within or [left[int(np.argmin(seconds))]]

    def _score(self, left: list[int], data: TrainingData, folds: Folds, n: int, keeps: bool) -> dict[int, float]:
        """Score candidates on a part of the n points, as long as there is time; return their mean scores."""
        size = len(data.weight)
        stage = "Scoring candidates on folds" + (f" of {size:,} points" if size < n else "")
        calls = [(c, k) for c in left for k in range(len(folds))]
        tasks = [(self._candidates[c][1], *data, *folds[k], keeps) for c, k in calls]
        found: dict[int, dict[int, Scored]] = {}
        self.scores, means = {}, {}
        for number, result in self._run(stage, fit_and_score, [self._candidates[c][0] for c, _ in calls], tasks):
            c, k = calls[number]
            of_candidate = found.setdefault(c, {})
            of_candidate[k] = result
            if len(of_candidate) == len(folds):
                self._seconds[c] = np.mean([each.seconds for each in of_candidate.values()]) / size
                self.points[c] = size
                self.scores[c] = np.full(size, np.nan)
                for place, each in of_candidate.items():
                    self.scores[c][folds[place][1]] = each.scores
                fits = [of_candidate[place].fitted for place in range(len(folds))]
                if keeps and all(each is not None for each in fits):
                    self.on_folds[c] = fits
                means[c] = self._judged(c, data, folds)
            if self.scores and not self._has_time(result.seconds, size, n, len(folds)):
                break
        return means

    def _has_time(self, seconds: float, size: int, n: int, folds: int) -> bool:
        """Return whether there is time for one more fit; half of it is for all points, and then for the fits to all."""
        to_all = n * self._seconds[list(self.scores)]
        if size < n:
            return self._clock.has_room_for(seconds, 0.5) and self._clock.has_room_for(to_all.min() * (folds + 1))
        return self._clock.has_room_for(seconds + float(to_all.sum()))

    @one_thread()
    def _judged(self, c: int, data: TrainingData, folds: Folds) -> float:
        """Set the scores of a candidate on folds, and return the mean of the scores that decide on its weight."""
        if self._judge.has_threshold:
            held_out = ~np.isnan(self.scores[c])
            known = self.scores[c][held_out], data.positive[held_out], data.weight[held_out]
            centered = self.scores[c] - choose_threshold(*known)
        else:
            centered = self.scores[c]
        parts = [(centered[test], data.positive[test], data.weight[test]) for _, test in folds]
        self.by_fold[c] = [self._judge.score(*part) for part in parts]
        self._contributions[c] = sum(np.concatenate([of(*part) for part in parts]) for _, of in self._judge.weighed_by)
        return float(sum(np.mean([score(*part) for part in parts]) for score, _ in self._judge.weighed_by))

    @one_thread()
    def _weigh(self, means: dict[int, float], data: TrainingData, folds: Folds) -> None:
        rows = np.concatenate([test for _, test in folds])
        scored, labels = list(means), (data.positive[rows], data.weight[rows])
        if self._temperature > 0 and len(data.weight) > FEW:
            self.weights[scored] = weights_by_least_squares([self.scores[c][rows] for c in scored], *labels)
        if not self.weights.any():
            contributions = np.array([self._contributions[c] for c in scored])
            of_scored = np.array([means[c] for c in scored])
            self.weights[scored] = weights_of_average(of_scored, contributions, *labels, self._temperature)
        self.on_folds = {c: fits for c, fits in self.on_folds.items() if self.weights[c] > 0}


def _parts(data: TrainingData, folds: Folds, seed: int) -> Iterator[tuple[TrainingData, Folds]]:
    """Yield ever larger parts of the points with the folds of them, at last all points."""
    n = len(data.weight)
    sizes = []
    while n // _GROWTH ** (len(sizes) + 1) >= _SMALLEST:
        sizes.append(n // _GROWTH ** (len(sizes) + 1))
    generator = np.random.default_rng(seed)
    classes = [generator.permutation(np.flatnonzero(of)) for of in (data.positive, ~data.positive)]
    for size in reversed(sizes):
        rows = np.sort(np.concatenate([of[: size // 2] for of in classes]))
        part = data.rows(rows)
        of_part = [tuple(np.flatnonzero(np.isin(rows, of)) for of in fold) for fold in folds]
        if all(len(np.unique(part.positive[of])) == 2 for fold in of_part for of in fold):  # with few of a class, none
            yield part, of_part
    yield data, folds
