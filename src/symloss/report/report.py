"""The report: one HTML file with our results beside the paper's."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import UTC, datetime
from functools import cache
from pathlib import Path

from symloss import __version__
from symloss.files import write_whole
from symloss.paper.results import check_no_result
from symloss.paper.score_tables import loss_heading, score_text
from symloss.report.claim import claim_section
from symloss.report.content import Run, read_runs
from symloss.report.data import FILTERS, filter_values, report_data
from symloss.report.explorer import explorer_section
from symloss.report.page import Section, plot, render, render_page, source
from symloss.report.summary import provenance_section, summary_section
from symloss.report.tables import LIMITS, shade, signed, tables_of

SCRIPTS = ("chosen.js", "filters.js", "trials.js", "figures.js")  # each uses what the scripts before it define


def write_report(folders: Iterable[str | Path], path: str | Path) -> list[Run]:
    """Write the report of some folders of results into an HTML file, whole or not at all.

    Parameters
    ----------
    folders : iterable of str or Path
        Folders of result files, such as ``symloss reproduce`` writes. The paper need not have these results.
    path : str or Path
        The file to write.

    Returns
    -------
    list of Run
        What is in the report; each run names the files that were damaged and are left out.

    Raises
    ------
    FileNotFoundError, ValueError
        If a folder is missing, or holds no whole result, or if the file to write is a result.

    Examples
    --------
    >>> import tempfile
    >>> from symloss.paper.results import Result, write_result
    >>> result = Result(family="my", dataset="own", pi=1, pi_prime=0, trials=2, scores={"auc": {"sigmoid": [90, 91]}})
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     _ = write_result(Path(folder) / "results", result)
    ...     (run,) = write_report([Path(folder) / "results"], Path(folder) / "report.html")
    ...     "90.5 (0.5)" in (Path(folder) / "report.html").read_text(encoding="utf-8")
    True
    """
    paths = [Path(folder) for folder in folders]
    check_no_result(Path(path), paths)
    runs = read_runs(paths)
    write_whole(Path(path), report_html(runs))
    return runs


def report_html(runs: Sequence[Run]) -> str:
    """Return the report of some runs as a page of HTML.

    Examples
    --------
    >>> report_html([]).startswith("<!doctype html>")
    True
    """
    now = datetime.now(tz=UTC).strftime("%Y-%m-%d %H:%M UTC")
    return render_page(
        "Results beside the paper's" if _published(runs) else "Results",
        [*_claim(runs), summary_section(runs), results_section(runs), provenance_section(runs), _explorer()],
        lead="Learning from corrupted labels with symmetric losses: "
        f"{', '.join(run.name for run in runs)}. Written by symloss {__version__} on {now}.",
    )


def results_section(runs: Sequence[Run]) -> Section:
    """Return the section of filters, figures and tables.

    Examples
    --------
    >>> results_section([]).id
    'results'
    """
    values, data = filter_values(runs), report_data(runs)
    html = render(
        "results.html.j2",
        filters={key: (FILTERS[key], titles) for key, titles in values.items() if len(titles) > 1},
        published=_published(runs),
        curves=bool(data["curves"]),
        runs=runs,
        tables_of=tables_of,
        loss_heading=loss_heading,
        score_text=score_text,
        signed=signed,
        shade=shade,
        numbers={key: {name: number for number, name in enumerate(titles)} for key, titles in values.items()},
        risks=values["risk"],
        limits=LIMITS,
        plot=plot,
    )
    script = "\n".join(map(source, SCRIPTS))
    return Section("results", "Results", html, {"report-data": data}, script, source("results.css"))


def _published(runs: Sequence[Run]) -> bool:
    """Return whether the paper has any cell of the runs."""
    return any(cell.paper_mean is not None for run in runs for cell in run.published)


def _claim(runs: Sequence[Run]) -> list[Section]:
    """Return the section on the paper's claim, if the runs can say something about it."""
    section = claim_section(runs)
    return [section] if section else []


@cache
def _explorer() -> Section:
    """Return the explorer, which is the same in every report."""
    return explorer_section()


__all__ = ["report_html", "results_section", "write_report"]
