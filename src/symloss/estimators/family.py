"""What a family of models declares about itself: all that the estimators need to know about it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from numbers import Integral
from typing import Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray
from torch import nn

from symloss.losses import Loss

Array = NDArray[np.float64]


class Scorer(Protocol):
    """A fitted model."""

    def scores(self, X: Any) -> Array:
        """Return one score per row of X."""


class PenalizedRisk(NamedTuple):
    """What a model minimizes: a risk, plus alpha / 2 times the sum of the model's squared weights.

    Parameters
    ----------
    risk : {"ber", "auc"}
        The balanced error, or 1 - AUC.
    loss : Loss
        The loss that replaces the zero-one loss in the risk.
    alpha : float
        The L2 penalty.

    Examples
    --------
    >>> from symloss.losses import Hinge
    >>> PenalizedRisk("auc", Hinge(), 0.1).alpha
    0.1
    """

    risk: str
    loss: Loss
    alpha: float


@dataclass(frozen=True)
class Family:
    """A family of models; ``family_table.py`` lists them all.

    Parameters
    ----------
    description : str
        What ``help(BERClassifier)`` says about the family, below the parameter ``model``.
    fit : callable
        ``fit(data, objective, seed, start, **parameters)`` returns a fitted model. ``data`` are the ``TrainingData``,
        all weights above 0; ``objective`` is the ``PenalizedRisk`` to minimize; ``start`` is the model that a warm
        start continues from, or None.
    scorer : type
        The class of fitted models: a NamedTuple with a method ``scores(X)``. ``save`` writes its fields into files.
    stored_as : str
        How files name this class. Names in files must not change: earlier files have to be read.
    parameters : dict
        The parameters of the estimator that ``fit`` takes, each with the function that checks it, or None. They are
        checked in every fit, also if another family is fitted, as scikit-learn does.
    check_objective : callable, optional
        Raises ValueError if the family cannot minimize a ``PenalizedRisk``.
    to_module : callable, optional
        ``to_module(scorer, threshold)`` returns the scores of a fitted model, less the threshold, as a torch module.
    takes_sparse : bool
        Whether features may be a sparse matrix.
    takes_missing : bool
        Whether the family itself knows what to do with missing values, NaN. The features of other families are made
        complete before ``fit`` and ``scores`` see them, by an ``Imputation``.
    threshold_is_zero : bool
        Whether 0 is the best threshold in any case, so that none is chosen on folds.
    is_stable : bool
        Whether fits to most of the points give nearly the scores of the fit to all. The CV forms average the fits to
        the folds of other families.

    Examples
    --------
    >>> from symloss.estimators.family_table import FAMILIES
    >>> [name for name, family in FAMILIES.items() if family.takes_sparse]
    ['linear', 'trees']
    """

    description: str
    fit: Callable[..., Scorer]
    scorer: type[Any]
    stored_as: str
    parameters: Mapping[str, Callable[[str, Any], None] | None]
    check_objective: Callable[[PenalizedRisk], None] | None = None
    to_module: Callable[[Any, float], nn.Module] | None = None
    takes_sparse: bool = False
    takes_missing: bool = False
    threshold_is_zero: bool = False
    is_stable: bool = False


def check_above_zero(name: str, value: Any) -> None:
    """Raise ValueError unless a parameter is above 0.

    Examples
    --------
    >>> check_above_zero("gamma", 0.0)
    Traceback (most recent call last):
    ValueError: gamma must be above 0, got 0.0
    """
    if not value > 0:
        raise ValueError(f"{name} must be above 0, got {value!r}")


def check_count(name: str, value: Any) -> None:
    """Raise ValueError unless a parameter is a whole number of at least 1.

    Examples
    --------
    >>> check_count("epochs", 0.5)
    Traceback (most recent call last):
    ValueError: epochs must be a whole number of at least 1, got 0.5
    """
    if not isinstance(value, Integral) or value < 1:
        raise ValueError(f"{name} must be a whole number of at least 1, got {value!r}")
