"""The CV forms: what is chosen on noisy folds, what is averaged, and what clean score is expected."""

import pickle
import threading

import numpy as np
import pytest
import torch
from scipy import sparse
from sklearn.base import BaseEstimator, ClassifierMixin, clone
from sklearn.dummy import DummyClassifier
from sklearn.ensemble import RandomForestClassifier
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import LinearRegression, LogisticRegression
from sklearn.model_selection import KFold, ShuffleSplit, cross_val_score
from sklearn.naive_bayes import GaussianNB
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.class_weight import compute_sample_weight

import symloss as sl
from symloss.estimators import (
    AUCClassifier,
    AUCClassifierCV,
    BERClassifier,
    BERClassifierCV,
    default_candidates,
    load,
    save,
)
from symloss.estimators.pool import FOR_MANY_POINTS
from symloss.estimators.weighting import weights_by_least_squares

BOTH = [BERClassifierCV, AUCClassifierCV]
POOL = [
    ("linear", BERClassifier(threshold=0.0)),
    ("nothing", DummyClassifier(strategy="uniform", random_state=0)),
    ("bayes", GaussianNB()),
    ("overfitted trees", AUCClassifier(model="trees", n_estimators=5, min_samples_leaf=1, random_state=0)),
]


@pytest.fixture(scope="module")
def noisy():
    drawn = sl.datasets.make_twonorm(6000, random_state=0)
    return sl.contaminated_split(
        drawn.data.astype(float), drawn.target, pi=0.75, pi_prime=0.35, n_positive=400, n_negative=400, n_test=2000,
        random_state=1,
    )  # fmt: skip


@pytest.mark.parametrize("kind", BOTH)
def test_good_candidates_are_found_on_noisy_folds(noisy, kind):
    X, y, X_test, y_test = noisy
    chosen = kind(POOL, random_state=0).fit(X, y)
    assert {"linear"} <= {member.name for member in chosen.members_} <= {"linear", "bayes"}
    results = chosen.cv_results_
    assert results["candidate"] == [name for name, _ in POOL]
    np.testing.assert_allclose(
        np.mean([results[f"split{k}_test_score"] for k in range(5)], 0), results["mean_test_score"]
    )
    assert results["mean_test_score"][results["rank_test_score"] == 1] == results["mean_test_score"].max()
    scores = chosen.decision_function(X_test)
    assert sl.metrics.auc(scores, y_test) > 0.98
    assert sl.metrics.balanced_accuracy(scores, y_test) > 0.93


@pytest.mark.parametrize("kind", BOTH)
def test_the_average_is_that_of_standardized_scores(noisy, kind):
    X, y = noisy[:2]
    chosen = kind(POOL[:1], random_state=0).fit(X, y)
    alone = BERClassifier(threshold=0.0).fit(X, y).decision_function(X)
    found = chosen.decision_function(X)
    np.testing.assert_allclose(np.corrcoef(alone, found)[0, 1], 1)
    assert 0.8 < found.std() < 1.25


@pytest.mark.parametrize(("kind", "metric"), [(BERClassifierCV, "balanced_accuracy"), (AUCClassifierCV, "auc")])
def test_the_clean_score_is_estimated_from_noisy_labels(noisy, kind, metric):
    X, y, X_test, y_test = noisy
    chosen = kind(POOL[:1], pi=0.75, pi_prime=0.35, random_state=0).fit(X, y)
    clean = getattr(sl.metrics, metric)(chosen.decision_function(X_test), y_test)
    assert chosen.clean_score_.low <= clean <= chosen.clean_score_.high
    convert = sl.metrics.clean_auc if metric == "auc" else sl.metrics.clean_balanced_accuracy
    assert chosen.clean_score_.value == pytest.approx(min(1.0, convert(chosen.corrupted_score_, 0.75, 0.35)))
    assert not hasattr(kind(POOL[:1]).fit(X, y), "clean_score_")


