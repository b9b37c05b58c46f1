"""The risks as ``nn.Module``: thin shells over ``symloss.functional``."""

from __future__ import annotations

from typing import Any

from torch import Tensor, nn

from symloss.functional import auc_risk, ber_risk
from symloss.losses import LossLike, get_loss


class _Risk(nn.Module):
    def __init__(self, loss: LossLike = "sigmoid", **parameters: Any) -> None:
        super().__init__()
        self.loss = get_loss(loss, **parameters)

    def extra_repr(self) -> str:
        return repr(self.loss)


class BERLoss(_Risk):
    """The balanced-error risk: 1/2 (mean of l(g) over the positives + mean of l(-g) over the negatives).

    With a symmetric loss, its minimiser on corrupted labels is the one on clean labels (corollary 4). It has no state,
    and needs no special optimiser or sampler.

    Parameters
    ----------
    loss : str, Loss or callable
        The margin loss l.
    **parameters
        The parameters of a loss given by name.

    Examples
    --------
    >>> import torch
    >>> BERLoss("barrier_hinge", b=10, r=1)
    BERLoss(BarrierHinge(b=10, r=1))
    >>> BERLoss("sigmoid")(torch.tensor([0.0, 0.0]), torch.tensor([1, 0]))
    tensor(0.5000)
    """

    def forward(self, scores: Tensor, target: Any, weight: Tensor | None = None) -> Tensor:
        """Return the risk of ``scores`` (..., n) for ``target`` in {0, 1}, {-1, +1} or bool."""
        return ber_risk(scores, target, self.loss, weight)


class AUCLoss(_Risk):
    """The AUC risk: the mean of l(g_i - g_j) over all pairs of a positive i and a negative j.

    With a symmetric loss, its minimiser on corrupted labels is the one on clean labels (corollary 2). It has no state,
    and needs no special optimiser or sampler.

    Parameters
    ----------
    loss : str, Loss or callable
        The margin loss l.
    **parameters
        The parameters of a loss given by name.

    Examples
    --------
    >>> import torch
    >>> AUCLoss("zero_one")(torch.tensor([0.1, 0.4, 0.35, 0.8]), torch.tensor([0, 0, 1, 1]))
    tensor(0.2500)
    """

    def forward(self, scores: Tensor, target: Any, weight: Tensor | None = None) -> Tensor:
        """Return the risk of ``scores`` (..., n) for ``target`` in {0, 1}, {-1, +1} or bool."""
        return auc_risk(scores, target, self.loss, weight)


__all__ = ["AUCLoss", "BERLoss"]
