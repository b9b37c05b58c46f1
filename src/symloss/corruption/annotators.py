"""Labels by several annotators: how often each of them is wrong, and one weighted training set."""

from __future__ import annotations

import warnings
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from symloss.checking import is_positive
from symloss.corruption.draws import FlipRates

Array = NDArray[np.float64]

_CONVERGED = 1e-7  # the largest change of a posterior probability at which expectation maximization stops
_ITERATIONS = 5000
_DRAWN = 0.5  # as if this many labels of each class more had been given at the rates of all annotators
_FEW = 10  # items of a class: the standard error of a rate is then more than a tenth
_NOTHING = 0.02  # a difference of pi and pi': expectation maximization has found no two classes


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
    items, annotators : array
        Whose rows and whose rates these are, in the long format; else their numbers.
    """

    y: NDArray[np.int64]
    sample_weight: Array
    pi: float
    pi_prime: float
    posterior: Array
    prior: float
    rates: tuple[FlipRates, ...]
    items: NDArray[Any]
    annotators: NDArray[Any]


def from_annotators(
    labels: Any, *, items: Any = None, annotators: Any = None, rules: bool | None = None
) -> Annotations:
    """Estimate how often annotators are wrong, without clean labels, and return one label and weight for each item.

    Parameters
    ----------
    labels : array or data frame of n items and k >= 3 annotators, or vector of answers
        Labels in {0, 1} or {-1, +1}; NaN or None where an annotator has not labeled an item, or abstains.
    items, annotators : vectors, optional
        In the long format, where ``labels`` is a vector: which item each answer is about, and whose answer it is. If an
        annotator has answered twice, the last answer counts.
    rules : bool, optional
        Whether an annotator who only ever gives one label has looked at every item, as rules do (labeling functions,
        keywords, old systems): silence then counts as an answer. By default, if more than half of the labels are by
        such annotators.

    Returns
    -------
    Annotations
        ``fit(X, found.y, found.sample_weight)`` learns from them, and ``found.pi`` and ``found.pi_prime`` are the rates
        of these weighted labels.

    Notes
    -----
    The model of Dawid and Skene (1979) for two classes: given the class of an item, annotators err independently of
    each other and of the features, each with two rates of its own. Expectation maximization starts from the share of
    positive labels of an item, so annotators must be right more often than wrong on the whole. The rates of an
    annotator with few labels are drawn to those of all. A rule is never taken to be worse than chance, and with rules
    the share of positives stays what it is in the labels: rules err together, and the model would take that for a
    class. A warning names the annotators whose rates rest on fewer than ten items of a class that others have labeled
    too.

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
    votes, of_items, of_annotators = _votes(labels, items, annotators)
    # Items with the same labels are the same to the model: one row for all of them.
    rows, item, counts = np.unique(votes, axis=0, return_inverse=True, return_counts=True)
    item, labeled = item.reshape(-1), (rows != 0).any(axis=1)
    yes, no, counts = (rows == 1).astype(np.float64), (rows == -1).astype(np.float64), counts * labeled
    share = float(counts @ yes.sum(axis=1) / (counts @ (yes + no).sum(axis=1)))
    posterior = (yes.sum(axis=1) + share) / ((yes + no).sum(axis=1) + 1)
    always_yes, always_no = ~no.any(axis=0), ~yes.any(axis=0)
    of_one_label = counts @ (yes + no) * (always_yes | always_no)
    if rules is None:
        rules = bool(of_one_label.sum() > counts @ (yes + no).sum(axis=1) / 2)
    is_rule = (of_one_label > 0) & rules
    silent = 1 - yes - no
    yes, no = yes + silent * (is_rule & always_no), no + silent * (is_rule & always_yes)
    prior, right, wrong, posterior = _estimated(yes, no, counts, posterior, is_rule)
    posterior = np.where(labeled, posterior, prior)
    rates = tuple(FlipRates(float(1 - r), float(w)) for r, w in zip(right, wrong, strict=True))
    contrast = np.where(labeled, posterior - prior, 0.0)
    if not contrast.min() < 0 < contrast.max():
        raise ValueError("labels must tell some items from others, got alike ones for all of them")
    y, weight = np.where(contrast >= 0, 1, -1)[item], np.abs(contrast)[item]
    pi, pi_prime = (float(np.average(posterior[item][y == k], weights=weight[y == k])) for k in (1, -1))
    if pi - pi_prime < _NOTHING:
        raise ValueError(
            "annotators must agree more often than by chance, got labels that do not tell two classes apart"
        )
    given = yes + no
    shared = given * (counts * (given.sum(axis=1) > 1))[:, None]  # what nobody else has labeled says nothing of errors
    _warn_of_few(np.minimum(posterior @ shared, (1 - posterior) @ shared), of_annotators)
    weight = weight * (weight.sum() / (weight**2).sum())
    return Annotations(y, weight, pi, pi_prime, posterior[item], prior, rates, of_items, of_annotators)


