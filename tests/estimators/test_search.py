"""The search for the best candidates: on parts of many points, and within a time limit."""

import time
from types import SimpleNamespace

import numpy as np
import pytest
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from symloss.estimators import AUCClassifier, AUCClassifierCV, BERClassifierCV, candidates, search, selection
from symloss.estimators.base import TrainingData
from symloss.estimators.credibility import credibility
from symloss.estimators.folds import split
from symloss.estimators.judging import AUC


class Feature(ClassifierMixin, BaseEstimator):
    """One feature is the score; notes how many points it is fitted to, and sleeps."""

    fits: list = []  # noqa: RUF012  all instances share it

    def __init__(self, place=0, seconds=0.0):
        self.place, self.seconds = place, seconds

    def fit(self, X, y, sample_weight=None):
        self.classes_ = np.unique(y)
        self.fits.append((self.place, len(X)))
        time.sleep(self.seconds)
        return self

    def decision_function(self, X):
        return X[:, self.place]


@pytest.fixture(autouse=True)
def no_fits():
    Feature.fits.clear()


def points(n, seed=0):
    """The first feature is the best score, the last one is no score at all."""
    generator = np.random.default_rng(seed)
    y = generator.random(n) < 0.3
    return generator.normal(size=(n, 4)) + np.outer(y, [1.0, 0.9, 0.5, 0.0]), y


POOL = [(f"feature {k}", Feature(k)) for k in range(4)]


class Other(Feature):
    """Another family."""


@pytest.mark.parametrize("kind", [AUCClassifierCV, BERClassifierCV])
def test_many_points_are_searched_in_parts(kind, monkeypatch):
    monkeypatch.setattr(search, "_KEPT", ((50_000, 4),))
    X, y = points(7000)
    told = []
    pool = [*POOL, *((f"other {k}", Other(k)) for k in (2, 3))]
    chosen = kind(pool, random_state=0, callback=lambda *what: told.append(what[:3])).fit(X, y)
    results = chosen.cv_results_
    # The best of either family, and then the best of all others.
    assert results["points"].tolist() == [7000, 7000, 7000, 3000, 7000, 3000]
    assert results["weight"][[3, 5]].tolist() == [0, 0]
    assert results["rank_test_score"][0] == 1
    assert results["rank_test_score"][[3, 5]].min() == 5
    assert ("Scoring candidates on folds of 3,000 points", 30, 30) in told
    assert ("Scoring candidates on folds", 20, 20) in told
    assert told[-1][0] == "Fitting the best"
    assert np.isfinite(chosen.oof_scores_).all()
    assert max(n for k, n in Feature.fits if k == 3) < 2500
    assert {n for k, n in Feature.fits if k == 0} >= {5600, 7000}
    np.testing.assert_array_equal(kind(pool, random_state=0).fit(X, y).oof_scores_, chosen.oof_scores_)


def test_a_part_holds_both_classes_in_equal_numbers_if_there_are_enough():
    def sizes(n, positives):
        data = TrainingData(np.zeros((n, 1)), np.arange(n) < positives, np.ones(n))
        parts = search._parts(data, split(5, *data, 0), 0)
        return [(part.data.positive.sum(), (~part.data.positive).sum(), most) for part, most in parts]

    assert sizes(6000, 10) == [(10, 5990, None)]
    assert sizes(10_000, 1000) == [(1000, 1500, None), (1000, 9000, 8)]
    assert sizes(300_000, 150_000) == [(1500, 1500, None), (12_000, 12_000, 8), (150_000, 150_000, 3)]


def test_a_part_has_the_folds_of_the_whole():
    generator = np.random.default_rng(0)
    data = TrainingData(np.arange(7000.0)[:, None], generator.random(7000) < 0.4, np.ones(7000))
    folds = split(3, *data, 0)
    part, _ = next(search._parts(data, folds, 0))
    for (train, test), (inside, held_out) in zip(folds, part.folds, strict=True):
        assert set(part.data.X[held_out, 0]) <= set(test)
        assert set(part.data.X[inside, 0]) <= set(train)
        assert len(inside) + len(held_out) == 3000


