"""Turn the files of a data set into its table, or draw it: Breiman's generators of twonorm and waveform.

Files arrive here with their checksums verified, so their form is not checked again. None of the formats can carry code.
"""

from __future__ import annotations

import gzip
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray


class Table(NamedTuple):
    """The content of a data set's files: rows, the class of each row as an index into ``label_names``, and names."""

    data: NDArray[Any]
    labels: NDArray[np.int64]
    feature_names: tuple[str, ...]


ADULT_NUMBERS = ("age", "fnlwgt", "education-num", "capital-gain", "capital-loss", "hours-per-week")
CIFAR_RECORD = 1 + 3 * 32 * 32  # a label and three planes of 32 x 32 pixels

WAVES = np.maximum(6 - np.abs(np.arange(1, 22) - np.array([[7], [11], [15]])), 0)  # triangles centered on 7, 11 and 15
MIXED = np.array([[0, 2], [0, 1], [1, 2]])  # the two waves of classes 0, 1 and 2, as the file numbers them


def read_numbered_classes(paths: Sequence[Path], columns: Sequence[str]) -> Table:
    """Read one CSV or ARFF file with these columns, followed by the class: 0, 1, ..., or -1 for 0."""
    rows = _numbers(paths[0])
    return Table(rows[:, :-1].copy(), rows[:, -1].clip(min=0).astype(np.int64), tuple(columns))


def read_susy(paths: Sequence[Path], columns: Sequence[str]) -> Table:
    """Read the first 30,000 rows of UCI's CSV file, or all rows of a smaller sample: the class, then 18 columns."""
    rows = _numbers(paths[0], max_rows=30_000)
    return Table(rows[:, 1:].copy(), rows[:, 0].astype(np.int64), tuple(columns))


def read_w8a(paths: Sequence[Path], columns: Sequence[str]) -> Table:
    """Read LIBSVM's file into a dense table: 300 columns, and the class, -1 or +1."""
    from sklearn.datasets import load_svmlight_file

    data, labels = load_svmlight_file(str(paths[0]), n_features=len(columns), dtype=np.float32)
    return Table(data.toarray(), (labels > 0).astype(np.int64), tuple(columns))


def read_adult(paths: Sequence[Path], columns: Sequence[str]) -> Table:
    """Read UCI's training and test files, without the rows in which a value is missing (``?``)."""
    rows = np.concatenate([_words(path) for path in paths])
    labels = np.char.startswith(rows[:, -1], ">50K")  # the test file has >50K. with a period
    return _one_hot(rows[:, :-1], labels, columns, ADULT_NUMBERS)


def read_mushroom(paths: Sequence[Path], columns: Sequence[str]) -> Table:
    """Read UCI's file, without the rows in which a value is missing (``?``): the class, e or p, then 22 columns."""
    rows = _words(paths[0])
    return _one_hot(rows[:, 1:], rows[:, 0] == "e", columns, ())


def read_mnist(paths: Sequence[Path], columns: Sequence[str]) -> Table:
    """Read pairs of idx files, images and their digits, as (n, 1, 28, 28)."""
    images, digits = ([_idx(path) for path in paths[start::2]] for start in (0, 1))
    return Table(np.concatenate(images)[:, None], np.concatenate(digits).astype(np.int64), tuple(columns))


def read_cifar10(paths: Sequence[Path], columns: Sequence[str]) -> Table:
    """Read batches of CIFAR-10's binary version, as (n, 3, 32, 32)."""
    records = np.concatenate([np.fromfile(path, np.uint8).reshape(-1, CIFAR_RECORD) for path in paths])
    return Table(records[:, 1:].reshape(-1, 3, 32, 32), records[:, 0].astype(np.int64), tuple(columns))


def draw_twonorm(rows: int, generator: np.random.Generator) -> Table:
    """Draw normal points in 20 dimensions, with all means 2 / sqrt(20) for class 0 and -2 / sqrt(20) for class 1."""
    labels = generator.integers(2, size=rows)
    means = np.where(labels == 0, 2, -2) / np.sqrt(20)
    data = generator.standard_normal((rows, 20)) + means[:, None]
    return Table(data.astype(np.float32), labels, tuple(f"A{index}" for index in range(1, 21)))


def draw_waveform(rows: int, generator: np.random.Generator) -> Table:
    """Draw noisy mixtures u * wave + (1 - u) * other wave at 21 points; the class says which two of the three waves."""
    labels = generator.integers(3, size=rows)
    share = generator.random((rows, 1))
    first, second = WAVES[MIXED[labels, 0]], WAVES[MIXED[labels, 1]]
    data = share * first + (1 - share) * second + generator.standard_normal((rows, 21))
    return Table(data.astype(np.float32), labels, tuple(f"x{index}" for index in range(1, 22)))


def _numbers(path: Path, max_rows: int | None = None) -> NDArray[np.float32]:
    """Read rows of comma-separated numbers, also below a header of ARFF, and also if the name ends in .gz or .bz2."""
    return np.loadtxt(path, np.float32, comments=["@", "%"], delimiter=",", ndmin=2, max_rows=max_rows)


def _words(path: Path) -> NDArray[np.str_]:
    """Read the cells of a CSV file, without comments (``|``) and without the rows in which a value is missing."""
    lines = path.read_text("ascii").splitlines()
    rows: NDArray[np.str_] = np.char.strip([line.split(",") for line in lines if line and line[0] != "|"])
    complete: NDArray[np.bool_] = (rows != "?").all(axis=1)
    return rows[complete]


def _idx(path: Path) -> NDArray[np.uint8]:
    """Read MNIST's idx format: 0, 0, 8 (unsigned bytes), the rank, the sizes (big-endian), and the data."""
    content = gzip.decompress(path.read_bytes())
    rank = content[3]
    shape = np.frombuffer(content, ">u4", rank, offset=4)
    return np.frombuffer(content, np.uint8, offset=4 + 4 * rank).reshape(shape)


def _one_hot(columns: NDArray[Any], labels: NDArray[Any], names: Sequence[str], numbers: Sequence[str]) -> Table:
    """Return a table with one column per column of numbers, and one per value of any other column."""
    blocks: list[NDArray[np.float32]] = []
    feature_names: list[str] = []
    for name, column in zip(names, columns.T, strict=True):
        if name in numbers:
            blocks.append(column.astype(np.float32)[:, None])
            feature_names.append(name)
        else:
            values, codes = np.unique(column, return_inverse=True)
            blocks.append(np.eye(len(values), dtype=np.float32)[codes])
            feature_names += [f"{name}={value}" for value in values]
    return Table(np.concatenate(blocks, axis=1), labels.astype(np.int64), tuple(feature_names))


READERS: dict[str, Callable[[Sequence[Path], Sequence[str]], Table]] = {
    "spambase": read_numbered_classes,
    "phoneme": read_numbered_classes,
    "phishing": read_numbered_classes,
    "waveform": read_numbered_classes,
    "susy": read_susy,
    "w8a": read_w8a,
    "adult": read_adult,
    "twonorm": read_numbered_classes,
    "mushroom": read_mushroom,
    "mnist": read_mnist,
    "cifar10": read_cifar10,
}
GENERATORS = {"twonorm": draw_twonorm, "waveform": draw_waveform}