@pytest.mark.parametrize("kind", BOTH)
def test_the_default_pool(kind):
    drawn = sl.datasets.make_twonorm(1500, random_state=0)
    X, y, X_test, y_test = sl.contaminated_split(
        drawn.data, drawn.target, pi=0.8, pi_prime=0.3, n_positive=150, n_negative=150, n_test=600, random_state=0
    )
    chosen = kind(random_state=0, cv=2).fit(X, y)
    names, weights = zip(*[(member.name, member.weight) for member in chosen.members_], strict=True)
    assert 1 < len(names) < len(chosen.cv_results_["candidate"])
    assert list(weights) == sorted(weights, reverse=True)
    assert sum(weights) == pytest.approx(1)
    assert sl.metrics.auc(chosen.decision_function(X_test), y_test) > 0.97
    copy = pickle.loads(pickle.dumps(chosen))
    np.testing.assert_array_equal(copy.decision_function(X_test), chosen.decision_function(X_test))
    again = kind(random_state=0, cv=2).fit(X, y)
    np.testing.assert_array_equal(again.decision_function(X_test), chosen.decision_function(X_test))


def test_the_default_pool_holds_what_the_data_allows():
    def families(X):
        return sorted({name.split(",")[0] for name, _ in default_candidates(BERClassifier, X)})

    X = np.zeros((300, 2))
    every = ["Gaussian process", "boosting", "cells", "linear", "random forest", "relevance process", "trees"]
    assert families(X) == families(np.where(np.arange(300)[:, None] == 0, np.nan, X)) == every
    assert families(sparse.csr_matrix(X)) == ["linear", "random forest", "trees"]


def test_the_default_pool_of_many_points_has_larger_boosting_and_nothing_pruned():
    def names(n):
        return {name for name, _ in default_candidates(AUCClassifier, np.zeros((n, 1)))}

    others = {"boosting, 100 stumps", "boosting, 60 trees", "random forest, leaves of 20", "relevance process"}
    assert names(6000) - names(6001) == {name for name in names(6000) if "pruned" in name} | others > others
    assert names(6001) - names(6000) == {"boosting, 100 trees", "kernel", "trees, leaves of 1", "trees, leaves of 100"}
    assert names(50_001) - names(6001) == {"boosting, 300 trees"}
    assert names(50_001) >= set(FOR_MANY_POINTS)


def test_weights_fall_with_the_standard_errors_behind_the_best(noisy):
    X, y = noisy[:2]
    chosen = AUCClassifierCV(POOL, random_state=0).fit(X, y)
    weights = dict(zip(chosen.cv_results_["candidate"], chosen.cv_results_["weight"], strict=True))
    assert weights["nothing"] == weights["overfitted trees"] == 0
    alike = AUCClassifierCV([("a", POOL[0][1]), ("b", POOL[0][1])], random_state=0).fit(X, y)
    np.testing.assert_allclose(alike.cv_results_["weight"], 0.5)
    alone = AUCClassifierCV(POOL, temperature=0, random_state=0).fit(X, y)
    assert sorted(alone.cv_results_["weight"]) == [0, 0, 0, 1]
    assert [member.name for member in alone.members_] == [chosen.members_[0].name]
    soft = AUCClassifierCV(POOL, temperature=1e6, random_state=0).fit(X, y)
    np.testing.assert_allclose(soft.cv_results_["weight"], 0.25, rtol=1e-6)


def test_weights_by_least_squares_are_those_of_the_nearest_average():
    generator = np.random.default_rng(0)
    positive, weight = generator.random(2000) < 0.2, generator.integers(1, 4, 2000).astype(float)
    scores = positive + np.array([[1.0], [1.5], [4.0], [1.0]]) * generator.normal(size=(4, 2000))
    scores[3] *= -1  # worse than chance
    scores = np.concatenate([scores, np.ones((1, 2000))])
    weights = weights_by_least_squares(scores, positive, weight)
    assert weights[3] == weights[4] == 0
    repeated = np.repeat(scores[:3], weight.astype(int), 1), np.repeat(positive, weight.astype(int))
    standardized = (repeated[0].T - repeated[0].mean(1)) / repeated[0].std(1)
    expected = LinearRegression(fit_intercept=False).fit(
        standardized, 2.0 * repeated[1] - 1, compute_sample_weight("balanced", repeated[1])
    )
    np.testing.assert_allclose(weights[:3], expected.coef_ / expected.coef_.sum(), rtol=1e-8)
    assert not weights_by_least_squares(-scores[:3], positive, weight).any()


