"""Run a command of symloss in this process, and check what it promises.

It ends with exit code 0, or with 2 and one line that says what is wrong. No file that was there is lost or changed,
except what it was told to write, and that is written whole or not at all.
"""

from __future__ import annotations

import contextlib
import os
import re
import signal
import tempfile
import traceback
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pandas as pd
from typer.testing import CliRunner

import symloss as sl
import symloss.tabular.fitting
from symloss.cli import app

_SECONDS = 60
_MAY_FAIL = "reproduce"  # exit code 1 means that some cells failed, and standard error says which
_LINEAR = {"auc": sl.AUCClassifier, "ber": sl.BERClassifier}


class TooLong(BaseException):
    """A command takes longer than a minute; no handler of errors may catch this."""


def quick_fits() -> None:
    """Let ``fit`` and ``audit`` try one linear model instead of the whole pool: the pool reads no files."""
    estimators = dict(symloss.tabular.fitting.ESTIMATORS)

    def quick(risk: str) -> Any:
        linear = [("linear", _LINEAR[risk]())]
        return lambda candidates, **how: estimators[risk](candidates or linear, cv=2, **how)

    symloss.tabular.fitting.ESTIMATORS.update({risk: quick(risk) for risk in estimators})


@contextlib.contextmanager
def new_folder() -> Iterator[Path]:
    """Change to a new folder, which is removed afterwards."""
    before = Path.cwd()
    with tempfile.TemporaryDirectory() as parent:
        folder = Path(parent) / "here"  # so that what is written above it is removed, too
        folder.mkdir()
        os.chdir(folder)
        try:
            yield folder
        finally:
            os.chdir(before)


def fault_of(arguments: list[str], written: list[Path], standard_input: bytes | None = None) -> str | None:
    """Run a command in the current folder and return what it does wrong; ``written`` are the paths it may write."""
    before = _contents(Path())
    signal.signal(signal.SIGALRM, _stop)
    signal.alarm(_SECONDS)
    try:
        result = CliRunner().invoke(app, arguments, standard_input, env={"COLUMNS": "140", "NO_COLOR": "1"})
    except TooLong:
        return f"{_shown(arguments)}: longer than {_SECONDS} s"
    finally:
        signal.alarm(0)
    if result.exit_code == 2 and arguments[0] != "compare":  # it may have written one of several files
        written = []
    found = (
        _wrong_end(arguments, result)
        or _wrong_files(before, _contents(Path()), written)
        or next(filter(None, map(_incomplete, written)), None)
    )
    return None if found is None else f"{_shown(arguments)}: {found}"


def _stop(number: int, frame: Any) -> None:
    raise TooLong


def _shown(arguments: list[str]) -> str:
    return "symloss " + " ".join(argument if len(argument) < 80 else argument[:80] + "..." for argument in arguments)


def _wrong_end(arguments: list[str], result: Any) -> str | None:
    if result.exception is not None and not isinstance(result.exception, SystemExit):
        last = traceback.extract_tb(result.exc_info[2])[-1]
        return f"traceback: {result.exception!r:.300} at {last.filename}:{last.lineno}"
    if result.exit_code not in (0, 2) and not (result.exit_code == 1 and _MAY_FAIL in arguments):
        return f"exit code {result.exit_code}"
    lines = result.stderr.splitlines()
    if "Traceback" in result.output or any("Warning: " in line for line in lines):
        return f"a traceback or a warning of Python on the screen: {result.output[-600:]!r}"
    if result.exit_code == 2:
        errors = [line for line in lines if line.startswith("symloss: error: ")]
        others = [line for line in lines if not line.startswith(("symloss: error: ", "symloss: warning: "))]
        if len(errors) != 1 or others or lines[-1] != errors[0] or len(errors[0]) < len("symloss: error: ") + 5:
            return f"not one line: {result.stderr[:600]!r}"
        if len(errors[0]) > 4000:
            return f"a line of {len(errors[0])} characters: {errors[0][:200]!r}"
    return None


def _contents(folder: Path) -> dict[Path, bytes | None]:
    found = (path for path in folder.rglob("*") if not path.is_symlink())
    return {path: path.read_bytes() if path.is_file() else None for path in found}


def _wrong_files(before: dict[Path, bytes | None], after: dict[Path, bytes | None], written: list[Path]) -> str | None:
    """Return a file that is lost, changed or new, outside the paths that may be written."""
    for path in sorted(before.keys() | after.keys()):
        within = any(path == out or out in path.parents or path in out.parents for out in written)
        if re.search(r"(^|/)\.[^/]*[0-9a-f]{12}", str(path)):
            return f"a temporary file is left: {path}"
        if not within and before.get(path, b"missing") != after.get(path, b"missing"):
            return f"{path} is {'new' if path not in before else 'lost' if path not in after else 'changed'}"
    return None


def _incomplete(path: Path) -> str | None:
    """Return what is wrong with a file or a folder that was written."""
    if os.path.isdir(path):  # noqa: PTH112 - a name that is too long is no error
        if (path / "table.json").exists():
            sl.tabular.load(path)
        return next(filter(None, map(_incomplete, sorted(path.iterdir()))), None)
    if not os.path.isfile(path):  # noqa: PTH113
        return None
    content = path.read_bytes()
    if content.startswith(b"<!") and not content.rstrip().endswith(b"</html>"):
        return f"{path} does not end as a page does"
    if path.suffix == ".csv" and not content.startswith(b"<!") and not content.endswith(b"\n"):
        return f"{path} does not end with a line"
    if content.startswith(b"PAR1"):
        pd.read_parquet(path)
    return None
