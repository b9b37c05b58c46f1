from dataclasses import replace
from itertools import groupby

import numpy as np
import pytest
from scipy import stats

from symloss.paper import protocol
from symloss.paper.boldface import boldface
from symloss.paper.published import published_cells

# How many trials the paper's numbers are of.
TRIALS = {"uci": protocol.TRIALS, "mnist": protocol.IMAGE_TRIALS, "cifar10": protocol.IMAGE_TRIALS}
HALF = 0.05  # a printed number stands for all within this


def published_rows():
    key = lambda cell: (cell.family, cell.dataset, cell.risk, cell.pi)  # noqa: E731
    return [list(row) for _, row in groupby(published_cells(), key)]


def is_bold(row, index, sign):
    """Boldface of one loss when rounding has hidden as much as it can in its favor (+1), or against it (-1)."""
    moved = [
        replace(cell, mean=cell.mean + sign * (HALF if place == index else -HALF), se=max(cell.se + sign * HALF, 1e-6))
        for place, cell in enumerate(row)
    ]
    return boldface([cell.mean for cell in moved], [cell.se for cell in moved], TRIALS[row[0].family])[index]


def test_published_boldface_wherever_rounding_leaves_no_choice():
    decided = 0
    for row in published_rows():
        for index, cell in enumerate(row):
            possible = {is_bold(row, index, sign) for sign in (1, -1)}
            assert cell.bold in possible, cell
            decided += len(possible) == 1
    assert decided > 850


def test_published_boldface_from_the_printed_numbers():
    agree = 0
    for row in published_rows():
        bold = boldface([cell.mean for cell in row], [cell.se for cell in row], TRIALS[row[0].family])
        agree += sum(ours == cell.bold for ours, cell in zip(bold, row, strict=True))
    assert agree >= 1040


def test_equals_scipys_test_on_scores():
    rng = np.random.default_rng(0)
    for _ in range(50):
        scores = rng.normal(
            loc=rng.normal(scale=0.5, size=(5, 1)), scale=rng.uniform(0.5, 2, size=(5, 1)), size=(5, 12)
        )
        best = scores[scores.mean(1).argmax()]
        p = stats.ttest_ind(best, scores, axis=1, equal_var=False, alternative="greater").pvalue
        se = scores.std(1, ddof=1) / 12**0.5
        assert boldface(scores.mean(1).tolist(), se.tolist(), 12) == (p >= 0.05).tolist()


@pytest.mark.parametrize(
    ("means", "errors", "expected"),
    [
        ([50.0, 50.0, 49.9], [0.0, 0.0, 0.0], [True, True, False]),  # nothing varies: equal or separate
        ([50.0, 50.1], [0.0, 3.0], [True, True]),
        ([50.0, 50.1], [None, None], [False, True]),  # a single trial
        ([70.0], [1.0], [True]),
    ],
)
def test_corners(means, errors, expected):
    assert boldface(means, errors, 10) == expected
