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
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import BinaryIO, NamedTuple, cast

_KINDS = {".parquet": "Parquet", ".pq": "Parquet", ".xlsx": "Excel", ".xlsm": "Excel"}
_ZIP, _GZIP, _OLD_EXCEL = b"PK\x03\x04", b"\x1f\x8b", b"\xd0\xcf\x11\xe0"
_WORKBOOK = "xl/workbook.xml"
_URL = re.compile(r"([a-z][a-z0-9]+):/+", re.I)  # of two slashes, a path keeps one


class Source(NamedTuple):
    """A file to read: where its bytes are, what errors call it, and whether it is CSV, Parquet or Excel."""

    path: Path
    name: str
    kind: str


@contextmanager
def open_source(path: str | Path | Source) -> Iterator[Source]:
    """Find out what a file holds, and unpack one that is compressed by gzip, or alone in a zip archive.

    A minus sign is the standard input. A source that is open already is yielded as it is: so a pipe can be read twice.

    Examples
    --------
    >>> with open_source("nowhere.csv"):
    ...     pass
    Traceback (most recent call last):
    ValueError: no such file: nowhere.csv
    """
    if isinstance(path, Source):
        yield path
        return
    name = "standard input" if str(path) == "-" else str(path)
    path = Path(path)
    if found := _URL.match(name):
        url = _URL.sub(rf"{found[1]}://", name, count=1)
        raise ValueError(f"URLs are not read: download {url} first, or pass the data frame of pandas.read_csv({url!r})")
    if name != "standard input" and not path.exists():
        raise ValueError(f"no such file: {path}")
    if path.is_dir() or path.is_char_device():
        raise ValueError(f"{path} is a {'folder' if path.is_dir() else 'device'}, not a file")
    with tempfile.TemporaryDirectory() as folder:
        if not path.is_file():  # a pipe can be read only once
            with _standard_input() if name == "standard input" else path.open("rb") as stream:
                path = _copied(stream, Path(folder) / "data")
        try:
            path = _unpacked(path, Path(folder), name)
            kind = _kind(path)
        except (OSError, EOFError, RuntimeError, zlib.error, zipfile.BadZipFile) as error:
            raise ValueError(f"{name} cannot be read: it is damaged, incomplete or protected ({error})") from None
        if kind == "old Excel":
            raise ValueError(
                f"{name} is an Excel file of the old kind (.xls), or protected by a password: save it as .xlsx without "
                "a password, or as CSV"
            )
        expected = _KINDS.get(Path(name).suffix.lower(), kind)
        if kind != expected:
            raise ValueError(
                f"{name} cannot be read as {expected}: its content is not {expected}; rename it to .csv if it is text"
            )
        if path.stat().st_size == 0:
            raise ValueError(f"{name} is empty")
        yield Source(path, name, kind)


@contextmanager
def _standard_input() -> Iterator[BinaryIO]:
    if sys.stdin is None or sys.stdin.isatty():
        raise ValueError("there is no standard input to read (-): pipe a table into the command, or name a file")
    yield cast(BinaryIO, sys.stdin.buffer)


def _copied(stream: BinaryIO, target: Path) -> Path:
    with target.open("wb") as copy:
        shutil.copyfileobj(stream, copy)
    return target


def _start(path: Path) -> bytes:
    with path.open("rb") as file:
        return file.read(4)


def _unpacked(path: Path, folder: Path, name: str) -> Path:
    """Return the file, or what it holds if it is compressed; a workbook of Excel is a zip archive, too."""
    if _start(path).startswith(_GZIP):
        with gzip.open(path) as stream:
            return _copied(cast(BinaryIO, stream), folder / "unpacked")
    if _start(path) != _ZIP or _kind(path) == "Excel":
        return path
    with ExitStack() as stack:
        archive = stack.enter_context(zipfile.ZipFile(path))
        members = [one for one in archive.namelist() if not one.endswith("/") and not one.startswith("__MACOSX/")]
        if len(members) != 1:
            raise ValueError(f"{name} holds {len(members)} files, and must hold exactly one: unpack it")
        return _copied(cast(BinaryIO, stack.enter_context(archive.open(members[0]))), folder / "unpacked")


def _kind(path: Path) -> str:
    start = _start(path)
    if start == _ZIP:
        with zipfile.ZipFile(path) as archive:
            return "Excel" if _WORKBOOK in archive.namelist() else "CSV"
    return {b"PAR1": "Parquet", _OLD_EXCEL: "old Excel"}.get(start, "CSV")
