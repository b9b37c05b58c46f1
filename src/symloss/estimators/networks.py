"""Scores of neural networks: several at once, trained on shuffled batches, and averaged."""

from __future__ import annotations

import copy
import math
import warnings
from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from symloss.estimators.standardise import Standard
from symloss.functional import MissingClassWarning, auc_risk, ber_risk
from symloss.losses import Loss
from symloss.metrics import auc
from symloss.models import PerceptronStack, lecun_normal
from symloss.threads import threads_for

Array = NDArray[np.float64]
Rows = NDArray[np.intp]
_BLOCK, _BLOCK_ELSEWHERE = 64, 1024  # points that are scored together, on a CPU and on other devices


class Ensemble(nn.Module):
    """Networks side by side: scores (k, n) of n points, a row for each.

    Examples
    --------
    >>> Ensemble([nn.Linear(2, 1), nn.Linear(2, 1)])(torch.zeros(5, 2)).shape
    torch.Size([2, 5])
    """

    def __init__(self, networks: list[nn.Module]) -> None:
        super().__init__()
        self.networks = nn.ModuleList(networks)

    def forward(self, X: Tensor) -> Tensor:
        """Return the scores of the rows of X."""
        return torch.stack([_one_each(network(X), len(X)) for network in self.networks])


def _one_each(scores: Tensor, n: int) -> Tensor:
    if scores.numel() != n:
        raise ValueError(f"a network must give one score a point, got shape {tuple(scores.shape)} for {n} points")
    return scores.reshape(n)


class NetworkScores(NamedTuple):
    """The mean score of networks on standardised features.

    Examples
    --------
    >>> stack = PerceptronStack([lecun_normal(2, 8, np.random.default_rng(seed)) for seed in range(3)])
    >>> NetworkScores(stack, Standard(np.zeros(2), np.ones(2))).scores(np.zeros((1, 2)))
    array([0.])
    """

    networks: nn.Module
    standard: Standard

    @torch.no_grad()
    def scores(self, X: Array) -> Array:
        """Return the scores of the rows of X, which do not depend on what other rows there are.

        Products of other shapes round otherwise, so that all blocks have one size, the last filled up with zeros; and
        perceptrons score in float64.
        """
        networks, dtype = self.networks, torch.float32
        device = next(networks.parameters()).device
        if isinstance(networks, PerceptronStack) and device.type != "mps":  # which has no float64
            networks, dtype = copy.deepcopy(networks).double(), torch.float64
        size = _BLOCK if device.type == "cpu" else _BLOCK_ELSEWHERE
        scores = np.empty(len(X))
        with threads_for(_multiplications(networks, size)):
            for start in range(0, len(X), size):
                standard = self.standard.apply(X[start : start + size])
                block = torch.zeros(size, X.shape[1], dtype=dtype)
                block[: len(standard)] = torch.from_numpy(standard)
                found = networks(block.to(device))[:, : len(standard)].cpu().double().mean(0)
                scores[start : start + size] = found.numpy()
        return scores


class Schedule(NamedTuple):
    """How networks are trained: by AMSGrad, for so many epochs, or until a validation set sees no more gain.

    Parameters
    ----------
    risk : {"ber", "auc"}
    loss : Loss
    weight_decay, learning_rate : float
    epochs, batch_size : int
    patience : int, optional
        Stop after so many epochs without a larger AUC on the validation points, and go back to the best epoch.

    Examples
    --------
    >>> from symloss.losses import Sigmoid
    >>> Schedule("auc", Sigmoid(), weight_decay=0.01, learning_rate=1e-3, epochs=30, batch_size=500).patience
    """

    risk: str
    loss: Loss
    weight_decay: float
    learning_rate: float
    epochs: int
    batch_size: int
    patience: int | None = None


def build_networks(model: Any, n_features: int, hidden_units: int, n_seeds: int, seed: int) -> nn.Module:
    """Return untrained networks: perceptrons, those of a factory, or a copy of a network, whose weights it keeps.

    Parameters
    ----------
    model : "mlp", nn.Module or callable
        A callable takes the number of features, and returns a network.
    n_features, hidden_units : int
        The size of a perceptron.
    n_seeds : int
        How many; a network of your own is one.
    seed : int

    Examples
    --------
    >>> len(build_networks("mlp", 4, hidden_units=10, n_seeds=3, seed=0))
    3
    >>> len(build_networks(lambda d: nn.Linear(d, 1), 4, hidden_units=10, n_seeds=2, seed=0).networks)
    2
    """
    if isinstance(model, str):
        generators = [np.random.default_rng([seed, k]) for k in range(n_seeds)]
        return PerceptronStack([lecun_normal(n_features, hidden_units, generator) for generator in generators])
    if isinstance(model, nn.Module):
        return Ensemble([copy.deepcopy(model)])
    with torch.random.fork_rng(devices=range(torch.cuda.device_count())):
        torch.manual_seed(seed)
        return Ensemble([model(n_features) for _ in range(n_seeds)])


