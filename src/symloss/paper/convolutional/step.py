"""One step of all networks of a stack, with gradients written by hand: for every risk of every trial."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

import torch
from torch import Tensor

from symloss.paper.convolutional.network import NetworkStack
from symloss.paper.convolutional.patches import Convolution, Patches, Pooled
from symloss.paper.training.risks import Classes, Risk


class Optimizer(Protocol):
    """AMSGrad on a flat tensor of parameters."""

    def step(self) -> None:
        """Take a step along the gradient."""

    def reset(self) -> None:
        """Forget all steps."""


class Step:
    """The gradients of all networks of a stack, and the step along them.

    The network of risk j in trial t is number ``j * trials + t``; networks of a trial share its images and dropout.

    Parameters
    ----------
    stack : NetworkStack
    risks : sequence of Risk
    convolutions : pair of Convolution
    dtype : torch.dtype
        The type of number to compute with; risks, and sums over a batch, are in float32 or better.
    generator : torch.Generator
        Draws the dropout, on the stack's device.
    """

    def __init__(
        self,
        stack: NetworkStack,
        risks: Sequence[Risk],
        convolutions: tuple[Convolution, Convolution],
        dtype: torch.dtype,
        generator: torch.Generator,
    ) -> None:
        self.stack, self.risks, self.dtype, self.generator = stack, risks, dtype, generator
        self.first, self.second = convolutions
        self.trials = len(stack) // len(risks)
        self.rate = stack.architecture.dropout
        self.sums = torch.promote_types(dtype, torch.float32)
        self.copy = stack.flat.to(dtype)  # in float32, the parameters themselves and no copy
        self.gradient = torch.zeros_like(self.copy)
        self.parameters, self.gradients = stack.views(self.copy), stack.views(self.gradient)
        self.streams = [torch.cuda.Stream(stack.flat.device) for _ in risks] if stack.flat.is_cuda else []

    def features(self, images: Tensor) -> tuple[Pooled, Pooled]:
        """Return the outputs of both convolutions for each trial's images (trials, n, side, side, channels)."""
        first = self.first.forward(images, self.parameters.first)
        return first, self.second.forward(first.output, self.parameters.second)

    def masks(self, n: int) -> tuple[Tensor, Tensor]:
        """Draw the scaled masks of dropout for both layers, each (trials, n, units)."""
        wide, narrow = (
            torch.empty(self.trials, n, units, dtype=self.dtype, device=self.copy.device)
            .bernoulli_(1 - self.rate, generator=self.generator)
            .mul_(1 / (1 - self.rate))
            for units in (self.stack.architecture.wide, self.stack.architecture.narrow)
        )
        return wide, narrow

    def scores(self, features: Tensor, masks: tuple[Tensor, Tensor] | None) -> tuple[Tensor, Tensor, Tensor]:
        """Return the scores (networks, n) in float32 or better, and the two hidden layers."""
        p, split = self.parameters, (len(self.risks), self.trials)
        wide = torch.baddbmm(p.wide_bias, features, p.wide).relu_()
        if masks:
            wide.unflatten(0, split).mul_(masks[0])
        narrow = torch.baddbmm(p.narrow_bias, wide, p.narrow).relu_()
        if masks:
            narrow.unflatten(0, split).mul_(masks[1])
        scores = torch.baddbmm(*(part.to(self.sums) for part in (p.output_bias, narrow, p.output)))
        return scores.squeeze(2), wide, narrow

    def write_gradients(self, images: Tensor, classes: Classes) -> None:
        """Write the gradients of every network's risk on its trial's batch (trials, n, side, side, channels)."""
        first, second = self.features(images)
        masks = self.masks(images.shape[1]) if self.rate else None
        by_features = self._fully_connected(second.output.flatten(2), masks, classes).view_as(second.output)
        self.second.weight_gradient(second, by_features, self.gradients.second)
        by_first = self.second.input_gradient(second, by_features, self.parameters.second)
        self.first.weight_gradient(first, by_first, self.gradients.first)

    def _fully_connected(self, features: Tensor, masks: tuple[Tensor, Tensor] | None, classes: Classes) -> Tensor:
        """Write the gradients of the fully connected layers, and return that with respect to the features."""
        p, g, scale = self.parameters, self.gradients, 1 / (1 - self.rate)
        scores, wide, narrow = self.scores(features, masks)
        by_scores = self._by_scores(scores.unflatten(0, (len(self.risks), -1)), classes).flatten(0, 1)[..., None]
        g.output_bias.copy_(by_scores.sum(1, keepdim=True))
        by_scores = by_scores.to(self.dtype)
        torch.bmm(narrow.mT, by_scores, out=g.output)
        # Where a unit is positive, ReLU and dropout have let it through.
        by_narrow = (by_scores * p.output.mT).mul_(narrow > 0).mul_(scale)
        torch.bmm(wide.mT, by_narrow, out=g.narrow)
        g.narrow_bias.copy_(by_narrow.sum(1, keepdim=True, dtype=self.sums))
        by_wide = torch.bmm(by_narrow, p.narrow.mT).mul_(wide > 0).mul_(scale)
        torch.bmm(features.mT, by_wide, out=g.wide)
        g.wide_bias.copy_(by_wide.sum(1, keepdim=True, dtype=self.sums))
        return torch.bmm(by_wide, p.wide.mT)

    def _by_scores(self, scores: Tensor, classes: Classes) -> Tensor:
        """Return the gradients of the risks with respect to the scores (risks, trials, n)."""
        out = torch.empty_like(scores)
        if not self.streams:
            for risk, part, target in zip(self.risks, scores, out, strict=True):
                target.copy_(risk.gradient(part, classes))
            return out
        # These are many small kernels, which wait for each other unless each risk has its own stream.
        main = torch.cuda.current_stream(scores.device)
        for risk, part, target, stream in zip(self.risks, scores, out, self.streams, strict=True):
            stream.wait_stream(main)
            with torch.cuda.stream(stream):
                target.copy_(risk.gradient(part, classes))
        for stream in self.streams:
            main.wait_stream(stream)
        return out


