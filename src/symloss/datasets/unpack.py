"""Unpack archives: chosen members of zip and tar.gz files, by exact name, and files of Unix compress (.Z).

The paths inside an archive are never used to write files, and only the members that are asked for are read.
"""

from __future__ import annotations

import gzip
import io
import tarfile
import zipfile
import zlib
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import IO

CLEAR = 256  # the code by which Unix compress empties its table
EXPANSION, SPARE = 20, 1 << 24  # a tar.gz holds at most EXPANSION times its size and SPARE bytes
PIECE = 1 << 20  # the most bytes to read at once, and so the size of the longest header of a tar archive


def unpack(
    path: Path, filename: str, gives: Mapping[str, str | None], limit: int, accept: Callable[[str, IO[bytes]], None]
) -> None:
    """Call ``accept`` with the name and the bytes of each file that a download provides.

    Parameters
    ----------
    path : Path
        The download.
    filename : str
        The publisher's name for it; its ending says which format it has.
    gives : mapping
        The name of each file's member in the archive, or None if the download is the file itself.
    limit : int
        The size of the largest file; a file of Unix compress that holds more is refused.
    accept : callable
        Takes a file's name and a stream of its bytes.
    """
    try:
        for name, member, stream in _streams(path, filename, gives):
            packed = member.endswith(".Z")
            accept(name, io.BytesIO(decompress_lzw(stream.read(limit), limit)) if packed else stream)
    except (zipfile.BadZipFile, tarfile.TarError, gzip.BadGzipFile, zlib.error, EOFError, RuntimeError) as error:
        raise ValueError(f"{filename} is not a complete archive: {error}") from error


def _streams(path: Path, filename: str, gives: Mapping[str, str | None]) -> Iterator[tuple[str, str, IO[bytes]]]:
    names = {member: name for name, member in gives.items() if member is not None}
    if filename.endswith(".zip"):
        with zipfile.ZipFile(path) as archive:
            for member in names.keys() & set(archive.namelist()):
                with archive.open(member) as stream:
                    yield names[member], member, stream
    elif filename.endswith(".tar.gz"):
        with _Inflated(path) as inflated, tarfile.open(fileobj=inflated, mode="r:") as tar:
            for entry in tar:
                content = tar.extractfile(entry) if entry.name in names and entry.isreg() else None
                if content is not None:
                    yield names[entry.name], entry.name, content
    else:
        with path.open("rb") as stream:
            yield next(iter(gives)), filename, stream


class _Inflated(gzip.GzipFile):
    """A gzip file that is not read further than an honest archive reaches: small ones can unpack to very large ones."""

    def __init__(self, path: Path) -> None:
        super().__init__(path, "rb")
        self._end = EXPANSION * path.stat().st_size + SPARE

    def read(self, size: int | None = -1) -> bytes:
        if size is None or not 0 <= size <= PIECE:  # tarfile reads a header whole, whatever length it claims
            raise ValueError(f"expected headers of at most {PIECE} bytes, got one of {size}")
        self._check(self.tell() + size)
        return super().read(size)

    def seek(self, offset: int, whence: int = io.SEEK_SET) -> int:
        self._check(offset)
        return super().seek(offset, whence)

    def _check(self, end: int) -> None:
        if end > self._end:
            raise ValueError(f"expected at most {self._end} bytes, got {end} or more")


def decompress_lzw(content: bytes, limit: int) -> bytes:
    """Return the bytes that Unix compress packed: codes of 9 or more bits, low bits first, in groups of eight."""
    if content[:2] != b"\x1f\x9d" or len(content) < 3 or not 10 <= content[2] & 0x1F <= 16:
        raise ValueError(f"not a file of Unix compress: it starts with {content[:3].hex()}")
    widest, clears = content[2] & 0x1F, bool(content[2] & 0x80)
    alphabet = [bytes([value]) for value in range(256)] + [b""] * clears
    table, previous, width = list(alphabet), b"", 9
    group, read = 24, 0  # the bit at which codes of this width begin, and how many of them have been read
    parts: list[bytes] = []
    size = 0
    while True:
        if len(table) >> width and width < widest:
            group, read, width = group + -(-read // 8) * 8 * width, 0, width + 1
        bit = group + read * width
        if bit + width > 8 * len(content):
            return b"".join(parts)
        code = int.from_bytes(content[bit >> 3 : (bit >> 3) + 4], "little") >> (bit & 7) & (1 << width) - 1
        read += 1
        if clears and code == CLEAR:
            group, read, width = group + -(-read // 8) * 8 * width, 0, 9
            table, previous = list(alphabet), b""
            continue
        if code > len(table) or (code == len(table) and not previous):
            raise ValueError(f"damaged: code {code} at byte {bit >> 3}, where at most {len(table)} can be")
        entry = table[code] if code < len(table) else previous + previous[:1]
        if previous and len(table) < 1 << widest:
            table.append(previous + entry[:1])
        previous = entry
        parts.append(entry)
        size += len(entry)
        if size > limit:
            raise ValueError(f"decompresses to more than the {limit} bytes expected")
