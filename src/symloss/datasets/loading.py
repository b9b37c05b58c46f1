"""Load a data set, or draw one from its generator, and the data set itself."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from symloss.corruption import RandomState
from symloss.datasets.catalog import CATALOG, CIFAR10_CLASSES, DatasetInfo, find_files, given_path, places, verify
from symloss.datasets.tables import GENERATORS, READERS, Table, draw_twonorm, draw_waveform, read_cifar10


@dataclass(frozen=True, eq=False, repr=False)
class Dataset:
    """A data set with binary labels.

    Parameters
    ----------
    name : str
    data : array of shape (n, d), float32; for images (n, channels, height, width), uint8 as in the file
    target : array of n labels in {+1, -1}
    labels : array of n indices into ``label_names``
        The classes in the file; there may be more than two.
    label_names, feature_names : tuple of str
        Names of classes and columns; pixels have no names.
    DESCR : str
        What it is, how it was prepared, its source and license.
    origin : str
        The folder that it was read from, or the generator that drew it.
    """

    name: str
    data: NDArray[Any]
    target: NDArray[np.int64]
    labels: NDArray[np.int64]
    label_names: tuple[str, ...]
    feature_names: tuple[str, ...]
    DESCR: str
    origin: str

    def __repr__(self) -> str:
        shape = " x ".join(str(size) for size in self.data.shape)
        return f"Dataset({self.name!r}: {shape} {self.data.dtype}, {int((self.target == 1).sum())} positive)"


def list_datasets() -> list[str]:
    """Return the names of the data sets."""
    return list(CATALOG)


def info(name: str) -> DatasetInfo:
    """Return the facts about a data set without its files: size, classes, source, license, names and checksums."""
    if name not in CATALOG:
        raise ValueError(f"unknown data set {name!r}; known data sets: {', '.join(CATALOG)}")
    return CATALOG[name]


def where(name: str) -> list[str]:
    """Return the places that a data set would be read from; the list is empty if it must be downloaded.

    Places are ``"SYMLOSS_DATA"``, ``"cache"`` and ``"generator"``. The files are looked for, but not verified.
    """
    record = info(name)
    return places(record) or (["generator"] if name in GENERATORS else [])


def fetch(name: str, *, split: str | None = None, download: bool = True) -> list[Path]:
    """Return the paths of a data set's files, after verifying them; missing files are downloaded into the cache.

    Parameters
    ----------
    name : str
        One of ``list_datasets()``.
    split : {"train", "test"}, optional
        Which part of the official split to return; by default all files.
    download : bool
        Whether the network may be used.
    """
    record = info(name)
    if split is not None and split not in record.splits:
        have = f"the splits {', '.join(record.splits)}" if record.splits else "no official split"
        raise ValueError(f"{name} has {have}, got split={split!r}")
    files = [file for file in record.files if split is None or file.name in record.splits[split]]
    return find_files(record, files, download)


def load(name: str, *, split: str | None = None, negative: str | None = None, download: bool = True) -> Dataset:
    """Load a data set: from the folder ``SYMLOSS_DATA``, else from the cache, else by downloading its official file.

    Parameters
    ----------
    name : str
        One of ``list_datasets()``.
    split : {"train", "test"}, optional
        Which part of the official split to load; only mnist and cifar10 have one. By default both parts are loaded,
        training images first.
    negative : str, optional
        The only negative class to keep, if a data set has several: ``load("cifar10", negative="horse")``.
    download : bool
        Whether the network may be used. If it may not, or if the download fails, a missing file is an error. Only
        twonorm and waveform are then drawn from their generators, with ``random_state=0``.

    Examples
    --------
    >>> twonorm = load("twonorm", download=False)
    >>> twonorm.data.shape, twonorm.data.dtype, np.unique(twonorm.target)
    ((7400, 20), dtype('float32'), array([-1,  1]))
    """
    record = info(name)
    negatives = [of for index, of in enumerate(record.label_names) if index not in record.positive]
    if negative is not None and negative not in negatives:
        raise ValueError(f"negative must be one of {name}'s {', '.join(negatives)}; got {negative!r}")
    try:
        paths = fetch(name, split=split, download=download)
        table, origin = READERS[name](paths, record.columns), str(paths[0].parent)
    except FileNotFoundError:
        if name not in GENERATORS:
            raise
        table, origin = GENERATORS[name](record.rows, np.random.default_rng(0)), _drawn(0)
    if negative is not None:
        kept = np.isin(table.labels, [*record.positive, record.label_names.index(negative)])
        table = table._replace(data=table.data[kept], labels=table.labels[kept])
    return _dataset(record, table, origin)


def make_twonorm(n_samples: int = 7400, random_state: RandomState = None) -> Dataset:
    """Draw twonorm (Breiman, 1996): normal points in 20 dimensions, whose means are all -2/sqrt(20) or 2/sqrt(20).

    The class with negative means is the positive class (+1).

    Examples
    --------
    >>> drawn = make_twonorm(1000, random_state=0)
    >>> bool(((drawn.data.sum(axis=1) < 0) == (drawn.target == 1)).mean() > 0.95)  # the best rule is 97.7% right
    True
    """
    table = draw_twonorm(n_samples, np.random.default_rng(random_state))
    return _dataset(info("twonorm"), table, _drawn(random_state))


def make_waveform(n_samples: int = 5000, random_state: RandomState = None) -> Dataset:
    """Draw waveform (Breiman et al., 1984): noisy mixtures of two of three waves at 21 points; class 1 is positive."""
    table = draw_waveform(n_samples, np.random.default_rng(random_state))
    return _dataset(info("waveform"), table, _drawn(random_state))


def load_cifar10_class(name: str, download: bool = True) -> tuple[NDArray[np.uint8], NDArray[np.uint8]]:
    """Return the training images (5000, 3, 32, 32) and the test images (1000, 3, 32, 32) of a class of CIFAR-10.

    They are read from ``cifar-10-classes/NAME.bin`` in ``SYMLOSS_DATA`` if that exists: the official records of a
    class in their order, 18 MB instead of 180 MB. Otherwise they are taken from the official files.
    """
    if name not in CIFAR10_CLASSES:
        raise ValueError(f"unknown class {name!r} of CIFAR-10; its classes: {', '.join(CIFAR10_CLASSES)}")
    if path := given_path(f"cifar-10-classes/{name}.bin"):
        verify(path, [CIFAR10_CLASSES[name]])
        images = read_cifar10([path], ()).data
        return images[:5000], images[5000:]
    train, test = (load("cifar10", split=split, download=download) for split in ("train", "test"))
    label = train.label_names.index(name)
    return train.data[train.labels == label], test.data[test.labels == label]


def _drawn(random_state: RandomState) -> str:
    return f"Breiman's generator, random_state={random_state!r}"


def _dataset(record: DatasetInfo, table: Table, origin: str) -> Dataset:
    return Dataset(
        name=record.name,
        data=table.data,
        target=np.where(np.isin(table.labels, record.positive), 1, -1),
        labels=table.labels,
        label_names=record.label_names,
        feature_names=table.feature_names,
        DESCR=record.describe(origin),
        origin=origin,
    )
