"""Labels flipped at random: at one rate per class, or with a probability of its own for each point."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from symloss.checking import as_real, check_probability, is_positive
from symloss.corruption.draws import RandomState

Array = NDArray[np.float64]


def flip_labels(y: Any, rate_positive: float, rate_negative: float, random_state: RandomState = None) -> Any:
    """Flip each positive label with probability ``rate_positive`` and each negative one with ``rate_negative``.

    The labels keep their coding and dtype. They are returned as a tensor if they were one, else as an array.

    Examples
    --------
    >>> flip_labels([1, 1, 0, 0], rate_positive=1.0, rate_negative=0.0, random_state=0)
    array([0, 0, 0, 0])
    """
    check_probability("rate_positive", rate_positive)
    check_probability("rate_negative", rate_negative)
    positive = is_positive(y).cpu().numpy()
    return _flipped(y, np.where(positive, rate_positive, rate_negative), random_state)


def flip_by_instance(
    y: Any,
    rate_positive: Any | Callable[[Any], Any],
    rate_negative: Any | Callable[[Any], Any] | None = None,
    *,
    X: Any = None,
    random_state: RandomState = None,
) -> Any:
    """Flip each label with a probability of its own, which may depend on the point and on its class.

    Parameters
    ----------
    y : array or tensor of n labels
        Clean labels in {0, 1}, {-1, +1} or bool. They keep their coding and dtype.
    rate_positive : array of n probabilities, or function
        The probability with which each point's label is flipped if it is positive. A function takes X and returns the
        n probabilities.
    rate_negative : array of n probabilities, or function, optional
        The same for negative labels; ``rate_positive`` if it is not given.
    X : array, tensor, data frame or sparse matrix of n rows, optional
        What functions are called with.
    random_state : int or numpy Generator, optional
        Seed of the flips.

    Examples
    --------
    >>> flip_by_instance([1, 1, -1, -1], [1.0, 0.0, 0.0, 1.0], random_state=0)
    array([-1,  1, -1,  1])
    >>> flip_by_instance([1, 1, 0, 0], lambda x: 1.0 * (x > 2), X=np.array([1, 2, 3, 4]), random_state=0)
    array([1, 1, 1, 1])
    """
    positive = is_positive(y).cpu().numpy()
    rates = _rates_of_points("rate_positive", rate_positive, X, positive.shape)
    if rate_negative is not None:
        rates = np.where(positive, rates, _rates_of_points("rate_negative", rate_negative, X, positive.shape))
    return _flipped(y, rates, random_state)


def border_rates(scores: Any, highest: float, *, border: float = 0.0, scale: float | None = None) -> Array:
    """Return flip probabilities that grow towards the border: highest * exp(-distance / scale).

    If the scores order points as the probability of the positive class does, and the border is where this probability
    is 1/2, then such noise leaves the best ranking and the best classifier what they are.

    Parameters
    ----------
    scores : array or tensor of n numbers
        Scores of the points, or their probabilities of the positive class.
    highest : float
        The flip probability at the border, below 1/2.
    border : float
        The score at the border: 0 for most scores, 0.5 for probabilities.
    scale : float, optional
        The distance from the border at which the flip probability has fallen to 37% of ``highest``. If it is not given,
        the median distance.

    Examples
    --------
    >>> border_rates([-2.0, -1.0, 0.0, 1.0], highest=0.4).round(2)
    array([0.05, 0.15, 0.4 , 0.15])
    >>> y = np.repeat([1, -1], 2000)
    >>> scores = y + np.random.default_rng(0).normal(size=4000)
    >>> wrong = flip_by_instance(y, border_rates(scores, highest=0.4), random_state=0) != y
    >>> print(f"{wrong[abs(scores) < 0.5].mean():.1f} near the border, {wrong[abs(scores) > 2].mean():.1f} far from it")
    0.3 near the border, 0.0 far from it
    """
    if not 0 <= highest < 0.5:
        raise ValueError(f"highest must be at least 0 and less than 0.5, got {highest!r}")
    values = as_real(scores, "scores", torch.float64).detach().cpu().numpy()
    if values.ndim != 1 or not len(values):
        raise ValueError(f"scores must have shape (n,) with n >= 1, got {values.shape}")
    if not np.isfinite(values).all():
        raise ValueError(f"scores must be finite numbers, got {values[~np.isfinite(values)][0]:g}")
    distance = np.abs(values - border)
    scale = float(np.median(distance)) if scale is None else scale
    if not 0 < scale < np.inf:
        raise ValueError(f"scale must be a finite number > 0, got {scale!r}")
    rates: Array = highest * np.exp(-distance / scale)
    return rates


def _rates_of_points(name: str, rates: Any, X: Any, shape: tuple[int, ...]) -> Array:
    if callable(rates):
        if X is None:
            raise ValueError(f"{name} is a function of X, but X is not given")
        rates = rates(X)
    values = as_real(rates, name, torch.float64).detach().cpu().numpy()
    if values.shape != shape:
        raise ValueError(f"{name} must hold one probability per label, shape {shape}, got {values.shape}")
    outside = values[~((values >= 0) & (values <= 1))]
    if len(outside):
        raise ValueError(f"{name} must hold numbers between 0 and 1, got {outside[0]:g}")
    return values


def _flipped(y: Any, rates: Array, random_state: RandomState) -> Any:
    """Return labels, each flipped with its own probability."""
    flips = np.random.default_rng(random_state).random(rates.shape) < rates
    if isinstance(y, torch.Tensor):
        mask = torch.from_numpy(flips).to(y.device)
        return torch.where(mask, ~y if y.dtype == torch.bool else _other_label(y), y)
    labels = np.asarray(y)
    return np.where(flips, ~labels if labels.dtype == bool else _other_label(labels), labels).astype(labels.dtype)


def _other_label(labels: Any) -> Any:
    """Return -y for {-1, +1} and 1 - y for {0, 1}; if all labels are 1, the coding is unknown, and they flip to 0."""
    return -labels if bool((labels == -1).any()) else 1 - labels
