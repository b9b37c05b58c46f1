"""Table 1 (losses and their properties), and the tables of scores: what stands together, in Markdown and in LaTeX."""

from __future__ import annotations

import re
from collections.abc import Container, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby
from pathlib import Path

from symloss.files import write_whole
from symloss.losses import Loss, get_loss, list_losses
from symloss.paper.compare import (
    LIMITS,
    Cell,
    Summary,
    chance_by_family,
    loss_order,
    noise_text,
    rows_of,
    summarize,
    summarize_parts,
    worst_cells,
)
from symloss.paper.published import LOSSES, published_cells

TABLE_1 = ("zero_one", "squared", "hinge", "logistic", "savage", "ramp", "sigmoid", "unhinged")
SCORES = {"ber": "Balanced accuracy", "auc": "AUC"}
FAMILIES = {"uci": "UCI and LIBSVM", "mnist": "MNIST", "cifar10": "CIFAR-10, airplane against"}
SUMMARY_COLUMNS = ("", "cells", "rms", "|z| < 1", "|z| < 2", "|z| < 3", "boldface", "best loss")
WORST_COLUMNS = ("family", "data set", "score", "noise", "loss", "ours", "paper", "diff", "z")
CHANCE_COLUMNS = ("", "cells", *(f"|z| > {limit}" for limit in LIMITS), "largest")


@dataclass(frozen=True)
class LossRow:
    """A row of Table 1, made from the properties that a loss declares."""

    name: str
    title: str
    formula: str
    latex: str
    minimizer: str
    minimizer_latex: str
    convex: bool
    symmetric: bool
    recovers_eta: bool


def loss_row(loss: Loss) -> LossRow:
    """Return the row of a loss that declares its properties."""
    claims = loss.properties
    if claims is None:
        raise ValueError(f"{loss!r} declares no properties; symloss.theory.analyze finds them out")
    least, symmetric = claims.minimizer, claims.symmetric_constant is not None
    texts = (loss.name, loss.title, loss.formula, loss.latex, least.formula, least.latex)
    return LossRow(*texts, claims.convex, symmetric, least.recovers_eta)


def table_1() -> list[LossRow]:
    """Return Table 1: the eight losses of the paper and their properties."""
    return [loss_row(get_loss(name)) for name in TABLE_1]


def further_losses() -> list[LossRow]:
    """Return rows like those of Table 1 for the built-in losses that it leaves out."""
    return [loss_row(get_loss(name)) for name in list_losses() if name not in TABLE_1]


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
    def datasets(self) -> list[str]:
        """The data sets of the table."""
        return list(dict.fromkeys(cell.dataset for row in self.rows for cell in row.values()))

    @property
    def title(self) -> str:
        """What the table shows."""
        family = FAMILIES.get(self.family, self.family)
        if self.noise is not None:
            return f"{family}: {SCORES[self.risk]}, (π, π') = {noise_text(*self.noise)}"
        what = " ".join([family, *(name for name in self.datasets if name != self.family)])
        return f"{what}: {SCORES[self.risk]}"

    @property
    def row_header(self) -> str:
        """What the rows are."""
        return "π, π'" if self.noise is None else "data set"

    def label(self, row: dict[str, Cell]) -> str:
        """Return the name of a row."""
        cell = next(iter(row.values()))
        return noise_text(cell.pi, cell.pi_prime).strip("()") if self.noise is None else cell.dataset


def score_tables(cells: Sequence[Cell], by_noise: Container[str] = ()) -> list[ScoreTable]:
    """Return the tables of compared cells: one for each family, risk and noise rate.

    In a family of ``by_noise``, noise rates are rows of one table instead, as for MNIST in the paper.
    """

    def key(cell: Cell) -> tuple[str, str, tuple[float, float] | None]:
        return cell.family, cell.risk, None if cell.family in by_noise else (cell.pi, cell.pi_prime)

    tables = []
    for (family, risk, noise), group in groupby(cells, key):
        rows = tuple({cell.loss: cell for cell in row} for row in rows_of(list(group)))
        losses = sorted({loss for row in rows for loss in row}, key=loss_order)
        tables.append(ScoreTable(family, risk, noise, tuple(losses), rows))
    return tables


def single_dataset_families(cells: Sequence[Cell]) -> set[str]:
    """Return the families with a single data set; their tables are easiest to read with one row per noise rate."""
    families = [family for family, _ in {(cell.family, cell.dataset) for cell in cells}]
    return {family for family in families if families.count(family) == 1}


def loss_heading(loss: str) -> str:
    """Return a loss's heading: that of the paper, else the title of a built-in loss, else the name without module."""
    if loss in LOSSES:
        return LOSSES[loss]
    return get_loss(loss).title if loss in list_losses() else loss.rpartition(":")[2]


def score_text(mean: float, se: float | None) -> str:
    """Return a mean and its standard error as the paper prints them: ``77.9 (0.4)``."""
    return f"{mean:.1f}" + ("" if se is None else f" ({se:.1f})")


