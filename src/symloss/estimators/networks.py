"""The family of neural networks: several are trained at once on shuffled batches, and their scores are averaged."""

from __future__ import annotations

import copy
import math
import warnings
from collections.abc import Iterator
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from symloss.checking import check_fraction
from symloss.estimators.base import TrainingData
from symloss.estimators.family import Family, PenalizedRisk, check_above_zero, check_count
from symloss.estimators.folds import hold_out
from symloss.estimators.modules import StandardizedNetworks
from symloss.estimators.row_products import rows_times_matrix, rows_times_vector
from symloss.estimators.standardization import Standardization, blocks
from symloss.functional import MissingClassWarning, auc_risk, ber_risk
from symloss.losses import Loss
from symloss.metrics import auc
from symloss.models import PerceptronStack, lecun_normal
from symloss.threads import one_thread, threads_for

Array = NDArray[np.float64]
Rows = NDArray[np.intp]
_BLOCK, _BLOCK_ELSEWHERE = 64, 1024  # how many points are scored together, on a CPU and on other devices


class Ensemble(nn.Module):
    """Several networks as one module, whose scores have shape (k, n): one row per network, one column per point.

    Examples
    --------
    >>> Ensemble([nn.Linear(2, 1), nn.Linear(2, 1)])(torch.zeros(5, 2)).shape
    torch.Size([2, 5])
    """

    def __init__(self, networks: list[nn.Module]) -> None:
        super().__init__()
        self.networks = nn.ModuleList(networks)

    def forward(self, X: Tensor) -> Tensor:
        """Return the scores (k, n) of the n rows of X."""
        return torch.stack([_one_score_per_point(network(X), len(X)) for network in self.networks])


def _one_score_per_point(scores: Tensor, n: int) -> Tensor:
    if scores.numel() != n:
        raise ValueError(f"a network must give one score per point, got shape {tuple(scores.shape)} for {n} points")
    return scores.reshape(n)


class NetworkScores(NamedTuple):
    """The mean score of networks on standardized features.

    Examples
    --------
    >>> stack = PerceptronStack([lecun_normal(2, 8, np.random.default_rng(seed)) for seed in range(3)])
    >>> NetworkScores(stack, Standardization(np.zeros(2), np.ones(2))).scores(np.zeros((1, 2)))
    array([0.])
    """

    networks: nn.Module
    standard: Standardization

    @torch.no_grad()
    def scores(self, X: Array) -> Array:
        """Return one score per row of X.

        That of perceptrons on a CPU, which score in float64, does not depend on the other rows. Products of matrices
        round differently if their shapes differ. So all blocks of rows for other networks have the same size, and the
        last one is filled up with zeros; where a row stands in its block may still change the last digit.
        """
        if isinstance(self.networks, PerceptronStack) and self.networks.rows.device.type == "cpu":
            return self._scores_of_perceptrons(self.networks, X)
        networks, dtype = self.networks, torch.float32
        device = next(networks.parameters()).device
        size = _BLOCK if device.type == "cpu" else _BLOCK_ELSEWHERE
        scores = np.empty(len(X))
        with threads_for(_multiplications(networks, size)):
            if isinstance(networks, PerceptronStack) and device.type != "mps":  # MPS has no float64
                networks, dtype = copy.deepcopy(networks).double(), torch.float64
            for start in range(0, len(X), size):
                rows = self.standard.transform(X[start : start + size])
                block = torch.zeros(size, X.shape[1], dtype=dtype)
                block[: len(rows)] = torch.from_numpy(rows)
                found = networks(block.to(device)).cpu().double().mean(0)  # a mean of fewer columns rounds otherwise
                scores[start : start + size] = found.numpy()[: len(rows)]
        return scores

    @one_thread()
    def _scores_of_perceptrons(self, networks: PerceptronStack, X: Array) -> Array:
        """Return the mean scores: the perceptrons side by side are one, with the mean of their last layers."""
        hidden, output, bias = (part.double().numpy() for part in networks.layers)
        weights, biases = np.concatenate(hidden[:, :-1], axis=1), hidden[:, -1].ravel()
        scores = np.empty(len(X))
        for rows in blocks(len(X), weights.shape[1]):
            units = rows_times_matrix(self.standard.transform(X[rows]), weights)
            units += biases
            scores[rows] = rows_times_vector(np.maximum(units, 0.0, out=units), output.ravel())
        return scores / len(networks) + float(bias.mean())


