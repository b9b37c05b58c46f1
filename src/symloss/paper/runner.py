"""The reproduction: cells of data set and noise, each run once and kept in a file, over several processes if asked."""

from __future__ import annotations

import importlib
import math
import sys
import time
import warnings
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

import torch
from filelock import FileLock

from symloss.losses import Loss
from symloss.paper.experiment import CellScores, label, run_cell
from symloss.paper.images import load_images, run_image_cell
from symloss.paper.protocol import (
    CIFAR10_PAIRS,
    IMAGE_TRIALS,
    IMAGES,
    NOISES,
    OBJECTIVES,
    PROTOCOLS,
    TRIALS,
    UCI_DATASETS,
    ImageSettings,
    Settings,
)
from symloss.paper.results import (
    Cell,
    Configuration,
    DamagedResult,
    Scores,
    cell_path,
    current_versions,
    read_cell,
    write_cell,
)

CHANCE = 50.0  # the score of a classifier that says nothing


def uci_cells(
    datasets: Sequence[str] = UCI_DATASETS,
    noises: Sequence[tuple[float, float]] = NOISES,
    trials: int = TRIALS,
    protocol: str = "matched",
    seed: int = 0,
) -> list[Configuration]:
    """Return the cells of the UCI and LIBSVM experiments, or of the same experiments on data sets of your own.

    Parameters
    ----------
    datasets : sequence of str
        Names of ``symloss.datasets``, or ``package.module:function`` for a function that returns X and y.
    noises : sequence of (pi, pi_prime)
    trials, seed : int
    protocol : {"matched", "printed"}

    Examples
    --------
    >>> cells = uci_cells(["twonorm"], trials=5)
    >>> len(cells), cells[0].dataset, cells[0].settings["weight_decay"]
    (4, 'twonorm', 0.05)
    """
    if protocol not in PROTOCOLS:
        raise ValueError(f"protocol must be one of {', '.join(PROTOCOLS)}, got {protocol!r}")
    for name in datasets:
        _check_dataset(name)
    return [
        Configuration(
            family="uci",
            dataset=name,
            pi=pi,
            pi_prime=pi_prime,
            trials=trials,
            seed=seed,
            protocol=protocol,
            settings=asdict(PROTOCOLS[protocol]),
        )
        for name in datasets
        for pi, pi_prime in noises
    ]


def image_cells(
    family: str,
    pairs: Sequence[str] = CIFAR10_PAIRS,
    noises: Sequence[tuple[float, float]] = NOISES,
    trials: int = IMAGE_TRIALS,
    seed: int = 0,
    settings: ImageSettings | None = None,
) -> list[Configuration]:
    """Return the cells of the MNIST or of the CIFAR-10 experiments.

    Parameters
    ----------
    family : {"mnist", "cifar10"}
    pairs : sequence of str
        Of CIFAR-10, the classes that airplanes are told from; MNIST has a single pair.
    noises : sequence of (pi, pi_prime)
    trials, seed : int
    settings : ImageSettings, optional
        Others than the paper's.

    Examples
    --------
    >>> len(image_cells("cifar10")), len(image_cells("mnist"))
    (36, 4)
    """
    if family not in IMAGES:
        raise ValueError(f"family must be one of {', '.join(IMAGES)}, got {family!r}")
    if family == "mnist":
        pairs = ["mnist"]
    elif unknown := [name for name in pairs if name not in CIFAR10_PAIRS]:
        raise ValueError(f"pairs must be of {', '.join(CIFAR10_PAIRS)}; got {', '.join(unknown)}")
    return [
        Configuration(
            family=family,
            dataset=name,
            pi=pi,
            pi_prime=pi_prime,
            trials=trials,
            seed=seed,
            protocol="matched" if settings is None else "other",
            settings=asdict(settings or IMAGES[family]),
        )
        for name in pairs
        for pi, pi_prime in noises
    ]


@dataclass(frozen=True)
class Outcome:
    """What became of a cell: run, found already done, or failed, and why.

    Examples
    --------
    >>> cell = uci_cells(["twonorm"], [(1, 0)])[0]
    >>> str(Outcome(cell, seconds=12.3)), str(Outcome(cell)), str(Outcome(cell, error="no file"))
    ('twonorm (1.0, 0.0): 12.3 s', 'twonorm (1.0, 0.0): done before', 'twonorm (1.0, 0.0): failed: no file')
    """

    configuration: Configuration
    seconds: float | None = None
    error: str | None = None

    def __str__(self) -> str:
        what = "done before" if self.seconds is None else f"{self.seconds:.1f} s"
        cell = self.configuration
        return f"{cell.dataset} ({cell.pi}, {cell.pi_prime}): {f'failed: {self.error}' if self.error else what}"


