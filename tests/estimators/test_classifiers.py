"""The classifiers: what they minimize, on any labels and containers, and how they choose a threshold."""

import pickle

import numpy as np
import pandas as pd
import pytest
import torch
from scipy import sparse
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MinMaxScaler
from torch import nn

import symloss as sl
from symloss.estimators import AUCClassifier, BERClassifier
from symloss.functional import auc_risk, ber_risk

SMALL = {"n_estimators": 20, "min_samples_leaf": 20, "epochs": 10, "n_seeds": 2, "random_state": 0}
BOTH = [BERClassifier, AUCClassifier]


def small_network(n_features):
    return nn.Sequential(nn.Linear(n_features, 30), nn.ReLU(), nn.Dropout(0.2), nn.Linear(30, 1))


@pytest.fixture(scope="module")
def noisy():
    drawn = sl.datasets.make_twonorm(4000, random_state=0)
    return sl.contaminated_split(
        drawn.data.astype(float), drawn.target, pi=0.75, pi_prime=0.35, n_positive=300, n_negative=300, n_test=1000,
        random_state=0,
    )  # fmt: skip


@pytest.mark.parametrize("kind", BOTH)
@pytest.mark.parametrize("model", ["linear", "kernel", "trees", "mlp", small_network])
def test_learns_from_noisy_labels(noisy, kind, model):
    X, y, X_test, y_test = noisy
    classifier = kind(model=model, **SMALL).fit(X, y)
    scores = classifier.decision_function(X_test)
    assert sl.metrics.auc(scores, y_test) > 0.95
    assert sl.metrics.balanced_accuracy(scores, y_test) > 0.87
    np.testing.assert_array_equal(classifier.predict(X_test), np.where(scores > 0, 1, -1))
    again = kind(model=model, **SMALL).fit(X, y).decision_function(X_test)
    np.testing.assert_array_equal(again, scores)


@pytest.mark.parametrize("risk", [ber_risk, auc_risk])
@pytest.mark.parametrize("name", ["logistic", "squared_hinge", "exponential", "hinge", "barrier_hinge"])
def test_linear_scores_are_the_minimizer_of_a_convex_loss(noisy, risk, name):
    X, y = noisy[0][:, :4], noisy[1]
    kind = AUCClassifier if risk is auc_risk else BERClassifier
    model = kind(name, alpha=0.1, threshold=0.0).fit(X, y).scorer_
    scale = torch.from_numpy(X.std(0))

    def objective(coef, intercept):
        scores = torch.from_numpy(X) @ coef + intercept
        return float(risk(scores, y, name) + 0.05 * ((coef * scale) ** 2).sum())

    coef, intercept = torch.from_numpy(model.coef), model.intercept
    found = objective(coef, intercept)
    generator = torch.Generator().manual_seed(0)
    for size in (1e-4, 1e-2, 1.0):
        for _ in range(20):
            step = size * torch.randn(5, generator=generator, dtype=torch.float64)
            assert objective(coef + step[:4], intercept + float(step[4])) >= found - 1e-9


@pytest.mark.parametrize("kind", [BERClassifier, AUCClassifier])
def test_linear_scores_of_features_far_from_zero_keep_their_digits(noisy, kind):
    """Seconds since 1970, and a feature that varies by a hundredth: products with them would cancel to five digits."""
    whole = np.round(noisy[0] * 64) / 64  # so that adding and subtracting are exact
    near = whole * np.where(np.arange(20) == 3, 2.0**-7, 1.0)
    far = near + 2.0**31
    assert ((far - 2.0**31) == near).all()
    expected = kind("logistic", alpha=0.1, threshold=0.0).fit(near, noisy[1])
    found = kind("logistic", alpha=0.1, threshold=0.0).fit(far, noisy[1])
    scores = expected.decision_function(near)
    np.testing.assert_allclose(found.decision_function(far), scores, atol=1e-6 * scores.std())
    np.testing.assert_allclose(found.decision_function(sparse.csr_matrix(far)), scores, atol=2e-4 * scores.std())
    warm = kind("logistic", alpha=0.1, threshold=0.0, warm_start=True).fit(far, noisy[1]).fit(far, noisy[1])
    np.testing.assert_allclose(warm.decision_function(far), scores, atol=1e-5 * scores.std())


def test_the_unhinged_linear_model_is_the_difference_of_the_class_means(noisy):
    X, y = noisy[:2]
    model = AUCClassifier(alpha=0.5, threshold=0.0).fit(X, y).scorer_
    difference = (X[y == 1].mean(0) - X[y == -1].mean(0)) / X.std(0)
    np.testing.assert_allclose(model.coef * X.std(0), difference / 0.5, rtol=1e-6)


