"""Corrupted labels: their rates, data drawn at (pi, pi'), and labels flipped at random."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray

from symloss.checking import as_real, check_contamination, check_fraction, check_probability, is_positive

RandomState = int | np.random.Generator | None
Array = NDArray[np.float64]


class Contamination(NamedTuple):
    """The share of clean positives among the corrupted positives (pi) and the corrupted negatives (pi')."""

    pi: float
    pi_prime: float


class FlipRates(NamedTuple):
    """The probability that a clean positive, or a clean negative, carries the other label."""

    positive: float
    negative: float


def to_contamination(rates: Sequence[float], prior: float) -> Contamination:
    """Return the (pi, pi') that flip rates lead to, where ``prior`` is the share of positives in the clean data.

    Examples
    --------
    >>> to_contamination(FlipRates(positive=0.2, negative=0.2), prior=0.5)
    Contamination(pi=0.8, pi_prime=0.2)
    """
    positive, negative = rates
    check_probability("rates[0]", positive)
    check_probability("rates[1]", negative)
    check_fraction("prior", prior)
    observed = prior * (1 - positive) + (1 - prior) * negative
    if not 0 < observed < 1:
        raise ValueError(f"rates {positive:g} and {negative:g} leave only one label at prior {prior:g}")
    return Contamination(prior * (1 - positive) / observed, prior * positive / (1 - observed))


def to_flip_rates(contamination: Sequence[float], prior: float) -> FlipRates:
    """Return the flip rates that lead to (pi, pi'), where ``prior`` is the share of positives in the clean data.

    The prior must lie strictly between pi' and pi, since corrupted positives and negatives together are the clean data.
    """
    pi, pi_prime = contamination
    check_contamination(pi, pi_prime)
    if not pi_prime < prior < pi:
        raise ValueError(f"prior must be between pi' = {pi_prime:g} and pi = {pi:g}, got {prior!r}")
    observed = (prior - pi_prime) / (pi - pi_prime)
    return FlipRates((1 - observed) * pi_prime / prior, observed * (1 - pi) / (1 - prior))


def contaminate(
    X: Any,
    y: Any,
    *,
    pi: float,
    pi_prime: float,
    n_positive: int,
    n_negative: int,
    random_state: RandomState = None,
) -> tuple[Any, Any]:
    """Draw corrupted positives and negatives at (pi, pi'), with exact counts and no point used twice.

    Parameters
    ----------
    X : array, tensor, data frame or sparse matrix of n rows
        Features.
    y : array or tensor of n labels
        Clean labels in {0, 1}, {-1, +1} or bool.
    pi, pi_prime : float
        Share of clean positives among the corrupted positives and among the corrupted negatives, pi > pi'.
    n_positive, n_negative : int
        Number of corrupted positives and of corrupted negatives.
    random_state : int or numpy Generator, optional
        Seed of the draw and of the order of the rows.

    Returns
    -------
    X_corrupted, y_corrupted
        The rows drawn, in random order, and their corrupted labels in {+1, -1}. pi * n_positive and pi' * n_negative
        are rounded to whole numbers of points.

    Examples
    --------
    >>> X, y = np.arange(10), np.repeat([1, -1], 5)
    >>> X_c, y_c = contaminate(X, y, pi=0.75, pi_prime=0.25, n_positive=4, n_negative=4, random_state=0)
    >>> int((X_c[y_c == 1] < 5).sum()), int((X_c[y_c == -1] < 5).sum())
    (3, 1)
    """
    train, _ = _draw(y, pi, pi_prime, n_positive, n_negative, 0, random_state)
    return _rows(X, y, *train)


def contaminated_split(
    X: Any,
    y: Any,
    *,
    pi: float,
    pi_prime: float,
    n_positive: int,
    n_negative: int,
    n_test: int,
    random_state: RandomState = None,
) -> tuple[Any, Any, Any, Any]:
    """Draw corrupted training data as ``contaminate`` does, and a clean balanced test set that shares no point with it.

    Parameters
    ----------
    X, y, pi, pi_prime, n_positive, n_negative, random_state
        As in ``contaminate``.
    n_test : int
        Size of the test set, even: half positive, half negative.

    Returns
    -------
    X_train, y_train, X_test, y_test
        Labels are in {+1, -1}: corrupted for training, clean for testing.

    Examples
    --------
    >>> X, y = np.arange(20), np.repeat([1, -1], 10)
    >>> X_train, y_train, X_test, y_test = contaminated_split(
    ...     X, y, pi=1, pi_prime=0.5, n_positive=4, n_negative=4, n_test=6, random_state=0)
    >>> len(set(X_train) & set(X_test)), int((y_test == 1).sum())
    (0, 3)
    """
    train, test = _draw(y, pi, pi_prime, n_positive, n_negative, n_test, random_state)
    return *_rows(X, y, *train), *_rows(X, y, *test)


def positive_unlabeled(
    X: Any, y: Any, *, prior: float, n_labeled: int, n_unlabeled: int, random_state: RandomState = None
) -> tuple[Any, Any]:
    """Draw PU data: labeled positives (+1) and unlabeled points (-1) with a share ``prior`` of positives (pi = 1)."""
    return contaminate(
        X, y, pi=1.0, pi_prime=prior, n_positive=n_labeled, n_negative=n_unlabeled, random_state=random_state
    )


Draw = tuple[NDArray[np.intp], NDArray[np.int64]]


def _draw(
    y: Any, pi: float, pi_prime: float, n_positive: int, n_negative: int, n_test: int, random_state: RandomState
) -> tuple[Draw, Draw]:
    """Return the rows and labels of the corrupted training set and of the clean test set."""
    check_contamination(pi, pi_prime)
    for name, size in (("n_positive", n_positive), ("n_negative", n_negative), ("n_test", n_test)):
        if not isinstance(size, int | np.integer) or size < 0:
            raise ValueError(f"{name} must be a whole number >= 0, got {size!r}")
    if n_test % 2:
        raise ValueError(f"n_test must be even, half of it for either class, got {n_test}")
    half = n_test // 2
    positive = is_positive(y).cpu().numpy()
    if positive.ndim != 1:
        raise ValueError(f"y must have shape (n,), got {positive.shape}")
    cp, cn = round(pi * n_positive), round(pi_prime * n_negative)
    needed = {True: cp + cn + half, False: n_positive - cp + n_negative - cn + half}
    have = {label: np.flatnonzero(positive == label) for label in needed}
    if any(needed[label] > len(have[label]) for label in needed):
        raise ValueError(
            f"this draw needs {needed[True]} positives and {needed[False]} negatives, since no point is used twice; "
            f"the data has {len(have[True])} and {len(have[False])}"
        )
    generator = np.random.default_rng(random_state)
    p, n = (generator.permutation(have[label]) for label in (True, False))
    first, second = n_positive - cp, n_negative - cn
    parts = (p[:cp], n[:first], p[cp : cp + cn], n[first : first + second])
    train = _shuffled(generator, parts, (1, 1, -1, -1))
    test = _shuffled(generator, (p[cp + cn :][:half], n[first + second :][:half]), (1, -1))
    return train, test


def _shuffled(generator: np.random.Generator, parts: Sequence[NDArray[np.intp]], labels: Sequence[int]) -> Draw:
    rows = np.concatenate(parts)
    order = generator.permutation(len(rows))
    return rows[order], np.repeat(labels, [len(part) for part in parts])[order]


def _rows(X: Any, y: Any, rows: NDArray[np.intp], labels: NDArray[np.int64]) -> tuple[Any, Any]:
    """Return rows of X, whatever its container, and their labels, as a tensor if y is one."""
    X = X.tocsr() if hasattr(X, "tocsr") else X if hasattr(X, "shape") else np.asarray(X)
    if not X.shape or X.shape[0] != len(y):
        raise ValueError(f"X and y must have as many rows, got {X.shape[0] if X.shape else 'one value'} and {len(y)}")
    taken = X.iloc[rows] if hasattr(X, "iloc") else X[torch.from_numpy(rows) if isinstance(X, torch.Tensor) else rows]
    return taken, torch.from_numpy(labels).to(y.device) if isinstance(y, torch.Tensor) else labels


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
