"""Write files and folders completely or not at all: what fails leaves nothing incomplete under the final name."""

from __future__ import annotations

import os
import secrets
import shutil
import stat
import tempfile
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path


def real(path: Path) -> Path:
    """Return where a path leads, its links followed; links that lead in circles are no error, unlike in ``resolve``."""
    return Path(os.path.realpath(path))


def check_not_read(path: Path, read: Iterable[Path], what: str) -> None:
    """Raise ValueError if a file to write is one of the files that are read, also by way of a link."""
    if path.is_file() and any(other.exists() and path.samefile(other) for other in read):
        raise ValueError(f"{path} is {what}; it is not overwritten")


def check_outside(path: Path, folder: Path, what: str) -> None:
    """Raise ValueError if a file to write lies in a folder, at any depth, or is another name of a file there."""
    if real(folder) in real(path).parents:
        raise ValueError(f"{path} is in {folder}, {what}; nothing is written there")
    check_not_read(path, folder.rglob("*"), f"a file of {folder}, {what}")


@contextmanager
def whole_file(path: Path) -> Iterator[Path]:
    """Yield a temporary path beside the target, and rename it to the target once everything is written.

    Links are followed, and the new file gets the permissions of the file that it replaces. A target that is not a
    regular file, such as a device or a pipe, is never replaced: the content is written into it.
    """
    if path.is_dir():
        raise IsADirectoryError(f"{path} is a folder; expected the name of a file to write")
    if path.exists() and not path.is_file():
        with tempfile.TemporaryDirectory() as folder:
            temporary = Path(folder) / path.name
            yield temporary
            with temporary.open("rb") as content, path.open("wb") as out:
                shutil.copyfileobj(content, out)
        return
    path = real(path)
    path.parent.mkdir(parents=True, exist_ok=True)
    temporary = path.with_name(f".{secrets.token_hex(6)}{path.suffix}")  # Matplotlib reads the format from the suffix
    try:
        if path.exists():  # from the first byte on, nobody may read more than before
            temporary.touch(mode=0o600)
        yield temporary
        if path.exists():
            temporary.chmod(stat.S_IMODE(path.stat().st_mode))
        temporary.replace(path)
    except OSError as error:
        error.filename = error.filename or str(path)  # that of a full disk names no file
        raise
    finally:
        temporary.unlink(missing_ok=True)


def write_whole(path: Path, text: str) -> None:
    """Write a text file, completely or not at all."""
    with whole_file(path) as temporary:
        temporary.write_text(text, encoding="utf-8", newline="\n")
