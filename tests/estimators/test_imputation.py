"""Missing values: medians and indicators, by hand and inside every fit, fold, file and module."""

import numpy as np
import pytest
import torch
from scipy import sparse
from sklearn.model_selection import cross_val_score
from sklearn.utils import get_tags
from torch import nn

from symloss.estimators import (
    AUCClassifier,
    AUCClassifierCV,
    BERClassifier,
    BERClassifierCV,
    classifiers,
    default_candidates,
    load,
    save,
)
from symloss.estimators.imputation import Imputation, has_missing

BOTH = [BERClassifier, AUCClassifier]
FAST = {"epochs": 2, "n_seeds": 2, "n_landmarks": 10, "hidden_units": 4, "threshold": 0.0, "random_state": 0}


def network(n_features):
    return nn.Sequential(nn.Linear(n_features, 3), nn.Tanh(), nn.Linear(3, 1))


MODELS = ["linear", "kernel", "mlp", network]


@pytest.fixture(scope="module")
def data():
    """Features 1 and 2 have missing values, and feature 4 has no others."""
    rng = np.random.default_rng(0)
    X = rng.normal([0, 3, -2, 0, 0], size=(80, 5))
    y = X[:, 0] + X[:, 1] + rng.normal(size=80) > 3
    X[rng.random(80) < 0.3, 1] = np.nan
    X[:7, 2] = np.nan
    X[:, 4] = np.nan
    return X, y


@pytest.fixture(scope="module")
def new():
    """New points; feature 3 has missing values only here."""
    X = np.random.default_rng(1).normal(size=(20, 5))
    X[::3, 1] = X[::4, 3] = X[::2, 4] = np.nan
    return X


def by_hand(X, training):
    medians = np.append(np.nanmedian(training[:, :4], 0), 0.0)
    return np.hstack([np.where(np.isnan(X), medians, X), np.isnan(X)[:, [1, 2]]])


@pytest.fixture(scope="module")
def completed(data, new):
    """The same points with their missing values replaced by hand; feature 4, all of which is missing, is 0."""
    training, points = by_hand(data[0], data[0]), by_hand(new, data[0])
    points[:, 4] = np.where(np.isnan(new[:, 4]), 0.0, new[:, 4])
    return training, points


@pytest.fixture
def in_given_order(monkeypatch):
    """Fit to the points as they are: merged points are in an order that depends on their values."""
    monkeypatch.setattr(
        classifiers, "merge_with_folds", lambda data, folds: ((*data, np.arange(len(data.weight))), folds)
    )


@pytest.mark.usefixtures("in_given_order")
@pytest.mark.parametrize("kind", BOTH)
@pytest.mark.parametrize("model", MODELS)
def test_the_scores_are_those_of_features_completed_by_hand(data, new, completed, kind, model):
    X, y = data
    found = kind(model=model, **FAST).fit(X, y)
    expected = kind(model=model, **FAST).fit(completed[0], y)
    np.testing.assert_allclose(found.decision_function(X), expected.decision_function(completed[0]), rtol=1e-9)
    np.testing.assert_allclose(found.decision_function(new), expected.decision_function(completed[1]), rtol=1e-9)
    assert found.indicators_.tolist() == [1, 2]
    assert found.n_features_in_ == 5


@pytest.mark.usefixtures("in_given_order")
def test_a_module_with_fixed_inputs_gets_medians_alone(data, completed):
    X, y = data
    module = network(5)
    found = BERClassifier(model=module, **FAST).fit(X, y)
    expected = BERClassifier(model=module, **FAST).fit(completed[0][:, :5], y)
    np.testing.assert_allclose(found.decision_function(X), expected.decision_function(completed[0][:, :5]), rtol=1e-9)
    assert len(found.indicators_) == 0


@pytest.mark.usefixtures("in_given_order")
def test_probabilities(data, new, completed):
    found = BERClassifier("logistic").fit(*data).predict_proba(new)
    expected = BERClassifier("logistic").fit(completed[0], data[1]).predict_proba(completed[1])
    np.testing.assert_allclose(found, expected, rtol=1e-9)


@pytest.mark.parametrize("seed", range(20))
@pytest.mark.parametrize("unit", [1.0, 0.1, 1e-9])
def test_a_weight_counts_as_repetitions_in_medians(seed, unit):
    rng = np.random.default_rng(seed)
    n = int(rng.integers(1, 9))
    X = rng.normal(size=(n, 3))
    X[rng.random((n, 3)) < 0.3] = np.nan
    times = rng.integers(1, 4, n)
    found, expected = Imputation.fit(X, unit * times), Imputation.fit(np.repeat(X, times, 0), np.ones(times.sum()))
    np.testing.assert_array_equal(found.medians, expected.medians)
    np.testing.assert_array_equal(found.indicators, expected.indicators)
    some = ~np.isnan(X).all(0)
    np.testing.assert_allclose(expected.medians[some], np.nanmedian(np.repeat(X, times, 0)[:, some], 0), rtol=1e-15)
    assert (expected.medians[~some] == 0).all()


