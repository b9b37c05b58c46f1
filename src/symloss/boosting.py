"""The balanced-error and the AUC risk as objectives of LightGBM and XGBoost, and metrics for early stopping.

Neither library is imported: objectives and metrics are plain callables. An objective gives a gradient and a curvature
for every point. The curvature is so large that the quadratic which a boosting round minimizes lies above the risk.

A round is given g, the gradient of the risk with respect to the scores, and a curvature h > 0. Among the steps d that
trees can make, it takes the one for which sum(g d + h d^2 / 2) is least. If

    R(scores + d) <= R(scores) + sum(g d + h d^2 / 2)

for every d, a round cannot raise the risk, convex or not. Let c be such that, for every margin z and every step x,

    l(z + x) <= l(z) + l'(z) x + c x^2 / 2 + slack.                                                        (1)

The balanced-error risk is a sum over points, so (1) is what it needs: h is c times the point's share. In the AUC risk,
the margin of the pair (i, j) moves by x = d_i - d_j, and (d_i - d_j)^2 <= 2 d_i^2 + 2 d_j^2. So h is 2 c times the
share. The factor 2 is reached where a split moves positives up and negatives down by the same amount. The second
derivative alone, for which one score moves at a time, is half of what is needed.

(1) holds with slack 0 for c = sup l'', by Taylor's theorem. At a corner, where l' jumps up by w, no c gives slack 0.
But any c > 0 gives a bounded slack: after corners at which l' rises by w in total, the loss is above the quadratic by
at most w x - c x^2 / 2, which is at most w^2 / (2 c). Where the slope falls, at a corner or along a concave piece, the
loss lies below its tangent, and no slack is needed.
"""

from __future__ import annotations

import math
import warnings
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from symloss.checking import as_real, check_weight, is_positive
from symloss.functional import RISKS
from symloss.losses import ExponentialDecay, Loss, LossLike, get_loss
from symloss.metrics import auc, balanced_accuracy
from symloss.pairwise import gradients_of_pairs

__all__ = [
    "LightGBMMetric",
    "Objective",
    "XGBoostMetric",
    "lightgbm_metric",
    "lightgbm_objective",
    "xgboost_metric",
    "xgboost_objective",
]

Array = NDArray[np.float32]


@dataclass(frozen=True)
class Objective:
    """A risk as a custom objective, for the native and the scikit-learn interface of LightGBM and of XGBoost.

    It is called with (scores, data), where data holds labels and weights, or with (labels, scores, weights), and
    returns gradient and curvature. It has no state, and can be copied, pickled and compared.

    Parameters
    ----------
    loss : Loss
        The margin loss.
    risk : {"ber", "auc"}
        The balanced-error or the AUC risk.

    Notes
    -----
    Gradient and curvature are those of the risk times the sum of the weights, or times half of this sum for the AUC
    risk. So with as many positives as negatives, the balanced-error risk of the logistic loss has the gradient of the
    built-in binary objective. Weight k counts as k repetitions. The curvature is a bound, explained in
    ``symloss.boosting``; the second derivative, which Newton's method uses, would be too small.

    Examples
    --------
    >>> objective = lightgbm_objective("logistic", risk="ber")
    >>> objective(np.array([1, 0]), np.array([0.0, 0.0]))
    (array([-0.5,  0.5], dtype=float32), array([0.25, 0.25], dtype=float32))
    """

    loss: Loss
    risk: str

    def __post_init__(self) -> None:
        if self.risk not in RISKS:
            raise ValueError(f"risk must be one of {', '.join(RISKS)}, got {self.risk!r}")
        largest_curvature(self.loss)  # a flat loss is an error here, not at the first round

    def __call__(self, first: Any, second: Any, sample_weight: Any = None) -> tuple[Array, Array]:
        """Return gradient and curvature for (scores, data) or for (labels, scores, weights)."""
        scores, target, weight = arguments(first, second, sample_weight)
        problem = _Problem.of(scores, target, weight, score_limit(self.loss))
        gradient = (_ber_gradient if self.risk == "ber" else _auc_gradient)(problem, self.loss)
        relative = relative_curvature(self.loss)
        if relative is not None:
            curvature = gradient.abs().mul_(relative)
        else:
            curvature = problem.share.mul_(largest_curvature(self.loss))
        if self.risk == "auc":
            curvature.mul_(2)
        return gradient.numpy(), curvature.numpy()


