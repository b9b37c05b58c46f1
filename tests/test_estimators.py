"""The estimators: scikit-learn's checks, single classifiers, the search, weights, folds, threshold and pruning."""

import pickle
import threading
import time

import numpy as np
import pandas as pd
import pytest
import torch
from scipy import sparse
from scipy.special import expit
from sklearn import config_context
from sklearn.base import BaseEstimator, ClassifierMixin, clone
from sklearn.compose import ColumnTransformer
from sklearn.dummy import DummyClassifier
from sklearn.ensemble import HistGradientBoostingClassifier, RandomForestClassifier
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import LinearRegression, LogisticRegression
from sklearn.metrics import balanced_accuracy_score, roc_auc_score
from sklearn.model_selection import GridSearchCV, GroupKFold, KFold, ShuffleSplit, TimeSeriesSplit, cross_val_score
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MinMaxScaler, OneHotEncoder, StandardScaler
from sklearn.utils.class_weight import compute_sample_weight
from sklearn.utils.estimator_checks import parametrize_with_checks
from threadpoolctl import ThreadpoolController
from torch import nn

import symloss as sl
from symloss.estimators import AUCClassifier, AUCClassifierCV, BERClassifier, BERClassifierCV, default_candidates
from symloss.estimators.folds import equal_rows, merge, split
from symloss.estimators.pool import FEW
from symloss.estimators.pruning import Pruned, credibility
from symloss.estimators.scoring import clean_probabilities, fit_curve, weights_by_least_squares
from symloss.estimators.search import fit, raw_scores
from symloss.functional import auc_risk, ber_risk
from symloss.machines import one_thread
from symloss.models.family import TrainingData

SINGLE = [BERClassifier, AUCClassifier]
BOTH = [BERClassifierCV, AUCClassifierCV]
POOL = [
    ("linear", BERClassifier(threshold=0.0)),
    ("nothing", DummyClassifier(strategy="uniform", random_state=0)),
    ("bayes", GaussianNB()),
    ("overfitted trees", AUCClassifier(model="trees", n_estimators=5, min_samples_leaf=1, random_state=0)),
]


def draw(n, pi=0.75, pi_prime=0.35):
    drawn = sl.datasets.make_twonorm(6000, random_state=0)
    return sl.contaminated_split(
        drawn.data.astype(float), drawn.target, pi=pi, pi_prime=pi_prime, n_positive=n, n_negative=n, n_test=2000,
        random_state=1,
    )  # fmt: skip


@pytest.fixture(scope="module")
def noisy():
    return draw(400)


@pytest.fixture(scope="module")
def curved():
    """Three hundred points, a fifth of them with wrong labels."""
    generator = np.random.default_rng(0)
    X = generator.normal(size=(300, 4))
    return X, (X[:, 0] + X[:, 1] ** 2 > 1) ^ (generator.random(300) < 0.2)


@pytest.fixture(scope="module")
def labeled():
    """Points, whether they are positive, and labels of which some are wrong."""
    generator = np.random.default_rng(0)
    clean = generator.random(4000) < 0.4
    X = generator.normal(size=(4000, 3)) + np.outer(clean, [1.5, 0.5, 0.0])
    return X, clean, np.where(np.where(clean, generator.random(4000) < 0.85, generator.random(4000) < 0.1), "yes", "no")


# scikit-learn's own checks, with no expected failure

CHECKED = [
    BERClassifier("logistic"),
    BERClassifier("squared", alpha=0.1),
    AUCClassifier("sigmoid", alpha=0.1),
    AUCClassifier("barrier_hinge", alpha=0.1, threshold=0.0),
    BERClassifier("squared", model="trees", n_estimators=10),
    AUCClassifier(model="trees", n_estimators=10, min_samples_leaf=2),
    AUCClassifier("squared", model="gaussian_process", n_landmarks=20),
    BERClassifier(model="mlp", hidden_units=20, n_seeds=2, epochs=10, learning_rate=0.01, cv=2),
    BERClassifierCV(POOL[:1], cv=2),
    AUCClassifierCV([("logistic", AUCClassifier("logistic", threshold=0.0)), POOL[3]], cv=2),
    AUCClassifierCV([("boosting", HistGradientBoostingClassifier(max_iter=3, max_leaf_nodes=3, random_state=0))], cv=2),
]


@parametrize_with_checks(CHECKED)
def test_scikit_learn_checks(estimator, check):
    check(estimator)


@pytest.mark.slow
@parametrize_with_checks([BERClassifierCV(cv=2), AUCClassifierCV(cv=2)])
def test_scikit_learn_checks_of_the_default_pool(estimator, check):
    check(estimator)


def test_a_pruned_classifier_says_what_is_missing():
    pruned = Pruned(AUCClassifier("logistic", threshold=0.0), 0.2)
    with pytest.raises(NotFittedError):
        pruned.predict(np.zeros((2, 2)))
    with pytest.raises(ValueError, match="1 class"):
        pruned.fit(np.eye(4), [0, 0, 1, 1], sample_weight=[1, 1, 0, 0])


# Single classifiers


def small_network(n_features):
    return nn.Sequential(nn.Linear(n_features, 30), nn.ReLU(), nn.Dropout(0.2), nn.Linear(30, 1))


