"""The reproduction: it runs data sets at noise rates, in several processes if asked, and keeps what is finished.

Workers get the name of a data set, read it, and send the scores back; only the process that started them writes files.
"""

from __future__ import annotations

import math
import time
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import nullcontext
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import torch
from torch import Tensor

from symloss import metrics
from symloss.corruption import contaminated_split
from symloss.datasets import info, load
from symloss.functional import RISKS
from symloss.losses import Loss, import_named
from symloss.machines import completed, one_thread
from symloss.paper.images import load_images, run_image_trials
from symloss.paper.perceptrons import Risk, train
from symloss.paper.results import (
    CHANCE,
    CIFAR10_PAIRS,
    LOSSES,
    MATCHED,
    PROTOCOLS,
    SCORES,
    TRIALS,
    ImageSettings,
    Run,
    Settings,
    check_same,
    label,
    provenance,
    read_run,
    tidy,
    trial_generators,
    write_run,
)  # fmt: skip

_METRICS = {"ber": metrics.balanced_accuracy, "auc": metrics.auc}


class Part(NamedTuple):
    """A part of a run: one data set at one noise rate, with all its losses and risks."""

    dataset: str
    pi: float
    pi_prime: float


class Outcome(NamedTuple):
    """What became of a part: run in some seconds, found already done, or failed, and why."""

    part: Part
    seconds: float | None = None
    error: str | None = None

    def __str__(self) -> str:
        what = "done before" if self.seconds is None else f"{self.seconds:.1f} s"
        name, *noise = self.part
        return f"{name} ({noise[0]}, {noise[1]}): {f'failed: {self.error}' if self.error else what}"


def plan(family: str, protocol: str = "matched", trials: int | None = None, seed: int = 0) -> Run:
    """Return the settings of the paper's experiments on ``uci`` (or your own data sets), ``mnist`` or ``cifar10``."""
    known = PROTOCOLS[family]
    if protocol not in known:
        raise ValueError(f"protocol must be one of {', '.join(known)}, got {protocol!r}")
    settings = asdict(known[protocol])
    return Run(family=family, protocol=protocol, trials=trials or TRIALS[family], seed=seed, settings=settings)


def run(
    folder: Path,
    planned: Run,
    parts: Sequence[tuple[str, float, float]],
    losses: Sequence[Loss] = LOSSES,
    risks: Sequence[str] = RISKS,
    jobs: int | None = None,
    device: str = "cpu",
    download: bool = True,
    progress: Callable[[int, int], None] | None = None,
) -> Iterator[Outcome]:
    """Run the parts that the folder lacks, write the scores of each when it is done, and yield every outcome.

    You can stop it at any moment: what is finished is kept, and the next run continues from there. A part that lacks a
    loss or a risk is completed. If a part fails, the others go on.

    Parts are (data set, pi, pi_prime): data sets are names of ``symloss.datasets``, or ``package.module:function`` for
    a function that returns X and y; for CIFAR-10, the classes to be told apart from airplanes. Without ``download``,
    missing twonorm and waveform are generated. ``progress``, for images, which must then run in this process, is called
    with the number of epochs done and the number in all.
    """
    names = [label(loss) for loss in losses]
    if len(set(names)) < len(names):
        raise ValueError(f"losses must be different, got {', '.join(names)}")
    for dataset, _, _ in parts:
        _check(planned.family, dataset)
    there = read_run(folder) if (folder / SCORES).exists() else planned
    check_same(folder, there, planned)
    tasks: list[tuple[Part, list[Loss]]] = []
    for part in map(Part._make, parts):
        lacking = there.lacking(*part, risks, names)
        if lacking:
            tasks.append((part, [loss for loss, name in zip(losses, names, strict=True) if name in lacking]))
        else:
            yield Outcome(part)
    if tasks and planned.family != "uci":
        load_images(planned.family, tasks[0][0].dataset, download)  # if it fails, this is said once
    calls = [(planned, *task, risks, device, download, progress) for task in tasks]
    for k, found in completed(run_part, calls, jobs if device == "cpu" else 1):
        part = tasks[k][0]
        if isinstance(found, str):
            yield Outcome(part, error=found)
            continue
        try:
            write_run(folder, found)
            yield Outcome(part, found.made[0]["seconds"])
        except (ValueError, OSError) as error:
            yield Outcome(part, error=str(error))


def run_part(
    planned: Run,
    part: Part,
    losses: Sequence[Loss],
    risks: Sequence[str] = RISKS,
    device: str = "cpu",
    download: bool = True,
    progress: Callable[[int, int], None] | None = None,
) -> Run | str:
    """Run one part in this process, and return its results, or a text that says what went wrong."""
    start, trials, seed = time.perf_counter(), planned.trials, planned.seed
    curves = None
    try:
        if planned.family == "uci":
            X, y, source = load_arrays(part.dataset, download)
            settings = Settings(**planned.settings)
            values = run_trials(X, y, *part[1:], losses, risks, trials, settings, seed, part.dataset, device)
        else:
            of = ImageSettings(**planned.settings)
            images, source = load_images(planned.family, part.dataset, download), "official files"
            follow = None if progress is None else lambda done: progress(done, of.epochs)
            values, by_epoch = run_image_trials(
                images, *part[1:], of, losses, risks, trials, seed, part.dataset, device, progress=follow
            )
            curves = tidy(by_epoch, "epoch", *part)
        for (_, loss), ways in values.items():
            if diverged := sum(map(math.isnan, ways["score"])):
                text = f"{loss} diverged in {diverged} of {trials} trials, which score {CHANCE:g}"
                warnings.warn(text, stacklevel=2)
        scores = tidy(values, "trial", *part).fillna(CHANCE)
        made = provenance(*part, source, device, time.perf_counter() - start)
        return replace(planned, scores=scores, curves=curves, made=[made])
    except Exception as error:  # a user's data set or loss may raise any error; other parts go on
        return str(error) if isinstance(error, ValueError | OSError) else f"{type(error).__name__}: {error}"