@pytest.mark.parametrize("kind", BOTH)
def test_out_of_fold_scores_are_those_of_points_not_trained_on(noisy, kind):
    X, y = noisy[:2]
    folds = [(np.arange(100, 800), np.arange(100)), (np.arange(700), np.arange(700, 800))]
    chosen = kind(POOL[:1], cv=folds).fit(X, y)
    held_out = np.r_[:100, 700:800]
    np.testing.assert_array_equal(np.flatnonzero(~np.isnan(chosen.oof_scores_)), held_out)
    metric = sl.metrics.auc if kind is AUCClassifierCV else sl.metrics.balanced_accuracy
    assert chosen.corrupted_score_ == pytest.approx(metric(chosen.oof_scores_[held_out], y[held_out]))
    (member,) = chosen.members_
    alone = BERClassifier(threshold=0.0).fit(X[100:], y[100:]).decision_function(X[:100])
    np.testing.assert_allclose(chosen.oof_scores_[:100], (alone - member.mean) / member.scale - chosen.threshold_)


@pytest.mark.slow
def test_processes_and_progress_change_nothing(noisy, capsys):
    X, y = noisy[:2]
    expected = AUCClassifierCV(POOL, random_state=0).fit(X, y).decision_function(X)
    found = AUCClassifierCV(POOL, random_state=0, n_jobs=2, verbose=True).fit(X, y).decision_function(X)
    np.testing.assert_array_equal(found, expected)
    assert "Scoring candidates on folds: 20 of 20\n" in capsys.readouterr().err


class Noting:
    """A callback that notes what it is told."""

    def __init__(self):
        self.told = []

    def __call__(self, *what):
        self.told.append(what)


@pytest.mark.parametrize("kind", BOTH)
def test_a_callback_is_told_of_every_fit(noisy, kind, capsys):
    X, y = noisy[:2]
    expected = kind(POOL[:2], cv=3, random_state=0).fit(X, y)
    callback = Noting()
    chosen = kind(POOL[:2], cv=3, random_state=0, callback=callback).fit(X, y)
    scoring = "Scoring candidates on folds"
    assert callback.told == [
        *((scoring, done, 6, "linear" if done % 2 else "nothing") for done in range(1, 7)),
        ("Fitting the best", 1, 1, "linear"),
    ]
    assert not capsys.readouterr().err
    np.testing.assert_array_equal(chosen.decision_function(X), expected.decision_function(X))
    callback.told.clear()
    kind(POOL[:2], cv=3, random_state=0, callback=callback, n_jobs=2, verbose=True).fit(X, y)
    assert [(stage, done, total) for stage, done, total, _ in callback.told[:-1]] == [
        (scoring, done, 6) for done in range(1, 7)
    ]
    assert sorted(name for *_, name in callback.told[:-1]) == ["linear"] * 3 + ["nothing"] * 3
    assert "Scoring candidates on folds: 6 of 6\n" in capsys.readouterr().err


@pytest.mark.parametrize("kind", BOTH)
def test_a_callback_is_a_parameter_like_others(noisy, kind, tmp_path):
    X, y = noisy[:2]
    chosen = kind(POOL[:1], cv=2, callback=print)
    assert kind().callback is None
    assert clone(chosen).callback is print
    assert chosen.get_params()["callback"] is print
    copy = pickle.loads(pickle.dumps(chosen.set_params(callback=Noting()).fit(X, y)))
    assert len(copy.callback.told) == 3
    chosen.set_params(callback=lambda *what: None)
    save(chosen, tmp_path / "model")  # without it
    assert load(tmp_path / "model").callback is None
    with pytest.raises(ValueError, match="callback must be a function or None, got 'print'"):
        kind(POOL[:1], callback="print").fit(X, y)


def test_missing_values_with_the_default_pool(noisy):
    X, y = noisy[0].copy(), noisy[1]
    X[::5, 0] = np.nan
    chosen = AUCClassifierCV(cv=2, random_state=0).fit(X, y)
    assert np.isfinite(chosen.decision_function(X)).all()


