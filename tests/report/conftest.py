"""Folders of committed results, and reports of them."""

import shutil
from pathlib import Path

import pytest

from symloss.report.report import write_report

RUNS = ["uci-matched", "uci-printed", "uci-further", "cifar10", "mnist-matched", "mnist-printed"]


@pytest.fixture(scope="session")
def results():
    """The committed results."""
    folder = Path(__file__).parents[2] / "results"
    if not folder.is_dir():
        pytest.skip("the results are only in the repository")
    return folder


@pytest.fixture(scope="session")
def report(results, tmp_path_factory):
    """The report of all committed results."""
    path = tmp_path_factory.mktemp("report") / "report.html"
    write_report([results / name for name in RUNS], path)
    return path


@pytest.fixture(scope="session")
def small_report(results, tmp_path_factory):
    """The report of some of them, which a browser opens sooner: 112 cells of each of three runs."""
    folder = tmp_path_factory.mktemp("small")
    runs = {"uci-matched": ("adult", "susy"), "uci-printed": ("adult", "susy"), "cifar10": ("cat", "horse")}
    for run, datasets in runs.items():
        (folder / run).mkdir()
        for path in (path for dataset in datasets for path in (results / run).glob(f"{dataset}_pi*.json")):
            shutil.copy(path, folder / run)
    write_report([folder / run for run in runs], folder / "report.html")
    return folder / "report.html"
