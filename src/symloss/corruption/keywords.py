"""Keywords and unlabeled documents as one training set."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

import numpy as np
from numpy.typing import NDArray


def from_keywords(documents: Iterable[str], keywords: Sequence[str]) -> tuple[list[str], NDArray[np.int64]]:
    """Return documents without the keywords, and labels: +1 where one of the keywords occurred, else -1.

    The label of a document has nothing to do with the rest of its words if, within each class, the keywords occur
    independently of the other words. Then this is mutual contamination. Its pi is the share of positives among the
    documents with a keyword, and pi' their share among the others. The keywords are removed because a model could
    otherwise learn the rule that made the labels. Keywords are whole words or phrases; upper and lower case are alike.

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
