"""scikit-learn's own checks, with no expected failure."""

import pytest
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.utils.estimator_checks import parametrize_with_checks

from symloss import list_losses
from symloss.estimators import (
    AUCClassifier,
    AUCClassifierCV,
    BERClassifier,
    BERClassifierCV,
    credibility,
    out_of_bag,
    selection,
)

POOL = [
    ("linear", BERClassifier(threshold=0.0)),
    ("logistic", AUCClassifier("logistic", threshold=0.0)),
    ("trees", BERClassifier(model="trees", n_estimators=5, min_samples_leaf=2, random_state=0)),
]


class Told:
    """A callback whose name in a test is the same in every process."""

    def __call__(self, stage, done, total, name):
        pass

    def __repr__(self):
        return "told"


ESTIMATORS = [
    BERClassifier(),
    AUCClassifier(),
    BERClassifier("logistic"),
    BERClassifier("squared", alpha=0.1),
    AUCClassifier("sigmoid", alpha=0.1),
    AUCClassifier("barrier_hinge", alpha=1.0),
    BERClassifier(model="trees", n_estimators=10, min_samples_leaf=2),
    BERClassifier("squared", model="trees", n_estimators=10),
    AUCClassifier(model="trees", n_estimators=10, min_samples_leaf=2),
    BERClassifier("logistic", model="kernel"),
    BERClassifier("hinge", alpha=0.1, threshold=0.0),
    AUCClassifier("barrier_hinge", alpha=0.1, threshold=0.0),
    BERClassifier("squared", model="gaussian_process", n_landmarks=20),
    AUCClassifier("squared", model="relevance_process", n_landmarks=20),
    AUCClassifier(model="kernel"),
    BERClassifierCV(POOL, cv=2),
    AUCClassifierCV(POOL[1:], cv=2),
    AUCClassifierCV(POOL[:1], cv=2, callback=Told()),
]


QUICK = {"hidden_units": 20, "n_seeds": 2, "epochs": 10, "learning_rate": 0.01, "cv": 2}
NETWORKS = [BERClassifier(model="mlp", **QUICK), AUCClassifier(model="mlp", **QUICK)]


@parametrize_with_checks([*ESTIMATORS, *NETWORKS])
def test_scikit_learn_checks(estimator, check):
    check(estimator)


# The zero-one loss has no gradient to learn from.
EVERY_LOSS = [
    kind(name, threshold=0.0) for name in list_losses() if name != "zero_one" for kind in (BERClassifier, AUCClassifier)
]


@pytest.mark.slow
@parametrize_with_checks(EVERY_LOSS)
def test_scikit_learn_checks_of_every_loss(estimator, check):
    check(estimator)


@pytest.fixture
def small_pool(monkeypatch):
    """The default pool with few trees, and of each family the last: families, losses and limits are checked."""
    whole = selection.default_candidates

    def small(kind, X, random_state=None):
        found = {
            (name.split(",")[0], "logistic" in name): (name, model) for name, model in whole(kind, X, random_state)
        }
        pool = list(found.values())
        for _, candidate in pool:
            boosting = isinstance(candidate, HistGradientBoostingClassifier)
            candidate.set_params(**({"max_iter": 3} if boosting else {"n_estimators": 5, "n_landmarks": 20}))
        return pool

    monkeypatch.setattr(selection, "default_candidates", small)
    monkeypatch.setattr(out_of_bag, "_TREES", dict.fromkeys(out_of_bag._TREES, 5))
    monkeypatch.setattr(credibility, "LANDMARKS", dict.fromkeys(credibility.LANDMARKS, 20))


@pytest.mark.usefixtures("small_pool")
@parametrize_with_checks([BERClassifierCV(cv=2), AUCClassifierCV(cv=2), AUCClassifier("logistic", prune=0.2)])
def test_scikit_learn_checks_of_the_default_pool(estimator, check):
    check(estimator)
