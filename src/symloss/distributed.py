"""Gather the scores, labels and weights of all ranks, for risks over points and pairs on different ranks."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal, TypeAlias

import torch
import torch.distributed as dist
from torch import Tensor
from torch.autograd.function import once_differentiable

from symloss.checking import Problem, both_classes, check_problem
from symloss.tracing import concrete, eager

if TYPE_CHECKING:
    from torch.distributed import ProcessGroup

    GroupLike: TypeAlias = ProcessGroup | Literal["world"]

_MOST_LEADING = 8
_REFUSED = -2  # in a rank's header, instead of its number of points


@eager  # collectives cannot be traced
def gather_problem(scores: Tensor, target: Any, weight: Tensor | None, process_group: GroupLike) -> Problem:
    """Return the scores, labels and weights of all ranks, in the order of the ranks, the same on every rank.

    Every rank must call it, even one without points. All ranks then compute the same function of all scores. The
    gradient with respect to a rank's scores is that of the *sum* of these results over the ranks: the gradient of one
    result times the number of ranks. It needs no communication. When ``DistributedDataParallel`` averages over ranks,
    it becomes the gradient of one result.

    Parameters
    ----------
    scores : Tensor of shape (..., n)
        This rank's scores; n may differ between ranks, the leading dimensions may not.
    target : Tensor of shape (n,) or (..., n)
        Their labels in {0, 1}, {-1, +1} or bool.
    weight : Tensor of shape (n,) or (..., n), optional
        Their weights. If only some ranks have weights, the points of the others get weight 1.
    process_group : ProcessGroup or "world"
        The ranks; "world" is all of them.

    Returns
    -------
    Problem
        Scores in this rank's precision, labels as bool, weights in float64 or None, and whether both classes are there.
    """
    group = _checked_group(process_group)
    try:
        if isinstance(scores, Tensor) and (scores.layout != torch.strided or scores.is_meta):
            raise ValueError(f"scores must be a dense tensor, got layout {scores.layout} on device {scores.device}")
        scores, positive, weight, _ = check_problem(scores, target, weight)
        n, leading = scores.shape[-1], scores.shape[:-1]
        if len(leading) > _MOST_LEADING:
            raise ValueError(f"scores may have {_MOST_LEADING} leading dimensions across ranks, got {len(leading)}")
        if dist.get_backend(group) == "nccl" and scores.device.type != "cuda":
            raise ValueError(f"ranks that talk by NCCL need scores on a CUDA device, got {scores.device}")
    except Exception:
        _tell([_REFUSED], scores, group)  # otherwise the other ranks would wait for this one forever
        raise
    headers = _tell([n, weight is not None, *leading], scores, group)
    sizes, weighted, *_ = (column.tolist() for column in torch.stack(headers, 1))
    if _REFUSED in sizes:
        raise RuntimeError(f"rank {sizes.index(_REFUSED)} of the process_group refused its batch; see its own error")
    shapes = [tuple(size for size in header[2:].tolist() if size >= 0) for header in headers]
    if len(set(shapes)) > 1:
        raise ValueError(f"scores must have the same leading dimensions on all ranks, got {shapes}")
    # Float64 holds scores, labels and weights exactly, so that one collective is enough.
    parts = [scores.detach().double(), positive.double()]
    if any(weighted):
        parts.append(torch.ones_like(parts[0]) if weight is None else weight)
    padded = torch.nn.functional.pad(torch.stack(parts), (0, max(sizes) - n))
    received = [part[..., :size] for part, size in zip(_all_gather(padded, group), sizes, strict=True)]
    values, labels, *weights = torch.cat(received, -1)
    positive, weight = labels.bool(), weights[0] if weights else None
    start = sum(sizes[: dist.get_rank(group)])
    joined: Tensor = _Joined.apply(scores, values.to(scores.dtype), start, len(sizes))  # type: ignore[no-untyped-call]
    return Problem(joined, positive, weight, concrete(both_classes(positive, weight)))


class _Joined(torch.autograd.Function):
    """The scores of all ranks as a function of this rank's scores, which begin at ``start``."""

    @staticmethod
    def forward(ctx: Any, scores: Tensor, values: Tensor, start: int, ranks: int) -> Tensor:
        ctx.place, ctx.ranks = slice(start, start + scores.shape[-1]), ranks
        return values

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor | None, ...]:
        return ctx.ranks * grad[..., ctx.place], None, None, None


def _checked_group(process_group: GroupLike) -> ProcessGroup:
    if isinstance(process_group, str) and process_group != "world":
        raise ValueError(f"process_group must be 'world', a ProcessGroup or None, got {process_group!r}")
    if not (dist.is_available() and dist.is_initialized()):
        raise RuntimeError(
            f"process_group={process_group!r} needs torch.distributed.init_process_group() before the first call"
        )
    group = dist.distributed_c10d._get_default_group() if process_group == "world" else process_group
    if dist.get_rank(group) < 0:
        raise RuntimeError(f"rank {dist.get_rank()} is not in the process_group that it was given")
    return group


def _tell(header: list[int], scores: Any, group: ProcessGroup) -> list[Tensor]:
    """Send this rank's header, and return the headers of all ranks, filled up with -1 to the same length."""
    of_backend = {"nccl": "cuda", "gloo": "cpu"}
    device = of_backend.get(dist.get_backend(group), getattr(scores, "device", None))
    padded = header + [-1] * (2 + _MOST_LEADING - len(header))
    return _all_gather(torch.tensor(padded, device=device), group)


def _all_gather(tensor: Tensor, group: ProcessGroup) -> list[Tensor]:
    parts = [torch.empty_like(tensor) for _ in range(dist.get_world_size(group))]
    dist.all_gather(parts, tensor.contiguous(), group)
    return parts
