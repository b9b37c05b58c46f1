"""Steps of the paper's convolutional networks on a GPU: many networks at once by several methods, and one at a time.

    python benchmarks/images.py [--networks 7x10] [--batch 128] [--seconds 200] [--small]

Prints, as it goes: the machine; how far every method's gradients are from autograd's in float32; what each part of a
step takes by each method; what a whole step takes; and the ratio to one network at a time. Times are of CUDA graphs
where it says so, else of ordinary launches. ``--small`` checks everything on tiny networks, on any device.

The network: Conv[18,5]-Max[2]-Conv[48,5]-Max[2]-800-400-1, ReLU and dropout after 800 and after 400, none after the
convolutions. Networks of a trial share its batch. Images are (trials, batch, 32, 32, channels), and so on inwards:
channels last, so that a row of a 5 x 5 patch is contiguous. Parameters of a convolution are one matrix (25 * channels
+ 1, outputs), biases last. The pooled output comes with the corner of its 2 x 2 square that it is from.
"""

from __future__ import annotations

import argparse
import os
import shutil
import statistics
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import NamedTuple

import torch
from torch import Tensor, nn
from torch.nn import functional as F  # noqa: N812

try:
    import triton
    import triton.language as tl
except ImportError:
    triton = None

START = time.perf_counter()


# ----------------------------------------------------------------------------------------------- the stack of networks


@dataclass(frozen=True)
class Shape:
    """Sizes of the networks and of a step."""

    losses: int = 7
    trials: int = 10
    batch: int = 128
    channels: int = 3
    side: int = 32
    conv1: int = 18
    conv2: int = 48
    fc1: int = 800
    fc2: int = 400

    @property
    def nets(self) -> int:
        return self.losses * self.trials

    @property
    def pooled1(self) -> int:
        return (self.side - 4) // 2

    @property
    def pooled2(self) -> int:
        return (self.pooled1 - 4) // 2

    @property
    def features(self) -> int:
        return self.pooled2**2 * self.conv2

    def sections(self) -> dict[str, tuple[int, ...]]:
        k = self.nets
        return {
            "conv1": (k, 25 * self.channels + 1, self.conv1),
            "conv2": (k, 25 * self.conv1 + 1, self.conv2),
            "fc1": (k, self.features, self.fc1),
            "bias1": (k, 1, self.fc1),
            "fc2": (k, self.fc1, self.fc2),
            "bias2": (k, 1, self.fc2),
            "fc3": (k, self.fc2, 1),
            "bias3": (k, 1, 1),
        }


class Sections(NamedTuple):
    conv1: Tensor
    conv2: Tensor
    fc1: Tensor
    bias1: Tensor
    fc2: Tensor
    bias2: Tensor
    fc3: Tensor
    bias3: Tensor


def views(flat: Tensor, shape: Shape) -> Sections:
    parts, start = [], 0
    for size in shape.sections().values():
        n = size[0] * size[1] * size[2]
        parts.append(flat[start : start + n].view(size))
        start += n + -n % 64
    return Sections(*parts)


def flat_size(shape: Shape) -> int:
    return sum(n + -n % 64 for n in (a * b * c for a, b, c in shape.sections().values()))


def initial(shape: Shape, device: str) -> Tensor:
    """PyTorch's default: uniform within 1 / sqrt(inputs), the same for all losses of a trial."""
    flat = torch.zeros(flat_size(shape), device=device)
    inputs = {
        "conv1": 25 * shape.channels,
        "conv2": 25 * shape.conv1,
        "fc1": shape.features,
        "bias1": shape.features,
        "fc2": shape.fc1,
        "bias2": shape.fc1,
        "fc3": shape.fc2,
        "bias3": shape.fc2,
    }
    for name, part in views(flat, shape)._asdict().items():
        one = torch.empty(shape.trials, *part.shape[1:], device=device)
        part.copy_(one.uniform_(-(inputs[name] ** -0.5), inputs[name] ** -0.5).repeat(shape.losses, 1, 1))
    return flat


@dataclass
class Batch:
    """What a step works on, apart from the parameters."""

    images: Tensor  # (trials, batch, side, side, channels)
    positive: Tensor  # (trials, batch), 1 or 0
    kept1: Tensor  # (trials, batch, fc1), what dropout keeps, scaled
    kept2: Tensor


def draw(shape: Shape, device: str, dtype: torch.dtype) -> Batch:
    t, b = shape.trials, shape.batch
    images = torch.randn(t, b, shape.side, shape.side, shape.channels, device=device)
    positive = (torch.rand(t, b, device=device) < 0.5).float()
    kept = [2 * (torch.rand(t, b, n, device=device) < 0.5).to(dtype) for n in (shape.fc1, shape.fc2)]
    return Batch(images.to(dtype), positive, *kept)


# ---------------------------------------------------------------------------------------------------------- objectives

SLOPES: list[Callable[[Tensor], Tensor]] = [
    lambda z: torch.where(z < -50.25, -200.0, torch.where(z > 50, 200.0, -1.0)),
    lambda z: torch.full_like(z, -1),
    lambda z: -torch.sigmoid(z) * torch.sigmoid(-z),
    lambda z: -torch.sigmoid(-z),
    lambda z: -(z < 1).to(z.dtype),
    lambda z: 2 * (z - 1),
    lambda z: -4 * torch.sigmoid(-2 * z) ** 2 * torch.sigmoid(2 * z),
]


def by_scores(scores: Tensor, positive: Tensor, risk: str, streams: list[torch.cuda.Stream] | None = None) -> Tensor:
    """The risk's gradient by the scores (losses, trials, batch), each loss on a stream of its own where there are some."""
    out = torch.empty_like(scores)
    negative = 1 - positive
    n, m = positive.sum(1, keepdim=True), negative.sum(1, keepdim=True)
    sign = positive - negative
    weight = positive / n.clamp(min=1) - negative / m.clamp(min=1)
    pair = positive[:, :, None] * negative[:, None, :] / (n * m).clamp(min=1)[:, :, None] if risk == "auc" else None
    main = torch.cuda.current_stream() if streams else None
    for j, slope in enumerate(SLOPES[: len(scores)]):
        if streams:
            streams[j].wait_stream(main)
        with torch.cuda.stream(streams[j] if streams else None):
            s = scores[j]
            if pair is None:
                torch.mul(slope(s * sign), weight, out=out[j])
            else:
                slopes = slope(s[:, :, None] - s[:, None, :]).mul_(pair)
                torch.sub(slopes.sum(2), slopes.sum(1), out=out[j])
    if streams:
        for stream in streams:
            main.wait_stream(stream)
    return out