@pytest.mark.parametrize("kind", SINGLE)
@pytest.mark.parametrize("model", ["linear", "trees", "mlp", small_network])
def test_learns_from_noisy_labels(noisy, kind, model):
    X, y, X_test, y_test = noisy
    settings = {"n_estimators": 20, "epochs": 10, "n_seeds": 2, "random_state": 0}
    classifier = kind(model=model, **settings).fit(X, y)
    scores = classifier.decision_function(X_test)
    assert sl.metrics.auc(scores, y_test) > 0.95
    assert sl.metrics.balanced_accuracy(scores, y_test) > 0.87
    np.testing.assert_array_equal(classifier.predict(X_test), np.where(scores > 0, 1, -1))
    np.testing.assert_array_equal(kind(model=model, **settings).fit(X, y).decision_function(X_test), scores)


@pytest.mark.parametrize("risk", [ber_risk, auc_risk])
@pytest.mark.parametrize("name", ["logistic", "squared_hinge", "exponential", "hinge", "barrier_hinge"])
def test_linear_scores_are_the_minimizer_of_a_convex_loss(noisy, risk, name):
    X, y = noisy[0][:, :4], noisy[1]
    model = (AUCClassifier if risk is auc_risk else BERClassifier)(name, alpha=0.1, threshold=0.0).fit(X, y).scorer_
    scale = torch.from_numpy(X.std(0))

    def objective(coef, intercept):
        scores = torch.from_numpy(X) @ coef + intercept
        return float(risk(scores, y, name) + 0.05 * ((coef * scale) ** 2).sum())

    coef, intercept = torch.from_numpy(model.coef), model.intercept
    found, generator = objective(coef, intercept), torch.Generator().manual_seed(0)
    for size in (1e-4, 1e-2, 1.0):
        for _ in range(10):
            step = size * torch.randn(5, generator=generator, dtype=torch.float64)
            assert objective(coef + step[:4], intercept + float(step[4])) >= found - 1e-9


def test_the_unhinged_linear_model_is_the_difference_of_the_class_means(noisy):
    X, y = noisy[:2]
    model = AUCClassifier(alpha=0.5, threshold=0.0).fit(X, y).scorer_
    difference = (X[y == 1].mean(0) - X[y == -1].mean(0)) / X.std(0)
    np.testing.assert_allclose(model.coef * X.std(0), difference / 0.5, rtol=1e-6)


def test_a_logistic_ber_model_gives_probabilities_of_the_observed_label():
    generator = np.random.default_rng(0)
    X = generator.normal(size=(40_000, 1))
    eta = 1 / (1 + np.exp(-(X[:, 0] - 2)))
    found = BERClassifier("logistic", alpha=1e-6).fit(X, generator.random(len(X)) < eta).predict_proba(X)
    assert np.abs(found[:, 1] - eta).max() < 0.02
    np.testing.assert_allclose(found.sum(1), 1)
    offering = [BERClassifier("squared", model="trees"), BERClassifier("sigmoid"), AUCClassifier("logistic")]
    assert [hasattr(classifier, "predict_proba") for classifier in offering] == [True, False, False]


@pytest.mark.parametrize("labels", [(0, 1), (False, True), ("clean", "fraud"), (2, 7)])
def test_any_two_labels(noisy, labels):
    X, y, X_test, _ = noisy
    expected = BERClassifier(random_state=0).fit(X, y).predict(X_test)
    found = BERClassifier(random_state=0).fit(X, np.array(labels)[(y > 0).astype(int)]).predict(X_test)
    np.testing.assert_array_equal(found == labels[1], expected == 1)


def test_sparse_features_give_the_same_linear_scores(noisy):
    X, X_test = (np.where(np.abs(of) > 1, of, 0) for of in (noisy[0], noisy[2]))
    expected = AUCClassifier("logistic", random_state=0).fit(X, noisy[1]).decision_function(X_test)
    found = AUCClassifier("logistic", random_state=0).fit(sparse.csr_matrix(X), noisy[1])
    np.testing.assert_allclose(found.decision_function(sparse.csr_matrix(X_test)), expected, rtol=1e-4, atol=1e-6)


def test_feature_names_pickle_clone_pipeline_and_search(noisy):
    X, y = pd.DataFrame(noisy[0]).add_prefix("x"), noisy[1]
    classifier = BERClassifier("sigmoid", random_state=0).fit(X, y)
    assert classifier.feature_names_in_[0] == "x0"
    copy = pickle.loads(pickle.dumps(classifier))
    np.testing.assert_array_equal(copy.decision_function(X), classifier.decision_function(X))
    assert clone(classifier).get_params() == classifier.get_params()
    search = GridSearchCV(AUCClassifier(threshold=0.0), {"loss": ["unhinged", "sigmoid"]}, scoring="roc_auc", cv=3)
    assert search.fit(X, y).best_score_ > 0.6
    assert cross_val_score(make_pipeline(MinMaxScaler(), BERClassifier(random_state=0)), X, y, cv=3).mean() > 0.6


@pytest.mark.parametrize(
    ("classifier", "message"),
    [
        (BERClassifier(model="forest"), "model must be one of linear, "),
        (BERClassifier("zero_one"), "no gradient"),
        (BERClassifier("sigmoid", model="trees"), "model='trees' needs one of these, got Sigmoid"),
        (BERClassifier(alpha=0.0), "alpha must be above 0"),
        (BERClassifier(threshold="best"), "threshold must be 'auto' or a number"),
        (BERClassifier(cv=1), "at least 2 folds"),
        (BERClassifier(model="mlp", epochs=0), "epochs must be a whole number of at least 1, got 0"),
        (BERClassifier(threshold=float("nan")), "threshold must be 'auto' or a number, got nan"),
        (BERClassifier(model=nn.Linear(20, 2)), "one score per point, got shape"),
        (BERClassifier("nonsense"), "unknown loss"),
    ],
)
def test_wrong_parameters_are_named(noisy, classifier, message):
    with pytest.raises(ValueError, match=message):
        classifier.fit(*noisy[:2])


