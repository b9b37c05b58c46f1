"""Folders that are whole or absent: what is written beside the target takes its place once complete."""

from __future__ import annotations

import secrets
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


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
