"""Pairs beyond one batch: the exact gradient of a risk over all examples, and pairs with the scores of past batches."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from itertools import zip_longest
from numbers import Integral
from typing import Any

import torch
from torch import Tensor, nn

from symloss.checking import check_problem
from symloss.functional.missing import warn_if_missing
from symloss.losses import LossLike, get_loss
from symloss.pairwise import check_constant, risk_of_pairs

_SAME = 1e-3  # of the range of all scores: the second pass may differ from the first by rounding only


def whole_epoch(model: Callable[[Any], Tensor], batches: Iterable[Any], criterion: Callable[..., Tensor]) -> Tensor:
    """Add the gradient of a risk over *all* examples to the parameters of a model, batch by batch, and return the risk.

    A risk over pairs is no mean over batches: pairs of examples in different batches count too. The first pass computes
    all scores, without gradients. The risk and its gradient with respect to each score follow. The second pass sends
    these gradients through the model. So memory holds one batch at a time and a few numbers for each example, and the
    result is what ``criterion(model(X), y).backward()`` would add for all examples at once.

    Parameters
    ----------
    model : callable
        Returns the scores, of shape (n,), of the inputs of a batch.
    batches : iterable
        Batches (inputs, target) or (inputs, target, weight), the same ones in the same order each time it is iterated:
        a list, or a ``DataLoader`` that does not shuffle.
    criterion : callable
        ``AUCLoss``, ``BERLoss`` or another risk of all scores, targets and, if there are any, weights.

    Notes
    -----
    Random numbers are those of the first pass in the second one too, so dropout is the same. Scores of the second pass
    that are not those of the first are an error: batches were shuffled, or the model has changed. Part of the gradient
    may have been added by then. Batch normalization in training mode counts every batch twice in its running means.

    Examples
    --------
    >>> import symloss as sl
    >>> model = nn.Linear(2, 1)
    >>> batches = [(torch.randn(5, 2), torch.tensor([1, 0, 0, 0, 0])), (torch.randn(3, 2), torch.tensor([1, 1, 0]))]
    >>> risk = whole_epoch(lambda X: model(X).squeeze(-1), batches, sl.AUCLoss())
    >>> risk.shape, model.weight.grad.shape
    (torch.Size([]), torch.Size([1, 2]))
    """
    if isinstance(batches, Iterator):
        raise ValueError("batches must be iterated twice, got a generator: pass a list or a DataLoader")
    columns: list[tuple[Tensor, ...]] = []
    states: list[_RandomState] = []
    with torch.no_grad():
        for inputs, *rest in batches:
            states.append(_RandomState())
            columns.append((model(inputs), *map(torch.as_tensor, rest)))
            if columns[-1][0].ndim != 1:
                raise ValueError(f"the model must return scores of shape (n,), got {tuple(columns[-1][0].shape)}")
    if not columns:
        raise ValueError("batches must hold at least one batch, got none")
    if len({len(row) for row in columns}) > 1:
        raise ValueError("all batches or none must have weights")
    joined = [torch.cat(parts) for parts in zip(*columns, strict=True)]
    if not bool(joined[0].isfinite().all()):
        raise ValueError("scores must be finite numbers, got NaN or infinity from the model")
    scores = joined[0].requires_grad_()
    with torch.enable_grad():
        risk = criterion(*joined)
        (gradient,) = torch.autograd.grad(risk, scores)
    tolerance = _SAME * float(scores.detach().max() - scores.detach().min()) + 1e-30
    _second_pass(model, batches, states, [row[0] for row in columns], gradient, tolerance)
    return risk.detach()


def _second_pass(
    model: Callable[[Any], Tensor],
    batches: Iterable[Any],
    states: list[_RandomState],
    first: list[Tensor],
    gradient: Tensor,
    tolerance: float,
) -> None:
    start = 0
    with torch.enable_grad():
        for batch, state, before in zip_longest(batches, states, first):
            if batch is None or state is None:
                raise ValueError(f"the second pass must have the {len(first)} batches of the first, got another number")
            with state.again():
                scores = model(batch[0])
            if scores.shape != before.shape or not bool(((scores.detach() - before).abs() <= tolerance).all()):
                raise ValueError(
                    "the second pass must have the scores of the first, got others: were the batches shuffled?"
                )
            torch.autograd.backward(scores, gradient[start : start + len(scores)])
            start += len(scores)


class _RandomState:
    """The state of PyTorch's random numbers, on the CPU and on the current CUDA device if one is used."""

    def __init__(self) -> None:
        self._cpu = torch.get_rng_state()
        self._cuda = torch.cuda.get_rng_state() if torch.cuda.is_available() else None

    @contextmanager
    def again(self) -> Iterator[None]:
        """Draw the same numbers again inside, and go on outside as if nothing had been drawn."""
        devices = [] if self._cuda is None else [torch.cuda.current_device()]
        with torch.random.fork_rng(devices):
            torch.set_rng_state(self._cpu)
            if self._cuda is not None:
                torch.cuda.set_rng_state(self._cuda)
            yield


