"""The tables of scores: what stands together, in Markdown and in LaTeX."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import TYPE_CHECKING, Any

from symloss.losses import get_loss, list_losses
from symloss.messages import require
from symloss.paper.compare import (
    LOSSES,
    Cell,
    loss_order,
    noise_text,
    rows_of,
    summarize,
    summarize_parts,
)

if TYPE_CHECKING:
    from rich.console import Console

TABLE_1 = ("zero_one", "squared", "hinge", "logistic", "savage", "ramp", "sigmoid", "unhinged")
SCORES = {"ber": "Balanced accuracy", "auc": "AUC"}
FAMILIES = {"uci": "UCI and LIBSVM", "mnist": "MNIST", "cifar10": "CIFAR-10, airplane against"}
SUMMARY_COLUMNS = ("", "scores", "rms", "|z| < 1", "|z| < 2", "|z| < 3", "boldface", "best loss")
ScoreText = Callable[[float, float | None, bool | None], str]  # of a mean, its standard error and its boldface


def noise_equation(pi: float, pi_prime: float) -> str:
    """Return a noise rate as the title of a table has it."""
    return f"(π, π') = {noise_text(pi, pi_prime)}"


@dataclass(frozen=True)
class ScoreTable:
    """A table of mean scores, with one column per loss.

    Each row holds its cells by the name of the loss; the noise is None where each row has its own.
    """

    family: str
    risk: str
    noise: tuple[float, float] | None
    losses: tuple[str, ...]
    rows: tuple[dict[str, Cell], ...]

    @property
    def cells(self) -> list[Cell]:
        """The cells of all rows."""
        return [cell for row in self.rows for cell in row.values()]

    def title(self, noise: Callable[[float, float], str] = noise_equation) -> str:
        """Return what the table shows; ``noise`` writes its noise rate."""
        names = [FAMILIES.get(self.family, self.family)]
        if self.noise is not None:
            return f"{names[0]}: {SCORES[self.risk]}, {noise(*self.noise)}"
        datasets = dict.fromkeys(cell.dataset for cell in self.cells)
        return f"{' '.join([*names, *(name for name in datasets if name != self.family)])}: {SCORES[self.risk]}"

    def label(self, row: dict[str, Cell], noise: Callable[[float, float], str] = noise_text) -> str:
        """Return the name of a row: its data set, or its noise rate as ``noise`` writes it."""
        cell = next(iter(row.values()))
        return noise(cell.pi, cell.pi_prime) if self.noise is None else cell.dataset


def score_tables(cells: Sequence[Cell]) -> list[ScoreTable]:
    """Return the tables of compared cells: one for each family, risk and noise rate.

    In a family with a single data set, as MNIST, noise rates are rows of one table instead.
    """
    families = [family for family, _ in {(cell.family, cell.dataset) for cell in cells}]

    def key(cell: Cell) -> tuple[str, str, tuple[float, float] | None]:
        return cell.family, cell.risk, None if families.count(cell.family) == 1 else (cell.pi, cell.pi_prime)

    tables = []
    for (family, risk, noise), group in groupby(cells, key):
        rows = tuple({cell.loss: cell for cell in row} for row in rows_of(list(group)))
        losses = sorted({loss for row in rows for loss in row}, key=loss_order)
        tables.append(ScoreTable(family, risk, noise, tuple(losses), rows))
    return tables


def score_lines(table: ScoreTable, score: ScoreText) -> Iterator[list[str]]:
    """Yield three lines for each row of a table, each with a label: our scores, the paper's, and the differences."""
    for row in table.rows:
        cells = [row.get(loss) for loss in table.losses]
        label = table.label(row).strip("()")
        yield [label, "ours", *("" if of is None else score(of.mean, of.se, of.bold) for of in cells)]
        printed = [None if of is None or of.paper_mean is None else of for of in cells]
        if any(printed):
            paper = (score(of.paper_mean or 0.0, of.paper_se, of.paper_bold) if of else "" for of in printed)
            yield ["", "paper", *paper]
            yield ["", "difference, z", *(_difference(of) if of else "" for of in printed)]


