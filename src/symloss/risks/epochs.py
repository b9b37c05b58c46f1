"""The exact gradient of a risk over all examples, in two passes over the batches."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from itertools import zip_longest
from typing import Any

import torch
from torch import Tensor

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
        Returns the scores of the inputs of a batch, one row for each example: (n,), (n, 1) or (n, L).
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
    >>> model = torch.nn.Linear(2, 1)
    >>> batches = [(torch.randn(5, 2), torch.tensor([1, 0, 0, 0, 0])), (torch.randn(3, 2), torch.tensor([1, 1, 0]))]
    >>> risk = whole_epoch(lambda X: model(X).squeeze(-1), batches, sl.AUCLoss())
    >>> risk.shape, model.weight.grad.shape
    (torch.Size([]), torch.Size([1, 2]))
    """
    if isinstance(batches, Iterator):
        raise ValueError("batches must be iterated twice, got a generator: pass a list or a DataLoader")
    columns: list[tuple[Tensor, ...]] = []
    states: list[list[Tensor]] = []
    with torch.no_grad():
        for inputs, *rest in batches:
            states.append(_random_state())
            columns.append((model(inputs), *map(torch.as_tensor, rest)))
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
        slopes = torch.split(gradient, [len(row[0]) for row in columns])
        for batch, state, before, slope in zip_longest(batches, states, [row[0] for row in columns], slopes):
            if batch is None or state is None:
                raise ValueError(
                    f"the second pass must have the {len(columns)} batches of the first, got another number"
                )
            with _again(state):
                again = model(batch[0])
            if again.shape != before.shape or not bool(((again.detach() - before).abs() <= tolerance).all()):
                raise ValueError(
                    "the second pass must have the scores of the first, got others: were the batches shuffled?"
                )
            torch.autograd.backward(again, slope)
    return risk.detach()


def _random_state() -> list[Tensor]:
    """Return the state of PyTorch's random numbers, on the CPU and on the current CUDA device if there is one."""
    return [torch.get_rng_state(), *([torch.cuda.get_rng_state()] if torch.cuda.is_available() else [])]


@contextmanager
def _again(state: list[Tensor]) -> Iterator[None]:
    """Draw the same numbers again inside, and go on outside as if nothing had been drawn."""
    with torch.random.fork_rng([torch.cuda.current_device()] if len(state) > 1 else []):
        torch.set_rng_state(state[0])
        for of_cuda in state[1:]:
            torch.cuda.set_rng_state(of_cuda)
        yield