def run_trials(
    X: Any,
    y: Any,
    pi: float,
    pi_prime: float,
    losses: Sequence[Loss] = LOSSES,
    risks: Sequence[str] = RISKS,
    trials: int = TRIALS["uci"],
    settings: Settings = MATCHED,
    seed: int = 0,
    name: str = "",
    device: str | torch.device = "cpu",
) -> dict[tuple[str, str], dict[str, list[float]]]:
    """Train on corrupted samples of a data set, and return the scores on clean test points.

    A trial is determined by seed, name, pi, pi_prime and its number, and by nothing else: all losses and risks share
    its sample, initial weights and batches.
    Returns ``{(risk, loss): {"score": [score of each trial]}}``: balanced accuracy for ``"ber"`` and AUC for ``"auc"``,
    0 to 100, ties and scores of zero counted as one half; NaN where a loss made the training diverge.
    """
    if np.ndim(X) != 2 or not np.isfinite(np.asarray(X, dtype=np.float64)).all():
        what = "of shape " + str(np.shape(X)) if np.ndim(X) != 2 else "with NaN or infinity"
        raise ValueError(f"X must be a table (n, d) of finite numbers, got one {what}")
    sizes = {of: getattr(settings, of) for of in ("n_positive", "n_negative", "n_test")}
    drawn, generators = [], []
    for trial in range(trials):
        of_draw, of_training, _ = trial_generators(seed, name, pi, pi_prime, trial)
        X_train, y_train, X_test, y_test = contaminated_split(
            X, y, pi=pi, pi_prime=pi_prime, random_state=of_draw, **sizes
        )
        drawn.append((*standardized(X_train, X_test), torch.as_tensor(y_train), torch.as_tensor(y_test)))
        generators.append(of_training)
    on = torch.device(device)
    X_train, X_test, y_train, y_test = (torch.stack(part) for part in zip(*drawn, strict=True))
    found = {}
    with one_thread() if on.type == "cpu" else nullcontext():
        both = [(risk, loss) for risk in risks for loss in losses]
        trained = train(X_train.to(on), y_train, [Risk(*of) for of in both], generators, settings)
        X_test = X_test.to(on)
        for j, (risk, loss) in enumerate(both):
            of_trials = trained.part(slice(j * trials, (j + 1) * trials)).scores(X_test).cpu()
            measured = [
                math.nan if scores.isnan().any() else 100 * _METRICS[risk](scores, labels)
                for scores, labels in zip(of_trials, y_test, strict=True)
            ]
            found[risk, label(loss)] = {"score": measured}
    return found


def standardized(X_train: Any, X_test: Any) -> tuple[Tensor, Tensor]:
    """Return both in float32, with each feature shifted and scaled to mean 0 and variance 1 on the training points.

    A feature that is constant there is only shifted.
    """
    train, test = (np.asarray(part, dtype=np.float64) for part in (X_train, X_test))
    mean, scale = train.mean(0), train.std(0)
    scale[train.max(0) == train.min(0)] = 1.0  # rounding can give a constant feature a tiny deviation
    first, second = (torch.from_numpy(((part - mean) / scale).astype(np.float32)) for part in (train, test))
    return first, second


def load_arrays(dataset: str, download: bool = True) -> tuple[Any, Any, str]:
    """Return X, y and their source, for a data set's name or for a function given as ``package.module:function``."""
    if ":" not in dataset:
        found: Any = load(dataset, download=download)
        return found.data, found.target, "generator" if "generator" in found.origin else "official files"
    try:
        found = import_named(dataset)()
    except (ImportError, AttributeError) as error:
        raise ValueError(f"cannot import {dataset}: {error}") from error
    if hasattr(found, "data") and hasattr(found, "target"):
        return found.data, found.target, dataset
    try:
        X, y = found
    except (TypeError, ValueError):
        raise ValueError(f"{dataset} must return X and y, got {type(found).__name__}") from None
    return X, y, dataset


def _check(family: str, dataset: str) -> None:
    """Raise ValueError if a data set is unknown, or not for this family."""
    known = {"cifar10": CIFAR10_PAIRS, "mnist": ("mnist",)}.get(family)
    if known and dataset not in known:
        raise ValueError(f"pairs must be of {', '.join(known)}; got {dataset}")
    if not known and dataset in ("mnist", "cifar10"):
        raise ValueError(f"{dataset} holds images, and perceptrons are not for images")
    if family == "uci" and ":" not in dataset:
        info(dataset)  # raises if there is no such data set
