"""The ``symloss`` command."""

from __future__ import annotations

import importlib
import io
import json
import sys
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from typer.core import TyperGroup

from symloss import __version__
from symloss.losses import Loss, get_loss, list_losses

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from rich.table import Table

    from symloss.datasets import DatasetInfo
    from symloss.paper.compare import ComparedCell
    from symloss.paper.results import Cell, Results
    from symloss.paper.runner import Outcome
    from symloss.paper.tables import LossRow

_UsageError: type[Exception] = typer.BadParameter.__mro__[1]  # its public name differs between typer's versions


class _OneLineErrors(TyperGroup):
    """Bad input ends in one line on standard error and exit code 2."""

    def main(self, *args: Any, **kwargs: Any) -> Any:
        kwargs["standalone_mode"] = False
        if isinstance(sys.stdout, io.TextIOWrapper):
            sys.stdout.reconfigure(errors="replace")  # a terminal without η and ✓
        try:
            code = super().main(*args, **kwargs)
        except _UsageError as error:
            self._fail(error.format_message())  # type: ignore[attr-defined]
        except (ValueError, OSError, ImportError) as error:  # the last: an extra that is not installed
            self._fail(str(error))
        except typer.Abort:
            sys.exit(130)
        sys.exit(code if isinstance(code, int) else 0)

    @staticmethod
    def _fail(message: str) -> None:
        print("symloss: error:", " ".join(message.split()), file=sys.stderr)
        sys.exit(2)


app = typer.Typer(
    cls=_OneLineErrors,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode="rich",
    help="Learn binary classifiers and rankers from corrupted labels, without knowing the noise.",
)

Json = Annotated[bool, typer.Option("--json", help="Print JSON, for programs.")]


@app.callback(invoke_without_command=True)
def main(
    context: typer.Context, version: Annotated[bool, typer.Option("--version", help="Print the version.")] = False
) -> None:
    """Print the version, or help where no command is given."""
    if version:
        print(__version__)
    elif context.invoked_subcommand is None:
        print(context.get_help())


@app.command()
def losses(as_json: Json = False) -> None:
    """Show the losses and their properties: Table 1 of the paper, and the losses that it leaves out.

    Example: [bold]symloss losses[/bold]
    """
    from symloss.paper.tables import further_losses, table_1

    if as_json:
        print(json.dumps([vars(row) for row in (*table_1(), *further_losses())], indent=2))
    else:
        _console().print(_losses_table(table_1(), further_losses()))


@app.command()
def analyze(
    name: Annotated[str, typer.Argument(help="A built-in loss, or your own as package.module:MyLoss.", metavar="LOSS")],
    b: Annotated[float | None, typer.Option(help="Slope of the barrier hinge loss, more than 1.")] = None,
    r: Annotated[float | None, typer.Option(help="Half-width of its symmetric interval, more than 0.")] = None,
    as_json: Json = False,
) -> None:
    """Check what a loss satisfies, and say why: symmetric, convex, calibrated, AUC-consistent, ...

    Example: [bold]symloss analyze barrier_hinge --b 10 --r 1[/bold]
    """
    from rich.markup import escape

    from symloss.theory import analyze as analyse

    loss = _find_loss(name, {key: value for key, value in (("b", b), ("r", r)) if value is not None})
    try:
        report = analyse(loss)
    except Exception as error:  # a user's own code may raise anything
        if name in list_losses():
            raise
        raise ValueError(f"{name} failed on a tensor of margins: {type(error).__name__}: {error}") from error
    if as_json:
        print(json.dumps(report.to_dict(), indent=2))
        return
    console = _console()
    title = f"[bold]{escape(repr(loss))}[/bold]" + (f"   l(z) = {escape(loss.formula)}" if loss.formula else "")
    console.print(title, highlight=False)
    table = _table("property", "verdict", "why")
    colours = {"yes": "green", "no": "red", "cannot tell": "yellow"}
    for property_name, verdict in report.verdicts.items():
        answer = f"[{colours[verdict.answer]}]{verdict.answer}[/]"
        why = escape(verdict.reason) + (f"\n[dim]{escape(verdict.witness)}[/]" if verdict.witness else "")
        table.add_row(property_name.replace("_", " "), answer, why)
    table.add_row("minimiser f*(eta)", "", escape(report.minimiser_formula))
    for disagreement in report.disagreements:
        table.add_row("claim contradicted", "[red]no[/]", escape(disagreement))
    console.print(table)


