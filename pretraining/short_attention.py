"""Attention within short sequences, several of them a tile, on a GPU.

A row of a table has few tokens. Kernels for long sequences give each row a tile of its own, and spend nearly all of
their time on nothing. Here a tile holds as many whole rows as fit, and a mask keeps them apart; the backward pass
computes the tile again.
"""

import torch
from torch import Tensor

try:
    import triton
    import triton.language as tl
except ImportError:  # PyTorch for CPUs comes without it
    triton = None

LONGEST = 128  # tokens

if triton is not None:

    @triton.jit
    def _weights(q, k, place, inside, length, SCALE: tl.constexpr):
        same = (place[:, None] // length == place[None, :] // length) & inside[None, :]
        scores = tl.where(same, tl.dot(q, tl.trans(k)) * SCALE, -1e30)
        weights = tl.exp(scores - tl.max(scores, 1)[:, None])
        return weights / tl.sum(weights, 1)[:, None]

    @triton.jit
    def _forward(
        q, k, v, out, tokens, length, taken, WIDTH: tl.constexpr, TILE: tl.constexpr, HEAD: tl.constexpr,
        SCALE: tl.constexpr,
    ):  # fmt: skip
        place = tl.arange(0, TILE)
        row = tl.program_id(0).to(tl.int64) * taken + place
        inside = (place < taken) & (row < tokens)
        at = row[:, None] * WIDTH + tl.program_id(1) * HEAD + tl.arange(0, HEAD)[None, :]
        mask = inside[:, None]
        values = tl.load(v + at, mask=mask, other=0.0)
        weights = _weights(
            tl.load(q + at, mask=mask, other=0.0), tl.load(k + at, mask=mask, other=0.0), place, inside, length, SCALE
        )
        tl.store(out + at, tl.dot(weights.to(values.dtype), values), mask=mask)

    @triton.jit
    def _backward(
        q, k, v, change, to_q, to_k, to_v, tokens, length, taken, WIDTH: tl.constexpr, TILE: tl.constexpr,
        HEAD: tl.constexpr, SCALE: tl.constexpr,
    ):  # fmt: skip
        place = tl.arange(0, TILE)
        row = tl.program_id(0).to(tl.int64) * taken + place
        inside = (place < taken) & (row < tokens)
        at = row[:, None] * WIDTH + tl.program_id(1) * HEAD + tl.arange(0, HEAD)[None, :]
        mask = inside[:, None]
        query, key = tl.load(q + at, mask=mask, other=0.0), tl.load(k + at, mask=mask, other=0.0)
        values, wanted = tl.load(v + at, mask=mask, other=0.0), tl.load(change + at, mask=mask, other=0.0)
        weights = _weights(query, key, place, inside, length, SCALE)
        tl.store(to_v + at, tl.dot(tl.trans(weights).to(wanted.dtype), wanted), mask=mask)
        to_weights = tl.dot(wanted, tl.trans(values))
        to_scores = weights * (to_weights - tl.sum(to_weights * weights, 1)[:, None]) * SCALE
        to_scores = to_scores.to(query.dtype)
        tl.store(to_q + at, tl.dot(to_scores, key), mask=mask)
        tl.store(to_k + at, tl.dot(tl.trans(to_scores), query), mask=mask)


def _launch(kernel, arrays: list[Tensor], heads: int) -> None:
    rows, length, width = arrays[0].shape
    tile = 64 if length <= 32 else LONGEST
    taken = tile // length * length
    sizes = {"WIDTH": width, "TILE": tile, "HEAD": width // heads, "SCALE": (width // heads) ** -0.5}
    kernel[(-(-rows * length // taken), heads)](*arrays, rows * length, length, taken, **sizes)


@torch.library.custom_op("pretraining::short_attention", mutates_args=())
def short_attention(query: Tensor, key: Tensor, value: Tensor, heads: int) -> Tensor:
    """Attend within each sequence of (sequences, length, width), as `Attention` does; `length` is at most `LONGEST`."""
    query, key, value = (part.contiguous() for part in (query, key, value))
    out = torch.empty_like(query)
    _launch(_forward, [query, key, value, out], heads)
    return out


@torch.library.custom_op("pretraining::short_attention_backward", mutates_args=())
def _gradients(query: Tensor, key: Tensor, value: Tensor, change: Tensor, heads: int) -> tuple[Tensor, Tensor, Tensor]:
    query, key, value, change = (part.contiguous() for part in (query, key, value, change))
    out = [torch.empty_like(query) for _ in range(3)]
    _launch(_backward, [query, key, value, change, *out], heads)
    return out[0], out[1], out[2]


@short_attention.register_fake
def _(query: Tensor, *_: object) -> Tensor:
    return torch.empty_like(query, memory_format=torch.contiguous_format)


@_gradients.register_fake
def _(query: Tensor, *_: object) -> tuple[Tensor, Tensor, Tensor]:
    first, second, third = (torch.empty_like(query, memory_format=torch.contiguous_format) for _ in range(3))
    return first, second, third


def works() -> bool:
    """Try the kernels on the GPU: Triton may be missing, or have no compiler for C."""
    try:
        x = torch.ones(2, 3, 64, dtype=torch.bfloat16, device="cuda", requires_grad=True)
        short_attention(x, x, x, 2).sum().backward()
        return bool(x.grad.isfinite().all())
    except Exception:
        return False


def _keep(ctx, inputs, output) -> None:  # noqa: ARG001
    *parts, ctx.heads = inputs
    ctx.save_for_backward(*parts)


def _differentiate(ctx, change: Tensor) -> tuple[Tensor | None, ...]:
    return *_gradients(*ctx.saved_tensors, change, ctx.heads), None


short_attention.register_autograd(_differentiate, setup_context=_keep)
