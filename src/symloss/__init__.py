"""symloss: learn binary classifiers and rankers from corrupted labels, without knowing the noise.

The losses, risks and theory of *On Symmetric Losses for Learning from Corrupted Labels* (Charoenphakdee, Lee and
Sugiyama, ICML 2019).
"""

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from symloss import audit, boosting, corruption, datasets, estimators, functional, metrics, theory
    from symloss import losses as losses
    from symloss import machines as machines
    from symloss import models as models
    from symloss import pairwise as pairwise
    from symloss import risks as risks
    from symloss import tabular as tabular
    from symloss.corruption import contaminate, contaminated_split, flip_labels, from_two_sets
    from symloss.estimators import AUCClassifier, AUCClassifierCV, BERClassifier, BERClassifierCV
    from symloss.losses import (
        ActivePassive,
        BarrierHinge,
        CallableLoss,
        DoubleHinge,
        Exponential,
        Focal,
        GeneralizedCrossEntropy,
        Hinge,
        HuberizedHinge,
        Logistic,
        Loss,
        NormalizedCrossEntropy,
        Properties,
        Ramp,
        Savage,
        Sigmoid,
        Squared,
        SquaredHinge,
        SymmetricCrossEntropy,
        Tangent,
        Unhinged,
        ZeroOne,
        get_loss,
        list_losses,
    )
    from symloss.pairwise import pairwise_derivatives, pairwise_risk
    from symloss.risks import AUCLoss, BERLoss, PartialAUCLoss, StratifiedBatchSampler, whole_epoch

__version__ = "0.1.0"

__all__ = [
    "AUCClassifier",
    "AUCClassifierCV",
    "AUCLoss",
    "ActivePassive",
    "BERClassifier",
    "BERClassifierCV",
    "BERLoss",
    "BarrierHinge",
    "CallableLoss",
    "DoubleHinge",
    "Exponential",
    "Focal",
    "GeneralizedCrossEntropy",
    "Hinge",
    "HuberizedHinge",
    "Logistic",
    "Loss",
    "NormalizedCrossEntropy",
    "PartialAUCLoss",
    "Properties",
    "Ramp",
    "Savage",
    "Sigmoid",
    "Squared",
    "SquaredHinge",
    "StratifiedBatchSampler",
    "SymmetricCrossEntropy",
    "Tangent",
    "Unhinged",
    "ZeroOne",
    "audit",
    "boosting",
    "contaminate",
    "contaminated_split",
    "corruption",
    "datasets",
    "estimators",
    "flip_labels",
    "from_two_sets",
    "functional",
    "get_loss",
    "list_losses",
    "metrics",
    "pairwise_derivatives",
    "pairwise_risk",
    "theory",
    "whole_epoch",
]


_MODULES = (
    "audit",
    "boosting",
    "corruption",
    "datasets",
    "estimators",
    "functional",
    "losses",
    "machines",
    "metrics",
    "models",
    "pairwise",
    "risks",
    "tabular",
    "theory",
)
_HOMES = ("losses", "pairwise", "risks", "corruption", "estimators")  # of names, in this order


def __dir__() -> list[str]:
    """Return the public names, whether they are imported yet or not."""
    return sorted({*__all__, *_MODULES, "__version__"})


def __getattr__(name: str) -> Any:
    """Import a name where it is first used: so the command answers at once, and pays for what it uses alone."""
    if name in _MODULES:
        return importlib.import_module(f"symloss.{name}")
    for home in _HOMES if name in __all__ else ():
        module = importlib.import_module(f"symloss.{home}")
        if hasattr(module, name):
            return globals().setdefault(name, getattr(module, name))
    raise AttributeError(f"module 'symloss' has no attribute {name!r}")
