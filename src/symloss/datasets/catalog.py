"""The eleven data sets of the paper (``catalog.toml``), and their files.

Files are found in ``SYMLOSS_DATA``, in the cache or on the network; only verified ones are used.
"""

from __future__ import annotations

import hashlib
import os
import subprocess
import sys
import tempfile
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from filelock import FileLock

from symloss.extras import require


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


_FACTS = tomllib.loads(Path(__file__).with_name("catalog.toml").read_text("utf-8"))
CIFAR10_CLASSES: dict[str, str] = _FACTS["cifar10"].pop("class_files")  # each class's checksum
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


def places(info: DatasetInfo) -> list[str]:
    """Return where the files of a data set are, without verifying them; the list is empty if a file is missing."""
    found = set()
    for file in info.files:
        if given_path(file.name, *file.further_names):
            found.add("SYMLOSS_DATA")
        elif (cache_folder() / file.name).is_file():
            found.add("cache")
        else:
            return []
    return sorted(found)


def find_files(info: DatasetInfo, files: Sequence[DataFile], allow_download: bool) -> list[Path]:
    """Return the paths of files of a data set, after verifying all of them."""
    given = {file.name: given_path(file.name, *file.further_names) for file in files}
    for file in files:
        if path := given[file.name]:
            verify(path, file.sha256)  # it is the user's own: we must not replace it
    missing = [file for file in files if not given[file.name] and not _in_cache(file)]
    failed = _download(info, missing) if missing and allow_download else []
    if missing := [file for file in missing if not _in_cache(file)]:
        more = f" and {len(missing) - 1} more" if len(missing) > 1 else ""
        urls = " and ".join(dict.fromkeys(file.urls[0].partition("#")[0] for file in missing))
        raise FileNotFoundError(
            f"{info.name} needs {missing[0].name}{more}, not found in SYMLOSS_DATA ({data_folder() or 'not set'}) or "
            f"in the cache ({cache_folder()}){''.join(f'; {reason}' for reason in failed)}. "
            f"Fetch {urls}, unpack it, and put the files into {data_folder() or 'a folder that SYMLOSS_DATA names'}"
        )
    return [given[file.name] or cache_folder() / file.name for file in files]


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


def _download(info: DatasetInfo, missing: Sequence[DataFile]) -> list[str]:
    """Download missing files into the cache, in one process at a time; return what failed."""
    failed: list[str] = []
    try:
        require("data", "downloads need pooch", "pooch")
        cache_folder().mkdir(parents=True, exist_ok=True)
        with (
            FileLock(cache_folder() / f".{info.name}.lock"),
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
