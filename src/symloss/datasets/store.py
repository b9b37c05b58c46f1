"""Find the files of a data set in ``SYMLOSS_DATA``, in the cache or on the network; only verified files are used."""

from __future__ import annotations

import hashlib
import os
import warnings
from collections.abc import Sequence
from pathlib import Path
from typing import IO

from symloss.datasets.download import CHUNK, download
from symloss.datasets.records import DataFile, DatasetInfo, Mirror
from symloss.datasets.unpack import unpack
from symloss.files import whole_file

SPARE = 1 << 24  # bytes; an archive may be this much larger than twice the size of the files


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


def places(info: DatasetInfo) -> list[str]:
    """Return where the files of a data set are, without verifying them; the list is empty if a file is missing."""
    found = set()
    for file in info.files:
        if _given_path(file) or any(file.name in mirror.gives for mirror, _ in _given_archives(info)):
            found.add("SYMLOSS_DATA")
        elif (cache_folder() / file.name).is_file():
            found.add("cache")
        else:
            return []
    return sorted(found)


def find_files(info: DatasetInfo, files: Sequence[DataFile], allow_download: bool) -> list[Path]:
    """Return the paths of files of a data set, after verifying all of them."""
    found = {file.name: path for file in files if (path := _given(file) or _cached(file))}
    for mirror, archive in _given_archives(info):
        if wanted := [file for file in files if file.name in mirror.gives and file.name not in found]:
            try:
                found |= _place(archive, mirror, wanted)
            except ValueError as error:
                raise ValueError(f"{archive}: {error}") from error
    if missing := [file for file in files if file.name not in found]:
        reasons = _download(info, missing) if allow_download else []
        found |= {file.name: cache_folder() / file.name for file in missing if _is_good(file)}
        if missing := [file for file in missing if file.name not in found]:
            raise FileNotFoundError(_advice(info, missing, reasons))
    return [found[file.name] for file in files]


def verify(path: Path, file: DataFile, shown: str) -> None:
    """Raise ValueError unless a file is byte for byte one of its published forms."""
    with path.open("rb") as stream:
        digest = hashlib.file_digest(stream, "sha256").hexdigest()
    if digest in {known.sha256 for known in file.known}:
        return
    size, sizes = path.stat().st_size, [known.size for known in file.known]
    what = "has been changed" if size in sizes else "is truncated" if size < min(sizes) else "is not what is published"
    expected = ", or ".join(f"{known.size} bytes with SHA-256 {known.sha256}" for known in file.known)
    raise ValueError(f"{shown} {what} and is not used: expected {expected}; got {size} bytes with SHA-256 {digest}")


def _given_path(file: DataFile) -> Path | None:
    folder = data_folder()
    paths = [folder / name for name in (file.name, *file.also)] if folder else []
    return next((path for path in paths if path.is_file()), None)


def _given(file: DataFile) -> Path | None:
    """Return the path of a file in ``SYMLOSS_DATA``; a wrong file is an error, because we must not replace it."""
    path = _given_path(file)
    if path is not None:
        verify(path, file, str(path))
    return path


def _given_archives(info: DatasetInfo) -> list[tuple[Mirror, Path]]:
    """Return the archives in ``SYMLOSS_DATA`` that the user has downloaded but not unpacked."""
    folder = data_folder()
    archives = [(mirror, folder / mirror.filename) for mirror in info.mirrors] if folder else []
    return [(mirror, path) for mirror, path in archives if path.is_file()]


def _cached(file: DataFile) -> Path | None:
    """Return the path of a file in the cache; a wrong file counts as missing."""
    path = cache_folder() / file.name
    if not path.is_file():
        return None
    try:
        verify(path, file, str(path))
    except ValueError as error:
        warnings.warn(f"{error}; it counts as missing", stacklevel=2)
        return None
    return path


