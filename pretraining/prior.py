"""Synthetic tables with noisy labels, one at a time, in NumPy.

A table is drawn in four steps: what its columns look like (`draw_columns`), which function of them the clean label
follows (`draw_function`), how sure that label is, and which labels are then given wrong (`draw_noise`). Every choice is
made anew for each table, so that no two tables of a batch need to be alike.
"""

import multiprocessing
import os
import threading
from dataclasses import dataclass
from math import exp, log
from typing import Any

import numpy as np
from numpy.typing import NDArray

Rng = np.random.Generator
Array = NDArray[np.float32]


@dataclass(frozen=True)
class Table:
    """Columns with missing values as NaN, the clean label of every row, and the given label of the first rows."""

    columns: Array  # (rows, features)
    clean: NDArray[np.bool_]  # (rows,)
    given: NDArray[np.bool_]  # (training rows,)


def draw_table(rng: Rng, training: int, questions: int, features: int) -> Table:
    """Draw one table with `training` rows that have a given label, and `questions` rows that have none."""
    rows = training + questions
    for _ in range(20):
        columns, hidden, groups = draw_columns(rng, rows, features)
        score = _score(rng, columns, hidden, groups)
        positive = np.clip(rng.beta(1.5, 1.5), 0.04, 0.96) if rng.random() < 0.7 else 0.5
        margin = _standard(score)[:, 0] - np.quantile(_standard(score)[:, 0], 1 - positive)
        sharpness = exp(rng.uniform(log(1.2), log(100)))
        chance = 1 / (1 + np.exp(-np.clip(sharpness * margin, -30, 30)))
        clean = rng.random(rows) < chance
        given = draw_noise(rng, columns, margin, clean)
        seen = columns
        if rng.random() < 0.05:  # a table with copies of rows
            kept = rng.integers(0, max(8, int(rows * rng.uniform(0.2, 0.9))), rows)
            seen, clean, given = columns[kept], clean[kept], given[kept]
        if (
            min(clean[:training].sum(), (~clean[:training]).sum(), given[:training].sum(), (~given[:training]).sum())
            < 4
        ):
            continue
        if min(clean[training:].sum(), (~clean[training:]).sum()) < 2:
            continue
        return Table(_with_missing(rng, seen), clean, given[:training])
    return draw_table(rng, training, questions, features)


# What columns look like


