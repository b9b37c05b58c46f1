import os
import re
from pathlib import Path

import pytest

from symloss.paper import tables

# The paper's Table 1, cell by cell: name, l(z), f*, convex, symmetric, recovers eta.
PRINTED = [
    ("Zero-one", r"-0.5 \mathrm{sign}(z) + 0.5", r"\mathrm{sign}(\eta(x)-0.5)", False, True, False),
    ("Squared", r"(1-z)^{2}", r"2\eta(x)-1", True, False, True),
    ("Hinge", r"\max(0, 1-z)", r"\mathrm{sign}(\eta(x)-0.5)", True, False, False),
    ("Logistic", r"\mathrm{log}(1+\exp(-z))", r"\mathrm{log}\left(\frac{\eta(x)}{1-\eta(x)}\right)", True, False, True),
    (
        "Savage",
        r"\left[(1+\exp(2z))^{2}\right]^{-1}",
        r"0.5\mathrm{log}\left(\frac{\eta(x)}{1-\eta(x)}\right)",
        False,
        False,
        True,
    ),
    ("Ramp", r"\mathrm{max}(0, \mathrm{min}(1, 0.5-0.5z))", r"\mathrm{sign}(\eta(x)-0.5)", False, True, False),
    ("Sigmoid", r"\left[1+\exp(z)\right]^{-1}", r"\mathrm{sign}(\eta(x)-0.5)", False, True, False),
    ("Unhinged", r"1-z", r"\mathrm{sign}(\eta(x)-0.5)", True, True, False),
]


def squeezed(text):
    return re.sub(r"\s", "", text)


def cells(row):
    return (row.title, squeezed(row.latex), squeezed(row.minimizer_latex), row.convex, row.symmetric, row.recovers_eta)


def test_table_1_equals_the_papers():
    printed = [(name, squeezed(loss), squeezed(best), *marks) for name, loss, best, *marks in PRINTED]
    assert [cells(row) for row in tables.table_1()] == printed


def test_table_1_equals_the_papers_source():
    source = Path(os.environ.get("SYMLOSS_PAPER", Path(__file__).parents[3] / "shared" / "paper" / "paper.tex"))
    if not source.exists():
        pytest.skip("the paper's source is not at hand (SYMLOSS_PAPER=FILE)")
    lines = source.read_text().split(r"\label{table:optimal-loss}")[1].split(r"\end{tabular}")[0].splitlines()
    found = []
    for line in lines:
        parts = squeezed(line.replace(r"\feature", "x")).removesuffix(r"\hline").removesuffix("\\\\").split("&")
        if len(parts) == 6 and r"\checkmark" in line:
            name, loss, best, *marks = parts
            found.append(
                (name.removeprefix(r"\text{").removesuffix("}"), loss, best, *(m == r"\checkmark" for m in marks))
            )
    assert [cells(row) for row in tables.table_1()] == found


def test_a_loss_without_claims_has_no_row():
    import torch

    import symloss as sl

    with pytest.raises(ValueError, match="declares no properties"):
        tables.LossRow.of(sl.CallableLoss(torch.exp))
