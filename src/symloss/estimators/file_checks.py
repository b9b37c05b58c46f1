"""Check an estimator that was read from a file, so that it predicts or is refused, and never does anything else.

A file may have been changed by hand, or made to do harm: every number, every shape and every index is looked at.
"""

from __future__ import annotations

from types import NoneType
from typing import Any, get_args, get_origin, get_type_hints

import numpy as np
from scipy import sparse
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.utils.validation import check_is_fitted
from torch import nn

from symloss.audit import Noise
from symloss.columns import Encoding
from symloss.estimators.base import BinaryClassifier
from symloss.estimators.boosted import BoostedScores
from symloss.estimators.calibration import Calibration
from symloss.estimators.candidates import is_own
from symloss.estimators.cells import CellScores
from symloss.estimators.family_table import family_of
from symloss.estimators.file_values import checked_count, checked_number, checked_numbers, shown
from symloss.estimators.forest import FORESTS, ForestScores
from symloss.estimators.gaussian_process import GaussianProcessScores
from symloss.estimators.kernel import KernelScores
from symloss.estimators.networks import NetworkScores
from symloss.estimators.relevance_process import RelevanceProcessScores
from symloss.estimators.selection import Member, _ClassifierCV
from symloss.estimators.standardization import Standardization
from symloss.metrics import Estimate
from symloss.models import PerceptronStack

_MAY_BE_NAN = (Noise, Estimate)
_LARGEST = 2**31 - 1  # the largest number of features


def check_record(record: Any) -> None:
    """Raise ValueError unless every field of a record is what its class declares: a number, an array, a record.

    Examples
    --------
    >>> check_record(Calibration(1.0, 0.0))
    >>> check_record(Calibration("steep", 0.0))
    Traceback (most recent call last):
    ValueError: expected a number as slope, found 'steep'
    """
    for name, kind in get_type_hints(type(record)).items():
        _check_field(getattr(record, name), name, kind, finite=not isinstance(record, _MAY_BE_NAN))
    if isinstance(record, Standardization):
        checked_numbers(record.scale, "scale", len(checked_numbers(record.mean, "mean")))
        _expect((record.scale > 0).all(), "scales above 0", record.scale)
    if isinstance(record, CellScores):
        record.check()
    if isinstance(record, (KernelScores, GaussianProcessScores, RelevanceProcessScores)):
        _check_landmarks(record)
    if isinstance(record, Member):
        _expect(record.scale > 0, "a scale above 0", record.scale)
        _expect(record.weight > 0, "a weight above 0", record.weight)


def check_loaded(estimator: BinaryClassifier) -> None:
    """Raise ValueError unless the parameters of an estimator, and what a fit has set, are what they must be.

    Examples
    --------
    >>> import symloss as sl
    >>> classifier = sl.BERClassifier(threshold=0.0).fit([[0.0], [1.0]], [0, 1])
    >>> check_loaded(classifier)
    >>> classifier.threshold_ = float("nan")
    >>> check_loaded(classifier)
    Traceback (most recent call last):
    ValueError: expected a number as threshold_, found nan
    """
    estimator._check_parameters()
    if isinstance(estimator, _ClassifierCV):
        _check_candidates(estimator.candidates)
    if not any(name.endswith("_") for name in vars(estimator)):
        return  # a candidate, which is not fitted
    check_is_fitted(estimator, "threshold_")
    checked_number(estimator.threshold_, "threshold_")
    classes = estimator.classes_
    is_pair = isinstance(classes, np.ndarray) and classes.shape == (2,) and len(set(classes.tolist())) == 2
    _expect(is_pair, "two labels as classes_", classes)
    width = _width(estimator)
    if isinstance(estimator, _ClassifierCV):
        _check_members(estimator, width)
        _check_scores(estimator)
    else:
        _check_scorer(estimator, width)