# ------------------------------------------------------------------------------------ autograd: one network, and grouped


class Network(nn.Module):
    def __init__(self, shape: Shape) -> None:
        super().__init__()
        self.conv1 = nn.Conv2d(shape.channels, shape.conv1, 5)
        self.conv2 = nn.Conv2d(shape.conv1, shape.conv2, 5)
        self.fc1 = nn.Linear(shape.features, shape.fc1)
        self.fc2 = nn.Linear(shape.fc1, shape.fc2)
        self.fc3 = nn.Linear(shape.fc2, 1)

    def forward(self, x: Tensor) -> Tensor:
        x = F.max_pool2d(self.conv2(F.max_pool2d(self.conv1(x), 2)), 2).flatten(1)
        x = F.dropout(torch.relu(self.fc2(F.dropout(torch.relu(self.fc1(x))))))
        return self.fc3(x).squeeze(1)


def one_network(p: Sections, k: int, batch: Batch, shape: Shape) -> Tensor:
    """Scores of network k by the plain functions of PyTorch: the reference."""
    t = k % shape.trials

    def convolution(x: Tensor, matrix: Tensor) -> Tensor:
        c, o = x.shape[1], matrix.shape[1]
        weight = matrix[:-1].view(5, 5, c, o).permute(3, 2, 0, 1)
        return F.max_pool2d(F.conv2d(x, weight, matrix[-1]), 2)

    x = batch.images[t].permute(0, 3, 1, 2)
    h = convolution(convolution(x, p.conv1[k]), p.conv2[k]).permute(0, 2, 3, 1).flatten(1)
    a = torch.relu(h @ p.fc1[k] + p.bias1[k]) * batch.kept1[t]
    a = torch.relu(a @ p.fc2[k] + p.bias2[k]) * batch.kept2[t]
    return (a @ p.fc3[k] + p.bias3[k]).squeeze(1)


def grouped_scores(p: Sections, batch: Batch, shape: Shape, channels_last: bool = False) -> Tensor:
    """Scores of all networks by grouped convolutions and batched products, for autograd."""
    t, j, b = shape.trials, shape.losses, shape.batch

    def weight(matrix: Tensor, c: int) -> Tensor:
        return matrix[:, :-1].unflatten(1, (5, 5, c)).permute(0, 4, 3, 1, 2).flatten(0, 1)

    def by_trial(part: Tensor) -> Tensor:
        return part.unflatten(0, (j, t)).transpose(0, 1).flatten(0, 1)

    first, second = by_trial(p.conv1), by_trial(p.conv2)
    x = batch.images.permute(1, 0, 4, 2, 3).flatten(1, 2)
    x = x.contiguous(memory_format=torch.channels_last) if channels_last else x.contiguous()
    x = F.max_pool2d(F.conv2d(x, weight(first, shape.channels), first[:, -1].flatten(), groups=t), 2)
    x = F.max_pool2d(F.conv2d(x, weight(second, shape.conv1), second[:, -1].flatten(), groups=t * j), 2)
    h = x.unflatten(1, (t, j, shape.conv2)).permute(2, 1, 0, 4, 5, 3).reshape(j * t, b, shape.features)
    a = torch.relu(torch.baddbmm(p.bias1, h, p.fc1)).unflatten(0, (j, t)) * batch.kept1
    a = torch.relu(torch.baddbmm(p.bias2, a.flatten(0, 1), p.fc2)).unflatten(0, (j, t)) * batch.kept2
    return torch.baddbmm(p.bias3, a.flatten(0, 1), p.fc3).squeeze(2)


# ------------------------------------------------------------------------------------------- convolutions by im2col + bmm


