"""Import a loss or a data set from a user's own module, by name."""

from __future__ import annotations

import importlib
import sys
from typing import Any


def import_named(name: str) -> Any:
    """Return the object ``package.module:name``; the module may be in the working directory, as with ``python -m``.

    Examples
    --------
    >>> import_named("math:pi")
    3.141592653589793
    """
    module, _, attribute = name.partition(":")
    if "" not in sys.path:
        sys.path.insert(0, "")
    return getattr(importlib.import_module(module), attribute)
