"""Where a data set's files are: in ``SYMLOSS_DATA``, in the cache, or on the network. Nothing unverified is used."""

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

SPARE = 1 << 24  # bytes: an archive may hold this much beside the files, and as much again as they take


def data_folder() -> Path | None:
    """Return the folder that ``SYMLOSS_DATA`` names, if it is set: the user's own, never written to."""
    folder = os.environ.get("SYMLOSS_DATA")
    if not folder:
        return None
    if not Path(folder).is_dir():
        raise ValueError(f"SYMLOSS_DATA must name a folder, got {folder}")
    return Path(folder)


def cache_folder() -> Path:
    """Return the folder for downloads: ``SYMLOSS_CACHE``, or else symloss in the user's cache folder."""
    if folder := os.environ.get("SYMLOSS_CACHE"):
        return Path(folder)
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "symloss"


def places(info: DatasetInfo) -> list[str]:
    """Return where the files of a data set are, unverified; nothing if one is missing."""
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
    """Return the paths of files of a data set, all of them verified."""
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
    """Raise ValueError unless a file is, byte for byte, one of the forms that it is published in."""
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
    """Return the path of a file in ``SYMLOSS_DATA``; a wrong one is an error, for it is not ours to replace."""
    path = _given_path(file)
    if path is not None:
        verify(path, file, str(path))
    return path


def _given_archives(info: DatasetInfo) -> list[tuple[Mirror, Path]]:
    """Return the downloads that lie in ``SYMLOSS_DATA`` as they are, not unpacked."""
    folder = data_folder()
    archives = [(mirror, folder / mirror.filename) for mirror in info.mirrors] if folder else []
    return [(mirror, path) for mirror, path in archives if path.is_file()]


def _cached(file: DataFile) -> Path | None:
    """Return the path of a file in the cache; a wrong one counts as missing."""
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
    """Bring missing files into the cache, one process at a time; return why it failed, mirror by mirror."""
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
                _part(mirror).unlink(missing_ok=True)  # what mirrors that failed have left
    except OSError as error:
        return [f"{downloads}: {error}"]
    return []


def _try_mirrors(info: DatasetInfo, file: DataFile, missing: Sequence[DataFile]) -> list[str]:
    """Bring a file into the cache, and other missing ones if they come in the same archive; return what failed."""
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
    """Return where a download from a mirror gathers; two mirrors may use one name for different bytes."""
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
        _from_mirror(mirror, files, limit)  # the bytes from last time may be to blame
    part.unlink(missing_ok=True)


def _place(archive: Path, mirror: Mirror, files: Sequence[DataFile]) -> dict[str, Path]:
    """Put files that an archive gives into the cache, each of them only once it is whole and verified."""
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
    """Copy a stream, and one byte too many at most."""
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
