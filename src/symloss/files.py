"""Files and folders that are whole or absent: a killed run leaves nothing half written under the right name."""

from __future__ import annotations

import secrets
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


@contextmanager
def whole_file(path: Path) -> Iterator[Path]:
    """Give a path beside the target to write to, and move it into place once everything is written.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     with whole_file(Path(folder) / "new" / "answer.txt") as temporary:
    ...         _ = temporary.write_text("42")
    ...     (Path(folder) / "new" / "answer.txt").read_text()
    '42'
    """
    if path.is_dir():
        raise IsADirectoryError(f"{path} is a folder; expected the name of a file to write")
    path.parent.mkdir(parents=True, exist_ok=True)
    temporary = path.with_name(f".{secrets.token_hex(6)}{path.suffix}")  # Matplotlib goes by the suffix
    try:
        yield temporary
        temporary.replace(path)
    finally:
        temporary.unlink(missing_ok=True)


def write_whole(path: Path, text: str) -> None:
    """Write a text file, whole or not at all.

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
    """Give a new folder beside the target to write to, and put it in the target's place once everything is written.

    The target, if there is one, is removed: check first that it may be.

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
        try:
            new.rename(folder)
        except OSError:
            if old.exists():
                old.rename(folder)
            raise
    finally:
        for left in (new, old):
            shutil.rmtree(left, ignore_errors=True)
