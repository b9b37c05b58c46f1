"""Where the bytes of a table are, and whether they are text, Parquet or Excel: by content, not by name."""

from __future__ import annotations

import gzip
import re
import shutil
import sys
import tempfile
import zipfile
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

_STARTS = {b"PAR1": "Parquet", b"\xd0\xcf\x11\xe0": "old Excel"}


class Source(NamedTuple):
    """A file to read: where its bytes are, what errors call it, and whether it is CSV, Parquet or Excel."""

    path: Path
    name: str
    kind: str


@contextmanager
def open_source(path: str | Path | Source) -> Iterator[Source]:
    """Find out what a file holds, and unpack one that is compressed by gzip, or alone in a zip archive.

    A minus sign is the standard input. A source that is open already is yielded as it is: so a pipe can be read twice.
    """
    if isinstance(path, Source):
        yield path
        return
    name, path = "standard input" if str(path) == "-" else str(path), Path(path)
    if re.match(r"[a-z0-9]+:/", name, re.I):
        url = re.sub(":/+", "://", name, count=1)  # of two slashes, a path keeps one
        raise ValueError(f"URLs are not read: download {url} first, or pass the data frame of pandas.read_csv({url!r})")
    if path.is_dir():
        raise ValueError(f"{path} is a folder, not a file")
    if name == str(path) and not path.exists():
        raise ValueError(f"no such file: {path}")
    with tempfile.TemporaryDirectory() as folder:
        copy, unpacked = Path(folder) / "data", Path(folder) / "unpacked"
        if name == "standard input":
            path = _copied(sys.stdin.buffer, copy)
        elif not path.is_file():  # a pipe can be read only once
            with path.open("rb") as stream:
                path = _copied(stream, copy)
        try:
            kind = _kind(path)
            if kind == "gzip":
                with gzip.open(path) as stream:
                    path = _copied(stream, unpacked)
            elif kind == "zip":
                with zipfile.ZipFile(path) as archive:
                    found = [one for one in archive.namelist() if not one.endswith("/") and "__MACOSX/" not in one]
                    if len(found) != 1:
                        raise ValueError(f"{name} holds {len(found)} files, and must hold exactly one: unpack it")
                    with archive.open(found[0]) as stream:
                        path = _copied(stream, unpacked)
            kind = _kind(path)
        except (OSError, EOFError, RuntimeError, zlib.error, zipfile.BadZipFile) as error:
            raise ValueError(f"{name} cannot be read: it is damaged, incomplete or protected ({error})") from None
        if kind == "old Excel":
            raise ValueError(f"{name} is an old Excel file, or has a password: save it as .xlsx without a password")
        yield Source(path, name, kind)


def _copied(stream: Any, target: Path) -> Path:
    with target.open("wb") as copy:
        shutil.copyfileobj(stream, copy)
    return target


def _kind(path: Path) -> str:
    with path.open("rb") as file:
        start = file.read(4)
    if start == b"PK\x03\x04":
        with zipfile.ZipFile(path) as archive:
            return "Excel" if "xl/workbook.xml" in archive.namelist() else "zip"
    return "gzip" if start[:2] == b"\x1f\x8b" else _STARTS.get(start, "CSV")
