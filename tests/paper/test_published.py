import os
import re
from collections import Counter
from pathlib import Path

import pytest

from symloss.datasets import info
from symloss.losses import list_losses
from symloss.paper.published import LOSSES, find_published, published_cells


def test_every_cell_is_there_once():
    cells = published_cells()
    assert Counter(cell.family for cell in cells) == {"uci": 504, "mnist": 56, "cifar10": 504}
    assert len({(c.family, c.dataset, c.risk, c.pi, c.pi_prime, c.loss) for c in cells}) == 1064
    assert {cell.loss for cell in cells} == set(LOSSES) < set(list_losses())


def test_data_sets_have_our_names():
    for cell in published_cells():
        if cell.family == "cifar10":
            assert cell.dataset in info("cifar10").label_names[1:]
        else:
            assert cell.dim in (None, info(cell.dataset).dim)


def test_what_is_not_published_is_not_found():
    assert find_published("uci", "spambase", "ber", 0.65, 0.45, "hinge").mean == 74.7
    assert find_published("uci", "spambase", "ber", 1 - 0.35, 0.45, "hinge").mean == 74.7
    assert find_published("own", "spambase", "ber", 0.65, 0.45, "hinge") is None
    assert find_published("uci", "spambase", "ber", 0.9, 0.1, "hinge") is None


def test_cells_equal_the_papers_source():
    source = Path(os.environ.get("SYMLOSS_PAPER", Path(__file__).parents[3] / "shared" / "paper" / "paper.tex"))
    if not source.exists():
        pytest.skip("the paper's source is not at hand (SYMLOSS_PAPER=FILE)")
    appendix = source.read_text().split(r"\section{Additional Experimental Results}")[1]
    score = re.compile(r"(\\textbf\{)?(\d+\.\d) \((\d+\.\d)\)")
    printed = [(float(mean), float(se), bool(bold)) for bold, mean, se in score.findall(appendix)]
    cells = published_cells()
    assert Counter((cell.mean, cell.se, cell.bold) for cell in cells) == Counter(printed)
    assert [(cell.mean, cell.se, cell.bold) for cell in cells if cell.family != "mnist"] == printed[:504] + printed[
        560:
    ]
