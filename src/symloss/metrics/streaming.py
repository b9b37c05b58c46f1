"""The AUC of several problems at once, and of scores that arrive in batches."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from symloss.checking import as_real, as_tensor, is_larger
from symloss.functional import auc_risk

if TYPE_CHECKING:
    from symloss.risks.distributed import GroupLike


class AUC:
    """The AUC of all scores so far, for a validation loop: exact, and not a mean over batches.

    Parameters
    ----------
    num_labels, ignore_index, average, process_group
        As in ``AUCLoss``: (N, L) scores, missing labels, the mean over columns or each column, scores of all ranks.

    Examples
    --------
    >>> metric = AUC()
    >>> metric.update([0.1, 0.4], [0, 0])
    >>> metric.update([0.4, 0.8], [1, 1])
    >>> metric.compute()
    0.875
    """

    def __init__(
        self,
        *,
        num_labels: int | None = None,
        ignore_index: float | None = None,
        average: str = "macro",
        process_group: GroupLike | None = None,
    ) -> None:
        self._options: dict[str, Any] = {
            "num_labels": num_labels,
            "ignore_index": ignore_index,
            "average": average,
            "process_group": process_group,
        }
        self.reset()

    def reset(self) -> None:
        """Forget all scores."""
        self._batches: list[tuple[Tensor, Tensor, Tensor]] = []

    def update(self, scores: Any, target: Any, weight: Any = None) -> None:
        """Add a batch of scores (n,), (n, 1) or (n, L), with labels and weights as for ``AUCLoss``."""
        scores = as_real(scores, "scores").detach()
        weight = torch.ones(len(scores)) if weight is None else as_real(weight, "weight")
        if scores.ndim > 1 and weight.ndim == 1:
            weight = weight[:, None].expand(scores.shape)
        self._batches.append((scores, as_tensor(target, "target"), weight.to(scores.device)))

    def compute(self) -> Any:
        """Return the AUC, or an array with that of each column for ``average="none"``; NaN where a class is missing."""
        if not self._batches:
            raise ValueError("compute needs scores: call update first")
        scores, target, weight = (torch.cat(parts) for parts in zip(*self._batches, strict=True))
        found = _auc(scores, target, weight, **self._options)
        return found if found.ndim else float(found)


def auc_of_problems(scores: Any, target: Any, weight: Any) -> NDArray[np.float64]:
    """Return the AUC of each problem (..., n), NaN where a class is missing."""
    return _auc(as_real(scores, "scores"), is_larger(target), weight)


def _auc(scores: Tensor, target: Any, weight: Any, **options: Any) -> NDArray[np.float64]:
    # Only the order counts: infinite scores become the largest number, and tie with each other.
    largest = torch.finfo(torch.float64).max
    scores = scores.detach().double().clamp(-largest, largest)
    found: NDArray[np.float64] = (
        (1 - auc_risk(scores, target, "zero_one", weight, empty="nan", **options)).cpu().numpy()
    )
    return found
