"""Downloads that continue where they were interrupted."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path
from typing import Any

TIMEOUT = 20.0  # how many seconds to wait for the next bytes
PATIENCE = 60.0  # how many seconds the head of an answer, redirects included, or ENOUGH bytes of it may take
ENOUGH = 1 << 16  # so a download of n bytes takes at most n/ENOUGH times PATIENCE
TRIES = 5  # how often to connect; an attempt that brings no new bytes is the last one
CHUNK = 1 << 18


def download(url: str, part: Path, limit: int) -> None:
    """Download a URL into the file ``part``, after the bytes that it already holds.

    Parameters
    ----------
    url : str
    part : Path
        The file to write. If the download is interrupted, the bytes that have arrived stay there for the next attempt.
    limit : int
        The most bytes to accept.
    """
    for _ in range(TRIES):
        before = _size(part)
        error = _try(url, part, limit)
        if error is None:
            return
        if _size(part) <= before:
            break
    raise OSError(f"broke off after {_size(part)} bytes: {error}")


def _try(url: str, part: Path, limit: int) -> str | None:
    """Ask once for the missing bytes; return None if the file is now complete, else why it is not."""
    from http.client import HTTPException
    from urllib.error import HTTPError
    from urllib.request import Request

    have = _size(part)
    headers = {"User-Agent": "symloss", "Accept-Encoding": "identity"} | ({"Range": f"bytes={have}-"} if have else {})
    try:
        response = _answer(Request(url, headers=headers))
    except HTTPException as error:  # it is not an OSError, so other mirrors would not be tried
        raise OSError(f"{type(error).__name__}: {error}") from error
    except HTTPError as answer:
        with answer:
            if answer.code != 416 or not have:
                raise
            if answer.headers.get("Content-Range") == f"bytes */{have}":  # all bytes are here already
                return None
        part.unlink()  # it is longer than the file of the server, so its bytes are of another file
        return _try(url, part, limit)
    with response:
        resumed = response.status == 206
        if resumed and not response.headers.get("Content-Range", "").startswith(f"bytes {have}-"):
            raise OSError(f"asked for the bytes from {have}, got {response.headers.get('Content-Range')}")
        have = have if resumed else 0
        length = response.headers.get("Content-Length")
        if length is not None and not (length.isascii() and length.isdigit()):
            raise OSError(f"Content-Length must be a number, got {length[:40]}")
        total = None if length is None else have + int(length)
        _check_limit(total or 0, limit)
        try:
            with part.open("ab" if resumed else "wb") as out, _progress(url, have, total) as advance:
                for chunk in _chunks(response):
                    have += len(chunk)
                    _check_limit(have, limit)
                    out.write(chunk)
                    advance(len(chunk))
        except (TimeoutError, ConnectionError, HTTPException) as error:
            return f"{type(error).__name__}: {error}"
    return None if total is None or have == total else f"{total} bytes were announced"


def _answer(request: Any) -> Any:
    """Return the answer to a request once its head is complete.

    A server that sends its head byte by byte never makes ``urlopen`` time out, so it is waited for in a thread.
    """
    from urllib.request import urlopen

    found: list[Any] = []

    def ask() -> None:
        try:
            found.append(urlopen(request, timeout=TIMEOUT))
        except BaseException as error:  # raised below, in the thread that waits
            found.append(error)

    thread = threading.Thread(target=ask, daemon=True)
    thread.start()
    thread.join(PATIENCE)
    if not found:
        raise TimeoutError(f"no complete answer within {PATIENCE:g} seconds")
    if isinstance(found[0], BaseException):
        raise found[0]
    return found[0]


def _chunks(response: Any) -> Iterator[bytes]:
    """Yield the bytes of an answer as they arrive, as long as ENOUGH of them arrive within PATIENCE."""
    start, arrived = time.monotonic(), 0
    while chunk := response.read1(CHUNK):
        yield chunk
        arrived += len(chunk)
        if arrived >= ENOUGH:
            start, arrived = time.monotonic(), 0
        elif time.monotonic() - start > PATIENCE:
            raise TimeoutError(f"only {arrived} bytes came within {PATIENCE:g} seconds")


def _size(part: Path) -> int:
    return part.stat().st_size if part.exists() else 0


def _check_limit(size: int, limit: int) -> None:
    if size > limit:
        raise ValueError(f"expected at most {limit} bytes, got {size} or more")


@contextmanager
def _progress(url: str, have: int, total: int | None) -> Iterator[Callable[[int], Any]]:
    """Show a progress bar if standard error is a terminal and rich is installed; yield a function that advances it."""
    if find_spec("rich") is None:
        yield lambda count: None  # noqa: ARG005
        return
    from rich.console import Console
    from rich.progress import BarColumn, DownloadColumn, Progress, TextColumn, TimeRemainingColumn, TransferSpeedColumn

    console = Console(stderr=True)
    columns = (TextColumn("{task.description}"), BarColumn(), DownloadColumn(), TransferSpeedColumn())
    with Progress(*columns, TimeRemainingColumn(), console=console, disable=not console.is_terminal) as bar:
        task = bar.add_task(url.rpartition("/")[2], total=total, completed=have)
        yield lambda count: bar.advance(task, count)