def _estimated(
    yes: Array, no: Array, counts: Array, posterior: Array, is_rule: NDArray[np.bool_]
) -> tuple[float, Array, Array, Array]:
    """Return the prior, how often each annotator calls positives and negatives positive, and the posterior."""
    given, own = yes + no, counts @ yes / np.maximum(counts @ (yes + no), 1)
    people = ~is_rule
    start = float((counts @ posterior + 1) / (counts.sum() + 2))
    for _ in range(_ITERATIONS):
        positive, negative = counts * posterior, counts * (1 - posterior)
        prior = start if is_rule.any() else float((positive.sum() + 1) / (counts.sum() + 2))
        called = []
        for of_class, limit in ((positive, np.maximum), (negative, np.minimum)):
            mean = ((of_class @ yes)[people].sum() + 1) / ((of_class @ given)[people].sum() + 2)
            rate = (of_class @ yes + _DRAWN * np.where(is_rule, own, mean)) / (of_class @ given + _DRAWN)
            called.append(np.clip(np.where(is_rule, limit(rate, own), rate), 1e-9, 1 - 1e-9))
        right, wrong = called
        logit = yes @ np.log(right / wrong) + no @ np.log((1 - right) / (1 - wrong)) + np.log(prior / (1 - prior))
        before, posterior = posterior, 1 / (1 + np.exp(-np.clip(logit, -700, 700)))
        if np.abs(posterior - before).max() < _CONVERGED:
            break
    return prior, right, wrong, posterior


def _warn_of_few(found: Array, annotators: NDArray[Any]) -> None:
    """Warn if some annotators have labeled few items of a class that others have labeled too."""
    few = np.flatnonzero(found < _FEW)
    if len(few):
        named = ", ".join(map(str, annotators[few[:5]])) + (", ..." if len(few) > 5 else "")
        warnings.warn(
            f"the rates of {len(few)} of {len(found)} annotators ({named}) are hardly known: they rest on "
            f"about {found.min():.0f} items of a class that others have labeled too, and {_FEW} of each class are the "
            f"least. Weights, pi and pi_prime depend on these rates",
            stacklevel=3,
        )


def _votes(labels: Any, items: Any, annotators: Any) -> tuple[NDArray[np.int8], NDArray[Any], NDArray[Any]]:
    """Return labels as +1 and -1, and 0 where an annotator has not labeled an item; and the items and annotators."""
    try:
        if hasattr(labels, "to_numpy"):
            labels = labels.to_numpy(dtype=np.float64, na_value=np.nan)
        values = np.asarray(labels, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise ValueError(f"labels must be numbers, NaN where there is none: {error}") from None
    if (items is None) != (annotators is None):
        raise ValueError("items and annotators go together: both for the long format, neither for a table")
    if items is not None:
        of_items, row = np.unique(np.asarray(items), return_inverse=True)
        of_annotators, column = np.unique(np.asarray(annotators), return_inverse=True)
        if not (values.ndim == 1 and values.shape == row.shape == column.shape):
            raise ValueError(
                "labels, items and annotators must be vectors of one length, got shapes "
                f"{values.shape}, {row.shape} and {column.shape}"
            )
    elif values.ndim == 2:
        of_items, of_annotators = map(np.arange, values.shape)
        row, column = np.broadcast_arrays(of_items[:, None], of_annotators)
    else:
        raise ValueError(
            f"labels must have one row per item and one column per annotator, got shape {values.shape}; "
            "a vector of answers needs items and annotators"
        )
    given = ~np.isnan(values)
    votes = np.zeros((len(of_items), len(of_annotators)), dtype=np.int8)
    votes[row[given], column[given]] = np.where(is_positive(values[given]).numpy(), 1, -1)
    if votes.shape[1] < 3:
        raise ValueError(
            f"labels must be of three annotators or more, got {votes.shape[1]}: without clean labels, the rates of "
            "fewer cannot be told"
        )
    if (votes != 0).sum(axis=1).max(initial=0) < 2:
        raise ValueError("labels must overlap, got no item that two annotators have labeled")
    return votes, of_items, of_annotators
