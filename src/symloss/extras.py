"""Optional packages, which only a part of symloss needs and which pip installs as an extra."""

from __future__ import annotations

from importlib import import_module


def require(extra: str, sentence: str, *packages: str) -> None:
    """Import packages of an extra, or raise an error that says how to install them.

    Parameters
    ----------
    extra : str
        The name of the extra in ``pyproject.toml``.
    sentence : str
        What needs the packages.
    *packages : str
        The names by which Python imports them.
    """
    for package in packages:
        try:
            import_module(package)
        except ImportError as error:
            why = "" if isinstance(error, ModuleNotFoundError) else f" ({error})"  # it is installed, but broken
            raise ImportError(f'{sentence}: pip install "symloss[{extra}]"{why}') from error


__all__ = ["require"]
