"""What a file is, by its content rather than its name: text, Parquet or Excel, compressed or not."""

from __future__ import annotations

import bz2
import gzip
import io
import lzma
import shutil
import sys
import tempfile
import zipfile
import zlib
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple, cast

from symloss.extras import require

# The first bytes of compressed files, and the endings of their names.
_MAGIC = {
    b"\x1f\x8b": "gzip",
    b"BZh": "bzip2",
    b"\xfd7zXZ\x00": "xz",
    b"\x28\xb5\x2f\xfd": "zstd",
    b"PK\x03\x04": "zip",
    b"PK\x05\x06": "zip",
}
_ENDINGS = {".gz": "gzip", ".bz2": "bzip2", ".xz": "xz", ".zst": "zstd", ".zip": "zip"}
_KINDS = {".parquet": "Parquet", ".pq": "Parquet", ".xlsx": "Excel", ".xlsm": "Excel"}
_OPEN: dict[str, Callable[..., Any]] = {"gzip": gzip.open, "bzip2": bz2.open, "xz": lzma.open}
_NO_TABLES = {
    b"\xd0\xcf\x11\xe0": "is an Excel file of the old kind (.xls), or protected by a password: save it as .xlsx "
    "without a password, or as CSV",
    b"%PDF": "is a PDF document, not a table: save the table as CSV",
    b"7z\xbc\xaf\x27\x1c": "is a 7z archive: unpack it first",
    b"Rar!": "is a RAR archive: unpack it first",
    b"SQLite format 3": "is an SQLite database: export the table as CSV",
}
_UNPACKING = (OSError, EOFError, zlib.error, lzma.LZMAError, zipfile.BadZipFile, NotImplementedError)


class Source(NamedTuple):
    """A file to read: where its bytes are, what errors call it, how it is compressed, and what it holds.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder) / "data.csv.gz"
    ...     _ = path.write_bytes(gzip.compress(b"a,b"))
    ...     with open_source(path) as source, source.open() as stream:
    ...         source.packing, source.kind, stream.read()
    ('gzip', 'CSV', b'a,b')
    """

    path: Path
    name: str
    packing: str
    kind: str
    notes: list[str]

    @contextmanager
    def open(self) -> Iterator[BinaryIO]:
        """Yield the unpacked bytes; damage that is met while reading them is a ValueError."""
        with _refused(self.name, self.kind), _unpacked(self.path, self.packing) as stream:
            yield stream

    def whole(self) -> Path | BinaryIO:
        """Return what pandas can jump about in: the path, or all bytes of a file that is compressed."""
        if not self.packing:
            return self.path
        with self.open() as stream:
            return io.BytesIO(stream.read())


