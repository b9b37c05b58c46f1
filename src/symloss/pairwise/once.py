"""Gradients that cannot be differentiated again: the errors say what to use."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

NO_FORWARD_MODE = (
    "the AUC risk has no forward-mode derivative. The derivative along a direction is the sum of the gradient times "
    "the direction; or use the matrix loss(pos[:, None] - neg).mean()"
)


class Once(torch.autograd.Function):
    """A gradient that raises an error when it is differentiated again; PyTorch would treat it as a constant."""

    generate_vmap_rule = True

    @staticmethod
    def forward(gradient: Tensor, scores: Tensor) -> Tensor:  # noqa: ARG004
        """Return the gradient, as a function of the scores too."""
        return gradient.clone()

    @staticmethod
    def setup_context(ctx: Any, inputs: Any, output: Tensor) -> None:
        """Keep nothing."""

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor, None]:  # noqa: ARG004
        """Raise the error."""
        raise RuntimeError(
            "the AUC risk can be differentiated once, with respect to the scores. For second derivatives use "
            "pairwise_derivatives (the diagonal of the Hessian), or the matrix loss(pos[:, None] - neg).mean()"
        )
