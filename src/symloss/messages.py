"""What messages say: an argument or a row by its name, as in Python or on the command line; which extra to install."""

from __future__ import annotations

import shlex
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from importlib import import_module

_AS_OPTIONS = ContextVar("_AS_OPTIONS", default=False)


@contextmanager
def as_options() -> Iterator[None]:
    """Let messages name options of the command line."""
    before = _AS_OPTIONS.set(True)
    try:
        yield
    finally:
        _AS_OPTIONS.reset(before)


def argument(name: str, value: str | None = None) -> str:
    r"""Return an argument, with its value if it has one, as the caller has to write it."""
    if not _AS_OPTIONS.get():
        return name if value is None else f"{name}={value!r}"
    option = "--" + name.replace("_", "-")
    return option if value is None else f"{option} {'tab' if value == chr(9) else shlex.quote(value)}"


def row_name(label: object) -> str:
    """Return the name of a row, by its label in the index of its frame; rows of a file are counted from 1."""
    return f"row {label + 1}" if _AS_OPTIONS.get() and isinstance(label, int) else f"index {label!r}"


def require(extra: str, sentence: str, *packages: str) -> None:
    """Import packages of an extra, or raise an error that says, after a sentence what needs them, how to install it."""
    for package in packages:
        try:
            import_module(package)
        except ImportError as error:
            why = "" if isinstance(error, ModuleNotFoundError) else f" ({error})"  # it is installed, but broken
            raise ImportError(f'{sentence}: pip install "symloss[{extra}]"{why}') from error