class Schedule(NamedTuple):
    """How networks are trained: by AMSGrad, for a number of epochs, or until they stop improving on validation data.

    Parameters
    ----------
    risk : {"ber", "auc"}
        The risk of a batch.
    loss : Loss
        The loss in the risk.
    weight_decay, learning_rate : float
        Those of AMSGrad.
    epochs, batch_size : int
        How often training goes through the data, and the number of points in a batch.
    patience : int, optional
        Stop after this many epochs without a larger AUC on the validation points, and return to the best epoch.

    Examples
    --------
    >>> from symloss.losses import Sigmoid
    >>> Schedule("auc", Sigmoid(), weight_decay=0.01, learning_rate=1e-3, epochs=30, batch_size=500).epochs
    30
    """

    risk: str
    loss: Loss
    weight_decay: float
    learning_rate: float
    epochs: int
    batch_size: int
    patience: int | None = None


def build_networks(model: Any, n_features: int, hidden_units: int, n_seeds: int, seed: int) -> nn.Module:
    """Return networks to be trained: new perceptrons, networks that a function makes, or a copy of a network.

    Parameters
    ----------
    model : "mlp", nn.Module or callable
        A callable takes the number of features and returns a network. The copy of a module keeps its weights.
    n_features, hidden_units : int
        The size of a perceptron.
    n_seeds : int
        How many perceptrons, or networks of a callable; a module gives one network.
    seed : int
        The seed of the initial weights.

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
    standardization: Standardization,
    training: tuple[Array, NDArray[np.bool_], Array],
    validation: tuple[Array, NDArray[np.bool_], Array] | None,
    schedule: Schedule,
    *,
    seed: int,
    device: str = "cpu",
) -> NetworkScores:
    """Train networks, all on the same batches, each of which holds the classes in their proportion.

    Parameters
    ----------
    networks : nn.Module
        Returns scores (k, n), one row per network; it is trained in place.
    standardization : Standardization
        How features are standardized.
    training, validation : (X, positive, weight)
        Points, whether their labels are positive, and weights; weight k counts as k repetitions within a batch. The
        labels of the validation points may be corrupted too: the AUC on them is an increasing function of the clean
        AUC (corollary 2).
    schedule : Schedule
        How they are trained.
    seed : int
        The seed of the batches, and of anything random in the networks.
    device : str
        The torch device to train on.

    Examples
    --------
    >>> from symloss.losses import Unhinged
    >>> X = np.linspace(-1, 1, 40)[:, None]
    >>> standardization = Standardization.fit(X, np.ones(40))
    >>> schedule = Schedule("auc", Unhinged(), weight_decay=0.01, learning_rate=1e-3, epochs=20, batch_size=20)
    >>> networks = build_networks("mlp", 1, hidden_units=20, n_seeds=2, seed=0)
    >>> training = X, X[:, 0] > 0, np.ones(40)
    >>> model = fit_networks(networks, standardization, training, None, schedule, seed=0)
    >>> low, high = model.scores(X[[0, -1]])
    >>> bool(low < high)
    True
    """
    X, positive, weight = training
    networks.to(device)
    fitted = NetworkScores(networks, standardization)
    rows_on_device = as_tensor(standardization.transform(X), device)
    labels = torch.from_numpy(positive).to(device)
    weights = None if (weight == weight[0]).all() else as_tensor(weight, device)
    risk = auc_risk if schedule.risk == "auc" else ber_risk
    optimizer = torch.optim.Adam(
        networks.parameters(), lr=schedule.learning_rate, weight_decay=schedule.weight_decay, amsgrad=True
    )
    best = _BestEpoch(schedule.patience)
    generator = np.random.default_rng(seed)
    with torch.random.fork_rng(devices=range(torch.cuda.device_count())), warnings.catch_warnings():
        warnings.simplefilter("ignore", MissingClassWarning)  # a batch may lack a class that has few points
        torch.manual_seed(seed)
        for _ in range(schedule.epochs):
            networks.train()
            for batch in _batches(positive, schedule.batch_size, generator):
                rows = torch.from_numpy(batch).to(device)
                optimizer.zero_grad()
                batch_weight = None if weights is None else weights[rows]
                scores = networks(rows_on_device[rows])
                if not scores.isfinite().all():
                    raise _diverged(schedule)
                value = risk(scores, labels[rows], schedule.loss, batch_weight).sum()
                torch.autograd.backward(value)
                optimizer.step()
            networks.eval()
            if validation is not None and best.is_last(auc(fitted.scores(validation[0]), *validation[1:]), networks):
                break
    best.restore(networks)
    if not all(bool(parameter.isfinite().all()) for parameter in networks.parameters()):
        raise _diverged(schedule)
    return fitted


def _diverged(schedule: Schedule) -> ValueError:
    return ValueError(f"training diverged with learning_rate={schedule.learning_rate:g}; give a smaller one")


def _multiplications(networks: nn.Module, n: int) -> float:
    """Return how many multiplications it takes to score n points, if each point uses every parameter once."""
    return float(n * sum(parameter.numel() for parameter in networks.parameters()))


class _BestEpoch:
    """The parameters of the networks at the epoch with the largest score so far."""

    def __init__(self, patience: int | None) -> None:
        self._patience, self._waited = patience, 0
        self._score = -math.inf
        self._state: dict[str, Any] | None = None

    def is_last(self, score: float, networks: nn.Module) -> bool:
        """Note the score of an epoch, and return whether training should stop after it."""
        self._waited += 1
        if score > self._score:
            self._score, self._waited = score, 0
            self._state = copy.deepcopy(networks.state_dict())
        return self._patience is not None and self._waited >= self._patience

    def restore(self, networks: nn.Module) -> None:
        """Put the parameters of the best epoch back, if any epoch was scored."""
        if self._state is not None:
            networks.load_state_dict(self._state)


def _batches(positive: NDArray[np.bool_], size: int, generator: np.random.Generator) -> Iterator[Rows]:
    """Yield the rows of each batch of an epoch; both classes are shuffled and spread evenly over the batches."""
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


def _fit(
    data: TrainingData,
    objective: PenalizedRisk,
    seed: int,
    start: NetworkScores | None,
    *,
    model: Any,
    hidden_units: int,
    n_seeds: int,
    epochs: int,
    batch_size: int,
    learning_rate: float,
    early_stopping: bool,
    validation_fraction: float,
    patience: int,
    device: str,
) -> NetworkScores:
    with one_thread():
        if start is None:
            networks = build_networks(model, data.X.shape[1], hidden_units, n_seeds, seed)
            standardization = Standardization.fit(data.X, data.weight)
        else:
            networks, standardization = copy.deepcopy(start)
        validation = None
        if early_stopping:
            train, held_out = hold_out(data.positive, validation_fraction, seed)
            data, validation = data.rows(train), data.rows(held_out)
    risk, loss, alpha = objective
    schedule = Schedule(risk, loss, alpha, learning_rate, epochs, batch_size, patience)
    with threads_for(_multiplications(networks, min(batch_size, len(data.X)))):
        return fit_networks(networks, standardization, data, validation, schedule, seed=seed, device=device)


def _to_module(scorer: NetworkScores, threshold: float) -> nn.Module:
    networks: Any = copy.deepcopy(scorer.networks).cpu()
    parts = (
        [networks.perceptron(k) for k in range(len(networks))]
        if isinstance(networks, PerceptronStack)
        else list(networks.networks)
    )
    return StandardizedNetworks(parts, scorer.standard, threshold)


PERCEPTRONS = Family(
    description="The mean score of several perceptrons with one hidden layer.",
    fit=_fit,
    scorer=NetworkScores,
    stored_as="networks",
    parameters={
        "model": None,
        "hidden_units": check_count,
        "n_seeds": check_count,
        "epochs": check_count,
        "batch_size": check_count,
        "learning_rate": check_above_zero,
        "early_stopping": None,
        "validation_fraction": check_fraction,
        "patience": check_count,
        "device": None,
    },
    to_module=_to_module,
)
OWN_NETWORK = replace(
    PERCEPTRONS,
    description="A network of your own. Of a module, a copy is trained, from the weights that it has. A callable takes "
    "the number of features and returns a module; the mean score of several such modules is used.",
)