def _difference(cell: Cell) -> str:
    return f"{cell.difference:+.1f}" + ("" if cell.z is None else f", {cell.z:+.1f}")


def loss_heading(loss: str) -> str:
    """Return a loss's heading: that of the paper, else the title of a built-in loss, else the name without module."""
    if loss in LOSSES:
        return LOSSES[loss]
    return get_loss(loss).title if loss in list_losses() else loss.rpartition(":")[2]


def score_text(mean: float, se: float | None) -> str:
    """Return a mean and its standard error as the paper prints them: ``77.9 (0.4)``."""
    return f"{mean:.1f}" + ("" if se is None else f" ({se:.1f})")


def summary_texts(name: str, summary: Mapping[str, Any]) -> list[str]:
    """Return a line of the summary, one text for each of ``SUMMARY_COLUMNS``."""
    rms = summary["rms_difference"]
    return [
        name,
        str(summary["compared"]),
        "-" if rms is None else f"{rms:.2f}",
        *(share_text(summary[f"share_z_below_{limit}"]) for limit in (1, 2, 3)),
        *(f"{summary[f'{of}_agree']} of {summary[f'{of}_of']}" if summary[f"{of}_of"] else "-"
          for of in ("boldface", "best_loss")),
    ]  # fmt: skip


def summary_lines(cells: Sequence[Cell]) -> list[list[str]]:
    """Return the summary of all cells, and of each family, risk and noise rate."""
    parts = [{"all": summarize(cells)}, *summarize_parts(cells).values()]
    return [summary_texts(name, summary) for part in parts for name, summary in part.items()]


def share_text(share: float | None) -> str:
    """Return a share in percent."""
    return "-" if share is None else f"{share:.1%}"


def near_text(cells: Sequence[Cell]) -> str:
    """Return a sentence that says how many cells are near the paper's; it is empty if the paper has none of them."""
    summary = summarize(cells)
    if not summary["compared"]:
        return ""
    near, less = share_text(summary["share_within_1_5"]), share_text(summary["share_within_3"])
    return f"Within 1.5 points of the paper: {near} of the scores; within 3 points: {less}."


def comparison_markdown(cells: Sequence[Cell], scored: str = "") -> str:
    """Return the comparison as Markdown; ``scored`` says how our networks are scored, if not as published."""
    parts = [
        "# Our scores and the paper's" + (f": ours with {scored}" if scored else ""),
        "Scores are means over the trials, from 0 to 100, with the standard error in brackets. Boldface marks the best "
        "loss of a row, and every loss that a one-sided t-test at 5% does not find to be worse than it. The difference "
        "is our score minus the paper's, in points; z is the difference divided by its standard error.",
        "## Summary",
        _markdown(SUMMARY_COLUMNS, summary_lines(cells)),
    ]
    if near := near_text(cells):
        parts.append(near)
    else:
        parts.insert(3, "The paper has none of these scores, so there is nothing to compare, and the summary is empty.")
    for table in score_tables(cells):
        headings = ["π, π'" if table.noise is None else "data set", "", *map(loss_heading, table.losses)]
        parts += [f"## {_escaped(table.title())}", _markdown(headings, score_lines(table, _markdown_score))]
    return "\n\n".join(parts) + "\n"


def _markdown_score(mean: float, se: float | None, bold: bool | None) -> str:
    return f"**{score_text(mean, se)}**" if bold else score_text(mean, se)


