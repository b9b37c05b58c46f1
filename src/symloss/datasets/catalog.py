"""The eleven data sets of the paper: what they hold, who publishes them, and their files, as in ``catalog.toml``."""

from __future__ import annotations

import tomllib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from symloss.datasets import tables
from symloss.datasets.tables import Table


@dataclass(frozen=True)
class DataFile:
    """One file of a data set.

    Parameters
    ----------
    name : str
        Its name in the cache.
    sha256 : tuple of str
        The checksums of the forms in which it is published; any of them will do.
    urls : tuple of str
        Where it is downloaded from, in the order in which they are tried; after ``#`` stands its name in the archive.
    further_names : tuple of str
        Further names that it may have in ``SYMLOSS_DATA``.
    """

    name: str
    sha256: tuple[str, ...]
    urls: tuple[str, ...]
    further_names: tuple[str, ...]


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
    columns : tuple of str
        The names of the columns in the files; none for images.
    read : callable
        Takes the paths of the files, in the order of ``files``, and ``columns``, and returns the table.
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
    columns: tuple[str, ...]
    read: Callable[[Sequence[Path], Sequence[str]], Table] = field(repr=False)
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


def _info(name: str, facts: dict[str, Any]) -> DatasetInfo:
    urls, further = facts.pop("urls"), facts.pop("further_names", [])
    files = tuple(
        DataFile(
            file,
            tuple(sha256),
            tuple(url.format(name=file) for url in urls),
            tuple(further_name.format(name=file) for further_name in further),
        )
        for file, sha256 in facts.pop("files").items()
    )
    splits = {split: tuple(files[k].name for k in of) for split, of in facts.pop("splits", {}).items()}
    read, generate = getattr(tables, f"read_{name}"), getattr(tables, f"draw_{name}", None)
    columns = tuple(facts.pop("columns", [f"x{number}" for number in range(1, facts["dim"] + 1)]))
    facts = {key: tuple(value) if isinstance(value, list) else value for key, value in facts.items()}
    return DatasetInfo(name, **facts, files=files, columns=columns, read=read, generate=generate, splits=splits)


_FACTS = tomllib.loads(Path(__file__).with_name("catalog.toml").read_text("utf-8"))
CIFAR10_CLASSES: dict[str, str] = _FACTS["cifar10"].pop("class_files")  # each class's checksum
CATALOG = {name: _info(name, facts) for name, facts in _FACTS.items()}
