"""The families of models that the estimators know; a new family is a file and a line in this table.

If it has a parameter of its own, this is added to the constructor in ``classifiers.py`` and to ``docstrings.py``.
"""

from __future__ import annotations

from typing import Any

from torch import nn

from symloss.estimators.family import Family, Scorer
from symloss.estimators.forest import TREES
from symloss.estimators.gaussian_process import GAUSSIAN_PROCESS
from symloss.estimators.imputation import Imputation
from symloss.estimators.kernel import KERNEL
from symloss.estimators.linear import LINEAR
from symloss.estimators.modules import ImputedScores
from symloss.estimators.networks import OWN_NETWORK, PERCEPTRONS

# By the value of the parameter ``model``.
FAMILIES: dict[str, Family] = {
    "linear": LINEAR,
    "kernel": KERNEL,
    "gaussian_process": GAUSSIAN_PROCESS,
    "trees": TREES,
    "mlp": PERCEPTRONS,
}
ALL_FAMILIES = (*FAMILIES.values(), OWN_NETWORK)


def family_of(model: Any) -> Family:
    """Return the family of a value of ``model``; whatever is no name in the table is a network of the user's own.

    Examples
    --------
    >>> family_of("trees") is TREES, family_of(nn.Linear(2, 1)) is OWN_NETWORK
    (True, True)
    """
    return FAMILIES.get(model, OWN_NETWORK) if isinstance(model, str) else OWN_NETWORK


def as_module(scorer: Scorer, threshold: float, imputation: Imputation | None = None) -> nn.Module:
    """Return the scores of a fitted model, less a threshold, as a torch module: a copy on the CPU, in evaluation mode.

    With an imputation, the module replaces missing values first.

    Examples
    --------
    >>> import numpy as np, torch
    >>> from symloss.estimators.linear import LinearScores
    >>> as_module(LinearScores(np.array([2.0]), 1.0), 0.5)(torch.ones(1, 1)).detach()
    tensor([2.5000])
    """
    name, family = next(item for item in FAMILIES.items() if isinstance(scorer, item[1].scorer))
    if family.to_module is None:
        others = ", ".join(repr(other) for other, family in FAMILIES.items() if family.to_module is not None)
        raise ValueError(
            f"model={name!r} is not a network: to_module() needs model={others} or a torch module, got {name!r}"
        )
    module = family.to_module(scorer, threshold)
    return (module if imputation is None else ImputedScores(imputation, module)).eval()
