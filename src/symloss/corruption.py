"""Noise models: mutual contamination (pi, pi'), label flips, PU and UU data, and conversions between them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray

from symloss.checking import check_contamination as check_contamination
from symloss.checking import check_fraction, check_probability, is_positive

RandomState = int | np.random.Generator | None


class Contamination(NamedTuple):
    """The share of clean positives among the corrupted positives (pi) and the corrupted negatives (pi').

    Examples
    --------
    >>> to_contamination(FlipRates(positive=0.2, negative=0.2), prior=0.5).pi
    0.8
    """

    pi: float
    pi_prime: float


class FlipRates(NamedTuple):
    """The probability that a clean positive, or a clean negative, carries the other label.

    Examples
    --------
    >>> flip_labels([1, 1, 0, 0], *FlipRates(positive=0.0, negative=1.0), random_state=0)
    array([1, 1, 1, 1])
    """

    positive: float
    negative: float


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
    """Draw PU data: labeled positives (+1) and unlabeled points (-1) with a share ``prior`` of positives (pi = 1).

    Examples
    --------
    >>> X, y = np.arange(20), np.repeat([1, -1], 10)
    >>> X_pu, y_pu = positive_unlabeled(X, y, prior=0.5, n_labeled=4, n_unlabeled=8, random_state=0)
    >>> bool((X_pu[y_pu == 1] < 10).all())
    True
    """
    return contaminate(
        X, y, pi=1.0, pi_prime=prior, n_positive=n_labeled, n_negative=n_unlabeled, random_state=random_state
    )


def unlabeled_unlabeled(
    X: Any, y: Any, *, priors: Sequence[float], sizes: Sequence[int], random_state: RandomState = None
) -> tuple[Any, Any]:
    """Draw UU data: two unlabeled sets of given sizes and shares of positives, the larger share first (+1).

    Examples
    --------
    >>> X, y = np.arange(20), np.repeat([1, -1], 10)
    >>> X_uu, y_uu = unlabeled_unlabeled(X, y, priors=(0.75, 0.25), sizes=(4, 8), random_state=0)
    >>> int((y_uu == -1).sum())
    8
    """
    if len(priors) != 2 or len(sizes) != 2:
        raise ValueError(f"priors and sizes must hold two numbers each, got {len(priors)} and {len(sizes)}")
    (pi, pi_prime), (n_positive, n_negative) = priors, sizes
    return contaminate(
        X, y, pi=pi, pi_prime=pi_prime, n_positive=n_positive, n_negative=n_negative, random_state=random_state
    )


def from_two_sets(A: Any, B: Any) -> tuple[Any, Any]:
    """Return two sets of points as one X, and labels: +1 for the points of A, -1 for those of B.

    If A has the larger share of positives, this is mutual contamination, and nothing more is needed to learn from two
    unlabeled sets. The same is true of labeled positives A and unlabeled points B.

    Parameters
    ----------
    A, B : arrays, tensors, data frames or sparse matrices of the same features

    Examples
    --------
    >>> X, y = from_two_sets([[1.0, 2.0]], [[3.0, 4.0], [5.0, 6.0]])
    >>> X.shape, y
    ((3, 2), array([ 1, -1, -1]))
    """
    A, B = (part if hasattr(part, "shape") else np.asarray(part) for part in (A, B))
    if A.shape[1:] != B.shape[1:] or not len(A.shape):
        raise ValueError(f"A and B must hold the same features, got shapes {tuple(A.shape)} and {tuple(B.shape)}")
    if 0 in (A.shape[0], B.shape[0]):
        raise ValueError(f"A and B must hold points, got {A.shape[0]} and {B.shape[0]}")
    return _stacked(A, B), np.repeat([1, -1], [A.shape[0], B.shape[0]])


def _stacked(A: Any, B: Any) -> Any:
    if isinstance(A, torch.Tensor):
        return torch.cat([A, torch.as_tensor(B)])
    if hasattr(A, "columns"):
        import pandas as pd

        if list(A.columns) != list(getattr(B, "columns", A.columns)):
            raise ValueError(f"A and B must have the same columns, got {list(A.columns)} and {list(B.columns)}")
        return pd.concat([A, B if hasattr(B, "columns") else pd.DataFrame(B, columns=A.columns)], ignore_index=True)
    if hasattr(A, "tocsr") or hasattr(B, "tocsr"):
        from scipy import sparse

        return sparse.vstack([A, B], format="csr")
    return np.concatenate([A, B])


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
    rates = np.where(positive, rate_positive, rate_negative)
    flips = np.random.default_rng(random_state).random(positive.shape) < rates
    if isinstance(y, torch.Tensor):
        mask = torch.from_numpy(flips).to(y.device)
        return torch.where(mask, ~y if y.dtype == torch.bool else _other_label(y), y)
    labels = np.asarray(y)
    return np.where(flips, ~labels if labels.dtype == bool else _other_label(labels), labels).astype(labels.dtype)


def _other_label(labels: Any) -> Any:
    """Return -y for {-1, +1} and 1 - y for {0, 1}; if all labels are 1, the coding is unknown, and they flip to 0."""
    return -labels if bool((labels == -1).any()) else 1 - labels


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

    Examples
    --------
    >>> rates = to_flip_rates(Contamination(pi=0.8, pi_prime=0.2), prior=0.5)
    >>> round(rates.positive, 12), round(rates.negative, 12)
    (0.2, 0.2)
    """
    pi, pi_prime = contamination
    check_contamination(pi, pi_prime)
    if not pi_prime < prior < pi:
        raise ValueError(f"prior must be between pi' = {pi_prime:g} and pi = {pi:g}, got {prior!r}")
    observed = (prior - pi_prime) / (pi - pi_prime)
    return FlipRates((1 - observed) * pi_prime / prior, observed * (1 - pi) / (1 - prior))


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


__all__ = [
    "Contamination",
    "FlipRates",
    "contaminate",
    "contaminated_split",
    "flip_labels",
    "from_two_sets",
    "positive_unlabeled",
    "to_contamination",
    "to_flip_rates",
    "unlabeled_unlabeled",
]
