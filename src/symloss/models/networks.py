"""Neural networks: several are trained at once on shuffled batches, and their scores are averaged."""

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

from symloss.checking import check_fraction
from symloss.functional import MissingClassWarning, auc_risk, ber_risk
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
from symloss.models.perceptron import PerceptronStack, lecun_normal
from symloss.threads import one_thread, threads_for

Rows = NDArray[np.intp]
_BLOCK = 1024  # how many points are scored together


class Ensemble(nn.Module):
    """Several networks as one module, whose scores have shape (k, n): one row per network, one column per point."""

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
    start: NetworkScores | None = None,
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

    Parameters
    ----------
    data : TrainingData
        The points; weight k counts as k repetitions within a batch.
    objective : PenalizedRisk
        The risk of a batch, and the weight decay.
    seed : int
        The seed of initial weights, of batches, and of anything random in the networks.
    start : NetworkScores, optional
        A model of which a copy is trained further; its standardization is kept.
    model, hidden_units, n_seeds
        Those of ``build_networks``.
    epochs, batch_size, learning_rate
        How often training goes through the data, the number of points in a batch, and AMSGrad's learning rate.
    early_stopping, validation_fraction, patience
        Whether to hold out a fraction of the points, to stop after so many epochs without a larger AUC on them, and to
        return to the best epoch. Their labels may be corrupted, too: the AUC on them is an increasing function of the
        clean AUC (corollary 2).
    device : str
        The torch device to train on.
    """
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
