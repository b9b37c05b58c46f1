"""The family of cells: a score is the mean label of the points that are nearest to the same drawn points.

A partition draws some features and some points, the centers. The points whose nearest center is the same are a cell.
Labels have no say in where cells lie, so that wrong labels cannot bend them; a tree chooses its splits by the labels.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from torch import nn

from symloss.estimators.base import TrainingData
from symloss.estimators.family import Family, PenalizedRisk, check_count
from symloss.estimators.forest import balanced_weight, needs_average_label
from symloss.estimators.modules import CellMeans
from symloss.estimators.standardization import Standardization, blocks
from symloss.threads import one_thread

Array = NDArray[np.float64]
_SHARE = 0.3  # of the features, in each partition
_SIZES = 5  # partitions have n_cells, n_cells / 2, ..., n_cells / 16 cells in turn
_POINTS_OF_A_CELL = 5  # in the mean at least
_PRIOR = 10.0  # points with the label 0 that each cell has besides its own
# Standardized features are cut off and rounded, so that distances are whole numbers without rounding errors, and the
# nearest center is the same one on every processor, also where two are equally near.
_FARTHEST, _STEPS = 8.0, 1024.0


class CellScores(NamedTuple):
    """Means over partitions of what is known of the labels in the cell of a point.

    ``features`` has the features of each partition, ``sizes`` its number of cells; the centers and the values of all
    cells stand one partition after the other. Arrays of whole numbers are floats, as all arrays in files are.

    Examples
    --------
    >>> standard = Standardization(np.zeros(1), np.ones(1))
    >>> centers = np.array([[-1024.0], [1024.0]])
    >>> CellScores(standard, np.zeros((1, 1)), np.array([2.0]), centers, np.array([-0.5, 0.5])).scores([[2.0], [-3.0]])
    array([ 0.5, -0.5])
    """

    standard: Standardization
    features: Array
    sizes: Array
    centers: Array
    values: Array

    @one_thread()
    def scores(self, X: Any) -> Array:
        """Return one score per row of X."""
        X = np.asarray(X)
        return np.concatenate([self._block(X[rows]) for rows in blocks(len(X), int(self.sizes.max()))])

    def _block(self, X: Array) -> Array:
        places, total, end = _places(self.standard, X), np.zeros(len(X)), 0
        for features, size in zip(self.features.astype(np.intp), self.sizes.astype(np.intp), strict=True):
            start, end = end, end + size
            total += self.values[start:end][_nearest(places[:, features], self.centers[start:end])]
        return total / len(self.sizes)

    def check(self) -> None:
        """Raise ValueError unless the arrays fit together, as those of a fitted model do.

        Examples
        --------
        >>> standard = Standardization(np.zeros(1), np.ones(1))
        >>> CellScores(standard, np.ones((1, 1)), np.ones(1), np.zeros((1, 1)), np.zeros(1)).check()
        Traceback (most recent call last):
        ValueError: expected features of cells from 0 to 0, found 1 to 1
        """
        d, cells = len(self.standard.mean), len(self.values)
        if self.features.ndim != 2 or not self.features.size:
            raise ValueError(f"expected features of each partition, found an array of shape {self.features.shape}")
        low, high = self.features.min(), self.features.max()
        if not 0 <= low <= high < d or (self.features % 1).any():
            raise ValueError(f"expected features of cells from 0 to {d - 1}, found {low:g} to {high:g}")
        whole = self.sizes.shape == (len(self.features),) and not (self.sizes % 1).any() and (self.sizes >= 1).all()
        if not whole or self.sizes.sum() != cells or self.values.shape != (cells,):
            raise ValueError(f"expected as many cells as there are values, {cells}, found sizes {self.sizes[:5]}")
        if self.centers.shape != (cells, self.features.shape[1]):
            expected = (cells, self.features.shape[1])
            raise ValueError(f"expected centers of shape {expected}, found {self.centers.shape}")


@one_thread()
def fit_cells(
    X: Array,
    positive: NDArray[np.bool_],
    weight: Array,
    *,
    n_estimators: int,
    n_cells: int,
    seed: int,
    start: CellScores | None = None,
) -> CellScores:
    """Find the value of each cell of random partitions; both classes have the same total weight.

    The value minimizes the squared loss of labels +1 and -1 in the cell, with a penalty that pulls it to 0.

    Parameters
    ----------
    X : array of shape (n, d)
        Features.
    positive : array of n bool
        Whether each label is the positive one.
    weight : array of n positive weights
        Weight k counts as k repetitions.
    n_estimators : int
        The number of partitions.
    n_cells : int
        The largest number of cells in a partition; others have a half, a quarter, ... of it.
    seed : int
        The seed of drawing features and centers.
    start : CellScores, optional
        A model whose partitions are kept; those that it lacks are added.

    Examples
    --------
    >>> X = np.linspace(0, 1, 100)[:, None]
    >>> model = fit_cells(X, X[:, 0] > 0.5, np.ones(100), n_estimators=20, n_cells=16, seed=0)
    >>> low, high = model.scores(X[[0, -1]])
    >>> bool(low < -0.3 and high > 0.3)
    True
    """
    standard = Standardization.fit(X, weight) if start is None else start.standard
    places = _places(standard, X)
    varying = np.flatnonzero(X.max(0) > X.min(0))
    width = min(X.shape[1], max(2, round(_SHARE * len(varying)))) if start is None else start.features.shape[1]
    drawn_from = varying if len(varying) >= width else np.arange(X.shape[1])
    share, balanced = weight / weight.sum(), balanced_weight(positive, weight)
    balanced *= weight.sum() / balanced.sum()
    signed = np.where(positive, balanced, -balanced)
    parts: list[tuple[Array, Array, Array]] = []
    for number in range(0 if start is None else len(start.sizes), n_estimators):
        generator = np.random.default_rng([seed, number])
        features = generator.choice(drawn_from, width, replace=False)
        size = max(1, min(n_cells >> number % _SIZES, len(X) // _POINTS_OF_A_CELL))
        points = places[:, features]
        centers = points[generator.choice(len(X), size, replace=False, p=share)]
        cell = _nearest(points, centers)
        sums, totals = np.bincount(cell, signed, size), np.bincount(cell, balanced, size)
        parts.append((features, centers, sums / (totals + _PRIOR)))
    return _joined(standard, parts, start)


def _joined(standard: Standardization, parts: list[tuple[Array, Array, Array]], start: CellScores | None) -> CellScores:
    """Return a model of the partitions of a start, if there is one, and of further ones."""
    if not parts and start is not None:
        return start
    features, centers, values = zip(*parts, strict=True)
    sizes = [len(of) for of in values]
    further = (np.array(features, float), np.array(sizes, float), np.concatenate(centers), np.concatenate(values))
    arrays = further if start is None else map(np.concatenate, zip(start[1:], further, strict=True))
    return CellScores(standard, *arrays)


def _places(standard: Standardization, X: Array) -> Array:
    """Return standardized features in steps of 1/1024, as whole numbers."""
    return np.rint(np.clip(standard.transform(X), -_FARTHEST, _FARTHEST) * _STEPS)


def _nearest(points: Array, centers: Array) -> NDArray[np.intp]:
    """Return the nearest center of each point, the first one of several; products of whole numbers are exact."""
    nearness = points @ centers.T
    nearness -= (centers**2).sum(1) / 2
    return np.asarray(np.argmax(nearness, axis=1))


def _fit(data: TrainingData, _: PenalizedRisk, seed: int, start: CellScores | None, **parameters: Any) -> CellScores:
    return fit_cells(*data, **parameters, seed=seed, start=start)


def _to_module(scorer: CellScores, threshold: float) -> nn.Module:
    arrays = scorer.features, scorer.sizes, scorer.centers, scorer.values
    return CellMeans(scorer.standard, (_FARTHEST, _STEPS), *arrays, threshold)


CELLS = Family(
    description="Mean labels of cells: points that have the same nearest one of some points that are drawn, by "
    'features that are drawn, in many partitions. Their loss is ``"unhinged"`` or ``"squared"``, as that of trees.',
    fit=_fit,
    scorer=CellScores,
    stored_as="cells",
    parameters={"n_estimators": check_count, "n_cells": check_count},
    check_objective=needs_average_label("cells", "cell"),
    to_module=_to_module,
    threshold_is_zero=True,  # there eta is 1/2, if both classes are equally frequent: best by balanced accuracy
    is_stable=True,
)
