"""The tables of the page on pairwise speed are those of the committed results."""

import importlib
import sys
from pathlib import Path

import pytest

import symloss as sl

BENCHMARKS = Path(sl.__file__).parents[2] / "benchmarks"
if not BENCHMARKS.exists():
    pytest.skip("installed from a wheel", allow_module_level=True)
sys.path.insert(0, str(BENCHMARKS))
tables = importlib.import_module("pairwise_tables")


def test_the_tables_are_made_from_the_results(tmp_path):
    results = BENCHMARKS / "results"
    for name in tables.FILES.values():
        if (results / name).exists():
            (tmp_path / name).write_text((results / name).read_text())
    tables.main(tmp_path)
    for name in ("pairwise_million.md", "pairwise_small.md", "pairwise_labels.md"):
        assert (tmp_path / name).read_text() == (results / name).read_text()


def test_a_cell_has_the_smallest_and_the_largest_number():
    assert tables.span([0.27, 0.123, 0.2], ".2f") == "0.12 to 0.27"
    assert tables.span([0.121, 0.124], ".2f") == "0.12"
