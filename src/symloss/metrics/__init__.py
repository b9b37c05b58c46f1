"""AUC and balanced accuracy, and what corrupted labels say of rates, curves and scores on clean labels."""

from symloss.metrics.curves import (
    CleanRates,
    CleanROC,
    clean_rates,
    clean_roc,
    clean_roc_band,
    estimate_clean_partial_auc,
)
from symloss.metrics.estimates import (
    Estimate,
    clean_auc,
    clean_auc_bounds,
    clean_auc_score,
    clean_balanced_accuracy,
    clean_balanced_accuracy_score,
    estimate_clean_auc,
    estimate_clean_balanced_accuracy,
)
from symloss.metrics.scores import AUC, auc, balanced_accuracy

__all__ = [
    "AUC",
    "CleanROC",
    "CleanRates",
    "Estimate",
    "auc",
    "balanced_accuracy",
    "clean_auc",
    "clean_auc_bounds",
    "clean_auc_score",
    "clean_balanced_accuracy",
    "clean_balanced_accuracy_score",
    "clean_rates",
    "clean_roc",
    "clean_roc_band",
    "estimate_clean_auc",
    "estimate_clean_balanced_accuracy",
    "estimate_clean_partial_auc",
]
