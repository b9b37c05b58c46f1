"""How much each candidate counts in an average: the less, the further its score on noisy folds is below the best."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from symloss.estimators.standard_errors import standard_error_of_difference

Array = NDArray[np.float64]
_LEAST_WEIGHT = 0.03  # as a share of the weight of the best candidate


def weights_of_average(
    means: Array, contributions: Array, positive: NDArray[np.bool_], weight: Array, temperature: float
) -> Array:
    """Return weights exp(-(d / temperature)^2 / 2), d being the standard errors between a candidate and the best.

    Weights below 3% of that of the best become 0. The weights sum to 1.

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
    >>> weights_of_average(np.array([0.5, 1.0]), np.array([guesses, truth]), positive, np.ones(200), temperature=1.0)
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
    weights[weights < _LEAST_WEIGHT] = 0.0
    return np.asarray(weights / weights.sum())