@app.command()
def figures(out: Annotated[Path, typer.Option(help="Directory to write to.")] = Path("figures")) -> None:
    """Draw figures 1 to 3 of the paper as PNG and PDF.

    Example: [bold]symloss figures --out figures[/bold]
    """
    from symloss.paper.figures import save_figures

    for path in save_figures(out):
        print(path)


@app.command()
def datasets(
    names: Annotated[
        list[str] | None, typer.Argument(help="Data sets; all of them if none is named.", metavar="[NAME]...")
    ] = None,
    fetch: Annotated[bool, typer.Option("--fetch", help="Download what is not here, and verify all files.")] = False,
    as_json: Json = False,
) -> None:
    """List the data sets: rows, dimension, share of positives, source, licence, and whether they are here.

    Example: [bold]symloss datasets spambase adult --fetch[/bold]
    """
    from symloss.datasets import fetch as fetch_files
    from symloss.datasets import info, list_datasets

    if fetch and not names:
        raise ValueError("--fetch needs the names of data sets, as in: symloss datasets spambase --fetch")
    records = [info(name) for name in names or list_datasets()]
    for record in records if fetch else ():
        fetch_files(record.name)
    if as_json:
        print(json.dumps([_dataset_json(record) for record in records], indent=2))
    else:
        _console().print(_datasets_table(records))


@app.command()
def fit(
    data: Annotated[Path, typer.Argument(help="A CSV or Parquet file.", metavar="DATA")],
    label: Annotated[str, typer.Option(help="The column of labels, of two values.", metavar="COLUMN")],
    out: Annotated[Path, typer.Option(help="Folder of the model.", metavar="FOLDER")],
    objective: Annotated[str, typer.Option(help="auc: rank well; ber: classify well.", metavar="auc|ber")] = "auc",
    positive: Annotated[
        str | None, typer.Option(help="The positive label.", metavar="VALUE", show_default="the larger")
    ] = None,
    drop: Annotated[
        list[str] | None, typer.Option(help="Columns to leave out; may be repeated.", metavar="COLUMN,...")
    ] = None,
    weight: Annotated[
        str | None, typer.Option(help="A column of weights; k counts as k repetitions.", metavar="COLUMN")
    ] = None,
    pi: Annotated[float | None, typer.Option(help="Share of clean positives in the rows labelled positive.")] = None,
    pi_prime: Annotated[float | None, typer.Option(help="The same of the rows labelled negative.")] = None,
    max_categories: Annotated[int, typer.Option(help="The most distinct texts in a column.", min=2)] = 50,
    seed: Annotated[int, typer.Option(help="Seed of everything drawn.", min=0)] = 0,
    jobs: Annotated[int, typer.Option(help="Fits at a time; -1 is one a core.")] = 1,
    as_json: Json = False,
) -> None:
    """Fit a model to a table whose labels may be corrupted, and write it into a folder.

    Columns of text are one-hot encoded. Models are chosen on the labels given, which needs no knowledge of the noise;
    with --pi and --pi-prime, the score on clean labels is estimated too.

    Example: [bold]symloss fit data.csv --label churn --objective auc --out model[/bold]
    """
    from symloss.estimators.persistence import check_replaceable
    from symloss.tabular import fit_table, read_table
    from symloss.tabular.figures import scores_png
    from symloss.tabular.summary import print_summary, summary

    check_replaceable(out)
    if jobs == 0:
        raise ValueError("--jobs must be a number of fits, or -1 for one a core; got 0")
    dropped = [name for names in drop or () for name in _listed(names)]
    frame = read_table(data, text=[label])
    with _fit_progress() as progress:
        fitted = fit_table(
            frame, label, objective=objective, positive=positive, drop=dropped, weight=weight, pi=pi, pi_prime=pi_prime,
            max_categories=max_categories, seed=seed, jobs=jobs, progress=progress,
        )  # fmt: skip
    written = fitted.model.save(out, scores_png(fitted))
    if as_json:
        print(json.dumps(summary(fitted) | {"files": [str(path) for path in written]}, indent=2))
        return
    print_summary(fitted, _console())
    print(f"wrote {out}: {', '.join(path.name for path in written)}")
    print(f"to predict: symloss predict {out} DATA")


