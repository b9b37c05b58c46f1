"""The reproduction: it runs data sets at noise rates, on several machines if asked, and keeps each result in a file.

Workers get a configuration, read the data set by its name, and send the scores back. Only the process that started
them writes files. So workers need no shared disk, and a result that was computed twice is written once.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from functools import partial
from itertools import count
from pathlib import Path
from typing import Any

from filelock import FileLock

from symloss.functional import RISKS
from symloss.losses import Loss
from symloss.machines import completed
from symloss.paper.experiment import label
from symloss.paper.protocol import (
    CIFAR10_PAIRS,
    IMAGE_TRIALS,
    IMAGES,
    NOISES,
    PROTOCOLS,
    TRIALS,
    UCI_DATASETS,
    ImageSettings,
)
from symloss.paper.results import (
    Configuration,
    DamagedResult,
    Result,
    Scored,
    Scores,
    read_result,
    result_path,
    write_result,
)
from symloss.paper.worker import Progress, Task, check_images, check_source, run_task


def uci_configurations(
    datasets: Sequence[str] = UCI_DATASETS,
    noises: Sequence[tuple[float, float]] = NOISES,
    trials: int = TRIALS,
    protocol: str = "matched",
    seed: int = 0,
) -> list[Configuration]:
    """Return the configurations of the UCI and LIBSVM experiments, or of the same experiments on data sets of your own.

    Parameters
    ----------
    datasets : sequence of str
        Names of ``symloss.datasets``, or ``package.module:function`` for a function that returns X and y.
    noises : sequence of (pi, pi_prime)
    trials, seed : int
    protocol : {"matched", "printed"}

    Examples
    --------
    >>> found = uci_configurations(["twonorm"], trials=5)
    >>> len(found), found[0].dataset, found[0].settings["weight_decay"]
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


def image_configurations(
    family: str,
    pairs: Sequence[str] = CIFAR10_PAIRS,
    noises: Sequence[tuple[float, float]] = NOISES,
    trials: int = IMAGE_TRIALS,
    seed: int = 0,
    settings: ImageSettings | None = None,
    protocol: str = "matched",
) -> list[Configuration]:
    """Return the configurations of the MNIST or of the CIFAR-10 experiments.

    Parameters
    ----------
    family : {"mnist", "cifar10"}
    pairs : sequence of str
        For CIFAR-10, the classes to be told apart from airplanes; MNIST has a single pair.
    noises : sequence of (pi, pi_prime)
    trials, seed : int
    settings : ImageSettings, optional
        Settings to use instead of the protocol's.
    protocol : {"matched", "printed"}
        The settings that match the paper's numbers, or those that it prints. They differ for MNIST only.

    Examples
    --------
    >>> len(image_configurations("cifar10")), len(image_configurations("mnist"))
    (36, 4)
    """
    if family not in IMAGES:
        raise ValueError(f"family must be one of {', '.join(IMAGES)}, got {family!r}")
    known = CIFAR10_PAIRS if family == "cifar10" else ("mnist",)
    if family == "mnist":
        pairs = known
    if protocol not in IMAGES[family]:
        raise ValueError(f"protocol must be one of {', '.join(IMAGES[family])}, got {protocol!r}")
    if unknown := [name for name in pairs if name not in known]:
        raise ValueError(f"pairs must be of {', '.join(known)}; got {', '.join(unknown)}")
    return [
        Configuration(
            family=family,
            dataset=name,
            pi=pi,
            pi_prime=pi_prime,
            trials=trials,
            seed=seed,
            protocol=protocol if settings is None else "other",
            settings=_stored(settings or IMAGES[family][protocol]),
        )
        for name in pairs
        for pi, pi_prime in noises
    ]


def _stored(settings: ImageSettings) -> dict[str, Any]:
    """Return settings as result files store them: those with all pairs are older than the choice of pairs."""
    content = asdict(settings)
    return content if settings.one_by_one else {name: of for name, of in content.items() if name != "one_by_one"}


