"""The facts about a data set that are known before it is read, and the data set itself."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import unquote

import numpy as np
from numpy.typing import NDArray


class Table(NamedTuple):
    """The content of a data set's files: rows, the class of each row as an index into ``label_names``, and names."""

    data: NDArray[Any]
    labels: NDArray[np.int64]
    feature_names: tuple[str, ...]


@dataclass(frozen=True)
class Known:
    """The checksum and the size in bytes of a published file.

    Examples
    --------
    >>> from symloss.datasets import info
    >>> info("spambase").files[0].known[0].size
    702942
    """

    sha256: str
    size: int


@dataclass(frozen=True)
class DataFile:
    """One file of a data set.

    Parameters
    ----------
    name : str
        Its name in the cache.
    known : tuple of Known
        The forms in which it is published; any of them will do.
    also : tuple of str
        Further names that it may have in ``SYMLOSS_DATA``.

    Examples
    --------
    >>> from symloss.datasets import info
    >>> info("spambase").files[0].name
    'spambase.data'
    """

    name: str
    known: tuple[Known, ...]
    also: tuple[str, ...] = ()

    @property
    def size(self) -> int:
        """The size in bytes of its largest form."""
        return max(known.size for known in self.known)


@dataclass(frozen=True)
class Mirror:
    """A URL, and the files that it provides: the name of each in the archive, or None if the download is the file.

    Examples
    --------
    >>> from symloss.datasets import info
    >>> info("spambase").mirrors[0].gives
    {'spambase.data': 'spambase.data'}
    """

    url: str
    gives: Mapping[str, str | None]

    @property
    def filename(self) -> str:
        """The last part of the URL, under which a browser would save the download."""
        return unquote(self.url.rpartition("/")[2])


@dataclass(frozen=True)
class DatasetInfo:
    """The facts about a data set that are known without its files.

    Parameters
    ----------
    name, title : str
        The name to load it by, and what it is.
    rows, dim, positives : int
        Its size after preparation, and how many rows are positive.
    label_names : tuple of str
        The names of its classes.
    positive : tuple of int
        The indices of the classes that are positive (+1); the others are negative (-1).
    publisher, source, license, citation : str
        Who publishes it, on which page, the license stated there, and what to cite.
    preparation : str
        What is done to the files to make the rows.
    files : tuple of DataFile
        The official files.
    mirrors : tuple of Mirror
        Where the files are downloaded from, in the order in which they are tried.
    read : callable
        Takes the paths of the files, in the order of ``files``, and returns the table.
    generate : callable, optional
        Takes a number of rows and a random generator, and draws a table from the distribution of the data set.
    splits : mapping of str to tuple of str
        The names of the files in each part of the official split.

    Examples
    --------
    >>> from symloss.datasets import info
    >>> spambase = info("spambase")
    >>> spambase.rows, spambase.dim, spambase.positives, spambase.license
    (4601, 57, 1813, 'CC BY 4.0')
    """

    name: str
    title: str
    rows: int
    dim: int
    positives: int
    label_names: tuple[str, ...]
    positive: tuple[int, ...]
    publisher: str
    source: str
    license: str
    citation: str
    preparation: str
    files: tuple[DataFile, ...]
    mirrors: tuple[Mirror, ...]
    read: Callable[[Sequence[Path]], Table] = field(repr=False)
    generate: Callable[[int, np.random.Generator], Table] | None = field(default=None, repr=False)
    splits: Mapping[str, tuple[str, ...]] = field(default_factory=dict)

    def describe(self, origin: str) -> str:
        """Return the description of the data set, read from ``origin``."""
        positive = ", ".join(self.label_names[index] for index in self.positive)
        negative = ", ".join(name for index, name in enumerate(self.label_names) if index not in self.positive)
        return (
            f"{self.name}: {self.title}\n\n"
            f"Positive (+1): {positive}. Negative (-1): {negative}.\n"
            f"{self.preparation}\n\n"
            f"Source: {self.publisher}, {self.source}\nLicense: {self.license}\nCite: {self.citation}\n"
            f"Read from: {origin}\n"
        )


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

    Examples
    --------
    >>> from symloss.datasets import make_waveform
    >>> make_waveform(300, random_state=0)
    Dataset('waveform': 300 x 21 float32, 95 positive)
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
