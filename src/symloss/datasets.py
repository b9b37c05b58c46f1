"""The eleven data sets of the paper (``datasets.toml``): their files, found, verified and read; and two generators.

Files are found in ``SYMLOSS_DATA``, in the cache or on the network; only verified ones are used, so their form is
not checked again. None of the formats can carry code.
"""

from __future__ import annotations

import gzip
import hashlib
import os
import subprocess
import sys
import tempfile
import tomllib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from importlib.util import find_spec
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from filelock import FileLock
from numpy.typing import NDArray

from symloss.corruption import RandomState
from symloss.messages import require

__all__ = [
    "Dataset",
    "DatasetInfo",
    "fetch",
    "info",
    "list_datasets",
    "load",
    "load_cifar10_class",
    "make_twonorm",
    "make_waveform",
    "where",
]

_FACTS = tomllib.loads(Path(__file__).with_suffix(".toml").read_text("utf-8"))
CIFAR10_CLASSES: dict[str, str] = _FACTS["cifar10"].pop("class_files")  # each class's checksum
ADULT_NUMBERS = ("age", "fnlwgt", "education-num", "capital-gain", "capital-loss", "hours-per-week")
CIFAR_RECORD = 1 + 3 * 32 * 32  # a label and three planes of 32 x 32 pixels
WAVES = np.maximum(6 - np.abs(np.arange(1, 22) - np.array([[7], [11], [15]])), 0)  # triangles centered on 7, 11 and 15
MIXED = np.array([[0, 2], [0, 1], [1, 2]])  # the two waves of classes 0, 1 and 2, as the file numbers them


@dataclass(frozen=True)
class DataFile:
    """One file of a data set.

    It has one of the checksums, is downloaded from the first URL that answers (after ``#`` stands its name in the
    archive), and may have further names in ``SYMLOSS_DATA``.
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
    splits : mapping of str to tuple of str
        The names of the files in each part of the official split.
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
    columns = tuple(facts.pop("columns", [f"x{number}" for number in range(1, facts["dim"] + 1)]))
    facts = {key: tuple(value) if isinstance(value, list) else value for key, value in facts.items()}
    return DatasetInfo(name, **facts, files=files, columns=columns, splits=splits)


CATALOG = {name: _info(name, facts) for name, facts in _FACTS.items()}


def data_folder() -> Path | None:
    """Return the folder that ``SYMLOSS_DATA`` names, or None; it is the user's own, and never written to."""
    folder = os.environ.get("SYMLOSS_DATA")
    if not folder:
        return None
    if not Path(folder).is_dir():
        raise ValueError(f"SYMLOSS_DATA must name a folder, got {folder}")
    return Path(folder)


def cache_folder() -> Path:
    """Return the folder for downloads: ``SYMLOSS_CACHE`` if it is set, else ``symloss`` in the user's cache folder."""
    if folder := os.environ.get("SYMLOSS_CACHE"):
        return Path(folder)
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "symloss"


def given_path(*names: str) -> Path | None:
    """Return the path of the first of these files that is in ``SYMLOSS_DATA``, or None."""
    folder = data_folder()
    paths = [folder / name for name in names] if folder else []
    return next((path for path in paths if path.is_file()), None)


def verify(path: Path, sha256: Sequence[str]) -> None:
    """Raise ValueError unless a file has one of these checksums."""
    with path.open("rb") as stream:
        got = hashlib.file_digest(stream, "sha256").hexdigest()
    if got not in sha256:
        raise ValueError(
            f"{path} is not what is published and is not used: expected SHA-256 {' or '.join(sha256)}, got {got}"
        )


def _in_cache(file: DataFile) -> bool:
    try:
        verify(cache_folder() / file.name, file.sha256)
    except (ValueError, OSError):
        return False
    return True


def _download(name: str, missing: Sequence[DataFile]) -> list[str]:
    """Download missing files into the cache, in one process at a time; return what failed."""
    failed: list[str] = []
    try:
        require("data", "downloads need pooch", "pooch")
        cache_folder().mkdir(parents=True, exist_ok=True)
        with (
            FileLock(cache_folder() / f".{name}.lock"),
            tempfile.TemporaryDirectory(prefix=".", dir=cache_folder()) as folder,
        ):
            for file in missing:
                target = cache_folder() / file.name
                for url in file.urls:
                    if _in_cache(file):  # another process may have been first
                        break
                    try:
                        path = _retrieved(url, Path(folder))
                        verify(path, file.sha256)
                        target.parent.mkdir(parents=True, exist_ok=True)
                        path.replace(target)
                    except (OSError, ValueError, subprocess.SubprocessError) as error:
                        failed.append(f"{url}: {error}")
    except (ImportError, OSError) as error:
        failed.append(str(error))
    return failed


def _retrieved(url: str, folder: Path) -> Path:
    """Download a URL, once for all files of its archive, and return the unpacked file."""
    import pooch

    pooch.get_logger().setLevel("WARNING")
    address, _, member = url.partition("#")
    processor = None
    if member:
        unpack = pooch.Unzip if address.endswith(".zip") else pooch.Untar
        processor = unpack(members=[member])
    progress = find_spec("tqdm") is not None and sys.stderr.isatty()
    found = pooch.retrieve(address, None, path=folder, processor=processor, progressbar=progress)
    path = Path(found[0] if member else found)
    if (member or address).endswith(".Z"):
        unpacked = path.with_suffix("")
        with path.open("rb") as packed, unpacked.open("wb") as out:
            subprocess.run(["gzip", "-dc"], stdin=packed, stdout=out, check=True)
        return unpacked
    return path


class Table(NamedTuple):
    """The content of a data set's files: rows, the class of each row as an index into ``label_names``, and names."""

    data: NDArray[Any]
    labels: NDArray[np.int64]
    feature_names: tuple[str, ...]


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
    found = set()
    for file in info(name).files:
        if given_path(file.name, *file.further_names):
            found.add("SYMLOSS_DATA")
        elif (cache_folder() / file.name).is_file():
            found.add("cache")
        else:
            return ["generator"] if name in GENERATORS else []
    return sorted(found)


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
    given = {file.name: given_path(file.name, *file.further_names) for file in files}
    for file in files:
        if path := given[file.name]:
            verify(path, file.sha256)  # it is the user's own: we must not replace it
    missing = [file for file in files if not given[file.name] and not _in_cache(file)]
    failed = _download(name, missing) if missing and download else []
    if missing := [file for file in missing if not _in_cache(file)]:
        more = f" and {len(missing) - 1} more" if len(missing) > 1 else ""
        urls = " and ".join(dict.fromkeys(file.urls[0].partition("#")[0] for file in missing))
        raise FileNotFoundError(
            f"{name} needs {missing[0].name}{more}, not found in SYMLOSS_DATA ({data_folder() or 'not set'}) or "
            f"in the cache ({cache_folder()}){''.join(f'; {reason}' for reason in failed)}. "
            f"Fetch {urls}, unpack it, and put the files into {data_folder() or 'a folder that SYMLOSS_DATA names'}"
        )
    return [given[file.name] or cache_folder() / file.name for file in files]


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
