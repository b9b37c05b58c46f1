"""The mean of l(s_i - t_j) over all pairs of a positive score s_i and a negative score t_j, with gradients.

``pairwise_risk`` and ``pairwise_derivatives`` check their input. The other rooms of symloss check theirs themselves and
call ``risk_of_pairs``, ``risk_of_points``, ``gradients_of_pairs`` and ``derivatives_of_pairs``, with scores in float32
or float64, a ``Loss`` that passed ``check_constant``, and weights in float64 of the scores' shapes, or None.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import torch
from torch import Tensor

from symloss.checking import as_real, check_both_weights, check_finite, eager, nan_unless, readable, transformed
from symloss.losses import Loss, LossLike, Slope, get_loss
from symloss.pairwise.autograd import pair_mean, point_mean
from symloss.pairwise.choose import all_pairs

_METHODS = ("auto", "structure", "tiles")


@eager  # a graph break: the algorithms read values and loop over blocks
def pairwise_risk(
    pos: Tensor,
    neg: Tensor,
    loss: LossLike = "sigmoid",
    pos_weight: Tensor | None = None,
    neg_weight: Tensor | None = None,
    method: str = "auto",
    validate: bool = True,
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
        ``"structure"`` uses the near-linear algorithm for the structure that the loss declares. ``"tiles"`` computes
        every pair, in O(n + m) memory. ``"auto"`` uses tiles for few pairs, and for a loss that declares no structure.
    validate : bool
        Whether a score that is NaN or infinite, and has weight, raises a ValueError. With False, and always on a GPU,
        where reading a value would wait, such a score gives what the n x m matrix gives, or NaN.

    Returns
    -------
    Tensor of shape (...)
        The risk; zero, with zero gradient, where a class is empty or has no weight.

    Notes
    -----
    Sums are added in float64 and returned in the scores' precision, at least float32. Value: off by at most 1e-6
    (float32) or 1e-12 (float64) of the sum of the absolute terms. Gradient: each entry by at most that part of its own
    share times the steepest slope on the margins that occur. Only the scores get gradients, and only first ones:
    differentiating twice raises an error, and so does a loss with trainable parameters.

    Examples
    --------
    >>> import torch
    >>> pairwise_risk(torch.tensor([1.0, 3.0]), torch.tensor([0.0, 3.0]), "zero_one")
    tensor(0.3750)
    """
    return risk_of_pairs(*_checked(pos, neg, loss, pos_weight, neg_weight, method, validate), method)


