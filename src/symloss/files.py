"""Write files and folders completely or not at all: a killed run leaves nothing incomplete under the final name."""

from __future__ import annotations

import ctypes
import errno
import os
import re
import secrets
import shutil
import stat
import sys
import tempfile
import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

_NEW, _OLD = ".new", ".old"
_HOUR = 3600


def real(path: Path) -> Path:
    """Return where a path leads, its links followed; links that lead in circles are no error, unlike in ``resolve``.

    Examples
    --------
    >>> real(Path("/no/such/../file"))
    PosixPath('/no/file')
    """
    return Path(os.path.realpath(path))


def check_not_read(path: Path, read: Iterable[Path], what: str) -> None:
    """Raise ValueError if a file to write is one of the files that are read, also by way of a link.

    Examples
    --------
    >>> check_not_read(Path(__file__), [Path(__file__)], "the data")
    Traceback (most recent call last):
    ValueError: ...files.py is the data; it is not overwritten
    """
    if path.is_file() and any(other.exists() and path.samefile(other) for other in read):
        raise ValueError(f"{path} is {what}; it is not overwritten")


def check_outside(path: Path, folder: Path, what: str) -> None:
    """Raise ValueError if a file to write lies in a folder, at any depth, or is another name of a file there.

    Examples
    --------
    >>> check_outside(Path("model/labels.csv"), Path("model"), "the model")
    Traceback (most recent call last):
    ValueError: model/labels.csv is in model, the model; nothing is written there
    """
    if real(folder) in real(path).parents:
        raise ValueError(f"{path} is in {folder}, {what}; nothing is written there")
    check_not_read(path, folder.rglob("*"), f"a file of {folder}, {what}")


@contextmanager
def whole_file(path: Path) -> Iterator[Path]:
    """Yield a temporary path beside the target, and rename it to the target once everything is written.

    Links are followed, and the new file gets the permissions of the file that it replaces. A target that is not a
    regular file, such as a device, a pipe or the standard output, is never replaced: the content is written into it.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     with whole_file(Path(folder) / "new" / "answer.txt") as temporary:
    ...         _ = temporary.write_text("42")
    ...     (Path(folder) / "new" / "answer.txt").read_text()
    '42'
    """
    try:
        status = path.stat()
    except FileNotFoundError:
        status = None
    if status is not None and stat.S_ISDIR(status.st_mode):
        raise IsADirectoryError(f"{path} is a folder; expected the name of a file to write")
    if status is not None and (not stat.S_ISREG(status.st_mode) or _stream_of(status)):
        with tempfile.TemporaryDirectory() as folder:
            temporary = Path(folder) / path.name
            yield temporary
            _pour(temporary, path, _stream_of(status))
        return
    path = real(path)
    path.parent.mkdir(parents=True, exist_ok=True)
    temporary = path.with_name(f".{secrets.token_hex(6)}{path.suffix}")  # Matplotlib reads the format from the suffix
    try:
        if status is not None:  # from the first byte on, nobody may read more than before
            temporary.touch(mode=0o600)
        yield temporary
        if status is not None:
            temporary.chmod(stat.S_IMODE(status.st_mode))
        temporary.replace(path)
    except OSError as error:
        _name(error, path)
        raise
    finally:
        temporary.unlink(missing_ok=True)


def _name(error: OSError, path: Path) -> None:
    """Let an error say what was written: that of a full disk names no file."""
    if error.filename is None and error.errno is not None:
        error.filename = str(path)


def _stream_of(status: os.stat_result) -> int | None:
    """Return which of this process's output streams a file is, or None; others may be writing to it as well."""
    for stream in (1, 2):
        try:
            if os.path.samestat(os.fstat(stream), status):
                return stream
        except OSError:  # the stream is closed
            continue
    return None


def _pour(source: Path, target: Path, stream: int | None) -> None:
    """Write the content of a file into a device, a pipe, or an output stream that is open already."""
    sys.stdout.flush()
    sys.stderr.flush()
    with source.open("rb") as content, open(target if stream is None else stream, "wb", closefd=stream is None) as out:
        shutil.copyfileobj(content, out)


def write_whole(path: Path, text: str) -> None:
    """Write a text file, completely or not at all.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     write_whole(Path(folder) / "answer.txt", "42")
    ...     (Path(folder) / "answer.txt").read_text()
    '42'
    """
    with whole_file(path) as temporary:
        temporary.write_text(text, encoding="utf-8", newline="\n")