@contextmanager
def _fit_progress() -> Iterator[Callable[[str, int, int], None]]:
    """Show what is being fitted, on a terminal: a bar once the number of fits is known."""
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

    console = Console(stderr=True)
    columns = (SpinnerColumn(), TextColumn("{task.description}", markup=False), BarColumn(), MofNCompleteColumn())
    with Progress(
        *columns, TimeElapsedColumn(), console=console, transient=True, disable=not console.is_terminal
    ) as bar:
        task = bar.add_task("fitting candidates", total=None)
        yield lambda name, done, total: bar.update(task, description=name, completed=done, total=total)


@app.command()
def predict(
    model: Annotated[Path, typer.Argument(help="A folder that symloss fit has written.", metavar="MODEL")],
    data: Annotated[Path, typer.Argument(help="A CSV or Parquet file.", metavar="DATA")],
    out: Annotated[
        Path | None,
        typer.Option(help="A CSV or Parquet file to write.", metavar="FILE", show_default="standard output, as CSV"),
    ] = None,
    id_column: Annotated[
        str | None, typer.Option("--id", help="A column to keep beside the predictions.", metavar="COLUMN")
    ] = None,
) -> None:
    """Predict the labels of a table: a score for each row, above 0 for the positive label, and the label.

    Example: [bold]symloss predict model new.csv --out predictions.csv[/bold]
    """
    from symloss.tabular import TableModel, read_table, write_table
    from symloss.tabular.predicting import prediction_notes, predictions

    if out is not None and out.resolve() == data.resolve():
        raise ValueError(f"--out {out} is the data; it is not overwritten")
    fitted = TableModel.load(model)
    frame = read_table(data, text=[*fitted.encoding.categorical, *([id_column] if id_column else [])])
    predicted = predictions(fitted, frame, id_column)
    if out is None:
        predicted.table.to_csv(sys.stdout, index=False, lineterminator="\n")
    else:
        write_table(predicted.table, out)
    for note in prediction_notes(fitted, frame, predicted, id_column):
        print(note, file=sys.stderr)
    if out is not None:
        print(f"wrote {out}", file=sys.stderr)


reproduce = typer.Typer(
    help="Run the paper's experiments; what is finished is kept, and a second run goes on from there."
)
app.add_typer(reproduce, name="reproduce")


@reproduce.command("uci")
def reproduce_uci(
    datasets: Annotated[
        str | None,
        typer.Option(
            help="Data sets, or package.module:function that returns X and y.",
            metavar="NAME,...",
            show_default="the paper's nine",
        ),
    ] = None,
    noise: Annotated[
        list[str] | None,
        typer.Option(help="A noise rate pi,pi'; may be repeated.", metavar="PI,PI'", show_default="the paper's four"),
    ] = None,
    objectives: Annotated[str, typer.Option(help="Risks to minimise.", metavar="NAME,...")] = "ber,auc",
    losses: Annotated[
        str | None,
        typer.Option(help="Losses, or package.module:MyLoss.", metavar="NAME,...", show_default="the paper's seven"),
    ] = None,
    trials: Annotated[int, typer.Option(help="Draws of the corrupted data.", min=1)] = 20,
    protocol: Annotated[
        str, typer.Option(help="matched: with the weight decay that the paper does not print; printed: without.")
    ] = "matched",
    jobs: Annotated[int, typer.Option(help="Processes; -1 is one a core.")] = -1,
    device: Annotated[str, typer.Option(help="cpu, or cuda to train all trials of a cell at once.")] = "cpu",
    seed: Annotated[int, typer.Option(help="Seed of all draws.", min=0)] = 0,
    download: Annotated[
        bool, typer.Option(help="Download data sets that are not here; without, twonorm and waveform are drawn.")
    ] = True,
    out: Annotated[
        Path | None, typer.Option(help="Folder of the results.", metavar="FOLDER", show_default="results/uci-PROTOCOL")
    ] = None,
) -> None:
    """Run the UCI and LIBSVM experiments, and say how well they agree with the paper.

    Example: [bold]symloss reproduce uci --datasets twonorm,waveform --trials 5[/bold]
    """
    from symloss.paper.protocol import LOSSES, NOISES, UCI_DATASETS
    from symloss.paper.runner import run, uci_cells

    names = _listed(datasets) if datasets else UCI_DATASETS
    noises = [_noise(pair) for pair in noise] if noise else NOISES
    chosen = [_find_loss(name, {}) for name in _listed(losses)] if losses else LOSSES
    _check_device(device)
    if jobs == 0:
        raise ValueError("--jobs must be a number of processes, or -1 for one a core; got 0")
    cells = uci_cells(names, noises, trials, protocol, seed)
    folder = out or Path("results") / f"uci-{protocol}"
    _finish(folder, run(folder, cells, chosen, _objectives(objectives), jobs, device, download), len(cells))


