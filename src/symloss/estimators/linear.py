"""The family of linear scores: the penalized risk of all points, or of all pairs, is minimized by L-BFGS."""

from __future__ import annotations

import warnings
from typing import Any, NamedTuple, Protocol

import numpy as np
import torch
from numpy.typing import NDArray
from scipy.optimize import minimize
from sklearn.exceptions import ConvergenceWarning
from torch import nn

from symloss.estimators.base import TrainingData
from symloss.estimators.family import Family, PenalizedRisk, check_above_zero
from symloss.estimators.modules import Linear
from symloss.estimators.rounding import Rounded, roundings
from symloss.estimators.row_products import rows_times_vector
from symloss.estimators.standardization import Standardization, blocks
from symloss.functional import auc_risk, ber_risk
from symloss.threads import one_thread

Array = NDArray[np.float64]
_MAX_ITER = 1000


class Features(Protocol):
    """A matrix F of features, one row per point, which is known only by its products with vectors."""

    @property
    def width(self) -> int:
        """The number of features."""

    def times(self, weights: Array) -> Array:
        """Return F w for weights w, one per feature."""

    def transposed_times(self, gradient: Array) -> Array:
        """Return F' u for a gradient u with respect to the scores, one number per point."""


class LinearScores(NamedTuple):
    """Scores (X - origin) @ coef + intercept.

    The origin is for dense features that lie far from zero: without it, X @ coef and the intercept would be large
    numbers of opposite signs, and their sum would lose most of its digits. Sparse features have no origin, because
    subtracting it would make them dense.

    Examples
    --------
    >>> LinearScores(np.array([2.0]), 1.0).scores(np.array([[0.5]]))
    array([2.])
    """

    coef: Array
    intercept: float
    origin: Array | None = None

    @one_thread()
    def scores(self, X: Any) -> Array:
        """Return one score per row of X, which does not depend on the other rows."""
        if not isinstance(X, np.ndarray):  # subtracting the origin would make a sparse matrix dense
            intercept = self.intercept if self.origin is None else self.intercept - self.origin @ self.coef
            return np.asarray(X @ self.coef + intercept)
        if self.origin is None:
            return rows_times_vector(X, self.coef) + self.intercept
        parts = [rows_times_vector(X[rows] - self.origin, self.coef) for rows in blocks(*X.shape)]
        return np.concatenate(parts) + self.intercept


class StandardizedFeatures(NamedTuple):
    """Standardized features that are neither copied nor made dense: products with them center and scale the result.

    Examples
    --------
    >>> X = np.array([[0.0], [2.0]])
    >>> StandardizedFeatures(X, Standardization.fit(X, np.ones(2))).times(np.array([3.0]))
    array([-3.,  3.])
    """

    X: Any
    standardization: Standardization

    @property
    def width(self) -> int:
        """The number of features."""
        return int(self.X.shape[1])

    def times(self, weights: Array) -> Array:
        """Return F w for weights w, one per feature."""
        coef = weights / self.standardization.scale
        return np.asarray(self.X @ coef - self.standardization.mean @ coef)

    def transposed_times(self, gradient: Array) -> Array:
        """Return F' u for a gradient u with respect to the scores, one number per point."""
        mean, scale = self.standardization
        return np.asarray((self.X.T @ gradient - mean * gradient.sum()) / scale)


@one_thread()
def fit_linear(
    X: Any, positive: NDArray[np.bool_], weight: Array, objective: PenalizedRisk, start: LinearScores | None = None
) -> LinearScores:
    """Minimize a risk over linear scores of the standardized features, to the optimum if the loss is convex.

    Parameters
    ----------
    X : array or sparse matrix of shape (n, d)
        Features.
    positive : array of n bool
        Whether each label is the positive one.
    weight : array of n weights
        Weight k counts as k repetitions, in the means and deviations of the features too.
    objective : PenalizedRisk
        The risk, and the penalty on the weights of the standardized features.
    start : LinearScores, optional
        The scores from which L-BFGS starts.

    Examples
    --------
    >>> from symloss.losses import Logistic
    >>> X = np.array([[0.0], [1.0], [2.0], [3.0]])
    >>> model = fit_linear(X, X[:, 0] > 1, np.ones(4), PenalizedRisk("auc", Logistic(), 0.1))
    >>> bool(model.coef[0] > 0)
    True
    """
    standardization = Standardization.fit(X, weight)
    origin = standardization.mean if isinstance(X, np.ndarray) and standardization.is_far_from_zero else None
    if origin is not None:
        X = X - origin
        standardization = Standardization.fit(X, weight)  # again, because the mean of large numbers was not exact
    mean, scale = standardization
    first = None
    if start is not None:
        score_at_origin = start.scores(np.zeros((1, X.shape[1])) if origin is None else origin[None])[0]
        first = start.coef * scale, float(score_at_origin + mean @ start.coef)
    weights, bias = minimize_risk(StandardizedFeatures(X, standardization), positive, weight, objective, first)
    coef = weights / scale
    return LinearScores(coef, bias - float(mean @ coef), origin)


