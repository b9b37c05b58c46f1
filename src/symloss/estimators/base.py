"""What all estimators share: they check data, take any two labels, and predict by a threshold on scores."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils import check_random_state
from sklearn.utils.multiclass import type_of_target
from sklearn.utils.validation import _check_sample_weight, check_is_fitted, validate_data

Array = NDArray[np.float64]


class TrainingData(NamedTuple):
    """Training data: features, one row per point; whether each label is the positive one; and weights."""

    X: Any
    positive: NDArray[np.bool_]
    weight: Array

    def used(self) -> TrainingData:
        """Return the rows whose weight is above 0."""
        return self if (self.weight > 0).all() else self.rows(np.flatnonzero(self.weight > 0))

    def rows(self, rows: NDArray[np.intp]) -> TrainingData:
        """Return some of the rows."""
        return TrainingData(self.X[rows], self.positive[rows], self.weight[rows])


class BinaryClassifier(ClassifierMixin, BaseEstimator):  # type: ignore[misc]
    """A binary classifier; subclasses fit it and compute scores. The larger of the two labels is the positive one."""

    classes_: NDArray[Any]
    threshold_: float
    random_state: Any

    def decision_function(self, X: Any) -> Array:
        """Return one score per row of X, less the threshold: a row above 0 is predicted positive."""
        return self._scores(self._validated(X)) - self.threshold_

    def predict(self, X: Any) -> NDArray[Any]:
        """Return the predicted label of each row of X."""
        above = self.decision_function(X) > 0
        return self.classes_[above.astype(np.intp)]

    def _scores(self, X: Any) -> Array:
        raise NotImplementedError

    def _allows(self) -> tuple[bool, bool]:
        """Return whether X may be sparse, and whether it may have missing values."""
        raise NotImplementedError

    def _forget(self) -> None:
        """Count as not fitted until a new fit has ended: one that fails halfway must not be predicted with."""
        self.__dict__.pop("threshold_", None)

    def seed(self) -> int:
        """Return a number that ``random_state`` gives: the same one every time, if that is a number."""
        return int(check_random_state(self.random_state).randint(np.iinfo(np.int32).max))

    def _validated(self, X: Any) -> Any:
        check_is_fitted(self, "threshold_")
        return validate_data(self, X, reset=False, **self._check_params())

    def _check_params(self) -> dict[str, Any]:
        sparse, missing = self._allows()
        return {
            "accept_sparse": "csr" if sparse else False,
            "ensure_all_finite": "allow-nan" if missing else True,
            "dtype": np.float64,
        }

    def _training(self, X: Any, y: Any, sample_weight: Any, reset: bool = True) -> TrainingData:
        """Check the data, and set ``classes_``, and with ``reset`` the number and the names of the features."""
        X, y = validate_data(self, X, y, reset=reset, **self._check_params())
        kind = type_of_target(y, input_name="y", raise_unknown=True)
        if kind != "binary":
            raise ValueError(f"Only binary classification is supported. The type of the target is {kind}.")
        weight = _check_sample_weight(sample_weight, X, dtype=np.float64, ensure_non_negative=True)
        labels, y = np.unique(y, return_inverse=True)
        positive = y == 1
        if len(labels) < 2 or not weight[positive].sum() > 0 or not weight[~positive].sum() > 0:
            raise ValueError(
                f"{type(self).__name__} needs points of two classes (of weight above 0), got only one class: {labels}"
            )
        self.classes_ = labels
        return TrainingData(X, positive, weight)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_class = False
        tags.input_tags.sparse, tags.input_tags.allow_nan = self._allows()
        return tags
