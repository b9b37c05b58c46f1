"""The families of models that the estimators know; a new family is a file and a line in this table."""

from __future__ import annotations

from typing import Any

from torch import nn

from symloss.models.family import Family, Scorer
from symloss.models.linear import LINEAR
from symloss.models.modules import ImputedScores
from symloss.models.networks import NETWORKS
from symloss.models.process import GAUSSIAN_PROCESS
from symloss.models.trees import TREES

# By the value of the parameter ``model``.
FAMILIES: dict[str, Family] = {
    "linear": LINEAR,
    "gaussian_process": GAUSSIAN_PROCESS,
    "trees": TREES,
    "mlp": NETWORKS,
}


def family_of(model: Any) -> Family:
    """Return the family of a value of ``model``; whatever is no name in the table is a network of the user's own."""
    return FAMILIES.get(model, NETWORKS) if isinstance(model, str) else NETWORKS


def as_module(scorer: Scorer, threshold: float, imputation: tuple[Any, Any] | None = None) -> nn.Module:
    """Return the scores of a fitted model, less a threshold, as a torch module: a copy on the CPU, in evaluation mode.

    With an imputation, which is medians and the places of indicators, the module replaces missing values first.
    """
    name, family = next(item for item in FAMILIES.items() if isinstance(scorer, item[1].scorer))
    if family.to_module is None:
        others = ", ".join(repr(other) for other, family in FAMILIES.items() if family.to_module is not None)
        raise ValueError(
            f"model={name!r} is not a network: to_module() needs model={others} or a torch module, got {name!r}"
        )
    module = family.to_module(scorer, threshold)
    return (module if imputation is None else ImputedScores(*imputation, module)).eval()