def run(
    folder: Path,
    configurations: Sequence[Configuration],
    losses: Sequence[Loss],
    objectives: Sequence[str] = OBJECTIVES,
    jobs: int = 1,
    device: str = "cpu",
    download: bool = True,
) -> Iterator[Outcome]:
    """Run the cells that are not yet in the folder, each into its file as soon as it is done, and yield each outcome.

    Stop it at any moment: what is finished is kept, and the next run goes on from there. A cell that lacks a loss or an
    objective is completed. A damaged file is reported, and its cell run again. A cell that fails stops no other.

    Parameters
    ----------
    folder : Path
    configurations : sequence of Configuration
    losses : sequence of Loss
        Built in or your own, with different labels.
    objectives : sequence of {"ber", "auc"}
    jobs : int
        Processes, through joblib: also on a cluster, inside ``joblib.parallel_config``.
    device : str
        Where to train; anything but the CPU takes the cells one after another.
    download : bool
        Whether data sets that are not here may be downloaded; without, twonorm and waveform are drawn.

    Examples
    --------
    >>> import tempfile
    >>> from symloss.losses import Unhinged
    >>> cells = uci_cells(["twonorm"], [(1.0, 0.0)], trials=1)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     first = list(run(Path(folder), cells, [Unhinged()], ["auc"]))
    ...     [outcome.seconds for outcome in run(Path(folder), cells, [Unhinged()], ["auc"])]
    [None]
    """
    from joblib import Parallel, delayed

    wanted = [label(loss) for loss in losses]
    if len(set(wanted)) < len(wanted):
        raise ValueError(f"losses must be different, got {', '.join(wanted)}")
    folder.mkdir(parents=True, exist_ok=True)
    missing = []
    for configuration in configurations:
        cell = _kept(folder, configuration)
        if cell is not None and all(name in cell.scores.get(risk, {}) for risk in objectives for name in wanted):
            yield Outcome(configuration)
        else:
            missing.append(configuration)
    # The longest first, so that no process is left with one at the end.
    missing.sort(key=lambda configuration: -_effort(configuration))
    tasks = (delayed(run_and_write)(folder, cell, losses, objectives, device, download) for cell in missing)
    yield from Parallel(n_jobs=jobs if device == "cpu" else 1, return_as="generator_unordered")(tasks)


def run_and_write(
    folder: Path,
    configuration: Configuration,
    losses: Sequence[Loss],
    objectives: Sequence[str],
    device: str = "cpu",
    download: bool = True,
) -> Outcome:
    """Run one cell, or what its file lacks of it, and write it; an error becomes the outcome.

    Examples
    --------
    >>> cell = uci_cells(["symloss.nowhere:load"], [(1, 0)])[0]
    >>> print(run_and_write(Path("unused"), cell, [], ["auc"], "cpu"))
    symloss.nowhere:load (1.0, 0.0): failed: cannot import symloss.nowhere:load: No module named 'symloss.nowhere'
    """
    start = time.perf_counter()
    threads = torch.get_num_threads()
    try:
        torch.set_num_threads(1)  # two are slower than one here, and there is a process a core
        path = cell_path(folder, configuration.dataset, configuration.pi, configuration.pi_prime)
        cell = _kept(folder, configuration, quietly=True)
        have = cell.scores if cell else {}
        lacking = [loss for loss in losses if not all(label(loss) in have.get(risk, {}) for risk in objectives)]
        found, source = _run(configuration, lacking, objectives, device, download, cell)
        seconds = time.perf_counter() - start
        new = Cell(
            **vars(configuration),
            scores=_or_chance(found.scores),
            curves=found.curves,
            further_scores={way: _or_chance(scores) for way, scores in found.further_scores.items()},
            further_curves=found.further_curves,
            versions=current_versions() | {"data": source},
            device=_device_name(device),
            seconds=round(seconds, 2),
        )
        with FileLock(path.with_name(f".{path.stem}.lock")):  # another run may have added to it meanwhile
            kept = _kept(folder, configuration, quietly=True)
            write_cell(folder, new if kept is None else _joined(kept, new))
    except Exception as error:  # a data set or a loss of the user's may raise anything; other cells go on
        what = str(error) if isinstance(error, ValueError | OSError) else f"{type(error).__name__}: {error}"
        return Outcome(configuration, time.perf_counter() - start, what)
    finally:
        torch.set_num_threads(threads)
    return Outcome(configuration, seconds)


def _run(
    configuration: Configuration,
    losses: Sequence[Loss],
    objectives: Sequence[str],
    device: str,
    download: bool,
    kept: Cell | None,
) -> tuple[CellScores, str]:
    """Run a cell for these losses, and return what was found and where the data is from."""
    cell = configuration
    noise = cell.pi, cell.pi_prime
    if cell.family in IMAGES:
        images = load_images(cell.family, cell.dataset, download)
        settings = ImageSettings(**cell.settings)
        found = run_image_cell(
            images, *noise, settings, losses, objectives, cell.trials, cell.seed, cell.dataset, device
        )
        return found, "official files"
    X, y, source = load_arrays(cell.dataset, download)
    if kept:
        _check_source(kept, source)
    scores = run_cell(
        X, y, *noise, losses, objectives, cell.trials, Settings(**cell.settings), cell.seed, cell.dataset, device
    )
    return CellScores(scores), source


