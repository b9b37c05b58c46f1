"""The candidates of screening.py: the pool before cells were found, and 39 that were tried beside it, by kind."""

from functools import cached_property

import numpy as np
import screening_forests as forests
import screening_processes as processes
from sklearn.ensemble import HistGradientBoostingClassifier

import symloss as sl
from symloss.estimators.base import TrainingData
from symloss.estimators.candidates import fit_together, raw_scores
from symloss.estimators.credibility import _gain, credible
from symloss.estimators.forest import balanced_weight, forest_parameters
from symloss.estimators.gaussian_process import fit_gaussian_process
from symloss.estimators.out_of_bag import out_of_bag
from symloss.estimators.standardization import Standardization

LANDMARKS = 300


class Split:
    """Points to fit, points Z to score, and what several candidates share. None of it has seen labels of Z."""

    def __init__(self, X, positive, weight, Z, seed):
        self.X, self.positive, self.weight, self.Z, self.seed = X, positive, weight, Z, seed
        self.y = np.where(positive, 1.0, -1.0)
        self.data = TrainingData(X, positive, weight)
        totals = np.where(positive, weight[positive].sum(), weight[~positive].sum())
        self.precision = 0.5 / totals * weight.sum() * weight  # classes count equally
        self.own_seed = sl.AUCClassifier(random_state=seed)._seed()

    def generator(self, purpose):
        """Return the random numbers of one purpose."""
        return np.random.default_rng([self.seed % 2**31, purpose])

    @cached_property
    def standard(self):
        """Standardized features that vary, of the points and of Z."""
        scale = Standardization.fit(self.X, self.weight)
        varying = self.X.max(0) > self.X.min(0)
        return tuple(np.clip(scale.transform(points), -8, 8)[:, varying] for points in (self.X, self.Z))

    @cached_property
    def landmarks(self):
        """Different points, drawn by weight."""
        X = self.standard[0]
        share = self.weight / self.weight.sum()
        drawn = self.generator(1).choice(len(X), min(len(X), 4 * LANDMARKS), replace=False, p=share)
        _, first = np.unique(X[drawn], axis=0, return_index=True)
        return X[drawn[np.sort(first)[:LANDMARKS]]]

    def process(self, kernels_of, scale=1.0, rows=slice(None), mix=False):
        """Return scores of Z and leave-one-out scores by a process on features times a scale."""
        X, Z = (points * scale for points in self.standard)
        landmarks = self.landmarks * scale
        kernels = kernels_of(landmarks)
        return processes.fit(X[rows], self.y[rows], self.precision[rows], self.weight[rows], Z, landmarks, kernels, mix)

    @cached_property
    def own_process(self):
        """The library's process, and its leave-one-out scores."""
        model, left_out = fit_gaussian_process(
            self.X, self.positive, self.weight, n_landmarks=LANDMARKS, seed=self.own_seed
        )
        return model, left_out()

    @cached_property
    def out_of_bag(self):
        """Out-of-bag scores of extremely randomized trees."""
        return out_of_bag(self.data, "random", self.own_seed).scores

    @cached_property
    def city_block(self):
        """Scores of Z and leave-one-out scores by city-block distances."""
        return self.process(city_block())

    @cached_property
    def linear(self):
        """Scores of Z and leave-one-out scores by a linear process."""
        return self.process(one(processes.linear))

    @cached_property
    def importance(self):
        """Square roots of the importance of features in a forest, with mean 1 before the root."""
        settings = forest_parameters(self.weight, 100, 20) | {"max_features": 0.3}
        forest = forests.ExtraTreesRegressor(**settings, random_state=self.seed % 2**31)
        forest.fit(self.standard[0], self.y, sample_weight=balanced_weight(self.positive, self.weight))
        return np.sqrt(forest.feature_importances_ / max(forest.feature_importances_.mean(), 1e-12))

    @cached_property
    def rotated_out_of_bag(self):
        """Out-of-bag scores of trees on rotated parts and on whitened and rotated features."""
        generator, n = self.generator(2), len(self.y)
        total, count = np.zeros(n), np.zeros(n)
        weight = balanced_weight(self.positive, self.weight)
        for group in range(6):
            maker = forests.rotated_parts if group % 2 else forests.whitened_and_rotated
            X = maker(self, generator)[0]
            for _ in range(12):
                inside = generator.random(n) < 1 - np.exp(-1)
                tree = forests.ExtraTreesRegressor(
                    1,
                    max_features="sqrt",
                    min_weight_fraction_leaf=min(20 / self.weight[inside].sum(), 0.5),
                    random_state=int(generator.integers(2**31)),
                ).fit(X[inside], self.y[inside], sample_weight=weight[inside])
                total[~inside] += tree.predict(X[~inside])
                count[~inside] += 1
        return total / np.maximum(count, 1)

    def kept(self, share, by_five):
        """Return the rows left when a share is pruned by the library's two models, or by these and three more."""
        parts = [self.out_of_bag, self.own_process[1]]
        if by_five:
            parts += [self.city_block[1], self.linear[1], self.rotated_out_of_bag]
        held_out = np.stack(parts, 1)
        gains = np.array([_gain(scores, self.data) for scores in parts])
        scores = Standardization.fit(held_out, self.weight).transform(held_out) @ gains**2
        numbered = TrainingData(np.arange(len(self.y))[:, None], self.positive, self.weight)
        return credible(numbered, scores, share).X[:, 0]

    def trees(self, leaf, rows=slice(None), **settings):
        """Return a forest like those of the pool, grown on some rows."""
        return forests.grow(
            self.X[rows], self.positive[rows], self.weight[rows], leaf, forests.TREES, self.seed, **settings
        )