def test_what_is_expected_to_be_best_on_all_points_goes_on():
    pool = [*POOL, ("other", Other(0))]
    found = search.Search(pool, AUC, 0.7, search.Clock(None), run=None, for_many=["feature 3"])

    def learn(size, means):
        for c, mean in enumerate(means):
            found.scores[c] = np.zeros(0)
            found._learn(c, mean, size)

    learn(3000, [0.70, 0.60, 0.69, 0.59, 0.58])
    assert found._best(3, 192_000) == [0, 3, 4]  # the best one of either family, and the one for many points
    learn(24_000, [0.71, 0.70, 0.70, 0.60, 0.60])
    assert found._best(2, 30_000) == [0, 1]
    assert found._best(2, 192_000) == [1, 0]  # the second grows faster
    assert found._best(3, 192_000) == [1, 0, 4]  # two of a family come first


def test_forests_of_the_default_pool_get_more_trees_in_the_fit_to_many_points(monkeypatch):
    X, y = points(300)
    forest = AUCClassifier(model="trees", n_estimators=5, threshold=0.0)

    def trees(pool=None, **settings):
        chosen = AUCClassifierCV(pool, cv=2, random_state=0, **settings).fit(X, y)
        return chosen.best_estimator_.n_estimators

    monkeypatch.setattr(selection, "default_candidates", lambda *_: [("trees", forest)])
    assert trees() == 5
    monkeypatch.setattr(selection, "ALL_AT_ONCE", 200)
    assert trees() == 15
    assert trees(time_limit=1e-9) == 5
    assert trees([("trees", forest)]) == 5


def searched(limit, seconds, points=3000, **settings):
    """A search whose candidates took so many seconds on so many points; the first is the best."""
    found = search.Search(POOL[: len(seconds)], AUC, 0.7, search.Clock(limit), run=None)
    found._seconds[:], found.points[:] = seconds, points
    found.__dict__.update(settings)
    return found


def test_time_is_left_for_the_best_candidate_on_all_points():
    growth = 8**search._GROWTH_OF_TIME
    limit = 10 * growth**2 * (1 + 1.25 / 5) + 10 * growth + 3 * growth + 5.0
    assert searched(limit, [10, 100, 3])._affordable([0, 1, 2], 24_000, 192_000, folds=5) == [0, 2]
    assert searched(limit, [10, 100, 3])._affordable([0, 1, 2], 192_000, 192_000, folds=5) == [0]
    assert searched(limit, [10, 100, 3], _speed=2.0)._affordable([0, 1, 2], 192_000, 192_000, folds=5) == [0, 2]
    assert searched(0.1, [10, 100, 3])._affordable([0, 1, 2], 192_000, 192_000, folds=5) == [2]
    assert searched(None, [10, 100, 3])._affordable([0, 1, 2], 24_000, 192_000, folds=5) == [0, 1, 2]


def test_a_slow_first_candidate_does_not_keep_the_others_from_being_scored(monkeypatch):
    now, slow = [0.0], {"feature 0": 0.05}  # seconds a point
    monkeypatch.setattr(search, "time", SimpleNamespace(monotonic=lambda: now[0]))
    monkeypatch.setattr(search, "_PARTS", (100,))

    def run(stage, function, names, tasks, done, total):
        seconds = [slow.get(name, 0.001) * len(task[1]) / 5 for (name,), task in zip(names, tasks, strict=True)]
        now[0] += sum(seconds)
        return [[function(*task)[0]._replace(seconds=took)] for task, took in zip(tasks, seconds, strict=True)]

    X, y = points(800)
    data, limit = TrainingData(X, y, np.ones(800)), 40.0
    found = search.Search(POOL, AUC, 0.7, search.Clock(limit), run)
    found.over(data, split(5, *data, 0), 0)
    assert found.points.tolist() == [100, 800, 800, 800]
    assert now[0] < limit