ImageNoise = Annotated[
    list[str] | None,
    typer.Option("--noise", help="A noise rate pi,pi'; may be repeated.", metavar="PI,PI'", show_default="all four"),
]
ImageLosses = Annotated[
    str | None,
    typer.Option(help="Losses, or package.module:MyLoss.", metavar="NAME,...", show_default="the paper's seven"),
]
Objectives = Annotated[str, typer.Option(help="Risks to minimise.", metavar="NAME,...")]
ImageTrials = Annotated[int, typer.Option(help="Draws of the corrupted data.", min=1)]
ImageDevice = Annotated[str, typer.Option(help="cuda, or cpu, which takes a day or more a cell.")]
Seed = Annotated[int, typer.Option(help="Seed of all draws.", min=0)]
Download = Annotated[bool, typer.Option(help="Download images that are not here.")]


@reproduce.command("cifar10")
def reproduce_cifar10(
    pairs: Annotated[
        str | None,
        typer.Option(help="Classes to tell airplanes from.", metavar="NAME,...", show_default="all nine"),
    ] = None,
    noise: ImageNoise = None,
    objectives: Objectives = "ber,auc",
    losses: ImageLosses = None,
    trials: ImageTrials = 10,
    device: ImageDevice = "cuda",
    seed: Seed = 0,
    download: Download = True,
    out: Annotated[Path, typer.Option(help="Folder of the results.", metavar="FOLDER")] = Path("results/cifar10"),
) -> None:
    """Run the CIFAR-10 experiments, airplanes against another class, and say how well they agree with the paper.

    Example: [bold]symloss reproduce cifar10 --pairs horse --noise 0.65,0.45[/bold]
    """
    from symloss.paper.protocol import CIFAR10_PAIRS

    names = _listed(pairs) if pairs else CIFAR10_PAIRS
    _reproduce_images("cifar10", names, noise, objectives, losses, trials, device, seed, download, out)


@reproduce.command("mnist")
def reproduce_mnist(
    noise: ImageNoise = None,
    objectives: Objectives = "ber,auc",
    losses: ImageLosses = None,
    trials: ImageTrials = 10,
    device: ImageDevice = "cuda",
    seed: Seed = 0,
    download: Download = True,
    out: Annotated[Path, typer.Option(help="Folder of the results.", metavar="FOLDER")] = Path("results/mnist"),
) -> None:
    """Run the MNIST experiments, even against odd digits, and say how well they agree with the paper.

    Example: [bold]symloss reproduce mnist --noise 1,0[/bold]
    """
    _reproduce_images("mnist", [], noise, objectives, losses, trials, device, seed, download, out)


def _reproduce_images(
    family: str,
    pairs: Sequence[str],
    noise: list[str] | None,
    objectives: str,
    losses: str | None,
    trials: int,
    device: str,
    seed: int,
    download: bool,
    folder: Path,
) -> None:
    from symloss.paper.protocol import LOSSES, NOISES
    from symloss.paper.runner import image_cells, run

    noises = [_noise(pair) for pair in noise] if noise else NOISES
    chosen = [_find_loss(name, {}) for name in _listed(losses)] if losses else LOSSES
    cells = image_cells(family, pairs, noises, trials, seed)
    names = _objectives(objectives)
    _check_device(device)
    _finish(folder, run(folder, cells, chosen, names, 1, device, download), len(cells))


def _finish(folder: Path, outcomes: Iterable[Outcome], total: int) -> None:
    """Follow a run to its end, and say how well its results agree with the paper."""
    failed = _follow(outcomes, total)
    if failed < total:
        from symloss.paper.compare import compare as compare_with_paper
        from symloss.paper.terminal import print_summary

        print_summary(compare_with_paper(_read_results(folder).cells), _console())
        print(f"all tables: symloss compare {folder}")
    if failed:
        raise typer.Exit(1)


def _listed(names: str) -> list[str]:
    return list(dict.fromkeys(name.strip() for name in names.split(",")))