class BankedAUCLoss(nn.Module):
    """The AUC risk of a batch whose points are also paired with scores of past batches, for rare positives.

    The risk is the mean of two: that of this batch's positives paired with the negatives of this and of past batches,
    and that of the positives of this and of past batches paired with this batch's negatives. With an empty bank both
    are ``AUCLoss``. A batch without positives learns from the second one.

    Parameters
    ----------
    loss : str, Loss or callable
        The margin loss l.
    size : int
        How many past scores of each class to keep.
    **parameters
        The parameters of a loss given by name.

    Notes
    -----
    This is biased, unlike ``AUCLoss`` on a batch: past scores are those of earlier parameters, and no gradient flows
    through them. A score that drifts faster than the bank is renewed misleads; so keep ``size`` at a few batches of the
    frequent class, and the learning rate small. If you can, prefer larger batches, ``StratifiedBatchSampler`` with
    ``min_positives``, or ``whole_epoch``, which is exact. The bank is saved with ``state_dict``, is filled in training
    mode only, and ``reset`` empties it. Points of weight 0 and scores that are not finite are not kept. Every process
    has a bank of its own: leave it outside of what ``DistributedDataParallel`` wraps, which would overwrite it.

    Examples
    --------
    >>> import symloss as sl
    >>> criterion = BankedAUCLoss("hinge", size=100)
    >>> criterion(torch.tensor([0.5, 0.0]), torch.tensor([1, 0]))
    tensor(0.5000)
    >>> criterion(torch.tensor([1.0]), torch.tensor([0]))  # against the positive of the batch before
    tensor(1.5000)
    """

    bank: Tensor

    def __init__(self, loss: LossLike = "sigmoid", *, size: int = 1024, **parameters: Any) -> None:
        super().__init__()
        given: Any = size  # NumPy's whole numbers are no int
        if not isinstance(given, Integral) or given < 1:
            raise ValueError(f"size must be a whole number of at least 1, got {size!r}")
        self.loss = get_loss(loss, **parameters)
        self.size = int(size)
        # Positives and negatives; scores and weights.
        self.register_buffer("bank", torch.zeros(2, 2, self.size, dtype=torch.float64))
        self._seen = [0, 0]

    def forward(self, scores: Tensor, target: Any, weight: Tensor | None = None) -> Tensor:
        """Return the risk of ``scores`` (n,) for ``target`` in {0, 1}, {-1, +1} or bool, and keep them for later."""
        scores, positive, weight, _ = check_problem(scores, target, weight)
        if scores.ndim != 1:
            raise ValueError(f"scores must have shape (n,), got {tuple(scores.shape)}")
        check_constant(self.loss, scores)
        weight = torch.ones_like(scores, dtype=torch.float64) if weight is None else weight
        counted = weight > 0
        now = [(scores[of], weight[of]) for of in (positive & counted, ~positive & counted)]
        past = [self._past(k, scores) for k in (0, 1)]
        pos, neg = (
            [torch.cat(parts) for parts in zip(old, new, strict=True)] for old, new in zip(past, now, strict=True)
        )
        terms = [
            risk_of_pairs(p, n, self.loss, w, v)
            for (p, w), (n, v) in ((now[0], neg), (pos, now[1]))
            if len(p) and len(n)
        ]
        warn_if_missing(bool(terms), "the AUC risk is zero and has no gradient")
        if self.training:
            for k in (0, 1):
                self._keep(k, *now[k])
        return torch.stack(terms).mean() if terms else 0 * scores.sum()

    def reset(self) -> None:
        """Forget all past scores."""
        self._seen = [0, 0]

    def extra_repr(self) -> str:
        """Return the loss and the size, for ``repr``."""
        return f"{self.loss!r}, size={self.size}"

    def get_extra_state(self) -> Tensor:
        """Return how many positives and negatives have been seen, for ``state_dict``."""
        return torch.tensor(self._seen)

    def set_extra_state(self, state: Tensor) -> None:
        """Take up the counts of a ``state_dict``."""
        self._seen = state.tolist()

    def _past(self, k: int, like: Tensor) -> tuple[Tensor, Tensor]:
        kept = min(self._seen[k], self.size)
        return self.bank[k, 0, :kept].to(like), self.bank[k, 1, :kept].to(like.device, torch.float64)

    def _keep(self, k: int, scores: Tensor, weight: Tensor) -> None:
        """Put the newest scores of a class in the place of the oldest ones."""
        finite = scores.detach().isfinite()
        seen = torch.stack([scores.detach()[finite].to(self.bank), weight[finite].to(self.bank)])
        newest = seen[:, -self.size :]
        first = self._seen[k] + seen.shape[1] - newest.shape[1]
        places = torch.arange(first, first + newest.shape[1], device=self.bank.device) % self.size
        self.bank[k, :, places] = newest
        self._seen[k] += seen.shape[1]


__all__ = ["BankedAUCLoss", "whole_epoch"]
