"""Labels by several annotators: how often each of them is wrong, and one weighted training set."""

from __future__ import annotations

import warnings
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from symloss.checking import is_positive
from symloss.corruption.rates import FlipRates

Array = NDArray[np.float64]

_CONVERGED = 1e-7  # the largest change of a posterior probability at which expectation maximization stops
_ITERATIONS = 5000
_FEW = 10  # items of a class: the standard error of a rate is then more than a tenth
_NOTHING = 0.01  # a difference of pi and pi': expectation maximization has found no two classes


class Annotations(NamedTuple):
    """One label and weight for each item, and what they were computed from.

    Parameters
    ----------
    y : array of n labels in {+1, -1}
        The class under which the labels of the item's annotators are more probable.
    sample_weight : array of n numbers
        Proportional to the distance of the posterior probability from the prior. They sum to the number of items with
        equal weights that would tell as much.
    pi, pi_prime : float
        The weighted share of clean positives among the items with y = +1, and among those with y = -1.
    posterior : array of n probabilities
        That an item is positive, given its annotators' labels.
    prior : float
        The share of positives.
    rates : tuple of FlipRates
        How often each annotator takes a positive for a negative, and a negative for a positive.

    Examples
    --------
    >>> found = from_annotators([[1, 1, 1], [1, 1, 0], [0, 0, 0], [0, 0, 0]] * 20)
    >>> found.y[:4], found.rates[2].positive > found.rates[1].positive
    (array([ 1,  1, -1, -1]), True)
    """

    y: NDArray[np.int64]
    sample_weight: Array
    pi: float
    pi_prime: float
    posterior: Array
    prior: float
    rates: tuple[FlipRates, ...]


def from_annotators(labels: Any) -> Annotations:
    """Estimate how often annotators are wrong, without clean labels, and return one label and weight for each item.

    Parameters
    ----------
    labels : array or data frame of n items and k >= 3 annotators
        Labels in {0, 1} or {-1, +1}; NaN or None where an annotator has not labeled an item.

    Returns
    -------
    Annotations
        ``fit(X, found.y, found.sample_weight)`` learns from them, and ``found.pi`` and ``found.pi_prime`` are the rates
        of these weighted labels.

    Notes
    -----
    The model of Dawid and Skene (1979) for two classes: given the class of an item, annotators err independently of
    each other and of the features, each with two rates of its own. Expectation maximization starts from the share of
    positive labels of an item, so annotators must be right more often than wrong on the whole. As if each annotator
    had labeled two more items of each class, one of them wrongly, no rate is estimated as exactly 0 or 1. A warning
    names the annotators whose rates rest on fewer than ten items of a class that others have labeled too.

    Items with the same labels are a mixture of the two classes, with a share q of positives: the posterior. So any
    labels and weights that depend on q alone make mutually contaminated sets. With p the prior, y = sign(q - p) and
    weights proportional to abs(q - p) leave the smallest variance, per squared difference, in the difference between
    the mean scores of the two sets, if scores vary alike in both classes.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> clean = rng.random(20_000) < 0.4
    >>> labels = clean[:, None] ^ (rng.random((20_000, 4)) < [0.1, 0.2, 0.3, 0.4])  # right or wrong at these rates
    >>> found = from_annotators(labels)
    >>> print(*(f"{rate.positive:.1f}" for rate in found.rates))
    0.1 0.2 0.3 0.4
    """
    votes = _votes(labels)
    # Items with the same labels are the same to the model: one row for all of them.
    rows, item, counts = np.unique(votes, axis=0, return_inverse=True, return_counts=True)
    yes, no = (rows == 1).astype(np.float64), (rows == -1).astype(np.float64)
    given = (yes + no).sum(axis=1)
    posterior = (yes.sum(axis=1) + 0.5) / (given + 1)
    for _ in range(_ITERATIONS):
        prior, right, wrong = _maximized(yes, no, counts * (given > 0), posterior)
        logit = yes @ np.log(right / wrong) + no @ np.log((1 - right) / (1 - wrong)) + np.log(prior / (1 - prior))
        before, posterior = posterior, 1 / (1 + np.exp(-np.clip(logit, -700, 700)))
        if np.abs(posterior - before).max() < _CONVERGED:
            break
    rates = tuple(FlipRates(float(1 - r), float(w)) for r, w in zip(right, wrong, strict=True))
    contrast = np.where(given > 0, posterior - prior, 0.0)
    if not contrast.min() < 0 < contrast.max():
        raise ValueError("labels must tell some items from others, got alike ones for all of them")
    found = _annotations(contrast[item.reshape(-1)], posterior[item.reshape(-1)], prior, rates)
    if found.pi - found.pi_prime < _NOTHING:
        raise ValueError(
            "annotators must agree more often than by chance, got labels that do not tell two classes apart"
        )
    shared = (yes + no) * (counts * (given > 1))[:, None]  # what nobody else has labeled says nothing about errors
    _warn_of_few(np.minimum(posterior @ shared, (1 - posterior) @ shared))
    return found


def _warn_of_few(items: Array) -> None:
    """Warn if some annotators have labeled few items of a class that others have labeled too."""
    few = np.flatnonzero(items < _FEW)
    if len(few):
        named = ", ".join(map(str, few[:5])) + (", ..." if len(few) > 5 else "")
        warnings.warn(
            f"the rates of {len(few)} of {len(items)} annotators (columns {named}) are hardly known: they rest on "
            f"about {items.min():.0f} items of a class that others have labeled too, and {_FEW} of each class are the "
            f"least. Weights, pi and pi_prime depend on these rates",
            stacklevel=3,
        )


def _maximized(yes: Array, no: Array, counts: Array, posterior: Array) -> tuple[float, Array, Array]:
    """Return the prior, and how often each annotator calls positives positive and negatives positive."""
    positive, negative = counts * posterior, counts * (1 - posterior)
    prior = (positive.sum() + 1) / (counts.sum() + 2)
    right = (positive @ yes + 1) / (positive @ (yes + no) + 2)
    wrong = (negative @ yes + 1) / (negative @ (yes + no) + 2)
    return float(prior), right, wrong


def _annotations(contrast: Array, posterior: Array, prior: float, rates: tuple[FlipRates, ...]) -> Annotations:
    y, weight = np.where(contrast >= 0, 1, -1), np.abs(contrast)
    pi, pi_prime = (float(np.average(posterior[y == k], weights=weight[y == k])) for k in (1, -1))
    return Annotations(y, weight * (weight.sum() / (weight**2).sum()), pi, pi_prime, posterior, prior, rates)


def _votes(labels: Any) -> NDArray[np.int8]:
    """Return labels as +1 and -1, and 0 where an annotator has not labeled an item."""
    try:
        if hasattr(labels, "columns"):
            labels = labels.to_numpy(dtype=np.float64, na_value=np.nan)
        values = np.asarray(labels, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise ValueError(f"labels must be numbers, NaN where there is none: {error}") from None
    if values.ndim != 2:
        raise ValueError(f"labels must have one row per item and one column per annotator, got shape {values.shape}")
    if values.shape[1] < 3:
        raise ValueError(
            f"labels must be of three annotators or more, got {values.shape[1]}: without clean labels, the rates of "
            "fewer cannot be told"
        )
    votes = np.zeros(values.shape, dtype=np.int8)
    given = ~np.isnan(values)
    votes[given] = np.where(is_positive(values[given]).numpy(), 1, -1)
    if given.sum(axis=1).max(initial=0) < 2:
        raise ValueError("labels must overlap, got no item that two annotators have labeled")
    return votes
