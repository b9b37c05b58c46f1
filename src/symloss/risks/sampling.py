"""Batches that hold both classes, for ``DataLoader(batch_sampler=...)``."""

from __future__ import annotations

from collections.abc import Iterator
from numbers import Integral, Real
from typing import Any

import numpy as np
import torch.distributed as dist
from numpy.typing import NDArray
from torch.utils.data import Sampler

from symloss.checking import is_positive

Rows = NDArray[np.intp]


class StratifiedBatchSampler(Sampler[list[int]]):
    """Shuffled batches of indices with both classes in each; all ranks agree on them and take them in turn.

    By default an epoch holds every example once, in as few batches of at most ``batch_size`` examples as possible. The
    sizes of batches differ by at most one, and each class is spread evenly over the batches. Only a class with fewer
    examples than there are batches is repeated, so that every batch has one; ``min_positives`` asks for more than one
    positive. With ``positive_share``, all batches have exactly this share of positives (or ``min_positives`` of them,
    if that is more), and the epoch ends when all examples of both classes have been seen; the class that runs out first
    is repeated. How often two examples of a class are seen in an epoch differs by at most one.

    All ranks get the same number of batches. If no class is repeated, no two ranks see the same example.

    Parameters
    ----------
    labels : array-like of n labels
        In {0, 1}, {-1, +1} or bool.
    batch_size : int
        The largest number of examples in a batch of one rank; at least 2.
    positive_share : float, optional
        The share of positives in a batch, rounded to whole examples, with at least one of each class; by default the
        share in the data.
    min_positives : int
        The least number of positives in a batch. With few positives, one per batch makes noisy pairs: the gradient of
        an AUC risk then hangs on a single example.
    random_state : int
        The seed, which all ranks must share.
    num_replicas, rank : int, optional
        The number of ranks, and the number of this rank; by default those of ``torch.distributed`` if it is
        initialized, else one rank.

    Attributes
    ----------
    epoch : int
        The epoch that the next iteration draws. A complete iteration moves on to the next one; ``set_epoch`` sets it.

    Notes
    -----
    ``state_dict`` says which batch comes next. A ``DataLoader`` with workers fetches indices ahead of what it has
    handed out: there, set ``position`` of the state to the number of batches that you have trained on.

    Examples
    --------
    >>> labels = [1, 0, 0, 0, 0, 0, 1, 0, 0]
    >>> sampler = StratifiedBatchSampler(labels, batch_size=5)
    >>> [sorted(batch) for batch in sampler]
    [[0, 3, 4, 5], [1, 2, 6, 7, 8]]
    >>> sampler.state_dict()
    {'epoch': 1, 'position': 0, 'batches': 2, 'random_state': 0}
    """

    drop_last = False  # frameworks ask for it; there is no incomplete last batch

    def __init__(
        self,
        labels: Any,
        batch_size: int,
        *,
        positive_share: float | None = None,
        min_positives: int = 1,
        random_state: int = 0,
        num_replicas: int | None = None,
        rank: int | None = None,
    ) -> None:
        positive = is_positive(labels).cpu().numpy()
        if positive.ndim != 1:
            raise ValueError(f"labels must have shape (n,), got {positive.shape}")
        self._classes = np.flatnonzero(positive), np.flatnonzero(~positive)
        if not all(map(len, self._classes)):
            got = f"{len(self._classes[0])} positive and {len(self._classes[1])} negative labels"
            raise ValueError(f"labels must hold both classes, got {got}")
        self.batch_size = _whole("batch_size", batch_size, 2)
        self.min_positives = _whole("min_positives", min_positives, 1)
        if self.min_positives >= self.batch_size:
            raise ValueError(f"min_positives must be below batch_size = {batch_size}, got {min_positives}")
        if self.min_positives > (most := len(self._classes[0])):
            raise ValueError(f"min_positives must be at most {most}, the number of positives, got {min_positives}")
        self.random_state = _whole("random_state", random_state, 0)
        distributed = dist.is_available() and dist.is_initialized()
        if (num_replicas is None) != (rank is None):
            raise ValueError(f"give both num_replicas and rank or neither, got {num_replicas!r} and {rank!r}")
        if num_replicas is None or rank is None:
            num_replicas, rank = (dist.get_world_size(), dist.get_rank()) if distributed else (1, 0)
        self.num_replicas, self.rank = _whole("num_replicas", num_replicas, 1), _whole("rank", rank, 0)
        if rank >= num_replicas:
            raise ValueError(f"rank must be below num_replicas, got rank {rank} of {num_replicas}")
        self._places = self._plan(positive_share)
        self.epoch = self._position = self._start = 0

    @property
    def sampler(self) -> StratifiedBatchSampler:
        """Itself: Lightning and Accelerate look here for ``set_epoch``."""
        return self

    def __len__(self) -> int:
        """The number of batches of a whole epoch, on each rank."""
        return self._batches // self.num_replicas

    def __iter__(self) -> Iterator[list[int]]:
        """Yield the batches of this rank; the first iteration after ``load_state_dict`` starts at the loaded state."""
        epoch, start, self._start = self.epoch, self._start, 0
        generator = np.random.default_rng([self.random_state, epoch])
        rows = [generator.permutation(of_class) for of_class in self._classes]
        order = generator.permutation(self._batches)[self.rank :: self.num_replicas]
        for position in range(start, len(order)):
            # Set before the batch is handed out, so that a state saved after the last batch is that of the next epoch.
            last = position + 1 == len(order)
            self.epoch, self._position = (epoch + 1, 0) if last else (epoch, position + 1)
            yield self._batch(rows, epoch, int(order[position]))

    def set_epoch(self, epoch: int) -> None:
        """Draw this epoch next, from its beginning; if the sampler is in this epoch already, nothing changes."""
        if _whole("epoch", epoch, 0) != self.epoch:
            self.epoch, self._position, self._start = epoch, 0, 0

    def state_dict(self) -> dict[str, int]:
        """Return the epoch, how many of its batches have been handed out, how many it has, and the seed."""
        counts = {"epoch": self.epoch, "position": self._position, "batches": len(self)}
        return {**counts, "random_state": self.random_state}

    def load_state_dict(self, state: dict[str, int]) -> None:
        """Continue where the sampler was that returned this ``state_dict``; it must have had the same parameters."""
        for key, own in (("random_state", self.random_state), ("batches", len(self))):
            if state[key] != own:
                raise ValueError(f"the state has {key}={state[key]!r}, this sampler has {own}")
        done, position = divmod(_whole("position", state["position"], 0), len(self))
        self.epoch, self._position, self._start = _whole("epoch", state["epoch"], 0) + done, position, position

    def _plan(self, positive_share: Any) -> tuple[int, int]:
        """Set the number of batches of all ranks together, and return how many places each class has in them."""
        n_pos, n_neg = map(len, self._classes)
        size, least, ranks = self.batch_size, self.min_positives, self.num_replicas
        if positive_share is None:
            fewest = max(-(-(n_pos + n_neg) // size), -(-n_pos // (size - 1)), -(-n_neg // (size - least)))
            self._batches = ranks * -(-fewest // ranks)
            return max(n_pos, least * self._batches), max(n_neg, self._batches)
        if not (isinstance(positive_share, Real) and 0 < float(positive_share) < 1):
            raise ValueError(f"positive_share must be a number between 0 and 1, got {positive_share!r}")
        positives = min(max(round(float(positive_share) * size), least), size - 1)
        fewest = max(-(-n_pos // positives), -(-n_neg // (size - positives)))
        self._batches = ranks * -(-fewest // ranks)
        return positives * self._batches, (size - positives) * self._batches

    def _batch(self, rows: list[Rows], epoch: int, k: int) -> list[int]:
        """Return batch k of the epoch, with its part of each class; a class that runs out starts again."""
        parts = []
        for of_class, places, mirrored in zip(rows, self._places, (False, True), strict=True):
            # Extra positives go into the first batches, extra negatives into the last ones, so that sizes stay even.
            share, extra = divmod(places, self._batches)
            before = max(k - (self._batches - extra), 0) if mirrored else min(k, extra)
            more = k >= self._batches - extra if mirrored else k < extra
            start = k * share + before
            parts.append(of_class[np.arange(start, start + share + more) % len(of_class)])
        generator = np.random.default_rng([self.random_state, epoch, k])
        batch: list[int] = generator.permutation(np.concatenate(parts)).tolist()
        return batch


def _whole(name: str, value: Any, least: int) -> int:
    if not isinstance(value, Integral) or value < least:
        raise ValueError(f"{name} must be a whole number of at least {least}, got {value!r}")
    return int(value)
