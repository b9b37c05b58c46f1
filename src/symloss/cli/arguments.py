"""What several commands make of their arguments."""

from __future__ import annotations

from symloss.functional import RISKS
from symloss.losses import Loss, get_loss
from symloss.losses.importing import import_named


def listed(names: str) -> list[str]:
    """Return names with commas between them as a list, each once."""
    found = list(dict.fromkeys(name.strip() for name in names.split(",")))
    if "" in found:
        raise ValueError(f"names must be separated by single commas, got {names!r}")
    return found


def check_device(device: str) -> None:
    """Raise an error where PyTorch cannot use a device."""
    import torch

    try:
        torch.zeros(1, device=device).item()
    except (RuntimeError, AssertionError) as error:
        what = str(error).splitlines()[0].removesuffix(".")
        raise ValueError(f"--device {device} cannot be used ({what}); --device cpu works everywhere") from None


def noise_rate(pair: str) -> tuple[float, float]:
    """Return ``pi,pi_prime`` as numbers."""
    try:
        pi, pi_prime = (float(rate) for rate in pair.split(","))
    except ValueError:
        raise ValueError(f"--noise must be two rates such as 0.65,0.45, got {pair!r}") from None
    return pi, pi_prime


def risk_names(names: str) -> list[str]:
    """Return the risks that are listed."""
    for name in listed(names):
        if name not in RISKS:
            raise ValueError(f"--risks must be of {', '.join(RISKS)}, got {name!r}")
    return listed(names)


def find_loss(name: str, parameters: dict[str, float]) -> Loss:
    """Return a built-in loss, or ``package.module:MyLoss``."""
    if ":" not in name:
        return get_loss(name, **parameters)
    try:
        found = import_named(name)
    except (Exception, SystemExit) as error:  # importing a user's module may raise anything
        raise ValueError(f"cannot import {name}: {type(error).__name__}: {error}") from error
    try:
        return get_loss(found, **parameters)
    except Exception as error:  # so may its constructor
        raise ValueError(f"cannot make a loss of {name}: {error}") from error