def draw_columns(rng: Rng, rows: int, features: int) -> tuple[Array, Array, NDArray[np.int64] | None]:
    """Draw the columns, the hidden causes behind them, and classes of rows where the columns were drawn by class."""
    way = rng.choice(["free", "mixed", "network", "classes", "space", "curves", "categories"],
                     p=[0.15, 0.2, 0.26, 0.12, 0.07, 0.07, 0.13])  # fmt: skip
    groups = None
    if way == "free":
        hidden = columns = _causes(rng, rows, features)
    elif way == "mixed":
        hidden = _causes(rng, rows, max(1, int(features * rng.choice([0.3, 0.6, 1.0]))))
        weights = _normal(rng, hidden.shape[1], features) * rng.random((hidden.shape[1], features)) ** rng.choice(
            [1, 4]
        )
        columns = hidden @ weights.astype(np.float32)
    elif way == "network":
        columns, hidden = _network_columns(rng, rows, features)
    elif way == "classes":
        columns, groups = _class_columns(rng, rows, features)
        hidden = columns
    elif way == "space":
        columns, hidden = _space_columns(rng, rows, features)
    elif way == "curves":
        columns, hidden = _curve_columns(rng, rows, features)
    else:
        columns = _causes(rng, rows, features)
        hidden = columns
        columns = _categories(rng, columns, share=rng.uniform(0.3, 1.0))
    columns = _standard(columns)
    if way not in ("free", "categories") and rng.random() < 0.6:
        columns = columns + _normal(rng, rows, features) * rng.uniform(0, rng.choice([0.1, 0.6]), features).astype(
            np.float32
        )
    if rng.random() < 0.8:
        columns = _warped(rng, columns)
    if rng.random() < 0.16:
        columns = _one_hot(rng, columns)
    if features > 1 and rng.random() < 0.1:  # columns that repeat another one, more or less
        source, target = rng.integers(0, features, (2, max(1, features // 6)))
        columns[:, target] = columns[:, source] + _normal(rng, rows, len(source)) * np.float32(
            rng.choice([0, 0.1, 0.5])
        )
    return columns, hidden, groups


def _causes(rng: Rng, rows: int, k: int) -> Array:
    kind = rng.integers(0, 6)
    if kind < 2:
        z = _normal(rng, rows, k)
    elif kind == 2:
        z = rng.uniform(-1.7, 1.7, (rows, k)).astype(np.float32)
    elif kind == 3:
        z = rng.standard_t(rng.uniform(2, 6), (rows, k)).astype(np.float32)
    elif kind == 4:
        centers = _normal(rng, rng.integers(2, 9), k) * np.float32(rng.choice([1, 2]))
        z = _normal(rng, rows, k) * np.float32(0.6) + centers[rng.integers(0, len(centers), rows)]
    else:
        uniform = rng.random(k) < 0.5
        z = np.where(uniform, rng.uniform(-1.7, 1.7, (rows, k)), rng.standard_normal((rows, k))).astype(np.float32)
    return _standard(z)


def _network_columns(rng: Rng, rows: int, features: int) -> tuple[Array, Array]:
    """Nodes of a random causal graph in layers; some are seen, others hidden."""
    h = _causes(rng, rows, int(rng.integers(1, max(3, features) + 1)))
    nodes = [h]
    width = int(rng.integers(max(2, features // 2), features + 8))
    for _ in range(rng.integers(1, 4)):
        h = _layer(rng, h, width)
        h = _standard(h) + _normal(rng, rows, width) * rng.exponential(rng.choice([0.05, 0.3]), width).astype(
            np.float32
        )
        nodes.append(h)
    every = np.concatenate(nodes, 1)
    if every.shape[1] < features:
        every = np.concatenate([every, _layer(rng, every, features)], 1)
    order = rng.permutation(every.shape[1])
    return every[:, order[:features]].copy(), _standard(every[:, order[-max(1, min(features, len(order) // 2)) :]])


def _class_columns(rng: Rng, rows: int, features: int) -> tuple[Array, NDArray[np.int64]]:
    """Clusters, each with its own center and spread, of several classes; some columns tell nothing."""
    classes = int(rng.choice([2, 3, 4, 6, 10, 20]))
    clusters = classes * int(rng.integers(1, 4))
    useful = features if rng.random() < 0.4 else int(rng.integers(1, features + 1))
    apart = np.float32(exp(rng.uniform(log(0.4), log(4))) / useful**0.25)
    shares = rng.dirichlet(np.full(clusters, rng.choice([1.0, 5.0])))
    cluster = rng.choice(clusters, rows, p=shares)
    centers = _normal(rng, clusters, useful) * apart
    spread = np.exp(_normal(rng, clusters, useful) * np.float32(rng.choice([0, 0.4])))
    z = _normal(rng, rows, useful) * spread[cluster]
    if rng.random() < 0.6:
        mix = _normal(rng, useful, useful) * np.float32(rng.uniform(0, 1) / useful**0.5) + np.eye(
            useful, dtype=np.float32
        )
        z = z @ mix
    z = z + centers[cluster]
    columns = np.concatenate([z, _normal(rng, rows, features - useful)], 1)[:, rng.permutation(features)]
    return columns, cluster % classes


def _space_columns(rng: Rng, rows: int, features: int) -> tuple[Array, Array]:
    """Two or three coordinates, even, clustered or on a grid, and columns that vary smoothly with them."""
    k = min(features, int(rng.integers(2, 4)))
    kind = rng.integers(0, 3)
    where = rng.uniform(-1.7, 1.7, (rows, k)).astype(np.float32)
    if kind == 1:
        centers = rng.uniform(-1.7, 1.7, (rng.integers(3, 20), k))
        where = (centers[rng.integers(0, len(centers), rows)] + rng.normal(0, 0.15, (rows, k))).astype(np.float32)
    elif kind == 2:
        steps = rng.uniform(5, 60)
        where = np.round(where * steps / 3.4).astype(np.float32) * np.float32(3.4 / steps)
    rest = [_waves(rng, where, exp(rng.uniform(log(0.5), log(4)))) for _ in range(min(features - k, 6))]
    rest.append(_normal(rng, rows, max(0, features - k - len(rest))))
    columns = np.concatenate([where, *rest], 1)[:, :features]
    return columns, where


def _curve_columns(rng: Rng, rows: int, features: int) -> tuple[Array, Array]:
    """Each row is a curve that is measured at neighboring places, as a signal or a spectrum is."""
    k = int(rng.integers(1, 6))
    amounts = _causes(rng, rows, k)
    places = np.linspace(0, 1, features, dtype=np.float32)
    rate = rng.uniform(0.3, rng.choice([2, 8]), (k, 1))
    shapes = np.sin(6.3 * rate * places + rng.uniform(0, 6.3, (k, 1)))
    bumps = np.exp(-(((places - rng.random((k, 1))) / rng.uniform(0.05, 0.4, (k, 1))) ** 2))
    basis = np.where(rng.random((k, 1)) < 0.5, shapes, bumps).astype(np.float32)
    noise = _normal(rng, rows, features) * np.float32(rng.exponential(0.4))
    if rng.random() < 0.3:
        noise = np.cumsum(noise, 1) / np.float32(features**0.5)
    return amounts @ basis + noise, amounts


def _warped(rng: Rng, columns: Array) -> Array:
    """Give columns the shapes that are common in tables: long tails, counts, few levels, yes and no."""
    out = columns.copy()
    everywhere = int(rng.integers(0, 9)) if rng.random() < 0.25 else None
    share = rng.uniform(0.1, 0.9)
    for j in range(columns.shape[1]):
        if everywhere is None and rng.random() > share:
            continue
        kind, x, a = int(rng.integers(0, 9)) if everywhere is None else everywhere, columns[:, j], rng.uniform(0.3, 1.5)
        if kind == 0:
            out[:, j] = np.exp(np.clip(a * x, -8, 8))
        elif kind == 1:
            out[:, j] = np.sign(x) * np.abs(x) ** (1 + 2 * a)
        elif kind == 2:
            out[:, j] = np.tanh(2 * a * x)
        elif kind == 3:
            out[:, j] = np.round(x * rng.uniform(0.5, 4))
        elif kind == 4:
            out[:, j] = x > np.quantile(x, rng.uniform(0.03, 0.97))
        elif kind == 5:
            out[:, j] = np.floor(np.exp(np.clip(a * x + rng.uniform(-1, 3), -8, 8)))
        elif kind == 6:
            out[:, j] = np.maximum(x, np.quantile(x, rng.uniform(0.1, 0.97)))  # many zeros, then a tail
        elif kind == 7:
            out[:, j] = x.argsort().argsort() / len(x)
        else:
            out[:, j] = np.round(x * rng.uniform(8, 60)) / 10
    return _standard(out)


def _categories(rng: Rng, columns: Array, share: float) -> Array:
    """Turn columns into codes of categories, whose order means nothing, or little."""
    out = columns.copy()
    for j in range(columns.shape[1]):
        if rng.random() < share:
            levels = int(rng.choice([2, 3, 4, 6, 10, 25], p=[0.3, 0.2, 0.2, 0.15, 0.1, 0.05]))
            edges = (
                np.sort(rng.choice(columns[:, j], levels - 1))
                if levels > 2
                else columns[rng.integers(0, len(columns), 1), j]
            )
            code = np.searchsorted(edges, columns[:, j])
            out[:, j] = rng.permutation(levels)[code] if rng.random() < 0.6 else code
    return out


def _one_hot(rng: Rng, columns: Array) -> Array:
    """Turn neighboring columns into the yes-and-no columns of one category, some of whose values are rare."""
    out, i, half = columns.copy(), 0, rng.random() < 0.5
    uneven = np.float32(rng.uniform(0, 2.5))
    while i < columns.shape[1]:
        width = int(rng.integers(2, 9)) if rng.random() < 0.9 else int(rng.integers(9, 30))
        block = columns[:, i : i + width]
        if not (half and rng.random() < 0.5):
            chosen = (block + uneven * _normal(rng, 1, block.shape[1])).argmax(1)
            out[:, i : i + width] = chosen[:, None] == np.arange(block.shape[1])
        i += width
    return _standard(out)


def _with_missing(rng: Rng, columns: Array) -> Array:
    if rng.random() < 0.85:
        return columns
    columns = columns.copy()
    share = rng.uniform(0, rng.choice([0.1, 0.5]), columns.shape[1]) * (
        rng.random(columns.shape[1]) < rng.uniform(0.1, 1)
    )
    gone = rng.random(columns.shape) < share
    if rng.random() < 0.3:  # large values are missing
        gone |= columns > np.quantile(columns, 0.97, axis=0) + (share == 0) * 1e9
    columns[gone] = np.nan
    return columns


# Which function of the columns the clean label follows


def _score(rng: Rng, columns: Array, hidden: Array, groups: NDArray[np.int64] | None) -> Array:
    if groups is not None and rng.random() < 0.75:  # some classes against the others
        chosen = rng.random(groups.max() + 1) < rng.uniform(0.2, 0.8)
        if 0 < chosen.sum() < len(chosen):
            return (chosen[groups] + rng.normal(0, 0.05, len(groups))).astype(np.float32)[:, None]
    if hidden is not columns and rng.random() < 0.1:  # one of the causes itself
        return hidden[:, [rng.integers(0, hidden.shape[1])]]
    source = hidden if rng.random() < 0.2 else columns
    score = draw_function(rng, source)
    if rng.random() < 0.35:
        score = score + draw_function(rng, source) * np.float32(rng.uniform(0.2, 1))
    elif rng.random() < 0.1:  # one rule for some rows, another for the rest
        score = np.where(draw_function(rng, source) > rng.normal(), score, draw_function(rng, source))
    if rng.random() < 0.05:  # every second of several levels
        score = np.round(_standard(score) * np.float32(rng.uniform(0.7, 2))) % 2 + _normal(
            rng, len(score), 1
        ) * np.float32(0.1)
    return score.astype(np.float32)


def draw_function(rng: Rng, columns: Array) -> Array:
    """Draw a function of the columns, (rows, 1), of mean 0 and variance 1."""
    d = columns.shape[1]
    pick = rng.random()
    if pick < 0.5:
        count = int(rng.integers(1, min(d, 7) + 1))
    elif pick < 0.65:
        count = int(rng.integers(1, d + 1))
    else:
        count = d
    x = np.clip(_standard(columns[:, rng.permutation(d)[:count]]), -4, 4)
    if rng.random() < 0.15:
        x = np.tanh(x)
    relevance = (rng.random(count) ** rng.choice([0, 1, 2, 4]) + 1e-3).astype(np.float32)
    weighed = x * relevance * np.float32((count / (relevance**2).sum()) ** 0.5)
    family = int(rng.choice(11, p=[0.14, 0.09, 0.09, 0.1, 0.1, 0.15, 0.07, 0.07, 0.07, 0.08, 0.04]))
    if family == 0:
        out = weighed @ _normal(rng, count, 1)
    elif family in (1, 2):
        h = weighed
        for _ in range(rng.integers(1, 4)):
            h = _layer(rng, h, int(rng.choice([4, 16, 48])))
        out = h @ _normal(rng, h.shape[1], 1)
    elif family in (3, 4):
        out = _trees(rng, x, relevance, int(rng.choice([1, 2, 5, 15, 40])), int(rng.integers(1, 8)))
    elif family == 5:
        out = _additive(rng, x, relevance)
    elif family in (6, 7):
        out = _waves(rng, weighed / np.float32(count**0.5), exp(rng.uniform(log(0.15), log(2.5))))
    elif family == 8:
        out = _products(rng, x, relevance)
    elif family == 9:
        out = _nearest(rng, weighed)
    else:
        out = _angles(rng, x * relevance)
    if rng.random() < 0.3:  # each column also counts by itself
        out = _standard(out) + _standard(weighed @ _normal(rng, count, 1)) * np.float32(rng.uniform(0.3, 2))
    return _standard(out)


def _layer(rng: Rng, h: Array, width: int) -> Array:
    weights = _normal(rng, h.shape[1], width) * (rng.random((h.shape[1], width)) < rng.uniform(0.1, 1))
    weights /= np.sqrt((weights**2).sum(0) + 1e-6)
    z = (h @ weights.astype(np.float32) + _normal(rng, 1, width) * np.float32(0.7)) * np.float32(
        exp(rng.uniform(log(0.2), log(3)))
    )
    kind = rng.integers(0, 9)
    if kind == 0:
        return np.maximum(z, 0)
    if kind == 1:
        return np.sin(2 * z)
    if kind == 2:
        return np.abs(z)
    if kind == 3:
        return np.exp(-z * z)
    if kind == 4:
        return np.sign(z)
    if kind == 5:
        return z
    if kind == 6:
        return z * z / 4
    return np.tanh(z)


def _trees(rng: Rng, x: Array, relevance: Array, trees: int, depth: int) -> Array:
    """A sum of trees whose nodes ask for columns by relevance, at values of random rows."""
    rows, d = x.shape
    ask = rng.choice(d, (trees, 2**depth), p=relevance / relevance.sum())
    at = x[rng.integers(0, rows, (trees, 2**depth)), ask]
    leaf = np.ones((rows, trees), dtype=np.int64)
    every = np.arange(trees)
    for _ in range(depth):
        node = leaf % 2**depth
        leaf = 2 * leaf + (np.take_along_axis(x, ask[every, node], 1) > at[every, node])
    values = _normal(rng, trees, 2**depth) * (rng.random((trees, 1)) ** 2 + 0.05).astype(np.float32)
    return values[every, leaf - 2**depth].sum(1, keepdims=True)


def _additive(rng: Rng, x: Array, relevance: Array) -> Array:
    kind, shift = rng.integers(0, 9, x.shape[1]), rng.standard_normal(x.shape[1]).astype(np.float32)
    parts = [x, x, np.tanh(2 * (x - shift)), np.maximum(x, shift), (x > shift) * 2.0 - 1]
    parts += [np.sin(x * (1 + np.abs(shift))), (x - shift) ** 2 / 2, np.abs(x - shift)]
    if x.shape[1] <= 40:  # any value of a few
        level = np.clip(np.round(x * 3).astype(np.int64) + 12, 0, 24)
        parts.append(_normal(rng, 25, x.shape[1])[level, np.arange(x.shape[1])])
    kind %= len(parts)
    total = sum((kind == i) * part for i, part in enumerate(parts))
    return (total * (relevance * rng.standard_normal(x.shape[1]))).sum(1, keepdims=True).astype(np.float32)


def _waves(rng: Rng, x: Array, rate: float) -> Array:
    """A smooth function: a sum of waves with lengths of their own for the columns, some with a heavy tail of rates."""
    count = 96
    rates = _normal(rng, x.shape[1], count) * np.float32(rate)
    if rng.random() < 0.5:
        rates = rates / np.sqrt(np.maximum(rng.gamma(0.75, 1 / 0.75, (1, count)), 0.05)).astype(np.float32)
    phase = rng.uniform(0, 6.3, (1, count)).astype(np.float32)
    return np.cos(x @ rates + phase) @ _normal(rng, count, 1)


def _products(rng: Rng, x: Array, relevance: Array) -> Array:
    terms, out = int(rng.choice([1, 2, 6])), np.float32(1)
    for _ in range(rng.integers(2, 4)):
        picked = x[:, rng.choice(x.shape[1], terms, p=relevance / relevance.sum())]
        z = picked * rng.uniform(0.5, 1.5, terms).astype(np.float32) + _normal(rng, 1, terms) * np.float32(0.3)
        kind = rng.integers(0, 4)
        out = out * (z if kind == 0 else np.sin(2 * z) if kind == 1 else np.tanh(z) if kind == 2 else z > 0)
    return out @ _normal(rng, terms, 1)


def _angles(rng: Rng, x: Array) -> Array:
    """Where a chain of sticks ends, whose directions are sums of columns, or how far from a point that is."""
    turn = np.cumsum(x * rng.uniform(0.3, 2, x.shape[1]).astype(np.float32), 1) + rng.uniform(0, 6.3)
    length = rng.uniform(0.3, 1, (x.shape[1], 1))
    place = np.cos(turn) @ length
    if rng.random() < 0.5:
        return place.astype(np.float32)
    return np.hypot(place - rng.normal(), np.sin(turn) @ length - rng.normal()).astype(np.float32)


def _nearest(rng: Rng, x: Array) -> Array:
    """Values of centers, the nearest ones counting most."""
    centers = x[rng.integers(0, len(x), int(rng.choice([3, 8, 25])))]
    apart = (x**2).sum(1, keepdims=True) + (centers**2).sum(1) - 2 * x @ centers.T
    near = np.exp(
        -(apart - apart.min(1, keepdims=True)) / (apart.mean() * exp(rng.uniform(log(0.02), log(0.5))) + 1e-6)
    )
    return ((near @ _normal(rng, len(centers), 1)) / near.sum(1, keepdims=True)).astype(np.float32)


# Which labels are given wrong


def draw_noise(rng: Rng, columns: Array, margin: Array, clean: NDArray[np.bool_]) -> NDArray[np.bool_]:
    """Give wrong labels: none, at rates of the class, near the border, in a part of the space, by people, by a rule."""
    rows = len(clean)
    if rng.random() < 0.13:
        return clean.copy()
    kind = rng.choice(["rates", "border", "part", "people", "one class", "rule"], p=[0.5, 0.14, 0.16, 0.06, 0.09, 0.05])
    if kind == "rule":  # the label of a rule that sees less than the truth
        seen = columns[:, rng.permutation(columns.shape[1])[: max(1, columns.shape[1] // 2)]]
        rough = _standard(margin[:, None])[:, 0] + draw_function(rng, seen)[:, 0] * rng.uniform(0.1, 1.2)
        return rough > np.quantile(rough, 1 - np.clip(clean.mean() * exp(rng.normal(0, 0.3)), 0.03, 0.97))
    total = rng.uniform(0.01, 0.93) if rng.random() < 0.8 else rng.uniform(0, 0.2)
    share = rng.random() if rng.random() < 0.5 else rng.uniform(0.3, 0.7)
    positive, negative = (total, 0.0) if kind == "one class" else (total * share, total * (1 - share))
    if kind == "one class" and rng.random() < 0.3:
        positive, negative = negative, positive
    rate = np.where(clean, positive, negative)
    even = rate * rng.uniform(0, 0.7) if rng.random() < 0.4 else 0 * rate  # wrong wherever they are
    if kind == "border":
        rate = even + (rate - even) * _mean_one(np.exp(-np.abs(margin) * rng.uniform(0.5, 5)), clean)
    elif kind == "part":
        odds = np.exp(np.clip(draw_function(rng, columns)[:, 0], -3, 3) * rng.uniform(0.5, 4))
        rate = even + (rate - even) * _mean_one(
            odds if rng.random() < 0.5 else (odds > np.quantile(odds, rng.uniform(0.3, 0.95))) + 0.02, clean
        )
    elif kind == "people":
        people = int(rng.integers(2, 12))
        rate = rate * (rng.dirichlet(np.full(people, 1.0)) * people)[rng.integers(0, people, rows)]
    return clean ^ (rng.random(rows) < np.clip(rate, 0, 0.9 if kind in ("part", "people") else 0.97))


def _mean_one(weight: NDArray[np.float64], clean: NDArray[np.bool_]) -> NDArray[np.float64]:
    """Scale to a mean of 1 in each class."""
    return weight / np.where(
        clean, weight[clean].mean() if clean.any() else 1, weight[~clean].mean() if (~clean).any() else 1
    )


def _normal(rng: Rng, *shape: int) -> Array:
    return rng.standard_normal(shape, dtype=np.float32)


def _standard(x: NDArray[np.floating]) -> Array:
    x = np.asarray(x, dtype=np.float32)
    return (x - x.mean(0)) / (x.std(0) + np.float32(1e-6))


# Batches


def draw_shape(rng: Rng, cells: int) -> tuple[int, int, int, int]:
    """Draw how many tables, training rows, questions and features a batch has, with about `cells` tokens in all."""
    features = exp(rng.uniform(log(1 if rng.random() < 0.15 else 4), log(64 if rng.random() < 0.95 else 160)))
    training = exp(rng.uniform(log(96), log(3000 if rng.random() < 0.92 else 6000)))
    features, training = max(1, round(features)), max(1, round(training / 64)) * 64
    questions = 128 if training < 1024 else 256
    tokens = -(-features // 2) + 2
    training = max(64, min(training, cells // (2 * tokens) // 64 * 64 - questions))  # two tables fit
    tables = min(cells // ((training + questions) * tokens), 65_000 // (training + questions))
    return max(2, tables), training, questions, features


def draw_batches(seed: tuple[int, ...], cells: int, queue: Any) -> None:
    """Fill the queue with batches for ever: columns, clean labels, given labels."""
    parent = multiprocessing.parent_process()
    threading.Thread(target=lambda: (parent.join(), os._exit(1)), daemon=True).start()  # not alone if that is killed
    rng = np.random.default_rng(seed)
    while True:
        tables, training, questions, features = draw_shape(rng, cells)
        drawn = [draw_table(rng, training, questions, features) for _ in range(tables)]
        queue.put(tuple(np.stack([getattr(table, name) for table in drawn]) for name in ("columns", "clean", "given")))
