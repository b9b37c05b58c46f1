"""scikit-learn estimators for corrupted binary labels."""

from symloss.estimators.classifiers import AUCClassifier, BERClassifier

__all__ = ["AUCClassifier", "BERClassifier"]
