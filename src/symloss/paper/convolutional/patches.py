"""A convolution and its pooling for many networks at once, by products with matrices of all patches of the images.

Images have the shape (groups, n, side, side, channels): channels come last, so that a row of a patch is contiguous.
Networks that share images form a group: network k works on the images of group k modulo the number of groups.
"""

from __future__ import annotations

from typing import NamedTuple, Protocol

import torch
from torch import Tensor

from symloss.paper.convolutional.network import KERNEL


class Pooled(NamedTuple):
    """The output of a convolution and its pooling, and what their gradients need.

    Parameters
    ----------
    images : Tensor of shape (groups, n, side, side, channels)
        The input.
    output : Tensor of shape (networks, n, p, p, outputs)
        The largest value of every 2 x 2 square of the convolution.
    corner : Tensor of the same shape, uint8
        Which of the four values is the largest.
    saved : Tensor
        What else an implementation keeps for its gradients.
    """

    images: Tensor
    output: Tensor
    corner: Tensor
    saved: Tensor


class Convolution(Protocol):
    """A way to convolve, pool, and take gradients, for all networks at once."""

    def forward(self, images: Tensor, weights: Tensor) -> Pooled:
        """Convolve with weights (networks, 25 * channels + 1, outputs), biases last, and pool."""

    def weight_gradient(self, pooled: Pooled, by_output: Tensor, out: Tensor) -> None:
        """Write the gradient with respect to the weights, given the gradient with respect to the output."""

    def input_gradient(self, pooled: Pooled, by_output: Tensor, weights: Tensor) -> Tensor:
        """Return the gradient with respect to the images, for networks that each have their own images."""


class Patches:
    """Convolutions as products with the matrix of all patches, on any device and in any precision."""

    def forward(self, images: Tensor, weights: Tensor) -> Pooled:
        """Convolve with weights (networks, 25 * channels + 1, outputs), biases last, and pool."""
        groups, n, side, _, _ = images.shape
        networks, _, outputs = weights.shape
        p, each = (side - KERNEL + 1) // 2, networks // groups
        patches = _patches(images)
        columns = weights.unflatten(0, (each, groups)).permute(1, 2, 0, 3).flatten(2)
        found = torch.baddbmm(columns[:, -1:], patches, columns[:, :-1]).view(groups, 4, n * p * p, each, outputs)
        best, corner = found.max(1)
        output, corner = (
            part.permute(2, 0, 1, 3).contiguous().view(networks, n, p, p, outputs)
            for part in (best, corner.to(torch.uint8))
        )
        return Pooled(images, output, corner, patches)

    def weight_gradient(self, pooled: Pooled, by_output: Tensor, out: Tensor) -> None:
        """Write the gradient with respect to the weights, given the gradient with respect to the output."""
        groups, networks, outputs = len(pooled.images), len(by_output), by_output.shape[-1]
        found = torch.bmm(pooled.saved.mT, _unpooled(pooled, by_output, groups))
        each = networks // groups
        target = out[:, :-1].unflatten(0, (each, groups))
        target.copy_(found.unflatten(2, (each, outputs)).permute(2, 0, 1, 3))
        out[:, -1] = by_output.flatten(1, 3).sum(1, dtype=torch.promote_types(by_output.dtype, torch.float32))

    def input_gradient(self, pooled: Pooled, by_output: Tensor, weights: Tensor) -> Tensor:
        """Return the gradient with respect to the images, for networks that each have their own images."""
        networks, n, p = by_output.shape[:3]
        columns = torch.bmm(_unpooled(pooled, by_output, networks), weights[:, :-1].mT)
        columns = columns.view(networks, 2, 2, n, p, p, KERNEL, KERNEL, -1)
        found = torch.zeros_like(pooled.images)
        for row in range(KERNEL):
            for column in range(KERNEL):
                target = found[:, :, row : row + 2 * p, column : column + 2 * p]
                target = target.unflatten(3, (p, 2)).unflatten(2, (p, 2))
                target += columns[..., row, column, :].permute(0, 3, 4, 1, 5, 2, 6)
        return found


def _patches(images: Tensor) -> Tensor:
    """Return the patches (groups, 4 n p p, 25 channels), those at the same corner of their 2 x 2 square together."""
    groups, n, side, _, channels = images.shape
    p, line = (side - KERNEL + 1) // 2, side * channels
    strided = images.contiguous().as_strided(
        (groups, 2, 2, n, p, p, KERNEL, KERNEL * channels),
        (n * side * line, line, channels, side * line, 2 * line, 2 * channels, line, 1),
    )
    return strided.reshape(groups, 4 * n * p * p, -1)


def _unpooled(pooled: Pooled, by_output: Tensor, groups: int) -> Tensor:
    """Return the gradient before the pooling, of shape (groups, 4 n p p, outputs of all networks of the group)."""
    networks, outputs = len(by_output), by_output.shape[-1]
    corners = torch.arange(4, device=by_output.device, dtype=torch.uint8)[:, None, None, None]
    gradient, corner = (
        part.view(networks // groups, groups, 1, -1, outputs).permute(1, 2, 3, 0, 4)
        for part in (by_output, pooled.corner)
    )
    return ((corner == corners) * gradient).flatten(3).flatten(1, 2)
