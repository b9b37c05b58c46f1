"""Labels flipped at random: at one rate per class, or with a probability of its own for each point."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch

from symloss.checking import check_probability, is_positive
from symloss.corruption.draws import RandomState


def flip_labels(y: Any, rate_positive: float, rate_negative: float, random_state: RandomState = None) -> Any:
    """Flip each positive label with probability ``rate_positive`` and each negative one with ``rate_negative``.

    The labels keep their coding and dtype. They are returned as a tensor if they were one, else as an array.

    Examples
    --------
    >>> flip_labels([1, 1, 0, 0], rate_positive=1.0, rate_negative=0.0, random_state=0)
    array([0, 0, 0, 0])
    """
    check_probability("rate_positive", rate_positive)
    check_probability("rate_negative", rate_negative)
    positive = is_positive(y).cpu().numpy()
    rates = np.where(positive, rate_positive, rate_negative)
    flips = np.random.default_rng(random_state).random(positive.shape) < rates
    if isinstance(y, torch.Tensor):
        mask = torch.from_numpy(flips).to(y.device)
        return torch.where(mask, ~y if y.dtype == torch.bool else _other_label(y), y)
    labels = np.asarray(y)
    return np.where(flips, ~labels if labels.dtype == bool else _other_label(labels), labels).astype(labels.dtype)


def _other_label(labels: Any) -> Any:
    """Return -y for {-1, +1} and 1 - y for {0, 1}; if all labels are 1, the coding is unknown, and they flip to 0."""
    return -labels if bool((labels == -1).any()) else 1 - labels
