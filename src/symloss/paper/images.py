"""The trials of the MNIST and CIFAR-10 experiments: two classes at a noise rate, every loss and risk."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor
from torch.nn import functional as F  # noqa: N812

from symloss.corruption import contaminate
from symloss.functional import RISKS
from symloss.losses import Loss
from symloss.paper.networks import Architecture, train_networks
from symloss.paper.perceptrons import Risk
from symloss.paper.results import CHANCE, LOSSES, TRIALS, ImageSettings, label, trial_generators

Rows = NDArray[np.int64]
Columns = dict[tuple[str, str], dict[str, list[float]]]


class Images(NamedTuple):
    """Clean images of two classes, as bytes of shape (n, channels, side, side), and their labels +1 and -1."""

    train: Tensor
    y_train: Rows
    test: Tensor
    y_test: Rows


@lru_cache(maxsize=2)
def load_images(family: str, dataset: str, download: bool = True) -> Images:
    """Return MNIST (even digits are positive), or CIFAR-10's airplanes (positive) and another class."""
    from symloss.datasets import load, load_cifar10_class

    if family == "mnist":
        train, test = (load("mnist", split=split, download=download) for split in ("train", "test"))
        pixels = [F.pad(torch.from_numpy(part.data), (2, 2, 2, 2)) for part in (train, test)]
        return Images(pixels[0], train.target, pixels[1], test.target)
    classes = [load_cifar10_class(name, download) for name in ("airplane", dataset)]
    parts: list[Any] = []
    for both in zip(*classes, strict=True):
        parts += [torch.from_numpy(np.concatenate(both)), np.repeat([1, -1], [len(part) for part in both])]
    return Images(*parts)


def run_image_trials(
    images: Images,
    pi: float,
    pi_prime: float,
    settings: ImageSettings,
    losses: Sequence[Loss] = LOSSES,
    risks: Sequence[str] = RISKS,
    trials: int = TRIALS["mnist"],
    seed: int = 0,
    name: str = "",
    device: str | torch.device = "cpu",
    *,
    architecture: Architecture | None = None,
    progress: Callable[[int], None] | None = None,
) -> tuple[Columns, Columns]:
    """Train networks on corrupted samples of images, and return their scores on the clean test images.

    Parameters are those of `symloss.paper.run.run_trials`, and of `symloss.paper.networks.train_networks`. Dropout is
    drawn for all trials together, so it depends on how many there are; all else in a trial does not.

    Returns
    -------
    scores : dict
        ``{(risk, loss): {column: [value of each trial]}}``. ``score`` is as published, after the last epoch with
        dropout on. ``dropout_off`` is the same with dropout off. ``chosen_epoch`` is with dropout off, after the epoch
        that is chosen on corrupted labels (see `choose_epochs`), and ``chosen_at`` is the number of that epoch.
    curves : dict
        The same with the mean after each epoch: ``score``, ``dropout_off``, their standard errors ``score_se`` and
        ``dropout_off_se``, and ``corrupted``, the score on the corrupted labels.
    """
    generators = [trial_generators(seed, name, pi, pi_prime, trial) for trial in range(trials)]
    sizes = {"n_positive": settings.n_positive, "n_negative": settings.n_negative}
    rows, y = np.arange(len(images.y_train)), images.y_train
    drawn = [contaminate(rows, y, pi=pi, pi_prime=pi_prime, **sizes, random_state=of) for of, _, _ in generators]
    of_losses = [Risk(risk, loss, settings.one_by_one and risk == "auc") for risk in risks for loss in losses]
    found = train_networks(
        images.train.to(device),
        np.stack([rows for rows, _ in drawn]),
        np.stack([labels for _, labels in drawn]),
        images.test.to(device),
        of_losses,
        [of_training for _, of_training, _ in generators],
        architecture or Architecture(images.train.shape[1], images.train.shape[2]),
        settings,
        progress=progress,
    )
    folds = [halves(images.y_test, pi, pi_prime, generator) for _, _, generator in generators]
    clean = [np.tile(np.flatnonzero(images.y_test == sign), (trials, 1)) for sign in (1, -1)]
    off, on = (measured(part, of_losses, *clean) for part in found)  # (epochs, risks, trials)
    chosen, epoch, corrupted = choose_epochs(found[0], folds, of_losses)
    scores: Columns = {}
    curves: Columns = {}
    for j, risk in enumerate(of_losses):
        key = risk.name, label(risk.loss)
        values = {"score": on[-1, j], "dropout_off": off[-1, j], "chosen_epoch": chosen[j], "chosen_at": epoch[j]}
        scores[key] = {way: of.tolist() for way, of in values.items()}
        curves[key] = {}
        for way, of in (("score", on[:, j]), ("dropout_off", off[:, j]), ("corrupted", corrupted[:, j])):
            by_epoch = of.nan_to_num(CHANCE)
            curves[key][way] = by_epoch.mean(1).tolist()
            if way != "corrupted":
                curves[key][f"{way}_se"] = (by_epoch.std(1, correction=min(1, trials - 1)) / trials**0.5).tolist()
    return scores, curves