def fit_networks(
    networks: nn.Module,
    standard: Standard,
    training: tuple[Array, NDArray[np.bool_], Array],
    validation: tuple[Array, NDArray[np.bool_], Array] | None,
    schedule: Schedule,
    *,
    seed: int,
    device: str = "cpu",
) -> NetworkScores:
    """Train networks, all on the same batches, which hold the classes in their proportion.

    Parameters
    ----------
    networks : nn.Module
        Gives scores (k, n), one row for each network; trained in place.
    standard : Standard
        Means and deviations of the features.
    training, validation : (X, positive, weight)
        Points, labels, and weights, of which k counts as k repetitions within a batch. The validation points may have
        corrupted labels too: their AUC is an increasing function of the clean one (corollary 2).
    schedule : Schedule
    seed : int
        Of the batches, and of whatever chance there is in the networks.
    device : str

    Examples
    --------
    >>> from symloss.losses import Unhinged
    >>> X = np.linspace(-1, 1, 40)[:, None]
    >>> standard = Standard.of(X, np.ones(40))
    >>> schedule = Schedule("auc", Unhinged(), weight_decay=0.01, learning_rate=1e-3, epochs=20, batch_size=20)
    >>> networks = build_networks("mlp", 1, hidden_units=20, n_seeds=2, seed=0)
    >>> model = fit_networks(networks, standard, (X, X[:, 0] > 0, np.ones(40)), None, schedule, seed=0)
    >>> low, high = model.scores(X[[0, -1]])
    >>> bool(low < high)
    True
    """
    X, positive, weight = training
    networks.to(device)
    fitted = NetworkScores(networks, standard)
    rows_on_device = as_tensor(standard.apply(X), device)
    labels = torch.from_numpy(positive).to(device)
    weights = None if (weight == weight[0]).all() else as_tensor(weight, device)
    risk = auc_risk if schedule.risk == "auc" else ber_risk
    optimiser = torch.optim.Adam(
        networks.parameters(), lr=schedule.learning_rate, weight_decay=schedule.weight_decay, amsgrad=True
    )
    best = _BestEpoch(schedule.patience)
    generator = np.random.default_rng(seed)
    with (
        torch.random.fork_rng(devices=range(torch.cuda.device_count())),
        warnings.catch_warnings(),
        threads_for(_multiplications(networks, min(schedule.batch_size, len(X)))),
    ):
        warnings.simplefilter("ignore", MissingClassWarning)  # of a few points, not every batch has one
        torch.manual_seed(seed)
        for _ in range(schedule.epochs):
            networks.train()
            for batch in _batches(positive, schedule.batch_size, generator):
                rows = torch.from_numpy(batch).to(device)
                optimiser.zero_grad()
                batch_weight = None if weights is None else weights[rows]
                value = risk(networks(rows_on_device[rows]), labels[rows], schedule.loss, batch_weight).sum()
                torch.autograd.backward(value)
                optimiser.step()
            networks.eval()
            if validation is not None and best.is_last(auc(fitted.scores(validation[0]), *validation[1:]), networks):
                break
    best.restore(networks)
    if not all(bool(parameter.isfinite().all()) for parameter in networks.parameters()):
        raise ValueError(f"training diverged with learning_rate={schedule.learning_rate:g}; give a smaller one")
    return fitted


def _multiplications(networks: nn.Module, n: int) -> float:
    """Return how many multiplications scoring n points takes, if every parameter is used once for a point."""
    return float(n * sum(parameter.numel() for parameter in networks.parameters()))


class _BestEpoch:
    """The parameters of the epoch with the largest score so far."""

    def __init__(self, patience: int | None) -> None:
        self._patience, self._waited = patience, 0
        self._score = -math.inf
        self._state: dict[str, Any] | None = None

    def is_last(self, score: float, networks: nn.Module) -> bool:
        self._waited += 1
        if score > self._score:
            self._score, self._waited = score, 0
            self._state = copy.deepcopy(networks.state_dict())
        return self._patience is not None and self._waited >= self._patience

    def restore(self, networks: nn.Module) -> None:
        if self._state is not None:
            networks.load_state_dict(self._state)


def _batches(positive: NDArray[np.bool_], size: int, generator: np.random.Generator) -> Iterator[Rows]:
    """Yield the rows of shuffled batches: each class is spread evenly over an epoch."""
    place = np.empty(len(positive))
    for of_class in (positive, ~positive):
        rows = np.flatnonzero(of_class)
        place[rows] = (generator.permutation(len(rows)) + generator.random(len(rows))) / len(rows)
    order = np.argsort(place, kind="stable")
    count = max(round(len(order) / size), 1)
    yield from np.array_split(order, count)


def as_tensor(values: Array, device: Any) -> Tensor:
    """Return numbers as a float32 tensor on a device.

    Examples
    --------
    >>> as_tensor(np.array([1.0]), "cpu")
    tensor([1.])
    """
    return torch.from_numpy(np.asarray(values, np.float32)).to(device)
