"""A model of tables as one scikit-learn estimator: a pipeline of the encoder and the classifier."""

from __future__ import annotations

import copy
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.pipeline import Pipeline
from sklearn.utils.validation import check_is_fitted

from symloss.columns import Encoding, as_pandas

if TYPE_CHECKING:
    from pandas import DataFrame


class TableEncoder(TransformerMixin, BaseEstimator):  # type: ignore[misc]
    """Turns the columns of a data frame into features, as ``symloss.tabular.fit`` does.

    Parameters
    ----------
    max_categories : int
        The largest number of distinct texts that are one-hot encoded; a column with more of them is hashed.

    Attributes
    ----------
    encoding_ : Encoding
        How columns become features.

    Examples
    --------
    >>> import pandas as pd
    >>> TableEncoder().fit_transform(pd.DataFrame({"age": [30, 40], "city": ["Oslo", "Rome"]}))
        age  city=Oslo  city=Rome
    0  30.0        1.0        0.0
    1  40.0        0.0        1.0
    """

    def __init__(self, max_categories: int = 50) -> None:
        self.max_categories = max_categories

    def fit(self, X: Any, y: Any = None) -> Self:  # noqa: ARG002
        """Find how the columns of a data frame become features."""
        self.encoding_ = Encoding.fit(as_pandas(X), self.max_categories)
        return self

    def transform(self, X: Any) -> DataFrame:
        """Return the features of the rows; columns may be in any order, and others are ignored."""
        import pandas as pd

        check_is_fitted(self)
        frame = as_pandas(X)
        return pd.DataFrame(self.encoding_.transform(frame).values, columns=self.encoding_.features, index=frame.index)


def pipeline_of(encoding: Encoding, estimator: Any, labels: tuple[Any, Any]) -> Pipeline:
    """Return a fitted pipeline of an encoder and a copy of an estimator, which predicts these labels."""
    encoder = TableEncoder(encoding.max_categories)
    encoder.encoding_ = encoding
    classifier = copy.copy(estimator)
    classifier.classes_ = np.array(labels)
    return Pipeline([("encoder", encoder), ("classifier", classifier)])
