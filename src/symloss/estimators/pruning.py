"""Fit any classifier without the labels that look most suspicious, so that it can follow the others more closely."""

from __future__ import annotations

import warnings
from typing import Any, Self

import joblib
import numpy as np
from numpy.typing import NDArray
from scipy.sparse import issparse
from sklearn.base import BaseEstimator, ClassifierMixin, MetaEstimatorMixin, clone
from sklearn.ensemble import ExtraTreesRegressor, RandomForestRegressor
from sklearn.utils import check_random_state, get_tags
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import _check_sample_weight, check_is_fitted, validate_data

from symloss.machines import one_thread
from symloss.metrics import auc
from symloss.models.family import Imputation, TrainingData
from symloss.models.process import fit_gaussian_process

Array = NDArray[np.float64]
_FOREST = {"min_samples_leaf": 20, "max_features": "sqrt", "bootstrap": True, "oob_score": True}
_LANDMARKS = 300
_MOST = 100_000  # points of the bag of a tree
_REMEMBERED = 12  # a fit to all points and those to up to eleven folds
_found: dict[str, Array] = {}


class Pruned(ClassifierMixin, MetaEstimatorMixin, BaseEstimator):  # type: ignore[misc]
    """Any binary classifier, fitted without a share of each class: the labels that look most suspicious.

    Two forests and a Gaussian process that have not seen a label say how right it looks.

    Parameters
    ----------
    estimator : classifier
        It is cloned and fitted to the labels that are left.
    share : float, default=0.4
        The share of each class that is left out. About the share of wrong labels is a good choice.
    random_state : int or numpy RandomState, default=None
        The seed of the forests and of the process.

    Attributes
    ----------
    estimator_ : classifier
        The fitted classifier.
    kept_ : array of int
        The rows that it was fitted to.
    classes_ : array of two labels
        The second one is the positive one.

    Examples
    --------
    >>> from sklearn.linear_model import LogisticRegression
    >>> X = np.linspace(0, 1, 200)[:, None]
    >>> y = X[:, 0] > 0.5
    >>> y[20] = True  # a wrong label
    >>> 20 in Pruned(LogisticRegression(), share=0.1, random_state=0).fit(X, y).kept_
    False
    """

    def __init__(self, estimator: Any, share: float = 0.4, random_state: Any = None) -> None:
        self.estimator = estimator
        self.share = share
        self.random_state = random_state

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Leave out the labels that look most suspicious, and fit the classifier to the others."""
        if not 0 <= self.share < 1:
            raise ValueError(f"share must be at least 0 and below 1, got {self.share!r}")
        X, y = validate_data(self, X, y, accept_sparse="csr", ensure_all_finite="allow-nan", dtype=np.float64)
        check_classification_targets(y)
        self.classes_, codes = np.unique(y, return_inverse=True)
        weight = _check_sample_weight(sample_weight, X, dtype=np.float64, ensure_non_negative=True)
        used = np.flatnonzero(weight > 0)
        found = len(np.unique(codes[used]))
        if len(self.classes_) != 2 or found != 2:
            raise ValueError(f"Only binary classification is supported. Got {found} class(es) of weight above 0.")
        data = TrainingData(X[used], codes[used] == 1, weight[used])
        seed = int(check_random_state(self.random_state).randint(np.iinfo(np.int32).max))
        self.kept_ = used[_kept(data, credibility(data, seed), self.share)]
        weights = {"sample_weight": weight[self.kept_]} if (weight[self.kept_] != 1).any() else {}
        self.estimator_ = clone(self.estimator).fit(X[self.kept_], y[self.kept_], **weights)
        return self

    def decision_function(self, X: Any) -> Array:
        """Return the scores of the fitted classifier; above 0 the positive label is predicted."""
        check_is_fitted(self, "estimator_")
        if hasattr(self.estimator_, "decision_function"):
            return np.asarray(self.estimator_.decision_function(X))
        return np.asarray(self.estimator_.predict_proba(X)[:, 1] - 0.5)

    def predict(self, X: Any) -> NDArray[Any]:
        """Return the predicted label of each row of X."""
        check_is_fitted(self, "estimator_")
        return np.asarray(self.classes_[(self.decision_function(X) > 0).astype(np.intp)])

    def __sklearn_tags__(self) -> Any:
        tags, inner = super().__sklearn_tags__(), get_tags(self.estimator)
        tags.input_tags = inner.input_tags
        tags.classifier_tags.multi_class = False
        return tags


def credibility(data: TrainingData, seed: int) -> Array:
    """Return scores of the points by models that have not seen their labels; a model that ranks better counts more.

    What was found for the last points is remembered: a search asks for several candidates about each fold.
    """
    key = joblib.hash((tuple(data), seed))
    if key not in _found:
        if len(_found) == _REMEMBERED:
            del _found[next(iter(_found))]
        _found[key] = _credibility(data, seed)
    return _found[key]


@one_thread()
def _credibility(data: TrainingData, seed: int) -> Array:
    sign = np.where(data.positive, 1.0, -1.0)
    weight = None if (data.weight == 1).all() else data.weight
    settings = {**_FOREST, "max_samples": min(_MOST, len(sign)), "random_state": seed}
    held_out = []
    for forest in (ExtraTreesRegressor(75, **settings), RandomForestRegressor(50, **settings)):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UserWarning)  # of points that are in all bags: their score is 0
            held_out.append(np.nan_to_num(forest.fit(data.X, sign, weight).oob_prediction_))
    if not issparse(data.X):
        complete = Imputation.fit(data.X, data.weight).transform(data.X)
        _, left_out = fit_gaussian_process(data._replace(X=complete), seed, _LANDMARKS)
        held_out.append(left_out())
    total = np.zeros(len(sign))
    for scores in held_out:
        gain = max(auc(scores, data.positive, data.weight) - 0.5, 1e-3)  # so that something decides
        total += gain**2 * (scores - scores.mean()) / (scores.std() or 1.0)
    return total


def _kept(data: TrainingData, scores: Array, share: float) -> NDArray[np.intp]:
    """Return the rows without a share of each class, by weight: those whose labels look most suspicious."""
    kept = np.ones(len(scores), bool)
    for of_class, sign in ((data.positive, 1), (~data.positive, -1)):
        rows = np.flatnonzero(of_class)
        worst_first = rows[np.argsort(sign * scores[rows], kind="stable")]
        left_out = np.cumsum(data.weight[worst_first]) <= share * data.weight[rows].sum()
        left_out[-1] = False  # the class stays
        kept[worst_first[left_out]] = False
    return np.flatnonzero(kept)
