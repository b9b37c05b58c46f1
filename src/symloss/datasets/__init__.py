"""The paper's eleven data sets, from their official files: verified, cached, and ready as arrays."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from symloss.corruption import RandomState
from symloss.datasets import generators
from symloss.datasets.catalog import CATALOG
from symloss.datasets.records import Dataset, DatasetInfo, Table
from symloss.datasets.store import find_files, places


def list_datasets() -> list[str]:
    """Return the names of the data sets.

    Examples
    --------
    >>> list_datasets()[:3]
    ['spambase', 'phoneme', 'phishing']
    """
    return list(CATALOG)


def info(name: str) -> DatasetInfo:
    """Return the facts about a data set, without its files: size, classes, source, license, file names and checksums.

    Examples
    --------
    >>> adult = info("adult")
    >>> adult.rows, adult.dim, adult.label_names
    (45222, 104, ('<=50K', '>50K'))
    """
    if name not in CATALOG:
        raise ValueError(f"unknown data set {name!r}; known data sets: {', '.join(CATALOG)}")
    return CATALOG[name]


def where(name: str) -> list[str]:
    """Return the places that a data set would be read from; the list is empty if it must be downloaded.

    Places are ``"SYMLOSS_DATA"``, ``"cache"`` and ``"generator"``. The files are looked for, but not verified.

    Examples
    --------
    >>> set(where("twonorm")) <= {"SYMLOSS_DATA", "cache", "generator"}
    True
    """
    record = info(name)
    return places(record) or (["generator"] if record.generate else [])


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

    Examples
    --------
    >>> fetch("iris")
    Traceback (most recent call last):
    ValueError: unknown data set 'iris'; known data sets: spambase, phoneme, ...
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
    keep = _classes_to_keep(record, negative)
    try:
        paths = fetch(name, split=split, download=download)
    except FileNotFoundError:
        if record.generate is None:
            raise
        return _dataset(record, record.generate(record.rows, np.random.default_rng(0)), keep, _drawn(0))
    return _dataset(record, record.read(paths), keep, str(paths[0].parent))


def make_twonorm(n_samples: int = 7400, random_state: RandomState = None) -> Dataset:
    """Draw twonorm (Breiman, 1996): normal points in 20 dimensions, whose means are all -2/sqrt(20) or 2/sqrt(20).

    The class with negative means is the positive class (+1).

    Examples
    --------
    >>> drawn = make_twonorm(1000, random_state=0)
    >>> bool(((drawn.data.sum(axis=1) < 0) == (drawn.target == 1)).mean() > 0.95)  # the best rule is 97.7% right
    True
    """
    table = generators.twonorm(n_samples, np.random.default_rng(random_state))
    return _dataset(info("twonorm"), table, None, _drawn(random_state))


def make_waveform(n_samples: int = 5000, random_state: RandomState = None) -> Dataset:
    """Draw waveform (Breiman et al., 1984): noisy mixtures of two out of three waves at 21 points; class 1 is positive.

    Examples
    --------
    >>> drawn = make_waveform(1000, random_state=0)
    >>> drawn.data.shape, sorted(set(zip(drawn.labels.tolist(), drawn.target.tolist())))
    ((1000, 21), [(0, -1), (1, 1), (2, -1)])
    """
    table = generators.waveform(n_samples, np.random.default_rng(random_state))
    return _dataset(info("waveform"), table, None, _drawn(random_state))


def _classes_to_keep(record: DatasetInfo, negative: str | None) -> list[int] | None:
    """Return the indices of the positive classes and of one negative class; None for all classes."""
    if negative is None:
        return None
    negatives = [name for index, name in enumerate(record.label_names) if index not in record.positive]
    if negative not in negatives:
        raise ValueError(f"negative must be one of {record.name}'s {', '.join(negatives)}; got {negative!r}")
    return [*record.positive, record.label_names.index(negative)]


def _drawn(random_state: RandomState) -> str:
    return f"Breiman's generator, random_state={random_state!r}"


def _dataset(record: DatasetInfo, table: Table, keep: list[int] | None, origin: str) -> Dataset:
    data, labels, feature_names = table
    if keep is not None:
        kept = np.isin(labels, keep)
        data, labels = data[kept], labels[kept]
    return Dataset(
        name=record.name,
        data=data,
        target=np.where(np.isin(labels, record.positive), 1, -1),
        labels=labels,
        label_names=record.label_names,
        feature_names=feature_names,
        DESCR=record.describe(origin),
        origin=origin,
    )


__all__ = [
    "Dataset",
    "DatasetInfo",
    "fetch",
    "info",
    "list_datasets",
    "load",
    "make_twonorm",
    "make_waveform",
    "where",
]
