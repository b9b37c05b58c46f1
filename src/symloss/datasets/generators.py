"""Breiman's generators, from which the files of twonorm and waveform were drawn."""

from __future__ import annotations

import numpy as np

from symloss.datasets.records import Table

WAVES = np.maximum(6 - np.abs(np.arange(1, 22) - np.array([[7], [11], [15]])), 0)  # triangles centered on 7, 11 and 15
MIXED = np.array([[0, 2], [0, 1], [1, 2]])  # the two waves of classes 0, 1 and 2, as the file numbers them
TWONORM_NAMES = tuple(f"A{index}" for index in range(1, 21))
WAVEFORM_NAMES = tuple(f"x{index}" for index in range(1, 22))


def twonorm(rows: int, generator: np.random.Generator) -> Table:
    """Draw normal points in 20 dimensions, with all means 2 / sqrt(20) for class 0 and -2 / sqrt(20) for class 1."""
    labels = generator.integers(2, size=rows)
    means = np.where(labels == 0, 2, -2) / np.sqrt(20)
    data = generator.standard_normal((rows, 20)) + means[:, None]
    return Table(data.astype(np.float32), labels, TWONORM_NAMES)


def waveform(rows: int, generator: np.random.Generator) -> Table:
    """Draw noisy mixtures u * wave + (1 - u) * other wave at 21 points; the class says which two of the three waves."""
    labels = generator.integers(3, size=rows)
    share = generator.random((rows, 1))
    first, second = WAVES[MIXED[labels, 0]], WAVES[MIXED[labels, 1]]
    data = share * first + (1 - share) * second + generator.standard_normal((rows, 21))
    return Table(data.astype(np.float32), labels, WAVEFORM_NAMES)
