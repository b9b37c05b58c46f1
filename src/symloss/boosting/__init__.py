"""The balanced-error and the AUC risk as objectives for LightGBM and XGBoost, and metrics for early stopping.

Neither library is imported: objectives and metrics are plain callables.
"""

from symloss.boosting.objectives import (
    LightGBMMetric,
    Objective,
    XGBoostMetric,
    lightgbm_metric,
    lightgbm_objective,
    xgboost_metric,
    xgboost_objective,
)

__all__ = [
    "LightGBMMetric",
    "Objective",
    "XGBoostMetric",
    "lightgbm_metric",
    "lightgbm_objective",
    "xgboost_metric",
    "xgboost_objective",
]
