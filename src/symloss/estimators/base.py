"""What all estimators share: they check data, take any two labels, and predict by a threshold on scores."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import issparse
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils import _safe_indexing, check_array, check_random_state, check_X_y, column_or_1d
from sklearn.utils.multiclass import type_of_target
from sklearn.utils.validation import _check_sample_weight, check_is_fitted, validate_data

from symloss.columns import Encoding, check_range, column_names, has_only_numbers, library_of
from symloss.estimators.scoring import Metric
from symloss.models.family import TrainingData

Array = NDArray[np.float64]
_SHOWN = 20  # how many columns an error names


class BinaryClassifier(ClassifierMixin, BaseEstimator):  # type: ignore[misc]
    """A binary classifier; subclasses fit it and compute scores. The larger of the two labels is the positive one."""

    _metric: ClassVar[Metric]
    classes_: NDArray[Any]
    threshold_: float
    encoding_: Encoding | None = None
    random_state: Any

    def decision_function(self, X: Any) -> Array:
        """Return one score per row of X, less the threshold: a row above 0 is predicted positive."""
        return self._scores(self._validated(X)) - self.threshold_

    def predict(self, X: Any) -> NDArray[Any]:
        """Return the predicted label of each row of X."""
        above = self.decision_function(X) > 0
        return self.classes_[above.astype(np.intp)]

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """Return the AUC (AUC forms) or the balanced accuracy (BER forms), which corrupted labels can be used for.

        Which of two classifiers has the larger score does not depend on whether labels are corrupted, up to chance. For
        accuracy, which other classifiers return here, it does.
        """
        scores = self.decision_function(X)
        y = column_or_1d(y)
        unknown = np.setdiff1d(y, self.classes_)
        if len(unknown):
            raise ValueError(f"y must hold the labels of the fit, {self.classes_.tolist()}, got {unknown[:5].tolist()}")
        weight = _check_sample_weight(sample_weight, X, dtype=np.float64, ensure_non_negative=True)
        return self._metric.score(scores, y == self.classes_[1], weight)

    def _scores(self, X: Any) -> Array:
        raise NotImplementedError

    def _allows(self) -> tuple[bool, bool]:
        """Return whether X may be sparse, and whether it may have missing values."""
        raise NotImplementedError

    def _set_fitted(self, **attributes: Any) -> None:
        """Set attributes of a fit, and delete those that are None, so that files hold only what there is."""
        for name, value in attributes.items():
            self.__dict__.pop(name, None)
            if value is not None:
                setattr(self, name, value)

    def _seed(self) -> int:
        """Return a number that ``random_state`` gives: the same one every time, if that is a number."""
        return int(check_random_state(self.random_state).randint(np.iinfo(np.int32).max))

    def _validated(self, X: Any) -> Any:
        check_is_fitted(self, "threshold_")
        if self.encoding_ is None:
            X = self._numbers(X, reset=False)
            check_range(X, getattr(self, "feature_names_in_", None))
            return X
        return check_array(self._encoded(X, self.encoding_), estimator=self, input_name="X", **self._check_params(X))

    def _numbers(self, X: Any, *y: Any, reset: bool) -> Any:
        try:
            return validate_data(self, X, *y, reset=reset, **self._check_params(X))
        except ValueError as error:
            hint = self._hint(X, str(error))
            if hint is None:
                raise
            raise ValueError(f"{error}: {hint}") from error

    def _hint(self, X: Any, error: str) -> str | None:
        """Return what to do about features that cannot be taken."""
        if error.startswith("could not convert string to float"):
            if library_of(X):
                return "all columns held numbers in the fit"
            return "to have texts encoded, pass them as columns of a pandas or polars DataFrame"
        if issparse(X) and error.startswith("Input X contains NaN"):
            return "X is sparse; a dense array may have missing values, NaN, and a sparse matrix must have none"
        return None

    def _encoded(self, X: Any, encoding: Encoding) -> Array:
        """Return the features of a data frame, which must have the columns of the fit, in any order."""
        expected = self.feature_names_in_.tolist()
        if library_of(X) is None:
            raise ValueError(
                f"{type(self).__name__} was fitted to a data frame with columns of text: expected a pandas or polars "
                f"DataFrame with the columns {_listed(expected)}, got {type(X).__name__}"
            )
        names = column_names(X)
        if set(names) != set(expected):
            differences = {
                "missing": [name for name in expected if name not in names],
                "not in the fit": [name for name in names if name not in expected],
            }
            raise ValueError(
                f"X must have the {len(expected)} columns of the fit, {_listed(expected)}, got {len(names)} columns; "
                + "; ".join(f"{what}: {_listed(found)}" for what, found in differences.items() if found)
            )
        return encoding.transform(X).values

    def _check_params(self, X: Any) -> dict[str, Any]:
        sparse, missing = self._allows()
        return {
            "accept_sparse": "csr" if sparse else False,
            "ensure_all_finite": "allow-nan" if missing and not issparse(X) else True,
            "dtype": np.float64,
        }

    def _training(self, X: Any, y: Any, sample_weight: Any, reset: bool = True) -> TrainingData:
        """Check the data, and set ``classes_``, and with ``reset`` the number and the names of the features."""
        if reset:  # not fitted until this fit has ended: one that fails halfway must not be predicted with
            self.__dict__.pop("threshold_", None)
            self._set_fitted(encoding_=_encoding_of(X, sample_weight))
        if self.encoding_ is None:
            X, y = self._numbers(X, y, reset=reset)
            check_range(X, getattr(self, "feature_names_in_", None))
        else:
            if reset:
                self.feature_names_in_ = np.asarray(column_names(X), dtype=object)
                self.n_features_in_ = len(self.feature_names_in_)
            X, y = check_X_y(self._encoded(X, self.encoding_), y, estimator=self, **self._check_params(X))
        kind = type_of_target(y, input_name="y", raise_unknown=True)
        if kind != "binary":
            raise ValueError(f"Only binary classification is supported. The type of the target is {kind}.")
        weight = _weights(sample_weight, X)
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


def _weights(sample_weight: Any, X: Any) -> Array:
    """Return the weights of rows; those whose mean is below 1, where they are not 0, are scaled to a mean of 1.

    So weights that sum to 1, or fractions, count points, as whole numbers do, of which k is k repetitions.
    """
    weight = _check_sample_weight(sample_weight, X, dtype=np.float64, ensure_non_negative=True)
    mean = weight[weight > 0].mean() if weight.any() else 1.0
    return np.round(weight / mean, 12) if mean < 1 else np.asarray(weight)


def _encoding_of(X: Any, sample_weight: Any) -> Encoding | None:
    """Return how a data frame is encoded, by its rows of weight above 0; None if X holds only numbers."""
    if library_of(X) is None or has_only_numbers(X):
        return None
    column_names(X)  # raises if a name is no text, or if two columns have the same name
    weight = _weights(sample_weight, X)
    used = X if (weight > 0).all() else _safe_indexing(X, np.flatnonzero(weight > 0))
    # An identifier is told by its number of rows, and a row of weight k counts as k rows.
    return Encoding.fit(used, rows=float(weight.sum()))


def _listed(names: list[str]) -> str:
    return ", ".join(names[:_SHOWN]) + (", ..." if len(names) > _SHOWN else "")
