"""The batches of a training, all of them drawn before its first step."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from symloss.paper.training.risks import Classes

Integers = NDArray[np.int64]


class Batches(NamedTuple):
    """Which points are in the batch of every step, for every trial; the last batch of an epoch may have empty places.

    Parameters
    ----------
    rows : Tensor of shape (steps, trials, b), int32
    sign : Tensor of shape (steps, trials, b), int8
        Their labels, +1 and -1; 0 marks an empty place.

    Examples
    --------
    >>> y = np.array([[1, 1, -1, -1, -1]])
    >>> batches = draw_batches(np.array([[0, 1, 2, 3, 4]]), y, [np.random.default_rng(0)], 1, 3)
    >>> batches.sign.abs().sum(2)
    tensor([[3],
            [2]])
    """

    rows: Tensor
    sign: Tensor

    def to(self, device: torch.device | str) -> Batches:
        """Return the same on a device."""
        return Batches(self.rows.to(device), self.sign.to(device))

    def at(self, number: Tensor) -> tuple[Tensor, Classes]:
        """Return the rows (trials, b) and the classes of a step; its number is a tensor of one element."""
        rows, sign = (part.index_select(0, number).squeeze(0) for part in self)
        return rows, classes_of(sign.float())


def classes_of(sign: Tensor) -> Classes:
    """Return the classes of batches (trials, b) of labels +1.0 and -1.0, in any order; 0.0 marks an empty place.

    Examples
    --------
    >>> classes_of(torch.tensor([[-1.0, 1.0, 1.0, 0.0]])).weight
    tensor([[-1.0000,  0.5000,  0.5000,  0.0000]])
    """
    positive, negative = ((part > 0).to(sign.dtype) for part in (sign, -sign))
    n, m = positive.sum(1, keepdim=True), negative.sum(1, keepdim=True)
    weight = positive / n.clamp(min=1) - negative / m.clamp(min=1)
    return Classes(sign, weight, positive, negative, (n * m > 0) / (n * m).clamp(min=1))


def draw_batches(
    rows: Integers,
    y: Integers,
    generators: Sequence[np.random.Generator],
    epochs: int,
    batch_size: int,
    balanced: bool = False,
) -> Batches:
    """Shuffle each trial's points anew in every epoch, and cut them into batches.

    Parameters
    ----------
    rows, y : array of shape (trials, n)
        The points of each trial, and their labels +1 and -1.
    generators : sequence of numpy Generator, one per trial
    epochs, batch_size : int
    balanced : bool
        Whether a batch has ``batch_size`` points of each class, instead of ``batch_size`` points in all.

    Examples
    --------
    >>> y = np.array([[1, 1, -1, -1, -1]])
    >>> draw_batches(y * 0, y, [np.random.default_rng(0)], 1, 2, balanced=True).sign
    tensor([[[ 1,  1, -1, -1]],
            [[ 0,  0, -1,  0]]], dtype=torch.int8)
    """
    drawn = [
        _draw_trial(of, labels, generator, epochs, batch_size, balanced)
        for of, labels, generator in zip(rows, y, generators, strict=True)
    ]
    return Batches(*(torch.from_numpy(np.stack(part, 1)) for part in zip(*drawn, strict=True)))


def _draw_trial(
    rows: Integers, y: Integers, generator: np.random.Generator, epochs: int, batch_size: int, balanced: bool
) -> tuple[NDArray[np.int32], NDArray[np.int8]]:
    parts = [np.flatnonzero(y > 0), np.flatnonzero(y < 0)] if balanced else [np.arange(len(y))]
    steps = -(-max(map(len, parts)) // batch_size)
    found_rows, found_sign = [], []
    for _ in range(epochs):
        chosen = np.full((steps * batch_size, len(parts)), -1)
        for column, part in enumerate(parts):
            chosen[: len(part), column] = generator.permutation(part)
        chosen = chosen.reshape(steps, batch_size, len(parts)).swapaxes(1, 2).reshape(steps, -1)
        there = chosen >= 0
        found_rows.append(np.where(there, rows[chosen], 0).astype(np.int32))
        found_sign.append(np.where(there, y[chosen], 0).astype(np.int8))
    return np.concatenate(found_rows), np.concatenate(found_sign)


__all__ = ["Batches", "classes_of", "draw_batches"]
