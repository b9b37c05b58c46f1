"""The family of Gaussian kernels: sums of kernels around landmarks, fitted by the Nyström method."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from sklearn.kernel_approximation import Nystroem
from torch import nn

from symloss.estimators.base import TrainingData
from symloss.estimators.family import Family, PenalizedRisk, check_above_zero, check_count
from symloss.estimators.linear import check_alpha, minimize_risk
from symloss.estimators.modules import GaussianKernels, StandardizedNetworks
from symloss.estimators.row_products import rows_times_matrix, rows_times_vector
from symloss.estimators.standardization import Standardization, blocks
from symloss.threads import one_thread

Array = NDArray[np.float64]
_KEPT = 2**26  # how many numbers of the features are kept in memory; more are computed again for every product
_ROWS = 2**16  # how many rows of these features are computed at a time
_POINTS = 200_000  # with more points, the risk is that of so many of them: far more than landmarks, and kept in memory


class KernelScores(NamedTuple):
    """Scores sum_k dual_k exp(-gamma |x - landmark_k|^2) + intercept of standardized points.

    Examples
    --------
    >>> model = KernelScores(Standardization(np.zeros(1), np.ones(1)), 1.0, np.zeros((1, 1)), np.array([2.0]), 0.5)
    >>> model.scores(np.array([[0.0]]))
    array([2.5])
    """

    standard: Standardization
    gamma: float
    landmarks: Array
    dual: Array
    intercept: float

    @one_thread()
    def scores(self, X: Array) -> Array:
        """Return one score per row of X, which does not depend on the other rows."""
        columns = np.ascontiguousarray(self.landmarks.T)
        parts = [self._block(X[rows], columns) for rows in blocks(len(X), len(self.landmarks))]
        return np.concatenate(parts) + self.intercept

    def _block(self, X: Array, columns: Array) -> Array:
        points = np.ascontiguousarray(self.standard.transform(X))
        squares = rows_times_matrix(points, -2 * columns)  # of the distances, in one array
        squares += np.einsum("ij,ij->i", points, points)[:, None]
        squares += np.einsum("ij,ij->j", columns, columns)
        np.maximum(squares, 0.0, out=squares)
        squares *= -self.gamma
        return rows_times_vector(np.exp(squares, out=squares), self.dual)


class KernelFeatures:
    """The Nyström features of standardized points, one per landmark: their products approximate the kernel.

    Parameters
    ----------
    X : array of shape (n, d)
        The points.
    standardization : Standardization
        How they are standardized.
    nystroem : scikit-learn's Nystroem
        Fitted to the landmarks.

    Examples
    --------
    >>> X = np.array([[0.0], [1.0]])
    >>> features = KernelFeatures(X, Standardization(np.zeros(1), np.ones(1)), Nystroem(n_components=2).fit(X))
    >>> kernel = features.times(features.transposed_times(np.array([1.0, 0.0])))
    >>> kernel.round(3)  # exp(-|x - x'|^2) of the first point and each of the two
    array([1.   , 0.368])
    """

    def __init__(self, X: Array, standardization: Standardization, nystroem: Nystroem) -> None:
        self._X, self._standardization, self._nystroem = X, standardization, nystroem
        self.width = len(nystroem.components_)
        self._all = self._features() if len(X) * self.width <= _KEPT else None

    def times(self, weights: Array) -> Array:
        """Return F w for weights w, one per feature."""
        if self._all is not None:
            return np.asarray(self._all @ weights)
        return np.concatenate([self._block(rows) @ weights for rows in blocks(len(self._X), self.width)])

    def transposed_times(self, gradient: Array) -> Array:
        """Return F' u for a gradient u with respect to the scores, one number per point."""
        if self._all is not None:
            return np.asarray(self._all.T @ gradient)
        parts = (self._block(rows).T @ gradient[rows] for rows in blocks(len(self._X), self.width))
        return np.asarray(sum(parts))

    def _features(self) -> Array:
        """Return all features, computed in parts, so that what they are computed from takes little memory."""
        features = np.empty((len(self._X), self.width))
        for start in range(0, len(features), _ROWS):
            features[start : start + _ROWS] = self._block(slice(start, start + _ROWS))
        return features

    def _block(self, rows: slice) -> Array:
        return np.asarray(self._nystroem.transform(self._standardization.transform(self._X[rows])))


