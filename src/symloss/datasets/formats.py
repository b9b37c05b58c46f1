"""Readers of the formats of the data sets: CSV, ARFF, LIBSVM, idx and CIFAR's binary records.

None of these formats can carry code: no pickle is ever loaded.
"""

from __future__ import annotations

import bz2
import gzip
import io
from collections.abc import Iterable
from itertools import chain
from pathlib import Path
from typing import BinaryIO, cast

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float32]
Bytes = NDArray[np.uint8]

CIFAR_RECORD = 1 + 3 * 32 * 32  # a label and three planes of 32 x 32 pixels


def opened(path: Path) -> BinaryIO:
    """Open a file to read; it is decompressed if its first bytes say that it is compressed, whatever its name is."""
    with path.open("rb") as stream:
        start = stream.read(3)
    if start[:2] == b"\x1f\x8b":
        return cast(BinaryIO, gzip.open(path))
    if start == b"BZh":
        return cast(BinaryIO, bz2.open(path))
    return path.open("rb")


def read_text(path: Path) -> str:
    """Return the whole text of a file."""
    with opened(path) as stream:
        return stream.read().decode("ascii")


def read_csv(path: Path, max_rows: int | None = None) -> Floats:
    """Read rows of comma-separated numbers without a header, at most ``max_rows`` of them."""
    with io.TextIOWrapper(opened(path), "ascii") as lines:
        return _numbers(path, lines, max_rows)


def read_arff(path: Path) -> tuple[tuple[str, ...], Floats]:
    """Read the names of the attributes and the rows of an ARFF file of numbers or of KEEL's variant, or rows alone."""
    lines = read_text(path).splitlines()
    names = tuple(line.split()[1] for line in lines if line.lower().startswith("@attribute "))
    data = _numbers(path, (line for line in lines if line[:1] not in ("@", "%")))
    if names and len(names) != data.shape[1]:
        raise ValueError(f"{path}: the header names {len(names)} attributes, the rows have {data.shape[1]} columns")
    return names, data


def read_libsvm(path: Path, columns: int) -> tuple[Floats, Floats]:
    """Read labels and a dense matrix from LIBSVM's lines ``label index:value index:value ...``."""
    lines = read_text(path).splitlines()
    entries = np.array([line.count(":") for line in lines])
    words = " ".join(lines).replace(":", " ").split()
    try:
        numbers = np.array(words, dtype=np.float64)
    except ValueError:
        numbers = np.empty(0)
    if len(numbers) != len(lines) + 2 * int(entries.sum()) or not lines:
        raise ValueError(f"{path}: expected lines of 'label index:value index:value ...'")
    starts = np.cumsum(1 + 2 * entries) - (1 + 2 * entries)
    pairs = np.delete(numbers, starts).reshape(-1, 2)
    indices = pairs[:, 0].astype(np.int64)
    if len(indices) and not 1 <= indices.min() <= indices.max() <= columns:
        raise ValueError(f"{path}: indices must be 1 to {columns}, got {indices.min()} to {indices.max()}")
    data = np.zeros((len(lines), columns), dtype=np.float32)
    data[np.repeat(np.arange(len(lines)), entries), indices - 1] = pairs[:, 1]
    return numbers[starts].astype(np.float32), data


def read_idx(path: Path) -> Bytes:
    """Read MNIST's idx format: 0, 0, the type (8 is unsigned byte), the rank, the sizes (big-endian), and the data."""
    with opened(path) as stream:
        content = stream.read()
    if content[:3] != b"\x00\x00\x08" or len(content) < 4 + 4 * content[3]:
        raise ValueError(f"{path}: not an idx file of unsigned bytes: it starts with {content[:4].hex()}")
    rank = content[3]
    shape = tuple(np.frombuffer(content, ">u4", rank, offset=4).tolist())
    expected = 4 + 4 * rank + int(np.prod(shape, dtype=np.int64))
    if len(content) != expected:
        raise ValueError(f"{path}: shape {shape} needs {expected} bytes, the file has {len(content)}")
    return np.frombuffer(content, np.uint8, offset=4 + 4 * rank).reshape(shape)


def read_cifar(path: Path) -> tuple[Bytes, Bytes]:
    """Read labels and images (n, 3, 32, 32) from CIFAR-10's binary records."""
    content = np.fromfile(path, dtype=np.uint8)
    if len(content) == 0 or len(content) % CIFAR_RECORD:
        raise ValueError(f"{path}: expected records of {CIFAR_RECORD} bytes, the file has {len(content)} bytes")
    records = content.reshape(-1, CIFAR_RECORD)
    return records[:, 0], records[:, 1:].reshape(-1, 3, 32, 32)


def _numbers(path: Path, lines: Iterable[str], max_rows: int | None = None) -> Floats:
    rows = (line for line in lines if line.strip())
    first = next(rows, None)
    if first is None:
        raise ValueError(f"{path}: no rows")
    try:
        return np.loadtxt(chain([first], rows), dtype=np.float32, delimiter=",", ndmin=2, max_rows=max_rows)
    except ValueError as error:
        raise ValueError(f"{path}: expected rows of numbers, as many in each: {error}") from error
