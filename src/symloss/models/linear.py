"""Linear scores: the penalized risk of all points, or of all pairs, is minimized by L-BFGS."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import Any, NamedTuple, cast

import numpy as np
import torch
from numpy.typing import NDArray
from scipy.optimize import minimize
from scipy.sparse.linalg import LinearOperator
from sklearn.exceptions import ConvergenceWarning
from torch import Tensor, nn

from symloss.functional import auc_risk, ber_risk
from symloss.losses import Kink, Loss, Piecewise
from symloss.machines import one_thread
from symloss.models.family import Array, Family, PenalizedRisk, Standardization, TrainingData, check_above_zero
from symloss.models.modules import LinearModule

_MAX_ITER = 1000
_WIDTHS = (1.0, 0.1, 0.01, 0.001, 0.0001)  # of rounded corners, in distances of the farthest corner from 0


class LinearScores(NamedTuple):
    """Scores X @ coef + intercept."""

    coef: Array
    intercept: float

    @one_thread()
    def scores(self, X: Any) -> Array:
        """Return one score per row of X."""
        return np.asarray(X @ self.coef + self.intercept)


@one_thread()
def fit_linear(data: TrainingData, objective: PenalizedRisk, _: int = 0) -> LinearScores:
    """Minimize a risk over linear scores of the standardized features, to the optimum if the loss is convex.

    The penalty is on the weights of the standardized features; weight k counts as k repetitions there, too.
    """
    X, positive, weight = data
    mean, scale = standardization = Standardization.fit(X, weight)
    features = standardization.transform(X) if isinstance(X, np.ndarray) else _standardized(X, mean, scale)
    weights, bias = minimize_risk(features, positive, weight, objective)
    coef = weights / scale
    return LinearScores(coef, bias - float(mean @ coef))


def _standardized(X: Any, mean: Array, scale: Array) -> LinearOperator:
    """Return a sparse matrix with standardized columns, known by its products: subtracting means makes it dense."""

    def times(weights: Array) -> Array:
        coef = np.ravel(weights) / scale
        return np.asarray(X @ coef - mean @ coef)

    def transposed_times(gradient: Array) -> Array:
        gradient = np.ravel(gradient)
        return np.asarray((X.T @ gradient - mean * gradient.sum()) / scale)

    return LinearOperator(X.shape, matvec=times, rmatvec=transposed_times, dtype=np.float64)


def minimize_risk(
    features: Any, positive: NDArray[np.bool_], weight: Array, objective: PenalizedRisk
) -> tuple[Array, float]:
    """Return the weights of the features and the intercept that minimize a risk, by L-BFGS.

    ``features`` is an array of shape (n, d), or anything that can be multiplied as one. The corners of a piecewise loss
    are rounded off, less and less from stage to stage: at corners, L-BFGS stalls far from the optimum.
    """
    *rounder, last = roundings(objective.loss)
    start = None
    for loss in rounder:
        start = _minimize_by_lbfgs(features, positive, weight, objective._replace(loss=loss), start, tolerance=1e-6)
    return _minimize_by_lbfgs(features, positive, weight, objective._replace(loss=last), start, tolerance=1e-15)


def _minimize_by_lbfgs(
    features: Any,
    positive: NDArray[np.bool_],
    weight: Array,
    objective: PenalizedRisk,
    start: tuple[Array, float] | None,
    tolerance: float,
) -> tuple[Array, float]:
    risk, loss, alpha = objective
    function = auc_risk if risk == "auc" else ber_risk
    labels = torch.from_numpy(positive)
    weights = None if (weight == weight[0]).all() else torch.from_numpy(weight)

    first = np.zeros(features.shape[1] + 1) if start is None else np.append(*start)
    # The first step of L-BFGS has length 1. Where corners are rounded over less, the search never returns from it.
    unit = min(1.0, loss.width) if isinstance(loss, Rounded) else 1.0

    def value_and_gradient(steps: Array) -> tuple[float, Array]:
        w, b = (parameters := first + unit * steps)[:-1], parameters[-1]
        scores = torch.from_numpy(features @ w + b).requires_grad_()
        value = function(scores, labels, loss, weights, validate=False)  # scores of a wild step may overflow
        (by_scores,) = torch.autograd.grad(value, scores)
        u = by_scores.numpy()
        gradient = np.append(features.T @ u + alpha * w, u.sum())
        return float(value.detach()) + 0.5 * alpha * float(w @ w), unit * gradient

    options = {"maxiter": _MAX_ITER, "maxfun": 4 * _MAX_ITER, "maxcor": 20, "ftol": tolerance, "gtol": 1e-10 * unit}
    with np.errstate(over="ignore", invalid="ignore"):  # of a loss that has no least value
        found = minimize(value_and_gradient, np.zeros_like(first), method="L-BFGS-B", jac=True, options=options)
    # If the start is nearly a minimizer, rounding may hide the effect of every step.
    stuck = start is None and found.nit == 0 and np.abs(found.jac).max() > 1e-6
    named = loss.loss if isinstance(loss, Rounded) else loss
    if not np.isfinite(found.fun) or not np.isfinite(found.x).all() or stuck:
        raise ValueError(
            f"{named!r} at alpha = {alpha:g} cannot be minimized: it must be finite, and have a least value"
        )
    if found.status == 1:
        warnings.warn(
            f"{named!r} at alpha = {alpha:g} is not minimized after {_MAX_ITER} iterations; raise alpha",
            ConvergenceWarning,
            stacklevel=2,
        )
    parameters = first + unit * found.x
    return parameters[:-1], float(parameters[-1])


@dataclass(frozen=True)
class Rounded(Loss):
    """A piecewise loss, each corner c of which is replaced by its average over [c - width, c + width].

    It is symmetric if the loss is symmetric, and convex if the loss is convex. A corner max(0, c - z) becomes
    (max(0, c + w - z)^2 - max(0, c - w - z)^2) / 4w, where w is the width.
    """

    loss: Loss
    width: float

    @property
    def structure(self) -> Piecewise:  # type: ignore[override]
        """The polynomial of the loss, and two jumps of the second derivative in place of each corner."""
        structure = cast(Piecewise, self.loss.structure)
        kinks: list[Kink] = []
        for kink in structure.kinks:
            part = kink.weight / (4 * self.width)
            ends = Kink(kink.where + self.width, part, 2), Kink(kink.where - self.width, -part, 2)
            kinks += ends if kink.power == 1 else [kink]
        return Piecewise(structure.coefficients, tuple(kinks))

    def value(self, z: Tensor) -> Tensor:
        """Return the loss of the margins z."""
        return self.structure(z)

    def slope(self, z: Tensor) -> Tensor:
        """Return the derivative of the loss at the margins z."""
        return self.structure.derivative()(z)


def roundings(loss: Loss) -> list[Loss]:
    """Return the losses to minimize one after another, each from the minimizer of the one before.

    A loss without corners is returned alone.
    """
    if not isinstance(loss.structure, Piecewise) or all(kink.power != 1 for kink in loss.structure.kinks):
        return [loss]
    scale = max(abs(kink.where) for kink in loss.structure.kinks) or 1.0
    return [Rounded(loss, width * scale) for width in _WIDTHS]


def check_alpha(objective: PenalizedRisk) -> None:
    """Raise ValueError unless there is a penalty: without one, a risk may have no minimizer."""
    check_above_zero("alpha", objective.alpha)


def _to_module(scorer: LinearScores, threshold: float) -> nn.Module:
    return LinearModule(scorer.coef, scorer.intercept - threshold)


LINEAR = Family(
    fit=fit_linear,
    scorer=LinearScores,
    parameters={},
    check_objective=check_alpha,
    to_module=_to_module,
    takes_sparse=True,
    is_stable=True,
)
