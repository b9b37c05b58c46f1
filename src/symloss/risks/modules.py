"""The risks as ``nn.Module``: each calls its function with the parameters that it was made with."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from torch import Tensor, nn

from symloss.losses import LossLike, get_loss
from symloss.risks import functions

if TYPE_CHECKING:
    from symloss.risks.distributed import GroupLike


class _Risk(nn.Module):
    """A loss that has no state."""

    def __init__(
        self,
        loss: LossLike = "sigmoid",
        *,
        pi: float | None = None,
        pi_prime: float | None = None,
        num_labels: int | None = None,
        ignore_index: float | None = None,
        average: str = "macro",
        empty: str = "zero",
        process_group: GroupLike | None = None,
        validate: bool = True,
        **parameters: Any,
    ) -> None:
        super().__init__()
        functions.unmixing(pi, pi_prime)  # what cannot be is refused here, and not at the first batch
        functions.check_choices(average, empty, validate)
        self.loss = get_loss(loss, **parameters)
        self.options: dict[str, Any] = {
            "pi": pi,
            "pi_prime": pi_prime,
            "num_labels": num_labels,
            "ignore_index": ignore_index,
            "average": average,
            "empty": empty,
            "process_group": process_group,
            "validate": validate,
        }

    def extra_repr(self) -> str:
        """Return the loss and the parameters that are not the usual ones, for ``repr``."""
        told = [f"{k}={v!r}" for k, v in self.options.items() if v is not True and v not in (None, "macro", "zero")]
        return ", ".join([repr(self.loss), *told])


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
    num_labels, ignore_index, average, process_group, validate
        As in ``AUCLoss``.
    empty : {"zero", "nan", "raise"}
        As in ``AUCLoss``, but with "zero" the risk is the half that belongs to the class that is there, unless pi and
        pi' are given.
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

    def forward(self, scores: Tensor, target: Any, weight: Any = None) -> Tensor:
        """Return the risk; scores, target and weight are those of ``AUCLoss``."""
        return functions.ber_risk(scores, target, self.loss, weight, **self.options)


class AUCLoss(_Risk):
    """The AUC risk: the mean of l(g_i - g_j) over all pairs of a positive i and a negative j.

    With a symmetric loss, its minimizer on corrupted labels is the one on clean labels (corollary 2). It has no state,
    and needs no special optimizer or sampler. No matrix of pairs is formed.

    Called with scores of shape (N,) or (N, 1), labels in {0, 1}, {-1, +1} or bool, and weights if there are any, it
    returns a scalar. Weight k counts as k repetitions, and a point of weight 0 does not exist. Labels that are NaN are
    missing. Scores of any other shape (..., n) are independent problems along the leading dimensions, and the result
    has the shape (...), unless ``num_labels`` is given.

    Parameters
    ----------
    loss : str, Loss or callable
        The margin loss l.
    pi, pi_prime : float, optional
        Share of clean positives among the points labeled positive and among those labeled negative, pi > pi'. If both
        are given, the result estimates the risk on clean labels; see the notes. A symmetric loss does not need it.
    num_labels : int, optional
        The number L of labels or classes: scores have shape (N, L), and each column is a problem. Targets have the same
        shape, or are N class numbers, one class against the rest. Weights have shape (N,) or (N, L).
    ignore_index : number, optional
        Labels with this value are missing, as is NaN.
    average : {"macro", "none"}
        With ``num_labels``, the mean over the columns that have both classes, or the risks (L,) of all columns.
    empty : {"zero", "nan", "raise"}
        What to do with a problem that lacks a class (with "macro", if all columns do): return zero and warn once,
        return NaN, or raise a ValueError. The gradient is zero.
    process_group : ProcessGroup or "world", optional
        Pair the points of all ranks of this group; "world" is the group of all ranks. By default, only the points in
        the batch of this process are paired. Every rank gets the risk of the concatenated batches and, under
        ``DistributedDataParallel``, its gradient. Batches may differ in size, lack a class or be empty, but every rank
        must call the loss.
    validate : bool
        Whether to check the values of scores, labels and weights. A score that is NaN or infinite raises a ValueError
        unless its weight is 0. On a GPU the check waits for all work that was launched before, once a call. With False
        nothing is read, so that nothing waits and ``torch.cuda.graph`` can capture the loss; scores that are not finite
        then give what the matrix of all pairs gives, label 1 is positive and any other but ``ignore_index`` negative,
        weights must be finite and not negative, and no warning tells of a batch that lacks a class. With a process
        group, values are always checked. Under ``torch.func.vmap`` and inside of a graph of ``torch.compile``, values
        cannot be read: the risk is NaN if they are wrong.
    **parameters
        The parameters of a loss given by name.

    Notes
    -----
    Let L(A, B) be the mean of l(g - g') over pairs of a point of A and one of B. With the b and d of ``BERLoss``, the
    risk on clean labels is (1 + b) (1 + d) L(CP, CN) - (1 + b) d L(CP, CP) - b (1 + d) L(CN, CN) + b d L(CN, CP); this
    subtracts the excess of theorem 1. In L(CP, CP) and L(CN, CN), a point is not paired with itself, whatever its
    weight: two clean points are independent, and l(0) would bias the estimate. So a class needs two points there. An
    estimate below zero is replaced by zero, without gradient, if the loss is not negative.

    Examples
    --------
    >>> import torch
    >>> AUCLoss("zero_one")(torch.tensor([0.1, 0.4, 0.35, 0.8]), torch.tensor([0, 0, 1, 1]))
    tensor(0.2500)
    >>> scores = torch.tensor([[0.5, -1.0], [2.0, 0.0], [0.0, 1.0]])
    >>> target = torch.tensor([[0, 1], [1, 0], [-1, 0]])  # three points, two labels, of which one is missing
    >>> AUCLoss("zero_one", num_labels=2, ignore_index=-1, average="none")(scores, target)
    tensor([0., 1.])
    >>> AUCLoss("logistic", pi=1.0, pi_prime=0.25)  # positives and unlabeled points, a quarter of them positive
    AUCLoss(Logistic(), pi=1.0, pi_prime=0.25)
    """

    def forward(self, scores: Tensor, target: Any, weight: Any = None) -> Tensor:
        """Return the risk of scores (N,), (N, 1), (..., n), or (N, L) with ``num_labels``."""
        return functions.auc_risk(scores, target, self.loss, weight, **self.options)


class PartialAUCLoss(_Risk):
    """The risk of the partial AUC: pairs of the lowest positives and the top negatives only.

    A share 1 - ``min_tpr`` of the positives, those with the lowest scores, is paired with the share ``max_fpr`` of
    the negatives with the top scores. Use it where only the top of the ranking matters, and labels can be trusted. For
    corrupted labels it has no guarantee: among the negatives with the top scores, more labels are wrong than elsewhere.
    In a batch of m negatives, ``max_fpr`` times m should be several.

    Parameters
    ----------
    loss : str, Loss or callable
        The margin loss l.
    max_fpr : float
        The share of negatives, above 0 and at most 1: the largest false positive rate.
    min_tpr : float
        The least true positive rate, from 0 to below 1. Above 0, the partial AUC is called two-way.
    num_labels, ignore_index, average, empty, process_group, validate
        As in ``AUCLoss``.
    **parameters
        The parameters of a loss given by name.

    Examples
    --------
    >>> import torch
    >>> criterion = PartialAUCLoss("zero_one", max_fpr=0.5)
    >>> criterion
    PartialAUCLoss(ZeroOne(), max_fpr=0.5, min_tpr=0.0)
    >>> criterion(torch.tensor([0.0, 1.0, -1.0]), torch.tensor([1, 0, 0]))
    tensor(1.)
    """

    def __init__(
        self, loss: LossLike = "sigmoid", *, max_fpr: float = 0.1, min_tpr: float = 0.0, **parameters: Any
    ) -> None:
        functions.check_range(max_fpr, min_tpr)
        super().__init__(loss, **parameters)
        if self.options.pop("pi") is not None or self.options.pop("pi_prime") is not None:
            raise TypeError("the partial AUC risk of clean labels cannot be had from pi and pi_prime")
        self.options = {"max_fpr": max_fpr, "min_tpr": min_tpr, **self.options}

    def forward(self, scores: Tensor, target: Any, weight: Any = None) -> Tensor:
        """Return the risk; scores, target and weight are those of ``AUCLoss``."""
        return functions.partial_auc_risk(scores, target, self.loss, weight, **self.options)
