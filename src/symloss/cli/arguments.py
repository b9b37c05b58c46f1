"""Functions with which several commands read their arguments."""

from __future__ import annotations

import shlex
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from symloss.functional import RISKS
from symloss.losses import Loss, get_loss, list_losses
from symloss.losses.importing import import_named


def listed(names: str) -> list[str]:
    """Return comma-separated names as a list, each name once."""
    found = list(dict.fromkeys(name.strip() for name in names.split(",")))
    if "" in found:
        raise ValueError(f"names must be separated by single commas, got {names!r}")
    return found


def command_line() -> str:
    """Return the command that is running, as a shell needs it."""
    return shlex.join(["symloss", *sys.argv[1:]])


def check_device(device: str) -> None:
    """Raise ValueError if PyTorch cannot use a device."""
    import torch

    try:
        torch.zeros(1, device=device).item()
    except (RuntimeError, AssertionError) as error:
        what = str(error).splitlines()[0].removesuffix(".")
        raise ValueError(f"--device {device} cannot be used ({what}); --device cpu works everywhere") from None


def noise_rate(pair: str) -> tuple[float, float]:
    """Return the two numbers of a text such as ``0.65,0.45``: pi and pi_prime."""
    try:
        pi, pi_prime = (float(rate) for rate in pair.split(","))
    except ValueError:
        raise ValueError(f"--noise must be two rates such as 0.65,0.45, got {pair!r}") from None
    return pi, pi_prime


def risk_names(names: str) -> list[str]:
    """Return comma-separated names of risks as a list; raise ValueError if a name is unknown."""
    for name in listed(names):
        if name not in RISKS:
            raise ValueError(f"--risks must be of {', '.join(RISKS)}, got {name!r}")
    return listed(names)


def find_loss(name: str, parameters: dict[str, float]) -> Loss:
    """Return a loss by its name: a built-in one, or one of the user's own, as ``package.module:MyLoss``."""
    if ":" not in name:
        return get_loss(name, **parameters)
    try:
        found = import_named(name)
    except (Exception, SystemExit) as error:  # importing a user's module may raise anything
        raise ValueError(f"cannot import {name}: {type(error).__name__}: {error}") from error
    try:
        return get_loss(found, **parameters)
    except Exception as error:  # its constructor may raise anything too
        raise ValueError(f"cannot make a loss of {name}: {error}") from error


def modules_of(losses: list[str]) -> list[Path]:
    """Return the files from which losses of the user's own were imported, given their names."""
    modules = [sys.modules[name.partition(":")[0]] for name in losses if ":" in name]
    return [Path(module.__file__) for module in modules if module.__file__]


@contextmanager
def code_of(losses: list[str]) -> Iterator[None]:
    """Turn any error into a ValueError if a loss among these is the user's own: its code may raise anything."""
    try:
        yield
    except OSError:  # a file cannot be written
        raise
    except (Exception, SystemExit) as error:
        own = [name for name in losses if name not in list_losses()]
        if not own:
            raise
        raise ValueError(f"{', '.join(own)} failed on a tensor of margins: {type(error).__name__}: {error}") from error