@contextmanager
def whole_folder(folder: Path) -> Iterator[Path]:
    """Yield a new folder beside the target, which takes the place of the target once everything is written.

    If the target exists, it is removed: check first that this is allowed. The two change places in one step where the
    system can do that, so that a killed process leaves the old folder or the new one. What a killed process has left
    beside the target is removed.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as parent:
    ...     with whole_folder(Path(parent) / "model") as temporary:
    ...         _ = (temporary / "answer.txt").write_text("42")
    ...     [path.name for path in Path(parent).iterdir()]
    ['model']
    """
    folder = real(folder)
    folder.parent.mkdir(parents=True, exist_ok=True)
    with _locked(folder.parent):  # so that no new folder is taken for one that was left
        _recover(folder)
        new = folder.with_name(f".{folder.name}.{secrets.token_hex(6)}{_NEW}")
        new.mkdir(mode=0o700 if folder.exists() else 0o777)  # nobody may read more than before
        in_use = _lock(new, wait=True)
    try:
        yield new
        if folder.exists():
            new.chmod(stat.S_IMODE(folder.stat().st_mode))
        _put(new, folder)
    except OSError as error:
        _name(error, folder)
        raise
    finally:
        shutil.rmtree(new, ignore_errors=True)  # incomplete, or by now the old folder
        _unlock(in_use)


def present(folder: Path) -> Path:
    """Return a folder, or where its content is while the folder is missing because a process was killed.

    This can only happen where two folders cannot change places in one step.

    Examples
    --------
    >>> present(Path("/no/such/folder"))
    PosixPath('/no/such/folder')
    """
    if folder.exists():
        return folder
    left = _left_beside(real(folder), _OLD)
    return folder if folder.exists() or not left else left[-1]


def is_temporary(name: str) -> bool:
    """Return whether a file has a name that ``whole_file`` gives while it writes: a killed process may have left it.

    Examples
    --------
    >>> is_temporary(".0123456789ab.html"), is_temporary("report.html")
    (True, False)
    """
    return re.fullmatch(r"\.[0-9a-f]{12}(\.\w+)?", name) is not None


def _put(new: Path, folder: Path) -> None:
    """Let a new folder take the place of another; afterwards the other one is where the new one was, or removed."""
    try:
        new.rename(folder)
        return  # nothing was there, or an empty folder
    except OSError:
        if not folder.is_dir():
            raise
    if _exchange(new, folder):
        return
    old = new.with_name(new.name.removesuffix(_NEW) + _OLD)
    with _locked(folder.parent):
        try:
            if folder.exists():
                folder.rename(old)
            new.rename(folder)
        except BaseException:  # an interrupt, too
            if old.exists() and not folder.exists():
                old.rename(folder)
            raise
    shutil.rmtree(old, ignore_errors=True)


def _exchange(one: Path, other: Path) -> bool:
    """Let two folders change places in one step; return False if the system or its file system cannot do that."""
    library: Any = ctypes.CDLL(None, use_errno=True) if sys.platform in ("linux", "darwin") else None
    paths = os.fsencode(one), os.fsencode(other)
    if sys.platform == "linux" and hasattr(library, "renameat2"):
        here = -100  # AT_FDCWD
        failed = library.renameat2(here, paths[0], here, paths[1], 2)  # RENAME_EXCHANGE
    elif sys.platform == "darwin" and hasattr(library, "renamex_np"):
        failed = library.renamex_np(*paths, 2)  # RENAME_SWAP
    else:
        return False
    if not failed:
        return True
    code = ctypes.get_errno()
    if code in (errno.EINVAL, errno.ENOSYS, errno.ENOTSUP, errno.EPERM):
        return False
    raise OSError(code, os.strerror(code), str(other))


def _recover(folder: Path) -> None:
    """Remove what killed processes have left beside a folder, after putting back the folder if it is missing."""
    for left in _left_beside(folder, _OLD):
        if not folder.exists():
            left.rename(folder)
    for left in (*_left_beside(folder, _NEW), *_left_beside(folder, _OLD)):
        if _is_abandoned(left):
            shutil.rmtree(left, ignore_errors=True)


def _left_beside(folder: Path, suffix: str) -> list[Path]:
    ours = re.compile(re.escape(f".{folder.name}.") + "[0-9a-f]{12}" + re.escape(suffix))
    try:
        return sorted(path for path in folder.parent.iterdir() if ours.fullmatch(path.name))
    except OSError:  # there is no such folder, or its names cannot be read
        return []


def _is_abandoned(folder: Path) -> bool:
    """Return whether the process that wrote a folder has ended: its lock is gone, or without locks an hour is over."""
    try:
        descriptor = _lock(folder, wait=False)
    except BlockingIOError:
        return False
    if descriptor is None:
        return time.time() - folder.stat().st_mtime > _HOUR
    os.close(descriptor)
    return True


@contextmanager
def _locked(folder: Path) -> Iterator[None]:
    descriptor = _lock(folder, wait=True)
    try:
        yield
    finally:
        _unlock(descriptor)


def _lock(folder: Path, wait: bool) -> int | None:
    """Lock a folder until it is unlocked or the process ends; return None where folders cannot be locked."""
    try:
        import fcntl  # not on every system

        descriptor = os.open(folder, os.O_RDONLY)
    except (ImportError, OSError):
        return None
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | (0 if wait else fcntl.LOCK_NB))
    except OSError as error:
        os.close(descriptor)
        if isinstance(error, BlockingIOError):
            raise
        return None
    return descriptor


def _unlock(descriptor: int | None) -> None:
    if descriptor is not None:
        os.close(descriptor)
