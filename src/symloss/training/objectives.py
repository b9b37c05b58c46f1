"""What a perceptron minimises on a batch: the gradient of the balanced-error and of the AUC risk by the scores."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import torch
from torch import Tensor

from symloss.losses import Loss, Piecewise

RISKS = ("ber", "auc")


@dataclass(frozen=True)
class Objective:
    """The risk that training minimises, and the loss in it.

    Parameters
    ----------
    risk : {"ber", "auc"}
        ``"ber"`` is R_pos + R_neg, the sum of the two classes' mean losses, *without* the factor 1/2 of the balanced
        error: next to a weight decay the scale of a risk matters, and this is the paper's. ``"auc"`` is the mean loss
        over all pairs of a positive and a negative point of the batch.
    loss : Loss
        The margin loss.

    Examples
    --------
    >>> from symloss.losses import Hinge
    >>> Objective("auc", Hinge())
    Objective(risk='auc', loss=Hinge())
    """

    risk: str
    loss: Loss

    def __post_init__(self) -> None:
        if self.risk not in RISKS:
            raise ValueError(f"risk must be one of {', '.join(RISKS)}, got {self.risk!r}")

    def gradient(self, scores: Tensor, classes: Classes) -> Tensor:
        """Return the risk's gradient by the scores (k, b); rows are independent, a missing class counts for nothing."""
        return (_ber_gradient if self.risk == "ber" else _auc_gradient)(scores, classes, self.loss)


class Classes(NamedTuple):
    """Which points of k batches are positive; in every batch, the positives come first.

    Parameters
    ----------
    sign : Tensor of shape (k, b)
        The labels, +1 and -1.
    weight : Tensor of shape (k, b)
        The label over the size of its class: sums of weight times score are differences of the classes' means.
    positive, negative : Tensor of shape (k, p) and (k, q)
        1 for the first p points that are positive and for the last q points that are negative, else 0; p and q are the
        largest class sizes among the k batches.
    per_pair : Tensor of shape (k, 1)
        1 over the number of pairs; 0 where a class is missing.

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
        """Return the classes of batches of one size with these numbers of positives."""
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


def _auc_gradient(scores: Tensor, classes: Classes, loss: Loss) -> Tensor:
    p, q = classes.positive.shape[1], classes.negative.shape[1]
    pos, neg = scores[:, :p], scores[:, scores.shape[1] - q :]
    by_pos, by_neg = (_counted if _has_lines(loss) else _paired)(pos, neg, classes, loss)
    gradient = torch.zeros_like(scores)
    gradient[:, :p] = by_pos * classes.positive
    gradient[:, scores.shape[1] - q :] -= by_neg * classes.negative
    return gradient.mul_(classes.per_pair)


def _paired(pos: Tensor, neg: Tensor, classes: Classes, loss: Loss) -> tuple[Tensor, Tensor]:
    """Sum the slopes of all pairs, for any loss: at a few hundred points a class the matrix is the fastest."""
    slopes = loss.slope(pos[:, :, None] - neg[:, None, :])
    by_pos = torch.bmm(slopes, classes.negative[:, :, None]).squeeze(2)
    return by_pos, torch.bmm(classes.positive[:, None, :], slopes).squeeze(1)


def _has_lines(loss: Loss) -> bool:
    """Whether the slope is a line and steps, whose sums over all pairs are a few sums and counts."""
    structure = loss.structure
    return (
        isinstance(structure, Piecewise)
        and len(structure.coefficients) <= 3
        and all(kink.power <= 1 for kink in structure.kinks)
    )


def _counted(pos: Tensor, neg: Tensor, classes: Classes, loss: Loss) -> tuple[Tensor, Tensor]:
    """Sum the slopes of all pairs without the pairs: first as whole counts, so that the parts cancel exactly."""
    structure = loss.structure
    assert isinstance(structure, Piecewise)
    _, linear, quadratic = (*structure.coefficients, 0.0, 0.0, 0.0)[:3]
    n, m = classes.positive.sum(1, keepdim=True), classes.negative.sum(1, keepdim=True)
    by_pos, by_neg = linear * m, linear * n
    if quadratic:
        sum_pos, sum_neg = ((part * side).sum(1, keepdim=True) for part, side in zip((pos, neg), classes[2:4]))
        by_pos = by_pos + 2 * quadratic * (m * pos - sum_neg)
        by_neg = by_neg + 2 * quadratic * (sum_pos - n * neg)
    corners = [kink for kink in structure.kinks if kink.power == 1]
    if corners:
        # Points of the other class, there where batches differ in their class sizes, are moved out of the way.
        u = pos.masked_fill(classes.positive == 0, torch.inf)
        t = neg.masked_fill(classes.negative == 0, -torch.inf)
        u_sorted, t_sorted = u.sort().values, t.sort().values
        for corner in corners:
            above = t.shape[1] - _rank(t_sorted, u - corner.where)
            below = _rank(u_sorted - corner.where, t)
            by_pos = by_pos - corner.weight * above
            by_neg = by_neg - corner.weight * below
    return by_pos, by_neg


def _rank(ordered: Tensor, values: Tensor) -> Tensor:
    """Return how many of the ordered numbers of its row are below each value, ties counted as one half."""
    both = torch.searchsorted(ordered, values) + torch.searchsorted(ordered, values, right=True)
    return 0.5 * both
