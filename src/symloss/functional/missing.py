"""The warning about batches that lack a class."""

from __future__ import annotations

import warnings

import torch


class MissingClassWarning(UserWarning):
    """A batch lacks the positive or the negative class.

    Examples
    --------
    >>> import symloss as sl
    >>> with warnings.catch_warnings(record=True) as caught:
    ...     warnings.simplefilter("always")
    ...     risk = sl.functional.auc_risk(torch.tensor([0.5, 2.0]), [1, 1])
    >>> caught[0].category.__name__, risk
    ('MissingClassWarning', tensor(0.))
    """


def warn_if_missing(complete: bool | None, consequence: str, stacklevel: int = 4) -> None:
    """Warn if a batch is known to lack a class, and say what follows from it."""
    if complete is False and not torch.compiler.is_compiling():  # a warning would break the graph
        # The text is constant, so that Python's default filter shows it once.
        warnings.warn(
            f"a batch lacks a class: {consequence} (scores of shape (n, 1) are n batches of one: squeeze them)",
            MissingClassWarning,
            stacklevel=stacklevel,
        )
