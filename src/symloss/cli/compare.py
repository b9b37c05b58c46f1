"""The command ``compare``."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from symloss.cli.application import new_console

if TYPE_CHECKING:
    from symloss.paper.compare import Cell
    from symloss.paper.results import Run


def compare(
    results: Annotated[list[Path], typer.Argument(help="Folders of result files.", metavar="RESULTS...")],
    csv: Annotated[Path | None, typer.Option(help="Write every score into this CSV file.", metavar="FILE")] = None,
    markdown: Annotated[
        Path | None, typer.Option(help="Write all tables into this Markdown file.", metavar="FILE")
    ] = None,
    latex: Annotated[
        Path | None, typer.Option(help="Write LaTeX tables like the paper's into this folder.", metavar="FOLDER")
    ] = None,
    figures: Annotated[
        Path | None,
        typer.Option(
            help="Draw figures: scores by noise (figure 4), by epoch (figure 5), and against the paper's.",
            metavar="FOLDER",
        ),
    ] = None,
    scores: Annotated[
        str | None,
        typer.Option(
            help="How images are scored: dropout_off, or chosen_epoch (chosen on corrupted labels).",
            metavar="NAME",
            show_default="as published, dropout on, last epoch",
        ),
    ] = None,
    worst: Annotated[
        int | None,
        typer.Option(
            help="Print only the scores that differ most (largest |z|), and what chance would give.",
            metavar="NUMBER",
            min=1,
        ),
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print the summary as JSON, for programs.")] = False,
) -> None:
    """Compare results with the paper's, score by score, and say how well they agree.

    Example: [bold]symloss compare results/uci-matched --csv cells.csv --figures figures[/bold]
    """
    from symloss.files import write_whole
    from symloss.paper.compare import compare as compare_with_paper
    from symloss.paper.compare import comparison_csv, summary_json
    from symloss.paper.results import PUBLISHED, WAYS, check_no_result, read_run

    further = [way for way in WAYS if way != PUBLISHED]
    if scores is not None and scores not in further:
        raise ValueError(f"--scores must be of {', '.join(further)}; got {scores}")
    runs = [read_run(folder) for folder in dict.fromkeys(results)]
    for path in _targets(csv, markdown, latex, figures):
        check_no_result(path, results)
    cells = compare_with_paper(runs, scores or PUBLISHED)
    written = []
    if csv:
        write_whole(csv, comparison_csv(cells))
        written.append(csv)
    if markdown:
        from symloss.paper.tables import comparison_markdown

        write_whole(markdown, comparison_markdown(cells, WAYS[scores] if scores else ""))
        written.append(markdown)
    if latex:
        from symloss.paper.tables import write_latex

        written += write_latex(latex, cells)
    if figures:
        from symloss.paper.figures import save_result_figures

        written += save_result_figures(figures, cells)
    if as_json:
        print(json.dumps(summary_json(cells), indent=2))
        return
    if worst:
        from symloss.paper.terminal import print_worst

        print_worst(cells, worst, new_console())
    else:
        _print_comparison(runs, cells)
    for path in written:
        print(f"wrote {path}")


def _targets(csv: Path | None, markdown: Path | None, latex: Path | None, figures: Path | None) -> list[Path]:
    """Return the files and folders to write into, and the files in these folders that may be replaced."""
    replaced = [(folder, kind) for folder, kinds in ((latex, ["tex"]), (figures, ["png", "pdf"])) for kind in kinds]
    inside = [path for folder, kind in replaced if folder for path in folder.glob(f"*.{kind}")]
    return [*(path for path in (csv, markdown, latex, figures) if path), *inside]


def _print_comparison(runs: list[Run], cells: list[Cell]) -> None:
    from symloss.paper.terminal import print_comparison, print_summary

    console = new_console()
    print_comparison(cells, console)
    print_summary(cells, console)
    configurations = {(run.protocol or "unnamed", run.trials, run.seed) for run in runs}
    for protocol, trials, seed in sorted(configurations):
        print(f"protocol {protocol}, {trials} trials, seed {seed}")