@pytest.mark.parametrize("order", ["random", "sorted", "ties", "heavy"])
def test_weighted_medians_of_many_values(order):
    """Of these, only values near the middle are sorted."""
    rng = np.random.default_rng(0)
    values, times = rng.normal(size=150_001), rng.integers(1, 4, 150_001)
    if order == "sorted":
        values.sort()
    elif order == "ties":
        values = values.round()
    elif order == "heavy":  # more than half of the weight is on one value, which a sample would not have
        times[np.argmax(values)] = 10**6
    found = Imputation.fit(values[:, None], times.astype(float)).medians[0]
    expected = values.max() if order == "heavy" else np.median(np.repeat(values, times))
    assert found == expected


def test_medians_of_large_numbers_do_not_overflow():
    assert Imputation.fit(np.array([[1e308], [1.5e308]]), np.ones(2)).medians == 1.25e308
    assert Imputation.fit(np.array([[1e308], [1.5e308]]), np.array([1.0, 3.0])).medians == 1.5e308


@pytest.mark.parametrize("kind", BOTH)
@pytest.mark.parametrize("loss", ["unhinged", "logistic"])
def test_weights_count_as_repetitions_with_missing_values(data, new, kind, loss):
    X, y = data
    X = X.copy()
    times = np.random.default_rng(2).integers(0, 5, len(y))
    X[np.argmin(times), 0] = np.nan  # of weight 0, so that feature 0 gets no indicator
    weighted = kind(loss, threshold=0.0).fit(X, y, sample_weight=times)
    repeated = kind(loss, threshold=0.0).fit(np.repeat(X, times, 0), np.repeat(y, times))
    assert weighted.indicators_.tolist() == [1, 2]
    assert (weighted.medians_[1:3] != kind(threshold=0.0).fit(X, y).medians_[1:3]).all()
    np.testing.assert_array_equal(weighted.medians_, repeated.medians_)
    np.testing.assert_allclose(weighted.decision_function(new), repeated.decision_function(new), rtol=1e-5, atol=1e-7)


def test_a_fold_computes_its_own_medians(data, monkeypatch):
    X, y = data
    seen = []
    fit = Imputation.fit.__func__

    def told(cls, X, weight, with_indicators=True):
        seen.append(len(X))
        return fit(cls, X, weight, with_indicators)

    monkeypatch.setattr(Imputation, "fit", classmethod(told))
    BERClassifier(cv=2, random_state=0).fit(X, y)
    assert seen == [80, 40, 40]
    seen.clear()
    BERClassifier(cv=2, random_state=0).fit(X[:, [0, 3]], y)  # nothing is missing
    assert seen == [80]


def test_the_threshold_of_folds_completed_by_hand(data):
    X, y = data
    rows = np.random.default_rng(3).permutation(80)
    train, test = rows[:50], rows[50:]
    found = BERClassifier(cv=[(train, test)]).fit(X, y).threshold_
    part = BERClassifier(threshold=0.0).fit(by_hand(X[train], X[train]), y[train])
    scores = part.decision_function(by_hand(X[test], X[train]))
    assert scores.min() < found < scores.max()
    assert np.abs(scores[:, None] / 2 + scores[None] / 2 - found).min() < 1e-12  # it lies between two of these scores


@pytest.mark.parametrize("model", MODELS)
def test_values_that_are_missing_only_in_new_points(data, new, model, tmp_path):
    """One missing value is in the training points of some folds, and in the test points of another."""
    X, y = data[0][:, [0, 3]], data[1]
    fitted = AUCClassifier(model=model, **FAST).fit(X, y)
    medians = np.median(X, 0)
    points = new[:, [0, 3]]
    expected = fitted.decision_function(np.where(np.isnan(points), medians, points))
    found = fitted.decision_function(points)
    np.testing.assert_allclose(found, expected, rtol=1e-9)
    save(fitted, tmp_path / "model")
    again = load(tmp_path / "model", None if isinstance(model, str) else model)
    np.testing.assert_allclose(again.decision_function(points), found, rtol=1e-9)
    one = X.copy()
    one[0, 1] = np.nan
    assert np.isfinite(cross_val_score(AUCClassifier(model=model, **FAST), one, y, cv=3, error_score="raise")).all()


@pytest.mark.parametrize("kind", BOTH)
@pytest.mark.parametrize("model", [*MODELS, network(5)])
def test_saving_and_loading(data, new, kind, model, tmp_path):
    fitted = kind(model=model, **FAST).fit(*data)
    save(fitted, tmp_path / "model")
    again = load(tmp_path / "model", None if isinstance(model, str) else model)
    np.testing.assert_array_equal(again.decision_function(new), fitted.decision_function(new))
    np.testing.assert_array_equal(again.medians_, fitted.medians_)
    np.testing.assert_array_equal(again.indicators_, fitted.indicators_)