def test_wrong_data_is_named(noisy):
    X, y = noisy[:2]
    with pytest.raises(ValueError, match="one class"):
        BERClassifier().fit(X, np.ones(len(X)))
    with pytest.raises(ValueError, match="one class"):
        BERClassifier().fit(X, y, sample_weight=(y == 1).astype(float))
    with pytest.raises(ValueError, match="one class in fold 0"):
        AUCClassifier(cv=[(np.flatnonzero(y == 1), np.flatnonzero(y == -1))]).fit(X, y)
    with pytest.raises(ValueError, match="needs two points of each class, to hold one out, got 1"):
        AUCClassifierCV(POOL).fit(X, np.arange(800) == 0)
    with pytest.raises(ValueError, match="Only binary classification"):
        AUCClassifierCV(POOL).fit(X, np.arange(800) % 3)


# Weights are repetitions


@pytest.mark.parametrize(
    "classifier",
    [
        BERClassifier("hinge", alpha=0.1),
        BERClassifier(model="mlp", n_seeds=1, epochs=2, hidden_units=5, threshold=0.0),
        AUCClassifierCV([("boosting", HistGradientBoostingClassifier(min_samples_leaf=5, random_state=0))]),
        AUCClassifierCV([("neighbors", make_pipeline(StandardScaler(), KNeighborsClassifier(7)))]),
    ],
    ids=["hinge", "networks", "boosting", "no weights"],
)
def test_estimators_take_weights_as_repetitions_in_any_order(classifier):
    generator = np.random.default_rng(0)
    X = generator.normal(size=(60, 3)).round(1)
    y, weight = np.where(X[:, 0] + generator.normal(size=60) > 0, "yes", "no"), generator.integers(0, 4, 60)
    rows = generator.permutation(np.repeat(np.arange(60), weight))
    halves = [(np.arange(30), np.arange(30, 60)), (np.arange(30, 60), np.arange(30))]
    of_rows = [tuple(np.flatnonzero(np.isin(rows, part)) for part in fold) for fold in halves]
    weighted = classifier.set_params(random_state=0, cv=halves).fit(X, y, weight).decision_function(X)
    repeated = classifier.set_params(cv=of_rows).fit(X[rows], y[rows]).decision_function(X)
    np.testing.assert_allclose(repeated, weighted, rtol=1e-9)


@pytest.mark.parametrize(
    "classifier", [BERClassifier(model="trees"), BERClassifier("hinge"), AUCClassifierCV(POOL[2:])]
)
def test_weights_that_sum_to_one_are_scaled_to_a_mean_of_one(noisy, classifier):
    X, y, X_test, _ = noisy
    expected = classifier.set_params(random_state=0).fit(X, y).decision_function(X_test)
    found = classifier.fit(X, y, np.full(len(y), 1 / len(y))).decision_function(X_test)
    np.testing.assert_allclose(found, expected, rtol=1e-6, atol=1e-9)
    halves = classifier.fit(X, y, np.where(np.arange(len(y)) % 2, 0.5, 0.0)).decision_function(X_test)
    odd = classifier.fit(X, y, (np.arange(len(y)) % 2).astype(float)).decision_function(X_test)
    np.testing.assert_allclose(halves, odd, rtol=1e-6, atol=1e-9)


@pytest.mark.parametrize("kind", [np.asarray, sparse.csr_matrix, sparse.csr_array])
def test_equal_points_become_one(kind):
    generator = np.random.default_rng(0)
    X = generator.choice([0.0, 0.0, 1.0, -0.0], size=(200, 4))
    positive, weight = generator.random(200) < 0.5, generator.integers(0, 3, 200).astype(float)
    given = kind(X)
    if kind is not np.asarray:
        given.data[:3] = 0.0  # zeros that are stored
        X = given.toarray()
    data, _, place = merge(TrainingData(given, positive, weight), [])
    found = np.column_stack([data.X.toarray() if sparse.issparse(data.X) else data.X, data.positive])
    assert len(np.unique(found, axis=0)) == len(found) == len(np.unique(equal_rows(data.X) * 2 + data.positive))
    np.testing.assert_array_equal(place < 0, weight == 0)
    used = weight > 0
    np.testing.assert_array_equal(found[place[used]], np.column_stack([X, positive])[used])
    np.testing.assert_array_equal(data.weight, np.bincount(place[used], weight[used]))


# Folds and groups


def test_groups_stay_in_one_fold(noisy):
    X, y = noisy[0], noisy[1] > 0
    groups = np.random.default_rng(0).integers(0, 40, 800)
    folds = split(5, X, y, np.ones(800), 0, groups)
    assert len(folds) == 5
    for train, test in folds:
        assert not set(groups[train]) & set(groups[test])
        assert 100 < len(test) < 220
        assert abs(y[test].mean() - y.mean()) < 0.1
    of_class = np.where(y, 0, 30) + groups % 30  # no group has both classes
    for _, test in split(5, X, y, np.ones(800), 0, of_class):
        assert 0.3 < y[test].mean() < 0.7
    assert [len(test) for _, test in split(GroupKFold(4), X, y, np.ones(800), 0, groups % 4)].count(0) == 0


