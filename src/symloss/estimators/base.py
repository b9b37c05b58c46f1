"""What all estimators share: checked data, any two labels, and predictions by a threshold on scores."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils import check_random_state
from sklearn.utils.multiclass import type_of_target
from sklearn.utils.validation import _check_sample_weight, check_is_fitted, validate_data

Array = NDArray[np.float64]


class Training(NamedTuple):
    """Training data: features, which labels are the positive one, and weights."""

    X: Any
    positive: NDArray[np.bool_]
    weight: Array

    def used(self) -> Training:
        """Return the rows that have weight."""
        return self if (self.weight > 0).all() else self.rows(np.flatnonzero(self.weight > 0))

    def rows(self, rows: NDArray[np.intp]) -> Training:
        """Return some of the rows."""
        return Training(self.X[rows], self.positive[rows], self.weight[rows])


class BinaryClassifier(ClassifierMixin, BaseEstimator):  # type: ignore[misc]
    """A binary classifier whose subclasses fit and give scores; the larger of two labels is the positive one."""

    classes_: NDArray[Any]
    threshold_: float
    random_state: Any

    def decision_function(self, X: Any) -> Array:
        """Return the scores of the rows of X less the threshold: above 0 is predicted positive."""
        return self._scores(self._validated(X)) - self.threshold_

    def predict(self, X: Any) -> NDArray[Any]:
        """Return the predicted labels of the rows of X."""
        above = self.decision_function(X) > 0
        return self.classes_[above.astype(np.intp)]

    def _scores(self, X: Any) -> Array:
        raise NotImplementedError

    def _allows(self) -> tuple[bool, bool]:
        """Return whether sparse X, and whether missing values, can be fitted."""
        raise NotImplementedError

    def _forget(self) -> None:
        """Count as not fitted until the fit that has begun is over, lest half of it be taken for a whole."""
        self.__dict__.pop("threshold_", None)

    def _seed(self) -> int:
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

    def _training(self, X: Any, y: Any, sample_weight: Any, reset: bool = True) -> Training:
        """Check the data, and set ``classes_`` and what scikit-learn keeps of the features."""
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
        return Training(X, positive, weight)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_class = False
        tags.input_tags.sparse, tags.input_tags.allow_nan = self._allows()
        return tags
