"""The draws of noisy_labels.py: which points to train on, with which noisy labels, and which clean points to test on.

A draw depends on the data set, the size, the noise and the number of the draw, and on nothing else.
"""

from functools import cache
from typing import NamedTuple

import numpy as np
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import cross_val_predict
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer, StandardScaler
from wild_datasets import COUNTS, load

import symloss as sl

SIZES = (200, 1000, 5000)  # training points per corrupted class
CONTAMINATIONS = {
    "0.65/0.45": (0.65, 0.45),
    "0.7/0.4": (0.7, 0.4),
    "0.8/0.3": (0.8, 0.3),
    "1/0": (1.0, 0.0),
    "1/0.5": (1.0, 0.5),
}
BORDER, ANNOTATORS = "border", "annotators"
NOISES = (*CONTAMINATIONS, BORDER, ANNOTATORS)
TITLES = {
    **{noise: f"(π, π′) = {rates}" for noise, rates in CONTAMINATIONS.items()},
    "1/0": "clean labels, (π, π′) = (1, 0)",
    "1/0.5": "positive and unlabeled points, (π, π′) = (1, 0.5)",
    BORDER: "flips near the border",
    ANNOTATORS: "majority of three annotators",
}
SIZES_OF = {noise: SIZES if noise in CONTAMINATIONS else (1000,) for noise in NOISES}

SKILLS = np.linspace(0.55, 0.8, 5)  # the probability that an annotator names the right class
LEAST_TESTED, MOST_TESTED = 100, 500  # clean test points per class
FIRST_SEED = 20_000  # the seeds of the draws that the pool was once chosen on are smaller


class Draw(NamedTuple):
    """Points with noisy labels to train on, and points with clean labels to test on; labels are +1 and -1."""

    X: np.ndarray
    y: np.ndarray
    X_test: np.ndarray
    y_test: np.ndarray


def clean_counts(noise: str, n: int) -> tuple[int, int]:
    """Return how many clean positives and negatives there are among n corrupted positives and n negatives."""
    if noise == ANNOTATORS:
        return n, n
    pi, pi_prime = CONTAMINATIONS["0.8/0.3" if noise == BORDER else noise]
    positives = round(pi * n) + round(pi_prime * n)
    return positives, 2 * n - positives


@cache
def points(dataset: str, noise: str, size: int) -> int:
    """Return with how many points per corrupted class a data set takes part at a size.

    A data set that is too small takes part with as many points as leave 100 clean test points per class.
    """
    return next(n for n in range(size, -1, -1) if _left(dataset, noise, n) >= LEAST_TESTED)


def same_sizes(dataset: str, noise: str, size: int) -> list[int]:
    """Return the sizes at which a data set has the same points as at this one, so that one draw stands for all."""
    n = points(dataset, noise, size)
    return [other for other in SIZES_OF[noise] if points(dataset, noise, other) == n]


def draw(dataset: str, size: int, noise: str, number: int) -> Draw:
    """Return one of the draws of a data set."""
    n = points(dataset, noise, size)
    X, y = load(dataset)
    n_test = 2 * min(MOST_TESTED, _left(dataset, noise, n))
    seed = FIRST_SEED + number
    if noise in CONTAMINATIONS:
        pi, pi_prime = CONTAMINATIONS[noise]
        parts = sl.contaminated_split(
            X, y, pi=pi, pi_prime=pi_prime, n_positive=n, n_negative=n, n_test=n_test, random_state=seed
        )
    else:
        positives, negatives = clean_counts(noise, n)
        X, clean, *test = sl.contaminated_split(
            X, y, pi=1, pi_prime=0, n_positive=positives, n_negative=negatives, n_test=n_test, random_state=seed
        )
        generator = np.random.default_rng([seed, NOISES.index(noise)])
        noisy = by_majority(clean, generator) if noise == ANNOTATORS else near_the_border(X, clean, n, generator)
        parts = (X, noisy, *test)
    X, y, X_test, y_test = parts
    return Draw(X.astype(np.float64), y, X_test.astype(np.float64), y_test)


def near_the_border(X: np.ndarray, y: np.ndarray, n: int, generator: np.random.Generator) -> np.ndarray:
    """Return labels at (0.8, 0.3) that are wrong mostly near the border, n of either class.

    The border is that of a logistic regression on the features and their squares, fitted to clean labels. The distance
    of a point is the absolute log-odds by a model that has not seen the point. The points of a class to flip are drawn
    one after the other, with probabilities proportional to exp(-distance / median distance).
    """
    reference = make_pipeline(StandardScaler(), FunctionTransformer(_with_squares), LogisticRegression(max_iter=1000))
    distance = np.abs(cross_val_predict(reference, X, y, cv=5, method="decision_function"))
    # Adding Gumbel noise to the logarithms of weights and taking the largest is drawing by weight without replacement.
    keys = generator.gumbel(size=len(y)) - distance / np.median(distance)
    pi, pi_prime = CONTAMINATIONS["0.8/0.3"]
    noisy = y.copy()
    for label, flips in ((1, round(pi_prime * n)), (-1, n - round(pi * n))):
        rows = np.flatnonzero(y == label)
        noisy[rows[np.argsort(-keys[rows])[:flips]]] = -label
    return noisy


def by_majority(y: np.ndarray, generator: np.random.Generator) -> np.ndarray:
    """Return for each point the label that most of three annotators give it, drawn from five of different skill."""
    who = np.argsort(generator.random((len(y), len(SKILLS))), axis=1)[:, :3]
    right = generator.random(who.shape) < SKILLS[who]
    return np.where(right.sum(axis=1) >= 2, y, -y)


def _with_squares(X: np.ndarray) -> np.ndarray:
    return np.hstack([X, X**2])


def _left(dataset: str, noise: str, n: int) -> int:
    """Return how many points the smaller clean class still has when the training points are drawn."""
    return min(have - used for have, used in zip(COUNTS[dataset], clean_counts(noise, n), strict=True))
