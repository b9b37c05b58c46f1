"""The mean of l(s_i - t_j) over all pairs of a positive score s_i and a negative score t_j, with gradients."""

from __future__ import annotations

from typing import Any, NamedTuple

import torch
from torch import Tensor

from symloss.losses import Loss, LossLike, Slope, get_loss
from symloss.losses.base import as_real
from symloss.pairwise.engine import batch_sums, pair_mean
from symloss.tracing import concrete, eager

_METHODS = ("auto", "structure", "tiles")


@eager  # a graph break: the algorithms read values and loop over blocks
def pairwise_risk(
    pos: Tensor,
    neg: Tensor,
    loss: LossLike = "sigmoid",
    pos_weight: Tensor | None = None,
    neg_weight: Tensor | None = None,
    method: str = "auto",
) -> Tensor:
    """Return the weighted mean of l(s_i - t_j) over all pairs of a positive and a negative score.

    Parameters
    ----------
    pos, neg : Tensor of shape (..., n) and (..., m)
        Scores of the positive and of the negative class; leading dimensions broadcast and are independent problems.
    loss : str, Loss or callable
        The margin loss l.
    pos_weight, neg_weight : Tensor, optional
        Non-negative weights of the scores' shapes; weight k counts as k repetitions.
    method : {"auto", "structure", "tiles"}
        ``"structure"`` is the near-linear algorithm for what the loss declares itself made of; ``"tiles"`` computes
        every pair, in O(n + m) memory. ``"auto"`` takes tiles for few pairs, and for a loss that declares nothing.

    Returns
    -------
    Tensor of shape (...)
        The risk; zero, with zero gradient, where a class is empty or has no weight.

    Notes
    -----
    Value and gradients are accumulated in float64 and returned in the scores' precision, at least float32. Gradients
    flow to the scores, once: differentiating twice raises an error, and so does a loss with trainable parameters.

    Examples
    --------
    >>> import torch
    >>> pairwise_risk(torch.tensor([1.0, 3.0]), torch.tensor([0.0, 3.0]), "zero_one")
    tensor(0.3750)
    """
    loss, pos, neg = _checked(pos, neg, loss, method)
    if pos.device.type == "mps":  # which has no float64
        w, v = (None if weight is None else as_real(weight, "weight").cpu() for weight in (pos_weight, neg_weight))
        return pairwise_risk(pos.cpu(), neg.cpu(), loss, w, v, method).to(pos.device)
    shares = _shares(pos, pos_weight, "pos_weight"), _shares(neg, neg_weight, "neg_weight")
    return pair_mean(pos, neg, *shares, loss, method)


class Derivatives(NamedTuple):
    """The derivatives of a mean over all pairs by each score: the first, and the second by the same score twice.

    Examples
    --------
    >>> import torch
    >>> pairwise_derivatives(torch.tensor([1.0]), torch.tensor([0.0]), "squared").pos_second
    tensor([2.])
    """

    pos: Tensor
    neg: Tensor
    pos_second: Tensor
    neg_second: Tensor


@eager
def pairwise_derivatives(
    pos: Tensor,
    neg: Tensor,
    loss: LossLike = "sigmoid",
    pos_weight: Tensor | None = None,
    neg_weight: Tensor | None = None,
    method: str = "auto",
) -> Derivatives:
    """Return the first and the second derivative of ``pairwise_risk`` by each score: what gradient boosting needs.

    Parameters are those of ``pairwise_risk``.

    Returns
    -------
    Derivatives
        ``pos`` and ``neg``, the gradient; ``pos_second`` and ``neg_second``, the diagonal of the Hessian. All have the
        shape of the scores, leading dimensions broadcast.

    Notes
    -----
    The second derivative by s_i is the mean of l'' over the pairs of s_i, so it takes the same algorithms, with l' as
    the loss. Where l has corners and steps, l'' is that of the pieces between them.

    Examples
    --------
    >>> import torch
    >>> found = pairwise_derivatives(torch.tensor([0.0, 2.0]), torch.tensor([0.0]), "squared")
    >>> found.pos, found.pos_second
    (tensor([-1.,  1.]), tensor([1., 1.]))
    """
    loss, pos, neg = _checked(pos, neg, loss, method)
    device = pos.device
    if device.type == "mps":  # which has no float64
        pos, neg = pos.cpu(), neg.cpu()
        pos_weight, neg_weight = (w if w is None else as_real(w, "weight").cpu() for w in (pos_weight, neg_weight))
    shares = _shares(pos, pos_weight, "pos_weight"), _shares(neg, neg_weight, "neg_weight")
    with torch.no_grad():
        first = batch_sums(pos, neg, *shares, loss, method)
        second = batch_sums(pos, neg, *shares, Slope(loss), method)
    found = (first[1], first[2], second[1], -second[2])
    return Derivatives(*(part.to(device, first[0].dtype) for part in found))