class TorchAMSGrad:
    """PyTorch's AMSGrad, which also writes the copy of the parameters that the networks compute with."""

    def __init__(
        self, parameters: Tensor, gradient: Tensor, copy: Tensor, learning_rate: float, weight_decay: float
    ) -> None:
        self.parameters, self.gradient, self.copy = parameters, gradient, copy
        self.parameters.grad = gradient if gradient.dtype == parameters.dtype else torch.zeros_like(parameters)
        self.adam = torch.optim.Adam(
            [parameters],
            lr=learning_rate,
            weight_decay=weight_decay,
            amsgrad=True,
            fused=True,
            capturable=parameters.is_cuda,
        )

    def step(self) -> None:
        """Take a step."""
        if self.parameters.grad is not self.gradient and self.parameters.grad is not None:
            self.parameters.grad.copy_(self.gradient)
        self.adam.step()
        if self.copy is not self.parameters:
            self.copy.copy_(self.parameters)

    def reset(self) -> None:
        """Forget all steps."""
        for part in self.adam.state[self.parameters].values():
            part.zero_()


def has_kernels(device: torch.device) -> bool:
    """Return whether Triton is installed and the device can run its kernels in bfloat16."""
    if device.type != "cuda" or torch.cuda.get_device_capability(device) < (8, 0):
        return False
    try:
        import triton  # noqa: F401
    except ImportError:
        return False
    return True


def make_step(
    stack: NetworkStack,
    risks: Sequence[Risk],
    generator: torch.Generator,
    learning_rate: float,
    weight_decay: float,
    kernels: bool,
    dtype: torch.dtype,
) -> tuple[Step, Optimizer]:
    """Return the step of a stack and its optimizer, with Triton's kernels or in plain PyTorch."""
    if not kernels:
        step = Step(stack, risks, (Patches(), Patches()), dtype, generator)
        return step, TorchAMSGrad(stack.flat, step.gradient, step.copy, learning_rate, weight_decay)
    from symloss.paper.convolutional.kernels import FIRST, SECOND, KernelAMSGrad, KernelConvolution

    step = Step(stack, risks, (KernelConvolution(FIRST), KernelConvolution(SECOND)), dtype, generator)
    return step, KernelAMSGrad(stack.flat, step.gradient, step.copy, learning_rate, weight_decay)


__all__ = ["Optimizer", "Step", "TorchAMSGrad", "has_kernels", "make_step"]
