"""The commands ``reproduce uci``, ``reproduce cifar10`` and ``reproduce mnist``."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from symloss.cli.application import follow, new_console
from symloss.cli.options import check_device, find_loss, listed, noise_rate, risk_names

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from symloss.paper.run import Outcome


Risks = Annotated[str, typer.Option("--risks", "--objectives", help="Risks to minimize.", metavar="NAME,...")]


reproduce = typer.Typer(
    help="Run the paper's experiments. Finished results are kept, and a second run continues from there."
)


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
    risks: Risks = "ber,auc",
    losses: Annotated[
        str | None,
        typer.Option(help="Losses, or package.module:MyLoss.", metavar="NAME,...", show_default="the paper's seven"),
    ] = None,
    trials: Annotated[int, typer.Option(help="How often the corrupted data are drawn.", min=1)] = 20,
    protocol: Annotated[
        str, typer.Option(help="matched: with a weight decay that the paper does not print; printed: without it.")
    ] = "matched",
    jobs: Annotated[int, typer.Option(help="How many processes of this machine; -1 means one per core.")] = -1,
    backend: Annotated[
        str, typer.Option(help="Where work runs: loky (this machine), dask or ray.", metavar="NAME")
    ] = "loky",
    scheduler_address: Annotated[
        str | None,
        typer.Option(
            help="Address of a running cluster: tcp://host:8786 (Dask), ray://host:10001 or auto (Ray).",
            metavar="ADDRESS",
            show_default="a cluster of --jobs processes here",
        ),
    ] = None,
    device: Annotated[str, typer.Option(help="cpu, or cuda to train all trials of a cell at once.")] = "cpu",
    seed: Annotated[int, typer.Option(help="Seed of all draws.", min=0)] = 0,
    download: Annotated[
        bool, typer.Option(help="Download missing data sets. If not allowed, twonorm and waveform are drawn.")
    ] = True,
    out: Annotated[
        Path | None, typer.Option(help="Folder for the results.", metavar="FOLDER", show_default="results/uci-PROTOCOL")
    ] = None,
) -> None:
    """Run the UCI and LIBSVM experiments, and say how well they agree with the paper.

    Example: [bold]symloss reproduce uci --datasets twonorm,waveform --trials 5[/bold]
    """
    from symloss.machines import cluster
    from symloss.paper.protocol import LOSSES, NOISES, UCI_DATASETS
    from symloss.paper.run import plan, run

    names = listed(datasets) if datasets is not None else UCI_DATASETS
    noises = [noise_rate(pair) for pair in noise] if noise else NOISES
    chosen = [find_loss(name, {}) for name in listed(losses)] if losses is not None else LOSSES
    check_device(device)
    named = risk_names(risks)
    planned = plan("uci", protocol, trials, seed)
    parts = [(name, *rates) for name in names for rates in noises]
    folder = out or Path("results") / f"uci-{protocol}"
    with cluster(backend, scheduler_address, jobs):
        _finish(folder, lambda _: run(folder, planned, parts, chosen, named, None, device, download), len(parts))


ImageNoise = Annotated[
    list[str] | None,
    typer.Option("--noise", help="A noise rate pi,pi'; may be repeated.", metavar="PI,PI'", show_default="all four"),
]


ImageLosses = Annotated[
    str | None,
    typer.Option(help="Losses, or package.module:MyLoss.", metavar="NAME,...", show_default="the paper's seven"),
]


ImageTrials = Annotated[int, typer.Option(help="How often the corrupted data are drawn.", min=1)]


ImageDevice = Annotated[str, typer.Option(help="cuda, or cpu, which takes a day or more per cell.")]


Seed = Annotated[int, typer.Option(help="Seed of all draws.", min=0)]


Download = Annotated[bool, typer.Option(help="Download missing images.")]


@reproduce.command("cifar10")
def reproduce_cifar10(
    pairs: Annotated[
        str | None,
        typer.Option(help="Classes to compare airplanes with.", metavar="NAME,...", show_default="all nine"),
    ] = None,
    noise: ImageNoise = None,
    risks: Risks = "ber,auc",
    losses: ImageLosses = None,
    trials: ImageTrials = 10,
    device: ImageDevice = "cuda",
    seed: Seed = 0,
    download: Download = True,
    out: Annotated[Path, typer.Option(help="Folder for the results.", metavar="FOLDER")] = Path("results/cifar10"),
) -> None:
    """Run the CIFAR-10 experiments, airplanes against another class, and say how well they agree with the paper.

    Example: [bold]symloss reproduce cifar10 --pairs horse --noise 0.65,0.45[/bold]
    """
    from symloss.paper.protocol import CIFAR10_PAIRS

    names = listed(pairs) if pairs is not None else CIFAR10_PAIRS
    _reproduce_images("cifar10", names, noise, risks, losses, trials, device, seed, download, out)


@reproduce.command("mnist")
def reproduce_mnist(
    noise: ImageNoise = None,
    risks: Risks = "ber,auc",
    losses: ImageLosses = None,
    trials: ImageTrials = 10,
    device: ImageDevice = "cuda",
    seed: Seed = 0,
    protocol: Annotated[
        str,
        typer.Option(help="matched: AUC pairs one by one, as the numbers say; printed: all pairs, as the paper says."),
    ] = "matched",
    download: Download = True,
    out: Annotated[
        Path | None,
        typer.Option(help="Folder for the results.", metavar="FOLDER", show_default="results/mnist-PROTOCOL"),
    ] = None,
) -> None:
    """Run the MNIST experiments, even against odd digits, and say how well they agree with the paper.

    Example: [bold]symloss reproduce mnist --noise 1,0[/bold]
    """
    folder = out or Path("results") / f"mnist-{protocol}"
    _reproduce_images("mnist", ["mnist"], noise, risks, losses, trials, device, seed, download, folder, protocol)


def _reproduce_images(
    family: str,
    pairs: Sequence[str],
    noise: list[str] | None,
    risks: str,
    losses: str | None,
    trials: int,
    device: str,
    seed: int,
    download: bool,
    folder: Path,
    protocol: str = "matched",
) -> None:
    from symloss.paper.protocol import LOSSES, NOISES
    from symloss.paper.run import plan, run

    noises = [noise_rate(pair) for pair in noise] if noise else NOISES
    chosen = [find_loss(name, {}) for name in listed(losses)] if losses is not None else LOSSES
    planned = plan(family, protocol, trials, seed)
    parts = [(name, *rates) for name in pairs for rates in noises]
    named = risk_names(risks)
    check_device(device)
    _finish(
        folder,
        lambda progress: run(folder, planned, parts, chosen, named, 1, device, download, progress),
        len(parts),
    )


def _finish(folder: Path, start: Callable[[Callable[[int, int], None]], Iterable[Outcome]], total: int) -> None:
    """Show the progress of a run until its end, and print how well its results agree with the paper."""
    failed = follow(start, total)
    if failed < total:
        from symloss.paper.compare import compare
        from symloss.paper.results import read_run
        from symloss.paper.terminal import print_summary

        print_summary(compare([read_run(folder)]), new_console())
        print(f"all tables: symloss compare {folder}")
    if failed:
        raise typer.Exit(1)