def one(*kernels):
    return lambda landmarks: list(kernels)  # noqa: ARG005


def laplace(factors=processes.FACTORS):
    return lambda landmarks: processes.laplace(landmarks, factors)


def city_block(factors=processes.FACTORS):
    return lambda landmarks: processes.laplace(landmarks, factors, "cityblock")


def pool(split):
    """Return scores of Z by the candidates that the pool had before cells."""
    names, estimators = zip(*_earlier_pool(split.seed), strict=True)
    fitted = fit_together(estimators, split.X, split.positive, split.weight)
    return {name: raw_scores(model, split.Z) for name, model in zip(names, fitted, strict=True)}


def _earlier_pool(seed):
    common = {"threshold": 0.0, "random_state": seed}
    process = {"loss": "squared", "model": "gaussian_process", **common}
    trees = {"model": "trees", "n_estimators": 100, **common}
    boosting = {"l2_regularization": 1.0, "early_stopping": False, "random_state": seed}
    small = {"learning_rate": 0.03, "max_iter": 60, "max_leaf_nodes": 6, "min_samples_leaf": 40, **boosting}
    return [
        ("trees, leaves of 20", sl.AUCClassifier(min_samples_leaf=20, **trees)),
        ("trees, leaves of 100", sl.AUCClassifier(min_samples_leaf=100, **trees)),
        ("trees, leaves of 5", sl.AUCClassifier(min_samples_leaf=5, **trees)),
        ("trees, leaves of 1", sl.AUCClassifier(min_samples_leaf=1, **(trees | {"n_estimators": 60}))),
        ("linear, unhinged", sl.AUCClassifier(**common)),
        ("linear, logistic", sl.AUCClassifier("logistic", alpha=0.001, **common)),
        ("boosting, 60 small trees", HistGradientBoostingClassifier(**small)),
        ("boosting, 100 trees", HistGradientBoostingClassifier(**boosting)),
        ("kernel", sl.AUCClassifier("logistic", "kernel", alpha=5e-5, **common)),
        ("Gaussian process", sl.AUCClassifier(**process)),
        ("linear, 20% pruned", sl.AUCClassifier(prune=0.2, **common)),
        ("trees, 20% pruned", sl.AUCClassifier(prune=0.2, min_samples_leaf=5, **trees)),
        ("trees, 40% pruned", sl.AUCClassifier(prune=0.4, min_samples_leaf=5, **trees)),
        ("Gaussian process, 10% pruned", sl.AUCClassifier(prune=0.1, **process)),
    ]


def combined_features(split):
    found = {}
    for name, maker, leaf in (
        ("rotated parts", forests.rotated_parts, 20),
        ("rotated parts", forests.rotated_parts, 10),
        ("rotated parts", forests.rotated_parts, 5),
        ("whitened and rotated", forests.whitened_and_rotated, 20),
        ("half whitened and rotated", forests.half_whitened_and_rotated, 20),
        ("discriminants", forests.discriminants, 20),
    ):
        found[f"{name}, leaves of {leaf}"] = forests.grouped(split, [maker], leaf)
    for leaf in (20, 5):
        found[f"five kinds of features, leaves of {leaf}"] = forests.grouped(split, forests.FIVE_KINDS, leaf)
    for name, maker in (("rotated parts", forests.rotated_parts), ("components", forests.principal_components)):
        found[f"features and {name}, leaves of 20"] = forests.grouped(split, [maker], 20, beside=True)
    return found


def pruned_trees(split):
    found = {}
    for share in (0.2, 0.4):
        two, five = split.kept(share, by_five=False), split.kept(share, by_five=True)
        rotated = [forests.rotated_parts]
        found |= {
            f"rotated parts, {share:.0%} pruned": forests.grouped(split, rotated, 5, two),
            f"features and rotated parts, {share:.0%} pruned": forests.grouped(split, rotated, 5, two, beside=True),
            f"trees, {share:.0%} pruned by five": split.trees(5, five).predict(split.Z.astype(np.float32)),
            f"five kinds of features, {share:.0%} pruned by five": forests.grouped(split, forests.FIVE_KINDS, 5, five),
            f"whitened and rotated, {share:.0%} pruned by five": forests.grouped(
                split, [forests.whitened_and_rotated], 5, five
            ),
        }
    return found


