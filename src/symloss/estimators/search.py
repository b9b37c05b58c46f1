"""Score candidates on folds of the corrupted labels: on all points, or on a part first and the best ones on all."""

from __future__ import annotations

import time
from collections.abc import Collection, Iterator
from typing import Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from symloss.estimators.base import TrainingData
from symloss.estimators.candidates import ALL_AT_ONCE, Candidates, groups, score_together
from symloss.estimators.folds import Folds, check_test_folds
from symloss.estimators.judging import Judge
from symloss.estimators.weighting import weights_by_least_squares, weights_of_average
from symloss.threads import one_thread

Array = NDArray[np.float64]
Rows = NDArray[np.intp]
_PARTS = (3000, 24_000)  # if there are more than twice as many points, candidates are scored on such a part first
_KEPT = ((50_000, 8),)  # up to so many points, at most so many of the best candidates are scored
_KEPT_OF_MORE = 3
_OF_A_FAMILY = 2  # with learning curves, first so many of a family go on
_SHARE_OF_GROWTH = 0.5  # learning curves flatten: what is left of the growth of a score by the next part
_GROWTH_OF_TIME = 0.85  # n times as many points are expected to take n to this power times as long: the pool's do
_KEPT_TIME = 0.75  # at most this share of a time limit is kept for all points while parts are scored
# Fits to folds are kept if there are at most so many folds, each fitted to at least this share of the points.
_MOST_FOLDS, _LEAST_SHARE = 10, 0.7
_SHARE_OF_FIT = 1.25  # a fit to all points takes so many times as long as that of one fold


class Clock:
    """The time since the start of a fit, and whether it leaves room for more.

    Examples
    --------
    >>> Clock(None).has_room_for(1e9), Clock(10.0).has_room_for(1e9)
    (True, False)
    """

    def __init__(self, limit: float | None) -> None:
        self.limit, self.start = limit, time.monotonic()

    def has_room_for(self, seconds: float) -> bool:
        """Return whether work of so many more seconds would end before the limit."""
        return self.limit is None or time.monotonic() - self.start + seconds <= self.limit


class Run(Protocol):
    """Runs a function with the arguments of each task, in parallel, and reports which candidates each task has ended.

    ``done`` of ``total`` fits of this stage have ended before.
    """

    def __call__(
        self, stage: str, function: Any, names: list[list[str]], tasks: list[tuple[Any, ...]], done: int, total: int
    ) -> list[Any]:
        """Return the result of each task."""


