"""scikit-learn estimators for corrupted binary labels."""

from symloss.estimators.classifiers import AUCClassifier, BERClassifier
from symloss.estimators.pool import default_candidates
from symloss.estimators.pruning import Pruned
from symloss.estimators.saving import load, save
from symloss.estimators.selection import AUCClassifierCV, BERClassifierCV

__all__ = [
    "AUCClassifier",
    "AUCClassifierCV",
    "BERClassifier",
    "BERClassifierCV",
    "Pruned",
    "default_candidates",
    "load",
    "save",
]
