"""How messages name the argument that helps: as in Python, or as an option of the command line."""

from __future__ import annotations

import shlex
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar

_AS_OPTIONS = ContextVar("_AS_OPTIONS", default=False)


@contextmanager
def as_options() -> Iterator[None]:
    """Let messages name options of the command line.

    Examples
    --------
    >>> with as_options():
    ...     named("sep", ";")
    "--sep ';'"
    """
    before = _AS_OPTIONS.set(True)
    try:
        yield
    finally:
        _AS_OPTIONS.reset(before)


def named(argument: str, value: str | None = None) -> str:
    r"""Return an argument, with its value if it has one, as the caller has to write it.

    Examples
    --------
    >>> named("sep", ";"), named("pi_prime"), named("sep", "\t")
    ("sep=';'", 'pi_prime', "sep='\\t'")
    """
    if not _AS_OPTIONS.get():
        return argument if value is None else f"{argument}={value!r}"
    option = "--" + argument.replace("_", "-")
    return option if value is None else f"{option} {'tab' if value == chr(9) else shlex.quote(value)}"


def place(label: object) -> str:
    """Return the name of a row, by its label in the index of its frame; rows of a file are counted from 1.

    Examples
    --------
    >>> place(3), place("a")
    ('index 3', "index 'a'")
    >>> with as_options():
    ...     place(3)
    'row 4'
    """
    return f"row {label + 1}" if _AS_OPTIONS.get() and isinstance(label, int) else f"index {label!r}"
