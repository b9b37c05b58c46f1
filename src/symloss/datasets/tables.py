"""Turn the files of a data set into its table: find the class, drop rows, and encode categories one-hot."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from symloss.datasets.formats import read_arff, read_cifar, read_csv, read_idx, read_libsvm, read_text
from symloss.datasets.generators import TWONORM_NAMES, WAVEFORM_NAMES
from symloss.datasets.records import Table

# fmt: off
SPAM_WORDS = (
    "make", "address", "all", "3d", "our", "over", "remove", "internet", "order", "mail", "receive", "will",
    "people", "report", "addresses", "free", "business", "email", "you", "credit", "your", "font", "000", "money",
    "hp", "hpl", "george", "650", "lab", "labs", "telnet", "857", "data", "415", "85", "technology", "1999",
    "parts", "pm", "direct", "cs", "meeting", "original", "project", "re", "edu", "table", "conference",
)
SUSY_NAMES = (
    "lepton_1_pT", "lepton_1_eta", "lepton_1_phi", "lepton_2_pT", "lepton_2_eta", "lepton_2_phi",
    "missing_energy_magnitude", "missing_energy_phi", "MET_rel", "axial_MET", "M_R", "M_TR_2", "R", "MT2", "S_R",
    "M_Delta_R", "dPhi_r_b", "cos_theta_r1",
)
ADULT_NAMES = (
    "age", "workclass", "fnlwgt", "education", "education-num", "marital-status", "occupation", "relationship",
    "race", "sex", "capital-gain", "capital-loss", "hours-per-week", "native-country",
)
ADULT_NUMBERS = ("age", "fnlwgt", "education-num", "capital-gain", "capital-loss", "hours-per-week")
MUSHROOM_NAMES = (
    "cap-shape", "cap-surface", "cap-color", "bruises", "odor", "gill-attachment", "gill-spacing", "gill-size",
    "gill-color", "stalk-shape", "stalk-root", "stalk-surface-above-ring", "stalk-surface-below-ring",
    "stalk-color-above-ring", "stalk-color-below-ring", "veil-type", "veil-color", "ring-number", "ring-type",
    "spore-print-color", "population", "habitat",
)
# fmt: on
SPAMBASE_NAMES = (
    *(f"word_freq_{word}" for word in SPAM_WORDS),
    *(f"char_freq_{character}" for character in ";([!$#"),
    *(f"capital_run_length_{statistic}" for statistic in ("average", "longest", "total")),
)
PHONEME_NAMES = ("Aa", "Ao", "Dcl", "Iy", "Sh")

SUSY_ROWS = 30_000


def last_column_is_class(names: Sequence[str]) -> Callable[[Sequence[Path]], Table]:
    """Return a function that reads one CSV or ARFF file with these columns, followed by the class: 0, 1, ..."""

    def read(paths: Sequence[Path]) -> Table:
        """Read the file, and return its table."""
        (path,) = paths
        _, rows = read_arff(path)
        _check_columns(path, rows.shape[1], len(names) + 1)
        return Table(rows[:, :-1].copy(), rows[:, -1].astype(np.int64), tuple(names))

    return read


spambase = last_column_is_class(SPAMBASE_NAMES)
phoneme = last_column_is_class(PHONEME_NAMES)
twonorm = last_column_is_class(TWONORM_NAMES)
waveform = last_column_is_class(WAVEFORM_NAMES)


def phishing(paths: Sequence[Path]) -> Table:
    """Read UCI's ARFF file: 30 columns, then the class, -1 or 1."""
    (path,) = paths
    names, rows = read_arff(path)
    return Table(rows[:, :-1].copy(), (rows[:, -1] == 1).astype(np.int64), names[:-1])


def susy(paths: Sequence[Path]) -> Table:
    """Read the first 30,000 rows of UCI's CSV file, or all rows of a smaller sample: the class, then 18 columns."""
    (path,) = paths
    rows = read_csv(path, SUSY_ROWS)
    _check_columns(path, rows.shape[1], len(SUSY_NAMES) + 1)
    return Table(rows[:, 1:].copy(), rows[:, 0].astype(np.int64), SUSY_NAMES)


def w8a(paths: Sequence[Path]) -> Table:
    """Read LIBSVM's file into a dense table: 300 columns, and the class, -1 or +1."""
    (path,) = paths
    labels, data = read_libsvm(path, 300)
    return Table(data, (labels > 0).astype(np.int64), tuple(f"x{index}" for index in range(1, 301)))


def adult(paths: Sequence[Path]) -> Table:
    """Read UCI's training and test files, without the rows in which a value is missing (``?``)."""
    rows = [row for path in paths for row in _rows(path, len(ADULT_NAMES) + 1) if "?" not in row]
    *columns, classes = zip(*rows, strict=True)
    labels = np.array([name.rstrip(".") == ">50K" for name in classes])  # the test file has >50K. with a period
    return _one_hot(columns, labels, ADULT_NAMES, ADULT_NUMBERS)


def mushroom(paths: Sequence[Path]) -> Table:
    """Read UCI's file, without the rows in which a value is missing (``?``): the class, e or p, then 22 columns."""
    (path,) = paths
    rows = [row for row in _rows(path, len(MUSHROOM_NAMES) + 1) if "?" not in row]
    classes, *columns = zip(*rows, strict=True)
    return _one_hot(columns, np.array([name == "p" for name in classes]), MUSHROOM_NAMES, ())


def mnist(paths: Sequence[Path]) -> Table:
    """Read pairs of idx files, images and their digits, as (n, 1, 28, 28)."""
    images = [read_idx(path) for path in paths[::2]]
    digits = [read_idx(path) for path in paths[1::2]]
    for path, pixels, classes in zip(paths[::2], images, digits, strict=True):
        if pixels.ndim != 3 or classes.ndim != 1 or len(pixels) != len(classes):
            raise ValueError(f"{path}: expected as many images as labels, got shapes {pixels.shape}, {classes.shape}")
    return Table(np.concatenate(images)[:, None], np.concatenate(digits).astype(np.int64), ())


def cifar10(paths: Sequence[Path]) -> Table:
    """Read batches of CIFAR-10's binary version, as (n, 3, 32, 32)."""
    labels, images = zip(*(read_cifar(path) for path in paths), strict=True)
    return Table(np.concatenate(images), np.concatenate(labels).astype(np.int64), ())


def _rows(path: Path, columns: int) -> list[list[str]]:
    lines = (line for line in read_text(path).splitlines() if line and not line.startswith("|"))  # | is a comment
    rows = [[cell.strip() for cell in line.split(",")] for line in lines]
    for width in {len(row) for row in rows} or {0}:
        _check_columns(path, width, columns)
    return rows


def _one_hot(columns: Sequence[Sequence[str]], labels: Any, names: Sequence[str], numbers: Sequence[str]) -> Table:
    """Return a table with one column per column of numbers, and one per value of any other column."""
    blocks: list[NDArray[np.float32]] = []
    feature_names: list[str] = []
    for name, column in zip(names, columns, strict=True):
        if name in numbers:
            blocks.append(np.array(column).astype(np.float32)[:, None])
            feature_names.append(name)
        else:
            values, codes = np.unique(column, return_inverse=True)
            blocks.append(np.eye(len(values), dtype=np.float32)[codes])
            feature_names += [f"{name}={value}" for value in values]
    return Table(np.concatenate(blocks, axis=1), labels.astype(np.int64), tuple(feature_names))


def _check_columns(path: Path, got: int, expected: int) -> None:
    if got != expected:
        raise ValueError(f"{path}: expected {expected} columns, got {got}")