@pytest.mark.parametrize("kind", BOTH)
def test_fit_takes_groups(kind):
    """Visits of 60 persons: what tells the person apart tells the label only of other visits of the same person."""
    generator = np.random.default_rng(0)
    person = np.repeat(np.arange(60), 5)
    X = np.column_stack([generator.normal(size=60)[person], generator.normal(size=60)[person], np.zeros(300)])
    X += 0.01 * generator.normal(size=X.shape)
    y = (generator.random(60) < 0.5)[person]
    neighbors = [("neighbors", KNeighborsClassifier(3))]
    assert kind(neighbors, random_state=0).fit(X, y).corrupted_score_ > 0.95
    assert kind(neighbors, random_state=0).fit(X, y, groups=[f"person {k}" for k in person]).corrupted_score_ < 0.7
    with pytest.raises(ValueError, match="at least two groups"):
        kind(neighbors).fit(X, y, groups=np.zeros(300))
    with pytest.raises(ValueError, match="inconsistent numbers of samples"):
        kind(neighbors).fit(X, y, groups=person[:-1])


def test_exact_copies_are_kept_in_one_fold_unless_they_are_many(curved):
    X, y = np.repeat(curved[0], 2, 0), np.repeat(curved[1], 2)
    for train, test in split(5, X, y, np.ones(600), 0):
        assert not set(equal_rows(X)[train]) & set(equal_rows(X)[test])
    once, twice = (AUCClassifierCV([("neighbors", KNeighborsClassifier(1))], cv=cv, random_state=0).fit(X, y)
                   for cv in (5, KFold(5, shuffle=True, random_state=0)))  # fmt: skip
    assert once.corrupted_score_ < 0.75
    assert twice.corrupted_score_ > 0.85
    few_values = np.arange(600.0)[:, None] % 10  # of each value there are 10%
    tests = [test for _, test in split(5, few_values, y, np.ones(600), 0)]
    assert all(len(set(few_values[test, 0])) == 10 for test in tests)


@pytest.mark.parametrize("kind", [BERClassifier, AUCClassifierCV])
@pytest.mark.parametrize("levels", [2, 10])
def test_points_with_equal_features_and_different_labels(kind, levels):
    """Of the same features, some labels are positive and some negative: held-out scores must not be turned around."""
    generator = np.random.default_rng(0)
    X = generator.integers(0, levels, 600)[:, None].astype(float)
    clean = X[:, 0] >= levels / 2
    labels = clean ^ (generator.random(600) < 0.3)
    settings = {"candidates": [("trees", BERClassifier(model="trees")), ("linear", BERClassifier())]}
    fitted = kind(random_state=0, **(settings if kind is AUCClassifierCV else {})).fit(X, labels)
    assert sl.metrics.balanced_accuracy(fitted.decision_function(X), clean) > 0.95


# The threshold, probabilities


def accuracy(scores, positive, threshold):
    return sl.metrics.balanced_accuracy(scores - threshold, positive)


@pytest.mark.parametrize("share", [0.05, 0.5])
@pytest.mark.parametrize("shape", ["normal", "exponential"])
def test_with_many_labels_the_threshold_is_as_good_as_the_best(shape, share):
    generator = np.random.default_rng(0)
    positive = generator.random(100_000) < share
    shift = {"normal": 3 + generator.normal(size=100_000), "exponential": 2 + generator.exponential(8, 100_000)}[shape]
    scores = np.where(positive, shift, generator.normal(size=100_000))
    best = max(accuracy(scores, positive, t) for t in np.quantile(scores, np.linspace(0.01, 0.99, 99)))
    assert accuracy(scores, positive, fit_curve(scores, positive, np.ones(100_000))[0]) > best - 0.003


@pytest.mark.parametrize("scale", [1e-30, 1.0, 1e30])
def test_scale_repetitions_and_outliers_hardly_move_the_threshold(scale):
    generator = np.random.default_rng(0)
    scores, positive = generator.normal(size=600), np.arange(600) % 3 == 0
    scores += positive
    weight = generator.integers(1, 4, 600)
    expected = fit_curve(scores, positive, weight.astype(float))[0]
    repeated = np.repeat(scores, weight) * scale, np.repeat(positive, weight), np.ones(weight.sum())
    assert fit_curve(*repeated)[0] == pytest.approx(expected * scale, rel=1e-6)
    repeated[0][np.argmax(repeated[0])] = 1e12 * scale
    assert fit_curve(*repeated)[0] == pytest.approx(expected * scale, abs=0.05 * scale)


def test_very_noisy_labels_hardly_move_the_threshold():
    """Two fifths of the labels are wrong, and the classes overlap: the best threshold is 0, and any gain is small."""
    generator, errors = np.random.default_rng(0), []
    for _ in range(40):
        clean = np.arange(2000) % 2 == 0
        scores = generator.normal(size=2000) + np.where(clean, 0.25, -0.25)
        errors.append(abs(fit_curve(scores, clean ^ (generator.random(2000) < 0.42), np.ones(2000))[0]))
    assert np.mean(errors) < 0.04
    assert fit_curve(np.full(4, 3.0), np.array([True, False] * 2), np.ones(4))[0] == 3.0


