"""The comparison as Markdown: a summary, then tables with three lines per row: ours, the paper's, the difference."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

from symloss.paper.compare import Cell, Summary, summarize, summarize_parts
from symloss.paper.score_tables import ScoreTable, loss_heading, score_tables, score_text, single_dataset_families

SUMMARY_COLUMNS = ("", "cells", "rms", "|z| < 1", "|z| < 2", "|z| < 3", "boldface", "best loss")


def comparison_markdown(cells: Sequence[Cell], scored: str = "") -> str:
    """Return the comparison as Markdown; ``scored`` says how our networks are scored, if not as published.

    Examples
    --------
    >>> cells = [Cell("uci", "susy", "ber", 1, 0, "hinge", 77.9, 0.4, 20, True, 77.5, 0.4, True)]
    >>> print(comparison_markdown(cells).split("## ")[2])
    UCI and LIBSVM susy: Balanced accuracy
    <BLANKLINE>
    | π, π' |  | Hinge |
    |---|---|---|
    | 1.0, 0.0 | ours | **77.9 (0.4)** |
    |  | paper | **77.5 (0.4)** |
    |  | difference, z | +0.4, +0.7 |
    <BLANKLINE>
    """
    parts = [
        "# Our scores and the paper's" + (f": ours with {scored}" if scored else ""),
        "Scores are means over the trials, from 0 to 100, with the standard error in brackets. Boldface marks the best "
        "loss of a row, and every loss that a one-sided t-test at 5% does not find to be worse than it. The difference "
        "is our score minus the paper's, in points; z is the difference divided by its standard error.",
        "## Summary",
    ]
    if not summarize(cells).compared:
        parts.append("The paper has none of these scores, so there is nothing to compare, and the summary is empty.")
    parts.append(_summary_table(cells))
    if near := near_text(summarize(cells)):
        parts.append(near)
    for table in score_tables(cells, by_noise=single_dataset_families(cells)):
        parts += [f"## {_escaped(table.title)}", _table(table)]
    return "\n\n".join(parts) + "\n"


def summary_texts(name: str, summary: Summary) -> list[str]:
    """Return a line of the summary, one text for each of ``SUMMARY_COLUMNS``.

    Examples
    --------
    >>> from symloss.paper.compare import summarize
    >>> cells = [Cell("uci", "susy", "ber", 1, 0, "hinge", 77.9, 0.4, 20, True, 77.5, 0.4, True)]
    >>> summary_texts("all", summarize(cells))
    ['all', '1', '0.40', '100.0%', '100.0%', '100.0%', '-', '-']
    """
    shares = (summary.share_z_below_1, summary.share_z_below_2, summary.share_z_below_3)
    return [
        name,
        str(summary.compared),
        "-" if summary.rms_difference is None else f"{summary.rms_difference:.2f}",
        *("-" if share is None else f"{share:.1%}" for share in shares),
        f"{summary.boldface_agree} of {summary.boldface_of}" if summary.boldface_of else "-",
        f"{summary.best_loss_agree} of {summary.best_loss_of}" if summary.best_loss_of else "-",
    ]


def near_text(summary: Summary) -> str:
    """Return a sentence that says how many cells are near the paper's; it is empty if the paper has none of the cells.

    Examples
    --------
    >>> cells = [Cell("uci", "susy", "ber", 1, 0, "hinge", 77.9, 0.4, 20, True, 77.5, 0.4, True)]
    >>> near_text(summarize(cells))
    'Within 1.5 points of the paper: 100.0% of the cells; within 3 points: 100.0%.'
    """
    if summary.share_within_1_5 is None or summary.share_within_3 is None:
        return ""
    near, less = summary.share_within_1_5, summary.share_within_3
    return f"Within 1.5 points of the paper: {near:.1%} of the cells; within 3 points: {less:.1%}."


def _summary_table(cells: Sequence[Cell]) -> str:
    lines = [_line([column.replace("|", "\\|") for column in SUMMARY_COLUMNS]), "|---|" + "---:|" * 7]
    for summaries in summarize_parts(cells).values():
        lines += [_line(map(_escaped, summary_texts(name, summary))) for name, summary in summaries.items()]
    return "\n".join(lines)


def _table(table: ScoreTable) -> str:
    lines = [
        _line([table.row_header, "", *(_escaped(loss_heading(loss)) for loss in table.losses)]),
        "|---" * (len(table.losses) + 2) + "|",
    ]
    for row in table.rows:
        cells = [row.get(loss) for loss in table.losses]
        lines.append(_line([_escaped(table.label(row)), "ours", *_texts(cells, _ours)]))
        if any(cell and cell.paper_mean is not None for cell in cells):
            lines.append(_line(["", "paper", *_texts(cells, _papers)]))
            lines.append(_line(["", "difference, z", *_texts(cells, _difference)]))
    return "\n".join(lines)


def _texts(cells: Sequence[Cell | None], text: Callable[[Cell], str]) -> list[str]:
    return ["" if cell is None else text(cell) for cell in cells]


def _ours(cell: Cell) -> str:
    text = score_text(cell.mean, cell.se)
    return f"**{text}**" if cell.bold else text


def _papers(cell: Cell) -> str:
    if cell.paper_mean is None:
        return ""
    text = score_text(cell.paper_mean, cell.paper_se)
    return f"**{text}**" if cell.paper_bold else text


def _difference(cell: Cell) -> str:
    if cell.difference is None:
        return ""
    return f"{cell.difference:+.1f}" + ("" if cell.z is None else f", {cell.z:+.1f}")


def _line(texts: Iterable[str]) -> str:
    return f"| {' | '.join(texts)} |"


def _escaped(text: str) -> str:
    for special in "\\|*_`<[":
        text = text.replace(special, "\\" + special)
    return text
