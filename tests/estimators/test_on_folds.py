"""Fits to folds that vary are averaged with the fit to all points."""

import numpy as np
import pytest
import torch
from sklearn.model_selection import TimeSeriesSplit
from sklearn.neighbors import KNeighborsClassifier

import symloss as sl
from symloss.estimators.candidates import fit_together, raw_scores
from symloss.estimators.folds import split

TREES = sl.AUCClassifier(model="trees", n_estimators=5, threshold=0.0)
LINEAR = sl.AUCClassifier(threshold=0.0)
POOL = [("trees", TREES), ("linear", LINEAR)]


@pytest.fixture(scope="module")
def noisy():
    generator = np.random.default_rng(0)
    X = generator.normal(size=(300, 4))
    return X, (X[:, 0] + X[:, 1] ** 2 > 1) ^ (generator.random(300) < 0.2)


@pytest.fixture(scope="module")
def fitted(noisy):
    return sl.AUCClassifierCV(POOL, temperature=100.0, random_state=0).fit(*noisy)


def fits_on_folds(fitted, name="trees"):
    return next(member.on_folds for member in fitted.members_ if member.name == name)


def test_scores_are_the_mean_of_all_fits(fitted, noisy):
    X, _ = noisy
    expected = -fitted.threshold_ * np.ones(len(X))
    for member in fitted.members_:
        fits = [member.estimator, *(member.on_folds or [])]
        assert len(fits) == (6 if member.name == "trees" else 1)
        raw = np.mean([raw_scores(fit, X) for fit in fits], 0)
        expected += member.weight * (raw - member.mean) / member.scale
    np.testing.assert_allclose(fitted.decision_function(X), expected, rtol=1e-9, atol=1e-12)


def test_the_fits_are_those_that_gave_the_out_of_fold_scores(fitted, noisy):
    X, positive = noisy
    weight, seed = np.ones(len(X)), fitted._seed()
    trees = fitted._pool(sl.estimators.base.TrainingData(X, positive, weight), seed)[0][1]
    for (train, _), kept in zip(split(5, X, positive, weight, seed), fits_on_folds(fitted), strict=True):
        (alone,) = fit_together([trees], X[train], positive[train], weight[train])
        np.testing.assert_array_equal(raw_scores(kept, X), raw_scores(alone, X))


def test_models_of_others_are_averaged_too(noisy):
    pool = [("neighbors", KNeighborsClassifier(20))]
    assert len(fits_on_folds(sl.AUCClassifierCV(pool, random_state=0).fit(*noisy), "neighbors")) == 5


@pytest.mark.parametrize("settings", [{"temperature": 0.0}, {"cv": 3}, {"cv": 12}, {"cv": TimeSeriesSplit(4)}], ids=str)
def test_no_fit_is_kept_where_one_model_is_asked_for_or_folds_have_few_points_or_are_many(noisy, settings):
    fitted = sl.AUCClassifierCV([POOL[0]], random_state=0, **settings).fit(*noisy)
    assert fits_on_folds(fitted) is None


def test_no_fit_is_kept_of_many_points():
    generator = np.random.default_rng(0)
    X = generator.normal(size=(6001, 2))
    fitted = sl.AUCClassifierCV([POOL[0]], random_state=0).fit(X, X[:, 0] > generator.normal(size=6001))
    assert fits_on_folds(fitted) is None


def test_processes_return_the_same_fits(fitted, noisy):
    X, _ = noisy
    parallel = sl.AUCClassifierCV(POOL, temperature=100.0, random_state=0, n_jobs=2).fit(*noisy)
    np.testing.assert_array_equal(parallel.decision_function(X), fitted.decision_function(X))


def test_a_saved_model_has_all_fits(fitted, noisy, tmp_path):
    X, _ = noisy
    sl.estimators.save(fitted, tmp_path / "model")
    again = sl.estimators.load(tmp_path / "model")
    assert len(fits_on_folds(again)) == 5
    np.testing.assert_array_equal(again.decision_function(X), fitted.decision_function(X))


def test_a_module_has_all_fits(noisy):
    X, _ = noisy
    network = sl.AUCClassifier("sigmoid", "mlp", hidden_units=5, n_seeds=1, epochs=3, threshold=0.0)
    fitted = sl.AUCClassifierCV([("mlp", network), POOL[1]], temperature=100.0, random_state=0).fit(*noisy)
    assert len(fits_on_folds(fitted, "mlp")) == 5
    found = fitted.to_module()(torch.from_numpy(X).float())
    np.testing.assert_allclose(found.detach().numpy(), fitted.decision_function(X), rtol=1e-4, atol=1e-5)


def test_scores_of_any_size_do_not_overflow(noisy):
    class Huge(KNeighborsClassifier):
        def decision_function(self, X):
            return 1.5e308 * (2 * self.predict_proba(X)[:, 1] - 1)

    X, _ = noisy
    fitted = sl.AUCClassifierCV([("huge", Huge(20))], random_state=0).fit(*noisy)
    assert len(fits_on_folds(fitted, "huge")) == 5
    assert np.isfinite(fitted.decision_function(X)).all()


def test_an_average_of_fits_varies_less(noisy):
    generator = np.random.default_rng(1)
    X = generator.normal(size=(3000, 4))
    clean = X[:, 0] + X[:, 1] ** 2 > 1
    tree = sl.AUCClassifier(model="trees", n_estimators=2, min_samples_leaf=5, threshold=0.0)
    fitted = sl.AUCClassifierCV([("trees", tree)], random_state=0).fit(*noisy)
    alone = sl.metrics.auc(fitted.best_estimator_.decision_function(X), clean)
    assert sl.metrics.auc(fitted.decision_function(X), clean) > alone + 0.02
