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
from symloss.pairwise import pairwise_risk
from symloss.paper.convolutional import Architecture, TrainingSettings, train_networks
from symloss.paper.experiment import label, trial_seeds
from symloss.paper.protocol import IMAGE_TRIALS, LOSSES, ImageSettings
from symloss.paper.results import PUBLISHED, Scored, Scores
from symloss.paper.training import Risk

# The ways of scoring besides the published one, which is: dropout on, last epoch.
FURTHER_WAYS = {
    "dropout_off": "dropout off, last epoch",
    "chosen_epoch": "dropout off, epoch chosen on corrupted labels",
}
_AT_ONCE = 1 << 24  # number of scores that are measured together


class Images(NamedTuple):
    """Clean images of two classes, as bytes of shape (n, channels, side, side), and their labels +1 and -1.

    Examples
    --------
    >>> y = np.repeat([1, -1], 30)
    >>> pixels = torch.zeros(60, 1, 16, 16, dtype=torch.uint8)
    >>> Images(pixels, y, pixels[20:40], y[20:40]).test.shape
    torch.Size([20, 1, 16, 16])
    """

    train: Tensor
    y_train: NDArray[np.int64]
    test: Tensor
    y_test: NDArray[np.int64]


@lru_cache(maxsize=2)
def load_images(family: str, dataset: str, download: bool = True) -> Images:
    """Return MNIST (even digits are positive), or CIFAR-10's airplanes (positive) and another class.

    Examples
    --------
    >>> load_images("cifar10", "car")
    Traceback (most recent call last):
    ValueError: unknown class 'car' of CIFAR-10; its classes: airplane, automobile, ...
    """
    if family == "mnist":
        from symloss.datasets import load

        train, test = (load("mnist", split=split, download=download) for split in ("train", "test"))
        pixels = [F.pad(torch.from_numpy(part.data), (2, 2, 2, 2)) for part in (train, test)]
        return Images(pixels[0], train.target, pixels[1], test.target)
    from symloss.datasets import load_cifar10_class

    classes = [load_cifar10_class(name, download) for name in (dataset, "airplane")][::-1]
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
    trials: int = IMAGE_TRIALS,
    seed: int = 0,
    name: str = "",
    device: str | torch.device = "cpu",
    *,
    draws: tuple[NDArray[np.int64], NDArray[np.int64]] | None = None,
    architecture: Architecture | None = None,
    kernels: bool | None = None,
    dtype: torch.dtype | None = None,
    progress: Callable[[int], None] | None = None,
) -> dict[str, Scored]:
    """Train networks on corrupted samples of images, and return their scores on the clean test images.

    Parameters are those of `symloss.paper.experiment.run_trials`. ``draws`` replaces the random samples: each trial's
    training images, as rows, and their corrupted labels. ``architecture`` replaces the paper's network, and
    ``kernels``, ``dtype`` and ``progress`` are those of `symloss.paper.convolutional.train_networks`. A trial's sample,
    initial parameters and batches depend only on its seed and number. Dropout is drawn for all trials together, so it
    also depends on how many trials there are.

    Returns
    -------
    dict of Scored
        One entry for each way of scoring. ``as published`` is after the last epoch with dropout on. ``dropout_off`` is
        the same with dropout off. ``chosen_epoch`` is with dropout off, after the epoch that is chosen on corrupted
        labels (see `choose_epochs`), and has no curve. Two more entries describe this choice: ``epoch`` holds the
        number of the chosen epoch (the mean of two choices), and ``corrupted`` the curve of the score on these
        corrupted labels.

    Examples
    --------
    >>> y = np.repeat([1, -1], 30)
    >>> pixels = torch.randint(0, 256, (60, 1, 16, 16), dtype=torch.uint8)
    >>> settings, small = ImageSettings(10, 10, epochs=2, mean=(0.0,), sd=(1.0,)), Architecture(1, 16, 2, 3, 8, 4)
    >>> found = run_image_trials(Images(pixels, y, pixels, y), 0.8, 0.3, settings, trials=3, architecture=small)
    >>> len(found[PUBLISHED].scores["auc"]["sigmoid"]), len(found["dropout_off"].curves["auc"]["sigmoid"])
    (3, 2)
    """
    sizes = architecture or Architecture(images.train.shape[1], images.train.shape[2], dropout=settings.dropout)
    generators = [
        [np.random.default_rng(part) for part in trial_seeds(seed, name, pi, pi_prime, trial)]
        for trial in range(trials)
    ]
    rows, y = draws or _draws(images.y_train, pi, pi_prime, settings, [of_draw for of_draw, _, _ in generators])
    risks_of_losses = [Risk(risk, loss, settings.one_by_one and risk == "auc") for risk in risks for loss in losses]
    trained = train_networks(
        images.train.to(device),
        rows,
        y,
        images.test.to(device),
        risks_of_losses,
        [of_training for _, of_training, _ in generators],
        sizes,
        TrainingSettings(
            settings.epochs,
            settings.batch_size,
            settings.balanced,
            settings.learning_rate,
            settings.weight_decay,
            settings.mean,
            settings.sd,
        ),
        kernels=kernels,
        dtype=dtype,
        progress=progress,
    )
    folds = [halves(images.y_test, pi, pi_prime, generator) for _, _, generator in generators]
    return _summary(trained.scores, images.y_test, folds, risks_of_losses)