def lightgbm_objective(loss: LossLike = "sigmoid", risk: str = "auc", **parameters: Any) -> Objective:
    """Return a risk as an objective for LightGBM: ``LGBMClassifier(objective=...)``, or ``params={"objective": ...}``.

    Parameters
    ----------
    loss : str, Loss or callable
        The margin loss l; use a symmetric one on noisy labels.
    risk : {"auc", "ber"}
        The mean of l over all pairs, or the balanced-error risk.
    **parameters
        The parameters of a loss given by name.

    Returns
    -------
    Objective
        Scores start at 0 and are raw: use ``predict(X, raw_score=True)``.
    """
    return Objective(get_loss(loss, **parameters), risk)


def xgboost_objective(loss: LossLike = "sigmoid", risk: str = "auc", **parameters: Any) -> Objective:
    """Return a risk as an objective for XGBoost: ``XGBClassifier(objective=...)``, or ``xgboost.train(obj=...)``.

    Parameters
    ----------
    loss, risk, parameters
        As in ``lightgbm_objective``.

    Returns
    -------
    Objective
        ``XGBClassifier`` starts at score 0. ``xgboost.train`` starts at 0.5 unless ``base_score=0`` is set.
    """
    return Objective(get_loss(loss, **parameters), risk)


def arguments(first: Any, second: Any, weight: Any) -> tuple[Any, Any, Any]:
    """Return scores, labels and weights or None, from either library's native or scikit-learn call."""
    if not hasattr(second, "get_label"):
        return second, first, weight
    weight = second.get_weight()
    return first, second.get_label(), weight if weight is not None and len(weight) else None


class _Problem(NamedTuple):
    """Scores in float32, the precision of gradients in both libraries; labels, weights, and each point's share.

    A point's share is its weight times W / (2 W_c), where W is the weight of all points and W_c that of its class. With
    equal weights and balanced classes, it is 1. ``total`` is W.
    """

    scores: Tensor
    positive: Tensor
    weight: Tensor | None
    share: Tensor
    total: float

    @classmethod
    def of(cls, scores: Any, target: Any, weight: Any, limit: float) -> _Problem:
        """Return a checked problem, with scores kept within ±limit and each point's share."""
        scores = as_real(scores, "scores").float()
        positive = is_positive(target)
        if scores.ndim != 1 or positive.shape != scores.shape:
            raise ValueError(
                f"scores and labels must both have shape (n,), got {tuple(scores.shape)} and {tuple(positive.shape)}"
            )
        if not scores.isfinite().all():
            row = int((~scores.isfinite()).nonzero()[0])
            raise ValueError(f"scores must be finite in float32, got {scores[row].item()} in row {row}")
        weight = None if weight is None else check_weight(weight, scores)
        weights = torch.ones(len(scores)) if weight is None else weight
        of_pos, of_neg = (float(weights[side].sum(dtype=torch.float64)) for side in (positive, ~positive))
        if not (of_pos > 0 and of_neg > 0):
            missing = "positive" if not of_pos > 0 else "negative"
            raise ValueError(f"a risk needs points of both classes, got no {missing} one (of weight above 0)")
        total = of_pos + of_neg
        share = torch.where(positive, total / (2 * of_pos), total / (2 * of_neg))
        if weight is not None:
            share = (share * weight).float()
        return cls(scores.clamp(-limit, limit), positive, weight, share, total)


def _ber_gradient(problem: _Problem, loss: Loss) -> Tensor:
    sign = torch.where(problem.positive, 1.0, -1.0)
    return loss.slope(problem.scores * sign) * sign * problem.share


def _auc_gradient(problem: _Problem, loss: Loss) -> Tensor:
    sides = problem.positive, ~problem.positive
    pos, neg = (problem.scores[side] for side in sides)
    weights = (None, None) if problem.weight is None else (problem.weight[sides[0]], problem.weight[sides[1]])
    gradient = torch.empty_like(problem.scores)
    for side, part in zip(sides, gradients_of_pairs(pos, neg, loss, *weights), strict=True):
        gradient[side] = (part * 0.5 * problem.total).float()
    return gradient


_REACH, _POINTS = 32.0, 1 << 17  # margins tried around zero and around every corner
_EXPONENT = 30.0  # that of a pair is at most twice this: exp(-60) to exp(60), well inside float32
_STEP_OF_ONE = 2 * (math.e - 2)  # exp(-x) <= 1 - x + (e - 2) x^2 for |x| <= 1: the series, term by term


