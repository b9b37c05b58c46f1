"""Gather the scores, labels and weights of all ranks, for risks over points and pairs on different ranks."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

import torch
import torch.distributed as dist
from torch import Tensor
from torch.autograd.function import once_differentiable

from symloss.checking import concrete, eager
from symloss.risks.problem import Problem

if TYPE_CHECKING:
    from torch.distributed import ProcessGroup

    GroupLike: TypeAlias = ProcessGroup | Literal["world"]


@eager
def gather_problem(check: Callable[[], Problem], process_group: GroupLike) -> Problem:
    """Return the points of all ranks as one problem, in the order of the ranks, the same on every rank.

    Every rank must call it, even one without points. All ranks then compute the same function of all scores. The
    gradient with respect to a rank's scores is that of the *sum* of these results over the ranks: the gradient of one
    result times the number of ranks. It needs no communication. When ``DistributedDataParallel`` averages over ranks,
    it becomes the gradient of one result.

    Parameters
    ----------
    check : callable
        Returns this rank's problem, or raises an error, of which all ranks are told. Numbers of points may differ
        between ranks, leading dimensions may not. If only some ranks have weights, points of the others get weight 1.
    process_group : ProcessGroup or "world"
        The ranks; "world" is all of them.
    """
    group = _checked_group(process_group)
    try:
        problem = check()
        if dist.get_backend(group) == "nccl" and not problem.scores.is_cuda:
            raise ValueError(f"ranks that talk by NCCL need scores on a CUDA device, got {problem.scores.device}")
    except Exception as error:
        _tell(f"{type(error).__name__}: {error}", group)  # otherwise the other ranks would wait for this one forever
        raise
    scores, positive, weight, _ = problem
    headers = _tell((scores.shape[-1], tuple(scores.shape[:-1]), weight is not None), group)
    for rank, header in enumerate(headers):
        if isinstance(header, str):
            raise RuntimeError(f"rank {rank} of the process_group refused its batch: {header}")
    sizes, shapes, weighted = zip(*headers, strict=True)
    if len(set(shapes)) > 1:
        raise ValueError(f"scores must have the same leading dimensions on all ranks, got {list(shapes)}")
    # Float64 holds scores, labels and weights exactly, so that one collective is enough.
    parts = [scores.detach().double(), positive.double()]
    if any(weighted):
        parts.append(torch.ones_like(parts[0]) if weight is None else weight)
    padded = torch.nn.functional.pad(torch.stack(parts), (0, max(sizes) - scores.shape[-1]))
    received = [torch.empty_like(padded) for _ in sizes]
    dist.all_gather(received, padded, group)
    values, labels, *weights = torch.cat([part[..., :n] for part, n in zip(received, sizes, strict=True)], -1)
    start = sum(sizes[: dist.get_rank(group)])
    joined: Tensor = _Joined.apply(scores, values.to(scores.dtype), start, len(sizes))  # type: ignore[no-untyped-call]
    together = Problem(joined, labels.bool(), weights[0] if weights else None, None)
    return together._replace(complete=concrete(together.has_both().all()))


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


def _tell(header: Any, group: ProcessGroup) -> list[Any]:
    """Send this rank's header, and return the headers of all ranks."""
    headers: list[Any] = [None] * dist.get_world_size(group)
    dist.all_gather_object(headers, header, group)
    return headers