def shrunken_trees(split):
    rows, points = split.kept(0.2, by_five=False), split.weight.sum()
    pruned = forests.shrunk(split.trees(5, rows), split.Z, 100, split.weight[rows].sum())
    found = {
        "trees, shrunk by 300": forests.shrunk(split.trees(5), split.Z, 300, points),
        "trees, 20% pruned, shrunk by 100": pruned,
        "five kinds of features, shrunk by 100": 0.0,
        "five kinds of features, shrunk by 300": 0.0,
    }
    generator = split.generator(200)
    for maker in forests.FIVE_KINDS:
        X, Z = maker(split, generator)
        forest = forests.grow(X, split.positive, split.weight, 5, 20, generator.integers(2**31))
        for strength in (100, 300):
            name = f"five kinds of features, shrunk by {strength}"
            found[name] = found[name] + forests.shrunk(forest, Z, strength, points)
    return found


def gaussian_processes(split):
    twenty, forty = split.kept(0.2, by_five=True), split.kept(0.4, by_five=True)
    importance, few = split.importance, processes.FEW_FACTORS
    perceptron = processes.arc_cosine(0.1)
    fits = {
        "process, arc-cosine": (one(perceptron, processes.arc_cosine(1.0)),),
        "process, arc-cosine, 20% pruned by five": (one(perceptron), 1.0, twenty),
        "process, lengths by importance": (laplace(), importance),
        "process, lengths by importance, 20% pruned by five": (laplace(few), importance, twenty),
        "process, city-block": (city_block(),),
        "process, city-block, 20% pruned by five": (city_block(few), 1.0, twenty),
        "process, city-block, lengths by importance": (city_block(), importance),
        "process, linear": (one(processes.linear),),
        "process, linear, 20% pruned by five": (one(processes.linear), 1.0, twenty),
        "process, linear, 40% pruned by five": (one(processes.linear), 1.0, forty),
        "process, sums of kernels": (processes.sums, 1.0, slice(None), True),
    }
    found = {name: split.process(*of)[0] for name, of in fits.items()}
    found["process, whitened"] = _whitened_process(split, slice(None), processes.FACTORS)
    found["process, whitened, 20% pruned by five"] = _whitened_process(split, twenty, few)
    return found


def _whitened_process(split, rows, factors):
    X, Z = forests.whitened(split)
    share = split.weight / split.weight.sum()
    drawn = split.generator(11).choice(len(X), min(LANDMARKS, len(X)), replace=False, p=share)
    landmarks = np.unique(X[drawn], axis=0)
    kernels = processes.laplace(landmarks, factors)
    return processes.fit(
        X[rows], split.y[rows], split.precision[rows], split.weight[rows], Z, landmarks, kernels
    )[0]  # fmt: skip


def trees_after_processes(split):
    process, left_out = split.own_process
    weighted = split.precision * left_out
    slope = float(np.clip(weighted @ split.y / (weighted @ left_out + 1e-12), 0, 3))
    rest = split.trees(20, y=split.y - slope * left_out).predict(split.Z.astype(np.float32))
    inner, outer = _scores_as_features(split)
    times = max(1, split.X.shape[1] // 6)  # so that trees look at them often
    X, Z = np.hstack([split.X, np.tile(inner, times)]), np.hstack([split.Z, np.tile(outer, times)])
    stacked = forests.grow(X, split.positive, split.weight, 20, forests.TREES, split.seed)
    return {
        "trees on what a process leaves": slope * process.scores(split.Z) + rest,
        "trees with scores of processes as features": stacked.predict(Z.astype(np.float32)),
    }


def _scores_as_features(split):
    """Return scores of the points by a linear and a Laplace process of five inner folds, and of Z by all points."""
    X, Z = split.standard
    fold = split.generator(3).permutation(len(split.y)) % 5
    length = split.own_process[0].length
    kernels = (processes.linear, lambda A, B: np.exp(-processes.cdist(A, B) / length))

    def scores(rows, points):
        data = X[rows], split.y[rows], split.precision[rows], split.weight[rows]
        return np.stack([processes.fit(*data, points, split.landmarks, [kernel])[0] for kernel in kernels], 1)

    inner = np.empty((len(X), 2))
    for k in range(5):
        inner[fold == k] = scores(fold != k, X[fold == k])
    return inner, scores(slice(None), Z)


KINDS = {
    "trees on combined features": combined_features,
    "trees without the least credible labels": pruned_trees,
    "shrunken trees": shrunken_trees,
    "Gaussian processes": gaussian_processes,
    "trees after processes": trees_after_processes,
}
