"""The two scores by which candidates are judged on corrupted labels: the AUC and the balanced accuracy.

Both are increasing affine functions of their values on clean labels (corollaries 2 and 4 with the zero-one loss). So
the candidate that is best on corrupted labels is, up to chance, also best on clean ones.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from symloss.estimators.standard_errors import auc_contributions, balanced_accuracy_contributions
from symloss.estimators.threshold import choose_threshold
from symloss.metrics import Estimate, auc, balanced_accuracy
from symloss.metrics.estimates import clean_auc_of, clean_balanced_accuracy_of

Array = NDArray[np.float64]
Labels = NDArray[np.bool_]
Score = Callable[[Array, Labels, Array], float]
Contributions = Callable[[Array, Labels, Array], Array]


class Judge(NamedTuple):
    """A score of scores, and what the search needs to know about it.

    Parameters
    ----------
    score : callable
        ``score(scores, positive, weight)``.
    weighed_by : tuple of (score, contributions)
        The scores whose sum decides on the weights of an average, each with the function of ``standard_errors`` that
        tells what each point contributes to it.
    estimate_clean : callable
        ``estimate_clean(pos, neg, pi, pi_prime)``: the score on clean labels, with an interval, from two samples.
    has_threshold : bool
        Whether the score depends on a threshold, so that every candidate is judged at its own.

    Examples
    --------
    >>> AUC.score(np.array([2.0, 1.0]), np.array([True, False]), np.ones(2))
    1.0
    """

    score: Score
    weighed_by: tuple[tuple[Score, Contributions], ...]
    estimate_clean: Callable[..., Estimate]
    has_threshold: bool

    def centered(self, scores: Array, positive: Labels, weight: Array) -> Array:
        """Return scores less the threshold that is chosen for them, if the score depends on one; NaN stays NaN."""
        held_out = ~np.isnan(scores)
        if not self.has_threshold or not held_out.any():
            return scores
        return np.asarray(scores - choose_threshold(scores[held_out], positive[held_out], weight[held_out]))


_AUC = (auc, auc_contributions)
_BALANCED_ACCURACY = (balanced_accuracy, balanced_accuracy_contributions)
AUC = Judge(auc, (_AUC,), clean_auc_of, has_threshold=False)
# The AUC has a smaller standard error than the balanced accuracy: it helps to tell good candidates from lucky ones.
BALANCED_ACCURACY = Judge(balanced_accuracy, (_BALANCED_ACCURACY, _AUC), clean_balanced_accuracy_of, has_threshold=True)