@dataclass(frozen=True)
class Outcome:
    """What became of a configuration: run, found already done, or failed, and why.

    Examples
    --------
    >>> one = uci_configurations(["twonorm"], [(1, 0)])[0]
    >>> str(Outcome(one, seconds=12.3)), str(Outcome(one)), str(Outcome(one, error="no file"))
    ('twonorm (1.0, 0.0): 12.3 s', 'twonorm (1.0, 0.0): done before', 'twonorm (1.0, 0.0): failed: no file')
    """

    configuration: Configuration
    seconds: float | None = None
    error: str | None = None

    def __str__(self) -> str:
        what = "done before" if self.seconds is None else f"{self.seconds:.1f} s"
        of = self.configuration
        return f"{of.dataset} ({of.pi}, {of.pi_prime}): {f'failed: {self.error}' if self.error else what}"


def run(
    folder: Path,
    configurations: Sequence[Configuration],
    losses: Sequence[Loss],
    risks: Sequence[str] = RISKS,
    jobs: int | None = None,
    device: str = "cpu",
    download: bool = True,
    progress: Progress | None = None,
    replace_damaged: bool = False,
) -> Iterator[Outcome]:
    """Run the configurations that the folder lacks, write each result when it is done, and yield every outcome.

    You can stop it at any moment: what is finished is kept, and the next run continues from there. A result that lacks
    a loss or a risk is completed. A file that cannot be read, because it is damaged, protected, or from a newer
    version, is reported and left as it is. If a configuration fails, the others go on.

    Parameters
    ----------
    folder : Path
    configurations : sequence of Configuration
    losses : sequence of Loss
        Built in or your own, with different labels.
    risks : sequence of {"ber", "auc"}
    jobs : int, optional
        Number of processes (joblib); on a cluster inside ``symloss.machines.cluster`` or ``joblib.parallel_config``.
    device : str
        Where to train. A device other than the CPU runs one configuration after another.
    download : bool
        Whether missing data sets may be downloaded; if not, twonorm and waveform are generated.
    progress : callable, optional
        For images, which must then run in this process: called with the number of epochs done and the number in all.
    replace_damaged : bool
        Whether to run configurations again whose file cannot be read. The old file is kept under another name.

    Examples
    --------
    >>> import tempfile
    >>> from symloss.losses import Unhinged
    >>> wanted = uci_configurations(["twonorm"], [(1.0, 0.0)], trials=1)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     first = list(run(Path(folder), wanted, [Unhinged()], ["auc"]))
    ...     [outcome.seconds for outcome in run(Path(folder), wanted, [Unhinged()], ["auc"])]
    [None]
    """
    wanted = [label(loss) for loss in losses]
    if len(set(wanted)) < len(wanted):
        raise ValueError(f"losses must be different, got {', '.join(wanted)}")
    tasks = []
    for configuration in configurations:
        try:
            kept = _kept(folder, configuration)
        except DamagedResult as error:
            if not replace_damaged:
                advice = "it is left as it is, and not run again; --replace-damaged would keep it under another name"
                yield Outcome(configuration, error=f"{error}; {advice}")
                continue
            kept = None
        task = _task(configuration, kept, losses, risks, device, download)
        if task.losses:
            tasks.append(task)
        else:
            yield Outcome(configuration)
    # The longest first, so that no process is left with a long one at the end.
    tasks.sort(key=lambda task: -_effort(task.configuration))
    if tasks:
        check_images(tasks[0])
        folder.mkdir(parents=True, exist_ok=True)  # if it cannot be written, this is said before the work
    sources: dict[str, str] = {}
    work = partial(run_task, progress=progress) if progress else run_task
    for k, result in completed(work, [(task,) for task in tasks], jobs if device == "cpu" else 1):
        yield _written(folder, tasks[k].configuration, result, sources, replace_damaged)


def _task(
    configuration: Configuration,
    kept: Result | None,
    losses: Sequence[Loss],
    risks: Sequence[str],
    device: str,
    download: bool,
) -> Task:
    have = kept.scores if kept else {}
    lacking = [loss for loss in losses if not all(label(loss) in have.get(risk, {}) for risk in risks)]
    return Task(configuration, lacking, risks, device, download, _source(kept) if kept else None)