@pytest.mark.parametrize("model", [*MODELS, network(5)])
def test_modules_replace_missing_values(data, new, model):
    fitted = BERClassifier(model=model, **(FAST | {"threshold": 0.25})).fit(*data)
    with torch.no_grad():
        found = fitted.to_module()(torch.from_numpy(new))
    np.testing.assert_allclose(found, fitted.decision_function(new), rtol=1e-5, atol=1e-5)


def test_an_exported_module_replaces_missing_values(data, new):
    fitted = AUCClassifier(threshold=0.0).fit(*data)
    points = torch.from_numpy(new)
    batch = torch.export.Dim("batch", min=1)
    program = torch.export.export(fitted.to_module(), (points,), dynamic_shapes=({0: batch},))
    np.testing.assert_allclose(program.module()(points[:5]).detach(), fitted.decision_function(new[:5]), rtol=1e-5)


def test_sparse_matrices_have_no_missing_values(data, new):
    X, y = np.nan_to_num(data[0]), data[1]
    with_nan = sparse.csr_matrix(data[0])
    for estimator in (BERClassifier(), BERClassifier(model="trees"), AUCClassifierCV(cv=2)):
        with pytest.raises(ValueError, match="X is sparse and contains NaN: a dense array may have missing values"):
            estimator.fit(with_nan, y)
    of_sparse = BERClassifier(threshold=0.0).fit(sparse.csr_matrix(X), y)
    with pytest.raises(ValueError, match="contains NaN"):
        of_sparse.predict(with_nan)
    with pytest.raises(ValueError, match="the model was fitted to a sparse matrix"):
        of_sparse.predict(data[0])
    of_array = BERClassifier(threshold=0.0).fit(*data)
    found = of_array.decision_function(sparse.csr_matrix(X))
    np.testing.assert_allclose(found, of_array.decision_function(X), rtol=1e-12)


@pytest.mark.parametrize("model", ["linear", "kernel", "mlp"])
def test_a_warm_start_keeps_medians_and_indicators(data, new, model):
    X, y = data
    fitted = AUCClassifier(model=model, warm_start=True, **FAST).fit(X, y)
    medians = fitted.medians_
    fitted.fit(X + 1, y)
    np.testing.assert_array_equal(fitted.medians_, medians)
    assert fitted.indicators_.tolist() == [1, 2]
    assert np.isfinite(fitted.decision_function(new)).all()
    complete = np.nan_to_num(X)
    fitted = AUCClassifier(model=model, warm_start=True, **FAST).fit(complete, y)
    assert np.isfinite(fitted.fit(X, y).decision_function(new)).all()
    assert len(fitted.indicators_) == 0


def test_a_warm_start_from_a_sparse_matrix(data):
    X, y = data
    fitted = BERClassifier(warm_start=True, threshold=0.0).fit(sparse.csr_matrix(np.nan_to_num(X)), y)
    assert np.isfinite(fitted.fit(X, y).decision_function(X)).all()
    assert len(fitted.indicators_) == 0


def test_a_refit_forgets_medians(data):
    X, y = data
    classifier = BERClassifier(n_estimators=3, threshold=0.0).fit(X, y)
    assert classifier.set_params(model="trees").fit(X, y).medians_ is None
    assert np.isfinite(classifier.decision_function(X)).all()


@pytest.mark.parametrize(("kind", "kind_cv"), [(BERClassifier, BERClassifierCV), (AUCClassifier, AUCClassifierCV)])
def test_the_whole_pool_is_tried(data, new, kind, kind_cv, tmp_path):
    X, y = data
    names = [name for name, _ in default_candidates(kind, X)]
    assert names == [name for name, _ in default_candidates(kind, np.nan_to_num(X))]
    pool = [(model, kind(model=model, **FAST)) for model in ("linear", "kernel")]
    chosen = kind_cv(pool, cv=2, temperature=10, random_state=0).fit(X, y, sample_weight=np.arange(80) % 3)
    assert len(chosen.members_) == 2
    assert get_tags(chosen).input_tags.allow_nan
    save(chosen, tmp_path / "model")
    np.testing.assert_array_equal(load(tmp_path / "model").decision_function(new), chosen.decision_function(new))


def test_infinite_values_are_refused(data):
    X = data[0].copy()
    X[3, 0] = np.inf
    with pytest.raises(ValueError, match="infinity"):
        BERClassifier().fit(X, data[1])


def test_features_without_missing_values_are_not_copied():
    X = np.zeros((3, 2))
    assert Imputation.fit(X, np.ones(3)).transform(X) is X
    assert not has_missing(sparse.csr_matrix(X))


@pytest.mark.parametrize("loss", ["unhinged", "logistic"])
def test_the_order_of_the_features_does_not_matter(data, new, loss):
    X, y = data
    order = [4, 2, 0, 1, 3]
    expected = AUCClassifier(loss, threshold=0.0).fit(X, y)
    found = AUCClassifier(loss, threshold=0.0).fit(X[:, order], y)
    assert found.indicators_.tolist() == [1, 3]
    np.testing.assert_allclose(
        found.decision_function(new[:, order]), expected.decision_function(new), rtol=1e-5, atol=1e-7
    )