def _check_landmarks(record: KernelScores | GaussianProcessScores | RelevanceProcessScores) -> None:
    shape = (len(checked_numbers(record.dual, "dual")), len(record.standard.mean))
    _expect(record.landmarks.shape == shape, f"{shape[0]} landmarks of {shape[1]} features", record.landmarks)
    narrow = record.gamma if isinstance(record, KernelScores) else record.length
    _expect(narrow > 0, "a width of kernels above 0", narrow)


def _check_field(value: Any, name: str, kind: Any, finite: bool) -> None:
    options = get_args(kind) if NoneType in get_args(kind) else (kind,)
    if value is None and NoneType in options:
        return
    kind = next(option for option in options if option is not NoneType)
    if get_origin(kind) is np.ndarray:
        is_array = isinstance(value, np.ndarray) and value.dtype == np.float64 and value.ndim >= 1
        _expect(is_array and np.isfinite(value).all(), f"an array of finite numbers as {name}", value)
    elif kind is float and finite:
        checked_number(value, name)
    elif kind is float:
        _expect(isinstance(value, (float, int)) and not isinstance(value, bool), f"a number as {name}", value)
        float(value)
    elif kind is not Any:
        _expect(isinstance(value, get_origin(kind) or kind), f"a {kind.__name__} as {name}", value)


def _width(estimator: BinaryClassifier) -> int:
    """Return the number of features that models are fitted to, which an encoding makes of the columns."""
    count = checked_count(estimator.n_features_in_, "n_features_in_", _LARGEST)
    names = getattr(estimator, "feature_names_in_", None)
    if names is not None:
        is_list = isinstance(names, np.ndarray) and names.shape == (count,) and names.dtype == object
        distinct = is_list and all(isinstance(name, str) for name in names) and len({*names}) == count
        _expect(distinct, f"{count} texts as feature_names_in_", names)
    if estimator.encoding_ is None:
        return count
    _expect(isinstance(estimator.encoding_, Encoding), "an encoding as encoding_", estimator.encoding_)
    _expect(names is not None, "feature_names_in_ beside an encoding", None)
    unknown = {column.name for column in estimator.encoding_.columns}.difference(() if names is None else names)
    _expect(not unknown, "an encoding of columns in feature_names_in_", sorted(unknown))
    return len(estimator.encoding_.features)


def _check_scorer(estimator: Any, width: int) -> None:
    """Check that a model takes as many features as there are, and returns a score for each point."""
    family, scorer = family_of(estimator.model), estimator.scorer_
    _expect(isinstance(scorer, family.scorer), f"a model of {shown(estimator.model)} as scorer_", scorer)
    width += _checked_indicators(estimator, width)
    prior = checked_numbers(estimator.class_prior_, "class_prior_", 2)
    _expect((prior >= 0).all() and prior.sum() > 0, "two shares as class_prior_", prior.tolist())
    if isinstance(scorer, ForestScores):
        is_forest = type(scorer.forest) in FORESTS.values() and hasattr(scorer.forest, "estimators_")
        _expect(is_forest, "a forest", scorer.forest)
        _expect(scorer.forest.n_features_in_ == width, f"trees of {width} features", scorer.forest.n_features_in_)
    elif isinstance(scorer, BoostedScores):
        boosting = scorer.boosting
        is_boosting = type(boosting) is HistGradientBoostingClassifier and len(getattr(boosting, "classes_", ())) == 2
        _expect(is_boosting, "a boosting", boosting)
        _expect(boosting.n_features_in_ == width, f"trees of {width} features", boosting.n_features_in_)
    elif isinstance(scorer, NetworkScores):
        _check_networks(scorer, width)
    else:
        stored = sum(np.size(array) for part in scorer for array in (part if isinstance(part, tuple) else (part,)))
        _expect(width <= stored, f"a model of {width} features", f"{stored} numbers")
        points = sparse.csr_matrix((2, width)) if family.takes_sparse else np.zeros((2, width))
        with np.errstate(all="ignore"):
            found = scorer.scores(points)
        _expect(found.shape == (2,), "one score for each point", found)


