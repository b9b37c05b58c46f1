"""Scores on clean labels in the form that scikit-learn's ``make_scorer`` takes: labels first, then predictions."""

from __future__ import annotations

from typing import Any

import numpy as np

from symloss.checking import is_larger
from symloss.corruption import check_contamination
from symloss.metrics.estimates import clean_auc, clean_balanced_accuracy
from symloss.metrics.scores import auc, balanced_accuracy


def clean_auc_score(y_true: Any, y_score: Any, *, pi: float, pi_prime: float, sample_weight: Any = None) -> float:
    """Return the AUC on clean labels, for ``make_scorer``; by chance it may be outside [0, 1].

    Parameters
    ----------
    y_true : n corrupted labels
        Any two values, of which the larger one is positive.
    y_score : n scores
        Larger for points that are more likely positive.
    pi, pi_prime : float
        The share of clean positives among the points labeled positive, and among those labeled negative.
    sample_weight : n weights, optional
        Weight k counts as k repetitions.

    Examples
    --------
    >>> clean_auc_score(["no", "yes", "no", "yes"], [0.1, 0.4, 0.2, 0.8], pi=1, pi_prime=0)
    1.0
    >>> from sklearn.metrics import make_scorer
    >>> scorer = make_scorer(clean_auc_score, response_method="decision_function", pi=0.8, pi_prime=0.3)
    """
    check_contamination(pi, pi_prime)
    return clean_auc(auc(y_score, y_true, sample_weight), pi, pi_prime)


def clean_balanced_accuracy_score(
    y_true: Any, y_pred: Any, *, pi: float, pi_prime: float, sample_weight: Any = None
) -> float:
    """Return the balanced accuracy of predicted labels on clean labels, for ``make_scorer``; it may be outside [0, 1].

    Parameters
    ----------
    y_true : n corrupted labels
        Any two values, of which the larger one is positive.
    y_pred : n predicted labels
        The same two values, or one of them.
    pi, pi_prime, sample_weight
        As in ``clean_auc_score``.

    Examples
    --------
    >>> clean_balanced_accuracy_score(["no", "yes", "no", "yes"], ["no", "yes", "yes", "yes"], pi=1, pi_prime=0)
    0.75
    >>> from sklearn.metrics import make_scorer
    >>> scorer = make_scorer(clean_balanced_accuracy_score, pi=0.8, pi_prime=0.3)
    """
    check_contamination(pi, pi_prime)
    is_larger(y_true)
    labels, predicted = np.unique(np.asarray(y_true)), np.asarray(y_pred)
    unknown = np.setdiff1d(predicted, labels)
    if len(unknown):
        raise ValueError(f"y_pred must hold the labels of y_true, {labels.tolist()}, got {unknown[:5].tolist()}")
    scores = np.where(predicted == labels[-1], 1.0, -1.0)
    return clean_balanced_accuracy(balanced_accuracy(scores, y_true, sample_weight), pi, pi_prime)
