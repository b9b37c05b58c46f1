"""The commands that write HTML pages: ``report`` and ``explore``."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from symloss.cli.options import code_of, find_loss, listed, modules_of


def report(
    results: Annotated[list[Path], typer.Argument(help="Folders of result files.", metavar="RESULTS...")],
    out: Annotated[Path, typer.Option(help="The HTML file to write.", metavar="FILE")] = Path("report.html"),
) -> None:
    """Write results next to the paper's into one HTML file, which only needs a browser.

    Example: [bold]symloss report results/uci-matched results/cifar10 --out report.html[/bold]
    """
    from symloss.report import write_report

    write_report(results, out)
    print(f"wrote {out}")


def explore(
    out: Annotated[Path, typer.Option(help="The HTML file to write.", metavar="FILE")] = Path("explorer.html"),
    losses: Annotated[
        str | None,
        typer.Option(help="Losses, or package.module:MyLoss.", metavar="NAME,...", show_default="all built-in losses"),
    ] = None,
) -> None:
    """Write the loss explorer into one HTML file: curves and properties of losses whose parameters can be changed.

    Example: [bold]symloss explore --out explorer.html[/bold]
    """
    from symloss.files import check_not_read
    from symloss.paper.results import check_no_result
    from symloss.report import write_explorer

    names = [] if losses is None else listed(losses)
    chosen = None if losses is None else [find_loss(name, {}) for name in names]
    check_no_result(out)
    check_not_read(out, modules_of(names), "the code of a loss")
    with code_of(names):
        path = write_explorer(out, chosen)
    print(f"wrote {path}")