class Im2col:
    """Patches as a matrix, corners of the squares first: pooling is a maximum over them."""

    name = "im2col"

    def patches(self, x: Tensor) -> Tensor:
        g, b, s, _, c = x.shape
        p, row = (s - 4) // 2, s * c
        strided = x.as_strided((g, 2, 2, b, p, p, 5, 5 * c), (b * s * row, row, c, s * row, 2 * row, 2 * c, row, 1))
        return strided.reshape(g, 4 * b * p * p, 25 * c)

    def forward(self, x: Tensor, matrix: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        g, b, s, _, c = x.shape
        k, _, o = matrix.shape
        p, j = (s - 4) // 2, k // g
        patches = self.patches(x)
        columns = matrix.unflatten(0, (j, g)).permute(1, 2, 0, 3).flatten(2)
        found = torch.baddbmm(columns[:, -1:], patches, columns[:, :-1]).view(g, 4, b * p * p, j, o)
        best, which = found.max(1)
        y, place = (part.permute(2, 0, 1, 3).contiguous().view(k, b, p, p, o) for part in (best, which.to(torch.uint8)))
        return y, place, patches

    def unpooled(self, dy: Tensor, which: Tensor, groups: int) -> Tensor:
        k, b, p, _, o = dy.shape
        corners = torch.arange(4, device=dy.device, dtype=torch.uint8)[:, None, None, None]
        dy, which = (part.view(k // groups, groups, 1, b * p * p, o).permute(1, 2, 3, 0, 4) for part in (dy, which))
        return ((which == corners) * dy).flatten(3)  # (groups, 4, b p p, j o)

    def weight_gradient(self, saved: Tensor, x: Tensor, dy: Tensor, which: Tensor, out: Tensor) -> None:
        g, k, o = x.shape[0], dy.shape[0], dy.shape[-1]
        d = self.unpooled(dy, which, g).flatten(1, 2)
        found = product(saved.mT, d, out.dtype).unflatten(2, (k // g, o)).permute(2, 0, 1, 3)
        out[:, :-1].unflatten(0, (k // g, g)).copy_(found)
        out[:, -1] = dy.flatten(1, 3).sum(1, dtype=torch.float32)

    def input_gradient(self, dy: Tensor, which: Tensor, matrix: Tensor) -> Tensor:
        k, b, p, _, o = dy.shape
        c, s = (matrix.shape[1] - 1) // 25, 2 * p + 4
        d = self.unpooled(dy, which, k).flatten(1, 2)
        columns = torch.bmm(d, matrix[:, :-1].mT).view(k, 2, 2, b, p, p, 5, 5, c)
        dx = dy.new_zeros(k, b, s, s, c)
        for ky in range(5):
            for kx in range(5):
                target = dx[:, :, ky : ky + 2 * p, kx : kx + 2 * p].unflatten(3, (p, 2)).unflatten(2, (p, 2))
                target += columns[..., ky, kx, :].permute(0, 3, 4, 1, 5, 2, 6)
        return dx


def product(a: Tensor, b: Tensor, dtype: torch.dtype) -> Tensor:
    """a b, accumulated and kept in ``dtype``."""
    if a.dtype == dtype:
        return torch.bmm(a, b)
    if a.device.type == "cuda":
        return torch.bmm(a, b, out_dtype=dtype)
    return torch.bmm(a.to(dtype), b.to(dtype))


# ------------------------------------------------------------------------------------------ convolutions by Triton kernels

if triton is not None:

    @triton.jit
    def _forward_kernel(
        x, w, y, which, images, groups, nets_a_group,
        SIDE: tl.constexpr, C: tl.constexpr, O: tl.constexpr, VEC: tl.constexpr, PRECISION: tl.constexpr,
        BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr,
    ):  # fmt: skip
        """A tile of pooled pixels by outputs: the best of the four corners, each a product of patches and weights."""
        P: tl.constexpr = (SIDE - 4) // 2
        K: tl.constexpr = 25 * C
        g = tl.program_id(1)
        m = tl.program_id(0) * BM + tl.arange(0, BM)
        n = tl.program_id(2) * BN + tl.arange(0, BN)
        there, wanted = m < images * P * P, n < nets_a_group * O
        net = (n // O) * groups + g
        b, py, px = m // (P * P), (m // P) % P, m % P
        corner = ((g * images + b) * SIDE + 2 * py) * (SIDE * C) + 2 * px * C
        column = net * ((K + 1) * O) + n % O
        best = tl.full((BM, BN), float("-inf"), tl.float32)
        place = tl.zeros((BM, BN), tl.int32)
        for q in range(4):
            acc = tl.zeros((BM, BN), tl.float32)
            for i0 in range(0, K, BK):
                i = i0 + tl.arange(0, BK)
                offset = (i // (5 * C)) * (SIDE * C) + i % (5 * C)
                if VEC > 1:
                    offset = tl.max_contiguous(tl.multiple_of(offset, VEC), VEC)
                at = corner + (q // 2) * (SIDE * C) + (q % 2) * C
                a = tl.load(x + at[:, None] + offset[None, :], mask=there[:, None] & (i < K)[None, :], other=0.0)
                f = tl.load(w + column[None, :] + (i * O)[:, None], mask=wanted[None, :] & (i < K)[:, None], other=0.0)
                acc = tl.dot(a, f, acc, input_precision=PRECISION)
            better = acc > best
            best = tl.where(better, acc, best)
            place = tl.where(better, q, place)
        bias = tl.load(w + column + K * O, mask=wanted, other=0.0).to(tl.float32)
        to = ((net * images)[None, :] * (P * P) + m[:, None]) * O + (n % O)[None, :]
        inside = there[:, None] & wanted[None, :]
        tl.store(y + to, (best + bias[None, :]).to(y.dtype.element_ty), mask=inside)
        tl.store(which + to, place.to(tl.uint8), mask=inside)

    @triton.jit
    def _input_gradient_kernel(
        dy, which, w, dx, images,
        SIDE: tl.constexpr, C: tl.constexpr, O: tl.constexpr, PRECISION: tl.constexpr,
        BM: tl.constexpr, BC: tl.constexpr, BO: tl.constexpr,
    ):  # fmt: skip
        """A tile of input pixels by channels: the sum over the 25 taps, gradients put back into their corners."""
        P: tl.constexpr = (SIDE - 4) // 2
        net = tl.program_id(1)
        m = tl.program_id(0) * BM + tl.arange(0, BM)
        c = tl.arange(0, BC)
        there = m < images * SIDE * SIDE
        b, y, x = m // (SIDE * SIDE), (m // SIDE) % SIDE, m % SIDE
        acc = tl.zeros((BM, BC), tl.float32)
        for tap in range(25):
            oy, ox = y - tap // 5, x - tap % 5
            inside = there & (oy >= 0) & (oy < 2 * P) & (ox >= 0) & (ox < 2 * P)
            at = (((net * images + b) * P + oy // 2) * P + ox // 2) * O
            corner = (oy % 2) * 2 + ox % 2
            for o0 in tl.static_range(0, O, BO):
                o = o0 + tl.arange(0, BO)
                mask = inside[:, None] & (o < O)[None, :]
                d = tl.load(dy + at[:, None] + o[None, :], mask=mask, other=0.0)
                q = tl.load(which + at[:, None] + o[None, :], mask=mask, other=9).to(tl.int32)
                d = tl.where(q == corner[:, None], d, 0.0)
                row = net * ((25 * C + 1) * O) + (tap * C + c) * O
                f = tl.load(w + row[None, :] + o[:, None], mask=(c < C)[None, :] & (o < O)[:, None], other=0.0)
                acc = tl.dot(d, f, acc, input_precision=PRECISION)
        to = (net * images * SIDE * SIDE + m)[:, None] * C + c[None, :]
        tl.store(dx + to, acc.to(dx.dtype.element_ty), mask=there[:, None] & (c < C)[None, :])

    @triton.jit
    def _weight_gradient_kernel(
        x, dy, which, out, images, groups, nets, nets_a_group, ROUNDS: tl.constexpr,
        SIDE: tl.constexpr, C: tl.constexpr, O: tl.constexpr, VEC: tl.constexpr, PRECISION: tl.constexpr,
        BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr,
    ):  # fmt: skip
        """A tile of patch entries by outputs, summed over a part of the pooled pixels; row 25 C is the bias."""
        P: tl.constexpr = (SIDE - 4) // 2
        K: tl.constexpr = 25 * C
        g, part = tl.program_id(1), tl.program_id(2)
        i = tl.program_id(0) * BK + tl.arange(0, BK)
        n = tl.arange(0, BN)
        wanted = n < nets_a_group * O
        net = (n // O) * groups + g
        offset = (i // (5 * C)) * (SIDE * C) + i % (5 * C)
        if VEC > 1:
            offset = tl.max_contiguous(tl.multiple_of(offset, VEC), VEC)
        acc = tl.zeros((BK, BN), tl.float32)
        for turn in range(4 * ROUNDS):
            q = turn % 4
            m = (part * ROUNDS + turn // 4) * BM + tl.arange(0, BM)
            there = m < images * P * P
            b, py, px = m // (P * P), (m // P) % P, m % P
            start = ((g * images + b) * SIDE + 2 * py + q // 2) * (SIDE * C) + (2 * px + q % 2) * C
            at = ((net * images)[None, :] * (P * P) + m[:, None]) * O + (n % O)[None, :]
            mask = there[:, None] & wanted[None, :]
            d = tl.load(dy + at, mask=mask, other=0.0)
            place = tl.load(which + at, mask=mask, other=9)
            a = tl.load(x + start[:, None] + offset[None, :], mask=there[:, None] & (i < K)[None, :], other=0.0)
            a = tl.where((i == K)[None, :], 1.0, a).to(x.dtype.element_ty)
            acc = tl.dot(tl.trans(a), tl.where(place == q, d, 0.0), acc, input_precision=PRECISION)
        to = ((part * nets + net)[None, :] * (K + 1) + i[:, None]) * O + (n % O)[None, :]
        tl.store(out + to, acc, mask=wanted[None, :] & (i <= K)[:, None])

    @triton.jit
    def _amsgrad_kernel(p, g, m, v, top, copy, step, size, rate, decay, COPY: tl.constexpr, BLOCK: tl.constexpr):
        """AMSGrad with decay added to the gradient, as torch.optim.Adam(amsgrad=True) has it; and a copy to compute with."""
        i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
        mask = i < size
        number = tl.load(step)
        first = 1 - tl.exp(number * -0.10536051565782628)  # log 0.9
        second = 1 - tl.exp(number * -0.0010005003335835344)  # log 0.999
        value = tl.load(p + i, mask=mask)
        gradient = tl.load(g + i, mask=mask).to(tl.float32) + decay * value
        mean = tl.load(m + i, mask=mask)
        mean += 0.1 * (gradient - mean)
        square = 0.999 * tl.load(v + i, mask=mask) + 0.001 * gradient * gradient
        largest = tl.maximum(tl.load(top + i, mask=mask), square)
        value -= rate / first * mean / (tl.sqrt(largest) / tl.sqrt(second) + 1e-8)
        tl.store(p + i, value, mask=mask)
        tl.store(m + i, mean, mask=mask)
        tl.store(v + i, square, mask=mask)
        tl.store(top + i, largest, mask=mask)
        if COPY:
            tl.store(copy + i, value.to(copy.dtype.element_ty), mask=mask)


def next_power(n: int, least: int = 16) -> int:
    return max(least, 1 << (n - 1).bit_length())


class Tile(NamedTuple):
    """Sizes of a kernel's tile, and how it is compiled."""

    bm: int
    bk: int
    warps: int
    stages: int
    parts: int = 1


DEFAULTS = {
    "conv1 forward": Tile(64, 16, 8, 2),
    "conv2 forward": Tile(64, 32, 4, 3),
    "conv2 input": Tile(128, 16, 4, 3),
    "conv1 weight": Tile(32, 128, 8, 2, 26),
    "conv2 weight": Tile(32, 128, 4, 2, 2),
}
CHOICES = {
    "conv1 forward": [Tile(64, 32, 8, 2), Tile(64, 16, 8, 3), Tile(128, 16, 8, 2), Tile(128, 32, 8, 3)],
    "conv2 forward": [
        Tile(128, 64, 8, 3), Tile(128, 64, 8, 2), Tile(64, 64, 4, 3), Tile(64, 64, 4, 2), Tile(128, 32, 8, 4),
        Tile(128, 128, 8, 2), Tile(128, 64, 4, 3), Tile(256, 64, 8, 3),
    ],
    "conv2 input": [
        Tile(128, 64, 4, 2), Tile(128, 64, 4, 3), Tile(128, 64, 8, 2), Tile(256, 64, 8, 2), Tile(256, 16, 8, 3),
        Tile(64, 64, 4, 3),
    ],
    "conv1 weight": [Tile(64, 128, 8, 2, 26), Tile(32, 128, 8, 3, 26), Tile(32, 128, 8, 2, 13), Tile(32, 128, 8, 3, 52)],
    "conv2 weight": [
        Tile(64, 128, 4, 2, 2), Tile(64, 128, 8, 2, 2), Tile(64, 128, 8, 3, 4), Tile(64, 64, 4, 3, 2),
        Tile(128, 128, 8, 2, 2), Tile(64, 256, 8, 2, 4),
    ],
}  # fmt: skip


@dataclass
class Kernels:
    """The convolutions of this file's kernels."""

    precision: str = "tf32"
    tiles: dict[str, Tile] = field(default_factory=lambda: dict(DEFAULTS))
    name: str = "triton"

    def which_one(self, x: Tensor) -> str:
        return "conv1" if x.shape[-1] < 8 else "conv2"

    def vector(self, c: int) -> int:
        return 2 if c % 2 == 0 else 1

    def forward(self, x: Tensor, matrix: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        g, b, s, _, c = x.shape
        k, _, o = matrix.shape
        p, tile = (s - 4) // 2, self.tiles[f"{self.which_one(x)} forward"]
        y = x.new_empty(k, b, p, p, o)
        which = torch.empty_like(y, dtype=torch.uint8)
        bn = min(128, next_power(k // g * o))
        grid = (triton.cdiv(b * p * p, tile.bm), g, triton.cdiv(k // g * o, bn))
        _forward_kernel[grid](
            x, matrix, y, which, b, g, k // g, s, c, o, self.vector(c), self.precision, tile.bm, bn, tile.bk,
            num_warps=tile.warps, num_stages=tile.stages,
        )  # fmt: skip
        return y, which, x

    def weight_gradient(self, saved: Tensor, x: Tensor, dy: Tensor, which: Tensor, out: Tensor) -> None:  # noqa: ARG002
        g, b, s, _, c = x.shape
        k, p, _, o = dy.shape[0], *dy.shape[2:]
        tile = self.tiles[f"{self.which_one(x)} weight"]
        rounds = triton.cdiv(b * p * p, tile.bm * tile.parts)
        parts = triton.cdiv(b * p * p, tile.bm * rounds)
        partial = torch.empty(parts, k, 25 * c + 1, o, device=x.device)
        grid = (triton.cdiv(25 * c + 1, tile.bk), g, parts)
        _weight_gradient_kernel[grid](
            x, dy, which, partial, b, g, k, k // g, rounds, s, c, o, self.vector(c), self.precision,
            tile.bm, next_power(k // g * o), tile.bk, num_warps=tile.warps, num_stages=tile.stages,
        )  # fmt: skip
        out.copy_(partial.sum(0))

    def input_gradient(self, dy: Tensor, which: Tensor, matrix: Tensor) -> Tensor:
        k, b, p, _, o = dy.shape
        c, s = (matrix.shape[1] - 1) // 25, 2 * p + 4
        tile = self.tiles["conv2 input"]
        dx = dy.new_empty(k, b, s, s, c)
        _input_gradient_kernel[(triton.cdiv(b * s * s, tile.bm), k)](
            dy, which, matrix, dx, b, s, c, o, self.precision, tile.bm, next_power(c), min(tile.bk, next_power(o)),
            num_warps=tile.warps, num_stages=tile.stages,
        )  # fmt: skip
        return dx


Convolutions = Im2col | Kernels


# ----------------------------------------------------------------------------------------- a step with gradients by hand


class Step:
    """Gradients of all networks into one flat tensor, then AMSGrad on it."""

    def __init__(
        self, shape: Shape, flat: Tensor, convolutions: Convolutions, dtype: torch.dtype, gradients: torch.dtype,
        risk: str, optimiser: str, streams: bool,
    ) -> None:  # fmt: skip
        self.shape, self.convolutions, self.risk = shape, convolutions, risk
        self.flat = flat
        self.copy = flat if dtype == flat.dtype else flat.to(dtype)
        self.gradient = torch.zeros_like(flat, dtype=gradients)
        self.parameters, self.gradients = views(self.copy, shape), views(self.gradient, shape)
        self.streams = [torch.cuda.Stream() for _ in range(shape.losses)] if streams else None
        self.step = torch.zeros((), device=flat.device)
        self.optimiser, self.direct = optimiser, flat.is_cuda
        if optimiser == "torch":
            self.flat.grad = self.gradient
            self.adam = torch.optim.Adam(
                [self.flat], lr=1e-4, weight_decay=1e-4, amsgrad=True, fused=True, capturable=flat.is_cuda
            )
        else:
            self.state = [torch.zeros_like(flat) for _ in range(3)]

    def features(self, images: Tensor) -> tuple[tuple[Tensor, Tensor, Tensor], tuple[Tensor, Tensor, Tensor]]:
        first = self.convolutions.forward(images, self.parameters.conv1)
        return first, self.convolutions.forward(first[0], self.parameters.conv2)

    def scores(self, h: Tensor, kept1: Tensor | None, kept2: Tensor | None) -> tuple[Tensor, Tensor, Tensor]:
        p, split = self.parameters, (self.shape.losses, self.shape.trials)
        a1 = torch.baddbmm(p.bias1, h, p.fc1).relu_()
        if kept1 is not None:
            a1.unflatten(0, split).mul_(kept1)
        a2 = torch.baddbmm(p.bias2, a1, p.fc2).relu_()
        if kept2 is not None:
            a2.unflatten(0, split).mul_(kept2)
        return (product(a2, p.fc3, torch.float32) + p.bias3).squeeze(2), a1, a2

    def fully_connected(self, h: Tensor, batch: Batch) -> Tensor:
        """Scores, and all gradients down to that by h."""
        p, g, shape = self.parameters, self.gradients, self.shape
        scores, a1, a2 = self.scores(h, batch.kept1, batch.kept2)
        u = by_scores(scores.view(shape.losses, shape.trials, -1), batch.positive, self.risk, self.streams)
        u = u.flatten(0, 1)[:, :, None]
        torch.sum(u, 1, keepdim=True, dtype=g.bias3.dtype, out=g.bias3)
        u = u.to(h.dtype)
        self.write(a2.mT, u, g.fc3)
        d2 = (u * p.fc3.mT).mul_(a2 > 0).mul_(2)
        self.write(a1.mT, d2, g.fc2)
        torch.sum(d2, 1, keepdim=True, dtype=g.bias2.dtype, out=g.bias2)
        d1 = torch.bmm(d2, p.fc2.mT).mul_(a1 > 0).mul_(2)
        self.write(h.mT, d1, g.fc1)
        torch.sum(d1, 1, keepdim=True, dtype=g.bias1.dtype, out=g.bias1)
        return torch.bmm(d1, p.fc1.mT)

    def write(self, a: Tensor, b: Tensor, out: Tensor) -> None:
        if a.dtype == out.dtype:
            torch.bmm(a, b, out=out)
        elif self.direct:
            try:
                torch.bmm(a, b, out_dtype=out.dtype, out=out)
            except (TypeError, RuntimeError) as error:
                self.direct = False
                say("no bmm from bfloat16 into float32:", error)
        if a.dtype != out.dtype and not self.direct:
            out.copy_(product(a, b, out.dtype))

    @torch.no_grad()
    def write_gradients(self, batch: Batch) -> None:
        conv, p, g = self.convolutions, self.parameters, self.gradients
        (h1, which1, saved1), (h2, which2, saved2) = self.features(batch.images)
        dh2 = self.fully_connected(h2.flatten(2), batch).view_as(h2)
        conv.weight_gradient(saved2, h1, dh2, which2, g.conv2)
        dh1 = conv.input_gradient(dh2, which2, p.conv2)
        conv.weight_gradient(saved1, batch.images, dh1, which1, g.conv1)

    @torch.no_grad()
    def optimise(self) -> None:
        if self.optimiser == "torch":
            self.adam.step()
            if self.copy is not self.flat:
                self.copy.copy_(self.flat)
            return
        self.step += 1
        block = 1024
        _amsgrad_kernel[(triton.cdiv(len(self.flat), block),)](
            self.flat, self.gradient, *self.state, self.copy, self.step, len(self.flat), 1e-4, 1e-4,
            self.copy is not self.flat, block, num_warps=4,
        )  # fmt: skip

    def __call__(self, batch: Batch) -> None:
        self.write_gradients(batch)
        self.optimise()


# -------------------------------------------------------------------------------------------------------------- measuring


def say(*words: object) -> None:
    print(f"[{time.perf_counter() - START:5.0f} s]", *words, flush=True)


def graph_of(function: Callable[[], object]) -> torch.cuda.CUDAGraph:
    side = torch.cuda.Stream()
    side.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(side):
        for _ in range(3):
            function()
    torch.cuda.current_stream().wait_stream(side)
    torch.cuda.synchronize()
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        function()
    return graph


def milliseconds(function: Callable[[], object], rounds: int = 20, graph: bool = True) -> float:
    """Median time of a call, of a CUDA graph unless not; on a CPU the time of one call."""
    if not torch.cuda.is_available():
        start = time.perf_counter()
        function()
        return 1e3 * (time.perf_counter() - start)
    call = graph_of(function).replay if graph else function
    for _ in range(3):
        call()
    times = []
    for _ in range(rounds):
        first, last = (torch.cuda.Event(enable_timing=True) for _ in range(2))
        first.record()
        call()
        last.record()
        times.append((first, last))
    torch.cuda.synchronize()
    return statistics.median(first.elapsed_time(last) for first, last in times)


def attempt(label: str, function: Callable[[], float | str]) -> float | None:
    """Print and return a time, or print why there is none; a method that fails stops no other."""
    try:
        found = function()
    except Exception as error:
        say(f"{label:<58} FAILED: {type(error).__name__}: {str(error)[:300]}")
        if torch.cuda.is_available():
            torch.cuda.empty_cache()
        return None
    say(f"{label:<58} {found if isinstance(found, str) else f'{found:9.3f} ms'}")
    return found if isinstance(found, float) else None


def reference_gradients(flat: Tensor, batch: Batch, shape: Shape, risk: str) -> Sections:
    """Autograd's, one network after another, without TF32; scores' gradients as everywhere here."""
    torch.backends.cuda.matmul.allow_tf32 = torch.backends.cudnn.allow_tf32 = False
    leaf = flat.clone().requires_grad_()
    p = views(leaf, shape)
    scores = [one_network(p, k, batch, shape) for k in range(shape.nets)]
    with torch.no_grad():
        u = by_scores(
            torch.stack([s.detach() for s in scores]).view(shape.losses, shape.trials, -1), batch.positive, risk
        ).flatten(0, 1)
    for s, row in zip(scores, u, strict=True):
        s.backward(row, retain_graph=True)
    torch.backends.cuda.matmul.allow_tf32 = torch.backends.cudnn.allow_tf32 = True
    return views(leaf.grad, shape)


def errors(found: Sections, expected: Sections) -> str:
    """The worst network's distance, relative to its gradient, for each part of the parameters."""
    parts = []
    for name, a, b in zip(found._fields, found, expected, strict=True):
        distance = (a.double() - b.double()).flatten(1).norm(dim=1) / b.double().flatten(1).norm(dim=1).clamp(min=1e-30)
        if name != "bias3":  # of the AUC it is zero
            parts.append(f"{name} {float(distance.max()):.1e}")
    return ", ".join(parts)


def check(shape: Shape, device: str) -> None:
    """How far the gradients of each method are from the reference."""
    say("gradients against autograd in float32, one network at a time: worst relative distance of a network")
    flat, batch = initial(shape, device), draw(shape, device, torch.float32)
    for risk in ("ber", "auc"):
        expected = reference_gradients(flat, batch, shape, risk)

        def of(
            convolutions: Convolutions,
            dtype: torch.dtype,
            gradients: torch.dtype,
            risk: str = risk,
            expected: Sections = expected,
        ) -> str:
            low = Batch(batch.images.to(dtype), batch.positive, batch.kept1.to(dtype), batch.kept2.to(dtype))
            exact = getattr(convolutions, "precision", "ieee") == "ieee" and dtype == torch.float32
            torch.backends.cuda.matmul.allow_tf32 = not exact
            step = Step(shape, flat.clone(), convolutions, dtype, gradients, risk, "torch", device == "cuda")
            step.write_gradients(low)
            torch.backends.cuda.matmul.allow_tf32 = True
            return errors(step.gradients, expected)

        f32, b16 = torch.float32, torch.bfloat16
        attempt(f"  {risk} im2col float32", lambda: of(Im2col(), f32, f32))
        if device == "cuda":
            attempt(f"  {risk} im2col bfloat16", lambda: of(Im2col(), b16, f32))
        if triton is not None:
            attempt(f"  {risk} triton float32", lambda: of(Kernels("ieee"), f32, f32))
            if device == "cuda":
                attempt(f"  {risk} triton tf32", lambda: of(Kernels("tf32"), f32, f32))
                attempt(f"  {risk} triton bfloat16", lambda: of(Kernels(), b16, f32))
                attempt(f"  {risk} triton bfloat16, gradients too", lambda: of(Kernels(), b16, b16))
        if device == "cuda":
            attempt(f"  {risk} grouped tf32 (autograd)", lambda: grouped_errors(flat, batch, shape, risk, expected))
    if triton is not None:
        attempt("  AMSGrad kernel against torch, 5 steps", lambda: amsgrad_error(device))


def grouped_errors(flat: Tensor, batch: Batch, shape: Shape, risk: str, expected: Sections) -> str:
    leaf = flat.clone().requires_grad_()
    scores = grouped_scores(views(leaf, shape), batch, shape)
    scores.backward(by_scores(scores.detach().view(shape.losses, shape.trials, -1), batch.positive, risk).flatten(0, 1))
    return errors(views(leaf.grad, shape), expected)


def amsgrad_error(device: str) -> str:
    shape = Shape(1, 1, 8, side=16, fc1=8, fc2=8)
    flats = [initial(shape, device) for _ in range(2)]
    flats[1].copy_(flats[0])
    steps = [
        Step(shape, flat, Im2col(), torch.float32, torch.float32, "ber", name, False)
        for flat, name in zip(flats, ("torch", "triton"), strict=True)
    ]
    for _ in range(5):
        gradient = torch.randn_like(flats[0])
        for step in steps:
            step.gradient.copy_(gradient)
            step.optimise()
    return f"{float((flats[0] - flats[1]).abs().max()):.1e} of steps of 1e-4"


def tune(shape: Shape, device: str, until: float) -> dict[str, Tile]:
    """The quickest tile of each kernel in bfloat16, of those that there is time to try."""
    best = dict(DEFAULTS)
    dtype = torch.bfloat16 if device == "cuda" else torch.float32
    flat, batch = initial(shape, device).to(dtype), draw(shape, device, dtype)
    p = views(flat, shape)
    kernels = Kernels()
    h1, which1, _ = kernels.forward(batch.images, p.conv1)
    h2, which2, _ = kernels.forward(h1, p.conv2)
    d1, d2 = torch.randn_like(h1), torch.randn_like(h2)
    out1, out2 = (torch.empty_like(part, dtype=torch.float32) for part in (p.conv1, p.conv2))
    calls = {
        "conv2 input": lambda k: k.input_gradient(d2, which2, p.conv2),
        "conv2 forward": lambda k: k.forward(h1, p.conv2),
        "conv2 weight": lambda k: k.weight_gradient(h1, h1, d2, which2, out2),
        "conv1 weight": lambda k: k.weight_gradient(batch.images, batch.images, d1, which1, out1),
        "conv1 forward": lambda k: k.forward(batch.images, p.conv1),
    }
    for name, call in calls.items():
        found: dict[Tile, float] = {}
        for tile in [DEFAULTS[name], *CHOICES[name]]:
            if time.perf_counter() - START > until and found:
                say(f"  {name}: no time left for the other tiles")
                break
            trial = Kernels(tiles={**DEFAULTS, name: tile})
            took = attempt(f"  {name} {tuple(tile)}", lambda: milliseconds(lambda: call(trial)))  # noqa: B023
            if took is not None:
                found[tile] = took
        if found:
            best[name] = min(found, key=found.__getitem__)
    return best


def parts(shape: Shape, device: str, convolutions: Convolutions, dtype: torch.dtype, label: str) -> None:
    """What each part of a step takes."""
    flat, batch = initial(shape, device), draw(shape, device, dtype)
    step = Step(shape, flat, convolutions, dtype, torch.float32, "auc", "torch", device == "cuda")
    p, g = step.parameters, step.gradients
    with torch.no_grad():
        (h1, which1, saved1), (h2, which2, saved2) = step.features(batch.images)
        d1, d2 = torch.randn_like(h1), torch.randn_like(h2)
        scores = torch.randn(shape.losses, shape.trials, shape.batch, device=device)
        pieces: dict[str, Callable[[], object]] = {
            "conv1 and pooling": lambda: convolutions.forward(batch.images, p.conv1),
            "conv2 and pooling": lambda: convolutions.forward(h1, p.conv2),
            "fully connected, forward, dropout off": lambda: step.scores(h2.flatten(2), None, None),
            "fully connected, forward and backward": lambda: step.fully_connected(h2.flatten(2), batch),
            "  of it objective: ber": lambda: by_scores(scores, batch.positive, "ber", step.streams),
            "  of it objective: auc": lambda: by_scores(scores, batch.positive, "auc", step.streams),
            "  objective auc without streams": lambda: by_scores(scores, batch.positive, "auc"),
            "conv2 weight gradient": lambda: convolutions.weight_gradient(saved2, h1, d2, which2, g.conv2),
            "conv2 input gradient": lambda: convolutions.input_gradient(d2, which2, p.conv2),
            "conv1 weight gradient": lambda: convolutions.weight_gradient(saved1, batch.images, d1, which1, g.conv1),
            "AMSGrad (torch fused) and the copy": step.optimise,
        }
        for name, call in pieces.items():
            attempt(f"  {label}: {name}", lambda: milliseconds(call))  # noqa: B023


def optimisers(shape: Shape, device: str) -> None:
    f32, b16 = torch.float32, torch.bfloat16
    for name, dtype, gradients in (("torch", f32, f32), ("torch", b16, f32), ("triton", f32, f32), ("triton", b16, f32),
                                   ("triton", b16, b16)):  # fmt: skip
        if name == "triton" and triton is None:
            continue

        def call(name: str = name, dtype: torch.dtype = dtype, gradients: torch.dtype = gradients) -> float:
            step = Step(shape, initial(shape, device), Im2col(), dtype, gradients, "ber", name, False)
            return milliseconds(step.optimise)

        attempt(f"  AMSGrad by {name}, compute in {dtype}, gradients {gradients}".replace("torch.", ""), call)


def grouped_step(shape: Shape, device: str, dtype: torch.dtype, graph: bool, channels_last: bool) -> float:
    flat, batch = initial(shape, device), draw(shape, device, dtype)
    flat.requires_grad_()
    adam = torch.optim.Adam([flat], lr=1e-4, weight_decay=1e-4, amsgrad=True, fused=True, capturable=True)

    def step() -> None:
        scores = grouped_scores(views(flat.to(dtype), shape), batch, shape, channels_last).float()
        u = by_scores(scores.detach().view(shape.losses, shape.trials, -1), batch.positive, "auc").flatten(0, 1)
        (flat.grad,) = torch.autograd.grad(scores, flat, u)
        adam.step()

    return milliseconds(step, 5, graph)


def single_step(shape: Shape, device: str, graph: bool) -> float:
    """One network as one would train it: nn.Module, autograd, fused AMSGrad, TF32."""
    model = Network(shape).to(device)
    adam = torch.optim.Adam(model.parameters(), lr=1e-4, weight_decay=1e-4, amsgrad=True, fused=True, capturable=graph)
    images = torch.randint(0, 256, (2000, shape.channels, shape.side, shape.side), dtype=torch.uint8, device=device)
    labels = (torch.arange(2000, device=device) % 2 * 2 - 1).float()
    rows = torch.randperm(2000, device=device)[: shape.batch]

    def step() -> None:
        z = model(images[rows].float() / 255) * labels[rows]
        adam.zero_grad(set_to_none=not graph)
        F.softplus(-z).mean().backward()
        adam.step()

    return milliseconds(step, 50, graph)


def whole_step(
    shape: Shape, device: str, convolutions: Convolutions, dtype: torch.dtype, gradients: torch.dtype, optimiser: str,
    risk: str = "auc", graph: bool = True,
) -> float:  # fmt: skip
    batch = draw(shape, device, dtype)
    step = Step(
        shape, initial(shape, device), convolutions, dtype, gradients, risk, optimiser, graph and device == "cuda"
    )
    return milliseconds(lambda: step(batch), 20, graph)


def profile(shape: Shape, device: str, convolutions: Convolutions, dtype: torch.dtype) -> str:
    """The kernels of a step, longest first."""
    from torch.profiler import ProfilerActivity
    from torch.profiler import profile as profiler

    batch = draw(shape, device, dtype)
    step = Step(shape, initial(shape, device), convolutions, dtype, dtype, "auc", "triton", False)
    step(batch)
    torch.cuda.synchronize()
    with profiler(activities=[ProfilerActivity.CUDA]) as found:
        for _ in range(3):
            step(batch)
        torch.cuda.synchronize()
    kernels = sorted(found.key_averages(), key=lambda kernel: -kernel.device_time_total)
    for kernel in kernels[:28]:
        print(f"    {kernel.device_time_total / 3:9.1f} us {kernel.count // 3:4d} x {kernel.key[:110]}", flush=True)
    return f"{sum(kernel.device_time_total for kernel in kernels) / 3000:.3f} ms in all"


def evaluation(shape: Shape, device: str, convolutions: Convolutions, dtype: torch.dtype) -> float:
    """Scores of 2,000 images (fewer if small) with dropout off and on, the features shared, and the AUC of each network."""
    size = 500 if shape.batch > 100 else shape.batch
    images = draw(Shape(**{**vars(shape), "batch": size}), device, dtype)
    step = Step(shape, initial(shape, device), convolutions, dtype, torch.float32, "auc", "torch", False)
    positive = (torch.arange(4 * size, device=device) % 2).bool()
    where = [positive.nonzero().squeeze(1), (~positive).nonzero().squeeze(1)]

    @torch.no_grad()
    def call() -> None:
        found = []
        for _ in range(4):
            h = step.features(images.images)[1][0].flatten(2)
            found.append([step.scores(h, None, None)[0], step.scores(h, images.kept1, images.kept2)[0]])
        for side in zip(*found, strict=True):
            scores = torch.cat(side, 1)
            pos, neg = (scores[:, rows].contiguous() for rows in where)
            ordered = neg.sort().values
            rank = torch.searchsorted(ordered, pos) + torch.searchsorted(ordered, pos, right=True)
            (rank.float().mean(1) / (2 * neg.shape[1])).add_(0)
            ((pos > 0).float().mean(1) + (neg < 0).float().mean(1)).mul_(0.5)

    return milliseconds(call, 10)


def machine(device: str) -> None:
    say("torch", torch.__version__, "triton", getattr(triton, "__version__", None), "python", sys.version.split()[0])
    say("compiler", shutil.which("gcc") or shutil.which("cc") or shutil.which("clang"), "CC =", os.environ.get("CC"))
    if device == "cuda":
        say(torch.cuda.get_device_name(), torch.cuda.mem_get_info())
        query = ["nvidia-smi", "--query-gpu=clocks.sm,clocks.max.sm,clocks.mem,power.draw,power.limit", "--format=csv"]
        say(subprocess.run(query, capture_output=True, text=True, check=False).stdout.replace("\n", "; "))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--networks", default="7x10", help="losses x trials")
    parser.add_argument("--batch", type=int, default=128)
    parser.add_argument("--seconds", type=float, default=200, help="after this, no more tiles and no slow variants")
    parser.add_argument("--small", action="store_true", help="tiny networks, to see that everything works")
    options = parser.parse_args()
    device = "cuda" if torch.cuda.is_available() else "cpu"
    torch.manual_seed(0)
    losses, trials = map(int, options.networks.split("x"))
    shape = Shape(losses, trials, options.batch)
    if options.small:
        shape = Shape(3, 2, 5, side=16, conv1=6, conv2=8, fc1=32, fc2=16)
    torch.backends.cuda.matmul.allow_tf32 = torch.backends.cudnn.allow_tf32 = True
    torch.backends.cudnn.benchmark = True
    machine(device)
    f32, b16 = torch.float32, torch.bfloat16 if device == "cuda" else torch.float32
    say(f"{shape.nets} networks, batch {shape.batch}; milliseconds of a CUDA graph")

    single = attempt("one network, nn.Module, tf32, no graph", lambda: single_step(shape, device, False))
    single_graph = attempt("one network, nn.Module, tf32, graph", lambda: single_step(shape, device, True))
    check(shape, device)

    tiles = dict(DEFAULTS)
    rows: list[tuple[str, float | None]] = []

    def whole(label: str, call: Callable[[], float]) -> None:
        rows.append((label, attempt(f"  {label}", call)))

    if triton is not None:
        say("whole steps before tuning")
        whole("triton bf16, untuned tiles, gradients bf16, AMSGrad kernel",
              lambda: whole_step(shape, device, Kernels(), b16, b16, "triton"))  # fmt: skip
        say("tiles of the kernels (pixels, depth, warps, stages, parts), bf16")
        found: dict[str, Tile] = {}
        attempt("  tuning", lambda: found.update(tune(shape, device, 0.55 * options.seconds)) or "done")
        tiles.update(found)
        say("best tiles:", {name: tuple(tile) for name, tile in tiles.items()})
        say("parts of a step")
        attempt("  parts", lambda: parts(shape, device, Kernels(tiles=tiles), b16, "triton bf16") or "done")
        if device == "cuda":
            attempt("  kernels", lambda: profile(shape, device, Kernels(tiles=tiles), b16))
    attempt("  parts", lambda: parts(shape, device, Im2col(), b16, "im2col bf16") or "done")
    optimisers(shape, device)

    say("whole steps: gradients and AMSGrad")
    if triton is not None:
        for risk in ("auc", "ber"):
            whole(f"triton bf16, gradients bf16, AMSGrad kernel, {risk}",
                  lambda: whole_step(shape, device, Kernels(tiles=tiles), b16, b16, "triton", risk))  # fmt: skip  # noqa: B023
        whole("triton bf16, gradients fp32, AMSGrad kernel",
              lambda: whole_step(shape, device, Kernels(tiles=tiles), b16, f32, "triton"))  # fmt: skip
        whole("triton bf16, gradients fp32, torch's AMSGrad",
              lambda: whole_step(shape, device, Kernels(tiles=tiles), b16, f32, "torch"))  # fmt: skip
        whole("triton bf16, without a graph",
              lambda: whole_step(shape, device, Kernels(tiles=tiles), b16, b16, "triton", graph=False))  # fmt: skip
        double = Shape(**{**vars(shape), "trials": 2 * shape.trials})
        whole("triton bf16, gradients bf16, twice the networks",
              lambda: whole_step(double, device, Kernels(tiles=tiles), b16, b16, "triton"))  # fmt: skip
        wide = Shape(**{**vars(shape), "batch": 2 * shape.batch, "channels": 1})
        whole("triton bf16, MNIST: one channel, twice the batch",
              lambda: whole_step(wide, device, Kernels(tiles=tiles), b16, b16, "triton"))  # fmt: skip
        whole("evaluation of 2,000 images, dropout off and on, triton bf16",
              lambda: evaluation(shape, device, Kernels(tiles=tiles), b16))  # fmt: skip
        whole("triton tf32, AMSGrad kernel",
              lambda: whole_step(shape, device, Kernels(), f32, f32, "triton"))  # fmt: skip
    whole("im2col bf16, torch's AMSGrad", lambda: whole_step(shape, device, Im2col(), b16, f32, "torch"))
    if device == "cuda":
        for label, dtype, graph, last in (
            ("grouped convolutions, autograd, tf32, no graph", f32, False, False),
            ("grouped convolutions, autograd, tf32, graph", f32, True, False),
            ("grouped convolutions, autograd, bf16, graph", b16, True, False),
            ("grouped convolutions, autograd, bf16 channels last, graph", b16, True, True),
        ):
            if time.perf_counter() - START < options.seconds + 20:
                whole(label, lambda: grouped_step(shape, device, dtype, graph, last))  # noqa: B023
    say("ms a step of all networks, and how many times one network at a time takes (no graph, graph)")
    for label, took in rows:
        if took:
            many = shape.nets * (2 if "twice the networks" in label else 1)
            ratios = [f"{many * one / took:6.1f}" if one else "     ?" for one in (single, single_graph)]
            print(f"  {label:<62} {took:8.3f} {' '.join(ratios)}", flush=True)


if __name__ == "__main__":
    main()