@one_thread()
def fit_kernel(
    X: Array,
    positive: NDArray[np.bool_],
    weight: Array,
    objective: PenalizedRisk,
    *,
    gamma: float,
    n_landmarks: int,
    seed: int,
    start: KernelScores | None = None,
) -> KernelScores:
    """Minimize a risk over sums of Gaussian kernels around landmarks, which are points drawn by their weights.

    If there are more than 200,000 points, the risk is that of 200,000 of them, as many of either class as possible.

    Parameters
    ----------
    X : array of shape (n, d)
        Features.
    positive : array of n bool
        Whether each label is the positive one.
    weight : array of n weights
        Weight k counts as k repetitions.
    objective : PenalizedRisk
        The risk, and the penalty on the squared norm in the space of the kernel.
    gamma : float
        The kernel is exp(-gamma |x - x'|^2 / m), where m is the mean squared distance of two standardized points.
    n_landmarks : int
        The largest number of landmarks. If every distinct point is one, the Nyström method is exact.
    seed : int
        The seed of drawing landmarks and points.
    start : KernelScores, optional
        The scores from which L-BFGS starts; its landmarks and its kernel are kept.

    Examples
    --------
    >>> from symloss.losses import Sigmoid
    >>> X = np.linspace(-1, 1, 40)[:, None]
    >>> inside = np.abs(X[:, 0]) < 0.5
    >>> objective = PenalizedRisk("auc", Sigmoid(), 0.01)
    >>> model = fit_kernel(X, inside, np.ones(40), objective, gamma=4.0, n_landmarks=20, seed=0)
    >>> bool(model.scores(X[inside]).min() > model.scores(X[~inside]).max())
    True
    """
    generator = np.random.default_rng(seed)
    if start is None:
        standardization = Standardization.fit(X, weight)
        varying = int(np.count_nonzero(X.max(0) > X.min(0)))
        gamma = gamma / (2 * max(varying, 1))  # a varying feature adds 2 to the mean squared distance
        landmarks = standardization.transform(draw_landmarks(X, weight, n_landmarks, generator))
    else:
        standardization, gamma, landmarks = start.standard, start.gamma, start.landmarks
    nystroem = Nystroem(gamma=gamma, n_components=len(landmarks), random_state=seed).fit(landmarks)
    root = nystroem.normalization_
    first = (
        None if start is None else (np.linalg.solve(root.T, start.dual[nystroem.component_indices_]), start.intercept)
    )
    if len(X) > _POINTS:
        rows = draw_rows(positive, _POINTS, generator)
        X, positive, weight = X[rows], positive[rows], weight[rows]
    weights, bias = minimize_risk(KernelFeatures(X, standardization, nystroem), positive, weight, objective, first)
    return KernelScores(standardization, gamma, nystroem.components_, root.T @ weights, bias)


def draw_landmarks(X: Array, weight: Array, n: int, generator: np.random.Generator) -> Array:
    """Return at most n distinct points; four times as many are drawn, because some may be equal."""
    drawn = generator.choice(len(X), min(len(X), 4 * n), replace=False, p=weight / weight.sum())
    _, first = np.unique(X[drawn], axis=0, return_index=True)
    return X[drawn[np.sort(first)[:n]]]


def draw_rows(positive: NDArray[np.bool_], most: int, generator: np.random.Generator) -> NDArray[np.intp]:
    """Return at most so many rows, as many of either class as possible.

    Examples
    --------
    >>> draw_rows(np.array([True, False, False, False]), 2, np.random.default_rng(0))
    array([0, 3])
    """
    if len(positive) <= most:
        return np.arange(len(positive))
    rows = [generator.permutation(np.flatnonzero(of)) for of in (positive, ~positive)]
    fewer = min(*map(len, rows), most // 2)
    return np.concatenate([of[: max(most - fewer, fewer) if len(of) > fewer else fewer] for of in rows])


def _fit(
    data: TrainingData, objective: PenalizedRisk, seed: int, start: KernelScores | None, **parameters: Any
) -> KernelScores:
    return fit_kernel(*data, objective, **parameters, seed=seed, start=start)


def _to_module(scorer: KernelScores, threshold: float) -> nn.Module:
    kernels = GaussianKernels(scorer.landmarks, scorer.dual, scorer.gamma, scorer.intercept)
    return StandardizedNetworks([kernels], scorer.standard, threshold)


KERNEL = Family(
    description="Sums of Gaussian kernels of standardized features, fitted to all points or pairs at once, to the "
    "optimum if the loss is convex; of more than 200,000 points, so many are drawn.",
    fit=_fit,
    scorer=KernelScores,
    stored_as="kernel",
    parameters={"gamma": check_above_zero, "n_landmarks": check_count},
    check_objective=check_alpha,
    to_module=_to_module,
    is_stable=True,
)
