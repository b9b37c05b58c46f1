"""Linear scores of features: the regularised risk of all points, or of all pairs, minimised by L-BFGS."""

from __future__ import annotations

import warnings
from typing import Any, NamedTuple, Protocol

import numpy as np
import torch
from numpy.typing import NDArray
from scipy.optimize import minimize
from sklearn.exceptions import ConvergenceWarning

from symloss.estimators.rounding import roundings
from symloss.estimators.standardise import Standard, blocks
from symloss.functional import auc_risk, ber_risk
from symloss.losses import Loss
from symloss.threads import one_thread

Array = NDArray[np.float64]
_MAX_ITER = 1000


class Penalised(NamedTuple):
    """What linear scores minimise: a risk plus alpha / 2 times the squared length of their weights.

    Examples
    --------
    >>> from symloss.losses import Hinge
    >>> Penalised("auc", Hinge(), 0.1).alpha
    0.1
    """

    risk: str
    loss: Loss
    alpha: float


class Features(Protocol):
    """Features of n points, as a matrix F that can be multiplied."""

    @property
    def width(self) -> int:
        """The number of features."""

    def times(self, weights: Array) -> Array:
        """Return F w."""

    def transposed_times(self, by_scores: Array) -> Array:
        """Return F' u."""


class LinearScores(NamedTuple):
    """Scores (X - origin) @ coef + intercept.

    There is an origin where dense features lie so far from zero that X @ coef and the intercept would cancel, and with
    them most of the digits. Sparse features have none: less an origin, they would be dense.

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
        """Return the scores of the rows of X."""
        if self.origin is None:
            return np.asarray(X @ self.coef + self.intercept)
        if not isinstance(X, np.ndarray):  # a sparse matrix less the origin would be dense
            return np.asarray(X @ self.coef - self.origin @ self.coef + self.intercept)
        parts = [(X[rows] - self.origin) @ self.coef for rows in blocks(*X.shape)]
        return np.concatenate(parts) + self.intercept


class StandardFeatures(NamedTuple):
    """Features in standard units: neither copied nor made dense, but centred and scaled within the products.

    Examples
    --------
    >>> X = np.array([[0.0], [2.0]])
    >>> StandardFeatures(X, Standard.of(X, np.ones(2))).times(np.array([3.0]))
    array([-3.,  3.])
    """

    X: Any
    standard: Standard

    @property
    def width(self) -> int:
        """The number of features."""
        return int(self.X.shape[1])

    def times(self, weights: Array) -> Array:
        """Return F w."""
        coef = weights / self.standard.scale
        return np.asarray(self.X @ coef - self.standard.mean @ coef)

    def transposed_times(self, by_scores: Array) -> Array:
        """Return F' u."""
        return np.asarray((self.X.T @ by_scores - self.standard.mean * by_scores.sum()) / self.standard.scale)


@one_thread()
def fit_linear(
    X: Any, positive: NDArray[np.bool_], weight: Array, penalised: Penalised, start: LinearScores | None = None
) -> LinearScores:
    """Minimise a risk over linear scores of the standardised features, to the optimum if the loss is convex.

    Parameters
    ----------
    X : array or sparse matrix of shape (n, d)
        Features.
    positive : array of n bool
        Labels.
    weight : array of n weights
        Weight k counts as k repetitions, in the means and deviations of the features too.
    penalised : Penalised
        The risk, and the penalty on the weights of the standardised features.
    start : LinearScores, optional
        Where to start.

    Examples
    --------
    >>> from symloss.losses import Logistic
    >>> X = np.array([[0.0], [1.0], [2.0], [3.0]])
    >>> model = fit_linear(X, X[:, 0] > 1, np.ones(4), Penalised("auc", Logistic(), 0.1))
    >>> bool(model.coef[0] > 0)
    True
    """
    standard = Standard.of(X, weight)
    origin = standard.mean if isinstance(X, np.ndarray) and standard.is_far_from_zero else None
    if origin is not None:
        X = X - origin
        standard = Standard.of(X, weight)  # again: the mean of large numbers was not exact
    first = None
    if start is not None:
        there = start.scores(np.zeros((1, X.shape[1])) if origin is None else origin[None])[0]
        first = start.coef * standard.scale, float(there + standard.mean @ start.coef)
    weights, bias = minimise_risk(StandardFeatures(X, standard), positive, weight, penalised, first)
    coef = weights / standard.scale
    return LinearScores(coef, bias - float(standard.mean @ coef), origin)


def minimise_risk(
    features: Features,
    positive: NDArray[np.bool_],
    weight: Array,
    penalised: Penalised,
    start: tuple[Array, float] | None = None,
) -> tuple[Array, float]:
    """Return the weights of the features and the intercept of least risk, by L-BFGS.

    The corners of a piecewise loss are rounded off, in stages, down to 1e-4 of their distance from 0.

    Warns
    -----
    ConvergenceWarning
        If 1,000 iterations do not suffice.

    Examples
    --------
    >>> from symloss.losses import Unhinged
    >>> X = np.array([[-1.0], [1.0]])
    >>> features = StandardFeatures(X, Standard.of(X, np.ones(2)))
    >>> weights, _ = minimise_risk(features, np.array([False, True]), np.ones(2), Penalised("ber", Unhinged(), 0.5))
    >>> weights
    array([2.])
    """
    *rounder, last = roundings(penalised.loss)
    for loss in rounder:
        start = _minimise(features, positive, weight, penalised._replace(loss=loss), start, tolerance=1e-6)
    return _minimise(features, positive, weight, penalised._replace(loss=last), start, tolerance=1e-15)


def _minimise(
    features: Features,
    positive: NDArray[np.bool_],
    weight: Array,
    penalised: Penalised,
    start: tuple[Array, float] | None,
    tolerance: float,
) -> tuple[Array, float]:
    risk, loss, alpha = penalised
    function = auc_risk if risk == "auc" else ber_risk
    labels = torch.from_numpy(positive)
    weights = None if (weight == weight[0]).all() else torch.from_numpy(weight)

    def objective(parameters: Array) -> tuple[float, Array]:
        w, b = parameters[:-1], parameters[-1]
        scores = torch.from_numpy(features.times(w) + b).requires_grad_()
        value = function(scores, labels, loss, weights)
        (by_scores,) = torch.autograd.grad(value, scores)
        u = by_scores.numpy()
        gradient = np.append(features.transposed_times(u) + alpha * w, u.sum())
        return float(value.detach()) + 0.5 * alpha * float(w @ w), gradient

    found = minimize(
        objective,
        np.zeros(features.width + 1) if start is None else np.append(*start),
        method="L-BFGS-B",
        jac=True,
        options={"maxiter": _MAX_ITER, "maxfun": 4 * _MAX_ITER, "maxcor": 20, "ftol": tolerance, "gtol": 1e-10},
    )
    stuck = found.nit == 0 and np.abs(found.jac).max() > 1e-6
    if not np.isfinite(found.fun) or not np.isfinite(found.x).all() or stuck:
        raise ValueError(
            f"{loss!r} at alpha = {alpha:g} cannot be minimised: it must be finite, and have a least value"
        )
    if found.status == 1:
        warnings.warn(
            f"{loss!r} at alpha = {alpha:g} is not minimised after {_MAX_ITER} iterations; raise alpha",
            ConvergenceWarning,
            stacklevel=2,
        )
    return found.x[:-1], float(found.x[-1])
