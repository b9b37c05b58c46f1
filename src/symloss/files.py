"""Write files and folders completely or not at all: a killed run leaves nothing incomplete under the final name."""

from __future__ import annotations

import os
import secrets
import shutil
import stat
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


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
    path = path.resolve()
    path.parent.mkdir(parents=True, exist_ok=True)
    temporary = path.with_name(f".{secrets.token_hex(6)}{path.suffix}")  # Matplotlib reads the format from the suffix
    try:
        if status is not None:  # from the first byte on, nobody may read more than before
            temporary.touch(mode=0o600)
        yield temporary
        if status is not None:
            temporary.chmod(stat.S_IMODE(status.st_mode))
        temporary.replace(path)
    finally:
        temporary.unlink(missing_ok=True)


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
    """Yield a new folder beside the target, and rename it to the target once everything is written.

    If the target exists, it is removed: check first that this is allowed.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as parent:
    ...     with whole_folder(Path(parent) / "model") as temporary:
    ...         _ = (temporary / "answer.txt").write_text("42")
    ...     [path.name for path in Path(parent).iterdir()]
    ['model']
    """
    folder = folder.resolve()
    folder.parent.mkdir(parents=True, exist_ok=True)
    new, old = (folder.with_name(f".{secrets.token_hex(6)}.{state}") for state in ("new", "old"))
    new.mkdir()
    try:
        yield new
        if folder.exists():
            folder.rename(old)
        new.rename(folder)
    finally:
        if old.exists() and not folder.exists():  # an interrupt, or a failure, between the two
            old.rename(folder)
        for left in (new, old):
            shutil.rmtree(left, ignore_errors=True)