def _written(
    folder: Path,
    configuration: Configuration,
    result: Result | str,
    sources: dict[str, str],
    replace_damaged: bool,
) -> Outcome:
    """Write a result that a worker sent, and return its outcome; ``sources`` holds each data set's source so far."""
    if not isinstance(result, Result):
        return Outcome(configuration, error=result)
    try:
        check_source(sources.setdefault(configuration.dataset, _source(result)), _source(result), "another result")
        path = result_path(folder, configuration.dataset, configuration.pi, configuration.pi_prime)
        with FileLock(path.with_name(f".{path.stem}.lock")):  # another run may have added to it meanwhile
            try:
                kept = _kept(folder, configuration)
            except DamagedResult as error:
                if not replace_damaged:
                    there = write_result(folder / "unmerged", result)
                    return Outcome(configuration, result.seconds, f"{error}; the new scores are in {there}")
                kept = None
                path.rename(_beside(path))
            write_result(folder, result if kept is None else _joined(kept, result))
    except (ValueError, OSError) as error:
        return Outcome(configuration, result.seconds, str(error))
    return Outcome(configuration, result.seconds)


def _check_dataset(name: str) -> None:
    from symloss.datasets import info

    if ":" not in name and info(name).splits:
        raise ValueError(f"{name} holds images, and perceptrons are not for images")


def _effort(configuration: Configuration) -> float:
    """Return the approximate cost of a step: a fixed part plus one part per feature; images all cost the same."""
    from symloss.datasets import info

    if configuration.family in IMAGES:
        return 0.0
    dataset = configuration.dataset
    return 60.0 + (info(dataset).dim if ":" not in dataset else 60)


def _joined(old: Result, new: Result) -> Result:
    """Return one result with the scores of both, and with the versions and devices of both."""
    check_source(_source(old), _source(new))
    versions = {**old.versions, **{name: _both(old.versions.get(name, ""), of) for name, of in new.versions.items()}}
    device, seconds = _both(old.device, new.device), round(old.seconds + new.seconds, 2)
    published = _together(old, new)
    return replace(
        old,
        scores=published.scores,
        curves=published.curves,
        errors=published.errors,
        further={
            way: _together(old.further.get(way, Scored()), new.further.get(way, Scored()))
            for way in {**new.further, **old.further}
        },
        versions=versions,
        device=device,
        seconds=seconds,
        finished=new.finished,
    )


def _together(old: Scored, new: Scored) -> Scored:
    def both(before: Scores, after: Scores) -> Scores:
        return {risk: {**before.get(risk, {}), **after.get(risk, {})} for risk in {**before, **after}}

    return Scored(
        scores=both(old.scores, new.scores), curves=both(old.curves, new.curves), errors=both(old.errors, new.errors)
    )


def _source(result: Result) -> str:
    return result.versions.get("data", "an unknown source")


def _both(old: str, new: str) -> str:
    return old if new in old.split("; ") else f"{old}; {new}"


def _beside(path: Path) -> Path:
    """Return a name for a damaged file that no file has yet, and that is not taken for a result."""
    names = (path.with_name(f"{path.name}.damaged{number}") for number in count(1))
    return next(name for name in names if not name.exists())


def _kept(folder: Path, configuration: Configuration) -> Result | None:
    """Return the result in the folder, or None; if it is of another configuration, raise an error and keep the file."""
    path = result_path(folder, configuration.dataset, configuration.pi, configuration.pi_prime)
    if not path.exists():
        return None
    result = read_result(path)
    if result.configuration != configuration:
        different = [key for key, value in vars(configuration).items() if getattr(result, key) != value]
        raise ValueError(
            f"{path} holds results of another configuration ({', '.join(different)}); "
            "choose another folder, or remove it"
        )
    return result


__all__ = ["Outcome", "Progress", "image_configurations", "run", "uci_configurations"]