def summary_texts(name: str, summary: Summary) -> list[str]:
    """Return a line of the summary, one text for each of ``SUMMARY_COLUMNS``."""
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
    """Return a sentence that says how many cells are near the paper's; it is empty if the paper has none of them."""
    if summary.share_within_1_5 is None or summary.share_within_3 is None:
        return ""
    near, less = summary.share_within_1_5, summary.share_within_3
    return f"Within 1.5 points of the paper: {near:.1%} of the cells; within 3 points: {less:.1%}."


def worst_texts(cells: Sequence[Cell], number: int) -> list[list[str]]:
    """Return the cells that differ most from the paper's, one text for each of ``WORST_COLUMNS``."""
    return [
        [cell.family, cell.dataset, "BAC" if cell.risk == "ber" else "AUC", noise_text(cell.pi, cell.pi_prime),
         loss_heading(cell.loss), score_text(cell.mean, cell.se), score_text(cell.paper_mean or 0.0, cell.paper_se),
         f"{cell.difference:+.1f}", f"{cell.z:+.1f}"]
        for cell in worst_cells(cells, number)
    ]  # fmt: skip


def chance_texts(cells: Sequence[Cell]) -> list[list[str]]:
    """Return how many large values of ``|z|`` there are, and by chance, one text for each of ``CHANCE_COLUMNS``."""
    return [
        [name, str(of.cells), *(f"{n} ({expected:.1f})" for n, expected in zip(of.found, of.expected, strict=True)),
         f"{of.largest:.1f} ({of.median_largest:.1f})"]
        for name, of in chance_by_family(cells).items()
    ]  # fmt: skip


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
    <BLANKLINE>
    """
    summary = [summary_texts(name, of) for parts in summarize_parts(cells).values() for name, of in parts.items()]
    parts = [
        "# Our scores and the paper's" + (f": ours with {scored}" if scored else ""),
        "Scores are means over the trials, from 0 to 100, with the standard error in brackets. Boldface marks the best "
        "loss of a row, and every loss that a one-sided t-test at 5% does not find to be worse than it. The difference "
        "is our score minus the paper's, in points; z is the difference divided by its standard error.",
        "## Summary",
        _markdown(SUMMARY_COLUMNS, summary),
    ]
    if near := near_text(summarize(cells)):
        parts.append(near)
    else:
        parts.insert(3, "The paper has none of these scores, so there is nothing to compare, and the summary is empty.")
    for table in score_tables(cells, by_noise=single_dataset_families(cells)):
        headings = [table.row_header, "", *map(loss_heading, table.losses)]
        parts += [f"## {_escaped(table.title)}", _markdown(headings, _markdown_rows(table))]
    if worst := worst_texts(cells, 20):
        parts += ["## The cells that differ most", _markdown(WORST_COLUMNS, worst),
                  "Number of cells with a large |z|, and in brackets the number that chance alone would give, and the "
                  "median of the largest |z|:", _markdown(CHANCE_COLUMNS, chance_texts(cells))]  # fmt: skip
    return "\n\n".join(parts) + "\n"


def _markdown_rows(table: ScoreTable) -> Iterator[list[str]]:
    """Yield three lines for each row: our scores, the paper's, and the differences."""
    for row in table.rows:
        cells = [row.get(loss) for loss in table.losses]
        yield [table.label(row), "ours", *("" if of is None else _bold(of.mean, of.se, of.bold, "**") for of in cells)]
        printed = [None if of is None or of.paper_mean is None else of for of in cells]
        if any(printed):
            paper = (_bold(of.paper_mean, of.paper_se, of.paper_bold, "**") if of else "" for of in printed)
            yield ["", "paper", *paper]
            yield ["", "difference, z", *(_difference(of) if of else "" for of in printed)]


def _difference(cell: Cell) -> str:
    return f"{cell.difference:+.1f}" + ("" if cell.z is None else f", {cell.z:+.1f}")


def _bold(mean: float | None, se: float | None, bold: bool | None, before: str, after: str = "**") -> str:
    text = score_text(mean or 0.0, se)
    return f"{before}{text}{after}" if bold else text


