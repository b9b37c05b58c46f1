"""The commands about losses and about the paper's results and data."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from symloss.cli.application import (
    Losses,
    Names,
    code_of,
    find_loss,
    follow,
    listed,
    new_console,
    option,
    plain_table,
)

_ADDRESS = "Address of a running cluster: tcp://host:8786 (Dask), ray://host:10001 or auto (Ray)."
_SCORES = "How images are scored: dropout_off, or chosen_epoch (chosen on corrupted labels)."
Results = Annotated[list[Path], typer.Argument(help="Folders of symloss reproduce.", metavar="RESULTS...")]


def losses() -> None:
    """Show the losses and their properties: Table 1 of the paper, and the losses that are not in it.

    Example: `symloss losses`
    """
    from symloss.losses import get_loss, list_losses
    from symloss.paper.tables import TABLE_1

    table = plain_table("loss: l(z) and f*(η)", "convex", "symmetric", "recovers η")
    table.title = "Table 1: losses and their properties"
    for names in (TABLE_1, [name for name in list_losses() if name not in TABLE_1]):
        for loss in map(get_loss, names):
            claims = loss.properties
            assert claims is not None
            answers = claims.convex, claims.symmetric_constant is not None, claims.minimizer.recovers_eta
            marks = ["[green]✓[/]" if answer else "[dim]×[/]" for answer in answers]
            minimizer = claims.minimizer.formula.replace("eta", "η")
            about = f"[bold]{loss.title}[/]\n[dim]l:[/]  {loss.formula}\n[dim]f*:[/] {minimizer}"
            table.add_row(about, *marks, end_section=loss.name == names[-1])
    table.caption = (
        "Above the line: the eight losses of the paper. f* of symmetric losses is for outputs in [-1, 1].\n"
        "Barrier hinge with b = 200, r = 50 is symmetric on [-50, 50]. For reasons: symloss analyze NAME"
    )
    new_console().print(table)


def analyze(
    name: Annotated[str, typer.Argument(help="A built-in loss, or your own as package.module:MyLoss.", metavar="LOSS")],
) -> None:
    """Check which properties a loss has, and say why: symmetric, convex, calibrated, AUC-consistent, ...

    Example: `symloss analyze barrier_hinge`
    """
    from rich.markup import escape

    from symloss import theory

    loss = find_loss(name)
    with code_of([name]):
        report = theory.analyze(loss)
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


def reproduce(
    experiment: Annotated[str, typer.Argument(help="uci, cifar10 or mnist.", metavar="uci|cifar10|mnist")],
    datasets: Annotated[str | None, option("Data sets of uci, or module:function.", "NAME,...", "all nine")] = None,
    pairs: Annotated[str | None, option("Classes of cifar10 beside airplanes.", "NAME,...", "all nine")] = None,
    noise: Annotated[Names, option("A noise rate pi,pi'; may be repeated.", "PI,PI'", "the paper's four")] = None,
    risks: Annotated[str, option("Risks to minimize.", "NAME,...")] = "ber,auc",
    losses: Losses = None,
    trials: Annotated[int | None, option("How often data are drawn.", "NUMBER", "20, images 10", min=1)] = None,
    protocol: Annotated[
        str, option("matched: as the paper's numbers say; printed: as its text says.", "matched|printed")
    ] = "matched",
    jobs: Annotated[int, option("How many processes for uci; -1 means one per core.", "NUMBER")] = -1,
    backend: Annotated[str, option("Where uci runs: loky (this machine), dask or ray.", "NAME")] = "loky",
    scheduler_address: Annotated[str | None, option(_ADDRESS, "ADDRESS", "a cluster here")] = None,
    device: Annotated[str | None, option("cpu or cuda; images take days on a CPU.", "NAME", "cpu, images cuda")] = None,
    seed: Annotated[int, option("Seed of all draws.", "NUMBER", min=0)] = 0,
    download: Annotated[bool, option("Download missing data.", "")] = True,
    out: Annotated[Path | None, option("Folder for the results.", "FOLDER", "in results")] = None,
) -> None:
    """Run the paper's experiments, and say how well the results agree with it.

    Finished results are kept, and a second run continues from there.

    Example: `symloss reproduce uci --datasets twonorm,waveform --trials 5`

    Example: `symloss reproduce cifar10 --pairs horse --noise 0.65,0.45`
    """
    from symloss.functional import RISKS
    from symloss.machines import cluster
    from symloss.paper.compare import compare
    from symloss.paper.results import CIFAR10_PAIRS, LOSSES, NOISES, UCI_DATASETS, read_run
    from symloss.paper.run import plan, run
    from symloss.paper.tables import print_summary

    parts_of = {"uci": UCI_DATASETS, "cifar10": CIFAR10_PAIRS, "mnist": ["mnist"]}
    if experiment not in parts_of:
        raise ValueError(f"reproduce one of {', '.join(parts_of)}, got {experiment!r}")
    for of, name, chosen in (("uci", "--datasets", datasets), ("cifar10", "--pairs", pairs)):
        if chosen is not None and of != experiment:
            raise ValueError(f"{name} is an option of {of}")
    is_uci, named = experiment == "uci", datasets or pairs
    names = parts_of[experiment] if named is None else listed(named)
    minimized, tried = listed(risks), LOSSES if losses is None else [find_loss(name) for name in listed(losses)]
    for risk in minimized:
        if risk not in RISKS:
            raise ValueError(f"--risks must be of {', '.join(RISKS)}, got {risk!r}")
    noises = [_noise_rate(pair) for pair in noise] if noise else NOISES
    device = device or ("cpu" if is_uci else "cuda")
    _check_device(device)
    planned = plan(experiment, protocol, trials, seed)
    parts = [(name, *rates) for name in names for rates in noises]
    folder = out or Path("results") / (experiment if experiment == "cifar10" else f"{experiment}-{protocol}")
    with cluster(backend, scheduler_address, jobs if is_uci else 1):
        failed = follow(
            lambda progress: run(
                folder, planned, parts, tried, minimized, None if is_uci else 1, device, download,
                None if is_uci else progress,
            ),
            len(parts),
        )  # fmt: skip
    if failed < len(parts):
        print_summary(compare([read_run(folder)]), new_console())
        print(f"all tables: symloss compare {folder}")
    if failed:
        raise typer.Exit(1)


def _noise_rate(pair: str) -> tuple[float, float]:
    """Return the two numbers of a text such as ``0.65,0.45``: pi and pi_prime."""
    try:
        pi, pi_prime = map(float, pair.split(","))
    except ValueError:
        raise ValueError(f"--noise must be two rates such as 0.65,0.45, got {pair!r}") from None
    return pi, pi_prime


def _check_device(device: str) -> None:
    """Raise ValueError if PyTorch cannot use a device."""
    import torch

    try:
        torch.zeros(1, device=device).item()
    except (RuntimeError, AssertionError) as error:
        what = str(error).splitlines()[0].removesuffix(".")
        raise ValueError(f"--device {device} cannot be used ({what}); --device cpu works everywhere") from None


def compare(
    results: Results,
    csv: Annotated[Path | None, option("Write every score into this CSV file.", "FILE")] = None,
    markdown: Annotated[Path | None, option("Write all tables into this Markdown file.", "FILE")] = None,
    latex: Annotated[Path | None, option("Write all tables into this LaTeX file.", "FILE")] = None,
    figures: Annotated[Path | None, option("Draw figures 4 and 5, and scores against the paper's.", "FOLDER")] = None,
    scores: Annotated[str | None, option(_SCORES, "NAME", "as published, dropout on, last epoch")] = None,
) -> None:  # fmt: skip
    """Compare results with the paper's, score by score, and say how well they agree.

    Example: `symloss compare results/uci-matched --csv scores.csv --figures figures`
    """
    from symloss.files import write_whole
    from symloss.paper.compare import compare as compare_with_paper
    from symloss.paper.compare import comparison_csv
    from symloss.paper.figures import save_result_figures
    from symloss.paper.results import PUBLISHED, WAYS, check_no_result, read_run
    from symloss.paper.tables import (
        comparison_latex,
        comparison_markdown,
        print_comparison,
        print_summary,
    )

    further = [way for way in WAYS if way != PUBLISHED]
    if scores is not None and scores not in further:
        raise ValueError(f"--scores must be of {', '.join(further)}; got {scores}")
    runs = [read_run(folder) for folder in dict.fromkeys(results)]
    for target in (csv, markdown, latex, figures):
        if target:
            check_no_result(target, results)
    cells = compare_with_paper(runs, scores or PUBLISHED)
    written = [path for path in (csv, markdown, latex) if path]
    if csv:
        write_whole(csv, comparison_csv(cells))
    if markdown:
        write_whole(markdown, comparison_markdown(cells, WAYS[scores] if scores else ""))
    if latex:
        write_whole(latex, comparison_latex(cells))
    written += save_result_figures(figures, cells) if figures else []
    console = new_console()
    print_comparison(cells, console)
    print_summary(cells, console)
    for protocol, trials, seed in sorted({(run.protocol or "unnamed", run.trials, run.seed) for run in runs}):
        print(f"protocol {protocol}, {trials} trials, seed {seed}")
    for path in written:
        print(f"wrote {path}")


def report(
    results: Results,
    out: Annotated[Path, option("The HTML file to write.", "FILE")] = Path("report.html"),
) -> None:
    """Write results next to the paper's into one HTML file, which only needs a browser.

    Example: `symloss report results/uci-matched results/cifar10 --out report.html`
    """
    from symloss.report import write_report

    write_report(results, out)
    print(f"wrote {out}")


def datasets(
    names: Annotated[Names, typer.Argument(help="Names of data sets; by default all.", metavar="[NAME]...")] = None,
    fetch: Annotated[bool, option("Download missing files, and verify all files.", "", True, "--fetch")] = False,
) -> None:
    """List the data sets: rows, dimension, share of positives, source, license, and whether the files are here.

    Example: `symloss datasets spambase adult --fetch`
    """
    from symloss.datasets import fetch as fetch_files
    from symloss.datasets import info, list_datasets, where

    if fetch and not names:
        raise ValueError("--fetch needs the names of data sets, as in: symloss datasets spambase --fetch")
    records = [info(name) for name in names or list_datasets()]
    for record in records if fetch else ():
        fetch_files(record.name)
    table = plain_table("data set", "rows", "dim", "positive", "source", "license", "here")
    for record in records:
        here = " and ".join(where(record.name))
        source = f"[link={record.source}]{record.publisher}[/link]"
        shown = f"[green]{here}[/]" if here else "[dim]no[/]"
        share = f"{record.positives / record.rows:.1%}"
        table.add_row(
            f"[bold]{record.name}[/]", f"{record.rows:,}", str(record.dim), share, source, record.license, shown
        )
    table.caption = "To download and verify: symloss datasets NAME --fetch. To use your own files: SYMLOSS_DATA=FOLDER."
    new_console().print(table)
