"""Thresholds of scores: for a share of the rows, for the top rows, and for the costs of the two kinds of errors.

Rows with a score above the threshold are predicted positive. Thresholds for a share and for the top rows come from
the scores of the table that is predicted. Those for costs come from the model alone: its probabilities of the labels
given, which were fitted to out-of-fold scores, and the rates of the noise.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from symloss.metrics import CleanRates, Estimate, clean_rates
from symloss.naming import named
from symloss.tabular.findings import Findings
from symloss.tabular.rates import known_rates

Array = NDArray[np.float64]
_ROUNDING = 1e-10  # scores are standardized, so that they differ by about one


def top_threshold(scores: Array, k: int) -> float:
    """Return the threshold above which the k largest scores lie; fewer than k, if the last of them ties with others.

    Scores that differ by no more than rounding tie, too: products of matrices round by a row's place in its block.

    Examples
    --------
    >>> top_threshold(np.array([1.0, 4.0, 2.0, 3.0]), 2)
    2.5
    >>> top_threshold(np.array([1.0, 2.0, 2.0, 3.0]), 2)  # two rows tie: only one is above
    2.5
    """
    if k < 0:
        raise ValueError(f"the number of rows to predict positive must be at least 0, got {k}")
    if k >= len(scores):
        return -math.inf
    ordered = np.sort(scores)[::-1]
    higher, lower = ordered[:k], ordered[1 : k + 1]  # neighbors, between which the threshold may lie
    apart = np.flatnonzero(higher - lower > _ROUNDING * np.maximum(1.0, np.abs(lower)))
    return float(higher[apart[-1]] / 2 + lower[apart[-1]] / 2) if len(apart) else float(ordered[0])


def share_threshold(scores: Array, share: float) -> float:
    """Return the threshold above which a share of the scores lies, rounded to whole rows.

    Examples
    --------
    >>> share_threshold(np.array([1.0, 4.0, 2.0, 3.0]), 0.25)
    3.5
    """
    return top_threshold(scores, rows_of_share(share, len(scores)))


def rows_of_share(share: float, rows: int) -> int:
    """Return how many of some rows a share of them is.

    Examples
    --------
    >>> rows_of_share(0.25, 10)
    2
    """
    if not 0 <= share <= 1:
        raise ValueError(f"the share of rows to predict positive must be from 0 to 1, got {share:g}")
    return round(share * rows)


def cost_threshold(estimator: Any, false_positive: float = 1.0, false_negative: float = 1.0) -> float:
    """Return the threshold of the smallest expected cost on clean labels, where errors cost so much each.

    A row is predicted positive where its probability p of being truly positive makes the expected cost of a false
    negative, ``p * false_negative``, larger than that of a false positive, ``(1 - p) * false_positive``.

    Parameters
    ----------
    estimator : AUCClassifierCV or BERClassifierCV
        Fitted with the rates ``pi`` and ``pi_prime``, or to labels whose noise could be estimated (``noise_``).
    false_positive, false_negative : float
        The cost of predicting the positive label for a row that is truly negative, and the reverse.

    Examples
    --------
    >>> import symloss as sl
    >>> X, y = np.arange(40.0)[:, None], np.repeat([0, 1], 20)
    >>> model = sl.AUCClassifierCV([("linear", sl.AUCClassifier())], pi=0.9, pi_prime=0.1, random_state=0).fit(X, y)
    >>> cost_threshold(model, false_negative=5) < cost_threshold(model) < cost_threshold(model, false_positive=5)
    True
    """
    for name, cost in (("positive", false_positive), ("negative", false_negative)):
        if not 0 < cost < math.inf:
            raise ValueError(f"the cost of a false {name} must be a number above 0, got {cost:g}")
    rates = known_rates(estimator)
    if rates is None:
        raise ValueError(
            f"costs need the rates of the noise, which these labels do not tell: fit with {named('pi')} and "
            f"{named('pi_prime')}, or give {named('threshold')}, {named('share')} or {named('top_k')} instead"
        )
    if not hasattr(estimator, "calibration_"):
        raise ValueError("the model was saved by a version without probabilities, which costs need: fit it again")
    share, (slope, intercept) = estimator.share_labeled_positive_, estimator.calibration_
    prior = share * rates.pi + (1 - share) * rates.pi_prime
    if not 0 < prior < 1 or slope == 0:
        return -math.inf if prior * false_negative > (1 - prior) * false_positive else math.inf
    # The ratio of the clean densities at which both errors cost the same, and that of the labels given there.
    clean = false_positive / false_negative * (1 - prior) / prior
    given = (rates.pi * clean + 1 - rates.pi) / (rates.pi_prime * clean + 1 - rates.pi_prime)
    odds = given * share / (1 - share)
    if not 0 < odds < math.inf:
        return -math.inf if odds <= 0 else math.inf
    return float((math.log(odds) - intercept) / slope)


class Asked(NamedTuple):
    """Which threshold somebody asks for: itself, a share or a number of the rows, or what the two errors cost.

    Examples
    --------
    >>> Asked(share=0.1, top_k=5).check()
    Traceback (most recent call last):
    ValueError: give one of threshold, share, top_k and costs, got share and top_k
    """

    threshold: float | None = None
    share: float | None = None
    top_k: int | None = None
    cost_false_positive: float | None = None
    cost_false_negative: float | None = None

    @property
    def costs(self) -> tuple[float, float] | None:
        """The costs of a false positive and of a false negative; one that is not given is 1. None if neither is."""
        if self.cost_false_positive is None and self.cost_false_negative is None:
            return None
        false_positive, false_negative = self.cost_false_positive, self.cost_false_negative
        return 1.0 if false_positive is None else false_positive, 1.0 if false_negative is None else false_negative

    def check(self) -> None:
        """Raise ValueError if several things are asked for that exclude each other."""
        given = {named(name): getattr(self, name) for name in ("threshold", "share", "top_k")} | {"costs": self.costs}
        asked = [name for name, value in given.items() if value is not None]
        if len(asked) > 1:
            *others, last = given
            raise ValueError(f"give one of {', '.join(others)} and {last}, got {' and '.join(asked)}")
        if self.threshold is not None and math.isnan(self.threshold):
            raise ValueError(f"{named('threshold')} must be a number, got nan")


def chosen_threshold(asked: Asked, estimator: Any, scores: Callable[[], Array]) -> tuple[float, list[str]]:
    """Return the threshold that is asked for, and notes that say where it comes from.

    Parameters
    ----------
    asked : Asked
        What is asked for; without anything, the threshold is 0.
    estimator : AUCClassifierCV or BERClassifierCV
        The model's estimator, which knows the rates that costs need.
    scores : callable
        Returns the scores of all rows to predict; called only for a share or a number of these rows.

    Examples
    --------
    >>> chosen_threshold(Asked(top_k=1), None, lambda: np.array([0.5, 2.5, 1.5]))
    (2.0, ['threshold 2, which the 1 largest scores of this table are above'])
    >>> chosen_threshold(Asked(), None, None)
    (0.0, [])
    """
    if asked.threshold is not None:
        return asked.threshold, []
    if asked.share is not None or asked.top_k is not None:
        found = scores()
        wanted = asked.top_k if asked.top_k is not None else rows_of_share(asked.share or 0.0, len(found))
        threshold = top_threshold(found, wanted)
        above = int((found > threshold).sum())
        tie = ", since others tie with the next one" if above < min(wanted, len(found)) else ""
        return threshold, [f"threshold {threshold:.4g}, which the {above} largest scores of this table are above{tie}"]
    if asked.costs is not None:
        threshold, rates = cost_threshold(estimator, *asked.costs), known_rates(estimator)
        known = "estimated in the fit" if estimator.pi is None else "given to the fit"
        assert rates is not None
        by = f"pi = {rates.pi:.2f} and pi' = {rates.pi_prime:.2f}, {known}"
        return threshold, [f"threshold {threshold:.4g}, of the smallest expected cost by the rates {by}"]
    return 0.0, []


class Choice(NamedTuple):
    """A threshold, what it is for, and what it does to the rows of the fit, by their out-of-fold scores.

    Attributes
    ----------
    purpose, option : str
        What the threshold is for, and the option of ``symloss predict`` that sets it.
    threshold : float
        Scores above it are predicted positive.
    rows : int
        The number of rows above it.
    share : float
        The share of the rows that is above it.
    found, false_alarms : float
        The shares, by weight, of the rows labeled positive and of those labeled negative that are above it.
    clean : CleanRates or None
        The same for rows that are truly positive and negative, if there are rates.
    precision : Estimate or None
        The share of truly positive rows among those above it, if there are rates and such rows.

    Examples
    --------
    >>> Choice("balanced", "", 0.0, 10, 0.5, 0.9, 0.1, None, None).rows
    10
    """

    purpose: str
    option: str
    threshold: float
    rows: int
    share: float
    found: float
    false_alarms: float
    clean: CleanRates | None
    precision: Estimate | None


def choices(found: Findings, estimator: Any, positive: str) -> list[Choice]:
    """Return thresholds for several purposes; ``positive`` is the positive label, as text.

    Examples
    --------
    >>> import pandas as pd, symloss as sl
    >>> from symloss.tabular import fit_table
    >>> from symloss.tabular.findings import findings
    >>> frame = pd.DataFrame({"x": np.arange(40.0), "y": ["no"] * 20 + ["yes"] * 20})
    >>> fitted = fit_table(frame, "y", candidates=[("linear", sl.AUCClassifier())])
    >>> [(choice.option, choice.rows) for choice in choices(findings(fitted), fitted.model.estimator, "yes")]
    [('', 20), ('--share 0.5', 20), ('--top-k 4', 4)]
    """
    made = [_choice("both labels count the same, whatever their numbers (the default)", "", 0.0, found)]
    if found.rates is not None:
        for purpose, option, costs in (
            ("fewest errors: a miss costs as much as a false alarm", "--cost-false-negative 1", (1.0, 1.0)),
            (f"a missed {positive!r} costs five times a false alarm", "--cost-false-negative 5", (1.0, 5.0)),
            (f"a false alarm costs five times a missed {positive!r}", "--cost-false-positive 5", (5.0, 1.0)),
        ):
            made.append(_choice(purpose, option, cost_threshold(estimator, *costs), found))
    labeled = float(found.positive.mean())  # not by weight: --share counts rows
    shares = {f"as many {positive!r} as there are labels {positive!r}": labeled}
    if found.rates is not None:
        prior = labeled * found.rates.pi + (1 - labeled) * found.rates.pi_prime
        shares[f"as many {positive!r} as there seem to be in truth"] = prior
    for purpose, share in shares.items():
        made.append(_choice(purpose, f"--share {share:.3g}", share_threshold(found.scores, share), found))
    k = min(100, max(1, len(found.scores) // 10))
    made.append(_choice(f"the {k} rows that are surest to be {positive!r}", f"--top-k {k}",
                        top_threshold(found.scores, k), found))  # fmt: skip
    return made


def _choice(purpose: str, option: str, threshold: float, found: Findings) -> Choice:
    above = found.scores > threshold

    def share(of: NDArray[np.bool_]) -> float:
        return float(found.weight[of & above].sum() / found.weight[of].sum())

    clean = precision = None
    if found.rates is not None and found.prior is not None:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # the findings say it if the rates cannot be
            clean = clean_rates(found.scores, found.positive, *found.rates, threshold, weight=found.weight)
        if 0 < found.prior < 1 and clean.tpr.value + clean.fpr.value > 0:
            precision = clean.precision(found.prior)
    shares = float(above.mean()), share(found.positive), share(~found.positive)
    return Choice(purpose, option, threshold, int(above.sum()), *shares, clean, precision)