def _download(info: DatasetInfo, missing: Sequence[DataFile]) -> list[str]:
    """Download missing files into the cache, in one process at a time; return why it failed, mirror by mirror."""
    from filelock import FileLock

    downloads = cache_folder() / "downloads"
    try:
        downloads.mkdir(parents=True, exist_ok=True)
        with FileLock(downloads / f"{info.name}.lock"):
            for file in missing:
                reasons = _try_mirrors(info, file, missing)
                if not _is_good(file):
                    return reasons
            for mirror in info.mirrors:
                _part(mirror).unlink(missing_ok=True)  # parts of downloads that failed
    except OSError as error:
        return [f"{downloads}: {error}"]
    return []


def _try_mirrors(info: DatasetInfo, file: DataFile, missing: Sequence[DataFile]) -> list[str]:
    """Download a file into the cache, with other missing ones in the same archive; return why mirrors failed."""
    limit = 2 * sum(file.size for file in info.files) + SPARE
    reasons: list[str] = []
    for mirror in info.mirrors:
        if file.name in mirror.gives and not _is_good(file):
            try:
                _from_mirror(mirror, [other for other in missing if other.name in mirror.gives], limit)
            except (OSError, ValueError) as error:
                reasons.append(f"{mirror.url}: {error}")
    return reasons


def _is_good(file: DataFile) -> bool:
    path = cache_folder() / file.name
    try:
        verify(path, file, str(path))
    except (ValueError, OSError):
        return False
    return True


def _part(mirror: Mirror) -> Path:
    """Return the file for an unfinished download; its name depends on the URL, since two mirrors may use one name."""
    key = hashlib.sha256(mirror.url.encode()).hexdigest()[:12]
    return cache_folder() / "downloads" / f"{key}-{mirror.filename}"


def _from_mirror(mirror: Mirror, files: Sequence[DataFile], limit: int) -> None:
    part = _part(mirror)
    resumed = part.exists()
    try:
        download(mirror.url, part, limit)
        _place(part, mirror, files)
    except ValueError:
        part.unlink(missing_ok=True)
        if not resumed:
            raise
        _from_mirror(mirror, files, limit)  # again from the start: the old bytes may be wrong
    part.unlink(missing_ok=True)


def _place(archive: Path, mirror: Mirror, files: Sequence[DataFile]) -> dict[str, Path]:
    """Put files of an archive into the cache, each one only when it is complete and verified."""
    wanted = {file.name: file for file in files}
    placed: dict[str, Path] = {}

    def accept(name: str, stream: IO[bytes]) -> None:
        path = cache_folder() / name
        with whole_file(path) as temporary:
            _copy(stream, temporary, wanted[name].size)
            verify(temporary, wanted[name], f"{name} from {mirror.filename}")
        placed[name] = path

    gives = {name: mirror.gives[name] for name in wanted}
    unpack(archive, mirror.filename, gives, max(file.size for file in files), accept)
    if absent := wanted.keys() - placed.keys():
        raise ValueError(f"{mirror.filename} holds no {', '.join(sorted(str(gives[name]) for name in absent))}")
    return placed


def _copy(stream: IO[bytes], path: Path, limit: int) -> None:
    """Copy a stream, but at most one byte more than the limit: enough to see that it is too long."""
    with path.open("wb") as out:
        left = limit + 1
        while left and (chunk := stream.read(min(CHUNK, left))):
            out.write(chunk)
            left -= len(chunk)


def _advice(info: DatasetInfo, missing: Sequence[DataFile], reasons: Sequence[str]) -> str:
    more = f" and {len(missing) - 1} more" if len(missing) > 1 else ""
    failed = f", and the download failed ({'; '.join(reasons)})" if reasons else ""
    urls = dict.fromkeys(next(mirror.url for mirror in info.mirrors if file.name in mirror.gives) for file in missing)
    folder = data_folder()
    into = folder or "a folder that SYMLOSS_DATA names"
    return (
        f"{info.name} needs {missing[0].name}{more} ({sum(file.size for file in missing) / 1e6:.1f} MB), not found in "
        f"SYMLOSS_DATA ({folder or 'not set'}) or in the cache ({cache_folder()}){failed}. "
        f"Fetch {' and '.join(urls)} and put that, packed or unpacked, into {into}"
    )
