"""The trials of a data set at a noise rate: losses and risks, trained on corrupted samples, scored on clean points."""

from __future__ import annotations

import math
from collections.abc import Sequence
from contextlib import nullcontext
from typing import Any, NamedTuple

import numpy as np
import torch
from torch import Tensor

from symloss import metrics
from symloss.corruption import contaminated_split
from symloss.functional import RISKS
from symloss.losses import CallableLoss, Loss, get_loss, list_losses
from symloss.paper.protocol import LOSSES, MATCHED, TRIALS, Settings
from symloss.paper.results import Scores
from symloss.paper.training import Risk, train
from symloss.threads import one_thread

_METRICS = {"ber": metrics.balanced_accuracy, "auc": metrics.auc}


def run_trials(
    X: Any,
    y: Any,
    pi: float,
    pi_prime: float,
    losses: Sequence[Loss] = LOSSES,
    risks: Sequence[str] = RISKS,
    trials: int = TRIALS,
    settings: Settings = MATCHED,
    seed: int = 0,
    name: str = "",
    device: str | torch.device = "cpu",
) -> Scores:
    """Train on corrupted samples of a data set, and return the scores on clean test points.

    Parameters
    ----------
    X, y : array of shape (n, d) and of n labels
        The clean data.
    pi, pi_prime : float
        Share of clean positives among the corrupted positives and among the corrupted negatives.
    losses : sequence of Loss
        Losses with different names, built in or your own.
    risks : sequence of {"ber", "auc"}
        Risks to minimize.
    trials : int
        Number of samples; in a trial, all losses and risks share the sample, the initial weights and the batches.
    settings : Settings
        How to train.
    seed : int
    name : str
        The data set's name. A trial is determined by seed, name, pi, pi_prime and its number, and by nothing else.
    device : str or torch.device
        A CPU trains one perceptron after another, on one thread; any other device trains all of them at once.

    Returns
    -------
    dict
        ``{risk: {loss name: [score of each trial]}}``: balanced accuracy for ``"ber"`` and AUC for ``"auc"``, 0 to
        100, ties and scores of zero counted as one half; NaN where a loss made the training diverge.

    Examples
    --------
    >>> from symloss.losses import Sigmoid, Unhinged
    >>> rng = np.random.default_rng(0)
    >>> y = np.repeat([1, -1], 1000)
    >>> X = y[:, None] + rng.normal(size=(2000, 5))
    >>> quick = Settings(epochs=2)
    >>> scores = run_trials(X, y, 0.8, 0.3, [Sigmoid(), Unhinged()], ["auc"], trials=1, settings=quick)
    >>> {name: [round(score) for score in found] for name, found in scores["auc"].items()}
    {'sigmoid': [99], 'unhinged': [99]}
    """
    names = [label(loss) for loss in losses]
    if len(set(names)) < len(names):
        raise ValueError(f"losses must have different names, got {', '.join(names)}")
    if np.ndim(X) != 2 or not np.isfinite(np.asarray(X, dtype=np.float64)).all():
        what = "of shape " + str(np.shape(X)) if np.ndim(X) != 2 else "with NaN or infinity"
        raise ValueError(f"X must be a table (n, d) of finite numbers, got one {what}")
    risks_of_losses = [Risk(risk, loss) for risk in risks for loss in losses]
    found: dict[str, dict[str, list[float]]] = {risk: {name: [] for name in names} for risk in risks}
    drawn = [
        _draw(X, y, pi, pi_prime, settings, trial_seeds(seed, name, pi, pi_prime, trial)) for trial in range(trials)
    ]
    on = torch.device(device)
    with one_thread() if on.type == "cpu" else nullcontext():
        of_risks = _test_scores(drawn, risks_of_losses, settings, on)
        for risk_of_loss, of_trials in zip(risks_of_losses, of_risks, strict=True):
            found[risk_of_loss.name][label(risk_of_loss.loss)] = [
                _score(risk_of_loss.name, scores, trial.y_test) for scores, trial in zip(of_trials, drawn, strict=True)
            ]
    return found


def _score(risk: str, scores: Tensor, y_test: Tensor) -> float:
    return math.nan if scores.isnan().any() else 100 * _METRICS[risk](scores, y_test)