def _check_device(device: str) -> None:
    import torch

    try:
        torch.empty(1, device=device)
    except (RuntimeError, AssertionError) as error:
        raise ValueError(f"--device {device} cannot be used: {str(error).splitlines()[0]}") from None


def _noise(pair: str) -> tuple[float, float]:
    try:
        pi, pi_prime = (float(rate) for rate in pair.split(","))
    except ValueError:
        raise ValueError(f"--noise must be two rates such as 0.65,0.45, got {pair!r}") from None
    return pi, pi_prime


def _objectives(names: str) -> list[str]:
    from symloss.paper.protocol import OBJECTIVES

    for name in _listed(names):
        if name not in OBJECTIVES:
            raise ValueError(f"--objectives must be of {', '.join(OBJECTIVES)}, got {name!r}")
    return _listed(names)


def _follow(outcomes: Iterable[Outcome], total: int) -> int:
    """Show outcomes as they come, with a bar and the time left on a terminal; return how many failed."""
    from rich.console import Console
    from rich.progress import (
        BarColumn,
        MofNCompleteColumn,
        Progress,
        TextColumn,
        TimeElapsedColumn,
        TimeRemainingColumn,
    )

    console, failed = Console(stderr=True), 0
    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TimeElapsedColumn(),
        TextColumn("left"),
    )
    with Progress(*columns, TimeRemainingColumn(), console=console, disable=not console.is_terminal) as bar:
        task = bar.add_task("cells", total=total)
        for outcome in outcomes:
            failed += outcome.error is not None
            text, style = " ".join(str(outcome).split()), "red" if outcome.error else None
            bar.console.print(text, style=style, markup=False, emoji=False, highlight=False, soft_wrap=True)
            bar.advance(task)
    return failed


