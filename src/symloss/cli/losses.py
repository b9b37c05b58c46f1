"""The commands about losses: ``losses``, ``analyze``, ``figures`` and ``explore``."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated

import typer

from symloss.cli.application import new_console, plain_table
from symloss.cli.options import Json, Losses, code_of, find_loss, listed, option


def losses(as_json: Json = False) -> None:
    """Show the losses and their properties: Table 1 of the paper, and the losses that are not in it.

    Example: `symloss losses`
    """
    from symloss.losses import list_losses
    from symloss.paper.tables import TABLE_1, loss_row

    paper, further = [[*map(loss_row, of)] for of in (TABLE_1, [of for of in list_losses() if of not in TABLE_1])]
    if as_json:
        print(json.dumps([*paper, *further], indent=2))
        return
    table = plain_table("loss: l(z) and f*(η)", "convex", "symmetric", "recovers η")
    table.title = "Table 1: losses and their properties"
    for rows in (paper, further):
        for row in rows:
            marks = ["[green]✓[/]" if row[of] else "[dim]×[/]" for of in ("convex", "symmetric", "recovers_eta")]
            minimizer = row["minimizer"].replace("eta", "η")
            about = f"[bold]{row['title']}[/]\n[dim]l:[/]  {row['formula']}\n[dim]f*:[/] {minimizer}"
            table.add_row(about, *marks, end_section=row is rows[-1])
    table.caption = (
        "Above the line: the eight losses of the paper. f* of symmetric losses is for outputs in [-1, 1].\n"
        "Barrier hinge with b = 200, r = 50 is symmetric on [-50, 50]. For reasons: symloss analyze NAME"
    )
    new_console().print(table)


def analyze(
    name: Annotated[str, typer.Argument(help="A built-in loss, or your own as package.module:MyLoss.", metavar="LOSS")],
    b: Annotated[float | None, option("Slope of the barrier hinge loss, more than 1.", "NUMBER")] = None,
    r: Annotated[
        float | None, option("Half the width on which barrier hinge is symmetric, more than 0.", "NUMBER")
    ] = None,
    as_json: Json = False,
) -> None:
    """Check which properties a loss has, and say why: symmetric, convex, calibrated, AUC-consistent, ...

    Example: `symloss analyze barrier_hinge --b 10 --r 1`
    """
    from rich.markup import escape

    from symloss import theory

    loss = find_loss(name, **{key: value for key, value in (("b", b), ("r", r)) if value is not None})
    with code_of([name]):
        report = theory.analyze(loss)
    if as_json:
        print(json.dumps(report.to_dict(), indent=2))
        return
    console = new_console()
    title = f"[bold]{escape(repr(loss))}[/bold]" + (f"   l(z) = {escape(loss.formula)}" if loss.formula else "")
    console.print(title, highlight=False)
    table = plain_table("property", "verdict", "why")
    colors = {"yes": "green", "no": "red", "cannot tell": "yellow"}
    for property_name, verdict in report.verdicts.items():
        answer = f"[{colors[verdict.answer]}]{verdict.answer}[/]"
        why = escape(verdict.reason) + (f"\n[dim]{escape(verdict.witness)}[/]" if verdict.witness else "")
        table.add_row(property_name.replace("_", " "), answer, why)
    table.add_row("minimizer f*(eta)", "", escape(report.minimizer_formula))
    for disagreement in report.disagreements:
        table.add_row("claim contradicted", "[red]no[/]", escape(disagreement))
    console.print(table)


def figures(out: Annotated[Path, option("The folder to write into.", "FOLDER")] = Path("figures")) -> None:
    """Draw figures 1 to 3 of the paper as PNG and PDF.

    Example: `symloss figures --out figures`
    """
    from symloss.paper.figures import save_figures

    for path in save_figures(out):
        print(path)


def explore(
    out: Annotated[Path, option("The HTML file to write.", "FILE")] = Path("explorer.html"),
    losses: Losses = None,
) -> None:
    """Write the loss explorer into one HTML file: curves and properties of losses whose parameters can be changed.

    Example: `symloss explore --out explorer.html`
    """
    from symloss.report import write_explorer

    names = [] if losses is None else listed(losses)
    with code_of(names):
        path = write_explorer(out, [find_loss(name) for name in names] or None)
    print(f"wrote {path}")