def label(loss: Loss) -> str:
    """Return a loss's name in results: that of a built-in loss, else module and name; with parameters if not default.

    Examples
    --------
    >>> from symloss.losses import BarrierHinge, CallableLoss
    >>> label(BarrierHinge()), label(BarrierHinge(b=10, r=1))
    ('barrier_hinge', 'BarrierHinge(b=10, r=1)')
    >>> label(CallableLoss(math.cos))
    'math:cos'
    """
    if isinstance(loss, CallableLoss):
        return f"{loss.function.__module__}:{loss.function.__qualname__}"
    built_in = loss.name in list_losses() and type(loss) is type(get_loss(loss.name))
    try:
        usual = type(loss)() == loss
    except TypeError:  # it has parameters without defaults
        usual = False
    parameters = "" if usual else repr(loss).removeprefix(type(loss).__name__)
    if built_in:
        return loss.name if usual else f"{type(loss).__name__}{parameters}"
    return f"{type(loss).__module__}:{type(loss).__qualname__}{parameters}"


class _Trial(NamedTuple):
    X_train: Tensor
    y_train: Tensor
    X_test: Tensor
    y_test: Tensor
    random_state: np.random.Generator


def trial_seeds(seed: int, name: str, pi: float, pi_prime: float, trial: int) -> list[np.random.SeedSequence]:
    """Return the three seeds of a trial: of its sample, of its training, and of anything else that is random."""
    identity = f"{seed}/{name}/{float(pi)!r}/{float(pi_prime)!r}/{trial}"
    return np.random.SeedSequence(int.from_bytes(identity.encode(), "big")).spawn(3)


def _draw(
    X: Any, y: Any, pi: float, pi_prime: float, settings: Settings, seeds: Sequence[np.random.SeedSequence]
) -> _Trial:
    of_draw, of_training, _ = (np.random.default_rng(seed) for seed in seeds)
    X_train, y_train, X_test, y_test = contaminated_split(
        X,
        y,
        pi=pi,
        pi_prime=pi_prime,
        n_positive=settings.n_positive,
        n_negative=settings.n_negative,
        n_test=settings.n_test,
        random_state=of_draw,
    )
    X_train, X_test = standardized(X_train, X_test)
    return _Trial(X_train, torch.as_tensor(y_train), X_test, torch.as_tensor(y_test), of_training)


def standardized(X_train: Any, X_test: Any) -> tuple[Tensor, Tensor]:
    """Return both in float32, with each feature shifted and scaled to mean 0 and variance 1 on the training points.

    A feature that is constant there is only shifted.

    Examples
    --------
    >>> standardized(np.array([[1.0, 5.0], [3.0, 5.0]]), np.array([[2.0, 6.0]]))
    (tensor([[-1.,  0.],
            [ 1.,  0.]]), tensor([[0., 1.]]))
    """
    train, test = (np.asarray(part, dtype=np.float64) for part in (X_train, X_test))
    mean, scale = train.mean(0), train.std(0)
    scale[train.max(0) == train.min(0)] = 1.0  # rounding can give a constant feature a tiny deviation
    return (
        torch.from_numpy(((train - mean) / scale).astype(np.float32)),
        torch.from_numpy(((test - mean) / scale).astype(np.float32)),
    )


def _test_scores(
    drawn: Sequence[_Trial], risks: Sequence[Risk], settings: Settings, device: torch.device
) -> list[Tensor]:
    """Train, and return the scores (trials, test points) for each risk."""
    X_train, y_train, X_test, _ = (torch.stack(part).to(device) for part in list(zip(*drawn, strict=True))[:4])
    stack = train(
        X_train,
        y_train,
        risks,
        [trial.random_state for trial in drawn],
        hidden_units=settings.hidden_units,
        epochs=settings.epochs,
        batch_size=settings.batch_size,
        learning_rate=settings.learning_rate,
        weight_decay=settings.weight_decay,
    )
    models = [slice(first, first + len(drawn)) for first in range(0, len(stack), len(drawn))]
    with torch.no_grad():
        return [stack(X_test, of_risk).cpu() for of_risk in models]


__all__ = ["label", "run_trials", "standardized"]
