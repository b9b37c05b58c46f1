"""How messages name an argument or a row: as in Python, or as an option and a line of a file on the command line."""

from __future__ import annotations

import shlex
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar

_AS_OPTIONS = ContextVar("_AS_OPTIONS", default=False)
_LINE_OF: ContextVar[Callable[[int], int | None] | None] = ContextVar("_LINE_OF", default=None)


@contextmanager
def as_options() -> Iterator[None]:
    """Let messages name options of the command line."""
    before, no_file = _AS_OPTIONS.set(True), _LINE_OF.set(None)
    try:
        yield
    finally:
        _AS_OPTIONS.reset(before)
        _LINE_OF.reset(no_file)


def remember_lines(line_of: Callable[[int], int | None] | None) -> None:
    """Let ``row_name`` name lines of the file that was read last: a function of rows counted from 0, or None."""
    if _AS_OPTIONS.get():
        _LINE_OF.set(line_of)


def argument(name: str, value: str | None = None) -> str:
    r"""Return an argument, with its value if it has one, as the caller has to write it."""
    if not _AS_OPTIONS.get():
        return name if value is None else f"{name}={value!r}"
    option = "--" + name.replace("_", "-")
    return option if value is None else f"{option} {'tab' if value == chr(9) else shlex.quote(value)}"


def row_name(label: object) -> str:
    """Return the name of a row, by its label in the index of its frame; rows of a file are counted from 1."""
    if not (_AS_OPTIONS.get() and isinstance(label, int)):
        return f"index {label!r}"
    line_of = _LINE_OF.get()
    line = None if line_of is None else line_of(label)
    return f"row {label + 1}" + ("" if line is None else f" (line {line})")