def load_arrays(dataset: str, download: bool = True) -> tuple[Any, Any, str]:
    """Return X, y and where they are from: by name, or from a function given as ``package.module:function``.

    Examples
    --------
    >>> X, y, source = load_arrays("symloss.datasets:make_twonorm")
    >>> X.shape, source
    ((7400, 20), 'symloss.datasets:make_twonorm')
    """
    source = dataset
    if ":" not in dataset:
        from symloss.datasets import load

        found: Any = load(dataset, download=download)
        source = "generator" if "generator" in found.origin else "official files"
    else:
        module, _, function = dataset.partition(":")
        if "" not in sys.path:
            sys.path.insert(0, "")  # a module in the working directory, as with python -m
        try:
            found = getattr(importlib.import_module(module), function)()
        except (ImportError, AttributeError) as error:
            raise ValueError(f"cannot import {dataset}: {error}") from error
    if hasattr(found, "data") and hasattr(found, "target"):
        return found.data, found.target, source
    try:
        X, y = found
    except (TypeError, ValueError):
        raise ValueError(f"{dataset} must return X and y, got {type(found).__name__}") from None
    return X, y, source


def _check_dataset(name: str) -> None:
    from symloss.datasets import info

    if ":" not in name and info(name).splits:
        raise ValueError(f"{name} holds images, which perceptrons are not for")


def _effort(configuration: Configuration) -> float:
    """Return what a step costs, about: a product with d features, and all the rest; all pairs of images the same."""
    from symloss.datasets import info

    if configuration.family in IMAGES:
        return 0.0
    dataset = configuration.dataset
    return 60.0 + (info(dataset).dim if ":" not in dataset else 60)


def _joined(old: Cell, new: Cell) -> Cell:
    """Return a cell with the scores of both, and where each part was run."""
    _check_source(old, new.versions["data"])
    versions = {name: _both(old.versions.get(name, ""), version) for name, version in new.versions.items()}
    device, seconds = _both(old.device, new.device), round(old.seconds + new.seconds, 2)
    return replace(
        old,
        scores=_together(old.scores, new.scores),
        curves=_together(old.curves, new.curves),
        further_scores={way: _together(old.further_scores.get(way, {}), of) for way, of in new.further_scores.items()},
        further_curves={way: _together(old.further_curves.get(way, {}), of) for way, of in new.further_curves.items()},
        versions=versions,
        device=device,
        seconds=seconds,
    )


def _together(old: Scores, new: Scores) -> Scores:
    return {risk: {**old.get(risk, {}), **new.get(risk, {})} for risk in {**old, **new}}


def _check_source(cell: Cell, source: str) -> None:
    """Refuse to put scores on official files and on drawn points into one cell."""
    if (before := cell.versions.get("data", "an unknown source")) != source:
        raise ValueError(f"its file has scores on data from {before}, and the data is now from {source}")


def _both(old: str, new: str) -> str:
    return old if new in old.split("; ") else f"{old}; {new}"


def _kept(folder: Path, configuration: Configuration, quietly: bool = False) -> Cell | None:
    """Return the cell's file, or None; of another configuration, it is an error, for it is not ours to overwrite."""
    path = cell_path(folder, configuration.dataset, configuration.pi, configuration.pi_prime)
    if not path.exists():
        return None
    try:
        cell = read_cell(path)
    except DamagedResult as error:
        if not quietly:
            warnings.warn(f"{error}; its cell is run again", stacklevel=2)
        return None
    if cell.configuration != configuration:
        different = [key for key, value in vars(configuration).items() if getattr(cell, key) != value]
        raise ValueError(
            f"{path} holds results of another configuration ({', '.join(different)}); "
            "choose another folder, or remove it"
        )
    return cell


def _or_chance(scores: Scores) -> Scores:
    """Return scores with those of trainings that diverged, NaN, as what guessing gets."""
    found: dict[str, dict[str, list[float]]] = {}
    for risk, losses in scores.items():
        found[risk] = {}
        for name, values in losses.items():
            if diverged := sum(math.isnan(value) for value in values):
                text = f"{name} diverged in {diverged} of {len(values)} trials, which score {CHANCE:g}"
                warnings.warn(text, stacklevel=2)
            found[risk][name] = [CHANCE if math.isnan(value) else value for value in values]
    return found


def _device_name(device: str) -> str:
    return torch.cuda.get_device_name(device) if device.startswith("cuda") else device


__all__ = ["Outcome", "image_cells", "load_arrays", "run", "run_and_write", "uci_cells"]
