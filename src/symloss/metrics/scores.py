"""AUC and balanced accuracy on the labels at hand: of one problem, of several, of scores that arrive in batches."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from symloss.checking import as_real, as_tensor, is_larger
from symloss.functional import auc_risk

if TYPE_CHECKING:
    from symloss.risks.distributed import GroupLike

Array = NDArray[np.float64]


class Sample(NamedTuple):
    """The scores of the points of one class, their weights, and how many independent points they are worth."""

    scores: Array
    weight: Array
    size: float


def two_samples(scores: Any, target: Any, weight: Any, repetitions: bool = False) -> tuple[Sample, Sample]:
    """Return the positives and the negatives, or raise a ValueError that says what is wrong with the input.

    The size of a weighted sample is Kish's effective size, (sum of weights)^2 / sum of squared weights: the mean of so
    many points of equal weight has the same variance. With ``repetitions``, weights that are all whole numbers count
    how often a point was drawn, and the size is their sum.
    """
    positive = is_larger(target)
    values = vector("scores", scores)
    weights = np.ones(len(values)) if weight is None else vector("weight", weight)
    for name, part in (("target", positive), ("weight", weights)):
        if part.shape != values.shape:
            raise ValueError(f"{name} must have the scores' shape {values.shape}, got {part.shape}")
    if np.isnan(values).any():
        raise ValueError(f"scores must be numbers, got NaN at position {int(np.flatnonzero(np.isnan(values))[0])}")
    if not (np.isfinite(weights) & (weights >= 0)).all():
        raise ValueError("weight must hold finite numbers >= 0")
    counts = repetitions and bool((weights == np.floor(weights)).all())
    unit = float(weights.max(initial=0.0)) or 1.0
    weights = weights / unit  # so that sums of weights can neither overflow nor vanish
    samples = []
    for label, side in (("positive", positive), ("negative", ~positive)):
        total = float(weights[side].sum())
        if not total > 0:
            raise ValueError(f"this needs points of both classes, got no {label} one (of weight above 0)")
        share = weights[side] / weights[side].max()  # squares of small numbers would vanish
        size = total * unit if counts else float(share.sum() ** 2 / (share**2).sum())
        samples.append(Sample(values[side], weights[side], size))
    return samples[0], samples[1]


def vector(name: str, values: Any) -> Array:
    """Return n numbers in float64; raise a ValueError if they are not numbers, or not of shape (n,)."""
    if isinstance(values, torch.Tensor):
        values = values.detach().to("cpu", torch.float64).numpy()
    try:
        array = np.asarray(values, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise ValueError(f"{name} must be numbers: {error}") from None
    if array.ndim != 1:
        raise ValueError(f"{name} must have shape (n,), got {array.shape}")
    return array


def auc(scores: Any, target: Any, weight: Any = None) -> Any:
    """Return the area under the ROC curve: the share of pairs ranked correctly, ties counted as one half.

    Parameters
    ----------
    scores : array or tensor of n scores, or of shape (..., n)
        Leading dimensions are independent problems.
    target : array, list or tensor of n labels, or of the scores' shape
        Any two values, of which the larger one is positive.
    weight : array or tensor, optional
        Non-negative weights; weight k counts as k repetitions.

    Returns
    -------
    float, or array of shape (...)
        NaN for a problem of several that lacks a class.

    Examples
    --------
    >>> auc([0.1, 0.4, 0.4, 0.8], [0, 0, 1, 1])
    0.875
    """
    if np.ndim(scores) > 1:
        return _auc(as_real(scores, "scores"), is_larger(target), weight)
    pos, neg = two_samples(scores, target, weight)
    counted, pairs = _below(pos.scores, neg.scores, neg.weight)
    return float(pos.weight @ counted / (pos.weight.sum() * pairs))


def balanced_accuracy(scores: Any, target: Any, weight: Any = None, threshold: float = 0.0) -> float:
    """Return the mean of the two classes' accuracies; a score at the threshold is half an error.

    Parameters
    ----------
    scores : array or tensor of n scores
    target : array, list or tensor of n labels
        Any two values, of which the larger one is positive.
    weight : array or tensor, optional
        Non-negative weights; weight k counts as k repetitions.
    threshold : float
        Scores above it are predicted positive.

    Examples
    --------
    >>> balanced_accuracy([-1.0, 0.0, 2.0, -3.0], [0, 0, 1, 1])
    0.625
    """
    return float(np.mean(class_accuracies(*two_samples(scores, target, weight), threshold)))


def share_below(scores: Array, others: Array, weight: Array) -> Array:
    """Return, for each score, the weighted share of the others below it, ties counted as one half."""
    counted, pairs = _below(scores, others, weight)
    return counted / pairs


def _below(scores: Array, others: Array, weight: Array) -> tuple[Array, float]:
    """Return, for each score, twice the weight of the others below it, ties counted once, and twice that of all."""
    order = np.argsort(others, kind="stable")
    ordered, cumulated = others[order], np.concatenate([[0.0], np.cumsum(weight[order])])
    counted: Array = cumulated[np.searchsorted(ordered, scores)] + cumulated[np.searchsorted(ordered, scores, "right")]
    return counted, 2 * cumulated[-1]


def class_accuracies(pos: Sample, neg: Sample, threshold: float) -> tuple[float, float]:
    """Return the share of the positives above a threshold and of the negatives below it; at it, a point is a half."""

    def accuracy(sample: Sample, sign: int) -> float:
        above = 0.5 * (sample.scores > threshold) + 0.5 * (sample.scores >= threshold)
        return float(np.average(above if sign > 0 else 1 - above, weights=sample.weight))

    return accuracy(pos, 1), accuracy(neg, -1)


class AUC:
    """The AUC of all scores so far, for a validation loop: exact, and not a mean over batches.

    Parameters
    ----------
    num_labels, ignore_index, average, process_group
        As in ``AUCLoss``: (N, L) scores, missing labels, the mean over columns or each column, scores of all ranks.

    Examples
    --------
    >>> metric = AUC()
    >>> metric.update([0.1, 0.4], [0, 0])
    >>> metric.update([0.4, 0.8], [1, 1])
    >>> metric.compute()
    0.875
    """

    def __init__(
        self,
        *,
        num_labels: int | None = None,
        ignore_index: float | None = None,
        average: str = "macro",
        process_group: GroupLike | None = None,
    ) -> None:
        self._options: dict[str, Any] = {
            "num_labels": num_labels,
            "ignore_index": ignore_index,
            "average": average,
            "process_group": process_group,
        }
        self.reset()

    def reset(self) -> None:
        """Forget all scores."""
        self._batches: list[tuple[Tensor, Tensor, Tensor]] = []

    def update(self, scores: Any, target: Any, weight: Any = None) -> None:
        """Add a batch of scores (n,), (n, 1) or (n, L), with labels and weights as for ``AUCLoss``."""
        scores = as_real(scores, "scores").detach()
        weight = torch.ones(len(scores)) if weight is None else as_real(weight, "weight")
        if scores.ndim > 1 and weight.ndim == 1:
            weight = weight[:, None].expand(scores.shape)
        self._batches.append((scores, as_tensor(target, "target"), weight.to(scores.device)))

    def compute(self) -> Any:
        """Return the AUC, or an array with that of each column for ``average="none"``; NaN where a class is missing."""
        if not self._batches:
            raise ValueError("compute needs scores: call update first")
        scores, target, weight = (torch.cat(parts) for parts in zip(*self._batches, strict=True))
        found = _auc(scores, target, weight, **self._options)
        return found if found.ndim else float(found)


def _auc(scores: Tensor, target: Any, weight: Any, **options: Any) -> NDArray[np.float64]:
    # Only the order counts: infinite scores become the largest number, and tie with each other.
    largest = torch.finfo(torch.float64).max
    scores = scores.detach().double().clamp(-largest, largest)
    found: NDArray[np.float64] = (
        (1 - auc_risk(scores, target, "zero_one", weight, empty="nan", **options)).cpu().numpy()
    )
    return found
