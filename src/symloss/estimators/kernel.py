"""Scores in a Gaussian kernel's space, by the Nyström method: as many landmarks as features."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from sklearn.kernel_approximation import Nystroem
from sklearn.metrics.pairwise import rbf_kernel

from symloss.estimators.linear import Penalised, minimise_risk
from symloss.estimators.standardise import Standard, blocks
from symloss.threads import one_thread

Array = NDArray[np.float64]
_KEPT = 2**25  # features kept in memory, as numbers; more are computed again for every product


class KernelScores(NamedTuple):
    """Scores sum_k dual_k exp(-gamma |x - landmark_k|^2) + intercept, of standardised points.

    Examples
    --------
    >>> model = KernelScores(Standard(np.zeros(1), np.ones(1)), 1.0, np.zeros((1, 1)), np.array([2.0]), 0.5)
    >>> model.scores(np.array([[0.0]]))
    array([2.5])
    """

    standard: Standard
    gamma: float
    landmarks: Array
    dual: Array
    intercept: float

    @one_thread()
    def scores(self, X: Array) -> Array:
        """Return the scores of the rows of X."""
        parts = [self._block(X[rows]) for rows in blocks(len(X), len(self.landmarks))]
        return np.concatenate(parts) + self.intercept

    def _block(self, X: Array) -> Array:
        return np.asarray(rbf_kernel(self.standard.apply(X), self.landmarks, self.gamma) @ self.dual)


class KernelFeatures:
    """The Nyström features of standardised points.

    Parameters
    ----------
    X : array of shape (n, d)
    standard : Standard
    nystroem : scikit-learn's Nystroem, fitted

    Examples
    --------
    >>> X = np.array([[0.0], [1.0]])
    >>> features = KernelFeatures(X, Standard(np.zeros(1), np.ones(1)), Nystroem(n_components=2).fit(X))
    >>> kernel = features.times(features.transposed_times(np.array([1.0, 0.0])))
    >>> kernel.round(3)  # exp(-|x - x'|^2), here and there
    array([1.   , 0.368])
    """

    def __init__(self, X: Array, standard: Standard, nystroem: Nystroem) -> None:
        self._X, self._standard, self._nystroem = X, standard, nystroem
        self.width = len(nystroem.components_)
        self._all = self._block(slice(None)) if len(X) * self.width <= _KEPT else None

    def times(self, weights: Array) -> Array:
        """Return F w."""
        if self._all is not None:
            return np.asarray(self._all @ weights)
        return np.concatenate([self._block(rows) @ weights for rows in blocks(len(self._X), self.width)])

    def transposed_times(self, by_scores: Array) -> Array:
        """Return F' u."""
        if self._all is not None:
            return np.asarray(self._all.T @ by_scores)
        parts = (self._block(rows).T @ by_scores[rows] for rows in blocks(len(self._X), self.width))
        return np.asarray(sum(parts))

    def _block(self, rows: slice) -> Array:
        return np.asarray(self._nystroem.transform(self._standard.apply(self._X[rows])))


@one_thread()
def fit_kernel(
    X: Array,
    positive: NDArray[np.bool_],
    weight: Array,
    penalised: Penalised,
    *,
    gamma: float,
    n_landmarks: int,
    seed: int,
    start: KernelScores | None = None,
) -> KernelScores:
    """Minimise a risk over the scores that a Gaussian kernel spans on landmarks, points drawn by their weights.

    Parameters
    ----------
    X, positive, weight
        The data; weight k counts as k repetitions.
    penalised : Penalised
        The risk, and the penalty on the squared norm in the kernel's space.
    gamma : float
        The kernel is exp(-gamma |x - x'|^2 / m), where m is the mean squared distance of two standardised points.
    n_landmarks : int
        The most landmarks; with as many as distinct points, the method is exact.
    seed : int
        Of the draw.
    start : KernelScores, optional
        Where to start; its landmarks and kernel are kept.

    Examples
    --------
    >>> from symloss.losses import Sigmoid
    >>> X = np.linspace(-1, 1, 40)[:, None]
    >>> inside = np.abs(X[:, 0]) < 0.5
    >>> model = fit_kernel(X, inside, np.ones(40), Penalised("auc", Sigmoid(), 0.01), gamma=4.0, n_landmarks=20, seed=0)
    >>> bool(model.scores(X[inside]).min() > model.scores(X[~inside]).max())
    True
    """
    if start is None:
        standard = Standard.of(X, weight)
        varying = int(np.count_nonzero(X.max(0) > X.min(0)))
        gamma = gamma / (2 * max(varying, 1))
        landmarks = standard.apply(_landmarks(X, weight, n_landmarks, np.random.default_rng(seed)))
    else:
        standard, gamma, landmarks = start.standard, start.gamma, start.landmarks
    nystroem = Nystroem(gamma=gamma, n_components=len(landmarks), random_state=seed).fit(landmarks)
    root = nystroem.normalization_
    first = (
        None if start is None else (np.linalg.solve(root.T, start.dual[nystroem.component_indices_]), start.intercept)
    )
    weights, bias = minimise_risk(KernelFeatures(X, standard, nystroem), positive, weight, penalised, first)
    return KernelScores(standard, gamma, nystroem.components_, root.T @ weights, bias)


def _landmarks(X: Array, weight: Array, n: int, generator: np.random.Generator) -> Array:
    drawn = generator.choice(len(X), min(len(X), 4 * n), replace=False, p=weight / weight.sum())
    _, first = np.unique(X[drawn], axis=0, return_index=True)
    return X[drawn[np.sort(first)[:n]]]