def test_the_curve_is_the_most_likely_one_and_never_falls():
    generator = np.random.default_rng(0)
    scores = 3 * generator.normal(size=20_000)
    positive, ones = generator.random(20_000) < expit(0.7 * scores), np.ones(20_000)
    threshold, found = fit_curve(scores, positive, ones)
    assert found.slope == pytest.approx(0.7, abs=0.02)
    assert found.intercept == pytest.approx(np.log(positive.mean() / (1 - positive.mean())))
    assert abs(threshold) < 0.2
    assert fit_curve(-scores, positive, ones)[1].slope == 0
    separated = fit_curve(np.array([-1.0, 1.0]), np.array([False, True]), np.ones(2))[1]
    assert separated.probabilities(np.array([1.0])) > 0.99
    with pytest.raises(ValueError, match="probabilities need finite scores"):
        found.probabilities(np.array([np.nan]))


def test_clean_probabilities_invert_the_noise():
    generator = np.random.default_rng(0)
    clean, prior = generator.random(100), 0.3
    ratio = clean / (1 - clean) * (1 - prior) / prior  # of the densities of clean positives and clean negatives
    for pi, pi_prime, share in ((0.8, 0.3, 0.5), (1.0, 0.4, 0.2), (0.7, 0.0, 0.9)):
        new_prior = share * pi + (1 - share) * pi_prime
        positive, negative = pi * ratio + 1 - pi, pi_prime * ratio + 1 - pi_prime
        observed = share * positive / (share * positive + (1 - share) * negative)
        expected = new_prior * ratio / (new_prior * ratio + 1 - new_prior)
        np.testing.assert_allclose(clean_probabilities(observed, share, pi, pi_prime), expected, rtol=1e-9)


@pytest.mark.parametrize("kind", BOTH)
def test_probabilities_are_those_of_the_observed_and_of_the_clean_labels(labeled, kind):
    X, clean, y = labeled
    given = y == "yes"
    pi, pi_prime = clean[given].mean(), clean[~given].mean()
    chosen = kind([("linear", BERClassifier("logistic", threshold=0.0))], pi=pi, pi_prime=pi_prime, random_state=0)
    chosen.fit(X, y)
    observed, of_clean = chosen.predict_proba(X), chosen.predict_clean_proba(X)
    for found, truth in ((observed, given), (of_clean, clean)):
        np.testing.assert_allclose(found.sum(1), 1)
        for part in np.array_split(np.argsort(found[:, 1]), 8):
            assert abs(found[part, 1].mean() - truth[part].mean()) < 0.07
    assert not hasattr(kind(POOL), "predict_clean_proba")


@pytest.mark.parametrize(
    ("classifier", "expected"), [(BERClassifierCV, balanced_accuracy_score), (AUCClassifierCV, roc_auc_score)]
)
def test_the_score_is_one_that_corrupted_labels_can_be_used_for(labeled, classifier, expected):
    X, _, y = labeled
    fitted = classifier(POOL[:1], random_state=0).fit(X[:500], y[:500])
    is_auc = expected is roc_auc_score
    of, truth = (fitted.decision_function(X), y == "yes") if is_auc else (fitted.predict(X), y)
    weight = np.random.default_rng(0).random(4000)
    assert fitted.score(X, y, weight) == pytest.approx(expected(truth, of, sample_weight=weight))
    with pytest.raises(ValueError, match=r"y must hold the labels of the fit, \['no', 'yes'\], got \['maybe'\]"):
        fitted.score(X[:2], ["yes", "maybe"])


# Choosing and averaging


@pytest.mark.parametrize("kind", BOTH)
def test_good_candidates_are_found_on_noisy_folds(noisy, kind):
    X, y, X_test, y_test = noisy
    chosen = kind(POOL, random_state=0).fit(X, y)
    assert {"linear"} <= {member.name for member in chosen.members_} <= {"linear", "bayes"}
    results = chosen.cv_results_
    assert results["candidate"] == [name for name, _ in POOL]
    by_fold = [results[f"split{k}_test_score"] for k in range(5)]
    np.testing.assert_allclose(np.mean(by_fold, 0), results["mean_test_score"])
    assert results["mean_test_score"][results["rank_test_score"] == 1] == results["mean_test_score"].max()
    scores = chosen.decision_function(X_test)
    assert sl.metrics.auc(scores, y_test) > 0.98
    assert sl.metrics.balanced_accuracy(scores, y_test) > 0.93


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


@pytest.mark.parametrize(("kind", "metric"), [(BERClassifierCV, "balanced_accuracy"), (AUCClassifierCV, "auc")])
def test_the_clean_score_is_estimated_from_noisy_labels(noisy, kind, metric):
    X, y, X_test, y_test = noisy
    chosen = kind(POOL[:1], pi=0.75, pi_prime=0.35, random_state=0).fit(X, y)
    clean = getattr(sl.metrics, metric)(chosen.decision_function(X_test), y_test)
    assert chosen.clean_score_.low <= clean <= chosen.clean_score_.high
    convert = getattr(sl.metrics, f"clean_{metric}")
    assert chosen.clean_score_.value == pytest.approx(min(1.0, convert(chosen.corrupted_score_, 0.75, 0.35)))
    assert not hasattr(chosen.set_params(pi=None, pi_prime=None).fit(X, y), "clean_score_")


