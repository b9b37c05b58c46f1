"""AUC and balanced accuracy as evaluation metrics, to stop early on noisy validation labels.

On corrupted labels both are increasing functions of their clean values (corollaries 2 and 4 with the zero-one loss). So
the round that is best on corrupted labels is, up to chance, also best on clean labels.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from symloss.boosting.objectives import arguments
from symloss.metrics import auc, balanced_accuracy

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
    """A metric as LightGBM calls it: returns its name, its value, and that higher is better.

    Examples
    --------
    >>> lightgbm_metric("auc")([0, 0, 1], [0.1, 0.2, 0.2])
    ('auc', 0.75, True)
    """

    def __call__(self, first: Any, second: Any, sample_weight: Any = None) -> tuple[str, float, bool]:
        """Return the metric of (scores, data) or of (labels, scores, weights)."""
        return self.metric, self._score(first, second, sample_weight), True


class XGBoostMetric(_Metric):
    """A metric as XGBoost calls it: returns its value or, in the native interface, its name and its value.

    XGBoost minimizes a metric that it does not know, and maximizes one whose name begins with "auc". So the balanced
    accuracy is reported as the balanced error, which is 1 minus it, and early stopping goes in the right direction.

    Examples
    --------
    >>> xgboost_metric("balanced_accuracy")([0, 0, 1, 1], [-1.0, 2.0, 2.0, 3.0])
    0.25
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
