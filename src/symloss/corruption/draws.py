"""Corrupted data drawn from clean data: mutual contamination (pi, pi'), PU and UU data."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from symloss.checking import check_contamination, is_positive

RandomState = int | np.random.Generator | None


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


def unlabeled_unlabeled(
    X: Any, y: Any, *, priors: Sequence[float], sizes: Sequence[int], random_state: RandomState = None
) -> tuple[Any, Any]:
    """Draw UU data: two unlabeled sets of given sizes and shares of positives, the larger share first (+1)."""
    if len(priors) != 2 or len(sizes) != 2:
        raise ValueError(f"priors and sizes must hold two numbers each, got {len(priors)} and {len(sizes)}")
    (pi, pi_prime), (n_positive, n_negative) = priors, sizes
    return contaminate(
        X, y, pi=pi, pi_prime=pi_prime, n_positive=n_positive, n_negative=n_negative, random_state=random_state
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
