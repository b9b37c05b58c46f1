"""Sums over ranges of a sorted class without any difference of two sums: light scores keep their digits.

A range [start, stop) is cut at the one place in it that is divisible by the largest power of two. Running sums from
there, to the left and to the right, give the sum of the range. There is one such pair of running sums for each power.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice
from typing import NamedTuple

import torch
from torch import Tensor


class Ranges(NamedTuple):
    """The scores and shares of a class in increasing order, (2^k,) in float64; what fills them up has share 0."""

    scores: Tensor
    shares: Tensor

    @classmethod
    def of(cls, scores: Tensor, shares: Tensor) -> Ranges:
        """Return the class for scores (m,) and their shares."""
        rest = (1 << max(1, (len(scores) - 1).bit_length())) - len(scores)
        return cls(torch.cat([scores, scores[-1:].expand(rest)]), torch.cat([shares, shares.new_zeros(rest)]))

    def shares_of(self, start: Tensor, stop: Tensor) -> Tensor:
        """Return the share (q,) of each range of places."""
        return self.moments(start, stop, 1)[0]

    def moments(self, start: Tensor, stop: Tensor, count: int = 3) -> list[Tensor]:
        """Return the first moments (q,) of ranges of places: sums of share, share * distance, share * distance^2.

        Distances are those from the first score of each range.

        Examples
        --------
        >>> some = Ranges.of(torch.tensor([0.0, 1.0, 3.0]), torch.ones(3))
        >>> some.moments(torch.tensor([0, 1]), torch.tensor([3, 3]))
        [tensor([3., 2.]), tensor([4., 2.]), tensor([10.,  4.])]
        """
        last = (stop - 1).clamp(min=0)
        share = torch.where(stop > start, self.shares[start.clamp(max=len(self.shares) - 1)], 0.0)  # of one score
        found = [share, *(torch.zeros_like(share) for _ in range(1, count))]
        level = torch.where(stop - start > 1, torch.frexp((start ^ last).double()).exponent - 1, -1)
        for bit in range(len(self.shares).bit_length() - 1):
            here = (level == bit).nonzero()[:, 0]
            if len(here):
                for target, part in zip(found, self._cut(start[here], last[here], bit, count), strict=True):
                    target[here] = part
        return found

    def _cut(self, start: Tensor, last: Tensor, bit: int, count: int) -> list[Tensor]:
        """Return the moments of ranges whose first and last place differ in this bit, and in no higher one."""
        blocks, block = (last >> (bit + 1)).unique(return_inverse=True)  # type: ignore[no-untyped-call]
        (t_left, t_right), (v_left, v_right) = (
            part.view(-1, 2, 1 << bit)[blocks].unbind(1) for part in (self.scores, self.shares)
        )
        left, right = ((block, places & ((1 << bit) - 1)) for places in (start, last))
        before = [part[left] for part in islice(_to_the_end(t_left, v_left), count)]
        away = t_right - t_right[:, :1] if count > 1 else t_right
        after = [(v_right * away**power).cumsum(1)[right] for power in range(count)]
        step = t_right[block, 0] - self.scores[start]
        moved = [after[0]]
        if count > 1:
            moved.append(after[1] + step * after[0])
        if count > 2:
            moved.append(after[2] + step * (2 * after[1] + step * after[0]))
        return [x + y for x, y in zip(before, moved, strict=True)]


def _to_the_end(t: Tensor, v: Tensor) -> Iterator[Tensor]:
    """Yield the moments from each place of a row (b, l) on, by distances from that place."""
    share = _from_end(v)
    yield share
    gaps, after = torch.zeros_like(t), share.roll(-1, 1)
    gaps[:, :-1] = t.diff(dim=1)  # the last one is 0, whatever comes after it
    first = _from_end(gaps * after)
    yield first
    yield _from_end(gaps * (2 * first.roll(-1, 1) + gaps * after))


def _from_end(x: Tensor) -> Tensor:
    return x.flip(1).cumsum(1).flip(1)