def test_a_logistic_ber_model_gives_probabilities_of_the_observed_label():
    generator = np.random.default_rng(0)
    X = generator.normal(size=(40_000, 1))
    eta = 1 / (1 + np.exp(-(X[:, 0] - 2)))
    y = generator.random(len(X)) < eta
    found = BERClassifier("logistic", alpha=1e-6).fit(X, y).predict_proba(X)
    assert np.abs(found[:, 1] - eta).max() < 0.02
    np.testing.assert_allclose(found.sum(1), 1)


@pytest.mark.parametrize(
    ("classifier", "expected"),
    [
        (BERClassifier("logistic"), True),
        (BERClassifier("squared", model="trees"), True),
        (BERClassifier("sigmoid"), False),
        (BERClassifier(), False),
        (AUCClassifier("logistic"), False),
    ],
)
def test_probabilities_are_offered_only_where_the_loss_recovers_eta(classifier, expected):
    assert hasattr(classifier, "predict_proba") == expected


@pytest.mark.parametrize("labels", [(0, 1), (-1, 1), (False, True), ("clean", "fraud"), (2, 7)])
def test_any_two_labels(noisy, labels):
    X, y, X_test, _ = noisy
    expected = BERClassifier(random_state=0).fit(X, y).predict(X_test)
    found = BERClassifier(random_state=0).fit(X, np.array(labels)[(y > 0).astype(int)]).predict(X_test)
    np.testing.assert_array_equal(found == labels[1], expected == 1)


@pytest.mark.parametrize("loss", ["unhinged", "logistic"])
def test_sparse_features_give_the_same_linear_scores(noisy, loss):
    X, y, X_test, _ = noisy
    X, X_test = np.where(np.abs(X) > 1, X, 0), np.where(np.abs(X_test) > 1, X_test, 0)
    expected = AUCClassifier(loss, random_state=0).fit(X, y).decision_function(X_test)
    found = AUCClassifier(loss, random_state=0).fit(sparse.csr_matrix(X), y)
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
    pipeline = make_pipeline(MinMaxScaler(), BERClassifier(random_state=0))
    assert cross_val_score(pipeline, X, y, scoring="balanced_accuracy", cv=3).mean() > 0.6


def test_a_threshold_is_chosen_where_the_risk_leaves_it_free():
    generator = np.random.default_rng(0)
    y = np.repeat([1, -1], [300, 300])
    X = np.where(y == 1, generator.exponential(8, 600) + 2, generator.normal(size=600))[:, None]
    classifier = AUCClassifier(random_state=0).fit(X, y)
    assert sl.metrics.balanced_accuracy(classifier.decision_function(X), y) > 0.93
    at_zero = AUCClassifier(threshold=0.0).fit(X, y)
    assert sl.metrics.balanced_accuracy(at_zero.decision_function(X), y) < 0.9


def test_folds_may_be_given(noisy):
    X, y = noisy[:2]
    folds = [(np.arange(300, 600), np.arange(300))]
    assert np.isfinite(AUCClassifier(cv=folds).fit(X, y).threshold_)


@pytest.mark.parametrize(
    ("classifier", "message"),
    [
        (
            BERClassifier(model="forest"),
            "model must be one of linear, kernel, gaussian_process, relevance_process, trees, boosting, cells, mlp, a",
        ),
        (BERClassifier("zero_one"), "no gradient"),
        (BERClassifier("sigmoid", model="trees"), "model='trees' needs one of these, got Sigmoid"),
        (BERClassifier(alpha=0.0), "alpha must be above 0"),
        (BERClassifier(threshold="best"), "threshold must be 'auto' or a number"),
        (BERClassifier(cv=1), "at least 2 folds"),
        (BERClassifier(model="kernel", gamma=0.0), "gamma must be above 0, got 0.0"),
        (BERClassifier(model="mlp", epochs=0), "epochs must be a whole number of at least 1, got 0"),
        (BERClassifier(model="trees", min_samples_leaf=0.1), "min_samples_leaf must be a whole number"),
        (BERClassifier(threshold=float("nan")), "threshold must be 'auto' or a number, got nan"),
        (BERClassifier(model="mlp", validation_fraction=1.0), "between 0 and 1, got 1.0"),
        (BERClassifier(model=nn.Linear(20, 2)), r"one score per point, got shape \(600, 2\)"),
        (BERClassifier("exponential", nn.Linear(20, 1), learning_rate=1e30), "diverged with learning_rate=1e\\+30"),
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
    with pytest.raises(ValueError, match="repetitions"):
        BERClassifier(model="trees").fit(X, y, sample_weight=np.full(len(X), 1 / len(X)))
    with pytest.raises(ValueError, match="one class in fold 0"):
        AUCClassifier(cv=[(np.flatnonzero(y == 1), np.flatnonzero(y == -1))]).fit(X, y)
