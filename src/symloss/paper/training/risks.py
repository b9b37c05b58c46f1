"""What a perceptron minimizes on a batch: the gradients of both risks with respect to the scores."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import NamedTuple

import torch
from torch import Tensor

from symloss.functional import RISKS
from symloss.losses import Loss, Piecewise


@dataclass(frozen=True)
class Risk:
    """The risk that training minimizes, and the loss in it.

    Parameters
    ----------
    name : {"ber", "auc"}
        ``"ber"`` is R_pos + R_neg, the sum of the two classes' mean losses, *without* the factor 1/2 of the balanced
        error: with weight decay the scale of a risk matters, and this scale is the paper's. ``"auc"`` is the mean loss
        over all pairs of a positive and a negative point of the batch.
    loss : Loss
        The margin loss.
    one_by_one : bool
        Whether ``"auc"`` pairs only the k-th positive with the k-th negative, in batches whose first half is positive.

    Examples
    --------
    >>> from symloss.losses import Hinge
    >>> Risk("auc", Hinge())
    Risk(name='auc', loss=Hinge(), one_by_one=False)
    """

    name: str
    loss: Loss
    one_by_one: bool = False

    def __post_init__(self) -> None:
        if self.name not in RISKS:
            raise ValueError(f"risk must be one of {', '.join(RISKS)}, got {self.name!r}")

    def gradient(self, scores: Tensor, classes: Classes) -> Tensor:
        """Return the gradient with respect to the scores (k, b); rows are independent; a missing class adds nothing."""
        if self.name == "ber":
            return _ber_gradient(scores, classes, self.loss)
        return (_one_by_one_gradient if self.one_by_one else _auc_gradient)(scores, classes, self.loss)


class Classes(NamedTuple):
    """Which points of k batches are positive; in every batch, the positives come first.

    Parameters
    ----------
    sign : Tensor of shape (k, b)
        The labels, +1 and -1.
    weight : Tensor of shape (k, b)
        The label divided by the size of its class: the sum of weight times score is the difference of the class means.
    positive, negative : Tensor of shape (k, p) and (k, q)
        Which of the first p points are positive, and which of the last q points are negative: 1 if they are, else 0.
        p and q are the largest class sizes among the k batches.
    per_pair : Tensor of shape (k, 1)
        1 divided by the number of pairs; 0 where a class is missing.

    Examples
    --------
    >>> Classes.of([1, 2], 3).sign
    tensor([[ 1., -1., -1.],
            [ 1.,  1., -1.]])
    """

    sign: Tensor
    weight: Tensor
    positive: Tensor
    negative: Tensor
    per_pair: Tensor

    @classmethod
    def of(cls, positives: list[int], size: int, device: torch.device | str = "cpu") -> Classes:
        """Return the classes of batches of ``size`` points each, with these numbers of positives."""
        n = torch.tensor(positives)[:, None]
        m = size - n
        positive = (torch.arange(size) < n).float()
        negative = 1 - positive
        weight = positive / n.clamp(min=1) - negative / m.clamp(min=1)
        per_pair = (n * m > 0) / (n * m).clamp(min=1)
        p, q = int(n.max()), int(m.max())
        return cls(
            (positive - negative).to(device),
            weight.to(device),
            positive[:, :p].to(device),
            negative[:, size - q :].to(device),
            per_pair.to(device),
        )


def _ber_gradient(scores: Tensor, classes: Classes, loss: Loss) -> Tensor:
    return loss.slope(scores * classes.sign) * classes.weight


def _one_by_one_gradient(scores: Tensor, classes: Classes, loss: Loss) -> Tensor:
    half = scores.shape[1] // 2
    there = classes.sign[:, :half].clamp(min=0) * -classes.sign[:, half:].clamp(max=0)  # a place may be empty
    slopes = loss.slope(scores[:, :half] - scores[:, half:]) * there / there.sum(1, keepdim=True).clamp(min=1)
    return torch.cat([slopes, -slopes], 1)


def _auc_gradient(scores: Tensor, classes: Classes, loss: Loss) -> Tensor:
    p, q = classes.positive.shape[1], classes.negative.shape[1]
    pos, neg = scores[:, :p], scores[:, scores.shape[1] - q :]
    # A GPU computes all pairs at once, but needs many small steps to sort.
    lines = _lines(loss) if scores.device.type == "cpu" else None
    by_pos, by_neg = _paired(pos, neg, classes, loss) if lines is None else _counted(pos, neg, classes, lines)
    gradient = torch.zeros_like(scores)
    gradient[:, :p] = by_pos * classes.positive
    gradient[:, scores.shape[1] - q :] -= by_neg * classes.negative
    return gradient.mul_(classes.per_pair)


def _paired(pos: Tensor, neg: Tensor, classes: Classes, loss: Loss) -> tuple[Tensor, Tensor]:
    """Sum the slopes of all pairs, for any loss: with a few hundred points per class, a matrix of pairs is fastest."""
    slopes = loss.slope(pos[:, :, None] - neg[:, None, :])
    by_pos = torch.bmm(slopes, classes.negative[:, :, None]).squeeze(2)
    return by_pos, torch.bmm(classes.positive[:, None, :], slopes).squeeze(1)


class _Lines(NamedTuple):
    """A slope that is a straight line minus steps: l'(z) = intercept + incline * z - sum of height * [z < where]."""

    intercept: float
    incline: float
    steps: tuple[tuple[float, float], ...]


@lru_cache
def _lines(loss: Loss) -> _Lines | None:
    structure = loss.structure
    if (
        not isinstance(structure, Piecewise)
        or len(structure.coefficients) > 3
        or any(kink.power == 2 for kink in structure.kinks)
    ):
        return None
    _, linear, quadratic = (*structure.coefficients, 0.0, 0.0, 0.0)[:3]
    return _Lines(
        linear, 2 * quadratic, tuple((kink.where, kink.weight) for kink in structure.kinks if kink.power == 1)
    )


def _counted(pos: Tensor, neg: Tensor, classes: Classes, lines: _Lines) -> tuple[Tensor, Tensor]:
    """Sum the slopes of all pairs without forming pairs: whole counts come first, so that the parts cancel exactly."""
    n, m = classes.positive.sum(1, keepdim=True), classes.negative.sum(1, keepdim=True)
    by_pos, by_neg = lines.intercept * m, lines.intercept * n
    if lines.incline:
        sum_pos, sum_neg = (pos * classes.positive).sum(1, keepdim=True), (neg * classes.negative).sum(1, keepdim=True)
        by_pos = by_pos + lines.incline * (m * pos - sum_neg)
        by_neg = by_neg + lines.incline * (sum_pos - n * neg)
    if lines.steps:
        # Where batches differ in their class sizes, points of the other class are here too: move them out of the way.
        s = pos.masked_fill(classes.positive == 0, torch.inf)
        t = neg.masked_fill(classes.negative == 0, -torch.inf)
        s_sorted, t_sorted = s.sort().values, t.sort().values
        for where, height in lines.steps:
            by_pos = by_pos - height * (t.shape[1] - _rank(t_sorted, s - where))
            by_neg = by_neg - height * _rank(s_sorted - where, t)
    return by_pos, by_neg


def _rank(ordered: Tensor, values: Tensor) -> Tensor:
    """Return for each value how many of the ordered numbers in its row are below it; ties count as one half."""
    return 0.5 * (torch.searchsorted(ordered, values) + torch.searchsorted(ordered, values, right=True))
