"""Gaussian processes: regression on the labels with a Laplace kernel, around landmarks.

The length of the kernel and the noise of the labels are those of largest marginal likelihood, so that there is nothing
to set. The scores of the training points by a model without each of them cost no further fit.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import solve_triangular
from scipy.spatial.distance import cdist
from torch import nn

from symloss.machines import one_thread
from symloss.models.family import Array, Family, PenalizedRisk, Standardization, TrainingData, blocks, check_count
from symloss.models.modules import LaplaceKernels, StandardizedNetworks

_LENGTHS = (0.7, 1.8, 4.5, 11.0)  # in medians of the distances between landmarks
_NOISES = 10.0 ** np.arange(-2.5, 3.6, 0.5)  # variance of a label's noise, in variances of the process
_CHOSEN_ON = 4000  # at most so many rows decide on length and noise, as many of either class as possible
_LARGEST_LEVERAGE = 0.999  # a point without which the model has no say has no score of its own
_JITTER = 1e-10  # added to the diagonal of the kernel, so that rounding leaves it positive definite


class GaussianProcessScores(NamedTuple):
    """Scores sum_k dual_k exp(-|x - landmark_k| / length) of standardized points."""

    standard: Standardization
    length: float
    landmarks: Array
    dual: Array

    @one_thread()
    def scores(self, X: Array) -> Array:
        """Return one score per row of X."""
        scores = np.empty(len(X))
        for rows in blocks(len(X), len(self.landmarks)):
            distances = cdist(self.standard.transform(X[rows]), self.landmarks)
            scores[rows] = np.exp(-distances / self.length) @ self.dual
        return scores


class _Labeled(NamedTuple):
    """Standardized points, their labels +1 and -1, and how much each label counts."""

    points: Array
    y: Array
    precision: Array


class _Ridge(NamedTuple):
    """Ridge regression on features F = K(points, landmarks) root, for every penalty at once.

    Its weighted Gram matrix F'WF is V diag(eigenvalues) V', and ``projected`` is V'F'Wy.
    """

    root: Array
    eigenvalues: Array
    vectors: Array
    projected: Array

    @classmethod
    def fit(cls, data: _Labeled, parts: Iterable[tuple[Array, slice]], between: Array, length: float) -> _Ridge:
        """Fit to the distances of some rows at a time to the landmarks, and to those between landmarks."""
        kernel = np.exp(-between / length)
        kernel.flat[:: len(kernel) + 1] += _JITTER
        root = solve_triangular(np.linalg.cholesky(kernel), np.eye(len(kernel)), lower=True).T
        gram, moment = np.zeros(root.shape), np.zeros(len(root))
        for distances, rows in parts:
            F = np.exp(-distances / length) @ root
            weighted = F.T * data.precision[rows]
            gram += weighted @ F
            moment += weighted @ data.y[rows]
        eigenvalues, vectors = np.linalg.eigh(gram)
        return cls(root, np.maximum(eigenvalues, 0.0), vectors, vectors.T @ moment)

    def log_likelihoods(self, data: _Labeled) -> Array:
        """Return the marginal likelihood of the labels at each noise, with the variance that makes it largest."""
        n, noisy = data.precision.sum(), self.eigenvalues[:, None] + _NOISES
        explained = (self.projected[:, None] ** 2 / noisy).sum(0)
        variance = np.maximum((data.precision @ data.y**2 - explained) / (_NOISES * n), np.finfo(np.float64).tiny)
        log_determinant = np.log(noisy).sum(0) + (n - len(self.eigenvalues)) * np.log(_NOISES)
        return np.asarray(-0.5 * (n * np.log(variance) + log_determinant))

    def coefficients(self, noise: float) -> Array:
        return np.asarray(self.vectors @ (self.projected / (self.eigenvalues + noise)))


@one_thread()
def fit_gaussian_process(
    data: TrainingData, seed: int, n_landmarks: int
) -> tuple[GaussianProcessScores, Callable[[], Array]]:
    """Fit labels +1 and -1; return the model, and a function that returns the points' scores by models without each.

    Both classes have the same total weight, so that the mean of the labels is 0. Weight k counts as k repetitions, of
    which one is left out. Landmarks, at most ``n_landmarks``, are points drawn by their weights.
    """
    X, positive, weight = data
    generator, standard = np.random.default_rng(seed), Standardization.fit(X, weight)
    drawn = generator.choice(len(X), min(len(X), 4 * n_landmarks), replace=False, p=weight / weight.sum())
    _, first = np.unique(X[drawn], axis=0, return_index=True)  # four times as many, because some may be equal
    landmarks = standard.transform(X[drawn[np.sort(first)[:n_landmarks]]])
    points, between = standard.transform(X), cdist(landmarks, landmarks)
    apart = between[between > 0]
    lengths = (np.median(apart) if len(apart) else 1.0) * np.array(_LENGTHS)
    balance = np.where(positive, 0.5 / weight[positive].sum(), 0.5 / weight[~positive].sum()) * weight.sum()
    labeled = _Labeled(points, np.where(positive, 1.0, -1.0), balance * weight)
    rows = _draw_rows(positive, _CHOSEN_ON, generator)
    some = _Labeled(*(part[rows] for part in labeled))
    distances = cdist(some.points, landmarks)
    ridges = [_Ridge.fit(some, [(distances, slice(None))], between, length) for length in lengths]
    likelihoods = np.array([ridge.log_likelihoods(some) for ridge in ridges])
    k, best = np.unravel_index(int(np.argmax(np.nan_to_num(likelihoods, nan=-np.inf))), likelihoods.shape)
    ridge, length, noise = ridges[k], float(lengths[k]), float(_NOISES[best])
    if len(rows) < len(points):
        ridge = _Ridge.fit(labeled, _distances(points, landmarks), between, length)
    one = balance * np.minimum(weight, 1.0)  # how much one repetition counts

    @one_thread()
    def left_out() -> Array:
        """Return the score of each point without one repetition of it, from the diagonal h of the hat matrix."""
        coefficients, scores = ridge.coefficients(noise), np.empty(len(points))
        for distances, rows in _distances(points, landmarks):
            F = np.exp(-distances / length) @ ridge.root
            h = one[rows] * ((F @ ridge.vectors) ** 2 @ (1 / (ridge.eigenvalues + noise)))
            scores[rows] = (F @ coefficients - h * labeled.y[rows]) / (1 - np.minimum(h, _LARGEST_LEVERAGE))
        return scores

    return GaussianProcessScores(standard, length, landmarks, ridge.root @ ridge.coefficients(noise)), left_out


def _distances(points: Array, landmarks: Array) -> Iterator[tuple[Array, slice]]:
    """Yield the distances of some rows at a time to the landmarks, and these rows."""
    for rows in blocks(len(points), len(landmarks)):
        yield cdist(points[rows], landmarks), rows


def _draw_rows(positive: NDArray[np.bool_], most: int, generator: np.random.Generator) -> NDArray[np.intp]:
    """Return at most so many rows, as many of either class as possible."""
    if len(positive) <= most:
        return np.arange(len(positive))
    rows = [generator.permutation(np.flatnonzero(of)) for of in (positive, ~positive)]
    fewer = min(*map(len, rows), most // 2)
    return np.concatenate([of[: max(most - fewer, fewer) if len(of) > fewer else fewer] for of in rows])


def _fit(data: TrainingData, _: PenalizedRisk, seed: int, n_landmarks: int) -> GaussianProcessScores:
    return fit_gaussian_process(data, seed, n_landmarks)[0]


def _to_module(scorer: GaussianProcessScores, threshold: float) -> nn.Module:
    kernels = LaplaceKernels(scorer.landmarks, scorer.dual, scorer.length)
    return StandardizedNetworks([kernels], scorer.standard, threshold)


def _check_objective(objective: PenalizedRisk) -> None:
    if objective.loss.name != "squared":
        raise ValueError(
            "a Gaussian process fits labels by the squared loss; model='gaussian_process' needs loss='squared', got "
            f"{objective.loss!r}"
        )


GAUSSIAN_PROCESS = Family(
    fit=_fit,
    scorer=GaussianProcessScores,
    parameters={"n_landmarks": check_count},
    check_objective=_check_objective,
    to_module=_to_module,
    threshold_is_zero=True,  # there eta is 1/2, if both classes are equally frequent: best by balanced accuracy
    is_stable=True,
)
