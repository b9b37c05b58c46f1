"""Columns with many texts: each text, or each of its words, goes to one of a fixed number of features by its hash.

A hash depends on nothing but the text, so no fold learns from the rows that it holds out, no list of texts has to be
stored, and a text that the fit has not seen is treated like any other. An encoding by the mean of the labels would need
folds inside the folds, and would carry the noise of the labels into the features.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]

CATEGORY_FEATURES, WORD_FEATURES = 32, 200
_FEWEST, _OF_ALL = 16, 1000  # features of a column, and about how many those of one kind have together
_WORDS_OF_A_TEXT = 3


class Hashed(NamedTuple):
    """How a column of many texts becomes features; a missing value becomes all zeros.

    Parameters
    ----------
    n_features : int
        How many features there are.
    words : bool
        Whether each word of a text is hashed, in lower case, or the text as a whole.
    distinct : int
        How many distinct texts the fit had.

    Examples
    --------
    >>> hashed = Hashed.of(["good, but very dear", "not good at all"])
    >>> hashed
    Hashed(n_features=200, words=True, distinct=2)
    >>> out = np.zeros((2, 200))
    >>> _ = hashed.fill(["dear but good", "good but dear"], np.array([0, 1]), out)
    >>> int(np.count_nonzero(out[0])), np.array_equal(out[0], out[1])
    (3, True)
    """

    n_features: int
    words: bool
    distinct: int

    @classmethod
    def of(cls, texts: Sequence[str]) -> Hashed:
        """Return how these texts become features: by their words if they have three or more on average."""
        words = sum(text.strip().count(" ") + 1 for text in texts) >= _WORDS_OF_A_TEXT * len(texts)
        return cls(WORD_FEATURES if words else CATEGORY_FEATURES, words, len(texts))

    def among(self, count: int) -> Hashed:
        """Return how the column becomes features if the table has so many columns of its kind, which share a budget.

        Examples
        --------
        >>> Hashed(200, words=True, distinct=60).among(20).n_features
        50
        """
        return self._replace(n_features=max(_FEWEST, min(self.n_features, _OF_ALL // count)))

    @property
    def what(self) -> str:
        """What the column must hold, in a word."""
        return "texts"

    @property
    def decision(self) -> str:
        """What the column becomes, in words."""
        what = "long texts, their words" if self.words else "categories,"
        return f"{self.distinct} distinct {what} hashed to {self.n_features} features"

    def features(self, name: str) -> list[str]:
        """Return the names of the features of a column."""
        return [f"{name}: {'words' if self.words else 'hash'} {k}" for k in range(self.n_features)]

    def fill(self, texts: Sequence[str], codes: NDArray[np.intp], out: Array) -> NDArray[np.bool_]:
        """Write the features of ``texts[codes]`` into ``out``, which is 0 (-1 is missing); every text can be read."""
        from sklearn.feature_extraction.text import HashingVectorizer

        hasher = HashingVectorizer(
            analyzer="word" if self.words else _whole,
            token_pattern=r"(?u)\b\w+\b" if self.words else None,
            n_features=self.n_features,
            norm="l2" if self.words else None,
            alternate_sign=False,
        )
        given = np.flatnonzero(codes >= 0)
        if len(given):
            rows = hasher.transform(texts)[codes[given]].tocoo()  # sparse to the end, for there may be many texts
            out[given[rows.row], rows.col] = rows.data
        return np.zeros(len(texts), bool)


def _whole(text: str) -> list[str]:
    return [text]
