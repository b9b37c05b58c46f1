"""The eighteen data sets of noisy_labels.py, each with two classes: nine from the paper, five of KEEL, four more.

The paper's nine are found or downloaded by ``symloss.datasets``. KEEL's five are read from the folder ``keel`` inside
the folder that ``SYMLOSS_DATA`` names; a file may be as it is in KEEL's archive, or without its header. The last four
come with scikit-learn. The pool of the CV estimators and every rule in them are chosen on ``CHOSEN_ON`` only.
"""

import os
from collections.abc import Callable
from functools import cache
from pathlib import Path

import numpy as np
from sklearn.datasets import load_breast_cancer, load_digits, make_classification, make_hastie_10_2
from sklearn.preprocessing import OneHotEncoder

import symloss as sl

# The halves alternate in alphabetical order.
CHOSEN_ON = ("adult", "clusters", "hastie", "mushroom", "phishing", "segment", "splice", "texture", "w8a")
REPORTED_ON = (
    "breast_cancer", "digits", "marketing", "penbased", "phoneme", "spambase", "susy", "twonorm", "waveform",
)  # fmt: skip
DATASETS = tuple(sorted(CHOSEN_ON + REPORTED_ON))

KEEL_ARCHIVE = "https://sci2s.ugr.es/keel/dataset/data/classification/{name}.zip"  # holds {name}.dat

# Clean positives and negatives. A file that has others is not the file that the results are about.
COUNTS = {
    "adult": (11208, 34014),
    "breast_cancer": (357, 212),
    "clusters": (6000, 6000),
    "digits": (891, 906),
    "hastie": (5932, 6068),
    "marketing": (3442, 3434),
    "mushroom": (2156, 3488),
    "penbased": (5542, 5450),
    "phishing": (6157, 4898),
    "phoneme": (1586, 3818),
    "segment": (990, 1320),
    "spambase": (1813, 2788),
    "splice": (1655, 1535),
    "susy": (13815, 16185),
    "texture": (3000, 2500),
    "twonorm": (3697, 3703),
    "w8a": (1479, 48270),
    "waveform": (1647, 3353),
}

Table = tuple[np.ndarray, np.ndarray]


@cache
def load(name: str) -> Table:
    """Return the features of a data set and its clean labels, +1 or -1."""
    X, y = _LOADERS[name](name) if name in _LOADERS else _from_the_paper(name)
    found = (int((y > 0).sum()), int((y < 0).sum()))
    if name != "susy" and found != COUNTS[name]:  # any 30,000 of SUSY's five million rows will do
        raise ValueError(f"{name} must have {COUNTS[name]} positives and negatives, got {found}")
    return X, y


def _from_the_paper(name: str) -> Table:
    dataset = sl.datasets.load(name)
    return dataset.data, dataset.target


def _keel_rows(name: str) -> np.ndarray:
    """Return the complete rows of a file of KEEL as text, without the header, whose lines begin with @."""
    path = Path(os.environ.get("SYMLOSS_DATA", ".")) / "keel" / f"{name}.dat"
    if not path.exists():
        raise FileNotFoundError(f"{name} needs {path}, from {KEEL_ARCHIVE.format(name=name)}")
    lines = [line.replace(" ", "") for line in path.read_text().splitlines() if line.strip() and line[0] != "@"]
    return np.array([line.split(",") for line in lines if "<null>" not in line])


def _keel_numbers(is_positive: Callable[[np.ndarray], np.ndarray]) -> Callable[[str], Table]:
    def read(name: str) -> Table:
        rows = _keel_rows(name)
        return rows[:, :-1].astype(float), _labels(is_positive(rows[:, -1].astype(int)))

    return read


def _splice(name: str) -> Table:
    rows = _keel_rows(name)
    return OneHotEncoder(sparse_output=False).fit_transform(rows[:, :-1]), _labels(rows[:, -1] == "N")


def _digits(_: str) -> Table:
    X, y = load_digits(return_X_y=True)
    return X, _labels(y % 2 == 0)


def _breast_cancer(_: str) -> Table:
    X, y = load_breast_cancer(return_X_y=True)
    return X, _labels(y == 1)


def _hastie(_: str) -> Table:
    X, y = make_hastie_10_2(12000, random_state=0)
    return X, _labels(y > 0)


def _clusters(_: str) -> Table:
    X, y = make_classification(
        12000, 40, n_informative=8, n_redundant=6, n_clusters_per_class=4, flip_y=0, class_sep=1.2, random_state=0
    )
    return X, _labels(y == 1)


def _labels(positive: np.ndarray) -> np.ndarray:
    return np.where(positive, 1, -1)


def _every_other(classes: np.ndarray) -> np.ndarray:
    return np.unique(classes, return_inverse=True)[1] % 2 == 0


_LOADERS: dict[str, Callable[[str], Table]] = {
    "breast_cancer": _breast_cancer,  # benign or malignant
    "clusters": _clusters,
    "digits": _digits,  # even or odd
    "hastie": _hastie,
    "marketing": _keel_numbers(lambda income: income >= 6),
    "penbased": _keel_numbers(lambda digit: digit % 2 == 0),
    "segment": _keel_numbers(lambda kind: kind <= 3),
    "splice": _splice,  # neither kind of site, or one of them
    "texture": _keel_numbers(_every_other),  # the first, third, ... of its eleven classes
}