@app.command()
def compare(
    results: Annotated[list[Path], typer.Argument(help="Folders of result files.", metavar="RESULTS...")],
    csv: Annotated[Path | None, typer.Option(help="Write every cell into this file.", metavar="FILE")] = None,
    markdown: Annotated[Path | None, typer.Option(help="Write the tables into this file.", metavar="FILE")] = None,
    latex: Annotated[
        Path | None, typer.Option(help="Write the tables into this folder, as the paper prints them.", metavar="FOLDER")
    ] = None,
    figures: Annotated[
        Path | None,
        typer.Option(
            help="Draw scores against noise (figure 4) and epochs (figure 5), and ours against the paper's.",
            metavar="FOLDER",
        ),
    ] = None,
    scores: Annotated[
        str | None,
        typer.Option(
            help="Other scores of images: dropout_off, or chosen_epoch (on corrupted labels).",
            metavar="NAME",
            show_default="as published, dropout on, last epoch",
        ),
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print the summary as JSON, for programs.")] = False,
) -> None:
    """Put results beside the paper's, cell by cell, and say how well they agree.

    Example: [bold]symloss compare results/uci-matched --csv cells.csv --figures figures[/bold]
    """
    from symloss.paper.compare import compare as compare_with_paper
    from symloss.paper.compare import comparison_csv, summary_json
    from symloss.paper.files import write_whole

    scored = _scored(scores) if scores else ""
    folders = [_read_results(folder) for folder in dict.fromkeys(results)]
    of_results = [cell.scored(scores) if scores else cell for folder in folders for cell in folder.cells]
    cells = compare_with_paper(of_results)
    written = []
    if csv:
        write_whole(csv, comparison_csv(cells))
        written.append(csv)
    if markdown:
        from symloss.paper.markdown import comparison_markdown

        write_whole(markdown, comparison_markdown(cells, scored))
        written.append(markdown)
    if latex:
        from symloss.paper.latex import write_latex

        written += write_latex(latex, cells)
    if figures:
        from symloss.paper.figures import save_result_figures
        from symloss.paper.image_figures import save_epoch_figures

        written += [*save_result_figures(figures, cells), *save_epoch_figures(figures, of_results)]
    if as_json:
        damaged = [str(damaged) for folder in folders for damaged in folder.damaged]
        print(json.dumps(summary_json(cells) | {"damaged": damaged}, indent=2))
        return
    _print_comparison(of_results, cells)
    for path in written:
        print(f"wrote {path}")


def _scored(name: str) -> str:
    """Return what other scores of images are."""
    from symloss.paper.images import FURTHER_SCORES

    if name not in FURTHER_SCORES:
        raise ValueError(f"--scores must be of {', '.join(FURTHER_SCORES)}; got {name}")
    return FURTHER_SCORES[name]


def _read_results(folder: Path) -> Results:
    """Read a folder of results; name what is damaged on standard error, and fail if nothing else is there."""
    from symloss.paper.results import read_cells

    found = read_cells(folder)
    if not found.cells:
        if found.damaged:
            raise ValueError(f"{folder} holds no whole result: {'; '.join(map(str, found.damaged))}")
        inside = sorted(path.name for path in folder.iterdir() if path.is_dir() and any(path.glob("*_pi*_*.json")))
        hint = f"; its folders {', '.join(inside)} do" if inside else ""
        raise ValueError(f"{folder} holds no results (files such as spambase_pi0.65_0.45.json){hint}")
    for damaged in found.damaged:
        print("symloss: warning:", " ".join(str(damaged).split()), file=sys.stderr)
    return found


def _print_comparison(results: list[Cell], cells: list[ComparedCell]) -> None:
    from symloss.paper.terminal import print_comparison, print_summary

    console = _console()
    print_comparison(cells, console)
    print_summary(cells, console)
    configurations = {(cell.protocol or "unnamed", cell.trials, cell.seed) for cell in results}
    for protocol, trials, seed in sorted(configurations):
        print(f"protocol {protocol}, {trials} trials, seed {seed}")


def _find_loss(name: str, parameters: dict[str, float]) -> Loss:
    if ":" not in name:
        return get_loss(name, **parameters)
    module_name, _, attribute = name.partition(":")
    sys.path.insert(0, "")  # a module in the working directory, as with python -m
    try:
        found = getattr(importlib.import_module(module_name), attribute)
    except (Exception, SystemExit) as error:  # importing a user's module may raise anything
        raise ValueError(f"cannot import {name}: {type(error).__name__}: {error}") from error
    try:
        return get_loss(found, **parameters)
    except Exception as error:  # so may its constructor
        raise ValueError(f"cannot make a loss of {name}: {error}") from error


def _losses_table(paper: list[LossRow], further: list[LossRow]) -> Table:
    table = _table("loss", "l(z)", "f*(η)", "convex", "symmetric", "recovers η")
    table.title = "Table 1: losses and their properties"
    for rows in (paper, further):
        for row in rows:
            marks = ("[green]✓[/]" if mark else "[dim]×[/]" for mark in (row.convex, row.symmetric, row.recovers_eta))
            table.add_row(
                f"[bold]{row.title}[/]",
                row.formula,
                row.minimiser.replace("eta", "η"),
                *marks,
                end_section=row is rows[-1],
            )
    table.caption = (
        "Above the line: the paper's eight. f* for ramp, sigmoid and unhinged: outputs in [-1, 1].\n"
        "Barrier hinge with b = 200, r = 50: symmetric on [-50, 50]. Why each: symloss analyze NAME"
    )
    return table


def _dataset_json(record: DatasetInfo) -> dict[str, Any]:
    from symloss.datasets import where

    facts = {key: value for key, value in asdict(record).items() if key not in ("read", "generate")}
    return facts | {"where": where(record.name)}


def _datasets_table(records: list[DatasetInfo]) -> Table:
    from symloss.datasets import where

    table = _table("data set", "rows", "dim", "positive", "source", "licence", "here")
    for index in (1, 2, 3):
        table.columns[index].justify = "right"
    for record in records:
        here = " and ".join(where(record.name))
        table.add_row(
            f"[bold]{record.name}[/]",
            f"{record.rows:,}",
            str(record.dim),
            f"{record.positives / record.rows:.1%}",
            f"[link={record.source}]{record.publisher}[/link]",
            record.licence,
            f"[green]{here}[/]" if here else "[dim]no[/]",
        )
    table.caption = "To download and verify: symloss datasets NAME --fetch. Files at hand: SYMLOSS_DATA=FOLDER."
    return table


def _table(*columns: str) -> Table:
    from rich import box
    from rich.table import Table

    table = Table(box=box.SIMPLE_HEAD, title_justify="left", caption_justify="left", pad_edge=False)
    for column in columns:
        table.add_column(
            column, overflow="fold", justify="center" if column in ("convex", "symmetric", "recovers η") else "left"
        )
    return table


def _console() -> Any:
    from rich.console import Console

    return Console()


if __name__ == "__main__":
    app()
