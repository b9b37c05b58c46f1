"""A Triton kernel for benchmarks/mnist_search.py: Adam or AMSGrad, with each network's own learning rate and decays."""

import triton
import triton.language as tl
from torch import Tensor


@triton.jit
def _adam_kernel(
    p, g, m, v, top, copy, step, values, size, each, networks, COPY: tl.constexpr, BLOCK: tl.constexpr
):  # fmt: skip
    """Take a step as torch.optim.Adam does, with decay added to the gradient; then write a copy."""
    i = tl.program_id(0).to(tl.int64) * BLOCK + tl.arange(0, BLOCK)
    mask = i < size
    at = values + i // each
    rate = tl.load(at, mask=mask)
    decay = tl.load(at + networks, mask=mask)
    momentum = tl.load(at + 2 * networks, mask=mask, other=0.5)
    second = tl.load(at + 3 * networks, mask=mask, other=0.5)
    eps = tl.load(at + 4 * networks, mask=mask, other=1.0)
    amsgrad = tl.load(at + 5 * networks, mask=mask)
    number = tl.load(step)
    value = tl.load(p + i, mask=mask)
    gradient = tl.load(g + i, mask=mask).to(tl.float32) + decay * value
    mean = momentum * tl.load(m + i, mask=mask) + (1 - momentum) * gradient
    square = second * tl.load(v + i, mask=mask) + (1 - second) * gradient * gradient
    largest = tl.maximum(tl.load(top + i, mask=mask) * amsgrad, square)
    first = 1 - tl.exp(number * tl.log(tl.maximum(momentum, 1e-30)))
    corrected = 1 - tl.exp(number * tl.log(second))
    value -= rate / first * mean / (tl.sqrt(largest) / tl.sqrt(corrected) + eps)
    tl.store(p + i, value, mask=mask)
    tl.store(m + i, mean, mask=mask)
    tl.store(v + i, square, mask=mask)
    tl.store(top + i, largest, mask=mask)
    if COPY:
        tl.store(copy + i, value.to(copy.dtype.element_ty), mask=mask)


def launch(
    p: Tensor, g: Tensor, m: Tensor, v: Tensor, top: Tensor, copy: Tensor, number: Tensor, values: Tensor, copies: bool
) -> None:
    """Take a step for one part of the parameters, of shape (networks, rows, columns)."""
    size, block = p.numel(), 1024
    _adam_kernel[(triton.cdiv(size, block),)](
        p, g, m, v, top, copy, number, values, size, size // len(p), len(p), copies, block, num_warps=4
    )