def test_a_part_without_time_for_two_candidates_is_left_out(monkeypatch):
    X, y = points(7000)
    monkeypatch.setattr(search, "_PARTS", (500,))
    monkeypatch.setattr(search.Search, "_affordable", lambda *_: [1])
    told = []
    AUCClassifierCV(POOL, cv=2, random_state=0, callback=lambda *what: told.append(what[0])).fit(X, y)
    assert list(dict.fromkeys(told)) == [
        "Scoring candidates on folds of 500 points", "Scoring candidates on folds", "Fitting the best"
    ]  # fmt: skip


def test_candidates_take_turns_so_that_the_time_left_is_known():
    X, y = points(200)
    told = []
    AUCClassifierCV(POOL[:2], cv=3, random_state=0, callback=lambda *what: told.append(what[3])).fit(X, y)
    assert told[:6] == ["feature 0", "feature 1"] * 3


def test_the_seconds_of_a_candidate_are_those_that_it_would_take_alone(monkeypatch):
    now = [0.0]

    def slow(data, seed):
        now[0] += 10
        return credibility(data, seed)

    monkeypatch.setattr(candidates, "time", SimpleNamespace(monotonic=lambda: now[0]))
    monkeypatch.setattr(candidates, "credibility", slow)
    X, y = points(60)
    rows, pool = np.arange(60), [AUCClassifier(prune=share, threshold=0.0, random_state=0) for share in (0.1, 0.2, 0)]
    found = candidates.score_together(pool, X, y, np.ones(60), rows, rows, False)
    assert [scored.seconds for scored in found] == [10, 10, 0]


def test_a_time_limit_keeps_the_best_so_far():
    X, y = points(300)
    pool = [(f"slow {k}", Feature(k, seconds=0.05)) for k in (1, 0, 2, 3)] * 1
    start = time.monotonic()
    chosen = AUCClassifierCV(pool, cv=2, time_limit=0.3, random_state=0).fit(X, y)
    assert time.monotonic() - start < 2.0
    points_of = chosen.cv_results_["points"]
    assert points_of[0] == 300
    assert points_of[-1] == 0
    assert np.isnan(chosen.cv_results_["mean_test_score"][-1])
    assert chosen.cv_results_["rank_test_score"].max() == chosen.cv_results_["rank_test_score"][-1]
    assert chosen.cv_results_["weight"].sum() == pytest.approx(1)
    assert np.isfinite(chosen.decision_function(X)).all()
    everything = AUCClassifierCV(pool, cv=2, time_limit=1000, random_state=0).fit(X, y)
    assert (everything.cv_results_["points"] == 300).all()
    unlimited = AUCClassifierCV(pool, cv=2, random_state=0).fit(X, y)
    np.testing.assert_array_equal(everything.decision_function(X), unlimited.decision_function(X))
    with pytest.raises(ValueError, match="time_limit must be a number of seconds above 0 or None, got 0"):
        AUCClassifierCV(POOL, time_limit=0).fit(X, y)
    with pytest.raises(ValueError, match="time_limit must be a number of seconds above 0 or None, got '60'"):
        AUCClassifierCV(POOL, time_limit="60").fit(X, y)


def test_candidates_that_take_no_weights_get_repetitions():
    X, y = points(100)
    X, y = np.repeat(X, 3, 0), np.repeat(y, 3)
    neighbors = make_pipeline(StandardScaler(), KNeighborsClassifier(7))
    chosen = AUCClassifierCV([("neighbors", neighbors), ("bayes", GaussianNB())], cv=2, random_state=0).fit(X, y)
    assert chosen.members_[-1].estimator is not None
    alone = KNeighborsClassifier(7).fit(StandardScaler().fit(X).transform(X), y)
    member = next((m for m in chosen.members_ if m.name == "neighbors"), None)
    assert member is None or member.estimator[-1].n_samples_fit_ == alone.n_samples_fit_


def test_progress_says_how_much_time_is_left(capsys):
    X, y = points(200)
    AUCClassifierCV(POOL, cv=2, random_state=0, verbose=True).fit(X, y)
    said = capsys.readouterr().err
    assert "Scoring candidates on folds: 4 of 8, about 0 s left" in said
    assert said.endswith("\n")