def _markdown(headings: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    lines = [[text if text.startswith("**") else _escaped(text) for text in row] for row in (headings, *rows)]
    first, *others = [f"| {' | '.join(line)} |" for line in lines]
    return "\n".join([first, "|---" * len(headings) + "|", *others])


def _escaped(text: str) -> str:
    return re.sub(r"([\\|*_`\[]|<(?=[\w/]))", r"\\\1", text)


LatexRow = tuple[list[str], list[Cell]]  # labels, and cells
MAIN_TEXT = ("spambase", "waveform", "twonorm", "mushroom")
_MAIN_CAPTION = (
    "Mean balanced accuracy (BAC=1-BER) and AUC score using multilayer perceptrons (rescaled to 0-100), where "
    r"$\pi = 0.65$ and $\pi'=0.45$."
)
_CAPTIONS = {
    "ber": "Mean balanced accuracy and standard error for BER minimization from corrupted labels",
    "auc": "Mean AUC score and standard error for AUC maximization from corrupted labels",
}
_TRIALS = (
    "Outperforming methods are highlighted in boldface using one-sided t-test with the significance level 5\\%. "
    "The experiments were conducted {} times."
)
_SPECIAL = {
    "\\": r"\textbackslash{}",
    "~": r"\textasciitilde{}",
    "^": r"\textasciicircum{}",
    **{character: "\\" + character for character in "&%$#_{}"},
}
_DOCUMENT = r"""\documentclass[10pt]{article}
\usepackage[utf8]{inputenc}
\usepackage[a4paper,landscape,margin=20mm]{geometry}
\usepackage{booktabs}
\setlength{\belowcaptionskip}{6pt}
\begin{document}
%s
\end{document}
"""


def write_latex(folder: Path, cells: Sequence[Cell]) -> list[Path]:
    """Write the paper's tables with our numbers (booktabs), each into its own file, and ``tables.tex``, all of them."""
    texts = {}
    groups = [_main_text_rows([cell for cell in cells if cell.dataset == name]) for name in MAIN_TEXT]
    if any(groups):
        texts["main_text"] = _latex("table*", _MAIN_CAPTION, ["Dataset", "Task"], [group for group in groups if group])
    dims = {cell.dataset: str(cell.dim) for cell in published_cells()}
    for table in score_tables(cells, by_noise={"mnist"}):
        name = f"{table.family}_{table.risk}"
        headings, where = ["Dataset"], " with varying noises"
        if table.noise is not None:
            pi, pi_prime = map(float, table.noise)
            name += "_pi" + "_".join(f"{of:.2f}" if round(of, 2) == of else repr(of) for of in (pi, pi_prime))
            where = rf", where $\pi = {pi}$ and $\pi' = {pi_prime}$"
        rows: list[LatexRow] = []
        for row in table.rows:
            (first, *_), label = row.values(), table.label(row)
            if table.noise is None:
                headings, label = (
                    ["Dataset", r"$(\pi,\pi')$"],
                    f"${noise_text(first.pi, first.pi_prime).replace(' ', '')}$",
                )
                rows.append(([first.dataset.replace("mnist", "MNIST"), label], list(row.values())))
            elif table.family == "uci":
                headings = ["Dataset", "Dim."]
                rows.append(([label, dims.get(label, "--")], list(row.values())))
            else:
                rows.append(([label], list(row.values())))
        name = re.sub(r"[^A-Za-z0-9._]+", "-", name)  # LaTeX accepts few special characters in file names
        texts[name] = _latex("table", f"{_CAPTIONS[table.risk]}{where}.", headings, [rows])
    inputs = [rf"\input{{{name}.tex}}" + r"\clearpage" * (i % 2 == 0) for i, name in enumerate(texts, 1)]  # two a page
    texts["tables"] = _DOCUMENT % "\n".join(inputs)
    for name, text in texts.items():
        write_whole(folder / f"{name}.tex", text)
    return [folder / f"{name}.tex" for name in texts]


def _main_text_rows(cells: Sequence[Cell]) -> list[LatexRow]:
    """Return a data set's lines in the table of the main text: balanced accuracy and AUC at (0.65, 0.45)."""
    rows = rows_of([cell for cell in cells if (cell.family, cell.pi, cell.pi_prime) == ("uci", 0.65, 0.45)])
    return [([row[0].dataset, "BAC" if row[0].risk == "ber" else "AUC"], row) for row in rows]


def _latex(kind: str, caption: str, headings: Sequence[str], groups: Sequence[Sequence[LatexRow]]) -> str:
    """Return a table; each row is its labels and its cells, and a line divides the groups."""
    cells = [cell for rows in groups for _, row in rows for cell in row]
    trials = " or ".join(str(count) for count in sorted({cell.trials for cell in cells}))
    losses = sorted({cell.loss for cell in cells}, key=loss_order)
    body: list[str] = []
    for rows in groups:
        body, before = [*body, r"\midrule"], ""
        for (name, *labels), row in rows:
            scores = {cell.loss: _bold(cell.mean, cell.se, cell.bold, r"\textbf{", "}") for cell in row}
            first, before = "" if name == before else latex_escaped(name), name
            body.append(" & ".join([first, *labels, *(scores.get(loss, "--") for loss in losses)]) + r" \\")
    columns = "".join("r" if heading == "Dim." else "l" for heading in headings) + "l" * len(losses)
    titles = [*headings, *(latex_escaped(loss_heading(loss)) for loss in losses)]
    return "\n".join(
        [rf"\begin{{{kind}}}[htb]", r"\centering", rf"\caption{{{caption} {_TRIALS.format(trials)}}}",
         rf"\begin{{tabular}}{{{columns}}}", r"\toprule", " & ".join(titles) + r" \\", *body, r"\bottomrule",
         r"\end{tabular}", rf"\end{{{kind}}}", ""]
    )  # fmt: skip


def latex_escaped(text: str) -> str:
    """Return a text without LaTeX's special characters."""
    return "".join(_SPECIAL.get(character, character) for character in text)