class Search:
    """Candidates, their scores on folds, and the weights that follow from them.

    If there are many points, all candidates are scored on a part of them, with both classes in equal numbers as far as
    possible; then the best ones, of different families if possible, on a larger part, and at last on all points: those
    that are expected to be best there, by how fast their scores have grown from part to part.

    Parameters
    ----------
    candidates : list of k (name, estimator)
        The candidates.
    judge : Judge
        The score.
    temperature : float
        How evenly the weights are spread: see ``weights_of_average``.
    clock : Clock
        When it leaves no room, no more candidates are scored; one always is, on all points. The seconds of the last
        part that a candidate was scored on tell what it will take on more points, and what its fit to all will.
    run : Run
        How tasks are run.
    for_many : collection of names
        The candidates that need many points to be good: they come right after the best one of every family.

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

    def __init__(
        self,
        candidates: Candidates,
        judge: Judge,
        temperature: float,
        clock: Clock,
        run: Run,
        for_many: Collection[str] = (),
    ) -> None:
        self._candidates, self._judge, self._temperature = candidates, judge, temperature
        self._clock, self._run, self._for_many, self._keeps = clock, run, for_many, False
        self._seconds, self._speed = np.zeros(len(candidates)), 1.0
        self._means, self._slopes, self._sizes = np.zeros((3, len(candidates)))
        self.by_fold = np.empty((len(candidates), 0))
        self.points = np.zeros(len(candidates), np.intp)
        self.weights = np.zeros(len(candidates))
        self.scores: dict[int, Array] = {}
        self.on_folds: dict[int, list[Any]] = {}

    def over(self, data: TrainingData, folds: Folds, seed: int) -> None:
        """Score the candidates on folds of points; the seed is that of drawing parts of them."""
        check_test_folds(folds, data.positive)
        n = len(data.weight)
        self._keeps = self._temperature > 0 and n <= ALL_AT_ONCE and _have_most(data.weight, folds)
        for part, most in _parts(data, folds, seed):
            size = len(part.data.weight)
            left = list(range(len(self._candidates))) if most is None else self._best(most, n)
            chosen = self._affordable(left, size, n, len(folds))
            if most is not None and size < n and len(chosen) == 1:
                continue  # one candidate has nobody to be compared with: what time there is belongs to all points
            stage = "Scoring candidates on folds" + (f" of {size:,} points" if size < n else "")
            self.scores = self._out_of_fold(chosen, *part, stage, n)
            self._weigh(*part)

    def has_room_for_fits(self, candidates: list[int], times: float) -> bool:
        """Return whether fits to all points would end in time if they took so many times as long as they do."""
        seconds = _SHARE_OF_FIT / self.by_fold.shape[1] * self._seconds[candidates].sum()
        return self._clock.has_room_for(times * float(seconds))

    def _best(self, most: int, n: int) -> list[int]:
        """Return the candidates that go on, the best first, by what they are expected to score on n points.

        After one part, nobody knows their learning curves. With more points a flexible candidate may overtake: the best
        one of every family has to be there, and those for many points, even if they were behind on few points.
        """
        scored = list(self.scores)
        at_the_end = self._means + _SHARE_OF_GROWTH * self._slopes * np.log(n / np.maximum(self._sizes, 1))
        ordered = [scored[k] for k in np.argsort(-at_the_end[scored], kind="stable")]
        families = [_family(self._candidates[c][1]) for c in ordered]
        has_curves = self._slopes[scored].any()
        allowed = _OF_A_FAMILY if has_curves else 1
        first = [c for k, c in enumerate(ordered) if families[:k].count(families[k]) < allowed]
        if not has_curves:
            first += [c for c in ordered if c not in first and self._candidates[c][0] in self._for_many]
        chosen = [*first, *(c for c in ordered if c not in first)][:most]
        return [c for c in ordered if c in chosen]

    def _expected(self, candidates: list[int], n: int) -> Array:
        """Return how many seconds the folds of n points will take, by what those of fewer points took."""
        growth = (n / np.maximum(self.points[candidates], 1)) ** _GROWTH_OF_TIME
        return np.asarray(self._seconds[candidates] * growth / self._speed)

    def _to_the_end(self, candidates: list[int], n: int, folds: int) -> Array:
        """Return how many seconds the folds of all n points will take, and then the fit to all."""
        return self._expected(candidates, n) * (1 + _SHARE_OF_FIT * self._speed / folds)

    def _affordable(self, left: list[int], size: int, n: int, folds: int) -> list[int]:
        """Return the candidates, the best first, for which there is time on a part of the n points; one at least.

        On a part that is not the last one, as much time is left as the best one needs on all points.
        """
        end = self._to_the_end(left, n, folds)
        kept, total = [], 0.0 if size == n else end[0]
        for c, seconds in zip(left, end if size == n else self._expected(left, size), strict=True):
            if self._clock.has_room_for(total + seconds):
                kept.append(c)
                total += seconds
        return kept or [left[int(np.argmin(end))]]

    def _out_of_fold(self, left: list[int], data: TrainingData, folds: Folds, stage: str, n: int) -> dict[int, Array]:
        """Return the scores of points by fits without them, for each candidate that there was time for."""
        tasks = [[left[k] for k in group] for group in groups([self._candidates[c][1] for c in left])]
        total = len(left) * len(folds)
        if self._clock.limit is None:
            tasks.sort(key=len, reverse=True)
            return self._scores_of(tasks, data, folds, stage, 0, total)
        scores: dict[int, Array] = {}
        start, work = time.monotonic(), 0.0
        for group in tasks:
            if scores and not self._clock.has_room_for(self._needed(group, list(scores), len(data.weight), n, folds)):
                break
            scores |= self._scores_of([group], data, folds, stage, len(scores) * len(folds), total)
            if len(group) == 1:  # what several share would be counted several times
                work += self._seconds[group[0]]
                self._speed = max(work / max(time.monotonic() - start, 1e-9), 1.0)
        return scores

    def _needed(self, group: list[int], scored: list[int], size: int, n: int, folds: Folds) -> float:
        """Return how many seconds a group will take on a part of the n points, and then the end of the search."""
        known = [c if self.points[c] else scored[-1] for c in group]
        if size == n:
            return float(self._expected(known, n).sum() + _SHARE_OF_FIT / len(folds) * self._seconds[scored].sum())
        end = min(float(self._to_the_end(scored, n, len(folds)).min()), _KEPT_TIME * (self._clock.limit or 0.0))
        return float(self._expected(known, size).sum()) + end

    def _scores_of(
        self, together: list[list[int]], data: TrainingData, folds: Folds, stage: str, done: int, total: int
    ) -> dict[int, Array]:
        # Fold by fold, and the longest first: so the fits that have ended tell how long the others will take.
        ordered = sorted(together, key=lambda group: -self._expected(group, len(data.weight)).sum())
        calls = [(group, fold) for fold in folds for group in ordered]
        names = [[self._candidates[c][0] for c in group] for group, _ in calls]
        tasks = [([self._candidates[c][1] for c in group], *data, *fold, self._keeps) for group, fold in calls]
        results = self._run(stage, score_together, names, tasks, done, total)
        scores = {c: np.full(len(data.weight), np.nan) for group in together for c in group}
        self._seconds[list(scores)], self.points[list(scores)] = 0.0, len(data.weight)
        for (group, (_, test)), of_group in zip(calls, results, strict=True):
            for c, found in zip(group, of_group, strict=True):
                scores[c][test] = found.scores
                self._seconds[c] += found.seconds
                if found.fitted is not None:
                    self.on_folds.setdefault(c, []).append(found.fitted)
        return scores

    @one_thread()
    def _weigh(self, data: TrainingData, folds: Folds) -> None:
        if not self.by_fold.shape[1]:
            self.by_fold = np.full((len(self._candidates), len(folds)), np.nan)
        contributions = {}
        for c, scores in self.scores.items():
            centered = self._judge.centered(scores, data.positive, data.weight)
            held_out = [(centered[test], data.positive[test], data.weight[test]) for _, test in folds]
            self.by_fold[c] = [self._judge.score(*fold) for fold in held_out]
            parts = self._judge.weighed_by
            mean = sum(np.mean([score(*fold) for fold in held_out]) for score, _ in parts)
            self._learn(c, float(mean), len(data.weight))
            contributions[c] = sum(np.concatenate([of(*fold) for fold in held_out]) for _, of in parts)
        rows = np.concatenate([test for _, test in folds])
        scored, labels = list(self.scores), (data.positive[rows], data.weight[rows])
        self.weights[:] = 0.0
        if self._temperature > 0 and len(data.weight) > ALL_AT_ONCE:
            self.weights[scored] = weights_by_least_squares(
                np.array([scores[rows] for scores in self.scores.values()]), *labels
            )
        if not self.weights.any():
            self.weights[scored] = weights_of_average(
                self._means[scored],
                np.array(list(contributions.values())),
                *labels,
                self._temperature,
            )
        self.on_folds = {c: fits for c, fits in self.on_folds.items() if self.weights[c] > 0}

    def _learn(self, c: int, mean: float, size: int) -> None:
        """Keep the mean score of a candidate on a part, and how fast it has grown with the logarithm of the points."""
        if 0 < self._sizes[c] < size:
            self._slopes[c] = (mean - self._means[c]) / np.log(size / self._sizes[c])
        self._means[c], self._sizes[c] = mean, size


def _have_most(weight: Array, folds: Folds) -> bool:
    """Return whether every fold is fitted to most of the points; more folds would give many models, nearly the same."""
    least = _LEAST_SHARE * weight.sum()
    return len(folds) <= _MOST_FOLDS and all(weight[train].sum() >= least for train, _ in folds)


def _family(estimator: Any) -> tuple[str, str]:
    model = getattr(estimator, "model", None)
    return type(estimator).__name__, model if isinstance(model, str) else type(model).__name__


class _Part(NamedTuple):
    data: TrainingData
    folds: Folds


def _parts(data: TrainingData, folds: Folds, seed: int) -> Iterator[tuple[_Part, int | None]]:
    """Yield ever larger parts of the points, and how many candidates are scored on each, at most; None means all."""
    n, most = len(data.weight), None
    generator = np.random.default_rng(seed)
    classes = [generator.permutation(np.flatnonzero(of)) for of in (data.positive, ~data.positive)]
    for size in (size for size in _PARTS if n > 2 * size):
        rows = np.sort(np.concatenate([of[: size // 2] for of in classes]))
        part = _Part(data.rows(rows), [(_places(train, rows), _places(test, rows)) for train, test in folds])
        if not all(_has_both(part.data.positive[of]) for fold in part.folds for of in fold):
            break  # folds of few points may lack a class in a part
        yield part, None if most is None else _most(size)
        most = _most(n)
    yield _Part(data, folds), most


def _places(rows: Rows, of: Rows) -> Rows:
    """Return the places of rows among others, which are sorted; rows that are not there are left out."""
    return np.flatnonzero(np.isin(of, rows))


def _has_both(positive: NDArray[np.bool_]) -> bool:
    return bool(positive.any() and not positive.all())


def _most(n: int) -> int:
    return next((most for size, most in _KEPT if n <= size), _KEPT_OF_MORE)