def _check_networks(scorer: NetworkScores, width: int) -> None:
    _expect(isinstance(scorer.networks, nn.Module), "networks", scorer.networks)
    _expect(len(scorer.standard.mean) == width, f"means of {width} features", scorer.standard.mean)
    if isinstance(scorer.networks, PerceptronStack):
        _expect(scorer.networks.n_features == width, f"networks of {width} features", scorer.networks.n_features)


def _checked_indicators(estimator: Any, width: int) -> int:
    """Return how many features tell of missing values."""
    if estimator.medians_ is None and estimator.indicators_ is None:
        return 0
    checked_numbers(estimator.medians_, "medians_", width)
    places = estimator.indicators_
    is_list = isinstance(places, np.ndarray) and places.ndim == 1 and places.dtype.kind == "i"
    inside = is_list and ((places >= 0) & (places < width)).all() and (np.diff(places) > 0).all()
    _expect(inside, f"places among {width} features as indicators_", places)
    return len(places)


def _check_candidates(candidates: Any) -> None:
    if candidates is None:
        return
    fits = isinstance(candidates, (list, tuple)) and len(candidates) > 0
    for pair in candidates if fits else ():
        fits = fits and isinstance(pair, (list, tuple)) and len(pair) == 2
        fits = fits and isinstance(pair[0], str) and hasattr(pair[1], "fit")
    _expect(fits, "pairs of a name and an estimator as candidates", candidates)


def _check_members(estimator: _ClassifierCV, width: int) -> None:
    members = estimator.members_
    is_list = isinstance(members, list) and members and all(isinstance(member, Member) for member in members)
    _expect(is_list, "a list of members as members_", members)
    for name, fitted, of_all in [(member.name, fit, member.estimator) for member in members for fit in member.fits]:
        alike = type(fitted) is type(of_all) and getattr(fitted, "model", None) == getattr(of_all, "model", None)
        _expect(alike, f"fits of one kind as member {name!r}", fitted)
        if is_own(fitted) or isinstance(fitted, HistGradientBoostingClassifier):
            check_is_fitted(fitted)
            count = getattr(fitted, "n_features_in_", None)
            _expect(count == width, f"a member {name!r} of {width} features", count)
        scores = hasattr(fitted, "decision_function") or hasattr(fitted, "predict_proba")
        _expect(scores, f"a classifier as member {name!r}", fitted)


def _check_scores(estimator: _ClassifierCV) -> None:
    """Check what a fit tells of itself; an earlier version may have set less."""
    found = {name: value for name, value in vars(estimator).items() if value is not None}
    for name, kind in {"calibration_": Calibration, "noise_": Noise, "clean_score_": Estimate}.items():
        _expect(isinstance(found.get(name), (kind, NoneType)), f"a {kind.__name__} as {name}", found.get(name))
    if "share_labeled_positive_" in found:
        share = checked_number(found["share_labeled_positive_"], "share_labeled_positive_")
        _expect(0 < share < 1, "a share between 0 and 1 as share_labeled_positive_", share)
    if "corrupted_score_" in found:
        checked_number(found["corrupted_score_"], "corrupted_score_")
    for name in {"oof_scores_", "label_quality_"} & set(found):
        array = found[name]
        is_list = isinstance(array, np.ndarray) and array.ndim == 1 and array.dtype == np.float64
        _expect(is_list, f"a list of numbers as {name}", array)
    if "cv_results_" in found:
        _check_results(found["cv_results_"])


def _check_results(results: Any) -> None:
    needed = {"candidate", "mean_test_score", "std_test_score", "weight"}
    _expect(isinstance(results, dict) and needed <= set(results), "a table of candidates as cv_results_", results)
    count = len(results["candidate"])
    for name, column in results.items():
        is_column = isinstance(column, list) or (isinstance(column, np.ndarray) and column.dtype.kind in "fiu")
        fits = is_column and np.shape(column) == (count,) and isinstance(name, str)
        _expect(fits, f"{count} values in the column {shown(name)} of cv_results_", column)


def _expect(holds: Any, expected: str, found: Any) -> None:
    if not holds:
        raise ValueError(f"expected {expected}, found {shown(found)}")
