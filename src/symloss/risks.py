"""The risks as ``nn.Module``: thin wrappers around ``symloss.functional``."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from torch import Tensor, nn

from symloss.distributed import gather_problem
from symloss.functional import auc_of, auc_risk, ber_of, ber_risk
from symloss.losses import LossLike, get_loss

if TYPE_CHECKING:
    from symloss.distributed import GroupLike


class _Risk(nn.Module):
    def __init__(
        self,
        loss: LossLike = "sigmoid",
        *,
        process_group: GroupLike | None = None,
        **parameters: Any,
    ) -> None:
        super().__init__()
        self.loss = get_loss(loss, **parameters)
        self.process_group = process_group

    def extra_repr(self) -> str:
        group = "" if self.process_group is None else f", process_group={self.process_group!r}"
        return f"{self.loss!r}{group}"


class BERLoss(_Risk):
    """The balanced-error risk: 1/2 (mean of l(g) over the positives + mean of l(-g) over the negatives).

    With a symmetric loss, its minimizer on corrupted labels is the one on clean labels (corollary 4). It has no state,
    and needs no special optimizer or sampler.

    Parameters
    ----------
    loss : str, Loss or callable
        The margin loss l.
    process_group : ProcessGroup or "world", optional
        Take the means over the batches of all ranks of this group; see ``AUCLoss``.
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
        if self.process_group is None:
            return ber_risk(scores, target, self.loss, weight)
        return ber_of(gather_problem(scores, target, weight, self.process_group), self.loss)


class AUCLoss(_Risk):
    """The AUC risk: the mean of l(g_i - g_j) over all pairs of a positive i and a negative j.

    With a symmetric loss, its minimizer on corrupted labels is the one on clean labels (corollary 2). It has no state,
    and needs no special optimizer or sampler.

    Parameters
    ----------
    loss : str, Loss or callable
        The margin loss l.
    process_group : ProcessGroup or "world", optional
        Pair the points of all ranks of this group; "world" is the group of all ranks. By default, only the points in
        the batch of this process are paired. Every rank gets the risk of the concatenated batches and, under
        ``DistributedDataParallel``, its gradient. Batches may differ in size, lack a class or be empty, but every rank
        must call the loss.
    **parameters
        The parameters of a loss given by name.

    Examples
    --------
    >>> import torch
    >>> AUCLoss("zero_one")(torch.tensor([0.1, 0.4, 0.35, 0.8]), torch.tensor([0, 0, 1, 1]))
    tensor(0.2500)
    >>> AUCLoss("sigmoid", process_group="world")
    AUCLoss(Sigmoid(), process_group='world')
    """

    def forward(self, scores: Tensor, target: Any, weight: Tensor | None = None) -> Tensor:
        """Return the risk of ``scores`` (..., n) for ``target`` in {0, 1}, {-1, +1} or bool."""
        if self.process_group is None:
            return auc_risk(scores, target, self.loss, weight)
        return auc_of(gather_problem(scores, target, weight, self.process_group), self.loss)


__all__ = ["AUCLoss", "BERLoss"]