@pytest.mark.parametrize("kind", BOTH)
def test_the_default_pool(kind):
    X, y, X_test, y_test = draw(150, 0.8, 0.3)
    X[::5, 0] = np.nan
    chosen = kind(random_state=0, cv=2).fit(X, y)
    names, weights = zip(*[(member.name, member.weight) for member in chosen.members_], strict=True)
    assert 1 < len(names) <= len(chosen.cv_results_["candidate"])
    assert list(weights) == sorted(weights, reverse=True)
    assert sum(weights) == pytest.approx(1)
    assert sl.metrics.auc(chosen.decision_function(X_test), y_test) > 0.95
    again = kind(random_state=0, cv=2).fit(X, y)
    np.testing.assert_array_equal(again.decision_function(X_test), chosen.decision_function(X_test))
    copy = pickle.loads(pickle.dumps(chosen))
    np.testing.assert_array_equal(copy.decision_function(X_test), chosen.decision_function(X_test))


def test_the_default_pool_holds_what_the_data_allow():
    for n in (300, 10_000, 60_000):
        names = {name for name, _ in default_candidates(AUCClassifier, np.zeros((n, 1)))}
        of_sparse = {name for name, _ in default_candidates(AUCClassifier, sparse.csr_matrix((n, 1)))}
        assert of_sparse < names
        assert any("trees" in name for name in of_sparse)
        assert any("boosting" in name for name in names - of_sparse)
        assert any("pruned" in name for name in names) == (n == 300)


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


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"pi": 0.2, "pi_prime": 0.8}, "pi"),
        ({"cv": ShuffleSplit(3, random_state=0)}, "held out in one fold only"),
        ({"pi": 0.8}, "both pi and pi_prime or neither"),
        ({"candidates": []}, "at least one"),
        ({"candidates": [("a", GaussianNB()), ("a", GaussianNB())]}, "different names, got a, a"),
        ({"temperature": -1.0}, "temperature must be a number of at least 0"),
        ({"time_limit": 0}, "time_limit must be a number of seconds above 0 or None, got 0"),
        ({"callback": "print"}, "callback must be a function or None, got 'print'"),
    ],
)
def test_wrong_parameters_of_a_search_are_named(noisy, settings, message):
    with pytest.raises(ValueError, match=message):
        AUCClassifierCV(**{"candidates": POOL, **settings}).fit(*noisy[:2])


def test_every_fold_must_hold_out_both_classes(noisy):
    X, y = noisy[:2]
    with pytest.raises(ValueError, match="hold out points of both classes to be scored, got one class in fold 0"):
        AUCClassifierCV(POOL, cv=KFold(4)).fit(X[np.argsort(y)], np.sort(y))


# Fits to folds are averaged

TREES = ("trees", AUCClassifier(model="trees", n_estimators=5, threshold=0.0))


def test_scores_are_the_mean_of_all_fits(curved):
    X = curved[0]
    fitted = AUCClassifierCV([TREES, POOL[0]], temperature=100.0, random_state=0).fit(*curved)
    expected = -fitted.threshold_ * np.ones(len(X))
    for member in fitted.members_:
        assert len(member.fits) == (6 if member.name == "trees" else 1)
        raw = np.mean([raw_scores(each, X) for each in member.fits], 0)
        expected += member.weight * (raw - member.mean) / member.scale
    np.testing.assert_allclose(fitted.decision_function(X), expected, rtol=1e-9, atol=1e-12)
    parallel = AUCClassifierCV([TREES, POOL[0]], temperature=100.0, random_state=0, n_jobs=2).fit(*curved)
    np.testing.assert_array_equal(parallel.decision_function(X), fitted.decision_function(X))


@pytest.mark.parametrize("settings", [{"temperature": 0.0}, {"cv": 3}, {"cv": 12}, {"cv": TimeSeriesSplit(4)}], ids=str)
def test_no_fit_is_kept_where_one_model_is_asked_for_or_folds_have_few_points_or_are_many(curved, settings):
    assert AUCClassifierCV([TREES], random_state=0, **settings).fit(*curved).members_[0].on_folds is None


def test_a_module_has_all_fits(curved):
    X = curved[0]
    network = AUCClassifier("sigmoid", "mlp", hidden_units=5, n_seeds=1, epochs=3, threshold=0.0)
    pool = [("mlp", network), POOL[0], ("pruned", Pruned(POOL[0][1], 0.2))]
    fitted = AUCClassifierCV(pool, temperature=100.0, random_state=0).fit(*curved)
    assert {member.name: len(member.fits) for member in fitted.members_}["mlp"] == 6
    found = fitted.to_module()(torch.from_numpy(X).float())
    np.testing.assert_allclose(found.detach().numpy(), fitted.decision_function(X), rtol=1e-4, atol=1e-5)
    with pytest.raises(ValueError, match=r"to_module\(\) needs members that are linear, .* got trees"):
        AUCClassifierCV([TREES], random_state=0).fit(*curved).to_module()


# Candidates of others


class Feature(ClassifierMixin, BaseEstimator):
    """One feature is the score; sleeps when it is fitted."""

    def __init__(self, place=0, seconds=0.0):
        self.place, self.seconds = place, seconds

    def fit(self, X, y, sample_weight=None):
        self.classes_ = np.unique(y)
        time.sleep(self.seconds)
        return self

    def decision_function(self, X):
        return X[:, self.place]


class Unsendable(Feature):
    """No other process can be sent a fit of it."""

    def fit(self, X, y, sample_weight=None):
        self.lock_ = threading.Lock()
        return super().fit(X, y)


