"""The balanced-error and the AUC risk as objectives for LightGBM and XGBoost, and metrics for early stopping.

Neither library is imported: objectives and metrics are plain callables.
"""

from symloss.boosting.metrics import LightGBMMetric, XGBoostMetric, lightgbm_metric, xgboost_metric
from symloss.boosting.objectives import Objective, lightgbm_objective, xgboost_objective

__all__ = [
    "LightGBMMetric",
    "Objective",
    "XGBoostMetric",
    "lightgbm_metric",
    "lightgbm_objective",
    "xgboost_metric",
    "xgboost_objective",
]
