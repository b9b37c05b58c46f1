"""Neural networks, the paper's perceptron among them: several are trained at once, and their scores are averaged."""

from __future__ import annotations

import copy
import math
import warnings
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from symloss.checking import check_fraction
from symloss.corruption import RandomState
from symloss.functional import MissingClassWarning, auc_risk, ber_risk
from symloss.machines import one_thread, threads_for
from symloss.metrics import auc
from symloss.models.family import (
    Array,
    Family,
    PenalizedRisk,
    Standardization,
    TrainingData,
    check_above_zero,
    check_count,
)
from symloss.models.modules import StandardizedNetworks


class Perceptron(nn.Module):
    """One hidden layer of ReLU units and one output, d-500-1 in the paper; LeCun-normal weights, zero biases.

    Parameters
    ----------
    n_features : int
        The dimension d of the inputs.
    hidden_units : int
        The number of hidden units.
    random_state : int or numpy Generator, optional
        Seed of the initial weights.
    """

    def __init__(self, n_features: int, hidden_units: int = 500, random_state: RandomState = None) -> None:
        super().__init__()
        self.hidden = nn.Linear(n_features, hidden_units)
        self.output = nn.Linear(hidden_units, 1)
        initial = lecun_normal(n_features, hidden_units, np.random.default_rng(random_state))
        self.load_state_dict(initial.state_dict())

    def forward(self, X: Tensor) -> Tensor:
        """Return the scores (..., n) of the points (..., n, d)."""
        scores: Tensor = self.output(torch.relu(self.hidden(X))).squeeze(-1)
        return scores


class Layers(NamedTuple):
    """The parameters of perceptrons, any number of them: leading dimensions are models."""

    hidden: Tensor  # (..., d + 1, hidden units): the first layer's weights, and its biases as the last row
    output: Tensor  # (..., 1, hidden units): the second layer's weights
    bias: Tensor  # (..., 1), of the second layer

    def part(self, models: Any) -> Layers:
        """Return one of the perceptrons, or some, as views."""
        return Layers(*(part[models] for part in self))

    def scores(self, X: Tensor) -> Tensor:
        """Return the scores (k, n) of points (n, d), or of points (k, n, d) where each perceptron has its own."""
        hidden = torch.relu(X @ self.hidden[..., :-1, :] + self.hidden[..., -1:, :])
        return (hidden @ self.output.mT).squeeze(-1) + self.bias

    def state_dict(self) -> dict[str, Tensor]:
        """Return the parameters of one model, under the names that ``Perceptron`` gives them."""
        return {
            "hidden.weight": self.hidden[:-1].T,
            "hidden.bias": self.hidden[-1],
            "output.weight": self.output,
            "output.bias": self.bias,
        }


def lecun_normal(n_features: int, hidden_units: int, generator: np.random.Generator) -> Layers:
    """Draw a perceptron's initial parameters: normal weights of variance 1 / (number of inputs), zero biases."""
    hidden = torch.zeros(n_features + 1, hidden_units)
    for weights, inputs in ((hidden[:-1], n_features), (output := torch.empty(1, hidden_units), hidden_units)):
        drawn = generator.standard_normal(weights.shape, dtype=np.float32) / np.float32(np.sqrt(inputs))
        weights.copy_(torch.from_numpy(drawn))
    return Layers(hidden, output, torch.zeros(1))


class PerceptronStack(nn.Module):
    """Perceptrons of one shape side by side: row k of the scores is what perceptron k alone would return."""

    def __init__(self, models: Sequence[Layers]) -> None:
        super().__init__()
        self.hidden, self.output, self.bias = (nn.Parameter(torch.stack(part)) for part in zip(*models, strict=True))

    def __len__(self) -> int:
        """The number of perceptrons."""
        return len(self.bias)

    @property
    def layers(self) -> Layers:
        """The parameters, with the models as their leading dimension."""
        return Layers(self.hidden, self.output, self.bias)

    def perceptron(self, k: int) -> Perceptron:
        """Return a copy of perceptron k."""
        copy = Perceptron(self.hidden.shape[1] - 1, self.hidden.shape[2], random_state=0)
        copy.load_state_dict(self.layers.part(k).state_dict())
        return copy

    def forward(self, X: Tensor) -> Tensor:
        """Return the scores (k, n) of the points (n, d), or of points (k, n, d) where each perceptron has its own."""
        return self.layers.scores(X)


Rows = NDArray[np.intp]
_BLOCK = 1024  # how many points are scored together


class Ensemble(nn.Module):
    """Several networks as one module, whose scores have shape (k, n): one row per network, one column per point."""

    def __init__(self, networks: list[nn.Module]) -> None:
        super().__init__()
        self.networks = nn.ModuleList(networks)

    def __len__(self) -> int:
        """The number of networks."""
        return len(self.networks)

    def forward(self, X: Tensor) -> Tensor:
        """Return the scores (k, n) of the n rows of X."""
        found, n = [network(X) for network in self.networks], len(X)
        if any(scores.numel() != n for scores in found):
            shape = tuple(found[0].shape)
            raise ValueError(f"a network must give one score per point, got shape {shape} for {n} points")
        return torch.stack([scores.reshape(n) for scores in found])


class NetworkScores(NamedTuple):
    """The mean score of networks on standardized features."""

    networks: nn.Module
    standard: Standardization

    @torch.no_grad()
    def scores(self, X: Array) -> Array:
        """Return one score per row of X."""
        device = next(self.networks.parameters()).device
        scores = np.empty(len(X))
        with threads_for(_multiplications(self.networks, _BLOCK)):
            for start in range(0, len(X), _BLOCK):
                rows = slice(start, start + _BLOCK)
                found = self.networks(_as_tensor(self.standard.transform(X[rows]), device))
                scores[rows] = found.double().mean(0).cpu().numpy()
        return scores