def _checked(pos: Any, neg: Any, loss: LossLike, method: str) -> tuple[Loss, Tensor, Tensor]:
    loss = get_loss(loss)
    if method not in _METHODS:
        raise ValueError(f"method must be one of {', '.join(_METHODS)}, got {method!r}")
    pos, neg = as_real(pos, "pos"), as_real(neg, "neg")
    _check_batches(pos, neg)
    _check_constant(loss, pos)
    return loss, pos, neg


def _check_batches(pos: Tensor, neg: Tensor) -> None:
    if pos.ndim == neg.ndim == 1:
        return
    for name, scores in (("pos", pos), ("neg", neg)):
        if scores.ndim == 0:
            raise ValueError(f"{name} must have shape (..., n), got a single number")
    try:
        torch.broadcast_shapes(pos.shape[:-1], neg.shape[:-1])  # type: ignore[no-untyped-call]
    except RuntimeError:
        raise ValueError(
            f"leading dimensions of pos and neg must broadcast, got {tuple(pos.shape)} and {tuple(neg.shape)}"
        ) from None


def _check_constant(loss: Loss, like: Tensor) -> None:
    if type(loss).slope is Loss.slope and loss(like.new_zeros(1)).requires_grad:
        raise ValueError(
            f"gradients flow to the scores only, and {loss!r} has parameters that require them: detach them"
        )


def _shares(scores: Tensor, weight: Tensor | None, name: str) -> Tensor | None:
    """Return each score's share of its class: weights over their sum, or zeros where the sum is zero."""
    if weight is None:
        return None
    weight = fractions(check_weight(weight, scores, name))
    total = weight.sum(-1, keepdim=True)
    return weight / torch.where(total > 0, total, 1.0)


def check_weight(weight: Tensor, scores: Tensor, name: str = "weight") -> Tensor:
    """Return weights in float64 and the scores' shape, or say what is wrong with them.

    Examples
    --------
    >>> import torch
    >>> check_weight(torch.tensor([1, 2]), torch.zeros(2)).tolist()
    [1.0, 2.0]
    """
    weight = as_real(weight, name, torch.float64).to(scores.device)
    if weight.requires_grad:
        raise ValueError(f"{name} is a constant here: gradients flow to the scores only; pass {name}.detach()")
    try:
        weight = weight.expand(scores.shape)
    except RuntimeError:
        raise ValueError(
            f"{name} must have the scores' shape {tuple(scores.shape)}, got {tuple(weight.shape)}"
        ) from None
    if concrete((weight >= 0).all() & weight.isfinite().all()) is False:
        wrong = weight[~((weight >= 0) & weight.isfinite())].flatten()[0].item()
        raise ValueError(f"{name} must hold finite numbers >= 0, got {wrong:g}")
    return weight


def fractions(weight: Tensor) -> Tensor:
    """Return weights as fractions of the largest, so that their sum can neither overflow nor vanish.

    Examples
    --------
    >>> import torch
    >>> fractions(torch.tensor([1e-300, 4e-300], dtype=torch.float64)).tolist()
    [0.25, 1.0]
    """
    largest = weight.amax(-1, keepdim=True) if weight.shape[-1] else weight
    return weight / torch.where(largest > 0, largest, 1.0)


__all__ = ["Derivatives", "pairwise_derivatives", "pairwise_risk"]
