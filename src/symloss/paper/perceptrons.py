"""Train many perceptrons, each as if alone: every risk of every trial.

All risks of a trial start from the same parameters and see the same batches. Gradients are written by hand: with W the
weights of the first layer (one column per hidden unit), w those of the output, M the mask of the ReLU, and u the
gradient of the risk with respect to the scores, P = (diag(u) X)' M gives the gradients of both layers: P * w for W,
and the column sums of P * W for w. A CPU takes one trial after another, so that less memory is read in each step.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor
from torch.nn import functional as F  # noqa: N812

from symloss.checking import is_positive
from symloss.losses import Loss
from symloss.models import Layers, lecun_normal
from symloss.paper.results import MATCHED, Settings


class Classes(NamedTuple):
    """Which points of k batches are positive.

    ``sign`` (k, b) are the labels, +1 and -1; 0 marks an empty place. ``weight`` (k, b) is the label divided by the
    size of its class. ``positive`` (k, p) and ``negative`` (k, q) are 1 where one of the first p points is positive, or
    one of the last q points negative, else 0. ``per_pair`` (k, 1) is 1 by the number of pairs; 0 if a class is missing.
    """

    sign: Tensor
    weight: Tensor
    positive: Tensor
    negative: Tensor
    per_pair: Tensor

    @classmethod
    def of(cls, sign: Tensor) -> Classes:
        """Return the classes of batches (k, b) of labels +1.0 and -1.0, in any order; 0.0 marks an empty place."""
        positive, negative = ((part > 0).to(sign.dtype) for part in (sign, -sign))
        n, m = positive.sum(1, keepdim=True), negative.sum(1, keepdim=True)
        weight = positive / n.clamp(min=1) - negative / m.clamp(min=1)
        return cls(sign, weight, positive, negative, (n * m > 0) / (n * m).clamp(min=1))

    def cut(self) -> Classes:
        """Return the same for batches with their positives first, with p and q as small as possible."""
        p, q = (int(part.sum(1).max()) for part in (self.positive, self.negative))
        return self._replace(positive=self.positive[:, :p], negative=self.negative[:, self.negative.shape[1] - q :])


@dataclass(frozen=True)
class Risk:
    """The risk that training minimizes, and the loss in it.

    ``"ber"`` is R_pos + R_neg, the sum of the two classes' mean losses, *without* the factor 1/2 of the balanced error:
    with weight decay the scale of a risk matters, and this scale is the paper's. ``"auc"`` is the mean loss over all
    pairs of a positive and a negative point of the batch; ``one_by_one``, in batches whose first half is positive, only
    over the pairs of the k-th positive and the k-th negative.
    """

    name: str
    loss: Loss
    one_by_one: bool = False

    def gradient(self, scores: Tensor, classes: Classes) -> Tensor:
        """Return the gradient with respect to the scores (k, b); rows are independent; a missing class adds nothing."""
        if self.name == "ber":
            return self.loss.slope(scores * classes.sign) * classes.weight
        if self.one_by_one:
            half = scores.shape[1] // 2
            there = classes.sign[:, :half].clamp(min=0) * -classes.sign[:, half:].clamp(max=0)  # a place may be empty
            slopes = self.loss.slope(scores[:, :half] - scores[:, half:])
            slopes = slopes * there / there.sum(1, keepdim=True).clamp(min=1)
            return torch.cat([slopes, -slopes], 1)
        p, first = classes.positive.shape[1], scores.shape[1] - classes.negative.shape[1]
        slopes = self.loss.slope(scores[:, :p, None] - scores[:, None, first:])  # some hundred points: a small matrix
        gradient = torch.zeros_like(scores)
        gradient[:, :p] = torch.bmm(slopes, classes.negative[:, :, None]).squeeze(2) * classes.positive
        gradient[:, first:] -= torch.bmm(classes.positive[:, None, :], slopes).squeeze(1) * classes.negative
        return gradient.mul_(classes.per_pair)


@torch.no_grad()
def train(
    X: Tensor,
    y: Tensor,
    risks: Sequence[Risk],
    generators: Sequence[np.random.Generator],
    settings: Settings = MATCHED,
    together: bool | None = None,
) -> Layers:
    """Train a perceptron for every risk in every trial, by AMSGrad on shuffled batches of both classes.

    X (trials, n, d) and y (trials, n) are on the device to use. The generator of a trial draws the initial weights and
    the batches, which all its risks share. All trials take a step ``together``, as suits a GPU, by default on any other
    device than a CPU. Risk j in trial t is perceptron number ``j * trials + t``.
    """
    together = X.device.type != "cpu" if together is None else together
    if not together and len(generators) > 1:
        parts = [train(X[t : t + 1], y[t : t + 1], risks, [of], settings) for t, of in enumerate(generators)]
        return Layers(*(torch.stack(of, 1).flatten(0, 1) for of in zip(*parts, strict=True)))
    trials, points = len(generators), F.pad(X.to(torch.float32), (0, 1), value=1.0)
    models = [lecun_normal(X.shape[2], settings.hidden_units, of) for of in generators] * len(risks)
    parameters = Layers(*(torch.stack(part).to(X.device) for part in zip(*models, strict=True)))
    gradients = Layers(*(torch.zeros_like(part) for part in parameters))
    for part, gradient in zip(parameters, gradients, strict=True):
        part.grad = gradient
    optimizer = torch.optim.Adam(
        list(parameters), lr=settings.learning_rate, weight_decay=settings.weight_decay, amsgrad=True, fused=True
    )
    # All batches come before the first step: a copy to a GPU waits until the GPU has nothing left to do.
    for rows, classes in list(_batches(is_positive(y).cpu().numpy(), generators, settings, X.device)):
        batch = points[torch.arange(trials, device=X.device)[:, None], rows].repeat(len(risks), 1, 1)
        _write_gradients(risks, parameters, gradients, batch, classes)
        optimizer.step()
    return parameters


def _write_gradients(
    risks: Sequence[Risk], parameters: Layers, gradients: Layers, points: Tensor, classes: Classes
) -> None:
    weights, output, bias = parameters
    hidden = torch.bmm(points, weights).relu_()
    scores = torch.baddbmm(bias[:, None], hidden, output.mT).view(len(risks), *classes.sign.shape)
    by_scores = torch.cat([risk.gradient(part, classes) for risk, part in zip(risks, scores, strict=True)])
    torch.bmm((points * by_scores[..., None]).mT, hidden.sign_(), out=gradients.hidden)
    torch.sum(weights * gradients.hidden, 1, keepdim=True, out=gradients.output)
    torch.sum(by_scores, 1, keepdim=True, out=gradients.bias)
    gradients.hidden.mul_(output)


def _batches(
    positive: NDArray[np.bool_], generators: Sequence[np.random.Generator], settings: Settings, device: torch.device
) -> Iterator[tuple[Tensor, Classes]]:
    """Yield the rows (trials, b) of every batch, positives first, and its classes."""
    n = positive.shape[1]
    for _ in range(settings.epochs):
        order = np.stack([generator.permutation(n) for generator in generators])
        for start in range(0, n, settings.batch_size):
            rows = order[:, start : start + settings.batch_size]
            first = np.argsort(~np.take_along_axis(positive, rows, 1), axis=1, kind="stable")
            rows = np.take_along_axis(rows, first, 1)
            sign = torch.from_numpy(np.where(np.take_along_axis(positive, rows, 1), np.float32(1), np.float32(-1)))
            yield torch.from_numpy(rows).to(device), Classes(*(part.to(device) for part in Classes.of(sign).cut()))