class Half(NamedTuple):
    """The rows of the half of the test images that chooses an epoch, corrupted as in training, and of the other one."""

    corrupted_positive: Rows
    corrupted_negative: Rows
    positive: Rows
    negative: Rows


def halves(y_test: Rows, pi: float, pi_prime: float, generator: np.random.Generator) -> tuple[Half, Half]:
    """Split the test images at random into halves with equal numbers of each class, and corrupt the labels of both.

    Unused training images would do as well, but with noise CIFAR-10 has too few: pi + pi' = 1.1, so the two corrupted
    classes of 4,540 images take 4,994 of the 5,000 airplanes.
    """
    by_class = [generator.permutation(np.flatnonzero(y_test == sign)) for sign in (1, -1)]
    sizes = [len(rows) // 2 for rows in by_class]
    first, second = (
        [rows[start * size : (start + 1) * size] for rows, size in zip(by_class, sizes, strict=True)]
        for start in (0, 1)
    )
    n = min(sizes)  # the largest size of both corrupted classes for which there are enough images
    while (taken := round(pi * n) + round(pi_prime * n)) > sizes[0] or 2 * n - taken > sizes[1]:
        n -= 1
    found = []
    for chooses, scored in ((first, second), (second, first)):
        rows, y = contaminate(
            np.concatenate(chooses), np.repeat([1, -1], sizes), pi=pi, pi_prime=pi_prime, n_positive=n, n_negative=n,
            random_state=generator,
        )  # fmt: skip
        found.append(Half(rows[y > 0], rows[y < 0], *scored))
    return found[0], found[1]


def choose_epochs(
    scores: Tensor, folds: Sequence[tuple[Half, Half]], risks: Sequence[Risk]
) -> tuple[Tensor, Tensor, Tensor]:
    """Choose each network's epoch on corrupted labels of one half of the test images, and score it on the other half.

    Both halves choose in turn, so that no image counts for a score that it helped to choose. If several epochs are
    equally good, the earliest is chosen. From scores (epochs, risks, trials, n_test) this returns means of both halves:
    the score at the chosen epoch and its number (risks, trials), and the score on corrupted labels (epochs, risks,
    trials).
    """
    found = []
    for fold in zip(*folds, strict=True):
        rows = [np.stack(of_trials) for of_trials in zip(*fold, strict=True)]  # in the order of Half
        corrupted, clean = measured(scores, risks, *rows[:2]), measured(scores, risks, *rows[2:])
        epoch = corrupted.nan_to_num(0.0).argmax(0, keepdim=True)
        found.append((clean.gather(0, epoch)[0], 1.0 + epoch[0], corrupted))
    (chosen, epoch, corrupted), (other_chosen, other_epoch, other_corrupted) = found
    return (chosen + other_chosen) / 2, (epoch + other_epoch) / 2, (corrupted + other_corrupted) / 2


def measured(scores: Tensor, risks: Sequence[Risk], positives: Rows, negatives: Rows) -> Tensor:
    """Return balanced accuracy or AUC, by the risk, of scores (epochs, risks, trials, n), each trial with its own rows.

    They are from 0 to 100; zeros and ties count as one half, and NaN makes NaN.
    """
    found = scores.new_empty(scores.shape[:3], dtype=torch.float64)
    rows = [torch.from_numpy(of).to(scores.device).expand(len(risks), -1, -1) for of in (positives, negatives)]
    for of_epoch, target in zip(scores, found, strict=True):
        pos, neg = (of_epoch.gather(2, of) for of in rows)
        for j, risk in enumerate(risks):
            target[j] = 100 * (_auc if risk.name == "auc" else _balanced_accuracy)(pos[j], neg[j])
        wrong = pos.isnan().any(2) | neg.isnan().any(2)
        target.masked_fill_(wrong, torch.nan)
    return found


def _auc(pos: Tensor, neg: Tensor) -> Tensor:
    ordered = neg.sort(1).values
    pos = pos.contiguous()
    below = torch.searchsorted(ordered, pos) + torch.searchsorted(ordered, pos, right=True)
    return below.sum(1).double() / (2 * pos.shape[1] * neg.shape[1])


def _balanced_accuracy(pos: Tensor, neg: Tensor) -> Tensor:
    return (2 + pos.sign().mean(1, dtype=torch.float64) - neg.sign().mean(1, dtype=torch.float64)) / 4
