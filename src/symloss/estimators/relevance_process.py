"""The family of processes in which relevant features count more: a feature counts as much as trees split at it.

The kernel is exp(-sum_j relevance_j |x_j - z_j| / length) of standardized features: a product of a kernel per feature.
So a function of one feature, or of a few, is learned from few points, and features that tell nothing blur it less.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from torch import nn

from symloss.estimators.base import TrainingData
from symloss.estimators.family import Family, PenalizedRisk, check_count
from symloss.estimators.gaussian_process import check_squared, fit_process, process_scores
from symloss.estimators.kernel import draw_landmarks
from symloss.estimators.modules import LaplaceKernels, StandardizedNetworks
from symloss.estimators.out_of_bag import out_of_bag
from symloss.estimators.standardization import Standardization

Array = NDArray[np.float64]
_LEAST = 1e-3  # the relevance of a feature that no tree splits at; if all trees split, the mean relevance is 1


class RelevanceProcessScores(NamedTuple):
    """Scores sum_k dual_k exp(-|x - landmark_k|_1 / length); standardized features are multiplied by their relevance.

    Examples
    --------
    >>> standard = Standardization(np.zeros(1), np.ones(1))
    >>> RelevanceProcessScores(standard, 1.0, np.zeros((1, 1)), np.array([2.0])).scores(np.array([[0.0]]))
    array([2.])
    """

    standard: Standardization
    length: float
    landmarks: Array
    dual: Array

    def scores(self, X: Array) -> Array:
        """Return one score per row of X, which does not depend on the other rows."""
        return process_scores(X, *self, "cityblock")


def fit_relevance_process(
    data: TrainingData,
    *,
    n_landmarks: int,
    seed: int,
    start: RelevanceProcessScores | None = None,
    importance: Array | None = None,
) -> tuple[RelevanceProcessScores, Callable[[], Array]]:
    """Fit labels +1 and -1; return the model, and a function that returns the points' scores by models without each.

    Such a score does not depend on the label of its point, except that the relevance of features is found with all.

    Parameters
    ----------
    data : TrainingData
        The points; no value is missing.
    n_landmarks : int
        The largest number of landmarks, which are points drawn by their weights.
    seed : int
        The seed of the trees and of drawing landmarks.
    start : RelevanceProcessScores, optional
        A model whose landmarks, length and relevance are kept; only the noise is found anew.
    importance : array of d numbers, optional
        How much trees split at each feature, if it is known already.

    Examples
    --------
    >>> X = np.random.default_rng(0).normal(size=(200, 5))
    >>> model, _ = fit_relevance_process(TrainingData(X, X[:, 0] > 0, np.ones(200)), n_landmarks=50, seed=0)
    >>> int(np.argmin(model.standard.scale))
    0
    """
    X, positive, weight = data
    generator = np.random.default_rng(seed)
    if start is None:
        if importance is None:
            importance = out_of_bag(data, "best", seed).importance
        mean, scale = Standardization.fit(X, weight)
        with np.errstate(over="ignore"):
            scale = np.minimum(scale / (importance * len(importance) + _LEAST), np.finfo(np.float64).max)
        standard = Standardization(mean, scale)
        landmarks, length = standard.transform(draw_landmarks(X, weight, n_landmarks, generator)), None
    else:
        standard, length, landmarks, _ = start
    process = fit_process(standard.transform(X), positive, weight, landmarks, "cityblock", length, generator)
    return RelevanceProcessScores(standard, process.length, landmarks, process.dual), process.left_out


def _fit(
    data: TrainingData, _: PenalizedRisk, seed: int, start: RelevanceProcessScores | None, n_landmarks: int
) -> RelevanceProcessScores:
    return fit_relevance_process(data, n_landmarks=n_landmarks, seed=seed, start=start)[0]


def _to_module(scorer: RelevanceProcessScores, threshold: float) -> nn.Module:
    kernels = LaplaceKernels(scorer.landmarks, scorer.dual, scorer.length, city_block=True)
    return StandardizedNetworks([kernels], scorer.standard, threshold)


RELEVANCE_PROCESS = Family(
    description="A Gaussian process in which features count by their relevance, which is how much trees split at them. "
    'Distances are sums over features. Its loss is ``"squared"``.',
    fit=_fit,
    scorer=RelevanceProcessScores,
    stored_as="relevance_process",
    parameters={"n_landmarks": check_count},
    check_objective=check_squared,
    to_module=_to_module,
    threshold_is_zero=True,  # there eta is 1/2, if both classes are equally frequent: best by balanced accuracy
    is_stable=True,
)
