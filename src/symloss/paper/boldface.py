"""Boldface as in the paper: the best mean, and every loss that a one-sided t-test does not find to be worse."""

from __future__ import annotations

import math
from collections.abc import Sequence

LEVEL = 0.05


def boldface(means: Sequence[float], standard_errors: Sequence[float | None], trials: int) -> list[bool]:
    """Return which of several losses go into boldface.

    Parameters
    ----------
    means, standard_errors : sequences of float
        Of each loss. A standard error of None (one trial) allows no test; then only the best mean is in boldface.
    trials : int
        Number of trials behind each mean.

    Notes
    -----
    The test is unpaired, with significance level 5% and Welch's degrees of freedom. For the printed means and standard
    errors, it gives the published boldface wherever their rounding leaves no doubt. The published boldface does not
    show whether the paper used Welch's test or the test that pools the variances: with equal numbers of trials, these
    two differ only in the degrees of freedom.

    Examples
    --------
    >>> boldface([82.3, 84.1, 83.0], [0.8, 0.6, 0.5], trials=20)
    [False, True, True]
    """
    best = max(range(len(means)), key=means.__getitem__)
    return [
        mean == means[best] or not _is_separate(means[best] - mean, standard_errors[best], error, trials)
        for mean, error in zip(means, standard_errors, strict=True)
    ]


def _is_separate(difference: float, first: float | None, second: float | None, trials: int) -> bool:
    if first is None or second is None:
        return True
    variance = first**2 + second**2
    if variance == 0:
        return True  # the means differ, and neither varies
    from scipy.special import stdtr

    degrees = (trials - 1) * variance**2 / (first**4 + second**4)
    return bool(stdtr(degrees, -difference / math.sqrt(variance)) < LEVEL)
