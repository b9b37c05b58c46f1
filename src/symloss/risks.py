"""The risks as ``nn.Module``: thin wrappers around ``symloss.functional``."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from torch import Tensor, nn

from symloss.checking import check_fraction
from symloss.distributed import gather_problem
from symloss.functional import auc_of, auc_risk, ber_of, ber_risk, partial_auc_risk, unmixing
from symloss.losses import LossLike, get_loss

if TYPE_CHECKING:
    from symloss.distributed import GroupLike


class _Risk(nn.Module):
    pi: float | None = None  # also for modules that were pickled before there were rates
    pi_prime: float | None = None
    validate: bool = True

    def __init__(
        self,
        loss: LossLike = "sigmoid",
        *,
        pi: float | None = None,
        pi_prime: float | None = None,
        process_group: GroupLike | None = None,
        validate: bool = True,
        **parameters: Any,
    ) -> None:
        super().__init__()
        unmixing(pi, pi_prime)  # rates that cannot be are refused here, and not at the first batch
        self.loss = get_loss(loss, **parameters)
        self.pi, self.pi_prime = pi, pi_prime
        self.process_group = process_group
        self.validate = validate

    def extra_repr(self) -> str:
        group = "" if self.process_group is None else f", process_group={self.process_group!r}"
        rates = "" if self.pi is None else f", pi={self.pi!r}, pi_prime={self.pi_prime!r}"
        unchecked = "" if self.validate else ", validate=False"
        return f"{self.loss!r}{rates}{group}{unchecked}"


class BERLoss(_Risk):
    """The balanced-error risk: 1/2 (mean of l(g) over the positives + mean of l(-g) over the negatives).

    With a symmetric loss, its minimizer on corrupted labels is the one on clean labels (corollary 4). It has no state,
    and needs no special optimizer or sampler.

    Parameters
    ----------
    loss : str, Loss or callable
        The margin loss l.
    pi, pi_prime : float, optional
        Share of clean positives among the points labeled positive and among those labeled negative, pi > pi'. If both
        are given, the result estimates the risk on clean labels; see the notes. A symmetric loss does not need it.
    process_group : ProcessGroup or "world", optional
        Take the means over the batches of all ranks of this group; see ``AUCLoss``.
    validate : bool
        Whether to check the values of scores, labels and weights; see ``AUCLoss``.
    **parameters
        The parameters of a loss given by name.

    Notes
    -----
    With b = (1 - pi) / (pi - pi') and d = pi' / (pi - pi'), the clean positives are P = (1 + b) CP - b CN and the clean
    negatives N = (1 + d) CN - d CP, where CP and CN are the points labeled positive and negative. So the means of l(g)
    over P and of l(-g) over N have unbiased estimates from corrupted labels; this subtracts the excess of theorem 3.
    Neither mean is negative if the loss is not, and an estimate below zero is replaced by zero, without gradient (Kiryo
    et al., 2017, for pi = 1; Lu et al., 2020). With the logistic loss, sigmoid(g) is then the probability of the clean
    label, where both classes are equally frequent.

    References
    ----------
    Kiryo, Niu, du Plessis and Sugiyama, Positive-unlabeled learning with non-negative risk estimator, NeurIPS 2017.
    Lu, Zhang, Niu and Sugiyama, Mitigating overfitting in supervised classification from two unlabeled datasets,
    AISTATS 2020.

    Examples
    --------
    >>> import torch
    >>> BERLoss("barrier_hinge", b=10, r=1)
    BERLoss(BarrierHinge(b=10, r=1))
    >>> BERLoss("sigmoid")(torch.tensor([0.0, 0.0]), torch.tensor([1, 0]))
    tensor(0.5000)
    >>> BERLoss("logistic", pi=0.8, pi_prime=0.3)(torch.tensor([2.0, -1.0]), torch.tensor([1, 0]))
    tensor(0.)
    """

    def forward(self, scores: Tensor, target: Any, weight: Tensor | None = None) -> Tensor:
        """Return the risk of ``scores`` (..., n) for ``target`` in {0, 1}, {-1, +1} or bool."""
        if self.process_group is None:
            rates = {"pi": self.pi, "pi_prime": self.pi_prime}
            return ber_risk(scores, target, self.loss, weight, **rates, validate=self.validate)
        problem = gather_problem(scores, target, weight, self.process_group)
        return ber_of(problem, self.loss, unmixing(self.pi, self.pi_prime))


class AUCLoss(_Risk):
    """The AUC risk: the mean of l(g_i - g_j) over all pairs of a positive i and a negative j.

    With a symmetric loss, its minimizer on corrupted labels is the one on clean labels (corollary 2). It has no state,
    and needs no special optimizer or sampler.

    Parameters
    ----------
    loss : str, Loss or callable
        The margin loss l.
    pi, pi_prime : float, optional
        Share of clean positives among the points labeled positive and among those labeled negative, pi > pi'. If both
        are given, the result estimates the risk on clean labels; see the notes. A symmetric loss does not need it.
    process_group : ProcessGroup or "world", optional
        Pair the points of all ranks of this group; "world" is the group of all ranks. By default, only the points in
        the batch of this process are paired. Every rank gets the risk of the concatenated batches and, under
        ``DistributedDataParallel``, its gradient. Batches may differ in size, lack a class or be empty, but every rank
        must call the loss.
    validate : bool
        Whether to check the values of scores, labels and weights. A score that is NaN or infinite raises a ValueError
        unless its weight is 0. On a GPU the check waits for all work that was launched before, once a call. With False
        nothing is read, so that nothing waits and ``torch.cuda.graph`` can capture the loss; scores that are not finite
        then give what the matrix of all pairs gives, label 1 is positive and any other negative, weights must be finite
        and not negative, and no warning tells of a batch that lacks a class. With a process group, values are always
        checked. Under ``torch.func.vmap`` and inside of a graph of ``torch.compile``, values cannot be read.
    **parameters
        The parameters of a loss given by name.

    Notes
    -----
    Let L(A, B) be the mean of l(g - g') over pairs of a point of A and one of B. With the b and d of ``BERLoss``, the
    risk on clean labels is (1 + b) (1 + d) L(CP, CN) - (1 + b) d L(CP, CP) - b (1 + d) L(CN, CN) + b d L(CN, CP); this
    subtracts the excess of theorem 1. In L(CP, CP) and L(CN, CN), a point is not paired with itself, whatever its
    weight: two clean points are independent, and l(0) would bias the estimate. An estimate below zero is replaced by
    zero, without gradient, if the loss is not negative. No matrix of pairs is formed.

    Examples
    --------
    >>> import torch
    >>> AUCLoss("zero_one")(torch.tensor([0.1, 0.4, 0.35, 0.8]), torch.tensor([0, 0, 1, 1]))
    tensor(0.2500)
    >>> AUCLoss("sigmoid", process_group="world")
    AUCLoss(Sigmoid(), process_group='world')
    >>> AUCLoss("logistic", pi=1.0, pi_prime=0.25)  # positives and unlabeled points, a quarter of them positive
    AUCLoss(Logistic(), pi=1.0, pi_prime=0.25)
    """

    def forward(self, scores: Tensor, target: Any, weight: Tensor | None = None) -> Tensor:
        """Return the risk of ``scores`` (..., n) for ``target`` in {0, 1}, {-1, +1} or bool."""
        if self.process_group is None:
            rates = {"pi": self.pi, "pi_prime": self.pi_prime}
            return auc_risk(scores, target, self.loss, weight, **rates, validate=self.validate)
        problem = gather_problem(scores, target, weight, self.process_group)
        return auc_of(problem, self.loss, unmixing(self.pi, self.pi_prime))


class PartialAUCLoss(nn.Module):
    """The risk of the partial AUC: positives are paired with the share ``max_fpr`` of negatives with the top scores.

    Use it where only the top of the ranking matters, and labels can be trusted: for corrupted labels it has no
    guarantee (see ``functional.partial_auc_risk``). It has no state, and needs no special optimizer or sampler. In a
    batch of m negatives, ``max_fpr`` times m should be several.

    Parameters
    ----------
    loss : str, Loss or callable
        The margin loss l.
    max_fpr : float
        The share of negatives, between 0 and 1.
    **parameters
        The parameters of a loss given by name.

    Examples
    --------
    >>> import torch
    >>> criterion = PartialAUCLoss("zero_one", max_fpr=0.5)
    >>> criterion
    PartialAUCLoss(ZeroOne(), max_fpr=0.5)
    >>> criterion(torch.tensor([0.0, 1.0, -1.0]), torch.tensor([1, 0, 0]))
    tensor(1.)
    """

    def __init__(self, loss: LossLike = "sigmoid", *, max_fpr: float = 0.1, **parameters: Any) -> None:
        super().__init__()
        check_fraction("max_fpr", max_fpr)
        self.loss, self.max_fpr = get_loss(loss, **parameters), max_fpr

    def extra_repr(self) -> str:
        """Return the loss and the share, for ``repr``."""
        return f"{self.loss!r}, max_fpr={self.max_fpr!r}"

    def forward(self, scores: Tensor, target: Any, weight: Tensor | None = None) -> Tensor:
        """Return the risk of ``scores`` (..., n) for ``target`` in {0, 1}, {-1, +1} or bool."""
        return partial_auc_risk(scores, target, self.loss, weight, max_fpr=self.max_fpr)


__all__ = ["AUCLoss", "BERLoss", "PartialAUCLoss"]
