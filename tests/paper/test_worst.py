"""The cells that differ most from the paper's, against simulated trials."""

from pathlib import Path

import numpy as np
import pytest
from scipy.special import ndtri

import symloss as sl
from symloss.paper.compare import Cell, compare
from symloss.paper.protocol import NOISES
from symloss.paper.published import TRIALS
from symloss.paper.worst import LIMITS, chance, worst_cells

BENCHMARKS = Path(sl.__file__).parents[2] / "benchmarks"


def simulated(family, number):
    """Cells whose trials, ours and the paper's, come from one normal distribution."""
    trials = TRIALS[family]
    scores = 80 + 4 * np.random.default_rng(0).normal(size=(2, number, trials))
    means, errors = scores.mean(2), scores.std(2, ddof=1) / trials**0.5
    return [
        Cell(family, "", "auc", 1, 0, "hinge", ours, our_error, trials, True, round(papers, 1), round(papers_error, 1))
        for ours, papers, our_error, papers_error in zip(*means, *errors, strict=True)
    ]


@pytest.mark.parametrize("family", ["uci", "cifar10"])
def test_chance_gives_as_many_large_z_as_expected(family):
    cells = simulated(family, 8000)
    found = chance(cells)
    for count, expected in zip(found.found[:2], found.expected[:2], strict=True):
        assert abs(count - expected) < 4 * expected**0.5 + 0.05 * expected  # Welch's formula is itself approximate
    assert found.found[1] > 1.3 * chance(cells, normal=True).expected[1]


def test_the_largest_of_many_normal_deviates():
    found = chance(simulated("uci", 1008), normal=True)
    assert found.median_largest == pytest.approx(-ndtri((1 - 0.5 ** (1 / 1008)) / 2))
    assert found.cells == 1008


def test_the_worst_come_first_and_cells_that_the_paper_lacks_do_not_count(made_up):
    cells = compare(made_up("uci", "mnist"))
    own = Cell("own", "x", "auc", 1, 0, "hinge", 10.0, 0.1, 20, True)
    worst = worst_cells([own, *cells], 30)
    sizes = [abs(cell.z) for cell in worst]
    assert sizes == sorted((abs(cell.z) for cell in cells), reverse=True)[:30]
    assert chance([own]) is None
    assert chance([own, *cells]).found == tuple(sum(abs(cell.z) > limit for cell in cells) for limit in LIMITS)


@pytest.mark.skipif(not BENCHMARKS.is_dir(), reason="the benchmarks are not installed")
@pytest.mark.parametrize(("pi", "pi_prime"), NOISES)
def test_the_sample_of_the_authors_script(monkeypatch, pi, pi_prime):
    monkeypatch.syspath_prepend(str(BENCHMARKS))
    from cifar10_file_order import in_file_order

    clean = np.repeat([1, -1], 5000)
    rows, y = in_file_order(clean, pi, pi_prime, 4540)
    assert len(set(rows)) == len(rows) == 9080
    assert (clean[rows[y > 0]] > 0).sum() == round(4540 * pi)
    assert (clean[rows[y < 0]] > 0).sum() == round(4540 * pi_prime)
    for label in (1, -1):  # in the order of the files, the corrupted positives first
        of = clean[rows] == label
        assert (np.diff(rows[of]) >= 1).all()
        assert (np.diff(y[of]) <= 0).all()
