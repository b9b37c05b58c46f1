"""Forests that were tried for the pool: trees on rotated, whitened or combined features, and shrunken trees.

Trees split on one feature at a time, so correlated numbers cost them many splits. Here each group of trees gets
combinations of features of its own, drawn at random.
"""

import numpy as np
from sklearn.ensemble import ExtraTreesRegressor

from symloss.estimators.forest import balanced_weight, forest_parameters

GROUPS = 5  # of trees, each on features of its own
TREES = 100


def grow(X, positive, weight, leaf, trees, seed, y=None, **settings):
    """Return extremely randomized trees with the settings of the library, or with some others."""
    forest = ExtraTreesRegressor(**(forest_parameters(weight, trees, leaf) | settings), random_state=int(seed) % 2**31)
    target = np.where(positive, 1.0, -1.0) if y is None else y
    return forest.fit(X.astype(np.float32), target, sample_weight=balanced_weight(positive, weight))


def grouped(split, makers, leaf, rows=slice(None), beside=False):
    """Return the mean scores of groups of trees, each on features by the next maker; rows: those to grow on."""
    generator, total = split.generator(100), 0.0
    for group in range(GROUPS):
        X, Z = makers[group % len(makers)](split, generator)
        if beside:
            X, Z = np.hstack([split.standard[0], X]), np.hstack([split.standard[1], Z])
        seed = generator.integers(2**31)
        forest = grow(X[rows], split.positive[rows], split.weight[rows], leaf, TREES // GROUPS, seed)
        total = total + forest.predict(Z.astype(np.float32)) / GROUPS
    return total


def shrunk(forest, Z, strength, points):
    """Return scores of trees in which the step from a node to a child is divided by 1 + strength / points of the node.

    This is hierarchical shrinkage (Agarwal et al. 2022).
    """
    total = 0.0
    for grown in forest.estimators_:
        tree = grown.tree_
        value = tree.value[:, 0, 0]
        share = points / tree.weighted_n_node_samples[0]
        kept = value.copy()
        for node in np.flatnonzero(tree.children_left >= 0):  # parents stand before their children
            factor = 1 / (1 + strength / (tree.weighted_n_node_samples[node] * share))
            for child in (tree.children_left[node], tree.children_right[node]):
                kept[child] = kept[node] + (value[child] - value[node]) * factor
        total = total + kept[tree.apply(Z.astype(np.float32))]
    return total / len(forest.estimators_)


def as_given(split, generator):  # noqa: ARG001
    return split.standard


def rotated_parts(split, generator):
    """Return the principal components of small random parts of the features (Rodriguez et al. 2006)."""
    X, Z = split.standard
    d = X.shape[1]
    size = 3 if d <= 12 else 6
    order = generator.permutation(d)
    some = X[generator.random(len(X)) < 0.6]
    rotation = np.zeros((d, d))
    for start in range(0, d, size):
        part = order[start : start + size]
        rotation[np.ix_(part, part)] = np.linalg.eigh(_covariance(some[:, part]))[1]
    return X @ rotation, Z @ rotation


def whitened_and_rotated(split, generator):
    return _rotated(whitened(split), generator)


def half_whitened_and_rotated(split, generator):
    return _rotated(whitened(split, power=0.25), generator)


def whitened(split, power=0.5):
    """Return principal components, divided by a power of their variances."""
    X, Z = split.standard
    variances, axes = np.linalg.eigh(_covariance(X))
    kept = variances > 1e-3 * variances.max()
    axes = axes[:, kept] / variances[kept] ** power
    return X @ axes, Z @ axes


def principal_components(split, generator):  # noqa: ARG001
    """Return the half of the principal components that vary most, from 3 to 30 of them."""
    X, Z = split.standard
    variances, axes = np.linalg.eigh(_covariance(X))
    axes = axes[:, ::-1][:, : max(3, min(30, len(variances) // 2))]
    return X @ axes, Z @ axes


def sparse_sums(split, generator):
    """Return random sums of three features."""
    X, Z = split.standard
    d = X.shape[1]
    sums = np.zeros((d, int(np.clip(2 * d, 40, 300))))
    for column in sums.T:
        column[generator.choice(d, min(3, d), replace=False)] = generator.standard_normal(min(3, d))
    return X @ sums, Z @ sums


def discriminants(split, generator):
    """Return ridge discriminants of the noisy classes, each of random features on a random half of the points."""
    X, Z = split.standard
    d = X.shape[1]
    directions = np.zeros((d, int(np.clip(d, 20, 60))))
    for column in directions.T:
        size = min(d, max(3, int(np.ceil(np.sqrt(d) * generator.uniform(0.7, 2)))))
        part = generator.choice(d, size, replace=False)
        rows = np.flatnonzero(generator.random(len(X)) < 0.5)
        share = split.precision[rows] / split.precision[rows].sum()
        centered = X[np.ix_(rows, part)]
        centered = centered - share @ centered
        within = (centered.T * share) @ centered
        ridge = (0.1 * np.trace(within) / size + 1e-9) * np.eye(size)
        column[part] = np.linalg.solve(within + ridge, centered.T @ (share * split.y[rows]))
    return X @ directions, Z @ directions


FIVE_KINDS = (as_given, rotated_parts, whitened_and_rotated, discriminants, sparse_sums)


def _rotated(both, generator):
    rotation, _ = np.linalg.qr(generator.standard_normal((both[0].shape[1],) * 2))
    return both[0] @ rotation, both[1] @ rotation


def _covariance(X):
    return np.cov(X, rowvar=False).reshape(X.shape[1], X.shape[1])