@lru_cache
def largest_curvature(loss: Loss) -> float:
    """Return c of (1): the largest l'', or the largest rise of l' over one unit of the margin if that is larger.

    At a corner, this rise is the size of the corner. For a loss that is a line both are 0, and c is its slope, so that
    a leaf with one class takes a step of 1. Margins are tried on a grid, and there is a warning if the loss bends most
    at the end of the grid.
    """
    centers = torch.tensor([0.0, *loss.breakpoints], dtype=torch.float64)
    around = torch.linspace(-_REACH, _REACH, _POINTS + 1, dtype=torch.float64)
    z = (centers[:, None] + around).flatten()
    bend = torch.maximum(loss.curvature(z), loss.slope(z + 0.5) - loss.slope(z - 0.5))
    largest, low, high = float(bend.max()), float(z.min()), float(z.max())
    if largest > 0:
        inside = float(bend[(z > low + 1) & (z < high - 1)].max())
        if largest > inside * (1 + 1e-6) and relative_curvature(loss) is None:
            warnings.warn(
                f"{loss!r} bends most at the end of the margins tried, {low:g} to {high:g}: beyond them a boosting "
                "round may raise the risk",
                stacklevel=2,
            )
        return largest
    steepest = float(loss.slope(z).abs().max())
    if not steepest > 0:
        raise ValueError(
            f"boosting follows the slope of a loss, and {loss!r} is flat at all margins tried, {low:g} to {high:g}"
        )
    return steepest


def relative_curvature(loss: Loss) -> float | None:
    """Return c / |l'| for exponential losses, whose curvature follows the slope as l'' has no bound; None for others.

    A leaf then moves its scores by at most 0.7 / rate, or 0.35 / rate under the AUC risk. For steps up to 1 / rate, (1)
    holds with slack 0.
    """
    return _STEP_OF_ONE * loss.structure.rate if isinstance(loss.structure, ExponentialDecay) else None


def score_limit(loss: Loss) -> float:
    """Return the limit at which scores are cut off: infinite, except for exponential losses.

    For larger scores their slope, and h with it, would overflow or vanish. A score beyond the limit gets the gradient
    and the curvature at the limit.
    """
    return _EXPONENT / loss.structure.rate if isinstance(loss.structure, ExponentialDecay) else math.inf


METRICS = ("auc", "balanced_accuracy")


@dataclass(frozen=True)
class _Metric:
    metric: str
    threshold: float

    def __post_init__(self) -> None:
        if self.metric not in METRICS:
            raise ValueError(f"metric must be one of {', '.join(METRICS)}, got {self.metric!r}")

    def _score(self, first: Any, second: Any, sample_weight: Any) -> float:
        scores, target, weight = arguments(first, second, sample_weight)
        if self.metric == "auc":
            return float(auc(scores, target, weight))
        return balanced_accuracy(scores, target, weight, self.threshold)


class LightGBMMetric(_Metric):
    """A metric as LightGBM calls it: returns its name, its value, and that higher is better."""

    def __call__(self, first: Any, second: Any, sample_weight: Any = None) -> tuple[str, float, bool]:
        """Return the metric of (scores, data) or of (labels, scores, weights)."""
        return self.metric, self._score(first, second, sample_weight), True


class XGBoostMetric(_Metric):
    """A metric as XGBoost calls it: returns its value or, in the native interface, its name and its value.

    XGBoost minimizes a metric that it does not know, and maximizes one whose name begins with "auc". So the balanced
    accuracy is reported as the balanced error, which is 1 minus it, and early stopping goes in the right direction.
    """

    @property
    def __name__(self) -> str:
        """The name of the metric in XGBoost."""
        return "auc" if self.metric == "auc" else "balanced_error"

    def __call__(self, first: Any, second: Any, sample_weight: Any = None) -> float | tuple[str, float]:
        """Return the metric of (scores, data), with its name, or of (labels, scores, weights)."""
        score = self._score(first, second, sample_weight)
        value = score if self.metric == "auc" else 1 - score
        return (self.__name__, value) if hasattr(second, "get_label") else value


def lightgbm_metric(metric: str = "auc", threshold: float = 0.0) -> LightGBMMetric:
    """Return a metric for LightGBM: ``fit(eval_metric=...)``, or ``lightgbm.train(feval=...)``.

    Parameters
    ----------
    metric : {"auc", "balanced_accuracy"}
        Ties count as one half in both.
    threshold : float
        The threshold of the balanced accuracy: 0 for the raw scores of ``lightgbm_objective``, 0.5 for probabilities,
        which the built-in binary objective gives to a metric.
    """
    return LightGBMMetric(metric, threshold)


def xgboost_metric(metric: str = "auc", threshold: float = 0.0) -> XGBoostMetric:
    """Return a metric for XGBoost: ``XGBClassifier(eval_metric=...)``, or ``xgboost.train(custom_metric=...)``.

    Parameters
    ----------
    metric, threshold
        As in ``lightgbm_metric``. The balanced accuracy is reported as ``balanced_error``, which is 1 minus it.
    """
    return XGBoostMetric(metric, threshold)