@pytest.mark.parametrize("place", [0, 1])
def test_a_fit_that_cannot_be_pickled_does_not_end_a_parallel_search(place):
    """Whether it loses, or wins and is fitted here again."""
    y = np.arange(300) % 2
    X = np.random.default_rng(0).normal(size=(300, 2)) + np.outer(y, [0.0, 1.5])
    pool = [("unsendable", Unsendable(place)), ("other", Feature(1 - place))]
    here = AUCClassifierCV(pool, random_state=0).fit(X, y)
    chosen = AUCClassifierCV(pool, random_state=0, n_jobs=2).fit(X, y)
    assert chosen.members_[0].name == here.members_[0].name == ("unsendable" if place else "other")
    np.testing.assert_allclose(chosen.decision_function(X), here.decision_function(X))


def test_a_candidate_that_takes_no_missing_values_is_named(noisy):
    X = np.where(np.arange(800)[:, None] == 3, np.nan, noisy[0])
    with pytest.raises(ValueError, match=r"(?s)contains NaN.*these candidates take no missing values: naive$"):
        AUCClassifierCV([POOL[0], ("naive", GaussianNB())]).fit(X, noisy[1])
    assert AUCClassifierCV(POOL[:1], cv=2).fit(X, noisy[1]).members_


@pytest.mark.parametrize("candidate", [BERClassifier(), GaussianNB(), make_pipeline(StandardScaler(), GaussianNB())])
def test_the_best_estimator_predicts_the_labels_that_were_given(noisy, candidate):
    X, y = noisy[0], np.where(noisy[1] > 0, "yes", "no")
    best = AUCClassifierCV([("only", candidate)], cv=2, random_state=0).fit(X, y).best_estimator_
    assert set(best.predict(X)) == {"yes", "no"}
    assert np.mean(best.predict(X) == y) > 0.6
    assert type(best) is type(candidate)


@pytest.mark.parametrize("kind", BOTH)
def test_pipelines_take_columns_of_a_data_frame_by_name(labeled, kind):
    X, _, y = labeled
    frame = pd.DataFrame(X[:400], columns=["strong", "weak", "none"])
    frame["text"] = np.where(frame["strong"] > 1, "high", "low")
    columns = ColumnTransformer([("one-hot", OneHotEncoder(), ["text"]), ("as it is", "passthrough", ["weak"])])
    pool = [("pipeline", make_pipeline(columns, LogisticRegression())), ("boosting", POOL[0][1])]
    chosen = kind(pool, temperature=100.0, random_state=0).fit(frame, y[:400])
    assert {member.name for member in chosen.members_} == {"pipeline", "boosting"}
    expected = chosen.decision_function(frame)
    np.testing.assert_allclose(chosen.decision_function(frame[frame.columns[::-1]]), expected)
    assert kind(pool[:1], random_state=0, n_jobs=2).fit(frame, y[:400]).score(frame, y[:400]) > 0.6


def test_importances_on_noisy_folds(labeled):
    X, _, y = labeled
    frame = pd.DataFrame(X[:600], columns=["strong", "weak", "none"])
    frame["text"] = np.where(frame["strong"] > 1, "high", "low")
    frame["constant"] = "same"
    chosen = AUCClassifierCV([("logistic", BERClassifier("logistic"))], cv=3, random_state=0).fit(frame, y[:600])
    found = chosen.permutation_importance(frame, y[:600], n_repeats=2)
    assert found.columns == ["strong", "weak", "none", "text", "constant"]
    assert found.importances.shape == (5, 6)
    mean = dict(zip(found.columns, found.importances_mean, strict=True))
    assert mean["strong"] > 0.03
    assert abs(mean["none"]) < 0.02
    assert mean["constant"] == 0
    with pytest.raises(ValueError, match="y must hold the labels of the fit"):
        chosen.permutation_importance(frame, np.where(y[:600] == "yes", "a", "b"))
    with pytest.raises(ValueError, match="n_repeats must be a whole number of at least 1, got 0"):
        chosen.permutation_importance(frame, y[:600], n_repeats=0)


# Progress, and what a notebook shows


class Bar:
    """A progress bar: it notes what it is told, and holds what cannot be copied."""

    def __init__(self):
        self.told, self.lock = [], threading.RLock()

    def update(self, *what):
        with self.lock:
            self.told.append(what)


def test_a_callback_is_told_of_every_fit(noisy, capsys):
    X, y = noisy[:2]
    bar = Bar()
    chosen = BERClassifierCV(POOL[:2], cv=3, random_state=0, callback=bar.update, verbose=True)
    cross_val_score(chosen, X, y, cv=[(np.arange(800), np.arange(800))])
    scoring = "Scoring candidates on folds"
    assert bar.told == [
        *((scoring, done, 6, "linear" if done <= 3 else "nothing") for done in range(1, 7)),
        ("Fitting the best", 1, 1, "linear"),
    ]
    said = capsys.readouterr().err
    assert "Scoring candidates on folds: 5 of 6, about 0 s left" in said
    assert "\r" not in said  # it is no terminal
    assert said.endswith("Fitting the best: 1 of 1\n")
    assert clone(chosen).get_params()["callback"] == bar.update
    bar.told.clear()
    chosen.set_params(n_jobs=2, callback=lambda *what: bar.told.append(what[:3])).fit(X, y)
    assert bar.told[:6] == [(scoring, done, 6) for done in range(1, 7)]


