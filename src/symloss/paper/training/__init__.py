"""Train many independent perceptrons at once: every risk of every trial, each as if trained alone.

All risks of a trial start from the same parameters and see the same batches.

Gradients are written by hand. Let W be the weights of the first layer (one column per hidden unit), w the weights of
the output (one per hidden unit), M the mask of the ReLU, and u the gradient of the risk with respect to the scores.
Then P = (diag(u) X)' M gives the gradients of both layers: P * w for W, and the column sums of P * W for w. So a step
passes five times over the hidden layer, by far the largest array: product, ReLU, scores, mask, product.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import nullcontext
from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor

from symloss.checking import is_positive
from symloss.corruption import RandomState
from symloss.models import Layers, PerceptronStack, lecun_normal
from symloss.paper.training.first_layer import Batch, points_of
from symloss.paper.training.risks import Classes, Risk
from symloss.threads import one_thread


def train(
    X: Tensor,
    y: Tensor,
    risks: Sequence[Risk],
    random_states: Sequence[RandomState],
    *,
    hidden_units: int = 500,
    epochs: int = 100,
    batch_size: int = 500,
    learning_rate: float = 1e-3,
    weight_decay: float = 0.0,
    stacked: bool | None = None,
) -> PerceptronStack:
    """Train a perceptron for every risk in every trial, by AMSGrad on shuffled batches of both classes.

    Parameters
    ----------
    X : Tensor of shape (trials, n, d)
        Training points; the device that they are on is the device used.
    y : Tensor of shape (trials, n)
        Their labels in {0, 1}, {-1, +1} or bool.
    risks : sequence of Risk
        What to minimize, with one perceptron per risk in every trial.
    random_states : sequence of int or numpy Generator, one per trial
        Seeds of the initial weights and of the batches, which all risks of a trial share.
    hidden_units, epochs, batch_size, learning_rate
        The size of the perceptron, and how it is trained.
    weight_decay : float
        L2 decay, added to the gradient of every parameter.
    stacked : bool, optional
        Whether all perceptrons take a step together, which a GPU needs, or one at a time, so that a hidden layer stays
        in the cache of a CPU. The default suits the device. Both give the same results up to rounding. One at a time,
        a perceptron is the same to the last bit, whichever others are trained.

    Returns
    -------
    PerceptronStack
        The perceptrons after the last epoch, those of the first risk first: risk j in trial t is number
        ``j * trials + t``.

    Examples
    --------
    >>> from symloss.losses import Sigmoid
    >>> y = torch.tensor([[1, -1] * 20])
    >>> X = 2 * y[..., None] + torch.randn(1, 40, 2, generator=torch.Generator().manual_seed(0))
    >>> stack = train(X, y, [Risk("ber", Sigmoid()), Risk("auc", Sigmoid())], [0], epochs=20)
    >>> ((stack(X[0]) > 0) == (y > 0)).float().mean(1)
    tensor([0.9750, 0.9750])
    """
    X, positive = X.to(torch.float32), is_positive(y)
    trials, n, d = X.shape
    if positive.shape != (trials, n) or len(random_states) != trials:
        raise ValueError(
            f"X of shape {tuple(X.shape)} needs y of shape {(trials, n)} and {trials} random states, "
            f"got {tuple(positive.shape)} and {len(random_states)}"
        )
    stacked = X.device.type != "cpu" if stacked is None else stacked
    labels = positive.cpu().numpy()
    parts = []
    with nullcontext() if stacked else one_thread():
        for part in [slice(None)] if stacked else [slice(t, t + 1) for t in range(trials)]:
            generators = [np.random.default_rng(state) for state in random_states[part]]
            initial = [lecun_normal(d, hidden_units, generator) for generator in generators]
            stack = PerceptronStack(initial * len(risks)).to(X.device)
            optimizer = torch.optim.Adam(
                [stack.rows], lr=learning_rate, weight_decay=weight_decay, amsgrad=True, fused=True
            )
            # Make all batches before the first step: a copy to a GPU waits until the GPU has nothing left to do.
            batches = list(_batches(labels[part], generators, epochs, batch_size, X.device))
            _minimize(stack, optimizer, X[part], batches, risks, stacked, min(batch_size, n))
            parts.append(stack)
    if len(parts) == 1:
        return parts[0]
    return PerceptronStack([part.model(j) for j in range(len(risks)) for part in parts])


@torch.no_grad()
def _minimize(
    stack: PerceptronStack,
    optimizer: torch.optim.Adam,
    X: Tensor,
    batches: Sequence[tuple[Tensor, Classes]],
    risks: Sequence[Risk],
    stacked: bool,
    batch_size: int,
) -> None:
    gradients = torch.zeros_like(stack.rows)
    trials, copies = len(X), len(risks) if stacked else 1
    # Buffers and views are made once: a new hidden layer at every step would cost page faults.
    points = points_of(X, copies, X.new_empty(copies * trials, batch_size, stack.hidden_units))
    groups = [
        _Group(risks[first : first + copies], stack.views(stack.rows[models]), stack.views(gradients[models]))
        for first in range(0, len(risks), copies)
        for models in [slice(first * trials, (first + copies) * trials)]
    ]
    stack.rows.grad = gradients
    for rows, classes in batches:
        batch = points.batch(rows)
        for group in groups:
            _write_gradient(group, batch, classes)
        optimizer.step()
    stack.rows.grad = None


class _Group(NamedTuple):
    """Risks that take a step together: their perceptrons' parameters and gradients, as views of the stack."""

    risks: Sequence[Risk]
    layers: Layers
    gradients: Layers


def _write_gradient(group: _Group, batch: Batch, classes: Classes) -> None:
    (weights, output, bias), gradients = group.layers, group.gradients
    hidden = batch.times(weights).relu_()
    scores = torch.baddbmm(bias[:, None], hidden, output.mT).squeeze(2)
    by_scores = torch.cat(
        [
            risk.gradient(part, classes)
            for risk, part in zip(group.risks, scores.view(-1, *classes.sign.shape), strict=True)
        ]
    )
    batch.transposed_times(by_scores, hidden.sign_(), gradients.hidden)
    torch.sum(weights * gradients.hidden, 1, keepdim=True, out=gradients.output)
    torch.sum(by_scores, 1, keepdim=True, out=gradients.bias)
    gradients.hidden.mul_(output)


def _batches(
    positive: np.ndarray[tuple[int, int], np.dtype[np.bool_]],
    generators: Sequence[np.random.Generator],
    epochs: int,
    batch_size: int,
    device: torch.device,
) -> Iterator[tuple[Tensor, Classes]]:
    """Yield the rows (trials, b) of every batch, positives first, and its classes."""
    n = positive.shape[1]
    for _ in range(epochs):
        order = np.stack([generator.permutation(n) for generator in generators])
        for start in range(0, n, batch_size):
            rows = order[:, start : start + batch_size]
            labels = np.take_along_axis(positive, rows, 1)
            rows = np.take_along_axis(rows, np.argsort(~labels, axis=1, kind="stable"), 1)
            yield torch.from_numpy(rows).to(device), Classes.of(labels.sum(1).tolist(), rows.shape[1], device)


__all__ = ["Risk", "train"]
