"""Gaussian processes that were tried for the pool: other kernels, and lengths by the importance of features.

Each is fitted as the library's: around landmarks, with the kernel and the noise of the largest marginal likelihood.
"""

import numpy as np
from scipy.linalg import solve_triangular
from scipy.spatial.distance import cdist

NOISES = 10.0 ** np.arange(-2.5, 4.1, 0.5)  # in variances of the process
FACTORS = (0.5, 1.2, 3.0, 8.0)  # lengths, in median distances of the landmarks
FEW_FACTORS = (1.2, 4.0)  # for pruned points
_LEAST_LIKELY = 6.0  # nats below the best


def fit(X, y, precision, weight, Z, landmarks, kernels, mix=False):
    """Return scores of Z, and leave-one-out scores of X; mix: average the fits by their likelihoods."""
    fits = [found for kernel in kernels for found in _fits(X, y, precision, landmarks, kernel)]
    best = max(found[0] for found in fits)
    kept = [found for found in fits if found[0] > best - _LEAST_LIKELY] if mix else [max(fits, key=lambda f: f[0])]
    balance = precision / weight * np.minimum(weight, 1)
    total, scores, left_out = 0.0, 0.0, 0.0
    for likelihood, noise, features, values, vectors, product, root, kernel in kept:
        share = np.exp(likelihood - best)
        coefficients = vectors @ (product / (values + noise))
        leverage = np.minimum(balance * ((features @ vectors) ** 2 @ (1 / (values + noise))), 0.999)
        scores = scores + share * (kernel(Z, landmarks) @ (root @ coefficients))
        left_out = left_out + share * (features @ coefficients - leverage * y) / (1 - leverage)
        total += share
    return scores / total, left_out / total


def _fits(X, y, precision, landmarks, kernel):
    """Yield the log likelihood of each noise, and what scores need."""
    between = kernel(landmarks, landmarks)
    between = (between + between.T) / 2
    between.flat[:: len(between) + 1] += 1e-6 * np.trace(between) / len(between)
    root = solve_triangular(np.linalg.cholesky(between), np.eye(len(between)), lower=True).T
    features = kernel(X, landmarks) @ root
    values, vectors = np.linalg.eigh((features.T * precision) @ features)
    values = np.maximum(values, 0)
    product = vectors.T @ (features.T @ (precision * y))
    n = precision.sum()
    for noise in NOISES * max(np.mean(np.sum(features**2, 1)), 1e-12):
        variance = max((precision @ y**2 - np.sum(product**2 / (values + noise))) / (noise * n), 1e-300)
        determinant = np.log(values + noise).sum() + (n - len(values)) * np.log(noise)
        likelihood = -0.5 * (n * np.log(variance) + determinant)
        yield likelihood, noise, features, values, vectors, product, root, kernel


def laplace(landmarks, factors=FACTORS, metric="euclidean"):
    """Return Laplace kernels of several lengths."""
    distance = cdist(landmarks, landmarks, metric)
    median = np.median(distance[distance > 0]) if (distance > 0).any() else 1.0
    return [lambda A, B, length=factor * median: np.exp(-cdist(A, B, metric) / length) for factor in factors]


def linear(A, B):
    return A @ B.T / B.shape[1]


def arc_cosine(bias):
    """Return the kernel of a wide perceptron with one hidden layer (Cho and Saul 2009)."""

    def kernel(A, B):
        lengths = np.outer(np.sqrt((A**2).mean(1) + bias), np.sqrt((B**2).mean(1) + bias))
        cosine = np.clip((A @ B.T / A.shape[1] + bias) / lengths, -1, 1)
        angle = np.arccos(cosine)
        return (np.sin(angle) + (np.pi - angle) * cosine) / np.pi * lengths

    return kernel


def sums(landmarks):
    """Return a Laplace and an arc-cosine kernel, and two sums of kernels."""
    (first,), second = laplace(landmarks, factors=(1.0,)), arc_cosine(0.1)
    return [
        first,
        second,
        lambda A, B: 0.5 * first(A, B) + 0.5 * second(A, B),
        lambda A, B: 0.5 * second(A, B) + 0.5 * linear(A, B),
    ]
