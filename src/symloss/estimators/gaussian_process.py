"""The family of Gaussian processes: regression on the labels with a Laplace kernel, around landmarks.

The length of the kernel and the noise of the labels are those of largest marginal likelihood, so that there is nothing
to set. The scores of the training points by a model without each of them cost no further fit.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import solve_triangular
from scipy.spatial.distance import cdist
from torch import nn

from symloss.estimators.base import TrainingData
from symloss.estimators.family import Family, PenalizedRisk, check_count
from symloss.estimators.kernel import draw_landmarks, draw_rows
from symloss.estimators.modules import LaplaceKernels, StandardizedNetworks
from symloss.estimators.row_products import rows_times_vector
from symloss.estimators.standardization import Standardization, blocks
from symloss.threads import one_thread

Array = NDArray[np.float64]
_LENGTHS = (0.7, 1.8, 4.5, 11.0)  # in medians of the distances between landmarks
_NOISES = 10.0 ** np.arange(-2.5, 3.6, 0.5)  # variance of a label's noise, in variances of the process
_CHOSEN_ON = 4000  # at most so many rows decide on length and noise, as many of either class as possible
_LARGEST_LEVERAGE = 0.999  # a point without which the model has no say has no score of its own
_JITTER = 1e-10  # added to the diagonal of the kernel, so that rounding leaves it positive definite


class GaussianProcessScores(NamedTuple):
    """Scores sum_k dual_k exp(-|x - landmark_k| / length) of standardized points.

    Examples
    --------
    >>> model = GaussianProcessScores(Standardization(np.zeros(1), np.ones(1)), 1.0, np.zeros((1, 1)), np.array([2.0]))
    >>> model.scores(np.array([[0.0]]))
    array([2.])
    """

    standard: Standardization
    length: float
    landmarks: Array
    dual: Array

    @one_thread()
    def scores(self, X: Array) -> Array:
        """Return one score per row of X, which does not depend on the other rows."""
        parts = [rows_times_vector(self._kernel(X[rows]), self.dual) for rows in blocks(len(X), len(self.landmarks))]
        return np.concatenate(parts)

    def _kernel(self, X: Array) -> Array:
        return np.asarray(np.exp(-cdist(self.standard.transform(X), self.landmarks) / self.length))


class _Ridge(NamedTuple):
    """Ridge regression on features F = K(points, landmarks) root, for every penalty at once.

    Its weighted Gram matrix F'WF is V diag(eigenvalues) V', and ``projected`` is V'F'Wy.
    """

    root: Array
    eigenvalues: Array
    vectors: Array
    projected: Array

    @classmethod
    def fit(cls, data: _Labeled, landmarks: Array, between: Array, length: float) -> _Ridge:
        kernel = np.exp(-between / length)
        kernel.flat[:: len(kernel) + 1] += _JITTER
        root = solve_triangular(np.linalg.cholesky(kernel), np.eye(len(kernel)), lower=True).T
        gram, moment = np.zeros(root.shape), np.zeros(len(root))
        for F, rows in _feature_blocks(data.points, landmarks, length, root):
            weighted = F.T * data.precision[rows]
            gram += weighted @ F
            moment += weighted @ data.y[rows]
        eigenvalues, vectors = np.linalg.eigh(gram)
        return cls(root, np.maximum(eigenvalues, 0.0), vectors, vectors.T @ moment)

    def log_likelihood(self, noise: float, data: _Labeled) -> float:
        """Return the marginal likelihood of the labels, with the variance of the process that makes it largest."""
        n = data.precision.sum()
        explained = np.sum(self.projected**2 / (self.eigenvalues + noise))
        variance = max((data.precision @ data.y**2 - explained) / (noise * n), np.finfo(np.float64).tiny)
        log_determinant = np.log(self.eigenvalues + noise).sum() + (n - len(self.eigenvalues)) * np.log(noise)
        return float(-0.5 * (n * np.log(variance) + log_determinant))

    def coefficients(self, noise: float) -> Array:
        return np.asarray(self.vectors @ (self.projected / (self.eigenvalues + noise)))


class _Labeled(NamedTuple):
    """Standardized points, their labels +1 and -1, and how much each label counts."""

    points: Array
    y: Array
    precision: Array

    def some(self, rows: NDArray[np.intp]) -> _Labeled:
        return _Labeled(*(part[rows] for part in self))


@one_thread()
def fit_gaussian_process(
    X: Array,
    positive: NDArray[np.bool_],
    weight: Array,
    *,
    n_landmarks: int,
    seed: int,
    start: GaussianProcessScores | None = None,
) -> tuple[GaussianProcessScores, Array]:
    """Fit labels +1 and -1; return the model, and the score of each training point by a model without this label.

    Both classes have the same total weight, so that the mean of the labels is 0.

    Parameters
    ----------
    X : array of shape (n, d)
        Features.
    positive : array of n bool
        Whether each label is the positive one.
    weight : array of n weights
        Weight k counts as k repetitions, of which one is left out.
    n_landmarks : int
        The largest number of landmarks, which are points drawn by their weights.
    seed : int
        The seed of drawing landmarks.
    start : GaussianProcessScores, optional
        A model whose landmarks and length are kept; only the noise is found anew.

    Examples
    --------
    >>> X = np.linspace(0, 1, 100)[:, None]
    >>> model, left_out = fit_gaussian_process(X, X[:, 0] > 0.5, np.ones(100), n_landmarks=20, seed=0)
    >>> low, high = model.scores(np.array([[0.1], [0.9]]))
    >>> bool(low < -0.5 and high > 0.5 and abs(left_out[10] - low) < 0.1)
    True
    """
    generator = np.random.default_rng(seed)
    if start is None:
        standard = Standardization.fit(X, weight)
        landmarks = standard.transform(draw_landmarks(X, weight, n_landmarks, generator))
    else:
        standard, landmarks = start.standard, start.landmarks
    balance = np.where(positive, 0.5 / weight[positive].sum(), 0.5 / weight[~positive].sum()) * weight.sum()
    data = _Labeled(standard.transform(X), np.where(positive, 1.0, -1.0), balance * weight)
    between = cdist(landmarks, landmarks)
    lengths = [start.length] if start is not None else [length * _median(between) for length in _LENGTHS]
    length, noise = _most_likely(data.some(draw_rows(positive, _CHOSEN_ON, generator)), landmarks, between, lengths)
    ridge = _Ridge.fit(data, landmarks, between, length)
    model = GaussianProcessScores(standard, length, landmarks, ridge.root @ ridge.coefficients(noise))
    return model, _left_out(ridge, data, balance * np.minimum(weight, 1.0), landmarks, length, noise)


def _median(between: Array) -> float:
    """Return the median distance of two different landmarks, or 1 if there is only one."""
    apart = between[between > 0]
    return float(np.median(apart)) if len(apart) else 1.0


def _most_likely(data: _Labeled, landmarks: Array, between: Array, lengths: list[float]) -> tuple[float, float]:
    """Return the length and the noise of largest marginal likelihood."""
    best, found = -np.inf, (lengths[0], float(_NOISES[-1]))
    for length in lengths:
        ridge = _Ridge.fit(data, landmarks, between, length)
        likelihoods = [ridge.log_likelihood(noise, data) for noise in _NOISES]
        if max(likelihoods) > best:
            best, found = max(likelihoods), (length, float(_NOISES[int(np.argmax(likelihoods))]))
    return found


def _left_out(ridge: _Ridge, data: _Labeled, one: Array, landmarks: Array, length: float, noise: float) -> Array:
    """Return the score of each point by the model without one repetition of it, from the diagonal h of the hat matrix.

    ``one`` is how much one repetition counts.
    """
    coefficients = ridge.coefficients(noise)
    parts = []
    for F, rows in _feature_blocks(data.points, landmarks, length, ridge.root):
        h = one[rows] * ((F @ ridge.vectors) ** 2 @ (1 / (ridge.eigenvalues + noise)))
        parts.append((F @ coefficients - h * data.y[rows]) / (1 - np.minimum(h, _LARGEST_LEVERAGE)))
    return np.concatenate(parts)


def _feature_blocks(points: Array, landmarks: Array, length: float, root: Array) -> Iterator[tuple[Array, slice]]:
    """Yield the features of some rows at a time, and these rows."""
    for rows in blocks(len(points), len(landmarks)):
        yield np.exp(-cdist(points[rows], landmarks) / length) @ root, rows


def _fit(
    data: TrainingData, _: PenalizedRisk, seed: int, start: GaussianProcessScores | None, n_landmarks: int
) -> GaussianProcessScores:
    return fit_gaussian_process(*data, n_landmarks=n_landmarks, seed=seed, start=start)[0]


def _to_module(scorer: GaussianProcessScores, threshold: float) -> nn.Module:
    kernels = LaplaceKernels(scorer.landmarks, scorer.dual, scorer.length)
    return StandardizedNetworks([kernels], scorer.standard, threshold)


def _check_objective(objective: PenalizedRisk) -> None:
    if objective.loss.name != "squared":
        raise ValueError(
            f"a Gaussian process fits labels by the squared loss; model='gaussian_process' needs loss='squared', "
            f"got {objective.loss!r}"
        )


GAUSSIAN_PROCESS = Family(
    description="A Gaussian process with a Laplace kernel, fitted to the labels as numbers. Its length and its noise "
    'are found by itself. Its loss is ``"squared"``.',
    fit=_fit,
    scorer=GaussianProcessScores,
    stored_as="gaussian_process",
    parameters={"n_landmarks": check_count},
    check_objective=_check_objective,
    to_module=_to_module,
    threshold_is_zero=True,  # there eta is 1/2, if both classes are equally frequent: best by balanced accuracy
)