def test_a_loss_is_not_needed_for_labels_of_two_sets(noisy):
    """PU learning: 1 is labeled, 0 unlabeled."""
    drawn = sl.datasets.make_twonorm(3000, random_state=0)
    X, y = sl.corruption.positive_unlabeled(
        drawn.data, drawn.target, prior=0.4, n_labeled=100, n_unlabeled=600, random_state=0
    )
    chosen = AUCClassifierCV(POOL, temperature=0, random_state=0).fit(X, (y > 0).astype(int))
    assert sl.metrics.auc(chosen.decision_function(drawn.data), drawn.target) > 0.97


class Ranker(ClassifierMixin, BaseEstimator):
    """The first feature, times a sign."""

    def __init__(self, sign=1.0):
        self.sign = sign

    def fit(self, X, y):
        self.classes_ = np.unique(y)
        return self

    def decision_function(self, X):
        return self.sign * X[:, 0]


def test_a_candidate_that_is_certainly_worse_has_no_weight():
    y = np.arange(60) % 2
    X = np.column_stack([y + np.arange(60) / 1000, np.zeros(60)])
    pool = [("reversed", Ranker(-1.0)), ("constant", Ranker(0.0)), ("perfect", Ranker())]
    chosen = AUCClassifierCV(pool, random_state=0).fit(X, y)
    assert chosen.cv_results_["weight"].tolist() == [0, 0, 1]
    assert chosen.score(X, y) == 1


def test_many_candidates_that_are_alike_share_the_weight(noisy):
    X, y = noisy[:2]
    chosen = AUCClassifierCV([(str(k), Ranker()) for k in range(50)], random_state=0).fit(X, y)
    np.testing.assert_allclose(chosen.cv_results_["weight"], 0.02)


@pytest.mark.parametrize("kind", BOTH)
def test_points_that_happen_to_be_equal_count_in_the_interval_of_the_clean_score(kind):
    rng = np.random.default_rng(0)
    y = np.arange(400) % 2
    X = np.column_stack([rng.integers(0, 3, 400) + y, rng.integers(0, 2, 400)])  # few values: most rows repeat others
    chosen = kind(POOL[:1], pi=0.95, pi_prime=0.1, random_state=0).fit(X, y)
    found, estimate = chosen.clean_score_, sl.metrics.estimate_clean_auc
    if kind is BERClassifierCV:
        estimate = sl.metrics.estimate_clean_balanced_accuracy
    expected = estimate(chosen.oof_scores_, y, 0.95, 0.1)
    np.testing.assert_allclose([found.low, found.high], [expected.low, expected.high], rtol=1e-9)


@pytest.mark.parametrize("kind", BOTH)
def test_weights_count_in_the_estimated_clean_score(noisy, kind):
    X, y = noisy[:2]
    weight = np.random.default_rng(0).integers(1, 4, len(y))
    halves = [np.arange(0, 800, 2), np.arange(1, 800, 2)]
    folds = [(halves[1], halves[0]), (halves[0], halves[1])]
    place = np.repeat(np.arange(800), weight)
    repeated = [tuple(np.flatnonzero(np.isin(place, part)) for part in fold) for fold in folds]
    settings = {"candidates": POOL[:1], "pi": 0.75, "pi_prime": 0.35}
    expected = kind(**settings, cv=repeated).fit(X[place], y[place]).clean_score_
    fitted = kind(**settings, cv=folds).fit(X, y, weight)
    found = fitted.clean_score_
    np.testing.assert_allclose(
        [found.value, found.low, found.high], [expected.value, expected.low, expected.high], rtol=1e-6
    )
    assert not hasattr(fitted.set_params(pi=None, pi_prime=None).fit(X, y), "clean_score_")


def test_candidates_without_a_seed_take_the_estimators(noisy):
    X, y = noisy[:2]
    pool = [("forest", make_pipeline(StandardScaler(), RandomForestClassifier(5)))]
    first, again = (AUCClassifierCV(pool, cv=3, random_state=0).fit(X, y).decision_function(X) for _ in range(2))
    np.testing.assert_array_equal(first, again)
    assert pool[0][1].get_params()["randomforestclassifier__random_state"] is None