def build_networks(model: Any, n_features: int, hidden_units: int, n_seeds: int, seed: int) -> nn.Module:
    """Return networks to be trained: new perceptrons, networks that a function makes, or a copy of a network.

    A callable takes the number of features and returns a network. The copy of a module keeps its weights.
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
    data: TrainingData,
    objective: PenalizedRisk,
    seed: int,
    *,
    model: Any,
    hidden_units: int,
    n_seeds: int,
    epochs: int,
    batch_size: int,
    learning_rate: float,
    early_stopping: bool = False,
    validation_fraction: float = 0.1,
    patience: int = 10,
    device: str = "cpu",
) -> NetworkScores:
    """Train networks by AMSGrad on shuffled batches, in which both classes have their share.

    The parameters are those of the estimators. Labels that are held out for early stopping may be corrupted, too: the
    AUC on them is an increasing function of the clean AUC (corollary 2).
    """
    with one_thread():
        networks = build_networks(model, data.X.shape[1], hidden_units, n_seeds, seed)
        standardization = Standardization.fit(data.X, data.weight)
        validation = None
        if early_stopping:
            train, held_out = hold_out(data.positive, validation_fraction, seed)
            data, validation = data.rows(train), data.rows(held_out)
        points = _as_tensor(standardization.transform(data.X), device)
    fitted = NetworkScores(networks.to(device), standardization)
    labels = torch.from_numpy(data.positive).to(device)
    weights = None if (data.weight == data.weight[0]).all() else _as_tensor(data.weight, device)
    risk = auc_risk if objective.risk == "auc" else ber_risk
    parameters = networks.parameters()
    optimizer = torch.optim.Adam(parameters, lr=learning_rate, weight_decay=objective.alpha, amsgrad=True)
    generator, best, best_state, waited = np.random.default_rng(seed), -math.inf, None, 0
    diverged = ValueError(f"training diverged with learning_rate={learning_rate:g}; give a smaller one")
    threads = threads_for(_multiplications(networks, min(batch_size, len(points))))
    with threads, torch.random.fork_rng(devices=range(torch.cuda.device_count())), warnings.catch_warnings():
        warnings.simplefilter("ignore", MissingClassWarning)  # a batch may lack a class that has few points
        torch.manual_seed(seed)
        for _ in range(epochs):
            networks.train()
            for batch in _batches(data.positive, batch_size, generator):
                rows = torch.from_numpy(batch).to(device)
                optimizer.zero_grad()
                scores = networks(points[rows])
                if not scores.isfinite().all():
                    raise diverged
                value = risk(scores, labels[rows], objective.loss, None if weights is None else weights[rows]).sum()
                torch.autograd.backward(value)
                optimizer.step()
            networks.eval()
            if validation is None:
                continue
            found, waited = auc(fitted.scores(validation.X), validation.positive, validation.weight), waited + 1
            if found > best:
                best, best_state, waited = found, copy.deepcopy(networks.state_dict()), 0
            if waited >= patience:
                break
    if best_state is not None:
        networks.load_state_dict(best_state)
    if not all(bool(parameter.isfinite().all()) for parameter in networks.parameters()):
        raise diverged
    return fitted


def hold_out(positive: NDArray[np.bool_], fraction: float, seed: int) -> tuple[Rows, Rows]:
    """Return rows to train on, and rows to validate on: a fraction of each class, and at least one point of it."""
    generator = np.random.default_rng(seed)
    held_out = []
    for rows in (np.flatnonzero(positive), np.flatnonzero(~positive)):
        if len(rows) < 2:
            raise ValueError(f"early stopping needs two points of each class, got {len(rows)}")
        held_out.append(generator.permutation(rows)[: min(max(round(fraction * len(rows)), 1), len(rows) - 1)])
    validation = np.sort(np.concatenate(held_out))
    return np.setdiff1d(np.arange(len(positive)), validation), validation


def _batches(positive: NDArray[np.bool_], size: int, generator: np.random.Generator) -> Iterator[Rows]:
    """Yield the rows of each batch of an epoch; both classes are shuffled and spread evenly over the batches."""
    place = np.empty(len(positive))
    for of_class in (positive, ~positive):
        rows = np.flatnonzero(of_class)
        place[rows] = (generator.permutation(len(rows)) + generator.random(len(rows))) / len(rows)
    order = np.argsort(place, kind="stable")
    yield from np.array_split(order, max(round(len(order) / size), 1))


def _multiplications(networks: nn.Module, n: int) -> float:
    """Return how many multiplications it takes to score n points, if each point uses every parameter once."""
    return float(n * sum(parameter.numel() for parameter in networks.parameters()))


def _as_tensor(values: Array, device: Any) -> Tensor:
    return torch.from_numpy(np.asarray(values, np.float32)).to(device)


def _to_module(scorer: NetworkScores, threshold: float) -> nn.Module:
    networks: Any = copy.deepcopy(scorer.networks).cpu()
    parts = (
        [networks.perceptron(k) for k in range(len(networks))]
        if isinstance(networks, PerceptronStack)
        else list(networks.networks)
    )
    return StandardizedNetworks(parts, scorer.standard, threshold)


NETWORKS = Family(
    fit=fit_networks,
    scorer=NetworkScores,
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