def _draws(
    y: NDArray[np.int64], pi: float, pi_prime: float, settings: ImageSettings, generators: Sequence[np.random.Generator]
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return the training images of each trial, as rows, and their corrupted labels, both of shape (trials, n)."""
    drawn = [
        contaminate(
            np.arange(len(y)),
            y,
            pi=pi,
            pi_prime=pi_prime,
            n_positive=settings.n_positive,
            n_negative=settings.n_negative,
            random_state=generator,
        )
        for generator in generators
    ]
    return np.stack([rows for rows, _ in drawn]), np.stack([labels for _, labels in drawn])


class Half(NamedTuple):
    """The rows of two halves of the test images: one chooses an epoch by corrupted labels, the other is scored.

    Parameters
    ----------
    corrupted_positive, corrupted_negative : array of rows
        The half that chooses: two corrupted classes of equal size, with the noise rate of the training images.
    positive, negative : array of rows
        The half that is scored: its clean classes.

    Examples
    --------
    >>> first, second = halves(np.repeat([1, -1], 10), 1.0, 0.0, np.random.default_rng(0))
    >>> sorted(first.corrupted_positive) == sorted(second.positive)
    True
    """

    corrupted_positive: NDArray[np.int64]
    corrupted_negative: NDArray[np.int64]
    positive: NDArray[np.int64]
    negative: NDArray[np.int64]


def halves(y_test: NDArray[np.int64], pi: float, pi_prime: float, generator: np.random.Generator) -> tuple[Half, Half]:
    """Split the test images at random into halves with equal numbers of each class, and corrupt the labels of both.

    Unused training images would do as well, but with noise CIFAR-10 has too few: pi + pi' = 1.1, so the two corrupted
    classes of 4,540 images take 4,994 of the 5,000 airplanes.

    Examples
    --------
    >>> first, second = halves(np.repeat([1, -1], 1000), 0.65, 0.45, np.random.default_rng(0))
    >>> len(first.corrupted_positive), len(first.corrupted_negative), len(first.positive)
    (454, 454, 500)
    """
    by_class = [generator.permutation(np.flatnonzero(y_test == label)) for label in (1, -1)]
    sizes = [len(rows) // 2 for rows in by_class]
    parts = [[rows[:size] for rows, size in zip(by_class, sizes, strict=True)],
             [rows[size : 2 * size] for rows, size in zip(by_class, sizes, strict=True)]]  # fmt: skip
    found = []
    for chooses, scored in (parts, parts[::-1]):
        n = validation_size(pi, pi_prime, *sizes)
        rows, y = contaminate(
            np.concatenate(chooses),
            np.repeat([1, -1], sizes),
            pi=pi,
            pi_prime=pi_prime,
            n_positive=n,
            n_negative=n,
            random_state=generator,
        )
        found.append(Half(rows[y > 0], rows[y < 0], *scored))
    return found[0], found[1]


def validation_size(pi: float, pi_prime: float, positives: int, negatives: int) -> int:
    """Return the largest size of both corrupted classes for which these numbers of clean images suffice.

    Examples
    --------
    >>> validation_size(1.0, 0.0, 500, 500), validation_size(0.65, 0.45, 500, 500)
    (500, 454)
    """
    n = min(positives, negatives)
    while True:
        taken = round(pi * n) + round(pi_prime * n)
        if taken <= positives and 2 * n - taken <= negatives:
            return n
        n -= 1


def _summary(
    found: Tensor, y_test: NDArray[np.int64], folds: Sequence[tuple[Half, Half]], risks: Sequence[Risk]
) -> dict[str, Scored]:
    """Return the measures of test scores (2, epochs, risks, trials, n_test), with dropout off and on."""
    off, on = (_by_risk(part, [np.flatnonzero(y_test == sign) for sign in (1, -1)], risks) for part in found)
    chosen, epoch, corrupted = choose_epochs(found[0], folds, risks)

    def trials(values: Tensor) -> Scores:
        return _named(values, risks)

    def mean(values: Tensor) -> Scores:
        return _named(values.nan_to_num(50.0).mean(2).T, risks)

    def error(values: Tensor) -> Scores:
        trials = values.shape[2]
        return _named(values.nan_to_num(50.0).std(2, correction=min(1, trials - 1)).T / trials**0.5, risks)

    return {
        PUBLISHED: Scored(scores=trials(on[-1]), curves=mean(on), errors=error(on)),
        "dropout_off": Scored(scores=trials(off[-1]), curves=mean(off), errors=error(off)),
        "chosen_epoch": Scored(scores=trials(chosen)),
        "epoch": Scored(scores=trials(epoch)),
        "corrupted": Scored(curves=mean(corrupted)),
    }


def choose_epochs(
    scores: Tensor, folds: Sequence[tuple[Half, Half]], risks: Sequence[Risk]
) -> tuple[Tensor, Tensor, Tensor]:
    """Choose each network's epoch on corrupted labels of one half of the test images, and score it on the other half.

    Both halves choose in turn, so that no image counts for a score that it helped to choose. If several epochs are
    equally good, the earliest is chosen; among equal balanced accuracies, the last bit of the sum of two shares may
    decide.

    Parameters
    ----------
    scores : Tensor of shape (epochs, risks, trials, n_test)
    folds : sequence of pairs of Half, one per trial
    risks : sequence of Risk

    Returns
    -------
    chosen, epoch : Tensor of shape (risks, trials)
        The score, and the number of the epoch, each the mean of both halves.
    corrupted : Tensor of shape (epochs, risks, trials)
        The score on corrupted labels, the mean of both halves.

    Examples
    --------
    >>> from symloss.losses import Sigmoid
    >>> y = np.repeat([1, -1], 10)
    >>> scores = torch.stack([-torch.from_numpy(y), torch.from_numpy(y)]).double()[:, None, None]  # wrong, then right
    >>> folds = [halves(y, 1.0, 0.0, np.random.default_rng(0))]
    >>> chosen, epoch, _ = choose_epochs(scores, folds, [Risk("auc", Sigmoid())])
    >>> chosen.item(), epoch.item()
    (100.0, 2.0)
    """
    chosen, epochs, corrupted = [], [], []
    for fold in zip(*folds, strict=True):
        columns = [np.stack(rows) for rows in zip(*fold, strict=True)]
        on_corrupted, clean = (_by_risk(scores, columns[start : start + 2], risks) for start in (0, 2))
        epoch = on_corrupted.nan_to_num(0.0).argmax(0, keepdim=True)
        chosen.append(clean.gather(0, epoch)[0])
        epochs.append(1.0 + epoch[0])
        corrupted.append(on_corrupted)
    return sum(chosen) / 2, sum(epochs) / 2, sum(corrupted) / 2  # type: ignore[return-value]


def _by_risk(scores: Tensor, columns: Sequence[NDArray[np.int64]], risks: Sequence[Risk]) -> Tensor:
    """Return each risk's measure, from 0 to 100, of scores of shape (epochs, risks, trials, n).

    ``columns`` are the columns of the positives and of the negatives: the same for all trials, or (trials, m).
    """
    found = torch.empty(scores.shape[:3], dtype=torch.float64, device=scores.device)
    index = [torch.from_numpy(part).to(scores.device) for part in columns]
    several = max(1, _AT_ONCE // scores[0].numel())
    for epochs in range(0, len(scores), several):
        part = scores[epochs : epochs + several]
        sides = [
            part[..., rows] if rows.ndim == 1 else part.gather(3, rows.expand(*part.shape[:2], *rows.shape))
            for rows in index
        ]
        for j, risk in enumerate(risks):
            found[epochs : epochs + several, j] = _measure(risk.name, *(side[:, j] for side in sides))
    return 100 * found


def _measure(risk: str, pos: Tensor, neg: Tensor) -> Tensor:
    """Return the balanced accuracy or the AUC; zeros and ties count as one half, and NaN makes NaN."""
    wrong = pos.isnan().any(-1) | neg.isnan().any(-1)
    if risk == "auc":
        pos, neg = pos.double().nan_to_num(), neg.double().nan_to_num()
        found = 1 - pairwise_risk(pos, neg, "zero_one", method="structure")
    else:
        found = (2 + pos.sign().mean(-1, dtype=torch.float64) - neg.sign().mean(-1, dtype=torch.float64)) / 4
    return found.masked_fill(wrong, torch.nan)


def _named(values: Tensor, risks: Sequence[Risk]) -> Scores:
    """Return the rows of numbers as ``[risk][loss]``."""
    found: dict[str, dict[str, list[float]]] = {}
    for risk, row in zip(risks, values.tolist(), strict=True):
        found.setdefault(risk.name, {})[label(risk.loss)] = row
    return found


__all__ = [
    "FURTHER_WAYS",
    "Half",
    "Images",
    "choose_epochs",
    "halves",
    "load_images",
    "run_image_trials",
    "validation_size",
]