def minimize_risk(
    features: Features,
    positive: NDArray[np.bool_],
    weight: Array,
    objective: PenalizedRisk,
    start: tuple[Array, float] | None = None,
) -> tuple[Array, float]:
    """Return the weights of the features and the intercept that minimize a risk, by L-BFGS.

    The corners of a piecewise loss are rounded off, less and less from stage to stage; the last stage rounds over
    1e-4 of the distance of the farthest corner from 0.

    Warns
    -----
    ConvergenceWarning
        If 1,000 iterations do not suffice.

    Examples
    --------
    >>> from symloss.losses import Unhinged
    >>> X = np.array([[-1.0], [1.0]])
    >>> features = StandardizedFeatures(X, Standardization.fit(X, np.ones(2)))
    >>> weights, _ = minimize_risk(features, np.array([False, True]), np.ones(2), PenalizedRisk("ber", Unhinged(), 0.5))
    >>> weights
    array([2.])
    """
    *rounder, last = roundings(objective.loss)
    for loss in rounder:
        start = _minimize_by_lbfgs(features, positive, weight, objective._replace(loss=loss), start, tolerance=1e-6)
    return _minimize_by_lbfgs(features, positive, weight, objective._replace(loss=last), start, tolerance=1e-15)


def _minimize_by_lbfgs(
    features: Features,
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

    first = np.zeros(features.width + 1) if start is None else np.append(*start)
    # The first step of L-BFGS has length 1. Where corners are rounded over less, the search never returns from it.
    unit = min(1.0, loss.width) if isinstance(loss, Rounded) else 1.0

    def value_and_gradient(steps: Array) -> tuple[float, Array]:
        w, b = (parameters := first + unit * steps)[:-1], parameters[-1]
        scores = torch.from_numpy(features.times(w) + b).requires_grad_()
        value = function(scores, labels, loss, weights, validate=False)  # scores of a wild step may overflow
        (by_scores,) = torch.autograd.grad(value, scores)
        u = by_scores.numpy()
        gradient = np.append(features.transposed_times(u) + alpha * w, u.sum())
        return float(value.detach()) + 0.5 * alpha * float(w @ w), unit * gradient

    found = minimize(
        value_and_gradient,
        np.zeros_like(first),
        method="L-BFGS-B",
        jac=True,
        options={"maxiter": _MAX_ITER, "maxfun": 4 * _MAX_ITER, "maxcor": 20, "ftol": tolerance, "gtol": 1e-10 * unit},
    )
    # If the start is nearly a minimizer, rounding may hide the effect of every step.
    stuck = start is None and found.nit == 0 and np.abs(found.jac).max() > 1e-6
    shown = loss.loss if isinstance(loss, Rounded) else loss
    if not np.isfinite(found.fun) or not np.isfinite(found.x).all() or stuck:
        raise ValueError(
            f"{shown!r} at alpha = {alpha:g} cannot be minimized: it must be finite, and have a least value"
        )
    if found.status == 1:
        warnings.warn(
            f"{shown!r} at alpha = {alpha:g} is not minimized after {_MAX_ITER} iterations; raise alpha",
            ConvergenceWarning,
            stacklevel=2,
        )
    parameters = first + unit * found.x
    return parameters[:-1], float(parameters[-1])


def check_alpha(objective: PenalizedRisk) -> None:
    """Raise ValueError unless there is a penalty: without one, a risk may have no minimizer.

    Examples
    --------
    >>> from symloss.losses import Hinge
    >>> check_alpha(PenalizedRisk("auc", Hinge(), 0.0))
    Traceback (most recent call last):
    ValueError: alpha must be above 0, got 0.0
    """
    check_above_zero("alpha", objective.alpha)


def _fit(data: TrainingData, objective: PenalizedRisk, _: int, start: LinearScores | None) -> LinearScores:
    return fit_linear(*data, objective, start)


def _to_module(scorer: LinearScores, threshold: float) -> nn.Module:
    return Linear(scorer.coef, scorer.intercept - threshold, scorer.origin)


LINEAR = Family(
    description="Linear scores of standardized features, fitted to all points or pairs at once, to the optimum if the "
    "loss is convex.",
    fit=_fit,
    scorer=LinearScores,
    stored_as="linear",
    parameters={},
    check_objective=check_alpha,
    to_module=_to_module,
    takes_sparse=True,
    is_stable=True,
)
