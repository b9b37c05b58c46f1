"""The paper's tables of experiments in LaTeX (booktabs), in its layout, with our numbers."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path

from symloss.files import write_whole
from symloss.paper.compare import Cell, loss_order
from symloss.paper.published import published_cells
from symloss.paper.results import noise_name
from symloss.paper.score_tables import ScoreTable, loss_heading, score_tables, score_text

MAIN_TEXT = ("spambase", "waveform", "twonorm", "mushroom")
WORST_NOISE = (0.65, 0.45)
_CAPTIONS = {
    "ber": "Mean balanced accuracy and standard error for BER minimization from corrupted labels",
    "auc": "Mean AUC score and standard error for AUC maximization from corrupted labels",
}
_SPECIAL = {
    "\\": r"\textbackslash{}",
    "~": r"\textasciitilde{}",
    "^": r"\textasciicircum{}",
    **{character: "\\" + character for character in "&%$#_{}"},
}
_A_PAGE = 2  # tables
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
    """Write each table into its own file, and a document ``tables.tex`` that includes them all; return the paths.

    Examples
    --------
    >>> import tempfile
    >>> cells = [Cell("uci", "spambase", "auc", 0.65, 0.45, "hinge", 77.9, 0.4, 20, True)]
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     [path.name for path in write_latex(Path(folder), cells)]
    ['main_text.tex', 'uci_auc_pi0.65_0.45.tex', 'tables.tex']
    """
    tables = {"main_text": main_text_table(cells)} if _main_text_cells(cells) else {}
    for table in score_tables(cells, by_noise={"mnist"}):
        family = re.sub(r"[^A-Za-z0-9]+", "-", table.family)  # LaTeX accepts few special characters in file names
        noise = f"_{noise_name(*table.noise)}" if table.noise else ""
        tables[f"{family}_{table.risk}{noise}"] = appendix_table(table)
    paths = []
    for name, text in tables.items():
        paths.append(folder / f"{name}.tex")
        write_whole(paths[-1], text + "\n")
    paths.append(folder / "tables.tex")
    inputs = [rf"\input{{{name}.tex}}" + r"\clearpage" * (i % _A_PAGE == 0) for i, name in enumerate(tables, 1)]
    write_whole(paths[-1], _DOCUMENT % "\n".join(inputs))
    return paths


def main_text_table(cells: Sequence[Cell]) -> str:
    r"""Return the table of the main text: four data sets at (0.65, 0.45), with one line for BAC and one for AUC.

    Examples
    --------
    >>> cells = [Cell("uci", "spambase", "auc", 0.65, 0.45, "hinge", 77.9, 0.4, 20, True)]
    >>> print(main_text_table(cells).splitlines()[7])
    spambase & AUC & \textbf{77.9 (0.4)} \\
    """
    chosen = _main_text_cells(cells)
    losses = sorted({cell.loss for cell in chosen}, key=loss_order)
    groups = []
    for dataset in dict.fromkeys(cell.dataset for cell in chosen):
        rows = [
            (name, {cell.loss: cell for cell in chosen if (cell.dataset, cell.risk) == (dataset, risk)})
            for risk, name in (("ber", "BAC"), ("auc", "AUC"))
        ]
        groups.append([(_escaped(dataset), name, row) for name, row in rows if row])
    caption = (
        "Mean balanced accuracy (BAC=1-BER) and AUC score using multilayer perceptrons (rescaled to 0-100), where "
        rf"$\pi = 0.65$ and $\pi'=0.45$. {_boldface_and_trials(chosen)}"
    )
    body = [line for group in groups for line in [*_group_lines(group, losses), r"\midrule"]][:-1]
    return _environment("table*", caption, ["Dataset", "Task"], losses, body)


def appendix_table(table: ScoreTable) -> str:
    r"""Return a table of the appendix.

    Examples
    --------
    >>> cells = [Cell("uci", "susy", "ber", 1, 0, "hinge", 77.9, 0.4, 20, True)]
    >>> print(appendix_table(score_tables(cells)[0]))
    \begin{table}[htb]
    \centering
    \caption{Mean balanced accuracy and standard error for BER minimization from corrupted labels, where $\pi = 1.0$
    and $\pi' = 0.0$. ...}
    \begin{tabular}{lrl}
    \toprule
    Dataset & Dim. & Hinge \\
    \midrule
    susy & 18 & \textbf{77.9 (0.4)} \\
    \bottomrule
    \end{tabular}
    \end{table}
    """
    cells = [cell for row in table.rows for cell in row.values()]
    if table.noise is None:
        where = " with varying noises"
        headings = ["Dataset", r"$(\pi,\pi')$"]
        group = [
            (_escaped(_printed(table.datasets[0])), f"$({float(cell.pi)},{float(cell.pi_prime)})$", row)
            for row in table.rows
            for cell in [next(iter(row.values()))]
        ]
        body = _group_lines(group, table.losses)
    else:
        where = rf", where $\pi = {float(table.noise[0])}$ and $\pi' = {float(table.noise[1])}$"
        dims = _dims() if table.family == "uci" else {}
        headings = ["Dataset", "Dim."] if dims else ["Dataset"]
        body = []
        for row in table.rows:
            name = table.label(row)
            labels = [_escaped(name), str(dims.get(name, "--"))] if dims else [_escaped(name)]
            body.append(_line([*labels, *_scores(row, table.losses)]))
    caption = f"{_CAPTIONS[table.risk]}{where}. {_boldface_and_trials(cells)}"
    return _environment("table", caption, headings, table.losses, body)


def _environment(kind: str, caption: str, headings: list[str], losses: Sequence[str], body: Sequence[str]) -> str:
    columns = "l" + ("r" if "Dim." in headings else "l") * (len(headings) - 1) + "l" * len(losses)
    return "\n".join(
        [
            rf"\begin{{{kind}}}[htb]",
            r"\centering",
            rf"\caption{{{caption}}}",
            rf"\begin{{tabular}}{{{columns}}}",
            r"\toprule",
            _line([*headings, *(_escaped(loss_heading(loss)) for loss in losses)]),
            r"\midrule",
            *body,
            r"\bottomrule",
            r"\end{tabular}",
            rf"\end{{{kind}}}",
        ]
    )


def _group_lines(group: Sequence[tuple[str, str, dict[str, Cell]]], losses: Sequence[str]) -> list[str]:
    """Return lines whose name stands in the first of them."""
    return [
        _line(["" if index else name, second, *_scores(row, losses)]) for index, (name, second, row) in enumerate(group)
    ]


def _scores(row: dict[str, Cell], losses: Sequence[str]) -> list[str]:
    return [_score(row[loss]) if loss in row else "--" for loss in losses]


def _score(cell: Cell) -> str:
    text = score_text(cell.mean, cell.se)
    return rf"\textbf{{{text}}}" if cell.bold else text


def _line(texts: Sequence[str]) -> str:
    return " & ".join(texts) + r" \\"


def _boldface_and_trials(cells: Sequence[Cell]) -> str:
    trials = " or ".join(str(count) for count in sorted({cell.trials for cell in cells}))
    return (
        "Outperforming methods are highlighted in boldface using one-sided t-test with the significance level 5\\%. "
        f"The experiments were conducted {trials} times."
    )


def _main_text_cells(cells: Sequence[Cell]) -> list[Cell]:
    return [
        cell
        for cell in cells
        if cell.family == "uci" and cell.dataset in MAIN_TEXT and (cell.pi, cell.pi_prime) == WORST_NOISE
    ]


def _dims() -> dict[str, int]:
    return {cell.dataset: cell.dim for cell in published_cells() if cell.dim is not None}


def _printed(dataset: str) -> str:
    return "MNIST" if dataset == "mnist" else dataset


def _escaped(text: str) -> str:
    return "".join(_SPECIAL.get(character, character) for character in text)
