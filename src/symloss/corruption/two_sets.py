"""Two sets of points as one training set: unlabeled sets, similar pairs, comparisons, keywords."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from symloss.checking import check_fraction
from symloss.corruption.draws import Contamination


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
    A, B = _of_the_same_features(A, B, "A and B")
    return _stacked(A, B), np.repeat([1, -1], [A.shape[0], B.shape[0]])


def from_similar_pairs(first: Any, second: Any, unlabeled: Any, *, prior: float) -> tuple[Any, Any, Contamination]:
    """Return similar pairs and unlabeled points as one X, labels y, and their (pi, pi').

    The points of a pair are of the same class, but nobody says of which (Bao, Niu and Sugiyama, 2018). With
    p = ``prior``, a share p^2 / (p^2 + (1 - p)^2) of the points in pairs is positive. The set with the larger share is
    labeled +1: the pairs if p > 1/2, else the unlabeled points. For X and y, only the side of 1/2 matters.

    Parameters
    ----------
    first, second : arrays, tensors, data frames or sparse matrices of as many rows
        The first and the second point of each pair.
    unlabeled : array, tensor, data frame or sparse matrix
        Unlabeled points of the same features.
    prior : float
        The share of positives in the population, not 1/2.

    Returns
    -------
    X, y, contamination
        All points, their labels in {+1, -1}, and the ``Contamination`` of these labels.

    Examples
    --------
    >>> X, y, (pi, pi_prime) = from_similar_pairs([[1.0], [5.0]], [[2.0], [6.0]], [[3.0]], prior=0.75)
    >>> y, pi, pi_prime
    (array([ 1,  1,  1,  1, -1]), 0.9, 0.75)
    """
    check_fraction("prior", prior)
    if prior == 0.5:
        raise ValueError("prior must not be 0.5: then similar pairs and unlabeled points have the same distribution")
    pairs = _stacked(*_pairs(first, second, "first and second"))
    pairs, unlabeled = _of_the_same_features(pairs, unlabeled, "pairs and unlabeled")
    both_positive, both_negative = prior**2, (1 - prior) ** 2
    similar = both_positive / (both_positive + both_negative)
    if prior > 0.5:
        return *from_two_sets(pairs, unlabeled), Contamination(similar, prior)
    return *from_two_sets(unlabeled, pairs), Contamination(prior, similar)


def from_comparisons(
    better: Any, worse: Any, *, prior: float, reordered: bool = False
) -> tuple[Any, Any, Contamination]:
    """Return the better (+1) and the worse (-1) points of pairs as one X, labels y, and their (pi, pi').

    Which one of two points of the same class comes first has nothing to do with the features (Feng et al., 2021). With
    p = ``prior``, pairs that are kept only if the first point is not worse have pi = p / (1 - p + p^2) and
    pi' = p^2 / (1 - p + p^2). If no pair is thrown away, but (-, +) is turned round to (+, -), then
    pi = 1 - (1 - p)^2 and pi' = p^2. Without a prior, ``from_two_sets(better, worse)`` returns the same X and y.

    Parameters
    ----------
    better, worse : arrays, tensors, data frames or sparse matrices of as many rows
        The better and the worse point of each pair.
    prior : float
        The share of positives in the population.
    reordered : bool, default=False
        Whether pairs whose second point is better were turned round (True) or thrown away (False, as in Feng et al.).

    Returns
    -------
    X, y, contamination
        All points, their labels in {+1, -1}, and the ``Contamination`` of these labels.

    Examples
    --------
    >>> X, y, (pi, pi_prime) = from_comparisons([[5.0], [6.0]], [[1.0], [7.0]], prior=0.5, reordered=True)
    >>> y, pi, pi_prime
    (array([ 1,  1, -1, -1]), 0.75, 0.25)
    """
    check_fraction("prior", prior)
    better, worse = _pairs(better, worse, "better and worse")
    kept = 1.0 if reordered else 1 - prior + prior**2
    better_positive = 1 - (1 - prior) ** 2 if reordered else prior
    return *from_two_sets(better, worse), Contamination(better_positive / kept, prior**2 / kept)


def _of_the_same_features(A: Any, B: Any, names: str) -> tuple[Any, Any]:
    A, B = (part if hasattr(part, "shape") else np.asarray(part) for part in (A, B))
    if A.shape[1:] != B.shape[1:] or not len(A.shape):
        raise ValueError(f"{names} must hold the same features, got shapes {tuple(A.shape)} and {tuple(B.shape)}")
    if 0 in (A.shape[0], B.shape[0]):
        raise ValueError(f"{names} must hold points, got {A.shape[0]} and {B.shape[0]}")
    return A, B


def _pairs(A: Any, B: Any, names: str) -> tuple[Any, Any]:
    A, B = _of_the_same_features(A, B, names)
    if A.shape[0] != B.shape[0]:
        raise ValueError(f"{names} must hold one point of each pair, got {A.shape[0]} and {B.shape[0]} points")
    return A, B


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


def from_keywords(documents: Iterable[str], keywords: Sequence[str]) -> tuple[list[str], NDArray[np.int64]]:
    """Return documents without the keywords, and labels: +1 where one of the keywords occurred, else -1.

    If, within each class, the keywords occur independently of the other words, this is mutual contamination. Its pi is
    the share of positives among the documents with a keyword, and pi' their share among the others. The keywords are
    removed because a model could otherwise learn the rule that made the labels. Upper and lower case are alike.

    Parameters
    ----------
    documents : iterable of n texts
    keywords : list of words or phrases
        Words that positives contain more often than negatives do.

    Returns
    -------
    texts, y
        The n texts in which every keyword is left out, and their labels in {+1, -1}.

    Examples
    --------
    >>> from_keywords(["A late goal wins it.", "Fry the onions.", "Goals galore"], keywords=["goal", "match"])
    (['A late  wins it.', 'Fry the onions.', 'Goals galore'], array([ 1, -1, -1]))
    """
    if isinstance(keywords, str) or not keywords or not all(isinstance(word, str) and word for word in keywords):
        raise ValueError(f"keywords must be a list of one or more words, got {keywords!r}")
    texts = list(documents)
    wrong = [documents] if isinstance(documents, str) else [text for text in texts if not isinstance(text, str)]
    if wrong:
        raise ValueError(f"documents must be a list of texts, got {wrong[0]!r}")
    # Longer keywords first, so that "goal kick" is left out as a whole if "goal" is a keyword, too.
    words = "|".join(re.escape(word) for word in sorted(keywords, key=len, reverse=True))
    pattern = re.compile(rf"(?<!\w)(?:{words})(?!\w)", re.IGNORECASE)
    found = [pattern.search(text) is not None for text in texts]
    if len(set(found)) < 2:
        raise ValueError(
            f"keywords must occur in some documents and not in others, got {sum(found)} of {len(texts)} documents"
        )
    return [pattern.sub("", text) for text in texts], np.where(found, 1, -1)
