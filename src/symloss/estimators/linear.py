"""Linear scores: the regularised risk of all points, or of all pairs, minimised by L-BFGS."""

from __future__ import annotations

import warnings
from typing import Any, NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from scipy.optimize import minimize
from sklearn.exceptions import ConvergenceWarning

from symloss.functional import auc_risk, ber_risk
from symloss.losses import Loss

Array = NDArray[np.float64]
_MAX_ITER = 1000


class LinearScores(NamedTuple):
    """Scores X @ coef + intercept.

    Examples
    --------
    >>> LinearScores(np.array([2.0]), 1.0).scores(np.array([[0.5]]))
    array([2.])
    """

    coef: Array
    intercept: float

    def scores(self, X: Any) -> Array:
        """Return the scores of the rows of X."""
        return np.asarray(X @ self.coef + self.intercept)


def fit_linear(
    X: Any,
    positive: NDArray[np.bool_],
    weight: Array,
    *,
    risk: str,
    loss: Loss,
    alpha: float,
) -> LinearScores:
    """Minimise risk + alpha / 2 |w|^2 over the weights w of the standardised features, to the optimum if it is convex.

    Parameters
    ----------
    X : array or sparse matrix of shape (n, d)
        Features; neither copied nor made dense: they are centred and scaled within the products.
    positive : array of n bool
        Labels.
    weight : array of n weights
        Weight k counts as k repetitions, in the means and deviations of the features too.
    risk : {"ber", "auc"}
        The balanced-error risk, or the AUC risk over all pairs.
    loss : Loss
        The margin loss.
    alpha : float
        The penalty, positive: without one, most losses have no minimiser on separable data, and unhinged never has.

    Warns
    -----
    ConvergenceWarning
        If L-BFGS, whose line search finds strong Wolfe points, needs more than 1,000 iterations.

    Examples
    --------
    >>> from symloss.losses import Logistic
    >>> X = np.array([[0.0], [1.0], [2.0], [3.0]])
    >>> model = fit_linear(X, X[:, 0] > 1, np.ones(4), risk="auc", loss=Logistic(), alpha=0.1)
    >>> bool(model.coef[0] > 0)
    True
    """
    mean, scale = _mean_and_scale(X, weight)
    function = auc_risk if risk == "auc" else ber_risk
    labels, weights = torch.from_numpy(positive), torch.from_numpy(weight)

    def objective(parameters: Array) -> tuple[float, Array]:
        w, b = parameters[:-1], parameters[-1]
        coef = w / scale
        scores = torch.from_numpy(X @ coef + (b - mean @ coef)).requires_grad_()
        value = function(scores, labels, loss, weights)
        (by_scores,) = torch.autograd.grad(value, scores)
        g = by_scores.numpy()
        total = g.sum()
        gradient = np.append((X.T @ g - mean * total) / scale + alpha * w, total)
        return float(value.detach()) + 0.5 * alpha * float(w @ w), gradient

    start = np.zeros(X.shape[1] + 1)
    found = minimize(
        objective, start, method="L-BFGS-B", jac=True,
        options={"maxiter": _MAX_ITER, "maxfun": 4 * _MAX_ITER, "maxcor": 20, "ftol": 1e-15, "gtol": 1e-10},
    )  # fmt: skip
    if found.nit >= _MAX_ITER:
        warnings.warn(
            f"{loss!r} at alpha = {alpha:g} is not minimised after {_MAX_ITER} iterations; raise alpha",
            ConvergenceWarning,
            stacklevel=2,
        )
    coef = found.x[:-1] / scale
    return LinearScores(coef, float(found.x[-1] - mean @ coef))


def _mean_and_scale(X: Any, weight: Array) -> tuple[Array, Array]:
    """Return the weighted mean and standard deviation of every feature; a constant feature has scale 1."""
    share = weight / weight.sum()
    mean = np.asarray(X.T @ share)
    if isinstance(X, np.ndarray):
        variance = np.einsum("i,ij,ij->j", share, X - mean, X - mean)
    else:
        variance = np.maximum(np.asarray(X.multiply(X).T @ share) - mean**2, 0.0)
    scale = np.sqrt(variance)
    constant = scale <= 10 * np.finfo(np.float64).eps * np.abs(mean)
    return mean, np.where(constant | (scale == 0), 1.0, scale)