class Derivatives(NamedTuple):
    """The first and the second derivatives of a mean over all pairs with respect to each score.

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
    validate: bool = True,
) -> Derivatives:
    """Return the first and the second derivatives of ``pairwise_risk`` with respect to each score, for a Newton step.

    Parameters are those of ``pairwise_risk``.

    Returns
    -------
    Derivatives
        ``pos`` and ``neg`` are the gradient; ``pos_second`` and ``neg_second`` are the diagonal of the Hessian. All
        have the shape of the scores, with leading dimensions broadcast.

    Notes
    -----
    The second derivative with respect to s_i is the mean of l'' over the pairs of s_i. So the same algorithms compute
    it, with l' as the loss. Where l has corners and steps, l'' is that of the pieces between them. The second
    derivative describes what happens if one score moves and all others stay. A round of boosting moves all scores, and
    needs a bound instead: see ``symloss.boosting``.

    Examples
    --------
    >>> import torch
    >>> found = pairwise_derivatives(torch.tensor([0.0, 2.0]), torch.tensor([0.0]), "squared")
    >>> found.pos, found.pos_second
    (tensor([-1.,  1.]), tensor([1., 1.]))
    """
    return derivatives_of_pairs(*_checked(pos, neg, loss, pos_weight, neg_weight, method, validate), method)


@eager
def risk_of_pairs(
    pos: Tensor,
    neg: Tensor,
    loss: Loss,
    pos_weight: Tensor | None = None,
    neg_weight: Tensor | None = None,
    method: str = "auto",
) -> Tensor:
    """Return ``pairwise_risk`` for checked input."""
    w, v = pos_weight, neg_weight
    if pos.device.type == "mps":  # has no float64
        w, v = (None if weight is None else weight.cpu() for weight in (w, v))
        return pair_mean(pos.cpu(), neg.cpu(), w, v, loss, method).to(pos.device)
    return pair_mean(pos, neg, w, v, loss, method)


def risk_of_points(
    scores: Tensor, positive: Tensor, loss: Loss, weight: Tensor | None = None, reads: bool = True
) -> Tensor:
    """Return the same for points (N,) with labels that say which are positive.

    Where nothing can be read, and on a GPU without ``reads``, every point stands in both classes, with weight in one.

    Examples
    --------
    >>> import torch
    >>> risk_of_points(torch.tensor([1.0, 0.0]), torch.tensor([True, False]), get_loss("zero_one"))
    tensor(0.)
    """
    if weight is None and scores.is_cpu and not transformed():
        return point_mean(scores, positive, loss)
    if reads or (not scores.is_cuda and readable(scores)):
        of_pos, of_neg = positive.nonzero().squeeze(1), (~positive).nonzero().squeeze(1)
        w, v = (None, None) if weight is None else (weight[of_pos], weight[of_neg])
        return risk_of_pairs(scores.index_select(0, of_pos), scores.index_select(0, of_neg), loss, w, v)
    weight = torch.ones_like(scores, dtype=torch.float64) if weight is None else weight
    return risk_of_pairs(scores, scores, loss, weight * positive, weight * ~positive)


@eager
def derivatives_of_pairs(
    pos: Tensor,
    neg: Tensor,
    loss: Loss,
    pos_weight: Tensor | None = None,
    neg_weight: Tensor | None = None,
    method: str = "auto",
) -> Derivatives:
    """Return ``pairwise_derivatives`` for checked input."""
    if pos.device.type == "mps":
        w, v = (None if weight is None else weight.cpu() for weight in (pos_weight, neg_weight))
        found = derivatives_of_pairs(pos.cpu(), neg.cpu(), loss, w, v, method)
        return Derivatives(*(part.to(pos.device) for part in found))
    first = gradients_of_pairs(pos, neg, loss, pos_weight, neg_weight, method)
    of_pos, of_neg = gradients_of_pairs(pos, neg, Slope(loss), pos_weight, neg_weight, method)
    return Derivatives(*first, of_pos, -of_neg)


@torch.no_grad()
def gradients_of_pairs(
    pos: Tensor,
    neg: Tensor,
    loss: Loss,
    pos_weight: Tensor | None = None,
    neg_weight: Tensor | None = None,
    method: str = "auto",
) -> tuple[Tensor, Tensor]:
    """Return both gradients of ``pairwise_risk`` for checked input."""
    _, of_pos, of_neg = all_pairs(pos, neg, pos_weight, neg_weight, loss, method)
    return of_pos, of_neg


def check_constant(loss: Loss, like: Tensor) -> None:
    """Raise a ValueError if a loss has parameters that require a gradient: only scores get gradients here.

    Examples
    --------
    >>> import torch
    >>> scale = torch.tensor(2.0, requires_grad=True)
    >>> check_constant(get_loss(lambda z: scale * z), torch.zeros(1))
    Traceback (most recent call last):
    ...
    ValueError: gradients flow to the scores only, and CallableLoss(<lambda>) has parameters that require them: ...
    """
    if type(loss).slope is Loss.slope and loss(like.new_zeros(1)).requires_grad:
        raise ValueError(
            f"gradients flow to the scores only, and {loss!r} has parameters that require them: detach them"
        )


def _checked(
    pos: Any, neg: Any, loss: LossLike, pos_weight: Any, neg_weight: Any, method: str, validate: bool
) -> tuple[Tensor, Tensor, Loss, Tensor | None, Tensor | None]:
    loss = get_loss(loss)
    if method not in _METHODS:
        raise ValueError(f"method must be one of {', '.join(_METHODS)}, got {method!r}")
    pos, neg = as_real(pos, "pos"), as_real(neg, "neg")
    _check_batches(pos, neg)
    check_constant(loss, pos)
    if pos_weight is None and neg_weight is None:
        w = v = None
    elif pos.device.type == "mps":  # weights are float64
        w, v = (None if weight is None else as_real(weight, "weight").cpu() for weight in (pos_weight, neg_weight))
        w, v = check_both_weights(w, v, pos.cpu(), neg.cpu())
    else:
        w, v = check_both_weights(pos_weight, neg_weight, pos, neg)
    if validate and not pos.is_cuda:  # where reading a value would wait
        check_finite(pos, "pos", None if w is None else w.to(pos.device))
        check_finite(neg, "neg", None if v is None else v.to(neg.device))
    if (w is not None and not readable(w)) or (v is not None and not readable(v)):
        fine = torch.ones((), dtype=torch.bool, device=pos.device)
        (pos, w), (neg, v) = nan_unless(fine, pos, w), nan_unless(fine, neg, v)
    return pos, neg, loss, w, v


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