@pytest.mark.parametrize("kind", [BERClassifier, BERClassifierCV])
def test_a_fit_that_fails_leaves_nothing_half_fitted(noisy, kind):
    X, y = noisy[:2]
    fitted = kind(random_state=0) if kind is BERClassifier else kind(POOL[:1])
    fitted.fit(X, y)
    bad = BERClassifier(lambda z: torch.sqrt(1 - z))
    fitted.set_params(**({"loss": bad.loss} if kind is BERClassifier else {"candidates": [("bad", bad)]}))
    with pytest.raises(ValueError, match="cannot be minimized"):
        fitted.fit(X, np.where(y > 0, "a", "b"))
    with pytest.raises(NotFittedError):
        fitted.predict(X)


def test_one_point_of_a_class_cannot_be_held_out(noisy):
    with pytest.raises(ValueError, match="needs two points of each class, to hold one out, got 1"):
        AUCClassifierCV(POOL).fit(noisy[0], np.arange(800) == 0)


def test_rates_that_the_score_contradicts_are_doubted(noisy):
    X, y = noisy[:2]
    with pytest.warns(UserWarning, match=r"cannot be: 0.510 is the largest possible"):
        AUCClassifierCV(POOL[:1], pi=0.51, pi_prime=0.49).fit(X, y)


def test_wrong_parameters_are_named(noisy):
    X, y = noisy[:2]
    with pytest.raises(ValueError, match="pi"):
        AUCClassifierCV([], pi=0.2, pi_prime=0.8).fit(X, y)
    with pytest.raises(ValueError, match="held out in one fold only"):
        AUCClassifierCV(POOL, cv=ShuffleSplit(3, random_state=0)).fit(X, y)
    with pytest.raises(ValueError, match="hold out points of both classes to be scored, got one class in fold 0"):
        AUCClassifierCV(POOL, cv=KFold(4)).fit(X[np.argsort(y)], np.sort(y))
    with pytest.raises(ValueError, match="both pi and pi_prime or neither"):
        AUCClassifierCV(pi=0.8).fit(X, y)
    with pytest.raises(ValueError, match="at least one"):
        AUCClassifierCV([]).fit(X, y)
    with pytest.raises(ValueError, match="different names, got a, a"):
        AUCClassifierCV([("a", GaussianNB()), ("a", GaussianNB())]).fit(X, y)
    with pytest.raises(ValueError, match="temperature must be a number of at least 0"):
        AUCClassifierCV(temperature=-1.0).fit(X, y)
    with pytest.raises(ValueError, match="Only binary classification"):
        AUCClassifierCV([("logistic", LogisticRegression())]).fit(X, np.arange(len(X)) % 3)


class Bar:
    """A progress bar: it counts, and holds what cannot be copied."""

    def __init__(self):
        self.count, self.lock = 0, threading.RLock()

    def update(self, stage, done, total, name):
        with self.lock:
            self.count += 1


def test_a_clone_calls_the_same_callback(noisy):
    X, y, *_ = noisy
    bar = Bar()
    chosen = AUCClassifierCV(POOL[:1], cv=2, callback=bar.update)
    cross_val_score(chosen, X[:200], y[:200], cv=2)
    assert bar.count == 2 * (2 + 1)
    assert clone(chosen).get_params()["callback"] == bar.update


def test_pruned_candidates_count_like_others(noisy):
    X, y = noisy[:2]
    settings = {"model": "cells", "n_estimators": 10, "threshold": 0.0, "random_state": 0}
    pool = [("all", AUCClassifier(**settings)), ("pruned", AUCClassifier(prune=1e-9, **settings))]
    chosen = AUCClassifierCV(pool, random_state=0).fit(X, y)  # so small a share leaves out no label
    np.testing.assert_allclose(chosen.cv_results_["weight"], [0.5, 0.5])
    alone = AUCClassifierCV(pool, temperature=0, random_state=0).fit(X, y)
    assert [member.name for member in alone.members_] == ["all"]
