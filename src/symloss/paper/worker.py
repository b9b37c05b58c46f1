"""The work of one worker in the reproduction: it turns a configuration into a result, and writes no file."""

from __future__ import annotations

import math
import threading
import time
import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import Any

import torch

from symloss.losses import Loss
from symloss.losses.importing import import_named
from symloss.paper.experiment import run_trials
from symloss.paper.images import load_images, run_image_trials
from symloss.paper.protocol import IMAGES, ImageSettings, Settings
from symloss.paper.results import PUBLISHED, Configuration, Result, Scored, Scores, current_versions

Progress = Callable[[int, int], None]
CHANCE = 50.0  # the score of random guessing
_ONE_AT_A_TIME = threading.Lock()  # a Dask worker may have several threads, but a task needs a whole core or GPU


@dataclass(frozen=True)
class Task:
    """What a worker is told: a configuration, the losses that its file lacks, and the source of the data in that file.

    Examples
    --------
    >>> one = Configuration(family="uci", dataset="twonorm", pi=1, pi_prime=0, trials=20)
    >>> Task(one, losses=[], risks=["auc"]).device
    'cpu'
    """

    configuration: Configuration
    losses: Sequence[Loss]
    risks: Sequence[str]
    device: str = "cpu"
    download: bool = True
    source: str | None = None


def run_task(task: Task, progress: Progress | None = None) -> Result | str:
    """Run a task in a worker, and return the result, or a text that says what went wrong.

    Examples
    --------
    >>> one = Configuration(family="uci", dataset="symloss.nowhere:load", pi=1, pi_prime=0, trials=20)
    >>> run_task(Task(one, [], ["auc"]))
    "cannot import symloss.nowhere:load: No module named 'symloss.nowhere'"
    """
    with _ONE_AT_A_TIME:
        start = time.perf_counter()
        try:
            ways, source = _run(task, progress)
            published = ways.pop(PUBLISHED)
            return Result(
                **vars(task.configuration),
                scores=_or_chance(published.scores),
                curves=published.curves,
                errors=published.errors,
                further={way: replace(of, scores=_or_chance(of.scores, warn=False)) for way, of in ways.items()},
                versions=current_versions() | {"data": source},
                device=_device_name(task.device),
                seconds=round(time.perf_counter() - start, 2),
                finished=datetime.now(tz=UTC).isoformat(timespec="seconds"),
            )
        except Exception as error:  # a user's data set or loss may raise any error; other tasks go on
            return str(error) if isinstance(error, ValueError | OSError) else f"{type(error).__name__}: {error}"


def _run(task: Task, progress: Progress | None) -> tuple[dict[str, Scored], str]:
    """Run the trials of a task, and return their scores in every way, and the source of the data."""
    of, losses, risks, device = task.configuration, task.losses, task.risks, task.device
    noise = of.pi, of.pi_prime
    if of.family in IMAGES:
        images = load_images(of.family, of.dataset, task.download)
        settings = ImageSettings(**of.settings)
        found = run_image_trials(
            images, *noise, settings, losses, risks, of.trials, of.seed, of.dataset, device,
            progress=None if progress is None else lambda done: progress(done, settings.epochs),
        )  # fmt: skip
        return found, "official files"
    X, y, source = load_arrays(of.dataset, task.download)
    if task.source is not None:
        check_source(task.source, source)
    scores = run_trials(X, y, *noise, losses, risks, of.trials, Settings(**of.settings), of.seed, of.dataset, device)
    return {PUBLISHED: Scored(scores=scores)}, source


def check_images(task: Task) -> None:
    """Raise an error if the images of a task cannot be loaded, so that this is reported once and not for every task.

    Examples
    --------
    >>> check_images(Task(Configuration(family="cifar10", dataset="car", pi=1, pi_prime=0, trials=10), [], ["auc"]))
    Traceback (most recent call last):
    ValueError: unknown class 'car' of CIFAR-10; its classes: airplane, automobile, ...
    """
    if task.configuration.family in IMAGES:
        load_images(task.configuration.family, task.configuration.dataset, task.download)


def load_arrays(dataset: str, download: bool = True) -> tuple[Any, Any, str]:
    """Return X, y and their source, for a data set's name or for a function given as ``package.module:function``.

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
        try:
            found = import_named(dataset)()
        except (ImportError, AttributeError) as error:
            raise ValueError(f"cannot import {dataset}: {error}") from error
    if hasattr(found, "data") and hasattr(found, "target"):
        return found.data, found.target, source
    try:
        X, y = found
    except (TypeError, ValueError):
        raise ValueError(f"{dataset} must return X and y, got {type(found).__name__}") from None
    return X, y, source


def check_source(before: str, source: str, where: str = "its file") -> None:
    """Raise an error if scores on data from different sources (such as files and a generator) would be mixed.

    Examples
    --------
    >>> check_source("official files", "generator")
    Traceback (most recent call last):
    ValueError: its file has scores on data from official files, and the data is now from generator
    """
    if before != source:
        raise ValueError(f"{where} has scores on data from {before}, and the data is now from {source}")


def _or_chance(scores: Scores, warn: bool = True) -> Scores:
    """Return scores in which NaN, from a training that diverged, is replaced by the score of random guessing."""
    found: dict[str, dict[str, list[float]]] = {}
    for risk, losses in scores.items():
        found[risk] = {}
        for name, values in losses.items():
            if warn and (diverged := sum(math.isnan(value) for value in values)):
                text = f"{name} diverged in {diverged} of {len(values)} trials, which score {CHANCE:g}"
                warnings.warn(text, stacklevel=2)
            found[risk][name] = [CHANCE if math.isnan(value) else value for value in values]
    return found


def _device_name(device: str) -> str:
    return torch.cuda.get_device_name(device) if device.startswith("cuda") else device


__all__ = ["Progress", "Task", "check_images", "check_source", "load_arrays", "run_task"]
