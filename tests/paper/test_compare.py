import csv
import math
from dataclasses import replace

import numpy as np
import pytest

from symloss.paper.compare import Cell, compare, comparison_csv, rows_of, summarize, summary_json
from symloss.paper.published import LOSSES, published_cells
from symloss.paper.results import Result

COLUMNS = ["family", "dataset", "objective", "pi", "pi_prime", "loss", "mean", "se", "trials", "bold",
           "paper_mean", "paper_se", "paper_bold", "difference", "z"]  # fmt: skip


def result(scores, **changes):
    fields = {"family": "uci", "dataset": "twonorm", "pi": 0.65, "pi_prime": 0.45, "trials": 2} | changes
    return Result(scores=scores, **fields)


def test_mean_standard_error_difference_and_z():
    (cell,) = compare([result({"auc": {"sigmoid": [97.0, 98.0, 99.6, 97.4]}}, trials=4)])
    scores = np.array([97.0, 98.0, 99.6, 97.4])
    assert cell.mean == pytest.approx(scores.mean())
    assert cell.se == pytest.approx(scores.std(ddof=1) / 2)
    assert (cell.paper_mean, cell.paper_se, cell.paper_bold) == (98.0, 0.2, False)
    assert cell.difference == pytest.approx(scores.mean() - 98.0)
    assert cell.z == pytest.approx(cell.difference / math.sqrt(cell.se**2 + 0.2**2 + 0.1**2 / 6))


@pytest.mark.parametrize(("low", "high"), [(0.0, 0.05), (0.25, 0.35)])
def test_z_counts_rounding(low, high):
    """Over all standard errors that are printed alike, 0.0 among them, z has variance 1."""
    rng = np.random.default_rng(0)
    errors = rng.uniform(low, high, 20_000)
    truth = rng.uniform(75, 85, 20_000)
    papers = truth + errors * rng.normal(size=20_000)
    ours = truth + 0.03 * rng.normal(size=20_000)
    z = [
        Cell("", "", "", 1, 0, "", mean, 0.03, 20, True, round(paper, 1), round(error, 1)).z
        for mean, paper, error in zip(ours, papers, errors, strict=True)
    ]
    assert np.mean(np.square(z)) == pytest.approx(1, abs=0.03)


def test_the_papers_own_numbers_agree_fully():
    cells = [
        Cell(c.family, c.dataset, c.risk, c.pi, c.pi_prime, c.loss, c.mean, c.se, 20, c.bold, c.mean, c.se, c.bold)
        for c in published_cells()
    ]
    summary = summarize(cells)
    assert (summary.cells, summary.compared, summary.rms_difference) == (1064, 1064, 0)
    assert summary.share_z_below_1 == summary.share_z_below_3 == 1
    assert (summary.best_loss_of, summary.best_loss_agree) == (152, 152)
    assert summary.boldface_of == 1064
    assert summary.boldface_agree > 1040  # what their rounding hides


def test_summary_of_results_that_differ_by_chance(made_up):
    cells = compare(made_up("uci", shift=1.0))
    summary = summarize(cells)
    differences = [cell.mean - cell.paper_mean for cell in cells]
    assert summary.rms_difference == pytest.approx(np.sqrt(np.mean(np.square(differences))))
    assert summary.mean_difference == pytest.approx(np.mean(differences))
    assert summary.share_within_1_5 == np.mean(np.abs(differences) <= 1.5)
    assert summary.share_within_3 == np.mean(np.abs(differences) <= 3)
    assert summary.share_z_below_1 == np.mean([abs(cell.z) < 1 for cell in cells])
    # Moved by one standard error, where z counts ours and the paper's: |z| < 1 where a normal number is below sqrt(2).
    assert summary.share_z_below_1 == pytest.approx(0.84, abs=0.04)
    assert summary.share_z_below_2 > 0.98
    assert summary.boldface_agree == sum(cell.bold == cell.paper_bold for cell in cells)
    best = [max(row, key=lambda cell: cell.mean) for row in rows_of(cells)]
    assert (summary.best_loss_of, summary.best_loss_agree) == (72, sum(cell.paper_bold for cell in best))