def _markdown(headings: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    lines = [[text if text.startswith("**") else _escaped(text) for text in row] for row in (headings, *rows)]
    first, *others = [f"| {' | '.join(line)} |" for line in lines]
    return "\n".join([first, "|---" * len(headings) + "|", *others])


def _escaped(text: str) -> str:
    return re.sub(r"([\\|*_`\[]|<(?=[\w/]))", r"\\\1", text)


_DOCUMENT = r"""\documentclass[10pt]{article}
\usepackage[utf8]{inputenc}
\usepackage[a4paper,landscape,margin=20mm]{geometry}
\usepackage{booktabs}
\setlength{\belowcaptionskip}{6pt}
\begin{document}
%s
\end{document}
"""
_SPECIAL = {
    "\\": r"\textbackslash{}",
    "~": r"\textasciitilde{}",
    "^": r"\textasciicircum{}",
    **{character: "\\" + character for character in "&%$#_{}"},
}


def comparison_latex(cells: Sequence[Cell]) -> str:
    """Return the paper's tables with our numbers, as a document in LaTeX."""
    require("report", "LaTeX tables need jinja2", "jinja2")
    import pandas as pd

    parts = []
    for table in score_tables(cells):
        headings = ["Noise" if table.noise is None else "Dataset", *map(loss_heading, table.losses)]
        rows = [
            [latex_escaped(table.label(row)), *(_latex_score(row.get(loss)) for loss in table.losses)]
            for row in table.rows
        ]
        trials = " or ".join(map(str, sorted({cell.trials for cell in table.cells})))
        caption = (
            f"{latex_escaped(table.title(noise_text))}. Mean and standard error of {trials} trials. Methods that a "
            r"one-sided t-test at 5\% does not find to be worse than the best one are in boldface."
        )
        frame = pd.DataFrame(rows, columns=list(map(latex_escaped, headings)))
        parts.append(frame.to_latex(index=False, escape=False, caption=caption, position="htb"))
    return _DOCUMENT % "\\clearpage\n".join(parts)


def _latex_score(cell: Cell | None) -> str:
    if cell is None:
        return "--"
    text = score_text(cell.mean, cell.se)
    return rf"\textbf{{{text}}}" if cell.bold else text


def latex_escaped(text: str) -> str:
    """Return a text without LaTeX's special characters."""
    return "".join(_SPECIAL.get(character, character) for character in text)


LEGEND = """\
scores: ours that the paper has, too.
rms: root mean square of our means minus the paper's means, in points.
|z| < 1, 2, 3: shares of the scores; about 68, 95 and 99.7% by chance alone.
boldface: scores that agree: in boldface in both tables, or in neither.
best loss: rows whose best loss in our runs is in boldface in the paper.
The last two columns count only rows with all seven losses of the paper."""


def print_comparison(cells: Sequence[Cell], console: Console) -> None:
    """Print every table of the comparison, with three lines a row: our scores, the paper's, and the differences."""
    for table in score_tables(cells):
        console.print(table.title(), style="bold", markup=False, highlight=False, soft_wrap=True)
        lines = ([label or what, *texts] for label, what, *texts in score_lines(table, _score))
        narrow = ([text.replace("difference", "diff").replace(", ", " ") for text in line] for line in lines)
        _print_table(["", *map(loss_heading, table.losses)], narrow, console)


def print_summary(cells: Sequence[Cell], console: Console) -> None:
    """Print how well our scores and the paper's agree: for all cells, and for each family, risk and noise rate."""
    _print_table(SUMMARY_COLUMNS, summary_lines(cells), console)
    console.print("\n".join([near_text(cells), LEGEND]).strip(), highlight=False)


def _print_table(columns: Sequence[str], rows: Iterable[Sequence[str]], console: Console) -> None:
    """Print a table whose first column holds texts, and the others numbers."""
    from rich import box
    from rich.table import Table
    from rich.text import Text

    table = Table(box=box.SIMPLE_HEAD, padding=0, collapse_padding=True, show_edge=False, pad_edge=False)
    for index, column in enumerate(columns):
        table.add_column(Text(column), justify="right" if index else "left", overflow="fold")
    for row in rows:
        table.add_row(*map(Text, row))
    console.print(table, "")


def _score(mean: float, se: float | None, bold: bool | None) -> str:
    """Return a score that is narrow enough for seven in a line; a star marks boldface."""
    return f"{mean:.1f}" + ("" if se is None else f"±{se:.1f}") + ("*" if bold else " ")