def test_what_a_notebook_shows(labeled):
    X, _, y = labeled
    chosen = AUCClassifierCV([("<b>linear</b>", POOL[0][1])], cv=2, random_state=0)
    assert "Candidates" not in chosen._repr_mimebundle_()["text/html"]
    chosen.fit(X[:300], y[:300])
    assert repr(chosen.members_[0]) == "Member('<b>linear</b>', weight=1.000)"
    for html in (chosen._repr_mimebundle_()["text/html"], chosen._repr_html_()):
        assert "<td>&lt;b&gt;linear&lt;/b&gt;</td>" in html
        assert "AUC on noisy folds" in html
    with config_context(display="text"):
        assert set(chosen._repr_mimebundle_()) == {"text/plain"}


# Many points, little time


def points(n, seed=0):
    """The first feature is the best score, the last one is no score at all."""
    generator = np.random.default_rng(seed)
    y = generator.random(n) < 0.3
    return generator.normal(size=(n, 4)) + np.outer(y, [1.0, 0.9, 0.5, 0.0]), y


def test_fits_to_folds_of_the_default_pool_are_averaged_at_any_size():
    X, y = points(FEW + 500)
    fitted = AUCClassifierCV(random_state=0).fit(X, y)
    assert all(len(member.fits) == 6 for member in fitted.members_ if "tree" in member.name or "forest" in member.name)
    assert max(len(member.fits) for member in fitted.members_) == 6
    own = AUCClassifierCV([TREES], random_state=0).fit(X, y)
    assert len(own.members_[0].fits) == 1
    assert np.isfinite(fitted.oof_scores_).all()


def test_a_time_limit_keeps_the_best_so_far():
    X, y = points(300)
    pool = [(f"slow {k}", Feature(k, seconds=0.3)) for k in (1, 0, 2, 3)]
    chosen = AUCClassifierCV(pool, cv=2, time_limit=2.0, random_state=0).fit(X, y)
    mean = chosen.cv_results_["mean_test_score"]
    assert mean[0] > 0.5
    assert np.isnan(mean[-1])
    assert chosen.cv_results_["rank_test_score"][-1] == np.isfinite(mean).sum() + 1
    assert chosen.cv_results_["weight"].sum() == pytest.approx(1)


def test_a_time_limit_holds_for_the_first_candidate():
    slow = [("slow", Feature(0, seconds=0.6)), ("slower", Feature(1, seconds=100.0))]
    start = time.monotonic()
    assert len(AUCClassifierCV(slow, cv=2, time_limit=2.0).fit(*points(300)).members_) == 1
    assert time.monotonic() - start < 100


# Pruning


def test_the_least_credible_labels_are_left_out():
    generator = np.random.default_rng(0)
    X = generator.normal(size=(600, 3))
    clean = X[:, 0] + X[:, 1] > 0
    wrong = generator.random(600) < 0.15
    y = np.where(clean ^ wrong, "yes", "no")
    pruned = Pruned(LogisticRegression(), 0.2, random_state=0).fit(X, y)
    assert wrong[pruned.kept_].mean() < 0.06
    for label in ("yes", "no"):
        left_out = np.mean(~np.isin(np.flatnonzero(y == label), pruned.kept_))
        assert left_out == pytest.approx(0.2, abs=0.01)
    assert set(pruned.predict(X)) == {"yes", "no"}
    assert len(Pruned(GaussianNB(), 0.0).fit(X, y).kept_) == 600
    weighted = Pruned(GaussianNB(), 0.2, random_state=0).fit(X, y, np.where(clean, 3.0, 0.0))
    assert clean[weighted.kept_].all()
    scores = credibility(TrainingData(sparse.csr_matrix(X), clean ^ wrong, np.ones(600)), 0)
    assert sl.metrics.auc(scores, clean) > 0.9
    with pytest.raises(ValueError, match="share must be at least 0 and below 1, got 1"):
        Pruned(GaussianNB(), 1.0).fit(X, y)
    np.testing.assert_array_equal(
        raw_scores(fit(pruned, TrainingData(X, y == "yes", np.ones(600))), X), pruned.decision_function(X)
    )


def test_a_pruned_candidate_counts_like_others_and_is_saved(noisy, tmp_path):
    X, y = noisy[:2]
    pool = [POOL[0], ("pruned", Pruned(POOL[0][1], 1e-9))]  # so small a share leaves out no label
    chosen = AUCClassifierCV(pool, random_state=0).fit(X, y)
    np.testing.assert_allclose(chosen.cv_results_["weight"], [0.5, 0.5])
    sl.estimators.save(chosen, tmp_path / "model.safetensors")
    again = sl.estimators.load(tmp_path / "model.safetensors")
    np.testing.assert_array_equal(again.decision_function(X), chosen.decision_function(X))


# Threads


def test_one_thread_within_and_as_many_as_before_after():
    def numbers():
        return {each["filepath"]: each["num_threads"] for each in ThreadpoolController().info()}

    def in_block(entered, leave):
        with one_thread():
            entered.set()
            leave.wait()

    threads = torch.get_num_threads()
    try:
        torch.set_num_threads(3)
        before = numbers()
        with one_thread():
            assert {torch.get_num_threads(), *numbers().values()} == {1}
        assert (torch.get_num_threads(), numbers()) == (3, before)
        events = [(threading.Event(), threading.Event()) for _ in range(2)]
        blocks = [threading.Thread(target=in_block, args=pair) for pair in events]
        for block, (entered, _) in zip(blocks, events, strict=True):
            block.start()
            entered.wait()
        for block, (_, leave) in zip(blocks, events, strict=True):  # the first one ends first
            leave.set()
            block.join()
        assert (torch.get_num_threads(), numbers()) == (3, before)
    finally:
        torch.set_num_threads(threads)
