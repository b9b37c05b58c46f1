"""The ``symloss`` application: its help, its version, and how it reports errors in one line."""

from __future__ import annotations

import io
import signal
import sys
import threading
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Annotated, Any

import typer
from typer.core import TyperGroup

from symloss import __version__
from symloss.naming import as_options

_UsageError: type[Exception] = typer.BadParameter.__mro__[1]  # its public name differs between typer's versions

_LONGEST = 2000  # characters of an error


@contextmanager
def _terminable() -> Iterator[None]:
    """Turn SIGTERM into an exception, so that open files are closed and no worker outlives the command."""
    if threading.current_thread() is not threading.main_thread():
        yield  # only the main thread may set a handler
        return
    before = signal.signal(signal.SIGTERM, lambda number, _: sys.exit(128 + number))
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)


@contextmanager
def _one_line_warnings() -> Iterator[None]:
    """Show warnings that are meant for users in one line each, without the place in the code."""
    with warnings.catch_warnings():
        show = warnings.showwarning

        def in_one_line(message: Any, category: type[Warning], *place: Any, **more: Any) -> None:
            if issubclass(category, UserWarning):
                print("symloss: warning:", " ".join(str(message).split()), file=sys.stderr)
            else:
                show(message, category, *place, **more)

        warnings.showwarning = in_one_line
        yield


class _OneLineErrors(TyperGroup):
    """A group of commands that reports bad input in one line on standard error, and ends with exit code 2."""

    def main(self, *args: Any, **kwargs: Any) -> Any:
        kwargs["standalone_mode"] = False
        if isinstance(sys.stdout, io.TextIOWrapper):
            sys.stdout.reconfigure(errors="replace")  # some terminals cannot print η and ✓
        try:
            with _terminable(), _one_line_warnings(), as_options():
                code = super().main(*args, **kwargs)
        except _UsageError as error:
            self._fail(error.format_message())  # type: ignore[attr-defined]
        except (ValueError, OSError, ImportError) as error:  # ImportError: an extra is not installed
            self._fail(str(error))
        except typer.Abort:
            sys.exit(130)
        sys.exit(code if isinstance(code, int) else 0)

    @staticmethod
    def _fail(message: str) -> None:
        line = " ".join(message.split())
        shown = line if len(line) <= _LONGEST else line[:_LONGEST] + " ..."  # it may hold a value of megabytes
        print("symloss: error:", shown, file=sys.stderr)
        sys.exit(2)


app = typer.Typer(
    cls=_OneLineErrors,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode="rich",
    help="Learn binary classifiers and rankers from corrupted labels, without knowing the noise.",
)


Json = Annotated[bool, typer.Option("--json", help="Print JSON instead of a table, for programs.")]


@app.callback(invoke_without_command=True)
def main(
    context: typer.Context, version: Annotated[bool, typer.Option("--version", help="Print the version.")] = False
) -> None:
    """Print the version, or the help if no command is given."""
    if version:
        print(__version__)
    elif context.invoked_subcommand is None:
        print(context.get_help())