@contextmanager
def open_source(path: str | Path | Source) -> Iterator[Source]:
    """Find out what a file holds; a minus sign is the standard input, which is kept in a temporary file.

    A source that is open already is yielded as it is: so a pipe can be read twice.

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
    path = Path(path)
    standard_input = str(path) == "-"
    if not standard_input and not path.exists():
        raise ValueError(f"no such file: {path}")
    if path.is_dir():
        raise ValueError(f"{path} is a folder")
    if path.is_char_device() or path.is_block_device():  # it may have no end
        raise ValueError(f"{path} is a device; expected a file, a pipe, or - for the standard input")
    with ExitStack() as stack:
        name, where = "standard input" if standard_input else str(path), path
        if standard_input or not path.is_file():  # a pipe can be read only once
            where = Path(stack.enter_context(tempfile.TemporaryDirectory())) / "data"
            with where.open("wb") as copy, _refused(name, "CSV"):
                shutil.copyfileobj(stack.enter_context(_standard_input() if standard_input else path.open("rb")), copy)
        if where.stat().st_size == 0:
            raise ValueError(f"{name} is empty")
        yield _recognize(where, name)


@contextmanager
def _standard_input() -> Iterator[BinaryIO]:
    if sys.stdin is None or sys.stdin.isatty():
        raise ValueError("there is no standard input to read (-): pipe a table into the command, or name a file")
    yield cast(BinaryIO, sys.stdin.buffer)


@contextmanager
def _refused(name: str, kind: str) -> Iterator[None]:
    try:
        yield
    except _UNPACKING as error:
        raise ValueError(
            f"{name} cannot be read as {kind}: it is damaged or incomplete ({str(error) or 'it ends too early'})"
        ) from None


@contextmanager
def _unpacked(path: Path, packing: str) -> Iterator[BinaryIO]:
    with ExitStack() as stack:
        if packing == "zip":
            archive = stack.enter_context(zipfile.ZipFile(path))
            yield cast(BinaryIO, stack.enter_context(archive.open(_members(archive)[0])))
        elif packing == "zstd":
            require("tables", "files compressed with zstd need pyarrow", "pyarrow")
            import pyarrow

            yield stack.enter_context(pyarrow.input_stream(str(path), compression="zstd"))
        else:
            yield cast(BinaryIO, stack.enter_context(_OPEN.get(packing, Path.open)(path, "rb")))


def _members(archive: zipfile.ZipFile) -> list[zipfile.ZipInfo]:
    """Return the files of a zip archive, without those that macOS adds."""
    return [
        member
        for member in archive.infolist()
        if not member.is_dir() and not member.filename.startswith("__MACOSX/") and ".DS_Store" not in member.filename
    ]


def _recognize(path: Path, name: str) -> Source:
    suffix = Path(name).suffix.lower()
    claimed = _ENDINGS.get(suffix, "")
    expected = _KINDS.get(suffix, "CSV")
    with path.open("rb") as file:
        start = file.read(512)
    packing = next((packing for magic, packing in _MAGIC.items() if start.startswith(magic)), "")
    if packing == "bzip2" and start[4:10] != b"1AY&SY":  # a column may have such a name
        packing = ""
    with _refused(name, expected):
        kind = _kind_of_zip(path, name) if packing == "zip" else ""
    packing = "" if kind == "Excel" else packing
    if claimed and claimed != packing:
        raise ValueError(
            f"{name} cannot be read as CSV: its name says {claimed}, but its content is not; rename it if it is not "
            "compressed"
        )
    if packing:
        with _refused(name, "CSV"), _unpacked(path, packing) as stream:
            start = stream.read(1 << 16)
    for magic, reason in _NO_TABLES.items():
        if start.startswith(magic):
            raise ValueError(f"{name} {reason}")
    if start[257:262] == b"ustar":
        raise ValueError(f"{name} is a tar archive: unpack it first")
    if packing and start.startswith(b"PK\x03\x04"):
        kind = "Excel"
    elif start.startswith(b"PAR1") and b"\0" in start:
        kind = "Parquet"
    kind = kind or "CSV"
    if expected != "CSV" and kind != expected:
        raise ValueError(
            f"{name} cannot be read as {expected}: its content is not {expected}; rename it to .csv if it is text"
        )
    what = [f"compressed with {packing}"] * (packing != claimed) + [f"{kind} file"] * (kind != expected and not packing)
    notes = [f"{found}, though its name does not say so" for found in what if name == str(path)]
    return Source(path, name, packing, kind, notes)


def _start(archive: zipfile.ZipFile, name: str) -> bytes:
    with archive.open(name) as member:
        return member.read(100)


def _kind_of_zip(path: Path, name: str) -> str:
    """Return Excel for a workbook, and nothing for an archive of one file; refuse all others."""
    with zipfile.ZipFile(path) as archive:
        names = archive.namelist()
        members = _members(archive)
        if any(member.flag_bits & 1 for member in members):
            raise ValueError(f"{name} is protected by a password: unpack it first")
        if "xl/workbook.xml" in names:
            return "Excel"
        if "xl/workbook.bin" in names or ("mimetype" in names and b"opendocument" in _start(archive, "mimetype")):
            raise ValueError(f"{name} is a spreadsheet of another kind (.xlsb or .ods): save it as .xlsx or CSV")
    if len(members) != 1:
        shown = ", ".join(member.filename for member in members[:5]) + (", ..." if len(members) > 5 else "")
        raise ValueError(
            f"{name} holds {len(members)} files{f' ({shown})' if members else ''}, and must hold exactly one: unpack it"
        )
    return ""
