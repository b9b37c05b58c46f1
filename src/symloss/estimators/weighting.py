"""How much each candidate counts in an average: the less, the further its score on noisy folds is below the best."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import nnls

from symloss.estimators.forest import balanced_weight
from symloss.estimators.standard_errors import standard_error_of_difference
from symloss.estimators.standardization import Standardization

Array = NDArray[np.float64]
_LEAST_WEIGHT = 0.03  # as a share of the largest weight


def weights_of_average(
    means: Array, contributions: Array, positive: NDArray[np.bool_], weight: Array, temperature: float
) -> Array:
    """Return weights exp(-(d / temperature)^2 / 2), d being the standard errors to the best candidate.

    Weights below 3% of the largest become 0. The weights sum to 1.

    Parameters
    ----------
    means : array of k scores
        The mean score of each candidate over the folds.
    contributions : array of shape (k, n)
        What each of n points contributes to the score of each candidate.
    positive, weight : arrays of n
        The labels and the weights of these points.
    temperature : float
        0 gives the best candidate all the weight.

    Examples
    --------
    >>> positive = np.arange(200) % 2 == 0
    >>> guesses, truth = np.where(np.arange(200) % 4 < 2, 0.5, 0.0), np.full(200, 0.5)
    >>> labels = positive, np.ones(200)
    >>> weights_of_average(np.array([0.5, 1.0]), np.array([guesses, truth]), *labels, temperature=1.0)
    array([0., 1.])
    """
    best = int(np.argmax(means))
    gap = means[best] - means
    error = np.array(
        [standard_error_of_difference(own, contributions[best], positive, weight) for own in contributions]
    )
    errors_behind = np.divide(gap, error, out=np.where(gap > 0, np.inf, 0.0), where=error > 0)
    if temperature == 0:
        weights = (np.arange(len(means)) == best).astype(float)
    else:
        weights = np.exp(-0.5 * (errors_behind / temperature) ** 2)
    weights[weights < _LEAST_WEIGHT * weights.max()] = 0.0
    return np.asarray(weights / weights.sum())


def weights_by_least_squares(scores: Array, positive: NDArray[np.bool_], weight: Array) -> Array:
    """Return the weights, none below 0, of the average of scores that is nearest to labels of +1 and -1.

    Both classes count the same. With many points such weights are known well, and candidates that err on different
    points are averaged even if one of them is clearly better. The scores are standardized, and constant ones get no
    weight. Weights below 3% of the largest become 0. The weights sum to 1, or are all 0 if no score helps.

    Parameters
    ----------
    scores : array of shape (k, n)
        The out-of-fold scores of each candidate.
    positive, weight : arrays of n
        The labels and the weights of these points.

    Examples
    --------
    >>> positive = np.arange(400) % 2 == 0
    >>> hits = np.where(np.arange(400) % 8 < 6, positive, ~positive)
    >>> others = np.where(np.arange(400) % 16 < 8, positive, ~positive)
    >>> weights_by_least_squares(np.array([hits, others, ~hits]), positive, np.ones(400)).round(2)
    array([1., 0., 0.])
    """
    balanced = np.sqrt(balanced_weight(positive, weight))
    standardized = Standardization.fit(scores.T, weight).transform(scores.T)
    # The triangle of a QR decomposition has the same least squares as all rows.
    rows = balanced[:, None] * np.column_stack([standardized, np.where(positive, 1.0, -1.0)])
    triangle = np.asarray(np.linalg.qr(rows, mode="r"))
    weights, _ = nnls(triangle[:, :-1], triangle[:, -1])
    weights[weights < _LEAST_WEIGHT * weights.max()] = 0.0
    return np.asarray(weights / weights.sum() if weights.any() else weights)