def test_a_bias_shows(made_up):
    cells = [replace(cell, mean=cell.mean + 3) for cell in compare(made_up("uci", shift=0))]
    summary = summarize(cells)
    assert summary.mean_difference == pytest.approx(3, abs=0.05)
    assert summary.rms_difference == pytest.approx(3, abs=0.05)
    assert summary.share_z_below_3 < 0.2


def test_a_loss_of_the_users_own_changes_no_agreement(made_up):
    results = made_up("uci", datasets=["spambase"])
    more = [
        replace(cell, scores={name: {**losses, "mine:Loss": [99.9] * 20} for name, losses in cell.scores.items()})
        for cell in results
    ]
    plain, extended = compare(results), compare(more)
    assert len(extended) == len(plain) + 8
    own = [cell for cell in extended if cell.loss == "mine:Loss"]
    assert all(cell.bold and cell.paper_mean is None and cell.difference is None and cell.z is None for cell in own)
    assert not any(cell.bold for cell in extended if cell.loss != "mine:Loss")
    assert replace(summarize(extended), cells=56) == summarize(plain)


def test_rows_that_lack_a_loss_of_the_papers_have_no_agreement():
    summary = summarize(compare([result({"auc": {"sigmoid": [97.0, 98.0], "hinge": [80.0, 81.0]}})]))
    assert (summary.compared, summary.boldface_of, summary.best_loss_of) == (2, 0, 0)
    assert summary.to_dict()["boldface_agreement"] is None


def test_a_data_set_that_the_paper_lacks():
    cells = compare([result({"ber": {"hinge": [70, 71]}}, dataset="mine", family="own")])
    summary = summarize(cells)
    assert (summary.cells, summary.compared, summary.rms_difference, summary.share_z_below_1) == (1, 0, None, None)
    assert comparison_csv(cells).splitlines()[1] == "own,mine,ber,0.65,0.45,hinge,70.5,0.5,2,1,,,,,"


def test_a_single_trial_has_a_mean_and_no_z():
    cells = compare([result({"auc": {"sigmoid": [97.0], "hinge": [96.9]}}, trials=1)])
    assert [(cell.se, cell.z, cell.bold) for cell in cells] == [(None, None, True), (None, None, False)]
    assert cells[0].difference == pytest.approx(-1)
    assert summarize(cells).share_z_below_1 is None


def test_order_is_the_papers(made_up):
    results = made_up("cifar10", "mnist", "uci")
    rng = np.random.default_rng(0)
    cells = compare([results[index] for index in rng.permutation(len(results))])
    assert list(dict.fromkeys(cell.family for cell in cells)) == ["uci", "mnist", "cifar10"]
    assert list(dict.fromkeys(cell.loss for cell in cells)) == list(LOSSES)
    assert list(dict.fromkeys(cell.pi for cell in cells)) == [1.0, 0.8, 0.7, 0.65]
    published = [
        cell.row for cell in cells if cell.family != "mnist"
    ]  # MNIST's table has its noise rates as rows instead
    assert published == [
        (c.family, c.dataset, c.risk, c.pi, c.pi_prime) for c in published_cells() if c.family != "mnist"
    ]


def test_csv(made_up):
    cells = compare(made_up("mnist"))
    rows = list(csv.DictReader(comparison_csv(cells).splitlines()))
    assert list(rows[0]) == COLUMNS
    assert len(rows) == 56
    for row, cell in zip(rows, cells, strict=True):
        assert row["bold"] == str(int(cell.bold))
        assert float(row["z"]) == pytest.approx(cell.z, abs=5.1e-5)
        assert float(row["difference"]) == pytest.approx(float(row["mean"]) - float(row["paper_mean"]), abs=2e-4)


def test_json(made_up):
    summary = summary_json(compare(made_up("uci", "mnist")))
    assert summary["compared"] == 560
    assert summary["boldface_agreement"] == round(summary["boldface_agree"] / 560, 4)
    assert {part: list(values) for part, values in summary.items() if part.startswith("by_")} == {
        "by_family": ["uci", "mnist"],
        "by_objective": ["ber", "auc"],
        "by_noise": ["(1.0, 0.0)", "(0.8, 0.3)", "(0.7, 0.4)", "(0.65, 0.45)"],
    }
    assert sum(part["compared"] for part in summary["by_noise"].values()) == 560
