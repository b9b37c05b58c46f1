"""How well each run of a report agrees with the paper, and how it was made."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from symloss.paper.compare import Summary, summarize, summarize_parts
from symloss.paper.markdown import SUMMARY_COLUMNS, summary_texts
from symloss.paper.score_tables import FAMILIES, SCORES
from symloss.report.content import Run
from symloss.report.page import Section, render

COLUMNS = ("cells", "compared", *SUMMARY_COLUMNS[2:3], "≤ 1.5 points", "≤ 3 points", *SUMMARY_COLUMNS[3:])


class Line(NamedTuple):
    """A line of a table of agreement: the run, which part of it or how it is scored, and one text per column.

    Examples
    --------
    >>> Line("uci-matched", "AUC", ("252",)).of
    'AUC'
    """

    name: str
    of: str
    texts: tuple[str, ...]


def summary_section(runs: Sequence[Run]) -> Section:
    """Return the section of the most important numbers.

    Examples
    --------
    >>> summary_section([]).title
    'Summary'
    """
    # Runs follow different protocols and may have the same cells, so their numbers are never combined.
    summaries = {run.name: summarize(run.published) for run in runs}
    html = render(
        "summary.html.j2",
        figures={name: key_figures(summary) for name, summary in summaries.items()},
        columns=COLUMNS,
        lines=[
            Line(run.name, way if len(run.cells) > 1 else "", _texts(summarize(cells)))
            for run in runs
            for way, cells in run.cells.items()
        ],
        parts=[line for run in runs for line in _parts(run)],
        published=any(summary.compared for summary in summaries.values()),
    )
    return Section("summary", "Summary", html)


def provenance_section(runs: Sequence[Run]) -> Section:
    """Return the section that says how each run was made, and which files are left out.

    Examples
    --------
    >>> provenance_section([]).title
    'What was run'
    """
    return Section("runs", "What was run", render("provenance.html.j2", runs=runs))


def key_figures(summary: Summary) -> list[tuple[str, str]]:
    """Return the most important numbers of a summary, each with its meaning; missing ones are left out.

    Examples
    --------
    >>> key_figures(summarize([]))
    [('0', 'cells')]
    """
    figures = [(f"{summary.cells:,}", "cells of ours" if summary.compared else "cells")]
    if summary.rms_difference is not None:
        figures += [
            (f"{summary.compared:,}", "of them published"),
            (f"{summary.rms_difference:.2f}", "points rms difference"),
            (f"{summary.share_within_1_5:.1%}", "within 1.5 points"),
            (f"{summary.share_within_3:.1%}", "within 3 points"),
        ]
    if summary.best_loss_of:
        figures += [
            (f"{summary.best_loss_agree / summary.best_loss_of:.1%}", "rows whose best loss agrees"),
            (f"{summary.boldface_agree / summary.boldface_of:.1%}", "cells whose boldface agrees"),
        ]
    return figures


def _parts(run: Run) -> list[Line]:
    """Return the lines of families, risks and noise rates, where there are several."""
    titles = FAMILIES | SCORES
    return [
        Line(run.name, titles.get(of, of), _texts(summary))
        for part, summaries in summarize_parts(run.published).items()
        if part != "all" and len(summaries) > 1
        for of, summary in summaries.items()
    ]


def _texts(summary: Summary) -> tuple[str, ...]:
    _, compared, rms, *others = summary_texts("", summary)
    near = (summary.share_within_1_5, summary.share_within_3)
    shares = ("-" if share is None else f"{share:.1%}" for share in near)
    return (f"{summary.cells:,}", compared, rms, *shares, *others)


__all__ = ["COLUMNS", "Line", "key_figures", "provenance_section", "summary_section"]
